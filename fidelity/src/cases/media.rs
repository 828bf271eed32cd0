//! Pictures, sound, text and packed data.

use super::Set;

pub(super) fn add(_set: &mut Set) {}
