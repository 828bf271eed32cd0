//! The definition of a shuffle: the lane from which each lane gets its value. The kernels use an instruction for it; this is the
//! definition of that instruction, written down a second time for the host to check against.

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// How a lane names the lane whose value it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By its place in the segment.
    Idx,
    /// `operand` lanes below.
    Up,
    /// `operand` lanes above.
    Down,
    /// By the bits in which the two differ.
    Xor,
    /// `operand` lanes above, modulo the segment's width.
    Wrap,
}

/// The lane whose value `lane` has after the shuffle, in segments of `width` lanes. A lane that finds nobody in reach
/// keeps its own. The low five bits of the operand count.
pub(super) fn giver(kind: Kind, lane: u32, operand: u32, width: u32) -> u32 {
    let operand = operand % LANES;
    let (segment, place) = (lane / width * width, lane % width);
    let named = match kind {
        Kind::Idx => Some(segment + operand % width),
        Kind::Up => (place >= operand).then(|| lane - operand),
        Kind::Down => (place + operand < width).then(|| lane + operand),
        // A lower segment is in reach, a higher one is not.
        Kind::Wrap => Some(segment + (place + operand) % width),
        Kind::Xor => Some(lane ^ operand).filter(|&partner| partner < segment + width),
    };
    named.unwrap_or(lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 5] = [Kind::Idx, Kind::Up, Kind::Down, Kind::Xor, Kind::Wrap];

    fn all(kind: Kind, operand: u32, width: u32) -> Vec<u32> {
        (0..LANES).map(|lane| giver(kind, lane, operand, width)).collect()
    }

    #[test]
    fn whole_warps_do_what_they_are_known_for() {
        assert_eq!(all(Kind::Idx, 2, 32), [2; 32]);
        assert_eq!(all(Kind::Up, 2, 32)[..4], [0, 1, 0, 1]);
        assert_eq!(all(Kind::Up, 2, 32)[31], 29);
        assert_eq!(all(Kind::Down, 2, 32)[..2], [2, 3]);
        assert_eq!(all(Kind::Down, 2, 32)[29..], [31, 30, 31]);
        assert_eq!(all(Kind::Xor, 1, 32)[..4], [1, 0, 3, 2]);
        assert_eq!(all(Kind::Xor, 31, 32)[..2], [31, 30]);
        assert_eq!(all(Kind::Wrap, 2, 32)[..2], [2, 3]);
        assert_eq!(all(Kind::Wrap, 2, 32)[29..], [31, 0, 1]);
    }

    #[test]
    fn segments_keep_to_themselves() {
        assert_eq!(all(Kind::Idx, 6, 4)[..8], [2, 2, 2, 2, 6, 6, 6, 6]);
        assert_eq!(all(Kind::Up, 3, 4)[4..8], [4, 5, 6, 4]);
        assert_eq!(all(Kind::Up, 4, 4), (0..32).collect::<Vec<_>>());
        assert_eq!(all(Kind::Down, 3, 4)[4..8], [7, 5, 6, 7]);
        assert_eq!(all(Kind::Down, 31, 2), (0..32).collect::<Vec<_>>());
        assert_eq!(all(Kind::Wrap, 3, 4)[4..8], [7, 4, 5, 6]);
    }

    #[test]
    fn an_exchange_reaches_down_but_not_up() {
        // Lanes 0 to 3 would read from 4 to 7, a higher segment; those read from the lower one.
        assert_eq!(all(Kind::Xor, 4, 4)[..8], [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(all(Kind::Xor, 1, 2)[..4], [1, 0, 3, 2]);
    }

    #[test]
    fn five_bits_of_the_operand_count() {
        for kind in KINDS {
            assert_eq!(all(kind, 35, 8), all(kind, 3, 8), "{kind:?}");
            assert_eq!(all(kind, 32, 16), all(kind, 0, 16), "{kind:?}");
        }
    }

    #[test]
    fn a_lane_gives_only_within_the_warp() {
        for kind in KINDS {
            for width in [2, 4, 8, 16, 32] {
                for operand in 0..LANES {
                    assert!(all(kind, operand, width).iter().all(|&lane| lane < LANES));
                }
            }
        }
    }
}
