//! The crate `cudarc`: each test runs one of the clients below in a process of its own.

use std::ffi::CStr;
use std::process::{Command, Output};

use cudarc::driver::{CudaContext, CudaModule, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;

use super::{stderr, stdout};

/// Runs one of the clients below.
fn run(client: &str, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this test's program"));
    command.args(["--exact", &format!("cudarc::{client}"), "--include-ignored", "--nocapture"]);
    super::run(command, settings)
}

/// Runs a client that must succeed, and returns its stderr.
fn stderr_of(client: &str, settings: &[(&str, &str)]) -> String {
    let output = run(client, settings);
    stdout(&output);
    stderr(&output)
}

#[test]
fn cudarc_computes_copies_and_measures() {
    let told = stdout(&run("client_computes", &[]));
    assert!(told.contains("DEVICE NVIDIA H200 (modelled) (9, 0)"), "{told}");
    // 4 times 256 + 257 + ... + 1279.
    assert!(told.contains("SUM 3143680"), "{told}");
}

#[test]
fn the_card_is_the_environments() {
    let told = stdout(&run("client_computes", &[("COALESCE_SIMULATE", "v100,c1060")]));
    assert!(told.contains("DEVICE Tesla V100-SXM2-32GB (modelled) (7, 0)"), "{told}");
    assert!(told.contains("DEVICES 2"), "{told}");
}

#[test]
fn an_unknown_card_is_no_device() {
    let said = stderr_of("client_finds_no_device", &[("COALESCE_SIMULATE", "h300")]);
    assert!(said.contains("cuInit returns CUDA_ERROR_NO_DEVICE: no card \"h300\" among"), "{said}");
}

#[test]
fn cudarc_gets_the_errors_of_a_driver() {
    let said = stderr_of("client_makes_mistakes", &[("COALESCE_CHECK", "memcheck")]);
    assert!(said.contains("Invalid __global__ read of size 4 bytes"), "{said}");
    assert!(said.contains("cuArrayCreate_v2: the call returns CUDA_ERROR_NOT_SUPPORTED"), "{said}");
    assert!(!said.contains("run it under the checks"), "{said}");
    assert!(said.ends_with("========= ERROR SUMMARY: 1 error\n"), "{said}");
}

#[test]
fn what_the_checks_find_is_reported_at_the_end() {
    let said = stderr_of("client_races", &[("COALESCE_CHECK", "racecheck")]);
    assert!(said.contains("========= Error: Race reported between Write access at races"), "{said}");
    assert!(said.contains("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"), "{said}");

    let said = stderr_of("client_computes", &[("COALESCE_CHECK", "all")]);
    assert!(said.starts_with("========= COMPUTE-SANITIZER (simulated: "), "{said}");
    assert!(said.contains("========= ERROR SUMMARY: 0 errors"), "{said}");
    assert!(
        said.contains("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"),
        "{said}"
    );

    assert_eq!(stderr_of("client_computes", &[]), "", "no checks, no report");
}

#[test]
fn cudarc_captures_graphs() {
    let told = stdout(&run("client_captures", &[]));
    assert!(told.contains("REPLAYED 3"), "{told}");
}

#[test]
fn an_exit_status_tells_that_the_checks_found_an_error() {
    for (client, status) in [("client_races", 7), ("client_computes", 0)] {
        let output = run(client, &[("COALESCE_CHECK", "all,exitcode=7")]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{client}: {said}");
        assert!(said.contains("RACECHECK SUMMARY"), "{client}: {said}");
        // What the client printed is not lost.
        assert!(String::from_utf8_lossy(&output.stdout).contains("test result: ok"), "{client}");
    }
}

#[test]
fn a_forked_child_gets_errors_and_the_parent_goes_on() {
    let output = run("client_forks", &[("COALESCE_CHECK", "memcheck")]);
    let told = stdout(&output);
    assert!(told.contains("PARENT 0"), "{told}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cuInit returns CUDA_ERROR_NOT_INITIALIZED (3), as all calls do"), "{said}");
    // The child reports nothing.
    assert_eq!(said.matches("ERROR SUMMARY").count(), 1, "{said}");
}

#[test]
fn a_kernel_without_end_is_ended() {
    let said = stderr_of("client_waits", &[("COALESCE_TIMEOUT", "0.05")]);
    assert!(said.contains("Endless loop, or a very long one"), "{said}");
    assert!(said.contains("there was no progress for 0.05 s"), "{said}");
    assert!(said.contains("COALESCE_TIMEOUT=SECONDS"), "{said}");
    let said = stderr_of("client_finds_no_device", &[("COALESCE_TIMEOUT", "soon")]);
    assert!(said.contains("COALESCE_TIMEOUT is \"soon\", which is not a number of seconds"), "{said}");
}

#[test]
fn a_profile_has_a_record_of_each_launch_and_ends_in_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("launches.jsonl");
    let said = stderr_of("client_computes", &[("COALESCE_PROFILE", &file.display().to_string())]);
    let text = std::fs::read_to_string(&file).expect("the profile");
    let records: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.len(), 2);
    let record = &records[1];
    assert_eq!((&record["launch"], &record["module"]), (&2.into(), &1.into()));
    assert_eq!((&record["kernel"], &record["card"]), (&"axpy".into(), &"h200".into()));
    // 100000 elements in blocks of 1024, two loads and a store of 4 bytes each.
    let metric = |name: &str| record["metrics"][name].as_f64();
    assert_eq!(record["grid"], serde_json::json!([98, 1, 1]));
    assert_eq!(metric("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), Some(6250.0));
    assert_eq!(metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), Some(25_000.0));
    assert_eq!(metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), Some(12_500.0));
    assert_eq!(metric("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), None);
    assert!(record["modelled"]["gpu__time_duration.sum"].as_f64().is_some_and(|time| time > 100.0));
    let lines: Vec<&str> = said.lines().collect();
    let [head, columns, row] = lines[..] else { panic!("{said}") };
    assert!(head.starts_with("==PROF== 2 launches on simulated cards, times modelled; a record of each in "));
    let of_row: Vec<&str> = row.split_whitespace().collect();
    let column =
        |name: &str| columns.split("  ").filter(|text| !text.is_empty()).position(|text| text.trim() == name);
    assert_eq!(column("sect/ld").map(|column| of_row[column]), Some("4.00"), "{said}");
    assert_eq!((of_row[0], of_row[1], of_row[2]), ("axpy", "h200", "2"), "{said}");
    assert_eq!(column("conflicts").map(|column| of_row[column]), Some("0"), "{said}");
}

fn kernels(context: &std::sync::Arc<CudaContext>) -> std::sync::Arc<CudaModule> {
    context.load_module(Ptx::from_src(include_str!("kernels.ptx"))).expect("a module")
}

/// The driver's version, and the address of a function by name, for programs that load symbols by version.
fn ask_by_name() {
    let (mut version, mut found) = (0, std::ptr::null_mut());
    let mut status = sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    // SAFETY: pointers can be written, the name ends with a NUL.
    unsafe {
        sys::cuDriverGetVersion(&raw mut version).result().expect("a version");
        let outcome =
            sys::cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &raw mut found, version, 0, &raw mut status);
        outcome.result().expect("cuMemAlloc");
    }
    assert_eq!(version, 13_040);
    assert_eq!(status, sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS);
    // SAFETY: it is `CUresult cuMemAlloc_v2(CUdeviceptr *, size_t)`, in whose place it was asked for.
    let allocate = unsafe {
        std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(*mut u64, usize) -> sys::CUresult>(
            found,
        )
    };
    let mut address = 0;
    // SAFETY: the pointer can be written; what is allocated is freed.
    unsafe {
        allocate(&raw mut address, 64).result().expect("memory");
        result::free_sync(address).expect("freed");
        let missing =
            sys::cuGetProcAddress_v2(c"cuNoSuchThing".as_ptr(), &raw mut found, version, 0, &raw mut status);
        assert_eq!(missing, sys::CUresult::CUDA_ERROR_NOT_FOUND);
    }
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_computes() {
    let context = CudaContext::new(0).expect("a context");
    println!("DEVICES {}", CudaContext::device_count().expect("a count"));
    println!(
        "DEVICE {} {:?}",
        context.name().expect("a name"),
        context.compute_capability().expect("a capability")
    );
    ask_by_name();
    let stream = context.default_stream();
    let axpy = kernels(&context).load_function("axpy").expect("a kernel");
    let count = 100_000_u32;
    let xs: Vec<f32> = (0..count).map(|index| index as f32).collect();
    let xs = stream.clone_htod(&xs).expect("a buffer");
    let mut ys = stream.alloc_zeros::<f32>(count as usize).expect("a buffer");
    let factor = 2.0_f32;
    let timed = sys::CUevent_flags::CU_EVENT_DEFAULT;
    let start = stream.record_event(Some(timed)).expect("an event");
    for _ in 0..2 {
        let mut launch = stream.launch_builder(&axpy);
        launch.arg(&count).arg(&factor).arg(&xs).arg(&mut ys);
        // SAFETY: the kernel takes these, and both buffers have as many elements as it touches.
        unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }.expect("a launch");
    }
    let end = stream.record_event(Some(timed)).expect("an event");
    let milliseconds = start.elapsed_ms(&end).expect("a time");
    // Two launches of a few microseconds each.
    assert!(milliseconds > 0.001 && milliseconds < 0.1, "{milliseconds}");
    let host = stream.clone_dtoh(&ys).expect("a copy");
    assert!(host.iter().enumerate().all(|(index, &value)| value == 4.0 * index as f32));
    // Partial copies, on the device and back.
    let mut part = stream.alloc_zeros::<f32>(1024).expect("a buffer");
    stream.memcpy_dtod(&ys.slice(256..1280), &mut part).expect("a copy");
    let part = stream.clone_dtoh(&part).expect("a copy");
    assert_eq!((part[0], part[1023]), (1024.0, 5116.0));
    println!("SUM {}", part.iter().map(|&value| f64::from(value)).sum::<f64>());
    let (free, total) = context.mem_get_info().expect("sizes");
    assert!(free < total);
    assert_eq!(axpy.max_threads_per_block(), Ok(if total < 8 << 30 { 512 } else { 1024 }));
    context.synchronize().expect("no error");
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_finds_no_device() {
    let error = result::init().expect_err("there is no such card");
    assert_eq!(error.0, sys::CUresult::CUDA_ERROR_NO_DEVICE);
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_makes_mistakes() {
    use sys::CUresult as Code;
    let context = CudaContext::new(0).expect("a context");
    let stream = context.default_stream();
    let module = kernels(&context);
    let missing = module.load_function("axpyy").expect_err("there is no such kernel");
    assert_eq!(missing.0, Code::CUDA_ERROR_NOT_FOUND);
    assert_eq!(missing.error_name(), Ok(c"CUDA_ERROR_NOT_FOUND"));
    assert_eq!(missing.error_string().map(CStr::to_bytes).map(<[u8]>::is_empty), Ok(false));
    let broken =
        context.load_module(Ptx::from_src(".version 7.0\n.target sm_70\nbroken")).expect_err("no PTX");
    assert_eq!(broken.0, Code::CUDA_ERROR_INVALID_PTX);
    // SAFETY: what is allocated is not read.
    let large = unsafe { stream.alloc::<u8>(1 << 45) };
    assert_eq!(large.expect_err("more than the card has").0, Code::CUDA_ERROR_OUT_OF_MEMORY);
    // SAFETY: pointers are null, which nobody follows.
    let array = unsafe { sys::cuArrayCreate_v2(std::ptr::null_mut(), std::ptr::null()) };
    assert_eq!(array, Code::CUDA_ERROR_NOT_SUPPORTED);

    let beyond = module.load_function("beyond").expect("a kernel");
    let wide = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1025, 1, 1), shared_mem_bytes: 0 };
    let one = LaunchConfig { block_dim: (1, 1, 1), ..wide };
    let address = 0x10_u64;
    // SAFETY: no launch of the first kind begins; the second reads where nothing is, which is what is tested.
    unsafe {
        let refused = stream.launch_builder(&beyond).arg(&address).launch(wide);
        assert_eq!(refused.expect_err("1025 threads").0, Code::CUDA_ERROR_INVALID_VALUE);
        stream.launch_builder(&beyond).arg(&address).launch(one).expect("a launch");
    }
    assert_eq!(stream.synchronize().expect_err("a bad address").0, Code::CUDA_ERROR_ILLEGAL_ADDRESS);
    // Drops from here on find the context broken; cudarc hides those errors.
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_forks() {
    let context = CudaContext::new(0).expect("a context");
    // SAFETY: what is allocated is freed, and not read.
    let address = unsafe { result::malloc_sync(64) }.expect("memory");
    // SAFETY: the child calls the driver and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut other = 0;
        // SAFETY: pointers can be written; `_exit` runs nothing of the parent's.
        unsafe {
            let codes = [
                sys::cuInit(0),
                sys::cuMemAlloc_v2(&raw mut other, 64),
                sys::cuCtxSynchronize(),
                sys::cuMemFree_v2(address),
            ];
            let expected = sys::CUresult::CUDA_ERROR_NOT_INITIALIZED;
            libc::_exit(codes.iter().position(|code| *code != expected).map_or(0, |place| place as i32 + 1));
        }
    }
    let mut status = -1;
    // SAFETY: the pointer can be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    println!("PARENT {status}");
    // SAFETY: it was allocated above.
    unsafe { result::free_sync(address) }.expect("freed");
    context.synchronize().expect("no error");
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_waits() {
    let context = CudaContext::new(0).expect("a context");
    let stream = context.default_stream();
    let waits = kernels(&context).load_function("waits").expect("a kernel");
    let flag = stream.alloc_zeros::<u32>(1).expect("a buffer");
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel reads the flag, which nobody ever sets.
    unsafe { stream.launch_builder(&waits).arg(&flag).launch(one) }.expect("a launch");
    let error = stream.synchronize().expect_err("it never ends");
    assert_eq!(error.0, sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_races() {
    let context = CudaContext::new(0).expect("a context");
    let stream = context.default_stream();
    let races = kernels(&context).load_function("races").expect("a kernel");
    let two_warps = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel has no parameters and touches shared memory alone.
    unsafe { stream.launch_builder(&races).launch(two_warps) }.expect("a launch");
    stream.synchronize().expect("no error");
}

#[test]
#[ignore = "run by the others, with the library"]
fn client_captures() {
    let context = CudaContext::new(0).expect("a context");
    let stream = context.new_stream().expect("a stream");
    let axpy = kernels(&context).load_function("axpy").expect("a kernel");
    let (count, factor) = (256_u32, 1.0_f32);
    let xs = stream.clone_htod(&vec![1.0_f32; 256]).expect("a buffer");
    let mut ys = stream.alloc_zeros::<f32>(256).expect("a buffer");
    stream.synchronize().expect("no error");
    // SAFETY: nothing is used by two streams at a time.
    unsafe { context.disable_event_tracking() };
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).expect("a capture");
    let mut launch = stream.launch_builder(&axpy);
    launch.arg(&count).arg(&factor).arg(&xs).arg(&mut ys);
    // SAFETY: the kernel takes these, and both buffers have as many elements as it touches.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }.expect("recorded");
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags).expect("a graph").expect("there is one");
    for _ in 0..3 {
        graph.launch().expect("a launch");
    }
    let host = stream.clone_dtoh(&ys).expect("a copy");
    assert!(host.iter().all(|&value| value == host[0]));
    println!("REPLAYED {}", host[0]);
}
