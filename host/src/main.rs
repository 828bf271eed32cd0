//! Coalesce: a laboratory for GPU memory behaviour.
//!
//! The program is plain `cust` over the driver that `cuda_driver` binds when it starts. An experiment
//! ([`experiments`]) states what it launches and what must come out; [`measure`] times and verifies it; the outcome is
//! a [`record`], and everything that is shown is rendered ([`render`]) from records alone.

mod cli;
mod commands;
mod device;
mod experiments;
mod interrupt;
mod kernels;
mod measure;
mod memory;
mod output;
mod pattern;
mod record;
mod reference;
mod render;
mod sizes;
mod sweep;
mod verify;

use clap::Parser;
use cli::{Cli, Command};
use std::{io, process::ExitCode};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(options) => commands::run::run(&options, None),
        Command::Compare { reference, options } => commands::run::run(&options, Some(&reference)),
        Command::List => commands::list::run(),
        Command::Devices => commands::devices::run(),
    };
    outcome.unwrap_or_else(|error| {
        // A reader that has seen enough, such as `head`, is no failure.
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
