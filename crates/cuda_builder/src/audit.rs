//! The last check of finished code: what compiles, loads and then computes wrongly or not at all.
//!
//! - An access that goes through a generic pointer although it can be seen to come from a shared or constant static.
//!   Such an access is slower than it need be and is how other compilers have produced wrong code in silence: if the
//!   address space was lost on the way, something about the code is not as its author thinks.
//! - A write to constant memory, which a kernel cannot do.
//! - The address of a shared static inside another static, which is written before any block runs.
//! - A function or static that nothing defines. The driver would refuse the whole module, without naming it.
//!
//! An access of which no such origin is visible passes: most generic accesses go to global memory.

use std::collections::HashSet;
use std::fmt;

use crate::CudaBuilderError;
use crate::llvm::{AddressSpace, Linkage, Module, Opcode, Position, TargetMachine, Value};
use crate::markers::{self, DYNAMIC_SHARED, Memory};
use crate::ptx::Ptx;

/// Functions that the driver itself provides to device code.
pub const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Something that must not be in finished code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finding {
    /// An access through a generic pointer that comes from a shared or constant static.
    GenericAccess {
        /// The function with the access.
        function: String,
        /// The static.
        variable: String,
        /// `shared` or `constant`.
        memory: &'static str,
        /// `load`, `store`, `atomic` or `copy`.
        access: &'static str,
        /// `file:line`, where the build has line information.
        place: Option<String>,
    },
    /// A write to a static in constant memory.
    ConstantWrite {
        /// The function with the write.
        function: String,
        /// The static.
        variable: String,
        /// `file:line`, where the build has line information.
        place: Option<String>,
    },
    /// A static that holds the address of a shared one, which no two blocks have at the same place.
    SharedAddress {
        /// The static that holds it.
        holder: String,
        /// The shared static.
        variable: String,
    },
    /// A function or static that nothing defines.
    Unresolved {
        /// Its symbol.
        symbol: String,
        /// The functions that use it.
        users: Vec<String>,
        /// `file:line` of one use, where the build has line information.
        place: Option<String>,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |place: &Option<String>| match place {
            Some(place) => format!(" at {place}"),
            None => String::from(" (build with line information to see where)"),
        };
        match self {
            Self::GenericAccess { function, variable, memory, access, place } => write!(
                f,
                "generic {access} of the {memory} static `{variable}` in `{function}`{}: the compiler lost track of its \
                 address space, mostly because one pointer can go to two memories, or because the function was not inlined. \
                 Access the static directly, keep the two cases apart, or mark the function `#[inline(always)]`",
                at(place)
            ),
            Self::ConstantWrite { function, variable, place } => write!(
                f,
                "write to the constant static `{variable}` in `{function}`{}: constant memory can only be written by the host. \
                 Put the static in global or shared memory",
                at(place)
            ),
            Self::SharedAddress { holder, variable } => write!(
                f,
                "the static `{holder}` holds the address of the shared static `{variable}`, which exists only while a block runs. \
                 Take the address inside the kernel"
            ),
            Self::Unresolved { symbol, users, place } => {
                write!(f, "`{symbol}` is not defined anywhere")?;
                if !users.is_empty() {
                    write!(f, ", but used in `{}`{}", users.join("`, `"), at(place))?;
                }
                write!(
                    f,
                    ": a GPU has no libraries to find it in (the driver provides only {}). ",
                    DRIVER_FUNCTIONS.join(", ")
                )?;
                if symbol.ends_with("__rust_alloc")
                    || symbol.ends_with("__rust_dealloc")
                    || symbol.ends_with("__rust_realloc")
                {
                    write!(f, "It is Rust's allocator: define a `#[global_allocator]`, as `cuda_std` does")
                } else {
                    write!(f, "Define it in Rust or remove the call")
                }
            }
        }
    }
}

