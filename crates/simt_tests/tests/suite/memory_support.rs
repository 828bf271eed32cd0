//! A warp by itself: registers by name, instructions from text, and what an observer saw.

use std::collections::HashMap;

use simt::internals::decode::{Columns, DecodeError, Level};
use simt::internals::memory::{
    self, AccessFault, ClusterMemory, Environment, LocalMemory, LookupCache, MemoryInstruction, Progress,
    SharedMemory,
};
use simt::internals::registers::{Cell, Slot, Width};
use simt::memory::Memory;
use simt::observe::{Access, At, Observer, Operation, Site, Space};
use simt::ptx::{
    self, Address, AddressBase, Body, Immediate, Operand, RegisterId, ScalarType, SymbolMeaning,
};

pub(crate) const ALL: u32 = u32::MAX;

const DECLARATIONS: &str = "
    .reg .pred %p<8>; .reg .b16 %rs<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b128 %rq<4>;
    .reg .v2 .b32 %vw; .reg .v4 .f32 %vf;
";

/// The body of a kernel with these instructions.
pub(crate) fn parse(code: &str) -> Body {
    let text = format!(
        ".version 8.7\n.target sm_100\n.address_size 64\n.visible .entry k()\n{{\n{DECLARATIONS}\n{code}\nret;\n}}\n"
    );
    let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{code}: {error}"));
    let function = module.functions().next().expect("a kernel");
    function.body.clone().expect("a body")
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([Cell; 8]);

/// A frame whose registers have places in the order in which they are first named.
pub(crate) struct Frame {
    lines: Vec<Line>,
    used: u32,
    slots: HashMap<String, Slot>,
    /// Where symbols are: any name.
    pub(crate) symbols: HashMap<String, u64>,
}

impl Frame {
    fn new() -> Self {
        Self { lines: vec![Line([0; 8]); 1 << 14], used: 0, slots: HashMap::new(), symbols: HashMap::new() }
    }

    /// Begins again: no register has a place.
    pub(crate) fn forget(&mut self) {
        self.used = 0;
        self.slots.clear();
    }

    fn place(&mut self, width: Width) -> Slot {
        let slot = Slot { cell: self.used, width };
        self.used += width.cells();
        assert!((self.used as usize) < self.lines.len() * 8, "the frame is full");
        slot
    }

    pub(crate) fn start(&mut self) -> *mut Cell {
        self.lines.as_mut_ptr().cast()
    }

    fn named(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let width = if name.starts_with("%p") {
            Width::Predicate
        } else if name.starts_with("%rd") {
            Width::Double
        } else if name.starts_with("%rq") {
            Width::Quad
        } else {
            Width::Word
        };
        let slot = self.place(width);
        self.slots.insert(name.to_owned(), slot);
        slot
    }

    fn write(&mut self, slot: Slot, lane: usize, value: u128) {
        let frame = self.start();
        // SAFETY: the slot is of this frame.
        unsafe {
            match slot.width {
                Width::Predicate => {
                    let bits = slot.predicate(frame);
                    *bits = *bits & !(1 << lane) | (value as u32 & 1) << lane;
                }
                Width::Word => (*slot.words(frame))[lane] = value as u32,
                Width::Double => (*slot.doubles(frame))[lane] = value as u64,
                Width::Quad => {
                    (*slot.doubles(frame))[lane] = value as u64;
                    (*slot.doubles(frame).add(1))[lane] = (value >> 64) as u64;
                }
            }
        }
    }

    fn read(&mut self, slot: Slot, lane: usize) -> u128 {
        let frame = self.start();
        // SAFETY: the slot is of this frame.
        unsafe {
            match slot.width {
                Width::Predicate => u128::from(*slot.predicate(frame) >> lane & 1),
                Width::Word => u128::from((*slot.words(frame))[lane]),
                Width::Double => u128::from((*slot.doubles(frame))[lane]),
                Width::Quad => {
                    let low = (*slot.doubles(frame))[lane];
                    u128::from(low) | u128::from((*slot.doubles(frame).add(1))[lane]) << 64
                }
            }
        }
    }
}

/// Gives an instruction of one body its columns.
struct Layout<'a> {
    frame: &'a mut Frame,
    body: &'a Body,
}

