//! Two cards: each has a context, a module and half of the array. On a machine with one card it does both halves, and says so.
//!
//! Two simulated cards: `COALESCE_SIMULATE=h200,h200`.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::CudaFlags;
use cust::context::Context;
use cust::device::Device;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::saxpy;

fn main() -> Result<()> {
    const HALF: usize = 1000;
    cust::init(CudaFlags::empty())?;
    let cards = Device::num_devices()?.min(2);
    println!("{}", if cards == 2 { "two cards" } else { "one card, which does both halves" });
    let mut result = vec![1.0_f32; 2 * HALF];
    for (half, part) in result.chunks_mut(HALF).enumerate() {
        let card = Device::get_device(half as u32 % cards)?;
        // Current until it is dropped at the end of the turn.
        let _context = Context::new(card)?;
        let module = Module::from_ptx(examples::PTX)?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let x = DeviceBuffer::from_slice(&vec![half as f32 + 1.0; HALF])?;
        let mut y = DeviceBuffer::from_slice(part)?;
        saxpy::launch(&module, &stream, Shape::covering([HALF as u32, 1], [128, 1]), (3.0, &x, &mut y))?;
        y.copy_to(part)?;
    }
    println!("first half {}, second half {}", result[HALF - 1], result[HALF]);
    Ok(())
}
