//! Modules as large as real programs' are, with line information as nvcc and LLVM write it.

#![allow(dead_code, unreachable_pub, reason = "tests and benches use different parts")]

use std::fmt::Write;

/// What a module is made of.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Kernels, and as many functions that they call.
    pub functions: usize,
    /// Statements of each kernel, of four instructions each.
    pub statements: usize,
    /// Names of inlined functions in `.debug_str`.
    pub names: usize,
    /// Whether there are `.loc` and `.debug_str`.
    pub lines: bool,
}

/// 4.3 MB of PTX, of which 3.3 are names of inlined functions: what a template library becomes.
pub const LARGE: Size = Size { functions: 150, statements: 50, names: 13_500, lines: true };

/// The module's text.
pub fn text(size: Size) -> String {
    let Size { functions, statements, names, lines } = size;
    let mut text = String::from(".version 8.7\n.target sm_90\n.address_size 64\n");
    for number in 0..functions {
        let _ = writeln!(text, ".func (.param .b32 r) help_{number}(.param .b32 a);");
    }
    for number in 0..functions {
        function(&mut text, size, number);
    }
    if lines {
        for file in 1..=functions.min(40) {
            let _ = writeln!(text, ".file {file} \"/home/user/project/include/detail/part_{file}.cuh\"");
        }
        text.push_str(".section .debug_str\n{\n");
        for name in 0..names {
            let _ = write!(text, "$L__info_string{name}:\n.b8 ");
            for byte in format!("_ZN7library6detail{name:06}applyILi{name}EEEvT_Pfi").bytes() {
                let _ = write!(text, "{byte},");
            }
            text.push_str("0\n");
        }
        text.push_str("}\n");
    }
    debug_assert!(statements > 0, "a kernel of nothing");
    text
}

fn function(text: &mut String, size: Size, number: usize) {
    let Size { functions, statements, names, lines } = size;
    let file = number % functions.min(40) + 1;
    let _ = write!(
        text,
        ".func (.param .b32 r) help_{number}(.param .b32 a)\n{{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\n\
         add.s32 %r2, %r1, {number};\nst.param.b32 [r], %r2;\nret;\n}}\n\
         .visible .entry kernel_{number}(.param .u64 out)\n{{\n.reg .pred %p<{}>;\n.reg .b32 %r<{}>;\n\
         .reg .b64 %rd<3>;\nld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\nmov.b32 %r0, 0;\n",
        statements + 1,
        2 * statements + 2,
    );
    for statement in 0..statements {
        if lines {
            let name = (number * statements + statement) % names;
            let line = statement + 1;
            let _ = write!(
                text,
                ".loc {file} {line} 3\n.loc {file} {} 5, function_name $L__info_string{name}, inlined_at {file} {line} 3\n",
                line + 1000
            );
        }
        let (last, next) = (2 * statement, 2 * statement + 2);
        let _ = write!(
            text,
            "setp.gt.s32 %p{statement}, %r{last}, 100;\n@%p{statement} bra $L__skip_{number}_{statement};\n\
             add.s32 %r{}, %r{last}, 1;\n$L__skip_{number}_{statement}:\nadd.s32 %r{next}, %r{last}, {statement};\n",
            last + 1,
        );
    }
    let last = 2 * statements;
    let _ = write!(
        text,
        "{{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r{last};\ncall.uni (q), help_{number}, (p);\n\
         ld.param.b32 %r{}, [q];\n}}\nst.global.b32 [%rd2], %r{};\nret;\n}}\n",
        last + 1,
        last + 1,
    );
}
