//! The contenders of a run: each kernel by itself, beside its CUDA C++ twin, or all kernels that compute the same product beside
//! a library's functions.

use crate::{
    cli::Reference,
    device::{Backend, DeviceInfo, Driver},
    experiments::{Gemm, Point, Work},
    libraries::Libraries,
    measure::{Contender, Measurement, Measurer, ratio_range},
    mistakes::refused,
    recording::Recorder,
    reference::Twins,
};
use anyhow::{Result, anyhow, bail};
use cust::{function::Function, stream::Stream};
use record::{Language, Record};

/// What kernels are compared with.
pub(super) enum Opponents {
    /// Nothing.
    None,
    /// Their twins.
    Twins(Twins),
    /// Libraries.
    Libraries(Libraries),
}

impl Opponents {
    /// Loads what the selected kernels are to be compared with, and keeps those of the planned points that it has something for;
    /// says on stderr which it has nothing for. Libraries work on this stream.
    ///
    /// # Errors
    /// Something is not found or cannot be loaded, or no point is left: the error says what to do.
    pub(super) fn load(
        reference: Reference<'_>,
        selected: &[&str],
        planned: impl FnOnce() -> Result<Vec<Point>>,
        device: &DeviceInfo,
        driver: &Driver,
        stream: &Stream,
    ) -> Result<(Opponents, Vec<Point>)> {
        Ok(match reference {
            Reference::None => (Opponents::None, planned()?),
            Reference::Twins(folder) => {
                let twins = Twins::load(folder, selected, device, driver)?;
                let points = with_twins(planned()?, &twins)?;
                (Opponents::Twins(twins), points)
            }
            Reference::Libraries(names) => {
                let points = products(planned()?)?;
                let mut distinct: Vec<Gemm> = Vec::new();
                for gemm in points.iter().filter_map(|point| point.product) {
                    if !distinct.contains(&gemm) {
                        distinct.push(gemm);
                    }
                }
                let libraries = Libraries::load(names, &distinct, stream)?;
                let points = computed(points, &libraries)?;
                (Opponents::Libraries(libraries), points)
            }
        })
    }

    /// The points in groups that are measured together: those of one product beside a library, else each by itself.
    pub(super) fn groups(&self, points: Vec<Point>) -> Vec<Vec<Point>> {
        let mut groups: Vec<Vec<Point>> = Vec::new();
        for point in points {
            let together = |group: &&mut Vec<Point>| {
                matches!(self, Opponents::Libraries(_)) && group[0].product == point.product
            };
            match groups.iter_mut().find(together) {
                Some(group) => group.push(point),
                None => groups.push(vec![point]),
            }
        }
        groups
    }

    /// Measures a group, and records it. `None` means that the user interrupted.
    ///
    /// # Errors
    /// The driver or a library fails.
    pub(super) fn measure(
        &self,
        group: &[Point],
        measurer: &mut Measurer<'_>,
        recorder: &Recorder<'_>,
    ) -> Result<Option<Vec<Record>>> {
        let [point, ..] = group else { return Ok(Some(Vec::new())) };
        let alone = match point.work {
            Work::Driver(..) => Some(Language::Driver),
            // What other cards run beside this one is loaded by the experiment.
            Work::Cards(..) => Some(Language::Rust),
            Work::Kernel(..) => None,
        };
        if let Some(language) = alone {
            let alone = [Contestant { point, function: None, language }];
            return Ok(
                measured(&alone, measurer, recorder)?.map(|rows| rows.into_iter().map(|row| row.0).collect())
            );
        }
        let functions =
            group.iter().map(|point| recorder.kernels.function(point.kernel)).collect::<Result<Vec<_>>>()?;
        let ours = group.iter().zip(&functions).map(|(point, function)| Contestant {
            point,
            function: Some(function),
            language: Language::Rust,
        });
        let twin = match self {
            Opponents::Twins(twins) => twins.of(point.kernel)?,
            Opponents::None | Opponents::Libraries(_) => None,
        };
        let twin = twin.iter().map(|function| Contestant {
            point,
            function: Some(function),
            language: Language::CudaCpp,
        });
        let of_libraries = match (self, point.product) {
            (Opponents::Libraries(libraries), Some(gemm)) => libraries.points(point, gemm),
            _ => Vec::new(),
        };
        let of_libraries = of_libraries.iter().map(|point| Contestant {
            point,
            function: None,
            language: Language::Library,
        });
        let contestants: Vec<Contestant<'_>> = ours.chain(twin).chain(of_libraries).collect();
        let Some(mut rows) = measured(&contestants, measurer, recorder)? else { return Ok(None) };
        let others = rows.split_off(group.len());
        if let Some((reference, of_reference)) = fastest(&others) {
            for (record, measurement) in &mut rows {
                compare(record, measurement, reference, of_reference, recorder.device.backend());
            }
        }
        Ok(Some(rows.into_iter().chain(others).map(|(record, _)| record).collect()))
    }

