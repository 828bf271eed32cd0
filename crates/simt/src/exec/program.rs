//! Programs: modules decoded and laid out, ready to launch.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;

use super::compile::{Compiler, references};
use super::error::LoadError;
pub(super) use super::function::{FunctionCode, KernelCode};
use super::kernel::{self, Kernel, Variable};
use super::layout::Fill;
use super::names::{Names, SharedVariable};
use super::native::{Key, Tier, Tiers};
use super::panics;
use super::runtime;
use super::site::SiteInfo;
use super::step::{Action, Builtin, Inside, Rare, Step};
use super::uses::Uses;
use crate::decode::Level;
use crate::memory::{Memory, MemoryInstruction};
use crate::ptx::{Function, FunctionKind, Module, NoSuchEntry};

/// A decoded module with its variables in a device's memory. Launches share it and do not change it.
pub struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) rare: Vec<Rare>,
    pub(super) inside: Vec<Inside>,
    pub(super) memory: Vec<MemoryInstruction>,
    pub(super) uses: Uses,
    sites: Vec<SiteInfo>,
    /// Functions by number; None if no kernel can reach the function or it has no body.
    pub(super) functions: Vec<Option<FunctionCode>>,
    kernels: Vec<Kernel>,
    /// Launch data of each kernel, by its index.
    pub(super) codes: Vec<KernelCode>,
    variables: HashMap<String, Variable>,
    allocated: Vec<u64>,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other computers have one level"))]
    pub(super) level: Level,
    pub(super) tiers: Tiers,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels: Vec<&str> = self.kernels.iter().map(|kernel| &*kernel.name).collect();
        formatter
            .debug_struct("Program")
            .field("kernels", &kernels)
            .field("steps", &self.steps.len())
            .finish()
    }
}

/// Other functions to which a function refers.
struct References {
    functions: Vec<u32>,
    by_address: bool,
}

impl Program {
    /// Decodes all that a module's kernels can reach, and allocates and initialises its variables. Functions that no
    /// kernel reaches are not decoded.
    ///
    /// # Errors
    /// Fails as [`LoadError`] says; nothing stays allocated.
    pub fn load(module: Module, memory: &Memory) -> Result<Self, LoadError> {
        Self::load_at(module, memory, Level::detect())
    }

    /// Loads with the machine instructions of `level`, which this computer must have. Tests compare levels by it.
    pub(super) fn load_at(mut module: Module, memory: &Memory, level: Level) -> Result<Self, LoadError> {
        runtime::add(&mut module);
        panics::recognise(&mut module);
        let (names, outcome) = Names::new(&module, memory);
        let program = outcome.and_then(|()| Self::compile(&names, level));
        if program.is_err() {
            for address in &names.allocated {
                let _ = memory.free(*address);
            }
        }
        program
    }

    fn compile(names: &Names<'_>, level: Level) -> Result<Self, LoadError> {
        let mut compiler = Compiler {
            names,
            level,
            steps: Vec::new(),
            rare: Vec::new(),
            inside: Vec::new(),
            memory: Vec::new(),
            uses: Uses::default(),
            sites: Vec::new(),
        };
        let count = names.functions.len();
        let mut functions: Vec<Option<FunctionCode>> = (0..count).map(|_| None).collect();
        let mut all_references: Vec<Option<References>> = (0..count).map(|_| None).collect();
        let is_kernel =
            |function: &&Function| function.kind == FunctionKind::Entry && function.body.is_some();
        let entries = names.functions.iter().zip(0..).filter(|(function, _)| is_kernel(function));
        let entries: Vec<u32> = entries.map(|(_, number)| number).collect();
        let mut open = entries.clone();
        open.reverse();
        while let Some(number) = open.pop() {
            let index = number as usize;
            let Some(body) = names.functions[index].body.as_ref().filter(|_| functions[index].is_none())
            else {
                continue;
            };
            functions[index] = Some(compiler.function(names.functions[index], body)?);
            let (mentioned, by_address) = references(names, body);
            let mut called = Vec::new();
            for (other, line) in mentioned {
                let function = names.functions[other as usize];
                if function.body.is_some() {
                    called.push(other);
                } else if Builtin::new(&function.name).is_none() {
                    return Err(LoadError::UndefinedFunction {
                        name: function.name.to_string(),
                        line,
                        function: names.functions[index].name.to_string(),
                    });
                }
            }
            if by_address {
                called.extend(&names.in_variables);
            }
            open.extend(called.iter().rev());
            all_references[index] = Some(References { functions: called, by_address });
        }
        let mut kernels = Vec::new();
        let mut codes = Vec::new();
        for number in entries {
            let function = names.functions[number as usize];
            let (kernel, code) = kernel_of(names, number, function, &functions, &all_references)?;
            kernels.push(kernel);
            codes.push(code);
        }
        let Compiler { steps, rare, inside, memory, uses, sites, .. } = compiler;
        Ok(Self {
            steps,
            rare,
            inside,
            memory,
            uses,
            sites,
            functions,
            kernels,
            codes,
            variables: names.variables.clone(),
            allocated: names.allocated.clone(),
            level,
            tiers: Tiers::default(),
        })
    }

