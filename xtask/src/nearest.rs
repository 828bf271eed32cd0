//! "Did you mean ..?": the nearest of a list of names.

use std::cmp::Reverse;

/// Names suggested at most.
const MOST: usize = 3;

/// Picks the names that are near enough to `wanted` to be what was meant, nearest first, at most three.
pub fn alike<'n, N: AsRef<str>>(wanted: &str, names: &'n [N]) -> Vec<&'n str> {
    let limit = (wanted.len() / 3).max(2);
    let mut near: Vec<(usize, Reverse<usize>, &str)> = names
        .iter()
        .map(AsRef::as_ref)
        .map(|name| (strsim::osa_distance(wanted, name), Reverse(common_start(wanted, name)), name))
        .filter(|(distance, _, name)| *distance <= limit || name.starts_with(wanted))
        .collect();
    near.sort_by_key(|(distance, alike, _)| (*distance, *alike));
    // A word much farther away than the nearest was not meant.
    let farthest = near.first().map_or(0, |(distance, ..)| distance + 1);
    let near = near.into_iter().take_while(|(distance, ..)| *distance <= farthest);
    near.map(|(.., name)| name).take(MOST).collect()
}

/// The length of the common beginning of two words. Of two words equally far away, people mean the one that starts
/// right.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// `; did you mean a, b or c?`, and behind it where all names are listed. Where no name is near, that alone.
pub fn hint_or<N: AsRef<str>>(wanted: &str, names: &[N], list: &str) -> String {
    match hint(wanted, names) {
        hint if hint.is_empty() => format!("; {list}"),
        hint => format!("{hint} {list}"),
    }
}

/// `; did you mean a, b or c?`, or nothing where no name is near.
pub fn hint<N: AsRef<str>>(wanted: &str, names: &[N]) -> String {
    match alike(wanted, names).as_slice() {
        [] => String::new(),
        [name] => format!("; did you mean {name}?"),
        [names @ .., last] => format!("; did you mean {} or {last}?", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested_nearest_first() {
        let names = ["offset_f32", "offset_f64", "stride_f32", "stride_f64", "run", "readme"];
        assert_eq!(alike("ofset_f32", &names), ["offset_f32"]);
        assert_eq!(alike("stride", &names), ["stride_f32", "stride_f64"]);
        assert_eq!(alike("offset_f66", &names), ["offset_f64", "offset_f32"]);
        assert_eq!(alike("rnu", &names), ["run"]);
        assert_eq!(alike("transpose", &names), [""; 0]);
        assert_eq!(alike("s", &["s1", "s2", "s3", "s4"]).len(), 3);
    }

    #[test]
    fn a_hint_is_part_of_a_sentence() {
        let names = ["stride_f32", "stride_f64"];
        assert_eq!(hint("strid_f32", &names), "; did you mean stride_f32?");
        assert_eq!(hint("stride", &names), "; did you mean stride_f32 or stride_f64?");
        assert_eq!(hint("transpose", &names), "");
        assert_eq!(
            hint_or("strid_f32", &names, "`list` has all"),
            "; did you mean stride_f32? `list` has all"
        );
        assert_eq!(hint_or("transpose", &names, "`list` has all"), "; `list` has all");
    }
}
