//! Runs `ptxas` and reads what it says about each kernel with `-v`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process;

/// The resources of one kernel as ptxas reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The kernel's name.
    pub kernel: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of stack frame a thread: variables in local memory.
    pub stack: u32,
    /// Bytes of register spills stored a thread.
    pub spill_stores: u32,
    /// Bytes of register spills loaded a thread.
    pub spill_loads: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
    /// Named barriers.
    pub barriers: u32,
}

impl Usage {
    /// The two figures together: what a spill costs is both.
    pub fn spills(&self) -> u32 {
        self.spill_stores + self.spill_loads
    }
}

/// `sm_90a` for `compute_90a`, by which PTX and its compilers call the same architecture.
pub fn sm(arch: &str) -> String {
    arch.replace("compute_", "sm_")
}

/// Assembles `ptx` for `arch` (`compute_90`) into `cubin`, with source lines if they are wanted, and returns what each kernel
/// uses.
///
/// # Errors
/// ptxas does not start, or rejects the PTX: the error has what it says.
pub fn assemble(ptxas: &Path, arch: &str, ptx: &Path, cubin: &Path, lines: bool) -> Result<Vec<Usage>> {
    let mut command = Command::new(ptxas);
    if lines {
        command.arg("--generate-line-info");
    }
    command.args(["-v", "--gpu-name", &sm(arch), "--output-file"]).arg(cubin).arg(ptx);
    let output = process::capture(&mut command)?;
    if !output.status.success() {
        bail!("{} rejects {} for {}:\n{}", ptxas.display(), ptx.display(), sm(arch), output.text.trim());
    }
    parse(&output.text).with_context(|| format!("cannot read what {} -v printed", ptxas.display()))
}

/// True if this ptxas knows `arch` and the PTX version `isa` (`7.8`): it is given an empty module of both.
///
/// # Errors
/// It does not, or it does not start.
pub fn accepts(ptxas: &Path, arch: &str, isa: &str, scratch: &Path) -> Result<()> {
    std::fs::create_dir_all(scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let probe = scratch.join(format!("probe-{}.ptx", std::process::id()));
    let sm = sm(arch);
    std::fs::write(&probe, format!(".version {isa}\n.target {sm}\n.address_size 64\n"))
        .with_context(|| format!("cannot write {}", probe.display()))?;
    let output =
        process::capture(Command::new(ptxas).args(["--gpu-name", &sm, "-o", "/dev/null"]).arg(&probe));
    let _ = std::fs::remove_file(&probe);
    let output = output?;
    if !output.status.success() {
        let cause = output.text.lines().find(|line| line.contains("fatal") || line.contains("error"));
        bail!("it cannot assemble PTX {isa} for {arch}: {}", cause.unwrap_or("").trim());
    }
    Ok(())
}

/// Reads the output of `ptxas -v`.
fn parse(text: &str) -> Result<Vec<Usage>> {
    let mut kernels: Vec<Usage> = Vec::new();
    // Device functions that were not inlined report properties too; those belong to no kernel.
    let mut of_kernel = false;
    for line in text.lines() {
        let line =
            line.strip_prefix("ptxas info").map_or(line, |line| line.trim_start_matches([' ', ':'])).trim();
        if let Some(rest) = line.strip_prefix("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or(rest).to_owned();
            kernels.push(Usage { kernel, ..Usage::default() });
        } else if let Some(function) = line.strip_prefix("Function properties for ") {
            of_kernel = kernels.last().is_some_and(|usage| usage.kernel == function);
        } else if line.contains(" bytes stack frame") {
            if let (true, Some(usage)) = (of_kernel, kernels.last_mut()) {
                usage.stack = figure_before(line, " bytes stack frame")?;
                usage.spill_stores = figure_before(line, " bytes spill stores")?;
                usage.spill_loads = figure_before(line, " bytes spill loads")?;
            }
        } else if line.starts_with("Used ") {
            let usage = kernels.last_mut().context("`Used .. registers` before any kernel")?;
            usage.registers = figure_before(line, " registers")?;
            usage.barriers = figure_before(line, " barriers").unwrap_or(0);
            usage.shared = figure_before(line, " bytes smem").unwrap_or(0);
        }
    }
    for usage in &kernels {
        ensure!(usage.registers > 0, "no register count for kernel `{}`", usage.kernel);
    }
    Ok(kernels)
}

/// The number in front of `label`: 64 in `.., 64 bytes stack frame, ..`.
fn figure_before(line: &str, label: &str) -> Result<u32> {
    let end = line.find(label).with_context(|| format!("no `{}` in `{line}`", label.trim()))?;
    let digits = line[..end].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    digits.parse().with_context(|| format!("no number before `{}` in `{line}`", label.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // As ptxas 13 prints it.
    const OUTPUT: &str = "\
ptxas info    : 0 bytes gmem, 36 bytes cmem[3]
ptxas info    : Compiling entry function 'copy' for 'sm_90'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Compile time = 2.168 ms
ptxas info    : Compiling entry function 'tile' for 'sm_90'
ptxas info    : Function properties for tile
    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size, 128 bytes smem, 380 bytes cmem[0]
ptxas info    : Function properties for helper
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compile time = 1.408 ms
";

    #[test]
    fn reads_every_kernel() {
        let tile = Usage {
            kernel: "tile".into(),
            registers: 255,
            stack: 64,
            spill_stores: 8,
            spill_loads: 12,
            shared: 128,
            barriers: 1,
        };
        let copy = Usage { kernel: "copy".into(), registers: 4, ..Usage::default() };
        assert_eq!(tile.spills(), 20);
        assert_eq!(parse(OUTPUT).unwrap(), [copy, tile]);
    }

    #[test]
    fn older_wording_without_a_barrier_count() {
        let text = "ptxas info    : Compiling entry function 'k' for 'sm_75'\n\
                    ptxas info    : Function properties for k\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                    ptxas info    : Used 10 registers, 364 bytes cmem[0]\n";
        assert_eq!(parse(text).unwrap(), [Usage { kernel: "k".into(), registers: 10, ..Usage::default() }]);
    }

    #[test]
    fn a_kernel_without_figures_is_an_error() {
        let text = "ptxas info    : Compiling entry function 'k' for 'sm_75'\n";
        assert_eq!(parse(text).unwrap_err().to_string(), "no register count for kernel `k`");
        assert!(parse("ptxas info    : Used 9 registers\n").is_err());
    }

    #[test]
    fn architectures_by_their_real_name() {
        assert_eq!(sm("compute_75"), "sm_75");
        assert_eq!(sm("compute_90a"), "sm_90a");
    }
}
