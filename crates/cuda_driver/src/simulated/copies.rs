//! Copies of a range, of rows, or of layers of rows, between the host's memory and the devices'.

use simt::memory::Kind;
use simt::model;

use super::codes::{INVALID_CONTEXT, INVALID_VALUE, Outcome};
use super::contexts;
use super::copy_shapes::{Copy2d, Copy3d};
use super::driver::{Device, Driver, Located};
use super::entry::In;
use super::managed;
use super::operations::{Operation, submit, submit_and_wait};
use super::peers;
use super::registry::Handle;
use super::timeline::{Engine, Occupied, Work};

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Address of the first byte; host and devices share one address space.
    pub address: u64,
    pub claim: Claim,
    /// Distance between rows, in bytes.
    pub row: usize,
    /// Distance between layers, in bytes.
    pub layer: usize,
}

/// The kind of memory that a call claims for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Host,
    Device,
    /// Any kind: look the address up.
    Either,
}

/// A copy of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub to: Side,
    pub from: Side,
    /// Width of a row, in bytes.
    pub width: usize,
    pub rows: usize,
    pub layers: usize,
}

/// The memory at an address, after the look-up.
#[derive(Clone, Copy)]
enum Place {
    /// Memory of the host that no device knows.
    Pageable,
    /// Device memory, or mapped memory of the host.
    Known(Located),
}

impl Side {
    fn one(address: u64, claim: Claim, bytes: usize) -> Self {
        Self { address, claim, row: bytes, layer: bytes }
    }

    /// Returns the bytes from the first to the last that is copied.
    fn extent(&self, copy: &Transfer) -> Option<u64> {
        let layers = self.layer.checked_mul(copy.layers - 1)?;
        let rows = self.row.checked_mul(copy.rows - 1)?;
        Some(layers.checked_add(rows)?.checked_add(copy.width)? as u64)
    }

    /// Looks the memory up; `CUDA_ERROR_INVALID_VALUE` if it is not all within one allocation of the claimed kind.
    fn place(&self, copy: &Transfer, driver: &'static Driver) -> Outcome<Place> {
        let found = driver.locate(self.address);
        match (found, self.claim) {
            (None, Claim::Device) => Err(INVALID_VALUE),
            (None, _) if self.address == 0 => Err(INVALID_VALUE),
            (None, _) => Ok(Place::Pageable),
            (Some(found), _) => {
                let extent = self.extent(copy).ok_or(INVALID_VALUE)?;
                if found.allocation.contains(self.address, extent) {
                    Ok(Place::Known(found))
                } else {
                    Err(INVALID_VALUE)
                }
            }
        }
    }

    fn at(&self, row: usize, layer: usize) -> u64 {
        self.address + (layer * self.layer + row * self.row) as u64
    }
}

impl Place {
    /// Returns true if the bytes are in the host's memory, as far as the time of a copy is concerned.
    fn on_host(&self, driver: &Driver, address: u64) -> bool {
        match self {
            Self::Pageable => true,
            Self::Known(found) => match found.allocation.kind {
                Kind::Pinned | Kind::Registered => true,
                Kind::Managed => managed::on_host(&driver.state(), address),
                _ => false,
            },
        }
    }
}

