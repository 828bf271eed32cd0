//! docs/fidelity.md: the simulator beside an H200. Its counters must be the hardware's, number for number; how far its
//! modelled times are off is reported.

pub mod ncu;
pub mod rows;

use super::kernels;
use record::{
    Hardware, Kept, Record,
    counters::{Counts, LaunchCounters},
    doubt::Residual,
};
use std::fmt::Write;

/// How far above the simulator's the hardware's wavefronts of shared memory may be: now and then it serves a request again.
const REPEATED: f64 = 0.02;

/// How many counters that differ an error lists.
const LISTED: usize = 20;

/// A counter that both count: what it is called, Nsight Compute's name, and the simulator's figure.
struct Exact {
    name: &'static str,
    metric: &'static str,
    of: fn(&Counts) -> u64,
    /// Whether the hardware may repeat some.
    repeats: bool,
}

/// Counters that must be equal, but for repeated wavefronts.
const EXACT: [Exact; 6] = {
    const fn exact(name: &'static str, metric: &'static str, of: fn(&Counts) -> u64) -> Exact {
        Exact { name, metric, of, repeats: false }
    }
    const fn wavefronts(name: &'static str, metric: &'static str, of: fn(&Counts) -> u64) -> Exact {
        Exact { name, metric, of, repeats: true }
    }
    [
        exact("load requests", LOAD_REQUESTS, |counts| counts.loads.requests),
        exact("store requests", STORE_REQUESTS, |counts| counts.stores.requests),
        exact("load sectors", LOAD_SECTORS, |counts| counts.loads.sectors),
        exact("store sectors", STORE_SECTORS, |counts| counts.stores.sectors),
        wavefronts("shared load wavefronts", SHARED_LOADS, |counts| counts.shared_loads.wavefronts),
        wavefronts("shared store wavefronts", SHARED_STORES, |counts| counts.shared_stores.wavefronts),
    ]
};

const LOAD_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const STORE_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const LOAD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const STORE_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const SHARED_LOADS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const SHARED_STORES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";

