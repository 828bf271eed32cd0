//! The words of modifiers: closed lists from the PTX ISA manual, 9.0.

use crate::types::{Space, words};

words! {
    /// Rounding of a result that lies between two numbers of its format.
    Rounding {
        /// To the nearest; halves to the even one.
        NearestEven = "rn",
        /// Towards zero.
        Zero = "rz",
        /// Towards minus infinity.
        Down = "rm",
        /// Towards plus infinity.
        Up = "rp",
        /// To the nearest; halves away from zero.
        NearestAway = "rna",
    }
}

impl Rounding {
    /// Parses the rounding to a whole number: `rni`, `rzi`, `rmi` and `rpi`.
    pub fn from_whole_word(word: &str) -> Option<Self> {
        Self::from_word(word.strip_suffix('i')?).filter(|rounding| *rounding != Self::NearestAway)
    }
}

words! {
    /// Accuracy of a function of a floating-point number.
    Accuracy {
        /// A fast approximation.
        Approximate = "approx",
        /// A division within 2 units in the last place over the whole range.
        Full = "full",
    }
}

words! {
    /// The part of a product that is the result.
    Part {
        /// The lower half.
        Low = "lo",
        /// The upper half.
        High = "hi",
        /// All of it, in a register of twice the size.
        Wide = "wide",
    }
}

words! {
    /// A comparison. Those that end in `u` also hold if an operand is NaN.
    #[allow(missing_docs, reason = "the words say it")]
    Comparison {
        Equal = "eq",
        NotEqual = "ne",
        Less = "lt",
        LessOrEqual = "le",
        Greater = "gt",
        GreaterOrEqual = "ge",
        Lower = "lo",
        LowerOrSame = "ls",
        Higher = "hi",
        HigherOrSame = "hs",
        EqualOrNan = "equ",
        NotEqualOrNan = "neu",
        LessOrNan = "ltu",
        LessOrEqualOrNan = "leu",
        GreaterOrNan = "gtu",
        GreaterOrEqualOrNan = "geu",
        Number = "num",
        Nan = "nan",
    }
}

words! {
    /// Combination of a comparison's result with a predicate.
    #[allow(missing_docs, reason = "the words say it")]
    Combine {
        And = "and",
        Or = "or",
        Xor = "xor",
    }
}

words! {
    /// A test of one floating-point number.
    #[allow(missing_docs, reason = "the words say it")]
    FloatTest {
        Finite = "finite",
        Infinite = "infinite",
        Number = "number",
        NotANumber = "notanumber",
        Normal = "normal",
        Subnormal = "subnormal",
    }
}

words! {
    /// Effect of a shift amount beyond the width.
    Overshift {
        /// It counts as the width.
        Clamp = "clamp",
        /// Its lowest bits count.
        Wrap = "wrap",
    }
}

words! {
    /// A fixed way to permute bytes: `prmt.b32.f4e`.
    Permutation {
        /// Four bytes forwards.
        Forwards = "f4e",
        /// Four bytes backwards.
        Backwards = "b4e",
        /// One byte in all places.
        Replicate8 = "rc8",
        /// Clamped to the left edge.
        ClampLeft = "ecl",
        /// Clamped to the right edge.
        ClampRight = "ecr",
        /// One half in both places.
        Replicate16 = "rc16",
    }
}

words! {
    /// Rule by which a shuffle finds the lane to read.
    ShuffleMode {
        /// A number of lanes below.
        Up = "up",
        /// A number of lanes above.
        Down = "down",
        /// The lane whose number differs in the bits given.
        Butterfly = "bfly",
        /// The lane of a number.
        Index = "idx",
    }
}

words! {
    /// Meaning of a vote's result.
    VoteMode {
        /// Whether all lanes are for it.
        All = "all",
        /// Whether any lane is for it.
        Any = "any",
        /// Whether all lanes agree.
        Uniform = "uni",
        /// The lanes that are for it.
        Ballot = "ballot",
    }
}

words! {
    /// Operation of an atomic update, a reduction of a warp, or a reducing copy.
    #[allow(missing_docs, reason = "the words say it")]
    Update {
        Add = "add",
        /// Adds one, or wraps to 0 at the operand.
        Increment = "inc",
        /// Subtracts one, or wraps to the operand at 0.
        Decrement = "dec",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
        Exchange = "exch",
        /// Compares and swaps.
        CompareAndSwap = "cas",
    }
}