    /// What the kernels were compared with, as a sentence; `None` for nothing.
    pub(super) fn origin(&self) -> Option<String> {
        match self {
            Opponents::None => None,
            Opponents::Twins(twins) => Some(format!("The twins: {}.", twins.origin())),
            Opponents::Libraries(libraries) => Some(format!("The libraries: {}.", libraries.origin())),
        }
    }
}

/// A contender, and the language of its row.
struct Contestant<'a> {
    point: &'a Point,
    function: Option<&'a Function<'a>>,
    language: Language,
}

/// The rows of contestants whose samples are interleaved.
fn measured(
    contestants: &[Contestant<'_>],
    measurer: &mut Measurer<'_>,
    recorder: &Recorder<'_>,
) -> Result<Option<Vec<(Record, Measurement)>>> {
    let contenders: Vec<_> =
        contestants.iter().map(|one| Contender { point: one.point, function: one.function }).collect();
    let Some(measured) = measurer.measure(&contenders)? else { return Ok(None) };
    let rows = contestants
        .iter()
        .zip(measured)
        .map(|(one, measurement)| (recorder.record(one.point, one.language, &measurement), measurement));
    Ok(Some(rows.collect()))
}

/// The fastest of some rows.
fn fastest(rows: &[(Record, Measurement)]) -> Option<&(Record, Measurement)> {
    let median = |row: &(Record, Measurement)| row.0.time_ms.map(|times| times.median);
    let timed = rows.iter().filter(|row| median(row).is_some());
    timed.min_by(|one, other| median(one).unwrap_or(0.0).total_cmp(&median(other).unwrap_or(0.0)))
}

/// Sets the ratio of a row's time to that of its reference.
fn compare(
    record: &mut Record,
    measurement: &Measurement,
    reference: &Record,
    of_reference: &Measurement,
    backend: Backend,
) {
    let (Some(own), Some(other)) = (record.time_ms, reference.time_ms) else { return };
    record.ratio_to_reference = Some(own.median / other.median);
    record.reference = (reference.language == Language::Library).then(|| reference.kernel.clone());
    // What is modelled is the same each time.
    record.ratio_range = match backend {
        Backend::Measured => ratio_range(&measurement.samples, &of_reference.samples),
        Backend::Modelled => None,
    };
}

/// The points that are products, which libraries compute too.
fn products(points: Vec<Point>) -> Result<Vec<Point>> {
    let (products, others): (Vec<Point>, Vec<Point>) =
        points.into_iter().partition(|point| point.product.is_some());
    let mut names: Vec<&str> = others.iter().map(|point| point.experiment).collect();
    names.dedup();
    let names = names.join(", ");
    if products.is_empty() {
        return Err(refused(anyhow!(
            "--library has nothing to compute in {names}: it computes products of matrices, without --alpha and --beta, as in \
             `compare matmul --size 4096x4096x4096 --library cublas`"
        )));
    }
    if !names.is_empty() {
        eprintln!("note: no library computes what these do, so they are not compared: {names}");
    }
    Ok(products)
}

/// The points whose product a library computes; says which libraries are left out of which, and what is not compared.
fn computed(points: Vec<Point>, libraries: &Libraries) -> Result<Vec<Point>> {
    let (compared, others): (Vec<Point>, Vec<Point>) =
        points.into_iter().partition(|point| point.product.is_some_and(|gemm| libraries.computes(gemm)));
    if compared.is_empty() {
        return Err(refused(anyhow!(
            "--library has nothing to compare with: {}",
            libraries.left_out().join("; ")
        )));
    }
    for sentence in libraries.left_out() {
        eprintln!("note: {sentence}");
    }
    let mut names: Vec<String> = Vec::new();
    for point in &others {
        let name = point.product.map(|gemm| format!("{} at {}", point.kernel, gemm.matrices));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    if !names.is_empty() {
        eprintln!("note: no library computes these products, so they are not compared: {}", names.join(", "));
    }
    Ok(compared)
}

/// The points whose kernel has a twin; says which have none.
fn with_twins(points: Vec<Point>, twins: &Twins) -> Result<Vec<Point>> {
    let mut without: Vec<&'static str> = Vec::new();
    let mut with = Vec::new();
    for point in points {
        let is_kernel = matches!(point.work, Work::Kernel(_));
        if is_kernel && twins.of(point.kernel)?.is_some() {
            with.push(point);
        } else if is_kernel && !without.contains(&point.kernel) {
            without.push(point.kernel);
        }
    }
    if !without.is_empty() {
        eprintln!("note: without a CUDA C++ twin, so not compared: {}", without.join(", "));
    }
    if with.is_empty() {
        bail!(
            "none of the kernels has a CUDA C++ twin: a twin is a kernel with the same name in {}",
            twins.origin()
        );
    }
    Ok(with)
}
