//! Fills: set device memory to a value of one, two or four bytes.

use simt::memory::Kind;
use simt::model;

use super::codes::{INVALID_VALUE, Outcome};
use super::driver::{Device, Driver, Located};
use super::managed;
use super::operations::{Operation, submit, submit_and_wait};
use super::registry::Handle;
use super::timeline::{Engine, Work};

/// A fill of rows with one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    pub address: u64,
    /// Distance between rows, in bytes.
    pub pitch: usize,
    pub value: u32,
    /// Bytes of the value: 1, 2 or 4.
    pub element: usize,
    /// Values per row.
    pub width: usize,
    pub rows: usize,
}

impl Fill {
    fn piece<const N: usize>(address: u64, value: [u8; N], count: usize) -> Self {
        Self::rows(address, count.saturating_mul(N), value, count, 1)
    }

    fn rows<const N: usize>(address: u64, pitch: usize, value: [u8; N], width: usize, rows: usize) -> Self {
        let mut bytes = [0; 4];
        bytes[..N].copy_from_slice(&value);
        Self { address, pitch, value: u32::from_le_bytes(bytes), element: N, width, rows }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0
    }

    fn place(&self, driver: &'static Driver) -> Outcome<Located> {
        let row = self.width.checked_mul(self.element).ok_or(INVALID_VALUE)?;
        let aligned = self.address.is_multiple_of(self.element as u64)
            && (self.rows == 1 || self.pitch.is_multiple_of(self.element));
        if !matches!(self.element, 1 | 2 | 4) || !aligned || (self.rows > 1 && self.pitch < row) {
            return Err(INVALID_VALUE);
        }
        let found = driver.locate(self.address).ok_or(INVALID_VALUE)?;
        let extent = self.pitch.checked_mul(self.rows - 1).and_then(|before| before.checked_add(row));
        let extent = extent.ok_or(INVALID_VALUE)? as u64;
        if found.allocation.contains(self.address, extent) { Ok(found) } else { Err(INVALID_VALUE) }
    }

    pub(super) fn check(&self, driver: &'static Driver) -> Outcome {
        if self.is_empty() { Ok(()) } else { self.place(driver).map(drop) }
    }

    pub(super) fn run(&self, driver: &'static Driver, device: &Device) -> Outcome<Work> {
        if self.is_empty() {
            return Ok(Work::NOTHING);
        }
        let found = self.place(driver)?;
        let pattern = &self.value.to_le_bytes()[..self.element];
        let row = self.width * self.element;
        if self.pitch == row {
            let count = (self.width * self.rows) as u64;
            found.device.memory.fill(self.address, pattern, count).map_err(|_| INVALID_VALUE)?;
        } else {
            for index in 0..self.rows {
                let address = self.address + (index * self.pitch) as u64;
                found.device.memory.fill(address, pattern, self.width as u64).map_err(|_| INVALID_VALUE)?;
            }
        }
        let bytes = (row * self.rows) as u64;
        let card = &device.card;
        let over_link = match found.allocation.kind {
            Kind::Pinned | Kind::Registered => true,
            Kind::Managed => managed::on_host(&driver.state(), self.address),
            _ => false,
        };
        Ok(if over_link {
            Work::on(Engine::ToHost, model::host_copy_seconds(card, bytes))
        } else {
            // A launch, and every byte written: half of what a copy moves.
            let launch = card.launch_us * 1e-6;
            let seconds = launch + (model::device_copy_seconds(card, bytes) - launch) / 2.0;
            Work::on_all_multiprocessors(seconds)
        })
    }
}

entry_points! {
    fn cuMemsetD8_v2(address: u64, value: u8, count: usize) {
        submit_and_wait(Operation::Fill(Fill::piece(address, [value], count)))
    }

    fn cuMemsetD16_v2(address: u64, value: u16, count: usize) {
        submit_and_wait(Operation::Fill(Fill::piece(address, value.to_le_bytes(), count)))
    }

    fn cuMemsetD32_v2(address: u64, value: u32, count: usize) {
        submit_and_wait(Operation::Fill(Fill::piece(address, value.to_le_bytes(), count)))
    }

    fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::piece(address, [value], count)))
    }

    fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::piece(address, value.to_le_bytes(), count)))
    }

    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::piece(address, value.to_le_bytes(), count)))
    }

    fn cuMemsetD2D8_v2(address: u64, pitch: usize, value: u8, width: usize, rows: usize) {
        submit_and_wait(Operation::Fill(Fill::rows(address, pitch, [value], width, rows)))
    }

    fn cuMemsetD2D16_v2(address: u64, pitch: usize, value: u16, width: usize, rows: usize) {
        submit_and_wait(Operation::Fill(Fill::rows(address, pitch, value.to_le_bytes(), width, rows)))
    }

    fn cuMemsetD2D32_v2(address: u64, pitch: usize, value: u32, width: usize, rows: usize) {
        submit_and_wait(Operation::Fill(Fill::rows(address, pitch, value.to_le_bytes(), width, rows)))
    }

    fn cuMemsetD2D8Async(address: u64, pitch: usize, value: u8, width: usize, rows: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::rows(address, pitch, [value], width, rows)))
    }

    fn cuMemsetD2D16Async(address: u64, pitch: usize, value: u16, width: usize, rows: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::rows(address, pitch, value.to_le_bytes(), width, rows)))
    }

    fn cuMemsetD2D32Async(address: u64, pitch: usize, value: u32, width: usize, rows: usize, stream: Handle) {
        submit(stream, Operation::Fill(Fill::rows(address, pitch, value.to_le_bytes(), width, rows)))
    }
}
