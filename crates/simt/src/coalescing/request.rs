//! What goes in, a warp's addresses, and what comes out, its traffic.

/// Lanes in a warp, on every card so far.
pub const LANES: usize = 32;

/// One address a lane. Entries of lanes that are not active are never looked at.
pub type Addresses = [u64; LANES];

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From memory to the lanes.
    Load,
    /// From the lanes to memory.
    Store,
}

/// One memory instruction of one warp.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Where each lane's access starts, a multiple of `bytes`.
    pub addresses: &'a Addresses,
    /// Bit `k` is set when lane `k` takes part.
    pub active: u32,
    /// Bytes a lane: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Load or store.
    pub access: Access,
}

impl Request<'_> {
    /// Bytes that the active lanes ask for, those asked for twice counted twice, as the profilers count them.
    pub fn bytes_requested(&self) -> u32 {
        self.active.count_ones() * self.bytes
    }

    /// The active lanes in `lanes`, packed to the front of an array, and how many they are.
    pub(super) fn packed(&self, lanes: std::ops::Range<usize>) -> ([u64; LANES], usize) {
        let mut packed = [0; LANES];
        let mut count = 0;
        for lane in lanes {
            packed[count] = self.addresses[lane];
            count += (self.active >> lane & 1) as usize;
            if count == LANES {
                break;
            }
        }
        (packed, count)
    }
}

/// What one instruction of one warp costs the memory system. Sums over many instructions are sums of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Pieces in which the hardware takes the instruction: half-warps on 1.x; on 2.x and 3.x one for up to 4 bytes a
    /// lane, two for 8, four for 16; always one from 5.0 on. Pieces without an active lane are not counted.
    pub requests: u32,
    /// Transfers between the SM and what lies behind it, each of the size that the rule gives.
    pub transactions: u32,
    /// The same in units of 32 bytes.
    pub sectors: u32,
    /// 128-byte lines touched, counted a request: look-ups of L1's tags where there is an L1.
    pub lines: u32,
    /// Bytes of all transactions.
    pub bytes_moved: u32,
    /// Bytes that lanes asked for.
    pub bytes_used: u32,
}

impl Traffic {
    /// Bytes asked for over bytes moved, the profilers' `gld_efficiency` and `gst_efficiency`. It passes 1 where lanes
    /// share addresses, and is 1 where nothing was moved at all.
    pub fn efficiency(&self) -> f64 {
        if self.bytes_moved == 0 { 1.0 } else { f64::from(self.bytes_used) / f64::from(self.bytes_moved) }
    }

    /// True when lanes next to each other cross the end of a line that they need not cross: more lines than their bytes
    /// fill, though at most one sector more. Such requests look up a line that the neighbouring warp looks up too.
    pub fn straddles(&self) -> bool {
        self.lines > self.bytes_used.div_ceil(128) && self.sectors <= self.bytes_used.div_ceil(32) + 1
    }
}

/// One transfer: `bytes` from `address`, which is a multiple of `bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transaction {
    /// Its first byte.
    pub address: u64,
    /// 32, 64 or 128.
    pub bytes: u32,
}

/// The transactions of one instruction, at most one a lane, without an allocation. A slice in all but name.
#[derive(Clone, Copy, Debug)]
pub struct Transactions {
    list: [Transaction; LANES],
    count: usize,
}

impl Transactions {
    pub(super) fn none() -> Self {
        Self { list: [Transaction::default(); LANES], count: 0 }
    }

    pub(super) fn push(&mut self, address: u64, bytes: u32) {
        self.list[self.count] = Transaction { address, bytes };
        self.count += 1;
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u32 {
        self.iter().map(|transaction| transaction.bytes).sum()
    }
}

impl std::ops::Deref for Transactions {
    type Target = [Transaction];

    fn deref(&self) -> &[Transaction] {
        &self.list[..self.count]
    }
}
