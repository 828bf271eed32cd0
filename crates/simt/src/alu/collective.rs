//! Collectives of a warp: `vote`, `match`, `redux`, `elect`, `activemask`; `shfl` is in [`super::shuffle`].

use crate::decode::Level;
use crate::ptx::op::Op;
use crate::ptx::op::control::Redux;
use crate::ptx::op::words::{Update, VoteMode};
use crate::ptx::{Operand, ScalarType};
use crate::registers::{Cell, Width};

use super::decoded::{Collective, Run, Slots};
use super::extremes::{ABSOLUTE, MAXIMUM, NAN_WINS, modified};
use super::form::{Decoded, Form, Parts, SECOND};
use super::lanes::{flag, invert_source};
use super::raw::Raw;
use super::shuffle;

/// Returns the lanes of a mask, lowest first.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask & 1 << lane != 0)
}

pub(super) fn decode(form: &mut Form<'_>) -> Decoded<Option<Collective>> {
    let decoded = match form.instruction.opcode.op()? {
        Op::Shfl { synchronous, mode, scalar } => shuffle::decode(form, synchronous, mode, scalar),
        Op::Vote { synchronous, mode, scalar } => vote(form, synchronous, mode, scalar),
        Op::Match { synchronous, all, scalar } => matching(form, synchronous, all, scalar),
        Op::Redux(op) => redux(form, &op),
        Op::Elect => elect(form),
        Op::Activemask(scalar) => activemask(form, scalar),
        _ => return Ok(None),
    };
    decoded.map(Some)
}

const ALL: u32 = VoteMode::All as u32;
const ANY: u32 = VoteMode::Any as u32;

unsafe fn votes(frame: *mut Cell, slots: &Slots, mask: u32) -> u32 {
    // SAFETY: decoding gave a predicate.
    mask & unsafe { bool::column(frame, slots.sources[0], slots.config & invert_source(0) != 0) }
}

unsafe fn run_vote(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave predicates.
    unsafe {
        let for_it = votes(frame, slots, mask);
        let verdict = match slots.config & 3 {
            ALL => for_it == mask,
            ANY => for_it != 0,
            _ => for_it == mask || for_it == 0,
        };
        let verdict = if verdict { u32::MAX } else { 0 };
        bool::store(&verdict, frame, slots.results[0], mask, false);
    }
}

unsafe fn run_ballot(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave a predicate and a word.
    unsafe {
        let for_it = votes(frame, slots, mask);
        u32::store(&[for_it; 32], frame, slots.results[0], mask, false);
    }
}

fn vote(
    form: &mut Form<'_>,
    is_synchronous: bool,
    mode: VoteMode,
    scalar: ScalarType,
) -> Decoded<Collective> {
    let (result, sources) = form.result_and_sources(if is_synchronous { 2 } else { 1 })?;
    let mut parts = Parts::default();
    let (slot, inverted) = form.source(&sources[0], ScalarType::Pred, Width::Predicate)?;
    parts.source(0, slot, inverted);
    let members = sources.get(1).map(|operand| form.member_mask(operand)).transpose()?;
    let run: Run = match (mode, scalar) {
        (VoteMode::Ballot, ScalarType::B32) => run_ballot,
        (VoteMode::All | VoteMode::Any | VoteMode::Uniform, ScalarType::Pred) => {
            parts.config |= mode as u32;
            run_vote
        }
        _ => return form.unsupported(),
    };
    let slot = form.result(result, scalar, Width::of(scalar))?;
    parts.result(0, slot);
    Ok(parts.collective(run, members))
}

#[inline(always)]
unsafe fn match_any<T: Raw + PartialEq>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let values = T::column(frame, slots.sources[0], false);
        let mut words = [0; 32];
        let mut rest = mask;
        while rest != 0 {
            let value = T::get(values, rest.trailing_zeros() as usize);
            let mut same = bool::buffer();
            for lane in 0..32 {
                bool::put(&mut same, lane, T::get(values, lane) == value);
            }
            same &= rest;
            rest &= !same;
            let mut left = same;
            while left != 0 {
                words[left.trailing_zeros() as usize] = same;
                left &= left - 1;
            }
        }
        u32::store(&words, frame, slots.results[0], mask, false);
    }
}

