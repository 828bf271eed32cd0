//! Compiles a function's body to steps.
//!
//! An instruction becomes one [`Step`]: the cell of its guard, and an [`Action`] whose operands are columns of the
//! frame. Its pc, its step and its [`Site`](crate::observe::Site) have one number. Names, modifiers, immediates and
//! special registers are resolved here, once, so that a step only reads and writes columns. For example:
//!
//! ```text
//! PTX                               guard      action
//! mov.u32 %r1, %tid.x;              always     Arithmetic: copy the column of %tid.x to that of %r1
//! setp.ge.u32 %p1, %r1, 64;         always     Arithmetic: compare with the column in which every lane is 64
//! @%p1 bra DONE;                    %p1        Branch: its target, and where diverged lanes meet
//! @!%p1 st.global.u32 [%rd1], %r1;  not %p1    Memory: an index among the program's memory instructions
//! DONE: bar.sync 0;                 always     Rare: an index among the program's rare instructions
//! ```
//!
//! The passes that need the whole function follow: spin loops ([`spins`]), liveness ([`Liveness`]), and what the time
//! model wants to know of each site: where the scoreboard makes a warp wait ([`waits`]), what ptxas executes once per
//! warp ([`uniform`]) or fuses ([`fused`]), and how long chains of dependent instructions are ([`dependencies`]).

mod barrier;
mod call;
mod parameter;

use std::collections::HashSet;
use std::sync::Arc;

use super::dependencies;
use super::error::LoadError;
use super::flow::Flow;
use super::function::FunctionCode;
use super::fused;
use super::in_flight;
use super::layout::{ALWAYS, Fill, Layout};
use super::liveness::Liveness;
use super::names::Names;
use super::predicated;
use super::site::{Chained, SiteInfo};
use super::special::{Changes, Special};
use super::spins;
use super::step::{Action, Branch, Inside, NOT_INSIDE, Rare, Step};
use super::uniform;
use super::unrolled;
use super::uses::{Use, Uses};
use super::waits::{self, WaitSite};
use super::{adjacent, behind};
use crate::alu;
use crate::count::Slots;
use crate::decode::{Columns, DecodeError, Level};
use crate::memory::{self, MemoryInstruction};
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::op::Op;
use crate::ptx::op::memory::{Access, Memory};
use crate::ptx::op::words::AddressSpace;
use crate::ptx::{self, Body, FunctionKind, Instruction, LabelMeaning, Operand, RegisterId, ScalarType};
use crate::registers::{Slot, Width};
pub(super) use call::references;

/// Compilation of a program, function by function.
pub(super) struct Compiler<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) level: Level,
    pub(super) steps: Vec<Step>,
    pub(super) rare: Vec<Rare>,
    pub(super) inside: Vec<Inside>,
    pub(super) memory: Vec<MemoryInstruction>,
    pub(super) uses: Uses,
    pub(super) sites: Vec<SiteInfo>,
}

/// Compilation of one function.
struct Unit<'a, 'b> {
    compiler: &'b mut Compiler<'a>,
    layout: Layout<'a>,
    body: &'a Body,
    cfg: Cfg,
    is_entry: bool,
    /// Index of the function's first step.
    first: u32,
}

