//! # Instructions: latency and throughput
//!
//! An instruction has two costs. Its *latency* is the time until another one can use the result: a chain, in which each instruction
//! takes the result of the one before it, runs at that pace however idle the multiprocessor is. Its *throughput* is how many of
//! them a multiprocessor completes per clock: with many independent ones in flight the latency is hidden, and the units that
//! execute the instruction are the limit.
//!
//! A multiprocessor of compute capability 9.0 issues four instructions of warps per clock, which are 128 of threads. It has as many
//! units for additions and products in single precision, half as many for integers and for double precision, and an eighth for
//! special functions, most conversions and bit counts. Latencies are 4 to 8 clocks for arithmetic, and 20 to 40 for special
//! functions and for what passes between lanes. Some instructions of PTX are several of the machine: an addition in 64 bits is
//! two, a division ten to twenty.
//!
//! Each class of instructions has two kernels:
//!
//! - `chain_*`: one chain per thread. One warp alone measures the latency.
//! - `rate_*`: [`CHAINS`] chains per thread. A multiprocessor full of warps measures the throughput.
//!
//! | class | instructions |
//! | --- | --- |
//! | `add_f32`, `fma_f32`, `add_f64`, `fma_f64` | `add.rn` and `fma.rn` in either precision |
//! | `fma_f16x2` | `fma.rn.f16x2`, two numbers in half precision |
//! | `add_s32`, `add_s64`, `mad_s32`, `mul_s64` | `add`, `mad.lo` and `mul.lo` of integers |
//! | `lop3`, `shf`, `bfe` | `lop3.b32`, `shf.l.wrap.b32` (a funnel shift), `bfe.u32` (a bit field) |
//! | `popc`, `clz` | `popc.b32`, `clz.b32` |
//! | `min_max_s32`, `select` | a `min.s32` and a `max.s32`; a `setp.lt.u32` and a `selp.b32` |
//! | `dp4a` | `dp4a.s32.s32`, four products of bytes and their sum |
//! | `rsqrt`, `ex2`, `cos` | the approximations (`.approx.ftz.f32`) |
//! | `add_lg2`, `add_rcp` | an `add.rn.f32` and the approximation |
//! | `s32_f32`, `f32_s32` | `cvt.rn.f32.s32`; `cvt.rzi.s32.f32` and back again |
//! | `div_u32`, `div_f32`, `sqrt_f32` | `div.u32`, `div.rn.f32`, `sqrt.rn.f32` |
//! | `shuffle`, `vote`, `match`, `redux` | `shfl.sync.idx.b32`, `vote.sync.any.pred`, `match.any.sync.b32`, `redux.sync.add.s32` |
//! | `barrier`, `warp_barrier` | `bar.sync` of the block, whose cost depends on its warps; `bar.warp.sync`, a `NOP` where lanes are together. They have a chain alone |
//!
//! The assembler makes `IADD3` and `IMAD.IADD` alternately of `add.s32`, and `HFMA2` and `HFMA2.MMA` of `fma.rn.f16x2`, so that two units
//! share the work.
//!
//! A figure is per instruction; `add_lg2` and `add_rcp` count as one, the pairs of `min_max_s32`, `select` and `f32_s32` as two.
//!
//! The instructions are inline PTX, since the compiler would compute at once what a chain computes in many steps. A step takes the
//! results of the last two steps and two operands that the launch passes. The operands change places after each step, so that the
//! assembler does not join two steps either. The machine code shows that it joins none: `cargo xtask sass chain_add_s32`.
//!
//! The kernels are here because no type says that all lanes of a warp reach an instruction that combines them. They do: blocks
//! are whole warps, and all threads of a launch take the same steps.
//!
//! # Launch
//! Blocks are one-dimensional and whole warps, of at most [`MOST_THREADS`] threads. Of the two results that a chain begins with, the
//! earlier one is the operand `b` and the later one of the thread's `seeds`; `destination` receives what it ends with. There are
//! `passes * rounds` rounds, in each of which the chains of a thread together take eight times [`SHORT`], [`LONG`] or [`SEQUENCE`]
//! steps. `cycles` receives the clock cycles of the last pass, which begins at a barrier of the block. The passes before it fill
//! the instruction cache.

