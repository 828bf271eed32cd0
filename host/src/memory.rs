//! The device memory of a run. It is allocated once, large enough for the largest point, filled before each point and
//! read back after it.
//!
//! On a GPU a kernel fills it, which is over in no time. A simulated card would take as long for that as for the kernel
//! that is of interest, so there the host writes the same values, and compares results, where the simulator keeps them. An
//! input that holds the pattern is written once: verification restores what kernels added to it, while the processor's cache has
//! it, and the next point writes only what lies beyond.

use crate::{
    device::{Backend, DeviceInfo},
    experiments::{Buffer, Contents, Place, Point, Precision},
    machine, numa,
    sizes::Bytes,
    verify::{Findings, merge},
};
use anyhow::{Context, Result, anyhow, bail};
use cuda_driver::{
    ext::{Peer, PeerBuffer, PinnedBuffer, PinnedFlags},
    simulated::{read_in_place, write_in_place},
};
use cuda_launch::{Kernel, Loaded, Shape, SliceMut};
use cust::{
    event::{Event, EventFlags},
    memory::{
        AsyncCopyDestination, CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice, LockedBuffer,
        UnifiedPointer,
        bytemuck::{self, Pod},
        cuda_free_unified, cuda_malloc_unified, mem_get_info,
    },
    module::Module,
    stream::Stream,
};
use gpu_kernels::fill::{fill_f32, fill_f64};
use pattern::SEED;
use rayon::prelude::*;
use std::{collections::BTreeMap, ops::Range, slice, sync::Arc};

/// Bytes behind each buffer's end that no kernel may touch.
const GUARD_BYTES: u64 = 4096;

/// The contents of these bytes.
const GUARD: u8 = 0xA5;

/// The contents of an output before its kernel runs.
const POISON: u8 = 0xFF;

/// Bytes read back from a card at a time.
const STAGING_BYTES: usize = 32 << 20;

/// The same of a simulated card, should its memory not be lent where it lies.
const SIMULATED_STAGING_BYTES: usize = 2 << 20;

/// Bytes that the host writes before it copies them: what stays in the processor's cache until then.
const PIECE_BYTES: usize = 4 << 20;

/// Bytes of these that one task writes.
const TASK_BYTES: usize = 256 << 10;

/// Device memory that is kept free for the driver's own needs: module code, local memory, page tables.
const RESERVE_BYTES: u64 = 128 << 20;

/// Memory of this machine that a simulated card leaves to the rest of it, the program's own buffers included.
const MACHINE_RESERVE_BYTES: u64 = 512 << 20;

/// Buffers for every point of a run. The points use the same device memory one after another; what is not device memory is
/// allocated again for each point, because hints to its pages persist.
pub(crate) struct Memory<'m> {
    slots: Vec<Slot>,
    exact: bool,
    hosted: Vec<Hosted>,
    /// The other devices that points have buffers on, and the buffers of the current point there.
    peers: BTreeMap<u32, Arc<Peer>>,
    on_peers: Vec<PeerBuffer>,
    staging: [LockedBuffer<u64>; 2],
    arrived: [Event; 2],
    filling: Filling<'m>,
}

/// Device memory of a buffer.
struct Slot {
    memory: DeviceBuffer<u8>,
    /// The pattern that the first bytes hold, and how many: what was verified, or restored, since the last launch.
    holds: Option<(Precision, u64)>,
}

/// The writer of the pattern: the host or a kernel.
enum Filling<'m> {
    /// A kernel.
    Device { f32: Loaded<'m, fill_f32>, f64: Loaded<'m, fill_f64>, blocks: u32 },
    /// The host.
    Host,
}

/// A kernel of the module, whose parameters were compared with the program's when it was loaded.
fn loaded<K: Kernel>(module: &Module) -> Result<Loaded<'_, K>> {
    let function = module.get_function(K::NAME);
    let function = function.with_context(|| format!("the module has no kernel {}", K::NAME))?;
    // SAFETY: the module is the program's own, by its kernels' parameters.
    Ok(unsafe { Loaded::new(function) })
}

