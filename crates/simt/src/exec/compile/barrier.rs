//! Compiles `bar` and `barrier`.

use super::super::step::{Barrier, BarrierKind, Combine, Rare};
use super::super::uses::Use;
use super::Unit;
use crate::decode::{Columns, DecodeError};
use crate::ptx::{Instruction, Operand, ScalarType};
use crate::registers::Width;

impl Unit<'_, '_> {
    pub(super) fn barrier(&mut self, instruction: &Instruction, uses: &mut Use) -> Result<Rare, DecodeError> {
        let unsupported = || Err(DecodeError::unsupported(instruction));
        let opcode = &instruction.opcode;
        let operands = instruction.operands.as_slice();
        let words: Vec<&str> =
            opcode.modifiers().filter(|word| !matches!(*word, "cta" | "aligned")).collect();
        let is_aligned = opcode.base() == "bar" || opcode.has("aligned");
        let misfit = || Err(DecodeError::operands(instruction, "not the operands of a barrier"));
        let (kind, rest) = match words.as_slice() {
            ["warp", "sync"] => {
                let [mask] = operands else { return misfit() };
                let mask = self.word(mask, uses)?;
                return Ok(Rare::WarpBarrier {
                    mask,
                    constant: self.layout.constant(mask).map(|bits| bits as u32),
                });
            }
            ["cluster", "arrive", ..] => return Ok(Rare::ClusterArrive),
            ["cluster", "wait", ..] => return Ok(Rare::ClusterWait),
            ["sync"] => (BarrierKind::Sync, operands),
            ["arrive"] => (BarrierKind::Arrive, operands),
            ["red", combine, scalar] => {
                let (combine, scalar) = match (*combine, *scalar) {
                    ("popc", "u32") => (Combine::Count, ScalarType::U32),
                    ("and", "pred") => (Combine::And, ScalarType::Pred),
                    ("or", "pred") => (Combine::Or, ScalarType::Pred),
                    _ => return unsupported(),
                };
                let [result, rest @ .., source] = operands else { return misfit() };
                let (source, negated) = match source {
                    Operand::Not(register) => (Operand::Register(*register), true),
                    source => (source.clone(), false),
                };
                let source = self.layout.source(&source, ScalarType::Pred)?;
                let result = self.layout.result(result, scalar)?;
                if source.width != Width::Predicate || result.width != Width::of(scalar) {
                    return misfit();
                }
                uses.sources.push(source);
                uses.results.push(result);
                (BarrierKind::Reduce { combine, result, source, negated }, rest)
            }
            _ => return unsupported(),
        };
        let (number, threads) = match rest {
            [number] if !matches!(kind, BarrierKind::Arrive) => (number, None),
            [number, threads] => (number, Some(threads)),
            _ => return misfit(),
        };
        let number = self.word(number, uses)?;
        let threads = threads.map(|threads| self.word(threads, uses)).transpose()?;
        Ok(Rare::Barrier(Barrier { number, threads, kind, is_aligned }))
    }
}
