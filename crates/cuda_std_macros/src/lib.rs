//! The attribute macros of `cuda_std`: what turns a Rust function into a kernel and a Rust static into a variable in one
//! of the GPU's memory spaces.
//!
//! A procedural macro cannot say "address space 3" or "at most 256 threads a block" in Rust. So each macro here leaves a
//! marker, a static or a section name, that `cuda_builder` reads out of the compiled module, acts on and removes:
//!
//! | marker | left by | what the builder makes of it |
//! | --- | --- | --- |
//! | section `.cuda.kernel` | [`macro@kernel`] | launch bounds, clusters, `noalias readonly` parameters |
//! | section `.cuda.shared`, `.cuda.constant`, `.cuda.global`, `.cuda.managed` | [`macro@address_space`] | the variable's address space |
//! | section `.cuda.export` | [`macro@externally_visible`] | a function that stays in the PTX |
//!
//! Use them through `cuda_std`, which re-exports them: the code that they write names `::cuda_std`.

use proc_macro::TokenStream;
use syn::parse_macro_input;

mod address_space;
mod export;
mod gpu_only;
mod kernel;
#[cfg(test)]
mod tests;

/// Makes an `unsafe fn` a kernel: an entry point that the host launches.
///
/// ```
/// use cuda_std::{kernel, thread};
///
/// #[kernel(launch_bounds(256, 2))]
/// pub unsafe fn saxpy(factor: f32, x: &[f32], y: *mut f32) {
///     let index = thread::index_1d() as usize;
///     if index < x.len() {
///         // SAFETY: the host passes a `y` as long as `x`.
///         unsafe { *y.add(index) += factor * x[index] }
///     }
/// }
/// # fn main() {}
/// ```
///
/// **Parameters** are `Copy` values, references and slices. The PTX parameters are those of the function in order, but a
/// slice is two of them, a pointer and then a `usize` length, which is how `cust::launch!` passes a device slice.
/// A shared slice `&[T]` is promised not to be written during the launch (as any `&[T]` in Rust), so its elements are read
/// through the read-only path (`ld.global.nc`), unless `T` has interior mutability. A `GridConstant<T>` is a value that stays where
/// the launch put it, aligned to 64 bytes: the host passes a `T`.
///
/// **Options**
/// - `launch_bounds(threads)` or `launch_bounds(threads, min_blocks)`: no launch has more than `threads` threads a block
///   (PTX `.maxntid`), and at least `min_blocks` blocks should fit on one multiprocessor at a time (`.minnctapersm`). Both
///   may be constant expressions. A launch with larger blocks fails.
/// - `arch = "90a"`: the oldest architecture with the kernel's instructions, as `compute_90a` without its prefix.
///   `cuda_builder` leaves the kernel out of PTX for devices that lack them: `"90a"` is in PTX for `compute_90a` alone, `"80"`
///   in that for `compute_80` and every later one.
/// - `cluster(x)` or `cluster(x, y, z)`: the kernel runs in clusters of that many blocks along each axis, 8 together at most
///   (PTX `.explicitcluster` and `.reqnctapercluster`, `compute_90`). A launch needs no attribute, and its grid must be a multiple of the cluster. The
///   numbers may be constant expressions. Add `arch = "90"` if the crate is also built for older architectures.
/// - `grid_dim = 1d`, `block_dim = 1d` (`2d`, `3d`): accepted as Rust-CUDA accepts them, without effect.
///
/// **On the host** the function stays an ordinary `unsafe fn`, so that a kernel crate is also a normal dependency; there
/// the device functions that it calls panic.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as kernel::Options);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&options, function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Places a static in one of the GPU's memory spaces; on the host it stays an ordinary static.
///
/// - `shared`: one copy a block, on the multiprocessor, undefined at the start. Write
///   `static mut TILE: [[MaybeUninit<f32>; 33]; 32] = [const { [MaybeUninit::uninit(); 33] }; 32];`.
/// - `constant`: 64 KiB at most, cached for reads of the same address by a whole warp. If the host is to write it, it must be
///   `#[no_mangle] pub static mut`: the compiler folds the initial value of any other static into the code.
/// - `global`: device memory, one copy a module (where a static lies without this attribute too).
/// - `managed`: device memory that the host may also touch by address.
///
/// `local` is refused: it is the memory of one thread, which is where an ordinary `let` already puts what it must.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(space.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Keeps a `#[no_mangle]` function or static in the PTX although no kernel uses it, so that the host can look it up by name.
#[proc_macro_attribute]
pub fn externally_visible(options: TokenStream, item: TokenStream) -> TokenStream {
    export::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Gives a function that works only on the GPU a host twin, which panics and says so.
///
/// The body is compiled for `nvptx64` alone, so it may use what exists only there.
#[proc_macro_attribute]
pub fn gpu_only(options: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The README's example, which is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
