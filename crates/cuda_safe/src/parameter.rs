//! Passes a kernel's parameters from the host to the device, for the code that `#[kernel]` writes. Only the types that
//! are parameters are for direct use: [`Width`] and [`PerBlock`].

use crate::atomic::Atomics;
use crate::bits::Bits;
use crate::extent::{Extent, Length, Positive, Segmented};
use crate::input::{In, InOrder, Matrix};
use crate::output::{Checked, Out, Sum};
use crate::space::{FromLaunch, Has};

/// Lanes of a segment of a warp: 2, 4, 8, 16 or 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(u32);

impl Width {
    /// The whole warp.
    pub const WARP: Self = Self(32);

    /// Lanes.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        // SAFETY: the host admits no other value.
        unsafe { core::hint::assert_unchecked(self.0.is_power_of_two() && self.0 <= 32) };
        self.0
    }
}

/// Elements of the slice that each block has to itself, at most 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerBlock(usize);

impl PerBlock {
    /// Elements.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

/// A parameter that crosses as one number or as plain bits.
///
/// # Safety
/// [`receive`](Value::receive) makes a value of the type from what the host admits.
#[doc(hidden)]
pub unsafe trait Value: Sized {
    /// The representation that crosses.
    type Wire: Copy + 'static;

    /// # Safety
    /// The host admitted the value.
    unsafe fn receive(wire: Self::Wire) -> Self;
}

// SAFETY: any bits are a value.
unsafe impl<T: Bits> Value for T {
    type Wire = T;

    #[inline(always)]
    unsafe fn receive(wire: T) -> T {
        wire
    }
}

macro_rules! values {
    ($($type:ident $(<$name:ident>)? from $wire:ty, |$value:ident| $receive:expr;)*) => {$(
        // SAFETY: the host admits what the type allows.
        unsafe impl$(<$name>)? Value for $type$(<$name>)? {
            type Wire = $wire;

            #[inline(always)]
            unsafe fn receive($value: $wire) -> Self {
                $receive
            }
        }
    )*};
}

values! {
    // SAFETY: promised by the caller.
    Extent<N> from u32, |value| unsafe { Self::new(value) };
    // SAFETY: promised by the caller.
    Positive<N> from u32, |value| unsafe { Self::new(value) };
    // SAFETY: promised by the caller.
    Segmented<N> from u32, |value| unsafe { Self::new(value) };
    // SAFETY: promised by the caller.
    Length<N> from usize, |value| unsafe { Self::new(value) };
    Width from u32, |value| Self(value);
    PerBlock from usize, |value| Self(value);
}

/// A parameter that crosses as an address and a length.
#[doc(hidden)]
pub trait FromSlice<L>: Sized {
    type Element;

    /// The kernel's access as its descriptor has it: `r` if the kernel only reads it, else `-`.
    const ACCESS: u8;

    /// # Safety
    /// The host admitted the slice.
    unsafe fn from_slice(first: *mut Self::Element, length: usize, launch: &L) -> Self;
}

/// A parameter that crosses as an address.
#[doc(hidden)]
pub trait FromAddress<L>: Sized {
    type Element;

    /// # Safety
    /// The host admitted the array.
    unsafe fn from_address(first: *mut Self::Element, launch: &L) -> Self;
}

impl<L, T: Bits, S: FromLaunch<L>> FromSlice<L> for In<T, S> {
    type Element = T;

    const ACCESS: u8 = b'r';

    #[inline(always)]
    unsafe fn from_slice(first: *mut T, length: usize, launch: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, length, S::from_launch(launch)) }
    }
}

impl<L, T: Bits, S: FromLaunch<L>> FromSlice<L> for InOrder<T, S> {
    type Element = T;

    const ACCESS: u8 = b'-';

    #[inline(always)]
    unsafe fn from_slice(first: *mut T, length: usize, launch: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, length, S::from_launch(launch)) }
    }
}

impl<L: Has<C>, T: Bits, R, C> FromSlice<L> for Matrix<T, R, C> {
    type Element = T;

    const ACCESS: u8 = b'r';

    #[inline(always)]
    unsafe fn from_slice(first: *mut T, _: usize, launch: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, launch.value()) }
    }
}

impl<L, T: Bits, S: FromLaunch<L>> FromSlice<L> for Checked<T, S> {
    type Element = T;

    const ACCESS: u8 = b'-';

    #[inline(always)]
    unsafe fn from_slice(first: *mut T, length: usize, launch: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, length, S::from_launch(launch)) }
    }
}

impl<L, T: Bits, N> FromSlice<L> for Atomics<T, N> {
    type Element = T;

