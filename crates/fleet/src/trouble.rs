//! What is wrong with the records of a fleet, apart from slow cards.

use crate::data::{CardName, Kind};
use serde::Serialize;
use std::{fmt, path::PathBuf};

/// Something that keeps cards or rows from being judged. The rest is judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "trouble", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trouble {
    /// Ranks of a run have no record.
    MissingRanks {
        /// The run.
        run: String,
        /// The number of ranks that it had.
        ranks: u32,
        /// Those without a record, as inclusive ranges.
        missing: Vec<[u32; 2]>,
    },
    /// A card has fewer rows than most of its kind.
    Incomplete {
        /// The card.
        card: CardName,
        /// Its rows.
        rows: usize,
        /// The rows of most cards of its kind.
        expected: usize,
    },
    /// The last line of a file is not whole.
    CutOff {
        /// The file.
        file: PathBuf,
        /// The rows before it.
        rows: u64,
    },
    /// A line within a file is not a record.
    Damaged {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The reason.
        cause: String,
    },
    /// A file without a line.
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A file that cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        cause: String,
    },
    /// Somebody set a card's clocks.
    ClocksSet {
        /// The card.
        card: CardName,
        /// The highest clock of its SMs, in MHz.
        mhz: Option<f64>,
    },
    /// Several ranks measured one card at once.
    Shared {
        /// The run.
        run: String,
        /// The machine.
        host: String,
        /// The ranks.
        ranks: Vec<u32>,
    },
    /// There are several kinds of cards, each of which is judged by itself.
    SeveralKinds {
        /// The kinds with the number of their cards.
        kinds: Vec<(String, usize)>,
    },
    /// Several versions of the program measured; the cards of each are judged by themselves.
    SeveralVersions {
        /// The versions with the number of their cards.
        versions: Vec<(String, usize)>,
    },
    /// A kind has too few cards to be judged by each other.
    TooFew {
        /// The kind.
        kind: Kind,
        /// Its cards.
        cards: usize,
    },
}

impl Trouble {
    /// Whether somebody has to do something about it; the others only say how the fleet was judged.
    pub fn is_fault(&self) -> bool {
        !matches!(
            self,
            Trouble::SeveralKinds { .. } | Trouble::SeveralVersions { .. } | Trouble::TooFew { .. }
        )
    }

    /// The number of ranks without a record.
    pub(crate) fn missing(&self) -> u32 {
        match self {
            Trouble::MissingRanks { missing, .. } => {
                missing.iter().map(|[first, last]| last - first + 1).sum()
            }
            _ => 0,
        }
    }
}

/// `3, 7 to 9 and 12`.
fn ranges(ranges: &[[u32; 2]]) -> String {
    const SHOWN: usize = 8;
    let mut texts: Vec<String> = ranges
        .iter()
        .take(SHOWN)
        .map(|[first, last]| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    if ranges.len() > SHOWN {
        texts.push(format!("{} further ranges", ranges.len() - SHOWN));
    }
    joined(&texts)
}

fn joined(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn counted(each: &[(String, usize)]) -> String {
    let texts: Vec<String> =
        each.iter().map(|(name, cards)| format!("{name} ({})", of_cards(*cards))).collect();
    joined(&texts)
}

fn of_cards(cards: usize) -> String {
    if cards == 1 { "1 card".to_string() } else { format!("{cards} cards") }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::MissingRanks { run, ranks, missing } => {
                let (one, count) = (missing.len() == 1 && missing[0][0] == missing[0][1], self.missing());
                let (are, they) = if one {
                    ("has", "it died or never started")
                } else {
                    ("have", "they died or never started")
                };
                let plural = if one { "rank" } else { "ranks" };
                let count = if one { String::new() } else { format!(", {count} in all,") };
                write!(
                    f,
                    "{plural} {} of {ranks}{count} {are} no record in run {run}: {they}; the scheduler's log says why",
                    ranges(missing)
                )
            }
            Trouble::Incomplete { card, rows, expected } => write!(
                f,
                "{card} has {rows} of {expected} rows: its process ended early; it is judged by those that it has"
            ),
            Trouble::CutOff { file, rows } => write!(
                f,
                "{} ends within a line: its writer was killed, or the disk is full; the {rows} rows before are read",
                file.display()
            ),
            Trouble::Damaged { file, line, cause } => {
                write!(f, "{}:{line} is not a record ({cause}); the line is left out", file.display())
            }
            Trouble::Empty { file } => {
                write!(
                    f,
                    "{} is empty: its rank ended before the first row; its log says why",
                    file.display()
                )
            }
            Trouble::Unreadable { file, cause } => write!(f, "cannot read {}: {cause}", file.display()),
            Trouble::ClocksSet { card, mhz } => {
                let at = mhz.map(|mhz| format!(" at {mhz:.0} MHz")).unwrap_or_default();
                write!(
                    f,
                    "somebody set the clocks of {card}{at}, so it is not compared with the others: `nvidia-smi -rgc` and `-rac` \
                     reset them"
                )
            }
            Trouble::Shared { run, host, ranks } => {
                let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "ranks {} of run {run} measured the same card of {host} at once, so its figures are too low: start as many \
                     ranks per machine as it has cards",
                    joined(&ranks)
                )
            }
            Trouble::SeveralKinds { kinds } => {
                write!(
                    f,
                    "there are {} kinds of cards, each judged by itself: {}",
                    kinds.len(),
                    counted(kinds)
                )
            }
            Trouble::SeveralVersions { versions } => write!(
                f,
                "{} versions of the program measured, and the cards of each are judged by themselves: {}; install one \
                 everywhere",
                versions.len(),
                counted(versions)
            ),
            Trouble::TooFew { kind, cards } => write!(
                f,
                "there {} only {} of {} by version {}: too few to be judged by each other; `coalesce run --baseline` compares \
                 a card with its own earlier run",
                if *cards == 1 { "is" } else { "are" },
                of_cards(*cards),
                kind.device,
                if kind.version.is_empty() { "unknown" } else { &kind.version },
            ),
        }
    }
}
