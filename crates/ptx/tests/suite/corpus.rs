//! What compilers make of this repository's own sources: parses, prints, and parses to the same.

use std::path::PathBuf;

use ptx::outline::{Kind, Outline, statements};
use ptx::{FunctionKind, cfg::Cfg};

/// The files of PTX, each with its path.
pub(crate) fn files() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../simt_tests/tests/corpus");
    let paths = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).expect("a corpus file")))
        .collect();
    files.sort();
    assert!(files.len() >= 7, "{} corpus files", files.len());
    files
}

fn read(name: &str) -> (String, ptx::Module) {
    let (_, text) = files().into_iter().find(|(path, _)| path.ends_with(name)).expect("a corpus file");
    let module = ptx::parse(&text).expect("it parses");
    (text, module)
}

#[test]
fn printing_and_parsing_again_changes_nothing() {
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let printed = module.to_string();
        let again = ptx::parse(&printed).unwrap_or_else(|error| panic!("{path}, printed: {error}"));
        assert!(again == module, "{path}");
        assert_eq!(again.to_string(), printed, "{path}");
    }
}

#[test]
fn outlines_have_what_the_parser_finds() {
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let outline = Outline::of(&text);
        assert_eq!(
            (outline.header.version, outline.header.target),
            (Some(module.version), Some(&*module.target[0]))
        );
        let bodies = module.functions().filter_map(|function| function.body.as_ref());
        let instructions =
            bodies.flat_map(|body| &body.instructions).map(|at| (at.opcode.as_str(), at.position.line));
        let statements = statements(&text).filter_map(|statement| match statement.kind {
            Kind::Instruction(opcode) => Some((opcode, statement.line)),
            _ => None,
        });
        assert!(statements.eq(instructions), "{path}");
        for whole in module.entries() {
            let item = outline.items.iter().find(|item| item.is_entry() && item.name == &*whole.name);
            let head =
                item.expect("the kernel").declaration().unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(head.parameters == whole.parameters && head.directives == whole.directives, "{path}");
            let alone = outline.extract(&whole.name).expect("the kernel");
            let alone = ptx::parse(&alone).unwrap_or_else(|error| panic!("{path}, {}: {error}", whole.name));
            let code = |kernel: &ptx::Function| {
                let body = kernel.body.as_ref().expect("a definition");
                let texts = body.instructions.iter().map(|at| body.instruction_text(at).to_string());
                texts.collect::<Vec<_>>()
            };
            assert!(alone.entry(&whole.name).is_ok_and(|kernel| code(kernel) == code(whole)), "{path}");
        }
    }
}

/// Counted in the text itself, by what begins a line or follows a semicolon.
#[test]
fn nothing_is_lost() {
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        // Inline assembly may have several statements on a line.
        let lines: Vec<&str> =
            text.lines().flat_map(|line| line.split_inclusive(';')).map(str::trim).collect();
        let entries = lines.iter().filter(|line| line.contains(".entry ")).count();
        assert_eq!(module.entries().count(), entries, "{path}");
        let locations = lines.iter().filter(|line| line.starts_with(".loc\t")).count();
        assert_eq!(module.locations.len(), locations, "{path}");
        let bodies: Vec<_> = module.functions().filter_map(|function| function.body.as_ref()).collect();
        let count = |base: &str| -> usize {
            let instructions = bodies.iter().flat_map(|body| &body.instructions);
            instructions.filter(|instruction| instruction.opcode.base() == base).count()
        };
        for base in ["ld", "st", "setp", "mov", "atom", "cvta", "ret"] {
            let is_it = |line: &&&str| {
                line.strip_prefix(base).is_some_and(|rest| rest.starts_with(['.', ';', ' ', '\t']))
            };
            let guarded =
                lines.iter().filter_map(|line| line.strip_prefix('@')?.split_once(' ')).map(|(_, line)| line);
            let starts: Vec<&str> = lines.iter().copied().chain(guarded.map(str::trim)).collect();
            assert_eq!(count(base), starts.iter().filter(is_it).count(), "{path}: {base}");
        }
    }
}

#[test]
fn each_instruction_is_where_it_says() {
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let lines: Vec<&str> = text.split('\n').collect();
        for instruction in module
            .functions()
            .filter_map(|function| function.body.as_ref())
            .flat_map(|body| &body.instructions)
        {
            let line = lines[instruction.position.line as usize - 1];
            let rest = &line[instruction.position.column as usize - 1..];
            let expected = if instruction.guard.is_some() { "@" } else { instruction.opcode.as_str() };
            assert!(rest.starts_with(expected), "{path}: {:?}: {rest}", instruction.position);
        }
    }
}

#[test]
fn every_function_has_a_graph() {
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let index = ptx::Index::new(&module);
        for function in module.functions() {
            let Some(body) = &function.body else { continue };
            let cfg = Cfg::new(&index, body);
            assert!(cfg.reducible, "{path}: {}", function.name);
            let mut next = 0;
            for block in &cfg.blocks {
                assert_eq!(block.instructions.start, next, "{path}: {}", function.name);
                next = block.instructions.end;
            }
            assert_eq!(next as usize, body.instructions.len(), "{path}: {}", function.name);
            if function.kind == FunctionKind::Entry {
                assert!(cfg.blocks[0].returns, "{path}: {}", function.name);
            }
        }
    }
}

#[test]
fn source_lines_of_rust() {
    let (text, module) = read("kernels_lines.compute_90.ptx");
    let body = module.entry("stride_f64").expect("a kernel").body.as_ref().expect("a definition");
    let add = body
        .instructions
        .iter()
        .find(|instruction| instruction.opcode.as_str() == "add.rn.f64")
        .expect("its sum");
    let source = ptx::Index::new(&module).source(add);
    assert_eq!(source.len(), 1);
    assert_eq!(source[0].file.as_deref(), Some("gpu-kernels/src/coalescing.rs"));
    // The last `.loc` before it, read by eye from the text.
    let before = &text[..text.rfind("add.rn.f64").expect("the same sum")];
    let loc = before.rsplit(".loc").next().expect("a .loc").split_whitespace().skip(1).take(2);
    let numbers: Vec<u32> = loc.map(|number| number.parse().expect("a number")).collect();
    assert_eq!([source[0].line, source[0].column], numbers[..]);
}

#[test]
fn source_lines_of_inlined_functions() {
    let (_, module) = read("copy.nvcc.compute_90.ptx");
    let body = module.entry("copy_scalar").expect("a kernel").body.as_ref().expect("a definition");
    let mut products = body.instructions.iter().filter(|instruction| instruction.opcode.base() == "mul");
    let chain = ptx::Index::new(&module).source(products.next().expect("a product"));
    let places: Vec<_> =
        chain.iter().map(|place| (place.file.as_deref(), place.line, place.column)).collect();
    let file = Some("reference/copy.cu");
    assert_eq!(places, [(file, 7, 3), (file, 12, 3)]);
    assert_eq!(chain[0].function.as_deref(), Some("_Z10grid_indexv"));
    assert_eq!(chain[1].function, None);
}
