//! The crate `cust`: its calls lead to the driver library that the loader finds, which is ours.

use std::process::Command;

use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

use super::{run, stderr, stdout};

#[test]
fn cust_computes_on_the_library_that_the_loader_finds() {
    let mut command = Command::new(std::env::current_exe().expect("this test's program"));
    command.args(["--exact", "cust::client_computes", "--include-ignored", "--nocapture"]);
    let output = run(command, &[]);
    let told = stdout(&output);
    assert!(told.contains("DEVICE NVIDIA H200 (modelled)"), "{told}");
    assert!(told.contains("DRIVER NVIDIA's driver /") && told.contains("libcuda"), "{told}");
    // 3 times 0 + 1 + ... + 999.
    assert!(told.contains("SUM 1498500"), "{told}");
    assert_eq!(stderr(&output), "");
}

#[test]
#[ignore = "run by the other, with the library"]
fn client_computes() {
    let context = cust::quick_init().expect("a context");
    let device = cust::device::Device::get_device(0).expect("a device");
    println!("DEVICE {}", device.name().expect("a name"));
    // Not the driver built into this program, which is bound if no library is found.
    println!("DRIVER {}", cuda_driver::bound().expect("a driver").description());
    let module = Module::from_ptx(include_str!("kernels.ptx"), &[]).expect("a module");
    let axpy = module.get_function("axpy").expect("a kernel");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let xs = DeviceBuffer::from_slice(&numbers).expect("a buffer");
    let ys = DeviceBuffer::from_slice(&numbers).expect("a buffer");
    // SAFETY: the kernel takes these, and both buffers have as many elements as it touches.
    unsafe {
        launch!(axpy<<<4, 256, 0, stream>>>(1000_u32, 2.0_f32, xs.as_device_ptr(), ys.as_device_ptr()))
    }
    .expect("a launch");
    stream.synchronize().expect("no error");
    let host = ys.as_host_vec().expect("a copy");
    println!("SUM {}", host.iter().map(|&value| f64::from(value)).sum::<f64>());
    drop(context);
}
