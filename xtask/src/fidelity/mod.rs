//! The simulator beside the hardware: joining their rows, comparing counters, judging modelled times.

pub(crate) mod ncu;
pub(crate) mod rows;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::measured;

/// How far above the simulator's the hardware's wavefronts of shared memory may be: now and then it serves a request again.
const REPEATED: f64 = 0.02;

/// Counters that must be equal, but for repeated wavefronts: Nsight Compute's name, and where the simulator's record has it.
const EXACT: [(&str, &str, &[&str]); 6] = [
    ("load requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", &["loads", "requests"]),
    ("store requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", &["stores", "requests"]),
    ("load sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &["loads", "sectors"]),
    ("store sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", &["stores", "sectors"]),
    (
        "shared load wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        &["shared_loads", "wavefronts"],
    ),
    (
        "shared store wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        &["shared_stores", "wavefronts"],
    ),
];

/// What the hardware counted in one launch of a row.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    kernel: String,
    parameters: Value,
    counters: BTreeMap<String, u64>,
}

impl Hardware {
    /// From a line of `counters.jsonl`.
    pub(crate) fn of(line: &Value) -> Result<Self> {
        let text = |name: &str| {
            line[name].as_str().map(str::to_owned).with_context(|| format!("a line has no {name}: {line}"))
        };
        let counters =
            line["hardware"].as_object().with_context(|| format!("a line has no counters: {line}"))?;
        Ok(Self {
            kernel: text("kernel")?,
            parameters: line["parameters"].clone(),
            counters: counters
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)))
                .collect(),
        })
    }
}

/// What tells a row from all others.
fn key(kernel: &str, parameters: &Value) -> String {
    format!("{kernel} {parameters}")
}

/// Whether two rows are of the same kernel with the same parameters.
pub(crate) fn is_same(row: &Value, other: &Value) -> bool {
    row["kernel"] == other["kernel"] && row["parameters"] == other["parameters"]
}

fn key_of(row: &Value) -> String {
    key(row["kernel"].as_str().unwrap_or_default(), &row["parameters"])
}

/// The table of counters, after making sure that they are equal.
///
/// # Errors
/// A row is missing, or a counter differs: all that differ are named.
pub(crate) fn counters(hardware: &[Hardware], simulated: &[Value]) -> Result<String> {
    let by_key: BTreeMap<String, &Value> = simulated.iter().map(|row| (key_of(row), row)).collect();
    let mut differences = Vec::new();
    let (mut compared, mut repeated) = (0, Vec::new());
    let mut families: Vec<Family> = Vec::new();
    for row in hardware {
        let key = key(&row.kernel, &row.parameters);
        let Some(record) = by_key.get(&key) else {
            differences.push(format!("{key}: the simulator has no such row"));
            continue;
        };
        let total = &record["counters"]["total"];
        for (name, metric, path) in EXACT {
            let Some(&theirs) = row.counters.get(metric) else { continue };
            // Counters that are 0 are left out of a record.
            let ours = path.iter().fold(total, |value, step| &value[*step]).as_u64().unwrap_or(0);
            compared += 1;
            let more = theirs as f64 / ours as f64 - 1.0;
            if ours != theirs && path[1] == "wavefronts" && more > 0.0 && more <= REPEATED {
                repeated.push((more, row.kernel.clone()));
            } else if ours != theirs {
                differences.push(format!("{key}: {name}: {ours} simulated, {theirs} on the hardware"));
            }
        }
        let family = match families.iter_mut().find(|family| family.kernel == row.kernel) {
            Some(family) => family,
            None => {
                families.push(Family::new(&row.kernel));
                families.last_mut().context("one was just added")?
            }
        };
        family.add(row, record);
    }
    if !differences.is_empty() {
        const SHOWN: usize = 20;
        let more = differences.len().saturating_sub(SHOWN);
        differences.truncate(SHOWN);
        let more = if more > 0 { format!("\n... and {more} more") } else { String::new() };
        bail!("the simulator's counters differ from the hardware's:\n{}{more}", differences.join("\n"));
    }
    let equal = match repeated.iter().map(|(more, _)| *more).reduce(f64::max) {
        None => "all equal".to_owned(),
        Some(most) => {
            let mut kernels: Vec<String> = repeated.iter().map(|(_, kernel)| format!("`{kernel}`")).collect();
            kernels.dedup();
            format!(
                "{} of them equal, and {} of the wavefronts up to {} more on the hardware, which serves a request again now and \
                 then ({})",
                compared - repeated.len(),
                repeated.len(),
                percent(most),
                kernels.join(", ")
            )
        }
    };
    let mut out = format!(
        "{compared} counters of {} rows, {equal}: requests and sectors of loads and stores, and wavefronts of shared \
         memory. Beside them, what is only modelled: sectors that pass between L1 and L2, as simulated over as measured.\n\n\
         | kernel | rows | sectors a load request | sectors a store request | L2 sectors read, simulated / measured | \
         L2 sectors written |\n| --- | --: | --: | --: | --: | --: |\n",
        hardware.len()
    );
    for family in &families {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} |",
            family.kernel,
            family.rows,
            family.load.show(1),
            family.store.show(1),
            family.read.show(3),
            family.written.show(3),
        );
    }
    Ok(out)
}

