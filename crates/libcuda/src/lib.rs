//! The simulated driver as a shared library with the name of NVIDIA's, `libcuda.so.1`: programs of the CUDA driver API run
//! on it unchanged.
//!
//! ```text
//! cargo build --release -p libcuda
//! mkdir -p simulated && ln -sf "$PWD/target/release/libcuda.so" simulated/libcuda.so.1
//! LD_LIBRARY_PATH=simulated COALESCE_SIMULATE=h200 COALESCE_CHECK=memcheck some-program
//! ```
//!
//! `COALESCE_SIMULATE` names the cards, `COALESCE_CHECK` what is checked: see `cuda_driver::simulated`. Every function is
//! `cuda_driver`'s exported one of the same name; what is not simulated returns `CUDA_ERROR_NOT_SUPPORTED` and names itself
//! once on stderr. `COALESCE_PROFILE=FILE` writes each launch's counters to a file: docs/profile.md. `COALESCE_TIMEOUT=SECONDS`
//! says when a kernel that gets no further is ended; 10 unless it is set. What the checks find is written there when the program ends, as compute-sanitizer writes it. Programs of
//! the runtime API (`libcudart`) need functions of the driver that NVIDIA does not document, and do not run.

use std::io::Write;

use cuda_driver::simulated;

/// Run by the loader when the library is loaded, before the program can call anything.
// SAFETY: the section holds pointers to functions without arguments, which this is.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = bind;

extern "C" fn bind() {
    // The library's functions lead nowhere else yet, so this cannot fail; `cuInit` says what is wrong with the settings.
    let _ = simulated::bind_at_load();
}

/// Run by the loader when the program ends.
// SAFETY: the section holds pointers to functions without arguments, which this is.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = report;

extern "C" fn report() {
    simulated::finish();
    if let Some(table) = simulated::profile_table() {
        let _ = write!(std::io::stderr(), "{table}");
    }
    if let Some(report) = simulated::report() {
        // A closed stderr is the program's affair.
        let _ = write!(std::io::stderr(), "{report}");
    }
}
