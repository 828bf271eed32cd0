//! The finding of `unified`.

use super::{fastest, list, percent, rate, timed};
use record::{Language, Record};

/// The bandwidth of random reads at the largest factor, by placement.
pub(in super::super) fn unified(rows: &[&Record]) -> Option<String> {
    let (all, rows) = (rows, timed(rows));
    let factor = |row: &Record| row.parameters.more.get("factor").and_then(serde_json::Value::as_f64);
    let placement =
        |row: &Record, name: &str| row.parameters.more.get("placement").is_some_and(|is| is == name);
    let most = rows
        .iter()
        .filter_map(|row| factor(row))
        .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))))?;
    let of = |kernel: &str, name: &str| {
        let suits = |row: &&Record| row.kernel == kernel && factor(row) == Some(most) && placement(row, name);
        fastest(rows.iter().copied().filter(suits))
    };
    let ways = [
        ("on-demand", "with pages that migrate on a fault"),
        ("zero-copy", "over the link"),
        ("partition", "with pages partitioned between host and card"),
    ];
    let rates: Vec<String> = ways
        .into_iter()
        .filter_map(|(name, how)| Some(format!("{} GB/s {how}", short(rate(of("random_warp", name)?)))))
        .collect();
    if rates.len() > 1 {
        return Some(format!("At {most} times the budget, random reads reach {}.", list(&rates)));
    }
    let link = all.iter().find(|row| row.language == Language::Driver && row.verified)?;
    let read = fastest(rows.iter().copied().filter(|row| placement(row, "zero-copy")))?;
    let share = percent(rate(read) / link.gb_per_s?);
    Some(format!("Reads over the link reach {} GB/s, {share} of the driver's copy.", short(rate(read))))
}

/// A rate with two or three digits.
fn short(rate: f64) -> String {
    if rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}
