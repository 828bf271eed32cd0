//! Compiles `bar` and `barrier`.

use super::super::step::{Barrier, BarrierKind, Rare};
use super::super::uses::Use;
use super::Unit;
use crate::decode::{Columns, DecodeError};
use crate::ptx::op::control::{BarrierVerb, Reduction};
use crate::ptx::{Instruction, Operand, ScalarType};
use crate::registers::Width;

impl Unit<'_, '_> {
    /// Compiles `bar.warp.sync`.
    pub(super) fn warp_sync(
        &mut self,
        instruction: &Instruction,
        uses: &mut Use,
    ) -> Result<Rare, DecodeError> {
        let [mask] = instruction.operands.as_slice() else { return misfit(instruction) };
        let mask = self.word(mask, uses)?;
        Ok(Rare::WarpBarrier { mask, constant: self.layout.constant(mask).map(|bits| bits as u32) })
    }

    /// Compiles a barrier of the block.
    pub(super) fn barrier(
        &mut self,
        instruction: &Instruction,
        verb: BarrierVerb,
        is_aligned: bool,
        uses: &mut Use,
    ) -> Result<Rare, DecodeError> {
        let operands = instruction.operands.as_slice();
        let (kind, rest) = match verb {
            BarrierVerb::Sync => (BarrierKind::Sync, operands),
            BarrierVerb::Arrive => (BarrierKind::Arrive, operands),
            BarrierVerb::Reduce(combine) => {
                let scalar = match combine {
                    Reduction::Count => ScalarType::U32,
                    Reduction::And | Reduction::Or => ScalarType::Pred,
                };
                let [result, rest @ .., source] = operands else { return misfit(instruction) };
                let (source, negated) = match source {
                    Operand::Not(register) => (Operand::Register(*register), true),
                    source => (source.clone(), false),
                };
                let source = self.layout.source(&source, ScalarType::Pred)?;
                let result = self.layout.result(result, scalar)?;
                if source.width != Width::Predicate || result.width != Width::of(scalar) {
                    return misfit(instruction);
                }
                uses.sources.push(source);
                uses.results.push(result);
                (BarrierKind::Reduce { combine, result, source, negated }, rest)
            }
        };
        let (number, threads) = match rest {
            [number] if !matches!(kind, BarrierKind::Arrive) => (number, None),
            [number, threads] => (number, Some(threads)),
            _ => return misfit(instruction),
        };
        let number = self.word(number, uses)?;
        let threads = threads.map(|threads| self.word(threads, uses)).transpose()?;
        Ok(Rare::Barrier(Barrier { number, threads, kind, is_aligned }))
    }
}

fn misfit<T>(instruction: &Instruction) -> Result<T, DecodeError> {
    Err(DecodeError::operands(instruction, "not the operands of a barrier"))
}
