//! The modifiers of a conversion as bits of its configuration.

use crate::alu::lanes::flag;
use crate::alu::single::{FLUSH, RELU, ROUNDING, SATURATE};
use crate::ptx::op::arithmetic::Convert;
use crate::ptx::op::words::Rounding;

/// Bits of a conversion's configuration. The lowest are [`FLUSH`] and the like.
pub(super) const FINITE: u32 = 8;
/// Position of the rounding to a whole number; the value 7 is none.
pub(super) const WHOLE: u32 = 12;

/// Returns the bits of the configuration for a conversion's modifiers.
pub(super) fn config_of(op: &Convert) -> u32 {
    let rounding = op.rounding.unwrap_or(Rounding::NearestEven) as u32;
    let whole = op.whole.map_or(7, |whole| whole as u32);
    flag(op.flushes, FLUSH)
        | flag(op.saturates, SATURATE)
        | flag(op.relu, RELU)
        | flag(op.finite, FINITE)
        | (rounding << ROUNDING)
        | (whole << WHOLE)
}

/// The configuration of a conversion without modifiers.
pub(super) const PLAIN: u32 = 7 << WHOLE;
