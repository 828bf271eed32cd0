//! The simulated cards by their names, and a user's own by its file.

use crate::mistakes;
use anyhow::{Context, Result};
use clap::ValueEnum;
use cuda_driver::{
    DriverVersion,
    simulated::{PROFILE_VARIABLE, Settings},
};
use simt::{
    cards::{self, CardFileError},
    check::{self, Group},
};
use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

pub(crate) use cuda_driver::simulated::LaunchRecord;
pub(crate) use simt::cards::Card;

/// The card that stands in where there is no GPU.
pub(crate) const DEFAULT: &str = "h200";

/// Binds the simulated driver with a number of cards of one kind, and has it make these checks.
///
/// # Errors
/// This machine cannot simulate the card.
pub(crate) fn bind(card: &Card, number: u32, checks: &[Check]) -> Result<DriverVersion> {
    let settings = Settings {
        cards: vec![card.clone(); number as usize],
        simulates: true,
        checks: (!checks.is_empty()).then(|| together(checks)),
        // As of any other program on the simulated driver.
        profile: env::var_os(PROFILE_VARIABLE).filter(|file| !file.is_empty()).map(PathBuf::from),
        ..Settings::default()
    };
    let bound = cuda_driver::simulated::bind_simulated(settings)
        .with_context(|| format!("the {} cannot be simulated", card.name))?;
    Ok(bound.driver_version)
}

/// Forgets what the simulator saw of launches so far.
pub(crate) fn forget_launches() {
    cuda_driver::simulated::forget();
}

/// Limits the managed memory that a simulated device has on it at a time; `None` lifts the limit. Nothing on a GPU.
pub(crate) fn limit_managed_memory(device: u32, bytes: Option<u64>) {
    cuda_driver::simulated::limit_managed_memory(device as usize, bytes);
}

/// Bytes of a range of managed memory that are on a simulated device; `None` on a GPU.
pub(crate) fn bytes_on_device(device: u32, address: u64, bytes: u64) -> Option<u64> {
    cuda_driver::simulated::residence(device as usize, address, bytes).map(|residence| residence.on_device)
}

/// The simulator's counters of the last launch; `None` if none was simulated.
pub(crate) fn last_launch() -> Option<Box<LaunchRecord>> {
    cuda_driver::simulated::last_launch().map(Box::new)
}

/// The built-in cards, oldest first.
pub(crate) fn all() -> Vec<Card> {
    cards::all()
}

/// The built-in card with this name, with or without `sim:` before it. The error says which is nearest.
pub(crate) fn named(name: &str) -> std::result::Result<Box<Card>, String> {
    let key = name.strip_prefix("sim:").unwrap_or(name);
    if let Ok(card) = cards::find(key) {
        return Ok(Box::new(card));
    }
    let cards = all();
    let keys: Vec<&str> = cards.iter().map(|card| card.key.as_str()).collect();
    Err(mistakes::no_such("simulated card", key, &keys, "`coalesce devices` lists the cards"))
}

/// The error for a device of no known kind, which is usually a card without `sim:` before its name.
pub(crate) fn no_such_device(text: &str) -> String {
    let cards = all();
    let devices: Vec<String> = cards.iter().map(|card| format!("sim:{}", card.key)).collect();
    let keys: Vec<&str> = cards.iter().map(|card| card.key.as_str()).collect();
    let of_card = |key: &str| keys.iter().position(|known| *known == key).map(|at| devices[at].as_str());
    let all: Vec<&str> =
        ["auto", "cuda", "cuda:0"].into_iter().chain(devices.iter().map(String::as_str)).collect();
    let mut meant: Vec<&str> = nearest::alike(text, &keys).into_iter().filter_map(of_card).collect();
    if meant.is_empty() {
        meant = nearest::alike(text, &all);
    }
    match meant.as_slice() {
        [] => format!(
            "there is no device '{text}'; write auto, cuda, cuda:N, sim:CARD or sim:FILE.toml, as `coalesce devices` lists them"
        ),
        meant => format!(
            "there is no device '{text}'; did you mean {}? `coalesce devices` lists the GPUs and the cards",
            nearest::joined(meant, "or"),
        ),
    }
}

