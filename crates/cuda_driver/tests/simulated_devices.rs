//! Several simulated cards in one process, old ones among them: each has its memory, its limits and its time.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_driver::ext;
use cuda_driver::simulated::{self, Settings, bind_simulated, cards_named};
use cust::device::{Device, DeviceAttribute};
use cust_raw as sys;

#[path = "support/common.rs"]
mod common;
use common::{KERNELS, function, gives, launch, module, ok};

const INVALID_VALUE: c_int = 1;

/// H200, C870, V100 and another H200, of 8 MiB each and a little for modules' variables.
fn bind() {
    let cards = cards_named("h200,c870,v100,h200").expect("cards");
    let settings = Settings {
        cards,
        memory_bytes: Some((8 << 20) + (64 << 10)),
        workers: Some(1),
        ..Settings::default()
    };
    let bound = bind_simulated(settings).expect("the simulated driver");
    assert_eq!(bound.cards.len(), 4);
    cust::init(cust::CudaFlags::empty()).expect("a driver");
}

/// The turn of a test: the driver's devices, and the records of their launches, are all tests'.
fn turn() -> MutexGuard<'static, ()> {
    static TURNS: Mutex<()> = Mutex::new(());
    let turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    bind();
    simulated::forget();
    turn
}

/// A context of its own.
struct Context(sys::CUcontext);

impl Context {
    fn on(device: c_int) -> Self {
        bind();
        let mut context = ptr::null_mut();
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuCtxCreate_v2(&raw mut context, 0, device) });
        Context(context)
    }

    fn enter(&self) {
        // SAFETY: the context is alive.
        ok(unsafe { sys::cuCtxSetCurrent(self.0) });
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours.
        unsafe { sys::cuCtxDestroy_v2(self.0) };
    }
}

#[test]
fn each_card_has_its_name_and_its_limits() {
    bind();
    assert_eq!(Device::num_devices(), Ok(4));
    let names: Vec<String> = (0..3)
        .map(|device| Device::get_device(device).and_then(|device| device.name()).expect("a name"))
        .collect();
    assert_eq!(names, ["NVIDIA H200 (modelled)", "Tesla C870 (modelled)", "Tesla V100-SXM2-32GB (modelled)"]);
    let most = |device| {
        let device = Device::get_device(device).expect("a device");
        device.get_attribute(DeviceAttribute::MaxThreadsPerBlock).expect("an attribute")
    };
    assert_eq!([most(0), most(1), most(2)], [1024, 512, 1024]);
    let mut device = 9;
    // SAFETY: the pointer can be written, and the text ends with a NUL.
    ok(unsafe { sys::cuDeviceGetByPCIBusId(&raw mut device, c"03:00.0".as_ptr()) });
    assert_eq!(device, 2);
}

#[test]
fn an_old_card_launches_what_it_could_and_takes_longer() {
    let _turn = turn();
    let seconds = |device: c_int, threads: u32| {
        let _context = Context::on(device);
        let add = function(module(KERNELS), "add");
        let (mut address, mut value) = (common::allocate(4 << 16), 1_u32);
        let mut parameters = [(&raw mut address).cast::<c_void>(), (&raw mut value).cast()];
        // SAFETY: the kernel adds to 65536 elements, which are there.
        unsafe {
            ok(sys::cuMemsetD32_v2(address, 0, 1 << 16));
            ok(launch(add, (1 << 16) / threads, threads, &mut parameters));
            if device == 1 {
                gives(launch(add, 64, 1024, &mut parameters), INVALID_VALUE);
                gives(launch(add, 65_536, 1, &mut parameters), INVALID_VALUE);
            }
        }
        let records = simulated::take_launches();
        let record = records.into_iter().find(|record| record.device == device as usize).expect("a record");
        (record.seconds, record.counters.total.loads.sectors)
    };
    let (modern, sectors) = seconds(0, 256);
    // A warp's 128 aligned bytes are 4 sectors, on 1.x as two transactions of 64 bytes.
    assert_eq!(sectors, 8192);
    let (old, sectors) = seconds(1, 256);
    assert_eq!(sectors, 8192);
    assert!(old > 2.0 * modern, "{old} s, and {modern} s");
}

