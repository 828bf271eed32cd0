//! How often the optimised code and the PTX have instructions that lanes execute together.

use std::collections::BTreeMap;

use ptx::outline::{Kind, statements};

use crate::audit::Finding;
use crate::llvm::Module;
use crate::passes::{assembly_instructions, is_collective};

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
                let name = function.name();
                assembly_instructions(&assembly.text).for_each(|opcode| counts.add(&name, &opcode));
            }
        }
        counts
    }

    fn add(&mut self, function: &str, opcode: &ptx::Opcode) {
        if is_collective(opcode) {
            let function = self.0.entry(function.to_owned()).or_default();
            *function.entry(opcode.to_string()).or_default() += 1;
        }
    }

    /// Checks PTX that the back end made of the module: it has none of them more often.
    pub(in crate::audit) fn check(&self, text: &str) -> Vec<Finding> {
        let mut written = Self::default();
        let (mut function, mut in_assembly) = ("", false);
        for statement in statements(text) {
            // The back end marks inline assembly by comments.
            let begin = statement.before.rfind("// begin inline asm");
            let end = statement.before.rfind("// end inline asm");
            in_assembly = if begin == end { in_assembly } else { begin > end };
            match statement.kind {
                Kind::Function { name, .. } => function = name,
                Kind::Instruction(opcode) if in_assembly => written.add(function, &ptx::Opcode::new(opcode)),
                _ => {}
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
