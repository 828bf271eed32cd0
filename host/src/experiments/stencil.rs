//! `stencil`: where the few numbers live that every thread needs. The kernels and what to expect of them are in
//! gpu-kernels' `stencil.rs`.
//!
//! The source is a sine, so that the result is known twice: as what the same nine points come to on the host, to the last
//! bit, and as the cosine, to within [`TOLERANCE`](function::TOLERANCE).

mod function;
mod nine_points;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Symbol, Work,
    articles, check_size, covering, findings, shuffle::whole_warps,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::{Result, bail};
use cust::memory::bytemuck;
use gpu_kernels::stencil::{
    HALO, HALO_VECTORS, RADIUS, STENCIL_COEFFICIENTS, stencil_constant, stencil_read_only, stencil_vector,
};
use record::{Parameters, Record};
use report::{Article, Picture};

/// A first derivative from nine points.
pub(super) struct Stencil;

/// Bytes of an element.
const SIZE: u64 = 4;

/// The coefficients from constant memory.
const CONSTANT: KernelInfo = KernelInfo::of::<stencil_constant>();

/// The coefficients through the read-only path.
const READ_ONLY: KernelInfo = KernelInfo::of::<stencil_read_only>();

/// Four results per thread, from vectors.
const VECTOR: KernelInfo = KernelInfo::of::<stencil_vector>();

/// Elements of a vector.
const WIDTH: u64 = (HALO / HALO_VECTORS) as u64;

/// Threads per block in a run that names none: one warp, as in the article, and what suits a card.
const BLOCKS: [u32; 2] = [32, 256];

/// Elements of the result in a check: the last block is not full.
const SMALL: u64 = 5000;

/// The article's number of elements, and one that exceeds every L2.
const FULL: [u64; 2] = [1 << 24, 1 << 27];

impl Experiment for Stencil {
    fn name(&self) -> &'static str {
        "stencil"
    }

    fn summary(&self) -> &'static str {
        "a derivative from nine points: halos in shared memory, coefficients in constant memory or read-only"
    }

    fn reading(&self) -> &'static str {
        "Each block reads its elements once into shared memory, with 8 more for the halo, and each element serves nine \
         results. All lanes ask for the same coefficient, which either path delivers at once. Blocks of one warp leave half \
         of an SM empty. stencil_vector computes four results per thread, needs a quarter of the instructions, and is \
         bound by memory alone."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_5]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["block", "coefficients"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::stencil::stencil
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block", "coefficients"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![CONSTANT, READ_ONLY, VECTOR]
    }

    fn unit(&self, request: &Request) -> u64 {
        if request.names(VECTOR.name) { WIDTH * SIZE } else { SIZE }
    }

    /// It touches each byte twice: in the source and in the result.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2 / 2
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        if request.sized && request.wants(VECTOR.name) && !request.bytes.is_multiple_of(WIDTH * SIZE) {
            let bytes = request.bytes;
            return vec![format!(
                "{} is left out: {bytes} bytes are not a multiple of {}, the size of a vector",
                VECTOR.name,
                WIDTH * SIZE,
            )];
        }
        let blocks = blocks(request);
        let refused = FULL.into_iter().filter(|&elements| !fits(elements, &blocks, device));
        let refused: Vec<String> = refused.map(|elements| elements.to_string()).collect();
        if request.scale != Scale::Full || request.sized || refused.is_empty() {
            return Vec::new();
        }
        let grid = format!("a grid of {} has at most {} blocks", device.plain_name(), device.max_grid);
        vec![format!("the stencil of {} elements is left out: {grid}", refused.join(" and "))]
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let coefficients = Coefficients::chosen(request)?;
        let blocks = blocks(request);
        let mut points = Vec::new();
        for elements in sizes(request, &blocks, device)? {
            for &block in &blocks {
                let block = whole_warps(self.name(), block)?;
                let suits = |kernel: &KernelInfo| {
                    request.wants(kernel.name)
                        && (kernel.name != VECTOR.name || elements.is_multiple_of(WIDTH))
                };
                for kernel in self.kernels().into_iter().filter(suits) {
                    points.push(point(kernel, elements, block, coefficients, device)?);
                }
            }
        }
        Ok(points)
    }
}

