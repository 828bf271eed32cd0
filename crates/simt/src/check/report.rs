//! The report: all findings of a program's run, and their sums.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::checks::{Check, Checks};
use super::finding::{Finding, FindingKind, Severity};
use super::groups::{Group, Reported, groups};
use super::quoted;
use super::words::plural;
use crate::ptx::Sources;

/// The findings of a run, each once however often it occurred: those of launches by place, those of host calls in
/// order.
///
/// Its text is a report in compute-sanitizer's words. It shows [`Group`]s of findings with the source lines concerned;
/// after [`Report::show_all`], each finding as compute-sanitizer would.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    checks: Checks,
    launches: u64,
    findings: Vec<Reported>,
    /// Names of launches, by number.
    #[serde(skip)]
    names: BTreeMap<u64, String>,
    /// Most findings or groups to show.
    shown: usize,
    #[serde(skip)]
    each: bool,
}

impl Report {
    /// Findings that are shown unless [`Report::show`] changes it.
    pub(crate) const SHOWN: usize = 100;

    /// Creates an empty report.
    pub fn new(checks: Checks) -> Self {
        Self {
            checks,
            launches: 0,
            findings: Vec::new(),
            names: BTreeMap::new(),
            shown: Self::SHOWN,
            each: false,
        }
    }

    /// Shows at most this many findings or groups; all are counted.
    pub fn show(&mut self, findings: usize) {
        self.shown = findings;
    }

    /// Shows each finding in full, instead of groups.
    pub fn show_all(&mut self) {
        self.each = true;
    }

    /// Adds the findings of a launch, if any, and returns its number, from 1.
    pub fn launch(&mut self, findings: impl IntoIterator<Item = Finding>) -> u64 {
        self.launches += 1;
        for finding in findings {
            self.add(finding, Some(self.launches));
        }
        self.launches
    }

    /// Adds the findings of a named launch, if any, and returns its number, from 1.
    pub fn named_launch(&mut self, name: &str, findings: impl IntoIterator<Item = Finding>) -> u64 {
        let number = self.launch(findings);
        self.names.insert(number, name.to_owned());
        number
    }

    /// Returns the name of a launch; None if it has none.
    pub fn name_of(&self, launch: u64) -> Option<&str> {
        self.names.get(&launch).map(String::as_str)
    }

    /// Adds a finding about a host call.
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

    /// Returns all findings, in the order in which they were first found.
    pub fn findings(&self) -> &[Reported] {
        &self.findings
    }

    /// Groups the findings that one change of the source would mend, in the order of each group's first finding.
    pub fn groups(&self) -> Vec<Group<'_>> {
        groups(&self.findings)
    }

    /// Returns true if nothing was found, warnings included.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the errors of memcheck, initcheck and synccheck, each as often as it occurred.
    pub fn errors(&self) -> u64 {
        let counted = self.findings.iter().filter(|known| {
            known.finding.check != Check::Racecheck && known.finding.severity == Severity::Error
        });
        counted.map(|known| known.finding.count).sum()
    }

    /// Returns the pairs of instructions that race: errors and warnings.
    pub fn races(&self) -> (u64, u64) {
        let races = self.findings.iter().filter(|known| known.finding.check == Check::Racecheck);
        by_severity(races.map(|known| known.finding.severity))
    }

    /// Returns the leaked bytes, and the number of their allocations.
    pub fn leaks(&self) -> (u64, u64) {
        self.findings.iter().fold((0, 0), |(sum, count), known| match known.finding.kind {
            FindingKind::Leak { bytes, .. } => (sum + bytes, count + 1),
            _ => (sum, count),
        })
    }
}

/// Prefix of each line, as in compute-sanitizer.
const PREFIX: &str = "=========";

impl fmt::Display for Report {
    /// Writes all groups or findings with the prefix before each line, then the sums of the checks made.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{PREFIX} COMPUTE-SANITIZER (simulated: {})", self.checks)?;
        if self.each {
            let texts = self.findings.iter().map(|known| self.with_launches(known));
            self.shown(formatter, texts)?;
            return self.sums(formatter, self.races());
        }
        let (groups, sources) = (self.groups(), Sources::new());
        let texts = groups.iter().map(|group| quoted::text(group, &|launch| self.name_of(launch), &sources));
        self.shown(formatter, texts)?;
        let races = groups.iter().filter(|group| group.shown().finding.check == Check::Racecheck);
        self.sums(formatter, by_severity(races.map(Group::severity)))
    }
}

impl Report {
    /// Writes texts with the prefix before each line, up to the limit, and returns how many are left.
    fn shown(
        &self,
        formatter: &mut fmt::Formatter<'_>,
        texts: impl ExactSizeIterator<Item = String>,
    ) -> fmt::Result {
        let all = texts.len();
        for text in texts.take(self.shown) {
            for line in text.lines() {
                writeln!(formatter, "{PREFIX} {line}")?;
            }
            writeln!(formatter, "{PREFIX}")?;
        }
        match all.checked_sub(self.shown) {
            Some(left @ 1..) => writeln!(formatter, "{PREFIX} {left} of {all} findings were not printed."),
            _ => Ok(()),
        }
    }

    /// Returns the full text of a finding.
    fn with_launches(&self, known: &Reported) -> String {
        let text = known.finding.to_string();
        match known.launches {
            0 | 1 => text,
            launches => {
                format!("{text}\n    in {launches} launches, launch {} first", known.launch.unwrap_or(0))
            }
        }
    }

    fn sums(&self, formatter: &mut fmt::Formatter<'_>, (errors, warnings): (u64, u64)) -> fmt::Result {
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

/// Counts errors and warnings.
fn by_severity(severities: impl Iterator<Item = Severity>) -> (u64, u64) {
    severities.fold((0, 0), |(errors, warnings), severity| match severity {
        Severity::Error => (errors + 1, warnings),
        Severity::Warning => (errors, warnings + 1),
    })
}
