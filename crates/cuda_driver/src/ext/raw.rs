//! The driver API's functions that [`ext`](super) calls, and their types, by the driver API's names.
//!
//! Each calls this crate's exported function of the same name, and thus the table's target. The signatures and layouts
//! are those of the driver API's reference; enumerations are plain integers, since a driver may return values newer
//! than any list. `cust_raw` has the other functions.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub use cust_raw::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream,
};

use crate::Code;

/// Location of managed memory: its kind and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CUmemLocation {
    /// 1: a device; 2: the host; 3: a NUMA node of the host.
    pub kind: c_int,
    /// Number of the device or the node.
    pub id: c_int,
}

/// One attribute of a launch: an identifier and a union of 64 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUlaunchAttribute {
    /// Identifier of the attribute.
    pub id: c_uint,
    /// Aligns the value to 8 bytes.
    pub padding: c_uint,
    /// The value; the attributes used here fill its first words.
    pub value: CUlaunchAttributeValue,
}

/// The value of a launch attribute.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct CUlaunchAttributeValue {
    /// The value as integers.
    pub words: [c_uint; 16],
}

/// The configuration of a launch with attributes.
#[derive(Clone, Copy)]
#[expect(non_snake_case, missing_docs, reason = "the driver API's names")]
#[repr(C)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// A description of a tensor in memory for the bulk copy engine, opaque and passed to kernels by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct CUtensorMap {
    /// The driver's own encoding.
    pub opaque: [u64; 16],
}

/// 16 bytes that are unique to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CUuuid {
    /// The bytes in the order of writing.
    pub bytes: [u8; 16],
}

const _: () = {
    assert!(size_of::<CUlaunchAttribute>() == 72 && align_of::<CUlaunchAttribute>() == 8);
    assert!(size_of::<CUlaunchConfig>() == 56);
    assert!(size_of::<CUtensorMap>() == 128 && align_of::<CUtensorMap>() == 64);
    assert!(size_of::<CUmemLocation>() == 8);
};

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the driver API.")]
            ///
            /// # Safety
            ///
            /// What the driver API's reference asks of the arguments: pointers are valid for what it reads or
            /// writes, handles are alive.
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "named and declared as in the driver API")]
            #[allow(clippy::useless_transmute, reason = "a function without arguments has the stub's own type")]
            #[inline]
            pub unsafe fn $name($($argument: $kind),*) -> Code {
                type Signature = unsafe extern "C" fn($($kind),*) -> Code;
                // SAFETY: the stub passes arguments on as they come, so it may be called with any signature,
                // and this is the entry point's.
                let function = unsafe {
                    std::mem::transmute::<unsafe extern "C" fn() -> Code, Signature>(crate::table::stubs::$name)
                };
                // SAFETY: the caller's word.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

functions! {
    fn cuGetErrorString(error: Code, text: *mut *const c_char);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice);
    fn cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_int, source: CUdevice, destination: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);

    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int);
    fn cuCtxSetLimit(limit: c_int, value: usize);
    fn cuCtxResetPersistingL2Cache();
    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn cuOccupancyMaxActiveClusters(count: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    fn cuOccupancyMaxPotentialClusterSize(size: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);

    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);

    fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int);
    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: u64);
    fn cuGraphUpload(exec: CUgraphExec, stream: CUstream);
    fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    fn cuGraphGetNodes(graph: CUgraph, nodes: *mut *mut c_void, count: *mut usize);
    fn cuGraphExecDestroy(exec: CUgraphExec);
    fn cuGraphDestroy(graph: CUgraph);

    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: *mut c_void);
    fn cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, pointer: CUdeviceptr);

    fn cuMemAdvise(pointer: CUdeviceptr, bytes: usize, advice: c_int, device: CUdevice);
    fn cuMemAdvise_v2(pointer: CUdeviceptr, bytes: usize, advice: c_int, location: CUmemLocation);
    fn cuMemPrefetchAsync(pointer: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream);
    fn cuMemPrefetchAsync_v2(
        pointer: CUdeviceptr, bytes: usize, location: CUmemLocation, flags: c_uint, stream: CUstream,
    );
    fn cuMemRangeGetAttribute(
        value: *mut c_void, value_bytes: usize, attribute: c_int, pointer: CUdeviceptr, bytes: usize,
    );

    fn cuTensorMapEncodeTiled(
        map: *mut CUtensorMap, element: c_int, rank: u32, address: *mut c_void, sizes: *const u64,
        strides: *const u64, tile: *const u32, element_strides: *const u32, interleave: c_int, swizzle: c_int,
        promotion: c_int, fill: c_int,
    );
}
