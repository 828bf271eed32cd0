//! All findings of a program's run, and the sums below them.

use std::fmt;

use serde::Serialize;

use super::checks::{Check, Checks};
use super::finding::{Finding, FindingKind, Severity};

/// The findings of a run, each once however often it was found: those of launches by where they are, those of the host's
/// calls as they come.
///
/// Written out it is compute-sanitizer's report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    checks: Checks,
    launches: u64,
    findings: Vec<Reported>,
    /// How many findings are shown at most.
    shown: usize,
}

/// A finding, and where it was found first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// The launch that it was first found in, from 1 in the order of the run; none for what the host did.
    pub launch: Option<u64>,
    /// In how many launches it was found.
    pub launches: u64,
    /// The launch that it was found in last.
    #[serde(skip)]
    last: Option<u64>,
    /// What was found, with the count of all launches.
    #[serde(flatten)]
    pub finding: Finding,
}

impl Report {
    /// How many findings are shown unless [`Report::show`] says otherwise.
    pub const SHOWN: usize = 100;

    /// Nothing found so far.
    pub fn new(checks: Checks) -> Self {
        Self { checks, launches: 0, findings: Vec::new(), shown: Self::SHOWN }
    }

    /// Shows at most so many findings; all are counted.
    pub fn show(&mut self, findings: usize) {
        self.shown = findings;
    }

    /// Adds what a launch's checks found, which may be nothing. Its number, from 1, is the answer.
    pub fn launch(&mut self, findings: impl IntoIterator<Item = Finding>) -> u64 {
        self.launches += 1;
        for finding in findings {
            self.add(finding, Some(self.launches));
        }
        self.launches
    }

    /// Adds something that no launch did.
    pub fn api(&mut self, finding: Finding) {
        self.add(finding, None);
    }

    fn add(&mut self, finding: Finding, launch: Option<u64>) {
        match self.findings.iter_mut().find(|known| known.finding.repeats(&finding)) {
            Some(known) => {
                known.finding.count += finding.count;
                known.launches += u64::from(known.last != launch);
                known.last = launch;
            }
            None => self.findings.push(Reported { launch, launches: 1, last: launch, finding }),
        }
    }

    /// All of them, in the order in which they were first found.
    pub fn findings(&self) -> &[Reported] {
        &self.findings
    }

    /// Launches that were checked.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// Nothing was found, not even anything to warn of.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Errors of memcheck, initcheck and synccheck, each as often as it happened.
    pub fn errors(&self) -> u64 {
        let counted = self.findings.iter().filter(|known| {
            known.finding.check != Check::Racecheck && known.finding.severity == Severity::Error
        });
        counted.map(|known| known.finding.count).sum()
    }

    /// Pairs of instructions that race: errors and warnings.
    pub fn races(&self) -> (u64, u64) {
        let races = self.findings.iter().filter(|known| known.finding.check == Check::Racecheck);
        races.fold((0, 0), |(errors, warnings), known| match known.finding.severity {
            Severity::Error => (errors + 1, warnings),
            Severity::Warning => (errors, warnings + 1),
        })
    }

    /// Leaked bytes, and the allocations that they are in.
    pub fn leaks(&self) -> (u64, u64) {
        self.findings.iter().fold((0, 0), |(sum, count), known| match known.finding.kind {
            FindingKind::Leak { bytes, .. } => (sum + bytes, count + 1),
            _ => (sum, count),
        })
    }
}

/// What compute-sanitizer puts before each line.
const PREFIX: &str = "=========";

impl fmt::Display for Report {
    /// All findings, each line with its prefix, then the sums of the checks that were made.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{PREFIX} COMPUTE-SANITIZER (simulated: {})", self.checks)?;
        for known in self.findings.iter().take(self.shown) {
            for line in known.finding.to_string().lines() {
                writeln!(formatter, "{PREFIX} {line}")?;
            }
            if known.launches > 1 {
                writeln!(
                    formatter,
                    "{PREFIX}     in {} launches, launch {} first",
                    known.launches,
                    known.launch.unwrap_or(0)
                )?;
            }
            writeln!(formatter, "{PREFIX}")?;
        }
        if let Some(left @ 1..) = self.findings.len().checked_sub(self.shown) {
            writeln!(formatter, "{PREFIX} {left} of {} findings were not printed.", self.findings.len())?;
        }
        let (leaked, allocations) = self.leaks();
        if leaked != 0 || allocations != 0 {
            writeln!(formatter, "{PREFIX} LEAK SUMMARY: {leaked} bytes leaked in {allocations} allocations")?;
        }
        let others = Checks { racecheck: false, ..self.checks };
        if !others.is_empty() || !self.checks.racecheck || self.errors() != 0 {
            let errors = self.errors();
            writeln!(formatter, "{PREFIX} ERROR SUMMARY: {errors} error{}", plural(errors))?;
        }
        if self.checks.racecheck {
            let (errors, warnings) = self.races();
            let hazards = errors + warnings;
            writeln!(
                formatter,
                "{PREFIX} RACECHECK SUMMARY: {hazards} hazard{} displayed ({errors} error{}, {warnings} warning{})",
                plural(hazards),
                plural(errors),
                plural(warnings)
            )?;
        }
        Ok(())
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
