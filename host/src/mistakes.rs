//! Names on the command line that do not exist: the error says which is nearest, and which there are.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// The exit status for a wrong command line.
pub(crate) const EXIT_STATUS: u8 = 2;

/// What to say, in one paragraph, of an option, command, experiment or other name that does not exist. `None` for
/// every other outcome of parsing, which clap words well itself.
///
/// `definition` is what was parsed against and `first` the first argument, which tells whose options were meant.
pub(crate) fn explain(error: &Error, definition: &Command, first: Option<&str>) -> Option<String> {
    let mut definition = definition.clone();
    definition.build();
    match error.kind() {
        ErrorKind::UnknownArgument => option(text(error, ContextKind::InvalidArg)?, &definition, first),
        ErrorKind::InvalidSubcommand => {
            let wrong = text(error, ContextKind::InvalidSubcommand)?;
            let commands: Vec<String> =
                definition.get_subcommands().map(|command| command.get_name().to_string()).collect();
            Some(format!(
                "there is no command '{wrong}'{}. The commands are {}",
                nearest(wrong, &commands),
                commands.join(", "),
            ))
        }
        ErrorKind::InvalidValue => {
            let (wrong, of) =
                (text(error, ContextKind::InvalidValue)?, text(error, ContextKind::InvalidArg)?);
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else { return None };
            // A value that is missing altogether comes as an empty one.
            if wrong.is_empty() || valid.is_empty() {
                return None;
            }
            let (nearest, all) = (nearest(wrong, valid), valid.join(", "));
            Some(if of.contains("KERNEL|EXPERIMENT") {
                format!("there is no kernel or experiment '{wrong}'{nearest}. They are {all}")
            } else if of.contains("--counters") {
                format!(
                    "--counters takes no '{wrong}'{nearest}. Its values are {all}; experiments go before it, or behind \
                     --counters=launch"
                )
            } else if of.contains("EXPERIMENT") {
                format!("there is no experiment '{wrong}'{nearest}. The experiments are {all}")
            } else if of.contains("KERNEL") {
                format!("there is no kernel '{wrong}'{nearest}. The kernels are {all}")
            } else {
                let option = of.split(' ').next().unwrap_or(of);
                format!("{option} takes no '{wrong}'{nearest}. Its values are {all}")
            })
        }
        // A device, a card or what to explain that does not exist, which was put in words where it was looked for.
        ErrorKind::ValueValidation => {
            let of = text(error, ContextKind::InvalidArg)?;
            let words = std::error::Error::source(error)?.to_string();
            ["--device", "CARD", "KERNEL|EXPERIMENT"].iter().any(|name| of.contains(name)).then_some(words)
        }
        _ => None,
    }
}

