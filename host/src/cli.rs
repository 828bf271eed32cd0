//! The command line.

mod given;

pub(crate) use given::Given;

use crate::{
    device::DeviceChoice,
    experiments::{self, Choices, Precision},
    libraries,
    simulated::{self, Card, Check},
    sizes,
    sweep::Sweep,
};
use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

/// Measures how a GPU's memory behaves, with kernels written in Rust.
///
/// Every figure is effective bandwidth, (bytes read + bytes written) / 10^9 / seconds, of a launch whose result was
/// compared element by element. The kernels are embedded as PTX, so a machine needs only an NVIDIA driver to measure.
/// Without a GPU the same PTX runs on a simulated card, and the times are modelled.
#[derive(Debug, Parser)]
#[command(name = "coalesce", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_long_help = "The environment variable COALESCE_DRIVER names the driver library, in place of the \
                             libcuda.so.1 that the system's loader finds.\n\n\
                             The exit status is 0 if everything is done and right, 1 if something failed or a result is \
                             wrong, 2 if the command line is wrong, and 130 after Ctrl-C."
)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments and report bandwidth
    ///
    /// Runs each experiment, verifies every element of every result, and reports bandwidth beside the peak and beside
    /// the driver's own copy in the same run. A wrong result shows as INVALID, without a figure, and makes the exit
    /// status 1. Ctrl-C ends the run after the current sample and keeps the records taken so far.
    Run(Options),
    /// List the experiments and their kernels
    List {
        /// Show each kernel's signature and launch contract
        #[arg(long)]
        kernels: bool,
    },
    /// List the GPUs and the simulated cards, or print a card's description as a file to edit
    ///
    /// Lists the GPUs with their attributes from the driver, or the reason why there are none. Then lists the simulated
    /// cards with their figures and the sources of these. With the name of a card, prints its description as TOML. Save
    /// and edit it, and pass it as `--device sim:FILE.toml` to simulate a card of your own.
    Devices {
        /// The card to print
        #[arg(value_name = "CARD", value_parser = simulated::named)]
        card: Option<Box<Card>>,
    },
    /// Explain a kernel line by line, or the lesson of an experiment
    ///
    /// For a kernel: simulates its launches at a small size and shows one of them: the Rust source with the requests,
    /// sectors, bank conflicts and traffic of each line, a picture of the most expensive request lane by lane, and the
    /// limits of occupancy and time. For an experiment: the lesson, its kernels and its articles.
    Explain(ExplainOptions),
    /// Run kernels under the checks of the simulated driver, and report their errors
    ///
    /// Launches each kernel once per point, on buffers of exactly its size, and reports in compute-sanitizer's words:
    /// accesses out of bounds or misaligned (memcheck), data races in shared and global memory (racecheck), reads of
    /// uninitialised memory (initcheck), wrong use of barriers (synccheck), and memory that is never freed (leakcheck).
    /// Each finding names its line of Rust. A finding, or a wrong result, makes the exit status 1. The checks run on
    /// the simulated driver, also on a machine with a GPU.
    Check(CheckOptions),
    /// Run the Rust kernels interleaved with their CUDA C++ twins or with NVIDIA's libraries, and report the ratio of the times
    ///
    /// With --library all kernels that compute the same product are measured beside the library's function, on the same buffers
    /// with interleaved samples, and all are verified. Each has its ratio to the library's row, of several the fastest. It needs
    /// a GPU and the library (libcublas.so.13 or .12), which is looked for when it runs.
    ///
    /// With --reference: compiles every .cu file in the reference folder with nvcc (from PATH, CUDA_HOME/bin or /usr/local/cuda/bin) to
    /// PTX for the device; one with twins of kernels for one architecture, such as compute_90a, for that, if such a kernel is to
    /// run. Without nvcc it takes the .ptx files in that folder. A twin is a kernel with the same name and parameters. Both run on the same buffers with the same launch shape and interleaved samples, and both are
    /// verified.
    Compare {
        /// The folder with the CUDA C++ twins
        #[arg(long, value_name = "DIR", required_unless_present = "libraries", conflicts_with = "libraries")]
        reference: Option<PathBuf>,
        /// Compare with these libraries instead, of matmul
        ///
        /// cublas chooses the algorithm itself. cublaslt proposes up to 16, which are timed shortly; the fastest is measured, and its
        /// row names it. May be given several times, or with names separated by commas.
        #[arg(long = "library", value_enum, value_delimiter = ',', value_name = "cublas|cublaslt")]
        libraries: Vec<libraries::Name>,
        /// As for `run`.
        #[command(flatten)]
        options: Options,
    },
    /// Compare two runs row by row: slower, faster, wrong, new and missing rows
    ///
    /// Takes folders that `run --out` wrote, or files of records. Rows match if experiment, kernel, language and
    /// parameters are the same; card and driver may differ. Each pair has the ratio of its median times, B over A, with
    /// its 95% interval. A change is certain if the interval excludes 1. If one run is modelled and the other measured,
    /// the ratios are the model's error.
    Diff(DiffOptions),
    /// Find the slow cards among many, from the records that `run --fleet` wrote
    ///
    /// Compares the cards of each kind with each other, each card with itself over passes, and its rows with its own clock
    /// and peak, and names what slow rows point to: device memory, L2, the link, clocks or the host. Writes a page. Ranks
    /// without records, files that are cut off, several kinds of cards or versions of the program, and clocks that somebody
    /// set are named, and the rest is judged. The exit status is 0 if all cards are sound and all ranks have whole records,
    /// or else 1.
    Fleet(FleetOptions),
    /// Write the tables in README.md and docs/ from the records that the repository keeps
    ///
    /// README.md, docs/kernels.md and docs/rust-tax.md follow from docs/results. docs/fidelity.md also needs a simulation,
    /// whose counters must equal those that Nsight Compute read on an H200. Needs a checkout of the repository.
    #[command(args_conflicts_with_subcommands = true)]
    Pages {
        /// Change nothing; fail if a table differs from its records, or a counter from the hardware's
        #[arg(long)]
        check: bool,
        /// A single page.
        #[command(subcommand)]
        page: Option<PageCommand>,
    },
    /// Make an HTML report of runs: the card, each lesson with its picture, each kernel line by line
    ///
    /// Takes folders that `run --out` wrote, or files of records. The report is one file that needs no network. `run` also
    /// makes one, and prints its path.
    Report(ReportOptions),
}

