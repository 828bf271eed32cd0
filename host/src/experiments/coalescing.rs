//! `offset` and `stride`: what it costs to be misaligned, and what it costs to skip. The kernels and what to expect of
//! them are in gpu-kernels' `coalescing.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Scale, Shape,
    Work, articles, check_size, covering, findings, touched_bytes,
};
use crate::{device::DeviceInfo, sweep::Sweep, verify::Expected};
use anyhow::{Result, anyhow, bail};
use cuda_launch::SliceMut;
use cust::memory::bytemuck::Pod;
use gpu_kernels::coalescing::{offset_f32, offset_f64, stride_f32, stride_f64};
use record::{Parameters, Record};
use report::{Article, Picture};
use std::{fmt::Debug, ops::Range};

/// `a[i + s] += 1`.
pub(super) struct Offset;

/// `a[i * s] += 1`.
pub(super) struct Stride;

/// A kernel that takes the array and one number.
struct Kernel {
    info: KernelInfo,
    precision: Precision,
    work: fn(u32) -> Work,
}

const OFFSET_KERNELS: [Kernel; 2] =
    [kernel::<offset_f32, _>(Precision::F32), kernel::<offset_f64, _>(Precision::F64)];

const STRIDE_KERNELS: [Kernel; 2] =
    [kernel::<stride_f32, _>(Precision::F32), kernel::<stride_f64, _>(Precision::F64)];

/// The offsets of a quick run: aligned ones to a line, a sector and to neither.
const OFFSETS: [u32; 8] = [0, 1, 2, 4, 8, 16, 31, 32];

/// The strides of a quick run: up to a sector for each lane, and from there on.
const STRIDES: [u32; 7] = [1, 2, 3, 4, 8, 16, 32];

/// The longest array that strides are spread over on a simulated card, in bytes: what a small machine can spare.
const LONGEST: u64 = 1 << 30;

const fn kernel<K, T: 'static>(precision: Precision) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (SliceMut<'a, T>, u32)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        precision,
        work: |s| Work::kernel::<K>(move |buffers| (buffers.write(0), s)),
    }
}

impl Experiment for Offset {
    fn name(&self) -> &'static str {
        "offset"
    }

    fn summary(&self) -> &'static str {
        "a[i + s] += 1: warps that start s elements past an aligned address"
    }

    fn reading(&self) -> &'static str {
        "From compute capability 2.0 on, a misaligned warp touches one more sector or line. A cache shares it with the \
         neighbouring warp, so bandwidth dips only slightly between aligned offsets. Earlier cards split a misaligned \
         half-warp into several transactions, 16 of them on capability 1.0."
    }

    fn module(&self) -> &'static str {
        "coalescing"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::GLOBAL_MEMORY]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "offset", by: &[], sectors: true }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::coalescing::offset
    }

    fn swept(&self) -> Option<&'static str> {
        Some("offset")
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "precision", "block", "range"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        OFFSET_KERNELS.map(|kernel| kernel.info).to_vec()
    }

    fn unit(&self, request: &Request) -> u64 {
        unit(&OFFSET_KERNELS, request)
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let offsets = values(request, &OFFSETS, Sweep::inclusive(0, 32));
        let mut points = Vec::new();
        for &Kernel { precision, work, .. } in chosen(&OFFSET_KERNELS, request) {
            let elements = request.bytes / precision.size();
            for &offset in offsets.values() {
                let shape = covering(elements, request.block, device)?;
                let start = u64::from(offset);
                points.push(Point {
                    parameters: parameters(request.bytes, precision, elements, shape).swept("offset", offset),
                    bytes: BytesMoved {
                        read: request.bytes,
                        written: request.bytes,
                        footprint: touched_bytes(start * precision.size(), elements, precision.size(), 1),
                    },
                    buffers: vec![Buffer {
                        bytes: length(elements.checked_add(start), precision)?,
                        place: Place::Device,
                        before: Contents::Pattern(precision),
                        after: incremented(precision, start, 1, elements),
                    }],
                    ..Point::new(self.name(), shape, work(offset))
                });
            }
        }
        Ok(points)
    }
}

