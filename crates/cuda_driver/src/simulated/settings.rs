//! Settings of the simulated driver: cards, checks and host threads.

use std::path::{Path, PathBuf};
use std::time::Duration;

use simt::cards::{self, Card};
use simt::check::{Checks, UnknownCheck};
#[cfg(doc)]
use simt::model::LaunchTime;
use thiserror::Error;

use crate::{DriverVersion, TableError};

/// Environment variable that names the cards to simulate, for programs that do not know the simulator: keys or paths of
/// card files, separated by commas. Each becomes a device, in this order.
pub const CARDS_VARIABLE: &str = "COALESCE_SIMULATE";

/// Environment variable that switches checks on: `memcheck`, `racecheck`, `initcheck`, `synccheck` and `leakcheck`,
/// separated by commas, or `all` for all except leakcheck. With `verbose` among them the report shows each finding in
/// full; with `exitcode=N` a program in which they find an error ends with the exit status N, from 1 to 255.
pub const CHECKS_VARIABLE: &str = "COALESCE_CHECK";

/// Environment variable with the seconds without progress after which a kernel is ended as endless; 0 for no limit.
pub const TIMEOUT_VARIABLE: &str = "COALESCE_TIMEOUT";

/// Default of the longest time without progress, unless [`TIMEOUT_VARIABLE`] or [`Settings::timeout`] sets it.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Environment variable that names the file for a profile: a JSON object for each launch, and a table on stderr at the
/// end.
pub const PROFILE_VARIABLE: &str = "COALESCE_PROFILE";

/// Card that is simulated if none is named.
pub const DEFAULT_CARD: &str = "h200";

/// Returns true if [`CARDS_VARIABLE`] names cards to simulate.
pub(crate) fn is_asked_for() -> bool {
    stated(CARDS_VARIABLE).is_some()
}

/// Returns the variable's value, unless it is empty.
fn stated(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Settings for [`bind_simulated`](super::bind_simulated).
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Cards, which become devices 0, 1, ... in this order. Empty for an H200.
    pub cards: Vec<Card>,
    /// Checks of launches, and of memory when it is freed. `None` for no checks; faults end a launch in any case.
    pub checks: Option<Checks>,
    /// True if the report at the program's end shows each finding in full, instead of groups.
    pub each_finding: bool,
    /// Exit status of a program in which the checks find an error, instead of its own, where the report is written at its end.
    pub exit_code: Option<u8>,
    /// Host threads that execute launches. `None` for one per core.
    pub workers: Option<usize>,
    /// Device memory in bytes, instead of each card's own.
    pub memory_bytes: Option<u64>,
    /// Longest time without progress: without an ended warp or a passed barrier for this long, a launch ends with
    /// `CUDA_ERROR_LAUNCH_TIMEOUT`. `None` for [`DEFAULT_TIMEOUT`]; zero for no limit.
    pub timeout: Option<Duration>,
    /// True if the time of a launch comes from the model's formula and from a simulation of a multiprocessor together, as
    /// [`LaunchTime::and_simulated`] says: nearer to the truth, and some hundredths of a second longer for each launch. False for the
    /// formula alone.
    pub simulates: bool,
    /// True if records of launches keep what the warps of some blocks did, for
    /// [`LaunchRecord::simulated_time`](super::LaunchRecord::simulated_time).
    pub keeps_traces: bool,
    /// File that receives a record of each launch.
    pub profile: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment: [`CARDS_VARIABLE`], [`CHECKS_VARIABLE`], [`TIMEOUT_VARIABLE`] and [`PROFILE_VARIABLE`].
    /// Unset and empty variables have no effect.
    ///
    /// # Errors
    ///
    /// [`SimulatedError`] for an unknown card or check, an unreadable card file, or an invalid time.
    pub fn from_environment() -> Result<Self, SimulatedError> {
        let mut settings = Self::default();
        if let Some(cards) = stated(CARDS_VARIABLE) {
            settings.cards = cards_named(&cards)?;
        }
        if let Some(checks) = stated(CHECKS_VARIABLE) {
            let Asked { checks, each_finding, exit_code } = checks_named(&checks)?;
            settings.checks = Some(checks);
            settings.each_finding = each_finding;
            settings.exit_code = exit_code;
        }
        settings.profile = stated(PROFILE_VARIABLE).map(PathBuf::from);
        if let Some(seconds) = stated(TIMEOUT_VARIABLE) {
            settings.timeout = Some(timeout(&seconds)?);
        }
        Ok(settings)
    }

    /// Returns the cards, or the default one if none is named.
    pub(super) fn cards_or_default(&self) -> Result<Vec<Card>, SimulatedError> {
        if self.cards.is_empty() { cards_named(DEFAULT_CARD) } else { Ok(self.cards.clone()) }
    }
}

/// Returns cards by their keys or by the paths of their files (`.toml`), separated by commas.
///
/// # Errors
///
/// [`SimulatedError::UnknownCard`], [`SimulatedError::Unreadable`] or [`SimulatedError::CardFile`].
pub fn cards_named(names: &str) -> Result<Vec<Card>, SimulatedError> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(card_named).collect()
}

