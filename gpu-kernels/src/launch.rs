//! # Launch: what it costs to start a kernel
//!
//! A launch is not free. The host's processor writes a command with the parameters into a queue, the device reads it, places the
//! blocks on its multiprocessors, and waits until the last one has ended. `T = a + n / r`: a fixed time, and a time per
//! block. These kernels do next to nothing, so that their time is that of starting them.
//!
//! - `launch_empty` has neither parameters nor instructions. With more and larger blocks it shows how fast blocks are placed.
//! - `launch_parameters_64`, `_512`, `_4080` have that many bytes of parameters, of which one thread writes the last word. The
//!   host copies them with each launch.
//! - `launch_dependent` is empty as well and made for *programmatic dependent launch*: it lets the launch behind it start as soon as
//!   its own blocks run, and waits for the launch ahead before it ends.
//!
//! There are three ways to hand over a row of launches:
//!
//! - one call after the other on a stream: the host prepares each by itself, and is often slower than the device;
//! - as a graph: recorded once, checked once, and handed over in one call, so that the device alone limits;
//! - overlapping: a dependent launch starts while the one ahead still runs, which hides its fixed time.
//!
//! The table has the time per launch between two events on the device. `host_us_per_launch`, among what is observed, is the time
//! that the host's calls take, per launch, measured on a GPU by the host's clock.
//!
//! # Launch
//! Any grid of any blocks. The kernels with parameters take `(parameters, destination)`; the destination has one `u64`.

use cuda_safe::{Thread, kernel};

/// Does nothing.
// PTX: lacks ld or st
#[kernel]
pub fn launch_empty(_thread: Thread) {
    // What remains is the launch.
}