    const ACCESS: u8 = b'-';

    #[inline(always)]
    unsafe fn from_slice(first: *mut T, length: usize, _: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, length) }
    }
}

impl<L, T: Bits, S: FromLaunch<L>> FromAddress<L> for Out<T, S> {
    type Element = T;

    #[inline(always)]
    unsafe fn from_address(first: *mut T, launch: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first, S::from_launch(launch)) }
    }
}

impl<L, T: Bits> FromAddress<L> for Sum<T> {
    type Element = T;

    #[inline(always)]
    unsafe fn from_address(first: *mut T, _: &L) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(first) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::{Argument, Pass};

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::*;
    use crate::space::{Formula, Needed, Size, Space};
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::vec::Vec;
    use cuda_std::launch::{Refusal, Shape, Slice, SliceMut, Wire, Words};

    /// The host's argument type for a parameter of this type.
    #[doc(hidden)]
    pub trait Argument {
        type Argument<'a>;
    }

    /// The kernel, and the parameter's name, as refusals say them.
    type Names = (&'static str, &'static str);

    /// Passes the argument on the host, in a launch with the numbers `L`.
    #[doc(hidden)]
    pub trait Pass<L>: Argument {
        /// The parameters of the entry point.
        fn wires() -> Vec<Wire>;

        /// The clause of the contract about this parameter.
        fn clause(_name: &str) -> Option<String> {
            None
        }

        /// # Errors
        /// The argument breaks the contract.
        fn pass(
            argument: Self::Argument<'_>,
            names: Names,
            launch: &L,
            shape: &Shape,
            words: &mut Words,
        ) -> Result<(), Refusal>;
    }

    fn admit<L, S: Formula<L>>(
        found: usize,
        (kernel, parameter): Names,
        launch: &L,
        shape: &Shape,
    ) -> Result<(), Refusal> {
        let needed = S::needed(launch, shape);
        let found = found as u64;
        let fits = match needed {
            Some(Needed::Exactly(length)) => found == length,
            Some(Needed::AtLeast(length)) => found >= length,
            None => false,
        };
        if fits {
            return Ok(());
        }
        let value = match needed {
            Some(Needed::Exactly(length) | Needed::AtLeast(length)) => length.to_string(),
            None => "more than 2^64".to_string(),
        };
        let needs = format!("{}, which is {value}", S::formula());
        Err(Refusal::Length { kernel, parameter, needs, found })
    }

    macro_rules! arrays {
        ($($type:ident, $argument:ident, |$words:ident, $value:ident| $push:expr, $wires:expr;)*) => {$(
            impl<T: Bits, S: Space> Argument for $type<T, S> {
                type Argument<'a> = $argument<'a, T>;
            }

            impl<L, T: Bits, S: Formula<L>> Pass<L> for $type<T, S> {
                fn wires() -> Vec<Wire> {
                    $wires
                }

                fn clause(name: &str) -> Option<String> {
                    let (length, formula) = (format!("{name}.len()"), S::formula());
                    // The length that defines a name is whatever it is.
                    (formula != format!("== {length}")).then(|| format!("{length} {formula}"))
                }

                fn pass(
                    $value: $argument<'_, T>,
                    names: Names,
                    launch: &L,
                    shape: &Shape,
                    $words: &mut Words,
                ) -> Result<(), Refusal> {
                    admit::<L, S>($value.len(), names, launch, shape)?;
                    $push;
                    Ok(())
                }
            }
        )*};
    }

    arrays! {
        In, Slice, |words, slice| words.push_slice(&slice), vec![Wire::WORD, Wire::WORD];
        InOrder, Slice, |words, slice| words.push_slice(&slice), vec![Wire::WORD, Wire::WORD];
        Out, SliceMut, |words, slice| words.push(slice.address()), vec![Wire::WORD];
    }

    macro_rules! slices_of_any_length {
        ($([$($generic:tt)*] $type:ty, of $element:ty;)*) => {$(
            impl<$($generic)*> Argument for $type {
                type Argument<'a> = SliceMut<'a, $element>;
            }

            impl<L, $($generic)*> Pass<L> for $type {
                fn wires() -> Vec<Wire> {
                    vec![Wire::WORD, Wire::WORD]
                }

                fn pass(
                    slice: SliceMut<'_, $element>,
                    _: Names,
                    _: &L,
                    _: &Shape,
                    words: &mut Words,
                ) -> Result<(), Refusal> {
                    words.push_slice_mut(&slice);
                    Ok(())
                }
            }
        )*};
    }