/// The settings that [`CHECKS_VARIABLE`] holds.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    checks: Checks,
    each_finding: bool,
    exit_code: Option<u8>,
}

/// Parses a list of checks and words about their report. Words alone stand for all checks.
fn checks_named(list: &str) -> Result<Asked, SimulatedError> {
    let (mut each_finding, mut exit_code, mut names) = (false, None, Vec::new());
    for name in list.split(',').map(str::trim) {
        match name.split_once('=') {
            Some(("exitcode", code)) => {
                let code = code.parse().ok().filter(|code| *code != 0);
                exit_code = Some(code.ok_or_else(|| SimulatedError::NoExitCode { given: name.to_owned() })?);
            }
            _ if name == "verbose" => each_finding = true,
            _ => names.push(name),
        }
    }
    let checks = if names.is_empty() { Checks::ALL } else { names.join(",").parse()? };
    Ok(Asked { checks, each_finding, exit_code })
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

/// Why the simulated driver cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulatedError {
    /// No built-in card has the key.
    #[error(transparent)]
    UnknownCard(#[from] cards::UnknownCard),
    /// The card file cannot be read.
    #[error("the card file {path} cannot be read: {cause}")]
    Unreadable {
        /// Path, as given.
        path: String,
        /// Error of the system.
        cause: std::io::Error,
    },
    /// The card file is invalid.
    #[error("{path}: {cause}")]
    CardFile {
        /// Path, as given.
        path: String,
        /// What is wrong, with the line.
        cause: cards::CardFileError,
    },
    /// No check has the name.
    #[error(transparent)]
    UnknownCheck(#[from] UnknownCheck),
    /// An exit status is not one of an error.
    #[error(
        "{CHECKS_VARIABLE} has {given:?}, which is no exit status of an error: write exitcode=1, or another number up to 255"
    )]
    NoExitCode {
        /// The word, as given.
        given: String,
    },
    /// The profile's file cannot be created.
    #[error("the profile {} cannot be written: {cause}; {PROFILE_VARIABLE} names its file", path.display())]
    Profile {
        /// Path, as given.
        path: PathBuf,
        /// Error of the system.
        cause: std::io::Error,
    },
    /// The time is not a number of seconds.
    #[error(
        "{TIMEOUT_VARIABLE} is {given:?}, which is not a number of seconds: write 60, 0.5, or 0 for no limit"
    )]
    NoTime {
        /// The value, as given.
        given: String,
    },
    /// The description of a card is impossible.
    #[error("the description of the card {key} is impossible: {cause}")]
    Impossible {
        /// Key of the card.
        key: String,
        /// The field, and why.
        cause: cards::Impossible,
    },
    /// `CUDA_VISIBLE_DEVICES` shows no device.
    #[error(
        "CUDA_VISIBLE_DEVICES is \"{list}\", which shows none of the {devices} simulated devices. Unset it, or list \
         devices by their numbers from 0 on."
    )]
    Hidden {
        /// Value of the variable.
        list: String,
        /// Number of devices.
        devices: usize,
    },
    /// There is not enough address space for a card's memory.
    #[error("the memory of {card} cannot be simulated: {cause}. Ask for less with a smaller memory_bytes.")]
    Memory {
        /// Key of the card.
        card: String,
        /// Error of the simulator.
        cause: String,
    },
    /// A driver is bound already; a process has only one.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The simulated driver, bound.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Simulated {
    /// The devices, in the order of their numbers.
    pub cards: Vec<Card>,
    /// The CUDA version that the simulated driver claims, which determines the PTX that it reads.
    pub driver_version: DriverVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_the_report_stand_among_the_checks() {
        let racecheck = Checks::NONE.with(simt::check::Check::Racecheck);
        let of = |list: &str| checks_named(list).map_err(|error| error.to_string());
        let asked = |checks, each_finding, exit_code| Ok(Asked { checks, each_finding, exit_code });
        assert_eq!(of("racecheck"), asked(racecheck, false, None));
        assert_eq!(of("verbose, racecheck"), asked(racecheck, true, None));
        assert_eq!(of("all,verbose"), asked(Checks::ALL, true, None));
        assert_eq!(of("verbose"), asked(Checks::ALL, true, None));
        assert_eq!(of("racecheck,exitcode=3"), asked(racecheck, false, Some(3)));
        assert_eq!(of("exitcode=255"), asked(Checks::ALL, false, Some(255)));
        assert!(of("racechek,verbose").is_err());
        for wrong in ["exitcode=0", "exitcode=256", "all,exitcode=", "exitcode=one"] {
            assert!(of(wrong).is_err_and(|error| error.contains("write exitcode=1")), "{wrong}");
        }
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
        assert!(error.to_string().starts_with("no card \"h300\" among c870, "), "{error}");
        let error = cards_named("/no/such/card.toml").expect_err("there is no file");
        assert!(error.to_string().starts_with("the card file /no/such/card.toml cannot be read"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bad.toml");
        std::fs::write(&file, "extends = \"h200\"\nmultiprocessors = 0\n").expect("a file");
        let error = cards_named(&file.display().to_string()).expect_err("no multiprocessors");
        assert!(error.to_string().contains("bad.toml: card file, line 2: multiprocessors: 0"), "{error}");
    }
}