/// The card that stands behind `sim:` on a command line: a built-in one, or a file where that ends in `.toml` or holds a
/// slash.
///
/// # Errors
/// There is no such card, or the file is none: with its line and column.
pub(crate) fn chosen(name: &str) -> std::result::Result<Box<Card>, String> {
    let is_file = name.contains('/') || name.to_ascii_lowercase().ends_with(".toml");
    if is_file {
        return from_file(Path::new(name)).map(Box::new);
    }
    let advice = "a card of your own is a file, as in sim:my-card.toml, and `coalesce devices h200` prints one to start from";
    if name.is_empty() {
        return Err(format!(
            "sim: needs the name of a card behind it, as in sim:{DEFAULT}; `coalesce devices` lists the cards; {advice}"
        ));
    }
    named(name).map_err(|error| format!("{error}; {advice}"))
}

fn from_file(path: &Path) -> std::result::Result<Card, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read the card file {}: {error}", path.display()))?;
    cards::from_toml(&text).map_err(|error| {
        let (place, reason) = explain(&text, &error);
        let place = place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        format!("{}{place}: {reason}", path.display())
    })
}

/// Line and column, both from 1, of what is wrong with a card file, and what it is.
fn explain(text: &str, error: &CardFileError) -> (Option<(usize, usize)>, String) {
    match error {
        CardFileError::Syntax(error) => {
            let place = error.span().map(|span| {
                let before = &text[..span.start.min(text.len())];
                let line_start = before.rfind('\n').map_or(0, |end| end + 1);
                (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
            });
            (place, unknown_field(error.message()).unwrap_or_else(|| error.message().replace('\n', ", ")))
        }
        CardFileError::Extends { line, cause } => {
            let place = value_at(text, *line);
            (place, named(&cause.wanted).err().unwrap_or_else(|| cause.to_string()))
        }
        CardFileError::Capability { line, cause } => {
            (value_at(text, *line), format!("compute_capability: {cause}"))
        }
        CardFileError::Impossible { line, cause } => (value_at(text, *line), cause.to_string()),
        other => (None, other.to_string().trim_start_matches("card file: ").to_string()),
    }
}

/// The start of the value in this line.
fn value_at(text: &str, line: usize) -> Option<(usize, usize)> {
    let content = text.lines().nth(line.checked_sub(1)?)?;
    let behind = content.find('=')? + 1;
    let blanks = content[behind..].chars().take_while(|letter| letter.is_whitespace()).count();
    Some((line, content[..behind].chars().count() + blanks + 1))
}

/// "unknown field `x`, expected one of `a`, `b`" in this program's words, with the nearest.
fn unknown_field(message: &str) -> Option<String> {
    let mut quoted =
        message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2).map(str::to_string);
    let wrong = quoted.next()?;
    let known: Vec<String> = quoted.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Some(mistakes::no_such(
        "field",
        &wrong,
        &known,
        "`coalesce devices h200` prints a card with all of its fields",
    ))
}

/// A check of the simulated driver, by the name of compute-sanitizer's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Check {
    /// Accesses out of bounds or misaligned, use after free
    Memcheck,
    /// Data races in shared and global memory
    Racecheck,
    /// Reads of memory that nothing has written, and branches by what they gave
    Initcheck,
    /// Divergent barriers, lanes that never arrive
    Synccheck,
    /// Device memory that is never freed
    Leakcheck,
}

/// These checks as the simulator takes them.
fn together(checks: &[Check]) -> check::Checks {
    checks.iter().fold(check::Checks::NONE, |checks, chosen| {
        checks.with(match chosen {
            Check::Memcheck => check::Check::Memcheck,
            Check::Racecheck => check::Check::Racecheck,
            Check::Initcheck => check::Check::Initcheck,
            Check::Synccheck => check::Check::Synccheck,
            Check::Leakcheck => check::Check::Leakcheck,
        })
    })
}

/// The findings of a run's checks, in compute-sanitizer's words.
pub(crate) struct Report {
    report: check::Report,
    /// Whether each finding is shown, instead of groups of them.
    each: bool,
}

impl Report {
    /// Nothing found so far. With `each`, every finding is shown in all detail.
    pub(crate) fn new(checks: &[Check], each: bool) -> Report {
        let mut report = check::Report::new(together(checks));
        if each {
            report.show_all();
        }
        Report { report, each }
    }

    /// Takes what the driver has found since the last time, in a launch by this name. Whether that is anything.
    pub(crate) fn take(&mut self, launch: &str) -> bool {
        let findings = cuda_driver::simulated::findings();
        cuda_driver::simulated::forget();
        let found = !findings.is_empty();
        self.report.named_launch(launch, findings);
        found
    }

    /// Forgets what the driver has found since the last time.
    pub(crate) fn forget() {
        cuda_driver::simulated::forget();
    }

