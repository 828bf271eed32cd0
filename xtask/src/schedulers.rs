//! The ways to start ranks in `deploy/`: eight ranks by mpirun on simulated cards, and the manifests by Kubernetes' schemas.
//!
//! Slurm needs daemons and root, so it is left to `clients/slurm.py`.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::{cargo, gpu, process, python};

/// Ranks that mpirun starts.
const RANKS: usize = 8;

/// The validator, with the schemas of each version of Kubernetes in it.
const VALIDATOR: [&str; 1] = ["kubernetes-validate==1.37.0"];

/// The versions of Kubernetes whose schemas the manifests are held to: the first with all of their fields, and the newest.
const VERSIONS: [&str; 2] = ["1.29", "1.37"];

/// Starts eight ranks by Open MPI's mpirun, each with a simulated card, and has them judged. Without mpirun the step says so.
///
/// # Errors
/// A rank or the judge fails, or a file of records is missing.
pub(crate) fn mpirun(root: &Path, program: &Path) -> Result<String> {
    if !process::capture(Command::new("mpirun").arg("--version"))
        .is_ok_and(|version| version.status.success())
    {
        return Ok("NOT RUN: eight ranks need mpirun (apt-get install openmpi-bin)".to_owned());
    }
    let results = gpu::scratch("ranks")?;
    let outcome = eight_ranks(root, program, &results);
    let _ = std::fs::remove_dir_all(&results);
    outcome
}

/// Starts the ranks, which write into a folder.
fn eight_ranks(root: &Path, program: &Path, results: &Path) -> Result<String> {
    let mut command = Command::new(root.join("deploy/mpirun.sh"));
    let _ = command
        .env("COALESCE", program)
        .env("RESULTS", results)
        .env("DEVICE", "sim:h200")
        .env("RANKS", RANKS.to_string())
        .env("RUN_ID", "test")
        .env("RUN_OPTIONS", "--small")
        // The test's machine may have fewer cores than ranks, and its user may be root.
        .env("MPI_OPTIONS", "--oversubscribe --allow-run-as-root");
    for variable in ["COALESCE_DRIVER", "COALESCE_SIMULATE", "COALESCE_CHECK"] {
        let _ = command.env_remove(variable);
    }
    let text = process::succeed(&mut command)?;
    let written = std::fs::read_dir(results.join("test"))?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        .count();
    ensure!(written == RANKS, "{RANKS} ranks wrote {written} files:\n{text}");
    ensure!(text.contains("no card of 8 is slow"), "eight equal cards are not judged to be equal:\n{text}");
    Ok(format!("{RANKS} ranks by mpirun; clients/slurm.py tests Slurm"))
}

/// Validates the manifests strictly. Without Python the step says so.
///
/// # Errors
/// A manifest has a field that Kubernetes does not know, or lacks one.
pub(crate) fn manifests(root: &Path) -> Result<String> {
    let manifests = ["kubernetes-job.yaml", "kubernetes-daemonset.yaml"];
    let Some(python) = python::with(&cargo::target(root)?, &VALIDATOR)? else {
        return Ok(format!(
            "NOT RUN: {} need python3 with the module venv (apt-get install python3-venv)",
            manifests.join(" and ")
        ));
    };
    for version in VERSIONS {
        let mut command = Command::new(python.with_file_name("kubernetes-validate"));
        let _ = command.args(["--strict", "--quiet", "--kubernetes-version", version]);
        let _ = command.args(manifests.map(|name| root.join("deploy").join(name)));
        let _ = process::succeed(&mut command)?;
    }
    Ok(format!("{} by the schemas of Kubernetes {}", manifests.join(" and "), VERSIONS.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deploy_says_is_in_the_documentation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = std::fs::read_to_string(root.join("docs/fleet.md")).unwrap();
        for entry in std::fs::read_dir(root.join("deploy")).unwrap() {
            let name = entry.unwrap().file_name();
            let name = name.to_str().unwrap();
            assert!(page.contains(&format!("deploy/{name}")), "docs/fleet.md does not name deploy/{name}");
        }
    }
}
