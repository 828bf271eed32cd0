//! `shuffle`: lanes that read each other's registers, and sums that are made of it. The kernels and what to expect of
//! them are in gpu-kernels' `shuffle.rs` and `shuffle/reduction.rs`.

mod definition;
mod reduction;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Work, articles,
    check_size, covering, findings,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::{Result, bail};
use cuda_launch::{Slice, SliceMut};
use cust::memory::bytemuck::Pod;
use definition::{Kind, LANES, giver};
use gpu_kernels::shuffle::{
    shuffle_down_f32, shuffle_down_i32, shuffle_idx_f32, shuffle_idx_i32, shuffle_up_f32, shuffle_up_i32,
    shuffle_wrap_f32, shuffle_wrap_i32, shuffle_xor_f32, shuffle_xor_i32,
};
use pattern::SEED;
use record::{Parameters, Record};
use report::{Article, Picture};
use std::fmt;

/// Shuffles of five kinds, and reductions.
pub(super) struct Shuffle;

/// A kernel, which takes source, destination, operand and width.
struct Kernel {
    info: KernelInfo,
    kind: Kind,
    element: Element,
    work: fn(Exchange) -> Work,
}

const fn kernel<K, T: Copy + 'static>(kind: Kind, element: Element) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (Slice<'a, T>, SliceMut<'a, T>, u32, u32)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        kind,
        element,
        work: |Exchange { operand, width, .. }| {
            Work::kernel::<K>(move |buffers| (buffers.read(0), buffers.write(1), operand, width))
        },
    }
}

/// A kernel for each kind and type.
const KERNELS: [Kernel; 10] = [
    kernel::<shuffle_idx_i32, _>(Kind::Idx, Element::I32),
    kernel::<shuffle_up_i32, _>(Kind::Up, Element::I32),
    kernel::<shuffle_down_i32, _>(Kind::Down, Element::I32),
    kernel::<shuffle_xor_i32, _>(Kind::Xor, Element::I32),
    kernel::<shuffle_wrap_i32, _>(Kind::Wrap, Element::I32),
    kernel::<shuffle_idx_f32, _>(Kind::Idx, Element::F32),
    kernel::<shuffle_up_f32, _>(Kind::Up, Element::F32),
    kernel::<shuffle_down_f32, _>(Kind::Down, Element::F32),
    kernel::<shuffle_xor_f32, _>(Kind::Xor, Element::F32),
    kernel::<shuffle_wrap_f32, _>(Kind::Wrap, Element::F32),
];

/// Every width that a shuffle has.
const WIDTHS: [u32; 5] = [2, 4, 8, 16, 32];

/// The width of a run that names none.
const QUICK_WIDTHS: [u32; 1] = [32];

/// Bytes of an element.
const SIZE: u64 = 4;

/// Bytes of the source in a check: the last warp is not full.
const SMALL: u64 = 5004 * SIZE;

/// The type of the shuffled values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    I32,
    F32,
}

impl Experiment for Shuffle {
    fn name(&self) -> &'static str {
        "shuffle"
    }

    fn summary(&self) -> &'static str {
        "lanes that read each other's registers; reductions by shuffles against shared memory"
    }

    fn reading(&self) -> &'static str {
        "A shuffle is one instruction between a load and a store, so its kernels are level with a copy of one word per \
         thread. Reductions read much and write little; they reach the bandwidth of memory if a thread loads four vectors \
         before it adds."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_5]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["width", "operand"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::shuffle::shuffle
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block", "width"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).chain(reduction::kernels()).collect()
    }

    fn unit(&self, request: &Request) -> u64 {
        reduction::unit(request)
    }

    /// It touches each byte twice, but for the sums.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2 / 2
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let block = whole_warps(self.name(), request.block)?;
        let widths = widths(request)?;
        let bytes = bytes(request)?;
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
            for &width in &widths {
                for operand in operands(kernel.kind, width, request) {
                    let exchange = Exchange { kind: kernel.kind, operand, width };
                    points.push(point(kernel, exchange, (bytes, block), device)?);
                }
            }
        }
        points.extend(reduction::plan(request, bytes, block, device)?);
        Ok(points)
    }
}

/// A kind of shuffle, with what all lanes have in common.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    kind: Kind,
    operand: u32,
    width: u32,
}

