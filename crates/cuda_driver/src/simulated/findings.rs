//! What was found wrong: faults, which are always told, and what the checks find where they are on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use simt::check::{Checks, Finding, FreeProblem, Place, Report};
use simt::fault::{Fault, FaultKind};
use simt::memory::FreeError;

use super::driver::{self, Driver};
use crate::Code;

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

fn report_of(checks: Option<Checks>) -> MutexGuard<'static, Option<Report>> {
    let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    report.get_or_insert_with(|| Report::new(checks.unwrap_or(Checks::NONE)));
    report
}

fn add(driver: &Driver, finding: Finding) {
    if let Some(report) = report_of(driver.checks).as_mut() {
        report.api(finding);
    }
}

/// What a launch's checks found.
pub(super) fn of_launch(driver: &Driver, found: Vec<Finding>) {
    if driver.checks.is_some()
        && let Some(report) = report_of(driver.checks).as_mut()
    {
        report.launch(found);
    }
}

/// A fault, which is said on stderr too.
pub(super) fn of_fault(driver: &Driver, fault: &Fault, kernel: &str, place: Place, code: Code) {
    let finding = Finding::of_fault(fault, kernel, Some(place));
    super::say(format_args!(
        "the kernel {kernel} ended with {code}, which every call in its context returns from now on:\n{}",
        indented(&finding.to_string()),
    ));
    if matches!(fault.kind, FaultKind::Endless { .. }) {
        super::say(format_args!(
            "a kernel that needs longer gets it by {}=SECONDS in the environment; 0 lets it run for ever.",
            super::TIMEOUT_VARIABLE
        ));
    } else if driver.checks.is_none() {
        super::say(format_args!(
            "to look further, run it under the checks: `coalesce check`, or {}=all in the environment.",
            super::CHECKS_VARIABLE
        ));
    }
    add(driver, finding);
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// A free of what cannot be freed, where memcheck is on.
pub(super) fn invalid_free(driver: &Driver, address: u64, function: &str, wrong: &FreeError) {
    if driver.checks.is_some_and(|checks| checks.memcheck) {
        let problem = match wrong {
            FreeError::NotAllocated { .. } => FreeProblem::NotAllocated,
            FreeError::AlreadyFreed(_) => FreeProblem::AlreadyFreed,
            FreeError::Inside { allocation, .. } => {
                FreeProblem::Inside { allocation: allocation.address, bytes: allocation.bytes }
            }
        };
        add(driver, Finding::invalid_free(function, address, problem));
    }
}

/// Memory that is left when its context goes, where leakcheck is on.
pub(super) fn leak(driver: &Driver, address: u64, bytes: u64, made_by: &str) {
    if driver.checks.is_some_and(|checks| checks.leakcheck) {
        add(driver, Finding::leak(address, bytes, made_by));
    }
}

/// Everything found since the start or the last [`forget`](super::forget): faults of kernels, and what the checks of the
/// [`Settings`](super::Settings) find, each once for its place in the source.
pub fn findings() -> Vec<Finding> {
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = report.iter().flat_map(Report::findings);
    found.map(|reported| reported.finding.clone()).collect()
}

/// The same as a report in compute-sanitizer's words, with its sums, also where nothing was found; none where nothing is
/// checked.
pub fn report() -> Option<Report> {
    let driver = driver::driver().ok()?;
    let mut report = report_of(Some(driver.checks?)).clone()?;
    if driver.each_finding {
        report.show_all();
    }
    Some(report)
}

/// Forgets what was found.
pub(super) fn forget() {
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