impl Layout<'_> {
    fn register(&mut self, register: RegisterId) -> Slot {
        let name = self.body.register_name(register).expect("a register's name");
        self.frame.named(&name)
    }

    fn constant(&mut self, width: Width, value: u64) -> Slot {
        let slot = self.frame.place(width);
        (0..32).for_each(|lane| self.frame.write(slot, lane, u128::from(value)));
        slot
    }

    fn symbol(&self, name: &str) -> u64 {
        self.frame.symbols.get(name).copied().unwrap_or(0)
    }
}

impl Columns for Layout<'_> {
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        Ok(match operand {
            Operand::Register(register) => self.register(*register),
            Operand::Element(register, component) => {
                let name = format!("{}{component}", self.body.register_name(*register).expect("a name"));
                self.frame.named(&name)
            }
            Operand::Immediate(Immediate::Integer { bits, .. }) => {
                let size = scalar.size().expect("no predicate");
                let bits = if size < 8 { bits & ((1 << (8 * size)) - 1) } else { *bits };
                self.constant(Width::of(scalar), bits)
            }
            Operand::Immediate(Immediate::Single(bits)) => self.constant(Width::Word, u64::from(*bits)),
            Operand::Immediate(Immediate::Double(bits)) => self.constant(Width::Double, *bits),
            Operand::Symbol(symbol, offset) => {
                let address = self.symbol(&symbol.name).wrapping_add(*offset as u64);
                self.constant(Width::Double, address)
            }
            other => panic!("no value: {other:?}"),
        })
    }

    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        Ok(match operand {
            Operand::Register(_) | Operand::Element(..) => self.source(operand, scalar)?,
            Operand::Sink => self.frame.place(Width::of(scalar)),
            other => panic!("no register: {other:?}"),
        })
    }

    fn address(&mut self, address: &Address) -> Result<(Slot, i64), DecodeError> {
        Ok(match &address.base {
            AddressBase::Register(register) => (self.register(*register), address.offset),
            AddressBase::Symbol(symbol) => {
                assert_ne!(
                    symbol.meaning,
                    SymbolMeaning::Parameter(0),
                    "loads of parameters are not decoded here"
                );
                let at = self.symbol(&symbol.name);
                (self.constant(Width::Double, at), address.offset)
            }
            AddressBase::Absolute => (self.constant(Width::Double, 0), address.offset),
        })
    }

    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Register(register) => Some(self.body.register_type(*register)?.size()? * 8),
            Operand::Sink => Some(64),
            _ => None,
        }
    }

    fn scratch(&mut self, width: Width) -> Slot {
        self.frame.place(width)
    }

    fn carry(&mut self) -> Slot {
        self.frame.place(Width::Predicate)
    }
}

/// An access as the observer saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) space: Space,
    pub(crate) operation: Operation,
    /// Of the active lanes, ascending.
    pub(crate) addresses: Vec<u64>,
    pub(crate) active: u32,
    pub(crate) bytes: u32,
    pub(crate) read_only: bool,
    pub past_l1: bool,
    pub(crate) strong: bool,
}

/// Writes down what it sees.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) seen: Vec<Seen>,
    pub(crate) fences: Vec<bool>,
    pub(crate) barriers: Vec<(u32, u64)>,
    /// What it answers when asked.
    pub(crate) undefined: u32,
}

impl Observer for Recorder {
    const ACCESSES: bool = true;
    const SYNCHRONISATION: bool = true;
    const REGISTERS: bool = true;

    fn access(&mut self, _: At, access: &Access<'_>) {
        let lanes = (0..32).filter(|lane| access.active >> lane & 1 == 1);
        self.seen.push(Seen {
            space: access.space,
            operation: access.operation,
            addresses: lanes.map(|lane| access.addresses[lane]).collect(),
            active: access.active,
            bytes: access.bytes,
            read_only: access.read_only,
            past_l1: access.past_l1,
            strong: access.strong,
        });
    }

    fn undefined_lanes(&mut self) -> u32 {
        self.undefined
    }

    fn fence(&mut self, _: At, _: u32, beyond_block: bool) {
        self.fences.push(beyond_block);
    }

    fn barrier(&mut self, _: At, barrier: u32, warps: u64) {
        self.barriers.push((barrier, warps));
    }
}

