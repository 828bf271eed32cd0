//! Variables of a module that the host reads and writes by name: constants, device globals, managed variables. Those of a
//! twin are reached through the twin's function, those of a kernel through the kernel's.

use anyhow::{Context, Result, bail};
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

/// Writes the variables of the module that `function` is from.
///
/// # Errors
/// The module has no such variable, or one of another size, or the driver fails.
pub(crate) fn write(function: &Function<'_>, symbols: &[Symbol]) -> Result<()> {
    for Symbol { name, bytes } in symbols {
        let (address, size) = find(function, name)?;
        if size != bytes.len() {
            bail!("the variable {name} has {size} bytes, and {} are to be written to it", bytes.len());
        }
        // SAFETY: the variable has so many bytes and lives as long as its module, which the function borrows.
        unsafe {
            DeviceSlice::<u8>::from_raw_parts_mut(DevicePointer::from_raw(address), size).copy_from(bytes)
        }
        .with_context(|| format!("writing the variable {name} failed"))?;
    }
    Ok(())
}

/// What a variable of the module that `function` is from holds.
///
/// # Errors
/// The module has no such variable, or the driver fails.
pub(crate) fn read(function: &Function<'_>, name: &str) -> Result<Vec<u8>> {
    let (address, size) = find(function, name)?;
    let mut bytes = vec![0; size];
    // SAFETY: as for writing.
    unsafe { DeviceSlice::<u8>::from_raw_parts(DevicePointer::from_raw(address), size).copy_to(&mut bytes) }
        .with_context(|| format!("reading the variable {name} failed"))?;
    Ok(bytes)
}

/// Where a variable is, and its length in bytes.
fn find(function: &Function<'_>, name: &str) -> Result<(u64, usize)> {
    let text = CString::new(name).with_context(|| format!("'{name}' cannot be a variable's name"))?;
    let mut module = ptr::null_mut();
    // SAFETY: the function is one of the driver's and alive, and the pointer can be written.
    let code = unsafe { sys::cuFuncGetModule(&raw mut module, function.to_raw()) };
    if code != sys::cudaError_enum::CUDA_SUCCESS {
        bail!("the driver does not tell the module of a kernel ({code:?}), so {name} cannot be reached");
    }
    let (mut address, mut size) = (0, 0);
    // SAFETY: the module is alive as long as its function, the name ends, and the pointers can be written.
    let code = unsafe { sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, module, text.as_ptr()) };
    if code != sys::cudaError_enum::CUDA_SUCCESS {
        bail!("the kernel's module has no variable {name} ({code:?})");
    }
    Ok((address, size))
}
