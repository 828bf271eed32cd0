//! Exports the CUDA driver API's symbols and binds them at run time.
//!
//! `cust` (through `cust_raw`) declares the driver's functions as symbols that the linker must find, which ties a
//! program to the `libcuda` of the machine that built it. This crate exports all of those symbols itself, each as a
//! jump through a table. So a program with `cust` and `cuda_driver` builds and starts on any machine. By default its
//! first call binds NVIDIA's driver, or a simulated card if there is none ([`bind_default`]). A program can also choose
//! before its first call:
//!
//! ```no_run
//! let driver = cuda_driver::bind_nvidia()?;
//! println!("{} at {}", driver.driver_version, driver.path.display());
//! # Ok::<(), cuda_driver::BindError>(())
//! ```
//!
//! * [`bind_nvidia`] binds NVIDIA's library. [`bind_simulated`] binds this crate's own driver, which needs no GPU: see
//!   [`simulated`].
//! * [`bind`] takes a function from names to addresses, so that any other implementation of the driver API can be
//!   bound.
//! * An entry point that the bound driver lacks returns `CUDA_ERROR_NOT_SUPPORTED` (801), and is named once on stderr.
//!
//! A program must name this crate in its code (`use cuda_driver as _;` is enough), or its symbols are not linked. A
//! program that cannot be changed gets it through `crates/cust_core`, which `cust` names.
//!
//! `cust`'s result type is a Rust enum with the codes of CUDA 11.4, and its functions return it as the driver gave it.
//! A later code, such as `CUDA_ERROR_CONTAINED` (226), is not a value of that enum, and the jumps cannot check what
//! passes through them. [`ext`] takes results as numbers and does not have this problem.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

#[macro_use]
mod entry_points;

mod bind_error;
mod binding;
mod code;
mod first_use;
mod nvidia;
mod table;
mod version;

pub mod ext;
pub mod simulated;

pub use bind_error::{Attempt, BindError};
pub use binding::{Binding, TableError, bind, bound};
pub use code::Code;
pub use first_use::bind_default;
pub use nvidia::{DRIVER_FOLDERS, DRIVER_LIBRARY, DRIVER_VARIABLE, Nvidia, bind_nvidia};
pub use simulated::{Simulated, SimulatedError, bind_simulated};
pub use table::{CUST_ENTRY_POINTS, NEWER_ENTRY_POINTS, OTHER_ENTRY_POINTS};
pub use version::{DriverVersion, PtxVersion};
