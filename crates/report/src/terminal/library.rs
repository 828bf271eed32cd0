//! Kernels beside a library's functions that compute the same: one row below another, each with its time over the library's, and
//! the clock and the energy that it was measured at.

use super::{
    figures::{condition_columns, rate, short},
    layout::Table,
    setting::{BLOCK, values, varying},
    style::Style,
    table::unique,
};
use record::{Language, Measure, Record};

/// Whether rows were measured beside a library.
pub(super) fn is_beside_library(rows: &[&Record]) -> bool {
    rows.iter().any(|row| row.language == Language::Library)
}

/// The rows as a table, in the order in which they come.
pub(super) fn table(rows: &[&Record], style: Style) -> String {
    let names: Vec<String> = varying(rows).into_iter().filter(|name| tells(name, rows)).collect();
    let conditions_of_table = condition_columns(rows);
    let mut header = vec!["kernel".to_string()];
    header.extend(names.iter().cloned());
    let identity = header.len();
    header.extend(["TFLOP/s", "ms", "time/\nlibrary", "95%"].map(str::to_string));
    header.extend(conditions_of_table.iter().map(|column| column.heading().to_string()));
    let mut table = Table::new(header, 1);
    table.may_lack("95%", vec![identity + 3]);
    table.may_lack("ms", vec![identity + 1]);
    for row in rows {
        let mut cells = vec![row.kernel.clone()];
        cells.extend(values(row, &names));
        cells.push(row.gflop_per_s.map_or_else(|| rate(row, Measure::Bandwidth), |rate| short(rate / 1e3)));
        cells.push(row.time_ms.map(|times| format!("{:.4}", times.median)).unwrap_or_default());
        cells.push(row.ratio_to_reference.map(|ratio| format!("{ratio:.3}")).unwrap_or_default());
        cells.push(row.ratio_range.map(|[low, high]| format!("{low:.3}..{high:.3}")).unwrap_or_default());
        cells.extend(conditions_of_table.iter().map(|column| column.cell(row).unwrap_or_default()));
        table.add(cells);
    }
    table.text(style)
}

/// Whether a parameter in which rows differ is worth a column: not how a kernel is launched, and not how B lies where that follows
/// from the types.
fn tells(name: &str, rows: &[&Record]) -> bool {
    let of = |row: &Record, name: &str| row.parameters.more.get(name).cloned();
    let differs = |row: &Record, other: &Record| {
        of(row, "types") == of(other, "types") && of(row, "b") != of(other, "b")
    };
    match name {
        BLOCK => false,
        "b" => rows.iter().any(|row| rows.iter().any(|other| differs(row, other))),
        _ => true,
    }
}