#[test]
fn managed_memory_is_for_cards_that_have_it() {
    let _turn = turn();
    let _context = Context::on(1);
    let mut address = 0;
    // SAFETY: the pointer can be written.
    gives(unsafe { sys::cuMemAllocManaged(&raw mut address, 64, 1) }, 801);
}

#[test]
fn memory_is_of_one_card_and_pinned_memory_of_all() {
    let _turn = turn();
    let (first, third) = (Context::on(0), Context::on(2));
    let mut on_third = common::allocate(128);
    let read = function(module(KERNELS), "read");
    first.enter();
    let on_first = common::allocate(128);
    let pinned = ext::PinnedBuffer::new(41_u32, 32, ext::PinnedFlags::PORTABLE).expect("memory");
    let mut shared = pinned.as_device_ptr().expect("an address");
    let mut word = [0_u32; 2];
    // SAFETY: pointers can be written; the kernel reads where it may, and last where it may not.
    unsafe {
        ok(sys::cuMemsetD32_v2(on_first, 7, 32));
        // Between cards, by way of the host.
        ok(sys::cuMemcpyPeer(on_third, third.0, on_first, first.0, 128));
        ok(sys::cuMemcpy(on_third, shared, 4));
        third.enter();
        ok(sys::cuMemcpyDtoH_v2(word.as_mut_ptr().cast(), on_third, 8));
        assert_eq!(word, [41, 7]);
        let mut ordinal = -1;
        ok(sys::cuPointerGetAttribute(
            (&raw mut ordinal).cast(),
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            on_first,
        ));
        assert_eq!(ordinal, 0);
        ok(launch(read, 1, 1, &mut [(&raw mut on_third).cast::<c_void>()]));
        ok(launch(read, 1, 1, &mut [(&raw mut shared).cast::<c_void>()]));
        ok(sys::cuCtxSynchronize());
        gives(sys::cuCtxEnablePeerAccess(first.0, 0), 217);
        let mut foreign = on_first;
        ok(launch(read, 1, 1, &mut [(&raw mut foreign).cast::<c_void>()]));
        gives(sys::cuCtxSynchronize(), 700);
        first.enter();
        ok(sys::cuCtxSynchronize());
    }
    drop(pinned);
}

#[test]
fn more_managed_memory_than_the_card_has_comes_and_goes() {
    let _turn = turn();
    let _context = Context::on(0);
    let add = function(module(KERNELS), "add");
    let bytes = 12 << 20;
    let (mut address, mut value) = (0, 1_u32);
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuMemAllocManaged(&raw mut address, bytes, 1) });
    let mut run = |value: &mut u32| {
        let mut parameters = [(&raw mut address).cast::<c_void>(), ptr::from_mut(value).cast()];
        // SAFETY: the kernel adds to as many elements as there are.
        ok(unsafe { launch(add, (bytes / 4 / 1024) as u32, 1024, &mut parameters) });
        let records = simulated::take_launches();
        records.into_iter().find(|record| record.grid == [3072, 1, 1]).expect("a record").migration
    };
    let first = run(&mut value);
    // All of it comes; of the 8 MiB that the card has, blocks of 2 MiB leave, written, to make room for the last 4 MiB.
    assert_eq!((first.bytes_in, first.bytes_out), (12 << 20, 4 << 20));
    let second = run(&mut value);
    // The sweep finds none of what it left, for the least recent go first.
    assert_eq!((second.bytes_in, second.bytes_out), (12 << 20, 12 << 20));
    assert!(second.seconds > first.seconds && first.seconds > 6.0 * 45e-6, "{first:?} {second:?}");
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

/// Flag of an event without time.
const DISABLE_TIMING: u32 = 2;