impl Experiment for Stride {
    fn name(&self) -> &'static str {
        "stride"
    }

    fn summary(&self) -> &'static str {
        "a[i * s] += 1: warps that spread over s times the memory"
    }

    fn reading(&self) -> &'static str {
        "Memory moves in 32-byte sectors, so effective bandwidth falls as 1/s until every lane has a sector of its own \
         (s = 8 in f32, 4 in f64). Beyond that it falls because of DRAM's larger granule, its pages and address translation."
    }

    fn module(&self) -> &'static str {
        "coalescing"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::GLOBAL_MEMORY]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "stride", by: &[], sectors: true }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::coalescing::stride
    }

    fn swept(&self) -> Option<&'static str> {
        Some("stride")
    }

    fn least(&self) -> u32 {
        1
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "precision", "block", "range"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        STRIDE_KERNELS.map(|kernel| kernel.info).to_vec()
    }

    fn unit(&self, request: &Request) -> u64 {
        unit(&STRIDE_KERNELS, request)
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let note = "stride touches about the same memory at every stride, several times L2; with `--bytes` it reads the same \
                    number of bytes at every stride";
        if request.is_modelled(device) && !request.sized { vec![note.to_string()] } else { Vec::new() }
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let strides = values(request, &STRIDES, Sweep::inclusive(1, 32));
        if strides.values().contains(&0) {
            bail!(
                "at a stride of 0 every thread updates the same element: strides begin at 1, as in --range 1..=32"
            );
        }
        let mut points = Vec::new();
        for &Kernel { precision, work, .. } in chosen(&STRIDE_KERNELS, request) {
            for &stride in strides.values() {
                let step = u64::from(stride);
                let bytes = match request.is_modelled(device) && !request.sized {
                    true => spread(request, precision, step),
                    false => request.bytes,
                };
                let elements = bytes / precision.size();
                let shape = covering(elements, request.block, device)?;
                points.push(Point {
                    parameters: parameters(bytes, precision, elements, shape).swept("stride", stride),
                    bytes: BytesMoved {
                        read: bytes,
                        written: bytes,
                        footprint: touched_bytes(0, elements, precision.size(), step),
                    },
                    buffers: vec![Buffer {
                        bytes: length(elements.checked_mul(step), precision)?,
                        place: Place::Device,
                        before: Contents::Pattern(precision),
                        after: incremented(precision, 0, step, elements),
                    }],
                    ..Point::new(self.name(), shape, work(stride))
                });
            }
        }
        Ok(points)
    }
}

/// The contents of the array after launches that each add one to `count` elements, the first at `start`, `step` apart.
pub(super) fn incremented(precision: Precision, start: u64, step: u64, count: u64) -> Expected {
    fn of<T: pattern::Element + Pod + Debug>(start: u64, step: u64, count: u64) -> Expected {
        Expected::added(move |first, addend, values: &mut [T]| {
            let touched = touched(first, values.len(), start, step, count);
            T::add_by(step as usize, addend, &mut values[touched]);
        })
    }
    match precision {
        Precision::F32 => of::<f32>(start, step, count),
        Precision::F64 => of::<f64>(start, step, count),
    }
}

/// Where among the `length` elements from `first` on those at `start + i * step` lie, for all `i` below `count`: the range from
/// the first of them to the last, counted from `first`.
fn touched(first: u64, length: usize, start: u64, step: u64, count: u64) -> Range<usize> {
    let earlier = first.saturating_sub(start).div_ceil(step);
    let end = (first + length as u64).min(start + (count - 1) * step + 1);
    let begin = (start + earlier * step).min(end.max(first));
    (begin - first) as usize..(end.max(first) - first) as usize
}

/// The kernels that the request asks for.
fn chosen<'k>(kernels: &'k [Kernel], request: &Request) -> impl Iterator<Item = &'k Kernel> {
    let asked_for =
        |kernel: &&Kernel| request.precisions.contains(&kernel.precision) && request.wants(kernel.info.name);
    kernels.iter().filter(asked_for)
}

/// A size is a whole number of blocks, since one thread has one element and the kernels check no bounds. What suits the
/// widest elements suits the others.
fn unit(kernels: &[Kernel], request: &Request) -> u64 {
    let widest = chosen(kernels, request).map(|kernel| kernel.precision.size()).max();
    widest.map_or(1, |size| u64::from(request.block).max(1) * size)
}

/// The values to visit: those that the user names, else in a quick run those that stand for the others.
fn values(request: &Request, few: &[u32], all: Sweep) -> Sweep {
    match (&request.range, request.scale) {
        (Some(range), _) => range.clone(),
        (None, Scale::Quick) => Sweep::of(few),
        (None, Scale::Small | Scale::Full) => all,
    }
}

/// Bytes to read at a stride for its sectors to be as much memory as the request's bytes, in an array of at most [`LONGEST`].
fn spread(request: &Request, precision: Precision, stride: u64) -> u64 {
    const SECTOR: u64 = 32;
    let block = u64::from(request.block).max(1) * precision.size();
    let bytes =
        request.bytes / (stride * precision.size()).clamp(precision.size(), SECTOR) * precision.size();
    (bytes.min(LONGEST / stride) / block).max(1) * block
}

/// The length of the array in bytes.
fn length(elements: Option<u64>, precision: Precision) -> Result<u64> {
    elements
        .and_then(|elements| elements.checked_mul(precision.size()))
        .filter(|&bytes| i64::try_from(bytes).is_ok())
        .ok_or_else(|| {
            anyhow!("the array does not fit in 64 bits of address: use fewer --bytes or a smaller --range")
        })
}

