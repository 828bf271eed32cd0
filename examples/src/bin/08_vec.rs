//! `Vec` in a kernel: each thread has a heap. It is slow, and good for trying things out.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::debugging::count_primes;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut counts = DeviceBuffer::from_slice(&[0_u32; 128])?;
    // SAFETY: 128 threads, an element for each; the buffer lives until the stream has been waited for.
    unsafe {
        count_primes::launch_unchecked(&module, &stream, Shape::new([1, 1, 1], [128, 1, 1]), (&mut counts,))?;
    }
    stream.synchronize()?;
    let mut result = [0; 128];
    counts.copy_to(&mut result)?;
    println!("primes up to 10: {}, up to 100: {}, up to 127: {}", result[10], result[100], result[127]);
    Ok(())
}
