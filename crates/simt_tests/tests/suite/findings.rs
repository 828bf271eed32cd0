//! Findings are written on the lines that cause them, as in the compiler's UI tests.
//!
//! A file of kernels, in Rust (`faulty/src`) or PTX (`findings`), says before each kernel how to launch it, and on each
//! line what the checks find there:
//!
//! ```text
//! //@ racecheck grid=2 data=zeros(512) out=zeros(512)
//! pub unsafe fn read_after_write(data: *const u32, out: *mut u32) {
//!     let tile = shared_array![u32; 64];
//!     *tile.add(here()) = *data.add(place()); //~ ERROR Write races with the Read 1 line below, ...
//! ```
//!
//! - A launch names its checks, then the grid and the block (`2` and `64` unless it says so), then the kernel's parameters
//!   in order: `zeros(bytes)`, `empty(bytes)` which nothing has written, `partial(written,bytes)`, `freed(bytes)`, and
//!   numbers such as `2u64`. Each launch has a device of its own. A kernel without findings must be silent.
//! - A finding is compute-sanitizer's headline after `//~ ERROR` or `//~ WARNING`, with `//~| NOTE` for each further line
//!   of its text; `//~^` stands for the line above. Addresses are relative to a parameter's allocation. If a kernel has
//!   several launches, a finding names its own.
//! - Which of two unordered accesses comes first depends on the scheduling of warps. So both orders of a race are one
//!   finding, on the upper line.
//!
//! `COALESCE_BLESS=1 cargo test -p simt_tests --test suite findings::` writes what is found into the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use simt::check::Check::{Memcheck, Synccheck};
use simt::check::{AccessKind, Checks, Finding, FindingKind, Memory, Place, Severity, Shape};

use crate::check_lab::{BYTES, Lab, Value, all, assert_clean, faulty, lab, short};

#[test]
fn memcheck() {
    check("faulty/src/memcheck.rs");
}

#[test]
fn racecheck() {
    check("faulty/src/racecheck.rs");
}

#[test]
fn initcheck() {
    check("faulty/src/initcheck.rs");
}

#[test]
fn synccheck() {
    check("faulty/src/synccheck.rs");
}

#[test]
fn faults_of_ptx() {
    check("findings/faults.ptx");
}

/// What is written by the host, or by a kernel before, is initialised.
#[test]
fn a_kernel_reads_what_another_wrote() {
    let lab = all();
    let (data, middle, out) = (lab.zeros(BYTES), lab.empty(BYTES), lab.empty(BYTES));
    assert_clean(&lab.launch("unwritten", 2, &[data.into(), middle.into()]), "unwritten");
    assert_clean(&lab.launch("unwritten", 2, &[middle.into(), out.into()]), "unwritten");
}

/// synccheck alone does not need the blocks one after another; what it finds is the same.
#[test]
fn findings_do_not_depend_on_the_number_of_workers() {
    let found = |workers| {
        let lab = lab(Synccheck).workers(workers);
        let out = lab.empty(64 * BYTES);
        lab.launch("not_in_mask", 64, &[out.into()])
    };
    let one = found(1);
    assert_eq!((one.len(), one[0].count), (1, 64 * 32));
    assert_eq!(found(2), one);
    assert_eq!(found(7), one);
}

