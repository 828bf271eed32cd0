//! A compiled kernel: its code, and what the executor has to know to call it.

use std::collections::BTreeMap;
use std::ops::{Deref, Range};

use super::super::frame::Frame;
use super::super::program::Program;
use super::super::step::Action;
use super::columns::Columns;
use super::context::{Counter, Entry};
use super::emit::{Emitted, Emitter, Key};
use super::graph::{End, Graph, plain_barrier};
use super::llvm::{self, Llvm};
use super::reductions::summed;
use super::regions;
use super::shape::{Shape, Step};
use super::shapes;
use crate::memory::PlainSpace;
use crate::observe::{Site, Space, SteadyAccess};
use crate::registers::{Cell, Slot, Width};

/// A compiled kernel.
pub(in super::super) struct Native {
    code: llvm::Code,
    tables: Tables,
}

/// What the executor has to know of a kernel's code.
pub(in super::super) struct Tables {
    first: u32,
    end: u32,
    /// The interpreter's functions that code calls, each with the address of its slots.
    pub(super) calls: Vec<[usize; 2]>,
    /// True if code uses the observer's tallies.
    pub(super) tallied: bool,
    /// Number of the entry at each step, by its distance from the first.
    entries: Vec<Option<u32>>,
    pub(super) blocks: Vec<Counted>,
    /// Guarded steps, in the order of their counters.
    pub(super) guarded: Vec<u32>,
    /// True for the steps among them, by their distance from the first.
    is_guarded: Vec<bool>,
    /// The accesses that code reports, by number.
    pub(super) accesses: Vec<SteadyAccess>,
    /// Step of each access.
    pub(super) access_steps: Vec<u32>,
    /// The live registers before each step at which code starts or stops.
    live: Live,
    /// The registers that lanes need which are apart where code stops before a step.
    apart: Live,
    /// Number of the barrier at each step, likewise: of barriers of the whole block that read no register.
    barriers: Vec<Option<u32>>,
    has_barriers: bool,
    /// Columns of the frame alone that are 0 at the start.
    zeroed: Vec<Slot>,
    /// True if warps may start in code: no register that is tracked may be read before it is written.
    starts: bool,
}

/// Registers by the step before which code starts or stops.
type Live = BTreeMap<u32, Vec<(Slot, Shape)>>;

/// A block, as its counters are spread over its steps.
pub(super) struct Counted {
    pub(super) steps: Range<u32>,
    /// The conditional branch at its end.
    pub(super) branch: Option<u32>,
}

/// A kernel in LLVM's text, with the tables of its code. It does not refer to the program.
pub(super) struct Prepared {
    text: String,
    tables: Tables,
}

