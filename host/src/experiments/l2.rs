//! `l2`: what stays in L2 beside a stream, how much is fetched for a sector, and what stores of parts cost. The kernels and what
//! to expect of them are in gpu-kernels' `unchecked/l2.rs`.

mod expected;

use self::expected::{Beside, Sectors, Stores};
use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Moment, Place, Point, Precision, Request, Scale,
    Work, articles, check_size, copy, covering, findings, least_common_multiple,
};
use crate::{
    device::{Backend, DeviceInfo},
    kernels::own,
};
use anyhow::Result;
use cuda_driver::ext;
use cust::context::CurrentContext;
use gpu_kernels::unchecked::l2::{
    l2_evict_first, l2_evict_last, l2_fetch, l2_fetch_128, l2_fetch_256, l2_plain, l2_store,
};
use record::{Parameters, Record};
use report::{Article, Picture};
use std::collections::BTreeMap;

/// Persistence, hints, granularity and stores.
pub(super) struct L2;

/// A kernel, its policy by its name in records, and its work.
type BesideStream = (KernelInfo, &'static str, fn() -> Work);

/// A kernel and its work at a distance in words.
type Fetching = (KernelInfo, fn(u32) -> Work);

/// The kernels that read a stream and a table, and the policy that rows name.
const BESIDE: [BesideStream; 3] = [
    (KernelInfo::of::<l2_plain>(), NO_POLICY, || {
        Work::kernel::<l2_plain>(|on| (on.read(0), on.read(1), on.write(2)))
    }),
    (KernelInfo::of::<l2_evict_first>(), "stream first", || {
        Work::kernel::<l2_evict_first>(|on| (on.read(0), on.read(1), on.write(2)))
    }),
    (KernelInfo::of::<l2_evict_last>(), "stream first, table last", || {
        Work::kernel::<l2_evict_last>(|on| (on.read(0), on.read(1), on.write(2)))
    }),
];

/// The policy of rows without one, and of those with the driver's window.
const NO_POLICY: &str = "none";
const WINDOW: &str = "window";

/// The kernels that use one sector of several.
const FETCH: [Fetching; 3] = [
    (KernelInfo::of::<l2_fetch>(), |distance| {
        Work::kernel::<l2_fetch>(move |on| (on.read(0), on.write(1), distance))
    }),
    (KernelInfo::of::<l2_fetch_128>(), |distance| {
        Work::kernel::<l2_fetch_128>(move |on| (on.read(0), on.write(1), distance))
    }),
    (KernelInfo::of::<l2_fetch_256>(), |distance| {
        Work::kernel::<l2_fetch_256>(move |on| (on.read(0), on.write(1), distance))
    }),
];

const STORE: KernelInfo = KernelInfo::of::<l2_store>();

/// Among what is observed, the bytes of L2 that were set aside.
const SET_ASIDE: &str = "l2_set_aside";

/// The table's share of L2, in per cent.
const SHARES: [u64; 4] = [12, 25, 50, 75];
const QUICK_SHARES: [u64; 2] = [25, 50];

/// Bytes from one used sector to the next.
const DISTANCES: [u64; 4] = [32, 64, 128, 256];

/// Words stored in a row, and the distance in words from one row to the next.
const STORES: [(u32, u32); 6] = [(8, 8), (4, 8), (2, 8), (1, 8), (16, 32), (8, 32)];

/// Bytes of a word, of a vector and of a sector.
const WORD: u64 = 4;
const VECTOR: u64 = 16;
const SECTOR: u64 = 32;

/// Threads per multiprocessor: as many as there is room for.
const THREADS: u64 = 2048;

/// Threads in a check.
const SMALL_THREADS: u64 = 512;

impl Experiment for L2 {
    fn name(&self) -> &'static str {
        "l2"
    }

    fn summary(&self) -> &'static str {
        "L2: what stays beside a stream, what is fetched for a sector, what stores of parts cost"
    }

    fn reading(&self) -> &'static str {
        "Rows with a policy read a stream and a table of table_share per cent of L2, a vector of each alternately; if the table \
         stays, they approach twice the bandwidth of DRAM. Rows with a distance use one sector of that many bytes, and count \
         32 bytes for each. Rows with stored count the bytes written."
    }

    fn module(&self) -> &'static str {
        "unchecked/l2"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::DISSECTING_HOPPER]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["policy", "table_share", "distance", "stored"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::l2::l2
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        let beside = BESIDE.iter().map(|(info, ..)| *info);
        beside.chain(FETCH.iter().map(|(info, _)| *info)).chain([STORE]).collect()
    }

    /// The longest distance, and a vector per thread of a block.
    fn unit(&self, request: &Request) -> u64 {
        least_common_multiple(DISTANCES[DISTANCES.len() - 1], VECTOR * u64::from(request.block.max(1)))
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2.min(4 << 20)
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let kernels = self.kernels();
        let names = kernels.iter().map(|kernel| kernel.name).filter(|name| request.wants(name));
        let mut notes = own::left_out(names, device);
        if device.backend() == Backend::Modelled {
            notes.push(
                "l2: the model of L2 has neither policies nor persistence, so the rows with a window are left out, and \
                 l2_evict_first, l2_evict_last as well; where these are named, their rows have no time"
                    .to_string(),
            );
        }
        if request.scale == Scale::Quick && request.kernels.is_empty() {
            notes.push(
                "l2_fetch_128 and l2_fetch_256 are left out of a quick run: `--full` has them".to_string(),
            );
        }
        notes
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let modelled = device.backend() == Backend::Modelled;
        let all = request.scale != Scale::Quick;
        let is_possible = |kernel: KernelInfo| {
            own::runs(kernel.name, device, request.names(kernel.name))
                .map(|runs| runs && request.wants(kernel.name))
        };
        let threads = match request.scale {
            Scale::Small => SMALL_THREADS,
            _ => u64::from(device.multiprocessors) * THREADS,
        };
        let mut points = Vec::new();
        let shares = if all { &SHARES[..] } else { &QUICK_SHARES };
        for (kernel, policy, work) in BESIDE {
            let without_effect = modelled && policy != NO_POLICY && request.scale != Scale::Small;
            if !is_possible(kernel)? || (without_effect && !request.names(kernel.name)) {
                continue;
            }
            for &share in shares {
                points.push(beside(request, device, (threads, share), policy, work())?);
            }
        }
        if !modelled && is_possible(BESIDE[0].0)? {
            for &share in shares {
                let work = BESIDE[0].2().persisting(1);
                let point = beside(request, device, (threads, share), WINDOW, work)?;
                let table = point.buffers[1].bytes;
                points.push(Point {
                    before_all: Some(Box::new(move |_, _| {
                        set_aside(table);
                        Ok(())
                    })),
                    observe: Some(Box::new(move |moment, _| match moment {
                        Moment::Before => {
                            Ok(BTreeMap::from([(SET_ASIDE.to_string(), set_aside(table).into())]))
                        }
                        // What comes next has all of L2 again.
                        Moment::After => {
                            ext::reset_persisting_l2()?;
                            set_aside(0);
                            Ok(BTreeMap::new())
                        }
                    })),
                    ..point
                });
            }
        }
        for (nth, (kernel, work)) in FETCH.into_iter().enumerate() {
            if is_possible(kernel)? && (nth == 0 || all || request.names(kernel.name)) {
                for distance in DISTANCES {
                    points.push(fetch(request, device, threads, distance, work((distance / WORD) as u32))?);
                }
            }
        }
        if is_possible(STORE)? {
            for (used, pitch) in STORES {
                points.push(store(request, device, used, pitch)?);
            }
        }
        Ok(points)
    }
}

