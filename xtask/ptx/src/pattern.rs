//! Finding text in statements of PTX; the rules are those at the top of [`crate::expectations`].

/// Letters, digits and what PTX allows in a name.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// Whether one of the alternatives in `text`, which are separated by ` or `, is in the line.
pub(crate) fn finds_any(text: &str, line: &str) -> bool {
    text.split(" or ").any(|pattern| finds(pattern.trim(), line))
}

/// Whether `pattern` is in the line, as whole words or as the leading parts of a dotted word.
pub(crate) fn finds(pattern: &str, line: &str) -> bool {
    // A quick test that rules out nearly all lines.
    if !pattern.split('*').all(|literal| line.contains(literal)) {
        return false;
    }
    let begins_a_word = pattern.starts_with(is_word);
    let mut before = None;
    for (at, c) in line.char_indices() {
        let inside_a_word = before.is_some_and(|c| is_word(c) || c == '.');
        if !(begins_a_word && inside_a_word) && matches_here(pattern, &line[at..]) {
            return true;
        }
        before = Some(c);
    }
    false
}

/// Whether the line starts with `pattern`, ending at the end of a word or of a dotted part.
fn matches_here(pattern: &str, line: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return !line.starts_with(is_word) };
    let rest = &pattern[first.len_utf8()..];
    if first == '*' {
        let run = line.find(char::is_whitespace).unwrap_or(line.len());
        return (0..=run)
            .filter(|&end| line.is_char_boundary(end))
            .any(|end| matches_here(rest, &line[end..]));
    }
    let Some(next) = line.strip_prefix(first) else { return false };
    // Only the end of a word that the pattern ends in must be the end of a word in the line.
    if rest.is_empty() { !(is_word(first) && next.starts_with(is_word)) } else { matches_here(rest, next) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_as_words_and_leading_parts() {
        assert!(finds("ld.global", "ld.global.nc.b32 %r1, [%rd1];"));
        assert!(!finds("ld.global.b3", "ld.global.b32 %r1, [%rd1];"));
        assert!(!finds("global", "ld.global.b32 %r1, [%rd1];"));
        assert!(finds(".global", "ld.global.b32 %r1, [%rd1];"));
        assert!(finds("ld.global*.v4.b32", "ld.global.L1::no_allocate.v4.b32 {%r1}, [%rd1];"));
        assert!(!finds("ld.global*.v4.b32", "ld.global.b32 %r1, [%rd.v4.b32];"));
        assert!(finds("[%rd1+4]", "ld.global.b32 %r1, [%rd1+4];"));
        assert!(!finds("call", "recall.b32 %r1;"));
        assert!(finds("bar.sync 0", "@%p1 bar.sync 0;"));
    }

    #[test]
    fn alternatives_are_separated_by_or() {
        let text = "ld.global.v4.b32 or ld.global.v2.b64";
        assert!(finds_any(text, "ld.global.v4.b32 {%r1}, [%rd1];"));
        assert!(finds_any(text, "ld.global.v2.b64 {%rd1}, [%rd1];"));
        assert!(!finds_any(text, "ld.global.v2.b32 {%rd1}, [%rd1];"));
        assert!(!finds_any(text, "or.b32 %r1, %r2, %r3;"));
    }
}
