//! Executes the instructions that are rare, or slow in any case.

use super::frame::{lane_bytes, lanes_of, load_parameter, read_lane, write_lane};
use super::layout::Bytes;
use super::run::{Next, Runner, Stop};
use super::step::{AT_RETURN, Inside, Load, Rare};
use super::warp::{Fragment, Warp};
use crate::fault::FaultKind;
use crate::observe::Observer;
use crate::registers::{Cell, Slot};

/// The ways that lanes take at a `brx.idx`.
struct Way<'a> {
    targets: &'a [u32],
    meets: u32,
    inside: Option<&'a Inside>,
}

impl<O: Observer> Runner<'_, O> {
    /// Executes a rare instruction for the lanes of a mask, and advances the fragment.
    #[inline(never)]
    pub(super) fn rare(
        &mut self,
        index: usize,
        fragment: &mut Fragment,
        rare: u32,
        mask: u32,
    ) -> Result<Next, Stop> {
        let program = self.context.program;
        let pc = fragment.pc;
        let decoded = &program.rare[rare as usize];
        if mask == 0 && !matches!(decoded, Rare::ClusterArrive | Rare::ClusterWait) {
            fragment.pc += 1;
            return Ok(Next::Go);
        }
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        match decoded {
            Rare::Exit => {
                fragment.lanes &= !mask;
                fragment.pc += 1;
                self.leave(index, pc, mask)?;
                return Ok(if fragment.lanes == 0 { Next::Other } else { Next::Go });
            }
            Rare::Return => return Ok(self.give_back(index, fragment, mask)),
            Rare::Call(site) => return self.call(index, fragment, site, mask),
            Rare::Collective(collective, constant) => {
                return self.collective(index, fragment, rare, collective, *constant, mask);
            }
            Rare::Product(_) if mask != u32::MAX => {
                let what =
                    format!("mma by lanes {mask:#010x} of a warp, which all have to execute it together");
                return Err(self.fault(index, pc, mask.trailing_zeros(), FaultKind::Illegal(what)));
            }
            // SAFETY: as in `warp_at_any_level`.
            Rare::Product(product) => unsafe { product.run(cells) },
            Rare::WarpBarrier { mask: members, constant } => {
                return self.warp_barrier(index, fragment, *members, *constant, mask);
            }
            Rare::Barrier(barrier) => return self.barrier(index, fragment, rare, barrier, mask),
            Rare::ClusterArrive => {
                fragment.pc += 1;
                self.cluster_arrive(index, pc, mask);
                return Ok(Next::Go);
            }
            Rare::ClusterWait => return Ok(self.cluster_wait(index, fragment, mask)),
            Rare::Switch { index: selector, targets, meets, inside } => {
                // SAFETY: the column is one of the function that the lanes are in.
                let selected = |lane| unsafe { read_lane(cells, *selector, lane) } as usize;
                let outside = lanes_of(mask).find(|lane| selected(*lane) >= targets.len());
                if let Some(lane) = outside {
                    let what = format!("brx.idx: {} of a list of {}", selected(lane), targets.len());
                    return Err(self.fault(index, pc, lane as u32, FaultKind::Illegal(what)));
                }
                let way =
                    Way { targets, meets: *meets, inside: self.context.program.inside.get(*inside as usize) };
                *fragment = self.switch(index, *fragment, mask, &way, selected);
                return Ok(Next::Go);
            }
            Rare::Trap => return Err(self.fault(index, pc, mask.trailing_zeros(), FaultKind::Trap)),
            Rare::Breakpoint => {
                return Err(self.fault(index, pc, mask.trailing_zeros(), FaultKind::Breakpoint));
            }
            Rare::Parameters(loads) => {
                for load in loads {
                    // SAFETY: as in `warp_at_any_level`.
                    unsafe { load_parameter(cells, load, self.context.launch.parameters, mask) };
                }
            }
            // SAFETY: places and columns are of the function that the lanes are in.
            Rare::LoadBytes(loads) => unsafe {
                for (bytes, offset, slot, load) in loads {
                    load_bytes(cells, (*bytes, *offset), *slot, *load, mask);
                }
            },
            // SAFETY: as above.
            Rare::StoreBytes(stores) => unsafe {
                for (bytes, offset, slot, load) in stores {
                    store_bytes(cells, (*bytes, *offset), *slot, *load, mask);
                }
            },
            Rare::Timed { columns, arithmetic } => {
                let (block, cycles, context) = (self.block.index, self.cycles(), self.context);
                let frame = &mut self.block.warps[index].activation(fragment.activation).frame;
                for column in columns {
                    frame.special(*column, context, block, index as u32, cycles);
                }
                // SAFETY: as in `warp_at_any_level`.
                unsafe { (arithmetic.run)(cells, &arithmetic.slots, mask) };
            }
            Rare::Sleep(time) => {
                // SAFETY: as above.
                let longest =
                    lanes_of(mask).map(|lane| unsafe { read_lane(cells, *time, lane) } as u64).max();
                // By the manual, no thread sleeps longer than a millisecond.
                let nanoseconds = longest.unwrap_or(0).min(1_000_000);
                let clock = self.context.launch.machine.clock_ghz.max(0.0);
                self.counts.slept += (nanoseconds as f64 * clock) as u64;
                fragment.pc += 1;
                if O::REGISTERS {
                    self.after(index, fragment.activation, pc, mask);
                }
                let others_first = self.give_way(index, *fragment, true)?;
                return Ok(if others_first { Next::Yield } else { Next::Other });
            }
            Rare::Nothing => {}
        }
        if O::REGISTERS {
            self.after(index, fragment.activation, pc, mask);
        }
        fragment.pc += 1;
        Ok(Next::Go)
    }

    /// Splits a fragment at a branch with several targets and returns the part that goes on now. Lanes outside of the
    /// mask continue behind the instruction.
    fn switch(
        &mut self,
        index: usize,
        fragment: Fragment,
        mask: u32,
        way: &Way<'_>,
        selected: impl Fn(usize) -> usize,
    ) -> Fragment {
        let at = self.at(index, fragment.pc);
        let Way { targets, meets, inside } = *way;
        let pick = |left: u32| {
            let first = selected(left.trailing_zeros() as usize);
            let same = |lane: &usize| targets[selected(*lane)] == targets[first];
            (first, lanes_of(left).filter(same).fold(0, |lanes, lane| lanes | 1 << lane))
        };
        let (first, lanes) = pick(mask);
        if O::BRANCHES {
            self.observer.branch(at, lanes, fragment.lanes & !lanes);
        }
        let is_alone = lanes == fragment.lanes;
        let join = if is_alone { fragment.join } else { self.open(index, &fragment, meets, inside) };
        let warp = &mut self.block.warps[index];
        let go = |warp: &mut Warp, target: usize, lanes: u32| {
            let pc = targets.get(target).copied().unwrap_or(fragment.pc + 1);
            let going = Fragment { pc, lanes, join, ..fragment };
            inside.map_or(going, |inside| warp.leave_loops(going, inside.kept[target]))
        };
        let skipping = fragment.lanes & !mask;
        if skipping != 0 {
            let skipping = go(warp, targets.len(), skipping);
            warp.later(skipping);
        }
        let mut left = mask & !lanes;
        while left != 0 {
            let (target, lanes) = pick(left);
            left &= !lanes;
            let going = go(warp, target, lanes);
            warp.later(going);
        }
        go(warp, first, lanes)
    }

    /// Ends lanes that have exited: they leave all joins, and what waited only for them continues.
    pub(super) fn leave(&mut self, index: usize, pc: u32, lanes: u32) -> Result<(), Stop> {
        let warp = &mut self.block.warps[index];
        warp.live &= !lanes;
        warp.forget(lanes);
        if warp.live == 0 {
            self.end(index);
        } else if !warp.waiting.is_empty() {
            self.settle(index)?;
        }
        self.check_barriers(index, pc);
        Ok(())
    }

    /// Executes `ret` of a called function, for the lanes of a mask.
    fn give_back(&mut self, index: usize, fragment: &mut Fragment, mask: u32) -> Next {
        let warp = &mut self.block.warps[index];
        if mask == fragment.lanes {
            fragment.pc = AT_RETURN;
            if warp.meeting_place(fragment) == AT_RETURN {
                // The run loop handles the arrival.
                return Next::Go;
            }
            return match self.come_back(index, *fragment) {
                Some(back) => {
                    *fragment = back;
                    Next::Go
                }
                None => Next::Other,
            };
        }
        let join = warp.join_at(fragment, AT_RETURN);
        warp.later(Fragment { pc: AT_RETURN, lanes: mask, join, ..*fragment });
        fragment.join = join;
        fragment.lanes &= !mask;
        fragment.pc += 1;
        Next::Go
    }

    /// Sets aside the lanes of a fragment outside of the mask, which wait behind the instruction. Returns the join of
    /// the lanes in the mask.
    pub(super) fn set_aside(&mut self, index: usize, fragment: &Fragment, mask: u32) -> u32 {
        let others = fragment.lanes & !mask;
        if others == 0 {
            return fragment.join;
        }
        let warp = &mut self.block.warps[index];
        let join = warp.join_at(fragment, fragment.pc + 1);
        warp.later(Fragment { pc: fragment.pc + 1, lanes: others, join, ..*fragment });
        join
    }
}

/// Loads bytes of a parameter into a register.
unsafe fn load_bytes(cells: *mut Cell, (bytes, offset): (Bytes, u32), slot: Slot, load: Load, mask: u32) {
    for lane in lanes_of(mask) {
        let mut bits = [0; 16];
        // SAFETY: the caller's columns; the range lies within the parameter.
        unsafe {
            let from = lane_bytes(cells, bytes, lane).add(offset as usize);
            from.copy_to_nonoverlapping(bits.as_mut_ptr(), usize::from(load.bytes));
            write_lane(cells, slot, lane, load.extend(u128::from_le_bytes(bits)));
        }
    }
}

/// Stores a register to bytes of a parameter.
unsafe fn store_bytes(cells: *mut Cell, (bytes, offset): (Bytes, u32), slot: Slot, load: Load, mask: u32) {
    for lane in lanes_of(mask) {
        // SAFETY: as in `load_bytes`.
        unsafe {
            let bits = read_lane(cells, slot, lane).to_le_bytes();
            let to = lane_bytes(cells, bytes, lane).add(offset as usize);
            to.copy_from_nonoverlapping(bits.as_ptr(), usize::from(load.bytes));
        }
    }
}
