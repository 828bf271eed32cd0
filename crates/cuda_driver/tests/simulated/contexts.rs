//! Devices and contexts on the simulated driver.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use cuda_driver::ext;
use cust::context::legacy::Context as LegacyContext;
use cust::context::{CacheConfig, Context, ContextFlags, CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust_raw as sys;

use crate::common::{OwnContext, bind, gives, ok};

const INVALID_VALUE: c_int = 1;
const INVALID_DEVICE: c_int = 101;
const INVALID_CONTEXT: c_int = 201;
const CONTEXT_IS_DESTROYED: c_int = 709;

fn init() -> bool {
    let simulated = bind();
    cust::init(cust::CudaFlags::empty()).expect("a driver");
    simulated
}

#[test]
fn the_device_is_the_card() {
    let simulated = init();
    assert_eq!(Device::num_devices(), Ok(1));
    let device = Device::get_device(0).expect("a device");
    let attribute = |attribute| device.get_attribute(attribute).expect("an attribute");
    assert_eq!(attribute(DeviceAttribute::WarpSize), 32);
    assert_eq!(attribute(DeviceAttribute::MaxThreadsPerBlock), 1024);
    assert_eq!(attribute(DeviceAttribute::MaxBlockDimZ), 64);
    assert_eq!(attribute(DeviceAttribute::MaxGridDimX), i32::MAX);
    assert_eq!(attribute(DeviceAttribute::MaxSharedMemoryPerBlock), 48 << 10);
    assert_eq!(attribute(DeviceAttribute::MultiprocessorCount), 132);
    assert_eq!(attribute(DeviceAttribute::ClockRate), 1_980_000);
    assert_eq!(attribute(DeviceAttribute::MaxThreadsPerMultiprocessor), 2048);
    assert_eq!(attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor), 228 << 10);
    assert_eq!(attribute(DeviceAttribute::MaxRegistersPerBlock), 65_536);
    assert_eq!(
        (
            attribute(DeviceAttribute::ComputeCapabilityMajor),
            attribute(DeviceAttribute::ComputeCapabilityMinor)
        ),
        (9, 0)
    );
    assert_eq!(attribute(DeviceAttribute::ConcurrentManagedAccess), 1);
    assert_eq!(attribute(DeviceAttribute::UnifiedAddressing), 1);
    for number in [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 31, 36, 37, 38, 39, 41, 51, 75,
        76, 78, 79, 80, 81, 82, 83, 87, 89, 90, 91, 95, 97, 99, 106, 111, 113, 115,
    ] {
        println!("ATTRIBUTE {number} {:?}", ext::device_attribute(0, ext::DeviceAttribute(number)));
    }
    if simulated {
        assert_eq!(device.name().as_deref(), Ok("NVIDIA H200 (modelled)"));
        assert_eq!(device.total_memory(), Ok(1 << 30));
        assert_eq!(
            attribute(DeviceAttribute::L2CacheSize),
            simt::cards::find("h200").expect("a card").l2_bytes as i32
        );
        let clock = f64::from(attribute(DeviceAttribute::MemoryClockRate));
        let bus = f64::from(attribute(DeviceAttribute::GlobalMemoryBusWidth));
        assert!((2.0 * clock * 1e3 * bus / 8.0 / 1e9 - 4814.304).abs() < 0.01);
        assert_eq!(
            ext::device_uuid(0).expect("a UUID").to_string(),
            "GPU-73696d00-6832-3030-0000-000000000000"
        );
    }
    assert_eq!(Device::get_device(1), Err(cust::error::CudaError::InvalidDevice));
}

