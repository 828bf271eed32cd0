//! Driver libraries made for the test, bound in processes of their own through `COALESCE_DRIVER` and the
//! loader.

use std::path::Path;
use std::process::Command;

use cuda_driver::{bind_nvidia, bound};

#[path = "made/mod.rs"]
mod made;
use made::library;

/// The test `binds` in another process; its report.
fn report(variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this test's program"));
    command.args(["--exact", "binds", "--nocapture"]);
    command.env_remove("COALESCE_DRIVER").env_remove("LD_LIBRARY_PATH");
    command.envs(variables.iter().copied());
    let output = command.output().expect("a second process");
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let line = stdout.lines().find_map(|line| line.split_once("REPORT ")).expect("a report");
    line.1.to_owned()
}

/// Run by the other tests with an environment of theirs; by itself it binds what this machine has, if
/// anything.
#[test]
fn binds() {
    let at_once: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(bind_nvidia)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert!(at_once.iter().all(|outcome| *outcome == at_once[0]), "{at_once:?}");
    match bind_nvidia() {
        Ok(nvidia) => {
            assert_eq!(bind_nvidia(), Ok(nvidia.clone()), "a second call gives the same");
            assert!(bound().is_some_and(|binding| binding.description().starts_with("NVIDIA's driver /")));
            let devices = cust::device::Device::num_devices().expect("cuDeviceGetCount");
            println!("\nREPORT {} {} {devices}", nvidia.path.display(), nvidia.driver_version);
        }
        Err(error) => {
            assert!(bound().is_none());
            let outcome = cust::device::Device::num_devices();
            assert_eq!(outcome, Err(cust::error::CudaError::NotInitialized));
            println!("\nREPORT {error}");
        }
    }
}

#[test]
fn a_named_driver_is_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path(), "libcuda.so.1", 0);
    let real = library.canonicalize().expect("a path");
    assert_eq!(report(&[("COALESCE_DRIVER", &library)]), format!("{} CUDA 13.0 3", real.display()));
}

#[test]
fn the_loaders_driver_is_bound_with_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = library(folder.path(), "libcuda.so.1", 0).canonicalize().expect("a path");
    let expected = format!("{} CUDA 13.0 3", real.display());
    assert_eq!(report(&[("LD_LIBRARY_PATH", folder.path())]), expected);
    assert_eq!(report(&[("LD_LIBRARY_PATH", folder.path()), ("COALESCE_DRIVER", Path::new(""))]), expected);
}

#[test]
fn the_toolkits_stub_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path(), "libcuda.so.1", 34);
    let report = report(&[("COALESCE_DRIVER", &library)]);
    assert!(report.contains("libcuda.so.1 is the CUDA toolkit's stub for linking"), "{report}");
    assert!(report.contains("LD_LIBRARY_PATH"), "{report}");
}

#[test]
fn a_driver_without_a_gpu_stays_unbound() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = report(&[("COALESCE_DRIVER", &library(folder.path(), "libcuda.so.1", 100))]);
    let expected =
        "(CUDA 13.0) does not start: cuInit gave CUDA_ERROR_NO_DEVICE (100). The driver sees no GPU";
    assert!(report.contains(expected), "{report}");
}
