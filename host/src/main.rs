//! Coalesce: a laboratory for GPU memory behaviour.
//!
//! The program is plain `cust` over the driver that `cuda_driver` binds when it starts. An experiment
//! ([`experiments`]) states what it launches and what must come out; [`measure`] times and verifies it; the outcome is
//! a [`record`], and everything that is shown is made by [`report`] from records alone.

mod bf16;
mod built;
mod cards;
mod catalog;
mod cli;
mod commands;
mod counted;
mod device;
mod experiments;
mod fp8;
mod instructions;
mod interrupt;
mod kernels;
mod libraries;
mod machine;
mod measure;
mod memory;
mod mistakes;
mod numa;
mod output;
mod progress;
mod ranks;
mod recording;
mod reference;
mod sensors;
mod simulated;
mod sizes;
mod sweep;
mod symbols;
mod together;
mod verify;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command, PageCommand, Reference};
use std::{env, io, process::ExitCode};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let first = env::args_os().nth(1).map(|first| first.to_string_lossy().into_owned());
            match mistakes::explain(&error, &Cli::command(), first.as_deref()) {
                Some(explanation) => eprintln!("error: {explanation}"),
                // Help, the version, and what clap words well itself.
                None => error.exit(),
            }
            return ExitCode::from(mistakes::EXIT_STATUS);
        }
    };
    let outcome = match cli.command {
        Command::Run(options) => commands::run::run(&options, Reference::None),
        Command::Compare { reference, libraries, options } => {
            commands::run::run(&options, Reference::of(reference.as_deref(), &libraries))
        }
        Command::List { kernels } => commands::list::run(kernels),
        Command::Devices { card } => commands::devices::run(card.as_deref()),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Check(options) => commands::check::run(&options),
        Command::Report(options) => commands::report::run(&options),
        Command::Diff(options) => commands::diff::run(&options),
        Command::Fleet(options) => commands::fleet::run(&options),
        Command::Pages { page: Some(PageCommand::Fidelity(options)), .. } => {
            commands::pages::fidelity(&options)
        }
        Command::Pages { page: Some(PageCommand::Atlas(options)), .. } => commands::pages::atlas(&options),
        Command::Pages { check, page: None } => commands::pages::run(check),
    };
    outcome.unwrap_or_else(|error| {
        // A reader that has seen enough, such as `head`, is no failure.
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {error:#}");
        if error.is::<mistakes::Refusal>() {
            ExitCode::from(mistakes::EXIT_STATUS)
        } else {
            ExitCode::FAILURE
        }
    })
}