#[test]
fn devices_are_found_by_their_bus() {
    let simulated = init();
    let mut text = [0 as c_char; 16];
    let mut device = 9;
    // SAFETY: pointers can be written, and texts end with a NUL.
    unsafe {
        ok(sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, 0));
        ok(sys::cuDeviceGetByPCIBusId(&raw mut device, text.as_ptr()));
        assert_eq!(device, 0);
        gives(sys::cuDeviceGetByPCIBusId(&raw mut device, c"0000:fe:00.0".as_ptr()), INVALID_DEVICE);
        gives(sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, 3), INVALID_DEVICE);
        gives(sys::cuDeviceGetName(text.as_mut_ptr(), 16, -1), INVALID_DEVICE);
        gives(sys::cuDeviceGetCount(ptr::null_mut()), INVALID_VALUE);
        // A short buffer has as much of the name as it holds, and its end.
        ok(sys::cuDeviceGetName(text.as_mut_ptr(), 7, 0));
        assert_eq!(CStr::from_ptr(text.as_ptr()), c"NVIDIA");
        let mut peer = 9;
        ok(sys::cuDeviceCanAccessPeer(&raw mut peer, 0, 0));
        assert_eq!(peer, 0);
        gives(sys::cuDeviceCanAccessPeer(&raw mut peer, 0, 5), INVALID_DEVICE);
    }
    if simulated {
        // SAFETY: the text ends with a NUL.
        assert_eq!(unsafe { CStr::from_ptr(text.as_ptr()) }, c"NVIDIA");
    }
}

#[test]
fn the_primary_context_is_shared_and_counted() {
    init();
    let device = Device::get_device(0).expect("a device");
    let first = Context::new(device).expect("a context");
    let second = Context::new(device).expect("the same");
    assert_eq!(first.as_raw(), second.as_raw());
    assert_eq!(CurrentContext::get_device().expect("a device").as_raw(), 0);
    let (mut flags, mut active) = (9, 9);
    // SAFETY: pointers can be written.
    unsafe {
        ok(sys::cuDevicePrimaryCtxGetState(0, &raw mut flags, &raw mut active));
        assert_eq!(active, 1);
        let mut third = ptr::null_mut();
        ok(sys::cuDevicePrimaryCtxRetain(&raw mut third, 0));
        assert_eq!(third, first.as_raw());
        ok(sys::cuDevicePrimaryCtxRelease_v2(0));
        gives(sys::cuDevicePrimaryCtxRetain(&raw mut third, 9), INVALID_DEVICE);
        gives(sys::cuCtxDestroy_v2(first.as_raw()), INVALID_CONTEXT);
    }
    drop(second);
    assert!(CurrentContext::synchronize().is_ok());
    first.set_flags(ContextFlags::SCHED_BLOCKING_SYNC).expect("flags");
}

#[test]
fn contexts_are_stacked_in_each_thread() {
    init();
    let mut none = ptr::null_mut();
    // SAFETY: pointers can be written.
    unsafe {
        ok(sys::cuCtxGetCurrent(&raw mut none));
        assert!(none.is_null());
        gives(sys::cuCtxSynchronize(), INVALID_CONTEXT);
        gives(sys::cuCtxPopCurrent_v2(&raw mut none), INVALID_CONTEXT);
        gives(sys::cuMemAlloc_v2(&mut 0, 64), INVALID_CONTEXT);
        let mut device = 9;
        gives(sys::cuCtxGetDevice(&raw mut device), INVALID_CONTEXT);
    }
    let first = OwnContext::new();
    let second = OwnContext::new();
    let current = || {
        let mut current = ptr::null_mut();
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuCtxGetCurrent(&raw mut current) });
        current
    };
    assert_eq!(current(), second.0);
    // SAFETY: the contexts are alive.
    unsafe {
        let mut popped = ptr::null_mut();
        ok(sys::cuCtxPopCurrent_v2(&raw mut popped));
        assert_eq!((popped, current()), (second.0, first.0));
        ok(sys::cuCtxPushCurrent_v2(second.0));
        ok(sys::cuCtxSetCurrent(first.0));
        assert_eq!(current(), first.0);
        ok(sys::cuCtxSetCurrent(ptr::null_mut()));
        assert_eq!(current(), first.0, "the one below is current again");
        let mut version = 0;
        ok(sys::cuCtxGetApiVersion(first.0, &raw mut version));
        assert!(version >= 3010, "{version}");
    }
    let raw = first.0 as usize;
    std::thread::spawn(move || {
        // SAFETY: the context is alive until the thread has ended.
        unsafe {
            gives(sys::cuCtxSynchronize(), INVALID_CONTEXT);
            ok(sys::cuCtxSetCurrent(ptr::with_exposed_provenance_mut(raw)));
            ok(sys::cuCtxSynchronize());
        }
    })
    .join()
    .expect("the thread");
}

