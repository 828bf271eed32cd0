//! The finding of `latency`.

use super::{
    super::latency::{LINE, WORD},
    list, sentence, timed,
};
use record::{Record, Residence};

/// The latency of each level, and how far apart lines may lie that L1 holds.
pub(in super::super) fn latency(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let footprint = |row: &Record| row.parameters.bytes;
    let of = |kernel: &str| -> Vec<&Record> {
        let mut rows: Vec<&Record> = rows.iter().copied().filter(|row| row.kernel == kernel).collect();
        rows.retain(|row| {
            row.parameters.more.get("spread").and_then(|spread| spread.as_str()) == Some("lines")
        });
        rows.sort_by_key(|row| footprint(row));
        rows
    };
    let (shared, constant, cached, l2) =
        (of("chase_shared"), of("chase_constant"), of("chase_cached"), of("chase_l2"));
    let beyond = |row: &&&Record| row.parameters.bytes > row.device.l2_bytes;
    let within = |row: &&&Record| Residence::of(row.parameters.bytes, row.device.l2_bytes) == Residence::L2;
    let levels = [
        ("shared memory", shared.first()),
        ("constant memory's cache", constant.first()),
        ("L1", cached.first()),
        ("L2", l2.iter().rfind(within)),
        ("DRAM", l2.iter().rfind(beyond)),
    ];
    let told = levels.iter().filter_map(|(name, row)| {
        let row = row.as_ref()?;
        let cycles = row.cycles().map(|cycles| format!(" ({cycles:.0} cycles)")).unwrap_or_default();
        Some(format!("{:.0} ns{cycles} from {name}", row.figure()?))
    });
    let told: Vec<String> = told.collect();
    let each = rows.iter().find_map(|row| {
        let modes: Vec<u64> =
            row.observed.get("modes")?.as_array()?.iter().filter_map(|mode| mode.as_u64()).collect();
        let [first, second, ..] = modes[..] else { return None };
        let (near, far) = (first.min(second), first.max(second));
        Some(format!(
            "by themselves, loads of {} mostly take {near} or {far} cycles",
            record::Bytes(row.parameters.bytes)
        ))
    });
    sentence([(!told.is_empty()).then(|| format!("a load takes {}", list(&told))), each, farthest(&rows)])
}

/// The lines farthest apart that still hit in L1.
fn farthest(rows: &[&Record]) -> Option<String> {
    let stride = |row: &Record| {
        let swept = row.parameters.swept.as_ref().filter(|swept| swept.name == "stride")?;
        Some(WORD * swept.value)
    };
    let strided = || rows.iter().filter(|row| row.kernel == "chase_cached" && stride(row).is_some());
    let least = strided().filter_map(|row| row.figure()).fold(f64::INFINITY, f64::min);
    let hits = strided().filter(|row| {
        row.figure().is_some_and(|figure| figure < 1.2 * least)
            && stride(row).is_some_and(|stride| stride > LINE)
    });
    let row = hits.max_by_key(|row| (row.parameters.bytes, stride(row)))?;
    let (apart, bytes) = (record::Bytes(stride(row)?), record::Bytes(row.parameters.bytes));
    Some(format!("{} lines {apart} apart, in {bytes}, hit in L1", row.parameters.elements))
}
