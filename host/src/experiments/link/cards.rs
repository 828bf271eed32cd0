//! Streams, events and kernels of several cards, one beside the other.
//!
//! A stream, an event and a module belong to the context that is current when they are made. A kernel is launched while its
//! own context is current, into a stream of it, and an event is recorded in a stream of its own context. What crosses from card to
//! card is waiting alone: a stream waits for any card's event.

use crate::{
    experiments::{Buffers, Shape},
    kernels::{self, Artefact},
};
use anyhow::{Context, Result};
use cuda_driver::ext::{Event, Peer};
use cuda_launch::Kernel;
use cust::{
    module::Module,
    stream::{Stream, StreamFlags},
};
use std::sync::Arc;

/// A card with a stream, events in it and the program's kernels.
pub(super) struct Card {
    // In the order in which they have to go.
    stream: Stream,
    marks: Vec<Event>,
    module: Option<Module>,
    /// The card; `None` for the run's own, whose context is the current one.
    peer: Option<Arc<Peer>>,
}

impl Card {
    /// Makes the stream and this many marks on the card, and loads its kernels.
    ///
    /// # Errors
    /// The driver fails, or does not load the kernels.
    pub(super) fn open(peer: Option<Peer>, marks: usize, text: &Artefact<'_>) -> Result<Card> {
        let peer = peer.map(Arc::new);
        within(peer.as_deref(), || {
            Ok(Card {
                stream: Stream::new(StreamFlags::NON_BLOCKING, None).context("cannot create a stream")?,
                marks: (0..marks).map(|_| Ok(Event::new()?)).collect::<Result<_>>()?,
                module: Some(kernels::load(text.ptx, &format!("the embedded PTX for {}", text.name()))?),
                peer: peer.clone(),
            })
        })
    }

    /// Calls a function with the card's context as the current one.
    ///
    /// # Errors
    /// Those of the function; the driver's.
    pub(super) fn within<T>(&self, function: impl FnOnce() -> Result<T>) -> Result<T> {
        within(self.peer.as_deref(), function)
    }

    /// Launches a kernel on the card's stream, on the point's buffers. The card's context is the current one.
    ///
    /// # Errors
    /// The launch breaks the kernel's contract, or the driver refuses it.
    pub(super) fn launch<'b, K: Kernel>(
        &self,
        shape: Shape,
        on: &'b Buffers,
        arguments: impl FnOnce(&'b Buffers) -> K::Arguments<'b>,
    ) -> Result<()> {
        let (words, Shape { grid, block, shared }) = K::pass(on.lend_to(K::NAME, arguments)?, shape)?;
        let module = self.module.as_ref().context("the card's kernels are gone")?;
        let function = module.get_function(K::NAME)?;
        let ([x, y, z], [across, down, deep]) = (grid, block);
        // SAFETY: the words are of the kernel's parameters, whose module is the program's own, and live through the call; the
        // contract is kept. What they point to stays until the stream that is measured has ended its work, and it waits for
        // this one.
        unsafe { self.stream.launch(&function, (x, y, z), (across, down, deep), shared, &words.pointers()) }
            .with_context(|| format!("the driver refuses the launch of {} on a card", K::NAME))
    }

    /// Sets a mark behind what is in the card's stream now.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn mark(&self, number: usize) -> Result<()> {
        // SAFETY: the stream is alive.
        Ok(unsafe { self.marks[number].record(self.stream.as_inner()) }?)
    }

    /// Lets the card's stream wait for another card's mark.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn wait_for(&self, other: &Card, number: usize) -> Result<()> {
        // SAFETY: the stream is alive.
        Ok(unsafe { other.marks[number].hold(self.stream.as_inner()) }?)
    }

    /// Lets another stream wait for a mark.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn join(&self, main: &Stream, number: usize) -> Result<()> {
        // SAFETY: the stream is alive.
        Ok(unsafe { self.marks[number].hold(main.as_inner()) }?)
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // A module is unloaded in its own context. An error cannot be passed on.
        let module = self.module.take();
        let _ = self.within(|| {
            drop(module);
            Ok(())
        });
    }
}

/// Lets the streams of cards begin behind what is in the stream `main` now, by an event of its context.
///
/// # Errors
/// The driver's.
pub(super) fn begin_behind(cards: &[Card], main: &Stream, event: &Event) -> Result<()> {
    // SAFETY: the streams are alive.
    unsafe {
        event.record(main.as_inner())?;
        Ok(cards.iter().try_for_each(|card| event.hold(card.stream.as_inner()))?)
    }
}

/// Calls a function in the context of another card, or in the current one.
fn within<T>(peer: Option<&Peer>, function: impl FnOnce() -> Result<T>) -> Result<T> {
    match peer {
        Some(peer) => peer.within(function),
        None => function(),
    }
}
