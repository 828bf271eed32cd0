//! `coalesce list`: the experiments and their kernels, by the names that records carry.

use crate::{
    experiments::{self, KernelInfo},
    kernels::own,
};
use anyhow::Result;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    process::ExitCode,
};

/// The longest line of a signature.
const WIDTH: usize = 100;

/// Prints the list; with `kernels` the signature and the contract of each kernel.
pub(crate) fn run(kernels: bool) -> Result<ExitCode> {
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
        if !kernels {
            let own = by_architecture(&experiment.kernels());
            let of_several = experiment.of_several_cards();
            let is_own = |name: &&str| own.values().any(|names| names.contains(name));
            let is_common = |name: &&str| !is_own(name) && !of_several.contains(name);
            let common: Vec<&str> = experiment.names().into_iter().filter(is_common).collect();
            if !common.is_empty() {
                writeln!(out, "    kernels: {}", common.join(", "))?;
            }
            if !of_several.is_empty() {
                writeln!(out, "    on several cards alone: {}", of_several.join(", "))?;
            }
            for (arch, names) in own {
                let (simulated, others): (Vec<&str>, Vec<&str>) =
                    names.into_iter().partition(|name| own::is_simulated(name));
                for (names, what) in [(simulated, ""), (others, ", not simulated")] {
                    if !names.is_empty() {
                        writeln!(out, "    for {arch} alone{what}: {}", names.join(", "))?;
                    }
                }
            }
            continue;
        }
        if let Some(name) = experiment.driver_work() {
            writeln!(out, "\n    {name}: the driver's own work, not a kernel")?;
        }
        for kernel in experiment.kernels() {
            write!(out, "\n{}", described(&kernel))?;
        }
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The architectures that kernels name, each with those kernels.
fn by_architecture(kernels: &[KernelInfo]) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (arch, kernel) in kernels.iter().filter_map(|kernel| Some((kernel.arch?, kernel.name))) {
        named.entry(arch).or_default().push(kernel);
    }
    named
}

/// The kernel's signature, and below it the clauses of its contract.
fn described(kernel: &KernelInfo) -> String {
    let (parameters, indent) = (kernel.parameters(), " ".repeat(4));
    let mut text = format!("{indent}{}({})\n", kernel.name, parameters.join(", "));
    if text.len() > WIDTH {
        let lines = parameters.iter().map(|parameter| format!("{indent}{indent}{parameter},\n"));
        text = format!("{indent}{}(\n{}{indent})\n", kernel.name, lines.collect::<String>());
    }
    if let Some(arch) = kernel.arch {
        let what = if own::is_simulated(kernel.name) { "" } else { ", not simulated" };
        text += &format!("{indent}{indent}- for {arch} alone{what}\n");
    }
    for clause in kernel.contract() {
        text += &format!("{indent}{indent}- {clause}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::{stencil::stencil_constant, unchecked::storage::storage_global};

    #[test]
    fn a_kernel_is_shown_by_its_signature_and_its_contract() {
        assert_eq!(
            described(&KernelInfo::of::<stencil_constant>()),
            "    stencil_constant(source: In<f32, Each<Plus<N, HALO>>>, destination: Out<f32, Each<N>>)
        - blocks of whole warps (multiples of 32 threads) along x alone
        - source.len() == destination.len() + 8
        - dynamic shared memory: (block.x + 8) * 4 bytes
"
        );
        let text = described(&KernelInfo::of::<storage_global>());
        assert!(text.starts_with("    storage_global()\n        - grid.count() == 1\n"), "{text}");
    }
}
