//! The explanation of a row, in one sentence: sectors per request, the traffic that caches absorb, and the level that
//! limits it. It is made from counters where there are any, else from bytes and footprint.

use record::{
    Bound, Bytes, BytesMoved, Counted, DeviceInfo, Extent, Parameters, Record, Residence, Times, Unfilled,
    counters::{Counts, LaunchCounters, MemoryCounts},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A share below which the sentence does not mention it.
const NEXT_TO_NOTHING: f64 = 0.02;

/// The sentence for a launch that was counted. Its modelled time says how sure the level is.
pub fn of_counters(counters: &Counted, device: &DeviceInfo, modelled: Option<&Times>) -> String {
    let mut clauses = requests(&counters.launch.total, device);
    clauses.extend(levels(counters, device));
    clauses.extend(filling(counters, device));
    clauses.push(bounds(counters, modelled));
    clauses.join("; ")
}

/// The sentence for a launch without counters: its bytes, and where they lived.
pub fn of_bytes(bytes: &BytesMoved, residence: Residence) -> String {
    let asks = match (bytes.read, bytes.written) {
        (0, 0) => return served(bytes.footprint, residence),
        (read, 0) => format!("reads {}", Bytes(read)),
        (0, written) => format!("writes {}", Bytes(written)),
        (read, written) if read == written => format!("reads {} and writes as much", Bytes(read)),
        (read, written) => format!("reads {} and writes {}", Bytes(read), Bytes(written)),
    };
    format!("{asks}; {}", served(bytes.footprint, residence))
}

/// The sentence for a launch on a GPU whose kernel was counted on a simulated `card`, at a small size. Sectors per request
/// do not depend on the size. What the caches absorb does, so it follows from the launch's own footprint.
pub fn of_simulated(total: &Counts, card: &DeviceInfo, bytes: &BytesMoved, residence: Residence) -> String {
    let mut clauses = requests(total, card);
    if clauses.is_empty() {
        return of_bytes(bytes, residence);
    }
    let last = clauses.len() - 1;
    clauses[last] += &format!(" (counters simulated, {})", card.card.as_deref().unwrap_or(card.plain_name()));
    clauses.push(served(bytes.footprint, residence));
    clauses.join("; ")
}

/// The memory of the variable that a kernel shows, and the instructions that reach it; `None` where it shows none.
pub fn of_variable(parameters: &Parameters) -> Option<String> {
    let text = |name: &str| parameters.more.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (class, space) = (text("class")?, text("space")?);
    let variable = text("variable").unwrap_or("the variable");
    let reached = [text("loads"), text("stores")].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    Some(format!("{class}: {variable} is in .{space}, reached by {reached}"))
}

/// A clause on the pages that migrated during a launch.
pub fn of_moves(observed: &BTreeMap<String, Value>) -> Option<String> {
    let count = |name: &str| observed.get(name).and_then(Value::as_u64);
    let (faults, batches) = (count("faults")?, count("fault_batches")?);
    let (to_card, back) = (count("bytes_to_card")?, count("bytes_evicted")?);
    if faults == 0 {
        return None;
    }
    let batches = if batches == 1 { "1 batch".to_string() } else { format!("{batches} batches") };
    let back = if back == 0 { String::new() } else { format!(" and evict {}", megabytes(back)) };
    Some(format!("{faults} page faults in {batches} bring {} to the card{back}", megabytes(to_card)))
}

fn served(footprint: u64, residence: Residence) -> String {
    let footprint = format!("the footprint of {}", Bytes(footprint));
    match residence {
        Residence::L2 => format!("{footprint} stays in L2 from one launch to the next"),
        Residence::Mixed => format!("{footprint} stays in L2 in part from one launch to the next"),
        Residence::Dram => format!("{footprint} comes from DRAM"),
        Residence::Host => format!("{footprint} comes from the host"),
        Residence::Peer => format!("{footprint} is another card's, wholly or in part"),
        Residence::L1 => format!("L1 serves nearly all requests to {footprint}"),
        Residence::Constant => format!("the constant cache serves nearly all requests to {footprint}"),
    }
}

/// Clauses on sectors, bank conflicts, constant replays and divergence.
fn requests(total: &Counts, device: &DeviceInfo) -> Vec<String> {
    let mut clauses = Vec::new();
    let kinds = [("loads", &total.loads), ("stores", &total.stores), ("atomics", &total.atomics)];
    let mut told: Vec<(String, String)> = Vec::new();
    for (kind, counts) in kinds {
        if counts.requests == 0 {
            continue;
        }
        let says = match device.compute() {
            ..SECTORED => transactions(counts, device.compute()),
            _ => sectors(counts),
        };
        match told.last_mut() {
            Some((kinds, same)) if *same == says => *kinds = format!("{kinds} and {kind}"),
            _ => told.push((kind.to_string(), says)),
        }
    }
    clauses.extend(told.into_iter().map(|(kinds, says)| format!("{kinds} {says}")));
    let local = total.local_loads + total.local_stores;
    if local.requests > 0 {
        clauses.push(format!("{} of {} requests are for local memory", local.requests, {
            local.requests + total.global().requests
        }));
    }
    let shared = total.shared();
    if shared.ways() > 1.0 + NEXT_TO_NOTHING {
        let ways =
            [total.shared_loads, total.shared_stores, total.shared_atomics].map(|counts| counts.ways());
        let worst = ways.into_iter().fold(1.0, f64::max);
        clauses.push(format!("bank conflicts in shared memory are {}-way at worst", number(worst)));
    } else if shared.requests > 0 {
        clauses.push("no bank conflicts in shared memory".to_string());
    }
    if total.constant.replays > 0 {
        let each = 1.0 + total.constant.replays as f64 / total.constant.requests.max(1) as f64;
        clauses.push(format!("constant requests are issued {} times each, once per address", number(each)));
    }
    if total.divergence() > NEXT_TO_NOTHING {
        clauses.push(format!("{} of conditional branches diverge", percent(total.divergence())));
    }
    clauses
}

/// The first compute capability that counts transfers in sectors.
const SECTORED: u32 = 50;

/// The first compute capability whose requests are of whole warps.
const WHOLE_WARPS: u32 = 20;

/// "take 16 transactions per half-warp, 12.5% of their bytes used".
fn transactions(counts: &MemoryCounts, compute: u32) -> String {
    let each = number(part(counts.transactions, counts.requests));
    let plural = if each == "1" { "" } else { "s" };
    let whose = if compute < WHOLE_WARPS { "half-warp" } else { "request" };
    let each = format!("take {each} transaction{plural} per {whose}");
    match counts.efficiency() {
        used if used > 1.0 + NEXT_TO_NOTHING => format!("{each}, and lanes share them"),
        used if used > 0.995 => format!("{each}, all bytes used"),
        used => format!("{each}, {} of their bytes used", percent(used)),
    }
}

/// "touch 5 sectors per request, 80% of each used".
fn sectors(counts: &MemoryCounts) -> String {
    let each = counts.sectors_per_request();
    let used = counts.efficiency();
    let each = format!(
        "touch {} {} per request",
        number(each),
        if number(each) == "1" { "sector" } else { "sectors" }
    );
    match used {
        used if used > 1.0 + NEXT_TO_NOTHING => format!("{each}, and lanes share them"),
        used if used > 0.995 => format!("{each}, all of each used"),
        used => format!("{each}, {} of each used", percent(used)),
    }
}

/// Clauses on the traffic of L1, L2, DRAM and the links.
fn levels(counters: &Counted, device: &DeviceInfo) -> Vec<String> {
    const SECTOR: u64 = 32;
    let launch = &counters.launch;
    let mut clauses = Vec::new();
    let (asked, reached) = (launch.total.loads.sectors, launch.l2_sectors_read);
    let kept = 1.0 - part(reached, asked);
    if asked > 0 && reached < asked && kept > NEXT_TO_NOTHING {
        clauses.push(format!("L1 serves {} of the loads' sectors", percent(kept)));
    }
    let link = (launch.link.sectors_read + launch.link.sectors_written) * SECTOR;
    let peer = peer_sectors(counters) * SECTOR;
    // Bytes that cross a link do not come from DRAM.
    let l2 = ((launch.l2_sectors_read + launch.l2_sectors_written) * SECTOR).saturating_sub(link + peer);
    if l2 > 0 {
        let dram = counters.dram_bytes;
        let absorbed = 1.0 - part(dram, l2);
        clauses.push(match (device.l2_bytes, absorbed) {
            (0, _) => format!("DRAM moves {}", megabytes(dram)),
            (_, absorbed) if absorbed > 1.0 - NEXT_TO_NOTHING => "L2 absorbs all traffic".to_string(),
            (_, absorbed) if absorbed > NEXT_TO_NOTHING => {
                format!("L2 absorbs {} and DRAM moves {}", percent(absorbed), megabytes(dram))
            }
            (_, absorbed) if absorbed < -NEXT_TO_NOTHING => {
                format!("DRAM moves {}, {:.1} times what L2 asks for", megabytes(dram), 1.0 - absorbed)
            }
            _ => format!("DRAM moves {}, all that L2 is asked for", megabytes(dram)),
        });
    }
    if link > 0 {
        clauses.push(format!("{} cross the host link", megabytes(link)));
    }
    if peer > 0 {
        clauses.push(format!("{} cross the link between the cards", megabytes(peer)));
    }
    if launch.managed_pages > 0 {
        clauses.push(format!("{} pages of 64 KiB of managed memory are touched", launch.managed_pages));
    }
    clauses
}

/// Sectors that go to another card and come from there.
fn peer_sectors(counters: &Counted) -> u64 {
    counters.launch.link.peer_sectors_read + counters.launch.link.peer_sectors_written
}

/// A clause on a launch that does not fill the card.
fn filling(counters: &Counted, device: &DeviceInfo) -> Option<String> {
    let LaunchCounters { blocks, resident_blocks, .. } = counters.launch;
    let room = u64::from(resident_blocks) * u64::from(device.multiprocessors);
    match Unfilled::of(Some(Extent([u32::try_from(blocks).ok()?, 1, 1])), device.multiprocessors) {
        _ if blocks == 0 || blocks >= room => None,
        Some(unfilled) => Some(unfilled.to_string()),
        None => Some(format!("{blocks} blocks where the card holds {room}")),
    }
}

/// "DRAM-bound", or "DRAM-bound or L2-bound, which the model cannot tell apart".
fn bounds(counters: &Counted, modelled: Option<&Times>) -> String {
    let contenders = modelled.map(|modelled| counters.modelled_us.contenders(modelled)).unwrap_or_default();
    let others = contenders.into_iter().filter(|other| *other != counters.bound);
    let all: Vec<&str> =
        std::iter::once(counters.bound).chain(others).map(|of| bound(counters, of)).collect();
    match &all[..] {
        [only] => (*only).to_string(),
        several => format!("{}, which the model cannot tell apart", several.join(" or ")),
    }
}

fn bound(counters: &Counted, bound: Bound) -> &'static str {
    match bound {
        Bound::Dram => "DRAM-bound",
        Bound::L2 => "L2-bound",
        Bound::OnChip => "bound by on-chip memory",
        Bound::Issue => "issue-bound",
        Bound::Latency => "latency-bound",
        Bound::Launch => "bound by launch overhead",
        Bound::Link if peer_sectors(counters) > 0 => "bound by the link between the cards",
        Bound::Link => "bound by the host link",
        Bound::Migration => "bound by page migration",
    }
}