    /// Sets how the kernels are executed; results do not depend on it.
    pub fn set_tier(&self, tier: Tier) {
        self.tiers.set(tier);
    }

    /// Compiles a kernel for blocks of this shape, unless that has been done.
    ///
    /// # Errors
    /// Says why it cannot be compiled.
    #[doc(hidden)]
    pub fn compile_kernel(&self, kernel: &Kernel, block: [u32; 3]) -> Result<(), String> {
        let function = kernel.function;
        let key = Key { function, block, observes: true, tracks: false, synchronises: false };
        self.tiers.compile(self, key)
    }

    /// Returns the kernels that were to be compiled and could not, with the reasons.
    #[doc(hidden)]
    pub fn not_compiled(&self) -> Vec<(&str, String)> {
        let failures = self.tiers.failures().into_iter();
        let named = failures.filter_map(|(number, why)| Some((&*self.function(number)?.name, why)));
        named.collect()
    }

    /// Frees the module's variables, in the memory into which it was loaded.
    pub fn unload(&self, memory: &Memory) {
        // Errors do not matter: a variable that the program freed itself is free already.
        for address in &self.allocated {
            let _ = memory.free(*address);
        }
    }

    /// Returns the kernel of this name.
    ///
    /// # Errors
    /// Fails if there is none; the error lists the kernels that there are.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, NoSuchEntry> {
        self.kernels.iter().find(|kernel| &*kernel.name == name).ok_or_else(|| NoSuchEntry {
            name: name.to_owned(),
            entries: self.kernels.iter().map(|kernel| kernel.name.to_string()).collect(),
        })
    }

    /// Returns all kernels, in the order of the file.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Returns the module's own `.global`, `.const` or managed variable of this name.
    pub fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.get(name).copied()
    }

    /// Returns all instructions, by [`Site`](crate::observe::Site).
    pub fn sites(&self) -> &[SiteInfo] {
        &self.sites
    }

    /// Returns the launch data of a kernel; None if it belongs to another program.
    pub(super) fn code(&self, kernel: &Kernel) -> Option<&KernelCode> {
        let index = self.kernels.iter().position(|other| other.function == kernel.function)?;
        (self.kernels[index].name == kernel.name).then(|| &self.codes[index])
    }

    /// Returns the launch data of the kernel with this function's number.
    pub(super) fn code_of(&self, function: u32) -> Option<&KernelCode> {
        let index = self.kernels.iter().position(|kernel| kernel.function == function)?;
        Some(&self.codes[index])
    }

    /// Returns true if a kernel uses its parameters other than by loading them by name.
    pub(super) fn takes_parameter_address(&self, kernel: &Kernel) -> bool {
        let function = self.function(kernel.function);
        function.is_some_and(|function| {
            function.filled.iter().any(|(_, fill)| matches!(fill, Fill::Parameters(_)))
        })
    }

    /// Returns true if a block of a kernel may wait for another one: in a spin loop, or in a function that it calls.
    pub fn waits_for_blocks(&self, kernel: &Kernel) -> bool {
        self.may_wait(kernel.function)
    }

    /// The same of the function of this number.
    pub(super) fn may_wait(&self, kernel: u32) -> bool {
        let waits = |step: &Step| match step.action {
            Action::Branch(branch) => branch.spins,
            Action::Rare(rare) => matches!(self.rare[rare as usize], Rare::Call(_)),
            _ => false,
        };
        let steps = self.function(kernel).map(|code| &self.steps[code.first as usize..code.end as usize]);
        steps.is_none_or(|steps| steps.iter().any(waits))
    }

    /// Returns the function of this number.
    pub(super) fn function(&self, number: u32) -> Option<&FunctionCode> {
        self.functions.get(number as usize)?.as_ref()
    }
}

