//! Executes `mbarrier`: barrier objects in shared memory, which count threads and bytes.
//!
//! A phase of an object completes when as many arrivals have come as it was initialised for, and all bytes that were
//! announced (`expect_tx`) have been transferred. It then begins the next one. Waiting is polling: a thread asks whether
//! a phase is over, by the state that an arrival returned or by the phase's parity (PTX ISA 9.0, "Parallel
//! Synchronization and Communication Instructions: mbarrier"). For example, one thread starts a bulk copy of 512 bytes,
//! for which all others wait:
//!
//! ```text
//!                                               pending  bytes  phase
//! mbarrier.init [b], 1                          1        0      0
//! mbarrier.arrive.expect_tx [b], 512            0        512    0      open until the bytes are there
//! mbarrier.try_wait.parity p, [b], 0            0        512    0      p is false: phase 0 is the current one
//! (the copy's 512 bytes)                        1        0      1      phase 0 is complete, phase 1 waits for 1 arrival
//! mbarrier.try_wait.parity p, [b], 0            1        0      1      p is true
//! ```
//!
//! Threads of other blocks of the cluster arrive by the addresses that `mapa` gives, and what they copy counts here too.
//!
//! An attempt that fails is [`Progress::Wait`], so that the warp yields to those that may complete the phase. Which warps
//! arrived in a phase is recorded for observers: an arrival happens before a wait that finds its phase complete.

use std::mem::MaybeUninit;

use super::access::{Environment, Request, Target};
use super::barrier_word::BarrierWord;
use super::cluster::Owner;
use super::lanes::{self, AddressOperand, Pattern, Prepared};
use super::lookup::AccessFault;
use super::opcode;
use super::racing;
use super::registers::{read_lane, write_lane};
use super::windows::AddressSpace;
use super::windows::SHARED_WINDOW;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::{Observer, Operation, Space};
use crate::ptx::Instruction;
use crate::registers::{Cell, Slot};

/// Barrier number that [`Observer::barrier`] receives for barriers in shared memory; those of `bar` are 0 to 15.
pub const MBARRIER: u32 = 16;

/// Address operand of a barrier object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    request: Request,
    address: AddressOperand,
}

/// Effect of a lane on an object that matters to waiting threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// No such effect.
    None,
    /// It arrived, or its bytes did; the phase is complete or not.
    Arrived { completes: bool },
}

impl Object {
    pub(super) fn new(
        instruction: &Instruction,
        index: usize,
        space: AddressSpace,
        operation: Operation,
        columns: &mut dyn Columns,
        level: Level,
    ) -> Result<Self, DecodeError> {
        let address = opcode::address_operand(instruction, index, space, columns, level)?;
        let strong = operation == Operation::Atomic;
        let request = Request { space, operation, bytes: 8, read_only: false, past_l1: false, strong };
        Ok(Self { request, address })
    }

    pub(super) fn slot(&self) -> Slot {
        self.address.slot()
    }

