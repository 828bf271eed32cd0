//! Devices: the simulated cards by number, name, bus and identifier.

use std::ffi::{c_char, c_int};

use super::attributes;
use super::codes::{INVALID_DEVICE, INVALID_VALUE, Outcome};
use super::driver::{Device, driver};
use super::entry::{In, Out};
use super::visible;

/// `CUdevprop`, which attributes replaced in CUDA 5.
#[derive(Clone, Copy)]
#[repr(C)]
struct Properties {
    threads_per_block: c_int,
    threads: [c_int; 3],
    blocks: [c_int; 3],
    shared_bytes: c_int,
    constant_bytes: c_int,
    lanes: c_int,
    pitch: c_int,
    registers: c_int,
    clock_khz: c_int,
    texture_alignment: c_int,
}

/// Returns "0000:01:00.0": each device is on a bus of its own, from 1 on.
fn bus(device: &Device) -> String {
    format!("0000:{:02x}:00.0", device.slot + 1)
}

/// Returns an identifier that is the same in each run.
fn uuid(device: &Device) -> [u8; 16] {
    visible::uuid(device.slot, &device.card.key)
}

fn room(length: c_int) -> Outcome<usize> {
    usize::try_from(length).map_err(|_| INVALID_VALUE)
}

entry_points! {
    fn cuDeviceGetCount(count: Out<c_int>) {
        count.set(driver()?.devices.len() as c_int)
    }

    fn cuDeviceGet(out: Out<c_int>, ordinal: c_int) {
        let driver = driver()?;
        out.wanted()?;
        out.set(driver.device(ordinal)?.ordinal as c_int)
    }

    fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: c_int) {
        name.set_text(&driver()?.device(device)?.name(), room(length)?)
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        bytes.set(driver()?.device(device)?.bytes as usize)
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        let device = driver()?.device(device)?;
        value.set(attributes::of(&device.card, device.slot, attribute)?)
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        let capability = driver()?.device(device)?.card.compute_capability;
        minor.wanted()?;
        major.set(capability.major.into())?;
        minor.set(capability.minor.into())
    }

    fn cuDeviceGetProperties(out: Out<Properties>, device: c_int) {
        let device = driver()?.device(device)?;
        let of = |attribute| attributes::of(&device.card, device.slot, attribute);
        out.set(Properties {
            threads_per_block: of(1)?,
            threads: [of(2)?, of(3)?, of(4)?],
            blocks: [of(5)?, of(6)?, of(7)?],
            shared_bytes: of(8)?,
            constant_bytes: of(9)?,
            lanes: of(10)?,
            pitch: of(11)?,
            registers: of(12)?,
            clock_khz: of(13)?,
            texture_alignment: of(14)?,
        })
    }

    fn cuDeviceGetUuid(out: Out<[u8; 16]>, device: c_int) {
        out.set(uuid(driver()?.device(device)?))
    }

    fn cuDeviceGetUuid_v2(out: Out<[u8; 16]>, device: c_int) {
        out.set(uuid(driver()?.device(device)?))
    }

    fn cuDeviceGetPCIBusId(out: Out<c_char>, length: c_int, device: c_int) {
        out.set_text(&bus(driver()?.device(device)?), room(length)?)
    }

    fn cuDeviceGetByPCIBusId(out: Out<c_int>, text: In<c_char>) {
        let driver = driver()?;
        let text = text.text()?.to_lowercase();
        out.wanted()?;
        let found = driver.devices.iter().find(|device| {
            let bus = bus(device);
            // Domain and function may be left out.
            [bus.as_str(), &bus[5..], &bus[5..10]].contains(&text.as_str())
        });
        out.set(found.ok_or(INVALID_DEVICE)?.ordinal as c_int)
    }

    fn cuDeviceGetExecAffinitySupport(out: Out<c_int>, _kind: c_int, device: c_int) {
        driver()?.device(device)?;
        out.set(0)
    }
}
