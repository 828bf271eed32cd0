//! Modules, kernels and launches on the simulated driver: what runs, what is refused and how, and what is recorded.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_driver::{Code, ext, simulated};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust_raw as sys;

use crate::common::{KERNELS, OwnContext, allocate, bind, function, gives, launch, module, ok};

const INVALID_VALUE: c_int = 1;
const INVALID_HANDLE: c_int = 400;
const NOT_FOUND: c_int = 500;

/// Held by tests that take the recorded launches, which are those of the whole process.
fn records_are_ours() -> MutexGuard<'static, ()> {
    static RECORDS: Mutex<()> = Mutex::new(());
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_kernel_of_cust_computes_and_is_recorded() {
    let _records = records_are_ours();
    let simulated = bind();
    let _context = OwnContext::new();
    let module = Module::from_ptx(KERNELS, &[]).expect("a module");
    let add = module.get_function("add").expect("a kernel");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let numbers: Vec<u32> = (0..4096).collect();
    let buffer = DeviceBuffer::from_slice(&numbers).expect("a buffer");
    // SAFETY: the kernel takes a pointer and a u32, and adds to 16 * 256 elements, which the buffer has.
    unsafe { cust::launch!(add<<<16, 256, 0, stream>>>(buffer.as_device_ptr(), 1000_u32)) }
        .expect("a launch");
    stream.synchronize().expect("the stream");
    let expected: Vec<u32> = (1000..5096).collect();
    assert_eq!(buffer.as_host_vec().expect("a copy"), expected);
    if !simulated {
        return;
    }
    // Other tests launch the kernel as well, in other shapes.
    let is_ours = |record: &simulated::LaunchRecord| (record.grid, record.block) == ([16, 1, 1], [256, 1, 1]);
    let record = simulated::take_launches().into_iter().find(is_ours).expect("a record");
    assert_eq!((record.kernel.as_str(), record.device), ("add", 0));
    let counters = &record.counters;
    assert_eq!((counters.blocks, counters.warps), (16, 128));
    // 32 lanes of 4 bytes, aligned: one request of four sectors a warp, each way.
    assert_eq!((counters.total.loads.requests, counters.total.loads.sectors), (128, 512));
    assert_eq!((counters.total.stores.requests, counters.total.stores.sectors), (128, 512));
    assert!(record.seconds > record.time.launch && record.seconds == record.time.seconds, "{record:?}");
    assert_eq!((record.link_seconds, record.migration.seconds), (0.0, 0.0));
    assert!(record.sites().iter().any(|site| &*site.opcode == "ld.global.u32"));
    assert_eq!(record.thread_instructions, counters.total.thread_instructions);
}

#[test]
fn pinned_memory_is_reached_over_the_link() {
    let _records = records_are_ours();
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let add = function(module(KERNELS), "add");
    let mut host = ext::PinnedBuffer::new(1_u32, 1 << 16, ext::PinnedFlags::MAPPED).expect("memory");
    host[7] = 8;
    let (mut address, mut value) = (host.as_device_ptr().expect("an address"), 5_u32);
    let mut parameters = [(&raw mut address).cast::<c_void>(), (&raw mut value).cast()];
    // SAFETY: the kernel takes a pointer and a u32, and adds to 64 * 1024 elements, which are there.
    ok(unsafe { launch(add, 64, 1024, &mut parameters) });
    assert_eq!((host[6], host[7]), (6, 13));
    let records = simulated::take_launches();
    let record = records.iter().find(|record| record.grid == [64, 1, 1]).expect("a record");
    assert_eq!((record.counters.link.sectors_read, record.counters.link.sectors_written), (8192, 8192));
    assert_eq!(record.counters.dram_read.granules, 0);
    assert!(
        record.link_seconds > 4e-6 && record.seconds >= record.time.launch + record.link_seconds,
        "{record:?}"
    );
}