/// The lengths of the buffers in device memory that `points` need. A buffer serves every point that has one at its
/// index.
pub(crate) fn needed<'p, I: IntoIterator<Item = &'p Point>>(points: I) -> Vec<u64> {
    let mut slots = Vec::new();
    for point in points {
        let on_device = point.buffers.iter().filter(|buffer| buffer.place == Place::Device);
        for (slot, buffer) in on_device.enumerate() {
            if slots.len() == slot {
                slots.push(0);
            }
            slots[slot] = slots[slot].max(buffer.bytes.saturating_add(GUARD_BYTES));
        }
    }
    slots
}

/// The most host memory that one of the points needs for its buffers there, in bytes.
pub(crate) fn needed_on_host<'p, I: IntoIterator<Item = &'p Point>>(points: I) -> u64 {
    let of = |point: &Point| {
        let hosted = point.buffers.iter().filter(|buffer| buffer.place.is_hosts());
        hosted.fold(0_u64, |sum, buffer| sum.saturating_add(buffer.bytes.saturating_add(GUARD_BYTES)))
    };
    points.into_iter().map(of).max().unwrap_or(0)
}

/// The device memory that a run may use, in bytes.
///
/// # Errors
/// The driver does not tell.
pub(crate) fn available(backend: Backend) -> Result<u64> {
    let (free, _) = mem_get_info().context("the driver does not tell how much memory is free")?;
    let free = (free as u64).saturating_sub(RESERVE_BYTES);
    Ok(match backend {
        Backend::Measured => free,
        Backend::Modelled => free.min(machine_bytes()),
    })
}

/// The memory that this machine can give to a simulated card.
fn machine_bytes() -> u64 {
    machine::available_bytes().map_or(u64::MAX, |bytes| bytes.saturating_sub(MACHINE_RESERVE_BYTES))
}

/// The error for `need` bytes where fewer are available.
fn too_much(need: u64, backend: Backend) -> Result<String> {
    let (free, total) = mem_get_info().context("the driver does not tell how much memory is free")?;
    let (free, total) = (Bytes(free as u64), Bytes(total as u64));
    let advice = "Use fewer --bytes, a smaller matrix (--nx, --ny) or a smaller largest value in --range (a stride multiplies \
                  the memory)";
    Ok(match backend {
        Backend::Measured => format!(
            "the run needs {} of device memory, and the card has {free} of its {total} free, {} of which stay reserved \
             for the driver. {advice}, or end other programs on the card",
            Bytes(need),
            Bytes(RESERVE_BYTES),
        ),
        Backend::Modelled if need.saturating_add(RESERVE_BYTES) <= total.0 => format!(
            "the run needs {} of memory. The simulated card has {total}, but what is touched of it is this machine's own \
             memory, which can spare {}. {advice}, or a machine with more memory",
            Bytes(need),
            Bytes(machine_bytes()),
        ),
        Backend::Modelled => format!(
            "the run needs {} of device memory, and the simulated card has {total}, {} of which stay reserved for the \
             driver. {advice}, or another card",
            Bytes(need),
            Bytes(RESERVE_BYTES),
        ),
    })
}

/// Device memory for a buffer; `prepare` fills every byte that a point uses before anything reads it.
fn slot(bytes: u64) -> Result<Slot> {
    // SAFETY: bytes have no invalid values, and nothing reads them before they are filled.
    let memory = unsafe { DeviceBuffer::uninitialized(bytes as usize) }.with_context(|| {
        format!(
            "cannot allocate {} of device memory although so much is free. Use fewer --bytes",
            Bytes(bytes)
        )
    })?;
    Ok(Slot { memory, holds: None })
}

/// Memory of another device, which is opened when it is first needed.
///
/// # Errors
/// The device cannot be used, or has too little memory.
pub(crate) fn allocate_on(
    peers: &mut BTreeMap<u32, Arc<Peer>>,
    ordinal: u32,
    bytes: u64,
) -> Result<PeerBuffer> {
    let peer = match peers.get(&ordinal) {
        Some(peer) => peer.clone(),
        None => {
            let opened = Peer::open(ordinal as i32).with_context(|| {
                format!("cannot use device {ordinal} beside the one of the run; another program may hold it")
            })?;
            peers.entry(ordinal).or_insert(Arc::new(opened)).clone()
        }
    };
    peer.allocate(bytes as usize)
        .with_context(|| format!("cannot allocate {} on device {ordinal}. Use fewer --bytes", Bytes(bytes)))
}

