//! Moves `mov`: plain, and between a register and its parts.

use crate::ptx::{Operand, ScalarType};
use crate::registers::{Cell, Slot, Width};

use super::decoded::Slots;
use super::form::{Decoded, Form, Parts};
use super::lanes::{Code, Low, operation};
use super::raw::Raw;
use super::select::Plain;

operation!(Move[T: Plain](a: T) -> T { a });
operation!(MovePredicate(a: bool) -> bool { a });
operation!(MoveQuad(a: u128) -> u128 { a });
operation!(MoveLow(a: Low<u32>) -> u32 { a.0 });

// Packing: the first operand is the lowest part. The name has the bits per part.
operation!(Pack8(a: u32, b: u32) -> u32 { a & 0xFF | (b & 0xFF) << 8 });
operation!(Pack8x4(a: u32, b: u32, c: u32, d: u32) -> u32 {
    a & 0xFF | (b & 0xFF) << 8 | (c & 0xFF) << 16 | d << 24
});
operation!(Pack16(a: u32, b: u32) -> u32 { a & 0xFFFF | b << 16 });
operation!(Pack16x4(a: u32, b: u32, c: u32, d: u32) -> u64 {
    u64::from(a & 0xFFFF | b << 16) | u64::from(c & 0xFFFF | d << 16) << 32
});
operation!(Pack32(a: u32, b: u32) -> u64 { u64::from(a) | u64::from(b) << 32 });
operation!(Pack32x4(a: u32, b: u32, c: u32, d: u32) -> u128 {
    u128::from(u64::from(a) | u64::from(b) << 32) | u128::from(u64::from(c) | u64::from(d) << 32) << 64
});
operation!(Pack64(a: u64, b: u64) -> u128 { u128::from(a) | u128::from(b) << 64 });

operation!(Unpack8(a: u32) -> (u32, u32) { (a & 0xFF, a >> 8 & 0xFF) });
operation!(Unpack16(a: u32) -> (u32, u32) { (a & 0xFFFF, a >> 16) });
operation!(Unpack32(a: u64) -> (u32, u32) { (a as u32, (a >> 32) as u32) });
operation!(Unpack64(a: u128) -> (u64, u64) { (a as u64, (a >> 64) as u64) });

pub(super) fn mov(form: &mut Form<'_>, scalar: ScalarType) -> Decoded {
    form.expect_operands(2)?;
    match form.operands() {
        [Operand::Vector(parts), source] => unpack(form, scalar, parts, source),
        [result, Operand::Vector(parts)] => pack(form, scalar, result, parts),
        [result, source] => {
            let (slot, inverted) = form.any_source(source, scalar)?;
            let code = match (Width::of(scalar), slot.width) {
                (Width::Predicate, Width::Predicate) => Code::of::<MovePredicate>(),
                // The lower half of a special register of 64 bits.
                (Width::Word, Width::Double) if scalar.size() == Some(4) => Code::of::<MoveLow>(),
                (Width::Word, Width::Word) if scalar.size() == Some(4) => Code::of::<Move<u32>>(),
                (Width::Word, Width::Word) if scalar.size() == Some(2) => Code::of::<Move<u16>>(),
                (Width::Double, Width::Double) => Code::of::<Move<u64>>(),
                (Width::Quad, Width::Quad) => Code::of::<MoveQuad>(),
                _ => return form.wrong(format!("{scalar} does not fit the source")),
            };
            let result = form.result(result, scalar, Width::of(scalar))?;
            let mut parts = Parts::default();
            parts.source(0, slot, inverted);
            parts.result(0, result);
            Ok(parts.finish(code.at(form.level)))
        }
        _ => form.unsupported(),
    }
}

/// Returns the type of one of `count` parts of a register.
fn part_type(scalar: ScalarType, count: usize) -> Option<ScalarType> {
    if !matches!(count, 2 | 4) {
        return None;
    }
    Some(match scalar.size()? / count as u32 {
        1 => ScalarType::B8,
        2 => ScalarType::B16,
        4 => ScalarType::B32,
        8 => ScalarType::B64,
        _ => return None,
    })
}

