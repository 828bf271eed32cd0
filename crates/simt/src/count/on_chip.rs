//! Counts accesses to memory whose cost no cache decides: shared, constant and local.
//!
//! Shared memory costs wavefronts ([`shared`](super::shared)), constant memory an issue for each distinct address, local
//! memory the turns of L1 for its sectors, in which the lanes' words of one offset are adjacent ([`local`]).

use super::distinct::distinct_addresses;
use super::extent::{self, Extent};
use super::local;
use super::observer::CounterObserver;
use super::request;
use super::shape::Generation;
use super::turns;
use super::worst::Cost;
use crate::coalescing::{Access as Way, Addresses, Request, Wavefronts, constant_replays};
use crate::exec::Merged;
use crate::observe::{Access, At, Operation, SteadyAccess};

impl CounterObserver {
    pub(super) fn local(&mut self, at: At, access: &Access<'_>) {
        let traffic = local::traffic(access.addresses, access.active, access.bytes);
        let [loads, stores] = self.rules.local_to_l2();
        let counts = self.run.site(at.site().0);
        let (memory, to_l2) = match access.operation {
            Operation::Load => (&mut counts.local_loads, loads),
            _ => (&mut counts.local_stores, stores),
        };
        let l2_sectors = if to_l2 { u64::from(traffic.sectors) } else { 0 };
        let turns = turns::of_local(&traffic);
        extent::add(memory, &traffic, &Extent { l2_sectors, in_l1: 0, rewritten: 0, turns }, 1);
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
    }

    pub(super) fn shared_wavefronts_of(&mut self, at: At, access: &SteadyAccess) -> Wavefronts {
        let addresses = access.addresses();
        self.shared_wavefronts(at, &access.with(&addresses))
    }

    pub(super) fn shared_wavefronts(&mut self, at: At, access: &Access<'_>) -> Wavefronts {
        let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
        if let Some(Merged { back, bytes }) = self.run.merged(at.site()) {
            // Another access of the same request has these bytes as well, or this one those of others.
            if bytes == 0 {
                return Wavefronts::default();
            }
            let addresses = access.addresses.map(|address| address.wrapping_sub(back.into()));
            let whole =
                Request { addresses: &addresses, active: access.active, bytes: bytes.into(), access: way };
            return self.run.shared.wavefronts(at.site(), &whole, false);
        }
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        // An atomic that counts takes the lanes of an address together.
        let by_rounds = access.operation.is_atomic() && !self.run.is_combined(at.site());
        self.run.shared.wavefronts(at.site(), &request, by_rounds)
    }

    pub(super) fn shared(&mut self, at: At, access: &Access<'_>) {
        let wavefronts = self.shared_wavefronts(at, access);
        if access.operation.is_atomic()
            && let Some(contest) = self.run.contest(at.site())
        {
            self.run.contests.note(contest, (access.addresses, access.active), wavefronts.taken);
        }
        let counts = self.run.site(at.site().0);
        let shared = match access.operation {
            Operation::Load => &mut counts.shared_loads,
            Operation::Store => &mut counts.shared_stores,
            Operation::Atomic | Operation::Reduction => &mut counts.shared_atomics,
        };
        shared.requests += 1;
        shared.wavefronts += u64::from(wavefronts.taken);
        shared.ideal += u64::from(wavefronts.ideal);
        self.run.worst.note(at, access, Cost::Wavefronts(wavefronts.taken));
    }

    /// Counts an access to the shared memory of another block: as one to the own block's, and apart.
    pub(super) fn cluster(&mut self, at: At, access: &Access<'_>) {
        self.run.cluster_requests += 1;
        self.run.cluster_bytes += u64::from(access.active.count_ones()) * u64::from(access.bytes);
        self.shared(at, access);
    }

    /// Returns how often a load from constant memory is issued.
    pub(super) fn constant_issues(&self, addresses: &Addresses, active: u32) -> u32 {
        if self.rules.generation == Generation::Segments {
            return constant_replays(self.rules.capability, addresses, active);
        }
        match request::spacing(addresses, active) {
            // Lanes that are evenly spaced have one address or none in common.
            Some((_, 0)) => 1,
            Some(_) => active.count_ones(),
            None => distinct_addresses(addresses, active, self.rules.level),
        }
    }

    pub(super) fn constant(&mut self, at: At, access: &Access<'_>) {
        let issues = self.constant_issues(access.addresses, access.active);
        let constant = &mut self.run.site(at.site().0).constant;
        constant.requests += 1;
        constant.replays += u64::from(issues - 1);
        self.run.worst.note(at, access, Cost::Wavefronts(issues));
    }
}
