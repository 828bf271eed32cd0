//! cuBLASLt: the library proposes algorithms for a product, each is timed shortly, and the fastest is used.
//!
//! It counts down columns, as [cuBLAS](super::cublas) does: its first matrix is our B, its second our A.
//!
//! # FP8
//! The library multiplies FP8 only where the first matrix is transposed and the second is not, which B as n rows of k and A as m
//! rows of k are. Scales that are not given are 1. Fast accumulation leaves the sums to the tensor cores, which keep about 14
//! bits. It is on where the product says so; else the library promotes parts of the sums to single precision, as our kernels do.

use super::{
    WORKSPACE, check,
    cublas::{AS_IS, COMPUTE_F32, TRANSPOSED, type_of},
    find, version,
};
use crate::experiments::{Element, Gemm};
use anyhow::{Context, Result, bail};
use cust::{
    event::{Event, EventFlags},
    memory::DeviceBuffer,
    stream::Stream,
};
use libloading::Library;
use serde_json::Value;
use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::{c_int, c_void},
    mem::size_of,
    ptr,
    rc::Rc,
};

/// The algorithms that the library is asked for.
const CANDIDATES: usize = 16;

/// How long an algorithm is timed at a time, in milliseconds, and how often. Its time is the least of these.
const TIMED_MS: f64 = 2.0;
const TIMES: usize = 3;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Version = unsafe extern "C" fn() -> usize;
type CreateDescription = unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int;
type CreateLayout = unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> c_int;
type SetAttribute = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int;
type Heuristic = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    c_int,
    *mut Proposal,
    *mut c_int,
) -> c_int;
type GetConfig = unsafe extern "C" fn(*const Algorithm, c_int, *mut c_void, usize, *mut usize) -> c_int;
/// `cublasLtMatmul`: the product, alpha, two matrices with their layouts, beta, C and D with theirs, the algorithm, memory to
/// work in, the stream.
type Matmul = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_void,
    *const c_void,
    Handle,
    *const c_void,
    Handle,
    *const c_void,
    *const c_void,
    Handle,
    *mut c_void,
    Handle,
    *const Algorithm,
    *mut c_void,
    usize,
    *mut c_void,
) -> c_int;

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Proposal {
    algorithm: Algorithm,
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// The library with a handle, which stays until the process ends.
pub(super) struct CublasLt {
    handle: Handle,
    functions: Functions,
    version: String,
    workspace: Rc<DeviceBuffer<u8>>,
}

#[derive(Clone, Copy)]
struct Functions {
    description: CreateDescription,
    set_description: SetAttribute,
    layout: CreateLayout,
    set_layout: SetAttribute,
    preference: Create,
    set_preference: SetAttribute,
    heuristic: Heuristic,
    config: GetConfig,
    matmul: Matmul,
}

impl Functions {
    /// # Errors
    /// The library lacks one.
    fn of(library: &Library) -> Result<Functions, libloading::Error> {
        // SAFETY: the signatures are those of the library's documentation.
        unsafe {
            Ok(Functions {
                description: *library.get(b"cublasLtMatmulDescCreate\0")?,
                set_description: *library.get(b"cublasLtMatmulDescSetAttribute\0")?,
                layout: *library.get(b"cublasLtMatrixLayoutCreate\0")?,
                set_layout: *library.get(b"cublasLtMatrixLayoutSetAttribute\0")?,
                preference: *library.get(b"cublasLtMatmulPreferenceCreate\0")?,
                set_preference: *library.get(b"cublasLtMatmulPreferenceSetAttribute\0")?,
                heuristic: *library.get(b"cublasLtMatmulAlgoGetHeuristic\0")?,
                config: *library.get(b"cublasLtMatmulAlgoConfigGetAttribute\0")?,
                matmul: *library.get(b"cublasLtMatmul\0")?,
            })
        }
    }
}

impl CublasLt {
    /// Finds the library.
    ///
    /// # Errors
    /// It is not found, or does not start.
    pub(super) fn load(workspace: Rc<DeviceBuffer<u8>>) -> Result<CublasLt> {
        let library = find::load("cublaslt", "cublasLt", None)?;
        let functions = Functions::of(&library)?;
        let mut handle = ptr::null_mut();
        // SAFETY: as above; the handle can be written.
        let number = unsafe {
            let create = *library.get::<Create>(b"cublasLtCreate\0")?;
            let number = *library.get::<Version>(b"cublasLtGetVersion\0")?;
            check("cublasLtCreate", create(&raw mut handle)).context("cuBLASLt does not start")?;
            number()
        };
        std::mem::forget(library);
        Ok(CublasLt { handle, functions, version: format!("cuBLASLt {}", version(number)), workspace })
    }

    /// The name and the version.
    pub(super) fn version(&self) -> String {
        self.version.clone()
    }

    /// The reason why cuBLASLt cannot compute a product of these types, as a clause.
    pub(super) fn why_not(gemm: Gemm) -> Option<String> {
        match (gemm.factors, gemm.transposed) {
            (Element::E5m2, _) => Some("cuBLASLt multiplies e5m2 by e4m3 alone, and not by e5m2".to_string()),
            (Element::E4m3, false) => Some("cuBLASLt multiplies FP8 with B as n rows of k alone".to_string()),
            _ => None,
        }
    }

    /// Asks for algorithms for a product.
    ///
    /// # Errors
    /// The library has none.
    pub(super) fn plan(&self, gemm: Gemm) -> Result<Plan> {
        const TRANSPOSE_FIRST: c_int = 3;
        const FAST_ACCUMULATION: c_int = 25;
        const MOST_WORKSPACE: c_int = 1;
        const REDUCTIONS: c_int = 3;
        const BATCH: c_int = 5;
        const STRIDE: c_int = 6;
        let (factors, result) = (type_of(gemm.factors), type_of(gemm.result));
        let float = type_of(Element::F32);
        let [m, n, k] = gemm.sizes()?;
        let (operation, [rows, columns]) =
            if gemm.transposed { (TRANSPOSED, [k, n]) } else { (AS_IS, [n, k]) };
        let functions = self.functions;
        let mut product = ptr::null_mut();
        let mut preference = ptr::null_mut();
        let mut proposals = [Proposal::default(); CANDIDATES];
        let mut found = 0;
        let layout = |element: c_int, rows: c_int, columns: c_int, stride: i64| {
            let (mut layout, [height, width]) = (ptr::null_mut(), [rows, columns].map(c_int::unsigned_abs));
            // SAFETY: the layout can be written.
            let status = unsafe {
                (functions.layout)(&raw mut layout, element, height.into(), width.into(), rows.into())
            };
            check("cublasLtMatrixLayoutCreate", status)?;
            let lie = ("cublasLtMatrixLayoutSetAttribute", functions.set_layout, layout);
            // SAFETY: the documentation gives these attributes these types.
            unsafe {
                set(lie, BATCH, gemm.batch as c_int)?;
                set(lie, STRIDE, stride)?;
            }
            Ok::<Handle, anyhow::Error>(layout)
        };
        let [of_a, of_b, of_c] = gemm.strides();
        let layouts = [
            layout(factors, rows, columns, of_b)?,
            layout(factors, k, m, of_a)?,
            layout(result, n, m, of_c)?,
        ];
        // SAFETY: what is written to can be, and attributes have the types that the documentation gives them. Descriptions are
        // never freed: there is one for each size, of some hundred bytes.
        unsafe {
            let status = (functions.description)(&raw mut product, COMPUTE_F32, float);
            check("cublasLtMatmulDescCreate", status)?;
            let describe = ("cublasLtMatmulDescSetAttribute", functions.set_description, product);
            set(describe, TRANSPOSE_FIRST, operation)?;
            if gemm.factors.is_fp8() {
                set(describe, FAST_ACCUMULATION, i8::from(gemm.fast))?;
            }
            check("cublasLtMatmulPreferenceCreate", (functions.preference)(&raw mut preference))?;
            let prefer = ("cublasLtMatmulPreferenceSetAttribute", functions.set_preference, preference);
            set(prefer, MOST_WORKSPACE, WORKSPACE as u64)?;
            // Sums of parts of a sum are in the type of the sums, not in that of the result.
            set(prefer, REDUCTIONS, 1_u32 | 2)?;
            let [first, second, result] = layouts;
            let status = (functions.heuristic)(
                self.handle,
                product,
                first,
                second,
                result,
                result,
                preference,
                CANDIDATES as c_int,
                proposals.as_mut_ptr(),
                &raw mut found,
            );
            check("cublasLtMatmulAlgoGetHeuristic", status).context("cuBLASLt has no algorithm")?;
        }
        let found = usize::try_from(found).unwrap_or(0);
        let proposals: Vec<Proposal> =
            proposals.into_iter().take(found).filter(|proposal| proposal.status == 0).collect();
        if proposals.is_empty() {
            bail!("cuBLASLt has no algorithm");
        }
        Ok(Plan {
            handle: self.handle,
            functions,
            product,
            layouts,
            proposals,
            chosen: Cell::new(0),
            version: self.version(),
            workspace: Rc::clone(&self.workspace),
        })
    }
}

/// Sets an attribute: by this function, which has this name, of this description.
///
/// # Safety
/// The description is one of the function's, and the library's documentation gives the attribute the type `T`.
///
/// # Errors
/// The library refuses it.
unsafe fn set<T>(
    (name, function, description): (&str, SetAttribute, Handle),
    attribute: c_int,
    value: T,
) -> Result<()> {
    // SAFETY: promised by the caller; the value is read before the call returns.
    let status = unsafe { function(description, attribute, (&raw const value).cast(), size_of::<T>()) };
    check(name, status)
}

/// A product with the algorithms for it, of which one is chosen.
pub(super) struct Plan {
    handle: Handle,
    functions: Functions,
    product: Handle,
    /// Of the library's first matrix, its second, and the result.
    layouts: [Handle; 3],
    proposals: Vec<Proposal>,
    chosen: Cell<usize>,
    version: String,
    workspace: Rc<DeviceBuffer<u8>>,
}

impl Plan {
    /// Queues the product once, by the chosen algorithm.
    ///
    /// # Safety
    /// The addresses are of the product's A, B and C in device memory, which live until the stream has ended its work. No other
    /// stream has work with this library.
    ///
    /// # Errors
    /// The library refuses it.
    pub(super) unsafe fn queue(&self, [a, b, c]: [u64; 3], stream: &Stream) -> Result<()> {
        let (one, zero) = (1.0_f32, 0.0_f32);
        let proposal = &self.proposals[self.chosen.get()];
        let [first, second, result] = self.layouts;
        let pointer = |address: u64| ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        // SAFETY: the matrices are promised by the caller, the workspace is as large as the proposal was told, and the factors
        // and the algorithm are read before the call returns.
        let status = unsafe {
            (self.functions.matmul)(
                self.handle,
                self.product,
                (&raw const one).cast(),
                pointer(b),
                first,
                pointer(a),
                second,
                (&raw const zero).cast(),
                pointer(c),
                result,
                pointer(c),
                result,
                &raw const proposal.algorithm,
                pointer(self.workspace.as_device_ptr().as_raw()),
                WORKSPACE,
                stream.as_inner().cast(),
            )
        };
        check("cublasLtMatmul", status)
    }

    /// Times each algorithm shortly and chooses the fastest. One that the library refuses after all is passed over.
    ///
    /// # Safety
    /// As for [`queue`](Self::queue).
    ///
    /// # Errors
    /// The driver fails, or the library refuses them all.
    pub(super) unsafe fn choose(&self, matrices: [u64; 3], stream: &Stream) -> Result<()> {
        let event = || Event::new(EventFlags::DEFAULT).context("cannot create an event");
        let (start, stop) = (event()?, event()?);
        let time = |launches: u32| -> Result<f64> {
            start.record(stream)?;
            // SAFETY: promised by the caller.
            (0..launches).try_for_each(|_| unsafe { self.queue(matrices, stream) })?;
            stop.record(stream)?;
            stop.synchronize().context("the device failed while an algorithm was timed")?;
            Ok(f64::from(stop.elapsed_time_f32(&start)?) / f64::from(launches))
        };
        let mut best: Option<(f64, usize)> = None;
        let mut refusal = None;
        for number in 0..self.proposals.len() {
            self.chosen.set(number);
            // SAFETY: promised by the caller.
            if let Err(error) = unsafe { self.queue(matrices, stream) } {
                refusal = Some(error);
                continue;
            }
            let launches = (TIMED_MS / time(1)?.max(1e-3)).clamp(1.0, 100.0) as u32;
            for _ in 0..TIMES {
                let taken = time(launches)?;
                if best.is_none_or(|(least, _)| taken < least) {
                    best = Some((taken, number));
                }
            }
        }
        match (best, refusal) {
            (Some((_, number)), _) => self.chosen.set(number),
            (None, Some(error)) => return Err(error.context("cuBLASLt refuses all its algorithms")),
            (None, None) => bail!("cuBLASLt has no algorithm"),
        }
        Ok(())
    }

    /// What records say of the algorithm: the library's own numbers, and its tile's shape where that is known.
    pub(super) fn observed(&self) -> BTreeMap<String, Value> {
        let proposal = &self.proposals[self.chosen.get()];
        // By `cublasLtMatmulAlgoConfigAttributes_t`.
        let config = |attribute: c_int| -> Option<u32> {
            let (mut value, mut written) = (0_u32, 0);
            // SAFETY: these attributes have 32 bits, which can be written.
            let status = unsafe {
                (self.functions.config)(
                    &raw const proposal.algorithm,
                    attribute,
                    (&raw mut value).cast(),
                    size_of::<u32>(),
                    &raw mut written,
                )
            };
            (status == 0).then_some(value)
        };
        let tile = config(1);
        let shape = tile.and_then(|tile| TILES.get(tile as usize)).filter(|shape| !shape.is_empty());
        let numbers =
            [("algorithm", config(0)), ("tile_id", tile), ("split_k", config(2)), ("stages_id", config(6))];
        let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name, Value::from(value?))));
        let named = [
            ("library", Value::from(self.version.clone())),
            ("workspace_bytes", Value::from(proposal.workspace)),
            ("candidates", Value::from(self.proposals.len())),
        ];
        let all = numbers.chain(named).chain(shape.map(|&shape| ("tile", Value::from(shape))));
        all.map(|(name, value)| (name.to_string(), value)).collect()
    }
}

