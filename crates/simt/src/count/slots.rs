//! Estimates how many machine instructions a PTX instruction becomes, which units they use, and how long their result takes.
//!
//! Multiprocessors work in 32 bits: 64 bits of an address take two additions, two comparisons, or three
//! multiplications. Moves and conversions of whole registers mostly vanish. `exec::fused` corrects these weights by what ptxas makes of
//! several instructions together, and adds what a kernel begins with. Of 536 launches of kernels of the program `fidelity`, half execute on
//! an H200 as many instructions as the sum of the weights within 5.6%, and nine in ten within 24% (`smsp__inst_executed.sum`).
//!
//! A multiprocessor issues four instructions per clock, but most units take fewer. CUDA's programming guide, "throughput of
//! native arithmetic instructions", gives the lanes per clock of compute capability 9.0, and Nsight Compute's guide says
//! which unit serves what:
//!
//! | unit | lanes per clock | serves |
//! | --- | --: | --- |
//! | integer | 64 | integer addition, comparison, logic and shifts; comparison, minimum and selection of floats; votes |
//! | multiplier | 64 | integer multiplication, `dp4a` |
//! | special functions | 16 | reciprocals, roots, exponentials, sines; conversions from floats; bit counts |
//! | double precision | 64 | all arithmetic in `f64` |
//! | shuffles | 32 | `shfl`, through the path of shared memory |
//!
//! From 7.0 on there are no instructions for bit fields: a shift and a mask extract one, and a shift and a logical operation insert
//! one; and a leading zero count is that of the highest bit's place, subtracted (CCCL's reference, "performance considerations" of
//! `bitfield_extract` and `<cuda/std/bit>`).
//!
//! Divisions and correctly rounded roots are sequences around a reciprocal: `div.rn.f32` becomes about ten instructions, of
//! which two use the unit for special functions.
//!
//! The clocks of these and of the other instructions that take long are from a probe on an H200: of a warp alone, what 64 of them that wait
//! for one another take beyond 32.

use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{
    Convert, FieldVerb, Float, FloatVerb, Format, Integer, IntegerVerb, LogicVerb,
};
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::{Accuracy, AddressSpace, Part};

/// Clocks of a load from shared memory whose address is the result of the load before it, on an H200.
pub(crate) const SHARED_CLOCKS: u16 = 23;

/// Clocks of such a load by `ld.shared::cluster` from the block's own memory, on an H200 (`coalesce run cluster`, in clusters of
/// one block). From another block it takes 219, which the model's formula adds.
const CLUSTER_CLOCKS: u16 = 38;

/// Issue slots of a PTX instruction.
///
/// `mma.m16n8k16` occupies the tensor core of its scheduler for eight clocks: an H200 computes 492 TFLOP/s by nothing else, and
/// 4096 operations in eight clocks of four schedulers would be 519.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Machine instructions.
    pub issued: u8,
    /// Instructions among them that use the units for integer addition, comparison, logic and shifts; multiplication
    /// does not.
    pub integer: u8,
    /// Instructions among them that use the units for integer multiplication.
    pub multiply: u8,
    /// Instructions among them that use the units for special functions.
    pub special: u8,
    /// Instructions among them that use the units for double precision.
    pub double: u8,
    /// Shuffles among them.
    pub shuffle: u8,
    /// Instructions among them that cards before 7.0 do not have: a kernel's beginning, and loads of its parameters, which are operands
    /// there.
    pub hidden: u8,
    /// Clocks from issue until a dependent instruction can issue. Of loads from global memory 1, since what they wait for
    /// is counted as a round trip.
    ///
    /// Sources: `coalesce run instructions` on an H200, and `coalesce run latency` for shared, local and constant memory; products on
    /// tensor cores and what is rare are assumed; sequences that were not measured are sums of their parts.
    pub clocks: u16,
}

/// Slots of this many instructions, none of which uses a unit slower than issue.
const fn plain(issued: u8, clocks: u16) -> Slots {
    Slots { issued, integer: 0, multiply: 0, special: 0, double: 0, shuffle: 0, hidden: 0, clocks }
}