impl Slot {
    fn start(&self) -> DevicePointer<u8> {
        self.memory.as_device_ptr()
    }

    /// True if it has a guard behind a buffer of this size.
    fn is_guarded(&self, bytes: u64) -> bool {
        self.memory.len() as u64 >= bytes + GUARD_BYTES
    }
}

impl<'m> Memory<'m> {
    /// Allocates `slots`, as [`needed`] gives them, and sees that there is room for `host` bytes, as [`needed_on_host`] says.
    /// `module` holds the kernels that fill them.
    ///
    /// # Errors
    /// There is less memory free than that, on the card or in the machine that simulates it: found before anything is
    /// allocated.
    pub(crate) fn allocate(
        slots: &[u64],
        host: u64,
        module: &'m Module,
        device: &DeviceInfo,
    ) -> Result<Memory<'m>> {
        let need = slots.iter().fold(0u64, |sum, &slot| sum.saturating_add(slot));
        let backend = device.backend();
        if need > available(backend)? {
            bail!(too_much(need, backend)?);
        }
        let here = match backend {
            Backend::Measured => machine_bytes(),
            Backend::Modelled => machine_bytes().saturating_sub(need),
        };
        if host > here {
            bail!(
                "the run needs {} of this machine's memory for managed and pinned buffers, and it can spare {}. Use a smaller \
                 --budget, a smaller --factor or fewer --bytes",
                Bytes(host),
                Bytes(here),
            );
        }
        let slots = slots.iter().map(|&bytes| slot(bytes)).collect::<Result<_>>()?;
        let bytes = match backend {
            Backend::Measured => STAGING_BYTES,
            Backend::Modelled => SIMULATED_STAGING_BYTES,
        };
        let staging = || {
            // SAFETY: nothing reads the buffer before the next statement has written all of it.
            let buffer = unsafe { LockedBuffer::<u64>::uninitialized(bytes / 8) };
            let mut buffer = buffer.context("cannot allocate pinned host memory")?;
            // SAFETY: it has as many elements, and zeros are numbers. `LockedBuffer::new` writes them one by one, which takes most
            // of a small run's time in a program that is not optimised.
            unsafe { buffer.as_mut_ptr().write_bytes(0, bytes / 8) };
            Ok::<_, anyhow::Error>(buffer)
        };
        let arrived = || Event::new(EventFlags::DISABLE_TIMING).context("cannot create an event");
        Ok(Memory {
            slots,
            exact: false,
            hosted: Vec::new(),
            peers: BTreeMap::new(),
            on_peers: Vec::new(),
            staging: [staging()?, staging()?],
            arrived: [arrived()?, arrived()?],
            filling: match backend {
                Backend::Modelled => Filling::Host,
                Backend::Measured => Filling::Device {
                    f32: loaded(module)?,
                    f64: loaded(module)?,
                    blocks: device.multiprocessors.max(1) * 8,
                },
            },
        })
    }

    /// Gives each point device memory of its own from now on, without a guard. The memory ends where the buffers end,
    /// so tools that watch allocations, such as compute-sanitizer, see every access beyond a buffer.
    pub(crate) fn be_exact(&mut self) {
        self.exact = true;
        self.slots.clear();
    }

    /// The addresses of the point's buffers. An earlier point's buffers outside device memory are freed.
    ///
    /// # Errors
    /// Managed or pinned memory cannot be allocated, that of another device, or a point's own device memory.
    pub(crate) fn place(&mut self, point: &Point) -> Result<Vec<DevicePointer<u8>>> {
        self.hosted.clear();
        self.on_peers.clear();
        if self.exact {
            self.slots.clear();
            let on_device = point.buffers.iter().filter(|buffer| buffer.place == Place::Device);
            self.slots = on_device.map(|buffer| slot(buffer.bytes)).collect::<Result<_>>()?;
        }
        let mut slots = self.slots.iter();
        let mut pointers = Vec::with_capacity(point.buffers.len());
        for buffer in &point.buffers {
            if let Place::Peer(ordinal) = buffer.place {
                let on_peer = allocate_on(&mut self.peers, ordinal, buffer.bytes + GUARD_BYTES)?;
                pointers.push(DevicePointer::from_raw(on_peer.address()));
                self.on_peers.push(on_peer);
                continue;
            }
            pointers.push(match Hosted::allocate(buffer)? {
                Some(hosted) => {
                    let pointer = hosted.device_pointer()?;
                    self.hosted.push(hosted);
                    pointer
                }
                None => slots.next().map(Slot::start).ok_or_else(|| {
                    anyhow!("{} has more buffers than were allocated for the run", point.kernel)
                })?,
            });
        }
        Ok(pointers)
    }

    /// Fills the point's buffers as it asks, and the guards behind them; [`place`](Self::place) comes first.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn prepare(&mut self, point: &Point, stream: &Stream) -> Result<()> {
        stream.synchronize().context("the device failed before the buffers were filled")?;
        let (mut slots, mut hosted) = (self.slots.iter_mut(), self.hosted.iter_mut());
        let mut on_peers = self.on_peers.iter();
        for buffer in &point.buffers {
            if let Place::Peer(_) = buffer.place {
                // The kernel that fills runs on this device, which may not reach the other's memory.
                let Some(on_peer) = on_peers.next() else { continue };
                let start = on_peer.address();
                fill_from_host(DevicePointer::from_raw(start), 0..buffer.bytes, &buffer.before)?;
                let guard = Contents::Computed(Box::new(|_, bytes| bytes.fill(GUARD)));
                fill_from_host(DevicePointer::from_raw(start + buffer.bytes), 0..GUARD_BYTES, &guard)?;
                continue;
            }
            if buffer.place.is_hosts() {
                let Some(hosted) = hosted.next() else { continue };
                let (contents, guard) = hosted.bytes().split_at_mut(buffer.bytes as usize);
                write(0, 0, contents, &buffer.before);
                guard.fill(GUARD);
                continue;
            }
            let Some(slot) = slots.next() else { continue };
            let (start, held) = (slot.start(), slot.holds.take());
            match &buffer.before {
                Contents::Poison => set(start, 0, buffer.bytes, POISON, stream)?,
                Contents::Pattern(precision) => {
                    let held = held.filter(|(of, _)| of == precision).map_or(0, |(_, bytes)| bytes);
                    self.filling.fill(start, held..buffer.bytes, *precision, stream)?;
                }
                Contents::Computed(_) | Contents::Addressed(_) => {
                    fill_from_host(start, 0..buffer.bytes, &buffer.before)?;
                }
            }
            if slot.is_guarded(buffer.bytes) {
                set(start, buffer.bytes, GUARD_BYTES, GUARD, stream)?;
            }
        }
        stream.synchronize().context("filling the buffers failed")
    }

    /// Reads the point's buffers back and compares every element, and the guards behind them, after `launches`
    /// launches. `None` is a clean bill.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn verify(&mut self, point: &Point, launches: u64, stream: &Stream) -> Result<Option<String>> {
        stream.synchronize().context("the device failed before its result was read")?;
        let (mut slots, mut hosted, mut on_peers) = (0.., 0.., 0..);
        for (number, buffer) in point.buffers.iter().enumerate() {
            let on_card = match buffer.place {
                Place::Device => {
                    let number = slots.next().unwrap_or_default();
                    let slot = &self.slots[number];
                    Some((slot.start(), slot.is_guarded(buffer.bytes), Some(number)))
                }
                Place::Peer(_) => {
                    let on_peer = &self.on_peers[on_peers.next().unwrap_or_default()];
                    Some((DevicePointer::from_raw(on_peer.address()), true, None))
                }
                _ => None,
            };
            let (findings, touched) = if let Some((address, guarded, slot)) = on_card {
                let findings = match slot.and_then(|slot| self.restore(slot, buffer, launches)) {
                    Some(findings) => findings,
                    None => {
                        let mut findings: Option<Findings> = None;
                        self.read(address, 0..buffer.bytes, stream, &mut |start, bytes| {
                            let found = buffer.after.check_in_parallel(start, launches, bytes);
                            findings = merge(findings.take(), found);
                        })?;
                        findings
                    }
                };
                let mut touched = None;
                if guarded {
                    let guard = buffer.bytes..buffer.bytes + GUARD_BYTES;
                    self.read(address, guard, stream, &mut |_, bytes| {
                        touched = touched_guard(bytes);
                    })?;
                }
                (findings, touched)
            } else {
                let Some(hosted) = self.hosted.get_mut(hosted.next().unwrap_or_default()) else { continue };
                let (contents, guard) = hosted.bytes().split_at(buffer.bytes as usize);
                (buffer.after.check_in_parallel(0, launches, contents), touched_guard(guard))
            };
            if let Some(findings) = findings {
                return Ok(Some(format!("buffer {number}: {findings}")));
            }
            if let Some(place) = touched {
                return Ok(Some(format!(
                    "buffer {number}: something was written {place} bytes past its end"
                )));
            }
        }
        Ok(None)
    }

    /// Compares a buffer of a simulated card that its rule can restore, and restores what is right, for the next launch to be
    /// prepared without writing it again. `None` if it cannot be restored, of which nothing is compared.
    fn restore(&mut self, slot: usize, buffer: &Buffer, launches: u64) -> Option<Option<Findings>> {
        let Contents::Pattern(precision) = buffer.before else { return None };
        if !buffer.after.restores(precision) {
            return None;
        }
        let slot = &mut self.slots[slot];
        // SAFETY: the slot is as long, and the caller has waited for all work on it.
        let findings = unsafe {
            write_in_place(slot.start().as_raw(), buffer.bytes, |found| {
                buffer.after.check_and_restore(launches, found)
            })
        }?;
        slot.holds = findings.is_none().then_some((precision, buffer.bytes));
        Some(findings)
    }

    /// Hands a range of the bytes behind an address to `each`, in pieces with their offset in the range. While one piece
    /// is looked at, the next one is on its way; of a simulated card all is one piece, where it lies. The memory of a card has
    /// at least these bytes.
    fn read(
        &mut self,
        address: DevicePointer<u8>,
        range: Range<u64>,
        stream: &Stream,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<()> {
        let Range { start, end } = range;
        // SAFETY: the caller has placed a buffer there, and its guard if that is read, and waited for all work on it.
        let in_place =
            unsafe { read_in_place(address.as_raw() + start, end - start, |bytes| each(0, bytes)) };
        if in_place.is_some() {
            return Ok(());
        }
        let staging_bytes = 8 * self.staging[0].len();
        let pieces: Vec<u64> = (start..end).step_by(staging_bytes).collect();
        let size = |piece: u64| (end - piece).min(staging_bytes as u64) as usize;
        for queued in 0..=pieces.len() {
            if let Some(&piece) = pieces.get(queued) {
                let source = DevicePointer::<u8>::from_raw(address.as_raw() + piece);
                // SAFETY: the caller has placed a buffer there, and its guard if that is read.
                let source = unsafe { DeviceSlice::from_raw_parts(source, size(piece)) };
                let staging: &mut [u8] = bytemuck::cast_slice_mut(&mut self.staging[queued % 2][..]);
                // SAFETY: this staging buffer is not looked at before the event behind the copy has arrived, and it
                // lives as long as `self`.
                unsafe { source.async_copy_to(&mut staging[..size(piece)], stream) }
                    .context("reading a buffer back failed")?;
                self.arrived[queued % 2].record(stream).context("cannot record an event")?;
            }
            if let Some(ready) = queued.checked_sub(1) {
                self.arrived[ready % 2].synchronize().context("reading a buffer back failed")?;
                let staging: &[u8] = bytemuck::cast_slice(&self.staging[ready % 2][..]);
                each(pieces[ready] - start, &staging[..size(pieces[ready])]);
            }
        }
        Ok(())
    }
}

