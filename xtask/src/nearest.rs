//! "Did you mean ..?": the nearest of a list of names.

use std::cmp::Reverse;

/// The name nearest to `wanted`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let limit = (wanted.len() / 3).max(2);
    names
        .iter()
        .map(|name| (distance(wanted, name), Reverse(common_start(wanted, name)), name.as_str()))
        .filter(|(distance, _, name)| *distance <= limit || name.starts_with(wanted))
        .min()
        .map(|(_, _, name)| name)
}

/// How many characters two words begin with alike: of two words equally far away, people mean the one that starts right.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// ` (did you mean ..?)`, or nothing.
pub(crate) fn hint(wanted: &str, names: &[String]) -> String {
    nearest(wanted, names).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// The number of single-character edits between two words (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("offset_f32", "offset_f64"), 2);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["offset_f32", "offset_f64", "stride_f32"].map(String::from);
        assert_eq!(nearest("ofset_f32", &names), Some("offset_f32"));
        assert_eq!(nearest("stride", &names), Some("stride_f32"));
        assert_eq!(nearest("stride_f3x", &names), Some("stride_f32"));
        assert_eq!(nearest("offset_f66", &names), Some("offset_f64"));
        assert_eq!(nearest("transpose", &names), None);
        assert_eq!(hint("strid_f32", &names), " (did you mean `stride_f32`?)");
    }
}
