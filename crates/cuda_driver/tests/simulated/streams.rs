//! Streams, events, captures and graphs on the simulated driver: order, virtual time, and every wrong use's code.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_driver::ext;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use cust_raw as sys;
use simt::{cards, model};

use crate::common::{KERNELS, OwnContext, allocate, bind, function, gives, module, ok};

const INVALID_VALUE: c_int = 1;
const INVALID_HANDLE: c_int = 400;

/// The simulated card of these tests.
fn card() -> cards::Card {
    cards::find("h200").expect("a card")
}

fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

/// An event by its handle, which cust keeps to itself.
struct Mark(sys::CUevent);

impl Mark {
    fn new() -> Self {
        let mut event = ptr::null_mut();
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuEventCreate(&raw mut event, 0) });
        Mark(event)
    }

    fn record(&self, stream: sys::CUstream) {
        // SAFETY: both are alive.
        ok(unsafe { sys::cuEventRecord(self.0, stream) });
    }

    /// Milliseconds from another one.
    fn since(&self, start: &Mark) -> f32 {
        let mut milliseconds = -1.0;
        // SAFETY: both are alive, and the pointer can be written.
        ok(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start.0, self.0) });
        milliseconds
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: the event is ours.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

fn fill(stream: &Stream, address: u64, bytes: usize) {
    // SAFETY: the memory lives until the stream is synchronised.
    ok(unsafe { sys::cuMemsetD8Async(address, 1, bytes, stream.as_inner()) });
}

/// A fill's time by the model, in milliseconds: a launch, and half of what a copy moves.
fn fill_milliseconds(bytes: usize) -> f32 {
    let launch = card().launch_us * 1e-6;
    ((launch + (model::device_copy_seconds(&card(), bytes as u64) - launch) / 2.0) * 1e3) as f32
}

fn near(measured: f32, expected: f32) {
    assert!((measured / expected - 1.0).abs() < 1e-4, "{measured} ms, not {expected} ms");
}

#[test]
fn events_measure_the_models_time() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let (stream, address) = (stream(), allocate(1 << 24));
    let event = || Event::new(EventFlags::DEFAULT).expect("an event");
    let marks: Vec<Event> = (0..4).map(|_| event()).collect();
    marks[0].record(&stream).expect("recorded");
    fill(&stream, address, 1 << 24);
    marks[1].record(&stream).expect("recorded");
    fill(&stream, address, 1 << 24);
    fill(&stream, address, 1 << 20);
    marks[2].record(&stream).expect("recorded");
    let host = vec![0_u8; 1 << 20];
    // SAFETY: host and device memory live until the stream is synchronised.
    ok(unsafe { sys::cuMemcpyHtoDAsync_v2(address, host.as_ptr().cast(), 1 << 20, stream.as_inner()) });
    marks[3].record(&stream).expect("recorded");
    stream.synchronize().expect("the stream");
    let between = |a: usize, b: usize| marks[b].elapsed_time_f32(&marks[a]).expect("a time");
    near(between(0, 1), fill_milliseconds(1 << 24));
    near(between(1, 2), fill_milliseconds(1 << 24) + fill_milliseconds(1 << 20));
    near(between(2, 3), (model::host_copy_seconds(&card(), 1 << 20) * 1e3) as f32);
    near(between(0, 3), between(0, 1) + between(1, 2) + between(2, 3));
    // The same work takes the same time again.
    marks[0].record(&stream).expect("recorded");
    fill(&stream, address, 1 << 24);
    marks[1].record(&stream).expect("recorded");
    near(between(0, 1), fill_milliseconds(1 << 24));
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

#[test]
fn copies_run_beside_fills_and_fills_do_not_run_beside_fills() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let (first, second, third) = (stream(), stream(), stream());
    let address = allocate(1 << 26);
    let (start, one, two, three) = (Mark::new(), Mark::new(), Mark::new(), Mark::new());
    start.record(first.as_inner());
    for other in [&second, &third] {
        // SAFETY: stream and event are alive.
        ok(unsafe { sys::cuStreamWaitEvent(other.as_inner(), start.0, 0) });
    }
    fill(&first, address, 1 << 26);
    one.record(first.as_inner());
    fill(&second, address, 1 << 26);
    two.record(second.as_inner());
    let host = vec![0_u8; 1 << 10];
    // SAFETY: host and device memory live until the context is synchronised.
    ok(unsafe { sys::cuMemcpyHtoDAsync_v2(address, host.as_ptr().cast(), 1 << 10, third.as_inner()) });
    three.record(third.as_inner());
    // SAFETY: no pointers.
    ok(unsafe { sys::cuCtxSynchronize() });
    near(one.since(&start), fill_milliseconds(1 << 26));
    near(two.since(&start), 2.0 * fill_milliseconds(1 << 26));
    near(three.since(&start), (model::host_copy_seconds(&card(), 1 << 10) * 1e3) as f32);
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

