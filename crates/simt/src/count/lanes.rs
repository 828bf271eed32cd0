//! Counts requests to global memory by the addresses of all lanes.
//!
//! The card's [generation](Generation) decides what an instruction's request costs. From 5.0 on, a warp's request is one:
//! its traffic is the number of distinct sectors, which a sorting network finds ([`distinct`](super::distinct)), and each sector is looked
//! up in what the block has touched ([`block`](super::block)). On 2.x and 3.x a warp's request is split into parts of 32, 16 or 8 lanes, and
//! on 1.x into half-warps, whose transactions have three sizes and go straight to memory.
//!
//! For example, 32 lanes of a gather with the indices 0, 100, 200, ... of `f32` touch 32 sectors 400 bytes apart: one
//! request, 32 sectors, 128 bytes used of 1024 moved. If the block has loaded five of them before, 27 go on to L2. On a card of
//! 2.0 the same load is one part of 32 lines, each of which L1 fetches whole.
//!
//! This is the slow way, some fifty to a hundred nanoseconds a request. Requests at even distances are priced once and then
//! [repeat](super::repeats).

use super::contention::Contention;
use super::distinct::Pieces;
use super::extent::{self, Extent};
use super::level::by_level;
use super::observer::CounterObserver;
use super::prefetch;
use super::request::{self, AnyLanes, Groups, Steady};
use super::run::Run;
use super::shape::Generation;
use super::sinks::{CachedLoads, Uncached};
use super::turns;
use super::worst::Cost;
use crate::coalescing::{Access as Way, LANES, Request, Traffic};
use crate::observe::{Access, At, Operation, SteadyAccess};

impl CounterObserver {
    by_level! {
        #[inline(always)]
        pub(super) fn global = global_avx2, global_at(at: At, access: &Access<'_>)
    }

    #[inline(always)]
    fn global_at(&mut self, at: At, access: &Access<'_>) {
        // The ends of a row, which is on its way then while it is counted.
        prefetch::to_l1(access.addresses[0]);
        prefetch::to_l1(access.addresses[LANES - 1]);
        let steady = request::spacing(access.addresses, access.active);
        let steady = steady.map(|(base, step)| SteadyAccess::spaced(access, base, step));
        if self.rules.generation == Generation::Sectors
            && let Some(steady) = &steady
            && (self.repeat(at, steady) || self.replace_memo(at, steady) && self.repeat(at, steady))
        {
            if access.operation.is_atomic() {
                let contention = Contention::of(access.addresses, access.active, self.rules.level);
                self.run.note_atomic(at, &self.rules, access, &contention);
            }
            return;
        }
        self.irregular(at, access, steady.map(|steady| Steady::of(&steady)));
    }

    /// Counts a request to global memory by all its addresses.
    #[inline(always)]
    pub(super) fn irregular(&mut self, at: At, access: &Access<'_>, steady: Option<Steady>) {
        self.note_phase(access.operation);
        if self.rules.elsewhere.any() {
            self.note_elsewhere(at, access);
        }
        let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        let contention = access.operation.is_atomic().then(|| {
            let contention = Contention::of(access.addresses, access.active, self.rules.level);
            self.run.note_atomic(at, &self.rules, access, &contention);
            contention
        });
        let contention = contention.as_ref();
        match (self.rules.generation, steady) {
            (Generation::Sectors, _) => self.scattered(at, access, &request, contention),
            (Generation::Parts, Some(steady)) if access.active == u32::MAX && access.bytes <= 16 => {
                let by_lines =
                    self.rules.l1.lines && self.is_cached(access.operation, access.past_l1, access.read_only);
                let traffic = steady.traffic_in_parts(access.bytes, by_lines);
                let turns = turns::before_maxwell(&traffic);
                self.touch(at, access, &steady, (traffic, turns), contention);
            }
            (Generation::Parts, _) => self.parts(at, access, &request, contention),
            (Generation::Segments, _) => self.segments(at, access, &request, contention),
        }
    }

    /// Returns true if an access goes through L1.
    #[inline(always)]
    pub(super) fn is_cached(&self, operation: Operation, past_l1: bool, read_only: bool) -> bool {
        let l1 = &self.rules.l1;
        operation == Operation::Load && !past_l1 && (l1.loads || (read_only && l1.read_only))
    }

    by_level! {
        /// Counts a request with arbitrary addresses, from 5.0 on.
        #[inline(never)]
        fn scattered = scattered_avx2, scattered_at(at: At, access: &Access<'_>, request: &Request<'_>,
            contention: Option<&Contention>)
    }

    #[inline(always)]
    fn scattered_at(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        contention: Option<&Contention>,
    ) {
        let pieces = match contention {
            Some(contention) => contention.pieces,
            None => Pieces::of(access.addresses, access.active, self.rules.level),
        };
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        let traffic = lanes.traffic(request.bytes_requested());
        let all = (access.addresses, access.active);
        let turns = turns::of_lanes(&pieces, all, access.bytes, self.rules.level);
        self.touch(at, access, &lanes, (traffic, turns), contention);
    }

    /// Counts a request with arbitrary addresses on 2.x and 3.x.
    #[inline(never)]
    fn parts(&mut self, at: At, access: &Access<'_>, request: &Request<'_>, contention: Option<&Contention>) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let coalescer = if cached { self.rules.cached } else { self.rules.uncached };
        // Of the pieces, only the steps matter here.
        let pieces = Pieces { sectors: 0, lines: 0, of_bank: 0, steps: access.active };
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        let traffic = coalescer.traffic(request);
        self.touch(at, access, &lanes, (traffic, turns::before_maxwell(&traffic)), contention);
    }

