//! Functions and statics that nothing defines.

use ptx::outline::Outline;

use super::{Finding, instructions_using, place};
use crate::llvm::Module;
use crate::markers::DYNAMIC_SHARED;

/// Functions that the driver itself provides to device code.
pub const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Checks an optimised module for what it uses and nothing defines.
pub(super) fn module(module: &Module<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for global in module.functions().chain(module.variables()) {
        let name = global.name();
        let known =
            name.starts_with("llvm.") || name == DYNAMIC_SHARED || DRIVER_FUNCTIONS.contains(&name.as_str());
        if !global.is_declaration() || known {
            continue;
        }
        let uses = instructions_using(global);
        if uses.is_empty() && global.users().is_empty() {
            continue;
        }
        let mut users: Vec<String> =
            uses.iter().filter_map(|user| Some(user.parent_function()?.name())).collect();
        users.sort();
        users.dedup();
        let place = uses.iter().find_map(|user| place(*user));
        findings.push(Finding::Unresolved { symbol: name, users, place });
    }
    findings
}

/// Checks PTX for functions that only the back end asked for.
pub(super) fn ptx(text: &str) -> Vec<Finding> {
    let outline = Outline::of(text);
    let unknown = outline.external_functions().filter(|name| !DRIVER_FUNCTIONS.contains(name));
    let finding =
        |name: &str| Finding::Unresolved { symbol: name.to_owned(), users: Vec::new(), place: None };
    unknown.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::findings;

    #[test]
    fn what_nothing_defines_is_found_unless_the_driver_has_it() {
        let found = findings(
            r#"
            @ELSEWHERE = external global i32
            declare i32 @vprintf(ptr, ptr)
            declare ptr @malloc(i64)
            declare void @free(ptr)
            declare void @__assertfail(ptr, ptr, i32, ptr, i64)
            declare void @never_called()
            declare float @sinf(float)
            declare float @llvm.sqrt.f32(float)
            define ptx_kernel void @k(ptr %p, float %x) {
              %a = call i32 @vprintf(ptr %p, ptr %p)
              %m = call ptr @malloc(i64 8)
              call void @free(ptr %m)
              call void @__assertfail(ptr %p, ptr %p, i32 0, ptr %p, i64 0)
              %s = call float @sinf(float %x)
              %r = call float @llvm.sqrt.f32(float %s)
              store float %r, ptr %p
              %e = load i32, ptr @ELSEWHERE
              store i32 %e, ptr %p
              ret void
            }
            "#,
        );
        let unresolved = |symbol: &str| Finding::Unresolved {
            symbol: symbol.into(),
            users: vec!["k".into()],
            place: None,
        };
        assert_eq!(found, [unresolved("sinf"), unresolved("ELSEWHERE")]);
    }

    #[test]
    fn ptx_is_searched_for_external_functions() {
        let text = ".version 7.4\n.target sm_75\n.address_size 64\n\
                    .extern .func  (.param .b32 func_retval0) vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n\
                    .extern .func __udivti3\n(\n.param .b64 a\n)\n;\n";
        assert_eq!(
            ptx(text),
            [Finding::Unresolved { symbol: "__udivti3".into(), users: Vec::new(), place: None }]
        );
    }
}
