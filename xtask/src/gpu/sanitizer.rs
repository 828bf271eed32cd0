//! A quick run of every experiment under NVIDIA's compute-sanitizer.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Subject;
use super::rows::{self, Experiment, Kind};
use crate::process;
use tools::{Program, Tool};

/// The sanitizer's tools: out-of-bounds and misaligned accesses, races in shared memory, reads of memory that nobody wrote,
/// and misused barriers.
pub(crate) const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// Bytes behind each allocation that memcheck keeps free. Without them the next buffer may begin where one ends, and an
/// overrun is no error to it.
const PADDING: [&str; 2] = ["--padding", "4096"];

/// The exit status that a finding becomes; the program itself never uses it.
const FINDING: i32 = 86;

/// Runs all experiments at a small size under one tool.
pub(crate) fn check(subject: &Subject, tool: &str, experiments: &[Experiment]) -> Result<String> {
    let sanitizer = sanitizer()?;
    let records = super::scratch("sanitizer")?;
    let mut command = Command::new(&sanitizer.path);
    if tool == "memcheck" {
        let _ = command.args(PADDING);
    }
    let _ = command
        .args(["--tool", tool, "--error-exitcode", &FINDING.to_string(), "--print-limit", "5"])
        .arg(&subject.program)
        .args(["run", "--device", &subject.device, "--small", "--once"])
        .arg("--out")
        .arg(&records);
    let result = process::capture(&mut command).and_then(|output| {
        let summary = summary(&output.text);
        match (output.status.code(), summary) {
            (Some(0), Some(summary)) => Ok(summary.to_owned()),
            (Some(0), None) => {
                bail!("{} printed no summary:\n{}", process::line(&command), output.text)
            }
            (Some(FINDING), _) => bail!("findings of {}:\n{}", process::line(&command), output.text),
            _ => bail!("{} failed ({}):\n{}", process::line(&command), output.status, output.text),
        }
    });
    let result = result.and_then(|summary| {
        let rows = rows::check_of(Kind::Once, &super::records(&records)?, experiments, "both")?;
        Ok(format!("{summary}; {rows}"))
    });
    let _ = std::fs::remove_dir_all(&records);
    Ok(format!("{} (compute-sanitizer {})", result?, sanitizer.version))
}

/// A twin of `copy_scalar` whose first thread reads one element past the source's end.
const FAULTY: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry copy_scalar(.param .u64 source, .param .u64 length, .param .u64 destination)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [source];
    ld.param.u64 %rd2, [length];
    shl.b64 %rd3, %rd2, 2;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r1, [%rd4];
    ld.param.u64 %rd1, [destination];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// Checks that memcheck finds a fault in a kernel that this program launches: only then does its silence mean anything.
pub(crate) fn finds_a_planted_fault(subject: &Subject) -> Result<String> {
    let sanitizer = sanitizer()?;
    let folder = super::scratch("planted")?;
    std::fs::write(folder.join("faulty.ptx"), FAULTY).context("cannot write the faulty kernel")?;
    let mut command = Command::new(&sanitizer.path);
    let _ = command
        .args(["--tool", "memcheck", "--error-exitcode", &FINDING.to_string(), "--print-limit", "1"])
        .args(PADDING)
        .arg(&subject.program)
        .args([
            "compare",
            "--device",
            &subject.device,
            "--kernel",
            "copy_scalar",
            "--bytes",
            "64KiB",
            "--once",
        ])
        .arg("--reference")
        .arg(&folder);
    let output = process::capture(&mut command);
    let _ = std::fs::remove_dir_all(&folder);
    let output = output?;
    let found = output.text.lines().find(|line| line.contains("Invalid __global__ read of size 4 bytes"));
    match (output.status.code(), found) {
        (Some(FINDING), Some(line)) => Ok(line.trim_start_matches('=').trim().to_owned()),
        _ => bail!("memcheck did not see a read past the end of a buffer:\n{}", output.text),
    }
}

fn sanitizer() -> Result<Tool> {
    tools::find(Program::ComputeSanitizer, None, |_| Ok(())).context(
        "compute-sanitizer is part of the CUDA toolkit; name it by COMPUTE_SANITIZER=/path/to/it, put it on PATH, or leave it \
         out with --no-sanitizer",
    )
}

/// The tool's last word: `ERROR SUMMARY: 0 errors` or `RACECHECK SUMMARY: 0 hazards displayed ..`.
fn summary(text: &str) -> Option<&str> {
    let line = text.lines().rev().find(|line| line.contains(" SUMMARY: "))?;
    Some(line.trim_start_matches('=').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_the_tool_s_last_word() {
        let text = "========= COMPUTE-SANITIZER\noffset ..\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(summary(text), Some("ERROR SUMMARY: 0 errors"));
        let text = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(summary(text), Some("RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"));
        assert_eq!(summary("========= Error: device not supported"), None);
    }
}
