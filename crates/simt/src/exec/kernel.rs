//! The properties of a kernel that a host program needs in order to launch it.

use std::sync::Arc;

use crate::ptx::Function;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Offset in the parameter buffer, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// A kernel: an entry of a program.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name by which the host requests it.
    pub name: Arc<str>,
    /// Layout of the parameters, in order.
    pub parameters: Vec<ParameterLayout>,
    /// Size of the parameter buffer, padding included.
    pub parameter_bytes: u32,
    /// Static shared memory in bytes per block, of the kernel and the functions that it calls.
    pub static_shared_bytes: u32,
    /// Local memory in bytes per thread, of the kernel and the functions that it calls. With recursion or indirect
    /// calls, of the deepest known chain.
    pub local_bytes: u32,
    /// Constant memory of the module, in bytes.
    pub constant_bytes: u32,
    /// Registers per thread, an estimate: the most live 32-bit registers plus a few for the machine, rounded up to 8.
    /// NVIDIA's assembler may need more or fewer.
    pub registers: u32,
    /// Most threads of a block, from `.maxntid`.
    pub max_threads: Option<u32>,
    /// Required shape of a block, from `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// Required shape of a cluster, from `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// Dependent loads from global memory on a path through the kernel that passes each loop once: see
    /// [`Counters::round_trips`](crate::model::Counters::round_trips). For the number in a launch, count the sites with
    /// [`waits_before`](super::SiteInfo::waits_before) that a warp issues.
    #[doc(hidden)]
    pub round_trips: u32,
    /// True if a barrier stands between loads from global memory and stores to it: see
    /// [`Counters::phased`](crate::model::Counters::phased).
    #[doc(hidden)]
    pub phased: bool,
    pub(super) function: u32,
}

/// A variable of a module, as the host accesses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Address of its first byte.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Kind of memory that holds it.
    pub kind: VariableKind,
}

/// Kind of memory that holds a module's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// `.global`
    Global,
    /// `.const`
    Constant,
    /// `.global` with `.attribute(.managed)`.
    Managed,
}

/// Most local memory of a thread in bytes, on every card.
pub(super) const MOST_LOCAL_BYTES: u64 = 512 << 10;

/// Lays out a kernel's parameters. Returns each one's layout and the size of the buffer in bytes.
///
/// # Errors
/// Describes what is wrong with the parameters.
pub(super) fn parameters(function: &Function) -> Result<(Vec<ParameterLayout>, u32), String> {
    let mut bytes = 0u64;
    let mut layouts = Vec::new();
    for parameter in &function.parameters {
        let size =
            parameter.size().ok_or_else(|| format!("the parameter `{}` has no size", parameter.name))?;
        let align = parameter.alignment().max(1);
        let offset = bytes.next_multiple_of(u64::from(align));
        bytes = offset.saturating_add(size);
        // Current cards take 32764 bytes.
        if bytes > 1 << 16 {
            return Err(format!("its parameters take {bytes} bytes"));
        }
        layouts.push(ParameterLayout { offset: offset as u32, bytes: size as u32, align });
    }
    Ok((layouts, bytes as u32))
}
