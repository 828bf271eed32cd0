//! One instruction on one warp: registers by name, set, run, read.
//!
//! Every machine declares `%p` (predicates), `%h` (16 bits), `%r` (32), `%d` (64) and `%q` (128), eight of each.

pub(crate) mod exact;

use std::collections::HashMap;

use simt::internals::alu::{self, Arithmetic, Collective};
use simt::internals::decode::{Columns, DecodeError, Level};
use simt::internals::registers::{Cell, Slot, Width};
use simt::ptx::{self, Address, Body, Immediate, Instruction, Operand, RegisterId, ScalarType};

/// All lanes' values of a register.
pub(crate) type Lanes = [u128; 32];

/// Frames begin at multiples of 64 bytes.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read and written through a pointer to the first")] [Cell; 8]);

/// The columns of a function, and what is in them.
pub(crate) struct Registers {
    body: Body,
    slots: HashMap<RegisterId, Slot>,
    used: u32,
    lines: Vec<Line>,
    carry: Option<Slot>,
}

impl Registers {
    fn new(body: Body) -> Self {
        let count = body.register_count as usize + 64;
        let lines = vec![Line([0; 8]); 8 * count];
        let mut registers = Self { body, slots: HashMap::new(), used: 0, lines, carry: None };
        for number in 0..registers.body.register_count {
            let id = RegisterId(number);
            let width = Width::of(registers.body.register_type(id).expect("a type"));
            let slot = registers.take(width);
            registers.slots.insert(id, slot);
        }
        registers
    }

    fn take(&mut self, width: Width) -> Slot {
        let slot = Slot { cell: self.used, width };
        self.used += width.cells();
        assert!(self.used as usize <= self.lines.len() * 8, "the frame is full");
        slot
    }

    pub(crate) fn frame(&mut self) -> *mut Cell {
        self.lines.as_mut_ptr().cast()
    }

    fn words(&self, slot: Slot) -> &[u32] {
        let cells = (slot.width.cells() as usize).max(16);
        let start = self.lines.as_ptr().cast::<Cell>().wrapping_add(slot.cell as usize);
        // SAFETY: slots lie in the frame, and any bits are words.
        unsafe { std::slice::from_raw_parts(start.cast::<u32>(), 2 * cells) }
    }

    pub(crate) fn read(&self, slot: Slot) -> Lanes {
        let words = self.words(slot);
        std::array::from_fn(|lane| match slot.width {
            Width::Predicate => u128::from(words[0] >> lane & 1),
            Width::Word => words[lane].into(),
            Width::Double => u128::from(words[2 * lane]) | u128::from(words[2 * lane + 1]) << 32,
            Width::Quad => {
                let half = |at: usize| u128::from(words[at]) | u128::from(words[at + 1]) << 32;
                half(2 * lane) | half(64 + 2 * lane) << 64
            }
        })
    }

    pub(crate) fn write(&mut self, slot: Slot, lanes: &Lanes) {
        let frame = self.frame();
        for (lane, value) in lanes.iter().enumerate() {
            // SAFETY: slots lie in the frame.
            unsafe {
                match slot.width {
                    Width::Predicate => {
                        let bits = slot.predicate(frame);
                        *bits = *bits & !(1 << lane) | u32::from(*value != 0) << lane;
                    }
                    Width::Word => (*slot.words(frame))[lane] = *value as u32,
                    Width::Double => (*slot.doubles(frame))[lane] = *value as u64,
                    Width::Quad => {
                        let low = slot.doubles(frame).cast::<u64>();
                        *low.add(lane) = *value as u64;
                        *low.add(32 + lane) = (*value >> 64) as u64;
                    }
                }
            }
        }
    }

    pub(crate) fn slot(&self, name: &str) -> Slot {
        let ids = (0..self.body.register_count).map(RegisterId);
        let id = ids.into_iter().find(|id| self.body.register_name(*id).as_deref() == Some(name));
        self.slots[&id.unwrap_or_else(|| panic!("no register {name}"))]
    }
}

