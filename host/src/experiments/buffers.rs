//! The buffers of a point, as a launch takes them.
//!
//! An experiment says which of its buffers is which argument of the kernel: `|buffers| (buffers.read(0), buffers.write(1),
//! nx)`. Where the kernel takes a tensor map of a buffer, it is `buffers.read_map(0)`, by the map's number among the point's
//! maps. The element types follow from the kernel's signature, the lengths from the buffers. In one launch a buffer is lent for
//! reading as often as wanted, or for writing once.

use super::{Buffer, Place, Point};
use anyhow::{Context, Result, bail};
use cuda_driver::ext::AccessWindow;
use cuda_launch::{PointerMut, Slice, SliceMut};
use cuda_std::tensor::TensorMap;
use cust::{
    memory::{
        AsyncCopyDestination, CopyDestination, DevicePointer, DeviceSlice,
        bytemuck::{self, Pod},
    },
    stream::Stream,
};
use std::{
    cell::{Cell, RefCell},
    ptr, slice,
};

/// The buffers of a point, in its order.
pub(crate) struct Buffers {
    experiment: &'static str,
    buffers: Vec<Lendable>,
    maps: Vec<Mapped>,
    /// The first fault of the current launch's loans.
    fault: RefCell<Option<String>>,
}

/// A buffer, and how the launch at hand has borrowed it.
struct Lendable {
    address: u64,
    bytes: u64,
    place: Place,
    loan: Cell<Option<Loan>>,
}

/// A tensor map, and the number of the buffer that it describes.
struct Mapped {
    buffer: usize,
    /// `None` where the buffers are only planned.
    map: Option<TensorMap>,
}

/// How a launch borrows a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loan {
    Reading,
    Writing,
}

/// Memory that a kernel writes, in the form in which its signature has it.
pub(crate) trait Written<'a> {
    /// The type of an element.
    type Element: 'static;

    /// # Safety
    /// For `'a`, `length` elements from `address` on are memory that a kernel may read and write, and nothing else touches
    /// them.
    unsafe fn lend(address: u64, length: usize) -> Self;
}

impl<'a, T: 'static> Written<'a> for SliceMut<'a, T> {
    type Element = T;

    unsafe fn lend(address: u64, length: usize) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(address, length) }
    }
}

/// A slice of cells, which unsafe kernels share among their threads.
impl<'a, T: 'static> Written<'a> for Slice<'a, Cell<T>> {
    type Element = T;

    unsafe fn lend(address: u64, length: usize) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::new(address, length) }
    }
}

/// A pointer, whose length the kernel's `# Safety` asks for.
impl<'a, T: 'static> Written<'a> for PointerMut<'a, T> {
    type Element = T;

    unsafe fn lend(address: u64, _: usize) -> Self {
        Self::new(address)
    }
}

impl Buffers {
    /// The buffers of a point where they lie, and the tensor maps of them that its kernel takes.
    ///
    /// # Safety
    /// Each pointer is to as many bytes as the buffer has; they, and this value, stay until all work on them has ended, which
    /// is queued on one stream.
    ///
    /// # Errors
    /// A tensor map cannot be made.
    pub(crate) unsafe fn placed(point: &Point, pointers: &[DevicePointer<u8>]) -> Result<Buffers> {
        let mut buffers = Buffers::new(point, pointers.iter().map(DevicePointer::as_raw));
        for (mapped, map) in buffers.maps.iter_mut().zip(&point.maps) {
            mapped.map =
                Some(map.placed(buffers.buffers.get(map.buffer).map_or(0, |buffer| buffer.address))?);
        }
        Ok(buffers)
    }

    /// The buffers of a point before they are allocated: with their lengths, for a launch that is checked and not made.
    pub(super) fn planned(point: &Point) -> Buffers {
        Buffers::new(point, std::iter::repeat(0))
    }

