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
//! in one space, which the lowest and the highest address show.

use super::allocation::rights;
use super::device::Memory;
use super::lanes::{self, Pattern, Prepared};
use super::local::LocalMemory;
use super::lookup::{AccessFault, LookupCache, Wanted};
use super::shared::SharedMemory;
use super::windows::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, in_local_window, in_shared_window};
use crate::observe::{Access, At, Observer, Operation, Space};

/// The memories that an instruction may access, and its observer.
pub struct Environment<'a, O: Observer> {
    /// The device's global memory.
    pub memory: &'a Memory,
    /// The block's shared memory.
    pub shared: &'a mut SharedMemory,
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

/// The space that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressSpace {
    Generic,
    Global,
    Shared,
    Local,
    Constant,
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
            AddressSpace::Generic => {
                let wanted = self.wanted(Space::Global);
                let hit = environment.cache.hit(
                    environment.memory,
                    environment.at.site,
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
            (lanes(in_shared_window), lanes(in_local_window))
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
        if let Some(part) = &shared_part {
            self.check_shared(part, shared, environment).unwrap_or_else(&mut keep);
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
        if let Some(part) = &shared_part {
            self.shared(part, shared, environment, &mut *perform);
        }
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
        match cache.hit(memory, at.site, prepared, self.bytes, wanted.needed) {
            Some(may) if prepared.bits & u64::from(self.bytes - 1) == 0 => Ok(may),
            _ => wanted.addresses(memory, cache, at.site, prepared, mask),
        }
    }

    #[inline(always)]
    fn check_shared<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let aligned = prepared.bits & u64::from(self.bytes - 1) == 0;
        if aligned && environment.shared.has(prepared.highest, u64::from(self.bytes)) {
            return Ok(());
        }
        self.wanted(Space::Shared).offsets(prepared, mask, environment.shared.bytes())
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
            for lane in lanes::each(mask) {
                memory.mark_written(prepared.addresses[lane], bytes);
            }
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
