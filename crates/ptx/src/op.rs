//! Typed instructions: what an opcode says, with each modifier parsed once, used or refused by name.
//!
//! ```
//! use ptx::op::{Op, memory::Memory, words::AddressSpace};
//!
//! let opcode = ptx::Opcode::new("ld.global.nc.v4.f32");
//! let Ok(Op::Memory(Memory::Ld(access))) = opcode.op() else { panic!("a load") };
//! assert_eq!((access.space, access.elements, access.read_only), (Some(AddressSpace::Global), 4, true));
//!
//! let error = ptx::Opcode::new("ld.global.fast.f32").op().unwrap_err().to_string();
//! assert_eq!(error, "ld.global.fast.f32: unknown modifier .fast, or not in this place");
//! ```

pub mod arithmetic;
pub mod control;
pub mod copies;
mod effects;
mod facts;
pub mod matrix;
pub mod memory;
mod modifiers;
#[cfg(test)]
mod tests;
pub mod wgmma;
pub mod words;

pub use effects::Awaits;

use crate::types::ScalarType;
use arithmetic::{Compare, Convert, Dot, FieldVerb, Float, Integer, LogicVerb, Pack};
use control::{BarrierVerb, Redux};
use copies::Copying;
use matrix::{Ldmatrix, Mma, Stmatrix};
use memory::Memory;
use modifiers::Modifiers;
use wgmma::Wgmma;
use words::{Combine, FloatTest, Order, Overshift, Permutation, ShuffleMode, VoteMode};

