//! Reduces the source of kernels to what a host sees of it: all but the bodies of kernels.
//!
//! ```text
//! #[kernel]                                                   #[kernel]
//! pub fn copy(thread: Thread<Lines>, from: In<f32, Each>) {   pub fn copy(thread: Thread<Lines>, from: In<f32, Each>) {}
//!     let value = from.at(thread.own());               ->
//!     ..
//! }
//! const TILE: usize = 32;                                     const TILE: usize = 32;
//! ```
//!
//! Signatures, contracts, constants and helper functions stay, since the host is compiled with them. A source that cannot be
//! read stays whole, so that any change of it counts.

use std::ops::Range;

/// A piece of source that matters here. Blanks and comments are in none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token<'s> {
    /// A word, one character of punctuation, or a whole literal.
    text: &'s str,
    range: Range<usize>,
}

/// The source without the bodies of functions that are marked `#[kernel]`.
pub(crate) fn of(source: &str) -> String {
    let bodies = tokens(source).and_then(|tokens| bodies(&tokens)).unwrap_or_default();
    let mut rest = 0;
    let mut interface = String::with_capacity(source.len());
    for body in bodies {
        interface.push_str(&source[rest..body.start]);
        rest = body.end;
    }
    interface + &source[rest..]
}

/// Finds the text between the braces of each kernel. `None` where brackets do not match.
fn bodies(tokens: &[Token<'_>]) -> Option<Vec<Range<usize>>> {
    let mut bodies = Vec::new();
    let mut next = 0;
    while next < tokens.len() {
        if tokens[next].text == "#" && tokens.get(next + 1)?.text == "[" {
            let end = close(tokens, next + 1)?;
            let path = tokens[next + 2..end].iter().take_while(|token| token.text != "(");
            if path.last().is_some_and(|word| word.text == "kernel") {
                let function = (end..tokens.len()).find(|&at| tokens[at].text == "fn")?;
                let open = body(tokens, function)?;
                let end = close(tokens, open)?;
                bodies.push(tokens[open].range.end..tokens[end].range.start);
                next = end;
            } else {
                next = end;
            }
        }
        next += 1;
    }
    Some(bodies)
}

/// The brace that opens the body of the function: the first one outside of all other brackets.
fn body(tokens: &[Token<'_>], function: usize) -> Option<usize> {
    let mut angles = 0;
    let mut at = function;
    loop {
        match tokens.get(at)?.text {
            "{" if angles == 0 => return Some(at),
            "(" | "[" | "{" => at = close(tokens, at)?,
            "<" => angles += 1,
            // `->` is two tokens.
            ">" if tokens[at - 1].text != "-" => angles -= 1,
            ";" => return None,
            _ => {}
        }
        at += 1;
    }
}

/// The bracket that closes the one at `open`.
fn close(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Takes source apart. `None` where a comment or literal does not end.
fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += block_comment(rest)?;
        } else {
            let length = token(rest, first)?;
            tokens.push(Token { text: &rest[..length], range: at..at + length });
            at += length;
        }
    }
    Some(tokens)
}

/// Length of the token that the text begins with.
fn token(text: &str, first: char) -> Option<usize> {
    match first {
        '"' => quoted(text, 0, '"'),
        '\'' => Some(lifetime(text).unwrap_or(quoted(text, 0, '\'')?)),
        _ if is_word(first) => {
            let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
            let after = &text[word..];
            match &text[..word] {
                "r" | "br" | "cr" if after.starts_with(['"', '#']) => raw(text, word),
                "b" | "c" if after.starts_with('"') => quoted(text, word, '"'),
                "b" if after.starts_with('\'') => quoted(text, word, '\''),
                _ => Some(word),
            }
        }
        _ => Some(first.len_utf8()),
    }
}

/// Length of a lifetime or label, `'a`: a word without a quote behind it.
fn lifetime(text: &str) -> Option<usize> {
    let word = text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1);
    (word > 0 && !text[1 + word..].starts_with('\'')).then_some(1 + word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a literal whose first quote is at `start`.
fn quoted(text: &str, start: usize, quote: char) -> Option<usize> {
    let mut characters = text[start + 1..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            _ if character == quote => return Some(start + 1 + at + 1),
            _ => {}
        }
    }
    None
}

/// Length of a raw string, or of a raw identifier, whose prefix has `prefix` bytes.
fn raw(text: &str, prefix: usize) -> Option<usize> {
    let after = &text[prefix..];
    let hashes = after.find(|c| c != '#').unwrap_or(after.len());
    if !after[hashes..].starts_with('"') {
        return Some(prefix + hashes);
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = prefix + hashes + 1;
    text[start..].find(&end).map(|at| start + at + end.len())
}

/// Length of a block comment, which may hold others.
fn block_comment(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += rest.chars().next()?.len_utf8();
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bodies_of_kernels_go() {
        let source =
            "const A: usize = 1;\n#[kernel]\npub fn k(x: In<f32>) { let a = [1]; { a } }\nfn f() { g() }\n";
        assert_eq!(of(source), "const A: usize = 1;\n#[kernel]\npub fn k(x: In<f32>) {}\nfn f() { g() }\n");
        let source = "#[cuda_safe::kernel(requires(a { b }))] #[inline] fn k<const N: usize>() where A<{ N }>: B { 1 }";
        assert_eq!(of(source), source.replace("{ 1 }", "{}"));
        let source = "#[kernel] fn k() -> T<U> { 1 } #[kernels] fn l() { 2 } #[cfg(kernel)] fn m() { 3 }";
        assert_eq!(of(source), source.replace("{ 1 }", "{}"));
    }

    #[test]
    fn braces_in_literals_and_comments_are_none() {
        let body = r##" let a = "}\"}"; let b = '}'; let c = r#"}""#; let d: &'static str = "" /* } /* } */ } */; // }
            let e = b'}'; 'label: loop { break 'label } let f = '\''; let r#type = b"}"; "##;
        let source = format!("#[kernel] fn k() {{{body}}} const B: u32 = 1;");
        assert_eq!(of(&source), "#[kernel] fn k() {} const B: u32 = 1;");
    }

    #[test]
    fn what_cannot_be_read_stays_whole() {
        for source in
            ["#[kernel] fn k() { ", "#[kernel] fn k() { \"} ", "#[kernel] fn k();", "#[kernel] fn k() { /* }"]
        {
            assert_eq!(of(source), source);
        }
    }

    #[test]
    fn the_kernels_of_this_repository_lose_their_bodies_and_keep_their_signatures() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let source = std::fs::read_to_string(root.join("gpu-kernels/src/storage.rs")).unwrap();
        let edited = source.replace("* factor", "+ factor");
        assert_ne!(source, edited);
        assert_eq!(of(&source), of(&edited));
        let edited = source.replace("OWN: usize = 16", "OWN: usize = 8");
        assert_ne!(source, edited);
        assert_ne!(of(&source), of(&edited));
        assert!(of(&source).contains("pub fn storage_constant(\n    thread: Thread<OneBlock<THREADS>>,"));
    }
}