impl Prepared {
    /// Writes the text of a kernel.
    ///
    /// # Errors
    /// Says why it cannot be compiled.
    pub(super) fn new(program: &Program, key: Key, llvm: &Llvm) -> Result<Self, String> {
        let function = program.function(key.function).ok_or("the kernel has no code")?;
        let kernel = program.code_of(key.function).ok_or("the function is no kernel")?;
        let steps = function.first..function.end;
        let is_tangled = |pc: u32| match program.steps[pc as usize].action {
            Action::Branch(branch) => branch.is_tangled,
            _ => false,
        };
        if steps.clone().any(is_tangled) {
            return Err("it has loops with several entries".to_owned());
        }
        let graph = Graph::new(program, function);
        let columns = Columns::new(program, function, kernel, &graph, key.block);
        // Undefined registers are tracked by the interpreter wherever lanes are apart.
        let splits = match key.tracks {
            false => regions::find(program, &graph),
            true => graph.blocks.iter().map(|_| None).collect(),
        };
        let shapes = shapes::find(program, function, &graph, &columns, &splits);
        let is_wide = |slot: &Slot| slot.width == Width::Quad;
        let wide = |pc: u32| {
            let (sources, results) = (program.uses.sources(pc as usize), program.uses.results(pc as usize));
            sources.iter().chain(results).any(is_wide)
        };
        if key.tracks && steps.clone().any(wide) {
            return Err("it has registers of 128 bits, which code does not track".to_owned());
        }
        let emitter =
            Emitter::new(program, &graph, &columns, &shapes, &splits, (key, summed(program, &graph)));
        let Emitted { text, accesses, calls, guarded, exits, apart, tallied } =
            emitter.function(&llvm.attributes());
        if let Ok(folder) = std::env::var("COALESCE_LLVM_DUMP") {
            // For those who work on this code.
            let _ = std::fs::write(format!("{folder}/{}.ll", function.name), &text);
        }
        let stops = exits.into_iter().map(|(pc, _)| pc).chain(graph.entries.iter().copied());
        let shaped = |number: usize| (graph.registers[number], shapes.of[number]);
        let live =
            stops.map(|pc| (pc, graph.live_before(program, pc).into_iter().map(shaped).collect())).collect();
        let apart =
            apart.into_iter().map(|(pc, live)| (pc, live.into_iter().map(shaped).collect())).collect();
        let blocks = graph.blocks.iter().map(|block| Counted {
            steps: block.steps.clone(),
            branch: match block.end {
                End::Branch(branch) if branch.is_guarded => Some(block.steps.end - 1),
                _ => None,
            },
        });
        let mut entries = vec![None; steps.len()];
        for (number, pc) in (0..).zip(&graph.entries) {
            entries[(pc - function.first) as usize] = Some(number);
        }
        let barrier = |pc: u32| match program.steps[pc as usize].action {
            Action::Rare(rare) if program.steps[pc as usize].guard == 0 => {
                plain_barrier(function, &program.rare[rare as usize])
            }
            _ => None,
        };
        let barriers: Vec<Option<u32>> = steps.map(barrier).collect();
        let is_guarded = (function.first..function.end).map(|pc| guarded.contains(&pc)).collect();
        let zeroed = function.undefined_at_start.iter().filter(|slot| graph.register(slot.cell).is_none());
        let tables = Tables {
            first: function.first,
            end: function.end,
            calls,
            tallied,
            entries,
            blocks: blocks.collect(),
            guarded,
            is_guarded,
            accesses: accesses.iter().map(|pc| reported(program, *pc)).collect(),
            access_steps: accesses,
            live,
            apart,
            has_barriers: barriers.iter().any(Option::is_some),
            barriers,
            zeroed: zeroed.copied().collect(),
            starts: !key.tracks || function.undefined_at_start.is_empty(),
        };
        Ok(Self { text, tables })
    }

    /// Makes machine code of the text.
    ///
    /// # Errors
    /// LLVM's message.
    pub(super) fn compile(self, llvm: &'static Llvm) -> Result<Native, String> {
        let code = llvm.compile(&self.text, c"warp")?;
        Ok(Native { code, tables: self.tables })
    }
}

impl Deref for Native {
    type Target = Tables;

    #[inline(always)]
    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl Native {
    /// Returns the function.
    #[inline(always)]
    pub(super) fn entry(&self) -> Entry {
        // SAFETY: the emitter gave the function this type.
        unsafe { std::mem::transmute::<usize, Entry>(self.code.address as usize) }
    }
}

impl Tables {
    /// Returns the number that a list has for a step, which may be another function's.
    #[inline(always)]
    fn at_step(&self, numbers: &[Option<u32>], pc: u32) -> Option<u32> {
        numbers.get(pc.wrapping_sub(self.first) as usize).copied().flatten()
    }

    /// Returns the number of the entry at a step.
    pub(super) fn entry_at(&self, pc: u32) -> Option<u32> {
        self.at_step(&self.entries, pc)
    }

    #[inline(always)]
    pub(super) fn start(&self) -> u32 {
        // The entries are in order, and the first step is the lowest.
        0
    }

    /// Makes a frame ready for a warp that starts in code.
    #[inline(always)]
    pub(super) fn begin(&self, frame: &mut Frame) {
        for slot in &self.zeroed {
            frame.fill(*slot, |_| 0);
        }
    }

    /// Returns the number of counters.
    #[inline(always)]
    pub(super) fn counters(&self) -> usize {
        Counter::of_blocks(self.blocks.len()) + self.guarded.len()
    }

    /// Returns true if warps may start in code.
    #[inline(always)]
    pub(in super::super) fn starts(&self) -> bool {
        self.starts
    }

    /// Returns the registers that are live before a step at which code starts or stops.
    pub(super) fn live_at(&self, pc: u32) -> impl Iterator<Item = Slot> {
        self.live.get(&pc).into_iter().flatten().map(|(slot, _)| *slot)
    }

    /// Returns the first step.
    #[inline(always)]
    pub(super) fn start_step(&self) -> u32 {
        self.first
    }

    /// Returns the steps.
    #[inline(always)]
    pub(super) fn steps(&self) -> Range<u32> {
        self.first..self.end
    }

    /// Returns the number of the barrier at a step, if it is one of the whole block that reads no register.
    pub(super) fn barrier_at(&self, pc: u32) -> Option<u32> {
        self.at_step(&self.barriers, pc)
    }

