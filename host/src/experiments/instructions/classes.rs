//! The kernels: what each chain begins with, and what it must give.

use super::reference::{
    Accuracy::{Exact, Near},
    Reference,
    Step::{Lane, Warp},
    by_halves, dot, field, halves, matches, votes,
};
use super::{Kernel, Measured};
use crate::{
    experiments::{KernelInfo, Work},
    verify::Tolerance,
};
use gpu_kernels::unchecked::instructions::{self as kernels, Class, LONG, SEQUENCE, SHORT, classes};

/// The classes of a quick run.
pub(super) const QUICK: [&str; 9] =
    ["fma_f32", "fma_f64", "add_s32", "mad_s32", "rsqrt", "popc", "div_f32", "shuffle", "barrier"];

/// Chains that approach a fixed point, so that the errors of approximations do not add up.
const NEAR: Reference<u32> = Reference {
    a: 0,
    b: 0,
    seed: |lane, chain| (0.5 + lane as f32 / 32.0 + chain as f32 / 128.0).to_bits(),
    step: Lane(|of| of.last),
    accuracy: Near(Tolerance { absolute: 1e-5, relative: 0.0 }),
};

/// Chains whose seeds are mixed bits.
const BITS: Reference<u32> = Reference {
    a: 0x2545_f491,
    b: 0x9e37_79b9,
    seed: |lane, chain| (lane * 4 + chain + 1).wrapping_mul(0x9e37_79b1),
    step: Lane(|of| of.last),
    accuracy: Exact,
};

/// The same in 64 bits.
const LONG_BITS: Reference<u64> = Reference {
    a: 0x2545_f491_4f6c_dd1d,
    b: 0x9e37_79b9_7f4a_7c15,
    seed: |lane, chain| u64::from(lane * 4 + chain + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9),
    step: Lane(|of| of.last),
    accuracy: Exact,
};

/// Chains in single precision whose every step is exact or rounded correctly.
const FLOATS: Reference<u32> = Reference {
    a: 0.5_f32.to_bits(),
    b: 0.75_f32.to_bits(),
    seed: |lane, chain| (1.0 + lane as f32 + chain as f32 / 4.0).to_bits(),
    step: Lane(|of| of.last),
    accuracy: Exact,
};

/// The same in double precision.
const DOUBLES: Reference<u64> = Reference {
    a: 0.5_f64.to_bits(),
    b: 0.75_f64.to_bits(),
    seed: |lane, chain| (1.0 + f64::from(lane) + f64::from(chain) / 4.0).to_bits(),
    step: Lane(|of| of.last),
    accuracy: Exact,
};

macro_rules! kernel {
    ($kernel:ident, $of:ident, $class:ident<$value:ident>, $steps:ident, $reference:expr) => {{
        const REFERENCE: Reference<$value> = $reference;
        const STEPS: u32 = 8 * $steps;
        Kernel {
            info: KernelInfo::of::<kernels::$kernel>(),
            of: Measured::$of,
            per_round: STEPS * <classes::$class as Class<$value>>::COUNT,
            buffers: |threads, loops| REFERENCE.buffers(threads, Measured::$of.chains(), STEPS, loops),
            work: |loops| {
                Work::kernel::<kernels::$kernel>(move |buffers| {
                    let (seeds, results, cycles) = (buffers.read(0), buffers.write(1), buffers.write(2));
                    (seeds, results, cycles, REFERENCE.a, REFERENCE.b, loops.rounds, loops.passes)
                })
            },
        }
    }};
}

macro_rules! kernels {
    ($($chain:ident, $rate:ident, $class:ident<$value:ident>, $steps:ident, $reference:expr;)*) => {
        /// All kernels.
        pub(super) static KERNELS: &[Kernel] = &[
            $(
                kernel!($chain, Latency, $class<$value>, $steps, $reference),
                kernel!($rate, Throughput, $class<$value>, $steps, $reference),
            )*
            kernel!(chain_barrier, Barrier, Barrier<u32>, LONG, COUNTED),
            kernel!(chain_warp_barrier, Barrier, WarpBarrier<u32>, LONG, COUNTED),
        ];
    };
}

/// Barriers, which only count.
const COUNTED: Reference<u32> = Reference { step: Lane(|of| of.last.wrapping_add(1)), ..BITS };

