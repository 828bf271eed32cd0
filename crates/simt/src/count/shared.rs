//! Counts shared-memory wavefronts by [`BankRule::wavefronts`], with a cache of results.

use super::distinct::worst_bank_and_word;
use crate::coalescing::{Access, Addresses, AtomicConflicts, BankRule, LANES, Request, Wavefronts};
use crate::decode::Level;
use crate::observe::Site;

/// Instructions whose last request is cached.
const SITES: usize = 64;

/// Requests in succession that do not repeat the one before, from which on few are cached.
const PATIENCE: u32 = 8;

/// One of as many requests is cached then.
const RARELY: u32 = 16;

/// Bytes of all banks' words.
const ROW: u64 = 128;

/// A cache of the wavefronts of each instruction's last request. They depend only on the lanes' distances and on the
/// bank at which the request begins, and most instructions repeat one pattern. Where data decides about the addresses
/// and none repeats, the cache is left alone but for two requests of sixteen.
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
    by_rounds: bool,
    wavefronts: Wavefronts,
    /// Requests since the last one that was as the one cached.
    missed: u32,
}

impl SharedMemory {
    pub(super) fn new(rule: BankRule, level: Level) -> Self {
        let nothing = Known {
            distances: [0; LANES],
            begin: 0,
            active: 0,
            bytes: 0,
            access: Access::Load,
            by_rounds: false,
            wavefronts: Wavefronts::default(),
            missed: 0,
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

    /// Returns the wavefronts of a request with at least one active lane. An atomic takes those of a store, or, `by_rounds`, one
    /// per lane on the most shared address if that is more.
    #[inline]
    pub(super) fn wavefronts(&mut self, site: Site, request: &Request<'_>, by_rounds: bool) -> Wavefronts {
        let known = &mut self.known[site.0 as usize % SITES];
        if known.missed >= PATIENCE && known.missed % RARELY > 1 {
            known.missed = known.missed.wrapping_add(1);
            return count(self.rule, self.level, request, by_rounds);
        }
        let first = request.addresses[(request.active.trailing_zeros() & 31) as usize];
        let begin = first % self.period;
        if known.active == request.active
            && known.bytes == request.bytes
            && known.access == request.access
            && known.by_rounds == by_rounds
            && known.begin == begin
            && is_same(&known.distances, first, request, self.level)
        {
            known.missed = 0;
            return known.wavefronts;
        }
        let wavefronts = count(self.rule, self.level, request, by_rounds);
        *known = Known {
            distances: request.addresses.map(|address| address.wrapping_sub(first)),
            begin,
            active: request.active,
            bytes: request.bytes,
            access: request.access,
            by_rounds,
            wavefronts,
            missed: known.missed.wrapping_add(1),
        };
        wavefronts
    }
}

/// Returns the wavefronts by the rule, by vectors in the most frequent cases.
#[inline(never)]
fn count(rule: BankRule, level: Level, request: &Request<'_>, by_rounds: bool) -> Wavefronts {
    let (mut wavefronts, rounds) = if matches!(rule, BankRule::ThirtyTwo | BankRule::Fermi)
        && request.bytes <= 4
        && (request.bytes == 4 || !by_rounds)
        && let Some([taken, rounds]) = worst_bank_and_word(request.addresses, request.active, level)
    {
        (Wavefronts { taken, ideal: 1 }, rounds)
    } else {
        let rounds = if by_rounds { AtomicConflicts::new(request).rounds } else { 0 };
        (of_words(rule, level, request).unwrap_or_else(|| rule.wavefronts(request)), rounds)
    };
    if by_rounds {
        wavefronts.taken = wavefronts.taken.max(rounds);
    }
    wavefronts
}

/// Counts a request of several words a lane, from 5.0 on. Lanes that access different words of 8 or 16 bytes conflict if their
/// first banks are the same. So such words are numbered as if each were one of 4 bytes in the first of its banks:
///
/// ```text
/// 16 bytes at    0  16  32  ..  112  128  144
/// bank           0   1   2  ..    7    0    1
/// ```
///
/// `None` for other requests, and without AVX2.
fn of_words(rule: BankRule, level: Level, request: &Request<'_>) -> Option<Wavefronts> {
    let bytes = u64::from(request.bytes);
    if rule != BankRule::ThirtyTwo || !matches!(bytes, 8 | 16) {
        return None;
    }
    let (shift, of_row) = (bytes.trailing_zeros(), ROW / bytes);
    let words = request.addresses.map(|address| {
        let word = address >> shift;
        word / of_row * ROW + word % of_row * 4
    });
    let width = rule.width(request);
    let mut wavefronts = Wavefronts::default();
    for start in (0..LANES).step_by(width) {
        let part = request.active & (((1_u64 << width) - 1) << start) as u32;
        if part == 0 {
            continue;
        }
        let lanes = (start..start + width).filter(|lane| part >> lane & 1 == 1);
        let banks = lanes.fold(0_u32, |banks, lane| banks | 1 << (words[lane] / 4 % 32));
        wavefronts.ideal += 1;
        wavefronts.taken += if banks.count_ones() == part.count_ones() {
            1
        } else {
            worst_bank_and_word(&words, part, level)?[0]
        };
    }
    Some(wavefronts)
}

/// Returns true if all active lanes lie at these distances from the first.
#[inline(always)]
fn is_same(distances: &Addresses, first: u64, request: &Request<'_>, level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        return unsafe { all_same_avx2(distances, first, request) };
    }
    let _ = level;
    all_same(distances, first, request)
}

/// Free of branches, so that it vectorises.
#[inline(always)]
fn all_same(distances: &Addresses, first: u64, request: &Request<'_>) -> bool {
    let mut differs = 0;
    for (lane, (address, distance)) in request.addresses.iter().zip(distances).enumerate() {
        let is_active = u64::from(request.active) >> lane & 1;
        differs |= (address.wrapping_sub(first) ^ distance) & is_active.wrapping_neg();
    }
    differs == 0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn all_same_avx2(distances: &Addresses, first: u64, request: &Request<'_>) -> bool {
    all_same(distances, first, request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::distinct::tests::requests;

    #[test]
    fn vectors_count_what_the_rule_does() {
        for (addresses, active) in requests() {
            for bytes in [8, 16] {
                // As they are, by pairs of lanes, and all adjacent but a few.
                let aligned = addresses.map(|address| address / bytes * bytes);
                let paired = std::array::from_fn(|lane| aligned[lane & !1]);
                let adjacent =
                    std::array::from_fn(|lane| aligned[0] + (lane as u64 ^ (active as u64 % 2)) * bytes);
                for (addresses, access) in [
                    (&aligned, Access::Store),
                    (&aligned, Access::Load),
                    (&paired, Access::Load),
                    (&adjacent, Access::Load),
                ] {
                    let request = Request { addresses, active, bytes: bytes as u32, access };
                    let rule = BankRule::ThirtyTwo;
                    let found = count(rule, Level::detect(), &request, false);
                    assert_eq!(found, rule.wavefronts(&request), "{request:x?}");
                }
            }
        }
    }
}
