//! Python by ctypes, which looks for functions as Numba does: those that end with `_v2` first.

use std::process::{Command, Stdio};

use super::{file, run, stdout};

/// Runs the client and returns its output; `None` without Python, which the tests report.
fn told(settings: &[(&str, &str)]) -> Option<String> {
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("SKIPPED: there is no python3 on this computer, which client.py needs");
        return None;
    }
    let mut command = Command::new("python3");
    command.args([file("client.py"), file("kernels.ptx")]);
    Some(stdout(&run(command, settings)))
}

#[test]
fn python_runs_a_kernel() {
    let Some(told) = told(&[]) else { return };
    assert_eq!(told, "DEVICE 0 NVIDIA H200 (modelled) 0000:01:00.0\nDEVICE 0 SUM 14850.0\n");
}

#[test]
fn the_visible_devices_are_chosen_and_ordered() {
    let cards = ("COALESCE_SIMULATE", "h200,v100,c1060");
    let of = |list| told(&[cards, ("CUDA_VISIBLE_DEVICES", list)]);
    let devices = |told: String| -> Vec<String> {
        told.lines()
            .filter(|line| line.starts_with("DEVICE") && !line.contains("SUM"))
            .map(str::to_owned)
            .collect()
    };
    let Some(two) = of("2,1") else { return };
    assert_eq!(
        devices(two),
        [
            "DEVICE 0 Tesla C1060 (modelled) 0000:03:00.0",
            "DEVICE 1 Tesla V100-SXM2-32GB (modelled) 0000:02:00.0"
        ]
    );
    let by_identifier = of("GPU-73696d01").expect("Python was there");
    assert_eq!(devices(by_identifier), ["DEVICE 0 Tesla V100-SXM2-32GB (modelled) 0000:02:00.0"]);
    // CUDA_ERROR_NO_DEVICE.
    assert_eq!(of("").as_deref(), Some("INIT 100\n"));
}