fn part(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A number with a decimal, if it needs one.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

fn percent(part: f64) -> String {
    format!("{}%", number(100.0 * part))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The simulated row most like a row: of the same kernel, with the most parameters in common.
pub fn most_alike<'r>(rows: &'r [Record], kernel: &str, parameters: &Parameters) -> Option<&'r Record> {
    let of = |row: &&Record| row.kernel == kernel && row.counters.is_some();
    // A size differs by design, and so does the grid that goes with it.
    let alike = |row: &&Record| {
        let other = &row.parameters;
        let same = [
            other.precision == parameters.precision,
            other.block == parameters.block,
            other.swept == parameters.swept,
        ];
        let named = parameters.more.iter().filter(|(name, value)| other.more.get(*name) == Some(*value));
        same.into_iter().filter(|same| *same).count() + named.count()
    };
    // Of equals the last comes first with `max_by_key`: the first one is wanted.
    rows.iter().filter(of).rev().max_by_key(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_move_are_told() {
        let of = |counts: [u64; 4]| {
            let names = ["faults", "fault_batches", "bytes_to_card", "bytes_evicted"];
            let observed = names.map(str::to_string).into_iter().zip(counts.map(Value::from)).collect();
            of_moves(&observed)
        };
        assert_eq!(
            of([700, 3, 64_000_000, 32_000_000]).as_deref(),
            Some("700 page faults in 3 batches bring 64.0 MB to the card and evict 32.0 MB")
        );
        assert_eq!(
            of([2, 1, 65_536, 0]).as_deref(),
            Some("2 page faults in 1 batch bring 0.1 MB to the card")
        );
        assert_eq!((of([0, 0, 0, 0]), of_moves(&BTreeMap::new())), (None, None));
    }
    use crate::terminal::tests::row;
    use crate::testing::{c870, h200};
    use record::{Parts, Precision};

    fn counted(total: Counts) -> Counted {
        let parts = Parts {
            launch: 1.0,
            dram: 1.0,
            l2: 9.0,
            on_chip: 1.0,
            issue: 1.0,
            latency: 1.0,
            link: 0.0,
            migration: 0.0,
        };
        Counted {
            launch: LaunchCounters { total, ..LaunchCounters::default() },
            dram_bytes: 0,
            modelled_us: parts,
            bound: Bound::L2,
            estimates_us: None,
            lines: Vec::new(),
        }
    }

    fn memory(requests: u64, sectors: u64, asked: u64) -> MemoryCounts {
        MemoryCounts {
            requests,
            sectors,
            bytes_requested: asked,
            bytes_moved: sectors * 32,
            ..MemoryCounts::default()
        }
    }

    #[test]
    fn a_naive_transpose_explains_itself() {
        let total =
            Counts { loads: memory(32, 128, 4096), stores: memory(32, 1024, 4096), ..Counts::default() };
        let mut counters = counted(total);
        counters.launch.l2_sectors_read = 128;
        counters.launch.l2_sectors_written = 1024;
        counters.dram_bytes = 8192;
        assert_eq!(
            of_counters(&counters, &h200(), None),
            "loads touch 4 sectors per request, all of each used; stores touch 32 sectors per request, 12.5% of each used; \
             L2 absorbs 77.8% and DRAM moves 0.0 MB; L2-bound"
        );
    }

    #[test]
    fn kinds_that_do_the_same_share_a_clause_and_caches_are_named_where_they_are() {
        let total =
            Counts { loads: memory(32, 1024, 4096), stores: memory(32, 1024, 4096), ..Counts::default() };
        let mut counters = counted(total);
        counters.launch.l2_sectors_read = 256;
        counters.launch.l2_sectors_written = 1024;
        counters.bound = Bound::Dram;
        assert_eq!(
            of_counters(&counters, &h200(), None),
            "loads and stores touch 32 sectors per request, 12.5% of each used; L1 serves 75% of the loads' sectors; L2 \
             absorbs all traffic; DRAM-bound"
        );
        counters.launch.l2_sectors_read = 1024;
        counters.dram_bytes = 65_536_000;
        let text = of_counters(&counters, &c870(), None);
        assert!(
            text.contains("; DRAM moves 65.5 MB; ") && !text.contains("L2") && !text.contains("L1"),
            "{text}"
        );
    }

    #[test]
    fn captions_follow_the_capability() {
        let loads = MemoryCounts { transactions: 32, ..memory(2, 32, 128) };
        let of = |loads, capability: &str| {
            let device = DeviceInfo { compute_capability: capability.to_string(), ..c870() };
            requests(&Counts { loads, ..Counts::default() }, &device)[0].clone()
        };
        assert_eq!(of(loads, "1.0"), "loads take 16 transactions per half-warp, 12.5% of their bytes used");
        let coalesced = MemoryCounts { transactions: 2, bytes_moved: 128, ..loads };
        assert_eq!(of(coalesced, "2.0"), "loads take 1 transaction per request, all bytes used");
        assert_eq!(of(coalesced, "9.0"), "loads touch 16 sectors per request, all of each used");
    }

    #[test]
    fn a_launch_that_does_not_fill_the_card_says_so() {
        let of = |blocks, resident_blocks| {
            let mut counters = counted(Counts::default());
            counters.launch = LaunchCounters { blocks, resident_blocks, ..LaunchCounters::default() };
            of_counters(&counters, &h200(), None)
        };
        assert_eq!(of(4, 2), "4 blocks on 132 SMs; L2-bound");
        assert_eq!(of(256, 8), "256 blocks where the card holds 1056; L2-bound");
        assert_eq!(of(1056, 8), "L2-bound");
    }

    #[test]
    fn levels_within_the_doubt_of_the_time_are_all_told() {
        let mut counters = counted(Counts::default());
        counters.modelled_us.dram = 8.0;
        let of = |interval| of_counters(&counters, &h200(), Some(&Times::modelled(10.0, interval)));
        assert_eq!((of(None), of(Some([9.5, 11.0]))), ("L2-bound".to_string(), "L2-bound".to_string()));
        assert_eq!(of(Some([9.5, 12.0])), "L2-bound or DRAM-bound, which the model cannot tell apart");
    }

    #[test]
    fn what_crosses_the_link_is_not_absorbed_by_l2() {
        let mut counters = counted(Counts::default());
        counters.bound = Bound::Link;
        counters.launch.l2_sectors_read = 1 << 20;
        counters.launch.link.sectors_read = 1 << 20;
        assert_eq!(
            of_counters(&counters, &h200(), None),
            "33.6 MB cross the host link; bound by the host link"
        );
    }

    #[test]
    fn banks_constants_and_branches_are_told() {
        let mut total = Counts { branches: 100, divergent_branches: 25, ..Counts::default() };
        total.shared_loads.requests = 32;
        total.shared_loads.ideal = 32;
        total.shared_loads.wavefronts = 1024;
        total.constant.requests = 10;
        total.constant.replays = 310;
        let clauses = requests(&total, &h200());
        assert_eq!(
            clauses,
            [
                "bank conflicts in shared memory are 32-way at worst",
                "constant requests are issued 32 times each, once per address",
                "25% of conditional branches diverge",
            ]
        );
        total.shared_loads.wavefronts = 32;
        assert_eq!(requests(&total, &h200())[0], "no bank conflicts in shared memory");
    }

    #[test]
    fn without_counters_there_are_bytes_and_residence() {
        let bytes = BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 8 << 20 };
        assert_eq!(
            of_bytes(&bytes, Residence::Dram),
            "reads 1 MiB and writes as much; the footprint of 8 MiB comes from DRAM"
        );
        let total = Counts { loads: memory(32, 256, 4096), ..Counts::default() };
        assert_eq!(
            of_simulated(
                &total,
                &DeviceInfo { card: Some("h200".to_string()), ..h200() },
                &bytes,
                Residence::L2
            ),
            "loads touch 8 sectors per request, 50% of each used (counters simulated, h200); the footprint of 8 MiB stays \
             in L2 from one launch to the next"
        );
    }

    #[test]
    fn the_most_alike_row_has_the_same_kernel_and_parameters() {
        let parameters = |offset: u32, block: [u32; 3]| {
            Parameters { block: Some(block.into()), ..Parameters::of_bytes(1) }.swept("offset", offset)
        };
        let of = |kernel: &str, offset: u32, block: [u32; 3]| Record {
            kernel: kernel.to_string(),
            parameters: parameters(offset, block),
            counters: Some(Box::new(counted(Counts::default()))),
            ..row(0, Precision::F32, None)
        };
        let (square, flat) = ([16, 16, 1], [32, 8, 1]);
        let rows = [of("a", 1, square), of("b", 1, square), of("b", 2, square), of("b", 2, flat)];
        let found = |offset: u32, block: [u32; 3]| most_alike(&rows, "b", &parameters(offset, block));
        assert_eq!(found(2, flat), Some(&rows[3]));
        assert_eq!(found(2, square), Some(&rows[2]));
        assert_eq!(found(7, [8, 8, 1]), Some(&rows[1]));
        assert_eq!(most_alike(&rows, "c", &parameters(1, flat)), None);
    }
}