    /// Counts a request on 1.x, whose transactions go straight to memory.
    #[inline(never)]
    fn segments(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        contention: Option<&Contention>,
    ) {
        let rules = self.rules;
        let transactions = rules.uncached.transactions(request);
        let traffic = rules.uncached.traffic(request);
        let way = usize::from(request.access == Way::Store);
        self.run.totals.scattered[way] += request::scattered_pages(request, rules.page_shift);
        if rules.partitions > 0 {
            let window = self.block / rules.cut.window;
            let partitions = self.run.partitions(window, rules.partitions);
            for transaction in transactions.iter() {
                let partition = (transaction.address / 256 % u64::from(rules.partitions)) as usize;
                partitions.bytes[way][partition] += u64::from(transaction.bytes);
            }
        }
        let turns = turns::before_maxwell(&traffic);
        self.touch(at, access, &transactions, (traffic, turns), contention);
    }

    /// Looks up L1, records what goes on to L2, and counts a request of this traffic and these turns of L1. `contention` is that of an atomic.
    #[inline(always)]
    fn touch(
        &mut self,
        at: At,
        access: &Access<'_>,
        groups: &impl Groups,
        (traffic, turns): (Traffic, u32),
        contention: Option<&Contention>,
    ) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let lines = self.rules.l1.lines;
        let Run { memory, groups: list, .. } = &mut *self.run;
        let mut extent = Extent { l2_sectors: u64::from(traffic.sectors), in_l1: 0, rewritten: 0, turns };
        if cached {
            let mut loads = CachedLoads::new(memory, list, at.warp(), lines);
            groups.load(&mut loads);
            extent.l2_sectors = u64::from(loads.end());
            extent.in_l1 = u64::from(extent.l2_sectors == 0);
        } else {
            let reads = access.operation != Operation::Store;
            let writes = access.operation != Operation::Load;
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            if self.rules.generation == Generation::Sectors {
                groups.access(&mut uncached);
            } else {
                // Parts of a warp may count the same sector each.
                groups.each(&mut uncached);
            }
            if access.operation == Operation::Store {
                // Sectors that one request writes twice are written once.
                let rewritten = uncached.rewritten - uncached.taken.saturating_sub(traffic.sectors);
                extent.rewritten = u64::from(rewritten);
            }
        }
        self.count_global(at, access, &traffic, extent, contention);
    }

    #[inline(always)]
    fn count_global(
        &mut self,
        at: At,
        access: &Access<'_>,
        traffic: &Traffic,
        extent: Extent,
        contention: Option<&Contention>,
    ) {
        let counts = self.run.site(at.site().0);
        if let Some(Contention { conflicts, .. }) = contention {
            counts.conflicts.addresses += u64::from(conflicts.addresses);
            counts.conflicts.rounds += u64::from(conflicts.rounds);
        }
        let memory = match access.operation {
            Operation::Load => &mut counts.loads,
            Operation::Store => &mut counts.stores,
            Operation::Atomic | Operation::Reduction => &mut counts.atomics,
        };
        extent::add(memory, traffic, &extent, 1);
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
        if self.run.host_pages.any() && traffic.straddles() {
            self.run.host_pages.note_split(access.operation != Operation::Load);
        }
    }
}
