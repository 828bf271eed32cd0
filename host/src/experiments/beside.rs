//! Work on several streams that counts as work on one.

use anyhow::{Context, Result};
use cuda_driver::ext::Peer;
use cust::{
    event::{Event, EventFlags},
    stream::{Stream, StreamFlags, StreamWaitEventFlags},
};
use std::cell::OnceCell;

/// Streams beside the one that is measured, made when they are first used.
///
/// A stream is of the context that is current when it is made, and an event is recorded in a stream of its own context
/// alone. Streams of any card wait for it, and copies go into any stream, whichever context is current.
pub(super) struct Beside {
    /// Where each stream is: on another card, by its number, or on the run's own.
    cards: Vec<Option<u32>>,
    lanes: OnceCell<Lanes>,
}

/// The streams, and the cards that they are on.
struct Lanes {
    // In the order in which they have to go.
    streams: Vec<Stream>,
    peers: Vec<Option<Peer>>,
}

impl Beside {
    /// This many streams on the run's own card.
    pub(super) fn new(count: usize) -> Beside {
        Beside::on(vec![None; count])
    }

    /// A stream on each of these cards; `None` is the run's own.
    pub(super) fn on(cards: Vec<Option<u32>>) -> Beside {
        Beside { cards, lanes: OnceCell::new() }
    }

    /// Queues on these streams what begins behind the work on `main`, and what is queued on `main` next comes behind it.
    ///
    /// # Errors
    /// The driver fails, or `queue` does.
    pub(super) fn queue(&self, main: &Stream, queue: impl FnOnce(&[Stream]) -> Result<()>) -> Result<()> {
        let Lanes { streams, peers } = match self.lanes.get() {
            Some(lanes) => lanes,
            None => {
                let made = Lanes::make(&self.cards)?;
                self.lanes.get_or_init(|| made)
            }
        };
        streams.iter().try_for_each(|stream| follow(stream, main, None))?;
        queue(streams)?;
        streams.iter().zip(peers).try_for_each(|(stream, peer)| follow(main, stream, peer.as_ref()))
    }
}

impl Lanes {
    fn make(cards: &[Option<u32>]) -> Result<Lanes> {
        let mut lanes = Lanes { streams: Vec::new(), peers: Vec::new() };
        for card in cards {
            let peer = card.map(|ordinal| Peer::open(ordinal as i32)).transpose()?;
            lanes.streams.push(within(peer.as_ref(), || {
                Stream::new(StreamFlags::NON_BLOCKING, None).context("cannot create a stream")
            })?);
            lanes.peers.push(peer);
        }
        Ok(lanes)
    }
}

/// Calls a function in the context of another card, or in the current one.
fn within<T>(peer: Option<&Peer>, function: impl FnOnce() -> Result<T>) -> Result<T> {
    match peer {
        Some(peer) => peer.within(function),
        None => function(),
    }
}

/// What is queued on `later` next begins behind what is on `earlier` now, a stream of the card `of_earlier`.
fn follow(later: &Stream, earlier: &Stream, of_earlier: Option<&Peer>) -> Result<()> {
    let event =
        within(of_earlier, || Event::new(EventFlags::DISABLE_TIMING).context("cannot create an event"))?;
    event.record(earlier).context("cannot record an event")?;
    later.wait_event(event, StreamWaitEventFlags::DEFAULT).context("a stream cannot wait for another")
}
