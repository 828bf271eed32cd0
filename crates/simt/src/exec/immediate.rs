//! Converts the numbers of PTX text to the bits of a type.

use crate::ptx::{Immediate, ScalarType};

/// Returns the bits of a number in a type, truncated to its size; all ones or none for a predicate.
///
/// # Errors
/// Describes why the type cannot represent the number.
pub(super) fn bits_of(immediate: Immediate, scalar: ScalarType) -> Result<u128, String> {
    let is_integer = scalar.word().starts_with(['u', 's']);
    let is_small_float = scalar.word().contains('f') && !matches!(scalar, ScalarType::F32 | ScalarType::F64);
    let bits = match (immediate, scalar) {
        (Immediate::Integer { bits, .. }, ScalarType::Pred) => {
            return Ok(if bits == 0 { 0 } else { u128::MAX });
        }
        (Immediate::Integer { bits, unsigned }, ScalarType::F32) => {
            // An integer where a floating-point number is expected stands for its value.
            let value = if unsigned { bits as f32 } else { bits as i64 as f32 };
            u64::from(value.to_bits())
        }
        (Immediate::Integer { bits, unsigned }, ScalarType::F64) => {
            let value = if unsigned { bits as f64 } else { bits as i64 as f64 };
            value.to_bits()
        }
        (Immediate::Integer { bits, unsigned }, ScalarType::B128) => {
            return Ok(if unsigned { u128::from(bits) } else { i128::from(bits as i64) as u128 });
        }
        (Immediate::Integer { bits, .. }, _) => bits,
        (Immediate::Single(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::Double(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        _ if is_integer || is_small_float || scalar == ScalarType::Pred => {
            return Err(format!("a floating-point number for {scalar}"));
        }
        (Immediate::Single(bits), _) => u64::from(bits),
        (Immediate::Double(bits), _) => bits,
    };
    let size = scalar.size().unwrap_or(8).min(8);
    Ok(u128::from(bits & (u64::MAX >> (64 - 8 * size))))
}

#[cfg(test)]
mod tests {
    use super::bits_of;
    use crate::ptx::{Immediate, ScalarType};

    #[test]
    fn numbers_become_the_bits_of_their_type() {
        let minus = Immediate::Integer { bits: u64::MAX, unsigned: false };
        assert_eq!(bits_of(minus, ScalarType::S16), Ok(0xFFFF));
        assert_eq!(bits_of(minus, ScalarType::B128), Ok(u128::MAX));
        assert_eq!(bits_of(minus, ScalarType::F32), Ok(u128::from((-1f32).to_bits())));
        assert_eq!(bits_of(minus, ScalarType::Pred), Ok(u128::MAX));
        let half = Immediate::Double(0.5f64.to_bits());
        assert_eq!(bits_of(half, ScalarType::F32), Ok(u128::from(0.5f32.to_bits())));
        assert_eq!(bits_of(half, ScalarType::B64), Ok(u128::from(0.5f64.to_bits())));
        assert_eq!(bits_of(half, ScalarType::U32), Err("a floating-point number for .u32".to_owned()));
        assert_eq!(
            bits_of(Immediate::Single(1), ScalarType::F64),
            Ok(u128::from(f64::from(f32::from_bits(1)).to_bits()))
        );
    }
}