/// What kernels are compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference<'a> {
    /// Nothing.
    None,
    /// The twins in this folder.
    Twins(&'a Path),
    /// Libraries.
    Libraries(&'a [libraries::Name]),
}

impl<'a> Reference<'a> {
    /// The reference that `compare` was given: a folder, or libraries.
    pub(crate) fn of(folder: Option<&'a Path>, libraries: &'a [libraries::Name]) -> Reference<'a> {
        folder.map_or(Reference::Libraries(libraries), Reference::Twins)
    }
}

/// The options of `report`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportOptions {
    /// The runs: folders with records.jsonl, or files of records; or one file that COALESCE_PROFILE wrote
    #[arg(value_name = "DIR", required = true)]
    pub runs: Vec<PathBuf>,

    /// The page to write [default: report.html in the folder of the run; of several runs in this folder; of a profile beside it]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Draw only the curves of these experiments as an SVG picture: a row per experiment, a column per run
    #[arg(long, value_name = "EXPERIMENT", value_delimiter = ',')]
    pub picture: Vec<String>,

    /// Show the page in a browser
    #[arg(long)]
    pub open: bool,
}

/// The pages that can be made singly.
#[derive(Debug, Subcommand)]
pub(crate) enum PageCommand {
    /// Write the tables of docs/fidelity.md: the simulator beside the hardware's counters and times
    Fidelity(FidelityOptions),
    /// Write the tables of docs/h200-atlas.md: constants of an H200 beside publications and the model
    Atlas(AtlasOptions),
}

/// The options of `pages atlas`.
#[derive(Debug, Args)]
pub(crate) struct AtlasOptions {
    /// Change nothing; fail if docs/h200-atlas.md is out of date
    #[arg(long)]
    pub check: bool,
    /// Keep the rows of a run on an H200 that measure a constant
    #[arg(long, value_name = "RECORDS.JSONL", conflicts_with = "check")]
    pub records: Vec<PathBuf>,
}

