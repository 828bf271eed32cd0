//! Requests that the program must refuse when there is a GPU. Each gets one paragraph and a failing exit status, and
//! leaves nothing half done.

use anyhow::{Result, bail, ensure};

use super::{Subject, files, scratch};
use crate::process;

/// One command line that must be refused.
pub(crate) struct Case {
    /// In words.
    pub(crate) what: &'static str,
    /// After `coalesce run`.
    arguments: &'static [&'static str],
    /// An environment variable that is set for it.
    variable: Option<(&'static str, &'static str)>,
    /// Texts that the message must contain.
    says: &'static [&'static str],
}

/// A case without an environment variable.
const fn case(what: &'static str, arguments: &'static [&'static str], says: &'static [&'static str]) -> Case {
    Case { what, arguments, variable: None, says }
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    case("a device that does not exist", &["offset", "--device", "cuda:99"], &["cuda:99", "devices"]),
    case(
        "more memory than the card has (4 TiB)",
        &["stride", "--bytes", "1GiB", "--range", "4096"],
        &["memory", "--bytes"],
    ),
    case("more threads than can be launched", &["copy", "--bytes", "64TiB"], &["fewer bytes"]),
    case("a block over the limit", &["offset", "--block", "2048"], &["2048", "1024"]),
    case("a size of zero", &["offset", "--bytes", "0"], &["--bytes"]),
    case(
        "a size that is not a multiple of the block",
        &["offset", "--bytes", "1000"],
        &["`--bytes 1000` is not a multiple of 2048"],
    ),
    case("a matrix of no columns", &["transpose", "--nx", "0"], &["--nx"]),
    case("a matrix beyond all memory", &["transpose", "--nx", "4294967295"], &["--nx"]),
    case(
        "a tile too large for any block",
        &["matmul", "--kernel", "matmul_tiled_dynamic", "--tile", "1024"],
        &["1024"],
    ),
    case("segments of three lanes", &["shuffle", "--width", "3"], &["2 and 4"]),
    case("three coefficients", &["stencil", "--coefficients", "1,2,3"], &["exactly 4"]),
    case("a budget beyond the card's memory", &["unified", "--budget", "1TiB"], &["1 TiB", "--budget"]),
    case(
        "oversubscription without the override",
        &["unified", "--factor", "1.5"],
        &["--allow-oversubscription", "hang"],
    ),
    case("a factor above the limit", &["unified", "--factor", "65"], &["64"]),
    case(
        "an unknown experiment",
        &["ofset"],
        &["'ofset'; did you mean offset? `coalesce list` names them all"],
    ),
    case(
        "an output folder that cannot be made",
        &["offset", "--out", "/proc/coalesce"],
        &["/proc/coalesce", "--out"],
    ),
    Case {
        what: "a driver that does not exist",
        arguments: &["offset"],
        variable: Some(("COALESCE_DRIVER", "/nonexistent/libcuda.so.1")),
        says: &["/nonexistent/libcuda.so.1"],
    },
];

/// Runs one case.
pub(crate) fn check(subject: &Subject, case: &Case) -> Result<String> {
    let folder = scratch("refused")?;
    let result = refused(subject, case, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn refused(subject: &Subject, case: &Case, folder: &std::path::Path) -> Result<String> {
    let mut command = subject.command(&["run", "--samples", "1"]);
    // The case may name a device or a folder itself.
    if !case.arguments.contains(&"--device") {
        let _ = command.args(["--device", &subject.device]);
    }
    let _ = command.args(case.arguments);
    if !case.arguments.contains(&"--out") {
        let _ = command.arg("--out").arg(folder);
    }
    if let Some((name, value)) = case.variable {
        let _ = command.env(name, value);
    }
    let output = process::capture(&mut command)?;
    let line = process::line(&command);
    judge(&output.text, output.status.code(), case.says)
        .map_err(|error| error.context(format!("`{line}`")))?;
    let left = files(folder)?;
    ensure!(left.is_empty(), "`{line}` was refused but left {left:?}");
    Ok(String::new())
}

/// Checks that a refusal is one paragraph with the expected texts.
fn judge(text: &str, code: Option<i32>, says: &[&str]) -> Result<()> {
    match code {
        Some(0) => bail!("was accepted: {}", text.trim()),
        None => bail!("was ended by a signal: {}", text.trim()),
        Some(_) => {}
    }
    ensure!(!text.contains("panicked"), "panicked: {}", text.trim());
    ensure!(!text.trim().is_empty(), "failed without a message");
    if let Some(missing) = says.iter().find(|word| !text.contains(**word)) {
        bail!("does not mention `{missing}`: {}", text.trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_judged() {
        let error = |text, code| judge(text, code, &["cuda:9"]).unwrap_err().to_string();
        assert!(judge("error: there is no device cuda:9", Some(1), &["cuda:9"]).is_ok());
        assert!(error("done", Some(0)).starts_with("was accepted"));
        assert!(error("", None).starts_with("was ended by a signal"));
        assert!(error("thread 'main' panicked at cuda:9", Some(101)).starts_with("panicked"));
        assert!(error("\n", Some(1)).starts_with("failed without a message"));
        assert!(error("error: no", Some(1)).starts_with("does not mention `cuda:9`"));
    }
}