/// Sets this much of L2 aside for lines that persist, or as much as the device can; returns how much that is: none where it cannot.
fn set_aside(bytes: u64) -> u64 {
    let most = || {
        let device = CurrentContext::get_device().ok()?.as_raw();
        let most = ext::device_attribute(device, ext::DeviceAttribute::MAX_PERSISTING_L2_CACHE_SIZE).ok()?;
        let bytes = bytes.min(u64::try_from(most).ok()?);
        ext::set_persisting_l2(bytes as usize).ok().map(|()| bytes)
    };
    most().unwrap_or(0)
}

/// A source of this many bytes, which stays as it is.
fn source(bytes: u64) -> Buffer {
    let before = Contents::Pattern(Precision::F32);
    Buffer { bytes, place: Place::Device, before, after: copy::pattern() }
}

/// A stream, and beside it a table of `share` per cent of L2.
fn beside(
    request: &Request,
    device: &DeviceInfo,
    (threads, share): (u64, u64),
    policy: &str,
    work: Work,
) -> Result<Point> {
    let block = u64::from(request.block);
    let blocks = (threads / block).min(request.bytes / (block * VECTOR)).max(1);
    let (threads, round) = (blocks * block, blocks * block * VECTOR);
    let shape = covering(threads, request.block, device)?;
    let stream = request.bytes / round * round;
    // In a small run the table is as small beside the stream.
    let table = (device.l2_bytes * share / 100).min(stream / 4) / VECTOR * VECTOR;
    let sums = Beside { threads, vectors: stream / VECTOR, table: table / VECTOR };
    let point = Point::new(L2.name(), shape, work);
    Ok(Point {
        parameters: Parameters { bytes: stream, elements: stream / VECTOR, ..point.parameters }
            .with("policy", policy)
            .with("table_share", share),
        bytes: BytesMoved {
            read: 2 * stream,
            written: threads * WORD,
            footprint: stream + table + threads * WORD,
        },
        buffers: vec![source(stream), source(table), sums.buffer()],
        ..point
    })
}

