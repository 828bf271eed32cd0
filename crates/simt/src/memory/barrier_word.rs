//! A barrier object in shared memory: phase, counts and transactions, in 64 bits.
//!
//! The operations are those of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". The
//! layout of the object is opaque to programs; this one is our own, with two bits that mark an initialised object.
//!
//! For example, a barrier for 2 arrivals has pending 2. A first arrival that expects 512 bytes leaves pending 1 and
//! bytes 512, and a second one pending 0. The phase completes once the 512 bytes have arrived too: its parity flips,
//! and pending is 2 again.

/// Most threads, and most bytes in flight, that a barrier can count.
pub(super) const MOST: u32 = (1 << 20) - 1;

const MARK: u64 = 0b10 << 62;
const COUNT_BITS: u64 = MOST as u64;
const BYTES_BITS: u64 = (1 << 21) - 1;

/// The content of a barrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BarrierWord {
    /// True if the current phase has an odd number; phases count from 0.
    pub(super) odd: bool,
    /// Arrivals that the phase still waits for.
    pub(super) pending: u32,
    /// Arrivals that the next phase will wait for.
    pub(super) expected: u32,
    /// Bytes expected and not transferred yet; negative if bytes were transferred before they were expected.
    pub(super) bytes: i32,
}

impl BarrierWord {
    /// Creates an object in its first phase.
    pub(super) fn new(count: u64) -> Result<Self, String> {
        match u32::try_from(count) {
            Ok(count @ 1..=MOST) => Ok(Self { odd: false, pending: count, expected: count, bytes: 0 }),
            _ => Err(format!("mbarrier.init with a count of {count}; it must be 1 to {MOST}")),
        }
    }

    /// Decodes an object; None if it is not initialised or has been overwritten.
    pub(super) fn decode(bits: u64) -> Option<Self> {
        let bytes = (bits >> 40 & BYTES_BITS) as i32;
        (bits & 0b11 << 62 == MARK).then_some(Self {
            odd: bits >> 61 & 1 == 1,
            pending: (bits & COUNT_BITS) as u32,
            expected: (bits >> 20 & COUNT_BITS) as u32,
            // Sign-extends 21 bits.
            bytes: bytes << 11 >> 11,
        })
    }

    /// Encodes the object as it lies in memory.
    pub(super) fn encode(self) -> u64 {
        let bytes = u64::from(self.bytes as u32) & BYTES_BITS;
        let odd = u64::from(self.odd) << 61;
        MARK | odd | bytes << 40 | u64::from(self.expected) << 20 | u64::from(self.pending)
    }

    /// Completes the phase if nothing is pending. Returns true if it did, and the next phase has begun.
    fn advance(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.odd = !self.odd;
            self.pending = self.expected;
        }
        complete
    }

    /// Counts arrivals. Returns true if they complete the phase.
    pub(super) fn arrive(&mut self, count: u64) -> Result<bool, String> {
        if count == 0 || count > u64::from(self.pending) {
            let pending = self.pending;
            return Err(format!("{count} arrive at an mbarrier whose phase waits for {pending}"));
        }
        self.pending -= count as u32;
        Ok(self.advance())
    }

    /// Counts arrivals that also lower the count of later phases.
    pub(super) fn arrive_and_drop(&mut self, count: u64) -> Result<bool, String> {
        if count > u64::from(self.expected) {
            let expected = self.expected;
            return Err(format!("{count} leave an mbarrier that counts {expected}"));
        }
        self.expected -= count as u32;
        self.arrive(count)
    }

    /// Adds to the bytes expected; a negative number is bytes that were transferred.
    pub(super) fn transfer(&mut self, bytes: i64) -> Result<bool, String> {
        let sum = i64::from(self.bytes).saturating_add(bytes);
        if sum.unsigned_abs() > u64::from(MOST) {
            return Err(format!("an mbarrier has {sum} bytes under way; {MOST} at most"));
        }
        self.bytes = sum as i32;
        Ok(self.advance())
    }
}