    slices_of_any_length! {
        [T: Bits, S: Space] Checked<T, S>, of T;
        [T: Bits, N] Atomics<T, N>, of T;
    }

    impl<T: Bits, R, C> Argument for Matrix<T, R, C> {
        type Argument<'a> = Slice<'a, T>;
    }

    impl<L, T: Bits, R: 'static, C: 'static> Pass<L> for Matrix<T, R, C>
    where
        L: Size<R> + Size<C>,
    {
        fn wires() -> Vec<Wire> {
            vec![Wire::WORD, Wire::WORD]
        }

        fn clause(name: &str) -> Option<String> {
            <In<T, crate::space::AlongRows<R, C>> as Pass<L>>::clause(name)
        }

        fn pass(
            slice: Slice<'_, T>,
            names: Names,
            launch: &L,
            shape: &Shape,
            words: &mut Words,
        ) -> Result<(), Refusal> {
            <In<T, crate::space::AlongRows<R, C>> as Pass<L>>::pass(slice, names, launch, shape, words)
        }
    }

    impl<T: Bits> Argument for Sum<T> {
        type Argument<'a> = SliceMut<'a, T>;
    }

    impl<L, T: Bits> Pass<L> for Sum<T> {
        fn wires() -> Vec<Wire> {
            vec![Wire::WORD]
        }

        fn clause(name: &str) -> Option<String> {
            Some(format!("{name}.len() == 1"))
        }

        fn pass(
            slice: SliceMut<'_, T>,
            (kernel, parameter): Names,
            _: &L,
            _: &Shape,
            words: &mut Words,
        ) -> Result<(), Refusal> {
            if slice.len() != 1 {
                let found = slice.len() as u64;
                return Err(Refusal::Length { kernel, parameter, needs: "== 1".into(), found });
            }
            words.push(slice.address());
            Ok(())
        }
    }

    impl<T: Bits> Argument for T {
        type Argument<'a> = T;
    }

    impl<L, T: Bits> Pass<L> for T {
        fn wires() -> Vec<Wire> {
            vec![Wire::of::<T>()]
        }

        fn pass(value: T, _: Names, _: &L, _: &Shape, words: &mut Words) -> Result<(), Refusal> {
            words.push(value);
            Ok(())
        }
    }

    macro_rules! numbers {
        ($(
            $type:ident $(<$name:ident>)? from $wire:ty, [$($brand:ty)?], $needs:expr, |$value:ident| $admits:expr;
        )*) => {$(
            impl$(<$name>)? Argument for $type$(<$name>)? {
                type Argument<'a> = $wire;
            }

            impl<L, $($name)?> Pass<L> for $type$(<$name>)?
            where
                $(L: Size<$brand>)?
            {
                fn wires() -> Vec<Wire> {
                    vec![Wire::of::<$wire>()]
                }

                fn clause(name: &str) -> Option<String> {
                    let needs: Option<&str> = $needs;
                    needs.map(|needs| format!("{name}: {needs}"))
                }

                fn pass(
                    $value: $wire,
                    (kernel, parameter): Names,
                    launch: &L,
                    _: &Shape,
                    words: &mut Words,
                ) -> Result<(), Refusal> {
                    let _ = launch;
                    let needs: Option<&str> = $needs;
                    let refuse = |needs: String| {
                        Err(Refusal::Value { kernel, parameter, needs, found: $value.to_string() })
                    };
                    if !$admits {
                        return refuse(needs.unwrap_or_default().to_string());
                    }
                    $(
                        // A parameter whose type hides behind an alias defines no name. It is compared with the value
                        // of the name that the alias stands for.
                        if Size::<$brand>::size(launch) != $value as u64 {
                            return refuse(format!("the same number as `{}`", <L as Size<$brand>>::name()));
                        }
                    )?
                    words.push($value);
                    Ok(())
                }
            }
        )*};
    }

    numbers! {
        Extent<N> from u32, [N], Some("a number up to 2^31"), |value| value <= 1 << 31;
        Positive<N> from u32, [N], Some("a number from 1 to 2^31"), |value| (1..=1 << 31).contains(&value);
        Segmented<N> from u32, [N], Some("a multiple of 32 from 32 to 2^31"),
            |value| value.is_multiple_of(32) && (32..=1 << 31).contains(&value);
        Length<N> from usize, [N], None, |value| true;
        Width from u32, [], Some("2, 4, 8, 16 or 32"), |value| matches!(value, 2 | 4 | 8 | 16 | 32);
        PerBlock from usize, [PerBlock], Some("a number of elements up to 2^32"), |value| value <= 1 << 32;
    }
}