impl<'a> Compiler<'a> {
    /// Adds a function's steps to the program's.
    ///
    /// # Errors
    /// Fails if an instruction cannot be executed or the function cannot be laid out.
    pub(super) fn function(
        &mut self,
        function: &'a ptx::Function,
        body: &'a Body,
    ) -> Result<FunctionCode, LoadError> {
        let names = self.names;
        let is_entry = function.kind == FunctionKind::Entry;
        let wrong = |what: String| LoadError::Function {
            name: function.name.to_string(),
            line: function.position.line,
            what,
        };
        let layout = Layout::new(names, function, body, is_entry).map_err(wrong)?;
        let name: Arc<str> = (&*function.name).into();
        let first = self.steps.len() as u32;
        let cfg = Cfg::new(&names.index, body);
        let mut unit = Unit { compiler: self, layout, body, cfg, is_entry, first };
        for (instruction, index) in body.instructions.iter().zip(0..) {
            // Of an unknown opcode the site is needed for the error only.
            let op = instruction.opcode.op().unwrap_or(Op::Other { collective: false });
            let site = SiteInfo::new(&names.index, &name, instruction, op);
            unit.instruction(instruction, index).map_err(|error| LoadError::Instruction {
                error,
                line: instruction.position.line,
                source_line: site.user_line().map(ToString::to_string),
                function: name.to_string(),
            })?;
            unit.compiler.sites.push(site);
        }
        unit.end(&name);
        let Unit { layout, cfg, .. } = unit;
        let own = first as usize..self.steps.len();
        spins::mark(&mut self.steps, &self.rare, &self.sites, &self.uses, own);
        self.blame(&cfg, body, first);
        for (memory, on_chip) in [(Chained::Global, false), (Chained::OnChip, true)] {
            for site in waits::chained(body, &cfg, &self.uses, first, on_chip) {
                self.sites[site as usize].chained = Some(memory);
            }
        }
        for site in waits::indexed(body, &self.uses, first) {
            self.sites[site as usize].indexed = true;
        }
        let varying = uniform::varying(body, &layout, &self.uses, first);
        let combined = uniform::combined(body, &self.uses, &varying, first);
        for site in uniform::taking_work(body, &cfg, &self.uses, &combined, first) {
            self.sites[site].takes_work = true;
        }
        for site in combined {
            self.sites[site].combined = true;
        }
        for site in uniform::reductions(body, &self.uses, first) {
            self.sites[site].reduces = true;
        }
        let counting = uniform::counting(body, &layout, &self.uses, first);
        for site in counting.into_iter().chain(uniform::looking(body, first)) {
            self.sites[site].combined = true;
        }
        let mut slots = fused::slots(body, &cfg, &self.uses, &varying, (is_entry, first));
        for (at, merged) in adjacent::find(body, &cfg) {
            self.sites[(first + at) as usize].merged = Some(merged);
            if merged.bytes == 0 {
                slots[at as usize].issued = 0;
            }
        }
        for (at, stores) in behind::find(body, &cfg) {
            self.sites[(first + at) as usize].behind = Some(stores);
        }
        let guarded = predicated::bodies(body, &cfg, &slots);
        for (site, branch) in predicated::accesses(body, &cfg, &guarded, first) {
            self.sites[site as usize].guarded_by = Some(branch);
        }
        let unrolled = unrolled::find(body, &cfg, &slots);
        let waits = waits::find(body, &cfg, &self.uses, (&slots, &unrolled, &guarded), first);
        for WaitSite { site, turns, earlier } in waits.sites {
            let info = &mut self.sites[site as usize];
            info.waits_before = true;
            info.turns_together = turns;
            info.awaits_earlier = earlier;
        }
        for block in &cfg.blocks {
            for at in block.instructions.clone() {
                self.sites[(first + at) as usize].block = first + block.instructions.start;
            }
        }
        for (at, weight) in in_flight::weights(body, &cfg) {
            self.sites[(first + at) as usize].load_weight = weight;
        }
        for unrolled in &unrolled {
            for at in &unrolled.once {
                if unrolled.whole {
                    slots[*at as usize] = Slots::default();
                } else {
                    self.sites[(first + at) as usize].once_a_turn = Some(first + unrolled.begins);
                }
            }
        }
        let clocks = dependencies::find(body, &cfg, &self.uses, (&slots, &unrolled), first);
        for (site, (slots, clocks)) in
            self.sites[first as usize..].iter_mut().zip(slots.into_iter().zip(clocks))
        {
            (site.slots, site.dependency_clocks) = (slots, clocks);
        }
        for (place, site) in self.sites.iter_mut().enumerate().skip(first as usize) {
            let cells = |slots: &[Slot]| slots.iter().map(|slot| slot.cell).collect();
            (site.reads, site.writes) = (cells(self.uses.sources(place)), cells(self.uses.results(place)));
            site.address = self.uses.address(place).map(|slot| slot.cell);
        }
        let code = (&self.steps[..], &self.rare[..]);
        let live = Liveness::new(&cfg, &layout, &self.uses, code, (body, &varying), first);
        let cells = layout.cells().map_err(wrong)?;
        let changing = |when: Changes| {
            let of_kind = layout.filled.iter().filter_map(move |(slot, fill)| match fill {
                Fill::Special(special, size) if special.changes() == when => Some((*slot, *special, *size)),
                _ => None,
            });
            of_kind.collect()
        };
        let locals = layout.filled.iter().filter_map(|(slot, fill)| match fill {
            Fill::Local(offset) => Some((*slot, *offset)),
            _ => None,
        });
        Ok(FunctionCode {
            name,
            first,
            end: self.steps.len() as u32,
            cells,
            is_entry,
            undefined_at_start: live.at_start,
            most_live: live.most,
            live_at_calls: live.at_calls,
            round_trips: waits.round_trips,
            phased: waits.phased,
            by_block: changing(Changes::ByBlock),
            by_warp: changing(Changes::ByWarp),
            locals: locals.collect(),
            filled: layout.filled,
            local_bytes: layout.local_bytes,
            copies: layout.copies,
            parameters: layout.parameters,
            returns: layout.returns,
        })
    }
}

