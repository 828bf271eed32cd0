//! Resolves the names within a function, block by block.
//!
//! A block in braces has names of its own, which hide those of the blocks around it. In the [`Body`] there are no blocks:
//! each register has a number in the function, in the order of declaration. A label may be mentioned before it is
//! declared, even by an inner block before the outer one declares it. So a mention takes a place of its own, which is
//! handed to the enclosing block when its block closes without the declaration, and is resolved at the function's end.
//! For example:
//!
//! ```text
//! .reg .b32 %r<3>;          %r0, %r1, %r2 have the numbers 0, 1, 2
//! {
//!     .reg .b32 %r<2>;      this block's %r0, %r1 have 3, 4
//!     mov.b32 %r1, %r2;     4 and 2: the inner family has no %r2, the outer one has
//!     bra DONE;             a mention of DONE in this block
//! }                         without a declaration: the mention is handed to the outer block
//! DONE: ret;                declares it
//! ```

use super::super::body::{Body, LabelId, LabelMeaning, RegisterFamily, RegisterId, SymbolMeaning};
use super::super::error::Problem;
use super::super::lexer::Fault;
use super::super::names::Map;
use super::super::position::Position;
use super::super::types::{SPECIAL_REGISTERS, ScalarType};
use super::Parsed;

/// Meaning of a name.
#[derive(Clone, Copy)]
pub(super) enum Binding {
    Register(RegisterId),
    Symbol(SymbolMeaning),
}

/// Names of a function during parsing.
pub(super) struct Scopes<'text> {
    pub(super) body: Body,
    scopes: Vec<Scope<'text>>,
    slots: Vec<Slot<'text>>,
}

#[derive(Default)]
struct Scope<'text> {
    names: Map<&'text str, (Binding, Position)>,
    families: Map<&'text str, (RegisterId, u32, Position)>,
    labels: Map<&'text str, LabelId>,
}

/// A label's name in one block. If the block only mentions it, it moves on to the enclosing block.
struct Slot<'text> {
    text: &'text str,
    position: Position,
    meaning: Option<LabelMeaning>,
    handed_to: Option<LabelId>,
}

/// Deepest nesting of blocks, since each makes every look-up longer.
const DEEPEST: usize = 256;

impl<'text> Scopes<'text> {
    pub(super) fn new() -> Self {
        Self { body: Body::default(), scopes: vec![Scope::default()], slots: Vec::new() }
    }

    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn open(&mut self, position: Position) -> Parsed<()> {
        if self.scopes.len() >= DEEPEST {
            return Err((position, Problem::TooDeep { most: DEEPEST as u32 }));
        }
        self.scopes.push(Scope::default());
        Ok(())
    }

    /// Closes a nested block.
    pub(super) fn close(&mut self) {
        let (Some(closed), Some(outer)) = (self.scopes.pop(), self.scopes.last_mut()) else { return };
        for (text, label) in closed.labels {
            let slot = &mut self.slots[label.0 as usize];
            if slot.meaning.is_none() {
                let handed_to = *outer.labels.entry(text).or_insert(label);
                slot.handed_to = (handed_to != label).then_some(handed_to);
            }
        }
    }

