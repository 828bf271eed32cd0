//! Ctrl-C: the first one asks the run to stop after the sample in flight, the second one ends the program at once.

use anyhow::{Context, Result};
use std::{
    process,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// The exit status of a run that was interrupted, as shells have it: 128 + SIGINT.
pub(crate) const EXIT_STATUS: u8 = 130;

/// Whether the user has asked the run to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for Ctrl-C from the first call on.
    ///
    /// # Errors
    /// The operating system refuses the handler.
    pub(crate) fn listen() -> Result<Interrupt> {
        static LISTENING: OnceLock<Interrupt> = OnceLock::new();
        if let Some(interrupt) = LISTENING.get() {
            return Ok(interrupt.clone());
        }
        let requested = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&requested);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                process::exit(i32::from(EXIT_STATUS));
            }
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(LISTENING.get_or_init(|| Interrupt { requested }).clone())
    }

    /// Listens for nothing.
    #[cfg(test)]
    pub(crate) fn never() -> Interrupt {
        Interrupt { requested: Arc::new(AtomicBool::new(false)) }
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
}