/// A warp, its block's shared memory, and a device.
pub(crate) struct Machine<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) shared: SharedMemory,
    pub(crate) cluster: ClusterMemory,
    pub(crate) local: LocalMemory,
    pub(crate) cache: LookupCache,
    pub(crate) frame: Frame,
    pub(crate) recorder: Recorder,
    pub(crate) level: Level,
    pub(crate) warp: u32,
    /// What the last instruction left in the environment.
    pub(crate) undefined: u32,
}

impl<'a> Machine<'a> {
    /// With 4096 bytes of shared memory and 256 a lane of local memory.
    pub(crate) fn new(memory: &'a Memory) -> Self {
        let mut shared = SharedMemory::new();
        shared.begin(4096);
        Self {
            memory,
            shared,
            cluster: ClusterMemory::new(1),
            local: LocalMemory::new(256),
            cache: LookupCache::new(),
            frame: Frame::new(),
            recorder: Recorder::default(),
            level: Level::detect(),
            warp: 0,
            undefined: 0,
        }
    }

    /// Sets a register by lane.
    pub(crate) fn set(&mut self, name: &str, value: impl Fn(u64) -> u64) {
        let slot = self.frame.named(name);
        (0..32).for_each(|lane| self.frame.write(slot, lane, u128::from(value(lane as u64))));
    }

    /// Sets a 128-bit register by lane.
    pub(crate) fn set_128(&mut self, name: &str, value: impl Fn(u64) -> u128) {
        let slot = self.frame.named(name);
        (0..32).for_each(|lane| self.frame.write(slot, lane, value(lane as u64)));
    }

    /// A register's lanes.
    pub(crate) fn get(&mut self, name: &str) -> [u64; 32] {
        let slot = self.frame.named(name);
        std::array::from_fn(|lane| self.frame.read(slot, lane) as u64)
    }

    /// A 128-bit register's lanes.
    pub(crate) fn get_128(&mut self, name: &str) -> [u128; 32] {
        let slot = self.frame.named(name);
        std::array::from_fn(|lane| self.frame.read(slot, lane))
    }

    /// Decodes the instructions; panics if one does not access memory.
    pub(crate) fn decode(&mut self, code: &str) -> Result<Vec<MemoryInstruction>, DecodeError> {
        let body = parse(code);
        let count = body.instructions.len() - 1;
        let level = self.level;
        let mut layout = Layout { frame: &mut self.frame, body: &body };
        body.instructions[..count]
            .iter()
            .map(|instruction| {
                let op = instruction.opcode.op()?;
                let decoded = memory::decode(instruction, &op, &mut layout, level)?;
                Ok(decoded
                    .unwrap_or_else(|| panic!("{} does not access memory", instruction.opcode.as_str())))
            })
            .collect()
    }

    /// Decodes and executes instructions, one after another, for the lanes of a mask.
    pub(crate) fn run(&mut self, code: &str, mask: u32) -> Result<Progress, AccessFault> {
        let instructions = self.decode(code).unwrap_or_else(|error| panic!("{code}: {error}"));
        let mut progress = Progress::Done;
        for (site, instruction) in instructions.iter().enumerate() {
            let frame = self.frame.start();
            let mut environment = Environment {
                memory: self.memory,
                shared: &mut self.shared,
                cluster: &mut self.cluster,
                local: &mut self.local,
                cache: &mut self.cache,
                observer: &mut self.recorder,
                at: At::new(0, self.warp, Site(site as u32)),
                undefined: 0,
            };
            // SAFETY: the frame is the one that the instruction was decoded for.
            progress = unsafe { instruction.execute(frame, mask, &mut environment)? };
            self.undefined = environment.undefined;
        }
        Ok(progress)
    }

    /// Decodes and executes; nothing may go wrong.
    pub(crate) fn ok(&mut self, code: &str, mask: u32) {
        self.run(code, mask).unwrap_or_else(|fault| panic!("{code}: {fault:?}"));
    }

    /// Decodes and executes; something must go wrong.
    pub(crate) fn fault(&mut self, code: &str, mask: u32) -> AccessFault {
        self.run(code, mask).expect_err(code)
    }
}

/// A device of 1 GiB.
pub(crate) fn device() -> Memory {
    Memory::new(1 << 30).expect("address space")
}

/// Bytes that say where they are.
pub(crate) fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

/// Up to eight bytes as a number, the lowest first.
pub(crate) fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
