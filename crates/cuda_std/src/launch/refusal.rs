//! Errors of launches that break the kernel's contract.

use alloc::string::String;
use core::fmt;

use super::{Cluster, Shape, shape::extent};

/// A launch that breaks the kernel's contract. Nothing was launched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The blocks or the grid are not what the kernel takes.
    Shape {
        /// The kernel.
        kernel: &'static str,
        /// The shapes that it takes.
        needs: String,
        /// The shape of the launch.
        found: Shape,
    },
    /// The grid is no multiple of the kernel's clusters.
    Cluster {
        /// The kernel.
        kernel: &'static str,
        /// Its clusters.
        cluster: Cluster,
        /// The shape of the launch.
        found: Shape,
    },
    /// A slice has another length than the kernel's other arguments ask for.
    Length {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The length that it needs, as a formula and with its value.
        needs: String,
        /// The length that it got.
        found: u64,
    },
    /// A clause of `requires` does not hold.
    Clause {
        /// The kernel.
        kernel: &'static str,
        /// The clause as the source has it.
        clause: &'static str,
        /// The values of what it names.
        found: String,
    },
    /// A value is none that the parameter's type allows.
    Value {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The values that it allows.
        needs: String,
        /// The value that it got.
        found: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { kernel, needs, found } => {
                write!(f, "the kernel `{kernel}` takes {needs}, and the launch has {found}")
            }
            Self::Cluster { kernel, cluster, found } => write!(
                f,
                "the kernel `{kernel}` runs in clusters of {cluster} blocks, of which the grid must be a multiple along each axis, \
                 and the launch has {found}; the nearest larger grid is {}",
                extent(cluster.grid_around(found.grid))
            ),
            Self::Length { kernel, parameter, needs, found } => {
                write!(f, "the kernel `{kernel}` needs {parameter}.len() {needs}; it is {found}")
            }
            Self::Clause { kernel, clause, found } => {
                write!(f, "the kernel `{kernel}` requires `{clause}`, and the launch has {found}")
            }
            Self::Value { kernel, parameter, needs, found } => {
                write!(f, "the kernel `{kernel}` takes {needs} as `{parameter}`, and it is {found}")
            }
        }
    }
}

impl core::error::Error for Refusal {}
