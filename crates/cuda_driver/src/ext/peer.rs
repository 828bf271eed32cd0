//! Another device of the process, and memory on it that the current device can access.

use std::ptr;
use std::sync::Arc;

use super::raw::{self, CUcontext, CUdevice, CUdeviceptr};
use super::{Check, Error, Result};
use crate::Code;

/// Another device, held by its primary context.
///
/// Where the devices are peers, access is enabled in both directions, and stays so. All functions leave the calling
/// thread's current context as they found it.
#[derive(Debug)]
pub struct Peer {
    device: CUdevice,
    context: CUcontext,
    accessible: bool,
}

// SAFETY: the driver's calls on a context may come from any thread.
unsafe impl Send for Peer {}
// SAFETY: as above.
unsafe impl Sync for Peer {}

impl Peer {
    /// Opens a device beside the current one.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_DEVICE`, `CUDA_ERROR_OUT_OF_MEMORY`, or the error of a missing current context.
    pub fn open(device: CUdevice) -> Result<Self> {
        let (mut own, mut own_device) = (ptr::null_mut(), 0);
        // SAFETY: the pointers can be written.
        unsafe {
            raw::cuCtxGetCurrent(&raw mut own).of("cuCtxGetCurrent")?;
            raw::cuCtxGetDevice(&raw mut own_device).of("cuCtxGetDevice")?;
        }
        let accessible = can_access_peer(own_device, device)? && can_access_peer(device, own_device)?;
        let mut context = ptr::null_mut();
        // SAFETY: the pointer can be written.
        unsafe { raw::cuDevicePrimaryCtxRetain(&raw mut context, device) }.of("cuDevicePrimaryCtxRetain")?;
        let peer = Self { device, context, accessible };
        if accessible {
            enable_access(peer.context)?;
            peer.within(|| enable_access(own))?;
        }
        Ok(peer)
    }

    /// Returns true if each of the two devices can access the other's memory.
    pub fn is_accessible(&self) -> bool {
        self.accessible
    }

    /// Allocates memory on the device.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_INVALID_VALUE` for no bytes.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<PeerBuffer> {
        let mut address = 0;
        // SAFETY: the pointer can be written.
        self.within(|| unsafe { raw::cuMemAlloc_v2(&raw mut address, bytes) }.of("cuMemAlloc_v2"))?;
        Ok(PeerBuffer { peer: self.clone(), address })
    }

    /// Lets this device and another one access each other's memory, if both can. Returns whether they can.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn connect(&self, other: &Self) -> Result<bool> {
        let connected =
            can_access_peer(self.device, other.device)? && can_access_peer(other.device, self.device)?;
        if connected {
            self.within(|| enable_access(other.context))?;
            other.within(|| enable_access(self.context))?;
        }
        Ok(connected)
    }

    /// Calls a function with the device's context as the current one: streams, events and modules that it makes are of
    /// that device, and so are kernels that it launches.
    ///
    /// # Errors
    ///
    /// Those of the function; the driver's.
    pub fn within<T, E: From<Error>>(&self, function: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut popped = ptr::null_mut();
        // SAFETY: the context is retained.
        unsafe { raw::cuCtxPushCurrent_v2(self.context) }.of("cuCtxPushCurrent_v2")?;
        let result = function();
        // SAFETY: the pointer can be written.
        let left = unsafe { raw::cuCtxPopCurrent_v2(&raw mut popped) }.of("cuCtxPopCurrent_v2");
        let value = result?;
        left?;
        Ok(value)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: it was retained once, and its buffers hold this value. An error cannot be passed on.
        let _ = unsafe { raw::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Memory on another device, freed at the end.
#[derive(Debug)]
pub struct PeerBuffer {
    peer: Arc<Peer>,
    address: CUdeviceptr,
}

impl PeerBuffer {
    /// Returns the address of the first byte, the same for both devices.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }
}

impl Drop for PeerBuffer {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own. An error cannot be passed on.
        let _ = self.peer.within(|| unsafe { raw::cuMemFree_v2(self.address) }.of("cuMemFree_v2"));
    }
}

/// Returns true if a device can access another's memory.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_DEVICE`.
pub fn can_access_peer(device: CUdevice, peer: CUdevice) -> Result<bool> {
    let mut can = 0;
    // SAFETY: the pointer can be written, and devices are numbers that the driver checks.
    unsafe { raw::cuDeviceCanAccessPeer(&raw mut can, device, peer) }.of("cuDeviceCanAccessPeer")?;
    Ok(can != 0)
}

/// Returns true if a device's atomic operations work in another's memory, all of them.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_DEVICE`, also where both are the same.
pub fn has_peer_atomics(device: CUdevice, peer: CUdevice) -> Result<bool> {
    const NATIVE_ATOMIC_SUPPORTED: i32 = 3;
    let mut has = 0;
    // SAFETY: as in `can_access_peer`.
    unsafe { raw::cuDeviceGetP2PAttribute(&raw mut has, NATIVE_ATOMIC_SUPPORTED, device, peer) }
        .of("cuDeviceGetP2PAttribute")?;
    Ok(has != 0)
}

/// Lets the current context access the memory of another one, if it could not yet.
fn enable_access(peer: CUcontext) -> Result<()> {
    const ALREADY_ENABLED: Code = Code(704);
    const NO_FLAGS: u32 = 0;
    // SAFETY: the context is alive.
    match unsafe { raw::cuCtxEnablePeerAccess(peer, NO_FLAGS) } {
        ALREADY_ENABLED => Ok(()),
        code => code.of("cuCtxEnablePeerAccess"),
    }
}