/// The options of `pages fidelity`.
#[derive(Debug, Args)]
pub(crate) struct FidelityOptions {
    /// Simulate the measured rows at full size too (five minutes on two cores, one and a half on eight), instead of reading the rows kept from the last time
    #[arg(long)]
    pub full: bool,
    /// Change nothing; fail if a counter differs or docs/fidelity.md is out of date
    #[arg(long, conflicts_with = "full")]
    pub check: bool,
    /// Add the counters that `ncu --csv --page raw` read from a run on an H200; needs --records of the same run
    #[arg(long, value_name = "NCU.CSV", requires = "records")]
    pub ncu: Option<PathBuf>,
    /// The records.jsonl of the run that ncu profiled, or without --ncu of a measured run to keep; given several times, the
    /// median of each figure is kept
    #[arg(long, value_name = "RECORDS.JSONL", conflicts_with_all = ["full", "check"])]
    pub records: Vec<PathBuf>,
    /// Further options of that run, besides --bytes; the simulator gets the same
    #[arg(long, value_name = "OPTIONS", requires = "records", allow_hyphen_values = true)]
    pub run: Option<String>,
    /// Keep that run's rows as measured without simulating them, because that would take too long
    #[arg(long, requires = "records", conflicts_with = "ncu")]
    pub only_measured: bool,
}

/// The options of `diff`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DiffOptions {
    /// The first run: a folder with records.jsonl, or a file of records
    #[arg(value_name = "A")]
    pub a: PathBuf,

    /// The second run
    #[arg(value_name = "B")]
    pub b: PathBuf,

    /// Exit with status 1 if a row is slower in B by more than this, such as 2%, or no longer verifies
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub threshold: Option<f64>,

    /// Show all rows, unchanged ones included
    #[arg(short, long)]
    pub verbose: bool,

    /// Also write the comparison as a page into this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// How to print the comparison: for people, or as one JSON object, which docs/records.md describes
    #[arg(long, value_enum, default_value_t = DiffFormat::Text, value_name = "text|json")]
    pub format: DiffFormat,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// A screen for people
    Text,
    /// One JSON object
    Json,
}

