//! NVIDIA's libraries that `compare --library` runs beside the kernels: found and loaded at run time, so that neither a build nor
//! any other run needs them.

mod cublas;
mod cublaslt;
mod find;

use crate::experiments::{BytesMoved, Gemm, NO_LAUNCH, Point, Work};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use cublas::Cublas;
use cublaslt::CublasLt;
use cust::{memory::DeviceBuffer, stream::Stream};
use record::Parameters;
use serde_json::Value;
use std::{ffi::c_int, rc::Rc};

/// A library, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// cuBLAS, which chooses the algorithm itself
    Cublas,
    /// cuBLASLt, of whose algorithms the fastest is chosen by timing
    Cublaslt,
}

/// The name of cuBLASLt's function, as rows have it.
const CUBLASLT: &str = "cublaslt_matmul";

/// The memory that a library may use besides the matrices, in bytes: twice what cuBLAS takes by itself on Hopper.
const WORKSPACE: usize = 64 << 20;

/// The libraries that a run compares with.
pub(crate) struct Libraries {
    cublas: Option<Rc<Cublas>>,
    cublaslt: Option<Rc<CublasLt>>,
    /// The products, with cuBLASLt's plans for those that it computes.
    products: Vec<(Gemm, Option<Rc<cublaslt::Plan>>)>,
    /// Which functions are left out of which products, and why: sentences.
    left_out: Vec<String>,
}

impl Libraries {
    /// Loads the libraries of these names, to compute these products on this stream.
    ///
    /// # Errors
    /// One is not found, or does not start: the error names what was looked for and what to do.
    pub(crate) fn load(names: &[Name], products: &[Gemm], stream: &Stream) -> Result<Libraries> {
        // SAFETY: bytes have no invalid values; the libraries write them before they read them.
        let workspace = unsafe { DeviceBuffer::<u8>::uninitialized(WORKSPACE) };
        let workspace = Rc::new(workspace.context("cannot allocate the libraries' 64 MiB of device memory")?);
        let cublas = names.contains(&Name::Cublas).then(|| Cublas::load(stream, Rc::clone(&workspace)));
        let cublaslt = names.contains(&Name::Cublaslt).then(|| CublasLt::load(workspace));
        let mut libraries = Libraries {
            cublas: cublas.transpose()?.map(Rc::new),
            cublaslt: cublaslt.transpose()?.map(Rc::new),
            products: Vec::new(),
            left_out: Vec::new(),
        };
        for &gemm in products {
            libraries.add(gemm);
        }
        Ok(libraries)
    }

    /// Adds a product, and the reasons of the libraries that do not compute it.
    fn add(&mut self, gemm: Gemm) {
        let mut left_out = Vec::new();
        if let Some(reason) = self.cublas.as_ref().and_then(|_| Cublas::why_not(gemm)) {
            left_out.push(format!("{} is left out in {}: {reason}", Cublas::function(gemm), gemm.types()));
        }
        let plan = self.cublaslt.as_ref().and_then(|library| match CublasLt::why_not(gemm) {
            Some(reason) => {
                left_out.push(format!("{CUBLASLT} is left out in {}: {reason}", gemm.types()));
                None
            }
            None => {
                let refused = |error| {
                    format!("{CUBLASLT} is left out at {} in {}: {error:#}", gemm.matrices, gemm.types())
                };
                library.plan(gemm).map(Rc::new).map_err(|error| left_out.push(refused(error))).ok()
            }
        });
        self.products.push((gemm, plan));
        for sentence in left_out {
            if !self.left_out.contains(&sentence) {
                self.left_out.push(sentence);
            }
        }
    }

    /// Which functions are left out of which products, and why: sentences.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// cuBLAS, if it computes a product.
    fn cublas(&self, gemm: Gemm) -> Option<&Rc<Cublas>> {
        self.cublas.as_ref().filter(|_| Cublas::why_not(gemm).is_none())
    }

    /// cuBLASLt's plan for a product.
    fn plan(&self, gemm: Gemm) -> Option<&Rc<cublaslt::Plan>> {
        self.products.iter().find(|(known, _)| *known == gemm).and_then(|(_, plan)| plan.as_ref())
    }