impl Transfer {
    /// Creates a copy of a contiguous range.
    pub(super) fn piece(to: u64, to_claim: Claim, from: u64, from_claim: Claim, bytes: usize) -> Self {
        Self {
            to: Side::one(to, to_claim, bytes),
            from: Side::one(from, from_claim, bytes),
            width: bytes,
            rows: 1,
            layers: 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0 || self.layers == 0
    }

    /// Merges rows and layers that are contiguous.
    fn merged(mut self) -> Self {
        let tight = |copy: &Self, stride: fn(&Side) -> usize, bytes: usize| {
            stride(&copy.to) == bytes && stride(&copy.from) == bytes
        };
        if self.rows > 1 && tight(&self, |side| side.row, self.width) {
            self.width *= self.rows;
            self.rows = 1;
        }
        if self.rows == 1 && self.layers > 1 && tight(&self, |side| side.layer, self.width) {
            self.width *= self.layers;
            self.layers = 1;
        }
        self
    }

    pub(super) fn check(&self, driver: &'static Driver) -> Outcome {
        if self.is_empty() {
            return Ok(());
        }
        self.to.place(self, driver)?;
        self.from.place(self, driver)?;
        Ok(())
    }

    pub(super) fn run(&self, driver: &'static Driver, device: &Device, context: Handle) -> Outcome<Work> {
        if self.is_empty() {
            return Ok(Work::NOTHING);
        }
        let bytes = (self.width * self.rows * self.layers) as u64;
        let (to, from) = (self.to.place(self, driver)?, self.from.place(self, driver)?);
        let merged = self.merged();
        for layer in 0..merged.layers {
            for row in 0..merged.rows {
                copy_row(to, merged.to.at(row, layer), from, merged.from.at(row, layer), merged.width)?;
            }
        }
        let card = &device.card;
        let by_link = |engine| Work::on(engine, model::host_copy_seconds(card, bytes));
        Ok(match (from.on_host(driver, self.from.address), to.on_host(driver, self.to.address)) {
            // Copies within the host's memory take no modelled time.
            (true, true) => Work::NOTHING,
            (true, false) => by_link(Engine::FromHost),
            (false, true) => by_link(Engine::ToHost),
            (false, false) => match (from, to) {
                (Place::Known(from), Place::Known(to)) if from.device.ordinal != to.device.ordinal => {
                    match peers::route(driver, from, to, (device.ordinal, context)) {
                        Some((link, route)) => {
                            Work { occupies: Occupied::Link(route), seconds: link.copy_seconds(bytes) }
                        }
                        // By way of the host.
                        None => Work::on(Engine::ToHost, 2.0 * model::host_copy_seconds(card, bytes)),
                    }
                }
                _ => Work::on_all_multiprocessors(model::device_copy_seconds(card, bytes)),
            },
        })
    }
}

fn copy_row(to: Place, to_address: u64, from: Place, from_address: u64, bytes: usize) -> Outcome {
    let refused = |_| INVALID_VALUE;
    let host = |address: u64| std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    match (to, from) {
        (Place::Pageable, Place::Pageable) => {
            // SAFETY: the program says that these bytes of its memory can be read and written.
            unsafe { std::ptr::copy(host(from_address), host(to_address), bytes) };
            Ok(())
        }
        (Place::Known(to), Place::Pageable) => {
            // SAFETY: the program says that these bytes of its memory can be read, and nothing writes to them during
            // the call.
            let source = unsafe { std::slice::from_raw_parts(host(from_address).cast_const(), bytes) };
            to.device.memory.write(to_address, source).map_err(refused)
        }
        (Place::Pageable, Place::Known(from)) => {
            // SAFETY: the program says that these bytes of its memory can be written, and nothing else uses them
            // during the call.
            let destination = unsafe { std::slice::from_raw_parts_mut(host(to_address), bytes) };
            from.device.memory.read(from_address, destination).map_err(refused)
        }
        (Place::Known(to), Place::Known(from)) if to.device.ordinal == from.device.ordinal => {
            to.device.memory.copy(from_address, to_address, bytes as u64).map_err(refused)
        }
        (Place::Known(to), Place::Known(from)) => {
            let mut between = vec![0; bytes];
            from.device.memory.read(from_address, &mut between).map_err(refused)?;
            to.device.memory.write(to_address, &between).map_err(refused)
        }
    }
}

/// Checks that both contexts of a copy between devices exist.
fn check_contexts(to: Handle, from: Handle) -> Outcome {
    let driver = super::driver::driver()?;
    contexts::at(driver, to, INVALID_CONTEXT)?;
    contexts::at(driver, from, INVALID_CONTEXT)?;
    Ok(())
}

pub(super) fn piece(to: u64, to_claim: Claim, from: u64, from_claim: Claim, bytes: usize) -> Operation {
    Operation::Copy(Transfer::piece(to, to_claim, from, from_claim, bytes))
}

entry_points! {
    fn cuMemcpy(to: u64, from: u64, bytes: usize) {
        submit_and_wait(piece(to, Claim::Either, from, Claim::Either, bytes))
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        submit(stream, piece(to, Claim::Either, from, Claim::Either, bytes))
    }

    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) {
        submit_and_wait(piece(to, Claim::Device, from, Claim::Host, bytes))
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        submit(stream, piece(to, Claim::Device, from, Claim::Host, bytes))
    }

    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) {
        submit_and_wait(piece(to, Claim::Host, from, Claim::Device, bytes))
    }

    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        submit(stream, piece(to, Claim::Host, from, Claim::Device, bytes))
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        submit_and_wait(piece(to, Claim::Device, from, Claim::Device, bytes))
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        submit(stream, piece(to, Claim::Device, from, Claim::Device, bytes))
    }

    fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize) {
        check_contexts(to_context, from_context)?;
        submit_and_wait(piece(to, Claim::Device, from, Claim::Device, bytes))
    }

    fn cuMemcpyPeerAsync(
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle,
    ) {
        check_contexts(to_context, from_context)?;
        submit(stream, piece(to, Claim::Device, from, Claim::Device, bytes))
    }

    fn cuMemcpy2D_v2(copy: In<Copy2d>) {
        submit_and_wait(Operation::Copy(copy.get()?.copy()?))
    }

    fn cuMemcpy2DUnaligned_v2(copy: In<Copy2d>) {
        submit_and_wait(Operation::Copy(copy.get()?.copy()?))
    }

    fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, stream: Handle) {
        submit(stream, Operation::Copy(copy.get()?.copy()?))
    }

    fn cuMemcpy3D_v2(copy: In<Copy3d>) {
        submit_and_wait(Operation::Copy(copy.get()?.copy()?))
    }

    fn cuMemcpy3DAsync_v2(copy: In<Copy3d>, stream: Handle) {
        submit(stream, Operation::Copy(copy.get()?.copy()?))
    }

    fn cuMemcpy3DPeer(copy: In<Copy3d>) {
        let copy = copy.get()?;
        let (to, from) = copy.contexts();
        check_contexts(to, from)?;
        submit_and_wait(Operation::Copy(copy.copy()?))
    }

    fn cuMemcpy3DPeerAsync(copy: In<Copy3d>, stream: Handle) {
        let copy = copy.get()?;
        let (to, from) = copy.contexts();
        check_contexts(to, from)?;
        submit(stream, Operation::Copy(copy.copy()?))
    }
}
