//! Implements atomic operations on one element: by atomics in global memory, since blocks run in parallel. Shared
//! memory belongs to one block, which one worker executes, so a load and a store suffice.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};

use crate::ptx::ScalarType;
use crate::ptx::op::words::Update as Operator;

/// Updates the element at an address with one or two operands, given in the low bits, and returns its old value.
///
/// # Safety
/// The address is a multiple of the element's size, and the element may be read and written.
pub(super) type Update = unsafe fn(address: u64, b: u64, c: u64) -> u64;

const RELAXED: Ordering = Ordering::Relaxed;

/// Returns an operation on elements of this type, in global memory (`GLOBAL`) or in private memory.
///
/// In global memory `add.f32` flushes subnormal operands and results to 0, in shared memory it does not: PTX ISA,
/// "Parallel Synchronization and Communication Instructions: atom".
pub(super) fn select<const GLOBAL: bool>(operation: Operator, scalar: ScalarType) -> Option<Update> {
    use Operator::{Add, And, CompareAndSwap, Decrement, Exchange, Increment, Max, Min, Or, Xor};
    use ScalarType::{B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, S64, U16, U32, U64};
    Some(match (operation, scalar) {
        (Add, U32 | S32) => |a, b, _| {
            fetch_32::<GLOBAL>(a, |word| word.fetch_add(b as u32, RELAXED), |old| old.wrapping_add(b as u32))
        },
        (Add, U64 | S64) => {
            |a, b, _| fetch_64::<GLOBAL>(a, |word| word.fetch_add(b, RELAXED), |old| old.wrapping_add(b))
        }
        (And, B32 | U32 | S32) => {
            |a, b, _| fetch_32::<GLOBAL>(a, |word| word.fetch_and(b as u32, RELAXED), |old| old & b as u32)
        }
        (And, B64 | U64 | S64) => {
            |a, b, _| fetch_64::<GLOBAL>(a, |word| word.fetch_and(b, RELAXED), |old| old & b)
        }
        (Or, B32 | U32 | S32) => {
            |a, b, _| fetch_32::<GLOBAL>(a, |word| word.fetch_or(b as u32, RELAXED), |old| old | b as u32)
        }
        (Or, B64 | U64 | S64) => {
            |a, b, _| fetch_64::<GLOBAL>(a, |word| word.fetch_or(b, RELAXED), |old| old | b)
        }
        (Xor, B32 | U32 | S32) => {
            |a, b, _| fetch_32::<GLOBAL>(a, |word| word.fetch_xor(b as u32, RELAXED), |old| old ^ b as u32)
        }
        (Xor, B64 | U64 | S64) => {
            |a, b, _| fetch_64::<GLOBAL>(a, |word| word.fetch_xor(b, RELAXED), |old| old ^ b)
        }
        (Exchange, B32 | U32 | S32 | F32) => {
            |a, b, _| fetch_32::<GLOBAL>(a, |word| word.swap(b as u32, RELAXED), |_| b as u32)
        }
        (Exchange, B64 | U64 | S64 | F64) => {
            |a, b, _| fetch_64::<GLOBAL>(a, |word| word.swap(b, RELAXED), |_| b)
        }
        (CompareAndSwap, B16 | U16) => {
            |a, b, c| each_16::<GLOBAL>(a, |old| if old == b as u16 { c as u16 } else { old })
        }
        (CompareAndSwap, B32 | U32 | S32) => {
            |a, b, c| each_32::<GLOBAL>(a, |old| if old == b as u32 { c as u32 } else { old })
        }
        (CompareAndSwap, B64 | U64 | S64) => {
            |a, b, c| each_64::<GLOBAL>(a, |old| if old == b { c } else { old })
        }
        (Increment, U32) => |a, b, _| each_32::<GLOBAL>(a, |old| if old >= b as u32 { 0 } else { old + 1 }),
        (Decrement, U32) => {
            |a, b, _| each_32::<GLOBAL>(a, |old| if old == 0 || old > b as u32 { b as u32 } else { old - 1 })
        }
        (Min, U32) => |a, b, _| each_32::<GLOBAL>(a, |old| old.min(b as u32)),
        (Max, U32) => |a, b, _| each_32::<GLOBAL>(a, |old| old.max(b as u32)),
        (Min, S32) => |a, b, _| each_32::<GLOBAL>(a, |old| (old as i32).min(b as i32) as u32),
        (Max, S32) => |a, b, _| each_32::<GLOBAL>(a, |old| (old as i32).max(b as i32) as u32),
        (Min, U64) => |a, b, _| each_64::<GLOBAL>(a, |old| old.min(b)),
        (Max, U64) => |a, b, _| each_64::<GLOBAL>(a, |old| old.max(b)),
        (Min, S64) => |a, b, _| each_64::<GLOBAL>(a, |old| (old as i64).min(b as i64) as u64),
        (Max, S64) => |a, b, _| each_64::<GLOBAL>(a, |old| (old as i64).max(b as i64) as u64),
        (Add, F32) if GLOBAL => |a, b, _| each_32::<GLOBAL>(a, |old| add_f32_flushing(old, b as u32)),
        (Add, F32) => |a, b, _| each_32::<GLOBAL>(a, |old| add_f32(old, b as u32)),
        (Add, F64) => |a, b, _| each_64::<GLOBAL>(a, |old| add_f64(old, b)),
        (Add, F16) => |a, b, _| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, |x, y| x + y)),
        (Min, F16) => |a, b, _| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, smaller)),
        (Max, F16) => |a, b, _| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, larger)),
        (Add, Bf16) => |a, b, _| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, |x, y| x + y)),
        (Min, Bf16) => |a, b, _| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, smaller)),
        (Max, Bf16) => |a, b, _| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, larger)),
        // Each half of a packed pair is atomic by itself; both together is stronger.
        (Add, F16x2) => {
            |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, |x, y| x + y)))
        }
        (Min, F16x2) => |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, smaller))),
        (Max, F16x2) => |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, larger))),
        (Add, Bf16x2) => {
            |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, |x, y| x + y)))
        }
        (Min, Bf16x2) => |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, smaller))),
        (Max, Bf16x2) => |a, b, _| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, larger))),
        _ => return None,
    })
}