impl Compiler<'_> {
    /// Gives a `trap` without a line of the program that of the branch that leads to it. For a panic, compilers only
    /// give the line in the library at the `trap`, and that of the program at the branch.
    fn blame(&mut self, cfg: &Cfg, body: &Body, first: u32) {
        let says = |site: &SiteInfo| site.source.iter().any(|line| !line.is_library());
        let mut predecessors: Option<Vec<Vec<BlockId>>> = None;
        for (instruction, index) in body.instructions.iter().zip(0..) {
            let site = (first + index) as usize;
            if instruction.opcode.op() != Ok(Op::Trap) || says(&self.sites[site]) {
                continue;
            }
            let predecessors = predecessors.get_or_insert_with(|| cfg.predecessors());
            let mut block = cfg.block_of(index);
            // If paths merge before the `trap`, its branch is ambiguous, and it gets no line.
            let mut seen = HashSet::new();
            while let Some(here) = block.filter(|here| seen.insert(*here)) {
                let [before] = predecessors[here.0 as usize].as_slice() else { break };
                let branch = (first + cfg.block(*before).instructions.end).saturating_sub(1) as usize;
                if says(&self.sites[branch]) {
                    let lines = self.sites[branch].source.clone();
                    self.sites[site].source.extend(lines);
                    break;
                }
                block = Some(*before);
            }
        }
    }
}

impl Unit<'_, '_> {
    /// Adds the return behind the last instruction.
    fn end(&mut self, name: &Arc<str>) {
        let rare = if self.is_entry { Rare::Exit } else { Rare::Return };
        let action = self.rare(rare);
        self.push(ALWAYS, false, action, &Use { sources: vec![ALWAYS], ..Use::default() });
        let line = self.body.end.line;
        self.compiler.sites.push(SiteInfo::alone(name.clone(), "ret", Op::Ret, line));
    }

    fn rare(&mut self, rare: Rare) -> Action {
        self.compiler.rare.push(rare);
        Action::Rare(self.compiler.rare.len() as u32 - 1)
    }

    fn push(&mut self, guard: Slot, negated: bool, action: Action, uses: &Use) {
        let flip = if negated { u32::MAX } else { 0 };
        self.compiler.steps.push(Step { guard: guard.cell, flip, action });
        self.compiler.uses.push(uses);
    }

    fn instruction(&mut self, instruction: &Instruction, index: u32) -> Result<(), DecodeError> {
        self.layout.begin(instruction);
        let mut uses = Use::default();
        let (guard, negated) = match instruction.guard {
            None => (ALWAYS, false),
            Some(guard) => (self.layout.register(guard.register, 0)?, guard.negated),
        };
        if guard.width != Width::Predicate {
            return Err(DecodeError::operands(instruction, "its guard is not a predicate"));
        }
        uses.sources.push(guard);
        let op = instruction.opcode.op()?;
        let action = match self.control(instruction, &op, index, &mut uses)? {
            Some(action) => action,
            None => self.other(instruction, op, &mut uses)?,
        };
        self.push(guard, negated, action, &uses);
        Ok(())
    }

