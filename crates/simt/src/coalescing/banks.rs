//! Shared memory: the banks that a request's lanes meet in, and how many wavefronts it takes to serve them all.
//!
//! Addresses are offsets in the block's shared memory. A *wavefront* is what all banks deliver at once; a request
//! without conflicts takes the *ideal* number, and the excess is the price of conflicts.

use super::capability::ComputeCapability;
use super::request::{Access, LANES, Request};

/// Width of a bank on 3.x, chosen with `cuCtxSetSharedMemConfig`. Other cards have one mode only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BankMode {
    /// Successive 4-byte words in successive banks.
    #[default]
    FourBytes,
    /// Successive 8-byte words in successive banks.
    EightBytes,
}

/// How many wavefronts one instruction of one warp takes in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Wavefronts taken.
    pub taken: u32,
    /// Wavefronts that it takes when no two lanes meet in a bank.
    pub ideal: u32,
}

impl Wavefronts {
    /// Wavefronts lost to conflicts.
    pub fn excess(&self) -> u32 {
        self.taken - self.ideal
    }
}

/// How a card's shared memory is laid out in banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankRule {
    /// 1.x: 16 banks of 4 bytes, half-warps (CUDA C Programming Guide 5.0, F.3.3).
    Sixteen,
    /// 2.x: 32 banks of 4 bytes, any number of words broadcast (the same, F.4.3).
    Fermi,
    /// 3.x: 32 banks of 8 bytes, in two modes (the same, F.5.3).
    Kepler(BankMode),
    /// From 5.0 on: 32 banks of 4 bytes (current guide, "Shared Memory" of 5.x).
    ThirtyTwo,
}

impl BankRule {
    /// The rule of a compute capability; `mode` matters to 3.x alone.
    pub fn new(capability: ComputeCapability, mode: BankMode) -> Self {
        match capability.major {
            1 => Self::Sixteen,
            2 => Self::Fermi,
            3 => Self::Kepler(mode),
            _ => Self::ThirtyTwo,
        }
    }

    /// The request's wavefronts.
    ///
    /// Lanes that touch the same word never conflict from 2.0 on, in loads and in stores. Accesses of 8 and 16 bytes
    /// are judged by half-warps and quarter-warps, as the guide says for 2.x. From 5.0 on two of these parts are judged
    /// as one in a load whose neighbouring lanes, or whose next but one, want the same: so it is on an H200, where 138
    /// patterns were counted (`tests/shared_h200.jsonl`), and is taken to be from 5.0 on. On 2.x each quarter of a 16-byte access takes one wavefront more than its worst bank. The banks of 3.x are twice
    /// as wide, so there 8 bytes go in one and 16 in two; the guide does not say so, it follows from the width. In
    /// 8-byte mode the rule is applied literally, which makes a stride of three 4-byte words two-way, though the guide
    /// elsewhere claims that no pattern gets worse than on 2.x.
    pub fn wavefronts(self, request: &Request<'_>) -> Wavefronts {
        let bytes = request.bytes as usize;
        match self {
            Self::Sixteen => sixteen(request),
            Self::Fermi => {
                let mut wavefronts = thirty_two(request, LANES / (bytes / 4).max(1), four_byte_word);
                if bytes == 16 {
                    wavefronts.taken += wavefronts.ideal;
                }
                wavefronts
            }
            Self::Kepler(mode) => {
                let cell = match mode {
                    BankMode::FourBytes => kepler_four_byte_word,
                    BankMode::EightBytes => kepler_eight_byte_word,
                };
                thirty_two(request, LANES / (bytes / 8).max(1), cell)
            }
            Self::ThirtyTwo => {
                let width = LANES / (bytes / 4).max(1);
                let width = if bytes > 4 && is_paired(request) { 2 * width } else { width };
                thirty_two(request, width, four_byte_word)
            }
        }
    }
}

/// Whether it is a load in which each lane wants what its neighbour does, or each what the next but one does: lanes 0 and 1,
/// 2 and 3, ..., or lanes 0 and 2, 1 and 3, ...
fn is_paired(request: &Request<'_>) -> bool {
    let with = |distance: usize| {
        (0..LANES).all(|lane| {
            let other = lane ^ distance;
            let takes_part = |lane: usize| request.active >> lane & 1 == 1;
            !takes_part(lane) || takes_part(other) && request.addresses[lane] == request.addresses[other]
        })
    };
    request.access == Access::Load && (with(1) || with(2))
}