/// A stream of the current context.
fn stream() -> sys::CUstream {
    const NON_BLOCKING: u32 = 1;
    let mut stream = ptr::null_mut();
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuStreamCreate(&raw mut stream, NON_BLOCKING) });
    stream
}

/// An event of the current context.
fn event(flags: u32) -> sys::CUevent {
    let mut event = ptr::null_mut();
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuEventCreate(&raw mut event, flags) });
    event
}

/// Milliseconds of the device's time for what is queued on a stream in between.
fn elapsed(queue: impl FnOnce(sys::CUstream)) -> f64 {
    let mut events = [ptr::null_mut(); 2];
    let mut milliseconds = -1.0_f32;
    let stream = ptr::null_mut();
    // SAFETY: the pointers can be written, and the events are destroyed after the last use.
    unsafe {
        events.iter_mut().for_each(|event| ok(sys::cuEventCreate(event, 0)));
        ok(sys::cuEventRecord(events[0], stream));
        queue(stream);
        ok(sys::cuEventRecord(events[1], stream));
        ok(sys::cuEventSynchronize(events[1]));
        ok(sys::cuEventElapsedTime(&raw mut milliseconds, events[0], events[1]));
        events.iter().for_each(|event| ok(sys::cuEventDestroy_v2(*event)));
    }
    milliseconds.into()
}

#[test]
fn cards_with_the_same_link_are_peers() {
    bind();
    let can_access = |device, peer| {
        let mut value = -1;
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuDeviceCanAccessPeer(&raw mut value, device, peer) });
        value
    };
    assert_eq!(
        [(0, 3), (3, 0), (0, 1), (0, 2), (0, 0)].map(|(from, to)| can_access(from, to)),
        [1, 1, 0, 0, 0]
    );
    let attribute = |attribute: c_int, from, to| {
        let mut value = -1;
        // SAFETY: the pointer can be written, and the attributes asked for are the driver API's.
        ok(unsafe {
            sys::cuDeviceGetP2PAttribute(
                &raw mut value,
                std::mem::transmute::<c_int, sys::CUdevice_P2PAttribute>(attribute),
                from,
                to,
            )
        });
        value
    };
    // Rank, access, atomics, arrays.
    assert_eq!([1, 2, 3, 4].map(|number| attribute(number, 0, 3)), [0, 1, 1, 0]);
    assert_eq!([1, 2, 3, 4].map(|number| attribute(number, 0, 2)), [0; 4]);
}

#[test]
fn access_is_enabled_once_and_in_one_direction() {
    let _turn = turn();
    const INVALID_CONTEXT: c_int = 201;
    const UNSUPPORTED: c_int = 217;
    const ALREADY_ENABLED: c_int = 704;
    const NOT_ENABLED: c_int = 705;
    const ILLEGAL_ADDRESS: c_int = 700;
    let peer = Context::on(3);
    let mut before = common::allocate(128);
    // SAFETY: the memory is there.
    ok(unsafe { sys::cuMemsetD32_v2(before, 5, 32) });
    let old = Context::on(1);
    let own = Context::on(0);
    let mut word = 0_u32;
    // SAFETY: pointers can be written; the kernel adds where it may, and last where it may not.
    unsafe {
        gives(sys::cuCtxEnablePeerAccess(peer.0, 1), INVALID_VALUE);
        gives(sys::cuCtxEnablePeerAccess(own.0, 0), INVALID_CONTEXT);
        gives(sys::cuCtxEnablePeerAccess(old.0, 0), UNSUPPORTED);
        gives(sys::cuCtxDisablePeerAccess(peer.0), NOT_ENABLED);
        ok(sys::cuCtxEnablePeerAccess(peer.0, 0));
        gives(sys::cuCtxEnablePeerAccess(peer.0, 0), ALREADY_ENABLED);
        peer.enter();
        let mut later = common::allocate(128);
        ok(sys::cuMemsetD32_v2(later, 6, 32));
        own.enter();
        let add = function(module(KERNELS), "add");
        let mut value = 10_u32;
        for address in [&mut before, &mut later] {
            ok(launch(add, 1, 32, &mut [ptr::from_mut(address).cast::<c_void>(), (&raw mut value).cast()]));
        }
        ok(sys::cuCtxSynchronize());
        let records = simulated::take_launches();
        let link = records.iter().rev().find(|record| record.device == 0).expect("a record").counters.link;
        // 128 bytes are 4 sectors, which come and go.
        assert_eq!((link.peer_sectors_read, link.peer_sectors_written, link.sectors_read), (4, 4, 0));
        for (address, sum) in [(before, 15), (later, 16)] {
            ok(sys::cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4));
            assert_eq!(word, sum);
        }
        // Freed memory is nobody's, and the other direction is not enabled.
        peer.enter();
        ok(sys::cuMemFree_v2(later));
        gives(sys::cuCtxDisablePeerAccess(own.0), NOT_ENABLED);
        own.enter();
        gives(sys::cuMemcpyDtoH_v2((&raw mut word).cast(), later, 4), INVALID_VALUE);
        ok(sys::cuCtxDisablePeerAccess(peer.0));
        ok(launch(add, 1, 32, &mut [(&raw mut before).cast::<c_void>(), (&raw mut value).cast()]));
        gives(sys::cuCtxSynchronize(), ILLEGAL_ADDRESS);
    }
}

