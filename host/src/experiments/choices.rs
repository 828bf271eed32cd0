//! The options of single experiments. Each experiment names those that it takes.

use super::{Block, Placement};
use crate::sizes;
use clap::{Args, ValueEnum};
use std::{fmt, str::FromStr};

/// The heading of the options that say how large an experiment is.
pub(crate) const SIZES: &str = "Sizes of single experiments";

/// The user's values of these options; the experiment chooses the others.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choices {
    /// Threads per block: 256, 16x16, or several as in 16x16,32x8 [default: 256, or the experiment's own]
    ///
    /// The product is from 1 to the device's limit, usually 1024. It need not be a multiple of 32; the last warp of each
    /// block then has idle lanes. Two dimensions are for transpose and matmul.
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_name = "THREADS")]
    pub block: Vec<Block>,

    /// Elements in a row of the matrix [default: 2048; 1024 on a simulated card]
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_name = "N", value_parser = dimension)]
    pub nx: Option<u32>,

    /// Rows of the matrix [default: as many as --nx]
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_name = "N", value_parser = dimension)]
    pub ny: Option<u32>,

    /// Width of the tiles of a matrix multiplication, or several as in 8,16,32
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_name = "W", value_parser = dimension)]
    pub tile: Vec<u32>,

    /// Lanes of a shuffle, distinct words per request or bytes per lane, or several: 1,2,4,8,16,32
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_name = "W", value_parser = dimension)]
    pub width: Vec<u32>,

    /// Size of the matrices: N for square ones, or MxNxK for (M by K) times (K by N); or several
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_delimiter = ',', value_name = "N|MxNxK")]
    pub size: Vec<Matrices>,

    /// Multiply stacks of N matrices of each --size, in one launch
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_name = "N", value_parser = dimension)]
    pub batch: Option<u32>,

    /// The factor of the matrix product: C = alpha A B + beta C [default: 1]
    #[arg(long, allow_hyphen_values = true, value_name = "X", value_parser = coefficient)]
    pub alpha: Option<f32>,

    /// The factor of C before the product is added; with 0 C is not read [default: 0]
    #[arg(long, allow_hyphen_values = true, value_name = "X", value_parser = coefficient)]
    pub beta: Option<f32>,

    /// Oversubscription factor: the allocation over --budget, or several as in 0.5,1.0,1.5
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_delimiter = ',', value_name = "P", value_parser = factor)]
    pub factor: Vec<f64>,

    /// Page size, for partitioning and for random reads: 4KiB, 64KiB or 2MiB [default: 2MiB]
    #[arg(long, allow_hyphen_values = true, value_name = "4KiB|64KiB|2MiB", value_parser = page)]
    pub page: Option<u64>,

    /// Where the pages of unified memory are during a launch, or several placements
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PLACEMENT")]
    pub placement: Vec<Placement>,

    /// The access order of unified memory, or several
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PATTERN")]
    pub pattern: Vec<Pattern>,

    /// The memory that counts as the card's in the unified memory experiment
    #[arg(long, help_heading = SIZES, allow_hyphen_values = true, value_name = "SIZE", value_parser = sizes::parse)]
    pub budget: Option<u64>,

    /// Let managed memory exceed what a GPU has free
    ///
    /// Pages are then evicted while kernels run. A launch can take minutes, the card hangs for all its users meanwhile, and
    /// on some systems the machine must be restarted. A simulated card does not need this option.
    #[arg(long, help_heading = SIZES)]
    pub allow_oversubscription: bool,

    /// The stencil's four coefficients c1,c2,c3,c4 [default: those of the first derivative]
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_name = "C1,C2,C3,C4", value_parser = coefficient)]
    pub coefficients: Vec<f32>,
}

/// The order in which the kernels of the unified memory experiment read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// Neighbouring blocks read neighbouring memory
    GridStride,
    /// Each block reads a slice of its own
    BlockStride,
    /// Each warp reads 128 bytes of a random page, then of another
    RandomWarp,
}

/// The matrices of a product: C, of m rows and n columns, is A times B, and A has k columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matrices {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A and rows of B.
    pub k: u32,
}

impl FromStr for Matrices {
    type Err = String;

    fn from_str(text: &str) -> Result<Matrices, String> {
        let parts: Vec<&str> = text.split(['x', 'X', '×']).collect();
        let numbers = parts.iter().map(|part| dimension(part)).collect::<Result<Vec<u32>, String>>();
        match numbers?[..] {
            [n] => Ok(Matrices { m: n, n, k: n }),
            [m, n, k] => Ok(Matrices { m, n, k }),
            _ => {
                Err("it has to be one number, as in 1024, or three, as in 512x768x1024 (M, N, K)".to_string())
            }
        }
    }
}