/// The options of `run`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The options of single experiments that the user gave. This field comes first, because later fields consume the values.
    #[command(flatten)]
    pub given: Given,

    /// The experiments to run; all where none is named
    #[arg(value_name = "EXPERIMENT", value_parser = PossibleValuesParser::new(experiment_names()), hide_possible_values = true)]
    pub experiments: Vec<String>,

    /// Run only these kernels of the experiments
    ///
    /// `coalesce list` shows the names. May be given several times, or with names separated by commas.
    #[arg(long = "kernel", value_name = "KERNEL", value_delimiter = ',', value_parser = PossibleValuesParser::new(kernel_names()), hide_possible_values = true)]
    pub kernels: Vec<String>,

    /// Where to run: auto, cuda, cuda:N, cuda:0,1, cuda:all, sim:CARD, sim:CARDx2 or sim:FILE.toml
    ///
    /// auto is the first GPU of the NVIDIA driver, or sim:h200 if there is none, with a note on stderr. cuda requires a
    /// GPU; cuda:N is the one with this number. sim:CARD is a simulated card, and sim:FILE.toml one of your own; their
    /// times are modelled. `coalesce devices` lists them all.
    ///
    /// Several devices are measured one after the other, because they share the machine's power and the host's links, and
    /// their figures stand side by side. With --fleet, auto and cuda are the card that is this rank's own: its number among
    /// the ranks of the machine, modulo the cards that it sees.
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceChoice,

    /// The element type of the experiments that have a choice
    #[arg(long, value_enum, default_value_t = Precisions::Both, value_name = "f32|f64|both")]
    pub precision: Precisions,

    /// Bytes that a kernel reads, such as 4MiB, 256MiB or 1GiB [default: at least four times L2]
    ///
    /// KiB, MiB and GiB are binary; KB, MB and GB are decimal. The default is the least power of two that is at least four
    /// times the device's L2 cache and at least 64 MiB. Below that, part of the data stays in L2 from one launch to the
    /// next, and the rows say so. On a simulated card copy, offset and stride touch that much in all, and the other
    /// experiments take 16 MiB, so that all finish within 40 seconds on two cores. A stride of s spreads the bytes over s
    /// times as much memory.
    #[arg(long, value_parser = sizes::parse, allow_hyphen_values = true, value_name = "SIZE")]
    pub bytes: Option<u64>,

    /// The offsets or strides to visit: 0..=32, 0..32, 4, or 1,2,4,8 [default: a selection; with --full 0..=32]
    #[arg(long, allow_hyphen_values = true, value_name = "RANGE")]
    pub range: Option<Sweep>,

    /// Show every row with all its figures, and the sources of a simulated card's figures
    ///
    /// Without it an experiment takes one screen: a picture, its finding, and the rows that show it. The width is that of
    /// the terminal, or the value of COLUMNS; NO_COLOR turns colours off.
    #[arg(short, long)]
    pub verbose: bool,

    /// The options of single experiments.
    #[command(flatten, next_help_heading = "Options of single experiments")]
    pub choices: Choices,

    /// Take the sizes of the articles and those beyond L2, and every offset and stride, where none is given
    ///
    /// Without it sizes are small, so that a run is quick, and large enough for each lesson.
    #[arg(long, help_heading = "Options")]
    pub full: bool,

    /// Launch each point once without timing it, for profilers such as ncu; the results are verified
    ///
    /// Each buffer is an allocation of its own that ends with its data, so that compute-sanitizer sees every access past
    /// the end.
    #[arg(long, help_heading = "Options", conflicts_with = "samples")]
    pub once: bool,

    /// Samples per row: the median is reported, with the shortest and the longest [default: 11, 5 of unified; 1 on a simulated card]
    ///
    /// On a GPU a sample is many launches. On a simulated card it is one launch, and all have the same time.
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = |text: &str| whole(text, 1..=500))]
    pub samples: Option<u32>,

    /// Keep the card busy with each row for this long, and time it at the clocks that power and heat then allow
    ///
    /// The samples together last as long, interleaved with those of the rows that are compared; a round before them heats the
    /// card. Rows then have power and energy, if the driver has sensors. Without it samples last two milliseconds, and rows
    /// say "burst". GPUs only.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "once", help_heading = "Options")]
    pub sustained: Option<f64>,

    /// Let the card rest for 20 ms before each sample
    ///
    /// Rows that are compared take turns. Without a rest, those that draw much power throttle the ones after them. Rows then say
    /// "rested" in place of "burst". GPUs only.
    #[arg(long, conflicts_with_all = ["once", "sustained"], help_heading = "Options")]
    pub rested: bool,

    /// Show the counters of each launch on a simulated card: requests, sectors, cache lines, instructions
    ///
    /// `--counters` adds a table with one row per launch, `--counters lines` also a table with one row per source line.
    /// Records in JSON always have both.
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "launch", value_name = "launch|lines")]
    pub counters: Option<Detail>,

    /// Explain each row below its table, in one sentence on what limits it
    ///
    /// The sentence is generated from the simulator's counters and from where the data lived. For a GPU, whose counters
    /// only NVIDIA's tools read, the kernels are simulated at a small size before the run. Records always have the
    /// sentence.
    #[arg(long, help_heading = "Options")]
    pub explain: bool,

    /// Take the sizes that `check` takes.
    #[arg(long, hide = true, conflicts_with = "full")]
    pub small: bool,

    /// How to print the result
    ///
    /// json prints one object per row, each on a line, as soon as the row is done; docs/records.md describes its fields.
    /// Notes and progress go to stderr, so that a pipe carries data alone.
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "table|json|csv")]
    pub format: Format,

    /// Also write the result into this folder: records.jsonl row by row; report.html, table.txt and records.csv at the end
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Show the run's report in a browser when it is done
    #[arg(long, conflicts_with = "once")]
    pub open: bool,

    /// Compare with an earlier run when this one is done, as `coalesce diff` does
    #[arg(long, value_name = "DIR", conflicts_with = "once")]
    pub baseline: Option<PathBuf>,

    /// With --baseline: exit with status 1 if a row is slower by more than this, such as 2%, or no longer verifies
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "baseline")]
    pub threshold: Option<f64>,

    /// Remove the files that an earlier run wrote into the folder of --out
    ///
    /// Its records, run.json, report.html, table.txt and records.csv are removed when this run has its first record. Other
    /// files stay.
    #[arg(long)]
    pub replace: bool,

    /// Measure as one rank of many, and write this rank's records into DIR/RUN/rank-NNNNN.jsonl
    ///
    /// Rank, number of ranks and run are those of Slurm (srun), Open MPI, PMI, PMIx or an indexed Job of Kubernetes. Without
    /// experiments the points are those of a health check: at least two for each of device memory, L2, the link, clocks and
    /// the host, which take a minute in 48 passes. `coalesce fleet DIR` judges the cards. docs/fleet.md has examples.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "open", "once", "baseline", "counters", "explain"], help_heading = "One rank of many")]
    pub fleet: Option<PathBuf>,

    /// Measure all points this often, one pass after the other, so that a fault that comes and goes shows [default: 48; 1 on a simulated card]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = |text: &str| whole(text, 1..=1000), help_heading = "One rank of many")]
    pub passes: Option<u32>,

    /// The name of the run, where the scheduler does not tell
    #[arg(long, value_name = "NAME", requires = "fleet", help_heading = "One rank of many")]
    pub run_id: Option<String>,

    /// The number of ranks, where the scheduler does not tell
    #[arg(long, value_name = "N", requires = "fleet", value_parser = |text: &str| whole(text, 1..=10_000_000), help_heading = "One rank of many")]
    pub ranks: Option<u32>,

    /// Begin each pass together with all other ranks, by MPI's barrier; needs a program with the feature mpi
    #[arg(long, requires = "fleet", help_heading = "One rank of many")]
    pub together: bool,
}