/// The rows of a kernel, summed up.
struct Family {
    kernel: String,
    rows: usize,
    load: Span,
    store: Span,
    read: Span,
    written: Span,
}

impl Family {
    fn new(kernel: &str) -> Self {
        let none = Span::default;
        Self {
            kernel: kernel.to_owned(),
            rows: 0,
            load: none(),
            store: none(),
            read: none(),
            written: none(),
        }
    }

    fn add(&mut self, row: &Hardware, record: &Value) {
        let of = |metric: &str| row.counters.get(metric).map(|value| *value as f64);
        let counters = &record["counters"];
        self.rows += 1;
        self.load.add(of(EXACT[2].1), of(EXACT[0].1));
        self.store.add(of(EXACT[3].1), of(EXACT[1].1));
        self.read.add(counters["l2_sectors_read"].as_f64(), of("lts__t_sectors_srcunit_tex_op_read.sum"));
        self.written
            .add(counters["l2_sectors_written"].as_f64(), of("lts__t_sectors_srcunit_tex_op_write.sum"));
    }
}

/// The least and the greatest of some quotients.
#[derive(Default)]
struct Span(Option<(f64, f64)>);

impl Span {
    fn add(&mut self, over: Option<f64>, under: Option<f64>) {
        if let (Some(over), Some(under)) = (over, under)
            && under > 0.0
        {
            let quotient = over / under;
            let (least, most) = self.0.unwrap_or((quotient, quotient));
            self.0 = Some((least.min(quotient), most.max(quotient)));
        }
    }

    fn show(&self, digits: usize) -> String {
        let number = |value: f64| format!("{value:.digits$}");
        match self.0 {
            None => "-".to_owned(),
            Some((least, most)) if number(least) == number(most) => number(least),
            Some((least, most)) => format!("{} to {}", number(least), number(most)),
        }
    }
}

/// Modelled bandwidth over measured, row by row summed up by kernel, and the whole.
///
/// # Errors
/// A measured row has no modelled one.
pub(crate) fn times(measured: &[Value], modelled: &[Value]) -> Result<String> {
    let by_key: BTreeMap<String, &Value> = modelled.iter().map(|row| (key_of(row), row)).collect();
    let mut families: Vec<(String, Vec<f64>)> = Vec::new();
    let mut all = Vec::new();
    let mut worst: Option<(f64, String)> = None;
    for row in measured {
        let key = key_of(row);
        let other = by_key.get(&key).with_context(|| {
            format!("{key} was measured but not modelled: `cargo xtask fidelity --full` models it")
        })?;
        let rate = |row: &Value| row["gb_per_s"].as_f64().with_context(|| format!("{key} has no bandwidth"));
        let error = rate(other)? / rate(row)? - 1.0;
        let kernel = row["kernel"].as_str().unwrap_or_default();
        match families.iter_mut().find(|(name, _)| name == kernel) {
            Some((_, errors)) => errors.push(error),
            None => families.push((kernel.to_owned(), vec![error])),
        }
        if worst.as_ref().is_none_or(|(most, _)| error.abs() > most.abs()) {
            worst = Some((error, name(row)));
        }
        all.push(error);
    }
    let (most, at) = worst.context("there are no measured rows")?;
    let mut out = format!(
        "{} rows: median error {}, worst {} ({at}).\n\n| kernel | rows | median of errors without sign | least | most |\n\
         | --- | --: | --: | --: | --: |\n",
        all.len(),
        percent(median_size(&all)),
        signed(most),
    );
    for (kernel, errors) in &families {
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let most = errors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let _ = writeln!(
            out,
            "| `{kernel}` | {} | {} | {} | {} |",
            errors.len(),
            percent(median_size(errors)),
            signed(least),
            signed(most)
        );
    }
    Ok(out)
}

