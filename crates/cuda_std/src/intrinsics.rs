//! The functions of CUDA's `libdevice`, by its names without the prefix `__nv_`: `rsqrtf`, `dadd_rd`, `mulhi`.
//!
//! There is no `libdevice` here. Each function is the instruction of its meaning where PTX has one, and otherwise code of
//! the crate `libm` or the few lines here: so results can differ from `libdevice`'s in the last place, and are the same on
//! the host. In Rust-CUDA all of them are `unsafe`; here only those with pointers are, and an `unsafe` block around one of
//! the others is a warning. `i32` and `i64` stand for C's unsigned types too, as there: the functions with a `u` in front
//! take and return their bits.
//!
//! | module's part | functions | on the host |
//! | --- | --- | --- |
//! | [`math`](self#functions) | `acos` to `yn`, `f64`; with an `f` behind, `f32` | the same |
//! | fast | `fast_*`: the special function unit's approximations | full precision |
//! | rounded | `dadd_rd` to `fsub_rz`: arithmetic with the rounding in the name | `_rn` only |
//! | convert | `double2int_rd` to `ull2float_rz`, and those of `bfloat16` | the same |
//! | integer | `abs` to `usad` | the same |
//!
//! The rounding is `_rn` to nearest, ties to even; `_rd` down; `_ru` up; `_rz` towards zero.

mod convert;
mod fast;
mod integer;
mod math;
mod rounded;

pub use convert::*;
pub use fast::*;
pub use integer::*;
pub use math::*;
pub use rounded::*;