    /// Visits the object of each lane, ascending, and writes back the bits that `visit` returns.
    unsafe fn each<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
        visit: impl FnMut(&mut u64, usize) -> Result<Event, String>,
    ) -> Result<(), AccessFault> {
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: the caller's promise; `prepare` fills it.
        unsafe {
            self.address.prepare(frame, mask, 8, prepared.as_mut_ptr());
            self.each_at(prepared.assume_init_ref(), mask, environment, visit)
        }
    }

    /// Visits the objects at these addresses, likewise.
    unsafe fn each_at<O: Observer>(
        &self,
        prepared: &Prepared,
        mask: u32,
        environment: &mut Environment<'_, O>,
        mut visit: impl FnMut(&mut u64, usize) -> Result<Event, String>,
    ) -> Result<(), AccessFault> {
        let mut fault: Option<AccessFault> = None;
        let mut events = [Event::None; 32];
        // SAFETY: what `access` hands out may be accessed, and is aligned.
        unsafe {
            self.request.access(prepared, mask, environment, |target, prepared, lanes| {
                let base = match target {
                    Target::Host { base, space: Space::Shared } => Some(base),
                    _ => None,
                };
                // The object of the lanes before, which mostly share one, and its address.
                let (mut at, mut bits) = (None, 0_u64);
                let write_back = |at: Option<u64>, bits: &u64| {
                    if let Some(at) = at {
                        racing::store::<8>(at, (&raw const *bits).cast());
                    }
                };
                for lane in lanes::each(lanes) {
                    if fault.is_some() {
                        break;
                    }
                    let of_lane = base.map(|base| base + prepared.addresses[lane]);
                    if of_lane != at {
                        write_back(at, &bits);
                        at = of_lane;
                        if let Some(at) = at {
                            racing::load::<8>(at, (&raw mut bits).cast());
                        }
                    }
                    let outcome = match at {
                        Some(_) => visit(&mut bits, lane),
                        None => Err(NOT_SHARED.to_owned()),
                    };
                    match outcome {
                        Ok(event) => events[lane] = event,
                        Err(what) => fault = Some(AccessFault::illegal(lane, what)),
                    }
                }
                write_back(at, &bits);
            })?;
        }
        if O::SYNCHRONISATION {
            for lane in lanes::each(mask) {
                let Some(offset) = self.own_offset(prepared.addresses[lane], environment) else { continue };
                let warp = 1_u64 << (environment.at.warp() & 63);
                let arrivals = environment.shared.arrivals(offset);
                if let Event::Arrived { completes } = events[lane] {
                    arrivals.phase |= warp;
                    if completes {
                        arrivals.before = std::mem::take(&mut arrivals.phase);
                    }
                }
            }
        }
        fault.map_or(Ok(()), Err)
    }

    /// Returns an object's offset in the block's shared memory; None for one of another block. Observers are told when that
    /// block goes on: see [`Observer::block_resumes`].
    fn own_offset<O: Observer>(&self, address: u64, environment: &Environment<'_, O>) -> Option<u64> {
        let origin = if self.request.space == AddressSpace::Generic { SHARED_WINDOW } else { 0 };
        let (owner, offset) = environment.cluster.owner(address.wrapping_sub(origin));
        (owner == Owner::Own).then_some(offset)
    }
}

fn word(bits: u64) -> Result<BarrierWord, String> {
    BarrierWord::decode(bits).ok_or_else(|| "mbarrier used before mbarrier.init, or overwritten".to_owned())
}

/// Reads an object.
///
/// # Safety
/// It may be accessed, and is aligned.
unsafe fn load(target: &Target<'_>, offset: u64) -> Result<u64, String> {
    let Target::Host { base, space: Space::Shared } = *target else { return Err(NOT_SHARED.to_owned()) };
    let mut bits = 0_u64;
    // SAFETY: the caller's promise.
    unsafe { racing::load::<8>(base + offset, (&raw mut bits).cast()) };
    Ok(bits)
}

const NOT_SHARED: &str = "mbarrier at an address that is not in shared memory";

/// Counts bytes as transferred.
fn transferred(bits: &mut u64, bytes: u64) -> Result<Event, String> {
    let mut barrier = word(*bits)?;
    let completes = barrier.transfer(-(bytes as i64))?;
    *bits = barrier.encode();
    Ok(Event::Arrived { completes })
}

/// The barrier that counts the bytes of an asynchronous copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transactions(Object);

impl Transactions {
    /// Decodes operand `index`, the barrier's address in the cluster's shared memory.
    pub(super) fn new(
        instruction: &Instruction,
        index: usize,
        columns: &mut dyn Columns,
        level: Level,
    ) -> Result<Self, DecodeError> {
        Object::new(instruction, index, AddressSpace::Cluster, Operation::Atomic, columns, level).map(Self)
    }

    pub(super) fn slot(&self) -> Slot {
        self.0.slot()
    }

