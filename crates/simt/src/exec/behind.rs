//! Finds stores to global memory right behind another one to the same sectors.
//!
//! A multiprocessor puts the stores of a warp to one sector together while they wait to leave it, if they come one after the other. So the
//! members of a structure that a thread stores one by one reach L2 as one write. For example, a complex number:
//!
//! ```text
//! st.global.b32 [p], re
//! st.global.b32 [p+4], im       behind it: its sectors have been written, and L2 gets 8 for both, not 16
//! ```
//!
//! The longer such a *run*, the more stores of other warps come between. The table has the share of the sectors written again that
//! merged, by the number of stores of a run and their size, on an H200 with 16384 warps that do nothing but store:
//!
//! ```text
//! stores        2      3      4      5      6      8      9     16
//! bytes         0.9    0.90   0.84          0.6    0.4           0.05
//! halves        0.92          0.33                 0.06
//! words         1.0    0.90   0.41   0.33          0.06   0.03   0.00
//! ```
//!
//! None merged once a warp waited 200 clocks after each store, nor of two runs that alternate. Kernels whose warps do other things too
//! lose fewer: all of two in `fft_radix2_stage`, `fft_radix4_stage` and `rotary`, 0.94 of three words in `skin_vertices`, 0.73 of six bytes in
//! `nv12_to_rgb`.

use super::read;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::{AddressBase, Body, Instruction, Operand, RegisterId};

/// Bytes between the ends of two stores up to which they are taken to share sectors.
const NEAR: i64 = 32;

/// Stores of one basic block behind the same register.
struct Run {
    base: RegisterId,
    first: i64,
    last: i64,
    stores: Vec<u32>,
}

/// Returns the stores that are behind another one, by the index of the instruction, with the number of stores of their run.
pub(super) fn find(body: &Body, cfg: &Cfg) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for block in &cfg.blocks {
        let mut run: Option<Run> = None;
        for at in block.instructions.clone() {
            let instruction = &body.instructions[at as usize];
            let op = read::op(instruction);
            if let Some((base, offset)) = store(&op, instruction) {
                match &mut run {
                    Some(run)
                        if run.base == base && (run.first - NEAR..=run.last + NEAR).contains(&offset) =>
                    {
                        (run.first, run.last) = (run.first.min(offset), run.last.max(offset));
                        run.stores.push(at);
                    }
                    _ => end(
                        run.replace(Run { base, first: offset, last: offset, stores: vec![at] }),
                        &mut found,
                    ),
                }
            } else if (op.loads() || op.stores()) && read::is_global(&op)
                || op.awaits().is_some()
                || op == Op::Call
            {
                end(run.take(), &mut found);
            } else if let Some(Operand::Register(made)) = instruction.operands.first()
                && run.as_ref().is_some_and(|run| run.base == *made)
            {
                end(run.take(), &mut found);
            }
        }
        end(run.take(), &mut found);
    }
    found
}

fn end(run: Option<Run>, found: &mut Vec<(u32, u32)>) {
    let stores = run.map_or_else(Vec::new, |run| run.stores);
    found.extend(stores.iter().skip(1).map(|at| (*at, stores.len() as u32)));
}

/// Returns the register and the offset of a plain store to global memory.
fn store(op: &Op, instruction: &Instruction) -> Option<(RegisterId, i64)> {
    let [Operand::Address(address), ..] = instruction.operands.as_slice() else { return None };
    let AddressBase::Register(base) = address.base else { return None };
    let is_plain = op.stores() && !op.loads() && !op.is_strong() && read::is_global(op);
    is_plain.then_some((base, address.offset))
}

/// Share of the sectors that a run of this many stores writes again which merge.
pub(crate) fn share(stores: u32) -> f64 {
    ((8.0 - f64::from(stores)) / 6.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::{self, Index};

    fn behind(code: &str) -> Vec<(u32, u32)> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n.reg .b32 %r<9>;\n.reg .b64 %p<9>;\n{code}\nret;\n}}\n"
        );
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let body = module.entry("k").expect("the kernel").body.as_ref().expect("a definition");
        find(body, &Cfg::new(&Index::new(&module), body))
    }

    #[test]
    fn stores_behind_one_register_are_a_run() {
        let three = "st.global.b32 [%p1], %r1; st.global.b32 [%p1+4], %r2; add.u32 %r4, %r1, 1; st.global.b32 [%p1+8], %r3;";
        assert_eq!(behind(three), [(1, 3), (3, 3)]);
        // Others between them, another register, another value of it, or far apart.
        assert_eq!(
            behind("st.global.b32 [%p1], %r1; ld.global.b32 %r3, [%p2]; st.global.b32 [%p1+4], %r2;"),
            []
        );
        assert_eq!(
            behind("st.global.b32 [%p1], %r1; st.global.b32 [%p2], %r2; st.global.b32 [%p1+4], %r2;"),
            []
        );
        assert_eq!(behind("st.global.b32 [%p1], %r1; add.u64 %p1, %p1, 4; st.global.b32 [%p1], %r2;"), []);
        assert_eq!(behind("st.global.b32 [%p1], %r1; st.global.b32 [%p1+400], %r2;"), []);
        // Shared memory is no part of it.
        assert_eq!(
            behind("st.global.b8 [%p1], %r1; st.shared.b32 [%p2], %r1; st.global.b8 [%p1+1], %r2;"),
            [(2, 2)]
        );
    }

    #[test]
    fn long_runs_merge_less() {
        assert_eq!([2, 5, 8, 16].map(share), [1.0, 0.5, 0.0, 0.0]);
    }
}
