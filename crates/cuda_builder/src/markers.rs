//! Markers that the source leaves in a module for the passes: statics in sections whose names begin with `.cuda.`.
//!
//! | section | what it means |
//! | --- | --- |
//! | `.cuda.shared`, `.cuda.constant`, `.cuda.global`, `.cuda.managed` | the static lives in that memory |
//! | `.cuda.kernel` | bytes that describe a kernel: see [`Kernel`] |
//! | `.cuda.export` | bytes that are the name of a symbol to keep |
//!
//! A custom section name passes stock rustc unchanged on its way to LLVM; a custom attribute does not.

use std::collections::HashSet;

use crate::llvm::{Linkage, Module, Value};
use crate::names::readable;
use crate::{CudaBuilderError, NvvmArch, UnknownArch};

/// A memory that a static can be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Shared,
    Constant,
    Global,
    Managed,
}

const MEMORIES: [(&str, Memory); 4] = [
    (".cuda.shared", Memory::Shared),
    (".cuda.constant", Memory::Constant),
    (".cuda.global", Memory::Global),
    (".cuda.managed", Memory::Managed),
];
const KERNEL: &str = ".cuda.kernel";
const EXPORT: &str = ".cuda.export";

/// The external symbol that stands for dynamic shared memory.
pub(crate) const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared";

/// A kernel's description, in the static's bytes: `NAME \0 THREADS \0 MIN_BLOCKS \0 ACCESS`. `\0 safe` follows for a
/// safe kernel, `\0 arch=compute_90a` for one that names the oldest architecture with its instructions, and
/// `\0 cluster=2,1,1` for one that runs in clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Symbol of the kernel.
    pub(crate) name: String,
    /// Most threads in a block that it is ever launched with; 0 is not given.
    pub(crate) threads: u32,
    /// Blocks that shall fit on a multiprocessor at once; 0 is not given.
    pub(crate) blocks: u32,
    /// What is known of each parameter.
    pub(crate) access: Vec<Access>,
    /// True if the kernel is a safe function: the audit then checks the rules that its types cannot express.
    pub(crate) safe: bool,
    /// The oldest architecture that has its instructions; every architecture where this is `None`.
    pub(crate) arch: Option<NvvmArch>,
    /// Blocks of each of its clusters along x, y and z; a launch decides where this is `None`.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// What is known of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `-`: nothing.
    Any,
    /// `r`: a pointer that nothing writes through during a launch.
    ReadOnly,
    /// `c`: a value that the kernel takes the address of.
    Constant,
}

/// The first compute capability with clusters.
pub(crate) const FIRST_WITH_CLUSTERS: u32 = 90;
/// Blocks that a cluster has at most on any device with clusters.
pub(crate) const MOST_BLOCKS_A_CLUSTER: u32 = 8;

impl Kernel {
    fn parse(bytes: &[u8]) -> Result<Self, CudaBuilderError> {
        let wrong = |reason: &str| {
            CudaBuilderError::Marker(format!(
                "a static in section {KERNEL} does not describe a kernel ({reason}): it holds {:?}, where \
                 NAME\\0THREADS\\0MIN_BLOCKS\\0ACCESS is expected, and after it any of \\0safe, \\0arch=ARCHITECTURE and \\0cluster=X,Y,Z. Leave \
                 these statics to `#[kernel]`, of a `cuda_std` that matches this `cuda_builder`.",
                String::from_utf8_lossy(bytes)
            ))
        };
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("not text"))?;
        let parts: Vec<&str> = text.split('\0').collect();
        let [name, threads, blocks, access, ref rest @ ..] = parts[..] else {
            return Err(wrong("fewer than four parts"));
        };
        if name.is_empty() {
            return Err(wrong("no name"));
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong("a launch bound is no number"));
        let (mut safe, mut arch, mut cluster) = (false, None, None);
        for part in rest {
            let is_new = if *part == "safe" {
                !std::mem::replace(&mut safe, true)
            } else if let Some(name) = part.strip_prefix("arch=") {
                let named = name.parse().map_err(|unknown: UnknownArch| wrong(&unknown.to_string()))?;
                arch.replace(named).is_none()
            } else if let Some(blocks) = part.strip_prefix("cluster=") {
                let blocks: Vec<u32> = blocks.split(',').map(number).collect::<Result<_, _>>()?;
                let blocks: [u32; 3] =
                    blocks.try_into().map_err(|_| wrong("a cluster has other than three axes"))?;
                cluster.replace(blocks).is_none()
            } else {
                return Err(wrong("a part after the fourth is none of `safe`, `arch=..` and `cluster=..`"));
            };
            if !is_new {
                return Err(wrong("a part after the fourth is there twice"));
            }
        }
        let access = access.chars().map(|access| match access {
            'r' => Ok(Access::ReadOnly),
            'c' => Ok(Access::Constant),
            '-' => Ok(Access::Any),
            _ => Err(wrong("an access is none of `r`, `c` and `-`")),
        });
        Ok(Self {
            name: name.to_owned(),
            threads: number(threads)?,
            blocks: number(blocks)?,
            access: access.collect::<Result<_, _>>()?,
            safe,
            arch,
            cluster,
        })
    }

    /// Whether PTX for this architecture can hold the kernel.
    pub(crate) fn runs_on(&self, arch: NvvmArch) -> bool {
        self.arch.is_none_or(|needed| needed.is_contained_in(arch))
    }
}

