//! Typed instructions: what an opcode says, with each modifier parsed once, used or refused by name.
//!
//! ```
//! use ptx::op::{Op, words::AddressSpace};
//!
//! let opcode = ptx::Opcode::new("ld.global.nc.v4.f32");
//! let Ok(Op::Ld(access)) = opcode.op() else { panic!("a load") };
//! assert_eq!((access.space, access.elements, access.read_only), (Some(AddressSpace::Global), 4, true));
//!
//! let error = ptx::Opcode::new("ld.global.fast.f32").op().unwrap_err().to_string();
//! assert_eq!(error, "ld.global.fast.f32: unknown modifier .fast, or not in this place");
//! ```

pub mod arithmetic;
pub mod control;
mod effects;
mod facts;
pub mod matrix;
pub mod memory;
mod modifiers;
pub mod words;

pub use facts::Awaits;

use crate::types::ScalarType;
use arithmetic::{Compare, Convert, Dot, FieldVerb, Float, Integer, LogicVerb, Pack};
use control::{BarrierVerb, Redux};
use matrix::{Ldmatrix, Mma};
use memory::{Access, Advice, AsyncCopy, Atomic, BulkCopy, CopyGroup, Fence, Mbarrier};
use modifiers::Modifiers;
use words::{AddressSpace, Combine, FloatTest, Order, Overshift, Permutation, ShuffleMode, VoteMode};

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
    /// `ld`
    Ld(Access),
    /// `ldu`
    Ldu(Access),
    /// `st`
    St(Access),
    /// `st.async`: a store into the cluster's shared memory.
    StAsync {
        /// The store.
        access: Access,
        /// A barrier counts the bytes.
        counted: bool,
    },
    /// `st.bulk`: zeros.
    StBulk {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
    /// `atom` and `red`
    Atomic(Atomic),
    /// `cvta`: converts an address to or from generic.
    Cvta {
        /// `.to`: from generic.
        to_space: bool,
        /// The space.
        space: AddressSpace,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `isspacep`: whether a generic address is in a space.
    Isspacep(AddressSpace),
    /// `mapa`: the address of the same variable in another block of the cluster.
    Mapa {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `getctarank`: the rank of the block that owns an address.
    Getctarank {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `prefetch`, `prefetchu`, `applypriority`, `discard`
    Advice {
        /// Which.
        advice: Advice,
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
    /// `createpolicy`
    Createpolicy,
    /// `fence` and `membar`
    Fence(Fence),
    /// `mbarrier`
    Mbarrier(Mbarrier),
    /// `cp.async`
    CpAsync(AsyncCopy),
    /// `cp.async.commit_group` and the like, and those of bulk copies.
    CopyGroup {
        /// Action.
        group: CopyGroup,
        /// True for bulk copies.
        bulk: bool,
    },
    /// `cp.async.mbarrier.arrive`: a barrier object tracks the copies so far.
    CopyArrive {
        /// `.noinc`: the arrival is one of those that the barrier expects.
        counted: bool,
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
    /// `cp.async.bulk`
    CpBulk(BulkCopy),
    /// `cp.async.bulk.prefetch`
    BulkPrefetch {
        /// An operand holds a cache policy.
        has_policy: bool,
    },
    /// `cp.async.bulk.tensor` and its relatives, of which the modifiers are not read.
    BulkTensor,
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
    /// `setmaxnreg`
    Setmaxnreg,
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
    /// An instruction whose modifiers are not read: textures, surfaces, other products of matrices, memory of several
    /// devices.
    Other,
}

/// Bases of [`Op::Other`].
const OTHERS: [&str; 26] = [
    "alloca",
    "istypep",
    "ldmatrix",
    "mma",
    "movmatrix",
    "multimem",
    "stackrestore",
    "stacksave",
    "stmatrix",
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
    "wgmma",
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
        let words = &mut words;
        for read in [arithmetic::read, memory::read, control::read, matrix::read] {
            if let Some(op) = read(base, words)? {
                if op != Self::BulkTensor {
                    words.done()?;
                }
                return Ok(op);
            }
        }
        match OTHERS.contains(&base) {
            true => Ok(Self::Other),
            false => Err(OpError::Base(opcode.to_owned())),
        }
    }
}
