//! Findings: faults, which are always reported, and those of the checks that are on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use simt::check::{Checks, Finding, FreeProblem, Place, Report, Severity};
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

/// Adds the findings of a launch's checks.
pub(super) fn of_launch(driver: &Driver, found: Vec<Finding>) {
    if driver.checks.is_some()
        && let Some(report) = report_of(driver.checks).as_mut()
    {
        report.launch(found);
    }
}

/// Adds a fault, and prints it on stderr.
pub(super) fn of_fault(driver: &Driver, fault: &Fault, kernel: &str, place: Place, code: Code) {
    let finding = Finding::of_fault(fault, kernel, Some(place));
    super::say(format_args!(
        "the kernel {kernel} ended with {code}, which every call in its context returns from now on:\n{}",
        indented(&finding.to_string()),
    ));
    if matches!(fault.kind, FaultKind::Endless { .. }) {
        super::say(format_args!(
            "if the kernel needs longer, set {}=SECONDS in the environment; 0 is no limit.",
            super::TIMEOUT_VARIABLE
        ));
    } else if driver.checks.is_none() {
        super::say(format_args!(
            "to find the cause, run the program under the checks: `coalesce check`, or {}=all in the environment.",
            super::CHECKS_VARIABLE
        ));
    }
    add(driver, finding);
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Adds an invalid free, if memcheck is on.
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

/// Adds memory that is not freed when its context ends, if leakcheck is on.
pub(super) fn leak(driver: &Driver, address: u64, bytes: u64, made_by: &str) {
    if driver.checks.is_some_and(|checks| checks.leakcheck) {
        add(driver, Finding::leak(address, bytes, made_by));
    }
}

/// Returns all findings since the start or the last [`forget`](super::forget): faults of kernels, and findings of the
/// checks of the [`Settings`](super::Settings), each once per place in the source.
pub fn findings() -> Vec<Finding> {
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = report.iter().flat_map(Report::findings);
    found.map(|reported| reported.finding.clone()).collect()
}

/// Returns the findings as a report in compute-sanitizer's words, with its sums, also if there are none; None if no
/// check is on.
pub fn report() -> Option<Report> {
    let driver = driver::driver().ok()?;
    let mut report = report_of(Some(driver.checks?)).clone()?;
    if driver.each_finding {
        report.show_all();
    }
    Some(report)
}

/// Returns the exit status that [`CHECKS_VARIABLE`](super::CHECKS_VARIABLE) asks for, if the checks have found an error.
pub(super) fn exit_code() -> Option<u8> {
    let code = driver::driver().ok()?.exit_code?;
    findings().iter().any(|finding| finding.severity == Severity::Error).then_some(code)
}

/// Forgets all findings.
pub(super) fn forget() {
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