/// Milliseconds of eight launches of a few blocks, dealt over streams that begin behind one event, by the streams' last event.
fn milliseconds_on(streams: &[Stream], blocks: u32) -> f32 {
    let (start, end) = (Mark::new(), Mark::new());
    let kernel = function(module(KERNELS), "add");
    let (mut address, mut value) = (allocate(4096 * 1024 * 4), 1_u32);
    let mut launch = |stream: &Stream| {
        let mut parameters: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut value).cast()];
        // SAFETY: the kernel takes a pointer and a u32, and adds to an element for each thread, which are there.
        ok(unsafe {
            let (stream, parameters) = (stream.as_inner(), parameters.as_mut_ptr());
            sys::cuLaunchKernel(kernel, blocks, 1, 1, 1024, 1, 1, 0, stream, parameters, ptr::null_mut())
        });
    };
    // The first launch brings the data into L2.
    launch(&streams[0]);
    start.record(streams[0].as_inner());
    for other in &streams[1..] {
        // SAFETY: stream and event are alive.
        ok(unsafe { sys::cuStreamWaitEvent(other.as_inner(), start.0, 0) });
    }
    streams.iter().cycle().take(8).for_each(launch);
    for other in &streams[1..] {
        let mark = Mark::new();
        mark.record(other.as_inner());
        // SAFETY: stream and event are alive.
        ok(unsafe { sys::cuStreamWaitEvent(streams[0].as_inner(), mark.0, 0) });
    }
    end.record(streams[0].as_inner());
    // SAFETY: the memory is ours, and nothing works on it any more when it is freed.
    unsafe {
        ok(sys::cuCtxSynchronize());
        ok(sys::cuMemFree_v2(address));
    }
    end.since(&start)
}

#[test]
fn kernels_of_few_blocks_run_side_by_side_on_several_streams() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let streams: Vec<Stream> = (0..4).map(|_| stream()).collect();
    let launch = (card().launch_us * 1e-3) as f32;
    let one = milliseconds_on(&streams[..1], 1);
    let alone = one / 8.0;
    assert!(launch < alone && alone < 2.0 * launch, "{alone} ms of a launch, {launch} of its start");
    // One starts while the one before runs, and no sooner than that has started.
    near(milliseconds_on(&streams[..2], 1), 7.0 * launch + alone);
    near(milliseconds_on(&streams, 1), 7.0 * launch + alone);
    // A kernel that fills the card leaves no room to others.
    near(milliseconds_on(&streams, 4096), milliseconds_on(&streams[..1], 4096));
}

#[test]
fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let address = allocate(1 << 26);
    let (mut blocking, legacy) = (ptr::null_mut(), ptr::null_mut());
    let (start, in_legacy, after) = (Mark::new(), Mark::new(), Mark::new());
    // SAFETY: pointers can be written, and the memory lives until the context is synchronised.
    unsafe {
        ok(sys::cuStreamCreate(&raw mut blocking, 0));
        ok(sys::cuEventRecord(start.0, blocking));
        ok(sys::cuMemsetD8Async(address, 1, 1 << 26, blocking));
        ok(sys::cuEventRecord(in_legacy.0, legacy));
        let host = [0_u8; 64];
        // On an engine of its own: only the default stream's rule makes it wait.
        ok(sys::cuMemcpyHtoDAsync_v2(address, host.as_ptr().cast(), 64, legacy));
        ok(sys::cuEventRecord(after.0, blocking));
        ok(sys::cuCtxSynchronize());
        near(in_legacy.since(&start), fill_milliseconds(1 << 26));
        near(
            after.since(&start),
            fill_milliseconds(1 << 26) + (model::host_copy_seconds(&card(), 64) * 1e3) as f32,
        );
        ok(sys::cuStreamDestroy_v2(blocking));
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn events_have_their_rules() {
    let _context = OwnContext::new();
    let (mut timed, mut untimed, mut other) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let mut milliseconds = 0.0;
    // SAFETY: pointers can be written; handles that are none are looked up by the simulated driver, and not given to
    // another.
    unsafe {
        ok(sys::cuEventCreate(&raw mut timed, 0));
        ok(sys::cuEventCreate(&raw mut other, 1));
        ok(sys::cuEventCreate(&raw mut untimed, 2));
        gives(sys::cuEventCreate(&raw mut other, 0x100), INVALID_VALUE);
        gives(sys::cuEventCreate(&raw mut other, 4), INVALID_VALUE);
        gives(sys::cuEventCreate(ptr::null_mut(), 0), INVALID_VALUE);
        // Nothing recorded is all done, but has no time.
        ok(sys::cuEventQuery(timed));
        ok(sys::cuEventSynchronize(timed));
        gives(sys::cuEventElapsedTime(&raw mut milliseconds, timed, other), INVALID_HANDLE);
        ok(sys::cuEventRecord(timed, ptr::null_mut()));
        gives(sys::cuEventElapsedTime(&raw mut milliseconds, timed, other), INVALID_HANDLE);
        ok(sys::cuEventRecord(other, ptr::null_mut()));
        ok(sys::cuEventRecord(untimed, ptr::null_mut()));
        ok(sys::cuCtxSynchronize());
        ok(sys::cuEventElapsedTime(&raw mut milliseconds, timed, other));
        assert!(milliseconds >= 0.0);
        gives(sys::cuEventElapsedTime(&raw mut milliseconds, timed, untimed), INVALID_HANDLE);
        gives(sys::cuEventElapsedTime(ptr::null_mut(), timed, other), INVALID_HANDLE);
        for event in [timed, untimed, other] {
            ok(sys::cuEventDestroy_v2(event));
        }
        if bind() {
            gives(sys::cuEventDestroy_v2(timed), INVALID_HANDLE);
            gives(sys::cuEventRecord(timed, ptr::null_mut()), INVALID_HANDLE);
            gives(sys::cuEventQuery(ptr::dangling_mut()), INVALID_HANDLE);
        }
    }
}

#[test]
fn streams_have_their_rules() {
    let context = OwnContext::new();
    let (mut least, mut greatest, mut priority, mut flags) = (9, 9, 9, 9);
    let (mut made, mut owner) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: pointers can be written; handles that are none are looked up by the simulated driver, and not given to
    // another.
    unsafe {
        ok(sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest));
        assert_eq!((least, greatest), (0, -5));
        gives(sys::cuStreamCreate(&raw mut made, 2), INVALID_VALUE);
        gives(sys::cuStreamCreate(ptr::null_mut(), 0), INVALID_VALUE);
        ok(sys::cuStreamCreateWithPriority(&raw mut made, 1, -100));
        ok(sys::cuStreamGetPriority(made, &raw mut priority));
        ok(sys::cuStreamGetFlags(made, &raw mut flags));
        ok(sys::cuStreamGetCtx(made, &raw mut owner));
        assert_eq!((priority, flags, owner), (-5, 1, context.0));
        ok(sys::cuStreamGetFlags(ptr::null_mut(), &raw mut flags));
        assert_eq!(flags, 0);
        for default in [0, 1, 2] {
            let default = ptr::without_provenance_mut::<sys::CUstream_st>(default);
            ok(sys::cuStreamSynchronize(default));
            ok(sys::cuStreamQuery(default));
        }
        ok(sys::cuStreamDestroy_v2(made));
        if bind() {
            gives(sys::cuStreamDestroy_v2(made), INVALID_HANDLE);
            gives(sys::cuStreamSynchronize(made), INVALID_HANDLE);
            gives(sys::cuStreamDestroy_v2(ptr::null_mut()), INVALID_HANDLE);
        }
    }
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the call, and nobody else touches it meanwhile.
    unsafe { *data.cast::<u32>() += 1 };
}

