//! Markdown in a terminal: paragraphs, headings, lists and tables, without the marks that a page would make type of.

use crate::terminal::{Ink, Style};

/// Text of a Markdown paragraph as it is read: code without ticks, emphasis without stars, links by their words.
pub fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some(at) = rest.find(['`', '*', '[', '_', '\\']) {
        text.push_str(&rest[..at]);
        let mark = &rest[at..];
        rest = &mark[1..];
        match mark.as_bytes()[0] {
            // What is between ticks is taken as it is.
            b'`' => {
                let end = rest.find('`').unwrap_or(rest.len());
                text.push_str(&rest[..end]);
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            b'*' => {
                let spaced = text.ends_with([' ', '(']) || text.is_empty();
                let multiplies = spaced && rest.starts_with(' ')
                    || text.ends_with(|before: char| before.is_alphanumeric())
                        && rest.starts_with(|after: char| after.is_alphanumeric());
                if multiplies {
                    text.push('*');
                }
            }
            b'[' => match link(rest) {
                Some((words, behind)) => {
                    text.push_str(&plain(words));
                    rest = behind;
                }
                None => text.push('['),
            },
            b'\\' => {}
            _ => text.push('_'),
        }
    }
    text + rest
}

/// The words of a link whose bracket was opened, and what follows it.
fn link(rest: &str) -> Option<(&str, &str)> {
    let mut depth = 1_i32;
    let end = rest.char_indices().find_map(|(at, letter)| {
        depth += match letter {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })?;
    let (words, behind) = (&rest[..end], &rest[end + 1..]);
    let target = ['(', '['].into_iter().zip([')', ']']).find_map(|(open, close)| {
        let inside = behind.strip_prefix(open)?;
        Some(&inside[inside.find(close)? + 1..])
    });
    // `[path]` alone links to what it names.
    target.or(Some(behind)).filter(|_| !words.is_empty()).map(|behind| (words, behind))
}

/// A Markdown text for a terminal. A first heading is left out: the caller has its own.
pub(super) fn wrapped(markdown: &str, style: Style) -> String {
    let mut out = String::new();
    let mut block: Vec<&str> = Vec::new();
    let mut code = false;
    for line in markdown.lines().chain([""]) {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            out += &paragraph(&std::mem::take(&mut block), style);
            code = !code;
        } else if code {
            out += &format!("    {line}\n");
        } else if trimmed.starts_with('#') {
            out += &paragraph(&std::mem::take(&mut block), style);
            let title = plain(trimmed.trim_start_matches('#').trim());
            if !out.is_empty() {
                out += &format!("\n{}\n", style.paint(Ink::Strong, &title));
            }
        } else if trimmed.is_empty() || trimmed.starts_with('|') || is_item(trimmed) {
            out += &paragraph(&std::mem::take(&mut block), style);
            if trimmed.is_empty() && !out.is_empty() && !out.ends_with("\n\n") {
                out.push('\n');
            } else if trimmed.starts_with('|') {
                out += &table_row(trimmed, style);
            } else if !trimmed.is_empty() {
                block.push(line);
            }
        } else {
            block.push(line);
        }
    }
    out.trim_start_matches('\n').trim_end().to_string() + "\n"
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let number = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    line.starts_with("- ") || line.starts_with("* ") || number
}

/// A paragraph or an item of a list, from its lines.
fn paragraph(lines: &[&str], style: Style) -> String {
    let Some(first) = lines.first() else { return String::new() };
    let text = plain(&lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
    if is_item(first.trim_start()) {
        let (mark, rest) = text.split_once(' ').unwrap_or(("-", &text));
        let first = format!("  {mark} ");
        return style.wrap(&first, &" ".repeat(first.len()), rest);
    }
    style.wrap("", "", &text)
}

/// A row of a table, its cells apart; nothing for the row of dashes.
fn table_row(row: &str, style: Style) -> String {
    let cells: Vec<String> = row.trim_matches('|').split('|').map(|cell| plain(cell.trim())).collect();
    if cells.iter().all(|cell| cell.chars().all(|letter| matches!(letter, '-' | ':'))) {
        return String::new();
    }
    let (first, rest) =
        cells.split_first().map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
    let rest = rest.join(if rest.len() > 1 { "; " } else { "" });
    let text = if rest.is_empty() { first.to_string() } else { format!("{first}: {rest}") };
    style.wrap("  ", "      ", &text)
}
