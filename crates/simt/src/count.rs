//! Counts a launch: what hardware profilers count, per launch and per source line, and the input of the
//! [model](crate::model).
//!
//! [`CounterObservation`] observes a launch through [`observe`](crate::observe) and returns [`LaunchCounters`].
//! Requests, sectors, bank conflicts and replays follow the rules of [`coalescing`](crate::coalescing) exactly. The
//! levels behind them are approximations, chosen so that the result does not depend on the number of workers:
//!
//! | level | rule | error |
//! | --- | --- | --- |
//! | L1 | a block hits a sector that it has loaded before, unless it has since loaded more than its share of the cache; stores pass through | blocks of a multiprocessor do not share; warps of a block run in the simulator's order |
//! | L2 | one cache for all; a sector hits unless more than the cache's size has come in since its line was last touched; carried from launch to launch by [`L2State`] | hardware is neither fully associative nor strictly LRU: its cliff at the cache's size is a slope; a few blocks at a time count as one moment |
//! | device memory | reads by granules of the card; a dirty sector is written back once per stay in L2, and counted when it becomes dirty | the launch that dirties a sector pays for it, not the one that evicts it |
//!
//! Blocks of a *window*, as many as are resident on the card at once, are taken to run at the same time, and windows
//! one after another. Local memory stays in L1 from 2.0 on, and goes to device memory before; constants stay in their
//! cache.

mod ahead;
mod balance;
mod banks;
mod block;
mod by_site;
mod common;
mod contention;
mod contests;
mod distinct;
mod extent;
mod facts;
mod group;
mod halves;
mod held;
mod hidden;
mod host_pages;
mod hottest;
mod issued;
mod l1;
mod l2;
mod lanes;
mod launch;
mod level;
mod local;
mod merged;
#[cfg(target_arch = "x86_64")]
mod near;
mod network;
mod noted;
mod observation;
pub(crate) mod observer;
mod on_chip;
mod peer_stores;
mod prefetch;
mod regions;
mod repeats;
mod replays;
mod request;
mod rows;
mod run;
mod shape;
mod shared;
mod sinks;
pub(crate) mod slots;
mod spilled;
mod steady;
mod takes;
mod ticks;
mod trails;
pub(crate) mod turns;
mod windows;
mod worst;

pub use counters::{Counts, LaunchCounters, LinkCounts, Metric};
pub use facts::{SiteFacts, Wait, Waiting};
pub(crate) use hottest::SLICES;
pub(crate) use l1::bytes as l1_bytes;
pub use l2::L2State;
pub(crate) use launch::model_on;
pub use launch::{Modelled, SourcePlace};
pub use observation::{CounterObservation, Finished, launch};
pub use shape::{LaunchShape, Placement, Range};
pub(crate) use slots::{SHARED_CLOCKS, Slots};
pub use trails::{Touch, Trail, numbered};
pub use windows::{ManagedWindow, PageTouch};