#![expect(clippy::too_many_arguments, reason = "data, operands and repetitions of a chain")]

pub mod classes;

use classes::{
    AddF32, AddF64, AddLg2, AddRcp, AddS32, AddS64, Barrier, Bfe, Clz, Cos, DivF32, DivU32, Dp4a, Ex2,
    F32S32, FmaF16x2, FmaF32, FmaF64, Lop3, MadS32, Match, MinMax, MulS64, Popc, Redux, Rsqrt, S32F32,
    Select, Shf, Shuffle, SqrtF32, Vote, WarpBarrier,
};
use cuda_safe::shape::Warps;
use cuda_safe::unroll::repeat;
use cuda_safe::{Bits, EachThread, In, Out, Thread, kernel};
use cuda_std::misc::clock;
use cuda_std::thread::sync_threads;

/// Chains per thread of the kernels that measure throughput.
pub const CHAINS: usize = 4;

/// The most threads of a block.
pub const MOST_THREADS: u32 = 1024;

/// An eighth of the steps that the chains of a thread take together per round, of instructions of a few clocks.
pub const SHORT: u32 = 16;

/// The same of instructions of some dozens of clocks, beside which those of the loop count less.
pub const LONG: u32 = 4;

/// The same of steps that are sequences of instructions.
pub const SEQUENCE: u32 = 2;

/// A class of instructions. Its operands and results are `V`, the bits of what it computes with.
pub trait Class<V> {
    /// Instructions of a step that the class is about.
    const COUNT: u32;

    /// Executes the instructions.
    fn step(of: Operands<V>) -> V;
}

/// What a step may compute with.
#[derive(Clone, Copy, Debug)]
pub struct Operands<V> {
    /// The result of the step before the last.
    pub before: V,
    /// The result of the last step.
    pub last: V,
    /// An operand of the launch.
    pub a: V,
    /// The other.
    pub b: V,
}

