//! A list of steps with name, time and outcome, run in order or in two parallel lanes.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Running,
    Ok(Duration),
    /// With the whole chain of causes.
    Failed(Duration, String),
    NotRun,
}

/// Runs steps and remembers how they came out.
pub(crate) struct Steps<W> {
    terminal: bool,
    keep_going: bool,
    shown: Mutex<Shown<W>>,
}

/// The state that the lanes share.
struct Shown<W> {
    out: W,
    /// In the order in which they began.
    steps: Vec<(String, Outcome)>,
}

impl Steps<std::io::Stdout> {
    /// Steps that are shown on standard output.
    pub(crate) fn new(keep_going: bool) -> Self {
        Self::to(std::io::stdout(), std::io::stdout().is_terminal(), keep_going)
    }
}

impl<W: Write + Send> Steps<W> {
    fn to(out: W, terminal: bool, keep_going: bool) -> Self {
        Self { terminal, keep_going, shown: Mutex::new(Shown { out, steps: Vec::new() }) }
    }

    /// Runs a step that prints nothing itself. Its text is shown below its line, whether it succeeded or failed.
    pub(crate) fn run(&self, name: &str, step: impl FnOnce() -> Result<String>) -> Result<()> {
        self.perform(name, self.terminal, step)
    }

    /// Runs a step that prints as it goes.
    pub(crate) fn run_aloud(&self, name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        self.perform(name, true, || step().map(|()| String::new()))
    }

    /// Runs the steps of two lanes in parallel: while a test in one waits, the other goes on.
    pub(crate) fn beside(
        &self,
        one: impl FnOnce() -> Result<()> + Send,
        other: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let one = scope.spawn(one);
            let other = other();
            one.join().unwrap_or_else(|_| Err(anyhow!("a thread that runs steps panicked")))?;
            other
        })
    }

    fn perform(&self, name: &str, announced: bool, step: impl FnOnce() -> Result<String>) -> Result<()> {
        let number = {
            let mut shown = self.shown();
            let outcome = if self.keep_going || shown.failed().next().is_none() {
                Outcome::Running
            } else {
                Outcome::NotRun
            };
            shown.steps.push((name.to_owned(), outcome.clone()));
            if outcome == Outcome::NotRun {
                return Ok(());
            }
            if announced {
                writeln!(shown.out, "{}", row(name, &outcome))?;
            }
            shown.steps.len() - 1
        };
        let start = Instant::now();
        let result = step();
        let time = start.elapsed();
        let (outcome, text) = match result {
            Ok(text) => (Outcome::Ok(time), text),
            Err(error) => (Outcome::Failed(time, format!("{error:#}")), format!("{error:#}")),
        };
        let mut shown = self.shown();
        writeln!(shown.out, "{}", row(name, &outcome))?;
        write!(shown.out, "{}", indented(&text))?;
        shown.out.flush()?;
        shown.steps[number].1 = outcome;
        Ok(())
    }

    fn shown(&self) -> MutexGuard<'_, Shown<W>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the list once more, with what the failed ones said at its end, and says whether all went well.
    pub(crate) fn close(self) -> Result<()> {
        let mut shown = self.shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut list = String::from("\nSteps:\n");
        for (name, outcome) in &shown.steps {
            writeln!(list, "{}", row(name, outcome))?;
        }
        for (name, text) in shown.failed() {
            write!(list, "\n{name}:\n{}", indented(text))?;
        }
        write!(shown.out, "{list}")?;
        let failed: Vec<&str> = shown.failed().map(|(name, _)| name).collect();
        if !failed.is_empty() {
            let left = shown.steps.iter().filter(|(_, outcome)| *outcome == Outcome::NotRun).count();
            let rest = match left {
                0 => String::new(),
                1 => "; one step was not run (--keep-going runs it too)".to_owned(),
                _ => format!("; {left} steps were not run (--keep-going runs them too)"),
            };
            bail!("FAILED: {}{rest}", failed.join(", "));
        }
        writeln!(shown.out, "All steps ok.")?;
        Ok(())
    }
}

impl<W> Shown<W> {
    /// The failed steps, each with what it said.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.steps.iter().filter_map(|(name, outcome)| match outcome {
            Outcome::Failed(_, text) => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }
}

/// A step's text as it stands below its line.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("           {line}\n")).collect()
}

/// `       ok  formatting  0.8 s`.
fn row(name: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Running => format!("{:>9}  {name}", "running"),
        Outcome::Ok(time) => format!("{:>9}  {name:<50} {:>7.1} s", "ok", time.as_secs_f64()),
        Outcome::Failed(time, _) => format!("{:>9}  {name:<50} {:>7.1} s", "FAILED", time.as_secs_f64()),
        Outcome::NotRun => format!("{:>9}  {name}", "not run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(out: &mut Vec<u8>, keep_going: bool) -> Steps<&mut Vec<u8>> {
        Steps::to(out, false, keep_going)
    }

    fn perform(keep_going: bool) -> (String, Option<String>) {
        let mut out = Vec::new();
        let steps = steps(&mut out, keep_going);
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
        assert_eq!(lines[10..], ["", "two:", "           it broke", "           here"]);
        assert_eq!(error.unwrap(), "FAILED: two; one step was not run (--keep-going runs it too)");
    }

    #[test]
    fn keep_going_runs_the_rest_and_still_fails() {
        let (text, error) = perform(true);
        assert!(text.lines().any(|line| line.starts_with("       ok  three")), "{text}");
        assert_eq!(error.unwrap(), "FAILED: two");
    }

    #[test]
    fn lanes_run_side_by_side_and_are_listed_as_they_began() {
        let mut out = Vec::new();
        let steps = steps(&mut out, true);
        let shared = &steps;
        let (begun, wait) = std::sync::mpsc::channel();
        let (done, waited) = std::sync::mpsc::channel();
        steps
            .beside(
                move || {
                    shared.run("long", || {
                        begun.send(())?;
                        waited.recv()?;
                        bail!("it broke")
                    })
                },
                || {
                    wait.recv()?;
                    shared.run("short", || Ok(String::new()))?;
                    Ok(done.send(())?)
                },
            )
            .unwrap();
        assert_eq!(steps.close().unwrap_err().to_string(), "FAILED: long");
        let text = String::from_utf8(out).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| line.get(11..)?.split(' ').next()).collect();
        assert_eq!(names, ["short", "long", "it", "long", "short", "it"], "{text}");
    }

    #[test]
    fn all_ok() {
        let mut out = Vec::new();
        let steps = steps(&mut out, false);
        steps.run_aloud("one", || Ok(())).unwrap();
        steps.close().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("  running  one\n       ok  one "), "{text}");
        assert!(text.ends_with("All steps ok.\n"), "{text}");
    }
}
