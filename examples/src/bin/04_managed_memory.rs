//! Managed memory: one allocation, which host and kernel use by the same address. Nothing is copied by hand.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::UnifiedBuffer;
use cust::stream::{Stream, StreamFlags};
use example_kernels::saxpy;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let x = UnifiedBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
    let mut y = UnifiedBuffer::new(&0.5_f32, 3)?;
    // The host writes; the launch comes after it, and is over when `launch` returns.
    y[2] = 100.0;
    saxpy::launch(&module, &stream, Shape::covering([3, 1], [32, 1]), (10.0, &x, &mut y))?;
    println!("10 x + y = {:?}", &y[..]);
    Ok(())
}
