//! `coalesce devices`: the GPUs, and what the driver says of them.

use crate::{device, kernels, sizes::Bytes};
use anyhow::Result;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Prints the devices.
pub(crate) fn run() -> Result<ExitCode> {
    let driver = device::bind()?;
    let devices = device::list(&driver)?;
    let embedded = kernels::embedded()?;
    let mut out = io::stdout().lock();
    writeln!(out, "driver: {} (CUDA {})", driver.path.display(), driver.version)?;
    for device in &devices {
        writeln!(out, "cuda:{}: {}", device.ordinal, device.name)?;
        writeln!(
            out,
            "    compute capability {}, {} SMs",
            device.compute_capability, device.multiprocessors
        )?;
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
        match kernels::choose(&embedded, device, &driver) {
            Ok(artefact) => {
                writeln!(out, "    kernels: compute_{}, PTX {}", artefact.arch, artefact.language)?;
            }
            Err(error) => writeln!(out, "    kernels: none: {error}")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
