//! `coalesce devices`: the GPUs, and what the driver says of them, and the simulated cards.

use crate::{
    cards,
    device::{self, DeviceInfo, Driver, Origin},
    kernels,
    simulated::{self, Card},
    sizes::Bytes,
};
use anyhow::Result;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Prints the devices; with a card, its description as a file.
///
/// # Errors
/// A driver is there and fails, or nobody takes the output.
pub(crate) fn run(card: Option<&Card>) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match card {
        Some(card) => write!(out, "{}", file(card))?,
        None => {
            gpus(&mut out)?;
            write!(out, "\n{}", cards::cards(&simulated::all()))?;
            match cuda_driver::simulated::compiler() {
                Ok(compiler) => {
                    writeln!(
                        out,
                        "\nCOALESCE_TIER=both compiles simulated kernels that run for long ({compiler})."
                    )?;
                }
                Err(why) => {
                    writeln!(out, "\nSimulated kernels are interpreted and cannot be compiled: {why}.")?;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The card as a file, with what to do with it.
fn file(card: &Card) -> String {
    format!(
        "# {}, as Coalesce simulates it. Save it as my-card.toml, give it a key and figures of your own, and run\n\
         #     coalesce run --device sim:my-card.toml\n\
         # A line `extends = \"{}\"` supplies every property that a file leaves out. Above each figure is its source:\n\
         # crates/simt/src/cards/known.rs explains the short names.\n{}",
        card.name,
        card.key,
        simt::cards::with_sources(card),
    )
}

/// The GPUs, or why there are none.
fn gpus(out: &mut impl Write) -> Result<()> {
    let driver = match device::bind_nvidia()? {
        Ok(driver) => driver,
        Err(error) => return Ok(writeln!(out, "no GPU: {}", error.in_short())?),
    };
    if let Origin::Nvidia { path } = &driver.origin {
        writeln!(out, "driver: {} (CUDA {})", path.display(), driver.version)?;
    }
    for device in device::list(&driver)? {
        gpu(out, &device, &driver)?;
    }
    Ok(())
}

fn gpu(out: &mut impl Write, device: &DeviceInfo, driver: &Driver) -> Result<()> {
    writeln!(out, "{}: {}", device.selector(), device.name)?;
    writeln!(out, "    compute capability {}, {} SMs", device.compute_capability, device.multiprocessors)?;
    writeln!(out, "    memory {}, L2 {}", Bytes(device.memory_bytes), Bytes(device.l2_bytes))?;
    match device.peak_gb_per_s() {
        Some(peak) => writeln!(
            out,
            "    peak {peak:.0} GB/s (2 x {} MHz x {} bits, from the driver)",
            device.memory_clock_khz / 1000,
            device.memory_bus_bits,
        )?,
        None => writeln!(out, "    peak unknown: the driver does not tell memory clock and bus width")?,
    }
    match kernels::choose(&kernels::embedded()?, device, driver) {
        Ok(artefact) => writeln!(out, "    kernels: {}, PTX {}", artefact.name(), artefact.language)?,
        Err(error) => writeln!(out, "    kernels: none: {error}")?,
    }
    Ok(())
}
