//! Where warps wait for memory: the first uses of what loads from global memory give.

use super::uses::Uses;
use crate::ptx::cfg::Cfg;
use crate::ptx::{Body, Instruction};

/// What is found of a function.
pub(super) struct Waits {
    /// Instructions that a warp waits before.
    pub(super) sites: Vec<u32>,
    /// The most of them on one way through the function that goes through no block twice.
    pub(super) round_trips: u32,
    /// Whether a store to global memory can come behind a barrier that comes behind a load.
    pub(super) phased: bool,
}

/// What an instruction does to global memory, as far as its opcode says. Generic addresses count as global: compilers
/// name the other spaces where they know them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    /// Asynchronous copies, and waiting for them.
    CopyBegins,
    CopyAwaited,
    Barrier,
    Other,
}

/// The column that stands for asynchronous copies that have not been waited for.
const COPIES: u32 = u32::MAX;

fn kind(instruction: &Instruction) -> Kind {
    let opcode = &instruction.opcode;
    let elsewhere = opcode.modifiers().any(|word| {
        let space = word.split("::").next().unwrap_or(word);
        matches!(space, "shared" | "local" | "const" | "param")
    });
    match opcode.base() {
        "ld" | "ldu" | "atom" if !elsewhere => Kind::Load,
        "st" | "red" if !elsewhere => Kind::Store,
        "cp" if opcode.has("wait_group") || opcode.has("wait_all") => Kind::CopyAwaited,
        "cp" if opcode.has("async") => Kind::CopyBegins,
        "mbarrier" if opcode.has("try_wait") || opcode.has("test_wait") => Kind::CopyAwaited,
        "bar" | "barrier" if !opcode.has("warp") => Kind::Barrier,
        _ => Kind::Other,
    }
}

/// What is true before an instruction.
#[derive(Clone, Default, PartialEq)]
struct State {
    /// Columns of results that nobody has waited for.
    outstanding: Vec<u32>,
    loaded: bool,
    /// A barrier came behind a load.
    second_phase: bool,
}

impl State {
    fn join(&mut self, other: &Self) {
        self.outstanding.extend(&other.outstanding);
        self.outstanding.sort_unstable();
        self.outstanding.dedup();
        self.loaded |= other.loaded;
        self.second_phase |= other.second_phase;
    }
}

pub(super) fn find(body: &Body, cfg: &Cfg, uses: &Uses, first: u32) -> Waits {
    let kinds: Vec<Kind> = body.instructions.iter().map(kind).collect();
    if !kinds.iter().any(|kind| matches!(kind, Kind::Load | Kind::CopyBegins)) {
        return Waits { sites: Vec::new(), round_trips: 0, phased: false };
    }
    let mut before: Vec<State> = vec![State::default(); cfg.blocks.len()];
    let mut waits = vec![false; body.instructions.len()];
    let mut phased = false;
    // Once in the order of the text, and once more for what goes round loops.
    for _ in 0..2 {
        for (index, block) in cfg.blocks.iter().enumerate() {
            let mut state = before[index].clone();
            for at in block.instructions.clone() {
                let place = (first + at) as usize;
                let kind = kinds[at as usize];
                let wanted = uses.sources(place).iter().any(|slot| state.outstanding.contains(&slot.cell))
                    || kind == Kind::CopyAwaited && state.outstanding.contains(&COPIES);
                if wanted {
                    waits[at as usize] = true;
                    state.outstanding.clear();
                }
                let results = uses.results(place).iter().map(|slot| slot.cell);
                state.outstanding.retain(|cell| !results.clone().any(|result| result == *cell));
                match kind {
                    Kind::Load => {
                        state.outstanding.extend(results);
                        state.loaded = true;
                    }
                    Kind::CopyBegins => {
                        state.outstanding.push(COPIES);
                        state.loaded = true;
                    }
                    Kind::Barrier => state.second_phase |= state.loaded,
                    Kind::Store => phased |= state.second_phase,
                    Kind::CopyAwaited | Kind::Other => {}
                }
            }
            for next in &block.successors {
                before[next.0 as usize].join(&state);
            }
        }
    }
    // The longest way, forwards in the text: edges that go back close loops.
    let mut longest = vec![0u32; cfg.blocks.len()];
    let mut round_trips = 0;
    for (index, block) in cfg.blocks.iter().enumerate() {
        let here = block.instructions.clone().filter(|at| waits[*at as usize]).count() as u32;
        let behind = longest[index] + here;
        round_trips = round_trips.max(behind);
        for next in block.successors.iter().map(|next| next.0 as usize).filter(|next| *next > index) {
            longest[next] = longest[next].max(behind);
        }
    }
    let sites = waits.iter().zip(first..).filter(|(waits, _)| **waits).map(|(_, site)| site).collect();
    Waits { sites, round_trips, phased }
}
