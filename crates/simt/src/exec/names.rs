//! Resolves a module's names: allocates and initialises its variables, and numbers its functions.

use std::collections::{HashMap, HashSet};

use super::error::LoadError;
use super::immediate::bits_of;
use super::kernel::{Variable, VariableKind};
use crate::memory::{Kind, Memory};
use crate::ptx::{self, Attribute, Index, Initializer, Item, Linkage, Module, ScalarType, Space};

/// What a name means where an address is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A variable's address, as the host sees it, or a function's number as an address.
    Address(u64),
    /// A shared variable, whose offset depends on the kernel.
    Shared(u32),
}

/// A variable in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedVariable {
    pub(super) bytes: u64,
    pub(super) align: u32,
    /// `.extern`: it begins where dynamic shared memory does.
    pub(super) is_dynamic: bool,
}

/// Start of the addresses that stand for functions: no memory lies there.
const FUNCTION_ADDRESSES: u64 = 0xF000_0000_0000_0000;

/// The names of a module and their meanings.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) index: Index<'a>,
    /// Functions by number: the definition, where there is one.
    pub(super) functions: Vec<&'a ptx::Function>,
    numbers: HashMap<&'a str, u32>,
    meanings: HashMap<&'a str, Meaning>,
    in_bodies: HashMap<(&'a str, usize), Meaning>,
    pub(super) shared: Vec<SharedVariable>,
    pub(super) variables: HashMap<String, Variable>,
    /// Allocations to free when the program is unloaded.
    pub(super) allocated: Vec<u64>,
    pub(super) constant_bytes: u32,
    /// Functions whose addresses variables hold.
    pub(super) in_variables: Vec<u32>,
}

/// Returns the function for which an address stands.
pub(super) fn function_at(address: u64) -> Option<u32> {
    let number = address.checked_sub(FUNCTION_ADDRESSES)?;
    if number.is_multiple_of(16) { u32::try_from(number / 16).ok() } else { None }
}

impl<'a> Names<'a> {
    /// Allocates and initialises all variables. `allocated` of the result has all allocations, after an error too.
    pub(super) fn new(module: &'a Module, memory: &Memory) -> (Self, Result<(), LoadError>) {
        let mut names = Self {
            index: Index::new(module),
            functions: Vec::new(),
            numbers: HashMap::new(),
            meanings: HashMap::new(),
            in_bodies: HashMap::new(),
            shared: Vec::new(),
            variables: HashMap::new(),
            allocated: Vec::new(),
            constant_bytes: 0,
            in_variables: Vec::new(),
        };
        names.number_functions();
        let outcome = names.place_variables(memory);
        (names, outcome)
    }

    fn number_functions(&mut self) {
        for function in self.index.module().functions() {
            if self.numbers.contains_key(&*function.name) {
                continue;
            }
            let number = self.functions.len() as u32;
            self.numbers.insert(&function.name, number);
            self.functions.push(self.index.function(&function.name).unwrap_or(function));
        }
        for item in &self.index.module().items {
            if let Item::Alias { name, function, .. } = item
                && let Some(number) = self.numbers.get(&**function).copied()
            {
                // An alias is declared as a function without a body.
                self.numbers.insert(name, number);
            }
        }
        for (name, number) in &self.numbers {
            self.meanings.insert(name, Meaning::Address(FUNCTION_ADDRESSES + 16 * u64::from(*number)));
        }
    }