impl Filling<'_> {
    /// Writes the pattern in elements of `precision` into a range of the bytes from `start` on.
    fn fill(
        &self,
        start: DevicePointer<u8>,
        Range { start: first, end: bytes }: Range<u64>,
        precision: Precision,
        stream: &Stream,
    ) -> Result<()> {
        match self {
            Filling::Device { f32, f64, blocks } => {
                let (address, length) = (start.as_raw(), (bytes / precision.size()) as usize);
                let shape = Shape::linear(*blocks, 256);
                // SAFETY: the slot has `length` elements and lives until the stream has ended its work, on which alone all
                // work on the slots is queued.
                let launched = unsafe {
                    match precision {
                        Precision::F32 => {
                            let slice = SliceMut::<f32>::new(address, length);
                            f32.launch_unchecked(stream, shape, (slice, length, SEED))
                        }
                        Precision::F64 => {
                            let slice = SliceMut::<f64>::new(address, length);
                            f64.launch_unchecked(stream, shape, (slice, length, SEED))
                        }
                    }
                };
                launched.context("cannot launch the kernel that fills a buffer")
            }
            Filling::Host => fill_from_host(start, first..bytes, &Contents::Pattern(precision)),
        }
    }
}

/// The position of a write that no kernel may make.
fn touched_guard(guard: &[u8]) -> Option<usize> {
    guard.iter().position(|&byte| byte != GUARD)
}

