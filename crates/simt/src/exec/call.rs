//! Executes calls and returns.
//!
//! Lanes enter a function by joining its [`Activation`] at their call depth, or a new one. Its frame holds one column
//! per register for all 32 lanes, so lanes that call the function apart share a frame and can reconverge inside it.
//! Each lane keeps its own return address and caller. At the end of the function, lanes that diverged inside reconverge
//! at [`AT_RETURN`], then go back in groups that share a return address. For example, four lanes call a function at 10
//! that has no post-dominator for its branch, since both sides return by themselves:
//!
//! ```text
//! pc  instruction   active mask
//! 10  call f        {0,1,2,3}   enter f; each lane's return address is 11
//! 30  @%p bra 33    {0,1,2,3}   opens a join at AT_RETURN; {0,1} become ready at 33
//! 31  mov           {2,3}
//! 32  ret           {2,3}       arrive at AT_RETURN; {0,1} are missing
//! 33  ret           {0,1}       arrive: the join is complete, and all four return to 11 as one fragment
//! ```
//!
//! Had lanes 0 and 1 called `f` at 20, in the same activation, they would return to 21 as a fragment of their own.
//!
//! [`Activation`]: super::warp::Activation

use super::frame::{lane_bytes, lanes_of, read_lane, write_lane};
use super::function::FunctionCode;
use super::layout::Place;
use super::names::function_at;
use super::run::{Next, Runner, Stop};
use super::step::{AT_RETURN, Action, CallSite, CallTarget, Rare};
use super::warp::Fragment;
use crate::fault::FaultKind;
use crate::observe::Observer;
use crate::registers::Cell;