/// The options of `fleet`.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetOptions {
    /// The folder that `run --fleet` wrote into; files in folders below it are read as well
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// The page to write [default: fleet.html in the folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Print the report as one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Also write metrics for the textfile collector of Prometheus's node exporter into this file
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,

    /// Show the distribution of every row
    #[arg(short, long)]
    pub verbose: bool,

    /// A card is slow from this modified z-score on
    #[arg(long, value_name = "SCORE", default_value_t = 5.0, value_parser = score)]
    pub score: f64,

    /// A card is slow if it is slower than the median card by at least this, such as 1%
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = percent)]
    pub slower: f64,

    /// A pass is slow if it is slower than the card's other passes by at least this
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = percent)]
    pub pass_slower: f64,

    /// Show the page in a browser
    #[arg(long, conflicts_with = "json")]
    pub open: bool,
}

/// How closely counters are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Detail {
    /// Counters of each launch
    Launch,
    /// Counters of each source line as well
    Lines,
}

/// The options of `check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckOptions {
    /// The options of single experiments that the user gave. This field comes first, because later fields consume the values.
    #[command(flatten)]
    pub given: Given,

    /// The kernels and experiments to check; all where none is named
    #[arg(value_name = "KERNEL|EXPERIMENT", value_parser = PossibleValuesParser::new(checkable_names()), hide_possible_values = true)]
    pub names: Vec<String>,

    /// The checks to make; all where none is named
    ///
    /// May be given several times, or with names separated by commas.
    #[arg(
        long = "tool",
        value_enum,
        value_delimiter = ',',
        value_name = "memcheck|racecheck|initcheck|synccheck|leakcheck"
    )]
    pub tools: Vec<Check>,

    /// Check the kernels of this PTX file, with the same names and parameters, in place of the program's own
    ///
    /// The file may be a twin compiled by nvcc, for instance.
    #[arg(long, value_name = "FILE")]
    pub ptx: Option<PathBuf>,

    /// Show every finding in full, by instruction or pair of instructions
    ///
    /// Without it, findings that one change of the source would fix are shown as one: those at the same lines, and races
    /// that one barrier would order.
    #[arg(long)]
    pub verbose: bool,

    /// The simulated card to check on: sim:CARD or sim:FILE.toml
    #[arg(long, default_value = "sim:h200", value_name = "DEVICE")]
    pub device: DeviceChoice,

    /// The element type of the experiments that have a choice
    #[arg(long, value_enum, default_value_t = Precisions::Both, value_name = "f32|f64|both")]
    pub precision: Precisions,

    /// Bytes that a kernel reads [default: 64KiB, or as much as makes whole blocks]
    #[arg(long, value_parser = sizes::parse, allow_hyphen_values = true, value_name = "SIZE")]
    pub bytes: Option<u64>,

    /// The offsets or strides to visit: 0..=32, 0..32, 4, or 1,2,4,8 [default: 0..=32, strides from 1]
    #[arg(long, allow_hyphen_values = true, value_name = "RANGE")]
    pub range: Option<Sweep>,

    /// The options of single experiments.
    #[command(flatten, next_help_heading = "Options of single experiments")]
    pub choices: Choices,
}

