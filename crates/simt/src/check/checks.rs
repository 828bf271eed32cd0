//! Which checks are wanted.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// One of compute-sanitizer's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Addresses out of bounds and misaligned, panics, wrong calls of the driver.
    Memcheck,
    /// Accesses to one place that nothing orders.
    Racecheck,
    /// Reads of what nothing has written.
    Initcheck,
    /// Barriers that not all threads reach.
    Synccheck,
    /// Memory that is left when its context or the program ends: what compute-sanitizer says with `--leak-check full`.
    Leakcheck,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Memcheck, Self::Racecheck, Self::Initcheck, Self::Synccheck, Self::Leakcheck];

    /// As it is written on a command line.
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
    /// All that look at kernels: without leakcheck, for many programs leave freeing to the end of the process.
    pub const ALL: Self =
        Self { memcheck: true, racecheck: true, initcheck: true, synccheck: true, leakcheck: false };

    /// None of them.
    pub const NONE: Self =
        Self { memcheck: false, racecheck: false, initcheck: false, synccheck: false, leakcheck: false };

    /// Whether this one is among them.
    pub const fn has(self, check: Check) -> bool {
        match check {
            Check::Memcheck => self.memcheck,
            Check::Racecheck => self.racecheck,
            Check::Initcheck => self.initcheck,
            Check::Synccheck => self.synccheck,
            Check::Leakcheck => self.leakcheck,
        }
    }

    /// These and one more.
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

    /// No check at all.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Those that are wanted, in the order of [`Check::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Check> {
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

/// A name that no check has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no check {name:?}; there are memcheck, racecheck, initcheck, synccheck and leakcheck, separated by commas, `all` of \
     them but leakcheck, and `none`"
)]
pub struct UnknownCheck {
    /// As it was given.
    pub name: String,
}

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Names separated by commas, spaces around them left out; `all` but leakcheck, `none`.
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
