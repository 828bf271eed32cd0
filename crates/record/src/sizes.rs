//! Sizes in bytes, for people.

use std::fmt;

/// A size for a person: exact in the largest binary unit that divides it, else with one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.into_iter().find(|&(_, scale)| self.0 >= scale) {
            None => write!(f, "{} B", self.0),
            Some((unit, scale)) if self.0.is_multiple_of(scale) => write!(f, "{} {unit}", self.0 / scale),
            Some((unit, scale)) => write!(f, "{:.1} {unit}", self.0 as f64 / scale as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_in_the_largest_unit_that_fits() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(256 << 20).to_string(), "256 MiB");
        assert_eq!(Bytes((1 << 30) + (1 << 29)).to_string(), "1.5 GiB");
    }
}
