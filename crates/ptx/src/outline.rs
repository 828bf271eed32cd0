//! The outline of a PTX text: its statements and items as slices of it, for programs that search, cut or rewrite text.
//!
//! [`parse`](crate::parse) gives a program that can be executed, and refuses what is not in the manual. An outline keeps
//! the text: layout, comments, and instructions newer than this crate. Of 2.5 MB with line information, a parse takes
//! 50 ms, [`statements`] 29 ms, an [`Outline`] 6 ms, and a [`Header`] 2 us.
//!
//! ```
//! use ptx::outline::Outline;
//!
//! let text = "
//!     .version 7.8 .target sm_90 .address_size 64
//!     .global .align 4 .b32 SEEN;
//!     .visible .entry counts(.param .u64 to) { st.global.b32 [SEEN], 1; ret; } // not parsed
//!     .visible .entry idles() { ret; }";
//! let outline = Outline::of(text);
//! assert_eq!((outline.header.version, outline.header.target), (Some((7, 8)), Some("sm_90")));
//! assert_eq!(outline.entries().collect::<Vec<_>>(), ["counts", "idles"]);
//!
//! let alone = outline.extract("idles").expect("it is there");
//! assert!(!alone.contains("SEEN") && ptx::parse(&alone).is_ok());
//! ```

mod statements;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::lexer::{Lexer, TokenKind};
use crate::{Function, FunctionKind, ParseError};
pub use statements::{Kind, Statement, Statements, statements};

/// The directives at the head of a text, as far as they are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header<'text> {
    /// `.version`: major and minor number of the language.
    pub version: Option<(u32, u32)>,
    /// `.target`: the architecture, such as `sm_90a`.
    pub target: Option<&'text str>,
    /// `.address_size`, in bits.
    pub address_size: Option<u32>,
}

impl<'text> Header<'text> {
    /// Reads the head of a text, and nothing behind it.
    pub fn of(text: &'text str) -> Self {
        let mut header = Self::default();
        statements(text).map_while(|statement| header.add(statement.kind)).for_each(drop);
        header
    }

    /// Takes up a directive. None if it is not one of the head.
    fn add(&mut self, kind: Kind<'text>) -> Option<()> {
        match kind {
            Kind::Version(major, minor) => self.version = Some((major, minor)),
            Kind::Target(name) => self.target = self.target.or(Some(name)),
            Kind::AddressSize(bits) => self.address_size = Some(bits),
            _ => return None,
        }
        Some(())
    }
}

/// Kind of an item of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A kernel or a device function.
    Function {
        /// Kernel or device function.
        kind: FunctionKind,
        /// `.extern`: another module defines it.
        is_extern: bool,
        /// False for a declaration.
        has_body: bool,
    },
    /// A variable of the module.
    Variable,
    /// A section of debug information.
    Section,
}

/// An item at the top level of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'text> {
    /// What it is.
    pub kind: ItemKind,
    /// Name; of a section with its dot.
    pub name: &'text str,
    /// The item, with its body.
    pub text: &'text str,
    /// Its first and last line, from 1.
    pub lines: RangeInclusive<u32>,
    /// Length of a function's head in `text`.
    head: usize,
}

impl<'text> Item<'text> {
    /// Returns true for a kernel with a body.
    pub fn is_entry(&self) -> bool {
        matches!(self.kind, ItemKind::Function { kind: FunctionKind::Entry, has_body: true, .. })
    }

    /// Parses the head of a function: parameters, results and directives. Positions count from the item's first line.
    ///
    /// # Errors
    /// [`ParseError`] if the item is not a function or its head is malformed.
    pub fn declaration(&self) -> Result<Function, ParseError> {
        crate::parse_declaration(&format!("{};", self.text[..self.head].trim_end().trim_end_matches(';')))
    }

    /// Returns the identifiers in the item, in order: names, registers, and instructions up to their first dot.
    fn words(&self) -> impl Iterator<Item = &'text str> {
        let mut lexer = Lexer::new(self.text);
        std::iter::from_fn(move || {
            loop {
                match lexer.next() {
                    Ok(token) => match token.kind {
                        TokenKind::Identifier(word) | TokenKind::Directive(word) => return Some(word),
                        TokenKind::End => return None,
                        _ => {}
                    },
                    Err((_, problem)) => lexer.pass(&problem),
                }
            }
        })
    }
}

/// The items of a PTX text.
#[derive(Clone, Debug)]
pub struct Outline<'text> {
    /// What its head states.
    pub header: Header<'text>,
    /// Functions, variables and sections, in the order of the text.
    pub items: Vec<Item<'text>>,
    /// The directives of the head, and those that name source files.
    head: Vec<&'text str>,
    files: Vec<&'text str>,
}

