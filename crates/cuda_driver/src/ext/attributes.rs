//! Attributes of the driver, of devices, functions and pointers.

use std::ffi::c_int;
use std::fmt;

use super::raw::{self, CUdevice, CUdeviceptr, CUfunction, CUuuid};
use super::{Check, Result};
use crate::DriverVersion;

/// Returns the newest CUDA version that the bound driver supports.
///
/// # Errors
///
/// `CUDA_ERROR_NOT_INITIALIZED` without a driver.
pub fn driver_version() -> Result<DriverVersion> {
    let mut version = 0;
    // SAFETY: the pointer can be written.
    unsafe { raw::cuDriverGetVersion(&raw mut version) }.of("cuDriverGetVersion")?;
    Ok(DriverVersion(version))
}

/// An attribute of a device, by the driver API's number, so that attributes without a name here can be queried.
///
/// `cust` has the attributes up to CUDA 8; these are later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceAttribute(pub c_int);

impl DeviceAttribute {
    /// 1 if the device reads and writes pageable host memory as its own.
    pub const PAGEABLE_MEMORY_ACCESS: Self = Self(88);
    /// 1 if host and device may access managed memory at the same time.
    pub const CONCURRENT_MANAGED_ACCESS: Self = Self(89);
    /// 1 if the device accepts cooperative launches.
    pub const COOPERATIVE_LAUNCH: Self = Self(95);
    /// Most shared memory of a block after [`set_max_dynamic_shared_memory`], in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: Self = Self(97);
    /// 1 if pageable host memory is accessed through the host's own page tables.
    pub const PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: Self = Self(100);
    /// 1 if the host accesses managed memory on the device without migrating it.
    pub const DIRECT_MANAGED_MEMORY_ACCESS_FROM_HOST: Self = Self(101);
    /// Most resident blocks of a multiprocessor.
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: Self = Self(106);
    /// The part of the L2 cache that can be set aside for persisting lines, in bytes.
    pub const MAX_PERSISTING_L2_CACHE_SIZE: Self = Self(108);
    /// The largest window of an access policy, in bytes.
    pub const MAX_ACCESS_POLICY_WINDOW_SIZE: Self = Self(109);
    /// Shared memory that the driver reserves in each block, in bytes.
    pub const RESERVED_SHARED_MEMORY_PER_BLOCK: Self = Self(111);
    /// 1 if the device launches clusters of blocks.
    pub const CLUSTER_LAUNCH: Self = Self(120);
    /// 1 if the device has the bulk copy engine of tensor maps.
    pub const TENSOR_MAP_ACCESS_SUPPORTED: Self = Self(127);
}

/// Returns an attribute of a device (`device.as_raw()` of cust's).
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the driver does not know the attribute, `CUDA_ERROR_INVALID_DEVICE`.
pub fn device_attribute(device: CUdevice, attribute: DeviceAttribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: the pointer can be written, and a device is a number that the driver checks.
    unsafe { raw::cuDeviceGetAttribute(&raw mut value, attribute.0, device) }.of("cuDeviceGetAttribute")?;
    Ok(value)
}

/// Identifier of a device, the same in each process and after each start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    /// Writes the identifier as `nvidia-smi` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU-")?;
        for (position, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&position) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// Returns a device's identifier.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_DEVICE`.
pub fn device_uuid(device: CUdevice) -> Result<Uuid> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the pointer can be written, and a device is a number that the driver checks.
    unsafe { raw::cuDeviceGetUuid(&raw mut uuid, device) }.of("cuDeviceGetUuid")?;
    Ok(Uuid(uuid.bytes))
}

/// An attribute of a kernel, by the driver API's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionAttribute(pub c_int);

impl FunctionAttribute {
    /// Most dynamic shared memory that a launch may request, in bytes; at first what fits without opting in.
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: Self = Self(8);
    /// Preferred share of a multiprocessor's memory to use as shared memory, in per cent; -1 for no preference.
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: Self = Self(9);
    /// 1 if a launch must state the cluster's size.
    pub const CLUSTER_SIZE_MUST_BE_SET: Self = Self(10);
    /// Width of the cluster for which the kernel was compiled; 0 if open.
    pub const REQUIRED_CLUSTER_WIDTH: Self = Self(11);
    /// Height of that cluster; 0 if open.
    pub const REQUIRED_CLUSTER_HEIGHT: Self = Self(12);
    /// Depth of that cluster; 0 if open.
    pub const REQUIRED_CLUSTER_DEPTH: Self = Self(13);
    /// 1 if clusters of more than 8 blocks may be launched, which not every device can.
    pub const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: Self = Self(14);
}

/// Returns an attribute of a kernel (`function.to_raw()` of cust's).
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the driver does not know the attribute.
///
/// # Safety
///
/// The kernel's module must be loaded.
pub unsafe fn function_attribute(function: CUfunction, attribute: FunctionAttribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: the pointer can be written; the caller vouches for the handle.
    unsafe { raw::cuFuncGetAttribute(&raw mut value, attribute.0, function) }.of("cuFuncGetAttribute")?;
    Ok(value)
}

/// Sets an attribute of a kernel.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the value is out of the device's range or the attribute cannot be set.
///
/// # Safety
///
/// The kernel's module must be loaded.
pub unsafe fn set_function_attribute(
    function: CUfunction,
    attribute: FunctionAttribute,
    value: i32,
) -> Result<()> {
    // SAFETY: the caller vouches for the handle.
    unsafe { raw::cuFuncSetAttribute(function, attribute.0, value) }.of("cuFuncSetAttribute")
}

/// Lets launches of a kernel request up to this much dynamic shared memory, in bytes. Above 48 KiB no launch succeeds
/// without it; the limit is [`DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`], less the kernel's static shared
/// memory.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` above the limit.
///
/// # Safety
///
/// The kernel's module must be loaded.
pub unsafe fn set_max_dynamic_shared_memory(function: CUfunction, bytes: u32) -> Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: the caller vouches for the handle.
    unsafe { set_function_attribute(function, FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes) }
}

/// The kind of memory to which a driver's pointer refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryType {
    /// Pinned host memory.
    Host,
    /// Device memory; managed memory counts as device memory until its pages migrate.
    Device,
    /// An array.
    Array,
    /// Unified memory.
    Unified,
    /// A kind newer than this list.
    Other(u32),
}

/// Returns the kind of memory at an address.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the driver does not know the address.
pub fn pointer_memory_type(pointer: CUdeviceptr) -> Result<MemoryType> {
    const MEMORY_TYPE: c_int = 2;
    Ok(match pointer_attribute::<u32>(pointer, MEMORY_TYPE)? {
        1 => MemoryType::Host,
        2 => MemoryType::Device,
        3 => MemoryType::Array,
        4 => MemoryType::Unified,
        other => MemoryType::Other(other),
    })
}

/// Returns true if an address is in managed memory.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the driver does not know the address.
pub fn pointer_is_managed(pointer: CUdeviceptr) -> Result<bool> {
    const IS_MANAGED: c_int = 8;
    // A C boolean, of which the driver writes the first byte.
    Ok(pointer_attribute::<u32>(pointer, IS_MANAGED)? != 0)
}

fn pointer_attribute<T: Default>(pointer: CUdeviceptr, attribute: c_int) -> Result<T> {
    let mut value = T::default();
    // SAFETY: the callers' types have at least the size that the attribute has, and an address is looked up,
    // not followed.
    unsafe { raw::cuPointerGetAttribute((&raw mut value).cast(), attribute, pointer) }
        .of("cuPointerGetAttribute")?;
    Ok(value)
}