/// Slots of this many integer instructions.
const fn integers(count: u8) -> Slots {
    Slots { integer: count, ..plain(count, if count == 0 { 0 } else { 3 + count as u16 }) }
}

impl Slots {
    /// Returns true for a sequence that ends in a branch to its rare cases: a division or a correctly rounded root.
    pub fn is_sequence(&self) -> bool {
        self.issued >= 8 && self.special > 0
    }

    /// Returns the slots of an instruction.
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Mov(_) | Op::Memory(Memory::Cvta { .. }) => plain(0, 0),
            Op::Convert(convert) => of_conversion(convert),
            Op::Memory(Memory::Ld(access)) if access.is_parameter() => plain(0, 0),
            Op::Memory(Memory::Ld(access) | Memory::Ldu(access)) => plain(1, load_clocks(access.space)),
            Op::Memory(Memory::Atomic(atomic)) => plain(1, load_clocks(atomic.space)),
            Op::Ldmatrix(_) => plain(1, load_clocks(Some(AddressSpace::Shared))),
            Op::Integer(op) => of_integer(op),
            Op::Float(op) => of_float(op),
            Op::Dot(_) => Slots { multiply: 1, ..plain(1, 5) },
            Op::Shfl { .. } | Op::Match { .. } => Slots { shuffle: 1, ..plain(1, 26) },
            Op::Redux(_) => Slots { shuffle: 2, ..plain(1, 44) },
            Op::Vote { .. } => Slots { integer: 1, ..plain(1, 13) },
            Op::Mma(_) => plain(8, 32),
            Op::Field { verb, scalar, .. } => of_field(*verb, scalar.size() == Some(8)),
            Op::Logic(LogicVerb::Cnot, _) => plain(1, 4),
            // Bits are selected, whatever they mean.
            Op::Selp(ScalarType::F64) => integers(2),
            Op::Logic(_, scalar)
            | Op::Selp(scalar)
            | Op::Lop3 { scalar, .. }
            | Op::Shf { scalar, .. }
            | Op::Prmt { scalar, .. } => of_width(*scalar),
            Op::Compare(op) => of_width(op.scalar),
            // The machine code waits five clocks after a branch, and the warp as long again for its next instructions.
            Op::Bra | Op::Brx | Op::Call | Op::Ret => plain(1, 10),
            Op::Barrier { .. } => plain(1, 20),
            _ => plain(1, 1),
        }
    }
}

/// Clocks of a load that hits the memory nearest to the multiprocessor.
fn load_clocks(space: Option<AddressSpace>) -> u16 {
    match space {
        Some(AddressSpace::Shared | AddressSpace::SharedBlock) => SHARED_CLOCKS,
        Some(AddressSpace::SharedCluster) => CLUSTER_CLOCKS,
        Some(AddressSpace::Local) => 32,
        Some(AddressSpace::Constant) => 28,
        _ => 1,
    }
}

/// An operation on whole registers: one instruction for each 32 bits. Floats are compared and selected by the integer units.
fn of_width(scalar: ScalarType) -> Slots {
    match (scalar, scalar.size()) {
        (ScalarType::F64, _) => Slots { double: 1, ..plain(1, 8) },
        (_, Some(8)) => integers(2),
        _ => integers(1),
    }
}

/// An operation on bits. In 64 bits both halves are counted, and then put together.
fn of_field(verb: FieldVerb, wide: bool) -> Slots {
    let halves = if wide { 2 } else { 1 };
    match verb {
        FieldVerb::Bfe | FieldVerb::Bfi => Slots { clocks: 8, ..integers(2 * halves) },
        FieldVerb::Bmsk | FieldVerb::Szext => integers(1),
        FieldVerb::Clz => Slots { integer: halves, special: halves, ..plain(2 * halves, 23) },
        _ if wide => Slots { integer: 1, special: 2, ..plain(3, 21) },
        _ => Slots { special: 1, ..plain(1, 17) },
    }
}

