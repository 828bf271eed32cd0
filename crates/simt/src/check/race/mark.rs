//! An access that a later one may race with, as the [history](super::history) keeps it.

/// The access reads.
pub(super) const READ: u8 = 1;
/// The access writes.
pub(super) const WRITE: u8 = 2;
/// The access is strong: it does not race with other strong ones.
pub(super) const STRONG: u8 = 4;
/// The access reads and writes atomically.
pub(super) const ATOMIC: u8 = 8;

/// An access to a word, or equivalent ones merged: of one warp, to the same bytes, between two of its barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Mark {
    // First, so that they are compared as one number.
    pub(super) block: u32,
    pub(super) warp: u8,
    /// Bytes of the word that were accessed, a bit each.
    pub(super) bytes: u8,
    /// [`READ`] or [`WRITE`] with further bits; 0 for an empty mark.
    pub(super) kind: u8,
    /// Always 0. It fills the key up to eight bytes.
    pub(super) unused: u8,
    /// The instruction; of merged accesses the last one.
    pub(super) site: u32,
    /// Clock of the warp at the access.
    pub(super) clock: u32,
    /// Warp barriers and fences of the warp before the access.
    pub(super) sync: u32,
    /// Lanes that accessed, a bit each.
    pub(super) lanes: u32,
}

impl Mark {
    /// Returns the kind, the bytes, the warp and the block as one number.
    #[inline(always)]
    pub(super) fn key(&self) -> u64 {
        let [warp, bytes, kind, unused] = [self.warp, self.bytes, self.kind, self.unused].map(u64::from);
        u64::from(self.block) | warp << 32 | bytes << 40 | kind << 48 | unused << 56
    }

    /// Returns true if both touch one byte, at least one writes and not both are strong.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        self.bytes & other.bytes != 0
            && (self.kind | other.kind) & WRITE != 0
            && self.kind & other.kind & STRONG == 0
    }
}
