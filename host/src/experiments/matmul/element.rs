//! The types of the elements of matrices.

use crate::{
    bf16::Bf16,
    fp8::{E4m3, E5m2},
};
use cuda_driver::ext::TensorElement;
use cust::memory::bytemuck::Pod;
use std::fmt;

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// Single precision.
    F32,
    /// Half its bits, with the same exponents.
    Bf16,
    /// FP8 with three bits of the mantissa.
    E4m3,
    /// FP8 with two bits of the mantissa.
    E5m2,
}

impl Element {
    /// Its bytes.
    pub(crate) const fn bytes(self) -> u64 {
        match self {
            Element::F32 => 4,
            Element::Bf16 => 2,
            Element::E4m3 | Element::E5m2 => 1,
        }
    }

    /// The name in records.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::Bf16 => "bf16",
            Element::E4m3 => "e4m3",
            Element::E5m2 => "e5m2",
        }
    }

    /// Whether it is one of the types of FP8.
    pub(crate) const fn is_fp8(self) -> bool {
        matches!(self, Element::E4m3 | Element::E5m2)
    }

    /// The name in tensor maps, which know FP8 as bytes: the copy engine moves bits.
    pub(super) fn of_tensor(self) -> TensorElement {
        match self {
            Element::F32 => TensorElement::F32,
            Element::Bf16 => TensorElement::Bf16,
            Element::E4m3 | Element::E5m2 => TensorElement::U8,
        }
    }
}

/// The types of a product as records name them: `bf16`, or `bf16 to f32` where the result has another.
pub(crate) fn types(factors: Element, result: Element) -> String {
    match (factors.name(), result.name()) {
        (factors, result) if factors == result => factors.to_string(),
        (factors, result) => format!("{factors} to {result}"),
    }
}

/// An element as buffers hold it.
pub(super) trait Number: Pod + fmt::Debug {
    /// The nearest one.
    fn nearest(number: f32) -> Self;
    /// The same number in single precision.
    fn single(self) -> f32;
}

impl Number for f32 {
    fn nearest(number: f32) -> f32 {
        number
    }

    fn single(self) -> f32 {
        self
    }
}

/// `Number` by the functions of the type itself.
macro_rules! number {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn nearest(number: f32) -> $number {
                <$number>::nearest(number)
            }

            fn single(self) -> f32 {
                <$number>::single(self)
            }
        }
    )*};
}

number!(Bf16, E4m3, E5m2);

/// Calls a generic function with the type that an [`Element`] names.
macro_rules! of_element {
    ($element:expr, $of:ident.$function:ident($($argument:expr),*)) => {
        match $element {
            Element::F32 => $of.$function::<f32>($($argument),*),
            Element::Bf16 => $of.$function::<crate::bf16::Bf16>($($argument),*),
            Element::E4m3 => $of.$function::<crate::fp8::E4m3>($($argument),*),
            Element::E5m2 => $of.$function::<crate::fp8::E5m2>($($argument),*),
        }
    };
}
pub(super) use of_element;
