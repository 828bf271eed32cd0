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
    /// Rows of `1 << log` lanes: lane `k` holds `base + k % width * inner + k / width * outer`.
    Grid {
        log: u8,
        inner: Step,
        outer: Step,
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
            Self::Grid { log: own, inner, outer } if own == log => Some((inner, outer)),
            _ => None,
        }
    }

    /// Combines the steps of two shapes, one of which has rows.
    pub(super) fn rows(self, other: Self, by: impl Fn(Step, Step) -> Step) -> Self {
        let ((Self::Grid { log, .. }, _) | (_, Self::Grid { log, .. })) = (self, other) else {
            return Self::Varying;
        };
        match (self.steps(log), other.steps(log)) {
            (Some((a, b)), Some((c, d))) => Self::Grid { log, inner: by(a, c), outer: by(b, d) },
            _ => Self::Varying,
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
        Shape::Grid { log, inner, outer } => {
            Shape::Grid { log, inner: inner.map(cut), outer: outer.map(cut) }
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

pub(super) fn grid(log: u32, inner: i64, outer: i64) -> Shape {
    Shape::Grid { log: log as u8, inner: Step::Constant(inner), outer: Step::Constant(outer) }
}

/// Returns the shape of affine bits combined with a constant.
pub(super) fn bitwise(verb: LogicVerb, lanes: Shape, exponent: u32, constant: u64) -> Shape {
    let Shape::Affine { step, align } = lanes else { return Shape::Varying };
    let field = 31_u64 << exponent;
    let in_field = constant & field;
    match verb {
        LogicVerb::And if in_field == 0 => UNIFORM,
        LogicVerb::And if in_field == field => Shape::Affine { step, align },
        LogicVerb::And => {
            // The lowest bits of the lane's number give its place in a row, the others the row.
            let bits = in_field >> exponent;
            let one = 1_i64 << exponent;
            if (bits + 1).is_power_of_two() {
                grid(bits.trailing_ones(), one, 0)
            } else if (32 - bits).is_power_of_two() {
                let log = bits.trailing_zeros();
                grid(log, 0, one << log)
            } else {
                Shape::Varying
            }
        }
        LogicVerb::Or | LogicVerb::Xor if in_field == 0 => {
            Shape::Affine { step, align: align.min(constant.trailing_zeros().min(63) as u8) }
        }
        _ => Shape::Varying,
    }
}

/// Returns the lanes' values of a mask register's column, for constants.
pub(super) fn lane_mask(mask: LaneMask) -> [u32; 32] {
    std::array::from_fn(|lane| mask.of(lane as u32))
}
