//! cuBLAS: one call for a product, and the library chooses the algorithm.
//!
//! It counts down columns. A matrix in rows is there the transposed one in columns, so that `C = A B` in rows is asked for as
//! `C^T = B^T A^T`: B first, its rows as columns.

use super::{WORKSPACE, check, find, version};
use crate::experiments::{Element, Gemm};
use anyhow::{Context, Result, bail};
use cust::{memory::DeviceBuffer, stream::Stream};
use std::{
    ffi::{c_int, c_longlong, c_void},
    ptr,
    rc::Rc,
};

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type GetVersion = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type SetWorkspace = unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_int;
type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
/// `cublasSgemm_v2`: operations, sizes, alpha, two matrices with their leading dimensions, beta, the result with its.
type Sgemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> c_int;

/// `cublasGemmEx`: operations, sizes, alpha, three matrices with their types and leading dimensions (beta before the last), the type
/// of the sums, the algorithm.
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// `cublasGemmStridedBatchedEx`: as `cublasGemmEx`, each matrix followed by the elements from one of its stack to the next, and
/// the number of products behind C.
type GemmStridedBatchedEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_longlong,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// `CUBLAS_COMPUTE_32F`: sums in single precision.
pub(super) const COMPUTE_F32: c_int = 68;

/// A type's number in `cudaDataType`.
pub(super) fn type_of(element: Element) -> c_int {
    match element {
        Element::F32 => 0,
        Element::Bf16 => 14,
        Element::E4m3 => 28,
        Element::E5m2 => 29,
    }
}

/// A matrix as it lies in columns.
pub(super) const AS_IS: c_int = 0;
/// A matrix whose columns are the rows that are meant.
pub(super) const TRANSPOSED: c_int = 1;

/// The library with a handle, which stays until the process ends.
pub(super) struct Cublas {
    handle: Handle,
    sgemm: Sgemm,
    gemm_ex: GemmEx,
    batched: GemmStridedBatchedEx,
    version: String,
    /// The stream that the handle works on.
    stream: *mut c_void,
    /// The memory that the handle uses.
    _workspace: Rc<DeviceBuffer<u8>>,
}

impl Cublas {
    /// Finds the library and has it work on the stream.
    ///
    /// # Errors
    /// It is not found, or does not start.
    pub(super) fn load(stream: &Stream, workspace: Rc<DeviceBuffer<u8>>) -> Result<Cublas> {
        /// No TF32, no emulation: single precision where that is asked for. And sums of parts of a sum in single precision,
        /// not in the type of the result.
        const MATH: c_int = 16;
        let library = find::load("cublas", "cublas", Some("cublasLt"))?;
        let stream = stream.as_inner().cast::<c_void>();
        let pointer = ptr::with_exposed_provenance_mut(workspace.as_device_ptr().as_raw() as usize);
        let (mut handle, mut number) = (ptr::null_mut(), 0);
        // SAFETY: the signatures are those of the library's documentation. What is written to can be, the stream is alive, and
        // so is the workspace as long as the handle is used.
        let (sgemm, gemm_ex, batched) = unsafe {
            let create = *library.get::<Create>(b"cublasCreate_v2\0")?;
            let get_version = *library.get::<GetVersion>(b"cublasGetVersion_v2\0")?;
            let set_stream = *library.get::<SetStream>(b"cublasSetStream_v2\0")?;
            let set_workspace = *library.get::<SetWorkspace>(b"cublasSetWorkspace_v2\0")?;
            let set_math_mode = *library.get::<SetMathMode>(b"cublasSetMathMode\0")?;
            let sgemm = *library.get::<Sgemm>(b"cublasSgemm_v2\0")?;
            let gemm_ex = *library.get::<GemmEx>(b"cublasGemmEx\0")?;
            let batched = *library.get::<GemmStridedBatchedEx>(b"cublasGemmStridedBatchedEx\0")?;
            check("cublasCreate_v2", create(&raw mut handle)).context("cuBLAS does not start")?;
            check("cublasGetVersion_v2", get_version(handle, &raw mut number))?;
            // Setting the stream takes the workspace away again, so it comes first.
            check("cublasSetStream_v2", set_stream(handle, stream))?;
            check("cublasSetWorkspace_v2", set_workspace(handle, pointer, WORKSPACE))?;
            check("cublasSetMathMode", set_math_mode(handle, MATH))?;
            (sgemm, gemm_ex, batched)
        };
        std::mem::forget(library);
        let version = format!("cuBLAS {}", version(usize::try_from(number).unwrap_or(0)));
        Ok(Cublas { handle, sgemm, gemm_ex, batched, version, stream, _workspace: workspace })
    }