fn point(
    kernel: &Kernel,
    exchange: Exchange,
    (bytes, block): (u64, u32),
    device: &DeviceInfo,
) -> Result<Point> {
    let elements = bytes / SIZE;
    let shape = covering(elements, block, device)?;
    let (before, same, shuffled) = match kernel.element {
        Element::I32 => (Contents::of(integer), unchanged(integer), exchanged(exchange, elements, integer)),
        Element::F32 => (Contents::of(float), unchanged(float), exchanged(exchange, elements, float)),
    };
    let Exchange { operand, width, .. } = exchange;
    let point = Point::new(Shuffle.name(), shape, (kernel.work)(exchange));
    let more = [("width", width), ("operand", operand)].map(|(name, value)| (name.to_string(), value.into()));
    Ok(Point {
        parameters: Parameters { bytes, elements, more: more.into(), ..point.parameters },
        bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes.next_multiple_of(32) },
        buffers: vec![
            Buffer { bytes, place: Place::Device, before, after: same },
            Buffer { bytes, place: Place::Device, before: Contents::Poison, after: shuffled },
        ],
        ..point
    })
}

/// The block, if it is whole warps.
///
/// # Errors
/// It is none: the error names its neighbours.
pub(super) fn whole_warps(experiment: &str, block: u32) -> Result<u32> {
    const MOST: u32 = 1024;
    if block > 0 && block.is_multiple_of(LANES) && block <= MOST {
        return Ok(block);
    }
    let below = block / LANES * LANES;
    let nearest = match below {
        0 => "the nearest is 32".to_string(),
        MOST.. => format!("the largest is {MOST}"),
        _ => format!("the nearest are {below} and {}", below + LANES),
    };
    bail!(
        "{experiment} takes blocks of whole warps, and {block} threads are not a multiple of {LANES}: {nearest}"
    )
}

/// The widths that the request asks for.
fn widths(request: &Request) -> Result<Vec<u32>> {
    let chosen = &request.choices.width;
    if chosen.is_empty() {
        return Ok(match request.scale {
            Scale::Quick => QUICK_WIDTHS.to_vec(),
            Scale::Small | Scale::Full => WIDTHS.to_vec(),
        });
    }
    let Some(width) = chosen.iter().find(|width| !WIDTHS.contains(width)) else { return Ok(chosen.clone()) };
    let above = WIDTHS.iter().position(|valid| valid > width);
    bail!(
        "--width {width}: a shuffle has segments of 2, 4, 8, 16 or 32 lanes; the nearest {}",
        match above {
            Some(0) => "is 2".to_string(),
            Some(above) => format!("are {} and {}", WIDTHS[above - 1], WIDTHS[above]),
            None => "is 32".to_string(),
        }
    )
}

/// The operands to run with: one, and where widths are asked for more, the edges among them.
fn operands(kind: Kind, width: u32, request: &Request) -> Vec<u32> {
    if request.choices.width.is_empty() && request.scale == Scale::Quick {
        return vec![if kind == Kind::Xor { 1 } else { 2 }];
    }
    let mut operands = vec![1, 2, width / 2 + 1, width - 1];
    operands.sort_unstable();
    operands.dedup();
    operands
}

/// The bytes to read.
fn bytes(request: &Request) -> Result<u64> {
    if request.scale == Scale::Small && !request.sized {
        return Ok(SMALL);
    }
    check_size(&[&Shuffle], request)?;
    Ok(request.bytes)
}

/// The whole number at an index of a source, of all 32 bits.
fn integer(index: u64) -> i32 {
    let folded = index as u32 ^ (index >> 32) as u32;
    (folded.wrapping_mul(2_654_435_761).wrapping_add(SEED) ^ folded.rotate_left(16)) as i32
}

/// The number at an index of a source.
fn float(index: u64) -> f32 {
    pattern::value(index, SEED) as f32
}

/// A source, before and after.
fn unchanged<T: Pod + fmt::Debug>(value: impl Fn(u64) -> T + Send + Sync + 'static) -> Expected {
    Expected::exactly(move |first, _, values: &mut [T]| {
        for (offset, place) in values.iter_mut().enumerate() {
            *place = value(first + offset as u64);
        }
    })
}

