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

use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, LogicVerb};
use crate::ptx::{Body, Instruction, Operand, RegisterId, ScalarType};
use std::collections::HashMap;

/// What is known of a number of 64 bits: which halves are zero, and which have all bits set. Lower half first.
#[derive(Clone, Copy, Default, PartialEq)]
struct Halves {
    zero: [bool; 2],
    ones: [bool; 2],
}

/// Returns the machine instructions of those operations that take fewer than one for each half, by the index of the instruction.
pub(super) fn find(body: &Body) -> Vec<(u32, u8)> {
    let mut known: HashMap<RegisterId, Halves> = HashMap::new();
    let mut found = Vec::new();
    for (at, instruction) in (0..).zip(&body.instructions) {
        let Some(Operand::Register(made)) = instruction.operands.first() else { continue };
        let (halves, issued) = result(instruction, &known).unwrap_or_default();
        if let Some(issued) = issued.filter(|issued| *issued < 2) {
            found.push((at, issued));
        }
        // Of a register that is written twice only what both agree on.
        let common = known.get(made).map_or(halves, |before| Halves {
            zero: [0, 1].map(|half| before.zero[half] && halves.zero[half]),
            ones: [0, 1].map(|half| before.ones[half] && halves.ones[half]),
        });
        known.insert(*made, common);
    }
    found
}

fn is_unsigned(scalar: ScalarType) -> bool {
    !matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

/// What is known of an instruction's result, and its machine instructions if these are counted here.
fn result(instruction: &Instruction, known: &HashMap<RegisterId, Halves>) -> Option<(Halves, Option<u8>)> {
    let of = |index: usize| match instruction.operands.get(index) {
        Some(Operand::Register(register)) => known.get(register).copied().unwrap_or_default(),
        Some(Operand::Immediate(value)) => value.integer().map_or(Halves::default(), |bits| {
            let halves = [bits as u32, (bits >> 32) as u32];
            Halves { zero: halves.map(|half| half == 0), ones: halves.map(|half| half == u32::MAX) }
        }),
        _ => Halves::default(),
    };
    let by = || match instruction.operands.get(2) {
        Some(Operand::Immediate(value)) => value.integer().filter(|by| *by >= 32),
        _ => None,
    };
    let (left, right) = (of(1), of(2));
    let zero = |zero| Halves { zero, ones: [false; 2] };
    match instruction.opcode.op().ok()? {
        Op::Convert(convert) => match (convert.to, convert.from) {
            (Format::Scalar(to), Format::Scalar(from)) => {
                let widens = to.size() == Some(8) && from.size().is_some_and(|bytes| bytes < 8);
                Some((zero([false, widens && is_unsigned(from)]), None))
            }
            _ => None,
        },
        Op::Logic(verb, scalar) if scalar.size() == Some(8) => match verb {
            LogicVerb::Shl => by().map(|by| (zero([true, false]), Some(u8::from(by > 32)))),
            LogicVerb::Shr => by().map(|by| (zero([false, is_unsigned(scalar)]), Some(u8::from(by > 32)))),
            LogicVerb::And => {
                let is_zero = [0, 1].map(|half| left.zero[half] || right.zero[half]);
                let is_free = [0, 1].map(|half| is_zero[half] || left.ones[half] || right.ones[half]);
                Some((zero(is_zero), Some(is_free.map(|free| u8::from(!free)).iter().sum())))
            }
            LogicVerb::Or | LogicVerb::Xor => {
                let is_zero = [0, 1].map(|half| left.zero[half] && right.zero[half]);
                let is_free = [0, 1].map(|half| left.zero[half] || right.zero[half]);
                Some((zero(is_zero), Some(is_free.map(|free| u8::from(!free)).iter().sum())))
            }
            _ => None,
        },
        _ => None,
    }
}
