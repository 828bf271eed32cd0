//! The finding of `transfer`.

use super::{doubt, list, number, percent, sentence};
use record::{Language, Record};

/// The latency and the bandwidth of copies, and what runs at the same time.
pub(in super::super) fn transfer(rows: &[&Record]) -> Option<String> {
    let counts = |row: &&Record| row.verified && row.language != Language::CudaCpp && row.time_ms.is_some();
    let rows: Vec<&Record> = rows.iter().copied().filter(counts).collect();
    let text = |row: &Record, name: &str| {
        row.parameters.more.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_string()
    };
    let of = |direction: &str, memory: &str| -> Vec<&Record> {
        let is = |row: &&Record| {
            !row.parameters.more.contains_key("parts")
                && text(row, "direction") == direction
                && text(row, "memory") == memory
        };
        rows.iter().copied().filter(is).collect()
    };
    let fits = |direction: &str| {
        let fit = |memory: &str| {
            let Fit { latency_us, gb_per_s } = Fit::of(&of(direction, memory))?;
            Some(format!("{latency_us:.1} us + V / {gb_per_s:.1} GB/s ({memory})"))
        };
        let fits: Vec<String> =
            ["pinned", "pageable", "write-combined", "managed"].into_iter().filter_map(fit).collect();
        (!fits.is_empty()).then(|| list(&fits))
    };
    let to_device = fits("to-device").map(|fits| format!("a copy of V bytes to the device takes {fits}"));
    let to_host = fits("to-host").map(|fits| format!("to the host it takes {fits}"));
    let largest =
        |direction: &str| of(direction, "pinned").into_iter().max_by_key(|row| row.parameters.bytes);
    let both = largest("both").zip(largest("to-device")).and_then(|(both, one)| {
        (both.parameters.bytes == one.parameters.bytes).then_some(())?;
        Some(format!(
            "both directions at once move {:.2} times the bytes of one{}",
            both.gb_per_s? / one.gb_per_s?,
            doubt(both, one)
        ))
    });
    let parts = |row: &Record| number(row, "parts");
    let time = |row: &Record| row.time_ms.map(|time| time.median);
    let whole = rows.iter().copied().find(|row| parts(row) == Some(1));
    let best = rows.iter().copied().filter(|row| parts(row).is_some_and(|parts| parts > 1));
    let best =
        best.min_by(|one, other| time(one).unwrap_or(f64::MAX).total_cmp(&time(other).unwrap_or(f64::MAX)));
    let overlap = whole.zip(best).and_then(|(whole, best)| {
        Some(format!(
            "copy, kernel and copy in {} parts on three streams take {} of the time in one{}",
            parts(best)?,
            percent(time(best)? / time(whole)?),
            doubt(best, whole)
        ))
    });
    sentence([to_device, to_host, both, overlap])
}

/// `T = a + V / b`.
struct Fit {
    /// a, in microseconds.
    latency_us: f64,
    /// b.
    gb_per_s: f64,
}

impl Fit {
    /// The line through the rows' times with the least sum of squared relative errors; `None` without two sizes.
    fn of(rows: &[&Record]) -> Option<Fit> {
        // Minimises the sum of ((a + V / b) / T - 1)^2: with x = 1 / T and y = V / T, a x + y / b is to be 1.
        let (mut xx, mut xy, mut yy, mut x1, mut y1) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for row in rows {
            let us = 1e3 * row.time_ms?.median;
            let (x, y) = (1.0 / us, row.parameters.bytes as f64 / us);
            (xx, xy, yy, x1, y1) = (xx + x * x, xy + x * y, yy + y * y, x1 + x, y1 + y);
        }
        let determinant = xx * yy - xy * xy;
        if determinant <= 1e-9 * xx * yy {
            return None;
        }
        let latency_us = (x1 * yy - y1 * xy) / determinant;
        let us_per_byte = (xx * y1 - xy * x1) / determinant;
        Some(Fit { latency_us, gb_per_s: 1e-3 / us_per_byte })
    }
}
