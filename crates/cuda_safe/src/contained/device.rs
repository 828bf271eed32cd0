//! [`Contained`] as an auto trait. A file of its own, since a stable compiler warns of the syntax where it reads it.

use crate::atomic::Atomics;
use crate::bits::Bits;
use crate::block::PerThread;
use crate::constant::Constant;
use crate::input::{In, InOrder, Matrix};
use crate::output::{Checked, Out, Sum};
use crate::space::Space;
use crate::tile::{Layout, Tile};
use core::cell::{Cell, RefCell, UnsafeCell};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Values that a thread's code may capture; see the [module](self).
///
/// # Safety
/// Through a shared reference to such a value, no value that differs between threads can be left where the block's code
/// can read it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` would carry a value that differs between threads out into the block's code",
    label = "captured by the code of a thread",
    note = "hand a value in as a `PerThread` value, and take the new one from the closure's result",
    note = "barriers, shuffles and writes to tiles are the block's code: they stand between its calls of `each`, not in them, \
            where some threads might not reach them"
)]
pub unsafe auto trait Contained {}

impl<T: ?Sized> !Contained for UnsafeCell<T> {}
// Without these, types that contain it would be refused with an error that names the cell inside.
impl<T: ?Sized> !Contained for Cell<T> {}
impl<T: ?Sized> !Contained for RefCell<T> {}
impl !Contained for AtomicBool {}
impl !Contained for AtomicI32 {}
impl !Contained for AtomicU32 {}
impl !Contained for AtomicI64 {}
impl !Contained for AtomicU64 {}
impl !Contained for AtomicUsize {}
impl<T: ?Sized> !Contained for &mut T {}
impl<T: ?Sized> !Contained for *const T {}
impl<T: ?Sized> !Contained for *mut T {}

// SAFETY: reading is all that it can do.
unsafe impl<T: Bits, S: Space> Contained for In<T, S> {}
// SAFETY: reading is all that it can do.
unsafe impl<T: Bits, S: Space> Contained for InOrder<T, S> {}
// SAFETY: reading is all that it can do.
unsafe impl<T: Bits, R, C> Contained for Matrix<T, R, C> {}
// SAFETY: it is written by thread's code, and the block's code cannot read it.
unsafe impl<T: Bits, S: Space> Contained for Out<T, S> {}
// SAFETY: as for `Out`.
unsafe impl<T: Bits, S: Space> Contained for Checked<T, S> {}
// SAFETY: what it returns takes a `Thread`.
unsafe impl<T: Bits, N> Contained for Atomics<T, N> {}
// SAFETY: as for `Out`.
unsafe impl<T> Contained for Sum<T> {}
// SAFETY: the block's code cannot read it.
unsafe impl<T: Bits, L: Layout, S> Contained for Tile<T, L, S> {}
// SAFETY: its value can be read with a `Thread` alone.
unsafe impl<T> Contained for PerThread<T> {}
// SAFETY: nothing on the device writes it.
unsafe impl<T> Contained for Constant<T> {}
