//! Checks the links of the repository's Markdown: README files and the pages of the book.
//!
//! A relative link must point to a file or folder of the repository, and an anchor to a heading of that file. External links
//! are checked for their form alone, so that the test needs no network. A page of `docs/` may link only to files in `docs/`:
//! the built book holds no others.
//!
//! Links are found without a full Markdown parser. Code does not count: fenced blocks, indented blocks and code spans are
//! removed first. In what remains, these are links:
//!
//! ```text
//! [text](target)    [text](target "title")    ![picture](target)    <https://target>
//! [label]: target
//! <a href="target">    <img src="target">    <source srcset="target">
//! ```

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder whose pages are the book.
const BOOK: &str = "docs";

/// The number of broken links that an error lists.
const LISTED: usize = 20;

/// A link of a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The line that it is on, from 1.
    pub(crate) line: usize,
    /// The target, as written.
    pub(crate) target: String,
}

/// Checks all links; returns how many there are.
///
/// # Errors
/// A link is broken: each is listed with its file and line, and with the reason.
pub(crate) fn check(root: &Path) -> Result<String> {
    let mut texts = BTreeMap::new();
    for page in pages(root)? {
        let text = std::fs::read_to_string(root.join(&page))
            .with_context(|| format!("cannot read {}", page.display()))?;
        let _ = texts.insert(page, text);
    }
    let (mut count, mut broken) = (0, Vec::new());
    for (page, text) in &texts {
        for link in of(text) {
            count += 1;
            if let Err(reason) = holds(root, page, &link.target, &texts) {
                broken.push(format!("{}:{}: `{}` {reason}", page.display(), link.line, link.target));
            }
        }
    }
    if !broken.is_empty() {
        let all = broken.len();
        broken.truncate(LISTED);
        let more = if all > LISTED { format!("\n... and {} more", all - LISTED) } else { String::new() };
        bail!("broken links, {all} in all:\n{}{more}", broken.join("\n"));
    }
    Ok(format!("{count} links on {} pages", texts.len()))
}

/// The pages of the book, and the READMEs of the repository, its folders and its crates; from the root.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = vec![PathBuf::from("README.md")];
    for folder in [Path::new(""), Path::new("crates")] {
        let full = root.join(folder);
        for entry in std::fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))? {
            let name = entry.with_context(|| format!("cannot list {}", full.display()))?.file_name();
            let readme = folder.join(name).join("README.md");
            if root.join(&readme).is_file() {
                pages.push(readme);
            }
        }
    }
    let book = root.join(BOOK);
    for entry in std::fs::read_dir(&book).with_context(|| format!("cannot list {}", book.display()))? {
        let page = Path::new(BOOK)
            .join(entry.with_context(|| format!("cannot list {}", book.display()))?.file_name());
        if page.extension().is_some_and(|extension| extension == "md") {
            pages.push(page);
        }
    }
    Ok(pages)
}

/// Says why a link of a page does not hold, if it does not.
fn holds(root: &Path, page: &Path, target: &str, texts: &BTreeMap<PathBuf, String>) -> Result<(), String> {
    if let Some((scheme, rest)) = target.split_once(':') {
        return external(scheme, rest);
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let file = if path.is_empty() {
        page.to_owned()
    } else {
        let folder = page.parent().unwrap_or(Path::new(""));
        inside(&folder.join(path)).ok_or("leads out of the repository")?
    };
    let shown = file.display();
    if !root.join(&file).exists() {
        return Err(format!("points to {shown}, which does not exist"));
    }
    if page.starts_with(BOOK) && !file.starts_with(BOOK) {
        return Err(format!(
            "leads out of {BOOK}/, and the built book does not hold {shown}: name the path in code"
        ));
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let text = texts.get(&file).ok_or_else(|| format!("names a heading of {shown}, which is not a page"))?;
    let headings = headings(text);
    if headings.iter().any(|heading| heading == anchor) {
        return Ok(());
    }
    Err(format!("names a heading that {shown} does not have{}", nearest::hint(anchor, &headings)))
}

/// Says why an external link is malformed, if it is.
fn external(scheme: &str, rest: &str) -> Result<(), String> {
    if !["https", "http"].contains(&scheme) {
        return Err(format!("has the scheme `{scheme}`; links here are relative or begin with https://"));
    }
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if host.split('.').filter(|part| !part.is_empty()).count() >= 2 => Ok(()),
        _ => Err("names no host".to_owned()),
    }
}

/// A path without `.` and `..`; `None` if it leads above its start.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// The links of a Markdown text, in order.
pub(crate) fn of(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, prose) in prose(text) {
        let targets = inline(&prose).into_iter().chain(definition(&prose)).chain(attributes(&prose));
        links.extend(targets.map(|target| Link { line, target }));
    }
    links
}

/// The anchors of a text's headings, as mdBook and the usual code hosts make them. They are in lower case, with hyphens
/// for blanks and without punctuation; the second of a name ends in `-1`.
fn headings(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in uncoded(text).into_iter().map(|(_, line)| line) {
        let level = line.chars().take_while(|c| *c == '#').count();
        let Some(title) = line[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level)) else {
            continue;
        };
        let name: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                _ => (c.is_alphanumeric() || c == '-' || c == '_').then_some(c),
            })
            .collect();
        let times = seen.entry(name.clone()).or_default();
        anchors.push(if *times == 0 { name } else { format!("{name}-{times}") });
        *times += 1;
    }
    anchors
}

