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
use record::{Backend, Origin, Parameters};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

/// Bytes that are read from a file at a time.
const BUFFER: usize = 256 << 10;

/// The depth to which folders are searched for files.
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

/// Names that the reading threads share and number.
#[derive(Debug, Default)]
struct Numbers {
    rows: Interner<String, RowKey>,
    kinds: Interner<Kind, Kind>,
    passes: Interner<(String, u32), ()>,
}

/// The content of one file.
#[derive(Debug, Default)]
struct Part {
    cards: Vec<Card>,
    /// Their places.
    places: HashMap<CardKey, usize>,
    runs: BTreeMap<String, Ranks>,
    troubles: Vec<Trouble>,
    rows_read: u64,
    /// Of the line at hand, so that its memory is reused.
    key: String,
}

/// The card of the line before, which the next one usually shares.
#[derive(Debug)]
struct Last {
    origin: Option<Origin>,
    device: String,
    ordinal: u32,
    /// Among the part's cards.
    place: usize,
    pass: u16,
}

impl Last {
    /// Whether a line is of the same card and pass.
    fn is_of(&self, line: &Line<'_>) -> bool {
        let same = match (&self.origin, &line.origin) {
            (Some(own), Some(other)) => other.is(own),
            (None, None) => true,
            _ => false,
        };
        same && self.device == line.device.name && self.ordinal == line.device.ordinal
    }
}

/// The identity of a card, whatever its rank: on GPUs the UUID; a simulated card is its rank's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CardKey {
    host: String,
    uuid: Option<String>,
    rank: Option<u32>,
    ordinal: u32,
    kind: u16,
}

/// Reads records from several places, one after the other.
///
/// ```no_run
/// let mut reader = fleet::Reader::default();
/// reader.add(std::path::Path::new("monday"))?;
/// reader.add(std::path::Path::new("tuesday"))?;
/// let records = reader.finish();
/// # Ok::<_, fleet::FleetError>(())
/// ```
#[derive(Debug, Default)]
pub struct Reader {
    numbers: Numbers,
    part: Part,
    files: usize,
}

impl Reader {
    /// Reads all files of records in a folder and the folders in it, or a single file.
    ///
    /// # Errors
    /// The folder cannot be listed, or has no file of records.
    pub fn add(&mut self, path: &Path) -> Result<(), FleetError> {
        let (files, numbers) = (files(path)?, &self.numbers);
        self.files += files.len();
        let part = files
            .par_iter()
            .fold(Part::default, |mut part, file| {
                part.add(file, numbers);
                part
            })
            .reduce(Part::default, Part::merge);
        self.part = std::mem::take(&mut self.part).merge(part);
        Ok(())
    }

    /// Reads a text of one JSON object per line; `name` stands for the file's in messages.
    pub fn add_text(&mut self, name: &str, text: &[u8]) {
        self.files += 1;
        self.part.stream(Path::new(name), text, &self.numbers);
    }

    /// Ends reading.
    pub fn finish(self) -> Records {
        self.part.finish(self.numbers, self.files)
    }
}

impl Records {
    /// Reads all files of records in a folder and the folders in it, or a single file.
    ///
    /// # Errors
    /// The folder cannot be listed, or nothing in it is a record.
    pub fn read(path: &Path) -> Result<Records, FleetError> {
        let mut reader = Reader::default();
        reader.add(path)?;
        let records = reader.finish();
        if records.cards.is_empty() && records.troubles.is_empty() {
            return Err(FleetError::NoRecords(path.to_path_buf()));
        }
        Ok(records)
    }

    /// Reads records from texts of one JSON object per line; each has a name for messages.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = (&'t str, &'t [u8])>) -> Records {
        let mut reader = Reader::default();
        for (name, text) in texts {
            reader.add_text(name, text);
        }
        reader.finish()
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
        let (mut line, mut number, before, mut last) = (Vec::new(), 0, self.rows_read, None);
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
                Ok(parsed) => self.line(path, &parsed, numbers, &mut last),
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

