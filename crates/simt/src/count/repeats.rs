//! Counts accesses at evenly spaced addresses, nearly all of which repeat their site's last one.
//!
//! A site's [memo](super::steady) has the price of its last such access. A repetition adds one to the memo's counter, and looks up
//! its sectors, which the memo has as a mask, in what the block has touched. The memo is added to the site's counters when
//! another access takes its place or the run ends. What has to be told of one request at a time is looked for where it
//! may be: the worst request of a site, and memory that is not the card's own.
//!
//! For example, a warp that walks along a row of 4096 `f32` loads at a step of 4 and a phase of 0 each time. The first load is
//! priced: 4 sectors, 1 line, 1 turn. The other 31 find the memo, its counter goes to 32, and the group's slot, which
//! the memo has too, says that all 4 sectors miss.

use super::level::by_level;
use super::local;
use super::observer::CounterObserver;
use super::prefetch;
use super::request::{self, Groups, Steady};
use super::run::Run;
use super::shape::Generation;
use super::sinks::{CachedLoads, Uncached};
use super::steady::{Memo, Path, Price};
use super::takes::Sink;
use super::turns;
use crate::coalescing::LANES;
use crate::observe::{Access, At, Operation, Space, SteadyAccess};

/// A sink that fetches the lines of the site's next request meanwhile, one for each sector taken: [all at once](prefetch::to_l1) would take
/// as long as the counting does.
struct Fetching<'a, S> {
    sink: &'a mut S,
    /// The address that is fetched next.
    next: u64,
    step: u64,
}

impl<S: Sink> Sink for Fetching<'_, S> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        for _ in 0..sectors.count_ones() {
            prefetch::to_l1(self.next);
            self.next = self.next.wrapping_add(self.step);
        }
        self.sink.take(group, sectors);
    }
}

impl CounterObserver {
    by_level! {
        /// Counts an access of at least one lane at evenly spaced addresses.
        #[inline(always)]
        pub(super) fn steady = steady_avx2, steady_at(at: At, access: &SteadyAccess)
    }

    #[inline(always)]
    fn steady_at(&mut self, at: At, access: &SteadyAccess) {
        if !self.repeat(at, access) {
            self.begin_steady(at, access);
        }
    }

