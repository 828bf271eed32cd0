//! Call chains of inlined instructions in the PTX: `.loc 2 25 25, function_name .., inlined_at 1 117 18`.
//!
//! Almost all of a Rust kernel is inlined from somewhere, and a line of `core` says little without the line of the kernel
//! that led to it. LLVM's back end for NVPTX writes the innermost place only. So each location of an inlined instruction
//! is given a line number of its own before the back end runs, by which its calls are found again and written out
//! afterwards.

use std::collections::HashMap;
use std::fmt::Write as _;

use ptx::outline::{Kind, Statement, statements};

use crate::llvm::{Location, Module, Position};

/// Line numbers from here on are numbers of chains. No source file is so long.
const FIRST_LINE: u32 = 1 << 30;

/// The first PTX version that can say it, 7.2.
const FIRST_VERSION: u32 = 72;

/// The ways by which the inlined instructions of a module came, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains(Vec<Vec<Position>>);

/// Gives each location of an inlined instruction a number of its own in place of its line.
pub(crate) fn mark(module: &mut Module<'_>, ptx_version: u32) -> Chains {
    let mut chains = Chains::default();
    if ptx_version < FIRST_VERSION {
        return chains;
    }
    let mut numbers: HashMap<Location, u32> = HashMap::new();
    for instruction in module.functions().flat_map(|function| function.instructions()) {
        let Some(location) = instruction.inlined_location() else { continue };
        let number = *numbers.entry(location).or_insert_with(|| {
            chains.0.push(instruction.positions());
            chains.0.len() as u32 - 1
        });
        instruction.set_line(FIRST_LINE + number);
    }
    chains
}

/// Puts the lines back in the finished PTX, with the calls behind them.
pub(crate) fn write_out(ptx: &str, chains: &Chains) -> String {
    if chains.0.is_empty() {
        return ptx.to_owned();
    }
    let mut writer = Writer { chains, files: Files::of(ptx), names: Names::default(), last: HashMap::new() };
    let mut text = String::with_capacity(ptx.len() * 2);
    let mut copied = 0;
    for Statement { kind, span, .. } in statements(ptx) {
        match kind {
            Kind::Location { file, line, column } => match writer.marked(file, line, column) {
                Some(locations) => {
                    text += &ptx[copied..span.start];
                    text += &locations;
                    copied = span.end;
                }
                None => drop(writer.last.insert((file, line, column), Vec::new())),
            },
            // Positions of another function do not carry over.
            Kind::Function { .. } => writer.last.clear(),
            _ => {}
        }
    }
    text += &ptx[copied..];
    text += &writer.files.added;
    text += &writer.names.section();
    text
}

/// Number of a file, line, column.
type Place = (u32, u32, u32);

struct Writer<'a> {
    chains: &'a Chains,
    files: Files,
    names: Names,
    /// The calls around each place, as they were said last.
    last: HashMap<Place, Vec<Place>>,
}

impl Writer<'_> {
    /// The directives for a location that was marked.
    fn marked(&mut self, file: u32, line: u32, column: u32) -> Option<String> {
        let number = line.checked_sub(FIRST_LINE)?;
        let chain = self.chains.0.get(number as usize)?;
        let mut places = Vec::with_capacity(chain.len());
        for (depth, position) in chain.iter().enumerate() {
            let file = if depth == 0 { file } else { self.files.number(&position.file) };
            places.push((file, position.line, if depth == 0 { column } else { position.column }));
        }
        let mut directives = Vec::new();
        // From the kernel inwards. A caller is written again only if its place last had another one.
        for depth in (0..places.len()).rev() {
            let callers = places[depth + 1..].to_vec();
            let known = self.last.get(&places[depth]).is_some_and(|last| *last == callers);
            if depth > 0 && known {
                continue;
            }
            let (file, line, column) = places[depth];
            let mut text = format!(".loc\t{file} {line} {column}");
            if let Some((file, line, column)) = callers.first() {
                let name = self.names.label(&chain[depth].function);
                let _ = write!(text, ", function_name {name}, inlined_at {file} {line} {column}");
            }
            directives.push(text);
            self.last.insert(places[depth], callers);
        }
        Some(directives.join("\n\t"))
    }
}

