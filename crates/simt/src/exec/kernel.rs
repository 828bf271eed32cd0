//! What a host program must know of a kernel to launch it.

use std::sync::Arc;

use crate::ptx::Function;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Where it begins among the parameters' bytes.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// Its alignment, in bytes.
    pub align: u32,
}

/// An entry of a program.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// By which the host asks for it.
    pub name: Arc<str>,
    /// In order.
    pub parameters: Vec<ParameterLayout>,
    /// Of all of them, with the gaps between them.
    pub parameter_bytes: u32,
    /// Shared memory that the kernel and the functions that it calls declare, a block.
    pub static_shared_bytes: u32,
    /// Local memory that the kernel and the functions that it calls declare, a thread; with recursion or calls through
    /// addresses, of the deepest chain that is known.
    pub local_bytes: u32,
    /// Constant memory of the module, in bytes.
    pub constant_bytes: u32,
    /// Registers a thread: an estimate, the most 32-bit registers that are live at once and a few for the machine's
    /// own needs, rounded up to 8. What NVIDIA's assembler would take may differ either way.
    pub registers: u32,
    /// The most threads that a block may have, from `.maxntid`.
    pub max_threads: Option<u32>,
    /// The only shape that a block may have, from `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// The only shape that a cluster may have, from `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// Loads from global memory that a warp waits for one after another, on one way through the kernel with each loop
    /// gone through once: see [`Counters::round_trips`](crate::model::Counters::round_trips). For the number in a
    /// launch, count the sites with [`waits_before`](super::SiteInfo::waits_before) that a warp issues.
    pub round_trips: u32,
    /// Whether a barrier stands between loads from global memory and the stores to it: see
    /// [`Counters::phased`](crate::model::Counters::phased).
    pub phased: bool,
    pub(super) function: u32,
}

/// A variable of a module, as the host can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Where it lives.
    pub kind: VariableKind,
}

/// Where a module's variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// `.global`
    Global,
    /// `.const`
    Constant,
    /// `.global` with `.attribute(.managed)`.
    Managed,
}

/// Local memory that a thread can have at most, on every card.
pub(super) const MOST_LOCAL_BYTES: u64 = 512 << 10;

/// The places of a kernel's parameters, and how many bytes they take together.
///
/// # Errors
/// What is wrong with them, in words.
pub(super) fn parameters(function: &Function) -> Result<(Vec<ParameterLayout>, u32), String> {
    let mut bytes = 0u64;
    let mut layouts = Vec::new();
    for parameter in &function.parameters {
        let size =
            parameter.size().ok_or_else(|| format!("the parameter `{}` has no size", parameter.name))?;
        let align = parameter.alignment().max(1);
        let offset = bytes.next_multiple_of(u64::from(align));
        bytes = offset.saturating_add(size);
        // Today's cards take 32764 bytes.
        if bytes > 1 << 16 {
            return Err(format!("its parameters take {bytes} bytes"));
        }
        layouts.push(ParameterLayout { offset: offset as u32, bytes: size as u32, align });
    }
    Ok((layouts, bytes as u32))
}
