//! How often the optimised code and the PTX have instructions that lanes execute together.

use std::collections::BTreeMap;

use super::is_together;
use crate::audit::Finding;
use crate::llvm::Module;
use crate::passes::assembly_instructions;
use crate::ptx::Ptx;

/// How often each function has each such instruction in inline assembly.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<String, BTreeMap<String, usize>>);

impl Counts {
    /// Those of a module.
    pub(crate) fn of(module: &Module<'_>) -> Self {
        let mut counts = Self::default();
        for function in module.functions().filter(|function| !function.is_declaration()) {
            let calls = function.instructions().filter(|instruction| instruction.is_call());
            for assembly in calls.filter_map(|call| call.callee()?.assembly()) {
                counts.add(&function.name(), &assembly.text);
            }
        }
        counts
    }

    fn add(&mut self, function: &str, assembly: &str) {
        for instruction in assembly_instructions(assembly).filter(|name| is_together(name)) {
            let function = self.0.entry(function.to_owned()).or_default();
            *function.entry(instruction.to_owned()).or_default() += 1;
        }
    }

    /// Checks PTX that the back end made of the module: it has none of them more often.
    pub(in crate::audit) fn check(&self, text: &str) -> Vec<Finding> {
        let mut written = Self::default();
        for (function, body) in Ptx::parse(text).bodies() {
            for part in body.split("// begin inline asm").skip(1) {
                written.add(function, part.split("// end inline asm").next().unwrap_or_default());
            }
        }
        let mut findings = Vec::new();
        for (function, instructions) in written.0 {
            let given = self.0.get(&function);
            for (instruction, found) in instructions {
                let expected = given.and_then(|given| given.get(&instruction)).copied().unwrap_or_default();
                if found > expected {
                    findings.push(Finding::CopiedByBackEnd {
                        function: function.clone(),
                        instruction,
                        expected,
                        found,
                    });
                }
            }
        }
        findings
    }
}
