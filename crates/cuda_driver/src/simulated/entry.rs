//! The boundary between C and the simulated driver: entry points that never unwind, and their pointer arguments.
//!
//! The driver API's callers pass pointers that are null or can be written (read). The types here carry that guarantee
//! from the entry point's signature to the pointer's use, and return `CUDA_ERROR_INVALID_VALUE` for null.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::panic::AssertUnwindSafe;

use super::codes::{INVALID_VALUE, Outcome, UNKNOWN};
use super::fork;
use crate::Code;

/// Defines entry points, and `find` and `find_per_thread`, which return their addresses by name.
macro_rules! entry_points {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver API's names and signatures")]
            extern "C" fn $name($($argument: $kind),*) -> $crate::Code {
                $crate::simulated::entry::guard(stringify!($name), move || $body)
            }
        )*

        /// Returns the address of the entry point of this name, if this file defines it.
        pub(super) fn find(name: &str) -> Option<*const ()> {
            $(if name == stringify!($name) {
                return Some($name as *const ());
            })*
            None
        }

        /// Returns the address of that entry point's form whose default stream is the calling thread's.
        pub(super) fn find_per_thread(name: &str) -> Option<*const ()> {
            $(if name == stringify!($name) {
                #[allow(clippy::too_many_arguments, reason = "the driver API's signatures")]
                extern "C" fn form($($argument: $kind),*) -> $crate::Code {
                    $crate::simulated::entry::with_per_thread_stream(|| $name($($argument),*))
                }
                return Some(form as *const ());
            })*
            None
        }
    };
}

thread_local! {
    /// True if the next entry point that this thread enters is a form with the per-thread default stream.
    static NEXT_IS_PER_THREAD: Cell<bool> = const { Cell::new(false) };
    /// True if the entry point that this thread is in is such a form.
    static IS_PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Calls an entry point with the calling thread's default stream as default.
pub(super) fn with_per_thread_stream(call: impl FnOnce() -> Code) -> Code {
    NEXT_IS_PER_THREAD.set(true);
    call()
}

/// Returns true if stream 0 of the current entry point is the thread's default stream.
pub(super) fn is_per_thread() -> bool {
    IS_PER_THREAD.get()
}

/// Restores [`is_per_thread`] for the entry point that called back into the program, if one did.
struct Outer(bool);

impl Drop for Outer {
    fn drop(&mut self) {
        IS_PER_THREAD.set(self.0);
    }
}

/// Functions that can be called before `cuInit`, and in a forked child.
const NEEDS_NO_DRIVER: [&str; 5] =
    ["cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress", "cuGetProcAddress_v2"];

/// Runs an entry point's work. A panic, which would be a defect of the simulated driver, ends here.
pub(super) fn guard(name: &str, work: impl FnOnce() -> Outcome) -> Code {
    if fork::is_child() && !NEEDS_NO_DRIVER.contains(&name) {
        fork::say_once(name);
        return Code::NOT_INITIALIZED;
    }
    // A host function that the driver calls may call the driver, in either form.
    let _outer = Outer(IS_PER_THREAD.replace(NEXT_IS_PER_THREAD.take()));
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => Code::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => {
            super::say(format_args!(
                "{name} failed within the simulated driver itself and returns CUDA_ERROR_UNKNOWN (999); the panic \
                 above says where. This is a fault of Coalesce, not of the program."
            ));
            UNKNOWN
        }
    }
}

/// A pointer to a result: null, or valid for writing one `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Out<T>(*mut T);

