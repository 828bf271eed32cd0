//! A kernel's variables and the instructions that reach memory, read from the embedded PTX.

use crate::{
    device::DeviceInfo,
    kernels::{self, Artefact},
};
use anyhow::{Context, Result, anyhow};
use simt::ptx::op::Op;
use simt::ptx::op::memory::Memory;
use simt::ptx::{
    self, Address, AddressBase, Attribute, Module, Operand, Space, Symbol, SymbolMeaning, Variable,
};
use std::collections::BTreeSet;

/// The PTX that a device is given, taken apart.
pub(crate) struct Text {
    module: Module,
    /// The architecture that it is compiled for: 90 for compute_90.
    pub arch: u32,
}

/// A variable that a kernel uses, other than registers and parameters, and how it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    /// The name in the PTX.
    pub name: String,
    /// The state space, as PTX has it: `global`, `shared`, `const`, `local`.
    pub space: &'static str,
    /// Whether the host has it at the same address.
    pub managed: bool,
    /// Its bytes; `None` where the launch says how many there are.
    pub bytes: Option<u64>,
    /// The kernel's loads from that space, each opcode once.
    pub loads: Vec<String>,
    /// The kernel's stores to that space, each opcode once.
    pub stores: Vec<String>,
}

impl Text {
    /// Of the kernels that the device is given.
    ///
    /// # Errors
    /// There are none for it, or they are no PTX.
    pub(crate) fn of(device: &DeviceInfo) -> Result<Text> {
        Text::read(kernels::for_device(device)?)
    }

    fn read(artefact: Artefact<'_>) -> Result<Text> {
        let module = ptx::parse(artefact.ptx)
            .map_err(|error| anyhow!("the embedded PTX for {} cannot be read: {error}", artefact.name()))?;
        Ok(Text { module, arch: artefact.arch })
    }

    /// The variables that a kernel uses, in the order in which the PTX has them.
    ///
    /// # Errors
    /// There is no such kernel.
    pub(crate) fn storage(&self, kernel: &str) -> Result<Vec<Storage>> {
        let function = self.module.entry(kernel).map_err(|error| anyhow!("{error}"))?;
        let body = function.body.as_ref().with_context(|| format!("{kernel} has no body"))?;
        let used: BTreeSet<String> =
            body.instructions.iter().flat_map(|instruction| symbols(&instruction.operands)).collect();
        let opcodes = |is_kind: fn(&Op) -> bool, space: Space| {
            let of_space = body.instructions.iter().filter(|instruction| {
                let op = instruction.opcode.op();
                op.is_ok_and(|op| is_kind(&op) && op.space().is_some_and(|named| named.of() == space))
            });
            let mut opcodes: Vec<String> =
                of_space.map(|instruction| instruction.opcode.as_str().to_string()).collect();
            opcodes.sort();
            opcodes.dedup();
            opcodes
        };
        let storage = |variable: &Variable| Storage {
            name: variable.name.to_string(),
            space: variable.space.word(),
            managed: variable.attributes.contains(&Attribute::Managed),
            bytes: variable.size().filter(|&bytes| bytes > 0),
            loads: opcodes(|op| matches!(op, Op::Memory(Memory::Ld(_))), variable.space),
            stores: opcodes(|op| matches!(op, Op::Memory(Memory::St(_))), variable.space),
        };
        let variables = self.module.variables().chain(&body.variables);
        Ok(variables.filter(|variable| used.contains(&*variable.name)).map(storage).collect())
    }
}

/// The names of variables among operands.
fn symbols(operands: &[Operand]) -> impl Iterator<Item = String> {
    let symbol = |operand: &Operand| match operand {
        Operand::Symbol(symbol, _) => Some(symbol.clone()),
        Operand::Address(Address { base: AddressBase::Symbol(symbol), .. }) => Some(symbol.clone()),
        _ => None,
    };
    let is_variable =
        |symbol: &Symbol| matches!(symbol.meaning, SymbolMeaning::Module | SymbolMeaning::Variable(_));
    operands.iter().filter_map(symbol).filter(is_variable).map(|symbol| symbol.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceInfo, tests::h200};

    fn text(arch: &str) -> Text {
        let device = DeviceInfo { compute_capability: arch.to_string(), ..h200() };
        Text::of(&device).expect("the program carries PTX for it")
    }

    #[test]
    fn each_class_of_storage_has_its_own_instructions() {
        for arch in ["7.5", "8.0", "9.0"] {
            let text = text(arch);
            let of = |kernel: &str| {
                let storage = text.storage(kernel).expect("the kernel is there");
                let [one] = &storage[..] else { panic!("{kernel} uses one variable, not {storage:?}") };
                let (loads, stores) = (one.loads.join(" "), one.stores.join(" "));
                (one.space, one.managed, one.bytes, format!("{loads} {stores}"))
            };
            let global = "ld.global.b32 st.global.b32".to_string();
            let shared = "ld.shared.b32 st.shared.b32".to_string();
            assert_eq!(of("storage_global"), ("global", false, Some(1024), global.clone()));
            assert_eq!(of("storage_managed"), ("global", true, Some(1024), global));
            assert_eq!(of("storage_shared_static"), ("shared", false, Some(1024), shared.clone()));
            assert_eq!(of("storage_shared_dynamic"), ("shared", false, None, shared));
            assert_eq!(of("storage_constant"), ("const", false, Some(16), "ld.const.b32 ".to_string()));
            let (space, managed, bytes, opcodes) = of("storage_local");
            assert_eq!((space, managed, bytes), ("local", false, Some(64)));
            assert!(opcodes.contains("ld.local.b32") && opcodes.contains("st.local."), "{opcodes}");
        }
    }

    #[test]
    fn a_kernel_without_variables_has_no_storage() {
        assert_eq!(text("9.0").storage("copy_scalar").ok(), Some(Vec::new()));
        assert!(text("9.0").storage("copy_scalars").is_err());
    }
}