fn immediate(value: Immediate, scalar: ScalarType) -> u128 {
    let bits = match (value, scalar) {
        (Immediate::Integer { bits, .. }, _) => bits,
        (Immediate::Single(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::Single(bits), _) => bits.into(),
        (Immediate::Double(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::Double(bits), _) => bits,
    };
    u128::from(match scalar.size() {
        None => u64::from(bits != 0),
        Some(1) => bits & 0xFF,
        Some(2) => bits & 0xFFFF,
        Some(4) => bits & 0xFFFF_FFFF,
        Some(_) => bits,
    })
}

impl Columns for Registers {
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        match operand {
            Operand::Register(register) => Ok(self.slots[register]),
            Operand::Immediate(value) => {
                let slot = self.take(Width::of(scalar));
                self.write(slot, &[immediate(*value, scalar); 32]);
                Ok(slot)
            }
            Operand::Special(_) | Operand::Symbol(..) => {
                let slot = self.take(Width::of(scalar));
                self.write(slot, &std::array::from_fn(|lane| lane as u128));
                Ok(slot)
            }
            _ => Err(DecodeError::Operands {
                opcode: String::new(),
                what: format!("{operand:?} has no value"),
            }),
        }
    }

    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        match operand {
            Operand::Register(register) => Ok(self.slots[register]),
            Operand::Sink => Ok(self.take(Width::of(scalar))),
            _ => Err(DecodeError::Operands {
                opcode: String::new(),
                what: format!("{operand:?} is no register"),
            }),
        }
    }

    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        let Operand::Register(register) = operand else { return None };
        Some(self.body.register_type(*register)?.size()? * 8)
    }

    fn address(&mut self, _: &Address) -> Result<(Slot, i64), DecodeError> {
        Err(DecodeError::Unsupported("an address".to_owned()))
    }

    fn scratch(&mut self, width: Width) -> Slot {
        self.take(width)
    }

    fn carry(&mut self) -> Slot {
        match self.carry {
            Some(slot) => slot,
            None => {
                let slot = self.take(Width::Predicate);
                self.carry = Some(slot);
                slot
            }
        }
    }
}

/// What was decoded.
pub(crate) enum Decoded {
    Arithmetic(Arithmetic),
    Collective(Collective),
}

/// One instruction and its registers.
pub(crate) struct Machine {
    pub(crate) registers: Registers,
    pub(crate) decoded: Decoded,
}

fn parse(text: &str) -> Body {
    let module = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n\
        .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .b128 %q<8>;\n";
    let module = format!("{module}{text}\nret;\n}}\n");
    let mut module = ptx::parse(&module).unwrap_or_else(|error| panic!("{text}: {error}"));
    let ptx::Item::Function(function) = module.items.remove(0) else { panic!("no function") };
    function.body.expect("a body")
}

impl Machine {
    /// Decodes one instruction, such as `add.s32 %r0, %r1, %r2;`.
    pub(crate) fn try_new(text: &str, level: Level) -> Result<Option<Self>, DecodeError> {
        let body = parse(text);
        let instruction = body.instructions[0].clone();
        let mut registers = Registers::new(body);
        if let Some(arithmetic) = alu::decode(&instruction, &mut registers, level)? {
            let decoded = Decoded::Arithmetic(arithmetic);
            return Ok(Some(Self { registers, decoded }));
        }
        let collective = alu::decode_collective(&instruction, &mut registers, level)?;
        let decoded = collective.map(Decoded::Collective);
        Ok(decoded.map(|decoded| Self { registers, decoded }))
    }

    pub(crate) fn new(text: &str, level: Level) -> Self {
        match Self::try_new(text, level) {
            Ok(Some(machine)) => machine,
            Ok(None) => panic!("{text}: another room's"),
            Err(error) => panic!("{text}: {error}"),
        }
    }

    pub(crate) fn set(&mut self, name: &str, lanes: &Lanes) {
        let slot = self.registers.slot(name);
        self.registers.write(slot, lanes);
    }

    pub(crate) fn get(&self, name: &str) -> Lanes {
        self.registers.read(self.registers.slot(name))
    }

    pub(crate) fn set_carry(&mut self, lanes: &Lanes) {
        let slot = self.registers.carry();
        self.registers.write(slot, lanes);
    }

    pub(crate) fn carry(&mut self) -> Lanes {
        let slot = self.registers.carry();
        self.registers.read(slot)
    }

    pub(crate) fn run(&mut self, mask: u32) {
        let frame = self.registers.frame();
        // SAFETY: the frame is the one that the columns were laid out in, and levels are what this computer has.
        unsafe {
            match &self.decoded {
                Decoded::Arithmetic(arithmetic) => (arithmetic.run)(frame, &arithmetic.slots, mask),
                Decoded::Collective(collective) => (collective.run)(frame, &collective.slots, mask),
            }
        }
    }
}

/// The levels that this computer has.
pub(crate) fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Portable];
    if Level::detect() == Level::Avx2 {
        levels.push(Level::Avx2);
    }
    levels
}

/// Numbers that look random and are the same every time.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Splitmix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// What a source's bits are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Predicate,
    /// So many bits.
    Integer(u32),
    /// Shift amounts and the like: often near the width of a register.
    Amount,
    Half,
    Brain,
    Single,
    Double,
    HalfPair,
    BrainPair,
    SinglePair,
}