// SAFETY: it is an address and a promise of the program's, which holds for whichever of its threads.
unsafe impl<T> Send for Out<T> {}

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub(super) fn set(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller of the entry point passes null or a pointer that can be written. C does not promise
        // more alignment than its own types have, nor does this need it.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the result if the pointer is not null.
    pub(super) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as above.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Fails for null, in entry points that must not act before they know that they can return the result.
    pub(super) fn wanted(self) -> Outcome<Self> {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(self) }
    }

    /// Returns the null pointer.
    pub(super) const fn null() -> Self {
        Out(std::ptr::null_mut())
    }

    /// Creates a pointer from an address that the program passed as a number, or as `void *` among others.
    pub(super) fn at_address(address: usize) -> Self {
        Out(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Returns the pointer to an element, which must exist.
    pub(super) fn at(self, index: usize) -> Self {
        Out(self.0.wrapping_add(index))
    }

    /// Returns true if the pointer is null.
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Reads the current value, for parameters that are both input and output.
    pub(super) fn get(self) -> Outcome<T> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: as above; in such parameters the caller has put a value.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Writes elements from the pointer's target on. The caller checks that there is room for them.
    pub(super) fn set_all(self, values: &[T]) -> Outcome {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        for (index, value) in values.iter().enumerate() {
            // SAFETY: the entry point's caller states the room, which `values` was cut to.
            unsafe { self.0.add(index).write_unaligned(*value) };
        }
        Ok(())
    }

    /// Casts to a pointer to another type.
    pub(super) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl Out<c_char> {
    /// Writes a text with a NUL at its end, truncated to `room` bytes.
    pub(super) fn set_text(self, text: &str, room: usize) -> Outcome {
        if room == 0 {
            return Err(INVALID_VALUE);
        }
        let kept = &text.as_bytes()[..text.len().min(room - 1)];
        let bytes: Vec<c_char> = kept.iter().chain(&[0]).map(|&byte| byte as c_char).collect();
        self.set_all(&bytes)
    }
}

/// A pointer to an argument: null, or valid for reading as many `T` as the entry point's other arguments say.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// Returns the null pointer.
    pub(super) const fn null() -> Self {
        In(std::ptr::null())
    }

    /// Reads the first element.
    pub(super) fn get(self) -> Outcome<T> {
        self.at(0)
    }

    /// Reads an element, which must exist.
    pub(super) fn at(self, index: usize) -> Outcome<T> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller of the entry point passes null or a pointer to as many elements as it says.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// Reads `count` elements; null is valid for none.
    pub(super) fn all(self, count: usize) -> Outcome<Vec<T>> {
        (0..count).map(|index| self.at(index)).collect()
    }

    /// Returns true if the pointer is null.
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Casts to a pointer to another type.
    pub(super) fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }
}

impl In<In<u8>> {
    /// Creates a pointer to pointers that are stored as numbers.
    pub(super) fn from_slice(pointers: &[usize]) -> Self {
        In(pointers.as_ptr().cast())
    }
}

impl In<u8> {
    /// Returns the pointer advanced by bytes.
    pub(super) fn byte_offset(self, bytes: usize) -> Self {
        In(self.0.wrapping_add(bytes))
    }

    /// Reads the bytes before the first NUL.
    pub(super) fn until_nul(self) -> Outcome<Vec<u8>> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the entry points that call this ask for a text that ends with a NUL.
        Ok(unsafe { CStr::from_ptr(self.0.cast()) }.to_bytes().to_vec())
    }

    /// Creates a pointer from an address that a parameter gave as a number or as `void *`.
    pub(super) fn at_address(address: usize) -> Self {
        In(std::ptr::with_exposed_provenance(address))
    }
}

impl In<c_char> {
    /// Reads a C string; `CUDA_ERROR_INVALID_VALUE` if it is not UTF-8, as names of kernels and files here are.
    pub(super) fn text(self) -> Outcome<String> {
        let bytes = In::<u8>(self.0.cast()).until_nul()?;
        String::from_utf8(bytes).map_err(|_| INVALID_VALUE)
    }
}

/// A function of the program that the driver calls.
pub(super) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_seam() {
        assert_eq!(guard("cuTest", || panic!("on purpose")), UNKNOWN);
        assert_eq!(guard("cuTest", || Err(INVALID_VALUE)), INVALID_VALUE);
        assert_eq!(guard("cuTest", || Ok(())), Code::SUCCESS);
    }

    #[test]
    fn null_is_an_invalid_value_and_texts_are_cut() {
        assert_eq!(Out::<u32>::null().set(1), Err(INVALID_VALUE));
        assert_eq!(In::<u32>::null().get(), Err(INVALID_VALUE));
        let mut text = [1 as c_char; 6];
        let out = Out(text.as_mut_ptr());
        assert_eq!(out.set_text("modelled", 0), Err(INVALID_VALUE));
        assert_eq!(out.set_text("modelled", 5), Ok(()));
        assert_eq!(text.map(|letter| letter as u8), *b"mode\0\x01");
        assert_eq!(In(text.as_ptr()).text().as_deref(), Ok("mode"));
    }
}