impl<O: Observer> Runner<'_, O> {
    /// Executes `call` for the lanes of a mask that is not empty.
    pub(super) fn call(
        &mut self,
        index: usize,
        fragment: &mut Fragment,
        site: &CallSite,
        mask: u32,
    ) -> Result<Next, Stop> {
        match site.target {
            CallTarget::Builtin(builtin) => {
                self.builtin(index, fragment, builtin, site, mask)?;
                if O::REGISTERS {
                    self.after(index, fragment.activation, fragment.pc, mask);
                }
                fragment.pc += 1;
            }
            CallTarget::Function(function) => {
                let join = self.set_aside(index, fragment, mask);
                let caller = Fragment { lanes: mask, join, ..*fragment };
                *fragment = self.enter(index, caller, function, site)?;
            }
            CallTarget::Address(slot) => {
                let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
                // SAFETY: the column is one of the function that the lanes are in.
                let address = |lane| unsafe { read_lane(cells, slot, lane) } as u64;
                let mut left = mask;
                let mut groups = Vec::new();
                while left != 0 {
                    let first = left.trailing_zeros();
                    let target = address(first as usize);
                    let lanes = lanes_of(left).filter(|lane| address(*lane) == target);
                    let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
                    left &= !lanes;
                    let function = self
                        .callable(target, site)
                        .map_err(|what| self.fault(index, fragment.pc, first, FaultKind::Illegal(what)))?;
                    groups.push((function, lanes));
                }
                // Lanes that call different functions reconverge behind the call.
                let join = match groups.as_slice() {
                    [(_, lanes)] => self.set_aside(index, fragment, *lanes),
                    _ => {
                        let (pc, lanes) = (fragment.pc + 1, fragment.lanes & !mask);
                        let warp = &mut self.block.warps[index];
                        let join = warp.join_at(fragment, pc);
                        if lanes != 0 {
                            warp.later(Fragment { pc, lanes, join, ..*fragment });
                        }
                        join
                    }
                };
                let mut entered = None;
                for (function, lanes) in groups {
                    let inside = self.enter(index, Fragment { lanes, join, ..*fragment }, function, site)?;
                    match entered {
                        None => entered = Some(inside),
                        Some(_) => self.block.warps[index].later(inside),
                    }
                }
                match entered {
                    Some(inside) => *fragment = inside,
                    None => fragment.pc += 1,
                }
            }
        }
        Ok(Next::Go)
    }

    /// Returns the function at an address, if its parameters and results have the sizes that the call gives.
    fn callable(&self, address: u64, site: &CallSite) -> Result<u32, String> {
        let program = self.context.program;
        let found = function_at(address).and_then(|number| Some((number, program.function(number)?)));
        let Some((number, function)) = found.filter(|(_, function)| !function.is_entry) else {
            return Err(format!("a call of {address:#x}, which is not a function's address"));
        };
        let sizes = |places: &[Place]| places.iter().map(|place| place.size()).collect::<Vec<_>>();
        if sizes(&site.arguments) != sizes(&function.parameters)
            || sizes(&site.returns) != sizes(&function.returns)
        {
            return Err(format!("a call of `{}`, whose parameters have other sizes", function.name));
        }
        Ok(number)
    }

    /// Enters a function with the lanes of a fragment, which are at the call.
    fn enter(
        &mut self,
        index: usize,
        caller: Fragment,
        number: u32,
        site: &CallSite,
    ) -> Result<Fragment, Stop> {
        let context = self.context;
        let program = context.program;
        let function = program.function(number).expect("calls are of functions with code");
        let (block, lanes) = (self.block.index, caller.lanes);
        let warp = &mut self.block.warps[index];
        let from = warp.activation(caller.activation);
        let depth = from.depth + 1;
        let from_cells = from.frame.cells();
        let from_code = program.function(from.function).expect("only functions with code are entered");
        // Start of the callee's local memory, by lane.
        let mut tops = [0; 32];
        match &from.frame.links {
            None => tops.fill(from_code.local_bytes.next_multiple_of(16)),
            Some(links) => {
                let size = from_code.stack();
                tops.iter_mut().zip(links.locals).for_each(|(top, start)| *top = start.saturating_add(size));
            }
        }
        let wanted = |lane: usize| u64::from(tops[lane]) + u64::from(function.stack());
        if let Some(lane) = lanes_of(lanes).find(|lane| wanted(*lane) > context.local_bytes) {
            let kind = FaultKind::StackOverflow { wanted: wanted(lane), limit: context.local_bytes };
            return Err(self.fault(index, caller.pc, lane as u32, kind));
        }
        let pools = &mut *self.pools;
        let activation = warp.activate(number, depth, lanes, || {
            let mut frame = pools.take(number, context);
            frame.begin(function, context, block, index as u32);
            if O::REGISTERS {
                frame.track(function);
            }
            frame
        });
        let frame = &mut warp.activation(activation).frame;
        let cells = frame.cells();
        let links = frame.links.get_or_insert_default();
        for lane in lanes_of(lanes) {
            links.places[lane] = caller.pc + 1;
            links.callers[lane] = caller.activation;
            links.locals[lane] = tops[lane];
        }
        // SAFETY: places and columns are of the functions whose frames these are.
        unsafe {
            for (slot, offset) in &function.locals {
                for lane in lanes_of(lanes) {
                    write_lane(
                        cells,
                        *slot,
                        lane,
                        u128::from(u64::from(tops[lane]).wrapping_add_signed(*offset)),
                    );
                }
            }
            for (argument, parameter) in site.arguments.iter().zip(&function.parameters) {
                copy(from_cells, *argument, cells, *parameter, lanes);
            }
        }
        let mut bytes = Vec::new();
        for (parameter, start) in &function.copies {
            let Some(Place::Bytes(place)) = function.parameters.get(*parameter as usize).copied() else {
                continue;
            };
            for lane in lanes_of(lanes) {
                bytes.resize(place.size as usize, 0);
                // SAFETY: as above.
                unsafe {
                    lane_bytes(cells, place, lane).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
                };
                let local = &mut warp.activation(0).frame.local;
                local
                    .write(lane, u64::from(tops[lane] + start), &bytes)
                    .expect("the stack was found large enough");
            }
        }
        if O::REGISTERS {
            self.pass_undefined(
                index,
                (caller.activation, &site.arguments),
                (activation, &function.parameters),
                lanes,
            );
        }
        Ok(Fragment { pc: function.first, activation, ..caller })
    }

    /// Returns lanes at the end of a function to their call sites, one group at once and others later. None if they
    /// wait for other lanes of the same call.
    pub(super) fn come_back(&mut self, index: usize, mut fragment: Fragment) -> Option<Fragment> {
        let program = self.context.program;
        let warp = &mut self.block.warps[index];
        fragment.pc = AT_RETURN;
        fragment.join = warp.leave_joins(&fragment);
        fragment = warp.arrive(fragment)?;
        let callee = fragment.activation;
        let activation = warp.activation(callee);
        let function: &FunctionCode = program.function(activation.function).expect("it was entered");
        let cells = activation.frame.cells();
        activation.lanes &= !fragment.lanes;
        let is_over = activation.lanes == 0;
        let links = activation.frame.links.as_ref().expect("called functions have links");
        let mut groups: Vec<(u32, u32, u32)> = Vec::new();
        for lane in lanes_of(fragment.lanes) {
            let from = (links.places[lane], links.callers[lane]);
            match groups.iter_mut().find(|(place, caller, _)| (*place, *caller) == from) {
                Some((_, _, lanes)) => *lanes |= 1 << lane,
                None => groups.push((from.0, from.1, 1 << lane)),
            }
        }
        let mut first = None;
        for (place, caller, lanes) in groups {
            let call = &program.steps[place as usize - 1].action;
            if let Action::Rare(rare) = call
                && let Rare::Call(site) = &program.rare[*rare as usize]
            {
                let to = self.block.warps[index].activation(caller).frame.cells();
                for (result, given) in site.returns.iter().zip(&function.returns) {
                    // SAFETY: places are of the functions whose frames these are.
                    unsafe { copy(cells, *given, to, *result, lanes) };
                }
                if O::REGISTERS {
                    self.pass_undefined(index, (callee, &function.returns), (caller, &site.returns), lanes);
                }
            }
            let back = Fragment { pc: place, lanes, activation: caller, join: fragment.join };
            match first {
                None => first = Some(back),
                Some(_) => self.block.warps[index].later(back),
            }
        }
        if is_over && let Some(ended) = self.block.warps[index].activations[callee as usize].take() {
            self.pools.give_back(ended.function, ended.frame);
        }
        first
    }
}