/// Managed, pinned or pageable memory, which the host reaches by its own pointer.
pub(crate) enum Hosted {
    /// Managed, and its length.
    Managed(UnifiedPointer<u8>, usize),
    /// Pinned.
    Pinned(PinnedBuffer<u8>),
    /// Pageable, in words, so that elements of any type are aligned, and its length in bytes.
    Pageable(Vec<u64>, usize),
}

impl Hosted {
    /// Memory for a buffer and the guard behind it; `None` for a buffer in device memory.
    ///
    /// # Errors
    /// The driver has none to give.
    pub(crate) fn allocate(buffer: &Buffer) -> Result<Option<Hosted>> {
        let bytes = (buffer.bytes + GUARD_BYTES) as usize;
        let advice = "Use a smaller --budget, a smaller --factor or fewer --bytes";
        match buffer.place {
            Place::Device | Place::Peer(_) => Ok(None),
            Place::Managed(_) => {
                // SAFETY: the memory is written before it is read, by `prepare`.
                let pointer = unsafe { cuda_malloc_unified::<u8>(bytes) };
                let pointer = pointer.with_context(|| {
                    format!("cannot allocate {} of managed memory. {advice}", Bytes(bytes as u64))
                })?;
                Ok(Some(Hosted::Managed(pointer, bytes)))
            }
            Place::Pageable => Ok(Some(Hosted::Pageable(vec![0; bytes.div_ceil(8)], bytes))),
            Place::Pinned | Place::PinnedOn(_) | Place::WriteCombined => {
                let flags = PinnedFlags::PORTABLE | PinnedFlags::MAPPED;
                let flags = match buffer.place {
                    Place::WriteCombined => flags | PinnedFlags::WRITE_COMBINED,
                    _ => flags,
                };
                // SAFETY: as above.
                let pinned = || unsafe { PinnedBuffer::uninitialized(bytes, flags) };
                let buffer = match buffer.place {
                    Place::PinnedOn(node) => numa::run_on(node, pinned)?,
                    _ => pinned(),
                };
                let buffer = buffer.with_context(|| {
                    format!("cannot allocate {} of pinned host memory. {advice}", Bytes(bytes as u64))
                })?;
                Ok(Some(Hosted::Pinned(buffer)))
            }
        }
    }

