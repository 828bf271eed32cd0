//! `ext` over a driver of Rust functions that write down how they were called.
//!
//! One binding for the process; each test runs its calls in a thread of its own, where the record is.

use std::alloc::Layout;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::Once;

use cuda_driver::ext::{self, raw};
use cuda_driver::{Code, DriverVersion, bind};

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note(call: String) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// What the fake driver was asked since the last time.
fn calls() -> Vec<String> {
    CALLS.take()
}

fn handle<T>(number: usize) -> *mut T {
    ptr::without_provenance_mut(number)
}

mod fake {
    use super::*;

    extern "C" fn init(_flags: c_uint) -> c_int {
        0
    }

    extern "C" fn driver_get_version(version: *mut c_int) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe { *version = 12040 };
        0
    }

    extern "C" fn get_error_string(code: c_int, text: *mut *const c_char) -> c_int {
        let known = if code == 1 { c"one of the arguments is wrong.".as_ptr() } else { ptr::null() };
        // SAFETY: the caller's pointer can be written.
        unsafe { *text = known };
        i32::from(known.is_null())
    }

    extern "C" fn device_get_attribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
        if attribute > 127 {
            return 1;
        }
        // SAFETY: the caller's pointer can be written.
        unsafe { *value = 1000 * device + attribute };
        0
    }

    extern "C" fn device_get_uuid(uuid: *mut [u8; 16], _device: c_int) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe { *uuid = std::array::from_fn(|index| 0xa0 + index as u8) };
        0
    }

    extern "C" fn set_attribute(function: *mut c_void, attribute: c_int, value: c_int) -> c_int {
        note(format!("set attribute {attribute} of {function:?} to {value}"));
        0
    }

    /// Refuses a text with "bad" in it, with a log; for "new" says that its version is too new.
    extern "C" fn module_load(
        module: *mut *mut c_void,
        image: *const c_char,
        count: c_uint,
        options: *const c_int,
        values: *const *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's text ends, and its arrays have `count` elements.
        let (image, options, values) = unsafe {
            (
                CStr::from_ptr(image),
                std::slice::from_raw_parts(options, count as usize),
                std::slice::from_raw_parts(values, count as usize),
            )
        };
        let value = |option| values[options.iter().position(|&each| each == option).expect("the option")];
        assert_eq!(value(12).addr(), 1, "verbose");
        let write = |buffer: c_int, text: &CStr| {
            let text = text.to_bytes_with_nul();
            assert!(text.len() <= value(buffer + 1).addr(), "the room");
            // SAFETY: the caller's buffer has as many bytes as it says.
            unsafe { value(buffer).cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        };
        match image.to_str().expect("UTF-8") {
            text if text.contains("bad") => {
                write(5, c"ptxas application ptx input, line 7; error: Unknown symbol 'bad'\n");
                218
            }
            text if text.contains("new") => 222,
            _ => {
                write(3, c"Used 12 registers");
                // SAFETY: the caller's pointer can be written.
                unsafe { *module = handle(0x77) };
                0
            }
        }
    }

    extern "C" fn module_unload(module: *mut c_void) -> c_int {
        note(format!("unload {module:?}"));
        0
    }

    extern "C" fn module_get_function(
        function: *mut *mut c_void,
        _module: *mut c_void,
        name: *const c_char,
    ) -> c_int {
        // SAFETY: the caller's name ends.
        if unsafe { CStr::from_ptr(name) } != c"copy" {
            return 500;
        }
        // SAFETY: the caller's pointer can be written.
        unsafe { *function = handle(0x88) };
        0
    }

    extern "C" fn begin_capture(stream: *mut c_void, mode: c_int) -> c_int {
        note(format!("begin {stream:?} {mode}"));
        0
    }

    extern "C" fn end_capture(stream: *mut c_void, graph: *mut *mut c_void) -> c_int {
        note(format!("end {stream:?}"));
        // SAFETY: the caller's pointer can be written.
        unsafe { *graph = handle(0x91) };
        0
    }

    extern "C" fn get_nodes(_graph: *mut c_void, nodes: *mut c_void, count: *mut usize) -> c_int {
        assert!(nodes.is_null());
        // SAFETY: the caller's pointer can be written.
        unsafe { *count = 20 };
        0
    }

    extern "C" fn instantiate(exec: *mut *mut c_void, graph: *mut c_void, flags: u64) -> c_int {
        note(format!("instantiate {graph:?} {flags}"));
        // SAFETY: the caller's pointer can be written.
        unsafe { *exec = handle(0x92) };
        0
    }

    extern "C" fn graph_launch(exec: *mut c_void, stream: *mut c_void) -> c_int {
        note(format!("launch {exec:?} {stream:?}"));
        0
    }

    extern "C" fn exec_destroy(exec: *mut c_void) -> c_int {
        note(format!("destroy launchable {exec:?}"));
        0
    }

    extern "C" fn graph_destroy(graph: *mut c_void) -> c_int {
        note(format!("destroy graph {graph:?}"));
        0
    }

    fn page(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 4096).expect("a layout")
    }

    extern "C" fn host_alloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
        note(format!("allocate {bytes} {flags:#x}"));
        // SAFETY: the size is not 0, and the caller's pointer can be written.
        unsafe { *pointer = std::alloc::alloc(page(bytes)).cast() };
        0
    }

    extern "C" fn free_host(pointer: *mut c_void) -> c_int {
        note("free".to_owned());
        // SAFETY: the tests allocate 12 bytes and nothing else.
        unsafe { std::alloc::dealloc(pointer.cast(), page(12)) };
        0
    }

    extern "C" fn get_device_pointer(device: *mut u64, host: *mut c_void, flags: c_uint) -> c_int {
        assert_eq!(flags, 0);
        // SAFETY: the caller's pointer can be written.
        unsafe { *device = host.expose_provenance() as u64 + 1 };
        0
    }

    /// The first words of the configuration as they lie in memory by the driver API's header.
    extern "C" fn launch_ex(
        config: *const u32,
        function: *mut c_void,
        parameters: *const *mut c_void,
        extra: *mut c_void,
    ) -> c_int {
        assert!(extra.is_null());
        // SAFETY: the configuration has 56 bytes: 7 words, 4 bytes to align, 2 pointers, 1 word.
        unsafe {
            let words = std::slice::from_raw_parts(config, 7);
            let stream = config.byte_add(32).cast::<usize>().read();
            let attributes = config.byte_add(40).cast::<*const u32>().read();
            let count = config.byte_add(48).read();
            note(format!("{words:?} stream {stream:#x} function {function:?}"));
            for index in 0..count as usize {
                // Each attribute has 72 bytes: identifier, 4 bytes to align, 64 bytes of value.
                let attribute = attributes.byte_add(72 * index);
                note(format!(
                    "attribute {} {:?}",
                    *attribute,
                    std::slice::from_raw_parts(attribute.add(2), 4)
                ));
            }
            note(format!("parameter {}", (*parameters).cast::<u64>().read()));
        }
        0
    }

    extern "C" fn max_active_clusters(
        count: *mut c_int,
        _function: *mut c_void,
        config: *const u32,
    ) -> c_int {
        // SAFETY: as in `launch_ex`.
        assert_eq!(unsafe { config.byte_add(48).read() }, 1, "the cluster");
        // SAFETY: the caller's pointer can be written.
        unsafe { *count = 33 };
        0
    }

    extern "C" fn advise(pointer: u64, bytes: usize, advice: c_int, device: c_int) -> c_int {
        note(format!("advise {pointer:#x} {bytes} {advice} {device}"));
        0
    }

    extern "C" fn prefetch_v2(
        pointer: u64,
        bytes: usize,
        place: u64,
        flags: c_uint,
        stream: *mut c_void,
    ) -> c_int {
        // A structure of two integers comes in one register.
        note(format!(
            "prefetch {pointer:#x} {bytes} {} {} {flags} {stream:?}",
            place as u32,
            (place >> 32) as i32
        ));
        0
    }

    extern "C" fn range_get_attribute(
        value: *mut c_int,
        value_bytes: usize,
        attribute: c_int,
        pointer: u64,
        _bytes: usize,
    ) -> c_int {
        assert_eq!((value_bytes, attribute), (4, 4));
        // SAFETY: the caller's pointer can be written.
        unsafe { *value = pointer as c_int - 2 };
        0
    }

    extern "C" fn pointer_get_attribute(value: *mut u32, attribute: c_int, pointer: u64) -> c_int {
        // SAFETY: the caller's pointer can be written.
        unsafe {
            match attribute {
                2 => *value = pointer as u32,
                8 => value.cast::<bool>().write(pointer == 2),
                _ => return 1,
            }
        }
        0
    }

    extern "C" fn encode_tiled(
        map: *mut [u64; 16],
        element: c_int,
        rank: u32,
        address: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        tile: *const u32,
        element_strides: *const u32,
        interleave: c_int,
        swizzle: c_int,
        promotion: c_int,
        fill: c_int,
    ) -> c_int {
        assert!(map.addr().is_multiple_of(64));
        let rank_elements = rank as usize;
        // SAFETY: the arrays have the rank's number of elements, strides one fewer.
        unsafe {
            note(format!(
                "tile {element} {address:?} {:?} {:?} {:?} {:?} {interleave} {swizzle} {promotion} {fill}",
                std::slice::from_raw_parts(sizes, rank_elements),
                std::slice::from_raw_parts(strides, rank_elements - 1),
                std::slice::from_raw_parts(tile, rank_elements),
                std::slice::from_raw_parts(element_strides, rank_elements),
            ));
            (*map)[15] = 0xface;
        }
        0
    }

    pub(super) fn resolve(name: &str) -> Option<NonNull<c_void>> {
        NonNull::new(match name {
            "cuInit" => init as *mut c_void,
            "cuDriverGetVersion" => driver_get_version as *mut c_void,
            "cuGetErrorString" => get_error_string as *mut c_void,
            "cuDeviceGetAttribute" => device_get_attribute as *mut c_void,
            "cuDeviceGetUuid" => device_get_uuid as *mut c_void,
            "cuFuncSetAttribute" => set_attribute as *mut c_void,
            "cuModuleLoadDataEx" => module_load as *mut c_void,
            "cuModuleUnload" => module_unload as *mut c_void,
            "cuModuleGetFunction" => module_get_function as *mut c_void,
            "cuStreamBeginCapture_v2" => begin_capture as *mut c_void,
            "cuStreamEndCapture" => end_capture as *mut c_void,
            "cuGraphGetNodes" => get_nodes as *mut c_void,
            "cuGraphInstantiateWithFlags" => instantiate as *mut c_void,
            "cuGraphLaunch" => graph_launch as *mut c_void,
            "cuGraphExecDestroy" => exec_destroy as *mut c_void,
            "cuGraphDestroy" => graph_destroy as *mut c_void,
            "cuMemHostAlloc" => host_alloc as *mut c_void,
            "cuMemFreeHost" => free_host as *mut c_void,
            "cuMemHostGetDevicePointer_v2" => get_device_pointer as *mut c_void,
            "cuLaunchKernelEx" => launch_ex as *mut c_void,
            "cuOccupancyMaxActiveClusters" => max_active_clusters as *mut c_void,
            // The old form of one, the new form of the other.
            "cuMemAdvise" => advise as *mut c_void,
            "cuMemPrefetchAsync_v2" => prefetch_v2 as *mut c_void,
            "cuMemRangeGetAttribute" => range_get_attribute as *mut c_void,
            "cuPointerGetAttribute" => pointer_get_attribute as *mut c_void,
            "cuTensorMapEncodeTiled" => encode_tiled as *mut c_void,
            _ => return None,
        })
    }
}

