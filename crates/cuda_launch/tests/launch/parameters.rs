//! Values that a kernel has by reference, among its parameters.

use cuda_driver::ext;
use cuda_launch::{IntoArgument, Launch, Module, Shape};
use cuda_std::GridConstant;
use cuda_std::launch::{Kernel, Wire};
use cuda_std::tensor::TensorMap;
use cust::memory::{CopyDestination, DeviceBuffer};

use super::{Device, device, kernel};

/// `output[i] = table[7 - i]`
///
/// # Safety
/// `output` has an element for each of 8 threads.
#[kernel]
pub(crate) unsafe fn reversed(factor: u32, table: GridConstant<'_, [u32; 8]>, output: *mut u32) {
    let _ = (factor, table.get(), output);
}

/// Takes a tensor map by value.
///
/// # Safety
/// None is needed.
#[kernel(arch = "90")]
pub(crate) unsafe fn mapped(map: GridConstant<'_, TensorMap>, n: u32) {
    let _ = (map.get(), n);
}

const PTX: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry reversed(.param .u32 reversed_param_0, .param .align 64 .b8 reversed_param_1[32], .param .u64 reversed_param_2)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    { .reg .b64 %at; mov.b64 %at, reversed_param_1; cvta.param.u64 %rd1, %at; }
    ld.param.u64 %rd2, [reversed_param_2];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    sub.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.b32 %r2, [%rd4+28];
    ld.param.u32 %r3, [reversed_param_0];
    mul.lo.u32 %r2, %r2, %r3;
    st.global.b32 [%rd5], %r2;
    ret;
}
";

#[test]
fn a_value_is_read_where_the_launch_put_it() {
    let Device { stream, _context, .. } = &device();
    let module = Module::from_ptx(PTX).expect("the kernel");
    let mut output = DeviceBuffer::from_slice(&[0_u32; 8]).unwrap();
    let table = [1_u32, 2, 3, 4, 5, 6, 7, 8];
    // SAFETY: the output has an element for each thread, and stays until the stream has ended its work.
    unsafe { reversed::launch_unchecked(&module, stream, Shape::linear(1, 8), (10, table, &mut output)) }
        .unwrap();
    stream.synchronize().unwrap();
    let mut values = [0; 8];
    output.copy_to(&mut values).unwrap();
    assert_eq!(values, [80, 70, 60, 50, 40, 30, 20, 10]);
}

#[test]
fn a_tensor_map_of_the_driver_is_passed_by_its_bytes() {
    let wires: Vec<Wire> = mapped::parameters().into_iter().flat_map(|parameter| parameter.wires).collect();
    assert_eq!(wires, [Wire { bytes: 128, float: false }, Wire::of::<u32>()]);
    let words: [u64; 16] = std::array::from_fn(|word| 0x0101_0101 * word as u64);
    let map = ext::TensorMap(ext::raw::CUtensorMap { opaque: words });
    let map: TensorMap = map.into_argument();
    let (passed, _) = mapped::pass((map, 5), Shape::linear(1, 32)).unwrap();
    // SAFETY: the first parameter has the map's 128 bytes.
    assert_eq!(unsafe { passed.pointers()[0].cast::<[u64; 16]>().read() }, words);
}
