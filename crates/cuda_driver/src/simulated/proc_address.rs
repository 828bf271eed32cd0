//! Implements `cuGetProcAddress`, by which programs ask the driver for entry points instead of the loader.

use std::ffi::{c_char, c_int};

use super::codes::{INVALID_VALUE, NOT_FOUND, Outcome};
use super::driver::DRIVER_VERSION;
use super::entry::{In, Out};
use super::versions::{self, Standing};
use crate::table;

/// Flag that requests the functions with the per-thread default stream.
const PER_THREAD_STREAM: u64 = 2;

/// Status of a query: found, unknown, or not in the version requested.
const FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;
const VERSION_NOT_SUFFICIENT: c_int = 2;

/// Returns the address of a symbol: its stub, so that a function that the simulated driver lacks names itself when
/// called.
///
/// Two functions have none, since no program finds them by `dlsym`: `cuCtxGetDevice_v2` and `cuCtxSynchronize_v2` are
/// not newer forms of the functions without `_v2`, but take another argument. Programs that look for `_v2` first, as
/// Numba up to 0.61 does, would call them with the arguments of the old ones.
fn address(symbol: &str) -> Option<*const ()> {
    table::stub(symbol).or_else(|| super::find(symbol))
}

/// Returns the address of the symbol's per-thread form, if it has one.
fn per_thread(symbol: &str) -> Option<*const ()> {
    let forms =
        super::PER_THREAD_SUFFIXES.iter().find_map(|suffix| table::stub(&format!("{symbol}{suffix}")));
    forms.or_else(|| address(symbol))
}

/// Returns the symbol of the newest form of a function that came before CUDA 11.4.
fn newest(name: &str) -> Option<String> {
    let forms = ["_v3", "_v2", ""].map(|form| format!("{name}{form}"));
    forms.into_iter().find(|symbol| table::stub(symbol).is_some())
}

fn look_up(name: In<c_char>, out: Out<*const ()>, version: c_int, flags: u64, status: Out<c_int>) -> Outcome {
    let name = name.text()?;
    out.wanted()?;
    if flags & !3 != 0 {
        return Err(INVALID_VALUE);
    }
    let form = if flags & PER_THREAD_STREAM != 0 { per_thread } else { address };
    let (found, otherwise) = match versions::standing(&name, version.min(DRIVER_VERSION.0)) {
        Standing::Symbol(symbol) => (form(symbol), SYMBOL_NOT_FOUND),
        Standing::Newest => (newest(&name).and_then(|symbol| form(&symbol)), SYMBOL_NOT_FOUND),
        Standing::Later => (None, VERSION_NOT_SUFFICIENT),
    };
    out.set(found.unwrap_or(std::ptr::null()))?;
    status.set_if_wanted(if found.is_some() { FOUND } else { otherwise });
    found.map(drop).ok_or(NOT_FOUND)
}

entry_points! {
    fn cuGetProcAddress(name: In<c_char>, out: Out<*const ()>, version: c_int, flags: u64) {
        look_up(name, out, version, flags, Out::null())
    }

    fn cuGetProcAddress_v2(
        name: In<c_char>, out: Out<*const ()>, version: c_int, flags: u64, status: Out<c_int>,
    ) {
        look_up(name, out, version, flags, status)
    }
}