#[test]
fn what_fills_more_than_l2_leaves_nothing_there() {
    let _records = records_are_ours();
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let add = function(module(KERNELS), "add");
    let (address, bytes) = (allocate(64 << 20), 64 << 20);
    let (mut pointer, mut value) = (address, 1_u32);
    // A grid that no other test has.
    let mut fetched = || {
        let mut parameters = [(&raw mut pointer).cast::<c_void>(), (&raw mut value).cast()];
        // SAFETY: the kernel takes a pointer and a u32, and adds to 13 * 512 elements, which are there.
        ok(unsafe { launch(add, 13, 512, &mut parameters) });
        let records = simulated::take_launches();
        let record = records.iter().find(|record| record.grid == [13, 1, 1]).expect("a record");
        record.counters.dram_read.granules
    };
    let granules = 13 * 512 * 4 / 64;
    assert_eq!([fetched(), fetched()], [granules, 0]);
    // SAFETY: nothing else uses the memory.
    let fill = |bytes| unsafe { simulated::write_in_place(address, bytes, |bytes| bytes.fill(0)) };
    assert_eq!(fill(32 << 20), Some(()));
    assert_eq!(fetched(), 0, "it is smaller than L2");
    assert_eq!(fill(bytes), Some(()));
    assert_eq!([fetched(), fetched()], [granules, 0]);
    // SAFETY: the memory is not used again.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

#[test]
fn managed_memory_is_faulted_in_once() {
    let _records = records_are_ours();
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let add = function(module(KERNELS), "add");
    let mut address = 0;
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuMemAllocManaged(&raw mut address, 4 << 20, 1) });
    let mut value = 3_u32;
    // Launches of different grids, to tell their records from those of other tests.
    let mut run = |blocks: u32| {
        let mut pointer = address;
        let mut parameters = [(&raw mut pointer).cast::<c_void>(), (&raw mut value).cast()];
        // SAFETY: the kernel takes a pointer and a u32, and adds to at most 1024 * 1024 elements, which are there.
        ok(unsafe { launch(add, blocks, 1024, &mut parameters) });
        let records = simulated::take_launches();
        records.into_iter().find(|record| record.grid == [blocks, 1, 1]).expect("a record").migration
    };
    let first = run(1024);
    // Each window of 264 blocks wants 17 pages of 32: more than half of the block of 2 MiB, so all of it comes.
    assert_eq!((first.faults, first.bytes_in, first.bytes_out), (35, 4 << 20, 0));
    assert!(first.seconds > 2.0 * 45e-6, "{first:?}");
    assert_eq!(run(1023).faults, 0, "it is there now");
    // Back to the host by prefetch, and read from there.
    // SAFETY: the range is the allocation.
    unsafe {
        ext::prefetch(address, 4 << 20, ext::Location::Host, ptr::null_mut()).expect("a prefetch");
        ext::advise(address, 4 << 20, ext::Advice::PreferredLocation, ext::Location::Host).expect("advice");
        ext::advise(address, 4 << 20, ext::Advice::AccessedBy, ext::Location::Device(0)).expect("advice");
    }
    assert_eq!(run(1022).bytes_in, 0, "it stays on the host");
    // SAFETY: the memory is managed, and no kernel runs.
    let first = unsafe { *ptr::with_exposed_provenance::<u32>(address as usize) };
    assert_eq!(first, 9);
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

#[test]
fn launches_are_checked() {
    let simulated = bind();
    let context = OwnContext::new();
    let module = module(KERNELS);
    let (add, few, fixed) = (function(module, "add"), function(module, "few"), function(module, "fixed"));
    let shared = function(module, "shared");
    let mut address = allocate(4096);
    let mut value = 1_u32;
    let mut parameters = [(&raw mut address).cast::<c_void>(), (&raw mut value).cast()];
    let shape = |grid: [u32; 3],
                 block: [u32; 3],
                 bytes: u32,
                 kernel: sys::CUfunction,
                 parameters: *mut *mut c_void| {
        // SAFETY: what is launched has its parameters, and what is refused is not launched.
        unsafe {
            sys::cuLaunchKernel(
                kernel,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                bytes,
                ptr::null_mut(),
                parameters,
                ptr::null_mut(),
            ) as c_int
        }
    };
    let parameters = parameters.as_mut_ptr();
    let one = [1, 1, 1];
    ok(shape(one, [32, 1, 1], 0, add, parameters));
    for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 65_536, 1], [1, 1, 65_536], [1 << 31, 1, 1]] {
        gives(shape(grid, one, 0, add, parameters), INVALID_VALUE);
    }
    for block in [[0, 1, 1], [1, 0, 1], [1025, 1, 1], [1, 1025, 1], [1, 1, 65], [32, 33, 1]] {
        gives(shape(one, block, 0, add, parameters), INVALID_VALUE);
    }
    gives(shape(one, one, 0, add, ptr::null_mut()), INVALID_VALUE);
    gives(shape(one, one, 49_153, add, parameters), INVALID_VALUE);
    gives(shape(one, one, 48 << 10, shared, ptr::null_mut()), INVALID_VALUE);
    ok(shape(one, one, 44 << 10, shared, ptr::null_mut()));
    ok(shape(one, [64, 1, 1], 0, few, ptr::null_mut()));
    gives(shape(one, [65, 1, 1], 0, few, ptr::null_mut()), INVALID_VALUE);
    ok(shape(one, [32, 2, 1], 0, fixed, ptr::null_mut()));
    gives(shape(one, [64, 1, 1], 0, fixed, ptr::null_mut()), INVALID_VALUE);
    // Nothing of that broke anything.
    // SAFETY: no pointers.
    ok(unsafe { sys::cuCtxSynchronize() });
    if simulated {
        gives(shape(one, one, 0, ptr::null_mut(), parameters), INVALID_HANDLE);
        gives(shape(one, one, 0, context.0.cast(), parameters), INVALID_HANDLE);
    }
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