kernels! {
    chain_add_f32, rate_add_f32, AddF32<u32>, SHORT, Reference {
        b: (-0.5_f32).to_bits(),
        step: Lane(|of| (f32::from_bits(of.last) + f32::from_bits(of.a)).to_bits()),
        ..FLOATS
    };
    chain_fma_f32, rate_fma_f32, FmaF32<u32>, SHORT, Reference {
        step: Lane(|of| f32::from_bits(of.last).mul_add(f32::from_bits(of.a), f32::from_bits(of.b)).to_bits()),
        ..FLOATS
    };
    chain_add_f64, rate_add_f64, AddF64<u64>, SHORT, Reference {
        b: (-0.5_f64).to_bits(),
        step: Lane(|of| (f64::from_bits(of.last) + f64::from_bits(of.a)).to_bits()),
        ..DOUBLES
    };
    chain_fma_f64, rate_fma_f64, FmaF64<u64>, SHORT, Reference {
        step: Lane(|of| f64::from_bits(of.last).mul_add(f64::from_bits(of.a), f64::from_bits(of.b)).to_bits()),
        ..DOUBLES
    };
    // 1 - x, and then x - 1: no step is rounded.
    chain_fma_f16x2, rate_fma_f16x2, FmaF16x2<u32>, SHORT, Reference {
        a: 0xbc00_bc00,
        b: 0x3c00_3c00,
        seed: |lane, chain| halves(lane as f32 / 32.0, 1.0 - chain as f32 / 8.0),
        step: Lane(|of| by_halves(of, f32::mul_add)),
        accuracy: Exact,
    };
    chain_add_s32, rate_add_s32, AddS32<u32>, SHORT, Reference {
        step: Lane(|of| of.before.wrapping_add(of.last)),
        ..BITS
    };
    chain_add_s64, rate_add_s64, AddS64<u64>, SHORT, Reference {
        step: Lane(|of| of.before.wrapping_add(of.last)),
        ..LONG_BITS
    };
    chain_mad_s32, rate_mad_s32, MadS32<u32>, SHORT, Reference {
        step: Lane(|of| of.last.wrapping_mul(of.a).wrapping_add(of.b)),
        ..BITS
    };
    chain_mul_s64, rate_mul_s64, MulS64<u64>, SHORT, Reference {
        step: Lane(|of| of.last.wrapping_mul(of.a)),
        ..LONG_BITS
    };
    chain_lop3, rate_lop3, Lop3<u32>, SHORT, Reference {
        step: Lane(|of| of.last & of.before | !of.last & of.a),
        ..BITS
    };
    chain_shf, rate_shf, Shf<u32>, SHORT, Reference {
        a: 7,
        b: 13,
        step: Lane(|of| of.last << of.a | of.before >> (32 - of.a)),
        ..BITS
    };
    chain_min_max_s32, rate_min_max_s32, MinMax<u32>, SHORT, Reference {
        step: Lane(|of| (of.last as i32).min(of.a as i32).max(of.before as i32) as u32),
        ..BITS
    };
    chain_select, rate_select, Select<u32>, SHORT, Reference {
        a: 10,
        b: 3,
        step: Lane(|of| if of.last < of.a { of.a } else { of.b }),
        ..BITS
    };
    chain_dp4a, rate_dp4a, Dp4a<u32>, SHORT, Reference { step: Lane(dot), ..BITS };
    chain_popc, rate_popc, Popc<u32>, LONG, Reference { step: Lane(|of| of.last.count_ones()), ..BITS };
    chain_clz, rate_clz, Clz<u32>, LONG, Reference { step: Lane(|of| of.last.leading_zeros()), ..BITS };
    chain_bfe, rate_bfe, Bfe<u32>, LONG, Reference { a: 1, b: 31, step: Lane(field), ..BITS };
    chain_add_rcp, rate_add_rcp, AddRcp<u32>, LONG, Reference {
        a: 1_f32.to_bits(),
        b: 2_f32.to_bits(),
        step: Lane(|of| (1.0 / (f32::from_bits(of.last) + f32::from_bits(of.a))).to_bits()),
        ..NEAR
    };
    chain_rsqrt, rate_rsqrt, Rsqrt<u32>, LONG, Reference {
        step: Lane(|of| (1.0 / f32::from_bits(of.last).sqrt()).to_bits()),
        ..NEAR
    };
    chain_ex2, rate_ex2, Ex2<u32>, LONG, Reference {
        step: Lane(|of| (-f32::from_bits(of.last)).exp2().to_bits()),
        ..NEAR
    };
    chain_add_lg2, rate_add_lg2, AddLg2<u32>, LONG, Reference {
        a: 4_f32.to_bits(),
        b: 5_f32.to_bits(),
        step: Lane(|of| (f32::from_bits(of.last) + f32::from_bits(of.a)).log2().to_bits()),
        ..NEAR
    };
    chain_cos, rate_cos, Cos<u32>, LONG, Reference {
        step: Lane(|of| f32::from_bits(of.last).cos().to_bits()),
        ..NEAR
    };
    chain_s32_f32, rate_s32_f32, S32F32<u32>, LONG, Reference {
        step: Lane(|of| (of.last as i32 as f32).to_bits()),
        ..BITS
    };
    chain_f32_s32, rate_f32_s32, F32S32<u32>, LONG, Reference {
        seed: |lane, chain| (1000.0 * lane as f32 - 7000.3 + chain as f32).to_bits(),
        step: Lane(|of| (f32::from_bits(of.last) as i32 as f32).to_bits()),
        ..FLOATS
    };
    chain_div_u32, rate_div_u32, DivU32<u32>, SEQUENCE, Reference {
        a: 0xffff_fff0,
        b: 0xffff_fff0,
        seed: |lane, chain| 1 + lane + 32 * chain,
        step: Lane(|of| of.a / of.last),
        accuracy: Exact,
    };
    chain_div_f32, rate_div_f32, DivF32<u32>, SEQUENCE, Reference {
        a: 3_f32.to_bits(),
        b: 3_f32.to_bits(),
        step: Lane(|of| (f32::from_bits(of.a) / f32::from_bits(of.last)).to_bits()),
        ..FLOATS
    };
    chain_sqrt_f32, rate_sqrt_f32, SqrtF32<u32>, SEQUENCE, Reference {
        step: Lane(|of| f32::from_bits(of.last).sqrt().to_bits()),
        ..FLOATS
    };
    // The low bits are a permutation of lanes.
    chain_shuffle, rate_shuffle, Shuffle<u32>, LONG, Reference {
        seed: |lane, chain| (lane << 8) | ((5 * lane + 3 + chain) % 32),
        step: Warp(|last| last.map(|value| last[value as usize % 32])),
        ..BITS
    };
    chain_vote, rate_vote, Vote<u32>, SEQUENCE, Reference { step: Warp(votes), ..BITS };
    chain_match, rate_match, Match<u32>, LONG, Reference { step: Warp(matches), ..BITS };
    chain_redux, rate_redux, Redux<u32>, LONG, Reference {
        step: Warp(|last| [last.iter().copied().fold(0, u32::wrapping_add); 32]),
        ..BITS
    };
}