/// The files that directives number.
struct Files {
    numbers: HashMap<String, u32>,
    next: u32,
    added: String,
}

impl Files {
    /// Those that LLVM has written.
    fn of(ptx: &str) -> Self {
        let files = statements(ptx).filter_map(|statement| match statement.kind {
            Kind::File { number, name } => Some((name.to_owned(), number)),
            _ => None,
        });
        let numbers: HashMap<String, u32> = files.collect();
        let next = numbers.values().max().map_or(1, |last| last + 1);
        Self { numbers, next, added: String::new() }
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        let _ = writeln!(self.added, "\t.file\t{number} \"{name}\"");
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// Names of functions, in the section for texts.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Names {
    fn label(&mut self, name: &str) -> String {
        let next = self.texts.len();
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(name.to_owned());
        }
        format!("$L__info_string{number}")
    }

    fn section(&self) -> String {
        if self.texts.is_empty() {
            return String::new();
        }
        let mut text = String::from("\t.section\t.debug_str\n\t{\n");
        for (number, name) in self.texts.iter().enumerate() {
            let bytes: Vec<String> = name.bytes().chain([0]).map(|byte| byte.to_string()).collect();
            let _ = writeln!(text, "$L__info_string{number}:\n.b8 {}", bytes.join(","));
        }
        text += "\t}\n";
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(file: &str, line: u32, column: u32, function: &str) -> Position {
        Position { file: file.to_owned(), line, column, function: function.to_owned() }
    }

    #[test]
    fn calls_are_written_from_the_kernel_inwards_and_not_twice() {
        let kernel = position("a.rs", 7, 3, "kernel");
        let helper = position("b.rs", 20, 5, "helper");
        let chains = Chains(vec![
            vec![position("c.rs", 90, 1, "deep"), helper.clone(), kernel.clone()],
            vec![helper.clone(), kernel.clone()],
        ]);
        let ptx = format!(
            ".visible .entry kernel()\n{{\n\t.loc\t1 7 0\n\t.loc\t2 {} 1\n\tret;\n\t.loc\t3 {} 5\n\tret;\n}}\n\
             \t.file\t1 \"a.rs\"\n\t.file\t2 \"c.rs\"\n\t.file\t3 \"b.rs\"\n",
            FIRST_LINE,
            FIRST_LINE + 1
        );
        assert_eq!(
            write_out(&ptx, &chains),
            ".visible .entry kernel()\n{\n\t.loc\t1 7 0\n\
             \t.loc\t1 7 3\n\
             \t.loc\t3 20 5, function_name $L__info_string0, inlined_at 1 7 3\n\
             \t.loc\t2 90 1, function_name $L__info_string1, inlined_at 3 20 5\n\
             \tret;\n\
             \t.loc\t3 20 5, function_name $L__info_string0, inlined_at 1 7 3\n\
             \tret;\n}\n\
             \t.file\t1 \"a.rs\"\n\t.file\t2 \"c.rs\"\n\t.file\t3 \"b.rs\"\n\
             \t.section\t.debug_str\n\t{\n\
             $L__info_string0:\n.b8 104,101,108,112,101,114,0\n\
             $L__info_string1:\n.b8 100,101,101,112,0\n\t}\n"
        );
    }

    #[test]
    fn a_file_that_only_calls_is_numbered() {
        let chains = Chains(vec![vec![position("c.rs", 90, 1, "f"), position("new.rs", 7, 3, "k")]]);
        let ptx = format!("\t.loc\t4 {FIRST_LINE} 1\n\t.file\t4 \"c.rs\"\n");
        let text = write_out(&ptx, &chains);
        assert!(
            text.contains(
                "\t.loc\t5 7 3\n\t.loc\t4 90 1, function_name $L__info_string0, inlined_at 5 7 3\n"
            ),
            "{text}"
        );
        assert!(text.contains("\t.file\t4 \"c.rs\"\n\t.file\t5 \"new.rs\"\n"), "{text}");
    }

    #[test]
    fn without_inlined_instructions_nothing_changes() {
        let ptx = "\t.loc\t1 7 3\n\tret;\n";
        assert_eq!(write_out(ptx, &Chains::default()), ptx);
    }
}
