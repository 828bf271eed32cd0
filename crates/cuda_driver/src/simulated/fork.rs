//! Distinguishes a forked child from the process that started the driver.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Returns true if this process was forked after a call of [`watch`].
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Prints once that a call does not work here. Takes no lock, which a thread that the child lacks may hold.
pub(super) fn say_once(function: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let text = format!(
        "simulated driver: {function} returns CUDA_ERROR_NOT_INITIALIZED (3), as all calls do: this process was forked from one \
         that had called cuInit. Fork before that, or start a new program (in Python, multiprocessing's start method \
         \"spawn\").\n"
    );
    // SAFETY: the bytes are those of the text. A closed stderr is the program's affair.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

extern "C" fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// Marks later children of this process.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler does nothing that is not allowed between fork and exec: it sets a flag. It stays where it is,
        // for neither a program nor a library whose code is called by others is unloaded before its process ends.
        let outcome = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if outcome != 0 {
            super::say(format_args!(
                "forked children cannot be detected: pthread_atfork returned {outcome}. A forked child must not call the driver."
            ));
        }
    });
}
