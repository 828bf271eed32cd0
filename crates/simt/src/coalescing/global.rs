//! Global memory: the rule of each compute capability, and the traffic of a request under it.
//!
//! A request asks for the bytes of up to 32 lanes; a *transaction* moves an aligned piece of memory. The rules differ in
//! who shares a transaction. For example, lane `k` loads 4 bytes at `1028 + 4k`: 128 bytes, of which none is at a
//! multiple of 128.
//!
//! | compute capability | rule | transactions | bytes moved |
//! | --- | --- | --- | --- |
//! | 1.0, 1.1 | a half-warp in order in its segment, or each lane by itself | 32 of 32 bytes | 1024 |
//! | 1.2, 1.3 | segments of a half-warp, halved while one half is unused | of 128, 64 and 32 bytes | 224 |
//! | 2.x, through L1 | lines of 128 bytes | 2 | 256 |
//! | 3.x, and from 5.0 on | sectors of 32 bytes | 5 | 160 |

use super::capability::ComputeCapability;
use super::request::{Access, LANES, Request, Traffic, Transactions};
use super::sectors::{LINE_BYTES, SECTOR_BYTES, distinct_ascending, sectors_and_lines};
use super::segments;

/// Converts requests to global memory into traffic, by the rule of one compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescer {
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// 1.0 and 1.1.
    Strict,
    /// 1.2 and 1.3.
    Segmented,
    /// 2.x and 3.x: wide accesses are split into halves or quarters of the warp.
    Split { cached: bool },
    /// From 5.0 on.
    Sectors,
}

impl Coalescer {
    /// Returns the rule of a card with default settings: 2.x caches global loads in L1 (`-dlcm=ca`), 3.x does not,
    /// since its L1 serves local memory (CUDA C Programming Guide 5.0, F.5.2; the Kepler tuning guide for 3.5).
    pub fn new(capability: ComputeCapability) -> Self {
        Self::with_l1(capability, capability.major == 2)
    }

    /// Returns the rule with L1 for global loads on or off, as `-dlcm=ca` and `-dlcm=cg` set it on 2.x, 3.5 and 3.7.
    /// Other cards do not differ: those of 1.x have no L1, and those from 5.0 on move sectors either way.
    pub fn with_l1(capability: ComputeCapability, cached: bool) -> Self {
        let rule = match (capability.major, capability.minor) {
            (1, 0 | 1) => Rule::Strict,
            (1, _) => Rule::Segmented,
            (2 | 3, _) => Rule::Split { cached },
            _ => Rule::Sectors,
        };
        Self { rule }
    }

    /// Returns the traffic of a request.
    ///
    /// From 5.0 on (CUDA Programming Guide, "Device Memory Accesses"; Best Practices Guide, 10.2.1) a warp's request
    /// moves the distinct 32-byte sectors that its lanes touch, in any order. On an H200, Nsight Compute's sectors per
    /// request equal these numbers for 4 and 8 bytes per lane at every offset and stride. It is assumed that 16-byte
    /// accesses are not counted by quarters of the warp either.
    #[inline]
    pub fn traffic(&self, request: &Request<'_>) -> Traffic {
        match self.rule {
            Rule::Sectors if request.active != 0 => {
                let (sectors, lines) = sectors_and_lines(request.addresses, request.active);
                Traffic {
                    requests: 1,
                    transactions: sectors,
                    sectors,
                    lines,
                    bytes_moved: sectors * SECTOR_BYTES as u32,
                    bytes_used: request.bytes_requested(),
                }
            }
            Rule::Sectors => Traffic::default(),
            Rule::Split { cached } => split_traffic(request, cached),
            Rule::Strict | Rule::Segmented => half_warp_traffic(request, &self.transactions(request)),
        }
    }

    /// Returns the request's transactions with addresses and sizes: on 1.x in the order of issue, later ascending
    /// within a request.
    pub fn transactions(&self, request: &Request<'_>) -> Transactions {
        match self.rule {
            Rule::Strict => segments::strict(request),
            Rule::Segmented => segments::segmented(request),
            Rule::Split { cached } => {
                let granule = granule(request.access, cached);
                let mut transactions = Transactions::none();
                for lanes in parts(request.bytes) {
                    distinct_granules(request, lanes, granule, &mut transactions);
                }
                transactions
            }
            Rule::Sectors => {
                let mut transactions = Transactions::none();
                distinct_granules(request, 0..LANES, SECTOR_BYTES, &mut transactions);
                transactions
            }
        }
    }
}

/// Returns the bytes of a transaction on 2.x and 3.x (CUDA C Programming Guide 5.0, F.4.2). Loads through L1 move whole
/// lines of 128 bytes; loads past it and all stores, which L1 never keeps, move segments of 32.
fn granule(access: Access, cached: bool) -> u64 {
    if cached && access == Access::Load { LINE_BYTES } else { SECTOR_BYTES }
}

/// Returns the parts into which 2.x and 3.x divide a warp: one up to 4 bytes per lane, two for 8, four for 16 (the same
/// place).
fn parts(bytes: u32) -> impl Iterator<Item = std::ops::Range<usize>> {
    let width = LANES / (bytes as usize / 4).max(1);
    (0..LANES).step_by(width).map(move |start| start..start + width)
}

fn split_traffic(request: &Request<'_>, cached: bool) -> Traffic {
    let granule = granule(request.access, cached);
    let mut traffic = Traffic { bytes_used: request.bytes_requested(), ..Traffic::default() };
    for lanes in parts(request.bytes) {
        let (mut packed, count) = request.packed(lanes);
        if count == 0 {
            continue;
        }
        let packed = &mut packed[..count];
        if !packed.is_sorted() {
            packed.sort_unstable();
        }
        traffic.requests += 1;
        traffic.transactions += distinct_ascending(packed, granule.trailing_zeros());
        traffic.lines += distinct_ascending(packed, LINE_BYTES.trailing_zeros());
    }
    traffic.bytes_moved = traffic.transactions * granule as u32;
    traffic.sectors = traffic.bytes_moved / SECTOR_BYTES as u32;
    traffic
}

fn half_warp_traffic(request: &Request<'_>, transactions: &Transactions) -> Traffic {
    let halves = [request.active & 0xFFFF, request.active >> 16];
    let lines_of = |lanes| {
        let (mut packed, count) = request.packed(lanes);
        packed[..count].sort_unstable();
        distinct_ascending(&packed[..count], LINE_BYTES.trailing_zeros())
    };
    let bytes_moved = transactions.bytes();
    Traffic {
        requests: halves.iter().filter(|&&half| half != 0).count() as u32,
        transactions: transactions.len() as u32,
        sectors: bytes_moved / SECTOR_BYTES as u32,
        lines: lines_of(0..LANES / 2) + lines_of(LANES / 2..LANES),
        bytes_moved,
        bytes_used: request.bytes_requested(),
    }
}

fn distinct_granules(
    request: &Request<'_>,
    lanes: std::ops::Range<usize>,
    granule: u64,
    transactions: &mut Transactions,
) {
    let (mut packed, count) = request.packed(lanes);
    let packed = &mut packed[..count];
    packed.sort_unstable();
    let mut last = None;
    for address in packed {
        let start = *address & !(granule - 1);
        if last != Some(start) {
            transactions.push(start, granule as u32);
            last = Some(start);
        }
    }
}
