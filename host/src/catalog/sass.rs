//! The SASS of the kernels, where NVIDIA's ptxas and nvdisasm are at hand.

use crate::{
    built,
    kernels::{self, Artefact},
};
use anyhow::{Context, Result};
use report::{CodeLine, Place, html::Sass};
use simt::ptx::lines::in_library;
use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash, Hasher},
    path::Path,
};
use tools::{
    Program, Tool, ptxas,
    sass::{self, Line},
};

/// The SASS of the PTX that pages show. `None` where a tool is missing; nothing is fetched for it.
///
/// It is kept beside the program's build, so that the tools, which take 5 seconds, run once for each build.
///
/// # Errors
/// The tools are there and fail: the error says which one and how.
pub(crate) fn of_kernels() -> Result<Option<Sass>> {
    let artefacts = kernels::embedded()?;
    let Some(newest) = artefacts.iter().max_by_key(|artefact| artefact.arch) else { return Ok(None) };
    let scratch = built::folder();
    let arch = format!("compute_{}", newest.arch);
    let found = |program, suits: &dyn Fn(&Path) -> Result<()>| {
        let fetched = built::target().map(|target| tools::fetched_path(program, &target));
        tools::find(program, fetched.as_deref(), suits).ok()
    };
    let isa = newest.language.to_string();
    let assembler = found(Program::Ptxas, &|ptxas| ptxas::accepts(ptxas, &arch, &isa, &scratch));
    let disassembler = found(Program::Nvdisasm, &|_| Ok(()));
    let (Some(assembler), Some(disassembler)) = (assembler, disassembler) else { return Ok(None) };
    let printed = disassembly(newest, &arch, &assembler, &disassembler, &scratch)
        .context("the kernels' SASS cannot be had")?;
    let kernels = sass::read(&printed).into_iter();
    Ok(Some(Sass {
        origin: format!("ptxas {} for {}", assembler.version, ptxas::sm(&arch)),
        kernels: kernels.map(|(kernel, lines)| (kernel, lines.into_iter().map(line).collect())).collect(),
    }))
}

/// What nvdisasm prints of the kernels.
fn disassembly(
    artefact: &Artefact<'_>,
    arch: &str,
    assembler: &Tool,
    disassembler: &Tool,
    scratch: &Path,
) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (artefact.ptx, arch, &assembler.version, &disassembler.version).hash(&mut hasher);
    let kept = scratch.join(format!("kernels-{:016x}.sass", hasher.finish()));
    if let Ok(printed) = fs::read_to_string(&kept) {
        return Ok(printed);
    }
    // In a folder of its own, so that two programs at a time do not meet.
    let cannot = || format!("cannot write into {}", scratch.display());
    fs::create_dir_all(scratch).with_context(cannot)?;
    let own = tempfile::tempdir_in(scratch).with_context(cannot)?;
    let [ptx, cubin, made] =
        ["kernels.ptx", "kernels.cubin", "kernels.sass"].map(|name| own.path().join(name));
    fs::write(&ptx, artefact.ptx).with_context(cannot)?;
    ptxas::assemble(&assembler.path, arch, &ptx, &cubin, true)?;
    let printed = sass::disassemble(&disassembler.path, &cubin)?;
    fs::write(&made, &printed).and_then(|()| fs::rename(&made, &kept)).with_context(cannot)?;
    Ok(printed)
}

/// A line as pages show it, with its author's line: of those that were inlined into each other the innermost in no library.
fn line(line: Line) -> CodeLine {
    let own = line.chain.into_iter().find(|(file, _)| !in_library(file));
    // Branches name labels, so nobody needs the addresses.
    let code = line.text.split_once("*/").map_or(&*line.text, |(_, code)| code);
    CodeLine {
        text: code.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" "),
        place: own.map(|(file, line)| Place { file, line }),
    }
}