    #[inline(always)]
    pub(super) fn has_barriers(&self) -> bool {
        self.has_barriers
    }

    /// Returns true if a step is a guarded one, whose threads code counts.
    #[inline(always)]
    pub(super) fn is_guarded(&self, pc: u32) -> bool {
        self.is_guarded[(pc - self.first) as usize]
    }

    /// Returns the number of the access at a step.
    pub(super) fn access_at(&self, pc: u32) -> Option<usize> {
        self.access_steps.iter().position(|step| *step == pc)
    }

    /// Fills the columns that code has left in compact form when it stopped before a step, with all lanes or while they
    /// were apart.
    ///
    /// # Safety
    /// The frame is one of the kernel.
    pub(super) unsafe fn expand(&self, frame: *mut Cell, pc: u32, are_apart: bool) {
        let live = if are_apart { &self.apart } else { &self.live };
        for (slot, shape) in live.get(&pc).into_iter().flatten() {
            // SAFETY: the column is one of the frame.
            unsafe {
                match slot.width {
                    Width::Word => {
                        let words = &mut *slot.words(frame);
                        let values = |words: &[u32; 32]| lanes_of(*shape, &words.map(u64::from));
                        if let Some(values) = values(words) {
                            *words = values.map(|value| value as u32);
                        }
                    }
                    Width::Double => {
                        let words = &mut *slot.doubles(frame);
                        if let Some(values) = lanes_of(*shape, words) {
                            *words = values;
                        }
                    }
                    // Predicates are stored whole.
                    Width::Predicate | Width::Quad => {}
                }
            }
        }
    }

    /// Returns true if the columns have the shapes that code relies on when it starts at a step.
    ///
    /// # Safety
    /// The frame is one of the kernel.
    pub(super) unsafe fn agrees(&self, frame: *mut Cell, pc: u32) -> bool {
        let Some(live) = self.live.get(&pc) else { return false };
        live.iter().all(|(slot, shape)| {
            if *shape == Shape::Varying {
                return true;
            }
            // SAFETY: the column is one of the frame.
            unsafe {
                match slot.width {
                    Width::Word => {
                        let words = &*slot.words(frame);
                        let values = lanes_of(*shape, &words.map(u64::from));
                        values.is_none_or(|values| values.map(|value| value as u32) == *words)
                    }
                    Width::Double => {
                        let words = &*slot.doubles(frame);
                        lanes_of(*shape, words).is_none_or(|values| values == *words)
                    }
                    Width::Predicate => matches!(*slot.predicate(frame), 0 | u32::MAX),
                    Width::Quad => true,
                }
            }
        })
    }
}

/// Returns the lanes of a compact column; None if each lane is there.
fn lanes_of(shape: Shape, words: &[u64; 32]) -> Option<[u64; 32]> {
    let step_to = |lane: usize, step: Step| match step {
        Step::Constant(step) => step as u64,
        Step::Dynamic => words[lane].wrapping_sub(words[0]),
    };
    let (log, inner, outer) = match shape {
        Shape::Varying => return None,
        Shape::Affine { step, .. } => (5, step_to(1, step), 0),
        Shape::Grid { log, inner, outer, .. } => (log, step_to(1, inner), step_to(1 << log, outer)),
    };
    Some(std::array::from_fn(|lane| {
        let (place, row) = (lane as u64 & ((1 << log) - 1), lane as u64 >> log);
        words[0].wrapping_add(inner.wrapping_mul(place)).wrapping_add(outer.wrapping_mul(row))
    }))
}

/// Returns what the observer is told of an access, but for its addresses.
fn reported(program: &Program, pc: u32) -> SteadyAccess {
    let Action::Memory(memory) = program.steps[pc as usize].action else {
        unreachable!("accesses are memory instructions")
    };
    let plain = program.memory[memory as usize].plain().expect("only plain accesses are in place");
    SteadyAccess {
        space: match plain.space {
            PlainSpace::Global | PlainSpace::Generic => Space::Global,
            PlainSpace::Constant => Space::Constant,
            PlainSpace::Shared => Space::Shared,
        },
        operation: plain.operation(),
        base: 0,
        step: 0,
        active: u32::MAX,
        bytes: plain.bytes,
        read_only: plain.read_only,
        past_l1: plain.past_l1,
        strong: plain.reduction.is_some(),
    }
}

/// Returns the site of a step.
pub(super) fn site(pc: u32) -> Site {
    Site(pc)
}