    /// Counts an access that is no repetition of its site's memo.
    #[inline(never)]
    fn begin_steady(&mut self, at: At, access: &SteadyAccess) {
        if !self.replace_memo(at, access) || !self.repeat(at, access) {
            self.expand(at, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn expand(&mut self, at: At, access: &SteadyAccess) {
        let addresses = access.addresses();
        let access = access.with(&addresses);
        let steady = request::spacing(&addresses, access.active);
        let steady = steady.map(|(base, step)| Steady::of(&SteadyAccess::spaced(&access, base, step)));
        self.irregular(at, &access, steady);
    }

    /// Counts an access as a repetition of its site's memo. Returns false if it is none.
    #[inline(always)]
    pub(super) fn repeat(&mut self, at: At, access: &SteadyAccess) -> bool {
        let Run { memos, memory, groups: list, .. } = &mut *self.run;
        let memo = memos.at(at.site().0);
        if !memo.is_of(access) {
            return false;
        }
        memo.tally.repeats += 1;
        if memo.path == Path::Far {
            self.repeat_far(at, access);
            return true;
        }
        self.phase.note(memo.path);
        memo.look_up(access.base, at.warp(), memory, list);
        if memo.must_look(at) || self.rules.elsewhere.is_near(memo.low(access.base)) {
            self.look(at, access);
        }
        true
    }

    by_level! {
        /// Looks up a repetition that a memo does not have the sectors of, or that is neither a load through L1 nor a store.
        #[inline(never)]
        fn repeat_far = repeat_far_avx2, repeat_far_at(at: At, access: &SteadyAccess)
    }

    #[inline(always)]
    fn repeat_far_at(&mut self, at: At, access: &SteadyAccess) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let Run { memos, memory, groups: list, .. } = &mut *self.run;
        let memo = memos.at(at.site().0);
        let (group, sectors) = memo.place(access.base);
        let next = SteadyAccess { base: memo.next_far(access.base), ..*access };
        let next = next.address(access.active.trailing_zeros());
        let [reads, writes] = [access.operation != Operation::Store, access.operation != Operation::Load];
        if cached {
            let mut loads = CachedLoads::new(memory, list, at.warp(), false);
            Steady::of(access).each(&mut Fetching { sink: &mut loads, next, step: access.step });
            let missed = loads.end();
            memo.l2_sectors += u64::from(missed);
            memo.in_l1 += u64::from(missed == 0);
        } else if memo.sectors != 0 {
            // Lanes side by side, with few lines.
            (0..LANES as u32).for_each(|lane| prefetch::to_l1(access.address(lane)));
            memory.access_near(&mut memo.slot, group, sectors, [reads, writes], list);
        } else {
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            Steady::of(access).each(&mut Fetching { sink: &mut uncached, next, step: access.step });
            memo.rewritten += u64::from(if reads { 0 } else { uncached.rewritten });
        }
        let must_look = memo.must_look(at);
        self.note_phase(access.operation);
        let Steady { low, high, .. } = Steady::of(access);
        if must_look || self.rules.elsewhere.is_between(low, high) {
            self.look(at, access);
        }
    }

    /// Replaces a site's memo. Returns false if there is none for this access.
    #[inline(never)]
    pub(super) fn replace_memo(&mut self, at: At, access: &SteadyAccess) -> bool {
        let new = match access.space {
            Space::Global if self.rules.generation != Generation::Sectors => None,
            Space::Global => {
                let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
                Memo::global(access, cached, self.rules.level)
            }
            Space::Shared | Space::Cluster => {
                let wavefronts = self.shared_wavefronts_of(at, access);
                Some(Memo::new(access, self.run.shared.period() - 1, Price::Wavefronts(wavefronts)))
            }
            Space::Local => {
                let traffic = local::traffic(&access.addresses(), access.active, access.bytes);
                // The phase is that in a word.
                Some(Memo::new(access, 3, Price::Memory { traffic, turns: turns::of_local(&traffic) }))
            }
            Space::Constant => {
                let issues = self.constant_issues(&access.addresses(), access.active);
                Some(Memo::new(access, 0, Price::Issues(issues)))
            }
        };
        let Some(new) = new else { return false };
        self.put_memo(at, new);
        true
    }

    /// Adds the repetitions of a site's memo to the counters, and puts another in its place.
    pub(super) fn put_memo(&mut self, at: At, new: Memo) {
        let local_to_l2 = self.rules.local_to_l2();
        let run = &mut *self.run;
        let memo = run.memos.at(at.site().0);
        run.replays.version += u64::from(memo.path != Path::None || new.path != Path::None);
        memo.settle(run.counts.at(at.site().0), local_to_l2);
        memo.slot = std::mem::replace(memo, new).slot;
        memo.tally.from = run.worst.kept_below(at.site(), new.price.cost());
    }

    /// Notes a repetition of a site's memo if it is the worst request, or is not to the card's own memory.
    #[inline(never)]
    fn look(&mut self, at: At, access: &SteadyAccess) {
        let memo = self.run.memos.at(at.site().0);
        let is_far = memo.path == Path::Far;
        if memo.must_look(at) {
            self.note_worst(at, &access.with(&access.addresses()));
        }
        if access.space != Space::Global || !self.rules.elsewhere.any() {
            return;
        }
        if is_far {
            self.note_lanes_elsewhere(at, access, None);
        } else {
            self.note_steady_elsewhere(at, access);
        }
    }

    /// Notes a repetition of a site's memo if it is the worst request.
    #[inline(always)]
    pub(super) fn note_worst(&mut self, at: At, access: &Access<'_>) {
        let run = &mut *self.run;
        let memo = run.memos.at(at.site().0);
        let cost = memo.price.cost();
        run.worst.note(at, access, cost);
        memo.tally.from = run.worst.kept_below(at.site(), cost);
    }
}