/// The memory that a variable's section asks for. An unknown name under `.cuda.` is an error: it would be placed wrongly.
pub(crate) fn memory(variable: Value<'_>) -> Result<Option<Memory>, CudaBuilderError> {
    let Some(section) = variable.section() else { return Ok(None) };
    if let Some((_, memory)) = MEMORIES.iter().find(|(name, _)| *name == section) {
        return Ok(Some(*memory));
    }
    if section.starts_with(".cuda.") && section != KERNEL && section != EXPORT {
        return Err(CudaBuilderError::Marker(format!(
            "the static `{}` is in section {section}, which means nothing here; the sections are .cuda.shared, .cuda.constant, \
             .cuda.global, .cuda.managed, {KERNEL} and {EXPORT}. Update `cuda_builder` to match `cuda_std`.",
            readable(&variable.name())
        )));
    }
    Ok(None)
}

/// All kernel descriptions in the module.
pub(crate) fn kernels(module: &Module<'_>) -> Result<Vec<Kernel>, CudaBuilderError> {
    let marked = module.variables().filter(|variable| is_in(*variable, KERNEL));
    marked.filter_map(|variable| variable.initialiser()?.bytes()).map(|bytes| Kernel::parse(&bytes)).collect()
}

/// Statics that only carry markers and have no business in the PTX.
pub(crate) fn carriers<'c>(module: &Module<'c>) -> impl Iterator<Item = Value<'c>> + use<'c> {
    module.variables().filter(|variable| is_in(*variable, KERNEL) || is_in(*variable, EXPORT))
}

/// Whether a library's module holds anything that must be in the PTX although nothing there uses it.
pub(crate) fn has_any(module: &Module<'_>) -> bool {
    module
        .variables()
        .any(|variable| is_in(variable, KERNEL) || is_in(variable, EXPORT) || is_placed_and_named(variable))
        || module.functions().any(|function| function.is_kernel() && !function.is_declaration())
}

/// The symbols that the PTX offers to the host: kernels, exports, named statics in a GPU memory, and `#[used]` items.
pub(crate) fn roots<'c>(module: &Module<'c>) -> Vec<Value<'c>> {
    let exports = exported_names(module);
    let used = used(module);
    let functions = module.functions().filter(|function| {
        !function.is_declaration()
            && (function.is_kernel() || exports.contains(&function.name()) || used.contains(function))
    });
    let variables = module.variables().filter(|variable| {
        !variable.is_declaration()
            && !is_in(*variable, KERNEL)
            && !is_in(*variable, EXPORT)
            && (is_placed_and_named(*variable)
                || exports.contains(&variable.name())
                || (used.contains(variable) && variable.linkage() == Linkage::External))
    });
    functions.chain(variables).collect()
}

fn is_in(variable: Value<'_>, section: &str) -> bool {
    variable.section().is_some_and(|name| name == section)
}

