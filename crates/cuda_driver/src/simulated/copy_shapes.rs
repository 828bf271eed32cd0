//! The driver API's structures for copies of rows and layers.

use std::ffi::c_uint;

use super::codes::{INVALID_VALUE, Outcome};
use super::copies::{Claim, Side, Transfer};
use super::registry::Handle;
use crate::Code;

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Copy2d {
    from: Side2d,
    to: Side2d,
    width: usize,
    height: usize,
}

/// One side of a [`Copy2d`].
#[derive(Clone, Copy)]
#[repr(C)]
struct Side2d {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`, which has contexts in place of reserved fields.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Copy3d {
    from: Side3d,
    to: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

/// One side of a [`Copy3d`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: Handle,
    context: Handle,
    pitch: usize,
    height: usize,
}

const _: () = assert!(size_of::<Copy2d>() == 128 && size_of::<Copy3d>() == 200);

/// Returns the address that a kind of memory selects.
fn claimed(kind: c_uint, host: u64, device: u64) -> Outcome<(u64, Claim)> {
    match kind {
        1 => Ok((host, Claim::Host)),
        2 => Ok((device, Claim::Device)),
        // Arrays belong to textures, which are not simulated.
        3 => Err(Code::NOT_SUPPORTED),
        4 => Ok((device, Claim::Either)),
        _ => Err(INVALID_VALUE),
    }
}

impl Copy2d {
    pub(super) fn copy(&self) -> Outcome<Transfer> {
        let side = |side: &Side2d| {
            let deep = Side3d {
                x: side.x,
                y: side.y,
                z: 0,
                level: 0,
                kind: side.kind,
                host: side.host,
                device: side.device,
                array: side.array,
                context: 0,
                pitch: side.pitch,
                height: 0,
            };
            deep.side(self.width, self.height)
        };
        Ok(Transfer {
            to: side(&self.to)?,
            from: side(&self.from)?,
            width: self.width,
            rows: self.height,
            layers: 1,
        })
    }
}

impl Copy3d {
    /// Returns the contexts of a copy between devices: of the destination and of the source.
    pub(super) fn contexts(&self) -> (Handle, Handle) {
        (self.to.context, self.from.context)
    }

    pub(super) fn copy(&self) -> Outcome<Transfer> {
        let side = |side: &Side3d| side.side(self.width, self.height);
        Ok(Transfer {
            to: side(&self.to)?,
            from: side(&self.from)?,
            width: self.width,
            rows: self.height,
            layers: self.depth,
        })
    }

    /// Describes the copy of a graph's node.
    pub(super) fn of(copy: &Transfer) -> Self {
        let side = |side: &Side| Side3d {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            kind: match side.claim {
                Claim::Host => 1,
                Claim::Device => 2,
                Claim::Either => 4,
            },
            host: if side.claim == Claim::Host { side.address } else { 0 },
            device: if side.claim == Claim::Host { 0 } else { side.address },
            array: 0,
            context: 0,
            pitch: side.row,
            height: side.layer.checked_div(side.row).unwrap_or(0),
        };
        Self {
            from: side(&copy.from),
            to: side(&copy.to),
            width: copy.width,
            height: copy.rows,
            depth: copy.layers,
        }
    }
}

impl Side3d {
    fn side(&self, width: usize, height: usize) -> Outcome<Side> {
        let (base, claim) = claimed(self.kind, self.host, self.device)?;
        let used = self.x.checked_add(width).ok_or(INVALID_VALUE)?;
        let row = if self.pitch == 0 { used } else { self.pitch };
        let rows = if self.height == 0 { height } else { self.height };
        if row < used || rows < height {
            return Err(INVALID_VALUE);
        }
        let layer = row.checked_mul(rows).ok_or(INVALID_VALUE)?;
        let start = || {
            let layers = self.z.checked_mul(layer)?;
            let rows = self.y.checked_mul(row)?;
            base.checked_add(layers.checked_add(rows)?.checked_add(self.x)? as u64)
        };
        Ok(Side { address: start().ok_or(INVALID_VALUE)?, claim, row, layer })
    }
}
