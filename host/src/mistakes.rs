//! Wrong command lines: the error says what is wrong, what was probably meant, and which command lists the rest.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::fmt;

/// The exit status for a wrong command line.
pub(crate) const EXIT_STATUS: u8 = 2;

/// So few values of an option are named in its error.
const FEW: usize = 5;

/// An error of the command line, found after it was parsed: it asks for what cannot be.
#[derive(Debug)]
pub(crate) struct Refusal(anyhow::Error);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Refusal {}

/// Marks an error as one of the command line, so that the exit status is [`EXIT_STATUS`].
pub(crate) fn refused(error: anyhow::Error) -> anyhow::Error {
    anyhow::Error::new(Refusal(error))
}

/// Words an option, command, experiment or other name that does not exist, in one paragraph. `None` for every other outcome of
/// parsing, which clap words well itself.
///
/// `definition` is what was parsed against and `first` the first argument, which tells whose options were meant.
pub(crate) fn explain(error: &Error, definition: &Command, first: Option<&str>) -> Option<String> {
    let mut definition = definition.clone();
    definition.build();
    match error.kind() {
        ErrorKind::UnknownArgument => option(text(error, ContextKind::InvalidArg)?, &definition, first),
        ErrorKind::InvalidSubcommand => {
            let wrong = text(error, ContextKind::InvalidSubcommand)?;
            let commands: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
            Some(no_such("command", wrong, &commands, "`coalesce --help` lists the commands"))
        }
        ErrorKind::InvalidValue => {
            let (wrong, of) =
                (text(error, ContextKind::InvalidValue)?, text(error, ContextKind::InvalidArg)?);
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else { return None };
            // A value that is missing altogether comes as an empty one.
            if wrong.is_empty() || valid.is_empty() {
                return None;
            }
            let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
            let list = "`coalesce list` names them all";
            Some(if of.contains("KERNEL|EXPERIMENT") {
                no_such("kernel or experiment", wrong, &valid, list)
            } else if of.contains("--counters") {
                format!(
                    "{}; experiments go before it, or behind --counters=launch",
                    no_value("--counters", wrong, &valid)
                )
            } else if of.contains("EXPERIMENT") {
                no_such("experiment", wrong, &valid, list)
            } else if of.contains("KERNEL") {
                no_such("kernel", wrong, &valid, list)
            } else {
                no_value(of.split(' ').next().unwrap_or(of), wrong, &valid)
            })
        }
        // A device or card that does not exist, which was put in words where it was looked for.
        ErrorKind::ValueValidation => {
            let of = text(error, ContextKind::InvalidArg)?;
            let words = std::error::Error::source(error)?.to_string();
            (of.starts_with("--device") || of.contains("CARD")).then_some(words)
        }
        _ => None,
    }
}

/// `there is no kernel 'ofset_f32'; did you mean offset_f32? ..`
pub(crate) fn no_such(kind: &str, wrong: &str, names: &[&str], list: &str) -> String {
    format!("there is no {kind} '{wrong}'{}", nearest::hint_or(wrong, names, list))
}

/// `--format takes no 'jsn'; did you mean json?`
fn no_value(option: &str, wrong: &str, values: &[&str]) -> String {
    match nearest::hint(wrong, values) {
        hint if !hint.is_empty() => format!("{option} takes no '{wrong}'{hint}"),
        _ if values.len() <= FEW => {
            format!("{option} takes no '{wrong}'; its values are {}", nearest::joined(values, "and"))
        }
        _ => format!("{option} takes no '{wrong}'; `--help` lists its values"),
    }
}

fn option(wrong: &str, definition: &Command, first: Option<&str>) -> Option<String> {
    let command = first.and_then(|name| definition.find_subcommand(name));
    if !wrong.starts_with('-') {
        let name = command?.get_name();
        return Some(format!(
            "`coalesce {name}` takes nothing but options, and '{wrong}' is none; `coalesce {name} --help` lists them"
        ));
    }
    let Some(command) = command else {
        // Before the command there is little to choose from: what was meant is most likely an option of a command.
        let of = |command: &&Command| options(command).iter().any(|option| option == wrong);
        if let Some(command) = definition.get_subcommands().find(of) {
            return Some(format!(
                "the option '{wrong}' goes behind the command, as in `coalesce {} {wrong}`",
                command.get_name()
            ));
        }
        let names = options(definition);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Some(no_such(
            "option",
            wrong,
            &names,
            "`coalesce --help` lists the commands, which options go behind",
        ));
    };
    let names = options(command);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = command.get_name();
    let hint = match nearest::hint(wrong, &names) {
        hint if hint.is_empty() => ";".to_string(),
        hint => hint,
    };
    Some(format!(
        "`coalesce {name}` has no option '{wrong}'{hint} `coalesce {name} --help` explains them all"
    ))
}

