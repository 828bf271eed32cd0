//! NVML for tests: a card at 1755 MHz that is allowed 700 W. All of its `unsafe` has the fake driver's reason.

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "named, and with the contracts, of the real library")]

use std::ffi::{CStr, c_char, c_int, c_uint};

const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(text: *mut c_char, length: c_uint) -> c_int {
    let version = c"580.00".to_bytes_with_nul();
    assert!(version.len() <= length as usize);
    unsafe { text.copy_from_nonoverlapping(version.as_ptr().cast(), version.len()) };
    SUCCESS
}

/// The card has the place that the fake driver tells.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(place: *const c_char, device: *mut usize) -> c_int {
    if unsafe { CStr::from_ptr(place) } != c"00000000:18:00.0" {
        return NOT_FOUND;
    }
    unsafe { *device = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(_device: usize, milliwatts: *mut c_uint) -> c_int {
    unsafe { *milliwatts = 700_000 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetClockInfo(_device: usize, _clock: c_uint, megahertz: *mut c_uint) -> c_int {
    unsafe { *megahertz = 1755 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature() -> c_int {
    NOT_SUPPORTED
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons() -> c_int {
    NOT_SUPPORTED
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTotalEnergyConsumption() -> c_int {
    NOT_SUPPORTED
}
