//! Counts what stores to another card's memory put on the link.
//!
//! Each store of a warp crosses the link by itself, also where a neighbouring warp writes the rest of its sectors: they meet
//! in the other card's L2. It goes in *packets*, each of neighbouring sectors of a line of 128 bytes. A sector that is not
//! written whole needs a mask of its bytes. For example, 32 lanes that store 4 bytes each from byte 4 of a line on make
//! two packets, of four sectors and of one, both with masks; from byte 32 on also two, of three and of one, without.
//!
//! Two things are simplified: lanes count in their order, so a sector to which a later lane returns counts again, and
//! where a store does not fill its sectors, all its packets count as masked.

use super::shape::{Placement, Range, place_of};
use crate::coalescing::{Addresses, LANES, LINE_BYTES, SECTOR_BYTES};
use std::ops;
use std::sync::Arc;

/// Sectors of a line.
const OF_LINE: u64 = LINE_BYTES / SECTOR_BYTES;

/// Returns the ranges of other cards' memory.
pub(super) fn of_peers(ranges: &[Range]) -> Arc<[ops::Range<u64>]> {
    let of_peers = ranges.iter().filter(|range| range.placement == Placement::Peer);
    of_peers.map(|range| range.addresses.clone()).collect()
}

/// Stores of warps to other cards' memory.
pub(super) struct PeerStores {
    ranges: Arc<[ops::Range<u64>]>,
    pub(super) sectors: u64,
    /// Those of atomic operations among them.
    pub(super) updated: u64,
    pub(super) packets: u64,
    /// Packets of stores that do not fill their sectors.
    pub(super) masked: u64,
}

impl PeerStores {
    pub(super) fn new(ranges: Arc<[ops::Range<u64>]>) -> Self {
        Self { ranges, sectors: 0, updated: 0, packets: 0, masked: 0 }
    }

    /// Returns true if a range of another card's memory is known.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Counts a store or an atomic operation of `bytes` per active lane; its first lane's address stands for all.
    pub(super) fn note(&mut self, addresses: &Addresses, (active, bytes): (u32, u32), is_atomic: bool) {
        let address = addresses[(active.trailing_zeros() & 31) as usize];
        if place_of(&self.ranges, ops::Range::clone, address).is_none() {
            return;
        }
        let mut last = None;
        let (mut sectors, mut packets) = (0, 0);
        for lane in (0..LANES).filter(|lane| active >> lane & 1 != 0) {
            let (first, end) = (addresses[lane], addresses[lane] + u64::from(bytes));
            for sector in first / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
                if last == Some(sector) {
                    continue;
                }
                let follows = last.is_some_and(|last| last + 1 == sector) && !sector.is_multiple_of(OF_LINE);
                sectors += 1;
                packets += u64::from(!follows);
                last = Some(sector);
            }
        }
        self.sectors += sectors;
        self.updated += if is_atomic { sectors } else { 0 };
        self.packets += packets;
        let filled = u64::from(active.count_ones() * bytes) >= sectors * SECTOR_BYTES;
        self.masked += if filled { 0 } else { packets };
    }

    /// Adds the counters of another worker.
    pub(super) fn add(&mut self, other: &Self) {
        self.sectors += other.sectors;
        self.updated += other.updated;
        self.packets += other.packets;
        self.masked += other.masked;
    }
}

/// Returns the packets of sectors that are read: neighbouring ones of a line.
pub(super) fn packets(sectors: u32) -> u64 {
    let begins_line = 0x1111_1111;
    u64::from((sectors & (!(sectors << 1) | begins_line)).count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start: u64, step: u64, bytes: u32) -> [u64; 3] {
        let mut stores = PeerStores::new(Arc::from(vec![ops::Range { start: 0, end: 1 << 20 }]));
        let addresses = std::array::from_fn(|lane| start + lane as u64 * step);
        stores.note(&addresses, (u32::MAX, bytes), false);
        assert_eq!(stores.updated, 0);
        stores.note(&addresses, (u32::MAX, bytes), true);
        assert_eq!(2 * stores.updated, stores.sectors);
        [stores.sectors, stores.packets, stores.masked].map(|of_both| of_both / 2)
    }

    #[test]
    fn a_store_goes_in_packets_of_neighbouring_sectors_of_a_line() {
        assert_eq!(of(0, 4, 4), [4, 1, 0]);
        assert_eq!(of(4, 4, 4), [5, 2, 2]);
        assert_eq!(of(32, 4, 4), [4, 2, 0]);
        assert_eq!(of(0, 8, 4), [8, 2, 2]);
        assert_eq!(of(0, 64, 4), [32, 32, 32]);
        assert_eq!(of(0, 128, 4), [32, 32, 32]);
        assert_eq!(of(0, 16, 16), [16, 4, 0]);
        assert_eq!(of(1 << 20, 4, 4), [0; 3], "that is no peer's");
    }

    #[test]
    fn packets_of_reads_end_with_their_line() {
        assert_eq!(packets(0xffff_ffff), 8);
        assert_eq!(packets(0b0001_0101), 3);
        assert_eq!(packets(0b0001_1110), 2);
        assert_eq!(packets(0), 0);
    }
}
