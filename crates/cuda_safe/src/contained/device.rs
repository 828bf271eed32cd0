//! [`Contained`] as an auto trait. A file of its own, since a stable compiler warns of the syntax where it reads it.

use crate::bits::Bits;
use crate::block::PerThread;
use crate::constant::Constant;
use crate::input::{In, Matrix};
use crate::output::{Atomics, Checked, Out, Sum};
use crate::space::Space;
use crate::tile::{Layout, Tile};
use core::cell::UnsafeCell;

/// What a thread's code may capture; see the [module](self).
///
/// # Safety
/// Through a shared reference to such a value, no value that differs between threads can be left where the block's code
/// can read it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` would carry a value that differs between threads out into the block's code",
    label = "captured by the code of a thread",
    note = "hand it in as a `PerThread` value, and take the new value from the closure's result"
)]
pub unsafe auto trait Contained {}

impl<T: ?Sized> !Contained for UnsafeCell<T> {}
impl<T: ?Sized> !Contained for &mut T {}
impl<T: ?Sized> !Contained for *const T {}
impl<T: ?Sized> !Contained for *mut T {}

// SAFETY: reading is all that it can do.
unsafe impl<T: Bits, S: Space> Contained for In<T, S> {}
// SAFETY: reading is all that it can do.
unsafe impl<T: Bits, R, C> Contained for Matrix<T, R, C> {}
// SAFETY: it is written by thread's code, and the block's code cannot read it.
unsafe impl<T: Bits, S: Space> Contained for Out<T, S> {}
// SAFETY: as for `Out`.
unsafe impl<T: Bits, S: Space> Contained for Checked<T, S> {}
// SAFETY: as for `Out`.
unsafe impl<T: Bits, N> Contained for Atomics<T, N> {}
// SAFETY: as for `Out`.
unsafe impl<T> Contained for Sum<T> {}
// SAFETY: the block's code cannot read it.
unsafe impl<T: Bits, L: Layout, S> Contained for Tile<T, L, S> {}
// SAFETY: its value can be read with a `Thread` alone.
unsafe impl<T> Contained for PerThread<T> {}
// SAFETY: nothing on the device writes it.
unsafe impl<T> Contained for Constant<T> {}
