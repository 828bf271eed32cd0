//! Checks: what compute-sanitizer finds on a GPU, and some of what it does not.
//!
//! [`launch`] executes with the chosen [`Checks`] observing, and gives [`Finding`]s; a fault that ends a launch becomes one by
//! [`Finding::of_fault`]; what the host did wrong is made by [`Finding::leak`], [`Finding::api_error`] and
//! [`Finding::invalid_free`]. A [`Report`] gathers them, each once for its instruction, brings together those that one change of
//! the source would mend ([`Group`]), and writes them in compute-sanitizer's words. Where instructions come from is looked up
//! in [`Positions`].

mod checks;
mod events;
mod finding;
mod groups;
mod memcheck;
mod observation;
mod observer;
pub mod panic;
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
pub use groups::Group;
pub use observation::{CheckObservation, Watch, launch};
pub use observer::{CheckObserver, Initialisation};
pub use place::{Place, Positions, SourceLine};
pub use report::{Report, Reported};
pub use shape::Shape;
