//! `ext` together with cust's streams, modules and buffers, on whichever driver the test that includes this binds with its
//! `bind`.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_driver::{Code, PtxVersion, ext};
use cust::memory::{CopyDestination, DeviceBuffer, UnifiedBuffer};
use cust::prelude::{Context, Device, Module, Stream, StreamFlags};

#[path = "boxes.rs"]
mod boxes;

/// `add(pointer, value)`: each thread of a row of blocks adds a value to its element.
const ADD: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 pointer, .param .u32 value)
{
    .reg .u32 %r<6>;
    .reg .u64 %rd<4>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r5, [value];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r4, [%rd2];
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd2], %r4;
    ret;
}
";

/// `rank(pointer)`: each block writes its place in its cluster; with dynamic shared memory.
const RANK: &str = "
.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry rank(.param .u64 pointer)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<4>;
    ld.param.u64 %rd1, [pointer];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    st.shared.u32 [dynamic], %r2;
    ld.shared.u32 %r3, [dynamic];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r3;
    ret;
}
";

struct Gpu {
    device: Device,
    stream: Stream,
    _context: Context,
    // Last, so that the context has gone before another test begins.
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time has the device: they share its primary context, and who waits for that ends the captures in it.
static ALONE: Mutex<()> = Mutex::new(());

fn gpu() -> Gpu {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    super::bind();
    let context = cust::quick_init().expect("a context");
    let device = Device::get_device(0).expect("a device");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    Gpu { device, stream, _context: context, _alone: alone }
}

pub(super) fn attributes_agree_with_cust() {
    let gpu = gpu();
    let device = gpu.device.as_raw();
    let managed = gpu.device.get_attribute(cust::device::DeviceAttribute::ConcurrentManagedAccess);
    let ours = ext::device_attribute(device, ext::DeviceAttribute::CONCURRENT_MANAGED_ACCESS);
    assert_eq!(ours.expect("an attribute"), managed.expect("an attribute"));
    let optin = ext::device_attribute(device, ext::DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    let reserved = ext::device_attribute(device, ext::DeviceAttribute::RESERVED_SHARED_MEMORY_PER_BLOCK);
    println!("{} shared {optin:?} reserved {reserved:?}", ext::device_uuid(device).expect("a UUID"));
    assert!(optin.expect("an attribute") >= 48 << 10);
    assert!(ext::device_attribute(device, ext::DeviceAttribute(9999)).is_err());
}

pub(super) fn refused_ptx_comes_with_the_compilers_words() {
    let _gpu = gpu();
    assert!(Module::from_ptx(ADD, &[]).is_ok());
    assert_eq!(ext::explain_ptx(ADD), Ok(()));

    let broken = ADD.replace("mov.u32 %r2, %ntid.x;", "mov.u32 %r2, %nosuch;");
    assert!(Module::from_ptx(&broken, &[]).is_err());
    let error = ext::explain_ptx(&broken).expect_err("an unknown register");
    println!("{error}");
    assert_eq!(error.error.code, Code::INVALID_PTX);
    assert!(error.log.error.contains("nosuch"), "{error}");

    let newer = ADD.replace(".version 7.0", ".version 99.0");
    let error = ext::explain_ptx(&newer).expect_err("an unknown version");
    println!("{error}");
    assert_eq!(error.error.code, Code::UNSUPPORTED_PTX_VERSION);
    assert_eq!(error.ptx, Some(PtxVersion { major: 99, minor: 0 }));
}

pub(super) fn launches_of_cust_are_captured_and_replayed() {
    let gpu = gpu();
    let stream = &gpu.stream;
    let module = Module::from_ptx(ADD, &[]).expect("a module");
    let add = module.get_function("add").expect("a kernel");
    let start: Vec<u32> = (0..1024).collect();
    let buffer = DeviceBuffer::from_slice(&start).expect("a buffer");
    // SAFETY: the kernel takes a pointer and a u32, and adds to 8 * 128 elements, which the buffer has and
    // keeps until the stream is synchronised.
    unsafe {
        let graph = ext::capture(stream.as_inner(), ext::CaptureMode::ThreadLocal, || {
            for value in [1_u32, 10, 100] {
                cust::launch!(add<<<8, 128, 0, stream>>>(buffer.as_device_ptr(), value))
                    .map_err(|_| ext::Error { function: "cuLaunchKernel", code: Code(999) })?;
            }
            Ok::<(), ext::Error>(())
        })
        .expect("a graph");
        assert_eq!(graph.node_count(), Ok(3));
        assert_eq!(buffer.as_host_vec().expect("a copy"), start, "nothing has run");
        let exec = graph.instantiate().expect("a launchable graph");
        drop(graph);
        exec.upload(stream.as_inner()).expect("an upload");
        exec.launch(stream.as_inner()).expect("a launch");
        exec.launch(stream.as_inner()).expect("a launch");
    }
    stream.synchronize().expect("the stream");
    let expected: Vec<u32> = (0..1024).map(|value| value + 222).collect();
    assert_eq!(buffer.as_host_vec().expect("a copy"), expected);

    // A capture that made a forbidden call reports it and leaves the stream usable.
    // SAFETY: nothing is recorded.
    let outcome = unsafe {
        ext::capture(stream.as_inner(), ext::CaptureMode::ThreadLocal, || {
            assert!(stream.synchronize().is_err());
            Ok::<(), ext::Error>(())
        })
    };
    assert_eq!(outcome.expect_err("the capture is invalid").code, Code(901));
    stream.synchronize().expect("the stream");
}

pub(super) fn kernels_reach_mapped_pinned_memory() {
    let gpu = gpu();
    let stream = &gpu.stream;
    let module = Module::from_ptx(ADD, &[]).expect("a module");
    let add = module.get_function("add").expect("a kernel");
    let flags = ext::PinnedFlags::MAPPED | ext::PinnedFlags::PORTABLE | ext::PinnedFlags::WRITE_COMBINED;
    let mut buffer = ext::PinnedBuffer::new(5_u32, 256, flags).expect("memory");
    buffer[255] = 6;
    let address = buffer.as_device_ptr().expect("an address");
    assert_eq!(ext::pointer_memory_type(address), Ok(ext::MemoryType::Host));
    assert_eq!(ext::pointer_is_managed(address), Ok(false));
    // SAFETY: the kernel takes a pointer and a u32, and adds to the 2 * 128 elements, which live until after
    // the synchronisation.
    unsafe { cust::launch!(add<<<2, 128, 0, stream>>>(address, 100_u32)) }.expect("a launch");
    stream.synchronize().expect("the stream");
    assert!(buffer[..255].iter().all(|&value| value == 105));
    assert_eq!(buffer[255], 106);
}

pub(super) fn clusters_and_much_shared_memory_launch_where_the_device_has_them() {
    let gpu = gpu();
    let device = gpu.device.as_raw();
    let attribute = |attribute| ext::device_attribute(device, attribute).expect("an attribute");
    if attribute(ext::DeviceAttribute::CLUSTER_LAUNCH) == 0 {
        println!("this device has no clusters: not tested");
        return;
    }
    let module = ext::Module::from_ptx(RANK).expect("a module");
    println!("{}", module.log().info);
    let rank = module.function(c"rank").expect("a kernel");
    let optin = attribute(ext::DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) as u32;
    let ranks = DeviceBuffer::from_slice(&[77_u32; 32]).expect("a buffer");
    let mut pointer = ranks.as_device_ptr().as_raw();
    let mut parameters = [(&raw mut pointer).cast::<c_void>()];
    let config = ext::LaunchConfig {
        cluster: Some([4, 1, 1]),
        ..ext::LaunchConfig::new([32, 1, 1], [32, 1, 1], optin, gpu.stream.as_inner())
    };
    // SAFETY: the module is loaded, the kernel takes one pointer, and writes one element for each of 32
    // blocks.
    unsafe {
        let refused = ext::launch(rank, &config, &mut parameters).expect_err("the memory is not opted in");
        assert_eq!(refused.code, Code(1));
        ext::set_max_dynamic_shared_memory(rank, optin).expect("an attribute");
        let attribute = ext::FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES;
        assert_eq!(ext::function_attribute(rank, attribute), Ok(optin as i32));
        assert!(ext::set_max_dynamic_shared_memory(rank, optin + 1).is_err());
        let active = ext::max_active_clusters(rank, &config).expect("a count");
        let largest = ext::max_potential_cluster_size(rank, &config).expect("a size");
        println!("{active} clusters of 4 at once, at most {largest} blocks in one");
        assert!(active >= 1 && largest >= 8);
        ext::launch(rank, &config, &mut parameters).expect("a launch");
        gpu.stream.synchronize().expect("the stream");
        let huge = ext::LaunchConfig { cluster: Some([32, 1, 1]), ..config };
        let refused = ext::launch(rank, &huge, &mut parameters).expect_err("32 blocks in a cluster");
        assert_eq!(refused.code, Code(912));
    }
    let expected: Vec<u32> = (0..32).map(|block| block % 4).collect();
    assert_eq!(ranks.as_host_vec().expect("a copy"), expected);
}

pub(super) fn tensor_maps_are_encoded_and_checked() {
    let gpu = gpu();
    let supported = ext::DeviceAttribute::TENSOR_MAP_ACCESS_SUPPORTED;
    if ext::device_attribute(gpu.device.as_raw(), supported) != Ok(1) {
        println!("this device has no tensor maps: not tested");
        return;
    }
    let buffer = DeviceBuffer::<f32>::zeroed(64 * 32).expect("a buffer");
    let config = ext::TensorMapConfig {
        element: ext::TensorElement::F32,
        address: buffer.as_device_ptr().as_raw(),
        sizes: [64, 32],
        strides: [4, 256],
        tile: [32, 8],
        swizzle: ext::TensorSwizzle::Bytes128,
        promotion: ext::TensorPromotion::Bytes256,
    };
    let map = ext::TensorMap::tiled(&config).expect("a tensor map");
    assert_ne!(map.0.opaque, [0; 16]);
    let odd = ext::TensorMapConfig { address: config.address + 4, ..config };
    assert_eq!(
        ext::TensorMap::tiled(&odd).expect_err("an odd address"),
        ext::TensorMapError::Address { address: odd.address }
    );
}

pub(super) fn copies_by_tensor_map_move_boxes() {
    let gpu = gpu();
    let supported = ext::DeviceAttribute::TENSOR_MAP_ACCESS_SUPPORTED;
    if ext::device_attribute(gpu.device.as_raw(), supported) != Ok(1) {
        println!("this device has no tensor maps: not tested");
        return;
    }
    boxes::move_as_the_formula_says();
}

pub(super) fn managed_memory_takes_advice_and_moves() {
    let gpu = gpu();
    let device = gpu.device.as_raw();
    if ext::device_attribute(device, ext::DeviceAttribute::CONCURRENT_MANAGED_ACCESS) != Ok(1) {
        println!("this device has no concurrent managed access: not tested");
        return;
    }
    let mut buffer = UnifiedBuffer::new(&7_u32, 1 << 18).expect("a buffer");
    let (bytes, stream) = (4 << 18, gpu.stream.as_inner());
    let pointer = buffer.as_unified_ptr().as_raw() as u64;
    assert_eq!(ext::pointer_is_managed(pointer), Ok(true));
    // SAFETY: the range is the buffer, which lives until after the synchronisations.
    unsafe {
        ext::advise(pointer, bytes, ext::Advice::AccessedBy, ext::Location::Host).expect("advice");
        ext::advise(pointer, bytes, ext::Advice::AccessedBy, ext::Location::Device(device)).expect("advice");
        ext::prefetch(pointer, bytes, ext::Location::Device(device), stream).expect("a prefetch");
        gpu.stream.synchronize().expect("the stream");
        let there = ext::last_prefetch_location(pointer, bytes);
        assert_eq!(there, Ok(Some(ext::Location::Device(device))));
        ext::prefetch(pointer, bytes, ext::Location::Host, stream).expect("a prefetch");
        gpu.stream.synchronize().expect("the stream");
        assert_eq!(ext::last_prefetch_location(pointer, bytes), Ok(Some(ext::Location::Host)));
    }
    assert!(buffer.iter().all(|&value| value == 7));
    let mut copy = [0_u32; 4];
    DeviceBuffer::from_slice(&buffer[..4]).expect("a buffer").copy_to(&mut copy).expect("a copy");
    assert_eq!(copy, [7; 4]);
}