#[test]
fn copies_between_peers_take_the_links_time() {
    let _turn = turn();
    const BYTES: usize = 2 << 20;
    let card = simt::cards::find("h200").expect("a card");
    let peer = Context::on(3);
    let far = [common::allocate(BYTES), common::allocate(BYTES)];
    let own = Context::on(0);
    let near = [common::allocate(BYTES), common::allocate(BYTES)];
    let out = |stream| {
        // SAFETY: both contexts live, and both buffers are as long.
        ok(unsafe { sys::cuMemcpyPeerAsync(far[0], peer.0, near[0], own.0, BYTES, stream) });
    };
    let close =
        |ms: f64, seconds: f64| assert!((ms / 1e3 / seconds - 1.0).abs() < 1e-3, "{ms} ms, and {seconds} s");
    // By way of the host: 2 MiB at 55.4 GB/s and 10 us, twice.
    close(elapsed(out), 2.0 * simt::model::host_copy_seconds(&card, BYTES as u64));
    // SAFETY: the peer's context lives.
    ok(unsafe { sys::cuCtxEnablePeerAccess(peer.0, 0) });
    let one = 6e-6 + BYTES as f64 / 397e9;
    close(elapsed(out), one);
    // SAFETY: as above.
    close(elapsed(|stream| ok(unsafe { sys::cuMemcpyDtoDAsync_v2(near[1], far[1], BYTES, stream) })), one);
    // One stream after the other is twice as long, and both at once a little longer than one.
    let mut streams = [ptr::null_mut(); 2];
    // SAFETY: the pointers can be written, and the buffers live until the context is synchronised.
    unsafe {
        streams.iter_mut().for_each(|stream| ok(sys::cuStreamCreate(stream, 0)));
        let both = elapsed(|_| {
            out(streams[0]);
            ok(sys::cuMemcpyDtoDAsync_v2(near[1], far[1], BYTES, streams[1]));
        });
        close(both, one * 2.0 * 397.0 / 784.0);
        let after = elapsed(|_| {
            out(streams[0]);
            ok(sys::cuMemcpyDtoDAsync_v2(near[1], far[1], BYTES, streams[0]));
        });
        close(after, 2.0 * one);
        streams.iter().for_each(|stream| ok(sys::cuStreamDestroy_v2(*stream)));
    }
}

