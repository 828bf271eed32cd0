//! What is simulated: which cards, with which checks, on how many cores.

use std::path::{Path, PathBuf};
use std::time::Duration;

use simt::cards::{self, Card};
use simt::check::{Checks, UnknownCheck};
use thiserror::Error;

use crate::{DriverVersion, TableError};

/// The environment variable by which programs that know nothing of the simulator choose their cards: keys or paths of
/// card files, separated by commas. Each becomes a device, in this order.
pub const CARDS_VARIABLE: &str = "COALESCE_SIMULATE";

/// The environment variable that switches checks on: `memcheck`, `racecheck`, `initcheck`, `synccheck` and `leakcheck`,
/// separated by commas, or `all` of them but leakcheck. With `verbose` among them the report shows each finding in all detail.
pub const CHECKS_VARIABLE: &str = "COALESCE_CHECK";

/// The environment variable that says for how many seconds a kernel may get no further before it is ended as one without
/// end. 0: for ever.
pub const TIMEOUT_VARIABLE: &str = "COALESCE_TIMEOUT";

/// The longest time without progress that a kernel is given, unless [`TIMEOUT_VARIABLE`] or [`Settings::timeout`] says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The environment variable that names the file for a profile: a JSON object for each launch, and a table on stderr at the
/// end.
pub const PROFILE_VARIABLE: &str = "COALESCE_PROFILE";

/// The card that is simulated where none is named.
pub const DEFAULT_CARD: &str = "h200";

/// Whether the environment names cards to simulate, with [`CARDS_VARIABLE`].
pub(crate) fn is_asked_for() -> bool {
    stated(CARDS_VARIABLE).is_some()
}

/// The variable's value, unless it is empty.
fn stated(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// What to simulate, for [`bind_simulated`](super::bind_simulated).
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The cards, which become devices 0, 1, ... in this order. None: an H200.
    pub cards: Vec<Card>,
    /// What is checked at each launch, and of memory when it is freed. `None`: nothing, beyond what ends a launch anyway.
    pub checks: Option<Checks>,
    /// The report at the program's end shows each finding in all detail, instead of groups of them.
    pub each_finding: bool,
    /// Launches are executed by so many threads. `None`: one a core.
    pub workers: Option<usize>,
    /// Device memory in bytes, in place of each card's own.
    pub memory_bytes: Option<u64>,
    /// A launch in which for so long no warp ends and no block passes a barrier ends with `CUDA_ERROR_LAUNCH_TIMEOUT`.
    /// `None`: [`DEFAULT_TIMEOUT`]; zero: never.
    pub timeout: Option<Duration>,
    /// A file to write a record of each launch to.
    pub profile: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment: [`CARDS_VARIABLE`], [`CHECKS_VARIABLE`], [`TIMEOUT_VARIABLE`] and
    /// [`PROFILE_VARIABLE`]. Unset and empty ask for nothing.
    ///
    /// # Errors
    ///
    /// [`SimulatedError`] for an unknown card or check, a card file that cannot be read, or a time that is none.
    pub fn from_environment() -> Result<Self, SimulatedError> {
        let mut settings = Self::default();
        if let Some(cards) = stated(CARDS_VARIABLE) {
            settings.cards = cards_named(&cards)?;
        }
        if let Some(checks) = stated(CHECKS_VARIABLE) {
            let (checks, each_finding) = checks_named(&checks)?;
            settings.checks = Some(checks);
            settings.each_finding = each_finding;
        }
        settings.profile = stated(PROFILE_VARIABLE).map(PathBuf::from);
        if let Some(seconds) = stated(TIMEOUT_VARIABLE) {
            settings.timeout = Some(timeout(&seconds)?);
        }
        Ok(settings)
    }

    /// The cards, or the default one where none is named.
    pub(super) fn cards_or_default(&self) -> Result<Vec<Card>, SimulatedError> {
        if self.cards.is_empty() { cards_named(DEFAULT_CARD) } else { Ok(self.cards.clone()) }
    }
}

/// Cards by their keys or by the paths of their files (`.toml`), separated by commas.
///
/// # Errors
///
/// [`SimulatedError::UnknownCard`], [`SimulatedError::Unreadable`] or [`SimulatedError::CardFile`].
pub fn cards_named(names: &str) -> Result<Vec<Card>, SimulatedError> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(card_named).collect()
}

/// The checks of a list, and whether `verbose` is among the names. Alone it stands for all checks.
fn checks_named(list: &str) -> Result<(Checks, bool), UnknownCheck> {
    let (verbose, names): (Vec<&str>, Vec<&str>) = list.split(',').partition(|name| name.trim() == "verbose");
    let checks = if names.is_empty() { Checks::ALL } else { names.join(",").parse()? };
    Ok((checks, !verbose.is_empty()))
}

fn timeout(seconds: &str) -> Result<Duration, SimulatedError> {
    let found = seconds.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    found.ok_or_else(|| SimulatedError::NoTime { given: seconds.to_owned() })
}