/// Rows and columns of the tiles, by `cublasLtMatmulTile_t`, as far as the library's documentation lists them. They are of
/// the library's result, which is the transposed C.
const TILES: [&str; 34] = [
    "", "8x8", "8x16", "16x8", "8x32", "16x16", "32x8", "8x64", "16x32", "32x16", "64x8", "32x32", "32x64",
    "64x32", "32x128", "64x64", "128x32", "64x128", "128x64", "64x256", "128x128", "256x64", "64x512",
    "128x256", "256x128", "512x64", "64x96", "96x64", "96x128", "128x160", "160x128", "192x128", "128x192",
    "128x96",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Matrices;
    use std::mem::offset_of;

    /// By the library's header: 64 bytes, a size, two numbers of 32 bits, four reserved ones.
    #[test]
    fn structures_lie_as_the_library_has_them() {
        assert_eq!((size_of::<Algorithm>(), size_of::<Proposal>()), (64, 96));
        assert_eq!((offset_of!(Proposal, workspace), offset_of!(Proposal, status)), (64, 72));
    }

    #[test]
    fn fp8_is_refused_where_the_library_does() {
        let gemm = |factors, transposed| Gemm {
            matrices: Matrices { m: 64, n: 64, k: 64 },
            factors,
            result: Element::Bf16,
            transposed,
            fast: false,
            batch: 1,
        };
        let why_not = |factors, transposed| CublasLt::why_not(gemm(factors, transposed));
        assert_eq!([why_not(Element::E4m3, true), why_not(Element::Bf16, false)], [None, None]);
        assert!(why_not(Element::E5m2, true).is_some_and(|reason| reason.contains("by e4m3 alone")));
        assert!(why_not(Element::E4m3, false).is_some_and(|reason| reason.contains("n rows of k")));
        assert_eq!([Element::E4m3, Element::E5m2].map(type_of), [28, 29]);
    }

    #[test]
    fn tiles_have_the_library_s_numbers() {
        assert_eq!([TILES[20], TILES[23], TILES[33]], ["128x128", "128x256", "128x96"]);
    }
}
