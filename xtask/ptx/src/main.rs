//! `xtask-ptx`: what `cargo xtask` does with the kernels' PTX. A program of its own, built on demand, because it carries the
//! compiler of kernels, which most verbs do without.
//!
//! `ptx` and `sass` are verbs of `cargo xtask`, passed on as they were typed. The others are steps of its `test`, `dist` and
//! `doctor`, and print what those read.

mod expectations;
mod gate;
mod kernels;
mod lines;
mod pattern;
mod print;
mod sass;
mod steps;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::misuse;

/// Print the kernels' PTX and what becomes of it.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print a kernel's PTX
    Ptx(print::Arguments),
    /// Print a kernel's machine code, with its registers and shared memory
    Sass(sass::Arguments),
    /// A step of `test`, `dist` or `doctor`
    #[command(hide = true, subcommand)]
    Step(steps::Step),
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().verb {
        Verb::Ptx(arguments) => print::main(&arguments),
        Verb::Sass(arguments) => sass::main(&arguments),
        Verb::Step(step) => steps::main(&step),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => misuse::report(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <CommandLine as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn an_unknown_architecture_names_the_nearest() {
        let Err(error) = CommandLine::try_parse_from(["xtask", "ptx", "offset_f32", "--arch", "compute_91"])
        else {
            panic!("compute_91 is not an architecture")
        };
        let text = error.to_string();
        let sentence = "error: invalid value 'compute_91' for '--arch <ARCH>': there is no such architecture; did you mean \
                        compute_90, compute_61 or compute_90a? `compute_50` is the first and `compute_121a` the last";
        assert!(text.starts_with(sentence), "{text}");
    }

    #[test]
    fn a_kernel_or_all_must_be_named() {
        let parse = |words: &[&str]| CommandLine::try_parse_from(words).err().map(|error| error.to_string());
        let neither = parse(&["xtask", "ptx"]).unwrap_or_default();
        assert!(neither.contains("<KERNEL>"), "{neither}");
        assert!(parse(&["xtask", "ptx", "offset_f32", "--all"]).is_some());
        assert_eq!(parse(&["xtask", "ptx", "--all"]), None);
    }
}
