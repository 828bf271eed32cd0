//! Markdown in a terminal: paragraphs, headings, lists and tables, as they are but for links and emphasis.

use crate::terminal::{Ink, Style};

/// Text of a Markdown paragraph as it is read in a terminal: emphasis without stars, links by their words.
pub fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some(at) = rest.find(['`', '*', '[', '_', '\\']) {
        text.push_str(&rest[..at]);
        let mark = &rest[at..];
        rest = &mark[1..];
        match mark.as_bytes()[0] {
            // Code is taken as it is, with its ticks.
            b'`' => {
                let end = rest.find('`').map_or(rest.len(), |end| end + 1);
                text.push('`');
                text.push_str(&rest[..end]);
                rest = &rest[end..];
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
            // An index is no link.
            b'[' => match link(rest).filter(|_| !text.ends_with(|before: char| before.is_alphanumeric())) {
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
    let mut blocks: Vec<String> = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
            blocks.push(code.map(|line| format!("    {line}\n")).collect());
        } else if trimmed.starts_with('#') {
            let title = plain(trimmed.trim_start_matches('#').trim());
            blocks.push(format!("{}\n", style.paint(Ink::Strong, &title)));
            // A heading stands above its text without a gap.
            while lines.next_if(|line| line.trim().is_empty()).is_some() {}
            continue;
        } else if trimmed.starts_with('|') {
            let mut rows = vec![trimmed];
            while let Some(row) = lines.next_if(|line| line.trim_start().starts_with('|')) {
                rows.push(row.trim_start());
            }
            blocks.push(table(&rows, style));
        } else if !trimmed.is_empty() {
            let mut text = vec![line];
            let goes_on = |line: &&str| {
                let line = line.trim_start();
                !(line.is_empty() || line.starts_with(['|', '#']) || line.starts_with("```") || is_item(line))
            };
            while let Some(line) = lines.next_if(goes_on) {
                text.push(line);
            }
            blocks.push(paragraph(&text, style));
        }
        if lines.peek().is_some_and(|line| line.trim().is_empty())
            && blocks.last().is_some_and(|block| block != "\n")
        {
            blocks.push("\n".to_string());
        }
    }
    if markdown.starts_with("# ") {
        blocks.remove(0);
    }
    blocks.concat().trim_end().to_string() + "\n"
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

/// A table, its columns below each other where it fits; else a row is its first cell and what is said of it.
fn table(rows: &[&str], style: Style) -> String {
    let cells = |row: &&str| -> Vec<String> {
        row.trim().trim_matches('|').split('|').map(|cell| plain(cell.trim())).collect()
    };
    let is_rule =
        |row: &Vec<String>| row.iter().all(|cell| cell.chars().all(|letter| matches!(letter, '-' | ':')));
    let rows: Vec<Vec<String>> = rows.iter().map(cells).filter(|row| !is_rule(row)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let fits = widths.iter().map(|width| width + 2).sum::<usize>() <= style.columns();
    let line = |row: &Vec<String>| {
        if fits {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("  {cell:<width$}"));
            return format!("{}\n", cells.collect::<String>().trim_end());
        }
        let (first, rest) =
            row.split_first().map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
        style.wrap(&format!("  {first}: "), "      ", &rest.join("; "))
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { width: 60, unicode: true, colour: false };

    #[test]
    fn marks_that_a_terminal_has_no_use_for_are_left_out() {
        for (markdown, text) in [
            ("a *sector* of **32** bytes", "a sector of 32 bytes"),
            ("`a[i * s] += 1`, 2 * 3 and 4*5", "`a[i * s] += 1`, 2 * 3 and 4*5"),
            ("see [`tiles`] and [vectors](crate::vectors), or [both][x]", "see `tiles` and vectors, or both"),
            ("an index a[i] is a\\_b", "an index a[i] is a_b"),
        ] {
            assert_eq!(plain(markdown), text);
        }
    }

    #[test]
    fn a_lesson_keeps_its_form() {
        let markdown = "# Title\n\nOne paragraph\nof two lines.\n\n- an item that is long enough to be broken, which it is here\n- \
                        another\n\n# Launch\nIt has\n\n| kernel | grid |\n| --- | --- |\n| `copy` | any |\n\n```text\n  as it is\n```\n";
        assert_eq!(
            wrapped(markdown, STYLE),
            "One paragraph of two lines.\n\n  - an item that is long enough to be broken, which it is\n    here\n  - another\n\nLaunch\n\
             It has\n\n  kernel  grid\n  `copy`  any\n\n      as it is\n"
        );
        let narrow = Style { width: 40, ..STYLE };
        let table = "| a | b | c |\n|---|---|---|\n| first | a cell that is far too wide | and one more |\n";
        assert_eq!(
            wrapped(table, narrow),
            "  a: b; c\n  first: a cell that is far too wide;\n      and one more\n"
        );
    }
}
