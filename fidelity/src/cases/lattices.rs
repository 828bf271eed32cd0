//! Fields on lattices, and other sciences.

use super::Set;

pub(super) fn add(_set: &mut Set) {}
