//! Judges the judge: a simulated fleet with known faults is written, read and judged, and the findings are counted.
//!
//! ```text
//! cargo run --release -p fleet --example proof                               # 4,096 cards, the rows of a health check
//! cargo run --release -p fleet --example proof -- --rows 25 --passes 10      # 250 rows per card
//! cargo run --release -p fleet --example proof -- --cards 65536 --rows 25 --passes 10
//! cargo run --release -p fleet --example proof -- --sensitivity
//! ```

use clap::Parser;
use fleet::{
    Fault, Reader, Records, Report, Thresholds, judge,
    simulate::{Fleet, Injected, Spreads, probe, repeated},
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    ops::Range,
    path::Path,
    thread,
    time::Instant,
};

/// Cards whose files are on the disk at a time.
const PIECE: u32 = 4096;

/// Judges the judge.
#[derive(Debug, Parser)]
struct Options {
    /// Cards of the fleet
    #[arg(long, default_value_t = 4096)]
    cards: u32,
    /// Rows per pass [default: those of `coalesce run --fleet`]
    #[arg(long)]
    rows: Option<usize>,
    /// Passes
    #[arg(long, default_value_t = 48)]
    passes: u32,
    /// Faults of each kind
    #[arg(long, default_value_t = 40)]
    faults: u32,
    /// The seed of what is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the files here and keep them [default: a temporary folder]
    #[arg(long)]
    keep: Option<std::path::PathBuf>,
    /// Show how detection falls as spreads grow
    #[arg(long)]
    sensitivity: bool,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if options.sensitivity {
        return sensitivity(&options);
    }
    let fleet = fleet(&options, Spreads::default());
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    let rows = u64::from(fleet.cards) * fleet.rows.len() as u64 * u64::from(fleet.passes);
    let (mut reader, mut read, mut bytes, mut peak) = (Reader::default(), 0.0, 0, 0);
    // A piece at a time, because the files of 65,536 cards would fill a disk.
    for first in (0..fleet.cards).step_by(PIECE as usize) {
        let piece = folder.join(format!("piece-{first:07}"));
        bytes += write(&fleet, first..fleet.cards.min(first + PIECE), &piece)?;
        forget_peak()?;
        let start = Instant::now();
        reader.add(&piece).map_err(io::Error::other)?;
        read += start.elapsed().as_secs_f64();
        peak = peak_mb()?.max(peak);
        if options.keep.is_none() {
            fs::remove_dir_all(&piece)?;
        }
    }
    forget_peak()?;
    let start = Instant::now();
    let report = judge(&reader.finish(), Thresholds::default());
    let judged = start.elapsed().as_secs_f64();
    peak = peak_mb()?.max(peak);
    println!(
        "{} cards, {} rows x {} passes: {rows} rows in {:.2} GB; read {read:.2} s, judged {judged:.2} s, in all {:.2} s; at most \
         {peak} MB resident",
        fleet.cards,
        fleet.rows.len(),
        fleet.passes,
        bytes as f64 / 1e9,
        read + judged,
    );
    println!("{}", Score::of(&fleet, &report));
    for finding in &report.findings {
        let sound = |rank: u32| fleet.fault(rank).is_none();
        for card in finding.cards.iter().filter(|card| card.rank.is_some_and(sound)) {
            println!("    {card}: {}, {}, score {:.1}", finding.fault, finding.pattern, finding.score);
        }
    }
    Ok(())
}

fn fleet(options: &Options, spreads: Spreads) -> Fleet {
    let rows = options.rows.map_or_else(probe, repeated);
    let fleet = Fleet {
        cards: options.cards,
        passes: options.passes,
        rows,
        spreads,
        seed: options.seed,
        ..Fleet::default()
    };
    fleet.with_faults(options.faults)
}

/// Writes a file per rank, on two threads; returns their bytes.
fn write(fleet: &Fleet, ranks: Range<u32>, folder: &Path) -> io::Result<u64> {
    fs::create_dir_all(folder)?;
    let lane = |first: u32| -> io::Result<u64> {
        let mut bytes = 0;
        for rank in (first..ranks.end).step_by(2) {
            let text = fleet.file(rank);
            bytes += text.len() as u64;
            fs::File::create(folder.join(format!("rank-{rank:05}.jsonl")))?.write_all(text.as_bytes())?;
        }
        Ok(bytes)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| lane(ranks.start + 1));
        let own = lane(ranks.start)?;
        Ok(own + other.join().map_err(|_| io::Error::other("a thread panicked"))??)
    })
}

