//! Two streams that work side by side, and events that say how long the first one took.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape, scope};
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::saxpy;

fn main() -> Result<()> {
    const LENGTH: u32 = 1 << 16;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let first = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let second = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);

    let x = DeviceBuffer::from_slice(&vec![1.0_f32; LENGTH as usize])?;
    let mut y = DeviceBuffer::from_slice(&vec![0.0_f32; LENGTH as usize])?;
    let mut z = DeviceBuffer::from_slice(&vec![0.0_f32; LENGTH as usize])?;
    let shape = Shape::covering([LENGTH, 1], [256, 1]);

    // A scope lends buffers to the launches of a stream, and waits for them at its end. Both scopes read x.
    scope(&first, |one| {
        scope(&second, |two| {
            start.record(&first)?;
            let (x_one, mut y) = (one.share(&x), one.lend(&mut y));
            for _ in 0..3 {
                saxpy::enqueue(&module, one, shape, (1.0, &x_one, &mut y))?;
            }
            stop.record(&first)?;
            let (x_two, mut z) = (two.share(&x), two.lend(&mut z));
            saxpy::enqueue(&module, two, shape, (5.0, &x_two, &mut z))
        })?
    })??;

    let mut last = [0.0_f32; 2];
    y.index(LENGTH as usize - 1..).copy_to(&mut last[..1])?;
    z.index(LENGTH as usize - 1..).copy_to(&mut last[1..])?;
    println!("three launches on one stream: {}, one on the other: {}", last[0], last[1]);
    let microseconds = stop.elapsed_time_f32(&start)? * 1e3;
    println!("the three took {}", if microseconds > 0.0 { "time" } else { "no time" });
    Ok(())
}
