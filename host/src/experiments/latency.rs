//! `latency`: how long a load takes whose address is the result of the load before it. The kernels and what to expect of them
//! are in gpu-kernels' `unchecked/latency.rs`.

mod chain;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Moment, Observe, Place, Point, Request, Scale,
    Shape, Symbol, Work, articles, check_size, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    sizes::Bytes,
};
use anyhow::{Result, bail};
pub(super) use chain::timed;
use chain::{Chain, Placed};
use cust::memory::bytemuck;
use gpu_kernels::unchecked::latency::{
    CHASE_TABLE, TABLE, THREADS, UNROLLED, chase_cached, chase_constant, chase_each, chase_l2, chase_shared,
};
use record::{CYCLES, Operation, Operations, Parameters, Record};
use report::{Article, Picture};
use serde_json::json;
use std::sync::Arc;

/// Chains of loads.
pub(super) struct Latency;

const CACHED: KernelInfo = KernelInfo::of::<chase_cached>();
const L2: KernelInfo = KernelInfo::of::<chase_l2>();
const SHARED: KernelInfo = KernelInfo::of::<chase_shared>();
const CONSTANT: KernelInfo = KernelInfo::of::<chase_constant>();
const EACH: KernelInfo = KernelInfo::of::<chase_each>();

/// Bytes between the slots of a chain in global memory: a line, so that no two loads share one.
pub(super) const LINE: u64 = 128;

/// Bytes of a slot in global memory, which strides count.
pub(super) const WORD: u64 = 8;

/// Bytes of the largest pages.
const PAGE: u64 = 2 << 20;

/// The most slots of a chain: as many lines as are twice the largest L2 of today.
const MOST_SLOTS: u64 = 1 << 20;

/// Slots of a chain with several in a line that is still walked once before the clock starts: L1 may hold it.
const CLOSE: u64 = 1 << 15;

/// Loads of a launch that walks a small chain many times; the first time counts little among them.
const MANY: u32 = 1 << 16;

/// Loads of a launch on a large chain, which the next launch continues.
const FEW: u32 = 1 << 14;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Where the slots of a chain lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// In each line, or as many lines of the footprint as a chain has slots.
    Lines,
    /// In each word of as many: several in a line, or in some lines alone, which may share the sets of a cache.
    Stride(u32),
    /// In each page of 2 MiB, so that the TLB decides.
    Pages,
}

impl Spread {
    /// Bytes from slot to slot of a chain in global memory.
    fn step(self, footprint: u64) -> u64 {
        match self {
            Spread::Lines => (footprint / MOST_SLOTS).max(LINE),
            Spread::Stride(words) => WORD * u64::from(words),
            Spread::Pages => PAGE,
        }
    }
}

impl Experiment for Latency {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn summary(&self) -> &'static str {
        "dependent loads: the latency of shared, constant and global memory by footprint"
    }

    fn reading(&self) -> &'static str {
        "One thread follows a random cycle, so a row's figure is the time of one load. `cycles` is the same by the SM's own \
         clock, without the first round through a chain that fits into a cache; a simulated card has no such clock. `stride` \
         counts words of 8 bytes from slot to slot; other rows have a slot in each line of 128 bytes, or in each page."
    }

    fn module(&self) -> &'static str {
        "unchecked/latency"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHASING_HOPPER]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "footprint", by: &["spread", "stride"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::latency::latency
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "range"]
    }

    fn swept(&self) -> Option<&'static str> {
        Some("stride")
    }

    fn least(&self) -> u32 {
        1
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![SHARED, CONSTANT, CACHED, L2, EACH]
    }

    fn unit(&self, _: &Request) -> u64 {
        2 * LINE
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        if request.sized {
            check_size(&[self], request)?;
        }
        if let Some(range) = request.range.as_ref().filter(|range| range.values().contains(&0)) {
            bail!("--range {range}: a stride of latency is at least 1, the word that a slot takes");
        }
        let mut points = Vec::new();
        for kernel in self.kernels().into_iter().filter(|kernel| request.wants(kernel.name)) {
            for (footprint, spread) in chains(kernel.name, request, device) {
                points.push(point(kernel.name, footprint, spread, Place::Device, request.scale, device)?);
            }
        }
        if let (Some(range), true) = (&request.range, points.is_empty()) {
            bail!(
                "--range {range}: no kernel has a chain of 2 to {MOST_SLOTS} slots of these strides, in words of {WORD} bytes, in {}; \
                 choose chase_cached or chase_l2, and another --bytes",
                Bytes(request.bytes)
            );
        }
        Ok(points)
    }
}