/// Threads per block.
fn blocks(request: &Request) -> Vec<u32> {
    if request.choices.block.is_empty() { BLOCKS.to_vec() } else { vec![request.block] }
}

/// Elements of the result. A size that the user does not give is one that the device takes.
fn sizes(request: &Request, blocks: &[u32], device: &DeviceInfo) -> Result<Vec<u64>> {
    if request.sized {
        check_size(&[&Stencil], request)?;
        return Ok(vec![request.bytes / SIZE]);
    }
    Ok(match request.scale {
        Scale::Small => vec![SMALL],
        Scale::Quick => {
            let halves = std::iter::successors(Some(request.bytes / SIZE), |elements| Some(elements / 2));
            halves
                .take_while(|&elements| elements > 0)
                .find(|&elements| fits(elements, blocks, device))
                .into_iter()
                .collect()
        }
        Scale::Full => FULL.into_iter().filter(|&elements| fits(elements, blocks, device)).collect(),
    })
}

/// Whether the grid for this number of elements is within the device's limit, for all of these blocks.
fn fits(elements: u64, blocks: &[u32], device: &DeviceInfo) -> bool {
    blocks.iter().all(|&block| elements.div_ceil(u64::from(block).max(1)) <= u64::from(device.max_grid))
}

fn point(
    kernel: KernelInfo,
    elements: u64,
    block: u32,
    coefficients: Coefficients,
    device: &DeviceInfo,
) -> Result<Point> {
    let results = if kernel.name == VECTOR.name { WIDTH } else { 1 };
    let shape = covering(elements.div_ceil(results), block, device)?;
    let length = elements + HALO as u64;
    let mut buffers = vec![
        Buffer {
            bytes: length * SIZE,
            place: Place::Device,
            before: source(),
            after: Expected::exactly(|first, _, values: &mut [f32]| function::sine(first, values)),
        },
        Buffer {
            bytes: elements * SIZE,
            place: Place::Device,
            before: Contents::Poison,
            after: derivative(coefficients),
        },
    ];
    let values = coefficients.values;
    let symbol = Symbol { name: STENCIL_COEFFICIENTS.name(), bytes: bytemuck::bytes_of(&values).to_vec() };
    let mut symbols = vec![symbol];
    let work = if kernel.name == CONSTANT.name {
        Work::kernel::<stencil_constant>(|buffers| (buffers.read(0), buffers.write(1)))
    } else if kernel.name == VECTOR.name {
        Work::kernel::<stencil_vector>(|buffers| (buffers.read(0), buffers.write(1)))
    } else {
        symbols.clear();
        buffers.push(Buffer {
            bytes: RADIUS as u64 * SIZE,
            place: Place::Device,
            before: Contents::of(move |index| values[index as usize]),
            after: Expected::exactly(move |first, _, found: &mut [f32]| {
                found.copy_from_slice(&values[first as usize..][..found.len()]);
            }),
        });
        Work::kernel::<stencil_read_only>(|buffers| (buffers.read(0), buffers.write(1), buffers.read(2)))
    };
    let point = Point::new(Stencil.name(), shape, work);
    let more = coefficients.given.then(|| ("coefficients".to_string(), values.to_vec().into()));
    Ok(Point {
        parameters: Parameters {
            bytes: elements * SIZE,
            elements,
            more: more.into_iter().collect(),
            ..point.parameters
        },
        bytes: BytesMoved {
            read: length * SIZE,
            written: elements * SIZE,
            footprint: (length * SIZE).next_multiple_of(32) + (elements * SIZE).next_multiple_of(32),
        },
        buffers,
        symbols,
        ..point
    })
}

/// `c[1]` to `c[4]`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coefficients {
    values: [f32; RADIUS],
    /// By the user: what they make of a sine is no derivative then, as far as is known.
    given: bool,
}

