//! The names that most kernels use: `use cuda_std::prelude::*;`.
//!
//! `assert_eq!` and `assert_ne!` are Rust's own, which end the launch and print nothing: a macro of another crate by these
//! names would be ambiguous beside Rust's prelude. [`cuda_std::io`](crate::io) has the ones that print both values.

pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::format;
pub use alloc::rc::Rc;
pub use alloc::string::{String, ToString};
pub use alloc::vec::Vec;

#[cfg(feature = "half")]
pub use half::f16;

// On the host these are `std`'s own, which a crate with `std` has in scope anyway: ours would be ambiguous there.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{print, println};

pub use crate::{assert_eq, assert_ne, kernel, thread};
#[cfg(target_arch = "nvptx64")]
pub use crate::{print, println};