#[test]
fn copies_both_ways_share_the_link_wherever_they_are_queued() {
    let _turn = turn();
    const BYTES: usize = 2 << 20;
    let peer = Context::on(3);
    let far = [common::allocate(BYTES), common::allocate(BYTES)];
    let far_stream = stream();
    let (forked, joined) = (event(DISABLE_TIMING), event(DISABLE_TIMING));
    let own = Context::on(0);
    let near = [common::allocate(BYTES), common::allocate(BYTES)];
    // SAFETY: the peer's context lives.
    ok(unsafe { sys::cuCtxEnablePeerAccess(peer.0, 0) });
    let begun = event(DISABLE_TIMING);
    let out = |stream| {
        // SAFETY: both buffers are as long.
        ok(unsafe { sys::cuMemcpyDtoDAsync_v2(far[0], near[0], BYTES, stream) });
    };
    let back = |stream| {
        // SAFETY: as above.
        ok(unsafe { sys::cuMemcpyDtoDAsync_v2(near[1], far[1], BYTES, stream) });
    };
    let one = 6e-6 + BYTES as f64 / 397e9;
    let close =
        |ms: f64, seconds: f64| assert!((ms / 1e3 / seconds - 1.0).abs() < 1e-3, "{ms} ms, and {seconds} s");
    // Each copy is queued on the card that sends. The peer's stream begins behind the run's, which ends behind it.
    let both = elapsed(|main| {
        // SAFETY: streams and events live, and each event is recorded in a stream of its own context.
        unsafe {
            ok(sys::cuEventRecord(begun, main));
            ok(sys::cuStreamWaitEvent(far_stream, begun, 0));
            back(far_stream);
            peer.enter();
            ok(sys::cuEventRecord(joined, far_stream));
            own.enter();
            out(main);
            ok(sys::cuStreamWaitEvent(main, joined, 0));
        }
    });
    close(both, one * 2.0 * 397.0 / 784.0);
    // Two copies to one card come one after the other, also from streams of two cards.
    let after = elapsed(|main| {
        // SAFETY: as above.
        unsafe {
            ok(sys::cuEventRecord(begun, main));
            ok(sys::cuStreamWaitEvent(far_stream, begun, 0));
            out(far_stream);
            peer.enter();
            ok(sys::cuEventRecord(forked, far_stream));
            own.enter();
            out(main);
            ok(sys::cuStreamWaitEvent(main, forked, 0));
        }
    });
    close(after, 2.0 * one);
    // A thread that has waited for one card goes on there and then: work on the other begins no earlier.
    peer.enter();
    close(elapsed(back), one);
    own.enter();
    close(elapsed(out), one);
    // SAFETY: nothing uses them any more.
    unsafe {
        ok(sys::cuStreamDestroy_v2(far_stream));
        [begun, forked, joined].iter().for_each(|event| ok(sys::cuEventDestroy_v2(*event)));
    }
}

