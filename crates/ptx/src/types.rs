//! The keywords of closed lists: types, spaces, linkage, special registers.

use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)* }

        impl $name {
            /// Parses the word, without its dot.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($text => Some(Self::$variant),)* _ => None }
            }

            /// Returns the word, without its dot.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, ".{}", self.word())
            }
        }
    };
}

pub(super) use words;

words! {
    /// The type of a register, a variable or a parameter.
    #[allow(missing_docs, reason = "the words say it")]
    ScalarType {
        Pred = "pred",
        B8 = "b8",
        B16 = "b16",
        B32 = "b32",
        B64 = "b64",
        B128 = "b128",
        U8 = "u8",
        U16 = "u16",
        U32 = "u32",
        U64 = "u64",
        S8 = "s8",
        S16 = "s16",
        S32 = "s32",
        S64 = "s64",
        F16 = "f16",
        F16x2 = "f16x2",
        Bf16 = "bf16",
        Bf16x2 = "bf16x2",
        F32 = "f32",
        F64 = "f64",
        Texture = "texref",
        Sampler = "samplerref",
        Surface = "surfref",
    }
}

impl ScalarType {
    /// Returns the size in bytes; None for predicates. References to textures, samplers and surfaces are handles of
    /// eight bytes.
    pub fn size(self) -> Option<u32> {
        Some(match self {
            Self::Pred => return None,
            Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::Texture | Self::Sampler | Self::Surface => 8,
            Self::B128 => 16,
        })
    }
}

words! {
    /// State space of a variable.
    #[allow(missing_docs, reason = "the words say it")]
    Space {
        Global = "global",
        Shared = "shared",
        Local = "local",
        Constant = "const",
        Parameter = "param",
    }
}

words! {
    /// Linkage of a variable or function; without a keyword it is local to its module.
    #[allow(missing_docs, reason = "the words say it")]
    Linkage {
        Visible = "visible",
        Extern = "extern",
        Weak = "weak",
        Common = "common",
    }
}

words! {
    /// An element of a vector register.
    #[allow(missing_docs, reason = "the words say it")]
    Component {
        X = "x",
        Y = "y",
        Z = "z",
        W = "w",
        R = "r",
        G = "g",
        B = "b",
        A = "a",
    }
}

/// A special register such as `%tid.x`: its name from [`SPECIAL_REGISTERS`], and the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecialRegister {
    /// Name with the per cent sign: `%tid`.
    pub name: &'static str,
    /// Element: `x` of `%tid.x`.
    pub component: Option<Component>,
}

impl fmt::Display for SpecialRegister {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)?;
        self.component.map_or(Ok(()), |component| write!(formatter, "{component}"))
    }
}

/// All special registers, from the PTX ISA 9.0 manual's chapter.
pub const SPECIAL_REGISTERS: [&str; 85] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%pm0",
    "%pm1",
    "%pm2",
    "%pm3",
    "%pm4",
    "%pm5",
    "%pm6",
    "%pm7",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
    "%envreg0",
    "%envreg1",
    "%envreg2",
    "%envreg3",
    "%envreg4",
    "%envreg5",
    "%envreg6",
    "%envreg7",
    "%envreg8",
    "%envreg9",
    "%envreg10",
    "%envreg11",
    "%envreg12",
    "%envreg13",
    "%envreg14",
    "%envreg15",
    "%envreg16",
    "%envreg17",
    "%envreg18",
    "%envreg19",
    "%envreg20",
    "%envreg21",
    "%envreg22",
    "%envreg23",
    "%envreg24",
    "%envreg25",
    "%envreg26",
    "%envreg27",
    "%envreg28",
    "%envreg29",
    "%envreg30",
    "%envreg31",
    "%pm0_64",
    "%pm1_64",
    "%pm2_64",
    "%pm3_64",
    "%pm4_64",
    "%pm5_64",
    "%pm6_64",
    "%pm7_64",
];
