//! The functions of the executor that compiled code calls.
//!
//! Code passes the state that it shares with the executor, which names the runner; the functions are generic over the runner's
//! observer, and code knows them as pointers alone. `memory` and `rare` execute an instruction by the interpreter's own
//! functions, on the columns of the frame. `steady`, `rows` and `any` report an access that code executes itself.

use super::super::run::Runner;
use super::super::step::Action;
use super::code::site;
use super::context::{Callbacks, Shared};
use super::enter::Report;
use super::sums::IS_WIDE;
use crate::memory::{Environment, Memory};
use crate::observe::{At, Observer, Operation, Rows, Site, SteadyAccess};
use crate::registers::Cell;

impl Callbacks {
    /// Functions that do nothing, where no code has been called yet.
    pub(super) fn none() -> Self {
        Self {
            memory: no_memory,
            rare: no_rare,
            steady: no_steady,
            rows: no_rows,
            any: no_any,
            matched: no_matched,
            add,
            settle,
        }
    }

    /// The functions of an executor with this observer.
    pub(super) fn of<O: Observer>() -> Self {
        Self {
            memory: memory::<O>,
            rare: rare::<O>,
            steady: steady::<O>,
            rows: rows::<O>,
            any: any::<O>,
            matched: matched::<O>,
            add,
            settle,
        }
    }
}

unsafe extern "C" fn no_memory(_: *mut Shared, _: *mut Cell, _: u32, _: u32) -> u32 {
    1
}
unsafe extern "C" fn no_rare(_: *mut Shared, _: *mut Cell, _: u32) {}
unsafe extern "C" fn no_steady(_: *mut Shared, _: u32, _: u64, _: u64) {}
unsafe extern "C" fn no_rows(_: *mut Shared, _: u32, _: u32, _: u64, _: u64, _: u64) {}
unsafe extern "C" fn no_any(_: *mut Shared, _: u32, _: u32) {}
unsafe extern "C" fn no_matched(_: *mut Shared, _: u32, _: u32) {}

impl<O: Observer> Runner<'_, O> {
    /// Executes a memory instruction for compiled code. Returns the lanes in which it loads uninitialised bytes; None after a
    /// fault.
    fn memory_for_code(&mut self, cells: *mut Cell, pc: u32, mask: u32, warp: u32) -> Option<u32> {
        let program = self.context.program;
        let Action::Memory(number) = program.steps[pc as usize].action else {
            unreachable!("code passes memory instructions")
        };
        let instruction = &program.memory[number as usize];
        let at = At::new(self.block.index, warp, Site(pc));
        // SAFETY: the frame is that of the warp that code executes, which refers to it no further.
        let local = unsafe { &mut (*self.native.frame).local };
        let mut environment = Environment {
            memory: self.context.memory,
            shared: &mut self.block.shared,
            cluster: &mut self.cluster.memory,
            local,
            cache: &mut *self.cache,
            observer: &mut *self.observer,
            at,
            undefined: 0,
        };
        // SAFETY: the frame is of the function for which the instruction was decoded.
        let outcome = unsafe { instruction.execute(cells, mask, &mut environment) };
        let undefined = environment.undefined;
        match outcome {
            Ok(_) => {
                if let Some(native) = self.code
                    && let Some(plain) = instruction.plain()
                    && let Some(number) = native.access_at(pc)
                    && let Some((bounds, records)) = self.cache.bounds(self.context.memory, site(pc), &plain)
                    && (!records || O::REGISTERS)
                {
                    self.native.bounds[number] = bounds;
                    self.native.reports[number].records = records;
                }
                // Those that load nothing may leave lanes of an earlier access behind.
                Some(if program.uses.results(pc as usize).is_empty() { 0 } else { undefined })
            }
            Err(fault) => {
                self.native.fault = Some(fault);
                None
            }
        }
    }

    /// Executes a rare instruction for compiled code, in all lanes.
    fn rare_for_code(&mut self, cells: *mut Cell, pc: u32, warp: u32) {
        use super::super::step::Rare;
        let program = self.context.program;
        let Action::Rare(number) = program.steps[pc as usize].action else {
            unreachable!("code passes rare instructions")
        };
        let at = At::new(self.block.index, warp, Site(pc));
        match &program.rare[number as usize] {
            Rare::Collective(collective, _) => {
                // SAFETY: the frame is of the function for which the instruction was decoded.
                unsafe { (collective.run)(cells, &collective.slots, u32::MAX) };
                self.tell_matches(at, collective, cells, u32::MAX);
                if O::WARP_BARRIERS && collective.member_mask.is_some() {
                    self.observer.warp_barrier(at, u32::MAX);
                }
            }
            Rare::WarpBarrier { .. } => {
                if O::WARP_BARRIERS {
                    self.observer.warp_barrier(at, u32::MAX);
                }
            }
            // SAFETY: as above.
            Rare::Product(product) => unsafe { product.run(cells) },
            Rare::Parameters(loads) => {
                for load in loads {
                    // SAFETY: as above.
                    unsafe {
                        super::super::frame::load_parameter(
                            cells,
                            load,
                            self.context.launch.parameters,
                            u32::MAX,
                        );
                    }
                }
            }
            _ => unreachable!("code leaves other instructions to the interpreter"),
        }
    }
}

