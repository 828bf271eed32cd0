//! Names the memory that inline assembly accesses, where the pointer shows it.
//!
//! Some of `cuda_std`'s atomic operations are inline assembly, since Rust has no words for their scope: `atom.relaxed.cta.add.u32
//! $0, [$1], $2;`. LLVM infers the memory of its own loads and atomic operations, and does not look into assembly: a pointer to a
//! shared array would be made generic (`cvta.shared`) and the instruction would have to find its memory again when it runs.
//!
//! Here the pointer is followed back through offsets, selections and loops. If all that it can be lies in shared memory,
//! or all in global memory, the instruction gets the name of that (`atom.relaxed.cta.shared.add.u32`) and the address within
//! it. Run after the optimiser, which has put the pointers' origins in sight, and before LLVM's inference, which makes
//! the offsets ones within the memory.
//!
//! A pointer that a kernel is given leads to global memory, as LLVM takes it for its own loads: the host has no address of
//! another. ptxas makes `RED` only of an atomic operation on global memory whose old value is not used; on generic memory
//! it is an `ATOM`, which waits for the value, and sums of floats have a second branch for shared memory besides.

use ptx::outline::{Kind, statements};

use crate::llvm::{AddressSpace, Assembly, Builder, Module, Opcode, Value};

/// Words of an opcode that stand before its memory.
const BEFORE_MEMORY: [&str; 11] =
    ["weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "cta", "cluster", "gpu", "sys"];

/// The memories' own names.
const MEMORIES: [&str; 7] = ["global", "shared", "shared::cta", "shared::cluster", "local", "const", "param"];

pub(super) fn run(module: &mut Module<'_>) {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let given = global_parameters(function);
        let calls: Vec<_> = function.instructions().filter(|at| at.opcode() == Some(Opcode::Call)).collect();
        for call in calls {
            let Some(callee) = call.callee() else { continue };
            let Some(assembly) = callee.assembly() else { continue };
            let Some(access) = Access::of(&assembly) else { continue };
            let Some(pointer) = call.arguments().nth(access.argument) else { continue };
            let (space, name) = match space_behind(pointer, &given) {
                Some(AddressSpace::SHARED) => (AddressSpace::SHARED, ".shared"),
                Some(AddressSpace::GLOBAL) => (AddressSpace::GLOBAL, ".global"),
                _ => continue,
            };
            let mut text = assembly.text;
            text.insert_str(access.at, name);
            let address = Builder::before(call).address_within(pointer, space);
            call.set_argument(access.argument, address);
            call.set_callee(callee.with_assembly_text(&text));
        }
    }
}

/// The only access in a piece of assembly, which does not name its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Where the memory's name belongs in the text.
    at: usize,
    /// The argument that is the pointer.
    argument: usize,
}

impl Access {
    fn of(assembly: &Assembly) -> Option<Self> {
        let text = assembly.text.as_str();
        let mut all = statements(text);
        let (Some(statement), None) = (all.next(), all.next()) else { return None };
        let Kind::Instruction(opcode) = statement.kind else { return None };
        let mut words = opcode.split('.');
        if !matches!(words.next()?, "ld" | "st" | "atom" | "red")
            || words.clone().any(|word| MEMORIES.contains(&word))
        {
            return None;
        }
        let said: usize =
            words.take_while(|word| BEFORE_MEMORY.contains(word)).map(|word| word.len() + 1).sum();
        let base = opcode.find('.').unwrap_or(opcode.len());
        let at = text.find(opcode)? + base + said;
        let (_, behind) = text.split_once('[')?;
        let (pointer, rest) = behind.split_once(']')?;
        let number = pointer.trim().strip_prefix('$')?;
        let number = number.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(number);
        let operand: usize = number.parse().ok()?;
        // The outputs have the first numbers, and are no arguments.
        let outputs =
            assembly.constraints.split(',').filter(|constraint| constraint.starts_with('=')).count();
        let argument = operand.checked_sub(outputs)?;
        (!rest.contains('[')).then_some(Self { at, argument })
    }
}

