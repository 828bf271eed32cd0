//! An index of a module's names, with look-ups in constant time.
//!
//! A module is a list of items, as its file is. Searching the list for each name would take time quadratic in the
//! file's length: of a file of 4 MB with line information, most is `.debug_str`, and each instruction has several names
//! in it. So an [`Index`] is built in one pass over the module, and each name in `.debug_str` is decoded once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::body::Instruction;
use super::module::{Function, Module};
use super::source::{Inlined, Location};
use super::types::Linkage;
use super::variable::Variable;

/// A module's functions, variables and source positions, by name and number.
#[derive(Debug)]
pub struct Index<'module> {
    module: &'module Module,
    functions: HashMap<&'module str, &'module Function>,
    variables: HashMap<&'module str, &'module Variable>,
    never_return: HashSet<&'module str>,
    files: HashMap<u32, Arc<str>>,
    /// Linker name of the inlined function that contains each `.loc`, by its number.
    inlined: Vec<Option<Arc<str>>>,
    #[cfg(test)]
    debug_bytes_read: usize,
}

/// A position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePosition {
    /// File, as `.file` names it; None if unknown.
    pub file: Option<Arc<str>>,
    /// Line from 1; 0 if unknown.
    pub line: u32,
    /// Column from 1; 0 if unknown.
    pub column: u32,
    /// Linker name of the inlined function that contains it; None for the function itself or if unknown.
    pub function: Option<Arc<str>>,
}

impl<'module> Index<'module> {
    /// Builds the index in one pass.
    pub fn new(module: &'module Module) -> Self {
        let mut functions = HashMap::new();
        let mut never_return = HashSet::new();
        for function in module.functions() {
            let known = functions.entry(&*function.name).or_insert(function);
            if known.body.is_none() && function.body.is_some() {
                *known = function;
            }
            if function.never_returns {
                never_return.insert(&*function.name);
            }
        }
        let mut variables = HashMap::new();
        let is_extern = |variable: &Variable| variable.linkage == Some(Linkage::Extern);
        for variable in module.variables() {
            let known = variables.entry(&*variable.name).or_insert(variable);
            if is_extern(known) && !is_extern(variable) {
                *known = variable;
            }
        }
        let mut files = HashMap::new();
        for file in &module.files {
            files.entry(file.number).or_insert_with(|| Arc::from(&*file.name));
        }
        let mut strings = DebugStrings::new(module);
        let inlined = module.locations.iter().map(|location| {
            let (label, offset) = location.inlined.as_ref()?.function.as_ref()?;
            strings.get(label, *offset)
        });
        let inlined = inlined.collect();
        Self {
            module,
            functions,
            variables,
            never_return,
            files,
            inlined,
            #[cfg(test)]
            debug_bytes_read: strings.read,
        }
    }

    /// Returns the module.
    pub fn module(&self) -> &'module Module {
        self.module
    }

    /// Returns the function of this name: its definition, or its first declaration if there is none.
    pub fn function(&self, name: &str) -> Option<&'module Function> {
        self.functions.get(name).copied()
    }

    /// Returns the variable of this name: its definition, or its first declaration if there is none.
    pub fn variable(&self, name: &str) -> Option<&'module Variable> {
        self.variables.get(name).copied()
    }

    /// Returns true if a function of this name is declared `.noreturn`.
    pub fn never_returns(&self, name: &str) -> bool {
        self.never_return.contains(name)
    }

    /// Returns the positions of an instruction, innermost first, then the inlined calls. Empty without line
    /// information.
    pub fn source(&self, instruction: &Instruction) -> Vec<SourcePosition> {
        let mut chain = Vec::new();
        let mut next = instruction.location;
        while let Some(id) = next {
            let Some(location) = self.module.locations.get(id.0 as usize) else { break };
            let Location { file, line, column, inlined } = location;
            let function = self.inlined[id.0 as usize].clone();
            chain.push(self.position((*file, *line, *column), function));
            let inlined = inlined.as_ref();
            // A caller precedes what it calls, so this ends.
            next = inlined.and_then(|inlined| inlined.caller).filter(|caller| caller.0 < id.0);
            if let (Some(Inlined { at, .. }), None) = (inlined, next) {
                chain.push(self.position(*at, None));
            }
        }
        chain
    }

    fn position(&self, (file, line, column): (u32, u32, u32), function: Option<Arc<str>>) -> SourcePosition {
        SourcePosition { file: self.files.get(&file).cloned(), line, column, function }
    }
}

