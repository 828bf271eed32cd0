//! `coalesce list`: the experiments and their kernels, by the names that records carry.

use crate::experiments;
use anyhow::Result;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Prints the list.
pub(crate) fn run() -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    for experiment in experiments::ALL {
        writeln!(out, "{}", experiment.name())?;
        writeln!(out, "    {}", experiment.summary())?;
        if let Some(parameter) = experiment.swept() {
            writeln!(out, "    sweeps: {parameter} (--range)")?;
        }
        let options: Vec<String> = experiment.options().iter().map(|option| format!("--{option}")).collect();
        if !options.is_empty() {
            writeln!(out, "    options: {}", options.join(", "))?;
        }
        writeln!(out, "    kernels: {}", experiment.kernels().join(", "))?;
    }
    Ok(ExitCode::SUCCESS)
}
