//! Text from a kernel. It appears when the host waits for the launch; blocks may speak in any order.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::stream::{Stream, StreamFlags};
use example_kernels::debugging::hello;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // SAFETY: the kernel touches no memory.
    unsafe { hello::launch_unchecked(&module, &stream, Shape::new([3, 1, 1], [32, 1, 1]), ())? };
    stream.synchronize()?;
    Ok(())
}