macro_rules! ways {
    ($atomic:ident, $integer:ident, $fetch:ident, $each:ident) => {
        /// Updates by one atomic machine instruction in global memory.
        fn $fetch<const GLOBAL: bool>(
            address: u64,
            operate: impl FnOnce(&$atomic) -> $integer,
            new: impl Fn($integer) -> $integer,
        ) -> u64 {
            if !GLOBAL {
                return $each::<false>(address, new);
            }
            // SAFETY: callers of an `Update` promise it; all of them are made here.
            u64::from(operate(unsafe { $atomic::from_ptr(address as usize as *mut $integer) }))
        }
    };
}

macro_rules! tries {
    ($atomic:ident, $integer:ident, $each:ident) => {
        /// Updates by a compare-and-exchange loop in global memory.
        fn $each<const GLOBAL: bool>(address: u64, new: impl Fn($integer) -> $integer) -> u64 {
            // SAFETY: as above.
            let word = unsafe { $atomic::from_ptr(address as usize as *mut $integer) };
            let mut old = word.load(RELAXED);
            if !GLOBAL {
                word.store(new(old), RELAXED);
                return u64::from(old);
            }
            loop {
                match word.compare_exchange_weak(old, new(old), RELAXED, RELAXED) {
                    Ok(old) => return u64::from(old),
                    Err(other) => old = other,
                }
            }
        }
    };
}

ways!(AtomicU32, u32, fetch_32, each_32);
ways!(AtomicU64, u64, fetch_64, each_64);
tries!(AtomicU16, u16, each_16);
tries!(AtomicU32, u32, each_32);
tries!(AtomicU64, u64, each_64);