    /// Counts bytes of a lane as transferred.
    pub(super) unsafe fn complete<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
        bytes: impl Fn(usize) -> u64,
    ) -> Result<(), AccessFault> {
        // SAFETY: the caller's promise.
        unsafe { self.0.each(frame, mask, environment, |bits, lane| transferred(bits, bytes(lane))) }
    }

    /// Counts bytes of a lane as transferred at the same place in the block of this rank, which the cluster has.
    pub(super) unsafe fn complete_at<O: Observer>(
        &self,
        rank: u32,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
        bytes: impl Fn(usize) -> u64,
    ) -> Result<(), AccessFault> {
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: the caller's promise; `prepare` fills it.
        unsafe {
            self.0.address.prepare(frame, mask, 8, prepared.as_mut_ptr());
            let own = prepared.assume_init_ref();
            let mapped = own.addresses.map(|address| environment.cluster.address(rank, address));
            let mapped = Prepared::of(mapped, mask, 8);
            self.0.each_at(&mapped, mask, environment, |bits, lane| transferred(bits, bytes(lane)))
        }
    }
}

/// Operation of a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Init {
        count: Slot,
    },
    Invalidate,
    Expect {
        bytes: Slot,
    },
    Complete {
        bytes: Slot,
    },
    Arrive {
        state: Option<Slot>,
        count: Option<Slot>,
        bytes: Option<Slot>,
        drop: bool,
        may_complete: bool,
    },
    /// `cp.async.mbarrier.arrive`: without `.noinc` it first adds to the pending count what its arrival subtracts.
    Copied {
        counted: bool,
    },
}

/// The phase of which a wait asks whether it is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// The one in which an arrival returned this state.
    OfState(Slot),
    /// The latest with this parity.
    OfParity(Slot),
}

/// Outcome of executing an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The instruction is done.
    Done,
    /// The instruction is done and told some lane that what it polls for has not happened. Other warps should run
    /// before it polls again.
    Wait,
}

/// A decoded barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Barrier {
    /// Acts on an object.
    Object(Object, Action),
    /// Writes whether a phase of an object is over.
    Wait { object: Object, phase: Phase, done: Slot },
    /// `mbarrier.pending_count`: of a state that an arrival returned.
    PendingCount { count: Slot, state: Slot },
}

impl Barrier {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    #[inline]
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<Progress, AccessFault> {
        // SAFETY: the caller's promise.
        unsafe {
            match *self {
                Self::Object(object, action) => {
                    act(object, action, frame, mask, environment)?;
                    Ok(Progress::Done)
                }
                Self::Wait { object, phase, done } => wait((object, phase, done), frame, mask, environment),
                Self::PendingCount { count, state } => {
                    pending_count(count, state, frame, mask)?;
                    Ok(Progress::Done)
                }
            }
        }
    }
}

/// # Safety
/// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
unsafe fn act<O: Observer>(
    object: Object,
    action: Action,
    frame: *mut Cell,
    mask: u32,
    environment: &mut Environment<'_, O>,
) -> Result<(), AccessFault> {
    // SAFETY: the caller's promise; the slots are of this frame.
    let value = |slot: Slot, lane| unsafe { read_lane(slot, frame, lane) };
    // SAFETY: as above.
    let give = |slot: Slot, lane, value| unsafe { write_lane(slot, frame, lane, value) };
    let visit = |bits: &mut u64, lane: usize| {
        if let Action::Init { count } = action {
            *bits = BarrierWord::new(value(count, lane))?.encode();
            return Ok(Event::None);
        }
        let mut barrier = word(*bits)?;
        let event = match action {
            Action::Init { .. } => Event::None,
            Action::Invalidate => {
                *bits = 0;
                return Ok(Event::None);
            }
            Action::Expect { bytes } => {
                Event::Arrived { completes: barrier.transfer(value(bytes, lane) as i64)? }
            }
            Action::Complete { bytes } => {
                Event::Arrived { completes: barrier.transfer(-(value(bytes, lane) as i64))? }
            }
            Action::Arrive { state, count, bytes, drop, may_complete } => {
                let before = *bits;
                if let Some(bytes) = bytes {
                    barrier.transfer(value(bytes, lane) as i64)?;
                }
                let count = count.map_or(1, |count| value(count, lane));
                let completes = if drop { barrier.arrive_and_drop(count)? } else { barrier.arrive(count)? };
                if completes && !may_complete {
                    return Err("an arrival with .noComplete completes its phase".to_owned());
                }
                if let Some(state) = state {
                    give(state, lane, before);
                }
                Event::Arrived { completes }
            }
            Action::Copied { counted } => {
                let completes = if counted { barrier.arrive(1)? } else { false };
                Event::Arrived { completes }
            }
        };
        *bits = barrier.encode();
        Ok(event)
    };
    // SAFETY: the caller's promise.
    unsafe { object.each(frame, mask, environment, visit) }
}

