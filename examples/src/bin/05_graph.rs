//! A graph: launches are recorded once, and then handed over all together, again and again, with one call.

use anyhow::Result;
use cuda_driver::ext;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::saxpy;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let x = DeviceBuffer::from_slice(&[1.0_f32; 64])?;
    let mut y = DeviceBuffer::from_slice(&[0.0_f32; 64])?;
    let shape = Shape::covering([64, 1], [64, 1]);

    let record = || -> Result<()> {
        for _ in 0..4 {
            // SAFETY: x and y live until the stream has been waited for below, and nothing else uses them before.
            unsafe { saxpy::launch_unchecked(&module, &stream, shape, (1.0, &x, &mut y))? };
        }
        Ok(())
    };
    // SAFETY: the stream lives, and nothing else is queued on it meanwhile.
    let graph = unsafe { ext::capture(stream.as_inner(), ext::CaptureMode::ThreadLocal, record)? };
    let launches = graph.instantiate()?;
    for _ in 0..25 {
        // SAFETY: the buffers live until the stream has been waited for.
        unsafe { launches.launch(stream.as_inner())? };
    }
    stream.synchronize()?;

    let mut result = [0.0; 64];
    y.copy_to(&mut result)?;
    println!("25 x {} launches: {}", graph.node_count()?, result[63]);
    Ok(())
}
