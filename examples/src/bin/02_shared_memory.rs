//! A transpose through shared memory: rows are read, rows are written, and the turn happens in the tile.

use anyhow::Result;
use cuda_launch::{Launch, Module, Shape};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use example_kernels::transpose;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(examples::PTX)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let (nx, ny) = (100_u32, 70_u32);
    let source: Vec<f32> = (0..nx * ny).map(|number| number as f32).collect();
    let on_card = DeviceBuffer::from_slice(&source)?;
    let mut turned = DeviceBuffer::from_slice(&vec![0.0; source.len()])?;
    // One block of 32 x 8 threads for each tile of 32 x 32 elements.
    let shape = Shape::new([nx.div_ceil(32), ny.div_ceil(32), 1], [32, 8, 1]);
    transpose::launch(&module, &stream, shape, (&on_card, &mut turned, nx, ny))?;

    let mut result = vec![0.0; source.len()];
    turned.copy_to(&mut result)?;
    let at = |x: u32, y: u32| (y * nx + x) as usize;
    let right = (0..ny)
        .flat_map(|y| (0..nx).map(move |x| (x, y)))
        .all(|(x, y)| result[(x * ny + y) as usize] == source[at(x, y)]);
    println!("{nx} x {ny} transposed: {}", if right { "all elements right" } else { "WRONG" });
    anyhow::ensure!(right, "the transpose is wrong");
    Ok(())
}
