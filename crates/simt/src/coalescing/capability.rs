//! The compute capability, which determines the rules.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A card's compute capability, such as 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The generation: 1 is Tesla, 2 Fermi, 3 Kepler, 5 Maxwell, 6 Pascal, 7 Volta and Turing, 8 Ampere and Ada, 9
    /// Hopper, 10 and 12 Blackwell.
    pub major: u8,
    /// The revision within the generation.
    pub minor: u8,
}

/// Capabilities that NVIDIA has shipped, from the guide's tables and `nvcc --list-gpu-arch` of CUDA 4 to 13.
const KNOWN: [(u8, u8); 31] = [
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
    (2, 0),
    (2, 1),
    (3, 0),
    (3, 2),
    (3, 5),
    (3, 7),
    (5, 0),
    (5, 2),
    (5, 3),
    (6, 0),
    (6, 1),
    (6, 2),
    (7, 0),
    (7, 2),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 7),
    (8, 8),
    (8, 9),
    (9, 0),
    (10, 0),
    (10, 1),
    (10, 3),
    (11, 0),
    (12, 0),
    (12, 1),
];

/// Why a text or a pair of numbers is not a compute capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityError {
    /// The text is not of the form `major.minor`.
    #[error("\"{0}\" is not a compute capability: write major.minor, such as \"9.0\"")]
    Malformed(String),
    /// No card has this capability.
    #[error("no NVIDIA card has compute capability {0}.{1}: known are {known}", known = known())]
    Unknown(u8, u8),
}

fn known() -> String {
    KNOWN.map(|(major, minor)| format!("{major}.{minor}")).join(", ")
}

impl ComputeCapability {
    /// Returns the capability `major.minor`.
    ///
    /// # Errors
    /// [`CapabilityError::Unknown`] if no card has it.
    pub fn new(major: u8, minor: u8) -> Result<Self, CapabilityError> {
        if KNOWN.contains(&(major, minor)) {
            Ok(Self { major, minor })
        } else {
            Err(CapabilityError::Unknown(major, minor))
        }
    }

    /// Returns true from `major.minor` on.
    pub fn at_least(self, major: u8, minor: u8) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

/// Serialises as text, such as `"9.0"`.
impl Serialize for ComputeCapability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ComputeCapability {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, CapabilityError> {
        let malformed = || CapabilityError::Malformed(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(malformed)?;
        let digits = |part: &str| {
            if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(malformed());
            }
            part.parse::<u8>().map_err(|_| malformed())
        };
        Self::new(digits(major)?, digits(minor)?)
    }
}
