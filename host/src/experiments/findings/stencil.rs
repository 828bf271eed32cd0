//! The finding of `stencil`.

use super::{doubt, fastest, largest, of_copy, percent, rate, sentence, speedup};
use record::{Extent, Record};

/// The effects of the block's size, of the coefficients' memory and of four results per thread.
pub(in super::super) fn stencil(rows: &[&Record]) -> Option<String> {
    let rows = largest(rows);
    let threads = |row: &Record| row.parameters.block.map_or(0, Extent::count);
    let of = |kernel: &str, block: u64| {
        fastest(rows.iter().copied().filter(|row| row.kernel == kernel && threads(row) == block))
    };
    let least = rows.iter().map(|row| threads(row)).min()?;
    let most = rows.iter().map(|row| threads(row)).max()?;
    let (constant, read_only) = (of("stencil_constant", most), of("stencil_read_only", most));
    let vector = of("stencil_vector", most).zip(constant).and_then(|(vector, one)| {
        let shares =
            format!("{} of the copy's bandwidth, one result per thread {}", of_copy(vector)?, of_copy(one)?);
        Some(format!("four results per thread reach {shares}{}", doubt(vector, one)))
    });
    let same = constant.zip(read_only).map(|(constant, read_only)| {
        let apart = rate(constant) / rate(read_only) - 1.0;
        match apart.abs() {
            ..0.01 => {
                "constant memory and the read-only path deliver the coefficients equally fast".to_string()
            }
            by => {
                let faster = if apart > 0.0 { "constant memory" } else { "the read-only path" };
                let doubt = doubt(constant, read_only);
                format!("coefficients from {faster} make it {} faster{doubt}", percent(by))
            }
        }
    });
    let blocks =
        of("stencil_constant", least).zip(constant).filter(|_| least < most).map(|(small, large)| {
            format!(
                "blocks of {most} threads are {:.1} times as fast as blocks of {least}{}",
                speedup(large, small),
                doubt(large, small)
            )
        });
    sentence([vector, same, blocks])
}