/// Executes `mbarrier.test_wait` and `mbarrier.try_wait`, which leave the object as it is.
///
/// # Safety
/// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
unsafe fn wait<O: Observer>(
    (object, phase, done): (Object, Phase, Slot),
    frame: *mut Cell,
    mask: u32,
    environment: &mut Environment<'_, O>,
) -> Result<Progress, AccessFault> {
    // SAFETY: the caller's promise; the slots are of this frame.
    let value = |slot: Slot, lane| unsafe { read_lane(slot, frame, lane) };
    let is_over = |barrier: BarrierWord, lane: usize| -> Result<bool, String> {
        let odd = match phase {
            Phase::OfState(state) => {
                BarrierWord::decode(value(state, lane))
                    .ok_or("an mbarrier's state that no mbarrier.arrive gave")?
                    .odd
            }
            Phase::OfParity(parity) => match value(parity, lane) {
                parity @ (0 | 1) => parity == 1,
                parity => return Err(format!("an mbarrier's phase parity of {parity}; it is 0 or 1")),
            },
        };
        Ok(odd != barrier.odd)
    };
    let mut prepared = MaybeUninit::<Prepared>::uninit();
    // SAFETY: the caller's promise; `prepare` fills it.
    let prepared = unsafe {
        object.address.prepare(frame, mask, 8, prepared.as_mut_ptr());
        prepared.assume_init_ref()
    };
    let mut over = 0_u32;
    let mut fault: Option<AccessFault> = None;
    // SAFETY: the caller's promise.
    unsafe {
        object.request.access(prepared, mask, environment, |target, prepared, lanes| {
            let mut left = lanes;
            while left != 0 && fault.is_none() {
                let first = left.trailing_zeros() as usize;
                let together = if prepared.pattern == Pattern::One { left } else { 1 << first };
                left &= !together;
                // SAFETY: what `access` hands out may be accessed, and is aligned.
                let found = load(&target, prepared.addresses[first]).and_then(word);
                let found = found.map_err(|what| (first, what)).and_then(|barrier| {
                    lanes::each(together).try_fold(0, |over, lane| match is_over(barrier, lane) {
                        Ok(is_over) => Ok(over | u32::from(is_over) << lane),
                        Err(what) => Err((lane, what)),
                    })
                });
                match found {
                    Ok(found) => over |= found,
                    Err((lane, what)) => fault = Some(AccessFault::illegal(lane, what)),
                }
            }
        })?;
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    for lane in lanes::each(mask) {
        // SAFETY: the caller's promise; the slot is of this frame.
        unsafe { write_lane(done, frame, lane, u64::from(over >> lane & 1)) };
    }
    if O::SYNCHRONISATION && over != 0 {
        let mut others = None;
        let lanes = if prepared.pattern == Pattern::One { over & over.wrapping_neg() } else { over };
        for lane in lanes::each(lanes) {
            if let Some(offset) = object.own_offset(prepared.addresses[lane], environment) {
                let before = environment.shared.arrivals(offset).before | 1 << (environment.at.warp() & 63);
                others = Some(others.unwrap_or(0) | before);
            }
        }
        if let Some(others) = others {
            environment.observer.barrier(environment.at, MBARRIER, others);
        }
    }
    Ok(if over == mask { Progress::Done } else { Progress::Wait })
}

/// Executes `mbarrier.pending_count` of a state that an arrival returned.
///
/// # Safety
/// The slots are of this frame.
unsafe fn pending_count(count: Slot, state: Slot, frame: *mut Cell, mask: u32) -> Result<(), AccessFault> {
    for lane in lanes::each(mask) {
        // SAFETY: the caller's promise.
        let bits = unsafe { read_lane(state, frame, lane) };
        let state = BarrierWord::decode(bits).ok_or_else(|| {
            AccessFault::illegal(lane, "an mbarrier's state that no mbarrier.arrive gave".to_owned())
        })?;
        // SAFETY: as above.
        unsafe { write_lane(count, frame, lane, u64::from(state.pending)) };
    }
    Ok(())
}
