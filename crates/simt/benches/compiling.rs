//! How long the compiled tier takes to make machine code of a kernel.
//!
//! `cargo bench -p simt --bench compiling`. The figure to reach: 120 ms for a kernel of a hundred lines. `COALESCE_PTX`
//! names another file of PTX, whose kernels are then compiled once each. No code is kept, so that all of them are compiled.

use std::sync::OnceLock;

use divan::Bencher;
use simt::exec::Program;
use simt::memory::Memory;
use simt::ptx;

fn main() {
    // SAFETY: no other thread has begun.
    unsafe { std::env::set_var("COALESCE_CODE", "") };
    divan::main();
}

fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| match std::env::var("COALESCE_PTX") {
        Ok(file) => std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}")),
        Err(_) => include_str!("kernels.ptx").to_owned(),
    })
}

fn load() -> Program {
    let memory = Memory::new(1 << 30).expect("address space");
    Program::load(ptx::parse(text()).expect("PTX"), &memory).expect("it loads")
}

fn kernels() -> Vec<String> {
    load().kernels().iter().map(|kernel| kernel.name.to_string()).collect()
}

#[divan::bench(args = kernels(), sample_count = 3, sample_size = 1)]
fn kernel(bencher: Bencher<'_, '_>, name: &str) {
    bencher.with_inputs(load).bench_values(|program| {
        let kernel = program.kernel(name).expect("the kernel");
        let block = kernel.required_block.unwrap_or([kernel.max_threads.unwrap_or(256).min(256), 1, 1]);
        if let Err(why) = program.compile_kernel(kernel, block) {
            println!("{name} is not compiled: {why}");
        }
        program
    });
}
