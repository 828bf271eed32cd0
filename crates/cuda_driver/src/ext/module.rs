//! Loads modules with the PTX compiler's log, which `cust` drops.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::ptr;

use super::raw::{self, CUfunction, CUmodule};
use super::{Check, Error, Result, driver_version};
use crate::{Code, DriverVersion, PtxVersion};

/// Log of the driver's PTX compiler.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JitLog {
    /// Registers, shared memory and spills of each kernel, if requested, and warnings.
    pub info: String,
    /// Errors.
    pub error: String,
}

/// Error of PTX that the driver did not load.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JitError {
    /// The call that failed, and its code.
    pub error: Error,
    /// The compiler's log; empty if it was not reached.
    pub log: JitLog,
    /// The version that the PTX states.
    pub ptx: Option<PtxVersion>,
    /// The newest CUDA version that the driver supports.
    pub driver: Option<DriverVersion>,
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the driver did not load the PTX: {}", self.error)?;
        if self.error.code == Code::UNSUPPORTED_PTX_VERSION
            && let (Some(ptx), Some(driver)) = (self.ptx, self.driver)
        {
            write!(f, ". The PTX is of version {ptx}, and the driver, of {driver}, reads ")?;
            match driver.newest_ptx() {
                Some(newest) => write!(f, "up to {newest}")?,
                None => write!(f, "an older one")?,
            }
            write!(f, ": update the driver, or build the kernels for an older PTX version")?;
        }
        let log = self.log.error.trim();
        if log.is_empty() { Ok(()) } else { write!(f, ". Its compiler says:\n{log}") }
    }
}

impl std::error::Error for JitError {}

/// A module of the current context, unloaded when dropped.
///
/// `cust`'s `Module` cannot be made from a handle, so this type returns functions itself.
#[derive(Debug)]
pub struct Module {
    raw: CUmodule,
    log: JitLog,
}

impl Module {
    /// Compiles and loads PTX, and keeps the compiler's log.
    ///
    /// # Errors
    ///
    /// [`JitError`] with the log; `CUDA_ERROR_INVALID_PTX` also for a text that contains a NUL.
    pub fn from_ptx(ptx: &str) -> Result<Module, JitError> {
        let mut log = JitLog::default();
        match load(ptx, &mut log) {
            Ok(raw) => Ok(Module { raw, log }),
            Err(error) => {
                Err(JitError { error, log, ptx: PtxVersion::of(ptx), driver: driver_version().ok() })
            }
        }
    }

    /// Returns the compiler's log of the PTX that it accepted.
    pub fn log(&self) -> &JitLog {
        &self.log
    }

    /// Returns a kernel of the module, for [`launch`](super::launch()); the handle is valid while the module is loaded.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_NOT_FOUND`.
    pub fn function(&self, name: &CStr) -> Result<CUfunction> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is ours, the name ends, and the pointer can be written.
        unsafe { raw::cuModuleGetFunction(&raw mut function, self.raw, name.as_ptr()) }
            .of("cuModuleGetFunction")?;
        Ok(function)
    }

    /// Returns the driver's handle, which this value still owns.
    pub fn as_raw(&self) -> CUmodule {
        self.raw
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module is ours and not used again. An error cannot be handed on from here.
        unsafe { raw::cuModuleUnload(self.raw) };
    }
}

/// Explains why the driver does not load this PTX, by its compiler's log. Call it after `cust`'s `Module::from_ptx`
/// failed, whose error is only a code: it loads the text again with a log, and unloads it if that works.
///
/// # Errors
///
/// [`JitError`], the explanation.
pub fn explain_ptx(ptx: &str) -> Result<(), JitError> {
    Module::from_ptx(ptx).map(drop)
}

/// Size of a log in bytes. The driver truncates longer ones.
const LOG_BYTES: usize = 64 << 10;

fn load(ptx: &str, log: &mut JitLog) -> Result<CUmodule> {
    const INFO_LOG_BUFFER: c_int = 3;
    const INFO_LOG_BUFFER_SIZE_BYTES: c_int = 4;
    const ERROR_LOG_BUFFER: c_int = 5;
    const ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;
    const LOG_VERBOSE: c_int = 12;
    const FUNCTION: &str = "cuModuleLoadDataEx";

    let ptx = CString::new(ptx).map_err(|_| Error { function: FUNCTION, code: Code::INVALID_PTX })?;
    let mut info = vec![0_u8; LOG_BYTES];
    let mut error = vec![0_u8; LOG_BYTES];
    // Integers are passed as the pointer's value, not behind it.
    let integer = |value| ptr::without_provenance_mut::<c_void>(value);
    let mut options = [
        (INFO_LOG_BUFFER, info.as_mut_ptr().cast()),
        (INFO_LOG_BUFFER_SIZE_BYTES, integer(LOG_BYTES)),
        (ERROR_LOG_BUFFER, error.as_mut_ptr().cast()),
        (ERROR_LOG_BUFFER_SIZE_BYTES, integer(LOG_BYTES)),
        (LOG_VERBOSE, integer(1)),
    ]
    .into_iter()
    .collect::<(Vec<c_int>, Vec<*mut c_void>)>();
    let mut module = ptr::null_mut();
    // SAFETY: the text ends with a NUL, names and values are of the same number, and the log buffers have the
    // sizes that are given with them.
    let outcome = unsafe {
        raw::cuModuleLoadDataEx(
            &raw mut module,
            ptx.as_ptr().cast::<c_void>(),
            options.0.len() as u32,
            options.0.as_mut_ptr(),
            options.1.as_mut_ptr(),
        )
    };
    log.info = text(&info);
    log.error = text(&error);
    outcome.of(FUNCTION)?;
    Ok(module)
}

/// Returns the C string at the start of a buffer.
fn text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}
