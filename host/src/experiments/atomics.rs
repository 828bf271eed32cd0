//! `atomics`: what it costs when threads meet at an address. The kernels and what to expect of them are in gpu-kernels'
//! `atomics.rs`.

mod expected;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Shape, Work,
    articles, covering, findings,
};
use crate::device::{Backend, DeviceInfo};
use anyhow::{Result, bail};
use cuda_launch::SliceMut;
use expected::Share;
use gpu_kernels::atomics::{
    SHARED, atomics_global_add_f32, atomics_global_add_u32, atomics_global_add_u64, atomics_global_cas_u32,
    atomics_global_cas_u64, atomics_global_fetch_u32, atomics_global_match_u32, atomics_global_redux_u32,
    atomics_global_tree_f32, atomics_shared_add_f32, atomics_shared_add_u32, atomics_shared_add_u64,
    atomics_shared_cas_u32, atomics_shared_cas_u64, atomics_shared_fetch_u32, atomics_shared_match_u32,
};
use record::{Operation, Operations, Parameters, Record};
use report::{Article, Picture};

/// Many threads, one counter to many counters.
pub(super) struct Atomics;

/// Operations of each thread: in shared memory more, so that a launch takes several times as long as an empty one. Loops of
/// compare-and-swap take that long with few.
const REPEATS: u32 = 8;
const SHARED_REPEATS: u32 = 256;

/// Threads for each SM on a simulated card, and on a GPU: some, and as many as there is room for.
const QUICK_THREADS: u64 = 256;
const THREADS: u64 = 2048;

/// Blocks in a check.
const SMALL_BLOCKS: u64 = 2;

/// Threads per counter, of loops of compare-and-swap in global memory: each round has one winner, so that more of them
/// would take time and say the same.
const CONTENDERS: u64 = 64;

/// The numbers of counters that a quick run visits, besides one per thread.
const FEW_GLOBAL: [u32; 3] = [1, 32, 1024];
const FEW_SHARED: [u32; 3] = [1, 4, 32];

/// Where the counters are, and what finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counters {
    /// In global memory, by the thread's number.
    Global,
    /// In global memory, by the thread's number, where a few threads contend at a time.
    Contended,
    /// In global memory, by the thread's number, with the sum of old values as a result of each thread.
    Fetched,
    /// In global memory, by the warp's number.
    OfWarps,
    /// In shared memory, by the thread's number in its block.
    Shared,
}

/// The type of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    U32,
    U64,
    F32,
}

impl Number {
    const fn size(self) -> u64 {
        match self {
            Number::U32 | Number::F32 => 4,
            Number::U64 => 8,
        }
    }
}

/// A kernel, its counters, and how it is launched on a number of them.
struct Kernel {
    info: KernelInfo,
    counters: Counters,
    number: Number,
    /// Operations of each thread.
    repeats: u32,
    /// The launch for a number of counters and operations of each thread.
    work: fn(u32, u32) -> Work,
}

static KERNELS: [Kernel; 16] = [
    kernel::<atomics_global_add_u32, u32>(Counters::Global, Number::U32),
    kernel::<atomics_global_add_u64, u64>(Counters::Global, Number::U64),
    kernel::<atomics_global_add_f32, f32>(Counters::Global, Number::F32),
    Kernel {
        info: KernelInfo::of::<atomics_global_fetch_u32>(),
        counters: Counters::Fetched,
        number: Number::U32,
        repeats: REPEATS,
        work: |addresses, repeats| {
            Work::kernel::<atomics_global_fetch_u32>(move |buffers| {
                (buffers.write(0), buffers.write(1), addresses, repeats)
            })
        },
    },
    kernel::<atomics_global_cas_u32, u32>(Counters::Contended, Number::U32),
    kernel::<atomics_global_cas_u64, u64>(Counters::Contended, Number::U64),
    kernel::<atomics_global_match_u32, u32>(Counters::Global, Number::U32),
    kernel::<atomics_global_redux_u32, u32>(Counters::OfWarps, Number::U32),
    kernel::<atomics_global_tree_f32, f32>(Counters::OfWarps, Number::F32),
    kernel::<atomics_shared_add_u32, u32>(Counters::Shared, Number::U32),
    kernel::<atomics_shared_add_u64, u64>(Counters::Shared, Number::U64),
    kernel::<atomics_shared_add_f32, f32>(Counters::Shared, Number::F32),
    kernel::<atomics_shared_fetch_u32, u32>(Counters::Shared, Number::U32),
    Kernel { repeats: REPEATS, ..kernel::<atomics_shared_cas_u32, u32>(Counters::Shared, Number::U32) },
    Kernel { repeats: REPEATS, ..kernel::<atomics_shared_cas_u64, u64>(Counters::Shared, Number::U64) },
    kernel::<atomics_shared_match_u32, u32>(Counters::Shared, Number::U32),
];

