//! Programs and their execution: a module decoded, laid out and launched.
//!
//! [`Program::load`] decodes every instruction that a kernel can reach, once, and gives the module's variables their
//! memory. [`launch`] executes a grid: warps of 32 lanes whose registers are columns, blocks on several threads of this
//! computer. Lanes of a warp that go different ways are scheduled independently, as NVIDIA's cards do since Volta, and
//! come together again where all ways meet.

mod barrier;
mod block;
mod builtin;
mod call;
mod collective;
mod compile;
mod context;
mod error;
mod flow;
mod format;
mod frame;
mod immediate;
mod kernel;
mod launch;
mod layout;
mod liveness;
mod names;
mod patience;
mod program;
mod rare;
mod run;
mod runtime;
mod shadow;
mod site;
mod special;
mod spins;
mod step;
mod stuck;
mod uses;
mod waits;
mod warp;
mod worker;

pub use error::{LaunchFailure, LoadError};
pub use kernel::{Kernel, ParameterLayout, Variable, VariableKind};
pub use launch::{Executed, Launch, Machine, launch};
pub use program::Program;
pub use site::{SiteInfo, SourceLine};
