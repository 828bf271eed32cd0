//! Binds a driver at the first call of the driver API, for a program that binds none itself.
//!
//! Until a driver is bound, every slot of the table leads to code that saves the call's arguments, calls
//! [`target_after_binding`], and jumps to the address that it returns. To the program it is an ordinary call.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::{BindError, Binding, Code, TableError, bind_nvidia, bound, simulated};

/// Binds NVIDIA's driver, or the simulated one if there is none, which a note on stderr says.
///
/// A program that binds no driver itself gets this at its first call of the driver API. If `COALESCE_SIMULATE` names
/// cards to simulate, no GPU is looked for; if `COALESCE_DRIVER` names a library, no other is tried.
///
/// # Errors
///
/// [`BindError`]: the library that `COALESCE_DRIVER` names is not a driver.
pub fn bind_default() -> Result<&'static Binding, BindError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(binding) = bound() {
        return Ok(binding);
    }
    if !simulated::is_asked_for() {
        match bind_nvidia() {
            // Another thread of the program may have bound a driver meanwhile.
            Ok(_) | Err(BindError::AlreadyBound { .. }) => {}
            // A user who names a library wants no other.
            Err(error @ (BindError::NotLoadable { .. } | BindError::NotADriver { .. })) => return Err(error),
            Err(error) => {
                // A closed stderr must not turn a note into an abort.
                let _ = writeln!(
                    std::io::stderr(),
                    "note: {}, so this program runs on a simulated {}; {} names another card",
                    error.in_short(),
                    simulated::DEFAULT_CARD,
                    simulated::CARDS_VARIABLE,
                );
            }
        }
    }
    if let Some(binding) = bound() {
        return Ok(binding);
    }
    match simulated::bind_at_load() {
        Ok(()) => report_at_exit(),
        // As above.
        Err(TableError::AlreadyBound { .. } | TableError::NotADriver { .. }) => {}
    }
    Ok(bound().expect("a driver was bound just now"))
}

/// Registers [`simulated::report_end`] to run when the program ends.
fn report_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> i32;
    }
    extern "C" fn report() {
        simulated::report_end();
    }
    // SAFETY: the function may be called at any time, and lives as long as the program.
    let code = unsafe { atexit(report) };
    if code != 0 {
        let _ = writeln!(
            std::io::stderr(),
            "findings and the profile will not be reported at the end: atexit returned {code}"
        );
    }
}

/// Binds a driver if none is bound, and returns the slot's target.
pub(crate) extern "C" fn target_after_binding(slot: u32) -> *const () {
    if bound().is_none()
        && let Err(error) = bind_default()
    {
        say_once(&error);
    }
    crate::table::target(slot as usize)
}

/// Prints why nothing is bound, at the first call; each call returns [`Code::NOT_INITIALIZED`].
fn say_once(error: &BindError) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        let _ = writeln!(
            std::io::stderr(),
            "{error} Until then each call of the CUDA driver returns {}.",
            Code::NOT_INITIALIZED
        );
    });
}
