//! Requests and traffic: a warp's addresses, and what they cost.

/// Lanes of a warp, on every card so far.
pub const LANES: usize = 32;

/// One address per lane. Entries of inactive lanes are never read.
pub type Addresses = [u64; LANES];

/// Direction of an access.
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
    /// First byte of each lane's access, a multiple of `bytes`.
    pub addresses: &'a Addresses,
    /// Active mask: bit `k` is set if lane `k` takes part.
    pub active: u32,
    /// Bytes per lane: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Load or store.
    pub access: Access,
}

impl Request<'_> {
    /// Returns the bytes that active lanes access, counted for each lane, as profilers count them.
    pub fn bytes_requested(&self) -> u32 {
        self.active.count_ones() * self.bytes
    }

    /// Returns the active lanes' addresses in a range of lanes, packed to the front of an array, and their number.
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

/// Cost of one instruction of one warp in the memory system. Sums over instructions are sums of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests into which the hardware divides the instruction: half-warps on 1.x; on 2.x and 3.x one for up to 4
    /// bytes per lane, two for 8, four for 16; one from 5.0 on. Requests without an active lane are not counted.
    pub requests: u32,
    /// Transfers between the multiprocessor and the next level, each of the size that the rule gives.
    pub transactions: u32,
    /// Sectors: the same in units of 32 bytes.
    pub sectors: u32,
    /// 128-byte lines touched, summed over requests: look-ups of L1's tags if there is an L1.
    pub lines: u32,
    /// Bytes of all transactions.
    pub bytes_moved: u32,
    /// Bytes that lanes access.
    pub bytes_used: u32,
}

impl Traffic {
    /// Returns bytes accessed over bytes moved: the profilers' `gld_efficiency` and `gst_efficiency`. It exceeds 1 if
    /// lanes share addresses, and is 1 if nothing was moved.
    pub fn efficiency(&self) -> f64 {
        if self.bytes_moved == 0 { 1.0 } else { f64::from(self.bytes_used) / f64::from(self.bytes_moved) }
    }

    /// Returns true if adjacent lanes cross the end of a line needlessly: they touch more lines than their bytes fill,
    /// but at most one sector more. Such a request looks up a line that the neighbouring warp looks up too.
    pub fn straddles(&self) -> bool {
        self.lines > self.bytes_used.div_ceil(128) && self.sectors <= self.bytes_used.div_ceil(32) + 1
    }
}

/// A transfer of `bytes` from `address`, which is a multiple of `bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transaction {
    /// Address of the first byte.
    pub address: u64,
    /// Size in bytes: 32, 64 or 128.
    pub bytes: u32,
}

/// The transactions of one instruction, at most one per lane, without an allocation. It derefs to a slice.
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

    /// Returns the bytes of all transactions.
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