/// The options of `explain`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExplainOptions {
    /// The options of single experiments that the user gave. This field comes first, because later fields consume the values.
    #[command(flatten)]
    pub given: Given,

    /// The kernel or the experiment
    #[arg(value_name = "KERNEL|EXPERIMENT", value_parser = PossibleValuesParser::new(checkable_names()), hide_possible_values = true)]
    pub name: String,

    /// The card to simulate: auto, cuda, cuda:N, sim:CARD or sim:FILE.toml
    ///
    /// For a GPU it is the most similar simulated card. auto is that of the first GPU, or sim:h200 if there is none.
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceChoice,

    /// Show the PTX of each line below it
    #[arg(long)]
    pub ptx: bool,

    /// Bytes that the kernel reads [default: 4MiB, or as much as makes whole blocks]
    #[arg(long, value_parser = sizes::parse, allow_hyphen_values = true, value_name = "SIZE")]
    pub bytes: Option<u64>,

    /// The offset or stride to explain [default: the most expensive]
    #[arg(long, allow_hyphen_values = true, value_name = "RANGE")]
    pub range: Option<Sweep>,

    /// The options of single experiments.
    #[command(flatten, next_help_heading = "Options of single experiments")]
    pub choices: Choices,
}

/// The choice of element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precisions {
    /// Single precision
    F32,
    /// Double precision
    F64,
    /// Single and double precision, side by side
    Both,
}

impl Precisions {
    /// The element types chosen.
    pub(crate) fn chosen(self) -> Vec<Precision> {
        match self {
            Precisions::F32 => vec![Precision::F32],
            Precisions::F64 => vec![Precision::F64],
            Precisions::Both => vec![Precision::F32, Precision::F64],
        }
    }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values with a header
    Csv,
}

/// Reads a whole number within bounds.
fn whole(text: &str, bounds: RangeInclusive<u32>) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("it has to be a whole number in {}..={}", bounds.start(), bounds.end()))
}

/// Reads a time that a row may keep a card busy.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('s').trim_end().parse().ok();
    number
        .filter(|seconds| (0.1..=600.0).contains(seconds))
        .ok_or_else(|| "it has to be seconds between 0.1 and 600, as in 5".to_string())
}

/// Reads a score.
fn score(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "it has to be a number above 0, as in 5".to_string())
}

/// Reads a percentage as a part of 1.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse().ok().filter(|number: &f64| *number >= 0.0);
    let part = number.filter(|number| number.is_finite()).map(|number| number / 100.0);
    part.ok_or_else(|| "it has to be a percentage of at least 0, as in 2%".to_string())
}

fn experiment_names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|experiment| experiment.name()).collect()
}

fn kernel_names() -> Vec<&'static str> {
    distinct(experiments::ALL.iter().flat_map(|experiment| experiment.names()))
}

