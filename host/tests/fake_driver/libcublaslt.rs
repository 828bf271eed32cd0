//! cuBLASLt for tests, on the fake driver of `libcuda.rs`: it proposes three algorithms, of which the second is the fastest and the
//! third is refused. All of its `unsafe` has the driver's reason: the caller is the program under test.

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "named, and with the contracts, of the real library")]

mod product;

use product::Product;
use std::ffi::c_int;

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 7;
const NOT_SUPPORTED: c_int = 15;

/// Type, rows, columns and the elements from one column to the next.
type Layout = [i64; 4];

#[repr(C)]
struct Proposal {
    algorithm: [u64; 8],
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtCreate(handle: *mut usize) -> c_int {
    unsafe { *handle = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    130_100
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescCreate(product: *mut usize, compute: c_int, scale: c_int) -> c_int {
    unsafe { *product = 2 };
    if (compute, scale) == (68, 0) { SUCCESS } else { INVALID_VALUE }
}

/// The first matrix is not transposed.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    _product: usize,
    attribute: c_int,
    value: *const c_int,
    bytes: usize,
) -> c_int {
    if (attribute, bytes, unsafe { *value }) == (3, 4, 0) { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    layout: *mut *const Layout,
    element: c_int,
    rows: u64,
    columns: u64,
    pitch: i64,
) -> c_int {
    let matrix = Box::new([element.into(), rows as i64, columns as i64, pitch]);
    unsafe { *layout = Box::leak(matrix) };
    SUCCESS
}

/// One matrix, and as many elements as it has to the next.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatrixLayoutSetAttribute(
    layout: *const Layout,
    attribute: c_int,
    value: *const c_int,
    bytes: usize,
) -> c_int {
    let [_, rows, columns, _] = unsafe { *layout };
    match (attribute, bytes) {
        (5, 4) if unsafe { *value } == 1 => SUCCESS,
        (6, 8) if unsafe { value.cast::<i64>().read_unaligned() } == rows * columns => SUCCESS,
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulPreferenceCreate(preference: *mut usize) -> c_int {
    unsafe { *preference = 3 };
    SUCCESS
}

/// 64 MiB, and sums of parts in the type of the sums.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    _preference: usize,
    attribute: c_int,
    value: *const u32,
    bytes: usize,
) -> c_int {
    match (attribute, bytes, unsafe { *value }) {
        (1, 8, 0x400_0000) | (3, 4, 3) => SUCCESS,
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _handle: usize,
    _product: usize,
    _first: *const Layout,
    _second: *const Layout,
    _third: *const Layout,
    _result: *const Layout,
    _preference: usize,
    wanted: c_int,
    proposals: *mut Proposal,
    found: *mut c_int,
) -> c_int {
    assert_eq!(wanted, 16);
    for (place, (number, status)) in [(1, SUCCESS), (2, SUCCESS), (3, NOT_SUPPORTED)].into_iter().enumerate()
    {
        let algorithm = [number; 8];
        let proposal = Proposal { algorithm, workspace: 256, status, waves: 1.0, reserved: [0; 4] };
        unsafe { proposals.add(place).write(proposal) };
    }
    unsafe { *found = 3 };
    SUCCESS
}

/// The number, and the tile of 128 x 128 or of 128 x 256.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulAlgoConfigGetAttribute(
    algorithm: *const u64,
    attribute: c_int,
    value: *mut u32,
    bytes: usize,
    written: *mut usize,
) -> c_int {
    let number = unsafe { *algorithm } as u32;
    let answer = match attribute {
        0 => number,
        1 if number == 1 => 20,
        1 => 23,
        _ => return INVALID_VALUE,
    };
    unsafe {
        *value = answer;
        *written = bytes;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmul(
    _handle: usize,
    _product: usize,
    alpha: *const f32,
    first: u64,
    first_layout: *const Layout,
    second: u64,
    second_layout: *const Layout,
    beta: *const f32,
    before: u64,
    _before_layout: *const Layout,
    result: u64,
    result_layout: *const Layout,
    algorithm: *const u64,
    _workspace: u64,
    _bytes: usize,
    _stream: usize,
) -> c_int {
    let [of_first, of_second, of_result] = unsafe { [*first_layout, *second_layout, *result_layout] }
        .map(|layout| layout.map(|size| size as u64));
    let [_, rows, depth, _] = of_first;
    let columns = of_second[2];
    let sound = of_second[1] == depth && of_result[1..3] == [rows, columns] && before == result;
    if !sound || unsafe { (*alpha, *beta) } != (1.0, 0.0) {
        return INVALID_VALUE;
    }
    let elements = rows * depth + depth * columns + rows * columns;
    let product = Product {
        sizes: [rows, columns, depth],
        first: [first, of_first[3]],
        second: [second, of_second[3]],
        result: [result, of_result[3]],
        bytes: elements * if unsafe { *algorithm } == 2 { 2 } else { 16 },
    };
    unsafe { product::queue(c"cublaslt_matmul", &product) }
}
