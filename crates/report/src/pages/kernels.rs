//! The tables of docs/kernels.md: every kernel as it was measured, beside its twin.

use super::{RowsError, figure, readme};
use record::{Kept, Language, Measure, Operation, Parameters};
use std::{collections::BTreeMap, fmt::Write};

/// Parameters that another column or the page says, or that come with one that is said.
const UNSAID: [&str; 17] = [
    "nx",
    "ny",
    "m",
    "n",
    "k",
    "size",
    "class",
    "host_access",
    "loads",
    "stores",
    "space",
    "variable",
    "variable_bytes",
    "task",
    "way",
    "page",
    "budget",
];

/// A table for each experiment and kind of operation, each row a kernel with its parameters, from kept rows.
pub(super) fn tables(rows: &str, _command: &str) -> Result<String, RowsError> {
    let rows: Vec<Kept> = record::read_lines(rows)?;
    // The idioms are made to differ from their twins; docs/rust-tax.md has them.
    let rows: Vec<&Kept> = rows.iter().filter(|row| row.experiment != "idioms").collect();
    let mut experiments: Vec<&str> = Vec::new();
    for row in &rows {
        if !experiments.contains(&row.experiment.as_str()) {
            experiments.push(&row.experiment);
        }
    }
    let mut out = String::new();
    for experiment in experiments {
        let rows: Vec<&Kept> = rows.iter().copied().filter(|row| row.experiment == experiment).collect();
        let _ = writeln!(out, "### {experiment}\n");
        // Rows of one kind of operation have one figure.
        let mut kinds: Vec<Option<Operation>> = Vec::new();
        for row in &rows {
            if !kinds.contains(&kind(row)) {
                kinds.push(kind(row));
            }
        }
        for of in kinds {
            let rows: Vec<&Kept> = rows.iter().copied().filter(|row| kind(row) == of).collect();
            table(&mut out, of, &rows)?;
        }
    }
    out += readme::summary(rows.iter().filter_map(|row| row.ratio_to_reference)).trim_start();
    Ok(out.trim_end().to_string())
}

/// The kind of operations that a row counts.
fn kind(row: &Kept) -> Option<Operation> {
    row.operations.map(|operations| operations.kind)
}

/// A table of rows that count operations of this kind, or none.
fn table(out: &mut String, kind: Option<Operation>, rows: &[&Kept]) -> Result<(), RowsError> {
    let mut kernels = rows.iter().filter(|row| row.language != Language::Driver);
    let measure = match kind {
        Some(kind) => Measure::Operations(kind),
        None if kernels.all(|row| row.gflop_per_s.is_some()) => Measure::Arithmetic,
        None => Measure::Bandwidth,
    };
    let rate = |row: &Kept| match measure {
        Measure::Bandwidth => row.gb_per_s,
        Measure::Arithmetic => row.gflop_per_s,
        Measure::Operations(_) => row.figure,
    };
    let unit = measure.unit();
    let _ = writeln!(
        out,
        "| kernel | parameters | Rust {unit} | of the copy | CUDA C++ {unit} | time, Rust / CUDA C++ |\n\
         | --- | --- | --: | --: | --: | --: |"
    );
    for row in rows.iter().filter(|row| row.language != Language::CudaCpp) {
        let twin = rows.iter().find(|other| other.language == Language::CudaCpp && row.is_twin(other));
        let share = row.percent_of_copy.filter(|_| measure == Measure::Bandwidth);
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} |",
            row.kernel,
            parameters(&row.parameters),
            short(figure(&row.kernel, "rate", rate(row).or(row.gb_per_s))?),
            share.map_or_else(String::new, |share| format!("{share:.1}%")),
            twin.and_then(|twin| rate(twin)).map_or_else(String::new, short),
            readme::ratio(row.ratio_to_reference, row.ratio_range, row.runs),
        );
    }
    *out += "\n";
    Ok(())
}

