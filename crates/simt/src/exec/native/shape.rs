//! The shapes of registers, and what arithmetic makes of them.
//!
//! Sums and differences of affine registers are affine, and so are products with a uniform one; everything else is varying
//! unless all operands are uniform. For example, `(tid.x + 3) * 8` has a step of 8, and `tid.x * tid.x` is varying.

use super::super::special::LaneMask;
use crate::ptx::op::arithmetic::LogicVerb;

/// The distance between the values of adjacent lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Constant(i64),
    /// Known when the code runs, and the same for all lanes.
    Dynamic,
}

/// How the values of a register's lanes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The base is a multiple of two to the power of `align`.
    Affine {
        step: Step,
        align: u8,
    },
    /// Rows of `1 << log` lanes: lane `k` holds `base + k % width * inner + k / width * outer`. The base is a multiple
    /// of two to the power of `align`, too.
    Grid {
        log: u8,
        inner: Step,
        outer: Step,
        align: u8,
    },
    Varying,
}

pub(super) const UNIFORM: Shape = Shape::Affine { step: Step::Constant(0), align: 0 };

impl Step {
    pub(super) fn map(self, by: impl FnOnce(i64) -> i64) -> Self {
        match self {
            Self::Constant(step) => Self::Constant(by(step)),
            Self::Dynamic => Self::Dynamic,
        }
    }

    pub(super) fn combine(self, other: Self, by: impl FnOnce(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(by(a, b)),
            _ => Self::Dynamic,
        }
    }
}

impl Shape {
    /// Returns the steps within and between rows of `1 << log` lanes; None if they are no such rows.
    pub(super) fn steps(self, log: u8) -> Option<(Step, Step)> {
        match self {
            Self::Affine { step, .. } => Some((step, step.map(|step| step.wrapping_shl(u32::from(log))))),
            Self::Grid { log: own, inner, outer, .. } if own == log => Some((inner, outer)),
            _ => None,
        }
    }

    /// Combines the steps of two shapes, one of which has rows.
    pub(super) fn rows(self, other: Self, by: impl Fn(Step, Step) -> Step) -> Self {
        let ((Self::Grid { log, .. }, _) | (_, Self::Grid { log, .. })) = (self, other) else {
            return Self::Varying;
        };
        match (self.steps(log), other.steps(log)) {
            (Some((a, b)), Some((c, d))) => {
                Self::of_rows(log, by(a, c), by(b, d), self.align().min(other.align()))
            }
            _ => Self::Varying,
        }
    }

    /// Returns the shape of rows of `1 << log` lanes, which is affine if each row goes on where the one before ends, as in
    /// `tid.y * ntid.x + tid.x`.
    pub(super) fn of_rows(log: u8, inner: Step, outer: Step, align: u8) -> Self {
        match (inner, outer) {
            (Step::Constant(step), Step::Constant(next)) if next == step.wrapping_shl(u32::from(log)) => {
                Self::Affine { step: inner, align }
            }
            _ => Self::Grid { log, inner, outer, align },
        }
    }

    /// Returns the exponent of the power of two of which the base is known to be a multiple.
    pub(super) fn align(self) -> u8 {
        match self {
            Self::Affine { align, .. } | Self::Grid { align, .. } => align,
            Self::Varying => 0,
        }
    }

    pub(super) fn is_uniform(self) -> bool {
        matches!(self, Self::Affine { step: Step::Constant(0), .. })
    }

    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Affine { step: a, align: x }, Self::Affine { step: b, align: y }) => {
                Self::Affine { step: if a == b { a } else { Step::Dynamic }, align: x.min(y) }
            }
            _ => self.rows(other, |a, b| if a == b { a } else { Step::Dynamic }),
        }
    }

    /// Returns the exponent of the step and true if the bits of `k * step` are zeros of the base, so that they do not
    /// carry: the step is a power of two and the base a multiple of 32 times it.
    pub(super) fn lane_bits(self) -> Option<u32> {
        match self {
            Self::Affine { step: Step::Constant(step), align } if step > 0 && step & (step - 1) == 0 => {
                let exponent = step.trailing_zeros();
                (u32::from(align) >= exponent + 5).then_some(exponent)
            }
            _ => None,
        }
    }
}
/// Returns the shape with steps as numbers of 32 bits.
pub(super) fn narrow(shape: Shape) -> Shape {
    let cut = |step: i64| i64::from(step as i32);
    match shape {
        Shape::Affine { step, align } => Shape::Affine { step: step.map(cut), align },
        Shape::Grid { log, inner, outer, align } => {
            Shape::of_rows(log, inner.map(cut), outer.map(cut), align)
        }
        Shape::Varying => shape,
    }
}

