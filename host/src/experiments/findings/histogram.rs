//! The finding of `histogram`.

use super::{IN_DOUBT, doubt, fastest, sentence, speedup, stands_out, timed};
use record::Record;

/// The fastest kernel for each input, and what equal bytes cost the others.
pub(in super::super) fn histogram(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let input =
        |row: &Record, name: &str| row.parameters.more.get("input").is_some_and(|input| input == name);
    let best = |name: &str| fastest(rows.iter().copied().filter(|row| input(row, name)));
    let fastest_of = |name: &str| {
        best(name).map(|row| {
            let of_input: Vec<&Record> = rows.iter().copied().filter(|row| input(row, name)).collect();
            let doubt = if stands_out(row, &of_input) { "" } else { IN_DOUBT };
            format!("of {name} bytes {} counts most{doubt}, {:.0} GB/s", row.kernel, super::rate(row))
        })
    };
    let of =
        |kernel: &str, name: &str| rows.iter().copied().find(|row| row.kernel == kernel && input(row, name));
    let slower = |kernel: &str| {
        let (uniform, equal) = (of(kernel, "uniform")?, of(kernel, "equal")?);
        let (times, doubt) = (speedup(uniform, equal), doubt(uniform, equal));
        Some(match times {
            0.95..1.05 => format!("equal bytes make no difference to {kernel}"),
            1.0.. => format!("equal bytes slow {kernel} down by {times:.1}{doubt}"),
            _ => format!("equal bytes speed {kernel} up by {:.1}{doubt}", 1.0 / times),
        })
    };
    sentence([
        fastest_of("uniform"),
        fastest_of("equal"),
        slower("histogram_global"),
        slower("histogram_shared"),
    ])
}