unsafe extern "C" fn memory<O: Observer>(shared: *mut Shared, cells: *mut Cell, pc: u32, mask: u32) -> u32 {
    // SAFETY: `run_compiled` has set the runner, and waits for code to return.
    unsafe {
        if (*shared).summed != 0 {
            settle(shared);
        }
        let runner = &mut *(*shared).runner.cast::<Runner<'_, O>>();
        let outcome = runner.memory_for_code(cells, pc, mask, (*shared).warp);
        if O::REGISTERS {
            (*shared).undefined = outcome.unwrap_or(0);
        }
        u32::from(outcome.is_none())
    }
}

unsafe extern "C" fn rare<O: Observer>(shared: *mut Shared, cells: *mut Cell, pc: u32) {
    // SAFETY: as above.
    unsafe {
        let runner = &mut *(*shared).runner.cast::<Runner<'_, O>>();
        runner.rare_for_code(cells, pc, (*shared).warp);
    }
}

unsafe extern "C" fn steady<O: Observer>(shared: *mut Shared, number: u32, base: u64, step: u64) {
    // SAFETY: as above; code passes numbers of its accesses.
    unsafe {
        report::<O, _>(shared, number, |observer, at, access| {
            (access.base, access.step) = (base, step);
            observer.steady_access(at, access);
            |memory: &Memory, access: &SteadyAccess| memory.record(access, None)
        });
    }
}

unsafe extern "C" fn rows<O: Observer>(
    shared: *mut Shared,
    number: u32,
    log: u32,
    base: u64,
    step: u64,
    pitch: u64,
) {
    // SAFETY: as above.
    unsafe {
        report::<O, _>(shared, number, |observer, at, access| {
            (access.base, access.step) = (base, step);
            let rows = Rows { log, pitch };
            observer.rows_access(at, access, rows);
            move |memory: &Memory, access: &SteadyAccess| memory.record(access, Some(rows))
        });
    }
}

unsafe extern "C" fn any<O: Observer>(shared: *mut Shared, number: u32, mask: u32) {
    // SAFETY: as above.
    unsafe {
        report::<O, _>(shared, number, |observer, at, access| {
            let access = SteadyAccess { active: mask, ..*access };
            let addresses = &(*shared).addresses;
            observer.access(at, &access.with(addresses));
            move |memory: &Memory, access: &SteadyAccess| {
                memory.record_lanes(addresses, mask, access.bytes.into());
            }
        });
    }
}

unsafe extern "C" fn matched<O: Observer>(shared: *mut Shared, pc: u32, values: u32) {
    // SAFETY: as above.
    unsafe {
        let runner = &mut *(*shared).runner.cast::<Runner<'_, O>>();
        let at = At::new(runner.block.index, (*shared).warp, Site(pc));
        runner.observer.matched(at, values);
    }
}

/// Tells the observer of an access by its number, and notes in which lanes it reads uninitialised bytes. What `tell` returns
/// records what the access stores.
///
/// # Safety
/// The runner of the shared state is one with this observer, and code has an access of this number.
#[inline(always)]
unsafe fn report<O: Observer, R: FnOnce(&Memory, &SteadyAccess)>(
    shared: *mut Shared,
    number: u32,
    tell: impl FnOnce(&mut O, At, &mut SteadyAccess) -> R,
) {
    // SAFETY: the caller's promise; code waits for the callback to return.
    unsafe {
        let runner = &mut *(*shared).runner.cast::<Runner<'_, O>>();
        let Report { site, access, records } = runner.native.reports.get_unchecked_mut(number as usize);
        let at = At::new(runner.block.index, (*shared).warp, *site);
        let record = tell(&mut *runner.observer, at, access);
        if O::REGISTERS {
            if *records {
                record(runner.context.memory, access);
            }
            // A reduction loads nothing into registers.
            let loads = matches!(access.operation, Operation::Load | Operation::Atomic);
            (*shared).undefined = if loads { runner.observer.undefined_lanes() } else { 0 };
        }
    }
}

/// Adds the values of a mask's lanes at the listed addresses to the sums of an allocation; `summed` is its first address with
/// [`IS_WIDE`].
///
/// # Safety
/// The state is the worker's, the addresses are checked, and the values have the width.
unsafe extern "C" fn add(shared: *mut Shared, values: *const (), summed: u64, mask: u32) {
    // SAFETY: the caller's promise; code waits for the function to return.
    unsafe {
        if (*shared).summed != summed {
            settle(shared);
            (*shared).summed = summed;
        }
        let (sums, addresses) = (&mut (*shared).sums, &(*shared).addresses);
        sums.add_lanes(addresses, values, summed & IS_WIDE != 0, mask);
    }
}

/// Adds all sums to memory.
///
/// # Safety
/// The state is the worker's.
pub(super) unsafe extern "C" fn settle(shared: *mut Shared) {
    // SAFETY: the caller's promise; code waits for the function to return. The addresses were checked when they were added, and
    // no allocation is freed while code runs.
    unsafe {
        let summed = std::mem::take(&mut (*shared).summed);
        (*shared).sums.settle(summed & IS_WIDE != 0);
    }
}
