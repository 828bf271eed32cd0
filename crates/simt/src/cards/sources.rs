//! Prints a built-in card with the source of each figure: the comment above it in its file, or in that of the card that
//! it is taken over from.

use super::card::Card;
use super::known::file_of;

/// Columns of a comment.
const WIDTH: usize = 120;

/// Follows the source of a chain's clocks where a card states latencies of its own.
const BY_LATENCIES: &str =
    "Here those of L2 and of device memory follow from the latencies that this card states.";

/// Writes the card as a card file, with the sources of its figures as comments if it is built in.
pub fn with_sources(card: &Card) -> String {
    let mut text = String::new();
    let mut last = None;
    for line in card.to_toml().lines() {
        let field = line.split(" = ").next().unwrap_or_default();
        let source = source_of(&card.key, field);
        if source != last
            && let Some(source) = &source
        {
            text.push('\n');
            push_comment(&mut text, source);
        }
        last = source;
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the source of a built-in card's figure, after the key of the card that it is taken over from, if it is.
///
/// Key, name, compute capability and prose have no source, and neither has a card that is not built in.
pub fn source_of(key: &str, field: &str) -> Option<String> {
    let text = file_of(key)?;
    if let Some(comment) = comment_above(text, field) {
        return (!comment.is_empty()).then_some(comment);
    }
    let base = text.lines().find_map(|line| line.strip_prefix("extends = "))?.trim_matches('"');
    let source = source_of(base, field)?;
    let taken_over = source.starts_with("from ");
    let source = if taken_over { source } else { format!("from {base}: {source}") };
    let states = |latency| comment_above(text, latency).is_some();
    let of_latencies = field == "chain_clocks" && (states("l2_latency_ns") || states("dram_latency_ns"));
    Some(if of_latencies { format!("{source} {BY_LATENCIES}") } else { source })
}

/// Returns the comment of the paragraph in which a file states a figure; `None` if it does not, and an empty text for
/// fields that are not figures.
fn comment_above(text: &str, field: &str) -> Option<String> {
    let mut comment = Vec::new();
    let mut closed = false;
    for line in text.lines() {
        if let Some(words) = line.strip_prefix('#') {
            if closed {
                comment.clear();
            }
            comment.push(words.trim());
            closed = false;
        } else if line.is_empty() {
            comment.clear();
        } else {
            closed = true;
            let (stated, value) = line.split_once(" = ")?;
            if stated == field {
                return Some(if value.starts_with('"') { String::new() } else { comment.join(" ") });
            }
        }
    }
    None
}

fn push_comment(text: &mut String, comment: &str) {
    let mut column = 0;
    for word in comment.split(' ') {
        if column > 0 && column + 1 + word.len() > WIDTH {
            text.push('\n');
            column = 0;
        }
        if column == 0 {
            text.push('#');
            column = 1;
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    text.push('\n');
}