#[test]
fn parameters_come_in_a_buffer_too() {
    let _context = OwnContext::new();
    let add = function(module(KERNELS), "add");
    let address = allocate(128);
    let mut buffer = [0_u8; 12];
    buffer[..8].copy_from_slice(&address.to_le_bytes());
    buffer[8..].copy_from_slice(&7_u32.to_le_bytes());
    let mut bytes = buffer.len();
    let number = ptr::without_provenance_mut::<c_void>;
    let mut extra = [number(1), buffer.as_mut_ptr().cast(), number(2), (&raw mut bytes).cast(), number(0)];
    let go = |extra: &mut [*mut c_void]| {
        // SAFETY: the buffer has what the kernel takes, and the list ends.
        unsafe {
            sys::cuLaunchKernel(
                add,
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                extra.as_mut_ptr(),
            ) as c_int
        }
    };
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemsetD32_v2(address, 1, 32) });
    ok(go(&mut extra));
    let mut host = [0_u32; 32];
    // SAFETY: the array has 128 bytes.
    ok(unsafe { sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 128) });
    assert_eq!(host, [8; 32]);
    gives(go(&mut [number(3), number(0), number(0)]), INVALID_VALUE);
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(address) });
}

#[test]
fn modules_have_kernels_and_variables() {
    let _context = OwnContext::new();
    let module = module(KERNELS);
    let (mut found, mut address, mut bytes) = (ptr::null_mut(), 0, 0);
    let ask = |name: &str| CString::new(name).expect("a name");
    // SAFETY: names end with a NUL, pointers can be written.
    unsafe {
        gives(sys::cuModuleGetFunction(&raw mut found, module, ask("none").as_ptr()), NOT_FOUND);
        gives(sys::cuModuleGetFunction(ptr::null_mut(), module, ask("add").as_ptr()), INVALID_VALUE);
        gives(sys::cuModuleGetFunction(&raw mut found, module, ptr::null()), INVALID_VALUE);
        ok(sys::cuModuleGetFunction(&raw mut found, module, ask("add").as_ptr()));
        assert_eq!(found, function(module, "add"));
        let mut owner = ptr::null_mut();
        ok(sys::cuFuncGetModule(&raw mut owner, found));
        assert_eq!(owner, module);
        ok(sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module, ask("counter").as_ptr()));
        assert_eq!(bytes, 4);
        let mut value = 0_u32;
        ok(sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4));
        assert_eq!(value, 7);
        value = 70;
        ok(sys::cuMemcpyHtoD_v2(address, (&raw const value).cast(), 4));
        ok(sys::cuModuleGetGlobal_v2(ptr::null_mut(), &raw mut bytes, module, ask("table").as_ptr()));
        assert_eq!(bytes, 16);
        gives(
            sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module, ask("none").as_ptr()),
            NOT_FOUND,
        );
        ok(sys::cuModuleUnload(module));
        if bind() {
            gives(sys::cuModuleUnload(module), INVALID_HANDLE);
            gives(sys::cuModuleGetFunction(&raw mut found, module, ask("add").as_ptr()), INVALID_HANDLE);
            gives(sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4), INVALID_VALUE);
        }
    }
}

