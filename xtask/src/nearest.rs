//! "Did you mean ..?": the nearest of a list of names.

use std::cmp::Reverse;

/// The name nearest to `wanted`, if it is near enough to be what was meant.
pub fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let limit = (wanted.len() / 3).max(2);
    names
        .iter()
        .map(|name| (strsim::levenshtein(wanted, name), Reverse(common_start(wanted, name)), name.as_str()))
        .filter(|(distance, _, name)| *distance <= limit || name.starts_with(wanted))
        .min()
        .map(|(_, _, name)| name)
}

/// How many characters two words begin with alike: of two words equally far away, people mean the one that starts right.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// ` (did you mean ..?)`, or nothing.
pub fn hint(wanted: &str, names: &[String]) -> String {
    nearest(wanted, names).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
