//! The variables that make the driver misbehave.

use std::env;

/// The variable's value, if it is set.
pub(crate) fn text(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The variable as a number, or what stands in for it.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    text(name).map_or(default, |text| text.parse().expect("a number"))
}