    /// Returns the number of a function.
    pub(super) fn function(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the meaning of a module's name as an address.
    pub(super) fn meaning(&self, name: &str) -> Option<Meaning> {
        self.meanings.get(name).copied()
    }

    /// Returns the meaning of a variable declared in a function's body.
    pub(super) fn body_variable(&self, function: &str, index: usize) -> Option<Meaning> {
        self.in_bodies.get(&(function, index)).copied()
    }

    fn place_variables(&mut self, memory: &Memory) -> Result<(), LoadError> {
        let module = self.index.module();
        let mut seen = HashSet::new();
        let mut placed = Vec::new();
        for variable in module.variables() {
            if !seen.insert(&*variable.name) {
                continue;
            }
            let variable = self.index.variable(&variable.name).unwrap_or(variable);
            if let Some(meaning) = self.place(variable, memory)? {
                self.meanings.insert(&variable.name, meaning);
                if let Meaning::Address(address) = meaning {
                    let bytes = variable.size().unwrap_or(0);
                    let kind = kind_of(variable);
                    self.variables.insert(variable.name.to_string(), Variable { address, bytes, kind });
                }
                placed.push((variable, meaning));
            }
        }
        for function in module.functions() {
            let variables = function.body.iter().flat_map(|body| &body.variables).enumerate();
            for (index, variable) in variables {
                if let Some(meaning) = self.place(variable, memory)? {
                    self.in_bodies.insert((&function.name, index), meaning);
                    placed.push((variable, meaning));
                }
            }
        }
        // All variables have addresses now, so initial values may contain the addresses of others.
        for (variable, meaning) in placed {
            if let Meaning::Address(address) = meaning {
                self.initialise(variable, address, memory)?;
            }
        }
        Ok(())
    }

    fn place(&mut self, variable: &ptx::Variable, memory: &Memory) -> Result<Option<Meaning>, LoadError> {
        let name = || variable.name.to_string();
        let line = variable.position.line;
        let wrong = |what: &str| Err(LoadError::Variable { name: name(), line, what: what.to_owned() });
        let is_extern = variable.linkage == Some(Linkage::Extern);
        let Some(bytes) = variable.size() else { return wrong("its size has no number") };
        match variable.space {
            Space::Shared => {
                if bytes > 1 << 30 {
                    return wrong("more shared memory than any card has");
                }
                let align = variable.alignment();
                self.shared.push(SharedVariable { bytes, align, is_dynamic: is_extern });
                Ok(Some(Meaning::Shared(self.shared.len() as u32 - 1)))
            }
            Space::Global | Space::Constant => {
                if is_extern {
                    return Err(LoadError::UndefinedVariable { name: name(), line });
                }
                let kind = match kind_of(variable) {
                    VariableKind::Constant => Kind::Constant,
                    VariableKind::Managed => Kind::Managed,
                    VariableKind::Global => Kind::Module,
                };
                if kind == Kind::Constant {
                    self.constant_bytes = self.constant_bytes.saturating_add(bytes.min(1 << 31) as u32);
                }
                let address = memory.allocate(bytes.max(1), kind).map_err(|error| LoadError::Memory {
                    name: name(),
                    bytes,
                    what: error.to_string(),
                })?;
                self.allocated.push(address);
                Ok(Some(Meaning::Address(address)))
            }
            Space::Local | Space::Parameter => Ok(None),
        }
    }

    /// Writes a variable's initial value: zero where the module gives none.
    fn initialise(
        &mut self,
        variable: &ptx::Variable,
        address: u64,
        memory: &Memory,
    ) -> Result<(), LoadError> {
        let wrong = |what: String| LoadError::Variable {
            name: variable.name.to_string(),
            line: variable.position.line,
            what,
        };
        let size = variable.size().unwrap_or(0);
        let Some(initializer) = &variable.initializer else {
            return memory.fill(address, &[0], size.max(1)).map_err(|error| wrong(error.to_string()));
        };
        // The text names each byte that is not 0, so it is at least as long as they are many.
        memory.fill(address, &[0], size.max(1)).map_err(|error| wrong(error.to_string()))?;
        let mut lengths: Vec<u64> =
            variable.dimensions.iter().map(|length| length.unwrap_or(u64::MAX)).collect();
        lengths.extend(variable.vector.map(u64::from));
        let mut writer =
            Writer { names: self, scalar: variable.scalar, address, end: address + size, memory };
        let functions = writer.element(initializer, &lengths, 0).map_err(wrong)?;
        self.in_variables.extend(functions);
        Ok(())
    }
}

fn kind_of(variable: &ptx::Variable) -> VariableKind {
    match variable.space {
        Space::Constant => VariableKind::Constant,
        _ if variable.attributes.contains(&Attribute::Managed) => VariableKind::Managed,
        _ => VariableKind::Global,
    }
}

/// Writes an initializer, element by element.
struct Writer<'a, 'b> {
    names: &'b Names<'a>,
    scalar: ScalarType,
    address: u64,
    end: u64,
    memory: &'b Memory,
}

impl Writer<'_, '_> {
    /// Writes one element of an array of these lengths, at an offset. Returns the functions whose addresses it
    /// contains.
    fn element(
        &mut self,
        initializer: &Initializer,
        lengths: &[u64],
        offset: u64,
    ) -> Result<Vec<u32>, String> {
        let size = u64::from(self.scalar.size().unwrap_or(1));
        match initializer {
            Initializer::List(list) => {
                let Some((length, inner)) = lengths.split_first() else {
                    return Err("braces around a single value".to_owned());
                };
                if list.len() as u64 > *length {
                    return Err(format!("{} values for {length} elements", list.len()));
                }
                let step = inner.iter().try_fold(size, |size, length| size.checked_mul(*length));
                let step = step.ok_or("an initializer of an array whose size has no number")?;
                let mut functions = Vec::new();
                for (element, index) in list.iter().zip(0..) {
                    functions.extend(self.element(element, inner, offset + index * step)?);
                }
                Ok(functions)
            }
            Initializer::Number(number) => {
                let bits = bits_of(*number, self.scalar)?;
                self.put(offset, &bits.to_le_bytes()[..size.min(16) as usize])?;
                Ok(Vec::new())
            }
            Initializer::Address { name, offset: beyond, mask, .. } => {
                let Some(Meaning::Address(address)) = self.names.meaning(name) else {
                    return Err(format!("the address of `{name}` is not known before a kernel runs"));
                };
                let value = address.wrapping_add_signed(*beyond);
                let value = match mask {
                    Some(0) | None => value,
                    Some(mask) => (value & mask) >> mask.trailing_zeros(),
                };
                self.put(offset, &value.to_le_bytes()[..size.min(8) as usize])?;
                Ok(self.names.function(name).into_iter().collect())
            }
        }
    }

    fn put(&self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let address = self.address + offset;
        if address + bytes.len() as u64 > self.end {
            return Err("more values than it has elements".to_owned());
        }
        self.memory.write(address, bytes).map_err(|error| error.to_string())
    }
}
