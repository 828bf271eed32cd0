//! The finding of `cluster`.

use super::{doubt, number, rate, sentence, timed};
use record::Record;

/// What the neighbour's shared memory costs beside the own block's, and what multicast gains.
pub(in super::super) fn cluster(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let size = |row: &Record| number(row, "cluster");
    let of = |kernel: &str, blocks: Option<u64>| {
        rows.iter().copied().find(|row| row.kernel == kernel && (blocks.is_none() || size(row) == blocks))
    };
    let most = rows.iter().filter_map(|row| size(row)).max()?;
    let own = of("cluster_chase_own", None).and_then(|row| row.figure());
    let latency = own.zip(of("cluster_chase", Some(most)).and_then(|row| row.figure())).map(|(own, there)| {
        match most {
            1 => format!(
                "a load of the block's own shared memory takes {own:.0} ns, and {there:.0} ns by the cluster's instruction"
            ),
            _ => format!(
                "a load of the neighbour's shared memory takes {there:.0} ns in clusters of {most}, where the own \
                 block's takes {own:.0} ns"
            ),
        }
    });
    let reads = of("cluster_read_own", None).zip(of("cluster_read", Some(most))).map(|(own, there)| {
        let whose = if most == 1 { "by the cluster's instruction" } else { "from neighbours" };
        let (there_rate, own_rate, doubt) = (rate(there), rate(own), doubt(there, own));
        format!("all blocks read {there_rate:.0} GB/s {whose}, {own_rate:.0} GB/s of their own{doubt}")
    });
    let multicast = of("cluster_multicast", Some(most)).zip(of("cluster_each", Some(most)));
    let multicast = multicast.filter(|_| most > 1).map(|(multicast, each)| {
        format!(
            "with multicast to {most} blocks they receive {:.2} times the bytes of copies by each block{}",
            rate(multicast) / rate(each),
            doubt(multicast, each)
        )
    });
    sentence([latency, reads, multicast])
}
