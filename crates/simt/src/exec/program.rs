//! A module that is ready to run.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::compile::{Compiler, references};
use super::error::LoadError;
use super::kernel::{self, Kernel, Variable};
use super::layout::{Fill, Place};
use super::names::{Names, SharedVariable};
use super::runtime;
use super::site::SiteInfo;
use super::special::Special;
use super::step::{Builtin, Rare, Step};
use super::uses::Uses;
use crate::decode::Level;
use crate::memory::{Memory, MemoryInstruction};
use crate::ptx::{Function, FunctionKind, Module, NoSuchEntry};
use crate::registers::Slot;

/// A module, decoded and laid out, with its variables in a device's memory.
///
/// It is shared by reference; launches do not change it.
pub struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) rare: Vec<Rare>,
    pub(super) memory: Vec<MemoryInstruction>,
    pub(super) uses: Uses,
    sites: Vec<SiteInfo>,
    /// By number; none: no kernel can reach it, or it has no body.
    pub(super) functions: Vec<Option<FunctionCode>>,
    kernels: Vec<Kernel>,
    /// By index of the kernel.
    pub(super) codes: Vec<KernelCode>,
    variables: HashMap<String, Variable>,
    allocated: Vec<u64>,
    pub(super) level: Level,
}

/// A function that can be executed.
#[derive(Debug)]
pub(super) struct FunctionCode {
    pub(super) name: Arc<str>,
    /// Where it begins among the steps.
    pub(super) first: u32,
    /// Of its frame.
    pub(super) cells: u32,
    pub(super) is_entry: bool,
    /// Registers that are read before they are written, perhaps.
    pub(super) undefined_at_start: Vec<Slot>,
    pub(super) most_live: u32,
    pub(super) live_at_calls: u32,
    pub(super) round_trips: u32,
    pub(super) phased: bool,
    /// Columns that are filled beforehand, once for a launch.
    pub(super) filled: Vec<(Slot, Fill)>,
    /// Columns that are filled for each block and for each warp: special registers, cut to so many bytes.
    pub(super) by_block: Vec<(Slot, Special, u8)>,
    pub(super) by_warp: Vec<(Slot, Special, u8)>,
    /// Columns with addresses in the function's own local memory, which are filled for each call.
    pub(super) locals: Vec<(Slot, i64)>,
    pub(super) local_bytes: u32,
    /// Parameters that have a copy in local memory, and where.
    pub(super) copies: Vec<(u32, u32)>,
    pub(super) parameters: Vec<Place>,
    pub(super) returns: Vec<Place>,
}

impl FunctionCode {
    /// What a call of it takes of the stack: its own and a return address, in units as large as the alignment of the
    /// largest register.
    pub(super) fn stack(&self) -> u32 {
        (self.local_bytes + 8).next_multiple_of(16)
    }
}

/// What a kernel needs that its functions do not say.
#[derive(Clone, Debug)]
pub(super) struct KernelCode {
    /// By number of the shared variable; none: no function that the kernel reaches uses it.
    pub(super) shared: Vec<Option<u32>>,
    /// Where its dynamic shared memory begins.
    pub(super) dynamic_start: u32,
    /// Local memory of the deepest chain of calls; none: only a limit ends it.
    pub(super) stack: Option<u32>,
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

/// What a function refers to.
struct References {
    functions: Vec<u32>,
    by_address: bool,
}

impl Program {
    /// Decodes what the kernels of a module can reach, and gives its variables their memory and their first values.
    /// Functions that no kernel reaches are not looked at.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing is allocated then.
    pub fn load(module: Module, memory: &Memory) -> Result<Self, LoadError> {
        Self::load_at(module, memory, Level::detect())
    }

    /// The same with no better machine instructions than those of `level`, which this computer must have: to compare.
    pub(super) fn load_at(mut module: Module, memory: &Memory, level: Level) -> Result<Self, LoadError> {
        runtime::add(&mut module);
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
        let Compiler { steps, rare, memory, uses, sites, .. } = compiler;
        Ok(Self {
            steps,
            rare,
            memory,
            uses,
            sites,
            functions,
            kernels,
            codes,
            variables: names.variables.clone(),
            allocated: names.allocated.clone(),
            level,
        })
    }

