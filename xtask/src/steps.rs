//! A list of steps, run one after the other, with name, time and outcome.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How a step came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Ok(Duration),
    Failed(Duration),
    NotRun,
}

/// Runs steps and remembers how they came out.
pub(crate) struct Steps<W: Write> {
    out: W,
    terminal: bool,
    keep_going: bool,
    done: Vec<(String, Outcome)>,
}

impl Steps<std::io::Stdout> {
    /// Steps that are shown on standard output.
    pub(crate) fn new(keep_going: bool) -> Self {
        Steps {
            out: std::io::stdout(),
            terminal: std::io::stdout().is_terminal(),
            keep_going,
            done: Vec::new(),
        }
    }
}

impl<W: Write> Steps<W> {
    /// Runs a step that prints nothing itself. Its text is shown below its line, whether it succeeded or failed.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<String>) -> Result<()> {
        self.perform(name, false, step)
    }

    /// Runs a step that prints as it goes.
    pub(crate) fn run_aloud(&mut self, name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        self.perform(name, true, || step().map(|()| String::new()))
    }

    fn perform(&mut self, name: &str, aloud: bool, step: impl FnOnce() -> Result<String>) -> Result<()> {
        if !self.goes_on() {
            self.done.push((name.to_owned(), Outcome::NotRun));
            return Ok(());
        }
        if aloud {
            writeln!(self.out, "{:>9}  {name}", "running")?;
        } else if self.terminal {
            write!(self.out, "{:>9}  {name}", "running")?;
            self.out.flush()?;
        }
        let start = Instant::now();
        let result = step();
        let time = start.elapsed();
        if self.terminal && !aloud {
            write!(self.out, "\r")?;
        }
        let outcome = if result.is_ok() { Outcome::Ok(time) } else { Outcome::Failed(time) };
        self.done.push((name.to_owned(), outcome));
        writeln!(self.out, "{}", row(name, outcome))?;
        let text = match result {
            Ok(text) => text,
            // `{:#}`: the whole chain of causes.
            Err(error) => format!("{error:#}"),
        };
        for line in text.lines() {
            writeln!(self.out, "           {line}")?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// Whether the next step would be run.
    pub(crate) fn goes_on(&self) -> bool {
        self.keep_going || self.failed() == 0
    }

    /// How many steps failed so far.
    fn failed(&self) -> usize {
        self.done.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).count()
    }

    /// Shows the list once more and says whether all went well.
    pub(crate) fn close(mut self) -> Result<()> {
        let mut list = String::from("\nSteps:\n");
        for (name, outcome) in &self.done {
            writeln!(list, "{}", row(name, *outcome))?;
        }
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))
            .map(|(name, _)| name.as_str())
            .collect();
        write!(self.out, "{list}")?;
        if !failed.is_empty() {
            let left = self.done.iter().filter(|(_, outcome)| *outcome == Outcome::NotRun).count();
            let rest = match left {
                0 => String::new(),
                1 => "; one step was not run (--keep-going runs it too)".to_owned(),
                _ => format!("; {left} steps were not run (--keep-going runs them too)"),
            };
            bail!("FAILED: {}{rest}", failed.join(", "));
        }
        writeln!(self.out, "All steps ok.")?;
        Ok(())
    }
}

/// `       ok  formatting  0.8 s`.
fn row(name: &str, outcome: Outcome) -> String {
    match outcome {
        Outcome::Ok(time) => format!("{:>9}  {name:<50} {:>7.1} s", "ok", time.as_secs_f64()),
        Outcome::Failed(time) => format!("{:>9}  {name:<50} {:>7.1} s", "FAILED", time.as_secs_f64()),
        Outcome::NotRun => format!("{:>9}  {name}", "not run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(out: &mut Vec<u8>, keep_going: bool) -> Steps<&mut Vec<u8>> {
        Steps { out, terminal: false, keep_going, done: Vec::new() }
    }

    fn perform(keep_going: bool) -> (String, Option<String>) {
        let mut out = Vec::new();
        let mut steps = steps(&mut out, keep_going);
        steps.run("one", || Ok("two kernels".into())).unwrap();
        steps.run("two", || bail!("it broke\nhere")).unwrap();
        steps.run("three", || Ok(String::new())).unwrap();
        let error = steps.close().err().map(|error| error.to_string());
        (String::from_utf8(out).unwrap(), error)
    }

    #[test]
    fn the_first_failure_ends_it() {
        let (text, error) = perform(false);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert!(lines[0].starts_with("       ok  one "), "{text}");
        assert!(lines[0].ends_with("0.0 s"), "{text}");
        assert_eq!(lines[1], "           two kernels");
        assert!(lines[2].starts_with("   FAILED  two "), "{text}");
        assert_eq!(lines[3..5], ["           it broke", "           here"]);
        assert_eq!(lines[6], "Steps:");
        assert_eq!(lines[9], "  not run  three");
        assert_eq!(error.unwrap(), "FAILED: two; one step was not run (--keep-going runs it too)");
    }

    #[test]
    fn keep_going_runs_the_rest_and_still_fails() {
        let (text, error) = perform(true);
        assert!(text.lines().any(|line| line.starts_with("       ok  three")), "{text}");
        assert_eq!(error.unwrap(), "FAILED: two");
    }

    #[test]
    fn all_ok() {
        let mut out = Vec::new();
        let mut steps = steps(&mut out, false);
        steps.run_aloud("one", || Ok(())).unwrap();
        steps.close().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("  running  one\n       ok  one "), "{text}");
        assert!(text.ends_with("All steps ok.\n"), "{text}");
    }
}
