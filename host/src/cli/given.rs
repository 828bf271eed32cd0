//! The options of single experiments that the user gave, read from the definition of the command line: an option is declared
//! as a field of [`Choices`], and taken by the experiments that name it.

use crate::experiments::{Choices, SIZES};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};

/// Options that stand with the general ones, since several experiments take them; the first is a size.
const SHARED: [&str; 3] = ["bytes", "precision", "range"];

/// The options that the user gave. It has no argument of its own: flattened into other options, it reads theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given(Vec<Argument>);

/// An option with its values as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    name: String,
    values: String,
    is_size: bool,
}

impl Given {
    /// The options by their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|argument| argument.name.as_str())
    }

    /// The words of a command line that give the same, sizes left out.
    pub(crate) fn without_sizes(&self) -> impl Iterator<Item = String> {
        let rest = self.0.iter().filter(|argument| !argument.is_size);
        rest.map(|argument| format!("--{}={}", argument.name, argument.values))
    }
}

/// Every option that experiments take, by its name, and whether it is a size.
pub(super) fn options() -> Vec<(String, bool)> {
    let choices = Choices::augment_args(Command::new(""));
    let of_choices = choices.get_arguments().map(|argument| {
        (argument.get_id().as_str().replace('_', "-"), argument.get_help_heading() == Some(SIZES))
    });
    SHARED.into_iter().map(|name| (name.to_string(), name == SHARED[0])).chain(of_choices).collect()
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, Error> {
        let given = |(name, is_size): (String, bool)| {
            let id = name.replace('-', "_");
            // Commands that run no experiments lack some.
            let is_known = matches.try_contains_id(&id).unwrap_or(false);
            if !is_known || matches.value_source(&id) != Some(ValueSource::CommandLine) {
                return None;
            }
            let values = matches.get_raw(&id)?.map(|value| value.to_string_lossy());
            Some(Argument { name, values: values.collect::<Vec<_>>().join(","), is_size })
        };
        Ok(Given(options().into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{Cli, Command},
        experiments,
    };
    use clap::Parser;

    fn given(arguments: &[&str]) -> Given {
        let cli = Cli::try_parse_from(["coalesce", "run"].iter().chain(arguments));
        match cli.unwrap_or_else(|error| panic!("{error}")).command {
            Command::Run(options) => options.given,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_given_is_passed_on_without_sizes() {
        assert_eq!(given(&["--samples", "3", "--device", "sim:c870"]), Given::default());
        let given = given(&[
            "--range",
            "1,2",
            "--bytes",
            "4MiB",
            "--block",
            "32x8,64",
            "--budget",
            "1GiB",
            "--coefficients",
            "-0.8,0.2,0,1",
        ]);
        let names: Vec<&str> = given.names().collect();
        assert_eq!(names, ["bytes", "range", "block", "budget", "coefficients"]);
        assert_eq!(
            given.without_sizes().collect::<Vec<_>>(),
            ["--range=1,2", "--block=32x8,64", "--coefficients=-0.8,0.2,0,1"]
        );
    }

    #[test]
    fn every_option_is_taken_by_an_experiment_and_every_name_is_an_option() {
        let options = options();
        let taken: Vec<&str> =
            experiments::ALL.iter().flat_map(|experiment| experiment.options()).copied().collect();
        for (name, _) in &options {
            assert!(taken.contains(&name.as_str()), "no experiment takes --{name}");
        }
        for name in taken {
            assert!(options.iter().any(|(option, _)| option == name), "--{name} is no option");
        }
    }
}
