//! Reads files of records in a stream: each line is parsed where it lies in a buffer, and eight bytes of it are kept.
//!
//! Files are read in parallel, each by one thread. A file that is cut off, a damaged line and an empty file are named in
//! [`Trouble`]s, and everything else is read.

use crate::{
    data::{Card, CardName, Interner, Kind, RowKey, Value},
    error::FleetError,
    line::{self, Line},
    trouble::Trouble,
};
use rayon::prelude::*;
use record::{Backend, Parameters};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

/// Bytes that are read from a file at a time.
const BUFFER: usize = 256 << 10;

/// How deep folders are searched for files.
const DEPTH: usize = 4;

/// The records of a fleet, as far as it is judged by them.
#[derive(Debug, Default)]
pub struct Records {
    pub(crate) cards: Vec<Card>,
    pub(crate) rows: Vec<RowKey>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) runs: BTreeMap<String, Ranks>,
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) rows_read: u64,
    pub(crate) files: usize,
}

/// The ranks of a run that have records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks {
    /// The number of ranks that there were, as far as it is known.
    pub(crate) ranks: Option<u32>,
    pub(crate) seen: BTreeSet<u32>,
    /// Cards that several ranks of the run measured.
    pub(crate) by_card: HashMap<(String, String), BTreeSet<u32>>,
}

/// What several threads number while they read.
#[derive(Debug, Default)]
struct Numbers {
    rows: Interner<String, RowKey>,
    kinds: Interner<Kind, Kind>,
    passes: Interner<(String, u32), ()>,
}

/// What one file holds.
#[derive(Debug, Default)]
struct Part {
    cards: HashMap<CardKey, Card>,
    runs: BTreeMap<String, Ranks>,
    troubles: Vec<Trouble>,
    rows_read: u64,
}

/// What tells a card from others, whatever its rank: on GPUs the UUID; a simulated card is its rank's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CardKey {
    host: String,
    uuid: Option<String>,
    rank: Option<u32>,
    ordinal: u32,
    kind: u16,
}

impl Records {
    /// Reads all files of records in a folder and the folders in it, or a single file.
    ///
    /// # Errors
    /// The folder cannot be listed, or nothing in it is a record.
    pub fn read(path: &Path) -> Result<Records, FleetError> {
        let files = files(path)?;
        let numbers = Numbers::default();
        // By groups, so that parts of files do not pile up.
        let parts = files
            .par_iter()
            .fold(Part::default, |mut part, file| {
                part.add(file, &numbers);
                part
            })
            .reduce(Part::default, Part::merge);
        let mut records = parts.finish(numbers);
        records.files = files.len();
        if records.cards.is_empty() && records.troubles.is_empty() {
            return Err(FleetError::NoRecords(path.to_path_buf()));
        }
        Ok(records)
    }

    /// Reads records from texts of one JSON object per line, as [`read`](Self::read) does from files; each has a name for
    /// messages.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = (&'t str, &'t [u8])>) -> Records {
        let (numbers, mut part) = (Numbers::default(), Part::default());
        for (name, text) in texts {
            part.stream(Path::new(name), text, &numbers);
        }
        part.finish(numbers)
    }

    /// Rows that were read, each of one card, kernel and pass.
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// Cards that have rows.
    pub fn cards(&self) -> usize {
        self.cards.len()
    }
}

/// The files of records below a folder, in order.
fn files(path: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let mut files = Vec::new();
    if path.is_file() {
        files.push(path.to_path_buf());
    } else {
        list(path, DEPTH, &mut files).map_err(|cause| FleetError::Folder(path.to_path_buf(), cause))?;
    }
    files.sort();
    if files.is_empty() { Err(FleetError::NoRecords(path.to_path_buf())) } else { Ok(files) }
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            list(&path, depth - 1, files)?;
        } else if !kind.is_dir() && is_records(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file's name says that it holds records. `simulated.jsonl` explains rows of a GPU and is not the fleet's.
fn is_records(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "jsonl") && !path.ends_with("simulated.jsonl")
}