const fn kernel<K, T: 'static>(counters: Counters, number: Number) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (SliceMut<'a, T>, u32, u32)>,
{
    let work = |addresses, repeats| Work::kernel::<K>(move |buffers| (buffers.write(0), addresses, repeats));
    let repeats = if matches!(counters, Counters::Shared) { SHARED_REPEATS } else { REPEATS };
    Kernel { info: KernelInfo::of::<K>(), counters, number, repeats, work }
}

impl Experiment for Atomics {
    fn name(&self) -> &'static str {
        "atomics"
    }

    fn summary(&self) -> &'static str {
        "atomic operations on one address to one per thread, in global and in shared memory"
    }

    fn reading(&self) -> &'static str {
        "An operation is what one thread asks for. From right to left more threads share an address: reductions of a warp \
         with one address are joined on the way, old values and compare-and-swap loops are not. `match`, `redux` and \
         `tree` add up within the warp first."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::AGGREGATED_ATOMICS]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "addresses", by: &[], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::atomics::atomics
    }

    fn swept(&self) -> Option<&'static str> {
        Some("addresses")
    }

    fn least(&self) -> u32 {
        1
    }

    fn options(&self) -> &'static [&'static str] {
        &["block", "range"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let block = super::shuffle::whole_warps(self.name(), request.block)?;
        let threads = match (request.scale, device.backend()) {
            (Scale::Small, _) => SMALL_BLOCKS * u64::from(block),
            (Scale::Quick, Backend::Modelled) => u64::from(device.multiprocessors) * QUICK_THREADS,
            (Scale::Quick, Backend::Measured) | (Scale::Full, _) => {
                u64::from(device.multiprocessors) * THREADS
            }
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
            for addresses in addresses(kernel, request, threads, block)? {
                let threads = match kernel.counters {
                    Counters::Contended => threads.min(u64::from(addresses) * CONTENDERS),
                    _ => threads,
                };
                points.push(point(kernel, addresses, covering(threads, block, device)?));
            }
        }
        Ok(points)
    }
}

/// The numbers of counters of a quick run: some, and one per thread.
fn few(counters: Counters, most: u32) -> impl Iterator<Item = u32> {
    let some = if counters == Counters::Shared { FEW_SHARED } else { FEW_GLOBAL };
    some.into_iter().filter(move |few| *few < most).chain([most])
}

/// The numbers of counters that a kernel is run on: powers of two up to one per thread.
fn addresses(kernel: &Kernel, request: &Request, threads: u64, block: u32) -> Result<Vec<u32>> {
    let most = match kernel.counters {
        Counters::Shared => u64::from(block).min(SHARED as u64),
        _ => threads,
    };
    let most = 1_u32 << most.ilog2();
    let Some(range) = &request.range else {
        return Ok(match request.scale {
            Scale::Full => (0..=most.trailing_zeros()).map(|power| 1 << power).collect(),
            _ => few(kernel.counters, most).collect(),
        });
    };
    if let Some(odd) = range.values().iter().find(|addresses| !addresses.is_power_of_two()) {
        bail!(
            "atomics takes numbers of addresses that are powers of two, and {odd} is none: --range 1,32,1024"
        );
    }
    Ok(range.values().iter().copied().filter(|addresses| *addresses <= most).collect())
}

