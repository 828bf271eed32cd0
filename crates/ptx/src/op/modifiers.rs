//! Reads an opcode's modifiers: each is taken once, and what remains is refused by name.

use super::OpError;
use crate::types::ScalarType;

/// The modifiers of an opcode that no reader has taken yet.
pub(super) struct Modifiers<'a> {
    opcode: &'a str,
    left: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// Splits an opcode into its base and its modifiers.
    pub(super) fn split(opcode: &'a str) -> (&'a str, Self) {
        let mut words = opcode.split('.');
        (words.next().unwrap_or_default(), Self { opcode, left: words.collect() })
    }

    /// Returns true if the modifier is there, without taking it.
    pub(super) fn has(&self, word: &str) -> bool {
        self.left.contains(&word)
    }

    /// Takes a modifier. Returns true if it is there.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.take_some(|other| (other == word).then_some(())).is_some()
    }

    /// Takes the first modifier if it is this one.
    pub(super) fn take_first(&mut self, word: &str) -> bool {
        let found = self.left.first() == Some(&word);
        if found {
            self.left.remove(0);
        }
        found
    }

    /// Takes the first modifiers if they are these; none otherwise.
    pub(super) fn take_all(&mut self, words: &[&str]) -> bool {
        let found = self.left.starts_with(words);
        if found {
            self.left.drain(..words.len());
        }
        found
    }

    /// Takes the first modifier that `read` accepts, and returns its value.
    pub(super) fn take_some<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, value) =
            self.left.iter().enumerate().find_map(|(index, word)| Some((index, read(word)?)))?;
        self.left.remove(index);
        Some(value)
    }

    /// Takes the first modifier that `read` accepts; `what` names it in the error.
    pub(super) fn need<T>(
        &mut self,
        what: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, OpError> {
        self.take_some(read).ok_or_else(|| self.lacks(what))
    }

    /// Takes the first type.
    pub(super) fn scalar(&mut self) -> Result<ScalarType, OpError> {
        self.need("a type", ScalarType::from_word)
    }

    /// Takes all modifiers in a list; their meaning changes no result.
    pub(super) fn skip(&mut self, words: &[&str]) {
        self.left.retain(|word| !words.contains(word));
    }

    /// Returns the error for a missing modifier. It names what is left, which may be the modifier misspelt.
    pub(super) fn lacks(&self, what: &'static str) -> OpError {
        OpError::Lacks { opcode: self.opcode.to_owned(), what, found: self.left.join(".") }
    }

    /// Checks that all modifiers have been taken.
    pub(super) fn done(&self) -> Result<(), OpError> {
        match self.left.first() {
            None => Ok(()),
            Some(word) => {
                Err(OpError::Modifier { opcode: self.opcode.to_owned(), modifier: (*word).to_owned() })
            }
        }
    }
}