    /// Compiles control flow and synchronisation, which the executor implements itself.
    fn control(
        &mut self,
        instruction: &Instruction,
        op: &Op,
        index: u32,
        uses: &mut Use,
    ) -> Result<Option<Action>, DecodeError> {
        let wrong = |what: &str| Err(DecodeError::operands(instruction, what));
        let operands = instruction.operands.as_slice();
        let rare = match op {
            Op::Bra => {
                let [Operand::Label(label)] = operands else { return wrong("expected a label") };
                let Some(target) = self.body.target(*label) else { return wrong("no such place") };
                let branch = Branch {
                    target: self.first + target,
                    meets: self.flow().meets(index),
                    inside: self.inside(index, &[target]),
                    is_guarded: instruction.guard.is_some(),
                    is_backward: target <= index,
                    spins: false,
                    is_tangled: !self.cfg.reducible,
                };
                return Ok(Some(Action::Branch(branch)));
            }
            Op::Brx => {
                let [selector, Operand::Label(list)] = operands else {
                    return wrong("expected an index and a list");
                };
                let list = self.body.labels.get(list.0 as usize).map(|label| &label.meaning);
                let Some(LabelMeaning::BranchTargets(labels)) = list else {
                    return wrong("expected `.branchtargets`");
                };
                let targets = labels.iter().map(|label| self.body.target(*label));
                let Some(targets) = targets.collect::<Option<Box<[u32]>>>() else {
                    return wrong("no such place");
                };
                let inside = self.inside(index, &targets);
                let targets = targets.iter().map(|target| self.first + target).collect();
                let index_slot = self.word(selector, uses)?;
                Rare::Switch { index: index_slot, targets, meets: self.flow().meets(index), inside }
            }
            Op::Call => self.call(instruction, uses)?,
            Op::Ret if self.is_entry => Rare::Exit,
            Op::Ret => Rare::Return,
            Op::Exit => Rare::Exit,
            Op::Trap => Rare::Trap,
            Op::Brkpt => Rare::Breakpoint,
            Op::Pmevent | Op::Griddepcontrol { .. } | Op::Setmaxnreg { .. } => Rare::Nothing,
            Op::Nanosleep => {
                let [time] = operands else { return wrong("expected a time") };
                Rare::Sleep(self.word(time, uses)?)
            }
            Op::WarpSync => self.warp_sync(instruction, uses)?,
            Op::ClusterBarrier { waits: true, .. } => Rare::ClusterWait,
            Op::ClusterBarrier { waits: false, .. } => Rare::ClusterArrive,
            Op::Barrier { verb, aligned } => self.barrier(instruction, *verb, *aligned, uses)?,
            Op::Memory(Memory::Ld(access)) if access.is_parameter() => {
                return self.load_parameter(instruction, access, uses);
            }
            Op::Memory(Memory::St(access)) if access.is_parameter() => {
                self.store_parameter(instruction, access, uses)?
            }
            _ => return Ok(None),
        };
        Ok(Some(self.rare(rare)))
    }

