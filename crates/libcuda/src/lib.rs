//! The simulated driver as a shared library with the name of NVIDIA's, `libcuda.so.1`. Programs of the CUDA driver API
//! run on it unchanged.
//!
//! ```text
//! cargo build --release -p libcuda
//! mkdir -p simulated && ln -sf "$PWD/target/release/libcuda.so" simulated/libcuda.so.1
//! LD_LIBRARY_PATH=simulated COALESCE_SIMULATE=h200 COALESCE_CHECK=memcheck some-program
//! ```
//!
//! `COALESCE_SIMULATE` names the cards, `COALESCE_CHECK` what is checked: see `cuda_driver::simulated`. Every function is
//! `cuda_driver`'s exported one of the same name; what is not simulated returns `CUDA_ERROR_NOT_SUPPORTED` and names itself
//! once on stderr. Findings of the checks are written to stderr when the program ends, as compute-sanitizer writes it.
//! `COALESCE_PROFILE=FILE` writes each launch's counters to a file: docs/profile.md. `COALESCE_TIMEOUT=SECONDS` ends a kernel
//! that makes no progress for that long; the default is 10. Programs of the runtime API (`libcudart`) need functions of the
//! driver that NVIDIA does not document, and do not run.

use cuda_driver::simulated;

/// Run by the loader when the library is loaded, before the program can call anything.
// SAFETY: the section holds pointers to functions without arguments, which this is.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = bind;

extern "C" fn bind() {
    // The library's functions are not bound elsewhere yet, so this cannot fail; `cuInit` reports errors in the settings.
    let _ = simulated::bind_at_load();
}

/// Run by the loader when the program ends.
// SAFETY: the section holds pointers to functions without arguments, which this is.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = report;

extern "C" fn report() {
    simulated::report_end();
}
