//! Keeps the bytes of L2 that were last touched in each tick, from the horizon to now.

/// Ticks for which there is room at first; a power of two, as ever.
const FEWEST: usize = 1 << 13;

/// Bytes by tick, in a ring.
pub(super) struct Held {
    ring: Vec<u64>,
}

impl Held {
    pub(super) fn new() -> Self {
        Self { ring: vec![0; FEWEST] }
    }

    /// Returns the bytes of a tick. Those of one that is not kept belong to another one.
    #[inline(always)]
    pub(super) fn at(&mut self, tick: u32) -> &mut u64 {
        let last = self.ring.len() - 1;
        &mut self.ring[tick as usize & last]
    }

    /// Begins a tick, without bytes, behind those from `horizon` on.
    pub(super) fn begin(&mut self, tick: u32, horizon: u32) {
        if (tick - horizon) as usize >= self.ring.len() {
            let longer = Self { ring: vec![0; 2 * self.ring.len()] };
            let mut shorter = std::mem::replace(self, longer);
            (horizon..tick).for_each(|tick| *self.at(tick) = *shorter.at(tick));
        }
        *self.at(tick) = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_keep_their_bytes_while_the_ring_grows() {
        let mut held = Held::new();
        let (first, last) = (5, 5 + 3 * FEWEST as u32);
        for tick in first..=last {
            held.begin(tick, first);
            *held.at(tick) += u64::from(tick);
        }
        assert!((first..=last).all(|tick| *held.at(tick) == u64::from(tick)));
        // With the first ones dropped, there is room for as many more.
        held.begin(last + 1, last);
        assert_eq!((*held.at(last), *held.at(last + 1)), (u64::from(last), 0));
    }
}