/// The options of a command, by their long names.
fn options(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory, Parser};

    fn explained(arguments: &[&str]) -> Option<String> {
        let error = Cli::try_parse_from(["coalesce"].iter().chain(arguments)).expect_err("a wrong line");
        explain(&error, &Cli::command(), arguments.first().copied())
    }

    #[test]
    fn wrong_command_lines_have_one_sentence() {
        for (line, sentence) in [
            (
                "run --bite 3",
                "`coalesce run` has no option '--bite'; did you mean --bytes, --beta or --tile? `coalesce run --help` explains them all",
            ),
            ("run --zzz", "`coalesce run` has no option '--zzz'; `coalesce run --help` explains them all"),
            (
                "list --verison",
                "`coalesce list` has no option '--verison'; did you mean --version? `coalesce list --help` explains them all",
            ),
            (
                "compare --referense x",
                "`coalesce compare` has no option '--referense'; did you mean --reference? `coalesce compare --help` explains \
                 them all",
            ),
            (
                "--bytes 4MiB run",
                "the option '--bytes' goes behind the command, as in `coalesce run --bytes`",
            ),
            (
                "--hepl",
                "there is no option '--hepl'; did you mean --help? `coalesce --help` lists the commands, which options go \
                 behind",
            ),
            ("rnu", "there is no command 'rnu'; did you mean run? `coalesce --help` lists the commands"),
            ("walk", "there is no command 'walk'; `coalesce --help` lists the commands"),
            (
                "run Strid",
                "there is no experiment 'Strid'; did you mean stride? `coalesce list` names them all",
            ),
            ("run zebra", "there is no experiment 'zebra'; `coalesce list` names them all"),
            (
                "run --kernel copy_vector,ofset_f32",
                "there is no kernel 'ofset_f32'; did you mean offset_f32? `coalesce list` names them all",
            ),
            (
                "check copy_vectr",
                "there is no kernel or experiment 'copy_vectr'; did you mean copy_vector? `coalesce list` names them all",
            ),
            (
                "run --counters stride",
                "--counters takes no 'stride'; its values are launch and lines; experiments go before it, or behind \
                 --counters=launch",
            ),
            ("run --format jsn", "--format takes no 'jsn'; did you mean json?"),
            ("run --format xml", "--format takes no 'xml'; its values are table, json and csv"),
            ("check --tool memchek", "--tool takes no 'memchek'; did you mean memcheck?"),
            (
                "list offset",
                "`coalesce list` takes nothing but options, and 'offset' is none; `coalesce list --help` lists them",
            ),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(explained(&words).as_deref(), Some(sentence), "{line}");
        }
    }

    #[test]
    fn a_device_that_does_not_exist_has_one_sentence() {
        let own = "a card of your own is a file, as in sim:my-card.toml, and `coalesce devices h200` prints one to start \
                   from";
        for (device, sentence) in [
            (
                "sim:h20",
                format!("there is no simulated card 'h20'; did you mean h200? `coalesce devices` lists the cards; {own}"),
            ),
            (
                "h100",
                "there is no device 'h100'; did you mean sim:h100? `coalesce devices` lists the GPUs and the cards".to_string(),
            ),
            (
                "sim-h100",
                "there is no device 'sim-h100'; did you mean sim:h100? `coalesce devices` lists the GPUs and the cards"
                    .to_string(),
            ),
            (
                "cuad",
                "there is no device 'cuad'; did you mean cuda? `coalesce devices` lists the GPUs and the cards".to_string(),
            ),
            (
                "gpu",
                "there is no device 'gpu'; write auto, cuda, cuda:N, sim:CARD or sim:FILE.toml, as `coalesce devices` lists them"
                    .to_string(),
            ),
        ] {
            assert_eq!(explained(&["run", "--device", device]), Some(sentence));
        }
        assert_eq!(
            explained(&["devices", "c860"]).as_deref(),
            Some(
                "there is no simulated card 'c860'; did you mean c870 or c1060? `coalesce devices` lists the cards"
            )
        );
    }

    #[test]
    fn everything_else_is_left_to_clap() {
        for arguments in
            [&["--help"][..], &["--version"], &["run", "--bytes", "0"], &["run", "--format="], &["compare"]]
        {
            assert_eq!(explained(arguments), None, "{arguments:?}");
        }
    }
}