/// Takes the steps of some chains.
// PTX chain_add_f32, rate_add_f32: contains 128x add.rn.f32
// PTX chain_fma_f32, rate_fma_f32: contains 128x fma.rn.f32
// PTX chain_add_f64, rate_add_f64: contains 128x add.rn.f64
// PTX chain_fma_f64, rate_fma_f64: contains 128x fma.rn.f64
// PTX chain_fma_f16x2, rate_fma_f16x2: contains 128x fma.rn.f16x2
// PTX chain_add_s32, rate_add_s32: contains 128x add.s32
// PTX chain_add_s64, rate_add_s64: contains 128x add.s64
// PTX chain_mad_s32, rate_mad_s32: contains 128x mad.lo.s32
// PTX chain_mul_s64, rate_mul_s64: contains 128x mul.lo.s64
// PTX chain_lop3, rate_lop3: contains 128x lop3.b32
// PTX chain_shf, rate_shf: contains 128x shf.l.wrap.b32
// PTX chain_min_max_s32, rate_min_max_s32: contains 128x max.s32
// PTX chain_select, rate_select: contains 128x selp.b32
// PTX chain_dp4a, rate_dp4a: contains 128x dp4a.s32.s32
// PTX chain_popc, rate_popc: contains 32x popc.b32
// PTX chain_clz, rate_clz: contains 32x clz.b32
// PTX chain_bfe, rate_bfe: contains 32x bfe.u32
// PTX chain_add_rcp, rate_add_rcp: contains 32x rcp.approx.ftz.f32
// PTX chain_rsqrt, rate_rsqrt: contains 32x rsqrt.approx.ftz.f32
// PTX chain_ex2, rate_ex2: contains 32x ex2.approx.ftz.f32
// PTX chain_add_lg2, rate_add_lg2: contains 32x lg2.approx.ftz.f32
// PTX chain_cos, rate_cos: contains 32x cos.approx.ftz.f32
// PTX chain_s32_f32, rate_s32_f32: contains 32x cvt.rn.f32.s32
// PTX chain_f32_s32, rate_f32_s32: contains 32x cvt.rzi.s32.f32
// PTX chain_div_u32, rate_div_u32: contains 16x div.u32
// PTX chain_div_f32, rate_div_f32: contains 16x div.rn.f32
// PTX chain_sqrt_f32, rate_sqrt_f32: contains 16x sqrt.rn.f32
// PTX chain_shuffle, rate_shuffle: contains 32x shfl.sync.idx.b32
// PTX chain_vote, rate_vote: contains 512x vote.sync.any.pred
// PTX chain_match, rate_match: contains 32x match.any.sync.b32
// PTX chain_redux, rate_redux compute_80+: contains 32x redux.sync.add
// PTX chain_barrier: contains 33x bar.sync
// PTX chain_warp_barrier: contains 32x bar.warp.sync
#[kernel(
    launch_bounds(MOST_THREADS),
    chain_add_f32 = <AddF32, u32, 1, SHORT>,
    rate_add_f32 = <AddF32, u32, CHAINS, SHORT>,
    chain_fma_f32 = <FmaF32, u32, 1, SHORT>,
    rate_fma_f32 = <FmaF32, u32, CHAINS, SHORT>,
    chain_add_f64 = <AddF64, u64, 1, SHORT>,
    rate_add_f64 = <AddF64, u64, CHAINS, SHORT>,
    chain_fma_f64 = <FmaF64, u64, 1, SHORT>,
    rate_fma_f64 = <FmaF64, u64, CHAINS, SHORT>,
    chain_fma_f16x2 = <FmaF16x2, u32, 1, SHORT>,
    rate_fma_f16x2 = <FmaF16x2, u32, CHAINS, SHORT>,
    chain_add_s32 = <AddS32, u32, 1, SHORT>,
    rate_add_s32 = <AddS32, u32, CHAINS, SHORT>,
    chain_add_s64 = <AddS64, u64, 1, SHORT>,
    rate_add_s64 = <AddS64, u64, CHAINS, SHORT>,
    chain_mad_s32 = <MadS32, u32, 1, SHORT>,
    rate_mad_s32 = <MadS32, u32, CHAINS, SHORT>,
    chain_mul_s64 = <MulS64, u64, 1, SHORT>,
    rate_mul_s64 = <MulS64, u64, CHAINS, SHORT>,
    chain_lop3 = <Lop3, u32, 1, SHORT>,
    rate_lop3 = <Lop3, u32, CHAINS, SHORT>,
    chain_shf = <Shf, u32, 1, SHORT>,
    rate_shf = <Shf, u32, CHAINS, SHORT>,
    chain_min_max_s32 = <MinMax, u32, 1, SHORT>,
    rate_min_max_s32 = <MinMax, u32, CHAINS, SHORT>,
    chain_select = <Select, u32, 1, SHORT>,
    rate_select = <Select, u32, CHAINS, SHORT>,
    chain_dp4a = <Dp4a, u32, 1, SHORT>,
    rate_dp4a = <Dp4a, u32, CHAINS, SHORT>,
    chain_popc = <Popc, u32, 1, LONG>,
    rate_popc = <Popc, u32, CHAINS, LONG>,
    chain_clz = <Clz, u32, 1, LONG>,
    rate_clz = <Clz, u32, CHAINS, LONG>,
    chain_bfe = <Bfe, u32, 1, LONG>,
    rate_bfe = <Bfe, u32, CHAINS, LONG>,
    chain_add_rcp = <AddRcp, u32, 1, LONG>,
    rate_add_rcp = <AddRcp, u32, CHAINS, LONG>,
    chain_rsqrt = <Rsqrt, u32, 1, LONG>,
    rate_rsqrt = <Rsqrt, u32, CHAINS, LONG>,
    chain_ex2 = <Ex2, u32, 1, LONG>,
    rate_ex2 = <Ex2, u32, CHAINS, LONG>,
    chain_add_lg2 = <AddLg2, u32, 1, LONG>,
    rate_add_lg2 = <AddLg2, u32, CHAINS, LONG>,
    chain_cos = <Cos, u32, 1, LONG>,
    rate_cos = <Cos, u32, CHAINS, LONG>,
    chain_s32_f32 = <S32F32, u32, 1, LONG>,
    rate_s32_f32 = <S32F32, u32, CHAINS, LONG>,
    chain_f32_s32 = <F32S32, u32, 1, LONG>,
    rate_f32_s32 = <F32S32, u32, CHAINS, LONG>,
    chain_div_u32 = <DivU32, u32, 1, SEQUENCE>,
    rate_div_u32 = <DivU32, u32, CHAINS, SEQUENCE>,
    chain_div_f32 = <DivF32, u32, 1, SEQUENCE>,
    rate_div_f32 = <DivF32, u32, CHAINS, SEQUENCE>,
    chain_sqrt_f32 = <SqrtF32, u32, 1, SEQUENCE>,
    rate_sqrt_f32 = <SqrtF32, u32, CHAINS, SEQUENCE>,
    chain_shuffle = <Shuffle, u32, 1, LONG>,
    rate_shuffle = <Shuffle, u32, CHAINS, LONG>,
    chain_vote = <Vote, u32, 1, SEQUENCE>,
    rate_vote = <Vote, u32, CHAINS, SEQUENCE>,
    chain_match = <Match, u32, 1, LONG>,
    rate_match = <Match, u32, CHAINS, LONG>,
    chain_redux = <Redux, u32, 1, LONG>,
    rate_redux = <Redux, u32, CHAINS, LONG>,
    chain_barrier = <Barrier, u32, 1, LONG>,
    chain_warp_barrier = <WarpBarrier, u32, 1, LONG>,
)]
pub fn chains<C: Class<V>, V: Bits, const COUNT: usize, const STEPS: u32>(
    thread: Thread<Warps>,
    seeds: In<[V; COUNT], EachThread>,
    destination: Out<[V; COUNT], EachThread>,
    cycles: Out<u32, EachThread>,
    a: V,
    b: V,
    rounds: u32,
    passes: u32,
) {
    let mut chains = Chains { before: [b; COUNT], last: seeds.at(thread.own()), a, b };
    let (mut took, mut pass) = (0, passes);
    while pass > 0 {
        sync_threads();
        let (begin, mut round) = (clock(), rounds);
        while round > 0 {
            chains = repeat::<8, _>(chains, |chains, eighth| match eighth as usize * COUNT {
                ..8 => repeat::<STEPS, _>(chains, |chains, _| chains.step::<C>()),
                _ => chains,
            });
            round -= 1;
        }
        took = clock() - begin;
        pass -= 1;
    }
    cycles.put(thread.own(), took as u32);
    destination.put(thread.own(), chains.last);
}

/// Chains of a thread between two steps.
struct Chains<V, const COUNT: usize> {
    before: [V; COUNT],
    last: [V; COUNT],
    a: V,
    b: V,
}

impl<V: Bits, const COUNT: usize> Chains<V, COUNT> {
    /// Takes a step of each chain.
    #[inline(always)]
    fn step<C: Class<V>>(self) -> Self {
        let Self { before, last, a, b } = self;
        let next = core::array::from_fn(
            #[inline(always)]
            |chain| C::step(Operands { before: before[chain], last: last[chain], a, b }),
        );
        Self { before: last, last: next, a: b, b: a }
    }
}
