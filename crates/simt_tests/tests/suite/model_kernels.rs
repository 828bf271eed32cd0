//! Counters of the laboratory's simplest kernels, worked out from their addresses by the rules of `coalescing`.

use simt::cards::{BlockShape, Card, Occupancy};
use simt::coalescing::{Addresses, LANES};
use simt::internals::coalescing::{Access, Coalescer, Request, Traffic};
use simt::internals::model::{Counters, Touched};
use std::collections::HashSet;

/// Blocks that are worked out; the rest of the launch repeats them.
const SAMPLE: u64 = 32;
const BLOCK: u64 = 256;

/// A kernel in which thread `i` loads one element and stores one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kernel {
    /// `a[i + s] += 1`.
    Offset(u64),
    /// `a[i * s] += 1`.
    Stride(u64),
    /// `b[i] = a[i]`.
    Copy,
}

/// Counters of a launch with 256 threads a block, reading `bytes` of elements of `size` bytes.
pub(crate) fn counters(card: &Card, kernel: Kernel, size: u64, bytes: u64) -> Counters {
    let threads = bytes / size;
    let blocks = threads / BLOCK;
    let coalescer = Coalescer::new(card.compute_capability);
    let has_l1 = card.compute_capability.major == 2 || card.compute_capability.major >= 5;
    let (element, apart) = match kernel {
        Kernel::Offset(s) => ((1, s), 0),
        Kernel::Stride(s) => ((s, 0), 0),
        Kernel::Copy => ((1, 0), 1 << 36),
    };
    let mut sum = Counters { round_trips: 1.0, ..Counters::default() };
    let mut sectors = [HashSet::new(), HashSet::new()];
    let mut transaction_sectors = [0, 0];
    let (mut loads, mut load_lines, mut hits) = (0.0, 0.0, 0.0);
    // Sectors and lines of loads, and of stores.
    let mut touching = [[0.0_f64; 2]; 2];
    let mut scattered_pages = [0.0_f64; 2];
    for block in 0..SAMPLE {
        let mut in_l1 = HashSet::new();
        let mut stored = HashSet::new();
        for warp in 0..BLOCK / LANES as u64 {
            let first = block * BLOCK + warp * LANES as u64;
            for (way, access) in [Access::Load, Access::Store].into_iter().enumerate() {
                let addresses: Addresses = std::array::from_fn(|lane| {
                    (way as u64 * apart) + ((first + lane as u64) * element.0 + element.1) * size
                });
                let request = Request { addresses: &addresses, active: u32::MAX, bytes: size as u32, access };
                let traffic = coalescer.traffic(&request);
                sum.requests += f64::from(traffic.requests);
                sum.l1_turns += turns(card, &addresses, size, &traffic);
                sum.straddling += f64::from(traffic.requests * u32::from(traffic.straddles()));
                if card.l2_bytes == 0 {
                    for half in addresses.chunks(16) {
                        let pages: HashSet<u64> =
                            half.iter().map(|address| address / u64::from(card.dram_page_bytes)).collect();
                        scattered_pages[way] += pages.len() as f64 - 1.0;
                    }
                }
                touching[way][0] += f64::from(traffic.sectors);
                touching[way][1] += f64::from(traffic.lines);
                let before = sum.l2_sectors_read;
                let mut of_request = HashSet::new();
                for transaction in coalescer.transactions(&request).iter() {
                    for sector in 0..u64::from(transaction.bytes) / 32 {
                        let sector = transaction.address / 32 + sector;
                        transaction_sectors[way] += 1;
                        sectors[way].insert(sector);
                        // What the block has loaded before is in L1; stores pass through it.
                        if access == Access::Store {
                            sum.l2_sectors_written += 1.0;
                            // On 1.x each transaction goes its own way.
                            if card.l2_bytes == 0 {
                                sum.rewritten += f64::from(u8::from(!stored.insert(sector)));
                            }
                            of_request.insert(sector);
                        } else if !has_l1 || in_l1.insert(sector) {
                            sum.l2_sectors_read += 1.0;
                        }
                    }
                }
                let requests = f64::from(traffic.requests);
                if access == Access::Load {
                    loads += requests;
                    load_lines += f64::from(traffic.lines);
                    hits += if sum.l2_sectors_read == before { requests } else { 0.0 };
                } else {
                    sum.stores += requests;
                    if card.l2_bytes > 0 {
                        sum.rewritten += of_request.intersection(&stored).count() as f64;
                    }
                    stored.extend(of_request);
                }
            }
        }
    }
    sum.l1_hit_share = hits / loads;
    sum.lines_a_load = load_lines / loads;
    sum.loads = loads;
    let parts = touching.map(|[sectors, lines]| (lines - (sectors / 4.0).floor()).max(0.0));
    sum.gathered = parts[0] * (sum.l2_sectors_read / touching[0][0]);
    sum.scattered = (parts[1] - sum.rewritten).max(0.0);
    // Of the parts, those in sectors that the block has written before.
    sum.rewritten = parts[1] - sum.scattered;
    sum.lines_a_sector = (touching[1][1] / touching[1][0]).clamp(0.25, 1.0);
    let touched = |way: usize| {
        let distinct = |bytes: u64| {
            sectors[way].iter().map(|sector| sector * 32 / bytes).collect::<HashSet<_>>().len() as f64
        };
        let granules = if card.l2_bytes == 0 {
            f64::from(transaction_sectors[way])
        } else {
            distinct(u64::from(card.dram_granule_bytes))
        };
        Touched {
            granules,
            lines: distinct(128),
            pages: distinct(u64::from(card.dram_page_bytes)).max(scattered_pages[way]),
        }
    };
    (sum.dram_read, sum.dram_written) = (touched(0), touched(1));
    let scale = blocks as f64 / SAMPLE as f64;
    for field in [
        &mut sum.requests,
        &mut sum.l1_turns,
        &mut sum.loads,
        &mut sum.gathered,
        &mut sum.scattered,
        &mut sum.stores,
        &mut sum.rewritten,
        &mut sum.straddling,
        &mut sum.l2_sectors_read,
        &mut sum.l2_sectors_written,
        &mut sum.dram_read.granules,
        &mut sum.dram_read.lines,
        &mut sum.dram_read.pages,
        &mut sum.dram_written.granules,
        &mut sum.dram_written.lines,
        &mut sum.dram_written.pages,
    ] {
        *field *= scale;
    }
    sum.blocks = blocks as f64;
    sum.warps = threads as f64 / LANES as f64;
    // A dozen instructions, as in the PTX of these kernels.
    sum.instructions = 12.0 * sum.warps;
    let shape = BlockShape { threads: BLOCK as u32, registers: 10, shared_bytes: 0 };
    sum.resident_warps = f64::from(Occupancy::new(&card.limits(), shape).unwrap().warps);
    sum
}

/// Turns of L1: four lines of tags, or the words of a bank of data, where 128 bytes go at once; or a tenth of three lines before 5.0.
fn turns(card: &Card, addresses: &Addresses, size: u64, traffic: &Traffic) -> f64 {
    if card.compute_capability.major < 5 {
        return (0.3 * f64::from(traffic.lines)).ceil().max(f64::from(traffic.requests));
    }
    let lines: HashSet<u64> = addresses.iter().map(|address| address / 128).collect();
    let words = |part: &[u64]| {
        let words =
            part.iter().flat_map(|address| (*address..address + size).step_by(4)).map(|byte| byte / 4);
        let words: HashSet<u64> = words.collect();
        (0..32).map(|bank| words.iter().filter(|word| *word % 32 == bank).count()).max().unwrap_or(0)
    };
    let data: usize = addresses.chunks((128 / size) as usize).map(words).sum();
    lines.len().div_ceil(4).max(data) as f64
}