/// The panic's own lines, in the standard library, come after the kernel's.
#[test]
fn a_panic_names_the_way_to_it() {
    let lab = lab(Memcheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let text = lab.launch("panics", 2, &[data.into(), 128_u64.into(), out.into()])[0].to_string();
    let way = text.lines().nth(2).unwrap();
    assert!(way.starts_with("        by way of ") && way.contains("core/src/panicking.rs:"), "{text}");
}

/// A file of kernels without its annotations, and these by the line of code that they stand for, from 0.
struct Annotated {
    code: Vec<String>,
    annotations: BTreeMap<usize, Vec<String>>,
    /// For each line of the file, the line of code that it is or belongs to.
    lines: Vec<usize>,
}

impl Annotated {
    fn parse(text: &str) -> Self {
        let mut parsed = Self { code: Vec::new(), annotations: BTreeMap::new(), lines: Vec::new() };
        for line in text.lines() {
            let (code, annotation) = match line.split_once("//~") {
                Some((code, annotation)) => (code.trim_end(), Some(annotation)),
                None => (line, None),
            };
            if annotation.is_none() || !code.is_empty() {
                parsed.code.push(code.to_owned());
            }
            let line = parsed.code.len() - 1;
            parsed.lines.push(line);
            if let Some(annotation) = annotation {
                let text = annotation.trim_start_matches(['^', '|']).trim().to_owned();
                parsed.annotations.entry(line).or_default().push(text);
            }
        }
        parsed
    }

    /// Writes the file with these annotations in place of its own.
    fn with(&self, annotations: &BTreeMap<usize, Vec<String>>) -> String {
        let mut text = String::new();
        for (number, line) in self.code.iter().enumerate() {
            text += line;
            let mut indent = line.len() - line.trim_start().len();
            for (index, annotation) in annotations.get(&number).into_iter().flatten().enumerate() {
                // rustfmt moves a comment behind an opening brace into the block.
                match (index, line.ends_with('{')) {
                    (0, false) => write!(text, " //~ {annotation}").unwrap(),
                    (0, true) => {
                        indent += 4;
                        write!(text, "\n{:indent$}//~^ {annotation}", "").unwrap();
                    }
                    _ => write!(text, "\n{:indent$}//~| {annotation}", "").unwrap(),
                }
            }
            text += "\n";
        }
        text
    }

    /// The launches: the name of the kernel that follows, and the words of the directive.
    fn launches(&self) -> Vec<(&str, Vec<&str>)> {
        let mut launches = Vec::new();
        let mut words = Vec::new();
        for line in &self.code {
            if let Some(launch) = line.trim_start().strip_prefix("//@ ") {
                words.push(launch.split_whitespace().collect());
            } else if let Some((_, head)) = line.split_once(".entry ").or_else(|| line.split_once(" fn ")) {
                let name =
                    head.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
                launches.extend(words.drain(..).map(|words| (name, words)));
            }
        }
        launches
    }
}

/// Launches the kernels of a file and compares what is found with its annotations.
fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let annotated = Annotated::parse(&text);
    let ptx = if file.ends_with(".ptx") { &text } else { faulty() };
    let launches = annotated.launches();
    let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (number, (kernel, words)) in launches.iter().enumerate() {
        let launch = Launched::new(ptx, kernel, words);
        let earlier = launches[..number].iter().filter(|(name, _)| name == kernel).count();
        let several = launches.iter().filter(|(name, _)| name == kernel).count() > 1;
        let line_of = |place: &Place| {
            let line = match place.line() {
                Some(line) if path.ends_with(&line.file) || line.file.ends_with(file) => line.line,
                None if file.ends_with(".ptx") => place.ptx_line,
                _ => panic!("{kernel}: a finding at {place}, outside of {file}"),
            };
            annotated.lines[line as usize - 1]
        };
        for (line, mut texts) in launch.findings(&line_of) {
            if several {
                texts[0] += &format!(", in launch {}", earlier + 1);
            }
            found.entry(line).or_default().extend(texts);
        }
    }
    if std::env::var_os("COALESCE_BLESS").is_some() {
        std::fs::write(&path, annotated.with(&found)).unwrap();
        return;
    }
    let mut wrong = String::new();
    for line in 0..annotated.code.len() {
        let texts =
            |annotations: &BTreeMap<usize, Vec<String>>| annotations.get(&line).cloned().unwrap_or_default();
        let (expected, found) = (texts(&annotated.annotations), texts(&found));
        if expected != found {
            let number = annotated.lines.iter().position(|of| *of == line).unwrap() + 1;
            writeln!(wrong, "{file}:{number}: {}", annotated.code[line].trim()).unwrap();
            let lines = |texts: &[String], others: &[String], sign| {
                let different = texts.iter().filter(|text| !others.contains(text));
                different.map(|text| format!("    {sign} {text}\n")).collect::<String>()
            };
            wrong += &lines(&expected, &found, '-');
            wrong += &lines(&found, &expected, '+');
        }
    }
    assert!(
        wrong.is_empty(),
        "\n{wrong}`-` is expected, `+` is found; COALESCE_BLESS=1 writes what is found"
    );
}

/// A kernel that has been launched, with what was found.
struct Launched {
    /// Name, address and bytes of the parameters that are allocations.
    allocations: Vec<(String, u64, u64)>,
    findings: Vec<Finding>,
}

