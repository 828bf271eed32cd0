//! Files that something went wrong with: what still parses loads or is refused, and what loads runs or faults. Nothing
//! panics, and nothing goes on for ever.

use crate::exec_common::machine;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use simt::exec::{Launch, Program, launch};
use simt::memory::{Kind, Memory};
use simt::ptx;

const SHAPES: &str = include_str!("../corpus/shapes.nvcc.compute_90.ptx");
const RUST: &str = include_str!("../corpus/kernels.compute_120.ptx");
const SPECIAL: &str = include_str!("exec_common/everything.ptx");

/// Loads and launches what there is to launch; says how many launches went well.
fn survives(text: &str) -> u32 {
    let Ok(module) = ptx::parse(text) else { return 0 };
    let memory = Memory::new(1 << 26).expect("address space");
    let Ok(program) = Program::load(module, &memory) else {
        assert_eq!(memory.allocations(), [], "what was taken is given back");
        return 0;
    };
    let buffer = memory.allocate(1 << 16, Kind::Device).expect("memory");
    memory.fill(buffer, &[1], 1 << 16).expect("it was just allocated");
    let mut done = 0;
    for kernel in program.kernels() {
        let mut parameters = vec![3; kernel.parameter_bytes as usize];
        for layout in kernel.parameters.iter().filter(|layout| layout.bytes == 8) {
            parameters[layout.offset as usize..][..8].copy_from_slice(&buffer.to_le_bytes());
        }
        let asked = Launch {
            kernel,
            grid: [2, 1, 1],
            block: [40, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 512,
            parameters: &parameters,
            stack_bytes: 256,
            machine: machine(),
            workers: 1,
            instruction_limit: Some(20_000),
            patience: None,
            cooperative: false,
        };
        done +=
            u32::from(launch(&program, &memory, &asked, &mut crate::exec_common::Watch::default()).is_ok());
    }
    program.unload(&memory);
    done
}

#[derive(Clone, Debug)]
enum Change {
    Delete,
    Double,
    Swap,
    /// By another one of the file.
    Replace,
    Insert(usize),
}

const PIECES: [&str; 22] = [
    "%r1",
    "%rd1",
    "%p1",
    "0",
    "-1",
    "1",
    "31",
    "64",
    "0xffffffff",
    "ret",
    "exit",
    "trap",
    "bra",
    "bar.sync",
    "!",
    "@%p1",
    "call",
    ".b32",
    ".b64",
    ".shared",
    ".global",
    ";",
];

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for (place, character) in text.char_indices() {
        let is_word = |character: char| character.is_ascii_alphanumeric() || "_$%.".contains(character);
        if !is_word(character) {
            tokens.extend([&text[start..place], &text[place..place + character.len_utf8()]]);
            start = place + character.len_utf8();
        }
    }
    tokens.push(&text[start..]);
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn change(mut parts: Vec<&str>, changes: &[(Change, usize, usize)]) -> String {
    for (change, first, second) in changes {
        let (first, second) = (first % parts.len(), second % parts.len());
        match change {
            Change::Delete => drop(parts.remove(first)),
            Change::Double => parts.insert(first, parts[first]),
            Change::Swap => parts.swap(first, second),
            Change::Replace => parts[first] = parts[second],
            Change::Insert(piece) => parts.insert(first, PIECES[*piece]),
        }
        if parts.is_empty() {
            break;
        }
    }
    parts.concat()
}

fn changes(most: usize) -> impl Strategy<Value = Vec<(Change, usize, usize)>> {
    let kind = prop_oneof![
        1 => Just(Change::Delete),
        1 => Just(Change::Double),
        2 => Just(Change::Swap),
        3 => Just(Change::Replace),
        1 => (0..PIECES.len()).prop_map(Change::Insert),
    ];
    prop::collection::vec((kind, any::<usize>(), any::<usize>()), 1..most)
}

#[test]
fn changed_files() {
    let files = [SHAPES, RUST, SPECIAL];
    // Most kernels want other lengths than they are given; these go well.
    assert_eq!(files.map(survives), [1, 4, 1]);
    let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let parts = files.map(tokens);
    let done = std::cell::Cell::new(0);
    let outcome = runner.run(&(0..parts.len(), changes(4)), |(file, changes)| {
        done.set(done.get() + survives(&change(parts[file].clone(), &changes)));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(done.get() > 100, "{} launches of changed files went well", done.get());
}

/// Lines of instructions in another order: what parses is nearly always something new.
#[test]
fn shuffled_instructions() {
    let lines: Vec<&str> = SPECIAL.split_inclusive('\n').collect();
    let is_code =
        |line: &str| line.starts_with('\t') && line.trim_end().ends_with(';') && !line.contains('.');
    let is_instruction = |line: &str| {
        line.starts_with('\t') && !line.trim_start().starts_with('.') && line.trim_end().ends_with(';')
    };
    let code: Vec<usize> =
        (0..lines.len()).filter(|line| is_code(lines[*line]) || is_instruction(lines[*line])).collect();
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = prop::collection::vec((any::<usize>(), any::<usize>()), 1..6);
    let outcome = runner.run(&strategy, |swaps| {
        let mut lines = lines.clone();
        for (first, second) in swaps {
            lines.swap(code[first % code.len()], code[second % code.len()]);
        }
        survives(&lines.concat());
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