unsafe fn match_any_portable<T: Raw + PartialEq>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { match_any::<T>(frame, slots, mask) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
unsafe fn match_any_avx2<T: Raw + PartialEq>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { match_any::<T>(frame, slots, mask) }
}

#[cfg(not(target_arch = "x86_64"))]
use match_any_portable as match_any_avx2;

/// Compares each lane's word with those of all others, without a branch: most warps hold many different values.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
unsafe fn match_any_words(frame: *mut Cell, slots: &Slots, mask: u32) {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packs_epi16,
        _mm256_packs_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    };
    // SAFETY: decoding gave words.
    unsafe {
        let values = *frame.add(slots.sources[0] as usize).cast::<[u32; 32]>();
        let quarters: [__m256i; 4] =
            std::array::from_fn(|quarter| _mm256_loadu_si256(values.as_ptr().cast::<__m256i>().add(quarter)));
        // Packing takes four lanes of each operand in turn, in both halves of the register.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let words = values.map(|value| {
            let value = _mm256_set1_epi32(value as i32);
            let [a, b, c, d] = quarters.map(|quarter| _mm256_cmpeq_epi32(quarter, value));
            let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(bytes, order)) as u32 & mask
        });
        u32::store(&words, frame, slots.results[0], mask, false);
    }
}

unsafe fn run_match_all<T: Raw + PartialEq>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let values = T::column(frame, slots.sources[0], false);
        let first = T::get(values, mask.trailing_zeros() as usize & 31);
        let are_same = lanes(mask).all(|lane| T::get(values, lane) == first);
        u32::store(&[if are_same { mask } else { 0 }; 32], frame, slots.results[0], mask, false);
        if slots.config & SECOND != 0 {
            let verdict = if are_same { u32::MAX } else { 0 };
            bool::store(&verdict, frame, slots.results[1], mask, false);
        }
    }
}

fn matching(form: &mut Form<'_>, is_synchronous: bool, all: bool, scalar: ScalarType) -> Decoded<Collective> {
    let is_portable = form.level == Level::Portable;
    let run: Run = match (all, scalar) {
        (false, ScalarType::B32) if is_portable => match_any_portable::<u32>,
        (false, ScalarType::B64) if is_portable => match_any_portable::<u64>,
        #[cfg(target_arch = "x86_64")]
        (false, ScalarType::B32) => match_any_words,
        #[cfg(not(target_arch = "x86_64"))]
        (false, ScalarType::B32) => match_any_portable::<u32>,
        (false, ScalarType::B64) => match_any_avx2::<u64>,
        (true, ScalarType::B32) => run_match_all::<u32>,
        (true, ScalarType::B64) => run_match_all::<u64>,
        _ => return form.unsupported(),
    };
    let (result, sources) = form.result_and_sources(2)?;
    if !is_synchronous || !all && matches!(result, Operand::Pair(_)) {
        return form.unsupported();
    }
    let mut parts = Parts::default();
    let (slot, _) = form.source(&sources[0], scalar, Width::of(scalar))?;
    parts.source(0, slot, false);
    let members = form.member_mask(&sources[1])?;
    form.result_or_two(&mut parts, result)?;
    Ok(parts.collective(run, Some(members)))
}

/// A reduction of all lanes' values to one.
trait Reduction {
    fn reduce(a: u32, b: u32, config: u32) -> u32;
}

macro_rules! reductions {
    ($($name:ident, |$a:ident, $b:ident, $config:pat_param| $reduce:expr;)*) => { $(
        struct $name;

        impl Reduction for $name {
            fn reduce($a: u32, $b: u32, $config: u32) -> u32 {
                $reduce
            }
        }
    )* };
}

