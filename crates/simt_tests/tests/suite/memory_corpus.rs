//! Whatever compilers make of this repository's sources that accesses memory is known.

use std::path::PathBuf;

use simt::internals::decode::{Columns, DecodeError, Level};
use simt::internals::memory;
use simt::internals::registers::{Slot, Width};
use simt::ptx::{self, Address, AddressBase, Body, Operand, ScalarType};

/// Columns without a frame behind them.
struct Paper<'a> {
    body: &'a Body,
    cell: u32,
}

impl Paper<'_> {
    fn next(&mut self, width: Width) -> Slot {
        self.cell += width.cells();
        Slot { cell: self.cell - width.cells(), width }
    }
}

impl Columns for Paper<'_> {
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        let scalar = match operand {
            Operand::Register(register) => self.body.register_type(*register).expect("a type"),
            Operand::Symbol(..) => ScalarType::U64,
            _ => scalar,
        };
        Ok(self.next(Width::of(scalar)))
    }

    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        self.source(operand, scalar)
    }

    fn address(&mut self, address: &Address) -> Result<(Slot, i64), DecodeError> {
        let scalar = match address.base {
            AddressBase::Register(register) => self.body.register_type(register).expect("a type"),
            _ => ScalarType::U64,
        };
        Ok((self.next(Width::of(scalar)), address.offset))
    }

    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        let Operand::Register(register) = operand else { return None };
        self.body.register_type(*register)?.size().map(|size| size * 8)
    }

    fn scratch(&mut self, width: Width) -> Slot {
        self.next(width)
    }

    fn carry(&mut self) -> Slot {
        self.next(Width::Predicate)
    }
}

#[test]
fn every_memory_instruction_of_the_corpus_is_known() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut known = std::collections::BTreeMap::<String, usize>::new();
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a corpus file");
        let module = ptx::parse(&text).expect("it parses");
        for body in module.functions().filter_map(|function| function.body.as_ref()) {
            for instruction in &body.instructions {
                let base = instruction.opcode.base();
                let ours = matches!(
                    base,
                    "ld" | "ldu"
                        | "st"
                        | "atom"
                        | "red"
                        | "cvta"
                        | "isspacep"
                        | "mapa"
                        | "getctarank"
                        | "prefetch"
                        | "prefetchu"
                        | "createpolicy"
                        | "applypriority"
                        | "discard"
                        | "fence"
                        | "membar"
                        | "cp"
                        | "mbarrier"
                );
                let parameter = instruction.opcode.as_str().contains(".param") && matches!(base, "ld" | "st");
                let op = instruction.opcode.op().expect("a known opcode");
                for level in [Level::Portable, Level::detect()] {
                    let mut columns = Paper { body, cell: 0 };
                    let decoded =
                        memory::decode(instruction, &op, &mut columns, level).unwrap_or_else(|error| {
                            panic!("{}: {:?}: {error}", path.display(), instruction.position)
                        });
                    let opcode = instruction.opcode.as_str();
                    assert_eq!(decoded.is_some(), ours && !parameter, "{opcode}");
                    if let Some(decoded) = decoded
                        && matches!(base, "ld" | "atom")
                    {
                        assert!(!decoded.results().is_empty() && !decoded.addresses().is_empty(), "{opcode}");
                        *known.entry(base.to_owned()).or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(known["ld"] > 300 && known["atom"] > 10, "{known:?}");
}
