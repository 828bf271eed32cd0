//! Shared memory: maps a request's lanes to banks and counts the wavefronts that serve them.
//!
//! Addresses are offsets in the block's shared memory. In a *wavefront* each bank delivers one word. A request without
//! conflicts takes the *ideal* number of wavefronts, and the excess is the cost of bank conflicts. For example, 32
//! lanes that load one column of a row-major tile of 32 x 32 `f32` all access one bank at different words: 32
//! wavefronts, of which 1 is ideal. With rows padded to 33 elements, the lanes access 32 different banks: 1 wavefront.

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

/// Wavefronts of one shared-memory instruction of one warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Wavefronts taken.
    pub taken: u32,
    /// Wavefronts without any bank conflict.
    pub ideal: u32,
}

impl Wavefronts {
    /// Returns the wavefronts lost to conflicts.
    pub fn excess(&self) -> u32 {
        self.taken - self.ideal
    }
}

/// Layout of a card's shared memory in banks.
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
    /// Returns the rule of a compute capability; `mode` matters on 3.x alone.
    pub fn new(capability: ComputeCapability, mode: BankMode) -> Self {
        match capability.major {
            1 => Self::Sixteen,
            2 => Self::Fermi,
            3 => Self::Kepler(mode),
            _ => Self::ThirtyTwo,
        }
    }

    /// Returns the request's wavefronts.
    ///
    /// From 2.0 on, lanes that access the same word never conflict, in loads and in stores. Accesses of 8 and 16 bytes
    /// are divided into half-warps and quarter-warps, as the guide says for 2.x. From 5.0 on, two of these parts are
    /// one if each lane of a load accesses what its neighbour does, or the lane after next. That was measured with 138
    /// patterns on an H200 (`tests/shared_h200.jsonl`) and is assumed for all cards from 5.0 on. On 2.x each quarter of
    /// a 16-byte access takes one wavefront more than its worst bank. The banks of 3.x are twice as wide, so 8 bytes go
    /// in one part and 16 in two; the guide does not say so, but it follows from the width. In 8-byte mode the rule is
    /// applied literally, which makes a stride of three 4-byte words two-way, although the guide claims elsewhere that
    /// no pattern is worse than on 2.x.
    pub fn wavefronts(self, request: &Request<'_>) -> Wavefronts {
        let width = self.width(request);
        match self {
            Self::Sixteen => sixteen(request),
            Self::Fermi => {
                let mut wavefronts = thirty_two(request, width, four_byte_word);
                if request.bytes == 16 {
                    wavefronts.taken += wavefronts.ideal;
                }
                wavefronts
            }
            Self::Kepler(mode) => {
                let cell = match mode {
                    BankMode::FourBytes => kepler_four_byte_word,
                    BankMode::EightBytes => kepler_eight_byte_word,
                };
                thirty_two(request, width, cell)
            }
            Self::ThirtyTwo => thirty_two(request, width, four_byte_word),
        }
    }

    /// Returns how many lanes each part of the request has; [`Self::wavefronts`] says why there are parts.
    pub(crate) fn width(self, request: &Request<'_>) -> usize {
        let bytes = request.bytes as usize;
        match self {
            Self::Sixteen => LANES / 2,
            Self::Fermi => LANES / (bytes / 4).max(1),
            Self::Kepler(_) => LANES / (bytes / 8).max(1),
            Self::ThirtyTwo => {
                let width = LANES / (bytes / 4).max(1);
                if bytes > 4 && is_paired(request) { 2 * width } else { width }
            }
        }
    }
}

/// Returns true for a load in which each lane accesses what its neighbour does, or each what the lane after next does:
/// lanes 0 and 1, 2 and 3, ..., or lanes 0 and 2, 1 and 3, ...
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

/// Maps an address to its bank and to the word in it: two lanes conflict in one bank at different words.
type Cell = fn(u64) -> (usize, u64);

fn four_byte_word(address: u64) -> (usize, u64) {
    ((address / 4 % 32) as usize, address / 128)
}

/// Words `i` and `i + 32` of the same 64 lie side by side in a bank of 8 bytes.
fn kepler_four_byte_word(address: u64) -> (usize, u64) {
    ((address / 4 % 32) as usize, address / 256)
}

fn kepler_eight_byte_word(address: u64) -> (usize, u64) {
    ((address / 8 % 32) as usize, address / 256)
}

/// Counts the wavefronts of parts of `width` lanes: in each part, the most distinct words of one bank.
fn thirty_two(request: &Request<'_>, width: usize, cell: Cell) -> Wavefronts {
    let mut wavefronts = Wavefronts::default();
    for start in (0..LANES).step_by(width) {
        // Each lane accesses at most four words, and 32 lanes of four words are in four parts of eight lanes.
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

/// Counts the wavefronts on 1.x. A half-warp is a request. Accesses of 8 and 16 bytes are two and four requests of one
/// 4-byte word per lane, which lie two and four words apart and so conflict by themselves.
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

/// Counts the steps of a load on 1.x. In each step one word is broadcast to all lanes that access it, and every other
/// bank serves one lane. The guide leaves open which word and which lane; here it is the word of most remaining lanes,
/// and the lowest lane.
fn steps_with_one_broadcast(addresses: &[u64]) -> u32 {
    let mut unserved = (1_u32 << addresses.len()) - 1;
    let mut steps = 0;
    while unserved != 0 {
        let waiting = |unserved: u32| (0..addresses.len()).filter(move |lane| unserved >> lane & 1 == 1);
        let wanted_by = |word: u64| waiting(unserved).filter(|&lane| addresses[lane] / 4 == word).count();
        // `rev`, since `max_by_key` returns the last of equals, and the first is wanted.
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

/// Counts the steps of a store on 1.x. Lanes that write the same location count once, since only one of them wins;
/// other bytes of the same word conflict.
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