words! {
    /// Memory order of an access or a fence.
    #[allow(missing_docs, reason = "the words say it")]
    Order {
        Weak = "weak",
        Volatile = "volatile",
        Relaxed = "relaxed",
        Acquire = "acquire",
        Release = "release",
        AcquireRelease = "acq_rel",
        SequentiallyConsistent = "sc",
    }
}

words! {
    /// Threads among which a memory order holds.
    Scope {
        /// Those of the block.
        Block = "cta",
        /// Those of the cluster.
        Cluster = "cluster",
        /// Those of the device.
        Device = "gpu",
        /// All, those of the host and of other devices too.
        System = "sys",
    }
}

words! {
    /// Cache operator of a load or store.
    CacheOperator {
        /// All levels: the default of loads.
        All = "ca",
        /// L2 only.
        Global = "cg",
        /// Streaming: likely used once.
        Streaming = "cs",
        /// Last use.
        LastUse = "lu",
        /// As volatile: fetched again.
        Volatile = "cv",
        /// Written back: the default of stores.
        WriteBack = "wb",
        /// Written through L2 to memory.
        WriteThrough = "wt",
    }
}

words! {
    /// Priority of a cache line.
    Eviction {
        /// The default.
        Normal = "evict_normal",
        /// As it was.
        Unchanged = "evict_unchanged",
        /// Evicted first.
        First = "evict_first",
        /// Evicted last.
        Last = "evict_last",
        /// Not kept.
        NoAllocate = "no_allocate",
    }
}

words! {
    /// Shape of the box that a copy of a tensor copies.
    TensorMode {
        /// A box of the tensor's own shape.
        Tile = "tile",
        /// Four rows, wherever they are, to a tile.
        Gather = "tile::gather4",
        /// Four rows of a tile to wherever they belong.
        Scatter = "tile::scatter4",
        /// The columns of a convolution.
        Im2col = "im2col",
        /// The same, of the tensor's width alone.
        Im2colWide = "im2col::w",
        /// The same, 128 elements of it.
        Im2colWide128 = "im2col::w::128",
        /// The columns of a convolution, without offsets.
        Im2colWithoutOffsets = "im2col_no_offs",
    }
}

words! {
    /// Element of a matrix that a product takes.
    #[allow(missing_docs, reason = "the words say it")]
    MatrixElement {
        F16 = "f16",
        Bf16 = "bf16",
        Tf32 = "tf32",
        E4m3 = "e4m3",
        E5m2 = "e5m2",
        S8 = "s8",
        U8 = "u8",
        Bit = "b1",
    }
}

words! {
    /// State space of an address that an instruction names; without a name the address is generic.
    AddressSpace {
        /// Device memory.
        Global = "global",
        /// Shared memory of the thread's own block.
        Shared = "shared",
        /// The same, spelled out.
        SharedBlock = "shared::cta",
        /// Shared memory of a block of the cluster.
        SharedCluster = "shared::cluster",
        /// The thread's own memory.
        Local = "local",
        /// Constant memory.
        Constant = "const",
        /// Parameters of the kernel, or of the function.
        Parameter = "param",
        /// Parameters of the kernel.
        EntryParameter = "param::entry",
        /// Parameters of the function.
        FunctionParameter = "param::func",
    }
}

impl AddressSpace {
    /// Returns the space of variables that the address is in.
    pub fn of(self) -> Space {
        match self {
            Self::Global => Space::Global,
            Self::Shared | Self::SharedBlock | Self::SharedCluster => Space::Shared,
            Self::Local => Space::Local,
            Self::Constant => Space::Constant,
            Self::Parameter | Self::EntryParameter | Self::FunctionParameter => Space::Parameter,
        }
    }

    /// Returns true for shared memory, of the own block or of the cluster.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Shared | Self::SharedBlock | Self::SharedCluster)
    }

    /// Returns true for parameters.
    pub fn is_parameter(self) -> bool {
        matches!(self, Self::Parameter | Self::EntryParameter | Self::FunctionParameter)
    }
}