/// A rate to three or four figures.
fn short(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// The parameters of a row as text: sizes, block, and all others by name.
pub(super) fn parameters(parameters: &Parameters) -> String {
    let bytes = parameters.bytes;
    // Where nothing is read, there is no size to tell.
    let size = sides(parameters).or_else(|| match bytes {
        0 => None,
        _ if bytes.is_multiple_of(1 << 20) => Some(format!("{} MiB", bytes >> 20)),
        _ if bytes.is_multiple_of(1 << 10) => Some(format!("{} KiB", bytes >> 10)),
        _ => Some(format!("{bytes} B")),
    });
    let block = parameters.block.map(|block| format!("blocks of {block}"));
    let mut more: BTreeMap<&str, String> = parameters
        .more
        .iter()
        .filter(|(name, value)| !value.is_null() && !UNSAID.contains(&name.as_str()))
        .map(|(name, value)| {
            (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_string))
        })
        .collect();
    more.extend(parameters.swept.iter().map(|swept| (swept.name.as_str(), swept.value.to_string())));
    let more = more.into_iter().map(|(name, value)| format!("{name} {value}"));
    size.into_iter().chain(block).chain(more).collect::<Vec<_>>().join(", ")
}

/// The sides of the matrices that a row is about, `2048 x 2048`; `None` where it is about none.
pub(super) fn sides(parameters: &Parameters) -> Option<String> {
    [&["nx", "ny"][..], &["m", "n", "k"]].into_iter().find_map(|names| {
        let side = |name: &&str| Some(parameters.more.get(*name)?.as_u64()?.to_string());
        Some(names.iter().map(side).collect::<Option<Vec<String>>>()?.join(" x "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::row;

    fn kept(kernel: &str, language: Language, rate: f64) -> Kept {
        let parameters = Parameters::of_bytes(16 << 20).with("nx", 2048).with("ny", 2048).with("padding", 1);
        Kept {
            experiment: "transpose".to_string(),
            kernel: kernel.to_string(),
            language,
            parameters: Parameters { block: Some([16, 16, 1].into()), ..parameters },
            gb_per_s: Some(rate),
            percent_of_copy: Some(rate / 42.0),
            ..Kept::of(&row(0, Some(0.1)))
        }
    }

    fn made(rows: &[Kept]) -> Result<String, RowsError> {
        tables(&rows.iter().map(|row| record::sorted_line(row).expect("it is JSON")).collect::<String>(), "")
    }

    #[test]
    fn each_kernel_has_its_twin_beside_it() {
        let rust = Kept { ratio_to_reference: Some(0.99), ..kept("tile", Language::Rust, 2100.0) };
        let text =
            made(&[rust, kept("tile", Language::CudaCpp, 2079.0), kept("vector", Language::Rust, 4000.0)])
                .expect("all have rates");
        for line in [
            "| `tile` | 2048 x 2048, blocks of 16x16, padding 1 | 2100 | 50.0% | 2079 | 0.990 |",
            "| `vector` | 2048 x 2048, blocks of 16x16, padding 1 | 4000 | 95.2% |  |  |",
            "Rust / C++ time ratio over 1 rows: median 0.990, 0.990 to 0.990.",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn products_are_rated_by_their_operations() {
        let parameters = Parameters::of_bytes(1).with("m", 4).with("n", 5).with("k", 6);
        let product =
            Kept { gflop_per_s: Some(5137.4), parameters, ..kept("matmul_naive", Language::Rust, 20_000.0) };
        let text = made(&[product]).expect("it has a rate");
        assert!(text.contains("| Rust GFLOP/s |"), "{text}");
        assert!(text.ends_with("| `matmul_naive` | 4 x 5 x 6 | 5137 |  |  |  |"), "{text}");
    }

    #[test]
    fn a_row_without_a_rate_is_refused() {
        let wrong = Kept { gb_per_s: None, ..kept("tile", Language::Rust, 1.0) };
        assert_eq!(made(&[wrong]).expect_err("no rate").to_string(), "tile has no rate");
    }

    #[test]
    fn a_swept_parameter_is_said_by_its_name() {
        assert_eq!(parameters(&Parameters::of_bytes(4096).swept("offset", 1)), "4 KiB, offset 1");
        assert_eq!(parameters(&Parameters::of_bytes(100)), "100 B");
    }
}