/// The points of a kernel with its counters in this memory, for `link`.
///
/// # Errors
/// The device has no such block.
pub(super) fn through(
    place: Place,
    name: &str,
    request: &Request,
    device: &DeviceInfo,
) -> Result<Vec<Point>> {
    let block = super::shuffle::whole_warps("link", request.block)?;
    let threads = match request.scale {
        Scale::Small => SMALL_BLOCKS * u64::from(block),
        _ => u64::from(device.multiprocessors) * QUICK_THREADS,
    };
    let shape = covering(threads, block, device)?;
    let kernels = KERNELS.iter().filter(|kernel| kernel.info.name == name);
    let of_kernel = |kernel: &'static Kernel| {
        few(kernel.counters, 1_u32 << threads.ilog2()).map(move |addresses| {
            let mut point = point(kernel, addresses, shape);
            point.buffers[0].place = place;
            point
        })
    };
    Ok(kernels.flat_map(of_kernel).collect())
}

fn point(kernel: &Kernel, addresses: u32, shape: Shape) -> Point {
    let block = u64::from(shape.block[0]);
    let threads = u64::from(shape.grid[0]) * block;
    let size = kernel.number.size();
    let repeats = u64::from(kernel.repeats);
    let operations = threads * repeats;
    let share = match kernel.counters {
        Counters::OfWarps => Share { addresses, sharers: threads / 32, each: 32 * repeats },
        Counters::Shared => Share { addresses, sharers: block, each: repeats },
        _ => Share { addresses, sharers: threads, each: repeats },
    };
    let (counters, footprint) = match kernel.counters {
        Counters::Shared => (threads, threads * size),
        _ => (u64::from(addresses), u64::from(addresses) * size),
    };
    let place = Place::Device;
    let mut buffers = vec![match kernel.counters {
        Counters::Shared => Buffer {
            bytes: counters * size,
            place,
            before: Contents::Poison,
            after: share.of_blocks(kernel.number, block),
        },
        _ => Buffer {
            bytes: counters * size,
            place,
            before: expected::zeros(kernel.number),
            after: share
                .accumulated(kernel.number, if kernel.counters == Counters::OfWarps { 32.0 } else { 1.0 }),
        },
    }];
    if kernel.counters == Counters::Fetched {
        let after = share.old_values(kernel.repeats);
        buffers.push(Buffer { bytes: threads * 4, place, before: Contents::Poison, after });
    }
    let point = Point::new(Atomics.name(), shape, (kernel.work)(addresses, kernel.repeats));
    Point {
        parameters: Parameters { bytes: operations * size, elements: operations, ..point.parameters }
            .swept("addresses", addresses),
        bytes: BytesMoved {
            read: operations * size,
            written: operations * size,
            footprint: footprint.next_multiple_of(32),
        },
        operations: Some(Operations { kind: Operation::Atomic, count: operations }),
        buffers,
        ..point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments::tests};

    #[test]
    fn each_kernel_goes_from_one_address_to_one_per_thread() {
        let request = Request { scale: Scale::Full, ..tests::request() };
        let points = Atomics.points(&request, &h200()).expect("it is a valid request");
        let of = |name: &str| {
            let points = points.iter().filter(|point| point.kernel == name);
            let swept = points.filter_map(|point| point.parameters.swept.as_ref());
            swept.map(|swept| swept.value).collect::<Vec<_>>()
        };
        // 132 * 2048 threads.
        assert_eq!(of("atomics_global_add_u32"), (0..=18).map(|power| 1 << power).collect::<Vec<u64>>());
        assert_eq!(of("atomics_shared_add_u32"), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        let quick = Atomics.points(&tests::request(), &h200()).expect("it is a valid request");
        assert_eq!(quick.len(), KERNELS.len() * 4);
    }

    #[test]
    fn few_threads_swap_at_one_address() {
        let request = tests::naming(&["atomics_global_cas_u32", "atomics_global_add_u32"]);
        let points = Atomics.points(&request, &h200()).expect("it is a valid request");
        let threads: Vec<_> = points.iter().map(|point| (point.kernel, point.shape.grid[0] * 256)).collect();
        assert_eq!(threads[0], ("atomics_global_add_u32", 132 * 2048));
        assert_eq!(threads[4], ("atomics_global_cas_u32", 256));
        assert_eq!(threads[5], ("atomics_global_cas_u32", 2048));
    }

    #[test]
    fn a_number_of_addresses_that_is_no_power_of_two_is_refused() {
        let request = Request { range: "1,3".parse().ok(), ..tests::request() };
        let error = Atomics.points(&request, &h200()).err().expect("3 is none").to_string();
        assert!(error.contains("powers of two, and 3 is none"), "{error}");
    }
}