/// One sector of every `distance` bytes.
fn fetch(request: &Request, device: &DeviceInfo, threads: u64, distance: u64, work: Work) -> Result<Point> {
    let shape = covering(threads, request.block, device)?;
    let threads = u64::from(shape.grid[0]) * u64::from(request.block);
    let sectors = request.bytes / distance;
    let sums = Sectors { threads, words: request.bytes / WORD, distance: distance / WORD };
    let point = Point::new(L2.name(), shape, work);
    let read = sectors * SECTOR;
    Ok(Point {
        parameters: Parameters { bytes: request.bytes, elements: sectors, ..point.parameters }
            .with("distance", distance),
        bytes: BytesMoved { read, written: threads * WORD, footprint: read + threads * WORD },
        buffers: vec![source(request.bytes), sums.buffer()],
        ..point
    })
}

/// Stores of `used` words of every `pitch`.
fn store(request: &Request, device: &DeviceInfo, used: u32, pitch: u32) -> Result<Point> {
    let (taken, of) = (u64::from(used) * WORD, u64::from(pitch) * WORD);
    let words = request.bytes / of * u64::from(used);
    let stores = Stores { used: used.into(), pitch: pitch.into() };
    let work = Work::kernel::<l2_store>(move |on| (on.write(0), used, pitch));
    let point = Point::new(L2.name(), covering(words, request.block, device)?, work);
    let sectors = words * WORD / taken * taken.next_multiple_of(SECTOR);
    Ok(Point {
        parameters: Parameters { bytes: request.bytes, elements: words, ..point.parameters }
            .with("stored", format!("{taken} of {of} bytes")),
        bytes: BytesMoved { read: 0, written: words * WORD, footprint: sectors },
        buffers: vec![stores.buffer(request.bytes)],
        ..point
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::{self, tests::request},
    };

    #[test]
    fn each_question_has_its_points() {
        let full = Request { scale: Scale::Full, bytes: 64 << 20, ..request() };
        let points = L2.points(&full, &h200()).expect("it is a valid request");
        let of = |kernel: &str| points.iter().filter(|point| point.kernel == kernel).collect::<Vec<_>>();
        assert_eq!(
            ["l2_plain", "l2_evict_last", "l2_fetch", "l2_store"].map(|name| of(name).len()),
            [8, 4, 4, 6]
        );
        let read: Vec<u64> = of("l2_fetch").iter().map(|point| point.bytes.read >> 20).collect();
        assert_eq!(read, [64, 32, 16, 8]);
        let stored: Vec<_> = of("l2_store")
            .iter()
            .map(|point| (point.bytes.written >> 20, point.bytes.footprint >> 20))
            .collect();
        assert_eq!(stored, [(64, 64), (32, 64), (16, 64), (8, 64), (32, 32), (16, 16)]);
        // A stream is a whole number of vectors for all threads.
        let round = 132 * 2048 * 16;
        assert_eq!(of("l2_plain")[0].bytes.read, (64 << 20) / round * round * 2);
    }

    #[test]
    fn policies_are_left_out_where_they_have_no_effect() {
        let simulated = DeviceInfo { card: c870().card, ..h200() };
        let points = L2.points(&request(), &simulated).expect("it is a valid request");
        assert!(points.iter().all(|point| !point.kernel.starts_with("l2_evict")));
        assert_eq!(points.len(), 2 + 4 + 6);
        assert!(L2.notes(&request(), &simulated)[0].contains("l2_evict_first, l2_evict_last"));
        let named = experiments::tests::naming(&["l2_evict_last"]);
        assert_eq!(L2.points(&named, &simulated).map(|points| points.len()).ok(), Some(2));
        // Stores need nothing of a later card.
        let points = L2.points(&request(), &c870()).expect("the stores");
        assert!(points.len() == 6 && points.iter().all(|point| point.kernel == "l2_store"));
    }
}