/// Checks an optimised module.
pub(crate) fn module(module: &Module<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for variable in module.variables() {
        match variable.address_space() {
            Some(AddressSpace::SHARED) => accesses(variable, "shared", &mut findings),
            Some(AddressSpace::CONSTANT) => accesses(variable, "constant", &mut findings),
            _ => {}
        }
    }
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

/// Finds writes to statics that are about to become constant memory.
///
/// Afterwards is too late: to LLVM such a write cannot happen, and it is dropped without a word. So a copy in which the
/// statics are still ordinary ones is optimised far enough to see through helper functions and pointers.
pub(crate) fn constant_writes(
    module: &Module<'_>,
    machine: &TargetMachine,
) -> Result<Vec<Finding>, CudaBuilderError> {
    let in_constant_memory =
        |variable: &Value<'_>| matches!(markers::memory(*variable), Ok(Some(Memory::Constant)));
    if !module.variables().any(|variable| in_constant_memory(&variable)) {
        return Ok(Vec::new());
    }
    let mut copy = module.duplicate();
    for variable in copy.variables().filter(in_constant_memory) {
        // Seen from outside, so that no write is dropped because nothing reads it.
        variable.set_linkage(Linkage::External);
    }
    machine
        .run(&mut copy, "always-inline,default<O1>")
        .map_err(CudaBuilderError::llvm("looking for writes to constant memory"))?;
    let mut findings = Vec::new();
    for variable in copy.variables().filter(in_constant_memory) {
        accesses(variable, "constant", &mut findings);
    }
    findings.retain(|finding| matches!(finding, Finding::ConstantWrite { .. }));
    Ok(findings)
}

/// Checks PTX for functions that only the back end asked for.
pub(crate) fn ptx(text: &str) -> Vec<Finding> {
    let externals = Ptx::parse(text).external_functions();
    let unknown = externals.into_iter().filter(|name| !DRIVER_FUNCTIONS.contains(&name.as_str()));
    unknown.map(|symbol| Finding::Unresolved { symbol, users: Vec::new(), place: None }).collect()
}

/// Follows the address of `variable` to every access made through it.
fn accesses(variable: Value<'_>, memory: &'static str, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::from([variable]);
    let mut open = vec![variable];
    while let Some(pointer) = open.pop() {
        let generic = pointer.address_space() == Some(AddressSpace::GENERIC);
        for user in pointer.users() {
            let Some(opcode) = user.opcode() else {
                if memory == "shared" && user.is_variable() {
                    findings.push(Finding::SharedAddress { holder: user.name(), variable: variable.name() });
                } else if !user.is_variable() && seen.insert(user) {
                    // A constant structure or array around the address.
                    open.push(user);
                }
                continue;
            };
            let operand = |index: usize| user.operands().nth(index) == Some(pointer);
            let (access, writes) = match opcode {
                Opcode::Load => ("load", false),
                Opcode::Store if operand(1) => ("store", true),
                Opcode::AtomicReadModifyWrite | Opcode::CompareExchange if operand(0) => ("atomic", true),
                Opcode::Call => {
                    let name = user.callee().map(Value::name).unwrap_or_default();
                    let copies = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
                    if copies.iter().any(|prefix| name.starts_with(prefix)) {
                        ("copy", user.arguments().next() == Some(pointer))
                    } else {
                        for parameter in parameters_receiving(user, pointer) {
                            if seen.insert(parameter) {
                                open.push(parameter);
                            }
                        }
                        continue;
                    }
                }
                Opcode::Return => {
                    for call in calls_of(user.parent_function()) {
                        if seen.insert(call) {
                            open.push(call);
                        }
                    }
                    continue;
                }
                Opcode::ElementPointer
                | Opcode::Phi
                | Opcode::Select
                | Opcode::AddressSpaceCast
                | Opcode::BitCast
                | Opcode::Freeze => {
                    if user.address_space().is_some() && seen.insert(user) {
                        open.push(user);
                    }
                    continue;
                }
                _ => continue,
            };
            let function = user.parent_function().map(Value::name).unwrap_or_default();
            let finding = if writes && memory == "constant" {
                Finding::ConstantWrite { function, variable: variable.name(), place: place(user) }
            } else if generic {
                Finding::GenericAccess {
                    function,
                    variable: variable.name(),
                    memory,
                    access,
                    place: place(user),
                }
            } else {
                continue;
            };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
}

/// The parameters of a defined function that a call passes `pointer` to.
fn parameters_receiving<'c>(call: Value<'c>, pointer: Value<'c>) -> Vec<Value<'c>> {
    let Some(callee) = call.callee().filter(|callee| callee.is_function() && !callee.is_declaration()) else {
        return Vec::new();
    };
    let passed = call.arguments().enumerate().filter(|(_, argument)| *argument == pointer);
    passed.filter_map(|(index, _)| callee.parameter(u32::try_from(index).ok()?)).collect()
}

/// Every direct call of a function.
fn calls_of(function: Option<Value<'_>>) -> Vec<Value<'_>> {
    let Some(function) = function else { return Vec::new() };
    let users = function.users().into_iter();
    users.filter(|user| user.opcode() == Some(Opcode::Call) && user.callee() == Some(function)).collect()
}

/// Instructions that use a global, also by way of constant expressions.
fn instructions_using(global: Value<'_>) -> Vec<Value<'_>> {
    let mut seen = HashSet::new();
    let mut open = vec![global];
    let mut found = Vec::new();
    while let Some(value) = open.pop() {
        for user in value.users() {
            if !seen.insert(user) {
                continue;
            }
            if user.is_instruction() {
                found.push(user);
            } else {
                open.push(user);
            }
        }
    }
    found
}

/// Where an instruction comes from, as its author would say it: not inside the standard library, if it was inlined from
/// there.
fn place(instruction: Value<'_>) -> Option<String> {
    let positions = instruction.positions();
    let standard = |position: &&Position| {
        position.file.contains("/library/core/") || position.file.contains("/library/alloc/")
    };
    let position = positions.iter().find(|position| !standard(position)).or(positions.first())?;
    Some(format!("{}:{}", position.file, position.line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Findings in a module that is taken as it stands, without optimisation.
    fn findings(text: &str) -> Vec<Finding> {
        testing::with_module(text, module)
    }

    fn generic(function: &str, variable: &str, memory: &'static str, access: &'static str) -> Finding {
        Finding::GenericAccess {
            function: function.into(),
            variable: variable.into(),
            memory,
            access,
            place: None,
        }
    }

    #[test]
    fn specific_accesses_pass() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global [4 x i32] undef
            @COEF = addrspace(4) externally_initialized constant [4 x i32] zeroinitializer
            define ptx_kernel void @k(ptr %out, i64 %i) {
              %at = getelementptr i32, ptr addrspace(3) @TILE, i64 %i
              store i32 1, ptr addrspace(3) %at
              %old = atomicrmw add ptr addrspace(3) %at, i32 1 monotonic
              %c = load i32, ptr addrspace(4) @COEF
              store i32 %c, ptr %out
              ret void
            }
            "#,
        );
        assert_eq!(found, []);
    }

    #[test]
    fn an_access_without_visible_origin_passes() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global i32 undef
            define ptx_kernel void @k(ptr %out, ptr %unknown) {
              store ptr addrspacecast (ptr addrspace(3) @TILE to ptr), ptr %out
              %v = load i32, ptr %unknown
              store i32 %v, ptr %out
              ret void
            }
            "#,
        );
        assert_eq!(found, []);
    }

    #[test]
    fn each_kind_of_generic_access_is_found() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global [4 x i32] undef
            @COEF = addrspace(4) constant i32 1
            declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
            define ptx_kernel void @a(i64 %i) {
              %at = getelementptr i32, ptr addrspacecast (ptr addrspace(3) @TILE to ptr), i64 %i
              store i32 1, ptr %at
              ret void
            }
            define ptx_kernel void @b(ptr %out) {
              %v = load i32, ptr addrspacecast (ptr addrspace(4) @COEF to ptr)
              store i32 %v, ptr %out
              ret void
            }
            define ptx_kernel void @c() {
              %g = addrspacecast ptr addrspace(3) @TILE to ptr
              %old = atomicrmw add ptr %g, i32 1 monotonic
              ret void
            }
            define ptx_kernel void @d() {
              call void @llvm.memset.p0.i64(ptr addrspacecast (ptr addrspace(3) @TILE to ptr), i8 0, i64 16, i1 false)
              ret void
            }
            "#,
        );
        assert_eq!(found.len(), 4, "{found:?}");
        for expected in [
            generic("a", "TILE", "shared", "store"),
            generic("b", "COEF", "constant", "load"),
            generic("c", "TILE", "shared", "atomic"),
            generic("d", "TILE", "shared", "copy"),
        ] {
            assert!(found.contains(&expected), "no {expected:?} in {found:?}");
        }
    }

    #[test]
    fn the_origin_is_followed_through_choices_and_calls() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global [4 x i32] undef
            define ptx_kernel void @chosen(ptr %out, i1 %which) {
              %p = select i1 %which, ptr addrspacecast (ptr addrspace(3) @TILE to ptr), ptr %out
              %v = load i32, ptr %p
              store i32 %v, ptr %out
              ret void
            }
            define ptx_kernel void @merged(ptr %out, i1 %which) {
            start:
              br i1 %which, label %one, label %two
            one:
              br label %two
            two:
              %p = phi ptr [ %out, %start ], [ addrspacecast (ptr addrspace(3) @TILE to ptr), %one ]
              store i32 1, ptr %p
              ret void
            }
            define ptx_kernel void @calls() {
              call void @helper(i32 1, ptr addrspacecast (ptr addrspace(3) @TILE to ptr))
              %p = call ptr @gives()
              store i32 2, ptr %p
              ret void
            }
            define internal void @helper(i32 %v, ptr %p) noinline {
              store i32 %v, ptr %p
              ret void
            }
            define internal ptr @gives() noinline {
              ret ptr addrspacecast (ptr addrspace(3) @TILE to ptr)
            }
            "#,
        );
        assert_eq!(found.len(), 4, "{found:?}");
        for expected in [
            generic("chosen", "TILE", "shared", "load"),
            generic("merged", "TILE", "shared", "store"),
            generic("helper", "TILE", "shared", "store"),
            generic("calls", "TILE", "shared", "store"),
        ] {
            assert!(found.contains(&expected), "no {expected:?} in {found:?}");
        }
    }

    #[test]
    fn the_address_of_shared_memory_in_a_static_is_found() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global i32 undef
            @COEF = addrspace(4) constant i32 1
            @TABLE = addrspace(1) global { i32, [1 x ptr] }
              { i32 1, [1 x ptr] [ptr addrspacecast (ptr addrspace(3) @TILE to ptr)] }
            @FINE = addrspace(1) global ptr addrspacecast (ptr addrspace(4) @COEF to ptr)
            "#,
        );
        assert_eq!(found, [Finding::SharedAddress { holder: "TABLE".into(), variable: "TILE".into() }]);
    }

    #[test]
    fn a_write_to_constant_memory_is_found() {
        let found = findings(
            r#"
            @COEF = addrspace(4) externally_initialized constant i32 1
            define ptx_kernel void @k() {
              store i32 1, ptr addrspace(4) @COEF
              ret void
            }
            "#,
        );
        assert_eq!(
            found,
            [Finding::ConstantWrite { function: "k".into(), variable: "COEF".into(), place: None }]
        );
    }

    #[test]
    fn optimisation_does_not_hide_a_write_to_constant_memory() {
        for store in [
            "store i32 %v, ptr @COEF",
            "%at = getelementptr [4 x i32], ptr @COEF, i64 0, i64 %i store i32 %v, ptr %at",
            "%old = atomicrmw add ptr @COEF, i32 %v monotonic",
        ] {
            for name in ["COEF", "_RNvCOEF"] {
                let store = store.replace("COEF", name);
                let module = format!(
                    "@{name} = global [4 x i32] zeroinitializer, section \".cuda.constant\"\n\
                     define ptx_kernel void @k(i32 %v, i64 %i, ptr %out) {{ {store} %c = load i32, ptr @{name} \
                     store i32 %c, ptr %out ret void }}"
                );
                let error = testing::ptx_with(&module, Default::default()).err();
                let text = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(
                    text.contains(&format!("write to the constant static `{name}` in `k`")),
                    "{store}: {text}"
                );
            }
        }
    }

    #[test]
    fn the_place_is_the_authors_and_not_the_librarys() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global i32 undef
            define ptx_kernel void @k() !dbg !4 {
              store i32 1, ptr addrspacecast (ptr addrspace(3) @TILE to ptr), !dbg !7
              ret void, !dbg !8
            }
            !llvm.module.flags = !{!0}
            !llvm.dbg.cu = !{!1}
            !0 = !{i32 2, !"Debug Info Version", i32 3}
            !1 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !2, emissionKind: DebugDirectivesOnly)
            !2 = !DIFile(filename: "src/lib.rs", directory: "/home/me/kernels")
            !3 = !DIFile(filename: "/rustc/library/core/src/ptr/mod.rs", directory: "")
            !4 = distinct !DISubprogram(name: "k", file: !2, line: 5, type: !5, unit: !1, spFlags: DISPFlagDefinition)
            !5 = !DISubroutineType(types: !{})
            !6 = distinct !DISubprogram(name: "write", file: !3, line: 900, type: !5, unit: !1, spFlags: DISPFlagDefinition)
            !7 = !DILocation(line: 901, column: 1, scope: !6, inlinedAt: !8)
            !8 = !DILocation(line: 42, column: 1, scope: !4)
            "#,
        );
        let Some(Finding::GenericAccess { place, .. }) = found.first() else { panic!("{found:?}") };
        assert_eq!(place.as_deref(), Some("/home/me/kernels/src/lib.rs:42"));
        let text = found[0].to_string();
        assert!(
            text.starts_with(
                "generic store of the shared static `TILE` in `k` at /home/me/kernels/src/lib.rs:42:"
            ),
            "{text}"
        );
    }

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
    fn the_allocator_is_told_apart() {
        let finding = Finding::Unresolved {
            symbol: "_RNvCsX_7___rustc12___rust_alloc".into(),
            users: vec!["k".into()],
            place: Some("src/lib.rs:3".into()),
        };
        let text = finding.to_string();
        assert!(text.contains("is not defined anywhere, but used in `k` at src/lib.rs:3"), "{text}");
        assert!(text.contains("define a `#[global_allocator]`"), "{text}");
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