#[test]
fn what_is_no_ptx_is_refused() {
    let _context = OwnContext::new();
    let mut module = ptr::null_mut();
    // SAFETY: texts end with a NUL, and files of other kinds are told by how they begin.
    let mut load =
        |image: &[u8]| unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) as c_int };
    gives(load(b".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n\0"), 218);
    gives(load(b".version 99.0\n.target sm_70\n.address_size 64\n\0"), 222);
    gives(load(b"\0"), 200);
    // SAFETY: the path ends with a NUL.
    gives(unsafe { sys::cuModuleLoad(&raw mut module, c"/no/such/file.ptx".as_ptr()) }, 301);
    // SAFETY: the driver refuses null.
    gives(unsafe { sys::cuModuleLoadData(&raw mut module, ptr::null()) }, INVALID_VALUE);
    if bind() {
        // SAFETY: as above.
        let mut load =
            |image: &[u8]| unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) as c_int };
        let mut elf = [0; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        gives(load(&elf), 209);
        // A fat binary with nothing in it, and one whose header says that it has no header.
        gives(load(b"\x50\xed\x55\xba\x01\0\x10\0\0\0\0\0\0\0\0\0"), 209);
        gives(load(b"\x50\xed\x55\xba\x01\0\0\0\0\0\0\0\0\0\0\0"), 200);
        let error =
            ext::explain_ptx(&KERNELS.replace("add.u32 %r4, %r4, %r5;", "teleport.u32 %r4, %r4, %r5;"));
        let error = error.expect_err("there is no such instruction");
        assert_eq!(error.error.code, Code::NOT_SUPPORTED);
        let line = KERNELS.lines().position(|line| line.contains("add.u32 %r4")).expect("it is there") + 1;
        let expected = format!("unknown instruction teleport.u32, line {line} in `add`");
        assert!(error.log.error.contains(&expected), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.ptx");
    std::fs::write(&file, KERNELS).expect("a file");
    let module = Module::from_file(&file).expect("a module");
    assert!(module.get_function("few").is_ok());
}

#[test]
fn kernels_say_what_they_need() {
    let simulated = bind();
    let _context = OwnContext::new();
    let module = module(KERNELS);
    let (add, shared) = (function(module, "add"), function(module, "shared"));
    // SAFETY: the module is loaded.
    let ask = |kernel, number| unsafe { ext::function_attribute(kernel, ext::FunctionAttribute(number)) };
    assert_eq!(ask(add, 0), Ok(1024));
    assert_eq!(ask(function(module, "few"), 0), Ok(64));
    assert_eq!((ask(add, 1), ask(shared, 1)), (Ok(0), Ok(4096)));
    assert_eq!(ask(add, 3), Ok(0));
    assert!(ask(add, 4).is_ok_and(|registers| (8..=32).contains(&registers)));
    assert_eq!(ask(add, 5), Ok(70));
    assert_eq!((ask(add, 8), ask(shared, 8)), (Ok(48 << 10), Ok(44 << 10)));
    assert_eq!(ask(add, 9), Ok(-1));
    assert_eq!(ask(add, 99).expect_err("there is no such attribute").code.0, INVALID_VALUE);
    if simulated {
        assert_eq!(ask(add, 6), Ok(90));
        assert_eq!(ask(add, 2), Ok(16));
    }
    // SAFETY: the module is loaded.
    unsafe {
        let set = |number, value| ext::set_function_attribute(shared, ext::FunctionAttribute(number), value);
        assert_eq!(set(8, (227 << 10) - 4096), Ok(()));
        assert_eq!(ask(shared, 8), Ok((227 << 10) - 4096));
        assert_eq!(set(8, (227 << 10) - 4095).expect_err("there is not so much").code.0, INVALID_VALUE);
        assert_eq!(set(9, 50), Ok(()));
        assert_eq!(set(9, 101).expect_err("more than all").code.0, INVALID_VALUE);
        assert_eq!(set(4, 1).expect_err("registers cannot be set").code.0, INVALID_VALUE);
        ok(sys::cuLaunchKernel(
            shared,
            1,
            1,
            1,
            32,
            1,
            1,
            (227 << 10) - 4096,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        ));
        ok(sys::cuCtxSynchronize());
    }
}

extern "C" fn a_kilobyte_a_thread(threads: c_int) -> usize {
    threads as usize * 1024
}

#[test]
fn occupancy_is_that_of_the_card() {
    let _context = OwnContext::new();
    let module = module(KERNELS);
    let (add, shared) = (function(module, "add"), function(module, "shared"));
    let (mut blocks, mut grid, mut block, mut bytes) = (0, 0, 0, 0);
    // SAFETY: the module is loaded, and pointers can be written.
    unsafe {
        let mut resident = |kernel, threads, bytes| {
            ok(sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, threads, bytes));
            blocks
        };
        assert_eq!([resident(add, 1024, 0), resident(add, 256, 0), resident(add, 32, 0)], [2, 8, 32]);
        // 228 KiB, of which each block takes its own, a KiB for the system.
        assert_eq!(resident(add, 32, 100 << 10), 0, "it has not opted in");
        ok(sys::cuFuncSetAttribute(
            add,
            sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            227 << 10,
        ));
        assert_eq!([resident(add, 32, 100 << 10), resident(add, 32, 227 << 10)], [2, 1]);
        assert_eq!(resident(add, 2048, 0), 0);
        gives(sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, add, 0, 0), INVALID_VALUE);
        ok(sys::cuOccupancyMaxPotentialBlockSize(&raw mut grid, &raw mut block, add, None, 0, 0));
        assert_eq!((block, grid), (1024, 264));
        ok(sys::cuOccupancyMaxPotentialBlockSize(&raw mut grid, &raw mut block, add, None, 0, 100));
        assert!(block <= 100 && grid >= 132, "{block} {grid}");
        ok(sys::cuOccupancyMaxPotentialBlockSize(
            &raw mut grid,
            &raw mut block,
            add,
            Some(a_kilobyte_a_thread),
            0,
            0,
        ));
        assert!(block > 0 && block <= 227, "{block}");
        ok(sys::cuOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, shared, 2, 256));
        assert_eq!(bytes, 44 << 10, "it has not opted in");
        let most = (227 << 10) - 4096;
        ok(sys::cuFuncSetAttribute(
            shared,
            sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            most,
        ));
        ok(sys::cuOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, shared, 2, 256));
        // Half of 228 KiB, less what the kernel declares.
        assert_eq!(bytes, (114 << 10) - 4096);
    }
}