#[test]
fn streams_and_events_keep_to_their_contexts() {
    let _turn = turn();
    const INVALID_HANDLE: c_int = 400;
    let peer = Context::on(3);
    let (far_stream, far_event) = (stream(), event(0));
    let far = common::allocate(128);
    let far_add = function(module(KERNELS), "add");
    let own = Context::on(0);
    let (near_stream, near_event) = (stream(), event(0));
    let mut near = common::allocate(128);
    let near_add = function(module(KERNELS), "add");
    let (mut milliseconds, mut value) = (0.0_f32, 1_u32);
    let mut parameters = [(&raw mut near).cast::<c_void>(), (&raw mut value).cast()];
    let mut add = |kernel, stream| {
        // SAFETY: the parameters are the kernel's, whose memory is there.
        unsafe {
            let (none, words) = (ptr::null_mut(), parameters.as_mut_ptr());
            sys::cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, words, none)
        }
    };
    // SAFETY: the pointers can be written, and handles are alive.
    unsafe {
        ok(sys::cuMemsetD32_v2(near, 0, 32));
        // A kernel is of the current context, and so is its stream.
        ok(add(near_add, near_stream));
        gives(add(near_add, far_stream), INVALID_HANDLE);
        gives(add(far_add, near_stream), INVALID_HANDLE);
        gives(add(far_add, far_stream), INVALID_HANDLE);
        // An event is recorded in a stream of its own context, whichever is current.
        ok(sys::cuEventRecord(near_event, near_stream));
        gives(sys::cuEventRecord(near_event, far_stream), INVALID_HANDLE);
        gives(sys::cuEventRecord(far_event, near_stream), INVALID_HANDLE);
        ok(sys::cuEventRecord(far_event, far_stream));
        // Stream 0 is the current context's.
        gives(sys::cuEventRecord(far_event, ptr::null_mut()), INVALID_HANDLE);
        // Any stream waits for it, and so does the host.
        ok(sys::cuStreamWaitEvent(near_stream, far_event, 0));
        ok(sys::cuStreamWaitEvent(far_stream, near_event, 0));
        ok(sys::cuStreamWaitEvent(far_stream, far_event, 0));
        ok(sys::cuEventQuery(far_event));
        ok(sys::cuEventSynchronize(far_event));
        ok(sys::cuStreamSynchronize(far_stream));
        // Between two devices no time is told.
        ok(sys::cuEventElapsedTime(&raw mut milliseconds, near_event, near_event));
        ok(sys::cuEventElapsedTime(&raw mut milliseconds, far_event, far_event));
        gives(sys::cuEventElapsedTime(&raw mut milliseconds, near_event, far_event), INVALID_HANDLE);
        gives(sys::cuEventElapsedTime(&raw mut milliseconds, far_event, near_event), INVALID_HANDLE);
        // Copies and fills go into any stream.
        ok(sys::cuMemsetD32Async(far, 0, 32, far_stream));
        ok(sys::cuMemcpyDtoDAsync_v2(far, near, 128, far_stream));
        // With its context a stream goes, and an event.
        drop(peer);
        gives(sys::cuStreamWaitEvent(far_stream, near_event, 0), INVALID_HANDLE);
        gives(sys::cuStreamWaitEvent(near_stream, far_event, 0), INVALID_HANDLE);
        gives(sys::cuStreamDestroy_v2(far_stream), INVALID_HANDLE);
        gives(sys::cuEventDestroy_v2(far_event), INVALID_HANDLE);
        ok(sys::cuStreamDestroy_v2(near_stream));
        ok(sys::cuEventDestroy_v2(near_event));
    }
    drop(own);
}

/// A description of a place: its kind and number; and for `cuMemPoolSetAccess` the access to it.
type Place<const N: usize> = [c_int; N];

