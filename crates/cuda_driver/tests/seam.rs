//! A driver of a few Rust functions behind the seam: what reaches it, what cust makes of it, and what it
//! lacks.
//!
//! A binding lasts as long as the process, so all tests here share one, made by whichever comes first.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::Mutex;

use cuda_driver::{BindError, TableError, bind, bind_nvidia, bound};
use cust_raw as sys;

/// A driver with one device.
mod fake {
    use super::*;

    pub(super) static LAUNCH: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    pub(super) static FLOATS: Mutex<Vec<f32>> = Mutex::new(Vec::new());

    extern "C" fn init(flags: c_uint) -> c_int {
        if flags == 0 { 0 } else { 1 }
    }

    extern "C" fn driver_get_version(version: *mut c_int) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe { *version = 12040 };
        0
    }

    extern "C" fn device_get_count(count: *mut c_int) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe { *count = 1 };
        0
    }

    extern "C" fn device_get(device: *mut c_int, ordinal: c_int) -> c_int {
        if ordinal != 0 {
            return 101;
        }
        // SAFETY: the caller's pointer can be written.
        unsafe { *device = 7 };
        0
    }

    extern "C" fn device_get_name(name: *mut c_char, length: c_int, device: c_int) -> c_int {
        let text = format!("Device {device}\0");
        assert!(text.len() <= length as usize);
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { name.copy_from_nonoverlapping(text.as_ptr().cast(), text.len()) };
        0
    }

    extern "C" fn device_total_memory(bytes: *mut usize, _device: c_int) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe { *bytes = 141 << 30 };
        0
    }

    extern "C" fn launch_kernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: *mut c_void,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> c_int {
        *LAUNCH.lock().expect("lock") = vec![
            function as u64,
            grid_x.into(),
            grid_y.into(),
            grid_z.into(),
            block_x.into(),
            block_y.into(),
            block_z.into(),
            shared.into(),
            stream as u64,
            parameters as u64,
            extra as u64,
        ];
        719
    }

    extern "C" fn set_level_clamp(_texture: *mut c_void, minimum: f32, maximum: f32) -> c_int {
        *FLOATS.lock().expect("lock") = vec![minimum, maximum];
        0
    }

    pub(super) fn resolve(name: &str) -> Option<NonNull<c_void>> {
        let function = match name {
            "cuInit" => init as *mut c_void,
            "cuDriverGetVersion" => driver_get_version as *mut c_void,
            "cuDeviceGetCount" => device_get_count as *mut c_void,
            "cuDeviceGet" => device_get as *mut c_void,
            "cuDeviceGetName" => device_get_name as *mut c_void,
            "cuDeviceTotalMem_v2" => device_total_memory as *mut c_void,
            "cuLaunchKernel" => launch_kernel as *mut c_void,
            "cuTexRefSetMipmapLevelClamp" => set_level_clamp as *mut c_void,
            // The program's own stub: a jump to itself, were it taken.
            "cuCtxSynchronize" => sys::cuCtxSynchronize as *mut c_void,
            _ => return None,
        };
        NonNull::new(function)
    }
}

fn bind_fake() -> &'static cuda_driver::Binding {
    static ONCE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONCE.lock().expect("lock");
    // SAFETY: the functions of `fake` have the driver API's signatures and are always there.
    bound()
        .unwrap_or_else(|| unsafe { bind(&fake::resolve, "a fake driver") }.expect("nothing else is bound"))
}

#[test]
fn cust_works_over_it() {
    bind_fake();
    cust::init(cust::CudaFlags::empty()).expect("cuInit");
    let version = cust::CudaApiVersion::get().expect("cuDriverGetVersion");
    assert_eq!((version.major(), version.minor()), (12, 4));
    let devices: Vec<_> = cust::device::Device::devices().expect("cuDeviceGetCount").collect();
    assert_eq!(devices.len(), 1);
    let device = devices[0].as_ref().expect("cuDeviceGet");
    assert_eq!(device.name().expect("cuDeviceGetName"), "Device 7");
    assert_eq!(device.total_memory().expect("cuDeviceTotalMem_v2"), 141 << 30);
    let error = cust::device::Device::get_device(1).expect_err("there is one device");
    assert_eq!(error, cust::error::CudaError::InvalidDevice);
}

