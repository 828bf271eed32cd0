//! Work on several streams that counts as work on one.

use anyhow::{Context, Result};
use cust::{
    event::{Event, EventFlags},
    stream::{Stream, StreamFlags, StreamWaitEventFlags},
};
use std::cell::OnceCell;

/// Streams beside the one that is measured, made when they are first used.
pub(super) struct Beside {
    count: usize,
    streams: OnceCell<Vec<Stream>>,
}

impl Beside {
    /// This many streams.
    pub(super) fn new(count: usize) -> Beside {
        Beside { count, streams: OnceCell::new() }
    }

    /// Queues on these streams what begins behind the work on `main`, and what is queued on `main` next comes behind it.
    ///
    /// # Errors
    /// The driver fails, or `queue` does.
    pub(super) fn queue(&self, main: &Stream, queue: impl FnOnce(&[Stream]) -> Result<()>) -> Result<()> {
        let streams = match self.streams.get() {
            Some(streams) => streams,
            None => {
                let stream =
                    |_| Stream::new(StreamFlags::NON_BLOCKING, None).context("cannot create a stream");
                let made = (0..self.count).map(stream).collect::<Result<_>>()?;
                self.streams.get_or_init(|| made)
            }
        };
        streams.iter().try_for_each(|stream| follow(stream, main))?;
        queue(streams)?;
        streams.iter().try_for_each(|stream| follow(main, stream))
    }
}

/// What is queued on `later` next begins behind what is on `earlier` now.
fn follow(later: &Stream, earlier: &Stream) -> Result<()> {
    let event = Event::new(EventFlags::DISABLE_TIMING).context("cannot create an event")?;
    event.record(earlier).context("cannot record an event")?;
    later.wait_event(event, StreamWaitEventFlags::DEFAULT).context("a stream cannot wait for another")
}
