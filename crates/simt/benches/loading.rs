//! How long a module takes from its text to a program that can be launched.
//!
//! `cargo bench -p simt --bench loading`. The figure to reach: 1.5 s for `with_lines`, 4.3 MB of PTX with line information.

#[path = "../../simt_tests/tests/suite/large_module.rs"]
mod large_module;

use divan::Bencher;
use divan::counter::BytesCount;
use large_module::{LARGE, Size};
use simt::check::Positions;
use simt::exec::Program;
use simt::memory::Memory;
use simt::ptx;

fn main() {
    divan::main();
}

fn load(bencher: Bencher<'_, '_>, size: Size) {
    let text = large_module::text(size);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let memory = Memory::new(1 << 30).expect("address space");
        let module = ptx::parse(&text).expect("PTX");
        let positions = Positions::new(&module);
        (Program::load(module, &memory).expect("it loads"), positions)
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn with_lines(bencher: Bencher<'_, '_>) {
    load(bencher, LARGE);
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn without_lines(bencher: Bencher<'_, '_>) {
    load(bencher, Size { lines: false, ..LARGE });
}

/// As many statements, in one function.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn one_function(bencher: Bencher<'_, '_>) {
    let statements = LARGE.functions * LARGE.statements;
    load(bencher, Size { functions: 1, statements, ..LARGE });
}
