//! The compiled tier: kernels as vector code of this computer.
//!
//! A launch starts in the interpreter. Once a kernel has executed enough instructions ([`tier`]), it is compiled in the
//! background, and warps whose lanes are together execute it from the next block on. The interpreter remains the
//! oracle: it executes whatever code does not, one instruction at a time through the columns of the frame
//! ([`emit`]) or a warp as a whole ([`enter`]), and the results, counters and faults are the same to the bit.
//!
//! The way of a kernel: [`graph`] finds blocks and live registers, [`regions`] what code executes while lanes are apart,
//! [`columns`] what registers and constants instructions read, [`shapes`] what is uniform and affine. [`emit`] writes LLVM's text of blocks and [`masked`] of divergent regions, by
//! [`arithmetic`], [`collectives`], [`access`], [`partial`], [`reductions`] (with [`sums`]), [`report`] and [`transfers`], in the
//! forms of [`value`]. [`llvm`] makes machine code of it, or finds it where an earlier process left it
//! ([`code_cache`]), [`code`] keeps it, and [`enter`] runs it.

mod access;
mod apart;
mod arithmetic;
mod block;
mod callbacks;
mod code;
mod code_cache;
mod collectives;
mod columns;
mod comparisons;
mod context;
mod conversions;
mod counters;
mod emit;
mod enter;
mod floats;
mod forced;
mod graph;
mod homes;
mod integers;
mod llvm;
mod masked;
mod partial;
mod reductions;
mod regions;
mod report;
mod settle;
mod shape;
mod shapes;
mod specials;
mod sums;
mod tier;
mod transfers;
mod value;
mod values;
mod variables;
mod ways;

pub(super) use block::Whole;
pub(super) use code::Native;
pub(super) use emit::Key;
pub(super) use enter::{After, Left, State};
pub use tier::{Tier, compiler};
pub(super) use tier::{Tiers, Variant, finish_compilations};
