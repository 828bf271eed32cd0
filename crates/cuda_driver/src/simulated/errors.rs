//! Describes the driver and its result codes.

use std::ffi::{c_char, c_int, c_uint};

use super::codes::INVALID_VALUE;
use super::driver::{self, DRIVER_VERSION};
use super::entry::Out;
use crate::Code;

entry_points! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        driver::initialise()
    }

    fn cuDriverGetVersion(version: Out<c_int>) {
        version.set(DRIVER_VERSION.0)
    }

    fn cuGetErrorName(code: c_int, text: Out<*const c_char>) {
        answer(text, Code(code).c_name())
    }

    fn cuGetErrorString(code: c_int, text: Out<*const c_char>) {
        answer(text, description(code).or_else(|| Code(code).c_name()))
    }

    fn cuProfilerStart() {
        super::contexts::current().map(drop)
    }

    fn cuProfilerStop() {
        super::contexts::current().map(drop)
    }
}

/// Returns a text that ends with a NUL and lives forever.
fn answer(text: Out<*const c_char>, found: Option<&'static str>) -> super::codes::Outcome {
    text.set(found.map_or(std::ptr::null(), |found| found.as_ptr().cast()))?;
    if found.is_some() { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Describes the codes that the simulated driver returns.
fn description(code: c_int) -> Option<&'static str> {
    Some(match code {
        0 => "no error\0",
        1 => "an argument is out of its range\0",
        2 => "out of memory\0",
        3 => "the driver is not initialised\0",
        4 => "the driver is shutting down\0",
        100 => "there is no CUDA device\0",
        101 => "there is no device with this number\0",
        200 => "the module's image is not valid\0",
        201 => "no context is current, or the context is not valid\0",
        209 => "the image has no PTX, which is what the simulated driver runs\0",
        215 => "the simulated driver has no such limit\0",
        217 => "simulated devices cannot access each other's memory\0",
        218 => "the PTX is not valid\0",
        222 => "the PTX is of a newer version than this driver reads\0",
        301 => "the file was not found\0",
        400 => "the handle is not valid\0",
        500 => "there is no object with this name\0",
        600 => "not ready\0",
        700 => "a kernel accessed an address that is not allocated\0",
        701 => "the launch needs more resources than a multiprocessor has\0",
        702 => "the kernel does not end: its threads are in deadlock, or a loop is endless\0",
        709 => "the context has been destroyed\0",
        710 => "an assertion in a kernel failed\0",
        712 => "the host memory is registered already\0",
        713 => "the host memory is not registered\0",
        714 => "a kernel's stack overflowed\0",
        715 => "a kernel executed an illegal instruction\0",
        716 => "a kernel accessed an address that is not aligned\0",
        719 => "a kernel failed\0",
        720 => "the cooperative launch has more blocks than the device holds at once\0",
        801 => "the simulated driver does not support this\0",
        900 => "the operation is not possible while a stream is captured\0",
        901 => "the capture was invalidated by an earlier error\0",
        902 => "the operation would merge two captures\0",
        903 => "the capture was not begun in this stream\0",
        904 => "the capture has work in streams that were not joined\0",
        905 => "the captured stream depends on work outside of the capture\0",
        906 => "the operation would depend on a captured stream by way of the default stream\0",
        907 => "the event was recorded in a capture\0",
        908 => "the capture was begun by another thread\0",
        912 => "the cluster has a size that the device cannot launch\0",
        999 => "an unknown error\0",
        _ => return None,
    })
}
