//! Driver libraries made for the test, bound in processes of their own through `COALESCE_DRIVER` and the
//! loader.

use std::path::Path;
use std::process::Command;

use cuda_driver::{TableError, bind, bind_nvidia, bound};

#[path = "support/made.rs"]
mod made;
use made::library;

/// The test `binds` in another process; its report.
fn report(variables: &[(&str, &Path)]) -> String {
    said_by("binds", variables).0
}

/// A test in another process; its report, and what it wrote to stderr.
fn said_by(test: &str, variables: &[(&str, &Path)]) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().expect("this test's program"));
    command.args(["--exact", test, "--nocapture"]);
    for variable in ["COALESCE_DRIVER", "COALESCE_SIMULATE", "COALESCE_CHECK", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    command.env("COALESCE_TEST", "1").envs(variables.iter().copied());
    let output = command.output().expect("a second process");
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let stdout = text(output.stdout);
    let line = stdout.lines().find_map(|line| line.split_once("REPORT ")).expect("a report");
    (line.1.to_owned(), text(output.stderr))
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

/// Run by the other tests: the first call of the process is one of the driver API, and the program bound nothing.
#[test]
fn calls_without_binding() {
    if std::env::var_os("COALESCE_TEST").is_none() {
        return;
    }
    // From several threads: the driver is bound once, and said once.
    let first = || cust::init(cust::CudaFlags::empty()).map_err(|error| error as u32);
    let inits: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(first)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    let init = inits[0];
    assert!(inits.iter().all(|other| *other == init), "{inits:?}");
    let devices = cust::device::Device::num_devices().map_err(|error| error as u32);
    println!("\nREPORT {init:?} {devices:?}");
}

/// Run by the other tests: as above, with a call that has arguments of all kinds.
#[test]
fn calls_with_arguments_without_binding() {
    if std::env::var_os("COALESCE_TEST").is_none() {
        return;
    }
    let floats_first = std::env::var_os("COALESCE_TEST_FLOATS").is_some();
    let handle = |number: usize| std::ptr::without_provenance_mut::<std::ffi::c_void>(number);
    // SAFETY: the driver of the test takes numbers for pointers.
    let launch = || unsafe {
        let (f, stream, params, extra) =
            (handle(1).cast(), handle(9).cast(), handle(10).cast(), handle(11).cast());
        cust_raw::cuLaunchKernel(f, 2, 3, 4, 5, 6, 7, 8, stream, params, extra)
    };
    // SAFETY: as above.
    let clamp = || unsafe { cust_raw::cuTexRefSetMipmapLevelClamp(handle(1).cast(), 0.25, -2.5) };
    let outcomes = if floats_first {
        let floats = clamp();
        (launch(), floats)
    } else {
        (launch(), clamp())
    };
    println!("\nREPORT {outcomes:?}");
}

#[test]
fn a_first_call_binds_nvidias_driver_and_keeps_its_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path(), "libcuda.so.1", 0);
    let driver = ("COALESCE_DRIVER", library.as_path());
    assert_eq!(said_by("calls_without_binding", &[driver]).0, "Ok(()) Ok(3)");
    let test = "calls_with_arguments_without_binding";
    assert_eq!(said_by(test, &[driver]).0, "(CUDA_SUCCESS, CUDA_SUCCESS)");
    let floats = ("COALESCE_TEST_FLOATS", Path::new("1"));
    assert_eq!(said_by(test, &[driver, floats]).0, "(CUDA_SUCCESS, CUDA_SUCCESS)");
}

#[test]
fn a_first_call_without_a_gpu_binds_the_simulated_driver_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path(), "libcuda.so.1", 100);
    let (report, stderr) = said_by("calls_without_binding", &[("COALESCE_DRIVER", &library)]);
    assert_eq!(report, "Ok(()) Ok(1)");
    let note = "finds no GPU, so this program runs on a simulated h200; COALESCE_SIMULATE names another card";
    assert_eq!(stderr.matches(note).count(), 1, "{stderr}");
}

#[test]
fn cards_that_are_named_are_simulated_without_a_word() {
    let (report, stderr) =
        said_by("calls_without_binding", &[("COALESCE_SIMULATE", Path::new("c1060,h200"))]);
    assert_eq!((report.as_str(), stderr.as_str()), ("Ok(()) Ok(2)", ""));
}

#[test]
fn a_named_library_that_is_no_driver_is_not_replaced() {
    let nowhere = ("COALESCE_DRIVER", Path::new("/nowhere/libcuda.so.1"));
    let (report, stderr) = said_by("calls_without_binding", &[nowhere]);
    assert_eq!(report, "Err(3) Err(3)");
    assert!(stderr.contains("/nowhere/libcuda.so.1, does not load"), "{stderr}");
    assert_eq!(stderr.matches("does not load").count(), 1, "{stderr}");
}

/// A table without `cuInit` is refused and leaves the process free for another driver.
#[test]
fn a_table_without_init_binds_nothing() {
    if std::env::var_os("COALESCE_TEST").is_none() {
        // In a process of its own, in which nothing is bound.
        assert_eq!(said_by("a_table_without_init_binds_nothing", &[]).0, "bound");
        return;
    }
    extern "C" fn synchronize() -> i32 {
        0
    }
    let resolve = |name: &str| {
        (name == "cuCtxSynchronize")
            .then(|| std::ptr::NonNull::new(synchronize as *mut _).expect("a function"))
    };
    // SAFETY: the one function has the driver API's signature and is always there.
    let error = unsafe { bind(&resolve, "half a driver") }.expect_err("it has no cuInit");
    assert_eq!(error, TableError::NotADriver { wanted: "half a driver".to_owned() });
    assert!(bound().is_none());

    extern "C" fn init(_flags: u32) -> i32 {
        100
    }
    let resolve = |name: &str| match name {
        "cuInit" => std::ptr::NonNull::new(init as *mut _),
        _ => resolve(name),
    };
    // SAFETY: both functions have the driver API's signatures and are always there.
    let binding = unsafe { bind(&resolve, "a whole one") }.expect("nothing is bound yet");
    assert_eq!(binding.description(), "a whole one");
    // SAFETY: the calls have no pointers.
    let outcomes = unsafe { (cust_raw::cuInit(0), cust_raw::cuCtxSynchronize()) };
    assert_eq!(outcomes, (cust_raw::CUresult::CUDA_ERROR_NO_DEVICE, cust_raw::CUresult::CUDA_SUCCESS));
    println!("\nREPORT bound");
}