/// The generic pointers that a kernel is given. One to a structure that is passed by value leads to the parameters.
fn global_parameters(function: Value<'_>) -> Vec<Value<'_>> {
    let numbers = 0..if function.is_kernel() { function.parameter_count() } else { 0 };
    let numbers = numbers.filter(|number| !function.has_parameter_attribute(*number, "byval"));
    let is_generic = |given: &Value<'_>| given.address_space() == Some(AddressSpace::GENERIC);
    numbers.filter_map(|number| function.parameter(number)).filter(is_generic).collect()
}

/// The address space that a generic pointer was cast from, if it is the same for all that it may be. `given` are known to be
/// in global memory.
fn space_behind(pointer: Value<'_>, given: &[Value<'_>]) -> Option<u32> {
    let mut found = None;
    let mut seen = vec![pointer];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        let known = match value.opcode() {
            None if given.contains(&value) => Some(AddressSpace::GLOBAL),
            Some(Opcode::AddressSpaceCast) => Some(value.operands().next()?.address_space()?),
            _ => None,
        };
        if let Some(space) = known {
            if found.is_some_and(|other| other != space) {
                return None;
            }
            found = Some(space);
            continue;
        }
        let origins: Vec<Value<'_>> = match value.opcode()? {
            Opcode::ElementPointer | Opcode::Freeze => value.operands().take(1).collect(),
            Opcode::Select => value.operands().skip(1).collect(),
            Opcode::Phi => value.operands().collect(),
            _ => return None,
        };
        for origin in origins {
            if !seen.contains(&origin) {
                seen.push(origin);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// A kernel around `code`, with two shared arrays, a global one, and `%i`.
    fn ptx(code: &str) -> String {
        testing::ptx(&format!(
            r#"
            @TILE = internal global [64 x i32] undef, section ".cuda.shared"
            @OTHER = internal global [64 x i32] undef, section ".cuda.shared"
            @COUNT = global [64 x i32] zeroinitializer, section ".cuda.global"
            define ptx_kernel void @k(ptr %out, i64 %i, i1 %c) {{
              {code}
              ret void
            }}
            "#
        ))
    }

    #[test]
    fn an_element_of_a_shared_array_is_accessed_there() {
        let ptx = ptx(r#"
            %at = getelementptr i32, ptr @TILE, i64 %i
            %old = call i32 asm sideeffect "atom.relaxed.cta.add.u32 ${0}, [${1}], ${2};", "=r,l,r,~{memory}"(ptr %at, i32 1)
            store i32 %old, ptr %out
            call void asm sideeffect "st.release.cta.b32 [$0], $1;", "l,r,~{memory}"(ptr %at, i32 2)
            %seen = call i32 asm sideeffect "ld.volatile.b32 $0, [$1];", "=r,l,~{memory}"(ptr getelementptr (i8, ptr @TILE, i64 8))
            store volatile i32 %seen, ptr %out
        "#);
        for expected in
            ["atom.relaxed.cta.shared.add.u32 ", "st.release.cta.shared.b32 [", "ld.volatile.shared.b32 "]
        {
            assert!(ptx.contains(expected), "no {expected} in\n{ptx}");
        }
        assert!(!ptx.contains("cvta.shared") && !ptx.contains("cvta.to.shared"), "{ptx}");
    }

    #[test]
    fn an_element_of_a_global_static_is_accessed_there() {
        let ptx = ptx(r#"
            %at = getelementptr i32, ptr @COUNT, i64 %i
            call void asm sideeffect "red.relaxed.gpu.add.u32 [$0], $1;", "l,r,~{memory}"(ptr %at, i32 1)
        "#);
        assert!(ptx.contains("red.relaxed.gpu.global.add.u32 [") && !ptx.contains("cvta.global"), "{ptx}");
    }

    #[test]
    fn a_choice_within_one_memory_is_followed() {
        let access =
            r#"call void asm sideeffect "st.relaxed.cta.b32 [$0], $1;", "l,r,~{memory}"(ptr %at, i32 2)"#;
        let shared = ptx(&format!("%at = select i1 %c, ptr @TILE, ptr @OTHER\n{access}"));
        assert!(shared.contains("st.relaxed.cta.shared.b32 ["), "{shared}");
        let mixed = ptx(&format!("%at = select i1 %c, ptr @TILE, ptr @COUNT\n{access}"));
        assert!(mixed.contains("st.relaxed.cta.b32 ["), "{mixed}");
        let loaded = ptx(&format!("%at = load ptr, ptr %out\n{access}"));
        assert!(loaded.contains("st.relaxed.cta.b32 ["), "{loaded}");
    }

    #[test]
    fn what_a_kernel_is_given_is_in_global_memory() {
        let access =
            r#"call void asm sideeffect "st.relaxed.cta.b32 [$0], $1;", "l,r,~{memory}"(ptr %at, i32 2)"#;
        let given = ptx(&format!("%at = getelementptr i32, ptr %out, i64 %i\n{access}"));
        assert!(given.contains("st.relaxed.cta.global.b32 ["), "{given}");
        let either = ptx(&format!("%at = select i1 %c, ptr %out, ptr @COUNT\n{access}"));
        assert!(either.contains("st.relaxed.cta.global.b32 ["), "{either}");
        let mixed = ptx(&format!("%at = select i1 %c, ptr %out, ptr @TILE\n{access}"));
        assert!(mixed.contains("st.relaxed.cta.b32 ["), "{mixed}");
        let by_value = testing::ptx(&format!(
            "define ptx_kernel void @k(ptr byval([64 x i32]) %at) {{\n{}\nret void\n}}",
            r#"%seen = call i32 asm sideeffect "ld.volatile.b32 $0, [$1];", "=r,l"(ptr %at)"#
        ));
        assert!(by_value.contains("ld.volatile.b32 "), "{by_value}");
        let in_function = testing::ptx(&format!(
            "define void @f(ptr %at) noinline {{\n{access}\nret void\n}}\n\
             define ptx_kernel void @k(ptr %out) {{\ncall void @f(ptr %out)\nret void\n}}"
        ));
        assert!(in_function.contains("st.relaxed.cta.b32 ["), "{in_function}");
    }

    #[test]
    fn a_pointer_that_moves_in_a_loop_is_followed() {
        let ptx = ptx(r#"
              br label %next
            next:
              %at = phi ptr [ @TILE, %0 ], [ %after, %next ]
              %old = call i32 asm sideeffect "atom.cta.exch.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %at, i32 7)
              %after = getelementptr i32, ptr %at, i64 %i
              %more = icmp ne i32 %old, 0
              br i1 %more, label %next, label %done
            done:
        "#);
        assert!(ptx.contains("atom.cta.shared.exch.b32 "), "{ptx}");
    }

    #[test]
    fn the_name_stands_behind_ordering_and_scope() {
        let named = |text: &str, constraints: &str| {
            let assembly = Assembly { text: text.into(), constraints: constraints.into(), has_effects: true };
            Access::of(&assembly).map(|access| {
                let mut text = text.to_owned();
                text.insert_str(access.at, ".shared");
                (text, access.argument)
            })
        };
        for (text, constraints, expected, argument) in [
            ("ld.b32 $0, [$1];", "=r,l", "ld.shared.b32 $0, [$1];", 0),
            (
                "ld.relaxed.cta.v2.b32 {$0, $1}, [ $2 ];",
                "=r,=r,l",
                "ld.relaxed.cta.shared.v2.b32 {$0, $1}, [ $2 ];",
                0,
            ),
            ("red.acq_rel.sys.max.s32 [$1], $0;", "r,l", "red.acq_rel.sys.shared.max.s32 [$1], $0;", 1),
            ("@p atom.cas.b32 $0, [${1}], 1, 2;", "=r,l", "@p atom.shared.cas.b32 $0, [${1}], 1, 2;", 0),
        ] {
            assert_eq!(named(text, constraints), Some((expected.to_owned(), argument)), "{text}");
        }
        for other in [
            "ld.global.b32 $0, [$1];",
            "st.async.shared::cluster.b32 [$0], $1, [$2];",
            "ld.b32 $0, [$1+4];",
            "ld.b32 $0, [$1]; ld.b32 $0, [$1];",
            "prefetch.L1 [$0];",
            "mov.b32 $0, $1;",
            "",
        ] {
            assert_eq!(named(other, "=r,l"), None, "{other}");
        }
    }
}