fn parameters(bytes: u64, precision: Precision, elements: u64, shape: Shape) -> Parameters {
    Parameters {
        precision: Some(precision),
        elements,
        block: Some(shape.block.into()),
        grid: Some(shape.grid.into()),
        ..Parameters::of_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::tests::request,
    };

    #[test]
    fn offsets_lengthen_the_array_and_strides_multiply_it() {
        let request = Request { scale: Scale::Full, ..request() };
        let points = Offset.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 66);
        assert_eq!((points[0].kernel, points[0].buffers[0].bytes), ("offset_f32", 1 << 20));
        assert_eq!((points[32].kernel, points[32].buffers[0].bytes), ("offset_f32", (1 << 20) + 32 * 4));
        assert_eq!((points[65].kernel, points[65].buffers[0].bytes), ("offset_f64", (1 << 20) + 32 * 8));
        assert_eq!(points[65].shape, Shape { grid: [512, 1, 1], block: [256, 1, 1], shared: 0 });

        let points = Stride.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 64);
        assert_eq!((points[31].kernel, points[31].buffers[0].bytes), ("stride_f32", 32 << 20));
        assert_eq!(points[31].bytes, BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 8 << 20 });
        assert_eq!(points[63].bytes, BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 4 << 20 });
    }

    #[test]
    fn a_quick_run_visits_some_values_and_on_a_simulated_card_the_same_memory_at_each() {
        let card = DeviceInfo { card: c870().card, ..h200() };
        let quick = Request { bytes: 256 << 20, sized: false, ..request() };
        let offsets = Offset.points(&quick, &card).expect("it is a valid request");
        assert_eq!(offsets.len(), 2 * OFFSETS.len());
        assert!(offsets.iter().all(|point| point.bytes.read == 256 << 20));
        let strides = Stride.points(&quick, &card).expect("it is a valid request");
        let of = |nth: usize| (strides[nth].bytes.read >> 20, strides[nth].bytes.footprint >> 20);
        let single = [(256, 256), (128, 256), (85, 255), (64, 256), (32, 256), (32, 256), (32, 256)];
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(of), single);
        // The last one would need an array of 2 GiB.
        let double = [(256, 256), (128, 256), (85, 255), (64, 256), (64, 256), (64, 256), (32, 128)];
        assert_eq!([7, 8, 9, 10, 11, 12, 13].map(of), double);
        assert!(strides.iter().all(|point| point.buffers[0].bytes <= LONGEST));
        let measured = Stride.points(&quick, &h200()).expect("it is a valid request");
        assert!(measured.iter().all(|point| point.bytes.read == 256 << 20));
    }

    #[test]
    fn sizes_that_are_no_whole_number_of_blocks_name_their_neighbours() {
        let error = Offset
            .points(&Request { bytes: 1_000_000, ..request() }, &h200())
            .err()
            .expect("not a multiple of 2048")
            .to_string();
        assert!(error.contains("999424 (976 KiB) and 1001472 (978 KiB)"), "{error}");
    }

    #[test]
    fn kernels_that_are_not_asked_for_put_no_demands_on_the_size() {
        let request = Request { kernels: vec!["stride_f32".to_string()], bytes: 3 << 10, ..request() };
        let points = Stride.points(&request, &h200()).expect("three blocks of f32");
        assert_eq!(points.len(), STRIDES.len());
        assert!(points.iter().all(|point| point.kernel == "stride_f32" && point.parameters.elements == 768));
    }

    #[test]
    fn a_stride_of_zero_is_refused() {
        let range = "0..=4".parse().ok();
        let error =
            Stride.points(&Request { range, ..request() }, &h200()).err().expect("stride 0").to_string();
        assert!(error.contains("stride of 0"), "{error}");
    }

    #[test]
    fn an_array_beyond_the_address_space_is_an_error() {
        let range = "4294967295".parse().ok();
        let request =
            Request { bytes: 1 << 35, range, precisions: vec![Precision::F64], block: 1024, ..request() };
        let error = Stride.points(&request, &h200()).err().expect("2^67 bytes").to_string();
        assert!(error.contains("64 bits"), "{error}");
    }

    #[test]
    fn touched_elements_are_found_in_any_window() {
        let window = |first, length, start, step, count| {
            touched(first, length, start, step, count).step_by(step as usize).collect::<Vec<_>>()
        };
        assert_eq!(window(0, 8, 3, 1, 4), [3, 4, 5, 6]);
        assert_eq!(window(5, 8, 3, 1, 4), [0, 1]);
        assert_eq!(window(0, 8, 0, 3, 3), [0, 3, 6]);
        assert_eq!(window(1, 8, 0, 3, 3), [2, 5]);
        assert_eq!(window(0, 8, 0, 3, 2), [0, 3]);
        assert_eq!(window(100, 8, 0, 3, 2), [0usize; 0]);
        assert_eq!(window(4, 4, 0, 4, 3), [0]);
    }

    #[test]
    fn launches_add_up_on_touched_elements_alone() {
        let expected = incremented(Precision::F32, 0, 2, 3);
        let mut values = [0f32; 8];
        pattern::fill(0, pattern::SEED, &mut values);
        for index in [0, 2, 4] {
            values[index] += 7.0;
        }
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(expected.check(0, 7, &bytes(&values)), None);
        values[6] += 7.0;
        let found = expected.check(0, 7, &bytes(&values)).expect("element 6 is not to be touched");
        assert_eq!((found.count, found.first.index), (1, 6));
    }
}