    fn innermost(&mut self) -> &mut Scope<'text> {
        self.scopes.last_mut().expect("the function's own scope closes last")
    }

    fn check_new(&mut self, text: &'text str, position: Position) -> Parsed<()> {
        check_predefined(text, None, position)?;
        match self.innermost().names.get(text) {
            Some((_, first)) => {
                Err((position, Problem::Duplicate { name: text.to_owned(), line: first.line }))
            }
            None => Ok(()),
        }
    }

    pub(super) fn declare(
        &mut self,
        text: &'text str,
        position: Position,
        meaning: SymbolMeaning,
    ) -> Parsed<()> {
        self.check_new(text, position)?;
        self.innermost().names.insert(text, (Binding::Symbol(meaning), position));
        Ok(())
    }

    /// Declares a family, and sets its first register.
    pub(super) fn declare_registers(&mut self, text: &'text str, mut family: RegisterFamily) -> Parsed<()> {
        let position = family.position;
        let first = RegisterId(self.body.register_count);
        family.first = first;
        if family.count.is_some() {
            check_predefined(text, family.count, position)?;
            let duplicate = self.innermost().families.get(text);
            if let Some((_, _, earlier)) = duplicate {
                return Err((position, Problem::Duplicate { name: text.to_owned(), line: earlier.line }));
            }
            self.innermost().families.insert(text, (first, family.size(), position));
        } else {
            self.check_new(text, position)?;
            self.innermost().names.insert(text, (Binding::Register(first), position));
        }
        let count =
            self.body.register_count.checked_add(family.size()).filter(|count| *count <= MOST_REGISTERS);
        let Some(count) = count else {
            let most = u64::from(MOST_REGISTERS);
            return Err((position, Problem::TooMany { what: "registers in one function", most }));
        };
        self.body.register_count = count;
        self.body.registers.push(family);
        Ok(())
    }

    /// Returns the innermost declaration of a name.
    pub(super) fn find(&self, text: &str) -> Option<Binding> {
        let stem = text.trim_end_matches(|last: char| last.is_ascii_digit());
        let digits = &text[stem.len()..];
        // `%r01` is not a register of `%r<10>`, and a register's number has at most as many digits as a u32.
        let canonical = digits == "0" || !digits.starts_with('0');
        let number = if canonical { digits.parse::<u32>().ok() } else { None };
        self.scopes.iter().rev().find_map(|scope| {
            if let Some(number) = number {
                // Digits may be split in other ways: `%r1<10>` has a `%r15`, and so does `%r<20>`.
                if let Some((first, count, _)) = scope.families.get(stem)
                    && number < *count
                {
                    return Some(Binding::Register(RegisterId(first.0 + number)));
                }
                if let Some(found) = scope.numbered_stem(stem, digits) {
                    return Some(Binding::Register(found));
                }
            }
            scope.names.get(text).map(|(binding, _)| *binding)
        })
    }

    /// Returns why an undeclared name may be missing: a family that ends before it.
    pub(super) fn missing(&self, text: &str) -> Option<Problem> {
        let stem = text.trim_end_matches(|last: char| last.is_ascii_digit());
        text[stem.len()..].parse::<u64>().ok()?;
        let (_, count, position) = self.scopes.iter().rev().find_map(|scope| scope.families.get(stem))?;
        let (name, family) = (text.to_owned(), stem.to_owned());
        Some(Problem::NoSuchRegister { name, family, count: *count, line: position.line })
    }

    /// Mentions a label, declared or not.
    pub(super) fn mention(&mut self, text: &'text str, position: Position) -> LabelId {
        let next = LabelId(self.slots.len() as u32);
        let label = *self.innermost().labels.entry(text).or_insert(next);
        if label == next {
            self.slots.push(Slot { text, position, meaning: None, handed_to: None });
        }
        label
    }

    pub(super) fn declare_label(
        &mut self,
        text: &'text str,
        position: Position,
        meaning: LabelMeaning,
    ) -> Parsed<LabelId> {
        let label = self.mention(text, position);
        let slot = &mut self.slots[label.0 as usize];
        if slot.meaning.is_some() {
            return Err((position, Problem::Duplicate { name: text.to_owned(), line: slot.position.line }));
        }
        slot.meaning = Some(meaning);
        slot.position = position;
        Ok(label)
    }

    /// Resolves all labels of the body, or fails with the first mention of an undeclared one. The table maps mentions
    /// to labels of the body.
    pub(super) fn settle_labels(
        &mut self,
        name: impl Fn(&'text str) -> super::Name,
    ) -> Result<Vec<LabelId>, Fault> {
        let mut table: Vec<Option<LabelId>> = vec![None; self.slots.len()];
        let mut labels = Vec::new();
        for (slot, place) in self.slots.iter_mut().zip(&mut table) {
            if let Some(meaning) = slot.meaning.take() {
                *place = Some(LabelId(labels.len() as u32));
                let (position, name) = (slot.position, name(slot.text));
                labels.push(super::super::body::Label { position, name, meaning });
            }
        }
        self.body.labels = labels;
        for slot in 0..self.slots.len() {
            let mut last = slot;
            while let Some(next) = self.slots[last].handed_to {
                last = next.0 as usize;
            }
            table[slot] = table[last];
        }
        let missing = self.slots.iter().zip(&table).find(|(_, label)| label.is_none());
        if let Some((Slot { text, position, .. }, _)) = missing {
            let elsewhere = self.body.labels.iter().find(|label| label.name == **text);
            let name = (*text).to_owned();
            let problem = match elsewhere {
                Some(label) => Problem::LabelOutOfScope { name, line: label.position.line },
                None => Problem::UndeclaredLabel { name },
            };
            return Err((*position, problem));
        }
        Ok(table.into_iter().flatten().collect())
    }

    /// Returns the problem of a register with the wrong type.
    pub(super) fn wrong_register(&self, register: RegisterId, position: Position, expected: String) -> Fault {
        let family = self.body.family(register);
        let name = self.body.register_name(register).unwrap_or_default();
        let declared = family.map_or(ScalarType::B32, |family| family.scalar);
        let line = family.map_or(0, |family| family.position.line);
        (position, Problem::WrongRegister { name, declared, line, expected })
    }
}

impl Scope<'_> {
    /// Finds a register of a family whose own name ends in digits.
    fn numbered_stem(&self, stem: &str, digits: &str) -> Option<RegisterId> {
        if digits.len() < 2 || self.families.is_empty() {
            return None;
        }
        let whole = |split: usize| (&digits[..split], &digits[split..]);
        (1..digits.len()).map(whole).find_map(|(more, number)| {
            if number.len() > 1 && number.starts_with('0') {
                return None;
            }
            let (first, count, _) = self.families.get(format!("{stem}{more}").as_str())?;
            let number = number.parse::<u32>().ok().filter(|number| number < count)?;
            Some(RegisterId(first.0 + number))
        })
    }
}

/// Checks that a declaration takes no name that PTX itself gives a meaning, which the operand would then lose. A family `%pm<3>`
/// of registers takes `%pm0` to `%pm2`.
pub(super) fn check_predefined(text: &str, count: Option<u32>, position: Position) -> Parsed<()> {
    let is_taken = |predefined: &&str| match count {
        None => *predefined == text,
        Some(count) => predefined.strip_prefix(text).is_some_and(|digits| {
            let canonical = digits == "0" || !digits.starts_with(['0', '+']);
            canonical && digits.parse::<u32>().is_ok_and(|number| number < count)
        }),
    };
    match SPECIAL_REGISTERS.iter().chain(&["WARP_SZ", "_"]).find(|name| is_taken(name)) {
        Some(name) => Err((position, Problem::Predefined { name })),
        None => Ok(()),
    }
}

/// Most registers of a function: far more than compilers emit, and few enough for a column each.
const MOST_REGISTERS: u32 = 1 << 22;