fn option(wrong: &str, definition: &Command, first: Option<&str>) -> Option<String> {
    let command = first.and_then(|name| definition.find_subcommand(name));
    if !wrong.starts_with('-') {
        let command = command?;
        return Some(format!(
            "`coalesce {}` takes nothing but options, and '{wrong}' is none. The options are {}",
            command.get_name(),
            options(command).join(", "),
        ));
    }
    let Some(command) = command else {
        // Before the command there is little to choose from: what was meant is most likely an option of a command.
        let of = |command: &&Command| options(command).iter().any(|option| option == wrong);
        let hint = match definition.get_subcommands().find(of) {
            Some(command) => {
                format!("; it goes behind the command, as in `coalesce {} {wrong}`", command.get_name())
            }
            None => nearest(wrong, &options(definition)),
        };
        let commands: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
        return Some(format!(
            "there is no option '{wrong}' before the command{hint}. The options are {}, and the commands {}",
            options(definition).join(", "),
            commands.join(", "),
        ));
    };
    let options = options(command);
    Some(format!(
        "`coalesce {name}` has no option '{wrong}'{}. The options are {}; `coalesce {name} --help` explains them",
        nearest(wrong, &options),
        options.join(", "),
        name = command.get_name(),
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

/// Names the candidate that is most like `wrong`, if one is at all: at most half of its letters differ.
pub(crate) fn nearest(wrong: &str, candidates: &[String]) -> String {
    let bare = |name: &str| name.trim_start_matches('-').to_ascii_lowercase();
    let wrong = bare(wrong);
    let distances = candidates.iter().map(|candidate| {
        let name = bare(candidate);
        (strsim::osa_distance(&wrong, &name), wrong.chars().count().max(name.chars().count()), candidate)
    });
    let alike = distances.filter(|(distance, length, _)| 2 * distance <= *length);
    match alike.min_by_key(|(distance, ..)| *distance) {
        Some((.., candidate)) => format!("; the nearest is {candidate}"),
        None => String::new(),
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
    fn an_unknown_option_names_the_nearest_and_all() {
        let options = "--kernel, --device, --precision, --bytes, --range, --block, --nx, --ny, --tile, --width, --size, \
                       --alpha, --beta, --factor, --page, --placement, --pattern, --budget, --allow-oversubscription, --coefficients, \
                       --full, --once, --samples, --counters, --explain, --format, --out, --baseline, --threshold, --help, \
                       --version; `coalesce run --help` explains them";
        assert_eq!(
            explained(&["run", "--bite", "3"]),
            Some(format!(
                "`coalesce run` has no option '--bite'; the nearest is --bytes. The options are {options}"
            ))
        );
        assert_eq!(
            explained(&["run", "--zzz"]),
            Some(format!("`coalesce run` has no option '--zzz'. The options are {options}"))
        );
        assert_eq!(
            explained(&["list", "--verison"]),
            Some(
                "`coalesce list` has no option '--verison'; the nearest is --version. The options are \
                 --kernels, --help, --version; `coalesce list --help` explains them"
                    .to_string()
            )
        );
        let explanation = explained(&["compare", "--referense", "x"]).expect("an unknown option");
        assert!(explanation.contains("nearest is --reference."), "{explanation}");
    }

    #[test]
    fn an_option_before_its_command_is_sent_behind_it() {
        let explanation = explained(&["--bytes", "4MiB", "run"]).expect("an unknown option");
        assert!(
            explanation.contains("it goes behind the command, as in `coalesce run --bytes`"),
            "{explanation}"
        );
        let explanation = explained(&["--hepl"]).expect("an unknown option");
        assert!(explanation.contains("nearest is --help") && explanation.contains("commands run, list"));
    }

    #[test]
    fn an_unknown_name_names_the_nearest_and_all() {
        assert_eq!(
            explained(&["rnu"]).as_deref(),
            Some(
                "there is no command 'rnu'; the nearest is run. The commands are run, list, devices, check, compare, diff, help"
            )
        );
        assert_eq!(
            explained(&["walk"]).as_deref(),
            Some(
                "there is no command 'walk'. The commands are run, list, devices, check, compare, diff, help"
            )
        );
        let explanation = explained(&["run", "Strid"]).expect("an unknown experiment");
        assert!(
            explanation.starts_with(
                "there is no experiment 'Strid'; the nearest is stride. The experiments are offset, stride, copy, transpose"
            ),
            "{explanation}"
        );
        let explanation =
            explained(&["run", "--kernel", "copy_vector,ofset_f32"]).expect("an unknown kernel");
        assert!(
            explanation.starts_with(
                "there is no kernel 'ofset_f32'; the nearest is offset_f32. The kernels are offset_f32, offset_f64, "
            ),
            "{explanation}"
        );
        assert_eq!(
            explained(&["check", "copy_vectr"]).as_deref().map(|text| &text[..76]),
            Some("there is no kernel or experiment 'copy_vectr'; the nearest is copy_vector. T")
        );
        assert_eq!(
            explained(&["run", "--counters", "stride"]).as_deref(),
            Some(
                "--counters takes no 'stride'. Its values are launch, lines; experiments go before it, or behind \
                 --counters=launch"
            )
        );
        assert_eq!(
            explained(&["run", "--format", "jsn"]).as_deref(),
            Some("--format takes no 'jsn'; the nearest is json. Its values are table, json, csv")
        );
        assert_eq!(
            explained(&["list", "offset"]).as_deref(),
            Some(
                "`coalesce list` takes nothing but options, and 'offset' is none. The options are --kernels, --help, --version"
            )
        );
    }

    #[test]
    fn a_device_that_does_not_exist_is_one_paragraph() {
        let explanation = explained(&["run", "--device", "sim:h20"]).expect("an unknown card");
        assert!(
            explanation.starts_with(
                "there is no simulated card 'h20'; the nearest is h200. The cards are c870, c1060, "
            ),
            "{explanation}"
        );
        let explanation = explained(&["run", "--device", "gpu"]).expect("an unknown device");
        assert!(
            explanation
                .starts_with("there is no device 'gpu'. The devices are auto, cuda, cuda:N, sim:CARD ")
        );
        let explanation = explained(&["devices", "c860"]).expect("an unknown card");
        assert!(
            explanation.starts_with("there is no simulated card 'c860'; the nearest is c870. "),
            "{explanation}"
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
