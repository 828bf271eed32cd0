//! cuBLAS for tests, on the fake driver of `libcuda.rs`: half the bytes of the kernel that computes the same, so that every ratio
//! is known beforehand. All of its `unsafe` has the driver's reason: the caller is the program under test.

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "named, and with the contracts, of the real library")]

mod product;

use product::Product;
use std::ffi::c_int;

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 7;
const NOT_SUPPORTED: c_int = 15;

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: *mut usize) -> c_int {
    unsafe { *handle = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetVersion_v2(_handle: usize, version: *mut c_int) -> c_int {
    unsafe { *version = 130_100 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cublasSetStream_v2(_handle: usize, _stream: usize) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cublasSetWorkspace_v2(_handle: usize, _start: usize, bytes: usize) -> c_int {
    if bytes == 64 << 20 { SUCCESS } else { INVALID_VALUE }
}

/// No TF32, and no sums in the type of the result.
#[unsafe(no_mangle)]
extern "C" fn cublasSetMathMode(_handle: usize, mode: c_int) -> c_int {
    if mode == 16 { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasSgemm_v2(
    _handle: usize,
    first_operation: c_int,
    second_operation: c_int,
    rows: c_int,
    columns: c_int,
    depth: c_int,
    alpha: *const f32,
    first: u64,
    first_pitch: c_int,
    second: u64,
    second_pitch: c_int,
    beta: *const f32,
    result: u64,
    result_pitch: c_int,
) -> c_int {
    let factors = unsafe { (*alpha, *beta) };
    if (first_operation, second_operation, factors) != (0, 0, (1.0, 0.0)) {
        return NOT_SUPPORTED;
    }
    let [rows, columns, depth] = [rows, columns, depth].map(|size| size as u64);
    let product = Product {
        sizes: [rows, columns, depth],
        first: [first, first_pitch as u64],
        second: [second, second_pitch as u64],
        result: [result, result_pitch as u64],
        bytes: 4 * (rows * depth + depth * columns + rows * columns),
    };
    unsafe { product::queue(c"cublas_sgemm", &product) }
}

#[unsafe(no_mangle)]
extern "C" fn cublasGemmEx() -> c_int {
    NOT_SUPPORTED
}

#[unsafe(no_mangle)]
extern "C" fn cublasGemmStridedBatchedEx() -> c_int {
    NOT_SUPPORTED
}