impl Coefficients {
    fn chosen(request: &Request) -> Result<Coefficients> {
        let given = &request.choices.coefficients;
        if given.is_empty() {
            return Ok(Coefficients { values: function::coefficients(), given: false });
        }
        match <[f32; RADIUS]>::try_from(&given[..]) {
            Ok(values) => Ok(Coefficients { values, given: true }),
            Err(_) => bail!(
                "--coefficients has {} {}, and the stencil takes exactly {RADIUS}: for the points 1, 2, 3 and 4 away, as \
                 in --coefficients 0.8,-0.2,0.038,-0.0036",
                given.len(),
                if given.len() == 1 { "number" } else { "numbers" },
            ),
        }
    }
}

/// The sine.
fn source() -> Contents {
    Contents::Computed(Box::new(|start, bytes| {
        let mut values = [0_f32; 1024];
        let mut first = start / SIZE;
        for piece in bytes.chunks_mut(size_of_val(&values)) {
            let values = &mut values[..piece.len() / SIZE as usize];
            function::sine(first, values);
            piece.copy_from_slice(bytemuck::cast_slice(values));
            first += values.len() as u64;
        }
    }))
}

/// The result: to the last bit what coefficients and source come to, and near the cosine, with the coefficients that make
/// it a derivative.
fn derivative(coefficients: Coefficients) -> Expected {
    let exact = Expected::exactly(move |first, _, values: &mut [f32]| {
        let mut source = vec![0.0; values.len() + HALO];
        function::sine(first, &mut source);
        nine_points::of_all(coefficients.values, &source, values);
    });
    let analytic = Expected::within(function::TOLERANCE, |first, _, values: &mut [f32]| {
        function::cosine(first + RADIUS as u64, values);
    });
    Expected::Computed(Box::new(move |start, launches, found| {
        let wrong = exact.check(start / SIZE, launches, found);
        let analytic = (!coefficients.given).then_some(&analytic);
        wrong.or_else(|| analytic?.check(start / SIZE, launches, found))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::{self, Block},
    };

    fn request() -> Request {
        Request { sized: false, scale: Scale::Full, ..experiments::tests::request() }
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    #[test]
    fn the_halo_is_part_of_the_source_and_of_shared_memory() {
        let points = Stencil.points(&request(), &h200()).expect("it is a valid request");
        let names: Vec<_> = points.iter().map(|point| (point.kernel, point.shape.block[0])).collect();
        let kernels = [CONSTANT.name, READ_ONLY.name, VECTOR.name];
        let expected = [32, 256].into_iter().flat_map(|block| kernels.map(|kernel| (kernel, block)));
        assert_eq!(names[..6], expected.collect::<Vec<_>>());
        assert_eq!((names.len(), points[11].parameters.elements), (12, 1 << 27));
        for point in &points[..6] {
            assert_eq!(point.parameters.elements, 1 << 24);
            assert_eq!(point.buffers[0].bytes, (1 << 26) + 32);
            assert_eq!(point.buffers[1].bytes, 1 << 26);
            let threads = u64::from(point.shape.grid[0]) * u64::from(point.shape.block[0]);
            match point.kernel == VECTOR.name {
                true => assert_eq!((point.shape.shared, threads), (0, 1 << 22)),
                false => assert_eq!((point.shape.shared, threads), ((point.shape.block[0] + 8) * 4, 1 << 24)),
            }
        }
        assert_eq!((points[0].symbols.len(), points[0].buffers.len()), (1, 2));
        assert_eq!((points[1].symbols.len(), points[1].buffers.len()), (0, 3));
    }

    #[test]
    fn a_card_with_small_grids_gets_what_it_can_launch() {
        let elements = |request: &Request, device: DeviceInfo| -> Vec<u64> {
            let points = Stencil.points(request, &device).expect("what does not fit is left out");
            points.iter().map(|point| point.parameters.elements).collect()
        };
        let quick = Request { bytes: 16 << 20, scale: Scale::Quick, ..request() };
        assert_eq!(elements(&quick, h200()), [1 << 22; 6]);
        assert_eq!(elements(&quick, c870()), [1 << 20; 6]);
        assert!(Stencil.notes(&request(), &h200()).is_empty());
        let notes = Stencil.notes(&request(), &c870());
        assert!(notes.len() == 1 && notes[0].contains("16777216 and 134217728 elements"), "{notes:?}");
    }

    #[test]
    fn sizes_and_blocks_can_be_chosen() {
        let choices = experiments::Choices { block: vec![Block::linear(96)], ..request().choices };
        let request = Request { sized: true, bytes: 4000, block: 96, choices, ..request() };
        let points = Stencil.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 3);
        assert_eq!((points[0].parameters.elements, points[0].shape.grid), (1000, [11, 1, 1]));
        let refusal =
            |request: &Request| Stencil.points(request, &h200()).err().map(|error| error.to_string());
        let error = refusal(&Request { bytes: 4001, ..request.clone() }).expect("no whole element");
        assert!(error.contains("4000") && error.contains("4004"), "{error}");
        let error = refusal(&Request { block: 100, ..request }).expect("not whole warps");
        assert!(error.contains("the nearest are 96 and 128"), "{error}");
    }

    #[test]
    fn there_are_four_coefficients() {
        let with = |coefficients: &[f32]| {
            let choices = experiments::Choices { coefficients: coefficients.to_vec(), ..request().choices };
            Coefficients::chosen(&Request { choices, ..request() })
        };
        let chosen = with(&[1.0, 2.0, 3.0, 4.0]).expect("four of them");
        assert_eq!(chosen, Coefficients { values: [1.0, 2.0, 3.0, 4.0], given: true });
        assert!(!with(&[]).expect("the derivative's").given);
        let error = with(&[1.0]).expect_err("one").to_string();
        assert!(error.contains("has 1 number, and the stencil takes exactly 4"), "{error}");
        let error = with(&[1.0; 5]).expect_err("five").to_string();
        assert!(error.contains("has 5 numbers"), "{error}");
    }

    #[test]
    fn nine_points_make_a_derivative() {
        let mut source = [0.0; 10_000 + HALO];
        function::sine(0, &mut source);
        let coefficients = Coefficients { values: function::coefficients(), given: false };
        let values: Vec<f32> =
            source.windows(9).map(|points| nine_points::of_one(coefficients.values, points)).collect();
        let expected = derivative(coefficients);
        assert_eq!(expected.check_in_parallel(0, 1, &bytes(&values)), None);
        // Any bit of any element counts, and so does a NaN.
        for wrong in [f32::from_bits(values[7777].to_bits() ^ 1), f32::NAN, values[7778]] {
            let mut values = values.clone();
            values[7777] = wrong;
            let findings = expected.check_in_parallel(0, 1, &bytes(&values)).expect("one is wrong");
            assert_eq!((findings.count, findings.first.index), (1, 7777));
        }
        // A polynomial of any degree up to eight has no error but rounding: its derivative at 0 is its linear term.
        let cube: Vec<f32> = (-4..=4).map(|x| (5 * x + 3 * x * x + x * x * x) as f32).collect();
        let slope = nine_points::of_one([0.8, -0.2, 4.0 / 105.0, -1.0 / 280.0], &cube);
        assert!((slope - 5.0).abs() < 1e-5, "{slope}");
    }

    #[test]
    fn coefficients_that_make_no_derivative_are_not_held_against_one() {
        let mut source = [0.0; 64 + HALO];
        function::sine(0, &mut source);
        let coefficients = [1.0, 0.0, 0.0, 0.0];
        let values: Vec<f32> =
            source.windows(9).map(|points| nine_points::of_one(coefficients, points)).collect();
        let check =
            |given| derivative(Coefficients { values: coefficients, given }).check(0, 1, &bytes(&values));
        assert_eq!(check(true), None);
        assert!(check(false).is_some(), "these values are no cosine");
    }
}
