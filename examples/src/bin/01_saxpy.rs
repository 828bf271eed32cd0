//! The smallest program: two arrays to the card, one kernel, one array back.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::saxpy;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let x = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0])?;
    let mut y = DeviceBuffer::from_slice(&[10.0_f32, 20.0, 30.0, 40.0])?;
    // At least 4 threads, in blocks of 128.
    saxpy::launch(&module, &stream, Shape::covering([4, 1], [128, 1]), (2.0, &x, &mut y))?;

    let mut result = [0.0; 4];
    y.copy_to(&mut result)?;
    println!("2 x + y = {result:?}");
    Ok(())
}