/// Faults found and false alarms.
#[derive(Debug, Default)]
struct Score {
    /// By fault: cards with the right finding, and all cards with the fault.
    found: BTreeMap<Injected, (u32, u32)>,
    false_alarms: u32,
    sound: u32,
}

impl Score {
    fn of(fleet: &Fleet, report: &Report) -> Score {
        let mut by_rank: BTreeMap<u32, Vec<Fault>> = BTreeMap::new();
        for finding in &report.findings {
            for rank in finding.cards.iter().filter_map(|card| card.rank) {
                by_rank.entry(rank).or_default().push(finding.fault);
            }
        }
        let mut score = Score::default();
        for rank in 0..fleet.cards {
            let faults = by_rank.get(&rank).map_or(&[][..], Vec::as_slice);
            match fleet.fault(rank) {
                None => {
                    score.sound += 1;
                    score.false_alarms += u32::from(!faults.is_empty());
                }
                Some(fault) => {
                    let (found, all) = score.found.entry(fault).or_default();
                    *found += u32::from(faults.contains(&Fault::Slow(fault.component())));
                    *all += 1;
                }
            }
        }
        score
    }

    fn sums(&self) -> (u32, u32) {
        self.found.values().fold((0, 0), |(found, all), (one, of)| (found + one, all + of))
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (found, all) = self.sums();
        writeln!(f, "found {found} of {all} faults ({:.2}%)", 100.0 * f64::from(found) / f64::from(all))?;
        for (fault, (found, all)) in &self.found {
            writeln!(f, "    {:12} {found} of {all}", format!("{fault:?}"))?;
        }
        write!(f, "{} false alarms in {} sound cards", self.false_alarms, self.sound)
    }
}

/// Prints the share of faults found, in per cent, as each spread grows.
fn sensitivity(options: &Options) -> io::Result<()> {
    let usual = Spreads::default();
    let card = |nth: usize, sigma: f64| {
        let mut spreads = usual;
        spreads.cards[nth] = sigma;
        spreads
    };
    let mut cases: Vec<(String, Spreads)> = vec![("as stated".to_string(), usual)];
    for clock in [0.015, 0.04, 0.16] {
        cases.push((format!("clocks of cards {:.1}%", clock * 100.0), Spreads { clock, ..usual }));
    }
    for sigma in [0.0004, 0.0075, 0.01, 0.015, 0.02] {
        cases.push((format!("memory of cards {:.2}%", sigma * 100.0), card(0, sigma)));
    }
    for sigma in [0.0005, 0.0015, 0.002, 0.003, 0.005] {
        cases.push((format!("L2 of cards {:.2}%", sigma * 100.0), card(1, sigma)));
    }
    for sigma in [0.05, 0.08] {
        cases.push((format!("hosts {:.0}%", sigma * 100.0), card(4, sigma)));
    }
    for times in [2.0, 4.0] {
        let passes = usual.passes.map(|sigma| sigma * times);
        cases.push((format!("passes {times} x as stated"), Spreads { passes, ..usual }));
    }
    println!("| spread | HBM | L2 | link | clocks | host | all | false alarms per 1,000 |");
    println!("| --- | --: | --: | --: | --: | --: | --: | --: |");
    for (name, spreads) in cases {
        let fleet = fleet(options, spreads);
        let folder = tempfile::tempdir()?;
        write(&fleet, 0..fleet.cards, folder.path())?;
        let report = judge(&Records::read(folder.path()).map_err(io::Error::other)?, Thresholds::default());
        let score = Score::of(&fleet, &report);
        let percent =
            |(found, all): (u32, u32)| format!("{:.1}%", 100.0 * f64::from(found) / f64::from(all.max(1)));
        let each: Vec<String> = Injected::ALL
            .iter()
            .map(|fault| percent(score.found.get(fault).copied().unwrap_or_default()))
            .collect();
        let alarms = 1000.0 * f64::from(score.false_alarms) / f64::from(score.sound.max(1));
        println!("| {name} | {} | {} | {alarms:.2} |", each.join(" | "), percent(score.sums()));
        io::stdout().flush()?;
    }
    Ok(())
}

/// Megabytes that were resident at most.
fn peak_mb() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.unwrap_or(0) * 1024 / 1_000_000)
}

/// Forgets what was resident so far, so that writing the files does not count.
fn forget_peak() -> io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}