/// The strings of `.debug_str`, by label.
struct DebugStrings<'module> {
    /// Text behind each label.
    labels: HashMap<&'module str, &'module str>,
    known: HashMap<(&'module str, u64), Option<Arc<str>>>,
    /// Bytes of the section that were read.
    read: usize,
}

impl<'module> DebugStrings<'module> {
    fn new(module: &'module Module) -> Self {
        let section = module.sections.iter().find(|section| section.name == ".debug_str");
        let text: &str = section.map_or("", |section| &section.text);
        let mut labels = HashMap::new();
        for (colon, _) in text.match_indices(':') {
            let start = text[..colon].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
            labels.entry(&text[start..colon]).or_insert(&text[colon + 1..]);
        }
        Self { labels, known: HashMap::new(), read: text.len() }
    }

    /// Returns the string at an offset in bytes behind a label.
    fn get(&mut self, label: &'module str, offset: u64) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(&(label, offset)) {
            return known.clone();
        }
        let text = self.labels.get(label).copied();
        let text = text.and_then(|text| self.decode(text, offset));
        self.known.insert((label, offset), text.clone());
        text
    }

    /// Decodes `.b8 111,110,101,0` and further such lines, up to the zero.
    fn decode(&mut self, text: &str, offset: u64) -> Option<Arc<str>> {
        let words = text.split(|character: char| character == ',' || character.is_whitespace());
        let read = &mut self.read;
        let numbers = words
            .inspect(|word| *read += word.len() + 1)
            .filter(|word| !word.is_empty() && *word != ".b8")
            .map(|word| word.parse::<u8>().ok());
        let bytes: Vec<u8> = numbers
            .skip(usize::try_from(offset).ok()?)
            .map_while(|byte| byte.filter(|byte| *byte != 0))
            .collect();
        String::from_utf8(bytes).ok().map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::parse;

    /// Makes a kernel whose instructions are in `names` inlined functions, each in 20 places.
    fn module(names: usize) -> String {
        let locations: String = (0..20 * names)
            .map(|place| {
                let name = place % names;
                format!(".loc 1 {place} 1, function_name $name{name}, inlined_at 1 7 3\ntrap;\n")
            })
            .collect();
        let strings: String =
            (0..names).map(|name| format!("$name{name}:\n.b8 110,{},0\n", 65 + name % 26)).collect();
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{\n{locations}}}\n.file 1 \"a.cu\"\n\
             .section .debug_str {{\n{strings}}}\n"
        )
    }

    #[test]
    fn debug_strings_are_read_in_time_linear_in_their_length() {
        for names in [100, 1000, 10_000] {
            let module = parse(&module(names)).expect("PTX");
            let index = Index::new(&module);
            let length = module.sections[0].text.len();
            // Once for the labels, once for their content, however often they are named.
            assert!(index.debug_bytes_read <= 2 * length, "{} of {length}", index.debug_bytes_read);
            let body = module.entry("k").expect("k").body.as_ref().expect("a definition");
            let last = index.source(body.instructions.last().expect("an instruction"));
            let letter = char::from(65 + ((names - 1) % 26) as u8);
            assert_eq!(last[0].function.as_deref(), Some(format!("n{letter}").as_str()));
            assert_eq!((last[0].file.as_deref(), last[1].line), (Some("a.cu"), 7));
        }
    }
}
