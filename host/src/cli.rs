//! The command line.

use crate::{
    device::DeviceChoice,
    experiments::{self, Precision},
    sizes,
    sweep::Sweep,
};
use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use std::{ops::RangeInclusive, path::PathBuf};

/// Measures how a GPU's memory behaves, with kernels written in Rust.
///
/// Every figure is effective bandwidth, (bytes read + bytes written) / 10^9 / seconds, of a launch whose result was
/// compared element by element. The kernels are embedded as PTX; all that a machine needs is an NVIDIA driver.
#[derive(Debug, Parser)]
#[command(name = "coalesce", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_long_help = "The environment variable COALESCE_DRIVER names the driver library, where it is not the \
                             libcuda.so.1 that the system's loader finds."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments and report bandwidth
    ///
    /// Runs each experiment, checks every element of every result, and reports bandwidth beside the peak and beside
    /// the driver's own copy in the same run. A result that is wrong is shown as INVALID, without a figure, and makes
    /// the exit status 1. Ctrl-C ends the run after the sample in flight and keeps the records taken.
    Run(Options),
    /// List the experiments and their kernels
    List,
    /// List the GPUs, and what the driver says of them
    Devices,
    /// Run the Rust kernels and their CUDA C++ twins by turns, and report the ratio of their times
    ///
    /// Compiles every .cu file in the reference folder with nvcc (from PATH, CUDA_HOME/bin or /usr/local/cuda/bin) to
    /// PTX for the device; where there is no nvcc, takes the .ptx files in that folder. A twin is a kernel with the
    /// same name and parameters. Both run on the same buffers with the same launch shape, a sample of one and a sample
    /// of the other by turns, and both are verified.
    Compare {
        /// The folder with the CUDA C++ twins
        #[arg(long, value_name = "DIR")]
        reference: PathBuf,
        /// As for `run`.
        #[command(flatten)]
        options: Options,
    },
}

/// What to run and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The experiments to run; all where none is named
    #[arg(value_name = "EXPERIMENT", value_parser = PossibleValuesParser::new(experiment_names()), hide_possible_values = true)]
    pub experiments: Vec<String>,

    /// Run only these kernels of the experiments
    ///
    /// `coalesce list` shows the names. May be given several times, or with names separated by commas.
    #[arg(long = "kernel", value_name = "KERNEL", value_delimiter = ',', value_parser = PossibleValuesParser::new(kernel_names()), hide_possible_values = true)]
    pub kernels: Vec<String>,

    /// Where to run: auto (the first GPU), cuda, or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceChoice,

    /// The element type of the experiments that have a choice
    #[arg(long, value_enum, default_value_t = Precisions::Both, value_name = "f32|f64|both")]
    pub precision: Precisions,

    /// Bytes that a kernel reads, such as 4MiB, 256MiB or 1GiB [default: at least four times L2]
    ///
    /// KiB, MiB and GiB are binary, KB, MB and GB decimal. The default is the power of two that is at least four times
    /// the device's L2 cache and at least 64 MiB: below that, part of the data stays in L2 from one launch to the
    /// next, and the rows say so. A stride of s spreads the bytes over s times as much memory.
    #[arg(long, value_parser = sizes::parse, allow_hyphen_values = true, value_name = "SIZE")]
    pub bytes: Option<u64>,

    /// Threads a block
    ///
    /// From 1 to the device's limit, 1024 as a rule. What is not a multiple of 32 is allowed, for the sake of seeing
    /// what it costs: the last warp of each block then has idle lanes.
    #[arg(long, default_value_t = 256, allow_negative_numbers = true, value_name = "THREADS", value_parser = |text: &str| whole(text, 1..=1024))]
    pub block: u32,

    /// The offsets or strides to visit: 0..=32, 0..32, 4, or 1,2,4,8 [default: 0..=32, strides from 1]
    #[arg(long, allow_hyphen_values = true, value_name = "RANGE")]
    pub range: Option<Sweep>,

    /// Samples a row: the median is reported, with the shortest and the longest
    #[arg(long, default_value_t = 11, allow_negative_numbers = true, value_name = "N", value_parser = |text: &str| whole(text, 1..=500))]
    pub samples: u32,

    /// How to print the result
    ///
    /// json is one object a line for each row, printed as the rows come; docs/records.md describes its fields. Notices
    /// and progress go to stderr, so that a pipe carries data alone.
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "table|json|csv")]
    pub format: Format,

    /// Also write the result into this folder: records.jsonl as the rows come, table.txt and records.csv at the end
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
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
    /// One JSON object a line
    Json,
    /// Comma-separated values with a header
    Csv,
}

/// Reads a whole number within bounds.
fn whole(text: &str, bounds: RangeInclusive<u32>) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("it has to be a whole number in {}..={}", bounds.start(), bounds.end()))
}

fn experiment_names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|experiment| experiment.name()).collect()
}

fn kernel_names() -> Vec<&'static str> {
    experiments::ALL.iter().flat_map(|experiment| experiment.kernels()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
            (options.device, options.bytes, options.block, options.samples),
            (DeviceChoice::Auto, None, 256, 11)
        );
        assert_eq!((options.precision, options.format), (Precisions::Both, Format::Table));
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
            (options.device, options.bytes, options.block),
            (DeviceChoice::Cuda(1), Some(4 << 20), 128)
        );
        assert_eq!(options.range.map(|range| range.values().to_vec()), Some(vec![1, 2, 4]));
        assert_eq!((options.precision.chosen(), options.samples), (vec![Precision::F64], 3));
        assert_eq!((options.format, options.out), (Format::Csv, Some(PathBuf::from("results"))));
    }
}
