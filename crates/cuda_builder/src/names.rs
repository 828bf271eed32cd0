//! Symbols as their author wrote them.

/// `kernels::TILE` for `_RNvCs6gNbY1t9XKo_7kernels4TILE`; a name that is not mangled stays as it is.
pub(crate) fn readable(symbol: &str) -> String {
    // The alternate form leaves the hashes out.
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_become_paths_and_others_stay() {
        assert_eq!(readable("_RNvCs6gNbY1t9XKo_7kernels4TILE"), "kernels::TILE");
        assert_eq!(readable("_ZN7kernels6helper17h0123456789abcdefE"), "kernels::helper");
        assert_eq!(readable("COEFFICIENTS"), "COEFFICIENTS");
        assert_eq!(readable("_RNvHIDDEN"), "_RNvHIDDEN");
    }
}
