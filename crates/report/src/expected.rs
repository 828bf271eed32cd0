//! Says how far modelled times are off, by the [residuals](record::doubt) of the model: a median and what a tenth exceeds.

use record::{Errors, doubt::Residuals};

/// The errors of this repository's kernels, and of kernels that the model had never seen.
fn errors() -> [Errors; 2] {
    let residuals = Residuals::built_in();
    [residuals.own_errors(), residuals.unseen_errors()]
        .map(|errors| errors.expect("the crate `record` has residuals of both"))
}

/// The simulated cards whose times were compared with the hardware's.
const JUDGED: [&str; 2] = ["sim:h200", "sim:h100"];

/// The end of a sentence about errors, for cards that were compared with no hardware.
fn beyond(selector: &str) -> &'static str {
    if JUDGED.contains(&selector) {
        ""
    } else {
        "; this card's times were compared with none, so expect more"
    }
}

/// In a sentence, for the head of a run on this simulated device.
pub(crate) fn in_brief(selector: &str) -> String {
    let [own, unseen] = errors().map(|errors| errors.median_in_words());
    let beyond = beyond(selector);
    format!(
        "modelled, not measured: times are off by {own} in the median on this repository's kernels, by {unseen} on kernels that the \
         model had not seen (both on an H200{beyond})"
    )
}

/// For a page about a run on this simulated device.
pub(crate) fn of_run(selector: &str) -> String {
    let [own, unseen] = errors();
    let beyond = beyond(selector);
    format!(
        "Times are modelled, not measured. Modelled times of this repository's kernels are off by {} in the median (465 rows fitted \
         the model); on {} rows of kernels that the model had never seen the median error was {}, and a tenth were off by more than {} \
         (both against an H200{beyond}). Counters follow the rules of the card's compute capability and are counted, not modelled.",
        own.median_in_words(),
        unseen.count,
        unseen.median_in_words(),
        unseen.p90_in_words(),
    )
}

/// For a page about kernels that are not of this repository.
pub(crate) fn of_profile() -> String {
    let [_, unseen] = errors();
    format!(
        "Requests, sectors and wavefronts are counted exactly. Times are modelled, and the model has not seen these kernels: on {} \
         such rows its median error was {}, and a tenth were off by more than {} (H200). The interval behind a time holds eight in \
         ten such kernels.",
        unseen.count,
        unseen.median_in_words(),
        unseen.p90_in_words(),
    )
}