    fn flow(&self) -> Flow<'_> {
        Flow { cfg: &self.cfg, body: self.body, first: self.first, is_entry: self.is_entry }
    }

    /// Adds what is to be known of a branch in loops to the program. Returns its index, or [`NOT_INSIDE`].
    fn inside(&mut self, index: u32, targets: &[u32]) -> u32 {
        let inside = self.flow().inside(index, targets);
        inside.map_or(NOT_INSIDE, |inside| {
            self.compiler.inside.push(inside);
            self.compiler.inside.len() as u32 - 1
        })
    }

    /// Returns the column of a 32-bit source operand.
    fn word(&mut self, operand: &Operand, uses: &mut Use) -> Result<Slot, DecodeError> {
        let slot = self.layout.source(operand, ScalarType::U32)?;
        if slot.width != Width::Word {
            return Err(self.misfit("an operand that is not a 32-bit value"));
        }
        uses.sources.push(slot);
        Ok(slot)
    }

    fn misfit(&self, what: &str) -> DecodeError {
        self.layout.misfit(what)
    }

    /// Compiles arithmetic, collectives and memory instructions.
    fn other(&mut self, instruction: &Instruction, op: Op, uses: &mut Use) -> Result<Action, DecodeError> {
        let split = self.with_split_vectors(instruction);
        let instruction = split.as_ref().unwrap_or(instruction);
        let op = match op {
            // By an address in a register, which is one in constant or local memory.
            Op::Memory(Memory::Ld(access)) if access.is_parameter() => {
                let space = if self.is_entry { AddressSpace::Constant } else { AddressSpace::Local };
                Op::Memory(Memory::Ld(Access { space: Some(space), ..access }))
            }
            op => op,
        };
        let level = self.compiler.level;
        if let Some(arithmetic) = alu::decode(instruction, &mut self.layout, level)? {
            uses.sources.extend(arithmetic.sources());
            uses.results.extend(arithmetic.results());
            if self.layout.always.is_empty() {
                return Ok(Action::Arithmetic(arithmetic));
            }
            let columns = self.clocks();
            return Ok(self.rare(Rare::Timed { columns, arithmetic }));
        }
        let action = if let Some(collective) = alu::decode_collective(instruction, &mut self.layout, level)? {
            uses.sources.extend(collective.sources());
            uses.results.extend(collective.results());
            let constant = collective.member_mask.and_then(|slot| self.layout.constant(slot));
            self.rare(Rare::Collective(collective, constant.map(|bits| bits as u32)))
        } else if let Op::Mma(mma) = op {
            let product = alu::decode_product(instruction, &mma, &mut self.layout, level)?;
            uses.sources.extend(product.sources());
            uses.results.extend(product.results());
            self.rare(Rare::Product(Box::new(product)))
        } else if let Some(decoded) = memory::decode(instruction, &op, &mut self.layout, level)? {
            uses.sources.extend(decoded.sources());
            uses.sources.extend(decoded.addresses());
            uses.results.extend(decoded.results());
            uses.address = decoded.addresses().first().copied();
            self.compiler.memory.push(decoded);
            Action::Memory(self.compiler.memory.len() as u32 - 1)
        } else {
            return Err(DecodeError::unsupported(instruction));
        };
        if !self.layout.always.is_empty() {
            return Err(self.misfit("a clock is read by `mov` and arithmetic only"));
        }
        Ok(action)
    }

    fn clocks(&self) -> Box<[(Slot, Special, u8)]> {
        let fill = |slot: &Slot| match self.layout.filled.iter().find(|(other, _)| other == slot) {
            Some((_, Fill::Special(special, size))) => Some((*slot, *special, *size)),
            _ => None,
        };
        self.layout.always.iter().filter_map(fill).collect()
    }

    /// Returns the instruction with the elements of vector registers in their place, if it has any.
    fn with_split_vectors(&self, instruction: &Instruction) -> Option<Instruction> {
        let vector = |operand: &Operand| match operand {
            Operand::Register(register) => {
                self.body.family(*register)?.vector.map(|count| (*register, count))
            }
            _ => None,
        };
        if !instruction.operands.iter().any(|operand| vector(operand).is_some()) {
            return None;
        }
        let mut changed = instruction.clone();
        for operand in &mut changed.operands {
            if let Some((register, count)) = vector(operand) {
                *operand = elements(register, count);
            }
        }
        Some(changed)
    }
}

/// Returns the elements of a vector register.
fn elements(register: RegisterId, count: u8) -> Operand {
    use crate::ptx::Component::{W, X, Y, Z};
    let components = [X, Y, Z, W].into_iter().take(usize::from(count));
    Operand::Vector(components.map(|component| Operand::Element(register, component)).collect())
}