    /// The address by which kernels reach it.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn device_pointer(&self) -> Result<DevicePointer<u8>> {
        match self {
            Hosted::Managed(pointer, _) => Ok(DevicePointer::from_raw(pointer.as_raw() as u64)),
            Hosted::Pinned(buffer) => buffer
                .as_device_ptr()
                .map(DevicePointer::from_raw)
                .context("the device cannot reach pinned host memory"),
            // What copies take: kernels do not reach it.
            Hosted::Pageable(words, _) => {
                Ok(DevicePointer::from_raw(words.as_ptr().expose_provenance() as u64))
            }
        }
    }

    /// The bytes, the guard included. Nothing runs on the device meanwhile: the caller has synchronised.
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            // SAFETY: the allocation has `bytes` bytes, which this value owns, and bytes have no invalid values. The
            // device is idle, so nothing else touches them.
            Hosted::Managed(pointer, bytes) => unsafe {
                slice::from_raw_parts_mut(pointer.as_raw_mut(), *bytes)
            },
            Hosted::Pinned(buffer) => buffer,
            Hosted::Pageable(words, bytes) => &mut bytemuck::cast_slice_mut(words)[..*bytes],
        }
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if let Hosted::Managed(pointer, _) = self {
            // SAFETY: the memory is this value's own and not used again. An error cannot be handed on from here.
            let _ = unsafe { cuda_free_unified(*pointer) };
        }
    }
}