    /// Gives the memory of the module's variables back. The same memory as it was loaded into.
    pub fn unload(&self, memory: &Memory) {
        // What someone else has freed meanwhile is free.
        for address in &self.allocated {
            let _ = memory.free(*address);
        }
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// There is none; the error says which there are.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, NoSuchEntry> {
        self.kernels.iter().find(|kernel| &*kernel.name == name).ok_or_else(|| NoSuchEntry {
            name: name.to_owned(),
            entries: self.kernels.iter().map(|kernel| kernel.name.to_string()).collect(),
        })
    }

    /// All kernels, in the order of the file.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The `.global`, `.const` or managed variable of that name, of the module itself.
    pub fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.get(name).copied()
    }

    /// All of them, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, Variable)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), *variable))
    }

    /// All instructions, by [`Site`](crate::observe::Site).
    pub fn sites(&self) -> &[SiteInfo] {
        &self.sites
    }

    /// The code of a kernel of this program; none: it is another's.
    pub(super) fn code(&self, kernel: &Kernel) -> Option<&KernelCode> {
        let index = self.kernels.iter().position(|other| other.function == kernel.function)?;
        (self.kernels[index].name == kernel.name).then(|| &self.codes[index])
    }

    /// Whether a kernel uses its parameters in any other way than to load them by name.
    pub(super) fn takes_parameter_address(&self, kernel: &Kernel) -> bool {
        let function = self.function(kernel.function);
        function.is_some_and(|function| {
            function.filled.iter().any(|(_, fill)| matches!(fill, Fill::Parameters(_)))
        })
    }

    /// A function that an instruction of this program names.
    pub(super) fn function(&self, number: u32) -> Option<&FunctionCode> {
        self.functions.get(number as usize)?.as_ref()
    }
}

/// What follows from the functions that a kernel reaches.
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
    let (shared, static_shared, dynamic_start) = place_shared(&names.shared, &used).map_err(wrong)?;
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
        static_shared_bytes: static_shared,
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
    Ok((kernel, KernelCode { shared, dynamic_start, stack }))
}

/// What ptxas gives a thread at least.
const FEWEST_REGISTERS: u32 = 16;

/// What the machine needs for itself, added to the estimate of a kernel's registers.
const OWN_REGISTERS: u32 = 4;

/// Where the shared variables are that a kernel uses; how many bytes the static ones take; where the others begin.
#[allow(clippy::type_complexity, reason = "named where it is taken apart")]
fn place_shared(
    variables: &[SharedVariable],
    used: &BTreeSet<u32>,
) -> Result<(Vec<Option<u32>>, u32, u32), String> {
    let mut places = vec![None; variables.len()];
    let mut end = 0u64;
    let of_kind = |is_dynamic| {
        let numbers = used.iter().map(|number| *number as usize);
        numbers.filter(move |number| variables[*number].is_dynamic == is_dynamic)
    };
    for number in of_kind(false) {
        let variable = &variables[number];
        let start = end.next_multiple_of(u64::from(variable.align.max(1)));
        places[number] = Some(start as u32);
        end = start + variable.bytes;
        if end > 1 << 24 {
            return Err(format!("it uses {end} bytes of shared memory, more than any card has"));
        }
    }
    let align = of_kind(true).map(|number| variables[number].align.max(1)).max().unwrap_or(1);
    let start = (end as u32).next_multiple_of(align);
    of_kind(true).collect::<Vec<_>>().into_iter().for_each(|number| places[number] = Some(start));
    Ok((places, end as u32, start))
}

/// The most local memory that a chain of calls takes from this function on. None: there is a ring, or a call by address.
fn deepest(
    number: u32,
    functions: &[Option<FunctionCode>],
    references: &[Option<References>],
    known: &mut HashMap<u32, Option<u32>>,
    depth: u32,
) -> Option<u32> {
    // Deeper than what people write, and less deep than this thread's own stack.
    if depth > 256 {
        return None;
    }
    if let Some(known) = known.get(&number) {
        return *known;
    }
    // Until it is known, whoever comes here again has gone round a ring.
    known.insert(number, None);
    let code = functions[number as usize].as_ref()?;
    let called = references[number as usize].as_ref().filter(|references| !references.by_address)?;
    let mut below = 0;
    for callee in &called.functions {
        below = below.max(deepest(*callee, functions, references, known, depth + 1)?);
    }
    // Calls begin at multiples of 16.
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