/// Why docs/fidelity.md cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FidelityError {
    /// A counter is not the hardware's.
    #[error("the simulator's counters differ from the hardware's:\n{0}")]
    Differ(String),
    /// There is no measured row.
    #[error("there are no measured rows")]
    NoRows,
    /// A row was measured and not modelled.
    #[error("{0} was measured but not modelled: `cargo xtask pages fidelity --full` models it")]
    NotModelled(String),
    /// A row has no bandwidth.
    #[error("{0} has no bandwidth")]
    NoRate(String),
    /// The page lacks the marks of a table.
    #[error("docs/fidelity.md lacks the mark <!-- {0} --> or <!-- end of {0} -->")]
    NoMark(&'static str),
    /// A row is missing from one of several runs.
    #[error("{0} is not in all of the runs")]
    NotInAll(String),
    /// Nsight Compute's file and the records are of different runs.
    #[error(transparent)]
    Ncu(#[from] ncu::NcuError),
}

/// The page's text with both tables made again, from the counters of the hardware and the simulator's records of the same rows,
/// and from measured and modelled rows at full size.
///
/// # Errors
/// A counter differs, a row is missing, or the page lacks the marks of a table.
pub fn rewritten(
    page: &str,
    (hardware, simulated): (&[Hardware], &[Record]),
    (measured, modelled): (&[Kept], &[Kept]),
) -> Result<String, FidelityError> {
    let page = splice(page, "counters", &counters(hardware, simulated)?)?;
    splice(&page, "times", &times(measured, modelled)?)
}

/// The residuals of the measured rows, for `residuals/own.jsonl` of the crate `record`.
///
/// # Errors
/// A row was not modelled, or has no bandwidth.
pub fn residuals(measured: &[Kept], modelled: &[Kept]) -> Result<Vec<Residual>, FidelityError> {
    let residual = |row: &Kept| {
        let ratio = 1.0 / rate_ratio(row, modelled)?;
        let ratio = (ratio * 1e4).round() / 1e4;
        Ok(Residual { kernel: Some(row.kernel.clone()), bound: None, ratio })
    };
    measured.iter().map(residual).collect()
}

/// The modelled over the measured bandwidth of a row.
fn rate_ratio(row: &Kept, modelled: &[Kept]) -> Result<f64, FidelityError> {
    let name = || format!("`{}`, {}", row.kernel, kernels::parameters(&row.parameters));
    let other = modelled.iter().rfind(|other| row.is_twin(other));
    let other = other.ok_or_else(|| FidelityError::NotModelled(name()))?;
    let rate = |row: &Kept| row.gb_per_s.ok_or_else(|| FidelityError::NoRate(name()));
    Ok(rate(other)? / rate(row)?)
}

/// The table of counters, after making sure that they are equal.
fn counters(hardware: &[Hardware], simulated: &[Record]) -> Result<String, FidelityError> {
    let mut differences = Vec::new();
    let (mut compared, mut repeated) = (0, Vec::new());
    let mut families: Vec<Family> = Vec::new();
    for row in hardware {
        let name = || format!("`{}`, {}", row.kernel, kernels::parameters(&row.parameters));
        let record = simulated.iter().rfind(|record| {
            record.kernel == row.kernel && record.parameters == row.parameters && record.counters.is_some()
        });
        let Some(counters) = record.and_then(|record| record.counters.as_ref()) else {
            differences.push(format!("{}: the simulator has no such row", name()));
            continue;
        };
        for exact in &EXACT {
            let Some(&theirs) = row.hardware.get(exact.metric) else { continue };
            let ours = (exact.of)(&counters.launch.total);
            compared += 1;
            let more = theirs as f64 / ours as f64 - 1.0;
            if ours != theirs && exact.repeats && more > 0.0 && more <= REPEATED {
                repeated.push((more, row.kernel.clone()));
            } else if ours != theirs {
                let what = exact.name;
                differences.push(format!("{}: {what}: {ours} simulated, {theirs} on the hardware", name()));
            }
        }
        let at = families.iter().position(|family| family.kernel == row.kernel).unwrap_or_else(|| {
            families.push(Family { kernel: row.kernel.clone(), ..Family::default() });
            families.len() - 1
        });
        families[at].add(row, &counters.launch);
    }
    if !differences.is_empty() {
        let more = differences.len().saturating_sub(LISTED);
        differences.truncate(LISTED);
        let more = if more > 0 { format!("\n... and {more} more") } else { String::new() };
        return Err(FidelityError::Differ(differences.join("\n") + &more));
    }
    let equal = match repeated.iter().map(|(more, _)| *more).reduce(f64::max) {
        None => "all equal".to_string(),
        Some(most) => {
            let mut kernels: Vec<String> = repeated.iter().map(|(_, kernel)| format!("`{kernel}`")).collect();
            kernels.dedup();
            format!(
                "{} of them equal, and {} of the wavefronts up to {} more on the hardware, which sometimes replays a \
                 request ({})",
                compared - repeated.len(),
                repeated.len(),
                percent(most),
                kernels.join(", ")
            )
        }
    };
    let mut out = format!(
        "{compared} counters of {} rows, {equal}: requests and sectors of loads and stores, and wavefronts of shared \
         memory. The last two columns are modelled: simulated over measured sectors between L1 and L2.\n\n\
         | kernel | rows | sectors per load request | sectors per store request | L2 sectors read, simulated / measured | \
         L2 sectors written, simulated / measured |\n| --- | --: | --: | --: | --: | --: |\n",
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
#[derive(Default)]
struct Family {
    kernel: String,
    rows: usize,
    load: Span,
    store: Span,
    read: Span,
    written: Span,
}

impl Family {
    fn add(&mut self, row: &Hardware, launch: &LaunchCounters) {
        let of = |metric: &str| row.hardware.get(metric).map(|value| *value as f64);
        self.rows += 1;
        self.load.add(of(LOAD_SECTORS), of(LOAD_REQUESTS));
        self.store.add(of(STORE_SECTORS), of(STORE_REQUESTS));
        self.read.add(Some(launch.l2_sectors_read as f64), of("lts__t_sectors_srcunit_tex_op_read.sum"));
        self.written
            .add(Some(launch.l2_sectors_written as f64), of("lts__t_sectors_srcunit_tex_op_write.sum"));
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
            None => "-".to_string(),
            Some((least, most)) if number(least) == number(most) => number(least),
            Some((least, most)) => format!("{} to {}", number(least), number(most)),
        }
    }
}

/// Modelled bandwidth over measured, row by row summed up by kernel, and the whole.
fn times(measured: &[Kept], modelled: &[Kept]) -> Result<String, FidelityError> {
    let mut families: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut all = Vec::new();
    let mut worst: Option<(f64, String)> = None;
    for row in measured {
        let name = || format!("`{}`, {}", row.kernel, kernels::parameters(&row.parameters));
        let error = rate_ratio(row, modelled)? - 1.0;
        match families.iter_mut().find(|(kernel, _)| *kernel == row.kernel) {
            Some((_, errors)) => errors.push(error),
            None => families.push((&row.kernel, vec![error])),
        }
        if worst.as_ref().is_none_or(|(most, _)| error.abs() > most.abs()) {
            worst = Some((error, name()));
        }
        all.push(error);
    }
    let (most, at) = worst.ok_or(FidelityError::NoRows)?;
    let mut out = format!(
        "{} rows: median error {}, worst {} ({at}).\n\n| kernel | rows | median absolute error | lowest error | highest error |\n\
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
fn splice(text: &str, name: &'static str, content: &str) -> Result<String, FidelityError> {
    let (start, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let parts = text.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.ok_or(FidelityError::NoMark(name))?;
    Ok(format!("{before}{start}\n\n{content}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diff::tests::row, testing::counted};

    fn hardware(sectors: u64) -> Hardware {
        let counters = [
            (LOAD_REQUESTS, 32),
            (LOAD_SECTORS, sectors),
            (SHARED_LOADS, 0),
            ("lts__t_sectors_srcunit_tex_op_read.sum", 132),
        ];
        Hardware {
            experiment: "offset".to_string(),
            kernel: "offset_f32".to_string(),
            parameters: row(1, None).parameters,
            hardware: counters.map(|(name, value)| (name.to_string(), value)).into(),
            run: None,
        }
    }

    fn simulated() -> Record {
        let mut launch = LaunchCounters { l2_sectors_read: 132, ..LaunchCounters::default() };
        launch.total.loads.requests = 32;
        launch.total.loads.sectors = 160;
        Record { gb_per_s: Some(110.0), counters: Some(Box::new(counted(launch))), ..row(1, Some(0.1)) }
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
        assert!(
            error.ends_with(
                "`offset_f32`, 256 MiB, blocks of 256, offset 1: load sectors: 160 simulated, 128 on the hardware"
            ),
            "{error}"
        );
        let error = counters(&[hardware(160)], &[]).expect_err("no row").to_string();
        assert!(error.contains("the simulator has no such row"), "{error}");
    }

    #[test]
    fn errors_of_times_are_of_bandwidth_over_measured() {
        let modelled = Kept::of(&simulated());
        let measured = Kept { gb_per_s: Some(100.0), ..modelled.clone() };
        let text = times(std::slice::from_ref(&measured), &[modelled]).expect("both are there");
        assert!(
            text.starts_with(
                "1 rows: median error 10.0%, worst +10.0% (`offset_f32`, 256 MiB, blocks of 256, offset 1)."
            ),
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
