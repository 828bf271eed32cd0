//! Where warps wait for memory: the first uses of what loads from global memory give.

use super::spins::is_strong;
use super::uses::Uses;
use crate::ptx::cfg::{Block, Cfg};
use crate::ptx::{Body, Instruction};

/// What is found of a function.
pub(super) struct Waits {
    /// Instructions that a warp waits before, and of how many turns of a loop it then has the loads.
    pub(super) sites: Vec<(u32, u32)>,
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
    let mut sites = Vec::new();
    for (index, block) in cfg.blocks.iter().enumerate() {
        let turns = turns_together(index, block, (&kinds, &body.instructions), uses, first);
        sites.extend(
            block.instructions.clone().filter(|at| waits[*at as usize]).map(|at| (first + at, turns)),
        );
    }
    Waits { sites, round_trips, phased }
}

/// Values that ptxas has under way at least in a loop that it unrolls. Seen in what it makes for an H200 of `random_warp`
/// (one value a turn, 8 turns), of the plain product of matrices (4 values, 8 turns), and of `grid_stride_vector` (16
/// values, not unrolled).
const UNROLLED_VALUES: u32 = 8;

/// Of how many turns of a loop the loads are under way together, because ptxas unrolls it and moves them up: those of a
/// loop that is one basic block, where nothing stands between a load and those of the next turn. Nothing does if there are
/// no stores, no barriers and no calls, if other threads have no part in the loads, and if neither addresses nor the end of
/// the loop depend on what is loaded.
fn turns_together(
    index: usize,
    block: &Block,
    (kinds, instructions): (&[Kind], &[Instruction]),
    uses: &Uses,
    first: u32,
) -> u32 {
    let places = (first + block.instructions.start) as usize..(first + block.instructions.end) as usize;
    let kind = |place: usize| kinds[place - first as usize];
    let is_load = |place: usize| kind(place) == Kind::Load;
    let loads = places.clone().filter(|place| is_load(*place));
    let values = loads.map(|place| uses.results(place).len() as u32).sum::<u32>();
    if values == 0 || !block.successors.iter().any(|next| next.0 as usize == index) {
        return 1;
    }
    let moves = |place: usize| {
        let opcode = &instructions[place - first as usize].opcode;
        matches!(kind(place), Kind::Load | Kind::Other)
            && !matches!(opcode.base(), "atom" | "call" | "membar" | "fence")
            && !is_strong(opcode.as_str())
    };
    if !places.clone().all(moves) {
        return 1;
    }
    let loaded = uses.depending(places.clone(), is_load);
    let mut decides = places.filter(|place| is_load(*place) || uses.results(*place).is_empty());
    if decides.any(|place| uses.reads(place, &loaded)) { 1 } else { (UNROLLED_VALUES / values).max(1) }
}
