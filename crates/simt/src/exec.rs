//! Loads and launches programs: decodes a module, lays out its memory and executes a grid.
//!
//! [`Program::load`] decodes every instruction that a kernel can reach, once, and allocates the module's variables.
//! [`launch()`] executes a grid: warps of 32 lanes whose registers are columns, and blocks on several threads of the
//! host. Divergent lanes of a warp are scheduled independently, as on NVIDIA's cards since Volta, and reconverge at the
//! immediate post-dominator.

pub(crate) mod adjacent;
mod barrier;
pub(crate) mod behind;
mod block;
mod builtin;
mod call;
mod cluster;
mod collective;
mod compile;
mod context;
mod dependencies;
mod error;
mod flow;
mod format;
mod frame;
mod function;
mod fused;
mod halves;
mod immediate;
mod in_flight;
mod kernel;
mod launch;
mod layout;
mod liveness;
mod loops;
mod names;
mod native;
mod pace;
mod panics;
mod patience;
mod predicated;
mod program;
mod rare;
mod read;
mod request;
mod run;
mod runtime;
mod shadow;
pub(crate) mod site;
mod special;
mod spins;
mod step;
mod stuck;
mod uniform;
mod unrolled;
mod uses;
mod waits;
mod warp;
mod worker;

pub use crate::decode::DecodeError;
pub(crate) use adjacent::Merged;
pub(crate) use dependencies::{ADDRESSES, GUARDS};
pub use error::{ClusterMisfit, LaunchFailure, LoadError};
pub use kernel::{Kernel, ParameterLayout, Variable, VariableKind};
pub use launch::launch;
pub use native::{Tier, compiler};
pub use program::Program;
pub use request::{Executed, Launch, Machine};
pub(crate) use site::Chained;
pub use site::{SiteInfo, SourceLine};
pub(crate) use unrolled::ITERATIONS;