    fn new(point: &Point, addresses: impl Iterator<Item = u64>) -> Buffers {
        let lendable = |(&Buffer { bytes, place, .. }, address): (&Buffer, u64)| Lendable {
            address,
            bytes,
            place,
            loan: Cell::new(None),
        };
        Buffers {
            experiment: point.experiment,
            buffers: point.buffers.iter().zip(addresses).map(lendable).collect(),
            maps: point.maps.iter().map(|map| Mapped { buffer: map.buffer, map: None }).collect(),
            fault: RefCell::new(None),
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.buffers.len()
    }

    /// The address of a buffer, 0 if there is none of this number.
    pub(crate) fn address(&self, number: usize) -> u64 {
        self.buffers.get(number).map_or(0, |buffer| buffer.address)
    }

    /// The extent of a buffer, to persist in L2.
    pub(super) fn window(&self, number: usize) -> AccessWindow {
        let bytes = self.buffers.get(number).map_or(0, |buffer| buffer.bytes);
        AccessWindow { address: self.address(number), bytes }
    }

    /// A buffer that the launch reads.
    pub(crate) fn read<T: Copy + 'static>(&self, number: usize) -> Slice<'_, T> {
        let (address, length) = self.lend::<T>(number, Loan::Reading);
        // SAFETY: `placed` promises the memory while `self` is borrowed, and nothing is lent for writing meanwhile. What is
        // `planned` reaches no device.
        unsafe { Slice::new(address, length) }
    }

    /// A buffer that the launch writes.
    pub(crate) fn write<'a, W: Written<'a>>(&'a self, number: usize) -> W {
        let (address, length) = self.lend::<W::Element>(number, Loan::Writing);
        // SAFETY: as for reading; and this launch borrows the buffer once.
        unsafe { W::lend(address, length) }
    }

    /// A part of a buffer that the launch reads.
    pub(crate) fn read_part<T: Copy + 'static>(&self, number: usize, part: Part) -> Slice<'_, T> {
        let (start, elements) = part.within::<T>(self.lend::<T>(number, Loan::Reading));
        // SAFETY: as for the whole buffer, of which this is a part.
        unsafe { Slice::new(start, elements) }
    }

    /// A part of a buffer that the launch writes.
    pub(crate) fn write_part<'a, W: Written<'a>>(&'a self, number: usize, part: Part) -> W {
        let (start, elements) = part.within::<W::Element>(self.lend::<W::Element>(number, Loan::Writing));
        // SAFETY: as for the whole buffer, of which this is a part.
        unsafe { W::lend(start, elements) }
    }

    /// A tensor map by which the launch reads a buffer.
    pub(crate) fn read_map(&self, number: usize) -> TensorMap {
        self.lend_map(number, Loan::Reading)
    }

    /// A tensor map by which the launch writes a buffer.
    pub(crate) fn write_map(&self, number: usize) -> TensorMap {
        self.lend_map(number, Loan::Writing)
    }

    /// Lends the buffer of a map. Where buffers are only planned, or there is no such map, it is one of zeros.
    fn lend_map(&self, number: usize, loan: Loan) -> TensorMap {
        let mapped = self.maps.get(number);
        match mapped {
            Some(mapped) => _ = self.lend::<u8>(mapped.buffer, loan),
            None => {
                let fault = format!("lends tensor map {number} of {}", self.maps.len());
                self.fault.borrow_mut().get_or_insert(fault);
            }
        }
        mapped.and_then(|mapped| mapped.map).unwrap_or(TensorMap::from_words([0; 16]))
    }

    /// Lends for one launch. What is wrong with the loans is the error, with the kernel's name in it.
    pub(super) fn lend_to<'a, A>(&'a self, kernel: &str, launch: impl FnOnce(&'a Buffers) -> A) -> Result<A> {
        self.buffers.iter().for_each(|buffer| buffer.loan.set(None));
        self.fault.replace(None);
        let arguments = launch(self);
        match self.fault.take() {
            None => Ok(arguments),
            Some(fault) => bail!("the experiment {} {fault} in one launch of {kernel}", self.experiment),
        }
    }

    /// The address and the length in elements. Of a loan that cannot be, an empty buffer, and the fault is kept.
    fn lend<T>(&self, number: usize, loan: Loan) -> (u64, usize) {
        let size = size_of::<T>() as u64;
        let fault = match self.buffers.get(number) {
            None => format!("lends buffer {number} of {}", self.buffers.len()),
            Some(buffer) if !buffer.bytes.is_multiple_of(size) => {
                format!("lends buffer {number}, whose {} bytes are no multiple of {size},", buffer.bytes)
            }
            Some(buffer) => match buffer.loan.replace(Some(loan)) {
                Some(Loan::Writing) => format!("lends buffer {number} for writing and again"),
                Some(Loan::Reading) if loan == Loan::Writing => {
                    format!("lends buffer {number} for reading and for writing")
                }
                _ => return (buffer.address, (buffer.bytes / size) as usize),
            },
        };
        self.fault.borrow_mut().get_or_insert(fault);
        (0, 0)
    }

    /// The first `count` elements of a buffer in device memory. The device has to be idle.
    ///
    /// # Errors
    /// The point has no such buffer, it is shorter, or the driver refuses the copy.
    pub(crate) fn contents<T: Pod>(&self, number: usize, count: usize) -> Result<Vec<T>> {
        let length = count * size_of::<T>();
        let buffer = self.buffers.get(number).filter(|buffer| length as u64 <= buffer.bytes);
        let Some(buffer) = buffer else { bail!("buffer {number} has no {count} elements") };
        let mut values = vec![T::zeroed(); count];
        // SAFETY: `placed` promises the buffer's bytes, of which these are some.
        let source =
            unsafe { DeviceSlice::<u8>::from_raw_parts(DevicePointer::from_raw(buffer.address), length) };
        source.copy_to(bytemuck::cast_slice_mut(&mut values)).context("reading a buffer back failed")?;
        Ok(values)
    }

    /// Queues the driver's own copy of one buffer to another of the same length, one of which is in device memory, of this device
    /// or another.
    ///
    /// # Errors
    /// The point has no such buffers, or the driver refuses the copy.
    pub(crate) fn copy(&self, source: usize, destination: usize, stream: &Stream) -> Result<()> {
        self.copy_part(source, destination, Part::WHOLE, stream)
    }

    /// The same of a part of both.
    ///
    /// # Errors
    /// As for [`copy`](Self::copy).
    pub(crate) fn copy_part(
        &self,
        source: usize,
        destination: usize,
        part: Part,
        stream: &Stream,
    ) -> Result<()> {
        let both = (self.buffers.get(source), self.buffers.get(destination));
        let (Some(from), Some(to)) = both else { bail!("there are no buffers {source} and {destination}") };
        if from.bytes != to.bytes || source == destination {
            bail!("a copy has two buffers of one length");
        }
        if from.place.is_hosts() && to.place.is_hosts() {
            bail!("a copy has a buffer in device memory");
        }
        let length = to.bytes / u64::from(part.of);
        let [from_address, to_address] =
            [from, to].map(|buffer| buffer.address + u64::from(part.nth) * length);
        let length = length as usize;
        // SAFETY: `placed` promises both buffers until the stream has ended its work, and they are two; a part lies within. The
        // host's memory has one address for host and card, or none for the card.
        let queued = unsafe {
            if to.place.is_hosts() {
                let source = DeviceSlice::from_raw_parts(DevicePointer::<u8>::from_raw(from_address), length);
                let target = ptr::with_exposed_provenance_mut::<u8>(to_address as usize);
                source.async_copy_to(slice::from_raw_parts_mut(target, length), stream)
            } else {
                let mut target =
                    DeviceSlice::<u8>::from_raw_parts_mut(DevicePointer::from_raw(to_address), length);
                if from.place.is_hosts() {
                    let source = ptr::with_exposed_provenance::<u8>(from_address as usize);
                    target.async_copy_from(slice::from_raw_parts(source, length), stream)
                } else {
                    let source = DeviceSlice::from_raw_parts(DevicePointer::from_raw(from_address), length);
                    target.async_copy_from(&source, stream)
                }
            }
        };
        queued.context("the driver refuses the copy")
    }
}

/// One of several equal parts of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its number, from 0.
    pub nth: u32,
    /// How many parts there are; they divide the buffer's length.
    pub of: u32,
}

