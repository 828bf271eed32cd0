//! Positions in the PTX text.

/// A position in the PTX text.
///
/// All positions compare equal, so that two parses of one program in different layouts are equal. Compare the fields to
/// distinguish positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in bytes.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Position {}
