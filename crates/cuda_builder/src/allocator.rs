//! The few functions that rustc generates when it links a program that allocates.
//!
//! No final link by rustc happens here, so its "allocator shim" is missing: a function that only proves that the shim is
//! there, and the way from a failed allocation to its handler. The allocator itself is the user's
//! `#[global_allocator]`; without one, the audit names the function that is missing.

/// The proof; rustc renamed it once.
const PROOF: [&str; 2] = ["__rust_no_alloc_shim_is_unstable_v2", "__rust_no_alloc_shim_is_unstable"];
const HANDLER: &str = "__rust_alloc_error_handler";
/// Targets of a failed allocation: `#[alloc_error_handler]` if the program has one, else the handler in `alloc`.
const HANDLERS: [&str; 2] = ["__rg_oom", "__rdl_alloc_error_handler"];

/// Generates LLVM assembly that defines `symbol`, if rustc would have generated it. `defined` says whether another
/// symbol exists somewhere.
pub(crate) fn shim(symbol: &str, defined: impl Fn(&str) -> bool) -> Option<String> {
    if PROOF.iter().any(|name| sibling(symbol, name, name).is_some()) {
        return Some(format!("define void @\"{symbol}\"() alwaysinline {{\n ret void\n}}\n"));
    }
    let target =
        HANDLERS.iter().filter_map(|name| sibling(symbol, HANDLER, name)).find(|target| defined(target))?;
    Some(format!(
        "declare void @\"{target}\"(i64, i64)\n\
         define void @\"{symbol}\"(i64 %size, i64 %align) {{\n \
         call void @\"{target}\"(i64 %size, i64 %align)\n unreachable\n}}\n"
    ))
}

/// The symbol that is to `wanted` what `symbol` is to `name`. These symbols are mangled with a prefix that depends on the
/// compiler, then length, underscore and name: `_RNvCs1a2b_7___rustc12___rust_alloc`; older compilers use the name
/// alone.
fn sibling(symbol: &str, name: &str, wanted: &str) -> Option<String> {
    if symbol == name {
        return Some(wanted.to_owned());
    }
    let prefix = symbol.strip_suffix(&format!("{}_{name}", name.len()))?;
    Some(format!("{prefix}{}_{wanted}", wanted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_defined_under_its_own_name() {
        let symbol = "_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2";
        let text = shim(symbol, |_| false).unwrap();
        assert!(text.starts_with(&format!("define void @\"{symbol}\"()")), "{text}");
    }

    #[test]
    fn a_failed_allocation_goes_to_the_users_handler_first() {
        let symbol = "_RNvCsX_7___rustc26___rust_alloc_error_handler";
        let own = shim(symbol, |_| true).unwrap();
        assert!(own.contains("call void @\"_RNvCsX_7___rustc8___rg_oom\""), "{own}");
        let default = shim(symbol, |name| name.ends_with("__rdl_alloc_error_handler")).unwrap();
        assert!(
            default.contains("call void @\"_RNvCsX_7___rustc25___rdl_alloc_error_handler\""),
            "{default}"
        );
        assert_eq!(shim(symbol, |_| false), None);
    }

    #[test]
    fn nothing_else_is_made_up() {
        for symbol in
            ["_RNvCsX_7___rustc12___rust_alloc", "__rust_alloc", "my__rust_alloc_error_handler", "vprintf"]
        {
            assert_eq!(shim(symbol, |_| true), None);
        }
    }
}