impl Part {
    /// All of a buffer.
    pub(crate) const WHOLE: Part = Part { nth: 0, of: 1 };

    /// The address and the length of this part of a buffer, of whose elements there are `length` from `address` on.
    fn within<T>(self, (address, length): (u64, usize)) -> (u64, usize) {
        let elements = length / self.of as usize;
        (address + u64::from(self.nth) * (elements * size_of::<T>()) as u64, elements)
    }

    /// Each of this many parts, in order.
    pub(crate) fn each(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |nth| Part { nth, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{BytesMoved, Contents, NO_LAUNCH, Work, copy};

    fn buffers(bytes: [u64; 2]) -> Buffers {
        let buffer =
            |bytes| Buffer { bytes, place: Place::Device, before: Contents::Poison, after: copy::pattern() };
        let point = Point {
            bytes: BytesMoved { read: 0, written: 0, footprint: 0 },
            buffers: bytes.map(buffer).into(),
            ..Point::new("test", NO_LAUNCH, Work::driver("nothing", |_, _| Ok(())))
        };
        Buffers::planned(&point)
    }

    #[test]
    fn lengths_are_those_of_the_buffers() {
        let buffers = buffers([64, 32]);
        let lengths = buffers.lend_to("k", |buffers| {
            (
                buffers.read::<f32>(0).len(),
                buffers.read::<f64>(0).len(),
                buffers.write::<SliceMut<'_, u32>>(1).len(),
            )
        });
        assert_eq!(lengths.ok(), Some((16, 8, 8)));
        let cells = buffers.lend_to("k", |buffers| buffers.write::<Slice<'_, Cell<f32>>>(1).len());
        assert_eq!(cells.ok(), Some(8), "the loans of an earlier launch have ended");
    }

    #[test]
    fn a_tensor_map_lends_its_buffer() {
        let mut buffers = buffers([64, 32]);
        buffers.maps = vec![Mapped { buffer: 1, map: None }];
        let lend =
            |launch: &dyn Fn(&Buffers)| buffers.lend_to("k", launch).err().map(|error| error.to_string());
        assert_eq!(lend(&|buffers| _ = buffers.write_map(0)), None);
        let error = lend(&|buffers| {
            _ = buffers.read_map(0);
            _ = buffers.write::<SliceMut<'_, f32>>(1);
        });
        assert!(error.is_some_and(|error| error.contains("buffer 1 for reading and for writing")));
        let error = lend(&|buffers| _ = buffers.read_map(1));
        assert_eq!(error.as_deref(), Some("the experiment test lends tensor map 1 of 1 in one launch of k"));
    }

    #[test]
    fn a_buffer_is_written_by_one_argument_of_a_launch() {
        let buffers = buffers([64, 30]);
        let refusal = |launch: &dyn Fn(&Buffers)| {
            buffers.lend_to("naive_row", launch).expect_err("refused").to_string()
        };
        let write = |buffers: &Buffers, number| _ = buffers.write::<SliceMut<'_, f32>>(number);
        assert_eq!(
            refusal(&|buffers| {
                write(buffers, 0);
                write(buffers, 0);
            }),
            "the experiment test lends buffer 0 for writing and again in one launch of naive_row"
        );
        let error = refusal(&|buffers| {
            _ = buffers.read::<f32>(0);
            write(buffers, 0);
        });
        assert!(error.contains("buffer 0 for reading and for writing"), "{error}");
        let error = refusal(&|buffers| {
            write(buffers, 0);
            _ = buffers.read::<f32>(0);
        });
        assert!(error.contains("buffer 0 for writing and again"), "{error}");
        let error = refusal(&|buffers| write(buffers, 1));
        assert!(error.contains("buffer 1, whose 30 bytes are no multiple of 4,"), "{error}");
        assert!(refusal(&|buffers| write(buffers, 2)).contains("lends buffer 2 of 2"));
    }
}
