//! Counts shared-memory wavefronts by [`BankRule::wavefronts`], with a cache of results.

use super::distinct::words_of_worst_bank;
use crate::coalescing::{Access, Addresses, BankRule, LANES, Request, Wavefronts};
use crate::decode::Level;
use crate::observe::Site;

/// Instructions whose last request is cached.
const SITES: usize = 64;

/// A cache of the wavefronts of each instruction's last request. They depend only on the lanes' distances and on the
/// bank at which the request begins, and most instructions repeat one pattern.
pub(super) struct SharedMemory {
    rule: BankRule,
    level: Level,
    /// Bytes by which all lanes may move without a change of the result.
    period: u64,
    known: Vec<Known>,
}

#[derive(Clone)]
struct Known {
    /// Distance of each lane from the first active one.
    distances: Addresses,
    begin: u64,
    active: u32,
    bytes: u32,
    access: Access,
    wavefronts: Wavefronts,
}

impl SharedMemory {
    pub(super) fn new(rule: BankRule, level: Level) -> Self {
        let nothing = Known {
            distances: [0; LANES],
            begin: 0,
            active: 0,
            bytes: 0,
            access: Access::Load,
            wavefronts: Wavefronts::default(),
        };
        let period = match rule {
            // A conflict of two words depends on their distance alone.
            BankRule::Sixteen | BankRule::Fermi | BankRule::ThirtyTwo => 4,
            // Words that share a bank's width lie in the same 256 bytes.
            BankRule::Kepler(_) => 256,
        };
        Self { rule, level, period, known: vec![nothing; SITES] }
    }

    /// Returns the bytes by which all lanes may move without a change of the result, a power of two.
    pub(super) fn period(&self) -> u64 {
        self.period
    }

    /// Returns the wavefronts of a request with at least one active lane.
    #[inline]
    pub(super) fn wavefronts(&mut self, site: Site, request: &Request<'_>) -> Wavefronts {
        let first = request.addresses[(request.active.trailing_zeros() & 31) as usize];
        let begin = first % self.period;
        let known = &self.known[site.0 as usize % SITES];
        if known.active == request.active
            && known.bytes == request.bytes
            && known.access == request.access
            && known.begin == begin
            && is_same(&known.distances, first, request, self.level)
        {
            return known.wavefronts;
        }
        self.remember(site, request, first)
    }

    #[inline(never)]
    fn remember(&mut self, site: Site, request: &Request<'_>, first: u64) -> Wavefronts {
        let wavefronts = self.count(request);
        self.known[site.0 as usize % SITES] = Known {
            distances: request.addresses.map(|address| address.wrapping_sub(first)),
            begin: first % self.period,
            active: request.active,
            bytes: request.bytes,
            access: request.access,
            wavefronts,
        };
        wavefronts
    }

    /// Returns the wavefronts by the rule, by vectors in the most frequent case.
    #[inline(always)]
    fn count(&self, request: &Request<'_>) -> Wavefronts {
        if matches!(self.rule, BankRule::ThirtyTwo | BankRule::Fermi)
            && request.bytes <= 4
            && let Some(taken) = words_of_worst_bank(request.addresses, request.active, self.level)
        {
            return Wavefronts { taken, ideal: 1 };
        }
        self.rule.wavefronts(request)
    }

    /// Returns the wavefronts of an atomic: those of a store, or one per lane on the most shared address if that is
    /// more.
    pub(super) fn atomic_wavefronts(&mut self, site: Site, request: &Request<'_>, rounds: u32) -> Wavefronts {
        let wavefronts = self.wavefronts(site, &Request { access: Access::Store, ..*request });
        Wavefronts { taken: wavefronts.taken.max(rounds), ..wavefronts }
    }
}

/// Returns true if all active lanes lie at these distances from the first.
#[inline(always)]
fn is_same(distances: &Addresses, first: u64, request: &Request<'_>, level: Level) -> bool {
    if request.active != u32::MAX {
        return (0..LANES)
            .filter(|lane| request.active >> lane & 1 == 1)
            .all(|lane| request.addresses[lane].wrapping_sub(first) == distances[lane]);
    }
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        return unsafe { all_same_avx2(distances, first, request.addresses) };
    }
    let _ = level;
    all_same(distances, first, request.addresses)
}

/// Free of branches, so that it vectorises.
#[inline(always)]
fn all_same(distances: &Addresses, first: u64, addresses: &Addresses) -> bool {
    let mut differs = 0;
    for lane in 0..LANES {
        differs |= addresses[lane].wrapping_sub(first) ^ distances[lane];
    }
    differs == 0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn all_same_avx2(distances: &Addresses, first: u64, addresses: &Addresses) -> bool {
    all_same(distances, first, addresses)
}
