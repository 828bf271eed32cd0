//! The finding of `link`.

use super::{doubt, fastest, number, percent, rate, sentence};
use record::{Language, Record};

/// What the links to the other cards and to the host carry, in one direction and in both.
pub(in super::super) fn link(rows: &[&Record]) -> Option<String> {
    let counts = |row: &&Record| row.verified && row.language != Language::CudaCpp && row.gb_per_s.is_some();
    let all = rows;
    let rows: Vec<&Record> = rows.iter().copied().filter(counts).collect();
    let largest = rows.iter().map(|row| row.parameters.bytes).max();
    let text = |row: &Record, name: &str| {
        row.parameters.more.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_string()
    };
    let of = |ways: &str, with_host: bool| -> Vec<&Record> {
        let is = |row: &&Record| {
            // The host as a whole, or one of its NUMA nodes.
            let host = ["from", "to"].iter().any(|end| text(row, end).starts_with("host"));
            Some(row.parameters.bytes) == largest && text(row, "ways") == ways && host == with_host
        };
        rows.iter().copied().filter(is).collect()
    };
    let both = |one: &Record, with_host| {
        let both = fastest(of("both", with_host))?;
        let (times, doubt) = (rate(both) / rate(one), doubt(both, one));
        Some(format!("{:.0} both ways, {times:.2} times as much{doubt}", rate(both)))
    };
    let told = |one: &Record, with_host| {
        let more = both(one, with_host).map(|both| format!(" and {both}")).unwrap_or_default();
        format!("{:.0} GB/s one way{more}", rate(one))
    };
    let (peer, host) = (fastest(of("one", false)), fastest(of("one", true)));
    let between = peer.map(|peer| {
        let slowest = of("one", false).into_iter().map(rate).fold(f64::INFINITY, f64::min);
        let spread = if slowest < 0.9 * rate(peer) {
            format!(" (the slowest pair {slowest:.0})")
        } else {
            String::new()
        };
        format!("the link between cards carries {}{spread}", told(peer, false))
    });
    let with_host = host.map(|host| {
        let times =
            peer.map(|peer| format!(", {:.1} times less{}", rate(peer) / rate(host), doubt(peer, host)));
        let times = times.filter(|_| peer.is_some_and(|peer| rate(peer) > rate(host))).unwrap_or_default();
        format!("the host link carries {}{times}", told(host, true))
    });
    sentence([between, with_host, kernels(&rows), stride(&rows), latency(all), sum(&rows)])
}

/// What kernels reach that read or write another card's memory with the widest access.
fn kernels(rows: &[&Record]) -> Option<String> {
    let copies = || rows.iter().copied().filter(|row| row.parameters.more.contains_key("width"));
    let read = fastest(copies().filter(|row| row.bytes.written == 0))?;
    let written = fastest(copies().filter(|row| row.bytes.read == 0))?;
    Some(format!(
        "kernels read another card's memory at {:.0} GB/s and write it at {:.0}",
        rate(read),
        rate(written)
    ))
}

/// What is left at a stride at which each lane takes a sector.
fn stride(rows: &[&Record]) -> Option<String> {
    let at = |stride: u64| {
        let is = |row: &&&Record| number(row, "stride") == Some(stride);
        rows.iter().find(is).copied()
    };
    let (near, far) = (at(1)?, at(8)?);
    Some(format!(
        "at a stride of 8 they update it at {} of the rate of a stride of 1{}",
        percent(rate(far) / rate(near)),
        doubt(far, near)
    ))
}

/// The latency of a load from another card's memory, by the longest chain.
fn latency(rows: &[&Record]) -> Option<String> {
    let chains = rows.iter().filter(|row| row.verified && row.parameters.more.contains_key("footprint"));
    let longest = chains.max_by_key(|row| row.parameters.bytes)?;
    Some(format!("a load from it takes {:.0} ns", longest.ns_per_operation?))
}

/// What a sum over all cards reaches, with as many pieces as are best.
fn sum(rows: &[&Record]) -> Option<String> {
    let sums = rows.iter().copied().filter(|row| row.parameters.more.contains_key("pieces"));
    let best = fastest(sums)?;
    let algorithm = best.observed.get("algorithm_gb_per_s")?.as_f64()?;
    let cards = best.parameters.more.get("cards")?;
    Some(format!(
        "a sum over {cards} cards has {algorithm:.0} GB/s of algorithm bandwidth and {:.0} of bus bandwidth",
        rate(best)
    ))
}
