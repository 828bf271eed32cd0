//! Entry points by name, for programs that ask the driver for them instead of the loader.

use std::ffi::{c_char, c_int};

use super::codes::{INVALID_VALUE, NOT_FOUND, Outcome};
use super::driver::DRIVER_VERSION;
use super::entry::{In, Out};
use super::versions::{self, Standing};
use crate::table;

/// Asks for the functions whose default stream is the thread's.
const PER_THREAD_STREAM: u64 = 2;

/// What became of a query: found, not there at all, or not in the version asked for.
const FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;
const VERSION_NOT_SUFFICIENT: c_int = 2;

/// The address of a symbol: its stub, so that what the simulated driver lacks names itself when it is called. Two
/// functions have none, for no program finds them by `dlsym`: `cuCtxGetDevice_v2` and `cuCtxSynchronize_v2` are not newer
/// forms of the functions without `_v2`, as everywhere else, but others with another argument. Programs that look for
/// `_v2` first, as Numba up to 0.61 does, call them with the arguments of the old ones.
fn address(symbol: &str) -> Option<*const ()> {
    table::stub(symbol).or_else(|| super::find(symbol))
}

/// The newest form of a function that came before CUDA 11.4.
fn newest(name: &str) -> Option<*const ()> {
    ["_v3", "_v2", ""].iter().find_map(|form| table::stub(&format!("{name}{form}")))
}

fn look_up(name: In<c_char>, out: Out<*const ()>, version: c_int, flags: u64, status: Out<c_int>) -> Outcome {
    let name = name.text()?;
    out.wanted()?;
    if flags & !3 != 0 {
        return Err(INVALID_VALUE);
    }
    if flags & PER_THREAD_STREAM != 0 {
        super::say_once(format_args!(
            "cuGetProcAddress: the simulated driver has no functions whose default stream is the thread's; pass \
             CU_STREAM_PER_THREAD (2) as the stream"
        ));
        out.set(std::ptr::null())?;
        status.set_if_wanted(SYMBOL_NOT_FOUND);
        return Err(NOT_FOUND);
    }
    let (found, otherwise) = match versions::standing(&name, version.min(DRIVER_VERSION.0)) {
        Standing::Symbol(symbol) => (address(symbol), SYMBOL_NOT_FOUND),
        Standing::Newest => (newest(&name), SYMBOL_NOT_FOUND),
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
