//! Interned names and opcodes: a file repeats a few hundred of them thousands of times.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::op::{Op, OpError};

/// An interned name. Cloning it copies a pointer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// Creates a name that is not shared yet.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An interned opcode: a base and its modifiers in order, such as `ld` and `global`, `nc`, `b32`.
///
/// Equal opcodes of a module share one allocation, so that a decoder can process each once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Opcode(Arc<OpcodeText>);

#[derive(PartialEq, Eq, Hash)]
struct OpcodeText {
    text: Box<str>,
    op: Result<Op, OpError>,
}

impl Opcode {
    /// Decodes the text.
    pub fn new(text: &str) -> Self {
        Self(Arc::new(OpcodeText { text: text.into(), op: Op::read(text) }))
    }

    /// Returns the whole text, with its dots.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns the part before the first dot.
    pub fn base(&self) -> &str {
        self.as_str().split_once('.').map_or(self.as_str(), |(base, _)| base)
    }

    /// Returns what the opcode says.
    ///
    /// # Errors
    /// As [`Op::read`]: parsing a module does not fail for an opcode that is unknown.
    pub fn op(&self) -> Result<Op, &OpError> {
        self.0.op.as_ref().copied()
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Returns one [`Name`] and one [`Opcode`] for each distinct text.
#[derive(Default)]
pub(super) struct Interner<'text> {
    names: Map<&'text str, Name>,
    opcodes: Map<&'text str, Opcode>,
}

impl<'text> Interner<'text> {
    pub(super) fn name(&mut self, text: &'text str) -> Name {
        self.names.entry(text).or_insert_with(|| Name::new(text)).clone()
    }

    pub(super) fn opcode(&mut self, text: &'text str) -> Opcode {
        self.opcodes.entry(text).or_insert_with(|| Opcode::new(text)).clone()
    }
}

/// A hash map for short texts. Its keys come from a file that is parsed once, so deliberate collisions only slow the
/// parsing of that file.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<ShortTextHasher>>;

/// A hasher that multiplies and rotates, eight bytes at a time.
#[derive(Default)]
pub(super) struct ShortTextHasher(u64);

impl ShortTextHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for ShortTextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.add(u64::from_le_bytes(word.try_into().expect("chunks of eight")));
        }
        let mut last = 0;
        for byte in words.remainder() {
            last = last << 8 | u64::from(*byte);
        }
        self.add(last ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