    /// How much was found.
    pub(crate) fn found(&self) -> Found {
        let groups = self.report.groups();
        Found {
            findings: groups.len(),
            accesses: groups.iter().map(Group::accesses).sum(),
            instructions: self.report.findings().len(),
        }
    }
}

/// How much the checks have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Findings, each being what one change of the source would mend.
    pub findings: usize,
    /// How often all of them happened.
    pub accesses: u64,
    /// Findings told apart by instruction, or pair of instructions.
    pub instructions: usize,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        if !self.each {
            return Ok(());
        }
        let mut first: Vec<u64> = self.report.findings().iter().filter_map(|found| found.launch).collect();
        first.dedup();
        for number in first {
            if let Some(name) = self.report.name_of(number) {
                writeln!(f, "launch {number} is {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_goes_by_its_key() {
        assert_eq!(chosen("c870").map(|card| card.name), Ok("Tesla C870".to_string()));
        assert_eq!(named("sim:H200").map(|card| card.key), Ok("h200".to_string()));
        let own = "a card of your own is a file, as in sim:my-card.toml, and `coalesce devices h200` prints one to start from";
        let error = |name: &str| chosen(name).expect_err("no such card");
        assert_eq!(
            error("h20"),
            format!(
                "there is no simulated card 'h20'; did you mean h200? `coalesce devices` lists the cards; {own}"
            )
        );
        assert_eq!(
            error(""),
            format!(
                "sim: needs the name of a card behind it, as in sim:h200; `coalesce devices` lists the cards; {own}"
            )
        );
        assert_eq!(
            error("potato"),
            format!("there is no simulated card 'potato'; `coalesce devices` lists the cards; {own}")
        );
    }

    fn file(text: &str) -> std::result::Result<Card, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("card.toml");
        fs::write(&path, text).expect("the card can be written");
        from_file(&path).map_err(|error| {
            let folder = format!("{}/", folder.path().display());
            error.strip_prefix(&folder).map(str::to_string).unwrap_or_else(|| panic!("no file in: {error}"))
        })
    }

    #[test]
    fn every_card_survives_its_own_file() {
        for card in all() {
            assert_eq!(file(&card.to_toml()), Ok(card));
        }
    }

    #[test]
    fn a_changed_card_is_no_longer_the_built_in_one() {
        let h200 = named("h200").expect("a card");
        let text = h200.to_toml();
        let with = |field: &str, value: &str| {
            let change = |line: &str| match line.split_once(" = ") {
                Some((name, _)) if name == field => format!("{name} = {value}\n"),
                _ => format!("{line}\n"),
            };
            file(&text.lines().map(change).collect::<String>()).expect("a card")
        };
        let smaller = with("multiprocessors", "20");
        assert_eq!((smaller.key.as_str(), smaller.multiprocessors), ("custom", 20));
        assert_eq!(smaller.name, format!("{}, changed", h200.name));
        let named = with("name", "\"My card\"");
        assert_eq!((named.key.as_str(), named.name.as_str()), ("custom", "My card"));
        assert_eq!(with("key", "\"mine\"").key, "mine");
    }

    #[test]
    fn what_is_wrong_with_a_file_has_a_place() {
        let of = |text: &str| file(text).expect_err("a wrong file");
        let base = "extends = \"h200\"\n";
        assert_eq!(
            of(&format!("{base}dram_share =  1.5\n")),
            "card.toml:2:15: dram_share: 1.5 is no share above 0 and up to 1"
        );
        assert_eq!(
            of(&format!("{base}  dram_shar = 0.5\n")),
            "card.toml:2:3: there is no field 'dram_shar'; did you mean dram_share? `coalesce devices h200` prints a card with \
             all of its fields"
        );
        assert_eq!(
            of("extends = \"h20\"\n"),
            "card.toml:1:11: there is no simulated card 'h20'; did you mean h200? `coalesce devices` lists the cards"
        );
        let error = of(&format!("{base}multiprocessors = \"many\"\n"));
        assert!(error.starts_with("card.toml:2:19: ") && error.contains("u32"), "{error}");
        let error = of(&format!("{base}compute_capability = \"4.0\"\n"));
        assert!(error.starts_with("card.toml:2:22: compute_capability: no NVIDIA card has"), "{error}");
        let error = of("key = \"mine\"\n");
        assert!(error.starts_with("card.toml: without extends = "), "{error}");
        let error = of("multiprocessors = = 3\n");
        assert!(error.starts_with("card.toml:1:") && error.lines().count() == 1, "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = chosen("nowhere/card.toml").expect_err("no such file");
        assert!(error.starts_with("cannot read the card file nowhere/card.toml: No such file"), "{error}");
    }
}
