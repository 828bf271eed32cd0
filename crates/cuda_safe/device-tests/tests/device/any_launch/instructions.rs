//! Kernels of chains of instructions, which all have one signature but for the width of their values.

use super::{Case, Device, Draw, empty, numbers};
use cuda_launch::{SafeKernel, Shape, Slice, SliceMut};
use cust::memory::DeviceCopy;
use gpu_kernels::unchecked::instructions::*;

/// A number of bits, such that no division is by zero.
trait Bits: DeviceCopy {
    fn of(bits: u64) -> Self;
}

impl Bits for u32 {
    fn of(bits: u64) -> Self {
        bits as Self | 1
    }
}

impl Bits for u64 {
    fn of(bits: u64) -> Self {
        bits
    }
}

type Arguments<'a, V, const COUNT: usize> =
    (Slice<'a, [V; COUNT]>, SliceMut<'a, [V; COUNT]>, SliceMut<'a, u32>, V, V, u32, u32);

fn chains<K, V: Bits, const COUNT: usize>(device: &Device, draw: &Draw)
where
    for<'a> K: SafeKernel<Arguments<'a> = Arguments<'a, V, COUNT>>,
    [V; COUNT]: DeviceCopy,
{
    let shape: Shape = draw.of_warps();
    let threads = Draw::threads_of(shape);
    let bits = |index: usize| V::of(index as u64 * 0x9e37_79b9 + u64::from(draw.any));
    let seeds = numbers(threads, |thread| std::array::from_fn(|chain| bits(COUNT * thread + chain)));
    let (rounds, passes) = (draw.any % 3, draw.any / 3 % 3);
    device.run::<K>(
        shape,
        (&seeds, &mut empty(threads), &mut empty(threads), bits(1), bits(2), rounds, passes),
    );
}

macro_rules! both {
    ($($value:ident: $($chain:ident $rate:ident)*;)*) => {
        cases! {
            chain_barrier => |device, draw| chains::<chain_barrier, u32, 1>(device, draw);
            chain_warp_barrier => |device, draw| chains::<chain_warp_barrier, u32, 1>(device, draw);
            $($(
                $chain => |device, draw| chains::<$chain, $value, 1>(device, draw);
                $rate => |device, draw| chains::<$rate, $value, CHAINS>(device, draw);
            )*)*
        }
    };
}

pub(super) const CASES: &[Case] = both! {
    u32:
        chain_add_f32 rate_add_f32
        chain_fma_f32 rate_fma_f32
        chain_fma_f16x2 rate_fma_f16x2
        chain_add_s32 rate_add_s32
        chain_mad_s32 rate_mad_s32
        chain_lop3 rate_lop3
        chain_shf rate_shf
        chain_min_max_s32 rate_min_max_s32
        chain_select rate_select
        chain_dp4a rate_dp4a
        chain_popc rate_popc
        chain_clz rate_clz
        chain_bfe rate_bfe
        chain_add_rcp rate_add_rcp
        chain_rsqrt rate_rsqrt
        chain_ex2 rate_ex2
        chain_add_lg2 rate_add_lg2
        chain_cos rate_cos
        chain_s32_f32 rate_s32_f32
        chain_f32_s32 rate_f32_s32
        chain_div_u32 rate_div_u32
        chain_div_f32 rate_div_f32
        chain_sqrt_f32 rate_sqrt_f32
        chain_shuffle rate_shuffle
        chain_vote rate_vote
        chain_match rate_match
        chain_redux rate_redux;
    u64:
        chain_add_f64 rate_add_f64
        chain_fma_f64 rate_fma_f64
        chain_add_s64 rate_add_s64
        chain_mul_s64 rate_mul_s64;
};