/// The NaN that arithmetic on `f32` gives (PTX ISA, "Floating-Point Instructions").
const NAN_32: u32 = 0x7FFF_FFFF;
/// The NaN of 16-bit floating-point numbers.
const NAN_16: u16 = 0x7FFF;

fn add_f32(a: u32, b: u32) -> u32 {
    let sum = f32::from_bits(a) + f32::from_bits(b);
    if sum.is_nan() { NAN_32 } else { sum.to_bits() }
}

/// Adds `f64`; a NaN operand is passed on.
fn add_f64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let sum = x + y;
    if sum.is_nan() && !x.is_nan() && !y.is_nan() { 0xFFF8_0000_0000_0000 } else { sum.to_bits() }
}

fn add_f32_flushing(a: u32, b: u32) -> u32 {
    let flush = |bits: u32| if f32::from_bits(bits).is_subnormal() { bits & 1 << 31 } else { bits };
    flush(add_f32(flush(a), flush(b)))
}

/// Computes in `f32`: it has more than twice the digits of the 16-bit formats plus two, so rounding twice is harmless.
fn f16_of(a: u16, b: u16, operate: impl Fn(f32, f32) -> f32) -> u16 {
    let result = operate(f16::from_bits(a).to_f32(), f16::from_bits(b).to_f32());
    if result.is_nan() { NAN_16 } else { f16::from_f32(result).to_bits() }
}

fn bf16_of(a: u16, b: u16, operate: impl Fn(f32, f32) -> f32) -> u16 {
    let result = operate(bf16::from_bits(a).to_f32(), bf16::from_bits(b).to_f32());
    if result.is_nan() { NAN_16 } else { bf16::from_f32(result).to_bits() }
}

/// Returns the smaller number, or the number if the other is a NaN; -0 is less than +0.
fn smaller(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == 0.0 && b == 0.0 => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if b < a {
                b
            } else {
                a
            }
        }
    }
}

fn larger(a: f32, b: f32) -> f32 {
    -smaller(-a, -b)
}

fn halves(old: u32, b: u64, operate: impl Fn(u16, u16) -> u16) -> u32 {
    let low = operate(old as u16, b as u16);
    let high = operate((old >> 16) as u16, (b >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

/// Exchanges 16 bytes; with `expected`, only if they equal it. Returns the old ones.
///
/// # Safety
/// As for an [`Update`].
pub(super) unsafe fn exchange_128(address: u64, expected: Option<u128>, new: u128) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("cmpxchg16b") {
        let mut guess = expected.unwrap_or(0);
        loop {
            // SAFETY: aligned and accessible, as the caller promises; the instruction is there.
            let old = unsafe { compare_exchange_128(address, guess, new) };
            if expected.is_some() || old == guess {
                return old;
            }
            guess = old;
        }
    }
    // Without a machine instruction, a lock makes it atomic to other 16-byte atomics, though not to other accesses.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // SAFETY: as above.
    let halves = unsafe { [0, 8].map(|half| AtomicU64::from_ptr((address + half) as usize as *mut u64)) };
    let [low, high] = halves.map(|half| u128::from(half.load(RELAXED)));
    let old = low | high << 64;
    if expected.is_none_or(|expected| expected == old) {
        halves[0].store(new as u64, RELAXED);
        halves[1].store((new >> 64) as u64, RELAXED);
    }
    old
}

/// Exchanges 16 bytes if they equal `expected`. Returns the old ones.
///
/// # Safety
/// As for an [`Update`], of 16 bytes; the computer has `cmpxchg16b`.
#[cfg(target_arch = "x86_64")]
unsafe fn compare_exchange_128(address: u64, expected: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: accesses what the caller promises may be accessed. The compiler keeps `rbx` for itself: it gets it back.
    unsafe {
        std::arch::asm!(
            "xchg {new_low}, rbx",
            "lock cmpxchg16b xmmword ptr [{address}]",
            "mov rbx, {new_low}",
            new_low = inout(reg) new as u64 => _,
            address = in(reg) address,
            in("rcx") (new >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack)
        );
    }
    u128::from(low) | u128::from(high) << 64
}
