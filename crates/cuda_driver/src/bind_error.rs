//! Errors of binding NVIDIA's driver, as messages to the user.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::nvidia::DRIVER_VARIABLE;
use crate::{Code, DriverVersion};

/// Why [`bind_nvidia`](crate::bind_nvidia) bound nothing. Each message is one paragraph that ends with what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindError {
    /// No driver library was found.
    #[error(
        "no NVIDIA driver found. Looked for {library} {}. On a machine with an NVIDIA GPU, install NVIDIA's driver \
         (`nvidia-smi` shows one that works), start a container with its GPUs passed in (`--gpus all`), or name the \
         library in the environment variable {DRIVER_VARIABLE}.",
        Places(attempts)
    )]
    NotFound {
        /// Name of the library.
        library: &'static str,
        /// Places searched, in order.
        attempts: Vec<Attempt>,
    },
    /// The library that the environment names does not load.
    #[error(
        "the driver library that {DRIVER_VARIABLE} names, {}, does not load: {words}. Point {DRIVER_VARIABLE} to a \
         libcuda.so.1, or unset it to have the machine's own driver looked for.",
        path.display()
    )]
    NotLoadable {
        /// The library as named.
        path: PathBuf,
        /// Message of the loader.
        words: String,
    },
    /// The library loads, but is not a driver.
    #[error(
        "{} is a library but not a CUDA driver: it has no cuInit or no cuDriverGetVersion. The driver is the \
         libcuda.so.1 that comes with NVIDIA's driver (not libcudart, which is the toolkit's); {DRIVER_VARIABLE} can \
         name it.",
        path.display()
    )]
    NotADriver {
        /// Path of the library.
        path: PathBuf,
    },
    /// The library is the CUDA toolkit's link-time stub of the same name.
    #[error(
        "{} is the CUDA toolkit's stub for linking, not a driver: its functions do nothing \
         (CUDA_ERROR_STUB_LIBRARY, 34). Take the toolkit's folder `stubs` out of LD_LIBRARY_PATH and \
         {DRIVER_VARIABLE}; if no driver is found then, install NVIDIA's driver.",
        path.display()
    )]
    StubLibrary {
        /// Path of the library.
        path: PathBuf,
    },
    /// The driver loads but does not start.
    #[error("NVIDIA's driver {}{} does not start: cuInit gave {code}. {}", path.display(), InBrackets(*version), advice(*code))]
    NotStarted {
        /// Path of the library.
        path: PathBuf,
        /// CUDA version, if the driver reports it.
        version: Option<DriverVersion>,
        /// Result of `cuInit`.
        code: Code,
    },
    /// Another driver is bound.
    #[error(
        "NVIDIA's driver {} cannot be bound: the CUDA calls of this process already lead to {current}, and one \
         process has one driver. Choose the driver before the first CUDA call, once.",
        path.display()
    )]
    AlreadyBound {
        /// Description of the bound driver.
        current: String,
        /// Path of the library that was to be bound.
        path: PathBuf,
    },
}

impl BindError {
    /// Stands for the loader's message if the loader was not asked.
    pub(crate) const NO_SUCH_FILE: &str = "no such file";

    /// Returns the cause in a clause, without advice: "no NVIDIA driver (libcuda.so.1 was not found)".
    #[must_use]
    pub fn in_short(&self) -> String {
        match self {
            BindError::NotFound { library, .. } => format!("no NVIDIA driver ({library} was not found)"),
            BindError::StubLibrary { path } => {
                format!("no NVIDIA driver ({} is the toolkit's stub for linking)", path.display())
            }
            BindError::NotStarted { path, code: Code::NO_DEVICE, .. } => {
                format!("NVIDIA's driver {} finds no GPU", path.display())
            }
            BindError::NotStarted { path, code, .. } => {
                format!("NVIDIA's driver {} does not start (cuInit gave {code})", path.display())
            }
            other => other.to_string().trim_end_matches('.').to_owned(),
        }
    }
}

/// A place where a driver library was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// A path, or a bare name that the system's loader looks up.
    pub path: PathBuf,
    /// Why it is not the driver: the loader's message.
    pub words: String,
}

/// Displays "where the system's loader looks (its message) and in A, B (no such file), C (message)".
struct Places<'a>(&'a [Attempt]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, attempt) in self.0.iter().enumerate() {
            match (position, attempt.path.parent()) {
                (0, _) => write!(f, "where the system's loader looks")?,
                (1, Some(folder)) => write!(f, " and in {}", folder.display())?,
                (_, Some(folder)) => write!(f, ", {}", folder.display())?,
                (_, None) => write!(f, ", {}", attempt.path.display())?,
            }
            // One remark serves consecutive folders that all lack the file.
            let same_as_next = self.0.get(position + 1).is_some_and(|next| next.words == attempt.words);
            if !same_as_next {
                write!(f, " ({})", attempt.words)?;
            }
        }
        Ok(())
    }
}

struct InBrackets(Option<DriverVersion>);

impl fmt::Display for InBrackets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |version| write!(f, " ({version})"))
    }
}

fn advice(code: Code) -> &'static str {
    const SYSTEM_NOT_READY: Code = Code(802);
    const SYSTEM_DRIVER_MISMATCH: Code = Code(803);
    const COMPAT_NOT_SUPPORTED_ON_DEVICE: Code = Code(804);
    match code {
        Code::NO_DEVICE => {
            "The driver sees no GPU: check that `nvidia-smi` lists one, that CUDA_VISIBLE_DEVICES does not hide it, \
             and that a container was started with its GPUs passed in (`--gpus all`)."
        }
        SYSTEM_NOT_READY => {
            "The system is not ready for CUDA: on machines with NVSwitch, start the fabric manager service."
        }
        SYSTEM_DRIVER_MISMATCH => {
            "The library and the loaded kernel module are of different releases: restart the machine after a driver \
             update, and look for a second libcuda.so.1 in LD_LIBRARY_PATH."
        }
        COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "A forward-compatibility driver does not support this GPU: take the toolkit's folder `compat` out of \
             LD_LIBRARY_PATH."
        }
        _ => {
            "Check that `nvidia-smi` works: the kernel module must be loaded and /dev/nvidia* readable by this user."
        }
    }
}