impl Kind {
    /// Values at which something happens.
    pub(crate) fn edges(self) -> Vec<u64> {
        let both_signs =
            |values: &[u64], sign: u64| values.iter().flat_map(|value| [*value, value | sign]).collect();
        match self {
            Self::Predicate => vec![0, 1],
            Self::Integer(bits) => {
                let ones = u64::MAX >> (64 - bits);
                let top = 1 << (bits - 1);
                vec![
                    0,
                    1,
                    2,
                    7,
                    ones,
                    ones - 1,
                    top,
                    top - 1,
                    top + 1,
                    ones / 3,
                    ones / 5 * 4,
                    1 << (bits / 2),
                ]
            }
            Self::Amount => {
                vec![0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x8000_0000, 0xFFFF_FFFF]
            }
            Self::Half => both_signs(
                &[0, 1, 0x3FF, 0x400, 0x401, 0x3C00, 0x3C01, 0x4248, 0x7BFF, 0x7C00, 0x7E00, 0x7D01, 0x7FFF],
                0x8000,
            ),
            Self::Brain => both_signs(
                &[0, 1, 0x7F, 0x80, 0x81, 0x3F80, 0x3F81, 0x4049, 0x7F7F, 0x7F80, 0x7FC0, 0x7FA1, 0x7FFF],
                0x8000,
            ),
            Self::Single => both_signs(
                &[
                    0,
                    1,
                    0x7F_FFFF,
                    0x80_0000,
                    0x80_0001,
                    0x3F80_0000,
                    0x3F80_0001,
                    0x3F7F_FFFF,
                    0x4049_0FDB,
                    0x3F00_0000,
                    0x4B00_0001,
                    0x4F00_0000,
                    0x5F00_0000,
                    0x7F7F_FFFF,
                    0x7F80_0000,
                    0x7FC0_0000,
                    0x7FA0_0001,
                    0x7FFF_FFFF,
                    0x3400_0000,
                    0x3FC0_0000,
                    0x7E80_0001,
                ],
                0x8000_0000,
            ),
            Self::Double => both_signs(
                &[
                    0,
                    1,
                    0xF_FFFF_FFFF_FFFF,
                    0x10_0000_0000_0000,
                    0x10_0000_0000_0001,
                    0x3FF0_0000_0000_0000,
                    0x3FF0_0000_0000_0001,
                    0x3FEF_FFFF_FFFF_FFFF,
                    0x3FE0_0000_0000_0000,
                    0x4009_21FB_5444_2D18,
                    0x41E0_0000_0010_0000,
                    0x43E0_0000_0000_0000,
                    0x3CA0_0000_0000_0000,
                    0x7FEF_FFFF_FFFF_FFFF,
                    0x7FF0_0000_0000_0000,
                    0x7FF8_0000_0000_0000,
                    0x7FF4_0000_0000_0001,
                    0x7FFF_FFFF_FFFF_FFFF,
                ],
                1 << 63,
            ),
            Self::HalfPair | Self::BrainPair | Self::SinglePair => {
                let (half, bits) = match self {
                    Self::HalfPair => (Self::Half, 16),
                    Self::BrainPair => (Self::Brain, 16),
                    _ => (Self::Single, 32),
                };
                let edges = half.edges();
                let turned = edges.iter().cycle().skip(5);
                edges.iter().zip(turned).map(|(low, high)| low | high << bits).collect()
            }
        }
    }

    /// Any value: an edge, a number near another's magnitude, or any bits.
    pub(crate) fn random(self, numbers: &mut Numbers) -> u64 {
        let any = numbers.next();
        if any & 7 == 0 {
            let edges = self.edges();
            return edges[(any >> 8) as usize % edges.len()];
        }
        let bits = numbers.next();
        match self {
            Self::Predicate => bits & 1,
            Self::Integer(width) => (bits & (u64::MAX >> (64 - width))) >> ((any >> 8) % u64::from(width)),
            Self::Amount => bits % 70,
            Self::Half | Self::Brain => bits & 0xFFFF,
            // Half of them between 2^-16 and 2^16, so that sums have something to round.
            Self::Single if any & 16 != 0 => bits & 0x807F_FFFF | (111 + (bits >> 32) % 32) << 23,
            Self::Single => bits & 0xFFFF_FFFF,
            Self::Double if any & 16 != 0 => bits & 0x800F_FFFF_FFFF_FFFF | (991 + (any >> 8) % 64) << 52,
            Self::Double => bits,
            Self::HalfPair | Self::BrainPair => bits & 0xFFFF_FFFF,
            Self::SinglePair => Self::Single.random(numbers) | Self::Single.random(numbers) << 32,
        }
    }
}

