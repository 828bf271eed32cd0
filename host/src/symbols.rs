//! Variables of a module that the host reads and writes by name: constants, device globals, managed variables. Those of a
//! twin are reached through the twin's function, those of a kernel through the kernel's.
//!
//! The name gives an address. What is there the driver copies, but for a managed variable: that address is the host's as well
//! as the device's, and the host touches it there.

use anyhow::{Context, Result, bail};
use cuda_driver::ext;
use cust::{
    function::Function,
    memory::{CopyDestination, DevicePointer, DeviceSlice},
    sys,
};
use std::{ffi::CString, ptr};

/// A variable and what it holds before a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    /// Its name in the module.
    pub name: &'static str,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// Writes the variables of the module that `function` is from. The device has to be idle.
///
/// # Errors
/// The module has no such variable, or one of another size, or the driver fails.
pub(crate) fn write(function: &Function<'_>, symbols: &[Symbol]) -> Result<()> {
    for Symbol { name, bytes } in symbols {
        let (address, size) = find(function, name)?;
        if size != bytes.len() {
            bail!("the variable {name} has {size} bytes, and {} are to be written to it", bytes.len());
        }
        if is_managed(name, address)? {
            // SAFETY: the variable has that many bytes, lives as long as its module, which the function borrows, and is the
            // host's too; no launch is under way.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at_host(address), size) };
            continue;
        }
        // SAFETY: the variable has that many bytes and lives as long as its module, which the function borrows.
        unsafe {
            DeviceSlice::<u8>::from_raw_parts_mut(DevicePointer::from_raw(address), size).copy_from(bytes)
        }
        .with_context(|| format!("writing the variable {name} failed"))?;
    }
    Ok(())
}

/// The value of a variable in the module of `function`. The device has to be idle.
///
/// # Errors
/// The module has no such variable, or the driver fails.
pub(crate) fn read(function: &Function<'_>, name: &str) -> Result<Vec<u8>> {
    let (address, size) = find(function, name)?;
    let mut bytes = vec![0; size];
    if is_managed(name, address)? {
        // SAFETY: as for writing.
        unsafe { ptr::copy_nonoverlapping(at_host(address), bytes.as_mut_ptr(), size) };
        return Ok(bytes);
    }
    // SAFETY: as for writing.
    unsafe { DeviceSlice::<u8>::from_raw_parts(DevicePointer::from_raw(address), size).copy_to(&mut bytes) }
        .with_context(|| format!("reading the variable {name} failed"))?;
    Ok(bytes)
}

/// Whether a variable is in managed memory.
fn is_managed(name: &str, address: u64) -> Result<bool> {
    ext::pointer_is_managed(address)
        .with_context(|| format!("the driver does not tell where the variable {name} lies"))
}

/// The host's pointer to managed memory.
fn at_host(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// The kernel of this name in the module of another.
///
/// # Errors
/// The module has none, or the driver fails.
pub(crate) fn kernel(function: &Function<'_>, name: &str) -> Result<sys::CUfunction> {
    let (module, text) = within(function, name)?;
    let mut found = ptr::null_mut();
    // SAFETY: the module is alive as long as its function, the name ends, and the pointer can be written.
    let code = unsafe { sys::cuModuleGetFunction(&raw mut found, module, text.as_ptr()) };
    if code != sys::cudaError_enum::CUDA_SUCCESS {
        bail!("the kernel's module has no kernel {name} ({code:?})");
    }
    Ok(found)
}

/// The module of a kernel, and a name to look for in it.
fn within(function: &Function<'_>, name: &str) -> Result<(sys::CUmodule, CString)> {
    let text = CString::new(name).with_context(|| format!("'{name}' cannot be a name in a module"))?;
    let mut module = ptr::null_mut();
    // SAFETY: the function is one of the driver's and alive, and the pointer can be written.
    let code = unsafe { sys::cuFuncGetModule(&raw mut module, function.to_raw()) };
    if code != sys::cudaError_enum::CUDA_SUCCESS {
        bail!("the driver does not tell the module of a kernel ({code:?}), so {name} cannot be reached");
    }
    Ok((module, text))
}

/// The address of a variable, and its length in bytes.
fn find(function: &Function<'_>, name: &str) -> Result<(u64, usize)> {
    let (module, text) = within(function, name)?;
    let (mut address, mut size) = (0, 0);
    // SAFETY: the module is alive as long as its function, the name ends, and the pointers can be written.
    let code = unsafe { sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, module, text.as_ptr()) };
    if code != sys::cudaError_enum::CUDA_SUCCESS {
        bail!("the kernel's module has no variable {name} ({code:?})");
    }
    Ok((address, size))
}
