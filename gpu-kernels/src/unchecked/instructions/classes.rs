//! The classes of instructions that [`chains`](super::chains) are made of.
//!
//! On the host their steps panic: its reference is written by other means.

use super::{Class, Operands};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;
use cuda_std::thread::sync_threads;
use cuda_std::warp::{WarpReductionOp, sync_warp, warp_reduce};

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

/// Classes whose steps are inline PTX: `{0}` is the result, and the operands follow in their order. The options lack
/// `pure` where lanes are combined.
macro_rules! classes {
    (options $options:tt; $(
        $(#[$documentation:meta])*
        $name:ident($register:ident $value:ty, $count:literal) = $template:expr, ($($operand:ident),+);
    )*) => {$(
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Class<$value> for $name {
            const COUNT: u32 = $count;

            #[gpu_only]
            #[inline(always)]
            fn step(of: Operands<$value>) -> $value {
                let result: $value;
                // SAFETY: the instructions compute in registers. All lanes of a warp take the same steps, as those need that
                // combine lanes.
                unsafe {
                    asm!(
                        $template, out($register) result, $(in($register) of.$operand),+,
                        options $options
                    );
                }
                result
            }
        }
    )*};
}

/// Eight votes, each on the opposite of the vote before it.
#[cfg(target_arch = "nvptx64")]
macro_rules! eight_votes {
    () => {
        "vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff; \
         vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff; \
         vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff; \
         vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff; "
    };
}

classes! {
    options(pure, nomem, nostack, preserves_flags);

    /// `add.rn.f32`.
    AddF32(reg32 u32, 1) = "add.rn.f32 {0}, {1}, {2};", (last, a);
    /// `fma.rn.f32`.
    FmaF32(reg32 u32, 1) = "fma.rn.f32 {0}, {1}, {2}, {3};", (last, a, b);
    /// `add.rn.f64`.
    AddF64(reg64 u64, 1) = "add.rn.f64 {0}, {1}, {2};", (last, a);
    /// `fma.rn.f64`.
    FmaF64(reg64 u64, 1) = "fma.rn.f64 {0}, {1}, {2}, {3};", (last, a, b);
    /// `fma.rn.f16x2`, two numbers in half precision.
    FmaF16x2(reg32 u32, 1) = "fma.rn.f16x2 {0}, {1}, {2}, {3};", (last, a, b);
    /// `add.s32`.
    AddS32(reg32 u32, 1) = "add.s32 {0}, {1}, {2};", (before, last);
    /// `add.s64`.
    AddS64(reg64 u64, 1) = "add.s64 {0}, {1}, {2};", (before, last);
    /// `mad.lo.s32`.
    MadS32(reg32 u32, 1) = "mad.lo.s32 {0}, {1}, {2}, {3};", (last, a, b);
    /// `mul.lo.s64`.
    MulS64(reg64 u64, 1) = "mul.lo.s64 {0}, {1}, {2};", (last, a);
    /// `lop3.b32`: each bit of the step before or of an operand, as the bit of the last step says.
    Lop3(reg32 u32, 1) = "lop3.b32 {0}, {1}, {2}, {3}, 0xCA;", (last, before, a);
    /// `shf.l.wrap.b32`, a funnel shift.
    Shf(reg32 u32, 1) = "shf.l.wrap.b32 {0}, {1}, {2}, {3};", (before, last, a);
    /// `min.s32`, and `max.s32` of what it gives.
    MinMax(reg32 u32, 2) = "min.s32 {0}, {1}, {2}; max.s32 {0}, {0}, {3};", (last, a, before);
    /// `setp.lt.u32` and `selp.b32`: one of the operands, as a comparison says.
    Select(reg32 u32, 2) =
        "{{ .reg .pred p; setp.lt.u32 p, {1}, {2}; selp.b32 {0}, {2}, {3}, p; }}", (last, a, b);
    /// `dp4a.s32.s32`.
    Dp4a(reg32 u32, 1) = "dp4a.s32.s32 {0}, {1}, {2}, {3};", (last, a, b);
    /// `popc.b32`.
    Popc(reg32 u32, 1) = "popc.b32 {0}, {1};", (last);
    /// `clz.b32`.
    Clz(reg32 u32, 1) = "clz.b32 {0}, {1};", (last);
    /// `bfe.u32` of bits that the operands name.
    Bfe(reg32 u32, 1) = "bfe.u32 {0}, {1}, {2}, {3};", (last, a, b);
    /// `rcp.approx.ftz.f32`, behind an addition: the assembler removes two reciprocals in a row.
    AddRcp(reg32 u32, 1) = "add.rn.f32 {0}, {1}, {2}; rcp.approx.ftz.f32 {0}, {0};", (last, a);
    /// `rsqrt.approx.ftz.f32`.
    Rsqrt(reg32 u32, 1) = "rsqrt.approx.ftz.f32 {0}, {1};", (last);
    /// `ex2.approx.ftz.f32`, of the opposite number: that is a modifier of its operand.
    Ex2(reg32 u32, 1) = "neg.f32 {0}, {1}; ex2.approx.ftz.f32 {0}, {0};", (last);
    /// `lg2.approx.ftz.f32`, behind an addition that keeps its operand above 1.
    AddLg2(reg32 u32, 1) = "add.rn.f32 {0}, {1}, {2}; lg2.approx.ftz.f32 {0}, {0};", (last, a);
    /// `cos.approx.ftz.f32`.
    Cos(reg32 u32, 1) = "cos.approx.ftz.f32 {0}, {1};", (last);
    /// `cvt.rn.f32.s32`.
    S32F32(reg32 u32, 1) = "cvt.rn.f32.s32 {0}, {1};", (last);
    /// `cvt.rzi.s32.f32`, and `cvt.rn.f32.s32` back.
    F32S32(reg32 u32, 2) = "cvt.rzi.s32.f32 {0}, {1}; cvt.rn.f32.s32 {0}, {0};", (last);
    /// `div.u32` of an operand by the result before.
    DivU32(reg32 u32, 1) = "div.u32 {0}, {2}, {1};", (last, a);
    /// `div.rn.f32` of an operand by the result before.
    DivF32(reg32 u32, 1) = "div.rn.f32 {0}, {2}, {1};", (last, a);
    /// `sqrt.rn.f32`.
    SqrtF32(reg32 u32, 1) = "sqrt.rn.f32 {0}, {1};", (last);
}

classes! {
    options(nomem, nostack, preserves_flags);

    /// `shfl.sync.idx.b32`: the value of the lane that the value itself names.
    Shuffle(reg32 u32, 1) = "shfl.sync.idx.b32 {0}, {1}, {1}, 31, 0xffffffff;", (last);
    /// 32 times `vote.sync.any.pred`, which begin with a comparison and end with a selection.
    Vote(reg32 u32, 32) = concat!(
        "{{ .reg .pred p; setp.ne.u32 p, {1}, 0; ",
        eight_votes!(), eight_votes!(), eight_votes!(), eight_votes!(),
        "selp.u32 {0}, 0, 1, p; }}"
    ), (last);
    /// `match.any.sync.b32`.
    Match(reg32 u32, 1) = "match.any.sync.b32 {0}, {1}, 0xffffffff;", (last);
}

/// `redux.sync.add.s32`, which is a loop of shuffles below compute capability 8.0.
#[derive(Clone, Copy, Debug)]
pub struct Redux;

impl Class<u32> for Redux {
    const COUNT: u32 = 1;

    #[inline(always)]
    fn step(of: Operands<u32>) -> u32 {
        // SAFETY: all lanes of a warp take the same steps.
        unsafe { warp_reduce(ALL, of.last, WarpReductionOp::Add) }
    }
}

/// `bar.sync`, beside which an addition counts the steps.
#[derive(Clone, Copy, Debug)]
pub struct Barrier;

impl Class<u32> for Barrier {
    const COUNT: u32 = 1;

    #[inline(always)]
    fn step(of: Operands<u32>) -> u32 {
        sync_threads();
        of.last.wrapping_add(1)
    }
}

/// `bar.warp.sync`, beside which an addition counts the steps. Where all lanes are known to be together it becomes a `NOP`.
#[derive(Clone, Copy, Debug)]
pub struct WarpBarrier;

impl Class<u32> for WarpBarrier {
    const COUNT: u32 = 1;

    #[inline(always)]
    fn step(of: Operands<u32>) -> u32 {
        // SAFETY: all lanes of a warp take the same steps.
        unsafe { sync_warp(ALL) }
        of.last.wrapping_add(1)
    }
}