    /// Keeps what matters of a line. `last` is the one before it in the file, usually of the same card.
    fn line(&mut self, path: &Path, line: &Line<'_>, numbers: &Numbers, last: &mut Option<Last>) {
        self.rows_read += 1;
        line.key(&mut self.key);
        // Beyond 65,536 rows, kinds or passes there is nothing that a card could be compared with.
        let Some(row) = numbers.rows.number(self.key.as_str(), || row_key(line)) else { return };
        if !last.as_ref().is_some_and(|last| last.is_of(line)) {
            *last = self.card(path, line, numbers);
        }
        let Some(Last { place, pass, .. }) = *last else { return };
        let card = &mut self.cards[place];
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

    /// The card and the pass of a line, which is another than the last; notes its rank.
    fn card(&mut self, path: &Path, line: &Line<'_>, numbers: &Numbers) -> Option<Last> {
        let origin = line.origin.as_ref().map(line::Origin::to_record);
        let known = Kind {
            device: line.device.name.to_string(),
            multiprocessors: line.device.multiprocessors,
            backend: line.backend,
            version: origin.as_ref().map(|origin| origin.version.clone()).unwrap_or_default(),
        };
        let kind = numbers.kinds.number(&known, || known.clone())?;
        let (run, of_run) = origin.as_ref().map_or(("", 1), |origin| (&origin.run, origin.pass));
        let pass = numbers.passes.number(&(run.to_string(), of_run), || ())?;
        let uuid = origin.as_ref().and_then(|origin| origin.uuid.clone());
        let uuid = uuid.filter(|_| line.backend == Backend::Measured);
        let rank = origin.as_ref().and_then(|origin| origin.rank);
        let host = origin.as_ref().map_or_else(|| path.display().to_string(), |origin| origin.host.clone());
        let ordinal = line.device.ordinal;
        let key = CardKey { rank: rank.filter(|_| uuid.is_none()), host, uuid, ordinal, kind };
        if let Some(origin) = &origin {
            let ranks = self.runs.entry(origin.run.clone()).or_default();
            ranks.ranks = ranks.ranks.max(origin.ranks);
            ranks.seen.extend(rank);
            if let (Some(rank), Some(uuid)) = (rank, &key.uuid) {
                ranks.by_card.entry((key.host.clone(), uuid.clone())).or_default().insert(rank);
            }
        }
        let next = self.cards.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.cards.push(Card {
                name: CardName { host: key.host.clone(), ordinal, rank, uuid: key.uuid.clone() },
                kind,
                values: Vec::new(),
                invalid: Vec::new(),
                untimed: 0,
                peak_gb_per_s: line.peak(),
                clocks_mhz: None,
                clocks_are_set: false,
            });
        }
        Some(Last { origin, device: known.device, ordinal, place, pass })
    }

    fn merge(mut self, other: Part) -> Part {
        // The smaller one goes into the larger one.
        if self.cards.len() < other.cards.len() {
            return other.merge(self);
        }
        let mut cards: Vec<Option<Card>> = other.cards.into_iter().map(Some).collect();
        for (key, place) in other.places {
            let Some(card) = cards[place].take() else { continue };
            match self.places.get(&key).copied() {
                None => {
                    self.places.insert(key, self.cards.len());
                    self.cards.push(card);
                }
                Some(place) => {
                    let own = &mut self.cards[place];
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

    fn finish(self, numbers: Numbers, files: usize) -> Records {
        let mut cards = self.cards;
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
            files,
        }
    }
}

/// A row's description, from its first line.
fn row_key(line: &Line<'_>) -> RowKey {
    let parameters: Option<Parameters> = serde_json::from_str(line.parameters.get()).ok();
    RowKey {
        experiment: line.experiment.to_string(),
        kernel: line.kernel.to_string(),
        label: parameters.map(|parameters| parameters.label()).unwrap_or_default(),
        component: line.component(),
        figure: line.figure(),
    }
}