/// A static in a GPU memory that the host can ask for by name, because it is `#[no_mangle]`.
fn is_placed_and_named(variable: Value<'_>) -> bool {
    let placed = variable.section().is_some_and(|section| MEMORIES.iter().any(|(name, _)| *name == section));
    placed
        && variable.linkage() == Linkage::External
        && !variable.is_declaration()
        && !is_mangled(&variable.name())
}

/// True if rustc made the name up: both of its manglings have a prefix of their own.
fn is_mangled(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN")
}

fn exported_names(module: &Module<'_>) -> HashSet<String> {
    let marked = module.variables().filter(|variable| is_in(*variable, EXPORT));
    let names = marked.filter_map(|variable| variable.initialiser()?.bytes());
    names.map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()).collect()
}

/// Globals in LLVM's lists of what is to be kept.
fn used<'c>(module: &Module<'c>) -> HashSet<Value<'c>> {
    let lists = USED_LISTS.iter().filter_map(|list| module.variable(list)?.initialiser());
    lists.flat_map(Value::operands).collect()
}

/// The names of those lists.
pub(crate) const USED_LISTS: [&str; 2] = ["llvm.used", "llvm.compiler.used"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_description_is_read() {
        let kernel = Kernel::parse(b"offset_f32\x00256\x002\0r--").unwrap();
        assert_eq!(
            kernel,
            Kernel {
                name: "offset_f32".into(),
                threads: 256,
                blocks: 2,
                access: vec![Access::ReadOnly, Access::Any, Access::Any],
                safe: false,
                arch: None,
                cluster: None,
            }
        );
        let hopper = Kernel::parse(b"product\x00384\x001\0--\0arch=compute_90a").unwrap();
        assert_eq!((hopper.safe, hopper.arch), (false, Some(NvvmArch::Compute90a)));
        let both = Kernel::parse(b"product\x00384\x001\0--\0safe\0arch=compute_80").unwrap();
        assert_eq!((both.safe, both.arch), (true, Some(NvvmArch::Compute80)));
        let pair = Kernel::parse(b"pair\x00384\x001\0--\0arch=compute_90a\0cluster=0000000002,1,1").unwrap();
        assert_eq!((pair.arch, pair.cluster), (Some(NvvmArch::Compute90a), Some([2, 1, 1])));
        assert!(Kernel::parse(b"none\x000\x000\0\0safe").unwrap().safe);
        assert_eq!(Kernel::parse(b"none\x000\x000\0").unwrap().access, []);
    }

    #[test]
    fn a_kernel_runs_where_its_architecture_is_contained() {
        let kernel = |arch: &str| Kernel::parse(format!("k\00\00\0\0arch={arch}").as_bytes()).unwrap();
        let on = |kernel: &Kernel| {
            [NvvmArch::Compute75, NvvmArch::Compute90, NvvmArch::Compute90a, NvvmArch::Compute100]
                .map(|arch| kernel.runs_on(arch))
        };
        assert_eq!(on(&kernel("compute_90a")), [false, false, true, false]);
        assert_eq!(on(&kernel("compute_80")), [false, true, true, true]);
        assert_eq!(on(&Kernel::parse(b"k\x000\x000\0").unwrap()), [true; 4]);
    }

    #[test]
    fn anything_else_is_refused() {
        let neither = "a part after the fourth is none of `safe`, `arch=..` and `cluster=..`";
        let cases: [(&[u8], &str); 13] = [
            (b"name", "fewer than four parts"),
            (b"a\x001\x001\0r\0", neither),
            (b"a\x001\x001\0r\0unsafe", neither),
            (b"a\x001\x001\0r\0safe\0", neither),
            (b"a\x001\x001\0r\0arch=compute_91", "`compute_91` is no architecture"),
            (b"a\x001\x001\0r\0arch=compute_90a\0safe\0arch=compute_90", "there twice"),
            (b"a\x001\x001\0r\0cluster=2,1", "other than three axes"),
            (b"a\x001\x001\0r\0cluster=2,1,1,1", "other than three axes"),
            (b"a\x001\x001\0r\0cluster=2,x,1", "no number"),
            (b"\x001\x001\0r", "no name"),
            (b"a\x00x\x001\0r", "no number"),
            (b"a\x001\x00-1\0r", "no number"),
            (b"a\x001\x001\0w", "none of `r`, `c` and `-`"),
        ];
        for (bytes, reason) in cases {
            let error = Kernel::parse(bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
