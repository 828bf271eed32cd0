//! `gather`: reads and writes by index, with indices in order, in random blocks and wholly random. The kernels and what to
//! expect of them are in gpu-kernels' `gather.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Work, articles,
    check_size, covering, findings, permutation::Permutation,
};
use crate::{
    device::{Backend, DeviceInfo},
    sizes::Bytes,
    verify::Expected,
};
use anyhow::{Result, bail};
use gpu_kernels::{
    gather::{gather, scatter},
    unchecked::gather::scatter_unchecked,
};
use record::{Operation, Operations, Parameters, Record};
use report::{Article, Picture};
use std::cell::Cell;

/// Reads by index and writes by index.
pub(super) struct Gather;

/// Bytes of an element.
const SIZE: u64 = 4;

/// The largest block that stays together, of which the arrays are a whole number.
const UNIT: u64 = 4096;

/// The longest array: an index has 32 bits.
const LONGEST: u64 = SIZE << 32;

/// Bytes of each array where all of them are to be in L2.
const IN_L2: u64 = 4 << 20;

/// The order of the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    /// The name in records.
    name: &'static str,
    /// Bytes that stay together; `None` where all is in order.
    together: Option<u64>,
}

/// The orders, from the best one to the worst.
const ORDERS: [Order; 5] = [
    Order { name: "sorted", together: None },
    Order { name: "blocks of 4096 B", together: Some(4096) },
    Order { name: "blocks of 128 B", together: Some(128) },
    Order { name: "blocks of 32 B", together: Some(32) },
    Order { name: "random", together: Some(SIZE) },
];

/// A kernel, and whether the index is of what it writes.
struct Kernel {
    info: KernelInfo,
    writes: bool,
    work: fn() -> Work,
}

const KERNELS: [Kernel; 3] = [
    Kernel {
        info: KernelInfo::of::<gather>(),
        writes: false,
        work: || Work::kernel::<gather>(|buffers| (buffers.read(0), buffers.read(1), buffers.write(2))),
    },
    Kernel {
        info: KernelInfo::of::<scatter>(),
        writes: true,
        work: || Work::kernel::<scatter>(|buffers| (buffers.read(0), buffers.read(1), buffers.write(2))),
    },
    Kernel {
        info: KernelInfo::of::<scatter_unchecked>(),
        writes: true,
        work: || {
            Work::kernel::<scatter_unchecked>(|buffers| {
                (buffers.read(0), buffers.read(1), buffers.write::<cuda_launch::Slice<'_, Cell<u32>>>(2))
            })
        },
    },
];

impl Experiment for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn summary(&self) -> &'static str {
        "out[i] = in[index[i]] and out[index[i]] = in[i]: sorted, in random blocks, wholly random"
    }

    fn reading(&self) -> &'static str {
        "A lookup is one element read or written where its index says; GB/s count the indices and both elements, 12 bytes. \
         Blocks of 32 bytes are whole sectors: none of what moves is lost. At random a lane has a sector of its own, and the rate is that of sectors per second, \
         which L2 answers several times as fast as DRAM."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::SPATTER]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["order", "bytes"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::gather::gather
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        UNIT
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let sizes: &[u64] = match (request.scale, device.backend()) {
            _ if request.sized => &[request.bytes],
            (Scale::Small, _) => &[5 * UNIT],
            (Scale::Quick, Backend::Modelled) => &[IN_L2 / 4],
            (Scale::Quick, Backend::Measured) => &[IN_L2, request.bytes / 2 / UNIT * UNIT],
            (Scale::Full, _) => &[IN_L2, request.bytes],
        };
        if let Some(bytes) = sizes.iter().find(|&&bytes| bytes > LONGEST) {
            bail!("gather has indices of 32 bits, too few for {}; use at most 16 GiB", Bytes(*bytes));
        }
        let mut points = Vec::new();
        for &bytes in sizes {
            for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
                // What does not fit in L2 takes time on the host as well, so a quick run has the ends alone.
                let few = request.scale == Scale::Quick && bytes > IN_L2 && !request.sized;
                for order in ORDERS.iter().filter(|order| !few || matches!(order.together, None | Some(SIZE)))
                {
                    points.push(point(kernel, *order, bytes, request.block, device)?);
                }
            }
        }
        Ok(points)
    }
}

