//! Estimates how many machine instructions a PTX instruction becomes, and how many of them are integer instructions.
//!
//! Multiprocessors work in 32 bits: 64 bits of an address take two additions, two comparisons, or three
//! multiplications. Parameters are operands from constant memory, and moves and conversions of whole registers mostly
//! vanish. For four in five of 83 kernels at small sizes on an H200, `smsp__inst_executed.sum` is within 20% of the sum
//! of these weights.

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
    /// Returns the slots of an opcode with its modifiers, such as `add.s64`.
    pub fn of(opcode: &str) -> Self {
        let slots = |issued, integer| Self { issued, integer };
        let mut words = opcode.split('.');
        let base = words.next().unwrap_or_default();
        let last = words.next_back().unwrap_or_default();
        let is_wide = matches!(last, "s64" | "u64" | "b64");
        let is_integer = is_wide || matches!(last, "s32" | "u32" | "b32" | "s16" | "u16" | "b16" | "pred");
        match base {
            "mov" | "cvta" => slots(0, 0),
            "cvt" if is_integer && !opcode.contains(".f") => slots(0, 0),
            "ld" if opcode.starts_with("ld.param") => slots(0, 0),
            "div" | "rem" if is_integer => slots(18, 8),
            "mma" => slots(8, 0),
            "mul" if opcode.starts_with("mul.wide") => slots(1, 0),
            "mul" | "mad" if is_wide => slots(3, 0),
            "add" | "sub" | "min" | "max" | "abs" | "neg" | "and" | "or" | "xor" | "not" | "shl" | "shr"
            | "setp" | "set" | "selp" | "lop3" | "bfe" | "bfi" | "prmt"
                if is_integer =>
            {
                let each = if is_wide { 2 } else { 1 };
                slots(each, each)
            }
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
            let Slots { issued, integer } = Slots::of(opcode);
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
