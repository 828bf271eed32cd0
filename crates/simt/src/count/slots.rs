//! Estimates how many machine instructions a PTX instruction becomes, and how many of them are integer instructions.
//!
//! Multiprocessors work in 32 bits: 64 bits of an address take two additions, two comparisons, or three
//! multiplications. Parameters are operands from constant memory, and moves and conversions of whole registers mostly
//! vanish. For four in five of 83 kernels at small sizes on an H200, `smsp__inst_executed.sum` is within 20% of the sum
//! of these weights.

use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Convert, FieldVerb, Format, IntegerVerb, LogicVerb};
use crate::ptx::op::words::Part;

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
}

impl Slots {
    /// Returns the slots of an instruction.
    pub fn of(op: &Op) -> Self {
        use ScalarType::{B16, B32, B64, Pred, S16, S32, S64, U16, U32, U64};
        let slots = |issued, integer| Self { issued, integer };
        // Floats are computed by other units.
        let each = |scalar| match scalar {
            B64 | U64 | S64 => slots(2, 2),
            B32 | U32 | S32 | B16 | U16 | S16 | Pred => slots(1, 1),
            _ => slots(1, 0),
        };
        match op {
            Op::Mov(_) | Op::Cvta { .. } => slots(0, 0),
            Op::Convert(Convert { to: Format::Scalar(to), from: Format::Scalar(from), .. })
                if each(*from).integer > 0 && (each(*to).integer > 0 || to.size() == Some(1)) =>
            {
                slots(0, 0)
            }
            Op::Ld(access) if access.is_parameter() => slots(0, 0),
            Op::Integer(op) => match op.verb {
                IntegerVerb::Div | IntegerVerb::Rem => slots(18, 8),
                IntegerVerb::Mul | IntegerVerb::Mad
                    if op.part != Some(Part::Wide) && op.scalar.size() == Some(8) =>
                {
                    slots(3, 0)
                }
                IntegerVerb::Mul
                | IntegerVerb::Mad
                | IntegerVerb::Mul24
                | IntegerVerb::Mad24
                | IntegerVerb::Sad => slots(1, 0),
                _ if op.packed => slots(1, 0),
                _ => each(op.scalar),
            },
            Op::Mma(_) => slots(8, 0),
            Op::Logic(LogicVerb::Cnot, _) => slots(1, 0),
            Op::Logic(_, scalar)
            | Op::Selp(scalar)
            | Op::Lop3 { scalar, .. }
            | Op::Prmt { scalar, .. }
            | Op::Field { verb: FieldVerb::Bfe | FieldVerb::Bfi, scalar, .. } => each(*scalar),
            Op::Compare(op) => each(op.scalar),
            _ => slots(1, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_take_two() {
        let of = |opcode| {
            let Slots { issued, integer } = Slots::of(&Op::read(opcode).expect(opcode));
            (issued, integer)
        };
        assert_eq!(
            [of("add.s32"), of("add.s64"), of("setp.ge.u64"), of("shl.b64")],
            [(1, 1), (2, 2), (2, 2), (2, 2)]
        );
        assert_eq!([of("mad.lo.s32"), of("mad.lo.s64"), of("mul.wide.u32")], [(1, 0), (3, 0), (1, 0)]);
        assert_eq!([of("fma.rn.f32"), of("add.rn.f32"), of("bra"), of("bar.sync")], [(1, 0); 4]);
        let product = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
        assert_eq!([of(product), of("ldmatrix.sync.aligned.m8n8.x4.shared.b16")], [(8, 0), (1, 0)]);
        assert_eq!([of("ld.global.nc.b32"), of("st.shared.v4.b32"), of("atom.global.add.u32")], [(1, 0); 3]);
        assert_eq!(
            [of("mov.b64"), of("ld.param.b64"), of("cvt.u64.u32"), of("cvta.to.global.u64")],
            [(0, 0); 4]
        );
        assert_eq!([of("cvt.rzi.u32.f32"), of("cvt.rn.f32.u32"), of("or.pred")], [(1, 0), (1, 0), (1, 1)]);
    }
}