#[test]
fn a_pool_admits_devices_that_have_a_link_to_its_own() {
    let _turn = turn();
    const INVALID_DEVICE: c_int = 101;
    const INVALID_HANDLE: c_int = 400;
    const NOT_SUPPORTED: c_int = 801;
    const ILLEGAL_ADDRESS: c_int = 700;
    const DEVICE: c_int = 1;
    const NONE: c_int = 0;
    const READ: c_int = 1;
    const READ_WRITE: c_int = 3;
    const BYTES: usize = 128;
    let owner = Context::on(3);
    let mut pool = ptr::null_mut();
    let mut properties = [0_u64; 11];
    // Pinned, no handles; device 3.
    properties[0] = 1;
    properties[1] = 1 | 3 << 32;
    // SAFETY: the pointer can be written, and the description has the driver API's layout.
    ok(unsafe { sys::cuMemPoolCreate(&raw mut pool, properties.as_ptr().cast()) });
    let allocate = || {
        let mut address = 0;
        // SAFETY: the pointer can be written, and the memory is there.
        unsafe {
            ok(sys::cuMemAllocFromPoolAsync(&raw mut address, BYTES, pool, ptr::null_mut()));
            ok(sys::cuMemsetD32Async(address, 5, 32, ptr::null_mut()));
            ok(sys::cuStreamSynchronize(ptr::null_mut()));
        }
        address
    };
    let set = |descriptions: &[Place<3>]| {
        // SAFETY: there are as many descriptions as is said, in the driver API's layout.
        unsafe { sys::cuMemPoolSetAccess(pool, descriptions.as_ptr().cast(), descriptions.len()) }
    };
    let of = |device: c_int| {
        let mut access = -1;
        let mut place: Place<2> = [DEVICE, device];
        // SAFETY: the pointers can be read and written.
        ok(unsafe { sys::cuMemPoolGetAccess((&raw mut access).cast(), pool, (&raw mut place).cast()) });
        access
    };
    let before = allocate();
    // What cannot be: a device without a link, none at all, another place than a device, half an access, and to shut out
    // the pool's own device.
    gives(set(&[[DEVICE, 2, READ_WRITE]]), INVALID_DEVICE);
    gives(set(&[[DEVICE, 9, READ_WRITE]]), INVALID_DEVICE);
    gives(set(&[[2, 0, READ_WRITE]]), INVALID_VALUE);
    gives(set(&[[DEVICE, 0, 2]]), INVALID_VALUE);
    gives(set(&[[DEVICE, 0, READ]]), NOT_SUPPORTED);
    gives(set(&[[DEVICE, 3, NONE]]), INVALID_VALUE);
    ok(set(&[[DEVICE, 3, READ_WRITE], [DEVICE, 2, NONE]]));
    // A call that fails changes nothing.
    gives(set(&[[DEVICE, 0, READ_WRITE], [DEVICE, 1, READ_WRITE]]), INVALID_DEVICE);
    assert_eq!([0, 1, 2, 3].map(of), [NONE, NONE, NONE, READ_WRITE]);
    // SAFETY: there are no descriptions to read.
    ok(unsafe { sys::cuMemPoolSetAccess(pool, ptr::null(), 0) });
    // SAFETY: it is no pool, which the driver finds.
    gives(unsafe { sys::cuMemPoolSetAccess(ptr::without_provenance_mut(1), ptr::null(), 0) }, INVALID_HANDLE);

    ok(set(&[[DEVICE, 0, READ_WRITE]]));
    assert_eq!([0, 3].map(of), [READ_WRITE; 2]);
    let later = allocate();
    let reader = Context::on(0);
    let near = common::allocate(BYTES);
    let add = function(module(KERNELS), "add");
    let adds = |mut address: u64| {
        let mut value = 10_u32;
        // SAFETY: the kernel adds where it may, and last where it may not.
        ok(unsafe {
            launch(add, 1, 32, &mut [(&raw mut address).cast::<c_void>(), (&raw mut value).cast()])
        });
        // SAFETY: there is a context.
        unsafe { sys::cuCtxSynchronize() }
    };
    // Memory from before and after, without access between contexts.
    for address in [before, later] {
        ok(adds(address));
        let mut word = 0_u32;
        // SAFETY: the word can be written.
        ok(unsafe { sys::cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4) });
        assert_eq!(word, 15);
    }
    let link = simulated::take_launches().pop().expect("a record").counters.link;
    assert_eq!((link.peer_sectors_read, link.peer_sectors_written), (4, 4));
    // Copies go over the link.
    let ms = elapsed(|stream| {
        // SAFETY: both buffers are as long.
        ok(unsafe { sys::cuMemcpyDtoDAsync_v2(near, before, BYTES, stream) });
    });
    assert!((ms / 1e3 / (6e-6 + BYTES as f64 / 397e9) - 1.0).abs() < 1e-3, "{ms} ms");
    // Freed memory is nobody's.
    owner.enter();
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFreeAsync(later, ptr::null_mut()) });
    reader.enter();
    let mut word = 0_u32;
    // SAFETY: the word can be written; the driver finds that there is no memory.
    gives(unsafe { sys::cuMemcpyDtoH_v2((&raw mut word).cast(), later, 4) }, INVALID_VALUE);
    // The end of the access.
    ok(set(&[[DEVICE, 0, NONE]]));
    assert_eq!(of(0), NONE);
    gives(adds(before), ILLEGAL_ADDRESS);
    owner.enter();
    // SAFETY: the pool and its memory are ours.
    unsafe {
        ok(sys::cuMemFreeAsync(before, ptr::null_mut()));
        ok(sys::cuMemPoolDestroy(pool));
    }
    drop(reader);
}

