//! Writes into prose how far modelled times are off. A page has a figure between two marks:
//!
//! ```text
//! the median error was <!-- unseen median -->10.3%<!-- . -->, and
//! ```

use record::doubt::Residuals;

/// The pages with such figures.
pub const PAGES_WITH_ERRORS: [&str; 10] = [
    "README.md",
    "docs/README.md",
    "docs/fidelity.md",
    "docs/first-result.md",
    "docs/methodology.md",
    "docs/profile.md",
    "docs/reading-a-report.md",
    "docs/records.md",
    "docs/rust-tax.md",
    "docs/your-kernel.md",
];

/// Behind each figure.
const END: &str = "<!-- . -->";

/// Why the figures of a page cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorsError {
    /// There is nothing to sum up.
    #[error("there are no residuals")]
    NoResiduals,
    /// A figure has no end.
    #[error("a figure that begins with {0} does not end with {END}")]
    Unclosed(String),
    /// There is no figure.
    #[error("there is no figure, such as <!-- unseen median -->10.3%{END}")]
    None,
}

/// Returns a page with its figures written again from the residuals.
///
/// # Errors
/// There are no residuals, a figure does not end, or there is none.
pub fn with_errors(page: &str, residuals: &Residuals) -> Result<String, ErrorsError> {
    let own = residuals.own_errors().ok_or(ErrorsError::NoResiduals)?;
    let unseen = residuals.unseen_errors().ok_or(ErrorsError::NoResiduals)?;
    let figures = [
        ("<!-- own median -->", own.median_in_words()),
        ("<!-- own tenth -->", own.p90_in_words()),
        ("<!-- unseen median -->", unseen.median_in_words()),
        ("<!-- unseen tenth -->", unseen.p90_in_words()),
    ];
    let mut made = page.to_string();
    let mut found = 0;
    for (mark, figure) in figures {
        let mut parts = made.split(mark);
        let mut new = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let (_, after) = part.split_once(END).ok_or_else(|| ErrorsError::Unclosed(mark.to_string()))?;
            new += &format!("{mark}{figure}{END}{after}");
            found += 1;
        }
        made = new;
    }
    if found == 0 { Err(ErrorsError::None) } else { Ok(made) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_between_marks_are_written_again() {
        let line = |ratio: f64| format!("{{\"kernel\":\"k\",\"ratio\":{ratio}}}\n");
        let residuals = Residuals::read(&line(0.8), &(line(1.1) + &line(0.7))).expect("they are well formed");
        let page = |own: &str, unseen: [&str; 2]| {
            let [median, tenth] = unseen;
            format!(
                "a <!-- own median -->{own}<!-- . --> b <!-- unseen median -->{median}<!-- . -->\nc \
                 <!-- unseen tenth -->{tenth}<!-- . --> d"
            )
        };
        let made = with_errors(&page("?", ["9%", ""]), &residuals).expect("it has figures");
        assert_eq!(made, page("25.0%", ["20.0%", "30%"]));
        for (wrong, says) in [("a", "no figure"), ("<!-- own tenth -->1%", "does not end")] {
            let error = with_errors(wrong, &residuals).expect_err(says).to_string();
            assert!(error.contains(says), "{error}");
        }
        let empty = Residuals::default();
        assert_eq!(with_errors("a", &empty).expect_err("nothing").to_string(), "there are no residuals");
    }
}