#[test]
fn a_destroyed_context_is_known_as_such() {
    if !init() {
        return;
    }
    let context = OwnContext::new();
    let raw = context.0 as usize;
    let (said, gone) = std::sync::mpsc::channel::<()>();
    let (is, there) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        // SAFETY: the handle is looked up, not followed.
        unsafe {
            ok(sys::cuCtxSetCurrent(ptr::with_exposed_provenance_mut(raw)));
            is.send(()).expect("a listener");
            gone.recv().expect("a word");
            gives(sys::cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
            gives(sys::cuMemAlloc_v2(&mut 0, 64), CONTEXT_IS_DESTROYED);
        }
    });
    let (handle, address) = (context.0, crate::common::allocate(64));
    there.recv().expect("a word");
    drop(context);
    said.send(()).expect("a listener");
    thread.join().expect("the thread");
    // SAFETY: handles are looked up, not followed.
    unsafe {
        gives(sys::cuCtxSynchronize(), INVALID_CONTEXT);
        gives(sys::cuCtxDestroy_v2(handle), INVALID_CONTEXT);
        gives(sys::cuCtxPushCurrent_v2(handle), INVALID_CONTEXT);
        let _other = OwnContext::new();
        gives(sys::cuMemFree_v2(address), INVALID_VALUE);
    }
}

#[test]
fn limits_and_preferences_are_kept() {
    let simulated = init();
    let device = Device::get_device(0).expect("a device");
    let context = LegacyContext::create_and_push(cust::context::legacy::ContextFlags::SCHED_AUTO, device);
    let context = context.expect("a context");
    CurrentContext::set_cache_config(CacheConfig::PreferL1).expect("a preference");
    assert_eq!(CurrentContext::get_cache_config(), Ok(CacheConfig::PreferL1));
    for limit in [ResourceLimit::StackSize, ResourceLimit::PrintfFifoSize, ResourceLimit::MallocHeapSize] {
        println!("LIMIT {limit:?} {:?}", CurrentContext::get_resource_limit(limit));
    }
    CurrentContext::set_resource_limit(ResourceLimit::StackSize, 4096).expect("a limit");
    assert_eq!(CurrentContext::get_resource_limit(ResourceLimit::StackSize), Ok(4096));
    let range = CurrentContext::get_stream_priority_range().expect("a range");
    assert_eq!((range.least, range.greatest), (0, -5));
    // SAFETY: the pointer can be written; numbers of no limit are refused.
    unsafe {
        let mut value = 0;
        let limit = std::mem::transmute::<c_int, sys::CUlimit>(5);
        ok(sys::cuCtxGetLimit(&raw mut value, limit));
        println!("LIMIT fetch {value}");
        gives(sys::cuCtxGetLimit(ptr::null_mut(), limit), INVALID_VALUE);
        gives(sys::cuCtxCreate_v2(&mut ptr::null_mut(), 0x1000, 0), INVALID_VALUE);
        gives(sys::cuCtxCreate_v2(ptr::null_mut(), 0, 0), INVALID_VALUE);
        gives(sys::cuCtxCreate_v2(&mut ptr::null_mut(), 0, 7), INVALID_DEVICE);
    }
    if simulated {
        assert_eq!(ext::driver_version().map(|version| version.0), Ok(13_040));
    }
    drop(context);
}

#[test]
fn codes_have_names_and_words() {
    init();
    for code in [0, 1, 100, 201, 218, 400, 500, 700, 719, 900] {
        let code = cuda_driver::Code(code);
        assert!(ext::error_text(code).is_some_and(|text| text.len() > 5), "{code}");
    }
    let mut text = ptr::null();
    // SAFETY: the pointer can be written, and texts end with a NUL.
    unsafe {
        let name = std::mem::transmute::<c_int, sys::CUresult>(700);
        ok(sys::cuGetErrorName(name, &raw mut text));
        assert_eq!(CStr::from_ptr(text), c"CUDA_ERROR_ILLEGAL_ADDRESS");
    }
    assert_eq!(ext::error_text(cuda_driver::Code(12_345)), None);
}
