//! Files that something went wrong with: errors, never panics, never without end.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ptx::{cfg::Cfg, outline::Outline};

const SMALL: &str = include_str!("../../../simt_tests/tests/corpus/copy.nvcc.compute_90.ptx");
const SHAPES: &str = include_str!("../../../simt_tests/tests/corpus/shapes.nvcc.compute_90.ptx");
const RUST: &str = include_str!("../../../simt_tests/tests/corpus/kernels_lines.compute_90.ptx");

/// Parses; what parses is used like any module, and an error is one that can be shown.
fn survives(text: &str) -> bool {
    let outline = Outline::of(text);
    match ptx::parse(text) {
        Ok(module) => {
            assert!(outline.entries().eq(module.entries().map(|entry| &*entry.name)), "{text}");
            let index = ptx::Index::new(&module);
            for function in module.functions() {
                if let Some(body) = &function.body {
                    Cfg::new(&index, body);
                    body.instructions.iter().for_each(|instruction| drop(index.source(instruction)));
                }
            }
            let printed = module.to_string();
            let again = ptx::parse(&printed);
            assert!(again.as_ref().is_ok_and(|again| *again == module), "{text}\n{:?}", again.err());
            true
        }
        Err(error) => {
            let position = error.position();
            let lines = text.split('\n').count();
            assert!((1..=lines).contains(&(position.line as usize)), "{error}");
            let line = text.split('\n').nth(position.line as usize - 1).unwrap_or("");
            assert!((1..=line.len() + 1).contains(&(position.column as usize)), "{error}");
            assert!(error.to_string().starts_with("line "), "{error}");
            false
        }
    }
}

#[test]
fn cut_off_at_every_byte() {
    let module = ptx::parse(SMALL).expect("the whole parses");
    for end in (0..SMALL.len()).filter(|end| SMALL.is_char_boundary(*end)) {
        // What is cut at the top level may be a shorter module; it never has more.
        if survives(&SMALL[..end]) {
            assert!(ptx::parse(&SMALL[..end]).expect("it parsed").items.len() <= module.items.len());
        }
    }
    let within = SMALL.find("ret;").expect("a kernel's end");
    let error = ptx::parse(&SMALL[..within]).expect_err("a kernel without end");
    assert!(matches!(error.problem(), ptx::Problem::Truncated { .. }), "{error}");
}

#[derive(Clone, Debug)]
enum Change {
    Delete,
    Double,
    Swap,
    Insert(usize),
}

/// What is likely to be mistaken for something.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "!",
    "|",
    "@",
    "\"",
    "/*",
    "//",
    "*/",
    ".",
    "..",
    "::",
    "%r1",
    "%p1",
    "_",
    "0",
    "0x",
    "0f3F80",
    "99999999999999999999",
    "1e",
    ".reg",
    ".loc 1",
    ".section",
    ".func",
    "bra",
    "call",
    "\u{e9}",
    "\0",
];

/// Where the text's tokens begin and end, roughly: words, and every other character by itself.
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

fn characters(text: &str) -> Vec<&str> {
    text.char_indices().map(|(place, character)| &text[place..place + character.len_utf8()]).collect()
}

fn change(mut parts: Vec<&str>, changes: &[(Change, usize, usize)]) -> String {
    for (change, first, second) in changes {
        let (first, second) = (first % parts.len(), second % parts.len());
        match change {
            Change::Delete => drop(parts.remove(first)),
            Change::Double => parts.insert(first, parts[first]),
            Change::Swap => parts.swap(first, second),
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
        Just(Change::Delete),
        Just(Change::Double),
        Just(Change::Swap),
        (0..PIECES.len()).prop_map(Change::Insert),
    ];
    prop::collection::vec((kind, any::<usize>(), any::<usize>()), 1..most)
}

/// The same changes in every run.
fn run(cases: u32, most: usize, split: fn(&'static str) -> Vec<&'static str>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let parts = [SMALL, SHAPES, RUST].map(split);
    let strategy = (0..parts.len(), changes(most));
    let outcome = runner.run(&strategy, |(file, changes)| {
        survives(&change(parts[file].clone(), &changes));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn changed_tokens() {
    run(400, 4, tokens);
}

#[test]
fn changed_characters() {
    run(300, 6, characters);
}

/// Nesting that would overflow a stack, and numbers that would fill memory.
#[test]
fn out_of_all_measure() {
    let head = ".version 8.0 .target sm_90 .address_size 64\n";
    let deep = 100_000;
    for text in [
        format!("{head}.entry k(){{{}", "{".repeat(deep)),
        format!("{head}.entry k(){{mov.u32 {}", "{".repeat(deep)),
        format!("{head}.entry k(){{ld.u32 {}", "[1,".repeat(deep)),
        format!("{head}.entry k(){{call {}", "(".repeat(deep)),
        format!("{head}.global .b8 x[] = {}", "{".repeat(deep)),
        format!("{head}.global .b8 x = {}1;", "0xFF(".repeat(deep)),
        format!("{head}.entry k(){{.reg .b32 %r<4294967295>, %s<4294967295>;}}"),
        format!("{head}.section .x {{{}", "{".repeat(deep)),
        format!("{head}.entry k(){{mov.u32 {}", "-".repeat(deep)),
    ] {
        assert!(!survives(&text), "{}", &text[..100]);
    }
    let huge = format!("{head}.shared .b64 x[18446744073709551615][2];");
    assert!(survives(&huge));
    assert_eq!(ptx::parse(&huge).expect("it parses").variable("x").expect("x").size(), None);
}