pub(super) fn sum(a: Shape, b: Shape, negates: bool) -> Shape {
    let both =
        |a: Step, b: Step| a.combine(b, |a, b| if negates { a.wrapping_sub(b) } else { a.wrapping_add(b) });
    match (a, b) {
        (Shape::Affine { step: a, align: x }, Shape::Affine { step: b, align: y }) => {
            Shape::Affine { step: both(a, b), align: x.min(y) }
        }
        _ => a.rows(b, both),
    }
}

pub(super) fn grid(log: u32, inner: i64, outer: i64, align: u8) -> Shape {
    Shape::of_rows(log as u8, Step::Constant(inner), Step::Constant(outer), align)
}

/// Returns the shape of a value shifted right by fewer than 32 bits, zeros coming in.
pub(super) fn shifted_right(one: Shape, by: u32) -> Shape {
    match (one, one.lane_bits()) {
        _ if one.is_uniform() => UNIFORM,
        (_, Some(exponent)) if by >= exponent + 5 => UNIFORM,
        (Shape::Affine { align, .. }, Some(exponent)) if by <= exponent => {
            Shape::Affine { step: Step::Constant(1 << (exponent - by)), align: align - by as u8 }
        }
        (_, Some(exponent)) => grid(by - exponent, 0, 1, one.align() - by as u8),
        (_, None) => Shape::Varying,
    }
}

/// Returns the shape of a value's bits combined with those of another, whose value may be known.
pub(super) fn bitwise(verb: LogicVerb, lanes: Shape, other: Shape, constant: Option<u64>) -> Shape {
    let (Shape::Affine { step, align }, Shape::Affine { align: zeros, .. }) = (lanes, other) else {
        return Shape::Varying;
    };
    if !other.is_uniform() {
        return Shape::Varying;
    }
    if lanes.is_uniform() {
        let align = if verb == LogicVerb::And { align.max(zeros) } else { align.min(zeros) };
        return Shape::Affine { step, align };
    }
    let Some(exponent) = lanes.lane_bits() else { return Shape::Varying };
    let field = 31_u64 << exponent;
    match (verb, constant.map(|constant| constant & field)) {
        // Neither carries into the other's bits.
        (LogicVerb::Or | LogicVerb::Xor, in_field)
            if u32::from(zeros) >= exponent + 5 || in_field == Some(0) =>
        {
            Shape::Affine { step, align: align.min(zeros) }
        }
        (LogicVerb::And, Some(0)) => UNIFORM,
        (LogicVerb::And, Some(in_field)) if in_field == field => Shape::Affine { step, align },
        (LogicVerb::And, Some(in_field)) => {
            // The lowest bits of the lane's number give its place in a row, the others the row.
            let bits = in_field >> exponent;
            let one = 1_i64 << exponent;
            if (bits + 1).is_power_of_two() {
                grid(bits.trailing_ones(), one, 0, align)
            } else if (32 - bits).is_power_of_two() {
                let log = bits.trailing_zeros();
                grid(log, 0, one << log, align)
            } else {
                Shape::Varying
            }
        }
        _ => Shape::Varying,
    }
}

/// Returns the lanes' values of a mask register's column, for constants.
pub(super) fn lane_mask(mask: LaneMask) -> [u32; 32] {
    std::array::from_fn(|lane| mask.of(lane as u32))
}
