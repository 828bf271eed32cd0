//! From rlibs to one module: the kernel crate whole, libraries as far as they are needed.
//!
//! A library member is taken when something reachable from a kernel or another export needs a symbol that it defines,
//! as a linker does with archives. Members that leave a marker of their own (a kernel in a library crate) are
//! taken as well. The standard library's are never searched for markers: opening all of `core` would cost more than
//! everything else here together.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::CudaBuilderError;
use crate::allocator;
use crate::archive::Archive;
use crate::llvm::{Context, Module, Value};
use crate::markers;

/// An rlib of the nested build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rlib {
    pub(crate) path: PathBuf,
    pub(crate) role: Role,
}

/// The part of an rlib that is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The kernel crate: every member.
    Kernels,
    /// A dependency of it: members with markers, and what is needed.
    Dependency,
    /// `core`, `alloc` and what they depend on: what is needed.
    StandardLibrary,
}

struct Library {
    path: PathBuf,
    archive: Archive,
    linked: HashSet<usize>,
}

impl Library {
    fn open(rlib: &Rlib) -> Result<Self, CudaBuilderError> {
        let bytes = std::fs::read(&rlib.path).map_err(CudaBuilderError::file(&rlib.path, "read"))?;
        let archive = Archive::parse(bytes)
            .map_err(|reason| CudaBuilderError::Rlib { path: rlib.path.clone(), reason })?;
        Ok(Self { path: rlib.path.clone(), archive, linked: HashSet::new() })
    }

    fn link(&mut self, module: &mut Module<'_>, member: usize) -> Result<(), CudaBuilderError> {
        if !self.linked.insert(member) {
            return Ok(());
        }
        let name = self.archive.name(member);
        let failed = |reason: String| CudaBuilderError::Rlib {
            path: self.path.clone(),
            reason: format!("its member {name}: {reason}"),
        };
        let other =
            Module::from_bitcode(module.context(), self.archive.data(member), name).map_err(failed)?;
        module.link(other).map_err(failed)
    }

    /// Links members that leave markers.
    fn link_marked(&mut self, module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
        let bitcode: Vec<usize> = self.archive.bitcode().collect();
        for member in bitcode {
            let name = self.archive.name(member);
            // In a context of its own, so that what is only looked at leaves nothing behind.
            let context = Context::new(module.context().llvm());
            let lazy = Module::from_bitcode_lazily(&context, self.archive.data(member), name)
                .map_err(|reason| CudaBuilderError::Rlib { path: self.path.clone(), reason })?;
            let marked = markers::has_any(&lazy);
            drop(lazy);
            if marked {
                self.link(module, member)?;
            }
        }
        Ok(())
    }
}

/// Links `rlibs` into one module.
pub(crate) fn link<'c>(context: &'c Context, rlibs: &[Rlib]) -> Result<Module<'c>, CudaBuilderError> {
    let mut module = Module::empty(context, "kernels");
    let mut libraries = Vec::new();
    for rlib in rlibs {
        let mut library = Library::open(rlib)?;
        match rlib.role {
            Role::Kernels => {
                let members: Vec<usize> = library.archive.bitcode().collect();
                for member in members {
                    library.link(&mut module, member)?;
                }
            }
            Role::Dependency => library.link_marked(&mut module)?,
            Role::StandardLibrary => {}
        }
        libraries.push(library);
    }
    loop {
        let mut progress = false;
        for symbol in missing(&module) {
            let holder = libraries.iter_mut().find_map(|library| {
                let member = library.archive.defines(&symbol)?;
                (!library.linked.contains(&member)).then_some((library, member))
            });
            if let Some((library, member)) = holder {
                library.link(&mut module, member)?;
                progress = true;
                continue;
            }
            let defined =
                |name: &str| libraries.iter().any(|library| library.archive.defines(name).is_some());
            if let Some(text) = allocator::shim(&symbol, defined) {
                let doing = "adding what rustc generates for allocation";
                let mut shim = Module::from_text(context, &text).map_err(CudaBuilderError::llvm(doing))?;
                shim.adopt_target(&module);
                module.link(shim).map_err(CudaBuilderError::llvm(doing))?;
                progress = true;
            }
        }
        if !progress {
            return Ok(module);
        }
    }
}

/// Symbols that something reachable from the module's roots needs and the module does not define.
fn missing(module: &Module<'_>) -> Vec<String> {
    let mut undefined = Vec::new();
    for global in reachable(module) {
        let name = global.name();
        if global.is_declaration() && !name.starts_with("llvm.") {
            undefined.push(name);
        }
    }
    undefined.sort();
    undefined.dedup();
    undefined
}

/// Functions and variables that the roots lead to.
pub(crate) fn reachable<'c>(module: &Module<'c>) -> Vec<Value<'c>> {
    let mut seen: HashSet<Value<'c>> = HashSet::new();
    let mut globals = Vec::new();
    let mut open: Vec<Value<'c>> = markers::roots(module);
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if value.is_function() || value.is_variable() {
            globals.push(value);
        }
        if value.is_function() {
            open.extend(
                value.instructions().flat_map(Value::operands).filter(|operand| operand.is_constant_value()),
            );
        } else {
            open.extend(value.operands());
        }
    }
    globals
}
