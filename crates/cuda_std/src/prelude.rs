//! What most kernels use: `use cuda_std::prelude::*;`.
//!
//! `assert_eq!` and `assert_ne!` are not among it, other than in Rust-CUDA: today's compilers call such a name ambiguous, as
//! it is in Rust's own prelude too. Import `cuda_std::{assert_eq, assert_ne}` to have the values printed; Rust's own only
//! trap.

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

pub use crate::{kernel, thread};
#[cfg(target_arch = "nvptx64")]
pub use crate::{print, println};