/// The footprints of a kernel's chains, and where their slots lie.
fn chains(kernel: &str, request: &Request, device: &DeviceInfo) -> Vec<(u64, Spread)> {
    let (scale, modelled) = (request.scale, device.backend() == Backend::Modelled);
    let lines = |footprints: Vec<u64>| -> Vec<(u64, Spread)> {
        footprints.into_iter().map(|footprint| (footprint, Spread::Lines)).collect()
    };
    let in_global = kernel != SHARED.name && kernel != CONSTANT.name;
    let strided = |footprints: Vec<u64>, strides: &[u32]| -> Vec<(u64, Spread)> {
        let of = |footprint| strides.iter().map(move |stride| (footprint, Spread::Stride(*stride)));
        let all = footprints.into_iter().flat_map(of);
        all.filter(|(footprint, spread)| (2..=MOST_SLOTS).contains(&(footprint / spread.step(*footprint))))
            .collect()
    };
    if let Some(range) = &request.range {
        let swept = kernel == CACHED.name || kernel == L2.name;
        return if swept { strided(vec![request.bytes], range.values()) } else { Vec::new() };
    }
    if request.sized && in_global {
        return lines(vec![request.bytes]);
    }
    let beyond = (u64::from(modelled) * 128 + u64::from(!modelled) * 256) * MIB;
    let shared = device.max_shared_per_block / KIB as u32;
    lines(match (scale, kernel) {
        (Scale::Small, _) => vec![4 * KIB],
        (_, kernel) if kernel == CONSTANT.name => match scale {
            Scale::Quick => vec![KIB, 32 * KIB],
            _ => octaves(512, 32 * KIB),
        },
        (_, kernel) if kernel == SHARED.name => match scale {
            Scale::Quick => vec![16 * KIB],
            _ => vec![KIB, 16 * KIB, u64::from(shared) * KIB],
        },
        (_, kernel) if kernel == EACH.name => match (scale, modelled) {
            (_, true) => vec![64 * KIB],
            (Scale::Quick, false) => vec![16 * MIB],
            _ => vec![16 * KIB, 16 * MIB, 512 * MIB],
        },
        (Scale::Quick, kernel) if kernel == CACHED.name => vec![4 * KIB, 32 * KIB, 128 * KIB, MIB],
        (_, kernel) if kernel == CACHED.name => {
            let strides = strided((2..=11).map(|power| KIB << power).collect(), &[1, 4, 64, 512]);
            return lines(octaves(KIB, 2 * MIB)).into_iter().chain(strides).collect();
        }
        (Scale::Quick, _) => vec![64 * KIB, MIB, 16 * MIB, beyond],
        _ => {
            let pages = [32, 64, 128, 256, 512, 1024, 2048, 4096].map(|mib| (mib * MIB, Spread::Pages));
            let most = if modelled { 128 * MIB } else { 2048 * MIB };
            let footprints = octaves(16 * KIB, 128 * MIB).into_iter();
            let more = [256 * MIB, 512 * MIB, 1024 * MIB, 2048 * MIB];
            let all = footprints.chain(more).filter(|footprint| *footprint <= most).collect();
            // A chain that the last level of the TLB does not reach, where the card has room for it.
            let far = [16, 64, 96].map(|gib| (gib * GIB, Spread::Pages));
            let room = device.memory_bytes / 8 * 7;
            let pages = pages.into_iter().chain(far);
            let pages = pages.filter(|(footprint, _)| *footprint <= if modelled { most } else { room });
            let strides = strided([1, 4, 16, 64, 256].map(|mib| mib * MIB).into(), &[1, 4, 64, 512, 8192]);
            let strides = strides.into_iter().filter(|(footprint, _)| *footprint <= most);
            return lines(all).into_iter().chain(pages).chain(strides).collect();
        }
    })
}

/// Four sizes per octave, from the one to the other.
fn octaves(least: u64, most: u64) -> Vec<u64> {
    let octave = (0..).map(|power| least << power).take_while(|size| *size < most);
    octave.flat_map(|size| [4, 5, 6, 7].map(|quarter| size / 4 * quarter)).chain([most]).collect()
}

/// The loads of a launch: those before the clock starts, and those after.
fn loads(slots: u64, footprint: u64, scale: Scale, device: &DeviceInfo) -> [u32; 2] {
    let round = slots.next_multiple_of(u64::from(UNROLLED)) as u32;
    match (scale, device.backend()) {
        (Scale::Small, _) => [UNROLLED, 4 * UNROLLED],
        _ if slots <= 4096 || slots * LINE > footprint && slots <= CLOSE => [round, MANY],
        // The launch before it leaves L2 in the state of repeated launches only if it reads the same.
        (_, Backend::Modelled) if footprint <= device.l2_bytes => [0, round],
        _ => [0, FEW],
    }
}

