//! The common path of every access: resolve each lane's space, check it, tell the observer, perform it.
//!
//! All lanes are checked before any accesses memory, so that a fault leaves memory as it was. Addresses of an instruction
//! without a state space are *generic*: shared and local memory are windows among them, and the rest is global. The
//! lanes of one instruction may be in several. For example, a generic store of lanes 0 to 3, of which 0 and 1 hold
//! addresses in the window of shared memory:
//!
//! ```text
//! lanes       space     checked against              observed as            performed
//! {2, 3}      global    the table of allocations     one access, global     first
//! {0, 1}      shared    the block's shared memory    one access, shared     second
//! ```
//!
//! Each space is checked by itself, and of several faults the lowest lane's is reported. In the usual case all lanes are
//! in one space, which the lowest and the highest address show. The shared memory of each other block of a cluster counts
//! as a space of its own.

use super::allocation::rights;
use super::cluster::{ClusterMemory, Owner};
use super::device::Memory;
use super::lanes::{self, Pattern, Prepared};
use super::local::LocalMemory;
use super::lookup::{AccessFault, LookupCache, Wanted};
use super::shared::SharedMemory;
use super::windows::{AddressSpace, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use super::windows::{in_cluster_windows, in_local_window, in_shared_window};
use crate::observe::{Access, At, Observer, Operation, Space};

/// The memories that an instruction may access, and its observer.
pub struct Environment<'a, O: Observer> {
    /// The device's global memory.
    pub memory: &'a Memory,
    /// The block's shared memory.
    pub shared: &'a mut SharedMemory,
    /// The shared memory of the blocks of its cluster.
    pub cluster: &'a mut ClusterMemory,
    /// The warp's local memory.
    pub local: &'a mut LocalMemory,
    /// The worker's cache of allocations; see there.
    pub cache: &'a mut LookupCache,
    /// The observer.
    pub observer: &'a mut O,
    /// The point of execution.
    pub at: At,
    /// Lanes whose results are undefined, which each instruction sets from the observer. Unchanged without
    /// [`Observer::REGISTERS`].
    pub undefined: u32,
}

/// Lanes that access the shared memory of one block.
struct OfBlock {
    lanes: u32,
    /// Offsets in the block's memory.
    offsets: Prepared,
    /// Another block: its rank, and the host address of its memory.
    other: Option<(u32, u64)>,
}

/// An instruction's access, apart from its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) space: AddressSpace,
    pub(super) operation: Operation,
    pub(super) bytes: u32,
    pub(super) read_only: bool,
    pub(super) past_l1: bool,
    pub(super) strong: bool,
}

/// Location of the data that the lanes of one space access.
pub(super) enum Target<'a> {
    /// Host memory at `base` plus the prepared addresses.
    Host { base: u64, space: Space },
    /// The lanes' local memory.
    Local(&'a mut LocalMemory),
}

impl Request {
    fn wanted(&self, space: Space) -> Wanted {
        let needed = match (self.operation, space) {
            (Operation::Load, Space::Constant) => rights::READ | rights::CONSTANT,
            (Operation::Load, _) => rights::READ,
            _ => rights::WRITE,
        };
        Wanted { space, operation: self.operation, bytes: self.bytes, needed }
    }

    /// Checks an access, tells the observer, and calls `perform`: once, or once for each space of generic addresses.
    ///
    /// # Safety
    /// `prepared` has the addresses of `mask`, which is not 0. `perform` is called only with addresses of which `bytes`
    /// may be accessed in each of its lanes.
    #[inline(always)]
    pub(super) unsafe fn access<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut perform: impl FnMut(Target<'_>, &Prepared, u32),
    ) -> Result<(), AccessFault> {
        if O::REGISTERS {
            environment.undefined = 0;
        }
        match self.space {
            AddressSpace::Global => {
                let may = self.check_global(Space::Global, prepared, mask, environment)?;
                self.global(Space::Global, may, prepared, mask, environment, perform);
            }
            AddressSpace::Shared => {
                self.check_shared(prepared, mask, environment)?;
                self.shared(prepared, mask, environment, perform);
            }
            AddressSpace::Cluster => {
                if self.is_within_shared(prepared, environment) || !environment.cluster.has_others() {
                    self.check_shared(prepared, mask, environment)?;
                    self.shared(prepared, mask, environment, perform);
                } else {
                    let blocks = self.check_cluster(prepared, mask, environment)?;
                    self.cluster(&blocks, environment, &mut perform);
                }
            }
            AddressSpace::Generic => {
                let wanted = self.wanted(Space::Global);
                let hit = environment.cache.hit(
                    environment.memory,
                    environment.at.site(),
                    prepared,
                    self.bytes,
                    wanted.needed,
                );
                match hit {
                    Some(may) if prepared.bits & u64::from(self.bytes - 1) == 0 => {
                        self.global(Space::Global, may, prepared, mask, environment, perform);
                    }
                    _ => self.generic(prepared, mask, environment, &mut perform)?,
                }
            }
            AddressSpace::Local => {
                self.check_local(prepared, mask, environment)?;
                self.local(prepared, mask, environment, perform);
            }
            AddressSpace::Constant => {
                let may = self.check_global(Space::Constant, prepared, mask, environment)?;
                self.global(Space::Constant, may, prepared, mask, environment, perform);
            }
        }
        Ok(())
    }

