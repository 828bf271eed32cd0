//! Matrix products on tensor cores, from a plain program with its own buffers: `C = A * B^T` in bf16 with sums in f32.
//!
//! Verifies every element of several shapes for each kernel, then times the kernels, interleaved with cuBLAS where the
//! machine has it. The kernels are of one architecture: without an NVIDIA GPU of compute capability 9.0 the
//! program says so and ends.
//!
//!     cargo run --release -p examples --bin 10_matrix_product -- 4096 8192 4096x14336x4096

mod cublas;
mod product;

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use cublas::Cublas;
use cuda_driver::ext::{DeviceAttribute, device_attribute};
use cuda_launch::Module;
use cust::context::CurrentContext;
use cust::device::DeviceAttribute as Attribute;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use product::{Kernel, Product, Size};

/// Shapes that are verified: small ones, edges in each direction, a K of one step, large ones.
const VERIFIED: [Size; 8] = [
    Size { m: 128, n: 256, k: 64 },
    Size { m: 64, n: 8, k: 8 },
    Size { m: 256, n: 256, k: 512 },
    Size { m: 300, n: 264, k: 136 },
    Size { m: 1, n: 1000, k: 72 },
    Size { m: 1000, n: 1000, k: 1000 },
    Size { m: 5000, n: 4104, k: 2056 },
    Size { m: 4096, n: 4096, k: 4096 },
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
    // A simulated card has no tensor maps.
    let has_maps = device_attribute(device.as_raw(), DeviceAttribute::TENSOR_MAP_ACCESS_SUPPORTED) == Ok(1);
    if capability != (9, 0) || !has_maps {
        println!("these kernels run on an NVIDIA GPU of compute capability 9.0; not on this {name}");
        return Ok(());
    }
    let multiprocessors = device.get_attribute(Attribute::MultiprocessorCount)? as u32;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let module = Module::from_ptx(examples::TENSOR_CORES).context("the kernels for compute_90a")?;
    let checks = Module::from_ptx(examples::PTX)?;
    println!("{name}, {multiprocessors} multiprocessors");

    let mut wrong = 0;
    for size in VERIFIED {
        let mut product = Product::random(size)?;
        let reference = product.reference(&checks, &stream)?;
        for kernel in Kernel::ALL {
            let verdict = product.verify(&module, kernel, multiprocessors, &stream, &reference)?;
            println!("{size:<18} {:<18} {verdict}", kernel.name());
            wrong += verdict.wrong;
        }
    }
    ensure!(wrong == 0, "{wrong} elements are wrong");

    let cublas = Cublas::load(&stream);
    match &cublas {
        Ok(cublas) => println!("cuBLAS: {}", cublas.name()),
        Err(error) => println!("without cuBLAS: {error:#}"),
    }
    let sizes = if sizes.is_empty() { vec![Size::cube(4096), Size::cube(8192)] } else { sizes };
    for size in sizes {
        compare(size, &module, multiprocessors, &stream, cublas.as_ref().ok())?;
    }
    Ok(())
}

/// One of those that are timed.
#[derive(Clone, Copy)]
enum Variant {
    Cublas,
    Ours(Kernel),
}

/// Times all kernels in bursts, interleaved: a pause, one launch untimed, three timed; the median of 15.
fn compare(
    size: Size,
    module: &Module,
    multiprocessors: u32,
    stream: &Stream,
    cublas: Option<&Cublas>,
) -> Result<()> {
    const BURSTS: usize = 15;
    const LAUNCHES: u32 = 3;
    let mut product = Product::random(size)?;
    let mut variants: Vec<Variant> = Kernel::ALL.map(Variant::Ours).into();
    if cublas.is_some() {
        variants.push(Variant::Cublas);
    }
    let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    let mut times = vec![Vec::new(); variants.len()];
    for burst in 0..BURSTS {
        for turn in 0..variants.len() {
            let which = (burst + turn) % variants.len();
            std::thread::sleep(Duration::from_millis(20));
            for launch in 0..=LAUNCHES {
                if launch == 1 {
                    start.record(stream)?;
                }
                match (variants[which], cublas) {
                    (Variant::Ours(kernel), _) => product.launch(module, kernel, multiprocessors, stream)?,
                    (Variant::Cublas, Some(cublas)) => product.launch_cublas(cublas)?,
                    (Variant::Cublas, None) => bail!("cuBLAS was not loaded"),
                }
            }
            stop.record(stream)?;
            stream.synchronize()?;
            times[which].push(f64::from(stop.elapsed_time_f32(&start)?) * 1e-3 / f64::from(LAUNCHES));
        }
    }
    let seconds: Vec<f64> = times.into_iter().map(median).collect();
    let theirs = cublas.and(seconds.last().copied());
    println!("{size}: median of {BURSTS} bursts of {LAUNCHES} launches");
    for (variant, seconds) in variants.iter().zip(&seconds) {
        let name = match variant {
            Variant::Ours(kernel) => kernel.name(),
            Variant::Cublas => "cuBLAS",
        };
        let rate = size.operations() / seconds / 1e12;
        let ratio = theirs.map_or_else(String::new, |theirs| format!("   {:.3} of cuBLAS", theirs / seconds));
        println!("    {name:<18} {:9.1} us   {rate:6.1} TFLOP/s{ratio}", seconds * 1e6);
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