impl<'text> Outline<'text> {
    /// Splits a text. Text that is not PTX has few items or none.
    pub fn of(text: &'text str) -> Self {
        let mut outline =
            Self { header: Header::default(), items: Vec::new(), head: Vec::new(), files: Vec::new() };
        let mut statements = statements(text);
        while let Some(statement) = statements.next() {
            let mut end = statement.span.end;
            let (kind, name) = match statement.kind {
                Kind::Function { kind, name, is_extern, has_body } => {
                    if has_body {
                        let Some(behind) = statements.skip_body() else { continue };
                        end = behind;
                    }
                    (ItemKind::Function { kind, is_extern, has_body }, name)
                }
                Kind::Variable(name) => (ItemKind::Variable, name),
                Kind::Section(name) => (ItemKind::Section, name),
                kind => {
                    if outline.header.add(kind).is_some() {
                        outline.head.push(statement.text);
                    } else if let Kind::File { .. } = kind {
                        outline.files.push(statement.text);
                    }
                    continue;
                }
            };
            let head = statement.text.len();
            let text = &text[statement.span.start..end];
            outline.items.push(Item { kind, name, text, lines: line_numbers(statement.line, text), head });
        }
        outline
    }

    /// Returns the names of the kernels with a body, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &'text str> {
        self.items.iter().filter(|item| item.is_entry()).map(|item| item.name)
    }

    /// Returns the names of functions that the text calls and leaves to another module.
    pub fn external_functions(&self) -> impl Iterator<Item = &'text str> {
        let is_extern = |item: &&Item<'_>| matches!(item.kind, ItemKind::Function { is_extern: true, .. });
        let externals = self.items.iter().filter(is_extern).map(|item| item.name);
        externals.filter(move |name| self.items.iter().all(|item| item.name != *name || is_extern(&item)))
    }

    /// Returns a module with one kernel and what it uses, directly and through that: header, file names, variables,
    /// functions. None if the text lacks the kernel.
    pub fn extract(&self, entry: &str) -> Option<String> {
        let wanted = self.items.iter().position(|item| item.is_entry() && item.name == entry)?;
        let mut taken = HashSet::from([wanted]);
        let mut open = vec![wanted];
        let (mut has_locations, mut has_names) = (false, false);
        while let Some(at) = open.pop() {
            let used: HashSet<&str> = self.items[at].words().collect();
            has_locations |= used.contains(".loc");
            // Names of inlined functions, which `.loc` refers to.
            has_names |= used.contains("function_name");
            for (index, item) in self.items.iter().enumerate() {
                let uses = item.kind != ItemKind::Section && !item.is_entry() && used.contains(item.name);
                if uses && taken.insert(index) {
                    open.push(index);
                }
            }
        }
        if has_names {
            taken.extend(self.items.iter().position(|item| item.name == ".debug_str"));
        }
        let items = self.items.iter().enumerate().filter(|(index, _)| taken.contains(index));
        let parts = [self.head.join("\n")]
            .into_iter()
            .chain(has_locations.then(|| self.files.join("\n")))
            .chain(items.map(|(_, item)| item.text.to_owned()));
        Some(parts.collect::<Vec<_>>().join("\n\n") + "\n")
    }
}

/// The lines of a piece of text that begins in a line.
fn line_numbers(first: u32, text: &str) -> RangeInclusive<u32> {
    first..=first + text.bytes().filter(|byte| *byte == b'\n').count() as u32
}

/// Returns the lines of a text with their numbers from 1, without those that only serve debuggers
/// ([`Kind::is_for_debuggers`]) and without the runs of empty lines that they leave.
pub fn lines_without_debugging(text: &str) -> Vec<(u32, &str)> {
    let mut hidden = HashSet::new();
    for statement in statements(text).filter(|statement| statement.kind.is_for_debuggers()) {
        let before = text[..statement.span.start].rsplit('\n').next().unwrap_or_default();
        let behind = text[statement.span.end..].split('\n').next().unwrap_or_default().trim();
        if before.trim().is_empty() && (behind.is_empty() || behind.starts_with("//")) {
            hidden.extend(line_numbers(statement.line, statement.text));
        }
    }
    let mut lines: Vec<(u32, &str)> =
        (1..).zip(text.lines()).filter(|(number, _)| !hidden.contains(number)).collect();
    lines.dedup_by(|(_, next), (_, line)| next.trim().is_empty() && line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests;