impl Part {
    /// Reads a file into this part.
    fn add(&mut self, path: &Path, numbers: &Numbers) {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(cause) => return self.unreadable(path, &cause),
        };
        self.stream(path, BufReader::with_capacity(BUFFER, file), numbers);
    }

    fn unreadable(&mut self, path: &Path, cause: &io::Error) {
        self.troubles.push(Trouble::Unreadable { file: path.to_path_buf(), cause: cause.to_string() });
    }

    /// Reads lines of JSON to their end.
    fn stream(&mut self, path: &Path, mut text: impl BufRead, numbers: &Numbers) {
        let (mut line, mut number, before) = (Vec::new(), 0, self.rows_read);
        loop {
            line.clear();
            match text.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => number += 1,
                Err(cause) => return self.unreadable(path, &cause),
            }
            let is_whole = line.last() == Some(&b'\n');
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match Line::parse(&line) {
                Ok(parsed) => self.line(path, &parsed, numbers),
                Err(_) if !is_whole => {
                    let rows = self.rows_read - before;
                    self.troubles.push(Trouble::CutOff { file: path.to_path_buf(), rows });
                }
                Err(cause) => {
                    let cause = cause.to_string();
                    self.troubles.push(Trouble::Damaged { file: path.to_path_buf(), line: number, cause });
                }
            }
        }
        if number == 0 {
            self.troubles.push(Trouble::Empty { file: path.to_path_buf() });
        }
    }

    /// Keeps what matters of a line.
    fn line(&mut self, path: &Path, line: &Line<'_>, numbers: &Numbers) {
        self.rows_read += 1;
        let mut key = String::new();
        line.key(&mut key);
        let row = numbers.rows.number(key.as_str(), || row_key(line));
        let origin = line.origin.as_ref();
        let kind = Kind {
            device: line.device.name.to_string(),
            multiprocessors: line.device.multiprocessors,
            backend: line.backend,
            version: origin.map(|origin| origin.version.to_string()).unwrap_or_default(),
        };
        let kind = numbers.kinds.number(&kind, || kind.clone());
        let (run, pass) = origin.map_or(("", 1), |origin| (&*origin.run, origin.pass));
        let pass = numbers.passes.number(&(run.to_string(), pass), || ());
        // Beyond 65,536 rows, kinds or passes there is nothing that a card could be compared with.
        let (Some(row), Some(kind), Some(pass)) = (row, kind, pass) else { return };
        let card = self.card(path, line, kind);
        match line.milliseconds() {
            _ if !line.verified => card.invalid.push(row),
            Some(ms) => card.values.push(Value { row, pass, log_ms: ms.ln() as f32 }),
            None => card.untimed += 1,
        }
        card.clocks_are_set |= line.has_set_clocks();
        if let Some(clock) = line.sm_clock_mhz() {
            let [low, high] = card.clocks_mhz.unwrap_or([clock; 2]);
            card.clocks_mhz = Some([low.min(clock), high.max(clock)]);
        }
    }

    /// The card of a line, and its rank among those of its run.
    fn card(&mut self, path: &Path, line: &Line<'_>, kind: u16) -> &mut Card {
        let origin = line.origin.as_ref();
        let host = || origin.map_or_else(|| path.display().to_string(), |origin| origin.host.to_string());
        let rank = origin.and_then(|origin| origin.rank);
        let uuid =
            origin.and_then(|origin| origin.uuid.as_deref()).filter(|_| line.backend == Backend::Measured);
        let key = CardKey {
            host: host(),
            uuid: uuid.map(str::to_string),
            rank: if uuid.is_some() { None } else { rank },
            ordinal: line.device.ordinal,
            kind,
        };
        if let Some(origin) = origin {
            if !self.runs.contains_key(&*origin.run) {
                self.runs.insert(origin.run.to_string(), Ranks::default());
            }
            if let Some(ranks) = self.runs.get_mut(&*origin.run) {
                ranks.ranks = ranks.ranks.max(origin.ranks);
                if let Some(rank) =
                    rank.filter(|rank| !ranks.seen.contains(rank) || !self.cards.contains_key(&key))
                {
                    ranks.seen.insert(rank);
                    if let Some(uuid) = uuid {
                        let of_card = (origin.host.to_string(), uuid.to_string());
                        ranks.by_card.entry(of_card).or_default().insert(rank);
                    }
                }
            }
        }
        self.cards.entry(key).or_insert_with_key(|key| Card {
            name: CardName { host: key.host.clone(), ordinal: key.ordinal, rank, uuid: key.uuid.clone() },
            kind,
            values: Vec::new(),
            invalid: Vec::new(),
            untimed: 0,
            peak_gb_per_s: line.peak(),
            clocks_mhz: None,
            clocks_are_set: false,
        })
    }

    fn merge(mut self, other: Part) -> Part {
        // The smaller one goes into the larger one.
        if self.cards.len() < other.cards.len() {
            return other.merge(self);
        }
        for (key, card) in other.cards {
            match self.cards.get_mut(&key) {
                None => drop(self.cards.insert(key, card)),
                Some(own) => {
                    own.values.extend(card.values);
                    own.invalid.extend(card.invalid);
                    own.untimed += card.untimed;
                    own.name.rank = own.name.rank.max(card.name.rank);
                    own.clocks_are_set |= card.clocks_are_set;
                    own.clocks_mhz = match (own.clocks_mhz, card.clocks_mhz) {
                        (Some([low, high]), Some([other_low, other_high])) => {
                            Some([low.min(other_low), high.max(other_high)])
                        }
                        (one, other) => one.or(other),
                    };
                }
            }
        }
        for (run, ranks) in other.runs {
            let own = self.runs.entry(run).or_default();
            own.ranks = own.ranks.max(ranks.ranks);
            own.seen.extend(ranks.seen);
            for (card, ranks) in ranks.by_card {
                own.by_card.entry(card).or_default().extend(ranks);
            }
        }
        self.troubles.extend(other.troubles);
        self.rows_read += other.rows_read;
        self
    }

    fn finish(self, numbers: Numbers) -> Records {
        let mut cards: Vec<Card> = self.cards.into_values().collect();
        for card in &mut cards {
            card.values.shrink_to_fit();
        }
        cards.sort_by(|one, other| one.name.cmp(&other.name));
        Records {
            cards,
            rows: numbers.rows.into_values(),
            kinds: numbers.kinds.into_values(),
            runs: self.runs,
            troubles: self.troubles,
            rows_read: self.rows_read,
            files: 1,
        }
    }
}

/// A row's description, from its first line.
fn row_key(line: &Line<'_>) -> RowKey {
    let parameters: Option<Parameters> = serde_json::from_str(line.parameters.get()).ok();
    let label = parameters.map_or_else(String::new, |parameters| {
        format!("{}{parameters}", line::precision(parameters.precision))
    });
    RowKey {
        experiment: line.experiment.to_string(),
        kernel: line.kernel.to_string(),
        label,
        component: line.component(),
        figure: line.figure(),
    }
}