/// The bank of a byte, and which of the bank's contents it belongs to: two lanes conflict when the bank is the same and
/// the contents differ.
type Cell = fn(u64) -> (usize, u64);

fn four_byte_word(address: u64) -> (usize, u64) {
    ((address / 4 % 32) as usize, address / 128)
}

/// Words `i` and `i + 32` of the same 64 sit side by side in a bank of 8 bytes.
fn kepler_four_byte_word(address: u64) -> (usize, u64) {
    ((address / 4 % 32) as usize, address / 256)
}

fn kepler_eight_byte_word(address: u64) -> (usize, u64) {
    ((address / 8 % 32) as usize, address / 256)
}

/// Parts of `width` lanes, each taking as many wavefronts as its worst bank has different contents asked for.
fn thirty_two(request: &Request<'_>, width: usize, cell: Cell) -> Wavefronts {
    let mut wavefronts = Wavefronts::default();
    for start in (0..LANES).step_by(width) {
        // Each lane touches at most four words, and 32 lanes of four words are in four parts of eight lanes.
        let mut seen = [[0_u64; LANES]; 32];
        let mut count = [0_usize; 32];
        let mut worst = 0;
        for lane in (start..start + width).filter(|lane| request.active >> lane & 1 == 1) {
            let first = request.addresses[lane];
            for address in (first..first + u64::from(request.bytes)).step_by(4) {
                let (bank, content) = cell(address);
                if !seen[bank][..count[bank]].contains(&content) {
                    seen[bank][count[bank]] = content;
                    count[bank] += 1;
                    worst = worst.max(count[bank] as u32);
                }
            }
        }
        wavefronts.taken += worst;
        wavefronts.ideal += u32::from(worst > 0);
    }
    wavefronts
}

/// 1.x. A half-warp is a request; 8 and 16 bytes are two and four requests of one 4-byte word a lane, which lie two and
/// four words apart and so conflict of themselves.
fn sixteen(request: &Request<'_>) -> Wavefronts {
    let mut wavefronts = Wavefronts::default();
    for half in [0..LANES / 2, LANES / 2..LANES] {
        let (packed, count) = request.packed(half);
        if count == 0 {
            continue;
        }
        for pass in 0..u64::from(request.bytes).div_ceil(4) {
            let addresses = packed.map(|address| address + 4 * pass);
            wavefronts.ideal += 1;
            wavefronts.taken += match request.access {
                Access::Load => steps_with_one_broadcast(&addresses[..count]),
                Access::Store => locations_in_worst_bank(&addresses[..count]),
            };
        }
    }
    wavefronts
}

/// Loads on 1.x: in each step one word is broadcast to all lanes that want it, and every other bank serves one lane.
/// Which word is broadcast and which lane is served the guide leaves open; here it is the word that most lanes
/// still want, and the lowest lane.
fn steps_with_one_broadcast(addresses: &[u64]) -> u32 {
    let mut unserved = (1_u32 << addresses.len()) - 1;
    let mut steps = 0;
    while unserved != 0 {
        let waiting = |unserved: u32| (0..addresses.len()).filter(move |lane| unserved >> lane & 1 == 1);
        let wanted_by = |word: u64| waiting(unserved).filter(|&lane| addresses[lane] / 4 == word).count();
        // `rev`, because of equals the last is the maximum, and the first is wanted.
        let broadcast =
            waiting(unserved).rev().map(|lane| addresses[lane] / 4).max_by_key(|&word| wanted_by(word));
        let Some(broadcast) = broadcast else { break };
        let mut busy = 1_u16 << (broadcast % 16);
        for lane in waiting(unserved) {
            let word = addresses[lane] / 4;
            let bank = 1_u16 << (word % 16);
            if word == broadcast || busy & bank == 0 {
                busy |= bank;
                unserved &= !(1 << lane);
            }
        }
        steps += 1;
    }
    steps
}

/// Stores on 1.x: lanes that write the same location count once, since only one of them wins; other bytes of the same
/// word conflict.
fn locations_in_worst_bank(addresses: &[u64]) -> u32 {
    let mut locations = [0; LANES];
    let locations = &mut locations[..addresses.len()];
    locations.copy_from_slice(addresses);
    locations.sort_unstable();
    let mut count = [0_u32; 16];
    let mut last = None;
    for &location in &*locations {
        if last != Some(location) {
            count[(location / 4 % 16) as usize] += 1;
            last = Some(location);
        }
    }
    count.into_iter().max().unwrap_or(0)
}
