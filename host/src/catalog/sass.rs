//! The SASS of the kernels, where NVIDIA's ptxas and nvdisasm are at hand.

use crate::{
    built,
    kernels::{self, Artefact},
};
use anyhow::{Context, Result};
use report::{CodeLine, Place, html::Sass};
use simt::ptx::lines::in_library;
use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fs,
    hash::{Hash, Hasher},
    panic::resume_unwind,
    path::Path,
    thread,
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
    let scratch = built::folder();
    let found = |program, suits: &dyn Fn(&Path) -> Result<()>| {
        let fetched = built::target().map(|target| tools::fetched_path(program, &target));
        tools::find(program, fetched.as_deref(), suits).ok()
    };
    let artefacts = kernels::shown()?;
    let suits = |ptxas: &Path| {
        let accepts = |artefact: &Artefact<'_>| {
            ptxas::accepts(ptxas, &artefact.name(), &artefact.language.to_string(), &scratch)
        };
        artefacts.iter().try_for_each(accepts)
    };
    let (assembler, disassembler) = (found(Program::Ptxas, &suits), found(Program::Nvdisasm, &|_| Ok(())));
    let (Some(assembler), Some(disassembler)) = (assembler, disassembler) else { return Ok(None) };
    let printed: Vec<Result<String>> = thread::scope(|scope| {
        let print = |artefact| {
            let (assembler, disassembler, scratch) = (&assembler, &disassembler, &scratch);
            scope.spawn(move || disassembly(artefact, assembler, disassembler, scratch))
        };
        let threads: Vec<_> = artefacts.iter().map(print).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let mut kernels = BTreeMap::new();
    for printed in printed {
        let read = sass::read(&printed.context("the kernels' SASS cannot be had")?).into_iter();
        kernels.extend(read.map(|(kernel, lines)| (kernel, lines.into_iter().map(line).collect())));
    }
    let names: Vec<String> = artefacts.iter().map(|artefact| ptxas::sm(&artefact.name())).collect();
    Ok(Some(Sass { origin: format!("ptxas {} for {}", assembler.version, names.join(" and ")), kernels }))
}

/// What nvdisasm prints of the kernels.
fn disassembly(
    artefact: &Artefact<'_>,
    assembler: &Tool,
    disassembler: &Tool,
    scratch: &Path,
) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (artefact.ptx, artefact.name(), &assembler.version, &disassembler.version).hash(&mut hasher);
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
    ptxas::assemble(&assembler.path, &artefact.name(), &ptx, &cubin, true)?;
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