fn point(kernel: &Kernel, order: Order, bytes: u64, block: u32, device: &DeviceInfo) -> Result<Point> {
    let elements = bytes / SIZE;
    let shape = covering(elements, block, device)?;
    let to = order.together.map(|together| Permutation::of_blocks(elements, together / SIZE));
    let index = move |first, values: &mut [u32]| {
        indices(first, values);
        to.iter().for_each(|to| to.to(values));
    };
    let back = move |first, values: &mut [u32]| {
        indices(first, values);
        to.iter().for_each(|to| to.from(values));
    };
    let buffer = |before, after| Buffer { bytes, place: Place::Device, before, after };
    let result = match kernel.writes {
        true => elements_of(move |first, values| valued(back, first, values)),
        false => elements_of(move |first, values| valued(index, first, values)),
    };
    let point = Point::new(Gather.name(), shape, (kernel.work)());
    Ok(Point {
        parameters: Parameters { bytes, elements, ..point.parameters }.with("order", order.name),
        bytes: BytesMoved { read: 2 * bytes, written: bytes, footprint: 3 * bytes },
        operations: Some(Operations { kind: Operation::Lookup, count: elements }),
        buffers: vec![
            buffer(Contents::by_pieces(index), elements_of(index)),
            buffer(Contents::by_pieces(source), elements_of(source)),
            buffer(Contents::Poison, result),
        ],
        ..point
    })
}

/// The element at an index of the source: all are different.
fn value(index: u32) -> u32 {
    index.wrapping_mul(2_654_435_761)
}

/// Writes indices in order.
fn indices(first: u64, values: &mut [u32]) {
    values.iter_mut().enumerate().for_each(|(offset, place)| *place = first as u32 + offset as u32);
}

/// Writes the elements of the source at the indices that `index` writes.
fn valued(index: impl Fn(u64, &mut [u32]), first: u64, values: &mut [u32]) {
    index(first, values);
    values.iter_mut().for_each(|place| *place = value(*place));
}

/// Writes the source.
fn source(first: u64, values: &mut [u32]) {
    valued(indices, first, values);
}

/// A buffer of what `fill` writes.
fn elements_of(fill: impl Fn(u64, &mut [u32]) + Send + Sync + 'static) -> Expected {
    Expected::exactly(move |first, _, values| fill(first, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments::tests::request};
    use cust::memory::bytemuck;

    #[test]
    fn each_kernel_has_each_order() {
        let points = Gather.points(&request(), &h200()).expect("it is a valid request");
        assert_eq!(points.len(), KERNELS.len() * ORDERS.len());
        assert!(points.iter().all(|point| point.bytes.read == 2 << 20 && point.bytes.written == 1 << 20));
    }

    #[test]
    fn an_array_is_no_longer_than_its_indices_reach() {
        let planned = |bytes| Gather.points(&Request { bytes, sized: true, ..request() }, &h200());
        assert!(planned(LONGEST).is_ok());
        let error = planned(LONGEST + UNIT).err().expect("an index too many").to_string();
        assert!(error.contains("at most 16 GiB"), "{error}");
    }

    #[test]
    fn a_scatter_undoes_what_the_gather_of_the_same_indices_does() {
        let at = |kernel: &Kernel| point(kernel, ORDERS[4], 4096, 256, &h200()).expect("it is valid");
        let mut indices: Vec<u32> = (0..1024).collect();
        Permutation::of_blocks(1024, 1).to(&mut indices);
        let mut scattered = vec![0; 1024];
        for (index, number) in indices.iter().zip(0..) {
            scattered[*index as usize] = value(number);
        }
        let gathered: Vec<u32> = indices.iter().map(|&index| value(index)).collect();
        let check = |kernel: &Kernel, found: &[u32]| {
            at(kernel).buffers[2].after.check(0, 1, bytemuck::cast_slice(found))
        };
        assert_eq!(check(&KERNELS[0], &gathered), None);
        assert_eq!(check(&KERNELS[1], &scattered), None);
        assert!(check(&KERNELS[1], &gathered).is_some());
    }
}