    /// Whether a library computes a product.
    pub(crate) fn computes(&self, gemm: Gemm) -> bool {
        self.cublas(gemm).is_some() || self.plan(gemm).is_some()
    }

    /// The libraries and their versions.
    pub(crate) fn origin(&self) -> String {
        let names = [
            self.cublas.as_ref().map(|library| library.version()),
            self.cublaslt.as_ref().map(|library| library.version()),
        ];
        names.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Points at which each library computes what `like` does, on the buffers of that point: they have none of their own. None
    /// of a library that is left out.
    pub(crate) fn points(&self, like: &Point, gemm: Gemm) -> Vec<Point> {
        let mut points = Vec::new();
        if let Some(library) = self.cublas(gemm) {
            let (name, product) = (Cublas::function(gemm), Rc::clone(library));
            let work = Work::driver(name, move |stream, buffers| {
                // SAFETY: the point's buffers are these matrices, placed until the stream has ended its work.
                unsafe { product.queue(gemm, [0, 1, 2].map(|number| buffers.address(number)), stream) }
            });
            let version = library.version();
            points.push(Point {
                observe: Some(Box::new(move |_, _| {
                    Ok([("library".to_string(), Value::from(version.clone()))].into())
                })),
                ..point(like, gemm, work)
            });
        }
        if let Some(plan) = self.plan(gemm) {
            let [plan, tuned, observed] = [(); 3].map(|()| Rc::clone(plan));
            let work = Work::driver(CUBLASLT, move |stream, buffers| {
                // SAFETY: as above.
                unsafe { plan.queue([0, 1, 2].map(|number| buffers.address(number)), stream) }
            });
            points.push(Point {
                before_all: Some(Box::new(move |stream, buffers| {
                    // SAFETY: as above.
                    unsafe { tuned.choose([0, 1, 2].map(|number| buffers.address(number)), stream) }
                })),
                observe: Some(Box::new(move |_, _| Ok(observed.observed()))),
                ..point(like, gemm, work)
            });
        }
        points
    }
}

/// A point of a library, which has the parameters of `like` but for those of its kernel, and counts each matrix once.
fn point(like: &Point, gemm: Gemm, work: Work) -> Point {
    let [a, b, c] = gemm.bytes();
    /// The parameters of a kernel, and not of the product.
    const OF_KERNELS: [&str; 2] = ["tile", "cluster"];
    let more = like.parameters.more.iter().filter(|(name, _)| !OF_KERNELS.contains(&name.as_str()));
    Point {
        parameters: Parameters {
            block: None,
            grid: None,
            more: more.map(|(name, value)| (name.clone(), value.clone())).collect(),
            ..like.parameters.clone()
        },
        bytes: BytesMoved { read: a + b, written: c, footprint: like.bytes.footprint },
        flops: like.flops,
        ..Point::new(like.experiment, NO_LAUNCH, work)
    }
}

/// `13.0.2`, of a number such as 130002.
fn version(number: usize) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// Fails with what a library's status means.
fn check(function: &str, status: c_int) -> Result<()> {
    let meaning = match status {
        0 => return Ok(()),
        1 => "it is not initialised: the driver may be too old for this library",
        3 => "it cannot allocate memory",
        7 => "a size or an address does not suit it",
        8 => "it has no code for this card",
        13 => "its kernel failed on the card",
        14 => "an internal error",
        15 => "it does not support this product",
        _ => "an error that its documentation names by this number",
    };
    bail!("{function} gave the status {status}: {meaning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_their_numbers() {
        assert_eq!([130_002, 120_804, 131_001].map(version), ["13.0.2", "12.8.4", "13.10.1"]);
    }

    #[test]
    fn a_status_says_what_it_means() {
        assert!(check("cublasSgemm_v2", 0).is_ok());
        let error = check("cublasSgemm_v2", 8).expect_err("no code").to_string();
        assert_eq!(error, "cublasSgemm_v2 gave the status 8: it has no code for this card");
    }
}