/// Derives a kernel's properties from the functions that it reaches.
fn kernel_of(
    names: &Names<'_>,
    number: u32,
    function: &Function,
    functions: &[Option<FunctionCode>],
    references: &[Option<References>],
) -> Result<(Kernel, KernelCode), LoadError> {
    let wrong = |what: String| LoadError::Function {
        name: function.name.to_string(),
        line: function.position.line,
        what,
    };
    let mut reached = BTreeSet::new();
    let mut open = vec![number];
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(references[next as usize].iter().flat_map(|references| &references.functions));
        }
    }
    let reached: Vec<&FunctionCode> =
        reached.iter().filter_map(|number| functions[*number as usize].as_ref()).collect();
    let used: BTreeSet<u32> = reached
        .iter()
        .flat_map(|function| &function.filled)
        .filter_map(|(_, fill)| match fill {
            Fill::Shared(variable, _) => Some(*variable),
            _ => None,
        })
        .collect();
    let shared = SharedPlaces::of(&names.shared, &used).map_err(wrong)?;
    let stack = deepest(number, functions, references, &mut HashMap::new(), 0);
    let code = functions[number as usize].as_ref();
    let own = code.map_or(0, |code| code.local_bytes);
    let callees = reached.iter().filter(|function| !function.is_entry);
    let most = code.map_or(0, |code| {
        let below = callees.map(|callee| code.live_at_calls + callee.most_live).max();
        code.most_live.max(below.unwrap_or(0))
    });
    let (parameters, parameter_bytes) = kernel::parameters(function).map_err(wrong)?;
    let shape = |name: &str| {
        function.directive(name).map(|values| {
            let at = |index: usize| values.get(index).copied().unwrap_or(1);
            [at(0), at(1), at(2)]
        })
    };
    let required_block = shape("reqntid");
    let threads =
        |shape: [u32; 3]| shape.iter().fold(1u32, |product, length| product.saturating_mul(*length));
    let registers = (most + OWN_REGISTERS).next_multiple_of(8).max(FEWEST_REGISTERS);
    let limit = function.directive("maxnreg").and_then(|values| values.first());
    let kernel = Kernel {
        name: (&*function.name).into(),
        parameters,
        parameter_bytes,
        static_shared_bytes: shared.static_bytes,
        local_bytes: stack.unwrap_or(own),
        constant_bytes: names.constant_bytes,
        registers: limit.map_or(registers, |limit| registers.min(*limit).max(FEWEST_REGISTERS)),
        max_threads: shape("maxntid").or(required_block).map(threads),
        required_block,
        required_cluster: shape("reqnctapercluster"),
        round_trips: code.map_or(0, |code| code.round_trips),
        phased: reached.iter().any(|function| function.phased),
        function: number,
    };
    Ok((
        kernel,
        KernelCode {
            shared: shared.offsets,
            dynamic_start: shared.dynamic_start,
            stack,
            of_block: AtomicU64::new(0),
        },
    ))
}

/// Fewest registers that ptxas assigns to a thread.
const FEWEST_REGISTERS: u32 = 16;

/// Registers that the machine itself needs, added to the estimate.
const OWN_REGISTERS: u32 = 6;

/// The places of the shared variables that a kernel uses.
struct SharedPlaces {
    /// Offset of each variable, by number; None if the kernel does not use it.
    offsets: Vec<Option<u32>>,
    static_bytes: u32,
    /// Offset of dynamic shared memory.
    dynamic_start: u32,
}

impl SharedPlaces {
    /// Lays out the variables with these numbers: static ones one after another, and all dynamic ones behind them.
    fn of(variables: &[SharedVariable], used: &BTreeSet<u32>) -> Result<Self, String> {
        let mut offsets = vec![None; variables.len()];
        let mut end = 0u64;
        let of_kind = |is_dynamic| {
            let numbers = used.iter().map(|number| *number as usize);
            numbers.filter(move |number| variables[*number].is_dynamic == is_dynamic)
        };
        for number in of_kind(false) {
            let variable = &variables[number];
            let start = end.next_multiple_of(u64::from(variable.align.max(1)));
            offsets[number] = Some(start as u32);
            end = start + variable.bytes;
            if end > 1 << 24 {
                return Err(format!("it uses {end} bytes of shared memory, more than any card has"));
            }
        }
        let align = of_kind(true).map(|number| variables[number].align.max(1)).max().unwrap_or(1);
        let dynamic_start = (end as u32).next_multiple_of(align);
        for number in of_kind(true) {
            offsets[number] = Some(dynamic_start);
        }
        Ok(Self { offsets, static_bytes: end as u32, dynamic_start })
    }
}

/// Returns the most local memory that a chain of calls from this function takes; None with recursion or indirect calls.
fn deepest(
    number: u32,
    functions: &[Option<FunctionCode>],
    references: &[Option<References>],
    known: &mut HashMap<u32, Option<u32>>,
    depth: u32,
) -> Option<u32> {
    // Deeper than real code nests, and shallow enough for this thread's own stack.
    if depth > 256 {
        return None;
    }
    if let Some(known) = known.get(&number) {
        return *known;
    }
    // Until the result is known: a path that comes here again is recursive.
    known.insert(number, None);
    let code = functions[number as usize].as_ref()?;
    let called = references[number as usize].as_ref().filter(|references| !references.by_address)?;
    let mut below = 0;
    for callee in &called.functions {
        below = below.max(deepest(*callee, functions, references, known, depth + 1)?);
    }
    // Calls are aligned to 16 bytes.
    let alone = called.functions.is_empty();
    let own = match code.is_entry {
        true if alone => code.local_bytes,
        true => code.local_bytes.next_multiple_of(16),
        false => code.stack(),
    };
    let together = own.saturating_add(below);
    known.insert(number, Some(together));
    Some(together)
}
