//! Counters of a launch: what hardware profilers count, per launch and per source line, and what the [model](crate::model)
//! needs to turn it into time.
//!
//! [`CounterObservation`] watches a launch through [`observe`](crate::observe) and ends in [`LaunchCounters`]. Requests,
//! sectors, bank conflicts and replays follow the rules of [`coalescing`](crate::coalescing), exactly. What lies behind
//! them is approximate, and simple enough to be the same for any number of workers:
//!
//! | level | rule | error |
//! | --- | --- | --- |
//! | L1 | a block finds a sector that it has loaded before, unless it has since loaded more than its share of the cache; stores pass through | blocks of a multiprocessor do not share; warps of a block run in the simulator's order |
//! | L2 | one cache for all; a sector is found unless more than the cache's size has come in since its line was last touched; carried from launch to launch by [`L2State`] | real ones are not fully associative and not strictly LRU: their cliff at the cache's size is a slope; a few blocks at a time count as one moment |
//! | device memory | reads by granules of the card; a sector that becomes dirty is written back once for each stay in L2, which is counted when it becomes dirty | the launch that dirties a sector pays for it, not the one that evicts it |
//!
//! Blocks of a *window*, as many as are resident on the card at once, are taken to run at the same time, and windows one
//! after another. Local memory stays in L1 from 2.0 on, and goes to device memory before; constants stay in their cache.

mod block;
mod host_pages;
mod l1;
mod l2;
mod launch;
mod local;
mod observation;
mod observer;
mod request;
mod run;
mod shape;
mod shared;
mod slots;
mod trails;
mod turns;
mod windows;
mod worst;

pub use counters::{
    Access, AccessKind, AtomicCounts, ConstantCounts, Counts, DramCounts, LaunchCounters, LinkCounts,
    MemoryCounts, Metric, SharedCounts, SiteCounts,
};
pub use l2::L2State;
pub use launch::{Modelled, SourcePlace};
pub use observation::{CounterObservation, Finished, launch};
pub use observer::CounterObserver;
pub use shape::{LaunchShape, Placement, Range};
pub use slots::Slots;
pub use trails::{Touch, Trail, numbered};
pub use windows::{ManagedWindow, PageTouch};