/// The expected value of each lane. Lanes past the end of the source give 0.
fn exchanged<T: Pod + fmt::Debug>(
    exchange: Exchange,
    elements: u64,
    value: impl Fn(u64) -> T + Send + Sync + 'static,
) -> Expected {
    const WARP: usize = LANES as usize;
    let Exchange { kind, operand, width } = exchange;
    let givers: [usize; WARP] = std::array::from_fn(|lane| giver(kind, lane as u32, operand, width) as usize);
    Expected::exactly(move |first, _, mut values: &mut [T]| {
        let mut index = first;
        while !values.is_empty() {
            let lane = index as usize % WARP;
            let warp = index - lane as u64;
            let mut given: [T; WARP] = std::array::from_fn(|lane| value(warp + lane as u64));
            given[elements.saturating_sub(warp).min(LANES.into()) as usize..].fill(T::zeroed());
            let (of_warp, others) = values.split_at_mut((WARP - lane).min(values.len()));
            for (place, giver) in of_warp.iter_mut().zip(&givers[lane..]) {
                *place = given[giver % WARP];
            }
            index += of_warp.len() as u64;
            values = others;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments, experiments::Choices};
    use cust::memory::bytemuck;

    fn request(width: &[u32]) -> Request {
        let choices = Choices { width: width.to_vec(), ..Choices::default() };
        Request {
            bytes: 1000,
            choices,
            kernels: vec!["shuffle_up_f32".to_string()],
            ..experiments::tests::request()
        }
    }

    #[test]
    fn a_width_has_to_be_a_power_of_two() {
        assert_eq!(widths(&request(&[])).ok(), Some(vec![32]));
        assert_eq!(widths(&request(&WIDTHS)).ok(), Some(WIDTHS.to_vec()));
        for (width, nearest) in [
            (1, "the nearest is 2"),
            (3, "the nearest are 2 and 4"),
            (24, "the nearest are 16 and 32"),
            (33, "the nearest is 32"),
            (64, "the nearest is 32"),
        ] {
            let error = widths(&request(&[8, width])).expect_err("no width of a shuffle").to_string();
            assert!(error.starts_with(&format!("--width {width}: ")) && error.ends_with(nearest), "{error}");
        }
    }

    #[test]
    fn blocks_are_whole_warps() {
        for block in [32, 96, 1024] {
            assert_eq!(whole_warps("shuffle", block).ok(), Some(block));
        }
        for (block, nearest) in [
            (1, "the nearest is 32"),
            (33, "the nearest are 32 and 64"),
            (1000, "the nearest are 992 and 1024"),
        ] {
            let error = whole_warps("shuffle", block).expect_err("no multiple of 32").to_string();
            assert!(error.ends_with(nearest), "{error}");
        }
    }

    #[test]
    fn the_last_warp_may_have_lanes_without_an_element() {
        // 40 elements: in the second warp the lanes from 8 on give a 0.
        let exchange = Exchange { kind: Kind::Down, operand: 2, width: 32 };
        let expected = exchanged(exchange, 40, integer);
        let mut right: Vec<i32> = (2..32).map(integer).collect();
        right.extend([30, 31].map(integer));
        right.extend((34..40).map(integer));
        right.extend([0, 0]);
        assert_eq!(expected.check(0, 1, bytemuck::cast_slice(&right)), None);
        right[39] = integer(39);
        let findings = expected.check(0, 1, bytemuck::cast_slice(&right)).expect("one is wrong");
        assert_eq!((findings.count, findings.first.index), (1, 39));
    }

    #[test]
    fn points_say_width_and_operand() {
        let points = Shuffle.points(&request(&[4]), &h200()).expect("it is a valid request");
        let said: Vec<_> = points.iter().map(|point| point.parameters.more["operand"].clone()).collect();
        assert_eq!(said, [1, 2, 3]);
        assert!(points.iter().all(|point| point.parameters.more["width"] == 4));
        assert_eq!((points[0].parameters.elements, points[0].shape.grid), (250, [1, 1, 1]));
    }

    #[test]
    fn sums_of_vectors_take_whole_vectors() {
        let all = |bytes| Request { bytes, ..experiments::tests::request() };
        assert!(Shuffle.points(&all(4016), &h200()).is_ok());
        let error = Shuffle.points(&all(4020), &h200()).err().expect("no multiple of 16").to_string();
        assert!(error.contains("4016") && error.contains("4032"), "{error}");
    }
}
