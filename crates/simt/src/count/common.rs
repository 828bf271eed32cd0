//! Estimates what all blocks of a launch load, such as the vector of a matrix-vector product.
//!
//! The simulator looks up L1 for each block by itself, but the resident blocks of a multiprocessor share it, and come at about the
//! same time to what all of them load: one of them fetches it. Blocks that only overlap with their neighbours, as in a stencil, run
//! on different multiprocessors. So the sectors of the first run of blocks are looked for in a few runs far from it.
//!
//! For example, blocks of 768 sectors each, 512 of them the same, four to a run: a run requests 4 * 768 sectors, of which
//! 512 + 4 * 256 are different. If a later run has 512 of those of the first, each block has 512 in common with all others; with six
//! blocks on a multiprocessor, five in six of these are in L1.
//!
//! Sectors that L2 reads, simulated over those that Nsight Compute counts: as blocks by themselves request them, and without these:
//!
//! ```text
//! gemv_bf16         2.97    1.18
//! coulomb_grid      2.76    1.38
//! flash_tile        1.81    1.13
//! sobel             1.02    1.02    neighbours only
//! ```

use super::group::Group;
use crate::decode::Level;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Runs that are compared with the first.
const SAMPLES: u64 = 16;

/// Hashes the number of a group by a multiplication: runs look up some hundred thousand of them in a launch.
#[derive(Default)]
struct GroupHasher(u64);

impl Hasher for GroupHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
        // A table is indexed by the low bits, and told apart by the high ones.
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Sectors by group.
type Sectors = HashMap<u64, u32, BuildHasherDefault<GroupHasher>>;

/// Sectors that runs of blocks have in common.
#[derive(Debug)]
pub(super) struct Common {
    /// Runs of the launch.
    of_launch: u64,
    /// Runs that have ended.
    runs: u64,
    /// Sectors that runs request from L2 to read, each once a run.
    distinct: u64,
    /// Sectors that the first run reads.
    first: Sectors,
    compared: u64,
    /// Those among them that the runs that were compared read, too.
    found: u64,
}

#[inline(always)]
fn count(sectors: u32) -> u64 {
    sectors.count_ones().into()
}

/// Returns how many sectors some groups read.
fn sectors_read(groups: &[Group], level: Level) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        #[target_feature(enable = "popcnt")]
        fn counted(groups: &[Group]) -> u64 {
            groups.iter().map(|group| count(group.read)).sum()
        }
        // SAFETY: this level is set only where the computer supports it.
        return unsafe { counted(groups) };
    }
    let _ = level;
    groups.iter().map(|group| count(group.read)).sum()
}

impl Common {
    pub(super) fn new(runs: u64) -> Self {
        Self { of_launch: runs, runs: 0, distinct: 0, first: Sectors::default(), compared: 0, found: 0 }
    }

    /// Adds the groups of the next run.
    pub(super) fn add(&mut self, groups: &[Group], level: Level) {
        self.distinct += sectors_read(groups, level);
        if self.runs == 0 {
            groups.iter().for_each(|group| *self.first.entry(group.index).or_default() |= group.read);
        } else if self.runs > 1 && self.runs.is_multiple_of((self.of_launch / SAMPLES).max(1)) {
            let mut both = Sectors::default();
            for group in groups {
                let common = group.read & self.first.get(&group.index).copied().unwrap_or(0);
                if common != 0 {
                    *both.entry(group.index).or_default() |= common;
                }
            }
            self.compared += 1;
            self.found += both.into_values().map(count).sum::<u64>();
        }
        self.runs += 1;
    }

    /// Sectors that runs request from L2 to read, each once a run.
    pub(super) fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Of the sectors that blocks request, those that all request, each counted for each block. `lost` are those that a block
    /// requests again because L1 has lost them.
    pub(super) fn of_blocks(&self, blocks: u64, requested: u64, lost: u64) -> f64 {
        if self.compared == 0 {
            return 0.0;
        }
        let of_block = self.found as f64 / self.compared as f64;
        let a_run = blocks as f64 / self.runs as f64;
        let repeated = requested.saturating_sub(self.distinct + lost) as f64;
        // Where a run is one block, nothing tells how many of them its blocks repeat.
        let most = if a_run > 1.0 { repeated * a_run / (a_run - 1.0) } else { requested as f64 };
        (of_block * blocks as f64).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of four blocks, of which each reads 256 sectors of its own and `common` of all; and a few of the next block's.
    fn common(common: u64, neighbours: u64) -> f64 {
        let mut counted = Common::new(64);
        for run in 0..64 {
            let own = 4 * 256 + neighbours;
            let sectors = (0..common).chain((0..own).map(|sector| 10_000 + run * 4 * 256 + sector));
            let mut groups: HashMap<u64, u32> = HashMap::new();
            sectors.for_each(|sector| *groups.entry(sector / 32).or_default() |= 1 << (sector % 32));
            let groups: Vec<Group> =
                groups.into_iter().map(|(index, read)| Group { index, read, written: 0 }).collect();
            counted.add(&groups, Level::detect());
        }
        counted.of_blocks(256, 256 * (256 + common + neighbours), 0)
    }

    #[test]
    fn what_all_blocks_read_is_told_from_what_neighbours_do() {
        assert_eq!(common(512, 0), 512.0 * 256.0);
        assert_eq!(common(0, 64), 0.0);
        assert_eq!(common(32, 64), 32.0 * 256.0);
    }

    #[test]
    fn few_runs_tell_nothing() {
        let mut few = Common::new(2);
        let group = Group { index: 1, read: 1, written: 0 };
        few.add(&[group], Level::Portable);
        few.add(&[group], Level::Portable);
        assert_eq!(few.of_blocks(2, 2, 0), 0.0);
    }
}
