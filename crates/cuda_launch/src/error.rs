//! Errors of a launch.

use cuda_std::launch::Refusal;
use cust::error::CudaError;

/// A launch, or the loading of what is launched, that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch breaks the kernel's contract. Nothing was launched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The module has no entry point of the kernel's name.
    #[error(
        "the module has no kernel `{kernel}`{}. Build the PTX from the same sources as the program, or load the module that has it",
        suggestion(.nearest)
    )]
    Missing {
        /// The kernel.
        kernel: &'static str,
        /// The module's kernel with the nearest name.
        nearest: Option<String>,
    },
    /// The module's entry point has other parameters than the kernel of that name.
    #[error(
        "the module's kernel `{kernel}` takes ({found}), and the program's takes ({needed}), for `fn {kernel}({source_text})`: \
         they are not of one build. Build the PTX from the same sources as the program"
    )]
    Stale {
        /// The kernel.
        kernel: &'static str,
        /// The module's parameters.
        found: String,
        /// The program's parameters.
        needed: String,
        /// The program's signature.
        source_text: String,
    },
    /// The driver failed.
    #[error("the driver: {0}")]
    Driver(#[from] CudaError),
}

fn suggestion(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!("; it has `{name}`"))
}