/// A chain through lines of this memory, which are not cached on the multiprocessor.
///
/// # Errors
/// The chain has fewer than two slots.
pub(super) fn through(place: Place, footprint: u64, scale: Scale, device: &DeviceInfo) -> Result<Point> {
    point(L2.name, footprint, Spread::Lines, place, scale, device)
}

fn point(
    kernel: &'static str,
    footprint: u64,
    spread: Spread,
    place: Place,
    scale: Scale,
    device: &DeviceInfo,
) -> Result<Point> {
    let in_words = kernel == SHARED.name || kernel == CONSTANT.name;
    let (step, slot) = if in_words { (4, 4) } else { (spread.step(footprint), WORD) };
    let slots = footprint / step;
    if slots < 2 {
        bail!("a chain in {} has fewer than two slots of {step} bytes", Bytes(footprint));
    }
    let chain = Arc::new(Chain::new(slots as u32, step));
    let [warm, steps] = match kernel {
        kernel if kernel == EACH.name => [0, FEW.min(loads(slots, footprint, scale, device)[1]).min(4096)],
        _ => loads(slots, footprint, scale, device),
    };
    let count = u64::from(warm) + u64::from(steps);
    let state = Buffer {
        bytes: 16,
        place: Place::Device,
        before: Contents::of(|word: u64| if word == 0 { 0_u64 } else { u64::MAX }),
        after: chain.position_after(count),
    };
    let (mut buffers, mut symbols) = (vec![state], Vec::new());
    let placed = Placed::new(&chain);
    let (before, after) =
        if in_words { (chain.words(), chain.still_words()) } else { (placed.addresses(), placed.still()) };
    let array = Buffer { bytes: footprint, place, before, after };
    let shape = Shape::linear(1, THREADS);
    let work = match kernel {
        kernel if kernel == CONSTANT.name => {
            let mut table = vec![0_u32; TABLE];
            table[..slots as usize].copy_from_slice(&chain.next_words());
            symbols.push(Symbol { name: CHASE_TABLE.name(), bytes: bytemuck::cast_slice(&table).to_vec() });
            Work::kernel::<chase_constant>(move |buffers| (buffers.write(0), warm, steps))
        }
        kernel if kernel == SHARED.name => {
            buffers.push(array);
            Work::kernel::<chase_shared>(move |buffers| (buffers.read(1), buffers.write(0), warm, steps))
        }
        kernel if kernel == CACHED.name => {
            buffers.push(array);
            Work::kernel::<chase_cached>(move |buffers| (buffers.read(1), buffers.write(0), warm, steps))
        }
        kernel if kernel == L2.name => {
            buffers.push(array);
            Work::kernel::<chase_l2>(move |buffers| (buffers.read(1), buffers.write(0), warm, steps))
        }
        _ => {
            buffers.push(array);
            let (place, before) = (Place::Device, || Contents::Poison);
            let words = u64::from(steps);
            buffers.push(Buffer { bytes: 8 * words, place, before: before(), after: placed.visited(words) });
            buffers.push(Buffer { bytes: 4 * words, place, before: before(), after: timed() });
            Work::kernel::<chase_each>(move |buffers| {
                (buffers.read(1), buffers.write(0), buffers.write(2), buffers.write(3), steps)
            })
        }
    };
    let point = Point::new(Latency.name(), shape, work);
    let parameters =
        Parameters { bytes: footprint, elements: slots, ..point.parameters }.with("footprint", footprint);
    let parameters = match spread {
        Spread::Lines => parameters.with("spread", "lines"),
        Spread::Pages => parameters.with("spread", "pages"),
        Spread::Stride(words) => parameters.swept("stride", words),
    };
    Ok(Point {
        parameters,
        bytes: BytesMoved { read: count * slot, written: 16, footprint },
        operations: Some(Operations { kind: Operation::Load, count }),
        observe: (device.backend() == Backend::Measured).then(|| observe(kernel == EACH.name, steps)),
        symbols,
        buffers,
        ..point
    })
}

