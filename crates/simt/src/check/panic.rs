//! Finds out which panic a `trap` was.
//!
//! Kernels are built without panic messages: all that is left of a panic is a `trap` in the function of Rust's library
//! that would have printed it. Its line tells which function that was.

use super::place::{Place, SourceLine};

/// Functions of `library/core/src/panicking.rs` of Rust 1.95 with their first and last lines, and their messages. The
/// toolchain is pinned by rust-toolchain.toml; a test compares this with the source that comes with it.
///
/// Nearly all panics end in `panic_fmt`, whatever their message, and get none from here.
pub const PANICKING: [(u32, u32, &str, Option<&str>); 3] = [
    (60, 81, "panic_fmt", None),
    (95, 125, "panic_nounwind_fmt", Some("undefined behaviour was about to happen")),
    (266, 272, "panic_bounds_check", Some("index out of bounds")),
];

/// Messages of functions that have names of their own in the PTX.
const NAMED: [(&str, &str); 14] = [
    ("panic_bounds_check", "index out of bounds"),
    ("panic_misaligned_pointer_dereference", "misaligned pointer dereference"),
    ("panic_null_pointer_dereference", "null pointer dereference occurred"),
    ("add_overflow", "attempt to add with overflow"),
    ("sub_overflow", "attempt to subtract with overflow"),
    ("mul_overflow", "attempt to multiply with overflow"),
    ("div_by_zero", "attempt to divide by zero"),
    ("rem_by_zero", "attempt to calculate the remainder with a divisor of zero"),
    ("panic_const", "arithmetic overflow, or division by zero"),
    ("slice_index_fail", "slice index out of range"),
    ("unwrap_failed", "unwrap of a value that is not there"),
    ("expect_failed", "expect of a value that is not there"),
    ("assert_failed", "assertion failed"),
    ("unreachable_display", "entered unreachable code"),
];

/// Kinds of panics of other files of the library.
const FILES: [(&str, &str); 6] = [
    ("core/src/slice/index.rs", "slice index out of range"),
    ("core/src/slice/mod.rs", "slice operation out of range"),
    ("core/src/option.rs", "unwrap or expect of a `None`"),
    ("core/src/result.rs", "unwrap or expect of an `Err`"),
    ("core/src/cell.rs", "already borrowed"),
    ("alloc/src/raw_vec/mod.rs", "allocation failed"),
];

/// Returns the kind of a panic; None if the place does not tell.
pub(crate) fn kind(place: &Place) -> Option<&'static str> {
    let functions = place.source.iter().filter_map(|line| line.function.as_deref());
    let mut functions = functions.chain([place.function.as_str()]);
    let named = functions
        .find_map(|function| NAMED.iter().find(|(name, _)| function.contains(name)).map(|(_, says)| *says));
    named.or_else(|| place.source.iter().find_map(of_line))
}

fn of_line(line: &SourceLine) -> Option<&'static str> {
    let file = line.file.replace('\\', "/");
    if file.ends_with("core/src/panicking.rs") {
        let function = PANICKING.iter().find(|(first, last, ..)| (*first..=*last).contains(&line.line));
        return function.and_then(|(.., says)| *says);
    }
    FILES.iter().find(|(name, _)| file.ends_with(name)).map(|(_, says)| *says)
}
