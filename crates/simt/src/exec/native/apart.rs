//! Hands a warp over to the interpreter whose lanes were apart when its time slice ended in compiled code.
//!
//! Code has noted the branches and loops whose lanes have not met ([`Open`]), outermost first. Each becomes a join of the
//! interpreter's. Its lanes are those of the next one, or the active ones; those that have not begun, which become ready; and
//! the others, which have arrived, or have exited where the lanes meet nowhere. For example, lanes 0 to 7 of a warp are in a loop that ends at 20, whose step 12 lanes 4
//! to 7 have not begun, while the others of lanes 0 to 15 have left the loop:
//!
//! ```text
//! open                                             becomes
//! meets 20, lanes 0..16                            a join at 20 of lanes 0..16, where 8..16 have arrived
//! meets 14, lanes 0..8, later lanes 4..8 at 12     a join at 14 of lanes 0..8, and a ready fragment of 4..8 at 12
//! active: lanes 0..4, at 10                        the fragment that goes on
//! ```

use super::super::run::Runner;
use super::super::step::NOWHERE;
use super::super::warp::{Fragment, NO_JOIN};
use super::context::Open;
use crate::observe::Observer;

impl<O: Observer> Runner<'_, O> {
    /// Returns true if code has stopped while the warp's lanes were apart.
    pub(super) fn are_apart(&self) -> bool {
        self.native.shared.active != u32::MAX
    }

    /// Makes joins and fragments of a warp's lanes that code has left apart. Returns the fragment that goes on at a step.
    #[cold]
    pub(super) fn take_apart(&mut self, index: usize, pc: u32) -> Fragment {
        let shared = &*self.native.shared;
        let open = &shared.open[..shared.open_count as usize];
        let warp = &mut self.block.warps[index];
        let mut join = NO_JOIN;
        for (Open { meets, lanes, later, later_lanes }, at) in open.iter().zip(1..) {
            let within = open.get(at).map_or(shared.active, |next| next.lanes);
            let of = |pc: u32, lanes: u32, join: u32| Fragment { pc, lanes, activation: 0, join };
            join = warp.join_at(&of(pc, *lanes, join), *meets);
            let gone = lanes & !within & !later_lanes;
            if *meets == NOWHERE {
                warp.live &= !gone;
            } else if gone != 0 {
                warp.later(of(*meets, gone, join));
            }
            if *later_lanes != 0 {
                warp.later(of(*later, *later_lanes, join));
            }
        }
        Fragment { pc, lanes: shared.active, activation: 0, join }
    }
}
