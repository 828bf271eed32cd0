//! The card's own sensors, read through NVML while launches run: clocks, temperature, limits, energy.
//!
//! NVML is a library of the driver, which is loaded at run time. Nothing is ever set through it. A thread reads while a
//! [window](Sensors::during) is open: from a sample's lead-in, when the card is busy already, until its last launch has ended.
//! A reading counts if it began and ended in the window, so it is of the launches of that sample alone.

mod log;
mod nvml;

pub(crate) use log::{Log, conditions};

use nvml::{Card, Reader};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The time between two readings of clocks, temperature and limits. Each is a call into the driver.
const EVERY: Duration = Duration::from_millis(20);

/// The time between two looks at the energy counter, whose updates are some ten milliseconds apart.
const EVERY_OF_ENERGY: Duration = Duration::from_millis(2);

/// A card with a thread that reads its sensors.
#[derive(Debug)]
pub(crate) struct Sensors {
    /// The driver's version.
    pub driver: String,
    /// The power that the card is allowed, in watts.
    pub power_limit_w: Option<f64>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The open window.
    window: Option<Window>,
    /// The number of windows so far, which tells one from the next.
    windows: u64,
    /// Whether the thread is to end.
    ended: bool,
}

#[derive(Debug)]
struct Window {
    since: Instant,
    log: Log,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the log of a window; `false` if it has been closed meanwhile.
    fn add(&self, window: u64, add: impl FnOnce(&mut Log)) -> bool {
        let mut state = self.lock();
        let is_open = state.windows == window && !state.ended;
        match &mut state.window {
            Some(Window { log, .. }) if is_open => add(log),
            _ => return false,
        }
        true
    }

    /// Waits for a while, or until the window is closed.
    fn pause(&self, window: u64, time: Duration) {
        let is_open = |state: &mut State| state.windows == window && state.window.is_some() && !state.ended;
        drop(self.changed.wait_timeout_while(self.lock(), time, is_open));
    }
}

impl Sensors {
    /// Opens the sensors of CUDA's device of this number.
    ///
    /// # Errors
    /// There are none: the error says why, as the end of a sentence.
    pub(crate) fn open(ordinal: u32) -> Result<Sensors, String> {
        let card = Card::of_device(ordinal)?;
        let (driver, power_limit_w) = (card.driver.clone(), card.reader()?.power_limit_w());
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sensors".to_string()).spawn(move || {
            if let Ok(reader) = card.reader() {
                read(&reader, &of_thread);
            }
        });
        let thread = thread.map_err(|error| format!("no thread can be started for them: {error}"))?;
        Ok(Sensors { driver, power_limit_w, shared, thread: Some(thread) })
    }

    /// Does something that ends when the card has done it, and returns what the sensors said meanwhile.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Log) {
        let mut state = self.shared.lock();
        state.windows += 1;
        state.window = Some(Window { since: Instant::now(), log: Log::default() });
        drop(state);
        self.shared.changed.notify_all();
        let done = work();
        let closed = self.shared.lock().window.take();
        self.shared.changed.notify_all();
        (done, closed.map(|window| window.log).unwrap_or_default())
    }
}

impl Drop for Sensors {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        // A thread that panicked has said so already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Reads in each window until the end.
fn read(card: &Reader<'_>, shared: &Shared) {
    loop {
        let waiting = |state: &mut State| state.window.is_none() && !state.ended;
        let state = shared.changed.wait_while(shared.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        let Some(Window { since, .. }) = &state.window else { return };
        let (window, since) = (state.windows, *since);
        drop(state);
        while read_once(card, shared, window, since) {}
    }
}

/// Reads the clocks and the rest once, and follows the energy counter until it is time for them again. `false` if the window was
/// closed.
fn read_once(card: &Reader<'_>, shared: &Shared, window: u64, since: Instant) -> bool {
    let began = Instant::now();
    let clock = card.sm_clock_mhz();
    let limits = card.limits();
    let is_open = shared.add(window, |log| {
        log.sm_clock_mhz.extend(clock);
        log.limits.extend(limits);
    });
    let memory_clock = is_open.then(|| card.memory_clock_mhz()).flatten();
    let temperature = is_open.then(|| card.temperature_c()).flatten();
    let mut is_open = is_open
        && shared.add(window, |log| {
            log.memory_clock_mhz.extend(memory_clock);
            log.temperature_c.extend(temperature);
        });
    while is_open && began.elapsed() < EVERY {
        let energy = card.energy_mj();
        is_open = shared.add(window, |log| log.meter(since.elapsed(), energy));
        if is_open {
            shared.pause(window, EVERY_OF_ENERGY);
        }
    }
    is_open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_after_its_window_does_not_count() {
        let shared = Shared::default();
        let clock = |window| shared.add(window, |log| log.sm_clock_mhz.push(1980.0));
        assert!(!clock(0), "there is no window");
        let mut state = shared.lock();
        state.windows = 1;
        state.window = Some(Window { since: Instant::now(), log: Log::default() });
        drop(state);
        assert!(clock(1));
        assert!(!clock(0), "this reading began in the window before");
        let log = shared.lock().window.take().expect("it is open").log;
        assert_eq!(log.sm_clock_mhz, [1980.0]);
        assert!(!clock(1), "it was closed");
    }
}