/// Writes a range of a buffer's contents, which `start` begins, into memory that the device reaches, from the host.
///
/// # Errors
/// The driver fails.
pub(crate) fn fill_from_host(start: DevicePointer<u8>, range: Range<u64>, contents: &Contents) -> Result<()> {
    let (address, Range { start: begin, end }) = (start.as_raw(), range);
    if begin >= end {
        return Ok(());
    }
    // SAFETY: the caller fills a buffer of its own of these bytes, which the device does not use meanwhile.
    let in_place =
        unsafe { write_in_place(address + begin, end - begin, |all| write(address, begin, all, contents)) };
    if in_place.is_some() {
        return Ok(());
    }
    // In words, so that elements of any type are aligned.
    let mut words = vec![0_u64; PIECE_BYTES / 8];
    let piece: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    for first in (begin..end).step_by(PIECE_BYTES) {
        let piece = &mut piece[..PIECE_BYTES.min((end - first) as usize)];
        write(address, first, piece, contents);
        let target = DevicePointer::<u8>::from_raw(address + first);
        // SAFETY: the buffer has `bytes` bytes, of which these are some.
        unsafe { DeviceSlice::from_raw_parts_mut(target, piece.len()).copy_from(&*piece) }
            .context("copying a buffer's contents to the device failed")?;
    }
    Ok(())
}

/// Writes the contents of a buffer at this address from the byte with the number `first` on, on all processors.
fn write(address: u64, first: u64, bytes: &mut [u8], contents: &Contents) {
    bytes.par_chunks_mut(TASK_BYTES).enumerate().for_each(|(number, part)| {
        let first = first + (number * TASK_BYTES) as u64;
        match contents {
            Contents::Poison => part.fill(POISON),
            Contents::Pattern(Precision::F32) => pattern_into::<f32>(first, part),
            Contents::Pattern(Precision::F64) => pattern_into::<f64>(first, part),
            Contents::Computed(fill) => fill(first, part),
            Contents::Addressed(fill) => fill(address, first, part),
        }
    });
}

/// Writes the pattern from the byte with the number `start` on, which begins an element. A part of an element at the end is
/// left as it is.
fn pattern_into<T: pattern::Element + Pod>(start: u64, bytes: &mut [u8]) {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    pattern::fill(
        start / size_of::<T>() as u64,
        SEED,
        bytemuck::cast_slice_mut::<u8, T>(&mut bytes[..whole]),
    );
}

/// Sets `length` bytes, `offset` bytes behind `start`, to `value`.
fn set(start: DevicePointer<u8>, offset: u64, length: u64, value: u8, stream: &Stream) -> Result<()> {
    let start = DevicePointer::from_raw(start.as_raw() + offset);
    // SAFETY: a slot is as long as the point's buffer and its guard, which is all that is set, and the stream is
    // synchronised before the slot goes.
    unsafe { DeviceSlice::<u8>::from_raw_parts_mut(start, length as usize).set_8_async(value, stream) }
        .context("setting device memory failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::driver_copy;

    #[test]
    fn a_buffer_serves_every_point_at_its_place() {
        let points = [driver_copy(1 << 20), driver_copy(3 << 20), driver_copy(2 << 20)];
        assert_eq!(needed(points.iter()), [(3 << 20) + GUARD_BYTES; 2]);
        assert_eq!(needed([].iter()), [0u64; 0]);
    }
}
