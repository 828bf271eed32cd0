//! Turns LLVM's last message before it ends the process into an error that helps.
//!
//! For a few errors (an instruction that the architecture does not have, mostly) LLVM's back end knows no other end than that
//! of the process, with a stack dump. Here the process ends as well, since LLVM cannot go on, but with a paragraph
//! on what it was about, and with status 1.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::io::Write as _;

use crate::names::readable;

thread_local! {
    /// The processor that this thread makes code for.
    static PROCESSOR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes which processor (`sm_90`) the next calls of LLVM are for.
pub(super) fn working_for(processor: &str) {
    PROCESSOR.with_borrow_mut(|now| processor.clone_into(now));
}

/// LLVM's handler for errors that it cannot report otherwise.
pub(super) unsafe extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a C string that lives through the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let text = PROCESSOR.with_borrow(|processor| message(&reason, processor));
    let _ = writeln!(std::io::stderr(), "{text}");
    // LLVM would do no better after a return from here: it would abort.
    std::process::exit(1);
}

/// The paragraph for `reason`, LLVM's own words.
fn message(reason: &str, processor: &str) -> String {
    // `Cannot select: t5: f32,ch = ..` and further lines, the last of them `In function: NAME`.
    let mut function = None;
    let mut lines = Vec::new();
    for line in reason.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("In function: ") {
            Some(name) => function = Some(readable(name)),
            None => lines.push(line),
        }
    }
    let lines = lines.join("; ");
    let cause = lines.trim_end_matches('.');
    let target = match processor.strip_prefix("sm_") {
        Some(number) => format!(" for compute_{number}"),
        None => String::new(),
    };
    let place = function.map(|name| format!(", in `{name}`")).unwrap_or_default();
    let advice = if cause.starts_with("Cannot select") {
        "The kernel crate uses an operation or intrinsic that this architecture or PTX version does not have: raise `.arch(..)` \
         or `.ptx_version(..)`, or put the code behind `cfg(target_feature = \"compute_..\")`."
    } else {
        "This is LLVM's limit or fault and breaks no rule of the kernel crate's that is known here: `.nvvm_opts(false)` may get \
         round it, and so may writing the code it names in another way."
    };
    format!("error: LLVM gave up making PTX{target}{place}: {cause}. {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_the_architecture_lacks_is_told_with_what_to_do() {
        assert_eq!(
            message("Cannot select: intrinsic %llvm.nvvm.nanosleep", "sm_53"),
            "error: LLVM gave up making PTX for compute_53: Cannot select: intrinsic %llvm.nvvm.nanosleep. The kernel crate uses \
             an operation or intrinsic that this architecture or PTX version does not have: raise `.arch(..)` or \
             `.ptx_version(..)`, or put the code behind `cfg(target_feature = \"compute_..\")`."
        );
        let text = message(
            "Cannot select: t7: f32 = fsin t6\n  t6: f32 = Constant\nIn function: _RNvCs6gNbY1t9XKo_7kernels4wave",
            "sm_90a",
        );
        assert!(
            text.starts_with(
                "error: LLVM gave up making PTX for compute_90a, in `kernels::wave`: Cannot select: t7: f32 = fsin t6; t6: f32 = \
                 Constant. The kernel crate"
            ),
            "{text}"
        );
    }

    #[test]
    fn another_error_is_not_blamed_on_the_architecture() {
        let text = message("unsupported library call operation.\n", "sm_75");
        assert!(
            text.starts_with(
                "error: LLVM gave up making PTX for compute_75: unsupported library call operation. This is LLVM's"
            ),
            "{text}"
        );
        assert!(!text.contains(".arch(") && !text.contains(".."), "{text}");
    }
}
