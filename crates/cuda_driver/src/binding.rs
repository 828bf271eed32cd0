//! Filling the table, once in a process.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use thiserror::Error;

use crate::table;

static BOUND: OnceLock<Binding> = OnceLock::new();
static BINDING: Mutex<()> = Mutex::new(());

/// What the `cu*` functions of this process lead to.
#[derive(Debug)]
pub struct Binding {
    description: String,
    missing: Vec<&'static str>,
}

impl Binding {
    /// The driver in words, as given to [`bind`].
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The entry points of `cust` and [`ext`](crate::ext) that this driver lacks; calling one returns `CUDA_ERROR_NOT_SUPPORTED`
    /// (but `cuGetErrorName` and `cuGetErrorString` give the code's name).
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }
}

/// The driver that is bound, if one is.
pub fn bound() -> Option<&'static Binding> {
    BOUND.get()
}

/// Why [`bind`] left the table as it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// A process has one driver for its whole life.
    #[error(
        "{wanted} cannot be bound: the CUDA calls of this process already lead to {current}, and one process has one \
         driver. Choose the driver before the first CUDA call, once."
    )]
    AlreadyBound {
        /// What is bound.
        current: String,
        /// What was to be bound.
        wanted: String,
    },
    /// There is no `cuInit`, without which nothing else can be called.
    #[error("{wanted} is not a CUDA driver: it has no cuInit.")]
    NotADriver {
        /// What was to be bound.
        wanted: String,
    },
}

/// Points every `cu*` function of this process to what `resolve` gives for its name.
///
/// A name for which `resolve` has nothing is answered with `CUDA_ERROR_NOT_SUPPORTED`, and said once on
/// stderr. On an error nothing was bound, and another driver can be. Calls that other threads make meanwhile
/// reach the driver or return `CUDA_ERROR_NOT_INITIALIZED`.
///
/// # Errors
///
/// [`TableError`]: something is bound already, or `resolve` has no `cuInit`.
///
/// # Safety
///
/// Each pointer from `resolve` must be a function with the C signature that the driver API documents for that
/// name, and must stay callable, from any thread, until the process ends.
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
        // A stub that led to itself would never return; a library that gives our own functions back has none.
        .map(|(name, stub)| resolve(name).filter(|function| function.as_ptr() != stub as *mut c_void))
        .collect();
    if found[table::Slot::cuInit as usize].is_none() {
        return Err(TableError::NotADriver { wanted: description });
    }
    let mut missing = Vec::new();
    for (slot, function) in found.into_iter().enumerate() {
        match function {
            Some(function) => table::fill(slot, function),
            // What nothing here calls is not missed.
            None if slot >= table::CALLED => {}
            None => missing.push(table::NAMES[slot]),
        }
    }
    Ok(BOUND.get_or_init(|| Binding { description, missing }))
}