#[test]
fn functions_of_the_host_are_called_in_the_streams_order() {
    let _context = OwnContext::new();
    let stream = stream();
    let mut called = 0_u32;
    // SAFETY: the counter lives until the stream is synchronised.
    unsafe {
        for _ in 0..3 {
            ok(sys::cuLaunchHostFunc(stream.as_inner(), Some(count), (&raw mut called).cast()));
        }
        gives(sys::cuLaunchHostFunc(stream.as_inner(), None, ptr::null_mut()), INVALID_VALUE);
    }
    stream.synchronize().expect("the stream");
    assert_eq!(called, 3);
    let (sender, receiver) = std::sync::mpsc::channel();
    stream.add_callback(Box::new(move || sender.send(7).expect("a listener"))).expect("a callback");
    stream.synchronize().expect("the stream");
    assert_eq!(receiver.recv(), Ok(7));
}

#[test]
fn what_a_capture_forbids_ends_it() {
    const UNSUPPORTED: c_int = 900;
    const INVALIDATED: c_int = 901;
    const UNMATCHED: c_int = 903;
    const UNJOINED: c_int = 904;
    const ISOLATION: c_int = 905;
    const IMPLICIT: c_int = 906;
    const CAPTURED_EVENT: c_int = 907;
    const ILLEGAL_STATE: c_int = 401;
    use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL;
    let _context = OwnContext::new();
    let address = allocate(64);
    let mut graph = ptr::null_mut();
    let (mut first, mut second) = (ptr::null_mut(), ptr::null_mut());
    let (mut fork, mut mark) = (ptr::null_mut(), ptr::null_mut());
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let mut other = 0;
    // SAFETY: pointers can be written, handles are alive.
    unsafe {
        ok(sys::cuStreamCreate(&raw mut first, 0));
        ok(sys::cuStreamCreate(&raw mut second, 1));
        ok(sys::cuEventCreate(&raw mut fork, 2));
        ok(sys::cuEventCreate(&raw mut mark, 0));
        ok(sys::cuEventRecord(mark, second));
        let begin = || ok(sys::cuStreamBeginCapture_v2(first, THREAD_LOCAL));
        let mut end = |code| {
            gives(sys::cuStreamEndCapture(first, &raw mut graph), code);
            assert_eq!(graph.is_null(), code != 0);
            graph
        };

        gives(sys::cuStreamBeginCapture_v2(ptr::null_mut(), THREAD_LOCAL), UNSUPPORTED);
        end(ILLEGAL_STATE);
        begin();
        gives(sys::cuStreamBeginCapture_v2(first, THREAD_LOCAL), ILLEGAL_STATE);
        ok(sys::cuStreamIsCapturing(first, &raw mut status));
        assert_eq!(status as c_int, 1);
        gives(sys::cuStreamSynchronize(first), UNSUPPORTED);
        ok(sys::cuStreamIsCapturing(first, &raw mut status));
        assert_eq!(status as c_int, 2);
        gives(sys::cuMemsetD8Async(address, 1, 64, first), INVALIDATED);
        end(INVALIDATED);
        ok(sys::cuStreamIsCapturing(first, &raw mut status));
        assert_eq!(status as c_int, 0);

        // Allocating, synchronous copies, the default stream, waiting for the context.
        begin();
        gives(sys::cuMemAlloc_v2(&raw mut other, 64), UNSUPPORTED);
        end(INVALIDATED);
        begin();
        gives(sys::cuMemsetD8Async(address, 1, 64, ptr::null_mut()), IMPLICIT);
        end(INVALIDATED);
        begin();
        gives(sys::cuCtxSynchronize(), UNSUPPORTED);
        end(INVALIDATED);

        // What is not of the capture cannot be waited for.
        begin();
        gives(sys::cuStreamWaitEvent(first, mark, 0), ISOLATION);
        end(INVALIDATED);

        // A stream that joined and is not joined again.
        begin();
        ok(sys::cuMemsetD8Async(address, 1, 64, first));
        ok(sys::cuEventRecord(fork, first));
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(sys::cuMemsetD8Async(address, 2, 32, second));
        end(UNJOINED);
        // The same where the stream is destroyed meanwhile.
        let forked = |is_joined: bool| {
            let mut third = ptr::null_mut();
            ok(sys::cuStreamCreate(&raw mut third, 1));
            begin();
            ok(sys::cuMemsetD8Async(address, 1, 64, first));
            ok(sys::cuEventRecord(fork, first));
            ok(sys::cuStreamWaitEvent(third, fork, 0));
            ok(sys::cuMemsetD8Async(address, 2, 32, third));
            ok(sys::cuEventRecord(mark, third));
            if is_joined {
                ok(sys::cuStreamWaitEvent(first, mark, 0));
            }
            ok(sys::cuStreamDestroy_v2(third));
        };
        if bind() {
            forked(false);
            end(UNJOINED);
        }
        forked(true);
        let graph_of_forked = end(0);
        let mut nodes = 0;
        ok(sys::cuGraphGetNodes(graph_of_forked, ptr::null_mut(), &raw mut nodes));
        assert_eq!(nodes, 2);
        ok(sys::cuGraphDestroy(graph_of_forked));
        // An event of a capture cannot be waited for by the host.
        begin();
        ok(sys::cuMemsetD8Async(address, 1, 64, first));
        ok(sys::cuEventRecord(fork, first));
        gives(sys::cuEventQuery(fork), CAPTURED_EVENT);
        gives(sys::cuStreamWaitEvent(second, fork, 0), INVALID_VALUE);
        end(INVALIDATED);
        begin();
        ok(sys::cuMemsetD8Async(address, 1, 64, first));
        ok(sys::cuEventRecord(fork, first));
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(sys::cuMemsetD8Async(address, 2, 32, second));
        ok(sys::cuEventRecord(mark, second));
        gives(sys::cuStreamEndCapture(second, &raw mut graph), UNMATCHED);
        gives(sys::cuStreamEndCapture(first, &raw mut graph), INVALIDATED);

        // And one that is.
        ok(sys::cuMemsetD8_v2(address, 0, 64));
        ok(sys::cuStreamBeginCapture_v2(first, THREAD_LOCAL));
        ok(sys::cuMemsetD8Async(address, 1, 64, first));
        ok(sys::cuEventRecord(fork, first));
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(sys::cuMemsetD8Async(address, 2, 32, second));
        ok(sys::cuEventRecord(mark, second));
        ok(sys::cuMemsetD8Async(address + 32, 3, 16, first));
        ok(sys::cuStreamWaitEvent(first, mark, 0));
        ok(sys::cuMemsetD8Async(address + 8, 4, 8, first));
        ok(sys::cuStreamEndCapture(first, &raw mut graph));
        let (mut nodes, mut edges) = (0, 0);
        ok(sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut nodes));
        ok(sys::cuGraphGetEdges(graph, ptr::null_mut(), ptr::null_mut(), &raw mut edges));
        assert_eq!((nodes, edges), (4, 4));
        let mut exec = ptr::null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        let mut host = [9_u8; 64];
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
        assert_eq!(host, [0; 64]);
        ok(sys::cuGraphLaunch(exec, second));
        ok(sys::cuStreamSynchronize(second));
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
        let expected: Vec<u8> = [(2, 8), (4, 8), (2, 16), (3, 16), (1, 16)]
            .iter()
            .flat_map(|&(value, count)| std::iter::repeat_n(value, count))
            .collect();
        assert_eq!(host[..], expected);
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuGraphDestroy(graph));
        if bind() {
            gives(sys::cuGraphExecDestroy(exec), INVALID_HANDLE);
            gives(sys::cuGraphLaunch(exec, second), INVALID_HANDLE);
        }
        ok(sys::cuStreamDestroy_v2(first));
        ok(sys::cuStreamDestroy_v2(second));
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn graphs_are_made_by_hand() {
    let context = OwnContext::new();
    let address = allocate(64);
    let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
    let mut nodes = [ptr::null_mut(); 4];
    let mut called = 0_u32;
    // SAFETY: pointers can be written, structures are the driver API's, handles are alive.
    unsafe {
        gives(sys::cuGraphCreate(&raw mut graph, 1), INVALID_VALUE);
        ok(sys::cuGraphCreate(&raw mut graph, 0));
        let mut fill = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: address,
            pitch: 0,
            value: 5,
            elementSize: 4,
            width: 16,
            height: 1,
        };
        ok(sys::cuGraphAddMemsetNode(&raw mut nodes[0], graph, ptr::null(), 0, &raw const fill, context.0));
        let host = sys::CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: (&raw mut called).cast() };
        ok(sys::cuGraphAddHostNode(&raw mut nodes[1], graph, nodes.as_ptr(), 1, &raw const host));
        ok(sys::cuGraphAddEmptyNode(&raw mut nodes[2], graph, nodes.as_ptr(), 2));
        let twice = [nodes[0], nodes[0]];
        gives(sys::cuGraphAddEmptyNode(&raw mut nodes[3], graph, twice.as_ptr(), 2), INVALID_VALUE);
        let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        ok(sys::cuGraphNodeGetType(nodes[1], &raw mut kind));
        assert_eq!(kind, sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST);
        let mut told = sys::CUDA_MEMSET_NODE_PARAMS { value: 0, ..fill };
        ok(sys::cuGraphMemsetNodeGetParams(nodes[0], &raw mut told));
        assert_eq!((told.dst, told.value, told.elementSize, told.width, told.height), (address, 5, 4, 16, 1));
        gives(sys::cuGraphMemsetNodeGetParams(nodes[1], &raw mut told), INVALID_VALUE);
        let (mut roots, mut dependents) = (4, 4);
        let mut list = [ptr::null_mut(); 4];
        ok(sys::cuGraphGetRootNodes(graph, list.as_mut_ptr(), &raw mut roots));
        assert_eq!((roots, list[0]), (1, nodes[0]));
        ok(sys::cuGraphNodeGetDependentNodes(nodes[0], list.as_mut_ptr(), &raw mut dependents));
        assert_eq!((dependents, list[..2].to_vec()), (2, nodes[1..3].to_vec()));

        let mut no_node = ptr::null_mut();
        ok(sys::cuGraphInstantiate_v2(&raw mut exec, graph, &raw mut no_node, ptr::null_mut(), 0));
        ok(sys::cuGraphLaunch(exec, ptr::null_mut()));
        fill.value = 6;
        ok(sys::cuGraphExecMemsetNodeSetParams(exec, nodes[0], &raw const fill, context.0));
        ok(sys::cuCtxSynchronize());
        let mut host = [0_u32; 16];
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
        assert_eq!((host, called), ([5; 16], 1));
        ok(sys::cuGraphLaunch(exec, ptr::null_mut()));
        ok(sys::cuCtxSynchronize());
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
        assert_eq!((host, called), ([6; 16], 2));

        let mut clone = ptr::null_mut();
        ok(sys::cuGraphClone(&raw mut clone, graph));
        let mut found = ptr::null_mut();
        ok(sys::cuGraphNodeFindInClone(&raw mut found, nodes[2], clone));
        assert_ne!(found, nodes[2]);
        ok(sys::cuGraphDestroyNode(nodes[1]));
        let mut count = 0;
        ok(sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count));
        assert_eq!(count, 2);
        ok(sys::cuGraphGetNodes(clone, ptr::null_mut(), &raw mut count));
        assert_eq!(count, 3);
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuGraphDestroy(clone));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuMemFree_v2(address));
    }
}