/// The lines that are not in a block of code, with their numbers from 1.
fn uncoded(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    let mut may_be_indented_code = true;
    for (number, line) in (1..).zip(text.lines()) {
        let start = line.trim_start();
        match fence {
            Some(mark) => {
                if start.starts_with(mark) {
                    fence = None;
                }
                continue;
            }
            None => fence = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)),
        }
        if fence.is_some() {
            continue;
        }
        // Indented lines are code behind an empty line or more code; behind prose they go on with it.
        if may_be_indented_code && line.starts_with("    ") {
            continue;
        }
        may_be_indented_code = start.is_empty();
        lines.push((number, line));
    }
    lines
}

/// As [`uncoded`], with code spans taken out, also those that go on in the next line.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_span = false;
    let mut lines = Vec::new();
    for (number, line) in uncoded(text) {
        // A span does not outlast its paragraph.
        in_span &= !line.trim().is_empty();
        let mut kept = String::new();
        for piece in line.split_inclusive('`') {
            let (words, mark) = match piece.strip_suffix('`') {
                Some(words) => (words, true),
                None => (piece, false),
            };
            if !in_span {
                kept += words;
            }
            in_span ^= mark;
        }
        lines.push((number, kept));
    }
    lines
}

/// The targets of `[text](target)` and `<https://target>`.
fn inline(line: &str) -> Vec<String> {
    let behind = |opening: &str, closing: char| -> Vec<String> {
        line.split(opening).skip(1).filter_map(|rest| Some(rest.split_once(closing)?.0.to_owned())).collect()
    };
    let mut targets = behind("](", ')');
    for target in &mut targets {
        // What follows a blank is the title.
        *target = target.split_whitespace().next().unwrap_or_default().to_owned();
    }
    targets.extend(behind("<https:", '>').into_iter().map(|rest| format!("https:{rest}")));
    targets
}

/// The target of `[label]: target`.
fn definition(line: &str) -> Option<String> {
    let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
    target.split_whitespace().next().map(str::to_owned)
}

/// The targets of HTML: the values of `href`, `src` and `srcset`.
fn attributes(line: &str) -> Vec<String> {
    let values = ["href=\"", "src=\"", "srcset=\""].into_iter().flat_map(|name| line.split(name).skip(1));
    values.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, String)> {
        of(text).into_iter().map(|link| (link.line, link.target)).collect()
    }

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let text = "See [one](one.md) and ![two](two.png \"title\").\n\
                    `[no](no.md)` and `a span\nthat [no](no.md) ends` [three](three.md#part)\n\
                    \n    [no](no.md)\n\n```text\n[no](no.md)\n```\n\
                    - [four](four.md),\n    [five](five.md)\n\
                    [label]: https://example.org/six\n<https://example.org/seven>\n\
                    <img src=\"eight.svg\"> <a href=\"nine.md\">\n";
        let found = targets(text);
        let expected = [
            (1, "one.md"),
            (1, "two.png"),
            (3, "three.md#part"),
            (10, "four.md"),
            (11, "five.md"),
            (12, "https://example.org/six"),
            (13, "https://example.org/seven"),
            (14, "nine.md"),
            (14, "eight.svg"),
        ];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn headings_have_the_anchors_of_the_built_book() {
        let text = "# What is measured, and what is modelled\n## `timing.method`\n## Times\n```sh\n# no\n```\n## Times\n#no\n";
        assert_eq!(
            headings(text),
            ["what-is-measured-and-what-is-modelled", "timingmethod", "times", "times-1"]
        );
    }

    /// Says what is wrong with a link of docs/safety.md, if anything is, where two pages have these headings.
    fn reason(target: &str) -> Option<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = Path::new("docs/safety.md");
        let texts = BTreeMap::from([
            (page.to_owned(), "# Here\n".to_owned()),
            (PathBuf::from("docs/methodology.md"), "# How\n## Time\n".to_owned()),
        ]);
        holds(root, page, target, &texts).err()
    }

    #[test]
    fn a_link_holds_if_file_and_heading_exist() {
        for target in
            ["#here", "methodology.md", "./methodology.md#time", "results", "https://example.org/a#b"]
        {
            assert_eq!(reason(target), None, "{target}");
        }
    }

    #[test]
    fn a_broken_link_says_why() {
        for (target, expected) in [
            ("lost.md", "points to docs/lost.md, which does not exist"),
            (
                "methodology.md#tim",
                "names a heading that docs/methodology.md does not have; did you mean time?",
            ),
            ("results#x", "names a heading of docs/results, which is not a page"),
            (
                "../README.md",
                "leads out of docs/, and the built book does not hold README.md: name the path in code",
            ),
            ("../../x", "leads out of the repository"),
            ("/etc/passwd", "leads out of the repository"),
            ("https:///x", "names no host"),
            ("https://localhost/x", "names no host"),
            ("ftp://example.org", "has the scheme `ftp`; links here are relative or begin with https://"),
        ] {
            assert_eq!(reason(target).as_deref(), Some(expected), "{target}");
        }
    }

    #[test]
    fn a_broken_link_is_listed_with_its_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("README.md", "# It\n\n[docs](docs/page.md#here)\n");
        write("crates/one/README.md", "# one\n[up](../../README.md#it)\n");
        write("docs/page.md", "# Here\n");
        assert_eq!(check(folder.path()).unwrap(), "2 links on 3 pages");
        write("crates/one/README.md", "# one\n\n[up](../README.md)\n");
        assert_eq!(
            check(folder.path()).unwrap_err().to_string(),
            "broken links, 1 in all:\ncrates/one/README.md:3: `../README.md` points to crates/README.md, which does not exist"
        );
    }
}