/// Each name once, in order: a kernel may be in several experiments.
fn distinct(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// The names that `check` and `explain` take: experiments and kernels.
fn checkable_names() -> Vec<&'static str> {
    let kernels = experiments::ALL.iter().flat_map(|experiment| experiment.kernels());
    distinct(experiment_names().into_iter().chain(kernels.map(|kernel| kernel.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Block;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    fn options(arguments: &[&str]) -> Options {
        let cli = Cli::try_parse_from(["coalesce", "run"].iter().chain(arguments));
        match cli.unwrap_or_else(|error| panic!("{error}")).command {
            Command::Run(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn everything_has_a_default() {
        let options = options(&[]);
        assert!(options.experiments.is_empty() && options.kernels.is_empty() && options.range.is_none());
        assert_eq!(
            (options.device, options.bytes, options.given, options.samples),
            (DeviceChoice::Auto, None, Given::default(), None)
        );
        assert_eq!((options.precision, options.format), (Precisions::Both, Format::Table));
        assert_eq!((options.counters, options.verbose), (None, false));
    }

    #[test]
    fn every_option_is_read() {
        let options = options(&[
            "stride",
            "offset",
            "--device",
            "cuda:1",
            "--precision",
            "f64",
            "--bytes",
            "4MiB",
            "--block",
            "128",
            "--range",
            "1,2,4",
            "--samples",
            "3",
            "--format",
            "csv",
            "--out",
            "results",
            "--kernel",
            "offset_f64,stride_f64",
        ]);
        assert_eq!(options.experiments, ["stride", "offset"]);
        assert_eq!(options.kernels, ["offset_f64", "stride_f64"]);
        assert_eq!(
            (options.device, options.bytes, &options.choices.block[..]),
            (DeviceChoice::Cuda(1), Some(4 << 20), &[Block::linear(128)][..])
        );
        assert_eq!(options.range.map(|range| range.values().to_vec()), Some(vec![1, 2, 4]));
        assert_eq!((options.precision.chosen(), options.samples), (vec![Precision::F64], Some(3)));
        assert_eq!((options.format, options.out), (Format::Csv, Some(PathBuf::from("results"))));
    }

    #[test]
    fn pages_are_made_together_or_one_by_itself() {
        let page = |arguments: &[&str]| {
            let cli = Cli::try_parse_from(["coalesce", "pages"].iter().chain(arguments));
            cli.map(|cli| match cli.command {
                Command::Pages { check, page } => (check, page),
                other => panic!("{other:?}"),
            })
        };
        assert!(matches!(page(&["--check"]), Ok((true, None))));
        let words = ["fidelity", "--records", "a", "--records", "b", "--run", "--small --once"];
        let Ok((false, Some(PageCommand::Fidelity(options)))) = page(&words) else {
            panic!("a page by itself")
        };
        assert_eq!((options.records.len(), options.run.as_deref()), (2, Some("--small --once")));
        let Ok((false, Some(PageCommand::Atlas(options)))) = page(&["atlas", "--records", "a"]) else {
            panic!("a page by itself")
        };
        assert_eq!(options.records, [PathBuf::from("a")]);
        for wrong in
            [&["fidelity", "--full", "--check"][..], &["fidelity", "--ncu", "x"], &["--check", "fidelity"]]
        {
            assert!(page(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn thresholds_are_percentages() {
        assert_eq!(options(&["--baseline", "x", "--threshold", "2%"]).threshold, Some(0.02));
        assert_eq!(percent("0.5"), Ok(0.005));
        for wrong in ["", "%", "-1%", "inf", "two"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_are_sustained_for_seconds() {
        assert_eq!(options(&["--sustained", "5"]).sustained, Some(5.0));
        assert_eq!((seconds("0.5s"), seconds("600 s")), (Ok(0.5), Ok(600.0)));
        for wrong in ["", "0", "-1", "601", "nan", "5ms"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counters_have_two_depths() {
        assert_eq!(options(&["--counters"]).counters, Some(Detail::Launch));
        assert_eq!(options(&["--counters", "--samples", "2"]).counters, Some(Detail::Launch));
        assert_eq!(options(&["--counters", "lines"]).counters, Some(Detail::Lines));
        assert!(Detail::Lines > Detail::Launch);
    }

    fn check(arguments: &[&str]) -> CheckOptions {
        let cli = Cli::try_parse_from(["coalesce", "check"].iter().chain(arguments));
        match cli.unwrap_or_else(|error| panic!("{error}")).command {
            Command::Check(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn checks_are_of_everything_unless_named() {
        let all = check(&[]);
        assert!(all.names.is_empty() && all.tools.is_empty() && all.bytes.is_none());
        assert!(matches!(&all.device, DeviceChoice::Simulated(card) if card.key == "h200"));
        let some = check(&["copy_vector", "offset", "--tool", "memcheck,racecheck", "--tool", "synccheck"]);
        assert_eq!(some.names, ["copy_vector", "offset"]);
        assert_eq!(some.tools, [Check::Memcheck, Check::Racecheck, Check::Synccheck]);
    }
}