fn is_float(scalar: ScalarType) -> bool {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    matches!(scalar, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
}

fn of_conversion(convert: &Convert) -> Slots {
    let (Format::Scalar(to), Format::Scalar(from)) = (convert.to, convert.from) else { return plain(1, 4) };
    let wide = to.size() == Some(8) || from.size() == Some(8);
    match (is_float(to), is_float(from)) {
        // Whole registers; a narrowing one is a mask at most.
        (false, false) => plain(0, 0),
        (_, true) if to == from && convert.whole.is_none() => plain(1, 4),
        // 32 bits to a float have an instruction on the integer units, narrower and wider ones do not.
        (true, false) if !wide && from.size() == Some(4) => integers(1),
        (true, true) if !wide && convert.whole.is_none() => plain(1, 4),
        _ => Slots { special: 1, ..plain(1, 19) },
    }
}

fn of_integer(op: &Integer) -> Slots {
    let wide = op.scalar.size() == Some(8);
    match op.verb {
        // A reciprocal in floating point, its conversions, and two corrections.
        IntegerVerb::Div | IntegerVerb::Rem if !wide => {
            Slots { integer: 8, multiply: 4, special: 3, ..plain(18, 130) }
        }
        // The same in 64 bits, a subroutine.
        IntegerVerb::Div | IntegerVerb::Rem => {
            Slots { integer: 27, multiply: 29, special: 3, ..plain(68, 300) }
        }
        // Four products of 32 bits with 64, and their sums with carries.
        IntegerVerb::Mul | IntegerVerb::Mad if op.part == Some(Part::High) && wide => {
            Slots { multiply: 4, integer: 4, ..plain(8, 33) }
        }
        // Two comparisons and two selections.
        IntegerVerb::Min | IntegerVerb::Max if wide => integers(4),
        // Of three products one is of 64 bits, which takes its unit for two; and the sum of the upper halves.
        IntegerVerb::Mul | IntegerVerb::Mad if op.part != Some(Part::Wide) && wide => {
            Slots { multiply: 4, integer: 1, ..plain(4, 16) }
        }
        IntegerVerb::Mul | IntegerVerb::Mad | IntegerVerb::Mul24 | IntegerVerb::Mad24 | IntegerVerb::Sad => {
            Slots { multiply: 1, ..plain(1, 4) }
        }
        _ if op.packed => integers(1),
        // The upper half issues behind the lower one, which is all that the next addition waits for.
        IntegerVerb::Add | IntegerVerb::Sub if wide => Slots { clocks: 4, ..integers(2) },
        _ => of_width(op.scalar),
    }
}

fn of_float(op: &Float) -> Slots {
    use FloatVerb::{
        Abs, Add, Cos, Div, Ex2, Fma, Lg2, Max, Min, Mul, Neg, Rcp, Rsqrt, Sin, Sqrt, Sub, Tanh,
    };
    let approximate = op.accuracy == Some(Accuracy::Approximate);
    if op.scalar == ScalarType::F64 {
        return match op.verb {
            Div => Slots { double: 9, special: 1, ..plain(16, 111) },
            Rcp => Slots { double: 8, special: 1, ..plain(14, 60) },
            Sqrt => Slots { double: 8, special: 1, ..plain(14, 79) },
            Rsqrt => Slots { double: 8, special: 1, ..plain(14, 54) },
            Abs | Neg => plain(0, 0),
            // A comparison and two selections.
            Min | Max => Slots { double: 1, integer: 2, ..plain(3, 25) },
            _ => Slots { double: 1, ..plain(1, 8) },
        };
    }
    // Without `.ftz`, subnormal operands are scaled before and after: a comparison and two products.
    let scaled = if op.flushes {
        Slots { special: 1, ..plain(1, 17) }
    } else {
        Slots { integer: 1, special: 1, ..plain(4, 39) }
    };
    match op.verb {
        Add | Sub | Mul | Fma => plain(1, 4),
        Abs | Neg => plain(0, 0),
        Min | Max => integers(1),
        Sin | Cos => Slots { special: 1, ..plain(2, 23) },
        Tanh => Slots { special: 1, ..plain(1, 18) },
        Ex2 | Lg2 | Rsqrt => scaled,
        Rcp | Sqrt if approximate => scaled,
        Div if approximate => Slots { issued: scaled.issued + 1, clocks: scaled.clocks + 2, ..scaled },
        // A check of the operands, an approximation and its corrections.
        Div => Slots { special: 2, ..plain(10, 44) },
        Rcp => Slots { special: 1, integer: 2, ..plain(10, 64) },
        Sqrt => Slots { special: 1, integer: 2, ..plain(10, 42) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_take_two() {
        let of = |opcode| {
            let Slots { issued, integer, .. } = Slots::of(&Op::read(opcode).expect(opcode));
            (issued, integer)
        };
        assert_eq!(
            [of("add.s32"), of("add.s64"), of("setp.ge.u64"), of("shl.b64")],
            [(1, 1), (2, 2), (2, 2), (2, 2)]
        );
        assert_eq!([of("mad.lo.s32"), of("mad.lo.s64"), of("mul.wide.u32")], [(1, 0), (4, 1), (1, 0)]);
        assert_eq!(
            [of("mul.hi.u64"), of("min.s64"), of("selp.b64"), of("selp.f64")],
            [(8, 4), (4, 4), (2, 2), (2, 2)]
        );
        assert_eq!(
            [of("bfe.u32"), of("bfi.b64"), of("clz.b32"), of("popc.b64")],
            [(2, 2), (4, 4), (2, 1), (3, 1)]
        );
        assert_eq!([of("fma.rn.f32"), of("add.rn.f32"), of("bra"), of("bar.sync")], [(1, 0); 4]);
        let product = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
        assert_eq!([of(product), of("ldmatrix.sync.aligned.m8n8.x4.shared.b16")], [(8, 0), (1, 0)]);
        assert_eq!([of("ld.global.nc.b32"), of("st.shared.v4.b32"), of("atom.global.add.u32")], [(1, 0); 3]);
        assert_eq!(
            [of("mov.b64"), of("ld.param.b64"), of("cvt.u64.u32"), of("cvta.to.global.u64")],
            [(0, 0); 4]
        );
        assert_eq!([of("cvt.rzi.u32.f32"), of("cvt.rn.f32.u32"), of("or.pred")], [(1, 0), (1, 1), (1, 1)]);
    }

    #[test]
    fn units_serve_their_instructions() {
        let of = |opcode| {
            let Slots { multiply, special, double, shuffle, clocks, .. } =
                Slots::of(&Op::read(opcode).expect(opcode));
            ([multiply, special, double, shuffle], clocks)
        };
        assert_eq!(of("mad.lo.s32"), ([1, 0, 0, 0], 4));
        assert_eq!(of("dp4a.s32.s32"), ([1, 0, 0, 0], 5));
        assert_eq!(of("fma.rn.f64"), ([0, 0, 1, 0], 8));
        assert_eq!(of("ex2.approx.ftz.f32"), ([0, 1, 0, 0], 17));
        assert_eq!(of("cvt.rzi.s32.f32"), ([0, 1, 0, 0], 19));
        assert_eq!(of("popc.b32"), ([0, 1, 0, 0], 17));
        assert_eq!(of("shfl.sync.bfly.b32"), ([0, 0, 0, 1], 26));
        assert_eq!(of("mul.lo.s64"), ([4, 0, 0, 0], 16));
        assert_eq!(of("add.s64"), ([0; 4], 4));
        assert_eq!(of("ld.shared.b32"), ([0; 4], 23));
        assert_eq!(of("ld.global.b32"), ([0; 4], 1));
        // Sequences.
        assert_eq!(of("div.rn.f32"), ([0, 2, 0, 0], 44));
        assert_eq!(of("div.rn.f64"), ([0, 1, 9, 0], 111));
        assert_eq!(of("sqrt.rn.f64"), ([0, 1, 8, 0], 79));
        assert_eq!(of("rsqrt.approx.f32"), ([0, 1, 0, 0], 39));
    }
}
