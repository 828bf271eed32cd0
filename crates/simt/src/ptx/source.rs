//! Where instructions come from: `.file` and `.loc`, resolved to places in the source.

use super::body::Instruction;
use super::module::{Immediate, Module, Position};
use super::names::Name;

/// `.file 1 "src/copy.rs"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where the directive stands.
    pub position: Position,
    /// By which `.loc` names it.
    pub number: u32,
    /// Between the quotes.
    pub name: Name,
    /// Time of change and size, where they are given.
    pub stamp: Option<(u64, u64)>,
}

/// A `.loc` by its number in the module: an index in [`Module::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

/// `.loc 1 115 10`, perhaps within an inlined function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of a [`SourceFile`].
    pub file: u32,
    /// From 1; 0: none in particular.
    pub line: u32,
    /// From 1; 0: none in particular.
    pub column: u32,
    /// Set in a function that was inlined.
    pub inlined: Option<Inlined>,
}

/// `function_name $L__info_string0+4, inlined_at 1 12 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The label of the function's name in `.debug_str`, and bytes from there.
    pub function: Option<(Name, u64)>,
    /// Of the call: number of its file, line and column.
    pub at: (u32, u32, u32),
    /// The last `.loc` of that very place, which may be in an inlined function itself.
    pub caller: Option<LocationId>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePosition<'module> {
    /// As `.file` has it; none: the module does not say.
    pub file: Option<&'module str>,
    /// From 1; 0: none in particular.
    pub line: u32,
    /// From 1; 0: none in particular.
    pub column: u32,
    /// The linker's name of the inlined function that this is in; none: the function itself, or not said.
    pub function: Option<String>,
}

impl Module {
    /// Where an instruction comes from, innermost place first, then the calls that were inlined. Empty without
    /// line information.
    pub fn source(&self, instruction: &Instruction) -> Vec<SourcePosition<'_>> {
        let mut chain = Vec::new();
        let mut next = instruction.location;
        while let Some(id) = next {
            let Some(location) = self.locations.get(id.0 as usize) else { break };
            let function = location.inlined.as_ref().and_then(|inlined| inlined.function.as_ref());
            chain.push(SourcePosition {
                file: self.file(location.file),
                line: location.line,
                column: location.column,
                function: function.and_then(|(label, offset)| self.debug_string(label, *offset)),
            });
            let inlined = location.inlined.as_ref();
            // A caller stands before what it calls, so this ends.
            next = inlined.and_then(|inlined| inlined.caller).filter(|caller| caller.0 < id.0);
            if let (Some(Inlined { at: (file, line, column), .. }), None) = (inlined, next) {
                chain.push(SourcePosition {
                    file: self.file(*file),
                    line: *line,
                    column: *column,
                    function: None,
                });
            }
        }
        chain
    }

    /// The name of a file by its number.
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.iter().find(|file| file.number == number).map(|file| &*file.name)
    }

    /// The text behind a label of `.debug_str`.
    pub fn debug_string(&self, label: &str, offset: u64) -> Option<String> {
        let section = self.sections.iter().find(|section| section.name == ".debug_str")?;
        let label = format!("{label}:");
        let start = section.text.match_indices(&label).find(|(place, _)| {
            section.text[..*place].ends_with(|before: char| before.is_whitespace()) || *place == 0
        });
        let text = &section.text[start?.0 + label.len()..];
        let words = text.split(|character: char| character == ',' || character.is_whitespace());
        let numbers =
            words.filter(|word| !word.is_empty() && *word != ".b8").map(|word| word.parse::<u8>().ok());
        let bytes: Vec<u8> = numbers
            .skip(usize::try_from(offset).ok()?)
            .map_while(|byte| byte.filter(|byte| *byte != 0))
            .collect();
        String::from_utf8(bytes).ok()
    }
}

impl Immediate {
    /// The bits of an integer.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            _ => None,
        }
    }
}