#[test]
fn launches_with_attributes() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let add = function(module(KERNELS), "add");
    let mut address = allocate(4 * 1024 * 300);
    let mut value = 2_u32;
    let mut parameters = [(&raw mut address).cast::<c_void>(), (&raw mut value).cast()];
    let plain = ext::LaunchConfig::new([2, 1, 1], [64, 1, 1], 0, ptr::null_mut());
    let one = ext::LaunchConfig {
        cluster: Some([1, 1, 1]),
        overlaps_predecessor: true,
        cooperative: true,
        ..plain
    };
    let two = ext::LaunchConfig { cluster: Some([2, 1, 1]), ..plain };
    let uneven = ext::LaunchConfig { cluster: Some([3, 1, 1]), ..plain };
    let crowd = ext::LaunchConfig { cooperative: true, grid: [300, 1, 1], block: [1024, 1, 1], ..plain };
    // SAFETY: the kernel takes a pointer and a u32, and adds to elements that are there.
    unsafe {
        ok(sys::cuMemsetD32_v2(address, 0, 1024 * 300));
        let code = |outcome: ext::Result<()>| outcome.map_or_else(|error| error.code.0, |()| 0);
        ok(code(ext::launch(add, &plain, &mut parameters)));
        ok(code(ext::launch(add, &one, &mut parameters)));
        gives(code(ext::launch(add, &uneven, &mut parameters)), 912);
        ok(code(ext::launch(add, &two, &mut parameters)));
        let sixteen = ext::LaunchConfig { cluster: Some([16, 1, 1]), grid: [16, 1, 1], ..plain };
        gives(code(ext::launch(add, &sixteen, &mut parameters)), 912);
        gives(ext::max_active_clusters(add, &sixteen).expect_err("16 blocks are not portable").code.0, 912);
        gives(code(ext::launch(add, &crowd, &mut parameters)), 720);
        assert_eq!(ext::max_active_clusters(add, &one), Ok(132 * 32));
        assert_eq!(ext::max_active_clusters(add, &two), Ok(132 * 16));
        assert_eq!(ext::max_potential_cluster_size(add, &one), Ok(8));
        let mut host = [0_u32; 128];
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 512));
        assert_eq!(host, [6; 128]);
        // With the kernel's attribute, all 16 blocks that the cluster may have.
        let large = ext::FunctionAttribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        ok(code(ext::set_function_attribute(add, large, 1)));
        ok(code(ext::launch(add, &sixteen, &mut parameters)));
        assert_eq!(ext::max_potential_cluster_size(add, &one), Ok(16));
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn the_linker_makes_one_module_of_two() {
    let simulated = bind();
    let _context = OwnContext::new();
    let header = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let caller = format!(
        "{header}.extern .func (.param .b32 result) twice(.param .b32 number);
.visible .entry run(.param .u64 pointer)
{{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    {{
        .param .b32 argument;
        .param .b32 returned;
        st.param.b32 [argument], %r1;
        call.uni (returned), twice, (argument);
        ld.param.b32 %r2, [returned];
    }}
    st.global.u32 [%rd2], %r2;
    ret;
}}
"
    );
    let callee = format!(
        "{header}.visible .func (.param .b32 result) twice(.param .b32 number)
{{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [number];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}}
"
    );
    let mut linker = cust::link::Linker::new().expect("a linker");
    // NVIDIA's linker wants the NUL, which cust does not add.
    linker.add_ptx(format!("{caller}\0")).expect("PTX");
    linker.add_ptx(format!("{callee}\0")).expect("PTX");
    // The result is the linker's, which cust destroys only after copying it.
    let image = linker.complete().expect("a module");
    if simulated {
        assert!(image.starts_with(b".version 7.0") && image.ends_with(b"\0"));
    }
    let mut module = ptr::null_mut();
    // SAFETY: the image is one of the driver's own.
    ok(unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) });
    let run = function(module, "run");
    let mut address = allocate(4);
    // SAFETY: the kernel takes a pointer to one number.
    unsafe {
        ok(sys::cuMemsetD32_v2(address, 21, 1));
        ok(launch(run, 1, 1, &mut [(&raw mut address).cast()]));
        let mut number = 0_u32;
        ok(sys::cuMemcpyDtoH_v2((&raw mut number).cast(), address, 4));
        assert_eq!(number, 42);
        ok(sys::cuMemFree_v2(address));
    }
    let mut linker = cust::link::Linker::new().expect("a linker");
    assert_eq!(linker.add_ptx("nonsense"), Err(cust::error::CudaError::InvalidImage));
    if !simulated {
        return;
    }
    // A library whose member is the callee, and machine code.
    let member = format!("{:<16}{:<32}{:<10}`\n{callee}", "callee.ptx/", "", callee.len());
    let mut library = format!("!<arch>\n{member}").into_bytes();
    library.resize(library.len().next_multiple_of(2), b'\n');
    // SAFETY: pointers can be written, and data is as long as is said.
    unsafe {
        let mut linker = ptr::null_mut();
        ok(sys::cuLinkCreate_v2(0, ptr::null_mut(), ptr::null_mut(), &raw mut linker));
        let add = |kind, data: &[u8]| {
            let start = data.as_ptr().cast_mut().cast();
            let none = ptr::null_mut();
            sys::cuLinkAddData_v2(linker, kind, start, data.len(), c"part".as_ptr(), 0, none, none.cast())
        };
        use sys::CUjitInputType_enum as Kind;
        gives(add(Kind::CU_JIT_INPUT_CUBIN, b"\x7fELF"), 200);
        gives(add(Kind::CU_JIT_INPUT_LIBRARY, &library[..library.len() - 9]), 200);
        ok(add(Kind::CU_JIT_INPUT_PTX, caller.as_bytes()));
        ok(add(Kind::CU_JIT_INPUT_LIBRARY, &library));
        let (mut image, mut bytes, mut module) = (ptr::null_mut(), 0, ptr::null_mut());
        ok(sys::cuLinkComplete(linker, &raw mut image, &raw mut bytes));
        ok(sys::cuModuleLoadData(&raw mut module, image));
        ok(sys::cuLinkDestroy(linker));
        let (run, mut address, mut number) = (function(module, "run"), allocate(4), 0_u32);
        ok(sys::cuMemsetD32_v2(address, 4, 1));
        ok(launch(run, 1, 1, &mut [(&raw mut address).cast()]));
        ok(sys::cuMemcpyDtoH_v2((&raw mut number).cast(), address, 4));
        assert_eq!(number, 8);
        ok(sys::cuMemFree_v2(address));
    }
}
