//! Divides tiles among blocks evenly, where their number does not.

use core::ops::Range;

/// Steps that a part has at least: the results before it are stored in as many.
const LEAST: u32 = 4;

/// Some steps of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The tile's number.
    pub(super) tile: u32,
    /// The first step. Behind the tile's last step comes its first.
    pub(super) first: u32,
    /// The number of steps.
    pub(super) steps: u32,
    pub(super) sums: Sums,
}

/// What becomes of a part's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// They are a tile's.
    Whole,
    /// The block before adds them to its own.
    Given,
    /// Those of the next block are added to them.
    Added,
}

/// The parts of one block, in the order in which it computes them: its share of the first tiles, then whole tiles.
///
/// A launch keeps `n * blocks` tiles whole. The blocks share the others, between one and two tiles for each block: these tiles are
/// one list of steps, and each block takes an equal share of it. A share begins and ends within tiles or at their bounds, and is
/// at least a tile long, so a tile has at most two parts:
///
/// ```text
/// tiles   |    0    |    1    |    2    |    3    |    4    |         as many steps each
/// shares  |       0       |       1       |       2       |   ..
/// ```
///
/// Block 1 first computes its part of tile 1, and hands the sums on. Block 0 does its own last, so what it adds is long there.
///
/// Which steps a part has is another matter. L2 serves multiprocessors that ask for the same data at the same time together, and
/// is too slow by half for those that do not. So time decides: in its part of tile 1 block 1 takes the tile's first steps, and goes
/// on from there in tile 2, whose first steps come last. Block 0 takes the last steps of tile 1, and ends with the tile's end,
/// when all other blocks do. So at any time all blocks are at one of two steps.
pub(super) struct Parts {
    /// The share, from the next step on, in steps of all tiles.
    share: Range<u32>,
    /// The next whole tile behind the share.
    next: u32,
    /// The step at which the share's whole tiles begin.
    turn: u32,
    tiles: u32,
    /// Steps of a tile.
    steps: u32,
    blocks: u32,
}

impl Parts {
    /// The parts of one of so many blocks. Tiles have as many steps, at least four; `block` is below `blocks`. There are fewer than
    /// 2^32 steps in all.
    #[inline(always)]
    pub(super) fn new(tiles: u32, steps: u32, block: u32, blocks: u32) -> Self {
        let left = tiles % blocks;
        let shared = if left == 0 || tiles < blocks { 0 } else { left + blocks };
        let (each, more) = (shared * steps / blocks, shared * steps % blocks);
        let bound = |block: u32| {
            let step = block * each + if block < more { block } else { more };
            let before = step % steps;
            // A part of too few steps goes to the neighbour.
            match before {
                0..LEAST => step - before,
                _ if steps - before < LEAST => step - before + steps,
                _ => step,
            }
        };
        let share = bound(block)..bound(block + 1);
        let turn = (steps - share.start % steps) % steps;
        Self { share, next: shared + block, turn, tiles, steps, blocks }
    }
}

impl Iterator for Parts {
    type Item = Part;

    #[inline(always)]
    fn next(&mut self) -> Option<Part> {
        let Self { share: Range { start, end }, next: tile, turn, tiles, steps, blocks } = *self;
        if start >= end {
            self.next += blocks;
            return (tile < tiles).then_some(Part { tile, first: 0, steps, sums: Sums::Whole });
        }
        let (tile, before) = (start / steps, start % steps);
        let behind = start - before + steps;
        self.share.start = behind;
        Some(if before > 0 {
            Part { tile, first: 0, steps: steps - before, sums: Sums::Given }
        } else if behind > end {
            Part { tile, first: behind - end, steps: end - start, sums: Sums::Added }
        } else {
            Part { tile, first: turn, steps, sums: Sums::Whole }
        })
    }
}

impl Part {
    /// The numbers of its steps, where a tile has `of_tile`.
    #[inline(always)]
    pub(super) fn numbers(self, of_tile: u32) -> impl Iterator<Item = u32> {
        (self.first..self.first + self.steps)
            .map(move |step| if step < of_tile { step } else { step - of_tile })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{vec, vec::Vec};

    /// All parts of a launch, block by block.
    fn all(tiles: u32, steps: u32, blocks: u32) -> Vec<Vec<Part>> {
        (0..blocks).map(|block| Parts::new(tiles, steps, block, blocks).collect()).collect()
    }

    /// Tiles, steps of each, and blocks.
    const CASES: [(u32, u32, u32); 7] = [
        (1792, 64, 132),
        (2048, 128, 132),
        (200, 40, 132),
        (133, 4, 132),
        (263, 5, 132),
        (17, 9, 4),
        (7, 11, 3),
    ];

    #[test]
    fn every_step_of_every_tile_comes_once() {
        for (tiles, steps, blocks) in CASES {
            let parts = all(tiles, steps, blocks);
            let mut counted = vec![0; (tiles * steps) as usize];
            for part in parts.iter().flatten() {
                assert!(part.steps >= LEAST, "{part:?} of {tiles} tiles");
                for step in part.numbers(steps) {
                    counted[(part.tile * steps + step) as usize] += 1;
                }
            }
            assert!(counted.iter().all(|&times| times == 1), "{tiles} tiles");
        }
    }

    #[test]
    fn the_next_block_gives_first_what_a_block_adds_last() {
        for (tiles, steps, blocks) in CASES {
            let parts = all(tiles, steps, blocks);
            let mut given = 0;
            for (block, own) in parts.iter().enumerate() {
                for (nth, part) in own.iter().enumerate() {
                    match part.sums {
                        Sums::Whole => assert_eq!(part.steps, steps),
                        Sums::Given => {
                            assert_eq!(nth, 0);
                            given += 1;
                        }
                        Sums::Added => {
                            let other = parts[block + 1][0];
                            assert_eq!((other.tile, other.sums), (part.tile, Sums::Given));
                            assert_eq!(own[..nth].iter().filter(|part| part.sums == Sums::Added).count(), 0);
                            given -= 1;
                        }
                    }
                }
            }
            assert_eq!(given, 0, "what is given is added");
        }
    }

    #[test]
    fn all_blocks_take_as_long_and_are_at_one_of_two_steps() {
        let (steps, blocks) = (64, 132);
        let parts = all(1792, steps, blocks);
        let lengths = parts.iter().map(|parts| parts.iter().map(|part| part.steps).sum());
        let (least, most) =
            lengths.fold((u32::MAX, 0), |(least, most), length: u32| (least.min(length), most.max(length)));
        assert!(most - least <= 6, "{least} to {most}");
        // In their share, those that add are ahead of the others by as many steps as it has beyond its whole tiles.
        let shared = 1792 % blocks + blocks;
        let ahead = shared * steps / blocks % steps;
        for own in &parts {
            let mut time = 0;
            for part in own.iter().filter(|part| part.tile < shared) {
                let expected = if part.sums == Sums::Added { time + steps - ahead } else { time } % steps;
                let apart = (part.first + steps - expected) % steps;
                assert!(apart.min(steps - apart) <= 8, "{part:?} at {time}");
                time += part.steps;
            }
        }
    }

    #[test]
    fn tiles_that_come_out_even_are_whole() {
        for (tiles, blocks) in [(264, 132), (100, 132), (100, 100)] {
            let parts = all(tiles, 8, blocks);
            assert!(parts.iter().flatten().all(|part| part.sums == Sums::Whole && part.first == 0));
            assert_eq!(parts[1][0].tile, 1);
        }
    }
}
