//! Launches that run while the host goes on, without letting a buffer go while it is in use.

use std::marker::PhantomData;

use cust::memory::{DeviceBuffer, DeviceCopy, UnifiedBuffer};
use cust::stream::Stream;

use crate::error::LaunchError;

/// Invariant in the lifetime: a loan cannot pass for a longer or a shorter one.
type Invariant<'scope> = PhantomData<fn(&'scope ()) -> &'scope ()>;

/// A region whose launches run on one stream in order, while the host goes on; see [`scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    stream: &'env Stream,
    // Invariant in both: a scope cannot pass for a longer or shorter one.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// A buffer that the launches of a scope may write, and nobody else may touch.
#[derive(Debug)]
pub struct Lent<'scope, T> {
    address: u64,
    length: usize,
    borrow: PhantomData<&'scope mut [T]>,
    scope: Invariant<'scope>,
}

/// A buffer that the launches of a scope may read, and the host and other scopes too.
#[derive(Debug)]
pub struct Shared<'scope, T> {
    address: u64,
    length: usize,
    borrow: PhantomData<&'scope [T]>,
    scope: Invariant<'scope>,
}

macro_rules! borrowed {
    ($($name:ident)*) => {$(
        impl<T> $name<'_, T> {
            pub(crate) fn address(&self) -> u64 {
                self.address
            }

            /// Elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Whether there is no element.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }
        }
    )*};
}

borrowed! { Lent Shared }

/// Device memory that a scope can borrow. No other crate can implement it, since it cannot name it.
pub trait Buffer<T> {
    /// The address of its first element, and its length.
    #[doc(hidden)]
    fn place(&self) -> (u64, usize);
}

impl<T: DeviceCopy> Buffer<T> for DeviceBuffer<T> {
    fn place(&self) -> (u64, usize) {
        (self.as_device_ptr().as_raw(), self.len())
    }
}

impl<T: DeviceCopy> Buffer<T> for UnifiedBuffer<T> {
    fn place(&self) -> (u64, usize) {
        (self.as_ptr() as u64, self.len())
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Lends a buffer to the scope's launches, which may write it, until the scope ends.
    pub fn lend<T: DeviceCopy>(&'scope self, buffer: &'env mut impl Buffer<T>) -> Lent<'scope, T> {
        let (address, length) = buffer.place();
        Lent { address, length, borrow: PhantomData, scope: PhantomData }
    }

    /// Shares a buffer with the scope's launches, which may read it, until the scope ends.
    pub fn share<T: DeviceCopy>(&'scope self, buffer: &'env impl Buffer<T>) -> Shared<'scope, T> {
        let (address, length) = buffer.place();
        Shared { address, length, borrow: PhantomData, scope: PhantomData }
    }

    /// The stream that the launches run on.
    #[must_use]
    pub fn stream(&self) -> &'env Stream {
        self.stream
    }
}

/// Runs `body`, which queues launches on the stream, then waits for the stream, even if `body` panics. Buffers come
/// from outside and are lent or shared for all of it:
///
/// ```no_run
/// # use cuda_launch::{Launch, LaunchError, Module, SafeKernel, Shape, scope};
/// # use cust::{memory::DeviceBuffer, stream::Stream};
/// # fn twice<K>(module: &Module, stream: &Stream, shape: Shape, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>)
/// # -> Result<(), LaunchError>
/// # where for<'a> K: SafeKernel<Arguments<'a> = (cuda_launch::Slice<'a, f32>, cuda_launch::SliceMut<'a, f32>)> {
/// scope(stream, |scope| {
///     let (x, mut y) = (scope.share(x), scope.lend(y));
///     K::enqueue(module, scope, shape, (&x, &mut y))?;
///     K::enqueue(module, scope, shape, (&x, &mut y))
/// })?
/// # }
/// ```
///
/// # Errors
/// The driver says that the stream's work failed.
pub fn scope<'env, R>(
    stream: &'env Stream,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> Result<R, LaunchError> {
    /// Waits when `body` panics, before the buffers that its launches use can be freed.
    struct Wait<'a>(&'a Stream);

    impl Drop for Wait<'_> {
        fn drop(&mut self) {
            // A stream whose work failed has no work left.
            let _ = self.0.synchronize();
        }
    }

    let wait = Wait(stream);
    let result = body(&Scope { stream, lifetimes: PhantomData });
    std::mem::forget(wait);
    stream.synchronize()?;
    Ok(result)
}

/// Arguments that stay until the scope ends, and are used on its stream alone.
///
/// # Safety
/// They do, whatever becomes of the value itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may be gone, or be used by something else, before the launch ends",
    label = "not lent to the scope",
    note = "take `scope.share(&buffer)` for what the kernel reads, `scope.lend(&mut buffer)` for what it writes"
)]
pub unsafe trait InScope<'scope> {}

// SAFETY: the scope has borrowed the buffer, and the loan is invariant in the scope.
unsafe impl<'scope, T> InScope<'scope> for &Lent<'scope, T> {}
// SAFETY: as above.
unsafe impl<'scope, T> InScope<'scope> for &mut Lent<'scope, T> {}
// SAFETY: as above.
unsafe impl<'scope, T> InScope<'scope> for &Shared<'scope, T> {}

macro_rules! values {
    ($($value:ty)*) => {$(
        // SAFETY: a value is copied into the launch.
        unsafe impl InScope<'_> for $value {}
    )*};
}

values! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool }

macro_rules! tuples {
    ($(($($part:ident)*);)*) => {$(
        // SAFETY: each of them does.
        unsafe impl<'scope, $($part: InScope<'scope>),*> InScope<'scope> for ($($part,)*) {}
    )*};
}

tuples! {
    ();
    (P1);
    (P1 P2);
    (P1 P2 P3);
    (P1 P2 P3 P4);
    (P1 P2 P3 P4 P5);
    (P1 P2 P3 P4 P5 P6);
    (P1 P2 P3 P4 P5 P6 P7);
    (P1 P2 P3 P4 P5 P6 P7 P8);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9 P10);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13);
    (P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14);
}
