//! Text from a kernel: `print!`, `println!`, and assertions that print both values.
//!
//! The driver takes text through `vprintf` into a buffer of 1 MiB (unless the host sets another size), and the host sees it at
//! the next synchronisation. The arguments are formatted by Rust on the GPU, in a small array of the thread, without
//! heap; the text then goes out as the argument of `%s`, so that a `%` in it is a `%`. Text of up to 255 bytes goes out in
//! one piece; longer text of several threads may mix. All of this is for debugging: formatting takes thousands of
//! instructions and local memory.
//!
//! **Floats need stack.** A thread has 1 KiB unless the host sets another limit. That is enough for integers and strings;
//! Rust's formatting of a float takes about 3 KiB (5 KiB with a precision, `{:.3}`), and a launch that runs out fails with an
//! illegal address. Before it the host raises the limit: `cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192)`, in `cust`
//! `context::legacy::CurrentContext::set_resource_limit(ResourceLimit::StackSize, 8192)`.

use core::fmt;

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
mod system_call {
    use core::ffi::c_void;
    unsafe extern "C" {
        pub(super) fn vprintf(format: *const u8, arguments: *const c_void) -> i32;
        pub(super) fn __assertfail(
            message: *const u8,
            file: *const u8,
            line: u32,
            function: *const u8,
            character_size: usize,
        );
    }
}

/// The driver's `printf`: a format, and the arguments after one another as C would lay them out in a struct.
///
/// # Safety
/// `format` is a string that ends with a 0 byte, and `valist` points to the arguments that it names.
#[doc(hidden)]
#[gpu_only]
#[inline(always)]
pub unsafe fn vprintf(format: *const u8, valist: *const core::ffi::c_void) -> i32 {
    // SAFETY: promised by the caller.
    unsafe { system_call::vprintf(format, valist) }
}

/// The driver's failed assertion: it prints the place and the thread, and ends the launch.
///
/// # Safety
/// The pointers are to strings of characters of that size that end with a 0.
#[doc(hidden)]
#[gpu_only]
#[inline(always)]
pub unsafe fn __assertfail(
    message: *const u8,
    file: *const u8,
    line: u32,
    function: *const u8,
    char_size: usize,
) -> ! {
    // SAFETY: promised by the caller.
    unsafe { system_call::__assertfail(message, file, line, function, char_size) };
    crate::intrinsic::trap()
}

/// Bytes of text in one piece, without its final 0.
#[cfg(any(test, target_arch = "nvptx64"))]
const PIECE: usize = 255;

/// Collects text and hands it on in pieces that end with a 0 byte.
#[cfg(any(test, target_arch = "nvptx64"))]
struct Pieces<F: FnMut(&[u8; PIECE + 1])> {
    bytes: [u8; PIECE + 1],
    length: usize,
    send: F,
}

#[cfg(any(test, target_arch = "nvptx64"))]
impl<F: FnMut(&[u8; PIECE + 1])> Pieces<F> {
    fn new(send: F) -> Self {
        Self { bytes: [0; PIECE + 1], length: 0, send }
    }

    fn flush(&mut self) {
        if self.length > 0 {
            self.bytes[self.length] = 0;
            (self.send)(&self.bytes);
            self.length = 0;
        }
    }
}

#[cfg(any(test, target_arch = "nvptx64"))]
impl<F: FnMut(&[u8; PIECE + 1])> fmt::Write for Pieces<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A 0 byte would end the text early for its reader.
        for byte in text.bytes().filter(|&byte| byte != 0) {
            if self.length == PIECE {
                self.flush();
            }
            self.bytes[self.length] = byte;
            self.length += 1;
        }
        Ok(())
    }
}

/// Formats and prints. Not for direct use: [`print!`](crate::print) calls it.
#[doc(hidden)]
#[gpu_only]
#[inline(never)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut pieces = Pieces::new(|piece| {
        let arguments = [piece.as_ptr()];
        // SAFETY: the format names one string, which is the piece, and `vprintf` reads it before it returns.
        unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
    });
    // Only an argument's own `Display` can fail; what it wrote before is printed.
    let _ = fmt::write(&mut pieces, text);
    pieces.flush();
}