impl Launched {
    fn new(ptx: &str, kernel: &str, words: &[&str]) -> Self {
        let (checks, words) = words.split_first().expect("a launch names its checks");
        let lab = Lab::new(ptx, checks.parse::<Checks>().unwrap());
        let mut shape = Shape { grid: [2, 1, 1], block: [64, 1, 1] };
        let (mut parameters, mut allocations) = (Vec::new(), Vec::new());
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("{kernel}: {word}"));
            let numbers: Vec<u64> =
                value.split(|letter: char| !letter.is_ascii_digit()).flat_map(str::parse).collect();
            match (name, value.split_once(['(', 'u'])) {
                ("grid" | "block", _) => {
                    let sizes = if name == "grid" { &mut shape.grid } else { &mut shape.block };
                    sizes.iter_mut().zip(numbers).for_each(|(size, number)| *size = number as u32);
                }
                (_, Some((_, "32"))) => parameters.push(Value::Word(numbers[0] as u32)),
                (_, Some((_, "64"))) => parameters.push(Value::Long(numbers[0])),
                (_, Some((kind @ ("zeros" | "empty" | "partial" | "freed"), _))) => {
                    let bytes = numbers[numbers.len() - 1];
                    let address = lab.empty(bytes);
                    let written = if kind == "empty" { 0 } else { numbers[0] };
                    lab.memory.write(address, &vec![0; written as usize]).unwrap();
                    if kind == "freed" {
                        lab.memory.free(address).unwrap();
                    }
                    allocations.push((name.to_owned(), address, bytes));
                    parameters.push(Value::Long(address));
                }
                _ => panic!("{kernel}: {word} is no parameter"),
            }
        }
        let findings = lab.launch_shape(kernel, shape, 0, &parameters);
        Self { allocations, findings }
    }

    /// The annotations of each finding, and the line where they stand.
    fn findings(&self, line_of: &dyn Fn(&Place) -> usize) -> Vec<(usize, Vec<String>)> {
        let mut found = Vec::new();
        let mut races: BTreeMap<_, u64> = BTreeMap::new();
        for finding in &self.findings {
            if let FindingKind::Race { memory, first, second, .. } = &finding.kind {
                let mut sides = [first, second].map(|side| (line_of(&side.place), side.access));
                sides.sort_unstable();
                *races.entry((sides, finding.severity, *memory)).or_default() += finding.count;
            } else {
                let place = finding.place.as_ref().expect("a finding of a kernel has a place");
                found.push((line_of(place), self.texts(finding, place)));
            }
        }
        found.extend(races.into_iter().map(|(race, hazards)| annotation_of(race, hazards)));
        found
    }

    /// The lines of a finding's text, but for its place.
    fn texts(&self, finding: &Finding, place: &Place) -> Vec<String> {
        let at = format!("at {place}");
        let text = short(finding);
        let mut texts: Vec<String> =
            text.lines().map(str::trim).filter(|line| *line != at).map(|line| self.relative(line)).collect();
        // How far null is from the nearest allocation depends on where the host's memory is.
        let is_known = |address: &str| self.allocations.iter().any(|(name, ..)| address.starts_with(name));
        if texts[0].contains("__global__")
            && let Some(index) = texts.iter().position(|text| text.contains("the nearest allocation"))
            && !texts[index - 1].strip_prefix("Address ").is_some_and(is_known)
        {
            texts.remove(index);
        }
        texts[0].insert_str(0, if finding.severity == Severity::Error { "ERROR " } else { "WARNING " });
        texts[1..].iter_mut().for_each(|text| text.insert_str(0, "NOTE "));
        texts
    }

    /// A line of a finding with its addresses relative to the parameters' allocations.
    fn relative(&self, line: &str) -> String {
        let word = |word: &str| {
            let address = word.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())?;
            let near = |allocation: &&(String, u64, u64)| address.abs_diff(allocation.1) < 16 << 20;
            let (name, start, _) = self.allocations.iter().filter(near).min_by_key(|(_, start, bytes)| {
                let outside = address.saturating_sub(start + bytes) + start.saturating_sub(address);
                (outside, address.abs_diff(*start))
            })?;
            Some(match address.wrapping_sub(*start) as i64 {
                0 => name.clone(),
                offset => format!("{name}{offset:+}"),
            })
        };
        // A deadlock names lines of the PTX, of which only the instruction matters.
        let line = line.split_once(", line ").map_or(line.to_owned(), |(waiting, _)| format!("{waiting})"));
        line.split(' ')
            .map(|text| word(text).unwrap_or_else(|| text.to_owned()))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Where a race stands, and what it says: its two lines with their accesses, the upper one first, and the hazards.
fn annotation_of(
    (sides, severity, memory): ([(usize, AccessKind); 2], Severity, Memory),
    hazards: u64,
) -> (usize, Vec<String>) {
    let [(line, access), (other, with)] = sides;
    let place = match other - line {
        0 => "on this line".to_owned(),
        1 => "1 line below".to_owned(),
        lines => format!("{lines} lines below"),
    };
    let severity = if severity == Severity::Error { "ERROR" } else { "WARNING" };
    (
        line,
        vec![format!(
            "{severity} {access:?} races with the {with:?} {place} in {memory} memory [{hazards} hazards]"
        )],
    )
}