/// Functions newer than `cust_raw`'s bindings, by the names under which programs find them.
mod newer {
    use super::{c_int, c_void, sys};
    use sys::{CUdeviceptr, CUgraph, CUgraphExec, CUgraphNode, CUresult, CUstream};

    /// `CUgraphEdgeData`.
    pub(super) type Edge = [u8; 8];

    /// `CUgraphNodeParams` of a node that fills memory.
    #[repr(C)]
    pub(super) struct FillNode {
        pub kind: c_int,
        pub reserved: [c_int; 3],
        pub fill: sys::CUDA_MEMSET_NODE_PARAMS,
        pub context: sys::CUcontext,
        pub rest: [u64; 24],
    }

    const _: () = assert!(size_of::<FillNode>() == 256);

    unsafe extern "C" {
        pub(super) fn cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: CUdeviceptr, bytes: usize) -> CUresult;
        pub(super) fn cuStreamGetId(stream: CUstream, id: *mut u64) -> CUresult;
        pub(super) fn cuStreamGetId_ptsz(stream: CUstream, id: *mut u64) -> CUresult;
        pub(super) fn cuMemsetD8Async_ptsz(
            to: CUdeviceptr,
            value: u8,
            bytes: usize,
            stream: CUstream,
        ) -> CUresult;
        pub(super) fn cuStreamAddCallback_ptsz(
            stream: CUstream,
            callback: Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>,
            data: *mut c_void,
            flags: u32,
        ) -> CUresult;
        pub(super) fn cuStreamBeginCapture_v2_ptsz(
            stream: CUstream,
            mode: sys::CUstreamCaptureMode,
        ) -> CUresult;
        pub(super) fn cuStreamEndCapture_ptsz(stream: CUstream, graph: *mut CUgraph) -> CUresult;
        pub(super) fn cuStreamGetCaptureInfo_v3(
            stream: CUstream,
            status: *mut c_int,
            id: *mut u64,
            graph: *mut CUgraph,
            nodes: *mut *const CUgraphNode,
            edges: *mut *const Edge,
            count: *mut usize,
        ) -> CUresult;
        pub(super) fn cuStreamUpdateCaptureDependencies_v2(
            stream: CUstream,
            nodes: *const CUgraphNode,
            edges: *const Edge,
            count: usize,
            flags: u32,
        ) -> CUresult;
        pub(super) fn cuStreamBeginCaptureToGraph(
            stream: CUstream,
            graph: CUgraph,
            nodes: *const CUgraphNode,
            edges: *const Edge,
            count: usize,
            mode: sys::CUstreamCaptureMode,
        ) -> CUresult;
        pub(super) fn cuGraphAddNode_v2(
            out: *mut CUgraphNode,
            graph: CUgraph,
            nodes: *const CUgraphNode,
            edges: *const Edge,
            count: usize,
            node: *const FillNode,
        ) -> CUresult;
        pub(super) fn cuGraphGetEdges_v2(
            graph: CUgraph,
            from: *mut CUgraphNode,
            to: *mut CUgraphNode,
            edges: *mut Edge,
            count: *mut usize,
        ) -> CUresult;
        pub(super) fn cuGraphNodeGetDependencies_v2(
            node: CUgraphNode,
            nodes: *mut CUgraphNode,
            edges: *mut Edge,
            count: *mut usize,
        ) -> CUresult;
        pub(super) fn cuGraphExecNodeSetParams(
            exec: CUgraphExec,
            node: CUgraphNode,
            to: *const FillNode,
        ) -> CUresult;
        pub(super) fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: u32) -> CUresult;
        pub(super) fn cuGraphNodeGetEnabled(
            exec: CUgraphExec,
            node: CUgraphNode,
            enabled: *mut u32,
        ) -> CUresult;
    }
}