    /// Does an access in global or shared memory lane by lane: calls `perform` with each lane and its host address.
    ///
    /// # Safety
    /// See [`Request::access`].
    pub(super) unsafe fn each<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut perform: impl FnMut(usize, u64),
    ) -> Result<(), AccessFault> {
        let of_target = |target: Target<'_>, prepared: &Prepared, lanes: u32| {
            let Target::Host { base, .. } = target else { return };
            lanes::each(lanes).for_each(|lane| perform(lane, base + prepared.addresses[lane]));
        };
        // SAFETY: the caller's promise.
        unsafe { self.access(prepared, mask, environment, of_target) }
    }

    /// Accesses generic addresses that miss the cache, in one space or several.
    #[inline(never)]
    fn generic<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        perform: &mut impl FnMut(Target<'_>, &Prepared, u32),
    ) -> Result<(), AccessFault> {
        let all_of =
            |window: u64| prepared.lowest >= window && prepared.highest.wrapping_sub(window) < WINDOW_BYTES;
        if all_of(SHARED_WINDOW) {
            let prepared = &prepared.moved(SHARED_WINDOW);
            self.check_shared(prepared, mask, environment)?;
            self.shared(prepared, mask, environment, perform);
            return Ok(());
        }
        if all_of(LOCAL_WINDOW) {
            let prepared = &prepared.moved(LOCAL_WINDOW);
            self.check_local(prepared, mask, environment)?;
            self.local(prepared, mask, environment, perform);
            return Ok(());
        }
        if prepared.highest < SHARED_WINDOW {
            let may = self.check_global(Space::Global, prepared, mask, environment)?;
            self.global(Space::Global, may, prepared, mask, environment, perform);
            return Ok(());
        }
        let (shared, local) = {
            let lanes = |window: fn(u64) -> bool| {
                lanes::each(mask)
                    .filter(|lane| window(prepared.addresses[*lane]))
                    .fold(0, |lanes, lane| lanes | 1 << lane)
            };
            let is_shared =
                if environment.cluster.has_others() { in_cluster_windows } else { in_shared_window };
            (lanes(is_shared), lanes(in_local_window))
        };
        let global = mask & !shared & !local;
        let part = |lanes: u32, window| (lanes != 0).then(|| prepared.part(lanes, window, self.bytes));
        let (shared_part, local_part, global_part) =
            (part(shared, SHARED_WINDOW), part(local, LOCAL_WINDOW), part(global, 0));
        // Check all lanes before any access; report the lowest lane's fault, whatever its space.
        let mut fault: Option<AccessFault> = None;
        let mut keep = |found: AccessFault| {
            if fault.as_ref().is_none_or(|fault| found.lane < fault.lane) {
                fault = Some(found);
            }
        };
        let mut blocks = Vec::new();
        if let Some(part) = &shared_part {
            match self.check_cluster(part, shared, environment) {
                Ok(found) => blocks = found,
                Err(found) => keep(found),
            }
        }
        if let Some(part) = &local_part {
            self.check_local(part, local, environment).unwrap_or_else(&mut keep);
        }
        let mut may = 0;
        if let Some(part) = &global_part {
            match self.check_global(Space::Global, part, global, environment) {
                Ok(rights) => may = rights,
                Err(found) => keep(found),
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        if let Some(part) = &global_part {
            self.global(Space::Global, may, part, global, environment, &mut *perform);
        }
        self.cluster(&blocks, environment, &mut *perform);
        if let Some(part) = &local_part {
            self.local(part, local, environment, &mut *perform);
        }
        Ok(())
    }

    #[inline(always)]
    fn check_global<O: Observer>(
        &self,
        space: Space,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<u32, AccessFault> {
        let wanted = self.wanted(space);
        let Environment { memory, cache, at, .. } = environment;
        match cache.hit(memory, at.site(), prepared, self.bytes, wanted.needed) {
            Some(may) if prepared.bits & u64::from(self.bytes - 1) == 0 => Ok(may),
            _ => wanted.addresses(memory, cache, at.site(), prepared, mask),
        }
    }

    /// Returns true if it is certain that all lanes access the own block's shared memory, and may.
    #[inline(always)]
    fn is_within_shared<O: Observer>(&self, prepared: &Prepared, environment: &Environment<'_, O>) -> bool {
        let aligned = prepared.bits & u64::from(self.bytes - 1) == 0;
        aligned && environment.shared.has(prepared.highest, u64::from(self.bytes))
    }

    #[inline(always)]
    fn check_shared<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if self.is_within_shared(prepared, environment) {
            return Ok(());
        }
        self.wanted(Space::Shared).offsets(prepared, mask, environment.shared.bytes())
    }

    /// Checks addresses in the shared memory of a cluster's blocks. Returns the lanes of each block: the own first, then those
    /// of others in the order in which lanes name them.
    #[cold]
    fn check_cluster<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<Vec<OfBlock>, AccessFault> {
        let owner = |lane: usize| environment.cluster.owner(prepared.addresses[lane]);
        let mut blocks = Vec::new();
        let mut fault: Option<AccessFault> = None;
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let (of, offset) = owner(first);
            let lanes = lanes::each(left)
                .filter(|lane| owner(*lane).0 == of)
                .fold(0, |lanes, lane| lanes | 1 << lane);
            left &= !lanes;
            let found = match of {
                Owner::Own => {
                    // A block's own addresses are in one of two windows.
                    let addresses = std::array::from_fn(|lane| owner(lane).1);
                    let offsets = Prepared::of(addresses, lanes, self.bytes);
                    self.check_shared(&offsets, lanes, environment).map(|()| OfBlock {
                        lanes,
                        offsets,
                        other: None,
                    })
                }
                Owner::Other(rank) => {
                    let origin = prepared.addresses[first] - offset;
                    let offsets = prepared.part(lanes, origin, self.bytes);
                    let reached = environment.cluster.reach(rank);
                    reached.map_err(|what| AccessFault::illegal(first, what)).and_then(|(base, bytes)| {
                        self.wanted(Space::Cluster).remote_offsets(&offsets, lanes, bytes, origin)?;
                        Ok(OfBlock { lanes, offsets, other: Some((rank, base)) })
                    })
                }
            };
            match found {
                Ok(block) if block.other.is_none() => blocks.insert(0, block),
                Ok(block) => blocks.push(block),
                Err(found) if fault.as_ref().is_none_or(|fault| found.lane < fault.lane) => {
                    fault = Some(found);
                }
                Err(_) => {}
            }
        }
        fault.map_or(Ok(blocks), Err)
    }

    #[inline(always)]
    fn check_local<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let aligned = prepared.bits & u64::from(self.bytes - 1) == 0;
        if aligned && environment.local.has(prepared.highest, u64::from(self.bytes)) {
            return Ok(());
        }
        self.wanted(Space::Local).offsets(prepared, mask, environment.local.bytes())
    }

    #[inline(always)]
    fn tell<O: Observer>(
        &self,
        space: Space,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) {
        if O::ACCESSES {
            let access = Access {
                space,
                operation: self.operation,
                addresses: &prepared.addresses,
                active: mask,
                bytes: self.bytes,
                read_only: self.read_only,
                past_l1: self.past_l1,
                strong: self.strong,
            };
            environment.observer.access(environment.at, &access);
            if O::REGISTERS && matches!(self.operation, Operation::Load | Operation::Atomic) {
                environment.undefined |= environment.observer.undefined_lanes() & mask;
            }
        }
    }

    #[inline(always)]
    fn global<O: Observer>(
        &self,
        space: Space,
        may: u32,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut perform: impl FnMut(Target<'_>, &Prepared, u32),
    ) {
        self.tell(space, prepared, mask, environment);
        perform(Target::Host { base: 0, space }, prepared, mask);
        if may & rights::TRACKED != 0 && self.operation != Operation::Load {
            self.mark(prepared, mask, environment.memory);
        }
    }

    /// Marks the bytes as written.
    #[cold]
    fn mark(&self, prepared: &Prepared, mask: u32, memory: &Memory) {
        let bytes = u64::from(self.bytes);
        if prepared.pattern == Pattern::Row {
            memory.mark_written(prepared.lowest, 32 * bytes);
        } else {
            memory.record_lanes(&prepared.addresses, mask, bytes);
        }
    }

    #[inline(always)]
    fn shared<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut perform: impl FnMut(Target<'_>, &Prepared, u32),
    ) {
        self.tell(Space::Shared, prepared, mask, environment);
        let base = environment.shared.base();
        perform(Target::Host { base, space: Space::Shared }, prepared, mask);
    }

    /// Accesses the shared memory of a cluster's blocks, which has been checked.
    fn cluster<O: Observer>(
        &self,
        blocks: &[OfBlock],
        environment: &mut Environment<'_, O>,
        perform: &mut impl FnMut(Target<'_>, &Prepared, u32),
    ) {
        for OfBlock { lanes, offsets, other } in blocks {
            let Some((rank, base)) = *other else {
                self.shared(offsets, *lanes, environment, &mut *perform);
                continue;
            };
            if O::ACCESSES {
                let origin = environment.cluster.address(rank, 0);
                let named = offsets.addresses.map(|offset| offset + origin);
                self.tell(Space::Cluster, &Prepared::of(named, *lanes, self.bytes), *lanes, environment);
            }
            if O::REGISTERS && self.operation != Operation::Load {
                for lane in lanes::each(*lanes) {
                    let start = offsets.addresses[lane];
                    environment.cluster.note_written(rank, start..start + u64::from(self.bytes));
                }
            }
            perform(Target::Host { base, space: Space::Shared }, offsets, *lanes);
        }
    }

    #[inline(always)]
    fn local<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut perform: impl FnMut(Target<'_>, &Prepared, u32),
    ) {
        self.tell(Space::Local, prepared, mask, environment);
        perform(Target::Local(environment.local), prepared, mask);
    }
}
