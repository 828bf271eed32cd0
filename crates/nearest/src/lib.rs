//! Suggests the names most like a misspelt one: the one rule of this repository's programs and libraries.
//!
//! ```
//! let kernels = ["stride_f32", "stride_f64", "offset_f32"];
//! assert_eq!(nearest::alike("ofset_f32", &kernels), ["offset_f32"]);
//! assert_eq!(nearest::hint("stride", &kernels), "; did you mean stride_f32 or stride_f64?");
//! assert_eq!(nearest::hint_or("matmul", &kernels, "`list` has all"), "; `list` has all");
//! ```

use std::cmp::Reverse;

/// Most names suggested at once.
const MOST: usize = 3;

/// Returns the names most like `wrong`, nearest first, at most three.
///
/// These are the names that begin with it; otherwise those within an edit distance (insertions, deletions,
/// replacements, swaps of neighbours) of half the letters, and at most one farther away than the nearest. Capitals and
/// leading dashes do not count.
pub fn alike<'n, N: AsRef<str>>(wrong: &str, names: &'n [N]) -> Vec<&'n str> {
    let bare = |name: &str| name.trim_start_matches('-').to_ascii_lowercase();
    let wrong = bare(wrong);
    let names = || names.iter().map(AsRef::as_ref);
    let begins = wrong.len() > 1 && names().any(|name| bare(name).starts_with(&wrong));
    let mut near: Vec<(usize, Reverse<usize>, &str)> = names()
        .filter_map(|name| {
            let candidate = bare(name);
            let distance = strsim::osa_distance(&wrong, &candidate);
            let length = wrong.chars().count().max(candidate.chars().count());
            // Of names equally far away, people mean the one that begins right.
            let alike = wrong.chars().zip(candidate.chars()).take_while(|(one, other)| one == other).count();
            let found = if begins { candidate.starts_with(&wrong) } else { 2 * distance <= length };
            found.then_some((distance, Reverse(alike), name))
        })
        .collect();
    near.sort_by_key(|(distance, alike, _)| (*distance, *alike));
    let farthest = match near.first().map_or(0, |(distance, ..)| *distance) {
        // A name that is right but for its capitals needs no alternatives.
        0 => 0,
        _ if begins => usize::MAX,
        nearest => nearest + 1,
    };
    let near = near.into_iter().take_while(|(distance, ..)| *distance <= farthest);
    near.map(|(.., name)| name).take(MOST).collect()
}

/// Returns `; did you mean a, b or c?`, or nothing if no name is alike.
pub fn hint<N: AsRef<str>>(wrong: &str, names: &[N]) -> String {
    match alike(wrong, names) {
        names if names.is_empty() => String::new(),
        names => format!("; did you mean {}?", joined(&names, "or")),
    }
}

/// Returns the [`hint`] and behind it where all names are listed; if no name is alike, that alone.
pub fn hint_or<N: AsRef<str>>(wrong: &str, names: &[N], list: &str) -> String {
    match hint(wrong, names) {
        hint if hint.is_empty() => format!("; {list}"),
        hint => format!("{hint} {list}"),
    }
}

/// Returns `a`, `a or b`, or `a, b or c`, with the conjunction given.
pub fn joined(names: &[&str], conjunction: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} {conjunction} {last}", names.join(", ")),
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
        assert_eq!(alike("", &names), [""; 0]);
        assert_eq!(alike("s", &["s1", "s2", "s3", "s4"]).len(), 3);
    }

    #[test]
    fn capitals_dashes_and_beginnings_count_as_people_mean_them() {
        let names = ["tile", "tile_down", "tiles", "til", "tilt", "transpose"];
        assert_eq!(alike("tyle", &names), ["tile", "tiles", "til"]);
        assert_eq!(alike("Tile", &names), ["tile"]);
        assert_eq!(alike("trans", &names), ["transpose"]);
        assert_eq!(alike("tile_", &names), ["tile_down"]);
        assert_eq!(alike("ti", &names), ["til", "tile", "tilt"]);
        assert_eq!(alike("-size", &["--size"]), ["--size"]);
    }

    #[test]
    fn a_hint_is_part_of_a_sentence() {
        let names = ["stride_f32", "stride_f64"];
        assert_eq!(hint("strid", &names), "; did you mean stride_f32 or stride_f64?");
        assert_eq!(hint("matmul", &names), "");
        assert_eq!(
            hint_or("strid_f32", &names, "`list` has all"),
            "; did you mean stride_f32? `list` has all"
        );
        assert_eq!(hint_or("matmul", &names, "`list` has all"), "; `list` has all");
        assert_eq!(joined(&["a", "b", "c"], "and"), "a, b and c");
    }
}
