//! Finds operations on 64 bits of which the machine, which works in 32 bits, has to do one half alone, or none.
//!
//! Two numbers are packed into one of 64 bits, and taken out again, without any machine instruction:
//!
//! ```text
//! cvt.u64.u32 l, x          upper half zero: a pair of registers, one of them zero
//! shl.b64     h, y, 32      lower half zero: the same
//! or.b64      p, h, l       nothing in both halves: the registers of y and x
//! and.b64     q, p, 255     upper half zero: one LOP3
//! ```

use super::read;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, LogicVerb};
use crate::ptx::{Body, Instruction, Operand, RegisterId, ScalarType};
use std::collections::HashMap;

/// Which halves of a number of 64 bits are known to be zero, the lower one first.
type Zero = [bool; 2];

/// Returns the machine instructions of those operations that take fewer than one for each half, by the index of the instruction.
pub(super) fn find(body: &Body) -> Vec<(u32, u8)> {
    let mut known: HashMap<RegisterId, Zero> = HashMap::new();
    let mut found = Vec::new();
    for (at, instruction) in (0..).zip(&body.instructions) {
        let Some(made) = read::result(instruction) else { continue };
        let (zero, issued) = result(instruction, &known).unwrap_or_default();
        if let Some(issued) = issued.filter(|issued| *issued < 2) {
            found.push((at, issued));
        }
        // Of a register that is written twice only what both agree on.
        let before = known.get(&made).copied().unwrap_or(zero);
        known.insert(made, both(|half| before[half] && zero[half]));
    }
    found
}

fn both<T>(of: impl Fn(usize) -> T) -> [T; 2] {
    [of(0), of(1)]
}

fn is_unsigned(scalar: ScalarType) -> bool {
    !matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

/// Returns the zero halves of a result, and the machine instructions that compute it where this module counts them.
fn result(instruction: &Instruction, known: &HashMap<RegisterId, Zero>) -> Option<(Zero, Option<u8>)> {
    let immediate = |index: usize| {
        let bits = read::integer(instruction.operands.get(index)?)?.cast_unsigned();
        Some([bits as u32, (bits >> 32) as u32])
    };
    let zero = |index: usize| match instruction.operands.get(index) {
        Some(Operand::Register(register)) => known.get(register).copied().unwrap_or_default(),
        _ => immediate(index).map_or([false; 2], |halves| halves.map(|half| half == 0)),
    };
    let ones =
        |half: usize| [1, 2].iter().any(|index| immediate(*index).is_some_and(|of| of[half] == u32::MAX));
    let by = || read::integer(instruction.operands.get(2)?).filter(|by| *by >= 32);
    let issued = |free: Zero| Some(2 - u8::from(free[0]) - u8::from(free[1]));
    let (left, right) = (zero(1), zero(2));
    match read::op(instruction) {
        Op::Convert(convert) => match (convert.to, convert.from) {
            (Format::Scalar(to), Format::Scalar(from)) => {
                let widens = to.size() == Some(8) && from.size().is_some_and(|bytes| bytes < 8);
                Some(([false, widens && is_unsigned(from)], None))
            }
            _ => None,
        },
        Op::Logic(verb, scalar) if scalar.size() == Some(8) => match verb {
            LogicVerb::Shl => by().map(|by| ([true, false], Some(u8::from(by > 32)))),
            LogicVerb::Shr => by().map(|by| ([false, is_unsigned(scalar)], Some(u8::from(by > 32)))),
            LogicVerb::And => {
                let zero = both(|half| left[half] || right[half]);
                Some((zero, issued(both(|half| zero[half] || ones(half)))))
            }
            LogicVerb::Or | LogicVerb::Xor => {
                let zero = both(|half| left[half] && right[half]);
                Some((zero, issued(both(|half| left[half] || right[half]))))
            }
            _ => None,
        },
        _ => None,
    }
}
