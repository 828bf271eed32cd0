//! What a barrier object in shared memory is: phase, counts and transactions, in 64 bits.
//!
//! The operations are those of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A
//! GPU's own layout of the object is nobody's business; this one is ours, with two bits by which an object that nobody
//! has initialised is known.

/// The most threads, and the most bytes under way, that a barrier can count.
pub(super) const MOST: u32 = (1 << 20) - 1;

const MARK: u64 = 0b10 << 62;
const COUNT_BITS: u64 = MOST as u64;
const BYTES_BITS: u64 = (1 << 21) - 1;

/// A barrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BarrierWord {
    /// Whether the phase under way has an odd number; they count from 0.
    pub(super) odd: bool,
    /// Arrivals that the phase still waits for.
    pub(super) pending: u32,
    /// Arrivals that the next phase will wait for.
    pub(super) expected: u32,
    /// Bytes that have been announced and not yet come, or come before they were announced.
    pub(super) bytes: i32,
}

impl BarrierWord {
    /// In its first phase.
    pub(super) fn new(count: u64) -> Result<Self, String> {
        match u32::try_from(count) {
            Ok(count @ 1..=MOST) => Ok(Self { odd: false, pending: count, expected: count, bytes: 0 }),
            _ => Err(format!("mbarrier.init with a count of {count}; it must be 1 to {MOST}")),
        }
    }

    /// None: not initialised, or overwritten.
    pub(super) fn decode(bits: u64) -> Option<Self> {
        let bytes = (bits >> 40 & BYTES_BITS) as i32;
        (bits & 0b11 << 62 == MARK).then_some(Self {
            odd: bits >> 61 & 1 == 1,
            pending: (bits & COUNT_BITS) as u32,
            expected: (bits >> 20 & COUNT_BITS) as u32,
            // Its own sign, from 21 bits.
            bytes: bytes << 11 >> 11,
        })
    }

    /// As it lies in memory.
    pub(super) fn encode(self) -> u64 {
        let bytes = u64::from(self.bytes as u32) & BYTES_BITS;
        let odd = u64::from(self.odd) << 61;
        MARK | odd | bytes << 40 | u64::from(self.expected) << 20 | u64::from(self.pending)
    }

    /// Whether the phase has been completed by what was done last; if so the next is under way.
    fn advance(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.odd = !self.odd;
            self.pending = self.expected;
        }
        complete
    }

    /// So many arrive. Gives whether that completes the phase.
    pub(super) fn arrive(&mut self, count: u64) -> Result<bool, String> {
        if count == 0 || count > u64::from(self.pending) {
            let pending = self.pending;
            return Err(format!("{count} arrive at an mbarrier whose phase waits for {pending}"));
        }
        self.pending -= count as u32;
        Ok(self.advance())
    }

    /// So many arrive for the last time.
    pub(super) fn arrive_and_drop(&mut self, count: u64) -> Result<bool, String> {
        if count > u64::from(self.expected) {
            let expected = self.expected;
            return Err(format!("{count} leave an mbarrier that counts {expected}"));
        }
        self.expected -= count as u32;
        self.arrive(count)
    }

    /// So many bytes are to come, or with a negative number have come.
    pub(super) fn transfer(&mut self, bytes: i64) -> Result<bool, String> {
        let sum = i64::from(self.bytes).saturating_add(bytes);
        if sum.unsigned_abs() > u64::from(MOST) {
            return Err(format!("an mbarrier has {sum} bytes under way; {MOST} at most"));
        }
        self.bytes = sum as i32;
        Ok(self.advance())
    }
}
