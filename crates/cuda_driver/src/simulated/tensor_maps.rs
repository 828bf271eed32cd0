//! Tensor maps: a description is checked by the rules of the copy engine, and encoded for the simulator.

use std::ffi::{c_int, c_uint};

use simt::memory::{TensorElement, TensorMap};

use super::codes::{INVALID_VALUE, Outcome};
use super::contexts::current;
use super::entry::{In, Out};
use crate::Code;

/// The words of a map.
type Words = [u64; 16];

/// The first compute capability whose copy engine reads maps.
const FIRST_MAJOR: u8 = 9;

/// Rejects what breaks a rule.
fn rule(holds: bool) -> Outcome {
    if holds { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Names once what is not simulated.
fn not_simulated(what: &str) -> Code {
    super::say_once(format_args!(
        "cuTensorMapEncodeTiled returns CUDA_ERROR_NOT_SUPPORTED: {what} are not simulated"
    ));
    Code::NOT_SUPPORTED
}

/// Returns the span of a swizzle in bytes.
fn span(swizzle: c_int) -> Outcome<u32> {
    match swizzle {
        0 => Ok(0),
        1..=3 => Ok(16 << swizzle),
        // Of 128 bytes by units of 32 or 64.
        4..=6 => Err(not_simulated("swizzles of 128 bytes by units larger than 16")),
        _ => Err(INVALID_VALUE),
    }
}

/// Returns the type of this number.
fn element(number: c_int) -> Outcome<TensorElement> {
    match number {
        10..=12 => Err(not_simulated("tensors of f32 that are flushed or rounded to tf32")),
        13..=15 => Err(not_simulated("tensors of 4 and 6 bits")),
        _ => u32::try_from(number).ok().and_then(TensorElement::from_number).ok_or(INVALID_VALUE),
    }
}

entry_points! {
    fn cuTensorMapEncodeTiled(
        out: Out<Words>, number: c_int, rank: c_uint, address: u64, sizes: In<u64>, strides: In<u64>,
        tile: In<c_uint>, steps: In<c_uint>, interleave: c_int, swizzle: c_int, promotion: c_int, fill: c_int,
    ) {
        if current()?.device.card.compute_capability.major < FIRST_MAJOR {
            return Err(not_simulated("tensor maps of devices before compute capability 9.0"));
        }
        let dimensions = rank as usize;
        rule((1..=5).contains(&dimensions) && (0..=3).contains(&promotion) && (0..=1).contains(&fill))?;
        match interleave {
            0 => {}
            1 | 2 => return Err(not_simulated("interleaved tensors")),
            _ => return Err(INVALID_VALUE),
        }
        let element = element(number)?;
        let mut map = TensorMap {
            element,
            dimensions,
            address,
            sizes: [1; 5],
            strides: [element.bytes(); 5],
            tile: [1; 5],
            steps: [1; 5],
            span: span(swizzle)?,
            fills_with_nan: fill == 1,
        };
        for dimension in 0..dimensions {
            map.sizes[dimension] = sizes.at(dimension)?;
            map.tile[dimension] = tile.at(dimension)?;
            map.steps[dimension] = steps.at(dimension)?;
            if dimension > 0 {
                map.strides[dimension] = strides.at(dimension - 1)?;
            }
        }
        rule(map.keeps_rules())?;
        out.set(map.encode())
    }

    fn cuTensorMapReplaceAddress(map: Out<Words>, address: u64) {
        current()?;
        rule(address.is_multiple_of(16))?;
        let old = TensorMap::decode(&map.get()?).ok_or(INVALID_VALUE)?;
        map.set(TensorMap { address, ..old }.encode())
    }
}
