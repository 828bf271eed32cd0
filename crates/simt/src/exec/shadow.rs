//! Tracks the undefined lanes of registers, if an observer asks for it.
//!
//! Each column has a mask of the lanes that hold no defined value: a *shadow* as in Valgrind's memcheck (Seward and
//! Nethercote, "Using Valgrind to Detect Undefined Value Errors with Bit-Precision", USENIX 2005), but one bit per lane
//! and register rather than per bit. An undefined value may be moved and computed with. It is reported where it
//! decides something: a guard, and so a branch, or an address. For example, where `[x]` was never written:
//!
//! ```text
//! ld.global.u32 %r1, [x]        %r1 is undefined in the lanes that read it
//! add.u32 %r2, %r1, 1           so is %r2: the result of an undefined source
//! selp.u32 %r3, 0, %r2, %p      %r3 is undefined where %p is false: only the selected source counts
//! setp.eq.u32 %q, %r2, 0        so is %q
//! @%q bra L                     reported
//! ```

use super::layout::Place;
use super::run::Runner;
use super::step::Action;
use super::warp::Fragment;
use crate::observe::Observer;
use crate::ptx::op::Op;
use crate::registers::Slot;

impl<O: Observer> Runner<'_, O> {
    /// Reports guards and addresses that are undefined, before an instruction.
    #[inline(never)]
    pub(super) fn before(&mut self, index: usize, fragment: &Fragment, pc: u32, mask: u32) {
        let uses = &self.context.program.uses;
        let frame = &self.block.warps[index].activation(fragment.activation).frame;
        let undefined = |slot: &Slot| frame.undefined[slot.cell as usize / 8];
        let guard = uses.sources(pc as usize).first().map_or(0, undefined) & fragment.lanes;
        let address = uses.address(pc as usize).as_ref().map_or(0, undefined) & mask;
        if guard | address != 0 {
            let at = self.at(index, pc);
            self.observer.undefined(at, guard | address);
        }
    }

    /// Marks the results of an instruction undefined where a source is.
    #[inline(never)]
    pub(super) fn after(&mut self, index: usize, activation: u32, pc: u32, mask: u32) {
        let program = self.context.program;
        let pc = pc as usize;
        let sources = program.uses.sources(pc);
        let activation = self.block.warps[index].activation(activation);
        let cells = activation.frame.cells();
        let undefined = &mut activation.frame.undefined;
        let of = |slot: &Slot| undefined[slot.cell as usize / 8];
        let read = match (sources, &program.steps[pc].action) {
            // Only the selected source counts.
            ([_, yes, no, by], Action::Arithmetic(_)) if matches!(program.sites()[pc].op, Op::Selp(_)) => {
                // SAFETY: the column is a predicate of the function that the frame is of.
                let selected = unsafe { *by.predicate(cells) };
                of(by) | selected & of(yes) | !selected & of(no)
            }
            _ => sources.iter().skip(1).map(of).fold(0, |all, one| all | one),
        };
        for slot in program.uses.results(pc) {
            let lanes = &mut undefined[slot.cell as usize / 8];
            *lanes = *lanes & !mask | read & mask;
        }
    }

    /// Marks loaded registers undefined where the memory is.
    #[inline(never)]
    pub(super) fn loaded(&mut self, index: usize, fragment: &Fragment, pc: u32, mask: u32, undefined: u32) {
        let program = self.context.program;
        let frame = &mut self.block.warps[index].activation(fragment.activation).frame;
        for slot in program.uses.results(pc as usize) {
            let lanes = &mut frame.undefined[slot.cell as usize / 8];
            *lanes = *lanes & !mask | undefined & mask;
        }
    }

    /// Copies the undefined lanes of parameters or results from one activation to another.
    pub(super) fn pass_undefined(
        &mut self,
        index: usize,
        (from, sources): (u32, &[Place]),
        (to, targets): (u32, &[Place]),
        lanes: u32,
    ) {
        let warp = &mut self.block.warps[index];
        for (source, target) in sources.iter().zip(targets) {
            let column = |place: &Place| place.column().cell as usize / 8;
            let read = warp.activation(from).frame.undefined[column(source)];
            let written = &mut warp.activation(to).frame.undefined[column(target)];
            *written = *written & !lanes | read & lanes;
        }
    }
}
