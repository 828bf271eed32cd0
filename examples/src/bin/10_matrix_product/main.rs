//! Products on tensor cores from a plain program with its own buffers: bf16 of any size, many at once, with factors, in FP8, and
//! of f32 at the accuracy of f32.
//!
//! Verifies every element of every result, then times the products, interleaved with cuBLAS where the machine has it. The
//! kernels are of one architecture: without an NVIDIA GPU of compute capability 9.0 the program says so and ends.
//!
//!     cargo run --release -p examples --bin 10_matrix_product -- 4096 8192 4096x14336x4096

mod cases;
mod choice;
mod cublas;
mod matrix;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cases::{Gpu, Product};
use cublas::Cublas;
use cuda_launch::{LaunchError, Module};
use cust::context::CurrentContext;
use cust::device::DeviceAttribute as Attribute;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use matrix::Size;

/// Shapes that are verified: small ones, edges in each direction, rows that no tensor map can have, a long sum.
const VERIFIED: [Size; 6] = [
    Size { m: 128, n: 256, k: 64 },
    Size { m: 64, n: 8, k: 16 },
    Size { m: 300, n: 264, k: 144 },
    Size { m: 301, n: 133, k: 77 },
    Size { m: 1, n: 1000, k: 80 },
    Size { m: 1000, n: 1000, k: 4096 },
];

fn main() -> Result<()> {
    let sizes: Vec<Size> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_>>()?;
    let _context = cust::quick_init()?;
    let device = CurrentContext::get_device()?;
    let name = device.name()?;
    let capability = (
        device.get_attribute(Attribute::ComputeCapabilityMajor)?,
        device.get_attribute(Attribute::ComputeCapabilityMinor)?,
    );
    // A simulated card of that capability has no tensor cores.
    let products = match (capability == (9, 0)).then(|| Module::from_ptx(examples::TENSOR_CORES)) {
        None | Some(Err(LaunchError::Driver(CudaError::NotSupported))) => None,
        Some(products) => Some(products.context("the kernels for compute_90a")?),
    };
    let Some(products) = products else {
        println!("these kernels run on an NVIDIA GPU of compute capability 9.0; not on this {name}");
        return Ok(());
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let gpu = Gpu {
        products,
        checks: Module::from_ptx(examples::PTX)?,
        multiprocessors: device.get_attribute(Attribute::MultiprocessorCount)? as u32,
        cublas: Cublas::load(&stream),
        stream,
    };
    println!("{name}, {} multiprocessors", gpu.multiprocessors);
    match &gpu.cublas {
        Ok(cublas) => println!("cuBLAS: {}", cublas.name()),
        Err(error) => println!("without cuBLAS: {error:#}"),
    }

    let mut wrong = 0;
    for size in VERIFIED {
        let products = cases::by_each_kernel(size)?.into_iter().chain(cases::all(size, gpu.multiprocessors)?);
        for mut product in products {
            let verdict = product.verify(&gpu)?;
            println!("{size:<18} {:<26} {verdict}", product.name());
            wrong += verdict.wrong;
        }
    }
    ensure!(wrong == 0, "{wrong} elements are wrong");

    for size in if sizes.is_empty() { vec![Size::cube(4096)] } else { sizes } {
        println!("{size}: median of {BURSTS} bursts of {LAUNCHES} launches");
        for product in cases::all(size, gpu.multiprocessors)? {
            compare(&*product, &gpu)?;
        }
    }
    Ok(())
}

const BURSTS: usize = 11;
const LAUNCHES: u32 = 3;

/// Times a product in bursts, in turn with the library's: a pause, one launch untimed, three timed; the median.
fn compare(product: &dyn Product, gpu: &Gpu) -> Result<()> {
    let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    let library = gpu.cublas.as_ref().ok();
    let mut times = [Vec::new(), Vec::new()];
    for burst in 0..2 * BURSTS {
        let by_library = burst % 2 == 1;
        std::thread::sleep(Duration::from_millis(20));
        let mut is_there = true;
        for launch in 0..=LAUNCHES {
            if launch == 1 {
                start.record(&gpu.stream)?;
            }
            is_there = match library {
                Some(cublas) if by_library => product.launch_library(cublas)?,
                None if by_library => false,
                _ => product.launch(gpu).map(|()| true)?,
            };
        }
        stop.record(&gpu.stream)?;
        gpu.stream.synchronize()?;
        if is_there {
            let seconds = f64::from(stop.elapsed_time_f32(&start)?) * 1e-3 / f64::from(LAUNCHES);
            times[usize::from(by_library)].push(seconds);
        }
    }
    let rate = |seconds: f64| product.operations() / seconds / 1e12;
    let [ours, theirs] = times.map(median);
    let ours = ours.context("at least one burst")?;
    let beside = theirs.map_or_else(String::new, |theirs| {
        format!("   {:.3} of cuBLAS, {:.1} TFLOP/s", theirs / ours, rate(theirs))
    });
    println!("    {:<26} {:9.1} us   {:6.1} TFLOP/s{beside}", product.name(), ours * 1e6, rate(ours));
    Ok(())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