/// Rows of operands: all combinations of edges where they are not too many, then random ones. A multiple of 32 rows.
pub(crate) fn rows(kinds: &[Kind], random: usize, seed: u64) -> Vec<Vec<u128>> {
    let mut numbers = Numbers::new(seed);
    let mut rows: Vec<Vec<u128>> = vec![Vec::new()];
    for kind in kinds {
        let edges = kind.edges();
        rows = rows
            .iter()
            .flat_map(|row| edges.iter().map(|edge| row.iter().copied().chain([u128::from(*edge)]).collect()))
            .collect();
    }
    // Of very many, every so-many-th.
    let step = rows.len() / 4096 + 1;
    let mut rows: Vec<_> = rows.into_iter().step_by(step).collect();
    let total = (rows.len() + random).next_multiple_of(32);
    while rows.len() < total {
        rows.push(kinds.iter().map(|kind| kind.random(&mut numbers).into()).collect());
    }
    rows
}

/// The registers of an instruction's operands but for the results, in order: `%r1`, `%p2`.
pub(crate) fn sources(text: &str, results: usize) -> Vec<String> {
    let operands = text.split_once(' ').expect("operands").1.trim_end_matches(';');
    let all = operands.split([',', '|', '{', '}']).map(str::trim).filter(|operand| !operand.is_empty());
    let registers = all.skip(results).map(|operand| operand.trim_start_matches('!'));
    registers.filter(|operand| operand.starts_with('%')).map(str::to_owned).collect()
}

pub(crate) fn results(text: &str, results: usize) -> Vec<String> {
    let operands = text.split_once(' ').expect("operands").1.trim_end_matches(';');
    let all = operands.split([',', '|', '{', '}']).map(str::trim).filter(|operand| !operand.is_empty());
    all.take(results).map(str::to_owned).collect()
}

/// Runs the instruction on all rows at all levels, with full and with partial masks, and compares each lane with what
/// `expected` makes of its operands. Lanes outside the mask must keep what they had.
pub(crate) fn check<const RESULTS: usize>(
    text: &str,
    kinds: &[Kind],
    expected: impl Fn(&[u128]) -> [u128; RESULTS],
) {
    let rows = rows(kinds, 320, text.len() as u64);
    let source_names = sources(text, RESULTS);
    let result_names = results(text, RESULTS);
    assert_eq!(source_names.len(), kinds.len(), "{text}: {source_names:?}");
    let mut numbers = Numbers::new(7);
    for level in levels() {
        let mut machine = Machine::new(text, level);
        for (index, chunk) in rows.chunks(32).enumerate() {
            let mask = if index % 2 == 0 { u32::MAX } else { numbers.next() as u32 };
            for (operand, name) in source_names.iter().enumerate() {
                machine.set(name, &std::array::from_fn(|lane| chunk[lane][operand]));
            }
            let before: Vec<Lanes> = result_names
                .iter()
                .map(|name| {
                    let is_source = source_names.contains(name);
                    if !is_source {
                        let kept =
                            std::array::from_fn(
                                |lane| if name.starts_with("%p") { lane as u128 & 1 } else { 77 },
                            );
                        machine.set(name, &kept);
                    }
                    machine.get(name)
                })
                .collect();
            machine.run(mask);
            let after: Vec<Lanes> = result_names.iter().map(|name| machine.get(name)).collect();
            for (lane, row) in chunk.iter().enumerate() {
                let wanted = expected(row);
                for (result, name) in result_names.iter().enumerate() {
                    let is_written = mask & 1 << lane != 0;
                    let wanted = if is_written { wanted[result] } else { before[result][lane] };
                    let found = after[result][lane];
                    assert!(
                        found == wanted,
                        "{text} at {level:?}, lane {lane}, mask {mask:#x}: {name} of {row:#x?} is {found:#x}, not {wanted:#x}"
                    );
                }
            }
        }
    }
}

/// The instruction is known to be unsupported.
pub(crate) fn refused(text: &str) {
    for level in levels() {
        match Machine::try_new(text, level) {
            Err(DecodeError::Unsupported(opcode)) => assert!(text.starts_with(&opcode), "{text}: {opcode}"),
            Err(DecodeError::Opcode(error)) => {
                let opcode = text.split(' ').next().expect("an opcode");
                assert!(error.to_string().contains(opcode), "{text}: {error}");
            }
            Err(other) => panic!("{text}: {other}"),
            Ok(_) => panic!("{text}: accepted"),
        }
    }
}

/// Returns true if `alu` decodes the instruction.
pub(crate) fn decodes(body: &Body, instruction: &Instruction, level: Level) -> Result<bool, DecodeError> {
    let mut registers = Registers::new(body.clone());
    if alu::decode(instruction, &mut registers, level)?.is_some() {
        return Ok(true);
    }
    Ok(alu::decode_collective(instruction, &mut registers, level)?.is_some())
}