/// A node's parameters: bytes of this value.
fn fill_node(address: u64, value: u32, bytes: usize) -> newer::FillNode {
    const MEMSET: c_int = 2;
    let fill = sys::CUDA_MEMSET_NODE_PARAMS {
        dst: address,
        pitch: 0,
        value,
        elementSize: 1,
        width: bytes,
        height: 1,
    };
    newer::FillNode { kind: MEMSET, reserved: [0; 3], fill, context: ptr::null_mut(), rest: [0; 24] }
}

#[test]
fn functions_for_the_threads_default_stream() {
    use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;
    const UNSUPPORTED: c_int = 900;
    unsafe extern "C" fn ask(_stream: sys::CUstream, _code: sys::CUresult, id: *mut c_void) {
        // SAFETY: the test passes a place for a number.
        ok(unsafe { newer::cuStreamGetId(ptr::null_mut(), id.cast()) });
    }
    let _context = OwnContext::new();
    let address = allocate(64);
    let default = ptr::null_mut();
    let (legacy, of_thread) = (ptr::without_provenance_mut(1), ptr::without_provenance_mut(2));
    // SAFETY: pointers can be written, handles are alive.
    unsafe {
        let id = |stream| {
            let mut id = 0;
            ok(newer::cuStreamGetId(stream, &raw mut id));
            id
        };
        let id_in_form = |stream| {
            let mut id = 0;
            ok(newer::cuStreamGetId_ptsz(stream, &raw mut id));
            id
        };
        assert_eq!((id_in_form(default), id_in_form(legacy)), (id(of_thread), id(legacy)));
        assert_eq!(id(default), id(legacy));
        assert_ne!(id(of_thread), id(legacy));
        // What the driver calls back calls the other form.
        let mut asked = 0_u64;
        ok(newer::cuStreamAddCallback_ptsz(default, Some(ask), (&raw mut asked).cast(), 0));
        ok(newer::cuStreamGetId_ptsz(default, &raw mut asked));
        assert_eq!(asked, id(of_thread));
        if bind() {
            // The simulated driver calls back before it returns.
            ok(newer::cuStreamAddCallback_ptsz(default, Some(ask), (&raw mut asked).cast(), 0));
            assert_eq!(asked, id(legacy));
        }

        // The thread's stream can be captured, the context's cannot.
        gives(sys::cuStreamBeginCapture_v2(default, RELAXED), UNSUPPORTED);
        ok(newer::cuStreamBeginCapture_v2_ptsz(default, RELAXED));
        ok(newer::cuMemsetD8Async_ptsz(address, 3, 64, default));
        let mut graph = ptr::null_mut();
        ok(newer::cuStreamEndCapture_ptsz(default, &raw mut graph));
        let mut exec = ptr::null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        ok(sys::cuGraphLaunch(exec, of_thread));
        let mut host = [0_u8; 64];
        ok(newer::cuMemcpyDtoH_v2_ptds(host.as_mut_ptr().cast(), address, 64));
        assert_eq!(host, [3; 64]);

        // By name, in either form; a function that has one form alone is found with both flags.
        let find = |name: &std::ffi::CStr, flags: u64| {
            let mut found: *mut c_void = ptr::null_mut();
            ok(sys::cuGetProcAddress(name.as_ptr(), &raw mut found, 12_000, flags));
            found as usize
        };
        if bind() {
            assert_eq!(find(c"cuStreamGetId", 2), newer::cuStreamGetId_ptsz as *const () as usize);
            assert_eq!(find(c"cuStreamGetId", 0), newer::cuStreamGetId as *const () as usize);
            assert_eq!(find(c"cuMemcpyDtoH", 2), newer::cuMemcpyDtoH_v2_ptds as *const () as usize);
            assert_eq!(find(c"cuMemAlloc", 2), sys::cuMemAlloc_v2 as *const () as usize);
        }
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn captures_are_looked_at_and_led_by_hand() {
    use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;
    const ADD: u32 = 0;
    const SET: u32 = 1;
    let _context = OwnContext::new();
    let (stream, address) = (stream(), allocate(64));
    let of = stream.as_inner();
    // SAFETY: pointers can be written, handles are alive, and the memory lives until the stream is synchronised.
    unsafe {
        let info = || {
            let (mut status, mut id, mut count) = (-1, 0, 0);
            let (mut graph, mut nodes, mut edges) = (ptr::null_mut(), ptr::null(), ptr::null());
            ok(newer::cuStreamGetCaptureInfo_v3(
                of,
                &raw mut status,
                &raw mut id,
                &raw mut graph,
                &raw mut nodes,
                &raw mut edges,
                &raw mut count,
            ));
            let list = |index| (*nodes.add(index), *edges.add(index));
            (status, graph, (0..count).map(list).collect::<Vec<_>>())
        };
        assert_eq!(info(), (0, ptr::null_mut(), Vec::new()));
        ok(sys::cuStreamBeginCapture_v2(of, RELAXED));
        ok(sys::cuMemsetD8Async(address, 1, 64, of));
        let (status, graph, ends) = info();
        assert_eq!((status, ends.len(), ends[0].1), (1, 1, [0; 8]));
        let first = ends[0].0;
        // The second fill comes after nothing, the third after both.
        ok(newer::cuStreamUpdateCaptureDependencies_v2(of, ptr::null(), ptr::null(), 0, SET));
        assert_eq!(info(), (1, graph, Vec::new()));
        ok(sys::cuMemsetD8Async(address + 32, 2, 32, of));
        ok(newer::cuStreamUpdateCaptureDependencies_v2(of, &raw const first, ptr::null(), 1, ADD));
        ok(sys::cuMemsetD8Async(address, 3, 8, of));
        let third = info().2[0].0;
        let mut captured = ptr::null_mut();
        ok(sys::cuStreamEndCapture(of, &raw mut captured));
        assert_eq!(captured, graph);
        let (mut nodes, mut edges, mut count) = ([ptr::null_mut(); 4], [[9; 8]; 4], 4);
        ok(newer::cuGraphNodeGetDependencies_v2(
            third,
            nodes.as_mut_ptr(),
            edges.as_mut_ptr(),
            &raw mut count,
        ));
        assert_eq!((count, nodes[1], edges), (2, first, [[0; 8]; 4]));

        // Another capture goes on behind the first fill of the same graph.
        ok(newer::cuStreamBeginCaptureToGraph(of, graph, &raw const first, ptr::null(), 1, RELAXED));
        ok(sys::cuMemsetD8Async(address + 8, 4, 8, of));
        ok(sys::cuStreamEndCapture(of, &raw mut captured));
        assert_eq!(captured, graph);
        let (mut from, mut to, mut count) = ([ptr::null_mut(); 3], [ptr::null_mut(); 3], 3);
        ok(newer::cuGraphGetEdges_v2(
            graph,
            from.as_mut_ptr(),
            to.as_mut_ptr(),
            edges.as_mut_ptr(),
            &raw mut count,
        ));
        assert_eq!((count, from[1..].to_vec(), to[1]), (3, vec![first; 2], third));
        let mut exec = ptr::null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        ok(sys::cuGraphLaunch(exec, of));
        ok(sys::cuStreamSynchronize(of));
        let mut host = [0_u8; 64];
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
        assert_eq!([host[0], host[8], host[16], host[32]], [3, 4, 1, 2]);
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn nodes_of_any_kind_are_made_changed_and_disabled() {
    const NOT_SUPPORTED: c_int = 801;
    let _context = OwnContext::new();
    let address = allocate(64);
    // SAFETY: pointers can be written, structures are the driver API's, handles are alive.
    unsafe {
        let make = || {
            let mut graph = ptr::null_mut();
            ok(sys::cuGraphCreate(&raw mut graph, 0));
            graph
        };
        let add = |graph, after: &[sys::CUgraphNode], edges: *const newer::Edge, node: &newer::FillNode| {
            let mut out = ptr::null_mut();
            let code =
                newer::cuGraphAddNode_v2(&raw mut out, graph, after.as_ptr(), edges, after.len(), node);
            (code as c_int, out)
        };
        let graph = make();
        let (code, first) = add(graph, &[], ptr::null(), &fill_node(address, 1, 64));
        ok(code);
        let whole = [0_u8; 8];
        let (code, second) = add(graph, &[first], &raw const whole, &fill_node(address, 2, 32));
        ok(code);
        gives(add(graph, &[], ptr::null(), &newer::FillNode { kind: 77, ..fill_node(address, 2, 32) }).0, 1);
        if bind() {
            // A programmatic edge, and a node with a condition.
            let programmatic = [1_u8, 0, 1, 0, 0, 0, 0, 0];
            gives(add(graph, &[first], &raw const programmatic, &fill_node(address, 2, 32)).0, NOT_SUPPORTED);
            let conditional = newer::FillNode { kind: 13, ..fill_node(address, 2, 32) };
            gives(add(graph, &[], ptr::null(), &conditional).0, NOT_SUPPORTED);
        }

        let mut exec = ptr::null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        let launched = || {
            ok(sys::cuMemsetD8_v2(address, 9, 64));
            ok(sys::cuGraphLaunch(exec, ptr::null_mut()));
            let mut host = [0_u8; 64];
            ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
            (host[0], host[32])
        };
        assert_eq!(launched(), (2, 1));
        ok(newer::cuGraphExecNodeSetParams(exec, second, &fill_node(address, 3, 32)));
        assert_eq!(launched(), (3, 1));
        ok(newer::cuGraphNodeSetEnabled(exec, second, 0));
        let mut enabled = 7;
        ok(newer::cuGraphNodeGetEnabled(exec, second, &raw mut enabled));
        assert_eq!((enabled, launched()), (0, (1, 1)));
        ok(newer::cuGraphNodeSetEnabled(exec, second, 1));
        ok(newer::cuGraphNodeGetEnabled(exec, second, &raw mut enabled));
        assert_eq!((enabled, launched()), (1, (3, 1)));

        // Another graph's work in the same shape: the nodes keep their names.
        let other = make();
        let (_, base) = add(other, &[], ptr::null(), &fill_node(address, 4, 64));
        let (code, _) = add(other, &[base], ptr::null(), &fill_node(address, 5, 32));
        ok(code);
        let (mut no_node, mut result) =
            (ptr::null_mut(), sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR);
        ok(sys::cuGraphExecUpdate(exec, other, &raw mut no_node, &raw mut result));
        assert_eq!(launched(), (5, 4));
        ok(newer::cuGraphExecNodeSetParams(exec, second, &fill_node(address, 6, 32)));
        assert_eq!(launched(), (6, 4));
        // The same nodes without the edge.
        let apart = make();
        ok(add(apart, &[], ptr::null(), &fill_node(address, 4, 64)).0);
        ok(add(apart, &[], ptr::null(), &fill_node(address, 5, 32)).0);
        gives(sys::cuGraphExecUpdate(exec, apart, &raw mut no_node, &raw mut result), 910);
        assert_eq!(launched(), (6, 4));
        ok(sys::cuGraphExecDestroy(exec));

        // A child graph is a copy, which can be looked at and changed until the whole is instantiated.
        let parent = make();
        let mut child = ptr::null_mut();
        ok(sys::cuGraphAddChildGraphNode(&raw mut child, parent, ptr::null(), 0, other));
        let (mut inner, mut inner_nodes, mut inner_count) = (ptr::null_mut(), [ptr::null_mut(); 2], 2);
        ok(sys::cuGraphChildGraphNodeGetGraph(child, &raw mut inner));
        assert_ne!(inner, other);
        ok(sys::cuGraphGetNodes(inner, inner_nodes.as_mut_ptr(), &raw mut inner_count));
        assert_eq!(inner_count, 2);
        let mut parts = fill_node(address, 8, 32).fill;
        ok(sys::cuGraphMemsetNodeSetParams(inner_nodes[1], &raw const parts));
        let mut copy = ptr::null_mut();
        ok(sys::cuGraphClone(&raw mut copy, parent));
        parts.value = 7;
        ok(sys::cuGraphMemsetNodeSetParams(inner_nodes[1], &raw const parts));
        gives(sys::cuGraphDestroy(inner), INVALID_VALUE);
        for (whole, expected) in [(parent, (7, 4)), (copy, (8, 4)), (other, (5, 4))] {
            let mut exec = ptr::null_mut();
            ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, whole, 0));
            ok(sys::cuGraphLaunch(exec, ptr::null_mut()));
            let mut host = [0_u8; 64];
            ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 64));
            assert_eq!((host[0], host[32]), expected);
            ok(sys::cuGraphExecDestroy(exec));
        }
        ok(sys::cuGraphDestroyNode(child));
        if bind() {
            let mut count = 0;
            gives(sys::cuGraphGetNodes(inner, ptr::null_mut(), &raw mut count), INVALID_HANDLE);
        }
        for graph in [graph, other, apart, parent, copy] {
            ok(sys::cuGraphDestroy(graph));
        }
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn user_objects_live_as_long_as_what_refers_to_them() {
    use std::sync::atomic::{AtomicU32, Ordering};
    const NO_SYNC: u32 = 1;
    const MOVE: u32 = 1;
    unsafe extern "C" fn destroy(counter: *mut c_void) {
        // SAFETY: the test passes a counter that outlives the objects.
        unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
    }
    let context = OwnContext::new();
    let destroyed = AtomicU32::new(0);
    let data = (&raw const destroyed).cast_mut().cast::<c_void>();
    // SAFETY: pointers can be written, handles are alive, and the counter outlives the objects.
    unsafe {
        let make = |count| {
            let mut object = ptr::null_mut();
            ok(sys::cuUserObjectCreate(&raw mut object, data, Some(destroy), count, NO_SYNC));
            object
        };
        let mut refused = ptr::null_mut();
        gives(sys::cuUserObjectCreate(&raw mut refused, data, Some(destroy), 1, 0), INVALID_VALUE);
        gives(sys::cuUserObjectCreate(&raw mut refused, data, Some(destroy), 0, NO_SYNC), INVALID_VALUE);

        let object = make(2);
        ok(sys::cuUserObjectRetain(object, 1));
        ok(sys::cuUserObjectRelease(object, 2));
        assert_eq!(destroyed.load(Ordering::SeqCst), 0);
        ok(sys::cuUserObjectRelease(object, 1));
        if bind() {
            // The simulated driver calls the destructor in the call that releases the last reference.
            assert_eq!(destroyed.swap(0, Ordering::SeqCst), 1);
        }

        // The program's reference becomes the graph's; what is made of the graph has its own.
        let object = make(1);
        let (mut graph, mut clone, mut exec) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ok(sys::cuGraphCreate(&raw mut graph, 0));
        ok(sys::cuGraphRetainUserObject(graph, object, 1, MOVE));
        ok(sys::cuGraphClone(&raw mut clone, graph));
        ok(sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        gives(sys::cuGraphReleaseUserObject(graph, object, 2), INVALID_VALUE);
        ok(sys::cuGraphReleaseUserObject(graph, object, 1));
        gives(sys::cuGraphReleaseUserObject(graph, object, 1), INVALID_VALUE);
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuGraphDestroy(clone));
        assert_eq!(destroyed.load(Ordering::SeqCst), 0);
        ok(sys::cuGraphExecDestroy(exec));
        if bind() {
            assert_eq!(destroyed.load(Ordering::SeqCst), 1);
        }
    }
    drop(context);
}

#[test]
fn a_graph_takes_the_time_of_its_longest_way() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let (stream, address) = (stream(), allocate(1 << 24));
    // SAFETY: the memory lives until the stream is synchronised.
    let exec = unsafe {
        let graph = ext::capture(stream.as_inner(), ext::CaptureMode::Relaxed, || {
            fill(&stream, address, 1 << 24);
            fill(&stream, address, 1 << 22);
            Ok::<(), ext::Error>(())
        });
        graph.expect("a graph").instantiate().expect("a launchable graph")
    };
    let (start, end) = (Mark::new(), Mark::new());
    start.record(stream.as_inner());
    // SAFETY: as above.
    unsafe { exec.launch(stream.as_inner()) }.expect("a launch");
    end.record(stream.as_inner());
    stream.synchronize().expect("the stream");
    near(end.since(&start), fill_milliseconds(1 << 24) + fill_milliseconds(1 << 22));
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}
