//! cuBLAS, loaded at run time where the machine has it: nothing is linked, and nothing is needed to build.

use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;

use anyhow::{Context as _, Result, ensure};
use cust::stream::Stream;
use libloading::Library;

use crate::matrix::Size;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
/// `cublasGemmStridedBatchedEx`: operations, sizes, alpha, three matrices with their types, leading dimensions and distances in
/// elements (beta before the last), their count, the type of the sums, the algorithm.
type Batched = unsafe extern "C" fn(
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

/// The types of a product: of all three matrices. Sums are f32.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gemm {
    Bf16,
    F32,
}

/// The library and a handle, which stay until the process ends.
pub(crate) struct Cublas {
    name: &'static str,
    handle: Handle,
    gemm: Batched,
}

impl Cublas {
    /// Finds the library as the system's loader does (`LD_LIBRARY_PATH`), and has it work on the stream.
    pub(crate) fn load(stream: &Stream) -> Result<Self> {
        const NAMES: [&str; 2] = ["libcublas.so.13", "libcublas.so.12"];
        // SAFETY: loading the library runs its initialisers, which are meant for this.
        let found = NAMES.into_iter().find_map(|name| Some((name, unsafe { Library::new(name) }.ok()?)));
        let (name, library) = found.with_context(|| format!("{} are not found", NAMES.join(" and ")))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the signatures are those of the library's documentation; the handle can be written, the stream is alive.
        unsafe {
            let create = *library.get::<Create>(b"cublasCreate_v2\0")?;
            let set_stream = *library.get::<SetStream>(b"cublasSetStream_v2\0")?;
            let gemm = *library.get::<Batched>(b"cublasGemmStridedBatchedEx\0")?;
            std::mem::forget(library);
            check("cublasCreate_v2", create(&raw mut handle))?;
            check("cublasSetStream_v2", set_stream(handle, stream.as_inner().cast()))?;
            Ok(Self { name, handle, gemm })
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Queues `C = A * B^T` for so many matrices of each, one behind the other, and is true.
    ///
    /// # Safety
    /// The addresses are of `m` rows of `k`, `n` rows of `k` and `m` rows of `n`, so many times, which live until the work is
    /// done.
    pub(crate) unsafe fn product(
        &self,
        types: Gemm,
        [a, b, c]: [u64; 3],
        size: Size,
        stack: u32,
    ) -> Result<bool> {
        const TRANSPOSED: c_int = 1;
        const AS_IS: c_int = 0;
        const COMPUTE_F32: c_int = 68;
        const DEFAULT: c_int = -1;
        let element = match types {
            Gemm::Bf16 => 14,
            Gemm::F32 => 0,
        };
        let (one, zero) = (1_f32, 0_f32);
        let [m, n, k] = [size.m, size.n, size.k].map(|size| size as c_int);
        let [of_a, of_b, of_c] = size.elements().map(|elements| elements as c_longlong);
        let pointer = |address: u64| ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        // cuBLAS counts down columns: there it is C^T = B A^T, with B's rows as columns.
        // SAFETY: promised by the caller; the factors are read before the call returns.
        let status = unsafe {
            (self.gemm)(
                self.handle,
                TRANSPOSED,
                AS_IS,
                n,
                m,
                k,
                (&raw const one).cast(),
                pointer(b),
                element,
                k,
                of_b,
                pointer(a),
                element,
                k,
                of_a,
                (&raw const zero).cast(),
                pointer(c),
                element,
                n,
                of_c,
                stack as c_int,
                COMPUTE_F32,
                DEFAULT,
            )
        };
        check("cublasGemmStridedBatchedEx", status)?;
        Ok(true)
    }
}

fn check(function: &str, status: c_int) -> Result<()> {
    ensure!(status == 0, "{function} gave the status {status}");
    Ok(())
}