    /// The name and the version.
    pub(super) fn version(&self) -> String {
        self.version.clone()
    }

    /// The reason why cuBLAS cannot compute a product, as a clause.
    pub(super) fn why_not(gemm: Gemm) -> Option<String> {
        gemm.factors
            .is_fp8()
            .then(|| "cublasGemmEx has no FP8; cuBLASLt has (--library cublaslt)".to_string())
    }

    /// The name of the function that computes the product, as rows have it.
    pub(super) fn function(gemm: Gemm) -> &'static str {
        match (gemm.factors, gemm.result, gemm.batch) {
            (Element::F32, Element::F32, 1) => "cublas_sgemm",
            (.., 1) => "cublas_gemm_ex",
            _ => "cublas_gemm_strided_batched_ex",
        }
    }

    /// Queues the product once.
    ///
    /// # Safety
    /// The addresses are of the product's A, B and C in device memory, which live until the stream has ended its work.
    ///
    /// # Errors
    /// The library refuses it, or works on another stream.
    pub(super) unsafe fn queue(&self, gemm: Gemm, [a, b, c]: [u64; 3], stream: &Stream) -> Result<()> {
        if stream.as_inner().cast::<c_void>() != self.stream {
            bail!("cuBLAS was loaded for another stream");
        }
        let [m, n, k] = gemm.sizes()?;
        let (operation, pitch) = if gemm.transposed { (TRANSPOSED, k) } else { (AS_IS, n) };
        let (one, zero) = (1.0_f32, 0.0_f32);
        let pointer = |address: u64| ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        let [a, b, c] = [a, b, c].map(pointer);
        let [of_a, of_b, of_c] = gemm.strides();
        let status = match (gemm.factors, gemm.result, gemm.batch) {
            // SAFETY: the matrices are promised by the caller; the factors are read before the call returns.
            (Element::F32, Element::F32, 1) => unsafe {
                (self.sgemm)(
                    self.handle,
                    operation,
                    AS_IS,
                    n,
                    m,
                    k,
                    &raw const one,
                    b.cast(),
                    pitch,
                    a.cast(),
                    k,
                    &raw const zero,
                    c.cast(),
                    n,
                )
            },
            // SAFETY: as above.
            (.., 1) => unsafe {
                (self.gemm_ex)(
                    self.handle,
                    operation,
                    AS_IS,
                    n,
                    m,
                    k,
                    (&raw const one).cast(),
                    b,
                    type_of(gemm.factors),
                    pitch,
                    a,
                    type_of(gemm.factors),
                    k,
                    (&raw const zero).cast(),
                    c,
                    type_of(gemm.result),
                    n,
                    COMPUTE_F32,
                    DEFAULT_ALGORITHM,
                )
            },
            // SAFETY: as above, for all matrices of the stacks.
            (.., batch) => unsafe {
                (self.batched)(
                    self.handle,
                    operation,
                    AS_IS,
                    n,
                    m,
                    k,
                    (&raw const one).cast(),
                    b,
                    type_of(gemm.factors),
                    pitch,
                    of_b,
                    a,
                    type_of(gemm.factors),
                    k,
                    of_a,
                    (&raw const zero).cast(),
                    c,
                    type_of(gemm.result),
                    n,
                    of_c,
                    batch as c_int,
                    COMPUTE_F32,
                    DEFAULT_ALGORITHM,
                )
            },
        };
        check(Cublas::function(gemm), status)
    }
}

/// The library chooses.
const DEFAULT_ALGORITHM: c_int = -1;