impl fmt::Display for Matrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matrices { m, n, k } = self;
        if m == n && n == k { write!(f, "{n}") } else { write!(f, "{m}x{n}x{k}") }
    }
}

/// The largest row, column or width that kernels count in 32 bits.
const LARGEST: u32 = 1 << 31;

fn dimension(text: &str) -> Result<u32, String> {
    let number = text.trim().parse::<u32>().ok().filter(|number| (1..=LARGEST).contains(number));
    number.ok_or_else(|| format!("'{}' is not a whole number in 1..={LARGEST}", text.trim()))
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0);
    number
        .ok_or_else(|| format!("'{}' is not a factor: it has to be a number above 0, as in 1.5", text.trim()))
}

fn coefficient(text: &str) -> Result<f32, String> {
    let number = text.trim().parse::<f32>().ok().filter(|coefficient| coefficient.is_finite());
    number.ok_or_else(|| format!("'{}' is not a number in single precision, as in 0.8", text.trim()))
}

fn page(text: &str) -> Result<u64, String> {
    let sizes = "a page has 4KiB, 64KiB or 2MiB";
    let bytes = sizes::parse(text).map_err(|error| format!("{error}; {sizes}"))?;
    if [4 << 10, 64 << 10, 2 << 20].contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("there are no pages of that size: {sizes}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        choices: Choices,
    }

    fn parse(arguments: &[&str]) -> Result<Choices, String> {
        Line::try_parse_from(["x"].iter().chain(arguments))
            .map(|line| line.choices)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_chosen_by_default() {
        let choices = parse(&[]).expect("nothing is asked for");
        assert!(choices.block.is_empty() && choices.nx.is_none() && choices.budget.is_none());
    }

    #[test]
    fn every_choice_is_read() {
        let choices = parse(&[
            "--block",
            "16x16,32x8",
            "--nx",
            "100",
            "--ny",
            "33",
            "--tile",
            "16,32",
            "--width",
            "8",
            "--size",
            "512,3x5x7",
            "--factor",
            "0.5,1.5",
            "--page",
            "64KiB",
            "--placement",
            "zero-copy,partition",
            "--pattern",
            "random-warp",
            "--budget",
            "1GiB",
            "--allow-oversubscription",
            "--coefficients",
            "-0.8,0.2,1e-3,0",
        ]);
        let choices = choices.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(choices.block, [Block { x: 16, y: 16 }, Block { x: 32, y: 8 }]);
        assert_eq!((choices.nx, choices.ny), (Some(100), Some(33)));
        assert_eq!((&choices.tile[..], &choices.width[..]), (&[16, 32][..], &[8][..]));
        assert_eq!(choices.size, [Matrices { m: 512, n: 512, k: 512 }, Matrices { m: 3, n: 5, k: 7 }]);
        assert_eq!(choices.size.iter().map(Matrices::to_string).collect::<Vec<_>>(), ["512", "3x5x7"]);
        assert_eq!((&choices.factor[..], choices.page), (&[0.5, 1.5][..], Some(64 << 10)));
        assert_eq!(choices.placement, [Placement::ZeroCopy, Placement::Partition]);
        assert_eq!((&choices.pattern[..], choices.budget), (&[Pattern::RandomWarp][..], Some(1 << 30)));
        assert_eq!(choices.coefficients, [-0.8, 0.2, 1e-3, 0.0]);
    }

    #[test]
    fn what_makes_no_sense_says_why() {
        for (arguments, says) in [
            (["--nx", "0"], "'0' is not a whole number in 1..=2147483648"),
            (["--ny", "-5"], "'-5' is not a whole number"),
            (["--nx", "4294967296"], "1..=2147483648"),
            (["--block", "16x16,33x32"], "33 times 32 threads are 1056"),
            (["--size", "3x5"], "or three, as in 512x768x1024"),
            (["--size", "0x1x1"], "'0' is not a whole number"),
            (["--factor", "0"], "it has to be a number above 0"),
            (["--factor", "inf"], "it has to be a number above 0"),
            (["--page", "8KiB"], "a page has 4KiB, 64KiB or 2MiB"),
            (["--page", "4K"], "a page has 4KiB, 64KiB or 2MiB"),
            (["--coefficients", "a,b,c,d"], "'a' is not a number in single precision"),
            (["--placement", "nowhere"], "on-demand"),
            (["--pattern", "spiral"], "grid-stride"),
            (["--budget", "0"], "zero"),
        ] {
            let error = parse(&arguments).expect_err(says);
            assert!(error.contains(says), "{arguments:?}: {error}");
        }
    }
}
