//! Implements atomic operations on one element: by atomics in global memory, since blocks run in parallel. Shared
//! memory belongs to one block, which one worker executes, so a load and a store suffice.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};

use super::lanes::each;
use super::registers::{read_lane, write_lane};
use crate::coalescing::Addresses;
use crate::ptx::ScalarType;
use crate::ptx::op::words::Update as Operator;
use crate::registers::{Cell, Slot, Width};

/// The functions by which an instruction updates elements in one kind of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    /// Updates the element at an address with one or two operands, given in the low bits, and returns its old value.
    ///
    /// # Safety
    /// The address is a multiple of the element's size, and the element may be read and written.
    pub(super) one: unsafe fn(address: u64, b: u64, c: u64) -> u64,
    /// Does so for each lane of a warp, in one loop.
    ///
    /// # Safety
    /// As above, for each lane; the registers are of the frame.
    pub(super) lanes: unsafe fn(frame: *mut Cell, registers: Registers, lanes: Lanes<'_>),
}

/// The registers of an update of one element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub(super) source: Slot,
    /// The new value of `cas`.
    pub(super) new: Option<Slot>,
    pub(super) result: Option<Slot>,
}

/// The lanes of a mask, with their addresses from a base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<'a> {
    pub(super) mask: u32,
    pub(super) base: u64,
    pub(super) addresses: &'a Addresses,
}

/// An operation on an element, in global memory (`GLOBAL`) or in private memory.
trait Operation {
    /// See [`Update::one`].
    fn update<const GLOBAL: bool>(a: u64, b: u64, c: u64) -> u64;
}

unsafe fn one<O: Operation, const GLOBAL: bool>(a: u64, b: u64, c: u64) -> u64 {
    O::update::<GLOBAL>(a, b, c)
}

unsafe fn all<O: Operation, const GLOBAL: bool>(frame: *mut Cell, registers: Registers, lanes: Lanes<'_>) {
    let Lanes { mask, base, addresses } = lanes;
    let at = |lane: usize| base + addresses[lane];
    // SAFETY: the caller's promise.
    unsafe {
        match registers {
            // The common case: a word, and nobody asks for the old value.
            Registers { source: source @ Slot { width: Width::Word, .. }, new: None, result: None } => {
                let values = source.words(frame);
                for lane in each(mask) {
                    O::update::<GLOBAL>(at(lane), u64::from((*values)[lane]), 0);
                }
            }
            Registers { source, new, result } => {
                for lane in each(mask) {
                    let operand = read_lane(source, frame, lane);
                    let new = new.map_or(0, |slot| read_lane(slot, frame, lane));
                    let old = O::update::<GLOBAL>(at(lane), operand, new);
                    if let Some(slot) = result {
                        write_lane(slot, frame, lane, old);
                    }
                }
            }
        }
    }
}

const fn update<O: Operation, const GLOBAL: bool>() -> Update {
    Update { one: one::<O, GLOBAL>, lanes: all::<O, GLOBAL> }
}

const RELAXED: Ordering = Ordering::Relaxed;

