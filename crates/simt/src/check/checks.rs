//! Names the checks and sets of them.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A check, named as the tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Finds accesses out of bounds or misaligned, panics, and wrong driver calls.
    Memcheck,
    /// Finds conflicting accesses that happens-before does not order.
    Racecheck,
    /// Finds reads of uninitialised memory.
    Initcheck,
    /// Finds barriers that not all threads reach.
    Synccheck,
    /// Finds memory that is not freed when its context or the program ends, as compute-sanitizer does with
    /// `--leak-check full`.
    Leakcheck,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 5] =
        [Self::Memcheck, Self::Racecheck, Self::Initcheck, Self::Synccheck, Self::Leakcheck];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Initcheck => "initcheck",
            Self::Synccheck => "synccheck",
            Self::Leakcheck => "leakcheck",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A set of checks, written `memcheck,racecheck`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Checks {
    /// [`Check::Memcheck`]
    pub memcheck: bool,
    /// [`Check::Racecheck`]
    pub racecheck: bool,
    /// [`Check::Initcheck`]
    pub initcheck: bool,
    /// [`Check::Synccheck`]
    pub synccheck: bool,
    /// [`Check::Leakcheck`]
    pub leakcheck: bool,
}

impl Checks {
    /// All checks of kernels. leakcheck is left out, since many programs leave freeing to the end of the process.
    pub const ALL: Self =
        Self { memcheck: true, racecheck: true, initcheck: true, synccheck: true, leakcheck: false };

    /// The empty set.
    pub const NONE: Self =
        Self { memcheck: false, racecheck: false, initcheck: false, synccheck: false, leakcheck: false };

    /// Returns true if the set contains this check.
    pub const fn has(self, check: Check) -> bool {
        match check {
            Check::Memcheck => self.memcheck,
            Check::Racecheck => self.racecheck,
            Check::Initcheck => self.initcheck,
            Check::Synccheck => self.synccheck,
            Check::Leakcheck => self.leakcheck,
        }
    }

    /// Adds a check to the set.
    #[must_use]
    pub const fn with(mut self, check: Check) -> Self {
        match check {
            Check::Memcheck => self.memcheck = true,
            Check::Racecheck => self.racecheck = true,
            Check::Initcheck => self.initcheck = true,
            Check::Synccheck => self.synccheck = true,
            Check::Leakcheck => self.leakcheck = true,
        }
        self
    }

    /// Returns true if the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns the checks of the set, in the order of [`Check::ALL`].
    pub(crate) fn iter(self) -> impl Iterator<Item = Check> {
        Check::ALL.into_iter().filter(move |check| self.has(*check))
    }
}

impl From<Check> for Checks {
    fn from(check: Check) -> Self {
        Self::NONE.with(check)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Check::name).collect();
        formatter.pad(if names.is_empty() { "none".to_owned() } else { names.join(",") }.as_str())
    }
}

/// An unknown name of a check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no check {name:?}; there are memcheck, racecheck, initcheck, synccheck and leakcheck, separated by commas, `all` of \
     them but leakcheck, and `none`"
)]
pub struct UnknownCheck {
    /// The name, as given.
    pub name: String,
}

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Parses names separated by commas and optional spaces; `all` for [`Checks::ALL`], `none` for the empty set.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let mut checks = Self::NONE;
        for name in text.split(',').map(str::trim) {
            checks = match name {
                "all" => Self { leakcheck: checks.leakcheck, ..Self::ALL },
                "none" => checks,
                _ => match Check::ALL.into_iter().find(|check| check.name() == name) {
                    Some(check) => checks.with(check),
                    None => return Err(UnknownCheck { name: name.to_owned() }),
                },
            };
        }
        Ok(checks)
    }
}
