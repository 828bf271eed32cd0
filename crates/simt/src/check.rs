//! Checks executions for the errors that compute-sanitizer finds on a GPU, and for some more.
//!
//! [`launch`] executes under the chosen [`Checks`] and returns [`Finding`]s. A fault that ends a launch becomes one by
//! [`Finding::of_fault`], and errors of the host by [`Finding::leak`], [`Finding::api_error`] and
//! [`Finding::invalid_free`]. A [`Report`] collects findings, each once per instruction, groups those that one change
//! of the source would mend ([`Group`]), and prints them in compute-sanitizer's words. [`Positions`] maps instructions
//! to source lines.

mod checks;
mod events;
mod finding;
mod groups;
mod memcheck;
pub(crate) mod observation;
pub(crate) mod observer;
pub(crate) mod panic;
mod pieces;
mod place;
mod quoted;
mod race;
mod report;
mod shape;
mod words;
mod written;

pub use checks::{Check, Checks, UnknownCheck};
pub use finding::{
    AccessKind, AccessProblem, BarrierProblem, Finding, FindingKind, FreeProblem, Hazard, Memory,
    NearAllocation, RacingAccess, Severity, Side, Thread,
};
pub use groups::{Group, Reported};
pub use observation::{Watch, launch};
pub use place::{Place, Positions, SourceLine};
pub use report::Report;
pub use shape::Shape;