/// Formats and prints with a line end. Not for direct use: [`println!`](crate::println) calls it.
#[doc(hidden)]
#[gpu_only]
#[inline(always)]
pub fn print_line(text: fmt::Arguments<'_>) {
    print(format_args!("{text}\n"));
}

/// Prints both sides, then fails. Not for direct use: the assertion macros call it.
#[doc(hidden)]
#[gpu_only]
#[inline(never)]
pub fn assertion_failed(
    assertion: &'static core::ffi::CStr,
    left: &dyn fmt::Debug,
    right: &dyn fmt::Debug,
    message: Option<fmt::Arguments<'_>>,
    file: &'static str,
    line: u32,
) -> ! {
    if let Some(message) = message {
        print(format_args!("  left: {left:?}\n right: {right:?}\n{message}\n"));
    } else {
        print(format_args!("  left: {left:?}\n right: {right:?}\n"));
    }
    // SAFETY: all are strings that end with a 0 byte; the macro makes `file` so.
    unsafe { __assertfail(assertion.as_ptr().cast(), file.as_ptr(), line, c"kernel".as_ptr().cast(), 1) }
}

/// Prints from a kernel, formatted as `std`'s macro does.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!($($argument)*))
    };
}

/// Prints a line from a kernel, formatted as `std`'s macro does.
#[macro_export]
macro_rules! println {
    () => {
        $crate::io::print(::core::format_args!("\n"))
    };
    ($($argument:tt)*) => {
        $crate::io::print_line(::core::format_args!($($argument)*))
    };
}

pub use crate::{__assert_eq as assert_eq, __assert_ne as assert_ne};

/// Ends the launch with both values, file, line and thread printed unless they are equal.
///
/// Its path is `cuda_std::io::assert_eq`. At the root of the crate stands Rust's own, which ends the launch and prints
/// nothing: another macro of that name would be ambiguous wherever `use cuda_std::*` is.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_relation!(==, c"left == right", $left, $right, ::core::option::Option::None)
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_relation!(
            ==, c"left == right", $left, $right, ::core::option::Option::Some(::core::format_args!($($message)+))
        )
    };
}

/// Ends the launch with both values, file, line and thread printed if they are equal.
///
/// Its path is `cuda_std::io::assert_ne`, for the reason that [`assert_eq`](crate::io::assert_eq) has.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_relation!(!=, c"left != right", $left, $right, ::core::option::Option::None)
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_relation!(
            !=, c"left != right", $left, $right, ::core::option::Option::Some(::core::format_args!($($message)+))
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assert_relation {
    ($relation:tt, $text:expr, $left:expr, $right:expr, $message:expr) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left $relation *right) {
                    $crate::io::assertion_failed(
                        $text, left, right, $message, ::core::concat!(::core::file!(), "\0"), ::core::line!(),
                    );
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::fmt::Write;

    use super::{PIECE, Pieces};

    fn pieces(text: &[&str]) -> Vec<String> {
        let mut sent = Vec::new();
        let mut pieces = Pieces::new(|piece| {
            let end = piece.iter().position(|&byte| byte == 0).expect("each piece ends with a 0 byte");
            sent.push(String::from_utf8(piece[..end].to_vec()).expect("the test's text is ASCII"));
        });
        text.iter().for_each(|text| pieces.write_str(text).expect("collecting text cannot fail"));
        pieces.flush();
        sent
    }

    #[test]
    fn short_text_is_one_piece() {
        assert_eq!(pieces(&["100% of ", "5\n"]), ["100% of 5\n"]);
        assert_eq!(pieces(&[""]), [""; 0]);
    }

    #[test]
    fn long_text_is_cut_and_complete() {
        let text = "0123456789".repeat(60);
        let sent = pieces(&[&text, "end"]);
        assert_eq!(sent.iter().map(String::len).collect::<Vec<_>>(), [PIECE, PIECE, 603 - 2 * PIECE]);
        assert_eq!(sent.concat(), text + "end");
    }

    #[test]
    fn a_zero_byte_is_left_out() {
        assert_eq!(pieces(&["a\0b"]), ["ab"]);
    }
}
