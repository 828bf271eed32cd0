//! Adds what `cust` 0.3.2 lacks: newer entry points, and older ones that it leaves to its raw bindings.
//!
//! There are two levels. [`raw`] has the driver API's own functions, with results as numbers. The functions of the
//! other modules return a `Result` that names the call; those that take a handle are `unsafe`, since a handle is a
//! pointer that the driver follows. [`Event`], [`Graph`], [`GraphExec`] and [`PinnedBuffer`] own their handles.
//!
//! Handles have `cust_raw`'s types, so `cust`'s own can be passed without casts: `stream.as_inner()`,
//! `function.to_raw()`, `device.as_raw()`, `buffer.as_device_ptr().as_raw()`. All functions work on the calling
//! thread's current context, as `cust` does.

pub mod raw;

mod attributes;
mod event;
mod graph;
mod launch;
mod managed;
mod module;
mod peer;
mod pinned;
mod tensor_map;

pub use attributes::{
    DeviceAttribute, FunctionAttribute, MemoryType, Uuid, device_attribute, device_uuid, driver_version,
    function_attribute, pointer_is_managed, pointer_memory_type, set_function_attribute,
    set_max_dynamic_shared_memory,
};
pub use event::Event;
pub use graph::{CaptureMode, Graph, GraphExec, capture};
pub use launch::{
    AccessWindow, LaunchConfig, launch, max_active_clusters, max_potential_cluster_size, reset_persisting_l2,
    set_persisting_l2,
};
pub use managed::{Advice, Location, advise, last_prefetch_location, prefetch};
pub use module::{JitError, JitLog, Module, explain_ptx};
pub use peer::{Peer, PeerBuffer, can_access_peer, has_peer_atomics};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use tensor_map::{
    TensorElement, TensorMap, TensorMapConfig, TensorMapError, TensorPromotion, TensorSwizzle,
};

use std::ffi::CStr;
use std::fmt;

use crate::Code;

/// The error of a failed driver call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Name of the entry point.
    pub function: &'static str,
    /// Its result.
    pub code: Code,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} gave {}", self.function, self.code)?;
        match error_text(self.code) {
            Some(text) if Some(text.as_str()) != self.code.name() => {
                write!(f, ": {}", text.trim_end_matches('.'))
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// The result of a driver call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns the bound driver's description of a code; without a driver, the code's name.
pub fn error_text(code: Code) -> Option<String> {
    let mut text = std::ptr::null();
    // SAFETY: the pointer can be written.
    let outcome = unsafe { raw::cuGetErrorString(code, &raw mut text) };
    (outcome == Code::SUCCESS && !text.is_null()).then(|| {
        // SAFETY: on success the driver gives a C string of its own, which stays.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    })
}

/// Turns a code into a `Result` that names the call.
trait Check {
    fn of(self, function: &'static str) -> Result<()>;
}

impl Check for Code {
    fn of(self, function: &'static str) -> Result<()> {
        self.into_result().map_err(|code| Error { function, code })
    }
}