#[test]
fn eleven_arguments_arrive_in_order() {
    bind_fake();
    // SAFETY: the fake driver only looks at the arguments, it follows none of the pointers.
    let outcome = unsafe {
        sys::cuLaunchKernel(
            0x1111_2222_3333_4444 as *mut _,
            u32::MAX,
            2,
            3,
            4,
            5,
            6,
            0xfedc_ba98,
            0x5555_6666_7777_8888_u64 as *mut _,
            0x9999_aaaa_bbbb_cccc_u64 as *mut _,
            0xdddd_eeee_ffff_0001_u64 as *mut _,
        )
    };
    assert_eq!(outcome, sys::CUresult::CUDA_ERROR_LAUNCH_FAILED);
    let expected = [
        0x1111_2222_3333_4444,
        u64::from(u32::MAX),
        2,
        3,
        4,
        5,
        6,
        0xfedc_ba98,
        0x5555_6666_7777_8888,
        0x9999_aaaa_bbbb_cccc,
        0xdddd_eeee_ffff_0001,
    ];
    assert_eq!(*fake::LAUNCH.lock().expect("lock"), expected);
}

#[test]
fn floats_arrive_among_pointers() {
    bind_fake();
    // SAFETY: the fake driver only looks at the arguments.
    let outcome = unsafe { sys::cuTexRefSetMipmapLevelClamp(std::ptr::null_mut(), -0.5, 1.0e30) };
    assert_eq!(outcome, sys::CUresult::CUDA_SUCCESS);
    assert_eq!(*fake::FLOATS.lock().expect("lock"), [-0.5, 1.0e30]);
}

#[test]
fn a_second_driver_is_refused() {
    bind_fake();
    // SAFETY: the functions of `fake` have the driver API's signatures and are always there.
    let error = unsafe { bind(&fake::resolve, "another driver") }.expect_err("one is bound");
    let already =
        TableError::AlreadyBound { current: "a fake driver".to_owned(), wanted: "another driver".to_owned() };
    assert_eq!(error, already);
    assert!(error.to_string().contains("already lead to a fake driver"), "{error}");
    match bind_nvidia() {
        // With or without a driver on this machine, nothing but the fake one may stay bound.
        Err(BindError::AlreadyBound { current, .. }) => assert_eq!(current, "a fake driver"),
        Err(BindError::NotFound { .. } | BindError::NotStarted { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(bound().map(|binding| binding.description()), Some("a fake driver"));
}

#[test]
fn errors_can_be_shown_though_the_driver_has_no_texts() {
    bind_fake();
    let error = cust::device::Device::get_device(1).expect_err("there is one device");
    assert_eq!(error.to_string(), "\"CUDA_ERROR_INVALID_DEVICE\"");
}

/// Run by the next test in a process of its own, for the sake of its stderr.
#[test]
fn what_is_missing_is_not_supported() {
    let missing = bind_fake().missing();
    let known = cuda_driver::CUST_ENTRY_POINTS.len() + cuda_driver::NEWER_ENTRY_POINTS.len();
    assert_eq!(missing.len(), known - 8);
    assert!(missing.contains(&"cuCtxGetDevice") && missing.contains(&"cuCtxSynchronize"));
    assert!(!missing.contains(&"cuLaunchKernel"));
    for _ in 0..3 {
        let mut device = -1;
        // SAFETY: the pointer can be written.
        let outcome = unsafe { sys::cuCtxGetDevice(&raw mut device) };
        assert_eq!((outcome, device), (sys::CUresult::CUDA_ERROR_NOT_SUPPORTED, -1));
        // SAFETY: the call has no arguments.
        let outcome = unsafe { sys::cuCtxSynchronize() };
        assert_eq!(outcome, sys::CUresult::CUDA_ERROR_NOT_SUPPORTED, "its own stub, so missing");
    }
}

#[test]
fn what_is_missing_is_named_once() {
    let output = Command::new(std::env::current_exe().expect("this test's program"))
        .args(["--exact", "what_is_missing_is_not_supported", "--nocapture"])
        .output()
        .expect("a second process");
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let lines: Vec<_> = stderr.lines().filter(|line| line.contains("lacks")).collect();
    assert_eq!(
        lines,
        [
            "a fake driver lacks cuCtxGetDevice: the call returns CUDA_ERROR_NOT_SUPPORTED",
            "a fake driver lacks cuCtxSynchronize: the call returns CUDA_ERROR_NOT_SUPPORTED",
        ]
    );
}

#[test]
fn a_closed_stderr_does_no_harm() {
    let program = std::env::current_exe().expect("this test's program");
    let status = Command::new("sh")
        .args(["-c", "\"$0\" --exact what_is_missing_is_not_supported --nocapture 2>&-"])
        .arg(program)
        .stdout(std::process::Stdio::null())
        .status()
        .expect("a second process");
    assert!(status.success(), "{status}");
}
