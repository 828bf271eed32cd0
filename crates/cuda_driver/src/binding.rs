//! Fills the table of entry points, once per process.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use thiserror::Error;

use crate::table;

static BOUND: OnceLock<Binding> = OnceLock::new();
static BINDING: Mutex<()> = Mutex::new(());

/// The driver to which the `cu*` functions of this process are bound.
#[derive(Debug)]
pub struct Binding {
    description: String,
    missing: Vec<&'static str>,
}

impl Binding {
    /// Returns the driver's description, as given to [`bind`].
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the entry points of `cust` and [`ext`](crate::ext) that this driver lacks. Calling one returns
    /// `CUDA_ERROR_NOT_SUPPORTED`, except `cuGetErrorName` and `cuGetErrorString`, which return the code's name.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }
}

/// Returns the driver that is bound, if one is.
pub fn bound() -> Option<&'static Binding> {
    BOUND.get()
}

/// Why [`bind`] left the table as it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// A driver is bound already; a process has one driver for its whole life.
    #[error(
        "{wanted} cannot be bound: the CUDA calls of this process already lead to {current}, and one process has one \
         driver. Choose the driver before the first CUDA call, once."
    )]
    AlreadyBound {
        /// Description of the bound driver.
        current: String,
        /// Description of the driver that was to be bound.
        wanted: String,
    },
    /// There is no `cuInit`, which must precede all other calls.
    #[error("{wanted} is not a CUDA driver: it has no cuInit.")]
    NotADriver {
        /// Description of the driver that was to be bound.
        wanted: String,
    },
}

/// Binds every `cu*` function of this process to the address that `resolve` returns for its name.
///
/// A function for which `resolve` returns None answers `CUDA_ERROR_NOT_SUPPORTED`, and is named once on stderr. After
/// an error nothing is bound, and another driver can be. Calls that other threads make meanwhile reach the driver or
/// return `CUDA_ERROR_NOT_INITIALIZED`.
///
/// # Errors
///
/// [`TableError`]: something is bound already, or `resolve` has no `cuInit`.
///
/// # Safety
///
/// Each pointer from `resolve` must be a function with the C signature that the driver API documents for that name, and
/// must stay callable, from any thread, until the process ends.
pub unsafe fn bind(
    resolve: &dyn Fn(&str) -> Option<NonNull<c_void>>,
    description: impl Into<String>,
) -> Result<&'static Binding, TableError> {
    let description = description.into();
    let _one_at_a_time = BINDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(current) = bound() {
        return Err(TableError::AlreadyBound { current: current.description.clone(), wanted: description });
    }
    let found: Vec<_> = table::NAMES
        .iter()
        .zip(table::STUBS)
        // A stub that led to itself would never return, so a library that returns our own functions counts as lacking
        // them.
        .map(|(name, stub)| resolve(name).filter(|function| function.as_ptr() != stub as *mut c_void))
        .collect();
    if found[table::Slot::cuInit as usize].is_none() {
        return Err(TableError::NotADriver { wanted: description });
    }
    let mut missing = Vec::new();
    for (slot, function) in found.into_iter().enumerate() {
        match function {
            Some(function) => table::fill(slot, function),
            // Entry points that nothing here calls are not reported as missing.
            None if slot >= table::CALLED => {}
            None => missing.push(table::NAMES[slot]),
        }
    }
    Ok(BOUND.get_or_init(|| Binding { description, missing }))
}