fn bind_fake() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions of `fake` have the driver API's signatures and are always there.
        unsafe { bind(&fake::resolve, "a fake driver") }.expect("nothing else is bound");
    });
}

#[test]
fn attributes_are_asked_by_number() {
    bind_fake();
    assert_eq!(ext::driver_version(), Ok(DriverVersion(12040)));
    let optin = ext::DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    assert_eq!(ext::device_attribute(3, optin), Ok(3097));
    let error = ext::device_attribute(3, ext::DeviceAttribute(200)).expect_err("an unknown attribute");
    assert_eq!(error, ext::Error { function: "cuDeviceGetAttribute", code: Code(1) });
    assert_eq!(
        error.to_string(),
        "cuDeviceGetAttribute gave CUDA_ERROR_INVALID_VALUE (1): one of the arguments is wrong"
    );
    let uuid = ext::device_uuid(0).expect("cuDeviceGetUuid");
    assert_eq!(uuid.to_string(), "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
    assert_eq!(ext::pointer_memory_type(2), Ok(ext::MemoryType::Device));
    assert_eq!(ext::pointer_memory_type(9), Ok(ext::MemoryType::Other(9)));
    assert_eq!((ext::pointer_is_managed(2), ext::pointer_is_managed(1)), (Ok(true), Ok(false)));

    // SAFETY: the fake driver does not follow the handle.
    unsafe { ext::set_max_dynamic_shared_memory(handle(0x10), 227 << 10) }.expect("cuFuncSetAttribute");
    assert_eq!(calls(), ["set attribute 8 of 0x10 to 232448"]);
}

#[test]
fn refused_ptx_comes_with_the_compilers_words() {
    bind_fake();
    let error = ext::explain_ptx(".version 7.0\nbad").expect_err("bad PTX");
    assert_eq!(
        error.to_string(),
        "the driver did not load the PTX: cuModuleLoadDataEx gave CUDA_ERROR_INVALID_PTX (218). Its compiler \
         says:\nptxas application ptx input, line 7; error: Unknown symbol 'bad'"
    );
    assert_eq!(calls(), Vec::<String>::new(), "nothing was loaded, nothing is unloaded");
    let error = ext::explain_ptx("a\0b").expect_err("a NUL");
    assert_eq!(error.error.code, Code::INVALID_PTX);
}

#[test]
fn ptx_newer_than_the_driver_names_both_versions() {
    bind_fake();
    let error = ext::explain_ptx("//\n.version 9.0\n// new").expect_err("PTX of CUDA 13");
    assert_eq!(
        error.to_string(),
        "the driver did not load the PTX: cuModuleLoadDataEx gave CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222). The \
         PTX is of version 9.0, and the driver, of CUDA 12.4, reads up to 8.4: update the driver, or build the \
         kernels for an older PTX version"
    );
}

#[test]
fn good_ptx_is_unloaded_again() {
    bind_fake();
    let module = ext::Module::from_ptx(".version 7.0").expect("good PTX");
    assert_eq!(module.log().info, "Used 12 registers");
    assert_eq!(module.function(c"copy"), Ok(handle(0x88)));
    let missing = ext::Error { function: "cuModuleGetFunction", code: Code(500) };
    assert_eq!(module.function(c"paste"), Err(missing));
    assert_eq!(calls(), Vec::<String>::new());
    drop(module);
    assert_eq!(calls(), ["unload 0x77"]);
    assert_eq!(ext::explain_ptx(".version 7.0"), Ok(()));
    assert_eq!(calls(), ["unload 0x77"]);
}

#[test]
fn a_capture_becomes_a_graph_that_is_launched_and_destroyed() {
    bind_fake();
    let record = || {
        note("record".to_owned());
        Ok::<(), ext::Error>(())
    };
    // SAFETY: the fake driver does not follow the handles.
    let graph =
        unsafe { ext::capture(handle(0x50), ext::CaptureMode::ThreadLocal, record) }.expect("a graph");
    assert_eq!(graph.node_count(), Ok(20));
    let exec = graph.instantiate().expect("a launchable graph");
    drop(graph);
    // SAFETY: as above.
    unsafe { exec.launch(handle(0x51)) }.expect("cuGraphLaunch");
    drop(exec);
    assert_eq!(
        calls(),
        [
            "begin 0x50 1",
            "record",
            "end 0x50",
            "instantiate 0x91 0",
            "destroy graph 0x91",
            "launch 0x92 0x51",
            "destroy launchable 0x92",
        ]
    );
    // SAFETY: as above.
    let error = unsafe { exec_that_lacks_upload() }.expect_err("the fake driver has no cuGraphUpload");
    assert_eq!(error, ext::Error { function: "cuGraphUpload", code: Code::NOT_SUPPORTED });
}

/// # Safety
///
/// For the fake driver, which follows no handle.
unsafe fn exec_that_lacks_upload() -> ext::Result<()> {
    // SAFETY: the caller's word.
    unsafe {
        let graph = ext::capture(handle(0x50), ext::CaptureMode::Relaxed, || Ok::<(), ext::Error>(()))?;
        graph.instantiate()?.upload(handle(0x50))
    }
}

#[test]
fn a_capture_ends_also_after_an_error_and_a_panic() {
    bind_fake();
    let failure = ext::Error { function: "cuLaunchKernel", code: Code(1) };
    // SAFETY: the fake driver does not follow the handles.
    let error = unsafe { ext::capture(handle(0x50), ext::CaptureMode::Global, || Err(failure)) };
    assert_eq!(error.expect_err("the recording failed"), failure);
    assert_eq!(calls(), ["begin 0x50 0", "end 0x50", "destroy graph 0x91"]);

    let panicked = std::panic::catch_unwind(|| {
        // SAFETY: as above.
        unsafe {
            ext::capture::<ext::Error>(handle(0x50), ext::CaptureMode::Relaxed, || panic!("in the recording"))
        }
    });
    assert!(panicked.is_err());
    assert_eq!(calls(), ["begin 0x50 2", "end 0x50", "destroy graph 0x91"]);
}

#[test]
fn a_pinned_buffer_has_its_flags_and_is_freed() {
    bind_fake();
    let flags = ext::PinnedFlags::WRITE_COMBINED | ext::PinnedFlags::MAPPED;
    let mut buffer = ext::PinnedBuffer::new(7_u32, 3, flags).expect("memory");
    assert_eq!(*buffer, [7, 7, 7]);
    buffer[1] = 8;
    assert_eq!(buffer.as_device_ptr(), Ok(buffer.as_ptr().addr() as u64 + 1));
    assert_eq!(calls(), ["allocate 12 0x6"]);
    drop(buffer);
    assert_eq!(calls(), ["free"]);

    for length in [0, usize::MAX / 2] {
        let error = ext::PinnedBuffer::new(7_u32, length, flags).expect_err("an impossible length");
        assert_eq!(error, ext::Error { function: "cuMemHostAlloc", code: Code(1) });
    }
    assert_eq!(calls(), Vec::<String>::new());
}

#[test]
fn a_launch_with_attributes_lies_in_memory_as_the_driver_reads_it() {
    bind_fake();
    let plain = ext::LaunchConfig::new([8, 2, 3], [128, 4, 1], 1024, handle(0x60));
    let full = ext::LaunchConfig {
        cluster: Some([4, 2, 1]),
        overlaps_predecessor: true,
        priority: Some(-3),
        persisting: Some(ext::AccessWindow { address: 0x7_0000_1000, bytes: 8192 }),
        ..plain
    };
    let mut argument = 0x1234_5678_9abc_u64;
    let mut parameters = [(&raw mut argument).cast::<c_void>()];
    // SAFETY: the fake driver follows the parameters alone, and they are there.
    unsafe {
        ext::launch(handle(0x61), &plain, &mut parameters).expect("cuLaunchKernelEx");
        ext::launch(handle(0x61), &full, &mut parameters).expect("cuLaunchKernelEx");
    }
    assert_eq!(
        calls(),
        [
            "[8, 2, 3, 128, 4, 1, 1024] stream 0x60 function 0x61",
            "parameter 20015998343868",
            "[8, 2, 3, 128, 4, 1, 1024] stream 0x60 function 0x61",
            "attribute 4 [4, 2, 1, 0]",
            "attribute 6 [1, 0, 0, 0]",
            "attribute 8 [4294967293, 0, 0, 0]",
            "attribute 1 [4096, 7, 8192, 0]",
            "parameter 20015998343868",
        ]
    );
    let clusters = ext::LaunchConfig { cluster: Some([4, 2, 1]), ..plain };
    // SAFETY: the fake driver does not follow the handle.
    assert_eq!(unsafe { ext::max_active_clusters(handle(0x61), &clusters) }, Ok(33));
}

#[test]
fn managed_memory_takes_the_form_that_the_driver_has() {
    bind_fake();
    let numa = ext::Location::HostNuma(1);
    // SAFETY: the fake driver follows no address.
    unsafe {
        ext::advise(0x1000, 64, ext::Advice::AccessedBy, ext::Location::Host).expect("cuMemAdvise");
        ext::advise(0x1000, 64, ext::Advice::ReadMostly, ext::Location::Device(2)).expect("cuMemAdvise");
        let error = ext::advise(0x1000, 64, ext::Advice::PreferredLocation, numa).expect_err("an old driver");
        assert_eq!(error, ext::Error { function: "cuMemAdvise_v2", code: Code::NOT_SUPPORTED });
        ext::prefetch(0x2000, 128, ext::Location::Device(2), handle(0x70)).expect("cuMemPrefetchAsync_v2");
        ext::prefetch(0x2000, 128, ext::Location::Host, handle(0x70)).expect("cuMemPrefetchAsync_v2");
        ext::prefetch(0x2000, 128, numa, handle(0x70)).expect("cuMemPrefetchAsync_v2");
        assert_eq!(ext::last_prefetch_location(0, 64), Ok(None));
        assert_eq!(ext::last_prefetch_location(1, 64), Ok(Some(ext::Location::Host)));
        assert_eq!(ext::last_prefetch_location(5, 64), Ok(Some(ext::Location::Device(3))));
    }
    assert_eq!(
        calls(),
        [
            "advise 0x1000 64 5 -1",
            "advise 0x1000 64 1 2",
            "prefetch 0x2000 128 1 2 0 0x70",
            "prefetch 0x2000 128 2 0 0 0x70",
            "prefetch 0x2000 128 3 1 0 0x70",
        ]
    );
}

#[test]
fn a_tensor_map_is_encoded_from_twelve_arguments() {
    bind_fake();
    let map = ext::TensorMap::tiled(&ext::TensorMapConfig {
        element: ext::TensorElement::F32,
        address: 0xabc0,
        sizes: [4096, 2048, 5],
        strides: [4, 16384, 1 << 25],
        tile: [32, 16, 1],
        swizzle: ext::TensorSwizzle::Bytes128,
        promotion: ext::TensorPromotion::Bytes256,
    })
    .expect("cuTensorMapEncodeTiled");
    assert_eq!(map.0.opaque[15], 0xface);
    assert_eq!(calls(), ["tile 7 0xabc0 [4096, 2048, 5] [16384, 33554432] [32, 16, 1] [1, 1, 1] 0 3 3 0"]);
    assert_eq!(size_of::<raw::CUtensorMap>(), 128);
}
