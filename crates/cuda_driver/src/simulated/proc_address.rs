//! Entry points by name, for programs that ask the driver for them instead of the loader.

use std::ffi::{c_char, c_int};

use super::codes::{INVALID_VALUE, NOT_FOUND, Outcome};
use super::entry::{In, Out};
use crate::table;

/// Asks for the functions whose default stream is the thread's.
const PER_THREAD_STREAM: u64 = 2;

/// What became of a query: found, not there at all, or not in the version asked for.
const FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;

/// The address of the newest version of a function that the simulated driver has: its stub, so that what is unknown to
/// the driver names itself when it is called.
fn address(name: &str) -> Option<*const ()> {
    let versions = ["_v4", "_v3", "_v2", ""];
    let named = versions.iter().find_map(|version| {
        let name = format!("{name}{version}");
        super::find(&name).and_then(|_| table::stub(&name))
    });
    named.or_else(|| table::stub(name))
}

/// Functions whose newest version takes other arguments than the one before, with the CUDA version that they came with:
/// an older program gets the older one.
const CHANGED: [(&str, &str, c_int, &str); 9] = [
    ("cuCtxCreate", "cuCtxCreate_v4", 13_000, "cuCtxCreate_v2"),
    ("cuMemAdvise", "cuMemAdvise_v2", 13_000, "cuMemAdvise"),
    ("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 13_000, "cuMemPrefetchAsync"),
    ("cuGetProcAddress", "cuGetProcAddress_v2", 12_000, "cuGetProcAddress"),
    ("cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12_000, "cuGraphExecUpdate"),
    ("cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12_000, "cuGraphInstantiate_v2"),
    ("cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 12_000, "cuStreamGetCaptureInfo"),
    ("cuCtxSynchronize", "cuCtxSynchronize_v2", 13_010, "cuCtxSynchronize"),
    ("cuCtxGetDevice", "cuCtxGetDevice_v2", 13_010, "cuCtxGetDevice"),
];

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
    let changed = CHANGED.iter().find(|(base, ..)| *base == name);
    let found = match changed {
        Some((_, new, since, old)) => table::stub(if version >= *since { new } else { old }),
        None => address(&name),
    };
    out.set(found.unwrap_or(std::ptr::null()))?;
    status.set_if_wanted(if found.is_some() { FOUND } else { SYMBOL_NOT_FOUND });
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