fn card_named(name: &str) -> Result<Card, SimulatedError> {
    if !Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        return Ok(cards::find(name)?);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|cause| SimulatedError::Unreadable { path: name.to_owned(), cause })?;
    cards::from_toml(&text).map_err(|cause| SimulatedError::CardFile { path: name.to_owned(), cause })
}

/// Why nothing is simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulatedError {
    /// No built-in card has the key.
    #[error(transparent)]
    UnknownCard(#[from] cards::UnknownCard),
    /// The card file is not there, or not readable.
    #[error("the card file {path} cannot be read: {cause}")]
    Unreadable {
        /// As given.
        path: String,
        /// The system's words.
        cause: std::io::Error,
    },
    /// The card file is none.
    #[error("{path}: {cause}")]
    CardFile {
        /// As given.
        path: String,
        /// What is wrong, with the line.
        cause: cards::CardFileError,
    },
    /// There is no check of the name.
    #[error(transparent)]
    UnknownCheck(#[from] UnknownCheck),
    /// The profile's file cannot be made.
    #[error("the profile {} cannot be written: {cause}; {PROFILE_VARIABLE} names its file", path.display())]
    Profile {
        /// As given.
        path: PathBuf,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A time that is no number of seconds.
    #[error(
        "{TIMEOUT_VARIABLE} is {given:?}, which is no number of seconds: write 60, 0.5, or 0 for kernels that may run for ever"
    )]
    NoTime {
        /// As it was given.
        given: String,
    },
    /// A description of a card that cannot be.
    #[error("the card {key} cannot be: {cause}")]
    Impossible {
        /// The card's key.
        key: String,
        /// Which figure, and why.
        cause: cards::Impossible,
    },
    /// `CUDA_VISIBLE_DEVICES` shows no device.
    #[error(
        "CUDA_VISIBLE_DEVICES is \"{list}\", which shows none of the {devices} simulated devices. Unset it, or list \
         devices by their numbers from 0 on."
    )]
    Hidden {
        /// The variable's value.
        list: String,
        /// Devices that there are.
        devices: usize,
    },
    /// The addresses for a card's memory are not to be had.
    #[error("the memory of {card} cannot be simulated: {cause}. Ask for less with a smaller memory_bytes.")]
    Memory {
        /// The card's key.
        card: String,
        /// The simulator's words.
        cause: String,
    },
    /// A process has one driver, and it has it already.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The simulated driver, bound.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Simulated {
    /// The devices, in the order of their numbers.
    pub cards: Vec<Card>,
    /// The CUDA version that the simulated driver claims, which says what PTX it reads.
    pub driver_version: DriverVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_is_a_word_among_the_checks() {
        let racecheck = Checks::NONE.with(simt::check::Check::Racecheck);
        assert_eq!(checks_named("racecheck"), Ok((racecheck, false)));
        assert_eq!(checks_named("verbose, racecheck"), Ok((racecheck, true)));
        assert_eq!(checks_named("all,verbose"), Ok((Checks::ALL, true)));
        assert_eq!(checks_named("verbose"), Ok((Checks::ALL, true)));
        assert!(checks_named("racechek,verbose").is_err());
    }

    #[test]
    fn cards_are_named_by_key_and_by_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mine.toml");
        std::fs::write(&file, "extends = \"a100-80\"\nkey = \"mine\"\nmultiprocessors = 7\n")
            .expect("a file");
        let cards = cards_named(&format!("C870, {},", file.display()));
        let cards = cards.expect("both are there");
        assert_eq!(cards.iter().map(|card| card.key.as_str()).collect::<Vec<_>>(), ["c870", "mine"]);
        assert_eq!(cards[1].multiprocessors, 7);
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(timeout("2.5").ok(), Some(Duration::from_millis(2500)));
        assert_eq!(timeout(" 0 ").ok(), Some(Duration::ZERO));
        for wrong in ["-1", "soon", "nan", "1e30"] {
            let error = timeout(wrong).expect_err("no number of seconds");
            assert!(error.to_string().starts_with("COALESCE_TIMEOUT is "), "{error}");
        }
    }

    #[test]
    fn what_is_no_card_is_refused_by_name() {
        let error = cards_named("h200,h300").expect_err("there is no h300");
        assert!(error.to_string().starts_with("no card \"h300\"; nearest is \"h"), "{error}");
        let error = cards_named("/no/such/card.toml").expect_err("there is no file");
        assert!(error.to_string().starts_with("the card file /no/such/card.toml cannot be read"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bad.toml");
        std::fs::write(&file, "extends = \"h200\"\nmultiprocessors = 0\n").expect("a file");
        let error = cards_named(&file.display().to_string()).expect_err("no multiprocessors");
        assert!(error.to_string().contains("bad.toml: card file, line 2: multiprocessors: 0"), "{error}");
    }
}
