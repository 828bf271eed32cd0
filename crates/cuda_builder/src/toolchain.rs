//! Finds the compiler, the source of `core` and the libLLVM of a device build, and records where each came from.
//!
//! Three things have to fit together: a rustc, the source of the `core` that belongs to it, and the libLLVM that it was
//! built with. A toolchain of rustup's has the first and the third, and the second as a component that
//! can be left out. So the routes are, in order:
//!
//! 1. [`Route::Toolchain`]: the active toolchain with its `rust-src`.
//! 2. [`Route::Rustup`]: the same after `rustup component add rust-src`, which is run only where it is asked for.
//! 3. [`Route::Distribution`]: a compiler that the distribution ships together with its source (on Debian the packages
//!    `rustc-web`, `libstd-rust-web-dev`, `rust-web-src` and `libllvm22`): installed, or, where that is asked for, fetched
//!    and unpacked below the target folder, for which no root is needed. cargo stays the one in use.
//!
//! Nothing is installed or fetched unasked: a build without `rust-src` fails with the command that adds it.
//! `COALESCE_INSTALL=1` in the environment asks for the installation. `CUDA_BUILDER_LIBRARY_SOURCE` (`toolchain`, `rustup`
//! or `distribution`) takes one route and no other, and asks for what that route installs.

mod compiler;
mod distribution;
mod library;
mod llvm_library;
pub(crate) mod processors;
mod report;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use llvm_library::LlvmLibrary;
pub use report::{Report, report};

pub(crate) use compiler::Compiler;
#[cfg(test)]
pub(crate) use llvm_library::find as find_llvm;
pub(crate) use llvm_library::open as open_llvm;

use crate::CudaBuilderError;

/// The environment variable that chooses the route.
pub const ROUTE_VARIABLE: &str = "CUDA_BUILDER_LIBRARY_SOURCE";

/// The environment variable that, set to 1, lets a build install what it lacks.
pub const INSTALL_VARIABLE: &str = "COALESCE_INSTALL";

/// True if a build may install what it lacks.
fn may_install() -> bool {
    std::env::var_os(INSTALL_VARIABLE).is_some_and(|value| value == "1")
}

/// The origin of the source of `core`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It was there, in the active toolchain.
    Toolchain,
    /// rustup added it to the active toolchain.
    Rustup,
    /// It belongs to a compiler of the distribution's.
    Distribution,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Toolchain => "toolchain",
            Self::Rustup => "rustup",
            Self::Distribution => "distribution",
        })
    }
}

impl FromStr for Route {
    type Err = CudaBuilderError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "toolchain" => Ok(Self::Toolchain),
            "rustup" => Ok(Self::Rustup),
            "distribution" => Ok(Self::Distribution),
            other => Err(CudaBuilderError::UnknownLibrarySource(other.to_owned())),
        }
    }
}

/// Everything that a device build runs or reads, complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Toolchain {
    /// The origin of the source of `core`.
    pub route: Route,
    /// The cargo to run.
    pub cargo: PathBuf,
    /// The compiler itself.
    pub rustc: PathBuf,
    /// Its first line on itself: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub version: String,
    /// Its root folder.
    pub sysroot: PathBuf,
    /// The folder that holds `core`, `alloc` and the others as source.
    pub library_source: PathBuf,
    /// Its libLLVM.
    pub llvm: LlvmLibrary,
    /// Folders that the dynamic loader needs to be told of to run the compiler; empty for an installed one.
    pub library_path: Vec<PathBuf>,
}

/// The cargo in use: the one that runs us, if one does.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO")
        .filter(|value| !value.is_empty())
        .map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Finds the toolchain for a build of the crate in `krate`, by the routes above. `scratch` is where a distribution's compiler
/// may be unpacked.
pub fn find(krate: &Path, scratch: &Path) -> Result<Toolchain, CudaBuilderError> {
    let forced = match std::env::var(ROUTE_VARIABLE) {
        Ok(name) if !name.is_empty() => Some(name.parse::<Route>()?),
        _ => None,
    };
    let routes = match forced {
        Some(route) => vec![route],
        None => vec![Route::Toolchain, Route::Rustup, Route::Distribution],
    };
    let asked = forced.is_some() || may_install();
    let active = Compiler::active(krate)?;
    let mut tried = Vec::new();
    for route in routes {
        let found = match route {
            Route::Toolchain => library::installed(&active.sysroot).map(|source| (active.clone(), source)),
            Route::Rustup if !asked => continue,
            Route::Rustup => library::add_with_rustup(&active, krate).map(|source| (active.clone(), source)),
            Route::Distribution if asked => distribution::find(&active.cargo, scratch),
            Route::Distribution => distribution::present(&active.cargo, scratch),
        };
        match found {
            Ok((compiler, source)) => return complete(route, compiler, source),
            Err(reason) => tried.push(format!("{route}: {reason}")),
        }
    }
    let command = library::command(&active);
    Err(CudaBuilderError::LibrarySourceMissing { tried: tried.join("; "), command })
}

fn complete(
    route: Route,
    compiler: Compiler,
    library_source: PathBuf,
) -> Result<Toolchain, CudaBuilderError> {
    let llvm = llvm_library::find(&compiler)?;
    Ok(Toolchain {
        route,
        cargo: compiler.cargo,
        rustc: compiler.rustc,
        version: compiler.version,
        sysroot: compiler.sysroot,
        library_source,
        llvm,
        library_path: compiler.library_path,
    })
}
