//! Lists what each kernel of a PTX file loads and stores, by space, type and vector length.
//!
//! ```text
//! $ cargo run -q -p ptx --example accesses crates/simt_tests/tests/corpus/copy.nvcc.compute_90.ptx
//! copy_scalar
//!      1 load of 4 bytes, global, read-only
//!      3 load of 8 bytes, param
//!      1 store of 4 bytes, global
//! ```

use ptx::op::memory::{Access, Memory};
use ptx::op::{Awaits, Op};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: accesses FILE.ptx");
        return ExitCode::FAILURE;
    };
    match tally(&path) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tally(path: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let module = ptx::parse(&std::fs::read_to_string(path)?)?;
    let mut lines = Vec::new();
    for function in module.functions() {
        let Some(body) = &function.body else { continue };
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for instruction in &body.instructions {
            let what = match instruction.opcode.op() {
                Ok(Op::Memory(Memory::Ld(access) | Memory::Ldu(access))) => described("load", &access),
                Ok(Op::Memory(Memory::St(access))) => described("store", &access),
                Ok(Op::Memory(Memory::Atomic(atomic))) => format!("atomic {}", atomic.update.word()),
                Ok(op) if op.starts_copy() => "asynchronous copy".to_owned(),
                Ok(op) if op.awaits() == Some(Awaits::Threads) => "barrier".to_owned(),
                Ok(_) => continue,
                Err(error) => format!("not known: {error}"),
            };
            *counts.entry(what).or_default() += 1;
        }
        lines.push(function.name.to_string());
        lines.extend(counts.iter().map(|(what, count)| format!("{count:6} {what}")));
    }
    Ok(lines)
}

fn described(verb: &str, access: &Access) -> String {
    let space = access.space.map_or("generic", |space| space.word());
    let bytes = access.elements * access.scalar.size().unwrap_or(0);
    format!("{verb} of {bytes} bytes, {space}{}", if access.read_only { ", read-only" } else { "" })
}