fn pack(form: &mut Form<'_>, scalar: ScalarType, result: &Operand, parts: &[Operand]) -> Decoded {
    let Some(part) = part_type(scalar, parts.len()) else {
        return form.wrong(format!("{scalar} is not made up of {} parts", parts.len()));
    };
    let code = match (scalar.size(), parts.len()) {
        (Some(2), 2) => Code::of::<Pack8>(),
        (Some(4), 4) => Code::of::<Pack8x4>(),
        (Some(4), 2) => Code::of::<Pack16>(),
        (Some(8), 4) => Code::of::<Pack16x4>(),
        (Some(8), 2) => Code::of::<Pack32>(),
        (Some(16), 4) => Code::of::<Pack32x4>(),
        (Some(16), 2) => Code::of::<Pack64>(),
        _ => return form.unsupported(),
    };
    let mut assembled = Parts::default();
    for (index, operand) in parts.iter().enumerate() {
        let (slot, _) = form.source(operand, part, Width::of(part))?;
        assembled.source(index, slot, false);
    }
    let result = form.result(result, scalar, Width::of(scalar))?;
    assembled.result(0, result);
    Ok(assembled.finish(code.at(form.level)))
}

fn unpack(form: &mut Form<'_>, scalar: ScalarType, parts: &[Operand], source: &Operand) -> Decoded {
    let Some(part) = part_type(scalar, parts.len()) else {
        return form.wrong(format!("{scalar} is not made up of {} parts", parts.len()));
    };
    let (source, _) = form.source(source, scalar, Width::of(scalar))?;
    let mut results: Vec<Slot> = Vec::with_capacity(4);
    for operand in parts {
        results.push(form.result(operand, part, Width::of(part))?);
    }
    let code = match (scalar.size(), parts.len()) {
        (Some(2), 2) => Code::of::<Unpack8>(),
        (Some(4), 2) => Code::of::<Unpack16>(),
        (Some(8), 2) => Code::of::<Unpack32>(),
        (Some(16), 2) => Code::of::<Unpack64>(),
        (Some(_), 4) => return unpack_four(form, part, source, &results),
        _ => return form.unsupported(),
    };
    let mut assembled = Parts::default();
    assembled.source(0, source, false);
    assembled.result(0, results[0]);
    assembled.result(1, results[1]);
    Ok(assembled.finish(code.at(form.level)))
}

/// Decodes four results: the third and fourth are in slots of sources.
fn unpack_four(form: &Form<'_>, part: ScalarType, source: Slot, results: &[Slot]) -> Decoded {
    let run = match part {
        ScalarType::B8 => four::<u32, 8>,
        ScalarType::B16 => four::<u64, 16>,
        ScalarType::B32 => four::<u128, 32>,
        _ => return form.unsupported(),
    };
    let mut assembled = Parts::default();
    assembled.source(0, source, false);
    assembled.result(0, results[0]);
    assembled.result(1, results[1]);
    assembled.further_result(1, results[2]);
    assembled.further_result(2, results[3]);
    Ok(assembled.finish(run))
}

unsafe fn four<S: Raw + Into<u128>, const BITS: u32>(frame: *mut Cell, slots: &Slots, mask: u32) {
    let [first, second] = slots.results;
    let [source, third, fourth, _] = slots.sources;
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let column = S::column(frame, source, false);
        let mut parts = [u32::buffer(); 4];
        for lane in 0..32 {
            let whole: u128 = S::get(column, lane).into();
            for (index, part) in parts.iter_mut().enumerate() {
                part[lane] = (whole >> (index as u32 * BITS)) as u32 & (u32::MAX >> (32 - BITS));
            }
        }
        for (cell, part) in [first, second, third, fourth].into_iter().zip(&parts) {
            u32::store(part, frame, cell, mask, false);
        }
    }
}