/// A row's kernel and its parameters, for people.
fn name(row: &Value) -> String {
    let kernel = row["kernel"].as_str().unwrap_or_default();
    format!("`{kernel}`, {}", measured::parameters(&row["parameters"]))
}

fn median_size(errors: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn signed(share: f64) -> String {
    format!("{:+.1}%", 100.0 * share)
}

/// The text with what stands between `<!-- NAME -->` and `<!-- end of NAME -->` replaced.
///
/// # Errors
/// The marks are not there.
pub(crate) fn splice(text: &str, name: &str, content: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let missing = || format!("docs/fidelity.md lacks the mark {start} or {end}");
    let (before, rest) = text.split_once(&start).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{start}\n\n{content}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hardware(sectors: u64) -> Hardware {
        Hardware::of(&json!({
            "experiment": "offset", "kernel": "offset_f32", "parameters": {"offset": 1, "bytes": 4096},
            "hardware": {
                "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 32,
                "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": sectors,
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 0,
                "lts__t_sectors_srcunit_tex_op_read.sum": 132,
            },
        }))
        .expect("it is whole")
    }

    fn simulated() -> Value {
        json!({
            "experiment": "offset", "kernel": "offset_f32", "parameters": {"bytes": 4096, "offset": 1},
            "gb_per_s": 110.0,
            "counters": {"total": {"loads": {"requests": 32, "sectors": 160}}, "l2_sectors_read": 132},
        })
    }

    #[test]
    fn equal_counters_make_a_table() {
        let table = counters(&[hardware(160)], &[simulated()]).expect("they are equal");
        assert!(table.starts_with("3 counters of 1 rows, all equal"), "{table}");
        assert!(table.contains("| `offset_f32` | 1 | 5.0 | - | 1.000 | - |\n"), "{table}");
    }

    #[test]
    fn a_counter_that_differs_is_named() {
        let error = counters(&[hardware(128)], &[simulated()]).expect_err("160 are not 128").to_string();
        assert!(error.contains("load sectors: 160 simulated, 128 on the hardware"), "{error}");
        let error = counters(&[hardware(160)], &[]).expect_err("no row").to_string();
        assert!(error.contains("the simulator has no such row"), "{error}");
    }

    #[test]
    fn errors_of_times_are_of_bandwidth_over_measured() {
        let mut measured = simulated();
        measured["gb_per_s"] = json!(100.0);
        let text = times(&[measured.clone()], &[simulated()]).expect("both are there");
        assert!(
            text.starts_with("1 rows: median error 10.0%, worst +10.0% (`offset_f32`, 4 KiB, offset 1)."),
            "{text}"
        );
        let error = times(&[measured], &[]).expect_err("nothing is modelled").to_string();
        assert!(error.contains("fidelity --full"), "{error}");
    }

    #[test]
    fn marks_are_kept_and_must_be_there() {
        let text = "a\n<!-- times -->\nold\n<!-- end of times -->\nb\n";
        let spliced = splice(text, "times", "new\n").expect("the marks are there");
        assert_eq!(spliced, "a\n<!-- times -->\n\nnew\n\n<!-- end of times -->\nb\n");
        assert_eq!(splice(&spliced, "times", "new\n").expect("they still are"), spliced);
        assert!(splice("nothing", "times", "").is_err());
    }
}
