//! A struct as an argument: the kernel crate defines it, and host and kernel have one definition.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::affine::{Affine, apply};

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let to_fahrenheit = Affine { scale: 1.8, shift: 32.0 };
    let celsius = DeviceBuffer::from_slice(&[-40.0_f32, 0.0, 37.5, 100.0])?;
    let mut fahrenheit = DeviceBuffer::from_slice(&[0.0_f32; 4])?;
    let shape = Shape::covering([4, 1], [32, 1]);
    apply::launch(&module, &stream, shape, (to_fahrenheit, &celsius, &mut fahrenheit))?;

    let mut result = [0.0; 4];
    fahrenheit.copy_to(&mut result)?;
    println!("{result:?}");
    Ok(())
}
