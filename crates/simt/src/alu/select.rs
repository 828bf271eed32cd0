//! Selection and signs: `selp`, `slct`, `testp`, `copysign`.

use crate::ptx::ScalarType;
use crate::ptx::op::words::FloatTest;

use super::form::{Decoded, Form};
use super::lanes::{Code, Lane, Outcome, operation};
use super::single::flush;

/// A lane of which only the bits count.
pub(super) trait Plain: Lane + Outcome {}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for u64 {}

operation!(Select[T: Plain](a: T, b: T, c: bool) -> T { if c { a } else { b } });
operation!(SelectBySign[T: Plain](a: T, b: T, c: i32) -> T { if c >= 0 { a } else { b } });
// -0.0 is not below 0; NaN is not above it.
operation!(SelectByFloat[T: Plain](a: T, b: T, c: f32; flushes) -> T {
    let c = if flushes != 0 { flush(c) } else { c };
    if c >= 0.0 { a } else { b }
});

macro_rules! by_width {
    ($scalar:expr, $operation:ident) => {
        match $scalar.size() {
            Some(2) => Some(Code::of::<$operation<u16>>()),
            Some(4) => Some(Code::of::<$operation<u32>>()),
            Some(8) => Some(Code::of::<$operation<u64>>()),
            _ => None,
        }
    };
}

pub(super) fn selp(form: &mut Form<'_>, scalar: ScalarType) -> Decoded {
    match by_width!(scalar, Select) {
        Some(code) => form.plain(code.typed(scalar), 0),
        None => form.unsupported(),
    }
}

pub(super) fn slct(form: &mut Form<'_>, scalar: ScalarType, by: ScalarType, flushes: bool) -> Decoded {
    let code = match by {
        ScalarType::S32 if !flushes => by_width!(scalar, SelectBySign),
        ScalarType::F32 => by_width!(scalar, SelectByFloat),
        _ => None,
    };
    let Some(mut code) = code else { return form.unsupported() };
    code = code.typed(scalar);
    code.source_types[2] = Some(by);
    form.plain(code, u32::from(flushes))
}

#[inline(always)]
fn passes(is_finite: bool, is_nan: bool, is_small: bool, is_zero: bool, test: u32) -> bool {
    const FINITE: u32 = FloatTest::Finite as u32;
    const INFINITE: u32 = FloatTest::Infinite as u32;
    const NUMBER: u32 = FloatTest::Number as u32;
    const NOT_A_NUMBER: u32 = FloatTest::NotANumber as u32;
    const NORMAL: u32 = FloatTest::Normal as u32;
    match test {
        FINITE => is_finite,
        INFINITE => !is_finite && !is_nan,
        NUMBER => !is_nan,
        NOT_A_NUMBER => is_nan,
        NORMAL => is_finite && (!is_small || is_zero),
        _ => is_small && !is_zero,
    }
}

operation!(Test(a: f32; test) -> bool {
    passes(a.is_finite(), a.is_nan(), a.abs() < f32::MIN_POSITIVE, a == 0.0, test)
});
operation!(TestDouble(a: f64; test) -> bool {
    passes(a.is_finite(), a.is_nan(), a.abs() < f64::MIN_POSITIVE, a == 0.0, test)
});

pub(super) fn testp(form: &mut Form<'_>, test: FloatTest, scalar: ScalarType) -> Decoded {
    match scalar {
        ScalarType::F32 => form.plain(Code::of::<Test>(), test as u32),
        ScalarType::F64 => form.plain(Code::of::<TestDouble>(), test as u32),
        _ => form.unsupported(),
    }
}

// The second operand with the sign of the first.
operation!(CopySign(a: f32, b: f32) -> f32 { b.copysign(a) });
operation!(CopySignDouble(a: f64, b: f64) -> f64 { b.copysign(a) });

pub(super) fn copysign(form: &mut Form<'_>, scalar: ScalarType) -> Decoded {
    match scalar {
        ScalarType::F32 => form.plain(Code::of::<CopySign>(), 0),
        ScalarType::F64 => form.plain(Code::of::<CopySignDouble>(), 0),
        _ => form.unsupported(),
    }
}
