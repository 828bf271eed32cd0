//! Checks that each access to a shared or constant static reaches its memory, and that none writes constant memory.

use std::collections::HashSet;

use super::reach::Reach;
use super::{Finding, place};
use crate::CudaBuilderError;
use crate::llvm::{AddressSpace, Linkage, Module, Opcode, TargetMachine, Value};
use crate::markers::{self, Memory};

/// Checks an optimised module.
pub(super) fn module(module: &Module<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for variable in module.variables() {
        match variable.address_space() {
            Some(AddressSpace::SHARED) => accesses(variable, "shared", &mut findings),
            Some(AddressSpace::CONSTANT) => accesses(variable, "constant", &mut findings),
            _ if is_cast_to_local(variable) => {
                findings.push(Finding::LocalAddress { variable: variable.name() });
            }
            _ => {}
        }
    }
    findings
}

/// Whether a static's address is cast to the space of local variables, where it means nothing. No source says so; passes in a
/// wrong order do (see `passes::optimise`), and the back end turns it into a load from an undefined register.
fn is_cast_to_local(variable: Value<'_>) -> bool {
    let users = variable.users().into_iter();
    users
        .filter(|user| user.opcode() == Some(Opcode::AddressSpaceCast))
        .any(|cast| cast.address_space() == Some(AddressSpace::LOCAL))
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
    let constants: HashSet<Value<'_>> = copy.variables().filter(in_constant_memory).collect();
    for variable in &constants {
        // Seen from outside, so that no write is dropped because nothing reads it.
        variable.set_linkage(Linkage::External);
    }
    let mut reach = Reach::default();
    for kernel in copy.functions().filter(|function| function.is_kernel() && !function.is_declaration()) {
        if !reach.from(kernel).iter().any(|global| constants.contains(global)) {
            // It names none of them, so the copy does without it, and optimising takes a fraction of the time.
            kernel.set_linkage(Linkage::Internal);
        }
    }
    machine
        .run(&mut copy, "globaldce,always-inline,default<O1>")
        .map_err(CudaBuilderError::llvm("looking for writes to constant memory"))?;
    let mut findings = Vec::new();
    for variable in copy.variables().filter(in_constant_memory) {
        accesses(variable, "constant", &mut findings);
    }
    findings.retain(|finding| matches!(finding, Finding::ConstantWrite { .. }));
    Ok(findings)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, findings};

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
    fn a_static_taken_for_a_local_variable_is_found() {
        let found = findings(
            r#"
            @TABLE = internal constant [2 x double] [double 1.0, double 2.0]
            define ptx_kernel void @k(ptr %out, i64 %i) {
              %at = getelementptr double, ptr addrspace(5) addrspacecast (ptr @TABLE to ptr addrspace(5)), i64 %i
              %value = load double, ptr addrspace(5) %at
              store double %value, ptr %out
              ret void
            }
            "#,
        );
        assert_eq!(found, [Finding::LocalAddress { variable: "TABLE".into() }]);
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
}
