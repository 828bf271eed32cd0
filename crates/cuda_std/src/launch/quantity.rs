//! Numbers as the clauses of `#[kernel(requires(..))]` see them. Whole numbers are `u64`, slices have a `len()`, and
//! the launch's shape is `block`, `grid` and `threads`.

use core::fmt;

use super::{Pointer, PointerMut, Shape, Slice, SliceMut};

/// An argument as a clause sees it: a number, or something with a length.
pub trait Quantity {
    /// A number, or something with a length.
    type As;

    /// The argument as a clause sees it.
    fn quantity(&self) -> Self::As;
}

/// The length of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

impl Count {
    /// Elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a clause compares lengths")]
    pub fn len(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements", self.0)
    }
}

impl<T> Quantity for Slice<'_, T> {
    type As = Count;

    fn quantity(&self) -> Count {
        Count(self.len() as u64)
    }
}

impl<T> Quantity for SliceMut<'_, T> {
    type As = Count;

    fn quantity(&self) -> Count {
        Count(self.len() as u64)
    }
}

macro_rules! numbers {
    ($($type:ty => $as:ty;)*) => {$(
        impl Quantity for $type {
            type As = $as;

            #[allow(trivial_numeric_casts, reason = "some of the types are cast to themselves")]
            fn quantity(&self) -> $as {
                *self as $as
            }
        }
    )*};
}

numbers! {
    u8 => u64; u16 => u64; u32 => u64; u64 => u64; usize => u64;
    i8 => i64; i16 => i64; i32 => i64; i64 => i64; isize => i64;
    f32 => f64; f64 => f64;
}

impl Quantity for bool {
    type As = bool;

    fn quantity(&self) -> bool {
        *self
    }
}

impl<T: ?Sized> Quantity for Pointer<'_, T> {
    type As = u64;

    fn quantity(&self) -> u64 {
        self.address()
    }
}

impl<T: ?Sized> Quantity for PointerMut<'_, T> {
    type As = u64;

    fn quantity(&self) -> u64 {
        self.address()
    }
}

/// Blocks of a grid, threads of a block, or threads of a grid, along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    /// Along x, where the lanes of a warp are neighbours.
    pub x: u64,
    /// Along y.
    pub y: u64,
    /// Along z.
    pub z: u64,
}

impl Dimensions {
    /// The blocks of the grid.
    #[must_use]
    pub fn grid(shape: &Shape) -> Self {
        Self::from(shape.grid)
    }

    /// The threads of a block.
    #[must_use]
    pub fn block(shape: &Shape) -> Self {
        Self::from(shape.block)
    }

    /// The threads of the grid.
    #[must_use]
    pub fn threads(shape: &Shape) -> Self {
        let (grid, block) = (Self::grid(shape), Self::block(shape));
        Self { x: grid.x * block.x, y: grid.y * block.y, z: grid.z * block.z }
    }

    /// The product of the three axes.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.x * self.y * self.z
    }
}

impl From<[u32; 3]> for Dimensions {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x: x.into(), y: y.into(), z: z.into() }
    }
}

impl fmt::Display for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.y, self.z) {
            (1, 1) => write!(f, "{}", self.x),
            (_, 1) => write!(f, "{}x{}", self.x, self.y),
            _ => write!(f, "{}x{}x{}", self.x, self.y, self.z),
        }
    }
}