/// An instruction's operation: its opcode with all modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `mov`: of a register, or between a register and its parts.
    Mov(ScalarType),
    /// `cvt`
    Convert(Convert),
    /// `cvt.pack`
    Pack(Pack),
    /// `setp` and `set`
    Compare(Compare),
    /// `selp`: one of two operands, by a predicate.
    Selp(ScalarType),
    /// `slct`: one of two operands, by the sign of a third.
    Slct {
        /// Type of the two.
        scalar: ScalarType,
        /// Type of the third.
        by: ScalarType,
        /// `.ftz`
        flushes: bool,
    },
    /// `testp`
    Testp(FloatTest, ScalarType),
    /// `copysign`
    Copysign(ScalarType),
    /// `and`, `or`, `xor`, `not`, `cnot`, `shl`, `shr`
    Logic(LogicVerb, ScalarType),
    /// `shf`: a shift of two registers.
    Shf {
        /// To the left.
        left: bool,
        /// Meaning of amounts above 32.
        overshift: Overshift,
        /// Type.
        scalar: ScalarType,
    },
    /// `lop3`: any function of three bits, by a table.
    Lop3 {
        /// Combination of the result's test with a predicate, if any.
        combine: Option<Combine>,
        /// Type.
        scalar: ScalarType,
    },
    /// `bfe`, `bfi`, `bfind`, `clz`, `popc`, `brev`, `fns`, `bmsk`, `szext`
    Field {
        /// Operation.
        verb: FieldVerb,
        /// Meaning of amounts beyond the width, for `bmsk` and `szext`.
        overshift: Option<Overshift>,
        /// Type.
        scalar: ScalarType,
    },
    /// `prmt`
    Prmt {
        /// The permutation; None if an operand gives it.
        permutation: Option<Permutation>,
        /// Type.
        scalar: ScalarType,
    },
    /// `dp4a` and `dp2a`
    Dot(Dot),
    /// Arithmetic on integers.
    Integer(Integer),
    /// Arithmetic on floating-point numbers.
    Float(Float),
    /// `shfl`: a lane reads another's value.
    Shfl {
        /// `.sync`: an operand names the lanes that meet.
        synchronous: bool,
        /// Which lane.
        mode: ShuffleMode,
        /// Type.
        scalar: ScalarType,
    },
    /// `vote`
    Vote {
        /// `.sync`
        synchronous: bool,
        /// Meaning of the result.
        mode: VoteMode,
        /// Type of the result.
        scalar: ScalarType,
    },
    /// `match`: the lanes with the same value.
    Match {
        /// `.sync`
        synchronous: bool,
        /// True for `.all`, false for `.any`.
        all: bool,
        /// Type of the values.
        scalar: ScalarType,
    },
    /// `redux`
    Redux(Redux),
    /// `elect`: one lane of those that are there.
    Elect,
    /// `activemask`
    Activemask(ScalarType),
    /// Accesses to memory, its addresses, and the order of accesses.
    Memory(Memory),
    /// Copies of ranges of memory, most of them asynchronous.
    Copy(Copying),
    /// `wgmma`: products of matrices by four warps.
    Wgmma(Wgmma),
    /// `bra`
    Bra,
    /// `brx.idx`
    Brx,
    /// `call`
    Call,
    /// `ret`
    Ret,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`
    Brkpt,
    /// `nanosleep`
    Nanosleep,
    /// `pmevent`
    Pmevent,
    /// `griddepcontrol`
    Griddepcontrol {
        /// Waits for the grid before; false starts the next one.
        waits: bool,
    },
    /// `setmaxnreg`: a warp takes registers, or gives some back.
    Setmaxnreg {
        /// Takes; false gives back.
        takes: bool,
    },
    /// `bar.warp.sync`
    WarpSync,
    /// `barrier.cluster`
    ClusterBarrier {
        /// Waits; false arrives.
        waits: bool,
        /// All lanes of a warp execute it together.
        aligned: bool,
        /// Order, if written.
        order: Option<Order>,
    },
    /// `bar` and `barrier`
    Barrier {
        /// Action of a thread.
        verb: BarrierVerb,
        /// All lanes of a warp execute it together.
        aligned: bool,
    },
    /// `mma.sync` of dense matrices
    Mma(Mma),
    /// `ldmatrix`
    Ldmatrix(Ldmatrix),
    /// `stmatrix`
    Stmatrix(Stmatrix),
    /// `movmatrix`: transposes a matrix.
    Movmatrix,
    /// An instruction whose modifiers are not read: textures, surfaces, other products of matrices, memory of several
    /// devices.
    Other {
        /// The lanes of a warp execute it together.
        collective: bool,
    },
}

/// Bases of [`Op::Other`].
const OTHERS: [&str; 23] = [
    "alloca",
    "istypep",
    "ldmatrix",
    "mma",
    "multimem",
    "stackrestore",
    "stacksave",
    "suld",
    "suq",
    "sured",
    "sust",
    "tcgen05",
    "tensormap",
    "tex",
    "tld4",
    "txq",
    "vabsdiff4",
    "vadd",
    "vadd4",
    "vmad",
    "vset",
    "wmma",
    "clusterlaunchcontrol",
];

/// An opcode that is no instruction of PTX, as far as this crate knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OpError {
    /// The instruction is unknown: the whole opcode.
    #[error("unknown instruction {0}")]
    Base(String),
    /// The instruction does not have the modifier.
    #[error("{opcode}: unknown modifier .{modifier}, or not in this place")]
    Modifier {
        /// The whole opcode.
        opcode: String,
        /// The modifier, without its dot.
        modifier: String,
    },
    /// The instruction needs a modifier.
    #[error("{opcode}: lacks {what}{}", if found.is_empty() { String::new() } else { format!("; found .{found}") })]
    Lacks {
        /// The whole opcode.
        opcode: String,
        /// The missing part.
        what: &'static str,
        /// The modifiers that have no meaning yet where it is missing, separated by dots.
        found: String,
    },
}

impl Op {
    /// Decodes an opcode such as `ld.global.nc.b32`.
    ///
    /// # Errors
    /// Fails if the instruction or a modifier is unknown, or a modifier is missing.
    pub fn read(opcode: &str) -> Result<Self, OpError> {
        let (base, mut words) = Modifiers::split(opcode);
        let aligned = words.has("aligned");
        let words = &mut words;
        for read in [arithmetic::read, copies::read, memory::read, control::read, matrix::read, wgmma::read] {
            if let Some(op) = read(base, words)? {
                words.done()?;
                return Ok(op);
            }
        }
        match OTHERS.contains(&base) {
            true => Ok(Self::Other { collective: aligned || base == "tcgen05" }),
            false => Err(OpError::Base(opcode.to_owned())),
        }
    }
}