#[test]
fn memory_of_a_peer_is_allocated_beside_the_current_context() {
    let _turn = turn();
    let own = Context::on(0);
    let current = || {
        let mut context = ptr::null_mut();
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuCtxGetCurrent(&raw mut context) });
        context
    };
    for (device, accessible) in [(3, true), (2, false)] {
        let peer = Arc::new(ext::Peer::open(device).expect("a device"));
        assert_eq!(peer.is_accessible(), accessible);
        let buffer = peer.allocate(64).expect("memory");
        let mut ordinal = -1;
        // SAFETY: the pointer can be written.
        ok(unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut ordinal).cast(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                buffer.address(),
            )
        });
        assert_eq!((ordinal, current()), (device, own.0));
        // A second one of the same device finds access enabled.
        assert!(ext::Peer::open(device).is_ok());
    }
    assert!(ext::Peer::open(9).is_err());
}

#[test]
fn events_of_a_peer_are_made_within_it_and_waited_for_anywhere() {
    let _turn = turn();
    const INVALID_HANDLE: c_int = 400;
    let own = Context::on(0);
    let current = || {
        let mut context = ptr::null_mut();
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuCtxGetCurrent(&raw mut context) });
        context
    };
    let peer = ext::Peer::open(3).expect("a device");
    let made = peer.within(|| {
        assert_ne!(current(), own.0);
        Ok::<_, ext::Error>((stream(), ext::Event::new()?))
    });
    let ((far_stream, far), (near_stream, near)) =
        (made.expect("a stream and an event"), (stream(), ext::Event::new().expect("an event")));
    // SAFETY: the streams are alive until they are destroyed.
    unsafe {
        for (event, stream, other) in [(&far, far_stream, near_stream), (&near, near_stream, far_stream)] {
            assert_eq!(event.record(stream), Ok(()));
            assert_eq!(event.hold(other), Ok(()));
            assert_eq!(event.hold(stream), Ok(()));
            let refused = event.record(other).expect_err("it is of another context");
            assert_eq!((refused.function, refused.code.0), ("cuEventRecord", INVALID_HANDLE));
        }
        ok(sys::cuStreamDestroy_v2(far_stream));
        ok(sys::cuStreamDestroy_v2(near_stream));
    }
    // What fails within a device leaves it too.
    let error = ext::Error { function: "a call", code: cuda_driver::Code(1) };
    assert_eq!(peer.within(|| Err::<(), _>(error)), Err(error));
    assert_eq!(current(), own.0);
    // Two devices beside the current one are connected in both directions, if they have a link.
    let first = ext::Peer::open(0).expect("a device");
    assert_eq!([first.connect(&peer), peer.connect(&first)], [Ok(true); 2]);
    let other = ext::Peer::open(2).expect("a device");
    assert_eq!(other.connect(&peer), Ok(false));
}

#[test]
fn memory_stays_while_one_context_may_access_it() {
    let _turn = turn();
    let peer = Context::on(3);
    let mut far = common::allocate(128);
    let first = Context::on(0);
    let second = Context::on(0);
    let mut value = 1_u32;
    // SAFETY: pointers can be written; the kernel adds to memory that is there.
    unsafe {
        ok(sys::cuCtxEnablePeerAccess(peer.0, 0));
        first.enter();
        ok(sys::cuCtxEnablePeerAccess(peer.0, 0));
        ok(sys::cuCtxDisablePeerAccess(peer.0));
        second.enter();
        let add = function(module(KERNELS), "add");
        let mut parameters = [(&raw mut far).cast::<c_void>(), (&raw mut value).cast()];
        ok(launch(add, 1, 32, &mut parameters));
        ok(sys::cuCtxSynchronize());
        // The peer's end takes its memory along, and the right to it.
        drop(peer);
        gives(sys::cuMemcpyDtoH_v2((&raw mut value).cast(), far, 4), INVALID_VALUE);
        let peer = Context::on(3);
        second.enter();
        ok(sys::cuCtxEnablePeerAccess(peer.0, 0));
    }
}
