//! The finding of `matmul`.

use super::{doubt, list, sentence, timed};
use record::Record;
use serde_json::Value;

/// The gain from data reuse in single precision, and the gain of tensor cores, over the kernels that fill the card.
pub(in super::super) fn matmul(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    // Rates of different types have no common measure, and f32 by tensor cores, with B as n rows of k, is no lesson on reuse.
    let of = |types: Option<&str>| {
        let text = |row: &Record, name: &str| {
            row.parameters.more.get(name).and_then(Value::as_str).map(str::to_string)
        };
        let has = |row: &&Record| {
            text(row, "types").as_deref() == types && (types.is_some() || text(row, "b").is_none())
        };
        Largest::of(&rows.iter().copied().filter(has).collect::<Vec<_>>())
    };
    let (single, tensor) = (of(None), of(Some("bf16")));
    let reuse = single.as_ref().map(Largest::reuse);
    let tensor = tensor.as_ref().map(|tensor| tensor.on_tensor_cores(single.as_ref()));
    sentence([reuse, tensor])
}

/// The rows of the largest product.
struct Largest<'r> {
    /// Those that fill the card.
    full: Vec<&'r Record>,
    unfilled: Vec<&'r Record>,
    best: &'r Record,
}

impl<'r> Largest<'r> {
    /// `None` where no row fills the card.
    fn of(rows: &[&'r Record]) -> Option<Largest<'r>> {
        let work = |row: &Record| {
            let of = |name: &str| row.parameters.more.get(name).and_then(Value::as_u64).unwrap_or(1);
            of("m") * of("n") * of("k")
        };
        let most = rows.iter().map(|row| work(row)).max()?;
        let (full, unfilled): (Vec<&Record>, Vec<&Record>) =
            rows.iter().copied().filter(|row| work(row) == most).partition(|row| row.unfilled().is_none());
        let best = full.iter().copied().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        Some(Largest { full, unfilled, best })
    }

    fn row(&self, kernel: &str) -> Option<&'r Record> {
        self.full.iter().copied().find(|row| row.kernel == kernel && row.kernel != self.best.kernel)
    }

    fn reuse(&self) -> String {
        let best = self.best;
        let times = self.row("matmul_naive").and_then(|naive| {
            let intensity = best.arithmetic_intensity? / naive.arithmetic_intensity?;
            Some(format!(
                ", {:.1} times as many as {}{}, with {intensity:.0} times the operations per byte loaded",
                rate(best) / rate(naive),
                naive.kernel,
                doubt(best, naive),
            ))
        });
        let times = times.unwrap_or_default();
        format!("{} computes {:.0} GFLOP/s{times}{}", best.kernel, rate(best), self.missing())
    }

    fn on_tensor_cores(&self, single: Option<&Largest<'_>>) -> String {
        let best = self.best;
        let than_first = self.row("matmul_mma").map(|first| {
            let doubt = doubt(best, first);
            format!("{:.1} times as many as {}{doubt}", rate(best) / rate(first), first.kernel)
        });
        let than_single = single.map(|single| {
            let (times, doubt) = (rate(best) / rate(single.best), doubt(best, single.best));
            let digits = usize::from(times < 10.0);
            format!("{times:.digits$} times as many as {} in f32{doubt}", single.best.kernel)
        });
        let times: Vec<String> = than_first.into_iter().chain(than_single).collect();
        let times = if times.is_empty() { String::new() } else { format!(", {}", list(&times)) };
        format!(
            "on tensor cores {} computes {:.0} TFLOP/s in bf16{times}{}",
            best.kernel,
            rate(best) / 1e3,
            self.missing()
        )
    }

    /// A clause on the kernels that do not fill the card.
    fn missing(&self) -> String {
        let mut missing: Vec<String> = Vec::new();
        for row in &self.unfilled {
            let why = row.unfilled().map(|why| format!("{} ({why})", row.kernel)).unwrap_or_default();
            if !missing.contains(&why) {
                missing.push(why);
            }
        }
        match &missing[..] {
            [] => String::new(),
            [one] => format!("; {one} does not fill the card"),
            several => format!("; {} do not fill the card", list(several)),
        }
    }
}

/// GFLOP/s.
fn rate(row: &Record) -> f64 {
    row.gflop_per_s.unwrap_or_default()
}
