//! How far a command has come, on a terminal: a bar, what is left to wait, and what is at work.

use crate::{experiments::Point, output};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use record::{Bytes, Swept};
use std::{
    fmt::Write,
    io::{self, IsTerminal},
    time::Duration,
};

/// A bar on a terminal, nothing in a pipe.
pub(crate) fn bar(length: u64) -> ProgressBar {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return ProgressBar::hidden();
    }
    let blocks = if output::style(&stderr).unicode { "█▉▊▋▌▍▎▏ " } else { "#- " };
    let style = ProgressStyle::with_template("{bar:20} {pos}/{len}, {left}: {wide_msg}");
    let left = |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&left(state.pos(), state.eta()));
    };
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left);
    ProgressBar::new(length).with_style(style.progress_chars(blocks))
}

/// The time that remains after `done` steps.
fn left(done: u64, left: Duration) -> String {
    match (done, left.as_secs()) {
        (0, _) => "starting".to_string(),
        (_, 0) => "nearly done".to_string(),
        (_, seconds @ 1..120) => format!("{seconds} s left"),
        (_, seconds) => format!("{} min left", seconds.div_ceil(60)),
    }
}

/// Points that are measured together, as text.
pub(crate) fn points(points: &[Point]) -> String {
    match points {
        [] => String::new(),
        [one] => point(one),
        [first, others @ ..] => format!("{} and {} more", point(first), others.len()),
    }
}

/// A point as text: its kernel, its parameters and its size.
pub(crate) fn point(point: &Point) -> String {
    let parameters = &point.parameters;
    let mut text = format!("{} {}", point.experiment, point.kernel);
    if let Some(Swept { name, value }) = &parameters.swept {
        let _ = write!(text, ", {name} {value}");
    }
    let _ = write!(text, ", {}", Bytes(parameters.bytes));
    if let Some(block) = parameters.block {
        let _ = write!(text, ", block {block}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::driver_copy;

    #[test]
    fn what_is_left_is_told_in_seconds_and_minutes() {
        let of = |seconds| left(3, Duration::from_secs(seconds));
        assert_eq!(
            [of(0), of(1), of(119), of(120), of(121)].map(|text| text.replace(" left", "")),
            ["nearly done", "1 s", "119 s", "2 min", "3 min"]
        );
        assert_eq!(left(0, Duration::ZERO), "starting");
    }

    #[test]
    fn a_point_has_a_size_that_people_read() {
        assert_eq!(point(&driver_copy(256 << 20)), "copy copy_driver, 256 MiB");
    }
}
