//! `shfl`: each lane reads another lane's value.

use crate::decode::Level;
use crate::ptx::ScalarType;
use crate::ptx::op::words::ShuffleMode;
use crate::registers::{Cell, Width};

use super::decoded::{Collective, Run, Slots};
use super::form::{Decoded, Form, Parts, SECOND};
use super::raw::Raw;

/// Returns the lane to read, from the lane's own number, the operand `b` and the bounds of its segment. A lane outside
/// of those reads itself.
trait Mode {
    fn source(lane: u32, b: u32, first: u32, inner: u32) -> u32;
    fn is_inside(source: u32, last: u32) -> bool;
}

macro_rules! modes {
    ($($name:ident, |$lane:ident, $b:ident, $first:ident, $inner:ident| $source:expr, |$from:ident, $last:ident| $inside:expr;)*) => { $(
        struct $name;

        impl Mode for $name {
            #[inline(always)]
            fn source($lane: u32, $b: u32, $first: u32, $inner: u32) -> u32 {
                $source
            }

            #[inline(always)]
            fn is_inside($from: u32, $last: u32) -> bool {
                $inside
            }
        }
    )* };
}

modes! {
    // The lane before the first is -1, so the comparison is signed.
    Up, |lane, b, _first, _inner| lane.wrapping_sub(b), |from, last| from as i32 >= last as i32;
    Down, |lane, b, _first, _inner| lane + b, |from, last| from <= last;
    Butterfly, |lane, b, _first, _inner| lane ^ b, |from, last| from <= last;
    Indexed, |_lane, b, first, inner| first | b & inner, |from, last| from <= last;
}

/// Returns the lane that a lane reads, and true if that is within its segment; see [`body`] for the operands.
#[inline(always)]
fn source<M: Mode>(lane: u32, b: u32, c: u32) -> (u32, bool) {
    let segment = c >> 8 & 31;
    let inner = !segment & 31;
    let first = lane & segment;
    let last = first | c & inner;
    let source = M::source(lane, b & 31, first, inner);
    let is_inside = M::is_inside(source, last);
    (if is_inside { source & 31 } else { lane }, is_inside)
}

/// Returns the lane that a lane reads in a shuffle of this mode, and true if that is within its segment.
pub(crate) fn shuffled(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    match mode {
        ShuffleMode::Up => source::<Up>(lane, b, c),
        ShuffleMode::Down => source::<Down>(lane, b, c),
        ShuffleMode::Butterfly => source::<Butterfly>(lane, b, c),
        ShuffleMode::Index => source::<Indexed>(lane, b, c),
    }
}

/// Executes a shuffle. `c` holds the last lane (for `up`, the first) in its lowest five bits, and from bit 8 the bits
/// of a lane's number that name its segment. A lane that reads an inactive one gets its own value, which the manual
/// leaves open.
#[inline(always)]
unsafe fn body<M: Mode>(frame: *mut Cell, slots: &Slots, mask: u32) {
    let [a, b, c, _] = slots.sources;
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let values = *frame.add(a as usize).cast::<[u32; 32]>();
        let b = u32::column(frame, b, false);
        let c = u32::column(frame, c, false);
        let mut sources = [0u32; 32];
        let mut inside = 0u32;
        for lane in 0..32 {
            let (from, is_inside) = source::<M>(lane, u32::get(b, lane as usize), u32::get(c, lane as usize));
            inside |= if is_inside { 1 << lane } else { 0 };
            sources[lane as usize] = from;
        }
        let mut words = u32::buffer();
        if mask != u32::MAX {
            for (lane, source) in sources.iter_mut().enumerate() {
                *source = if mask & 1 << *source != 0 { *source } else { lane as u32 };
            }
        }
        for (word, source) in words.iter_mut().zip(sources) {
            *word = values[source as usize & 31];
        }
        u32::store(&words, frame, slots.results[0], mask, false);
        if slots.config & SECOND != 0 {
            bool::store(&inside, frame, slots.results[1], mask, false);
        }
    }
}

unsafe fn portable<M: Mode>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<M>(frame, slots, mask) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
unsafe fn avx2<M: Mode>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<M>(frame, slots, mask) }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as avx2;

fn at<M: Mode>(level: Level) -> Run {
    match level {
        Level::Portable => portable::<M>,
        Level::Avx2 => avx2::<M>,
    }
}

/// Decodes `shfl.sync.up.b32 d|p, a, b, c, members`; without `.sync`, there are no members.
pub(super) fn decode(
    form: &mut Form<'_>,
    is_synchronous: bool,
    mode: ShuffleMode,
    scalar: ScalarType,
) -> Decoded<Collective> {
    let level = form.level;
    let run = match mode {
        ShuffleMode::Up => at::<Up>(level),
        ShuffleMode::Down => at::<Down>(level),
        ShuffleMode::Butterfly => at::<Butterfly>(level),
        ShuffleMode::Index => at::<Indexed>(level),
    };
    if scalar != ScalarType::B32 {
        return form.unsupported();
    }
    let (result, sources) = form.result_and_sources(if is_synchronous { 4 } else { 3 })?;
    let mut parts = Parts::default();
    for (index, operand) in sources[..3].iter().enumerate() {
        let (slot, _) = form.source(operand, ScalarType::B32, Width::Word)?;
        parts.source(index, slot, false);
    }
    let members = sources.get(3).map(|operand| form.member_mask(operand)).transpose()?;
    form.result_or_two(&mut parts, result)?;
    Ok(parts.collective(run, members))
}
