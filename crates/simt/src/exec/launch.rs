//! Launches a kernel of a program.

use super::context::Context;
use super::error::LaunchFailure;
use super::program::Program;
use super::request::{Executed, Launch};
use crate::memory::Memory;
use crate::observe::Observation;

/// Executes a launch of a program whose variables are in `memory`, watched by `observation`.
///
/// # Errors
/// Fails if the launch is impossible or a kernel faults. Of several faults, returns that of the first block in the
/// grid's order. Writes of other blocks up to then remain.
pub fn launch<O: Observation + Send + Sync>(
    program: &Program,
    memory: &Memory,
    launch: &Launch<'_>,
    observation: &mut O,
) -> Result<Executed, LaunchFailure> {
    let context = Context::new(program, memory, launch)?;
    super::worker::execute(&context, observation)
}
