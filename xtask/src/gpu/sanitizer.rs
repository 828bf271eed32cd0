//! A quick run of every experiment under NVIDIA's compute-sanitizer.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Subject;
use super::rows::{self, Experiment};
use crate::process;
use crate::tools::{self, Program};

/// The sanitizer's tools: out-of-bounds and misaligned accesses, races in shared memory, reads of memory that nobody wrote,
/// and misused barriers.
pub(crate) const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// The exit status that a finding becomes; the program itself never uses it.
const FINDING: i32 = 86;

/// Runs all experiments at a small size under one tool.
pub(crate) fn check(subject: &Subject, tool: &str, experiments: &[Experiment]) -> Result<String> {
    let sanitizer = tools::find(Program::ComputeSanitizer, None, |_| Ok(())).context(
        "compute-sanitizer is part of the CUDA toolkit; name it by COMPUTE_SANITIZER=/path/to/it, put it on PATH, or leave it \
         out with --no-sanitizer",
    )?;
    let records = super::scratch("sanitizer")?;
    let mut command = Command::new(&sanitizer.path);
    let _ = command
        .args(["--tool", tool, "--error-exitcode", &FINDING.to_string(), "--print-limit", "5"])
        .arg(&subject.program)
        .args([
            "run",
            "--device",
            &subject.device,
            "--bytes",
            "256KiB",
            "--precision",
            "both",
            "--samples",
            "1",
        ])
        .arg("--out")
        .arg(&records);
    let result = process::capture(&mut command).and_then(|output| {
        let summary = summary(&output.text);
        match (output.status.code(), summary) {
            (Some(0), Some(summary)) => Ok(summary.to_owned()),
            (Some(0), None) => {
                bail!("{} said nothing of what it found:\n{}", process::line(&command), output.text)
            }
            (Some(FINDING), _) => bail!("findings of {}:\n{}", process::line(&command), output.text),
            _ => bail!("{} failed ({}):\n{}", process::line(&command), output.status, output.text),
        }
    });
    let result = result.and_then(|summary| {
        Ok(format!("{summary}; {}", rows::check(&super::records(&records)?, experiments, "both")?))
    });
    let _ = std::fs::remove_dir_all(&records);
    Ok(format!("{} (compute-sanitizer {})", result?, sanitizer.version))
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
