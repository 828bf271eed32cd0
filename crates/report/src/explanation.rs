//! What makes a row what it is, in one sentence: how its requests fall on sectors, what the caches take off, and which level
//! the time goes to. Where there are counters it is made from them, else from bytes and footprint alone.

use record::{
    Bound, Bytes, BytesMoved, Counted, DeviceInfo, Parameters, Record, Residence,
    counters::{Counts, MemoryCounts},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A part below which it is not worth a word.
const NEXT_TO_NOTHING: f64 = 0.02;

/// The sentence for a launch that was counted.
pub fn of_counters(counters: &Counted, device: &DeviceInfo) -> String {
    let mut clauses = requests(&counters.launch.total);
    clauses.extend(levels(counters, device));
    clauses.push(bound(counters.bound).to_string());
    clauses.join("; ")
}

/// The sentence for a launch that nobody counted: of what it asks for, and where that lived.
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

/// The sentence for a launch on a GPU whose kernel was counted by the simulator, at a small size. How requests fall on sectors
/// does not depend on the size; what the caches take off does, and is told from the launch's own footprint.
pub fn of_simulated(total: &Counts, card: &str, bytes: &BytesMoved, residence: Residence) -> String {
    let mut clauses = requests(total);
    if clauses.is_empty() {
        return of_bytes(bytes, residence);
    }
    let last = clauses.len() - 1;
    clauses[last] += &format!(" (counters simulated, {card})");
    clauses.push(served(bytes.footprint, residence));
    clauses.join("; ")
}

/// Where the variable lies that a kernel is to show, and what reaches it, as its PTX has it; `None` where it is to show none.
pub fn of_variable(parameters: &Parameters) -> Option<String> {
    let text = |name: &str| parameters.more.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (class, space) = (text("class")?, text("space")?);
    let variable = text("variable").unwrap_or("the variable");
    let reached = [text("loads"), text("stores")].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    Some(format!("{class}: {variable} is in .{space}, reached by {reached}"))
}

/// A clause on the pages that moved in the course of a launch, from what was observed of it.
pub fn of_moves(observed: &BTreeMap<String, Value>) -> Option<String> {
    let count = |name: &str| observed.get(name).and_then(Value::as_u64);
    let (faults, batches) = (count("faults")?, count("fault_batches")?);
    let (to_card, back) = (count("bytes_to_card")?, count("bytes_evicted")?);
    if faults == 0 {
        return None;
    }
    let batches = if batches == 1 { "a batch".to_string() } else { format!("{batches} batches") };
    let back = if back == 0 { String::new() } else { format!(" and send back {}", megabytes(back)) };
    Some(format!("{faults} page faults in {batches} bring {}{back}", megabytes(to_card)))
}

fn served(footprint: u64, residence: Residence) -> String {
    let footprint = format!("the sectors touched are {} in all", Bytes(footprint));
    match residence {
        Residence::L2 => format!("{footprint}, which stay in L2 from one launch to the next"),
        Residence::Mixed => format!("{footprint}, of which L2 keeps a part from one launch to the next"),
        Residence::Dram => format!("{footprint}, which come from DRAM"),
    }
}

/// How requests fall on sectors, banks and constant words, and how branches part warps.
fn requests(total: &Counts) -> Vec<String> {
    let mut clauses = Vec::new();
    let kinds = [("loads", &total.loads), ("stores", &total.stores), ("atomics", &total.atomics)];
    let mut told: Vec<(String, String)> = Vec::new();
    for (kind, counts) in kinds {
        if counts.requests == 0 {
            continue;
        }
        let says = sectors(counts);
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
        clauses.push(format!("bank conflicts make {:.1} of each wavefront of shared memory", shared.ways()));
    } else if shared.requests > 0 {
        clauses.push("shared memory is used without bank conflicts".to_string());
    }
    if total.constant.replays > 0 {
        let each = 1.0 + total.constant.replays as f64 / total.constant.requests.max(1) as f64;
        clauses.push(format!("a constant's request is issued {each:.1} times, for as many addresses"));
    }
    if total.divergence() > NEXT_TO_NOTHING {
        clauses.push(format!("{} of conditional branches diverge", percent(total.divergence())));
    }
    clauses
}

/// "touch 5.0 sectors a request, 80% of each used".
fn sectors(counts: &MemoryCounts) -> String {
    let each = counts.sectors_per_request();
    let used = counts.efficiency();
    let each = format!(
        "touch {} {} a request",
        number(each),
        if number(each) == "1" { "sector" } else { "sectors" }
    );
    match used {
        used if used > 1.0 + NEXT_TO_NOTHING => format!("{each}, and lanes share them"),
        used if used > 0.995 => format!("{each}, all of each used"),
        used => format!("{each}, {} of each used", percent(used)),
    }
}

/// What L1, L2 and the host link do.
fn levels(counters: &Counted, device: &DeviceInfo) -> Vec<String> {
    const SECTOR: u64 = 32;
    let launch = &counters.launch;
    let mut clauses = Vec::new();
    let (asked, reached) = (launch.total.loads.sectors, launch.l2_sectors_read);
    let kept = 1.0 - part(reached, asked);
    if asked > 0 && reached < asked && kept > NEXT_TO_NOTHING {
        clauses.push(format!("L1 serves {} of the loads' sectors", percent(kept)));
    }
    let l2 = (launch.l2_sectors_read + launch.l2_sectors_written) * SECTOR;
    if l2 > 0 {
        let dram = counters.dram_bytes;
        let absorbed = 1.0 - part(dram, l2);
        clauses.push(match (device.l2_bytes, absorbed) {
            (0, _) => format!("DRAM moves {}", megabytes(dram)),
            (_, absorbed) if absorbed > 1.0 - NEXT_TO_NOTHING => "L2 absorbs all of it".to_string(),
            (_, absorbed) if absorbed > NEXT_TO_NOTHING => {
                format!("L2 absorbs {} and DRAM moves {}", percent(absorbed), megabytes(dram))
            }
            (_, absorbed) if absorbed < -NEXT_TO_NOTHING => {
                format!("DRAM moves {}, {:.1} times what L2 asks for", megabytes(dram), 1.0 - absorbed)
            }
            _ => format!("DRAM moves {}, all that L2 is asked for", megabytes(dram)),
        });
    }
    let link = (launch.link.sectors_read + launch.link.sectors_written) * SECTOR;
    if link > 0 {
        clauses.push(format!("{} cross the host link", megabytes(link)));
    }
    if launch.managed_pages > 0 {
        clauses.push(format!("{} pages of 64 KiB of managed memory are touched", launch.managed_pages));
    }
    clauses
}

fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Dram => "DRAM takes longest",
        Bound::L2 => "L2 takes longest",
        Bound::OnChip => "L1, shared and constant memory take longest",
        Bound::Issue => "issuing instructions takes longest",
        Bound::Latency => "waiting takes longest, for data or for blocks to start",
        Bound::Launch => "starting the kernel takes longest",
        Bound::Link => "the host link takes longest",
        Bound::Migration => "moving pages takes longest",
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

/// Which of some simulated rows is most like a row: of the same kernel, with as many of the same parameters as can be had.
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
            Some("700 page faults in 3 batches bring 64.0 MB and send back 32.0 MB")
        );
        assert_eq!(of([2, 1, 65_536, 0]).as_deref(), Some("2 page faults in a batch bring 0.1 MB"));
        assert_eq!((of([0, 0, 0, 0]), of_moves(&BTreeMap::new())), (None, None));
    }
    use crate::terminal::tests::row;
    use crate::testing::{c870, h200};
    use record::{Parts, Precision, counters::LaunchCounters};

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
            of_counters(&counters, &h200()),
            "loads touch 4 sectors a request, all of each used; stores touch 32 sectors a request, 12.5% of each used; \
             L2 absorbs 77.8% and DRAM moves 0.0 MB; L2 takes longest"
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
            of_counters(&counters, &h200()),
            "loads and stores touch 32 sectors a request, 12.5% of each used; L1 serves 75% of the loads' sectors; L2 \
             absorbs all of it; DRAM takes longest"
        );
        counters.launch.l2_sectors_read = 1024;
        counters.dram_bytes = 65_536_000;
        let text = of_counters(&counters, &c870());
        assert!(
            text.contains("; DRAM moves 65.5 MB; ") && !text.contains("L2") && !text.contains("L1"),
            "{text}"
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
        let clauses = requests(&total);
        assert_eq!(
            clauses,
            [
                "bank conflicts make 32.0 of each wavefront of shared memory",
                "a constant's request is issued 32.0 times, for as many addresses",
                "25% of conditional branches diverge",
            ]
        );
        total.shared_loads.wavefronts = 32;
        assert_eq!(requests(&total)[0], "shared memory is used without bank conflicts");
    }

    #[test]
    fn without_counters_there_are_bytes_and_residence() {
        let bytes = BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 8 << 20 };
        assert_eq!(
            of_bytes(&bytes, Residence::Dram),
            "reads 1 MiB and writes as much; the sectors touched are 8 MiB in all, which come from DRAM"
        );
        let total = Counts { loads: memory(32, 256, 4096), ..Counts::default() };
        assert_eq!(
            of_simulated(&total, "h200", &bytes, Residence::L2),
            "loads touch 8 sectors a request, 50% of each used (counters simulated, h200); the sectors touched are 8 MiB in \
             all, which stay in L2 from one launch to the next"
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
