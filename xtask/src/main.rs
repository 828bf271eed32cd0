//! `cargo xtask VERB`: everything that is done with this repository, from a first run to the tests.
//!
//! One file a verb under `verbs/`; this one only dispatches. The rest are what the verbs share.

mod coalesce;
mod edited;
mod elsewhere;
mod generated;
mod gpu;
mod interface;
mod kernels;
mod links;
mod python;
mod reuse;
mod schedulers;
mod simulated;
mod snippets;
mod steps;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand};
use nearest::hint_or;
use xtask::misuse::{self, Misuse};

pub(crate) use tools::process;
pub(crate) use xtask::{cargo, layout, print};

/// Run Coalesce's experiments and look after its code.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build coalesce and run experiments (arguments as for `coalesce run`; see `cargo xtask run --help`)
    #[command(disable_help_flag = true)]
    Run(PassedOn),
    /// List experiments and kernels (`coalesce list`)
    #[command(disable_help_flag = true)]
    List(PassedOn),
    /// List the devices that experiments can run on (`coalesce devices`)
    #[command(disable_help_flag = true)]
    Devices(PassedOn),
    /// Run the kernels beside their CUDA C++ twins under reference/ (`coalesce compare`)
    #[command(disable_help_flag = true)]
    Compare(PassedOn),
    /// Run kernels under the simulated driver's checks: memcheck, racecheck, initcheck, synccheck (`coalesce check`)
    #[command(disable_help_flag = true)]
    Check(PassedOn),
    /// Compare two runs row by row (`coalesce diff`)
    #[command(disable_help_flag = true)]
    Diff(PassedOn),
    /// Explain a kernel or an experiment (`coalesce explain`)
    #[command(disable_help_flag = true)]
    Explain(PassedOn),
    /// Find the slow cards among many, from the records of their ranks (`coalesce fleet`)
    #[command(disable_help_flag = true)]
    Fleet(PassedOn),
    /// Make one page of the records of runs (`coalesce report`)
    #[command(disable_help_flag = true)]
    Report(PassedOn),
    /// Write the tables in README.md and docs/ from the records in docs/results (`coalesce pages`)
    #[command(disable_help_flag = true)]
    Pages(PassedOn),
    /// Run all tests and checks that need no GPU, or with --gpu those that do
    Test(verbs::test::Arguments),
    /// Make a kernel with its experiment, CUDA C++ twin and test, which build and pass unchanged
    NewKernel(verbs::new_kernel::Arguments),
    /// Make a project outside this repository that uses our crates; it runs and passes its tests unchanged, with or without a GPU
    NewProject(verbs::new_project::Arguments),
    /// Print a kernel's PTX
    #[command(disable_help_flag = true)]
    Ptx(PassedOn),
    /// Print a kernel's machine code, with its registers and shared memory
    #[command(disable_help_flag = true)]
    Sass(PassedOn),
    /// List the compiler, tools, driver and GPU in use, and what is missing
    Doctor,
    /// Make a folder to carry to a GPU machine without Rust
    Dist(verbs::dist::Arguments),
    /// Build the book from docs/, check all links, and print the path of its first page
    Book,
}

/// Arguments for `coalesce`, passed on as they are.
#[derive(Args)]
pub(crate) struct PassedOn {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    let verb = match CommandLine::try_parse() {
        Ok(line) => line.verb,
        Err(error) => match unknown_verb(&error) {
            Some(words) => return misuse::report(&Misuse::error(words)),
            // Help, the version, and errors that clap words well itself.
            None => error.exit(),
        },
    };
    let result = match verb {
        Verb::Run(arguments) => coalesce::pass_on("run", arguments.arguments),
        Verb::List(arguments) => coalesce::pass_on("list", arguments.arguments),
        Verb::Devices(arguments) => coalesce::pass_on("devices", arguments.arguments),
        Verb::Compare(arguments) => coalesce::pass_on("compare", arguments.arguments),
        Verb::Check(arguments) => coalesce::pass_on("check", arguments.arguments),
        Verb::Diff(arguments) => coalesce::pass_on("diff", arguments.arguments),
        Verb::Explain(arguments) => coalesce::pass_on("explain", arguments.arguments),
        Verb::Fleet(arguments) => coalesce::pass_on("fleet", arguments.arguments),
        Verb::Report(arguments) => coalesce::pass_on("report", arguments.arguments),
        Verb::Pages(arguments) => coalesce::pass_on("pages", arguments.arguments),
        Verb::Test(arguments) => verbs::test::main(&arguments),
        Verb::NewKernel(arguments) => verbs::new_kernel::main(&arguments),
        Verb::NewProject(arguments) => verbs::new_project::main(&arguments),
        Verb::Ptx(arguments) => kernels::pass_on("ptx", &arguments.arguments),
        Verb::Sass(arguments) => kernels::pass_on("sass", &arguments.arguments),
        Verb::Doctor => verbs::doctor::main(),
        Verb::Dist(arguments) => verbs::dist::main(&arguments),
        Verb::Book => verbs::book::main(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => misuse::report(&error),
    }
}

/// Words a verb that does not exist, if that is what is wrong with the command line.
fn unknown_verb(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let definition = CommandLine::command();
    let verbs: Vec<&str> = definition.get_subcommands().map(clap::Command::get_name).collect();
    let hint = hint_or(wrong, &verbs, "`cargo xtask --help` lists them all");
    Some(format!("there is no command `{wrong}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn arguments_pass_through_untouched() {
        for words in
            [&["offset", "--range", "0..=4"][..], &["--help"], &["-h"], &["x", "--", "y"], &["--version"]]
        {
            let line = ["xtask", "run"].iter().chain(words);
            let Verb::Run(passed_on) =
                CommandLine::try_parse_from(line).unwrap_or_else(|e| panic!("{words:?}: {e}")).verb
            else {
                panic!("not run")
            };
            assert_eq!(passed_on.arguments, words);
        }
    }
}