reductions! {
    Sum, |a, b, _| a.wrapping_add(b);
    Min, |a, b, _| a.min(b);
    Max, |a, b, _| a.max(b);
    MinSigned, |a, b, _| (a as i32).min(b as i32) as u32;
    MaxSigned, |a, b, _| (a as i32).max(b as i32) as u32;
    And, |a, b, _| a & b;
    Or, |a, b, _| a | b;
    Xor, |a, b, _| a ^ b;
    Extreme, |a, b, config| modified(f32::from_bits(a), f32::from_bits(b), config).to_bits();
}

unsafe fn run_redux<R: Reduction>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave words.
    unsafe {
        let values = u32::column(frame, slots.sources[0], false);
        let reduce = |a, b| R::reduce(a, b, slots.config);
        let result = lanes(mask).map(|lane| u32::get(values, lane)).reduce(reduce).unwrap_or(0);
        u32::store(&[result; 32], frame, slots.results[0], mask, false);
    }
}

/// Reduces floats. The modifiers apply to a single operand too.
unsafe fn run_redux_float(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave words.
    unsafe {
        let values = u32::column(frame, slots.sources[0], false);
        let reduce = |a, b| Extreme::reduce(a, b, slots.config);
        let values = lanes(mask).map(|lane| u32::get(values, lane)).map(|value| reduce(value, value));
        let result = values.reduce(reduce).unwrap_or(0);
        u32::store(&[result; 32], frame, slots.results[0], mask, false);
    }
}

fn redux(form: &mut Form<'_>, op: &Redux) -> Decoded<Collective> {
    let Redux { update, scalar, .. } = *op;
    let mut parts = Parts::default();
    parts.config = flag(op.absolute, ABSOLUTE) | flag(op.nan_wins, NAN_WINS);
    use ScalarType::{B32, F32, S32, U32};
    let run: Run = match (update, scalar) {
        (Update::Min, F32) => run_redux_float,
        (Update::Max, F32) => {
            parts.config |= MAXIMUM;
            run_redux_float
        }
        _ if parts.config != 0 => return form.unsupported(),
        (Update::Add, U32 | S32) => run_redux::<Sum>,
        (Update::Min, U32) => run_redux::<Min>,
        (Update::Max, U32) => run_redux::<Max>,
        (Update::Min, S32) => run_redux::<MinSigned>,
        (Update::Max, S32) => run_redux::<MaxSigned>,
        (Update::And, B32) => run_redux::<And>,
        (Update::Or, B32) => run_redux::<Or>,
        (Update::Xor, B32) => run_redux::<Xor>,
        _ => return form.unsupported(),
    };
    let (result, sources) = form.result_and_sources(2)?;
    let (slot, _) = form.source(&sources[0], scalar, Width::Word)?;
    parts.source(0, slot, false);
    let members = form.member_mask(&sources[1])?;
    let slot = form.result(result, scalar, Width::Word)?;
    parts.result(0, slot);
    Ok(parts.collective(run, Some(members)))
}

/// Elects the lowest lane.
unsafe fn run_elect(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let elected = mask & mask.wrapping_neg();
        u32::store(&[mask.trailing_zeros(); 32], frame, slots.results[0], mask, false);
        if slots.config & SECOND != 0 {
            bool::store(&elected, frame, slots.results[1], mask, false);
        }
    }
}

fn elect(form: &mut Form<'_>) -> Decoded<Collective> {
    let (result, sources) = form.result_and_sources(1)?;
    let members = form.member_mask(&sources[0])?;
    let mut parts = Parts::default();
    form.result_or_two(&mut parts, result)?;
    Ok(parts.collective(run_elect, Some(members)))
}

unsafe fn run_activemask(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: decoding gave a word.
    unsafe { u32::store(&[mask; 32], frame, slots.results[0], mask, false) }
}

fn activemask(form: &mut Form<'_>, scalar: ScalarType) -> Decoded<Collective> {
    if scalar != ScalarType::B32 {
        return form.unsupported();
    }
    let (result, _) = form.result_and_sources(0)?;
    let slot = form.result(result, ScalarType::B32, Width::Word)?;
    let mut parts = Parts::default();
    parts.result(0, slot);
    Ok(parts.collective(run_activemask, None))
}
