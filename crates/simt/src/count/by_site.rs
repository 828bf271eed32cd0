//! A value for each site that a launch executes.
//!
//! A program has the instructions of all its kernels, often tens of thousands, and a launch executes those of one. So values
//! are kept for a window of consecutive sites, which grows by doubling to the sites that occur: a launch costs what its
//! kernel is long, whatever the program.

use std::ops::Range;

/// Sites of the first window, and the least by which it grows.
const LEAST: usize = 64;

/// Values by site; sites that have not occurred have the default.
pub(super) struct BySite<T> {
    /// The first site of the window.
    first: u32,
    values: Vec<T>,
}

impl<T> Default for BySite<T> {
    fn default() -> Self {
        Self { first: 0, values: Vec::new() }
    }
}

impl<T: Copy + Default> BySite<T> {
    /// Returns the value of a site, to be changed.
    #[inline(always)]
    pub(super) fn at(&mut self, site: u32) -> &mut T {
        // A site before the window becomes an index far behind it.
        let mut index = site.wrapping_sub(self.first) as usize;
        if index >= self.values.len() {
            self.grow(site);
            index = (site - self.first) as usize;
        }
        &mut self.values[index]
    }

    /// Returns the values of consecutive sites, of which there is at least one, by a pointer to the first. It holds until a
    /// site is asked for that is not in the window.
    #[inline]
    pub(super) fn window(&mut self, sites: Range<u32>) -> *mut T {
        self.at(sites.end - 1);
        self.at(sites.start);
        let index = (sites.start - self.first) as usize;
        self.values[index..].as_mut_ptr()
    }

    /// Returns the value of a site.
    #[inline(always)]
    pub(super) fn get(&self, site: u32) -> T {
        self.values.get(site.wrapping_sub(self.first) as usize).copied().unwrap_or_default()
    }

    /// Returns the sites of the window.
    pub(super) fn sites(&self) -> Range<u32> {
        self.first..self.first + self.values.len() as u32
    }

    /// Returns the sites of the window with their values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> + Clone {
        (self.first..).zip(&self.values)
    }

    /// Returns the sites of the window with their values, in order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (self.first..).zip(&mut self.values)
    }

    #[cold]
    fn grow(&mut self, site: u32) {
        let more = self.values.len().max(LEAST);
        if self.values.is_empty() {
            self.first = site;
            self.values.resize(more, T::default());
        } else if site < self.first {
            let first = site.min(self.first.saturating_sub(more as u32));
            let before = (self.first - first) as usize;
            self.values.splice(0..0, std::iter::repeat_n(T::default(), before));
            self.first = first;
        } else {
            let index = (site - self.first) as usize;
            self.values.resize((index + 1).max(self.values.len() + more), T::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_with_their_sites_while_the_window_grows() {
        let mut values = BySite::<u32>::default();
        let sites = [1000, 1001, 1063, 1064, 999, 1, 0, 5000, u32::MAX / 2];
        for (value, site) in (1..).zip(sites.into_iter().take(8)) {
            *values.at(site) += value;
        }
        for (value, site) in (1..).zip(sites.into_iter().take(8)) {
            assert_eq!(values.get(site), value, "{site}");
        }
        assert_eq!((values.get(2), values.get(1002), values.get(sites[8])), (0, 0, 0));
        let kept: Vec<(u32, u32)> =
            values.iter().filter(|(_, value)| **value > 0).map(|(site, value)| (site, *value)).collect();
        let expected = [(0, 7), (1, 6), (999, 5), (1000, 1), (1001, 2), (1063, 3), (1064, 4), (5000, 8)];
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_window_is_as_large_as_what_occurs() {
        let mut values = BySite::<u64>::default();
        assert_eq!(values.iter().count(), 0);
        for site in 30_000..30_300 {
            *values.at(site) += 1;
        }
        assert_eq!(values.iter().count(), 512);
        assert_eq!(values.iter().next(), Some((30_000, &1)));
    }
}