/// Defines [`select`] and its operations.
macro_rules! operations {
    ($(#[$documentation:meta])* $select:ident: $($name:ident ($verb:ident, $($scalar:ident)|+) = |$a:ident, $b:ident, $c:ident| $update:expr;)*) => {
        $(
            struct $name;

            impl Operation for $name {
                #[inline(always)]
                #[allow(unused_variables, reason = "most operations have one operand")]
                fn update<const GLOBAL: bool>($a: u64, $b: u64, $c: u64) -> u64 {
                    $update
                }
            }
        )*

        $(#[$documentation])*
        pub(super) fn $select<const GLOBAL: bool>(operation: Operator, scalar: ScalarType) -> Option<Update> {
            Some(match (operation, scalar) {
                $((Operator::$verb, $(ScalarType::$scalar)|+) => update::<$name, GLOBAL>(),)*
                _ => return None,
            })
        }
    };
}

operations! {
    /// Returns an operation on elements of this type, in global memory (`GLOBAL`) or in private memory.
    ///
    /// In global memory `add.f32` flushes subnormal operands and results to 0, in shared memory it does not: PTX ISA,
    /// "Parallel Synchronization and Communication Instructions: atom".
    select:
    AddU32(Add, U32 | S32) = |a, b, c|
        fetch_32::<GLOBAL>(a, |word| word.fetch_add(b as u32, RELAXED), |old| old.wrapping_add(b as u32));
    AddU64(Add, U64 | S64) = |a, b, c|
        fetch_64::<GLOBAL>(a, |word| word.fetch_add(b, RELAXED), |old| old.wrapping_add(b));
    AndB32(And, B32 | U32 | S32) = |a, b, c|
        fetch_32::<GLOBAL>(a, |word| word.fetch_and(b as u32, RELAXED), |old| old & b as u32);
    AndB64(And, B64 | U64 | S64) = |a, b, c|
        fetch_64::<GLOBAL>(a, |word| word.fetch_and(b, RELAXED), |old| old & b);
    OrB32(Or, B32 | U32 | S32) = |a, b, c|
        fetch_32::<GLOBAL>(a, |word| word.fetch_or(b as u32, RELAXED), |old| old | b as u32);
    OrB64(Or, B64 | U64 | S64) = |a, b, c|
        fetch_64::<GLOBAL>(a, |word| word.fetch_or(b, RELAXED), |old| old | b);
    XorB32(Xor, B32 | U32 | S32) = |a, b, c|
        fetch_32::<GLOBAL>(a, |word| word.fetch_xor(b as u32, RELAXED), |old| old ^ b as u32);
    XorB64(Xor, B64 | U64 | S64) = |a, b, c|
        fetch_64::<GLOBAL>(a, |word| word.fetch_xor(b, RELAXED), |old| old ^ b);
    ExchangeB32(Exchange, B32 | U32 | S32 | F32) = |a, b, c|
        fetch_32::<GLOBAL>(a, |word| word.swap(b as u32, RELAXED), |_| b as u32);
    ExchangeB64(Exchange, B64 | U64 | S64 | F64) = |a, b, c|
        fetch_64::<GLOBAL>(a, |word| word.swap(b, RELAXED), |_| b);
    CompareAndSwapB16(CompareAndSwap, B16 | U16) = |a, b, c|
        each_16::<GLOBAL>(a, |old| if old == b as u16 { c as u16 } else { old });
    CompareAndSwapB32(CompareAndSwap, B32 | U32 | S32) = |a, b, c|
        each_32::<GLOBAL>(a, |old| if old == b as u32 { c as u32 } else { old });
    CompareAndSwapB64(CompareAndSwap, B64 | U64 | S64) = |a, b, c|
        each_64::<GLOBAL>(a, |old| if old == b { c } else { old });
    IncrementU32(Increment, U32) = |a, b, c|
        each_32::<GLOBAL>(a, |old| if old >= b as u32 { 0 } else { old + 1 });
    DecrementU32(Decrement, U32) = |a, b, c|
        each_32::<GLOBAL>(a, |old| if old == 0 || old > b as u32 { b as u32 } else { old - 1 });
    MinU32(Min, U32) = |a, b, c| each_32::<GLOBAL>(a, |old| old.min(b as u32));
    MaxU32(Max, U32) = |a, b, c| each_32::<GLOBAL>(a, |old| old.max(b as u32));
    MinS32(Min, S32) = |a, b, c| each_32::<GLOBAL>(a, |old| (old as i32).min(b as i32) as u32);
    MaxS32(Max, S32) = |a, b, c| each_32::<GLOBAL>(a, |old| (old as i32).max(b as i32) as u32);
    MinU64(Min, U64) = |a, b, c| each_64::<GLOBAL>(a, |old| old.min(b));
    MaxU64(Max, U64) = |a, b, c| each_64::<GLOBAL>(a, |old| old.max(b));
    MinS64(Min, S64) = |a, b, c| each_64::<GLOBAL>(a, |old| (old as i64).min(b as i64) as u64);
    MaxS64(Max, S64) = |a, b, c| each_64::<GLOBAL>(a, |old| (old as i64).max(b as i64) as u64);
    AddF32(Add, F32) = |a, b, c| each_32::<GLOBAL>(a, |old| {
        if GLOBAL { add_f32_flushing(old, b as u32) } else { add_f32(old, b as u32) }
    });
    AddF64(Add, F64) = |a, b, c| each_64::<GLOBAL>(a, |old| add_f64(old, b));
    AddF16(Add, F16) = |a, b, c| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, |x, y| x + y));
    MinF16(Min, F16) = |a, b, c| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, smaller));
    MaxF16(Max, F16) = |a, b, c| each_16::<GLOBAL>(a, |old| f16_of(old, b as u16, larger));
    AddBf16(Add, Bf16) = |a, b, c| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, |x, y| x + y));
    MinBf16(Min, Bf16) = |a, b, c| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, smaller));
    MaxBf16(Max, Bf16) = |a, b, c| each_16::<GLOBAL>(a, |old| bf16_of(old, b as u16, larger));
    // Each half of a packed pair is atomic by itself; both together is stronger.
    AddF16x2(Add, F16x2) = |a, b, c|
        each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, |x, y| x + y)));
    MinF16x2(Min, F16x2) = |a, b, c| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, smaller)));
    MaxF16x2(Max, F16x2) = |a, b, c| each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| f16_of(x, y, larger)));
    AddBf16x2(Add, Bf16x2) = |a, b, c|
        each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, |x, y| x + y)));
    MinBf16x2(Min, Bf16x2) = |a, b, c|
        each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, smaller)));
    MaxBf16x2(Max, Bf16x2) = |a, b, c|
        each_32::<GLOBAL>(a, |old| halves(old, b, |x, y| bf16_of(x, y, larger)));
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