/// Reads the clock cycles of the last launch: of all its loads, or of each.
fn observe(each: bool, steps: u32) -> Box<Observe> {
    Box::new(move |moment, buffers| {
        if moment == Moment::Before {
            return Ok(Default::default());
        }
        if !each {
            let state = buffers.contents::<u64>(0, 2)?;
            return Ok([(CYCLES.to_string(), json!(state[1] as f64 / f64::from(steps)))].into());
        }
        let mut cycles = buffers.contents::<u32>(3, steps as usize)?;
        cycles.sort_unstable();
        let bins = histogram(&cycles);
        let at = |percent: usize| cycles[(cycles.len() - 1) * percent / 100];
        let percentiles: serde_json::Map<String, serde_json::Value> = [1, 10, 25, 50, 75, 90, 99]
            .map(|percent| (format!("p{percent}"), json!(at(percent))))
            .into_iter()
            .collect();
        Ok([
            (CYCLES.to_string(), json!(at(50))),
            ("percentiles".to_string(), percentiles.into()),
            ("modes".to_string(), json!(modes(&bins))),
            ("histogram".to_string(), json!(bins)),
        ]
        .into())
    })
}

/// Cycles of a bin of the histogram.
const BIN: u32 = 8;

/// The bins of sorted cycles that have loads: the least cycles of each, and its loads.
fn histogram(cycles: &[u32]) -> Vec<[u32; 2]> {
    let bins = cycles.chunk_by(|one, other| one / BIN == other / BIN);
    bins.map(|bin| [bin[0] / BIN * BIN, bin.len() as u32]).collect()
}

/// The middles of a histogram's modes, those of most loads first: bins higher than both neighbours that have at least a fiftieth of
/// all loads.
fn modes(bins: &[[u32; 2]]) -> Vec<u32> {
    let all: u32 = bins.iter().map(|[_, loads]| loads).sum();
    let in_bin =
        |at: Option<u32>| bins.iter().find(|[from, _]| Some(*from) == at).map_or(0, |[_, loads]| *loads);
    let is_peak = |&[from, loads]: &[u32; 2]| {
        loads > in_bin(from.checked_sub(BIN)) && loads >= in_bin(from.checked_add(BIN)) && loads * 50 >= all
    };
    let mut peaks: Vec<[u32; 2]> = bins.iter().copied().filter(is_peak).collect();
    peaks.sort_by_key(|[_, loads]| std::cmp::Reverse(*loads));
    peaks.into_iter().map(|[from, _]| from + BIN / 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    #[test]
    fn footprints_go_by_quarters_of_an_octave() {
        assert_eq!(octaves(1024, 4096), [1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096]);
    }

    #[test]
    fn modes_are_peaks_of_many_loads() {
        let mut cycles: Vec<u32> = [vec![210; 60], vec![218; 20], vec![270; 30], vec![900; 1]].concat();
        cycles.sort_unstable();
        assert_eq!(modes(&histogram(&cycles)), [212, 268]);
        assert!(modes(&[]).is_empty());
        assert_eq!(histogram(&cycles), [[208, 60], [216, 20], [264, 30], [896, 1]]);
    }

    #[test]
    fn a_chain_beyond_l1_is_continued_and_a_small_one_walked_again() {
        let request = Request { sized: false, ..experiments::tests::request() };
        let points = Latency.points(&request, &h200()).expect("it is a valid request");
        let of = |kernel: &str| -> Vec<(u64, u64)> {
            let mine = points.iter().filter(|point| point.kernel == kernel);
            mine.map(|point| (point.parameters.bytes, point.operations.map_or(0, |of| of.count))).collect()
        };
        assert_eq!(of("chase_shared"), [(16 << 10, 4096 + 65536)]);
        assert_eq!(of("chase_l2")[2..], [(16 << 20, 16384), (256 << 20, 16384)]);
        assert_eq!(of("chase_each"), [(16 << 20, 4096)]);
        assert!(points.iter().all(|point| point.observe.is_some()));
        let swept =
            Request { bytes: 1 << 20, range: Some("1,4,512,4194304".parse().expect("a range")), ..request };
        let points = Latency.points(&swept, &h200()).expect("it is a valid request");
        let of = |point: &Point| {
            (
                point.kernel,
                point.parameters.elements,
                point.parameters.swept.as_ref().map(|swept| swept.value),
            )
        };
        let points: Vec<_> = points.iter().map(of).collect();
        // A stride of which a footprint has not two leaves no chain.
        let expected =
            |kernel| [(kernel, 131_072, Some(1)), (kernel, 32_768, Some(4)), (kernel, 256, Some(512))];
        assert_eq!(points, [expected("chase_cached"), expected("chase_l2")].concat());
        let sized = Request { bytes: 1 << 20, ..experiments::tests::request() };
        let points = Latency.points(&sized, &h200()).expect("it is a valid request");
        let global = points.iter().filter(|point| point.kernel == "chase_cached");
        assert_eq!(global.map(|point| point.parameters.bytes).collect::<Vec<_>>(), [1 << 20]);
    }
}