/// Copies a parameter or a result between frames, in the lanes of a mask.
///
/// # Safety
/// The places are of the functions whose frames these are.
unsafe fn copy(from: *mut Cell, source: Place, to: *mut Cell, target: Place, lanes: u32) {
    for lane in lanes_of(lanes) {
        // SAFETY: the caller's promise; no more bytes are copied than both have.
        unsafe {
            match (source, target) {
                (Place::Bytes(source), Place::Bytes(target)) => {
                    let size = source.size.min(target.size) as usize;
                    let from = lane_bytes(from, source, lane);
                    from.copy_to_nonoverlapping(lane_bytes(to, target, lane), size);
                }
                (Place::Register(slot, _), Place::Bytes(target)) => {
                    let bits = read_lane(from, slot, lane).to_le_bytes();
                    let size = (target.size as usize).min(bits.len());
                    lane_bytes(to, target, lane).copy_from_nonoverlapping(bits.as_ptr(), size);
                }
                (Place::Bytes(source), Place::Register(slot, size)) => {
                    let mut bits = [0; 16];
                    let size = (source.size.min(size) as usize).min(bits.len());
                    lane_bytes(from, source, lane).copy_to_nonoverlapping(bits.as_mut_ptr(), size);
                    write_lane(to, slot, lane, u128::from_le_bytes(bits));
                }
                (Place::Register(source, _), Place::Register(target, _)) => {
                    write_lane(to, target, lane, read_lane(from, source, lane));
                }
            }
        }
    }
}
