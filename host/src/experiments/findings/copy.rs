//! The finding of `copy`.

use super::{doubt, fastest, of_copy, percent, rate, stands_out, timed};
use record::Record;

/// The shares of the driver's copy that the best and the worst kernel reach, and the best one's share of the peak.
pub(in super::super) fn copy(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let best = fastest(rows.iter().copied())?;
    let worst = rows.iter().copied().min_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let peak = best.percent_of_peak.map(|part| format!(" and {} of the peak", percent(part / 100.0)));
    let peak = peak.unwrap_or_default();
    let slower = match worst.kernel == best.kernel {
        true => String::new(),
        false => {
            let slowest = if stands_out(worst, &rows) { ", the slowest," } else { "" };
            format!("; {}{slowest} reaches {}{}", worst.kernel, of_copy(worst)?, doubt(best, worst))
        }
    };
    Some(format!("{} reaches {} of the driver's own copy{peak}{slower}.", best.kernel, of_copy(best)?))
}