/// The fastest kernel of each product beside the library, a sentence each. `None` without such rows.
pub(super) fn comparison(records: &[Record]) -> Option<String> {
    let beside: Vec<&Record> = records.iter().filter(|row| row.reference.is_some()).collect();
    let key = |row: &Record| (product(row), row.reference.clone());
    let best = unique(beside.iter().map(|row| key(row))).into_iter().filter_map(|wanted| {
        let ratio = |row: &&&Record| row.ratio_to_reference.unwrap_or(f64::INFINITY);
        let same = beside.iter().filter(|row| key(row) == wanted);
        same.min_by(|one, other| ratio(one).total_cmp(&ratio(other))).map(|row| sentence(row))
    });
    let sentences: Vec<String> = best.collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn sentence(row: &Record) -> String {
    let range = row.ratio_range.map(|[low, high]| format!(" ({low:.3} to {high:.3})")).unwrap_or_default();
    format!(
        "At {} {} takes {:.3} times as long as {}{range}.",
        product(row),
        row.kernel,
        row.ratio_to_reference.unwrap_or(f64::NAN),
        row.reference.as_deref().unwrap_or_default(),
    )
}

/// The sizes of a row's product, and its number, types, sums and the layout of B where they are not the usual ones.
fn product(row: &Record) -> String {
    let more = &row.parameters.more;
    let size = |name: &str| more.get(name).map(ToString::to_string).unwrap_or_default();
    let text = |name: &str, before: &str| {
        let text = more.get(name).and_then(|text| text.as_str());
        text.map(|text| format!(" {before} {text}")).unwrap_or_default()
    };
    let (types, sums, layout) = (text("types", "in"), text("sums", "with sums of"), text("b", "with B"));
    let batch = more.get("batch").map(|batch| format!("{batch} of ")).unwrap_or_default();
    format!("{batch}{} x {} x {}{types}{sums}{layout},", size("m"), size("n"), size("k"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{Shown, screen::section, tests::row};
    use record::{Conditions, Energy, Precision, Readings};

    fn product_of(kernel: &str, language: Language, milliseconds: f64) -> Record {
        let model = row(0, Precision::F32, Some(milliseconds));
        let mut parameters = model.parameters.clone();
        parameters.swept = None;
        parameters.more.extend(["m", "n", "k"].map(|name| (name.to_string(), 4096.into())));
        let flops = 2 * 4096_u64.pow(3);
        let energy = Energy::of(600.0, 1.0, milliseconds, Some(flops));
        Record {
            experiment: "matmul".to_string(),
            kernel: kernel.to_string(),
            language,
            parameters,
            gflop_per_s: Some(flops as f64 / milliseconds / 1e6),
            conditions: Some(Conditions {
                sm_clock_mhz: Readings::of(&[1755.0]),
                energy: Some(energy),
                ..Conditions::default()
            }),
            ..model
        }
    }

    fn beside(kernel: &str, milliseconds: f64) -> Record {
        Record {
            ratio_to_reference: Some(milliseconds / 2.5),
            ratio_range: Some([milliseconds / 2.6, milliseconds / 2.4]),
            reference: Some("cublas_sgemm".to_string()),
            ..product_of(kernel, Language::Rust, milliseconds)
        }
    }

    #[test]
    fn each_kernel_stands_beside_the_library_with_its_clock_and_energy() {
        let records = [
            beside("matmul_naive", 25.0),
            beside("matmul_register", 3.0),
            product_of("cublas_sgemm", Language::Library, 2.5),
        ];
        let rows: Vec<&Record> = records.iter().collect();
        let text = section(&rows, &crate::Catalog::default(), Shown::default());
        assert!(text.contains(", median of 11 samples, in bursts\n"), "{text}");
        let cells = |kernel: &str| {
            let line = text.lines().find(|line| line.starts_with(kernel)).unwrap_or_default();
            line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            cells("matmul_register"),
            ["matmul_register", "45.8", "3.0000", "1.200", "1.154..1.250", "1755", "600", "13.1"],
            "{text}"
        );
        assert_eq!(
            cells("cublas_sgemm"),
            ["cublas_sgemm", "55.0", "2.5000", "1755", "600", "10.9"],
            "{text}"
        );
    }

    #[test]
    fn products_in_two_types_fit_into_80_columns() {
        let mut bf16 =
            [beside("matmul_overlapped", 0.2), product_of("cublas_gemm_ex", Language::Library, 0.2)];
        for row in &mut bf16 {
            let more = [("types", "bf16"), ("b", "n x k")];
            row.parameters.more.extend(more.map(|(name, value)| (name.to_string(), value.into())));
        }
        let all = [beside("matmul_register", 3.0), product_of("cublas_sgemm", Language::Library, 2.5)];
        let rows: Vec<&Record> = all.iter().chain(&bf16).collect();
        let text = table(&rows, Style::default());
        let line = text.lines().find(|line| line.starts_with("matmul_overlapped")).unwrap_or_default();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..3], ["matmul_overlapped", "bf16", "687"], "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            comparison(&[bf16[0].clone()])
                .is_some_and(|text| text.starts_with("At 4096 x 4096 x 4096 in bf16 with B n x k, "))
        );
        let more = [("sums", "14 bits".into()), ("batch", 32.into())];
        bf16[0].parameters.more.extend(more.map(|(name, value)| (name.to_string(), value)));
        let says = "At 32 of 4096 x 4096 x 4096 in bf16 with sums of 14 bits with B n x k, ";
        assert!(comparison(&[bf16[0].clone()]).is_some_and(|text| text.starts_with(says)));
    }

    #[test]
    fn the_fastest_kernel_of_each_product_is_named() {
        let records = [beside("matmul_naive", 25.0), beside("matmul_register", 3.0)];
        assert_eq!(
            comparison(&records).as_deref(),
            Some(
                "At 4096 x 4096 x 4096, matmul_register takes 1.200 times as long as cublas_sgemm (1.154 to 1.250)."
            )
        );
        assert_eq!(comparison(&[product_of("matmul_naive", Language::Rust, 3.0)]), None);
    }
}
