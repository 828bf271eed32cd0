//! What is said about files that are wrong, word for word.

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The message about a whole file.
fn message(text: &str) -> String {
    ptx::parse(text).expect_err("a fault").to_string()
}

/// The message about a kernel with a parameter, some registers and this code, which begins on line 7.
fn about(code: &str) -> String {
    message(&format!(
        "{HEAD}.entry k(.param .u64 k_param_0)\n{{\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<2>;\n{code}\n}}\n"
    ))
}

#[track_caller]
fn check(cases: &[(&str, &str)], message: impl Fn(&str) -> String) {
    for (text, expected) in cases {
        assert_eq!(message(text), *expected);
    }
}

#[test]
fn heads() {
    let cases = [
        ("", "line 1, column 1: the file ends here; expected `.version`, with which a PTX file begins"),
        (
            "hello",
            "line 1, column 1: found `hello`; expected `.version`, with which a PTX file begins\n    hello\n    ^",
        ),
        (
            ".version 8",
            "line 1, column 10: found `8`; expected a version such as 8.0\n    .version 8\n             ^",
        ),
        (
            ".version 8.0\n.address_size 64",
            "line 2, column 1: found `.address_size`; expected `.target`, after `.version`\n    .address_size 64\n    ^",
        ),
        (
            ".version 8.0 .target sm_90 .address_size 48",
            "line 1, column 42: found `48`; expected 32 or 64\n    .version 8.0 .target sm_90 .address_size 48\n                                             ^",
        ),
    ];
    check(&cases, message);
}

#[test]
fn top_level() {
    let cases = [
        (
            ".global_ .b8 x;",
            "line 4, column 1: unknown directive `.global_`; expected a function, a variable, `.file`, `.section`, `.alias` or `.pragma`\n    .global_ .b8 x;\n    ^",
        ),
        (
            ".visible .kernel k()",
            "line 4, column 10: unknown directive `.kernel`; expected `.func`, `.entry` or a variable's space\n    .visible .kernel k()\n             ^",
        ),
        (
            ".entry k() .maxtid 3 {}",
            "line 4, column 12: unknown directive `.maxtid`; expected a directive for functions such as `.maxntid`, `{` or `;`\n    .entry k() .maxtid 3 {}\n               ^",
        ),
        (
            ".entry k(.param .u65 p) {}",
            "line 4, column 17: unknown directive `.u65`; expected a parameter's type, `.ptr`, `.align` or its name\n    .entry k(.param .u65 p) {}\n                    ^",
        ),
        (
            ".entry k(.param .u64 p) {\n",
            "line 5, column 1: the file ends here; expected an instruction, a label, a declaration or `}`",
        ),
        (
            ".global .b8 a;\n.global .b8 a;",
            "line 5, column 13: `a` is declared twice, first on line 4; expected another name\n    .global .b8 a;\n                ^",
        ),
        (
            ".entry k() {ret;}\n.entry k() {ret;}",
            "line 5, column 8: `k` is declared twice, first on line 4; expected another name\n    .entry k() {ret;}\n           ^",
        ),
        (
            ".entry k(.param .u64 p, .param .u64 p) {ret;}",
            "line 4, column 37: `p` is declared twice, first on line 4; expected another name\n    .entry k(.param .u64 p, .param .u64 p) {ret;}\n                                        ^",
        ),
        (
            ".global .u64 a = b;",
            "line 4, column 18: `b` is not declared; expected a variable or function of the module, declared before\n    .global .u64 a = b;\n                     ^",
        ),
        (
            ".global .align 3 .b8 a;",
            "line 4, column 16: found `3`; expected a power of two, the alignment in bytes\n    .global .align 3 .b8 a;\n                   ^",
        ),
        (
            ".section .debug_str {\n.b8 0",
            "line 4, column 1: the file ends here; expected `}`, which ends the section\n    .section .debug_str {\n    ^",
        ),
        (
            "/* no end",
            "line 4, column 1: the file ends within this comment; expected `*/`\n    /* no end\n    ^",
        ),
        (
            ".file 1 \"no end",
            "line 4, column 9: this text does not end on its line; expected `\"`\n    .file 1 \"no end\n            ^",
        ),
    ];
    check(&cases, |text| message(&format!("{HEAD}{text}")));
}

#[test]
fn names() {
    let cases = [
        (
            "\tadd.u32 %r1, %r2, %r9;",
            "line 7, column 20: there is no register `%r9`: `%r<4>` on line 6 ends before it; expected a smaller number\n    add.u32 %r1, %r2, %r9;\n                      ^",
        ),
        (
            "mov.u32 %r1, %tix.x;",
            "line 7, column 14: `%tix` is not declared; expected a register of this function or a special register\n    mov.u32 %r1, %tix.x;\n                 ^",
        ),
        (
            "ld.param.u64 %rd1, [k_param_1];",
            "line 7, column 21: `k_param_1` is not declared; expected a register, parameter, variable or function declared before\n    ld.param.u64 %rd1, [k_param_1];\n                        ^",
        ),
        ("@q bra L;", "line 7, column 2: `q` is not declared; expected a predicate\n    @q bra L;\n     ^"),
        (
            "bra L;",
            "line 7, column 5: the label `L` is not declared; expected a label of this function\n    bra L;\n        ^",
        ),
        (
            "bra L;\n{\nL: ret;\n}",
            "line 7, column 5: the label `L` is out of scope: it stands on line 9, in another block; expected a label of this block or one around it\n    bra L;\n        ^",
        ),
        (
            "L: ret;\nL: ret;",
            "line 8, column 1: `L` is declared twice, first on line 7; expected another name\n    L: ret;\n    ^",
        ),
        (
            ".reg .b32 %r<2>;",
            "line 7, column 11: `%r` is declared twice, first on line 6; expected another name\n    .reg .b32 %r<2>;\n              ^",
        ),
        (
            "L: ret; brx.idx %r1, L;",
            "line 7, column 9: `L` is a label before an instruction; expected the label of `.branchtargets`\n    L: ret; brx.idx %r1, L;\n            ^",
        ),
    ];
    check(&cases, about);
}

#[test]
fn registers() {
    let cases = [
        (
            "@%r1 bra L;",
            "line 7, column 2: the register `%r1` is declared .b32 on line 6; expected a predicate (.pred)\n    @%r1 bra L;\n     ^",
        ),
        (
            "add.s64 %rd1, %rd2, %r3;",
            "line 7, column 1: the register `%r3` is declared .b32 on line 6; expected 64 bits for .s64\n    add.s64 %rd1, %rd2, %r3;\n    ^",
        ),
        (
            "add.u32 %r1, %f1, 2;",
            "line 7, column 1: the register `%f1` is declared .f32 on line 6; expected .u32 or bits of that size\n    add.u32 %r1, %f1, 2;\n    ^",
        ),
        (
            "setp.eq.u32 %r1, %r2, 0;",
            "line 7, column 1: the register `%r1` is declared .b32 on line 6; expected a predicate (.pred)\n    setp.eq.u32 %r1, %r2, 0;\n    ^",
        ),
        (
            "ld.global.u64 %r1, [%rd1];",
            "line 7, column 1: the register `%r1` is declared .b32 on line 6; expected at least 64 bits for .u64\n    ld.global.u64 %r1, [%rd1];\n    ^",
        ),
        (
            "ld.global.u32 %r1, [%p1];",
            "line 7, column 1: the register `%p1` is declared .pred on line 6; expected an address (.b32 or .b64)\n    ld.global.u32 %r1, [%p1];\n    ^",
        ),
    ];
    check(&cases, about);
}

#[test]
fn text() {
    let cases = [
        (
            "ret ret;",
            "line 7, column 5: `ret` is not declared; expected a register, parameter, variable or function declared before\n    ret ret;\n        ^",
        ),
        (
            "mov.u32 %r1 5;",
            "line 7, column 13: found `5`; expected `,` or `;` after an operand\n    mov.u32 %r1 5;\n                ^",
        ),
        (
            "mov.u32 %r1, ;",
            "line 7, column 14: found `;`; expected an operand\n    mov.u32 %r1, ;\n                 ^",
        ),
        (
            "ld.global.u32 %r1, [%rd1;",
            "line 7, column 25: found `;`; expected `]` after an address\n    ld.global.u32 %r1, [%rd1;\n                            ^",
        ),
        (
            "mov.u32 %r1, 0xZ;",
            "line 7, column 14: malformed number `0xZ`; expected hexadecimal digits\n    mov.u32 %r1, 0xZ;\n                 ^",
        ),
        (
            "mov.f32 %f1, 0f3F8;",
            "line 7, column 14: malformed number `0f3F8`; expected 0f and eight hexadecimal digits\n    mov.f32 %f1, 0f3F8;\n                 ^",
        ),
        (
            "mov.u32 %r1, 99999999999999999999;",
            "line 7, column 14: the number 99999999999999999999 is too large; expected at most 18446744073709551615\n    mov.u32 %r1, 99999999999999999999;\n                 ^",
        ),
        (
            "mov.u32 %r1, #;",
            "line 7, column 14: unknown character '#'\n    mov.u32 %r1, #;\n                 ^",
        ),
        (
            "// \u{e9}\nmov.u32 \u{e9};",
            "line 8, column 9: unknown character '\u{e9}'\n    mov.u32 \u{e9};\n            ^",
        ),
        (
            ".rag .b32 x;",
            "line 7, column 1: unknown directive `.rag`; expected an instruction, a label, a declaration or `}`\n    .rag .b32 x;\n    ^",
        ),
        (".loc 1 2;", "line 7, column 9: found `;`; expected the column\n    .loc 1 2;\n            ^"),
    ];
    check(&cases, about);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let code = format!("mov.u32 %r1, {}?{};", "/**/".repeat(100), "/**/".repeat(100));
    let error = about(&code);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "line 7, column 414: unknown character '?'");
    assert_eq!(lines[1].trim_start().len(), 120);
    assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('?'));
}

#[test]
fn an_error_has_its_parts() {
    let error = ptx::parse(".version 8.0\n  .garget sm_90\n").expect_err("a fault");
    assert_eq!((error.position().line, error.position().column), (2, 3));
    assert_eq!(error.source_line(), ".garget sm_90");
    assert!(matches!(error.problem(), ptx::Problem::Unexpected { .. }));
}

#[test]
fn a_missing_entry_says_what_there_is() {
    let module = ptx::parse(&format!("{HEAD}.entry a() {{ret;}}\n.func b() {{ret;}}\n.entry c() {{ret;}}"))
        .expect("it parses");
    assert_eq!(
        module.entry("b").expect_err("no kernel").to_string(),
        "the module has no entry `b`; it has a, c"
    );
    let empty = ptx::parse(HEAD).expect("it parses");
    assert_eq!(
        empty.entry("a").expect_err("no kernel").to_string(),
        "the module has no entry `a`; it has none at all"
    );
}

/// A register, variable or parameter of such a name would be read in place of the lane's number or the clock.
#[test]
fn predefined_names_are_not_declared_again() {
    let cases = [
        (
            ".reg .b32 %a, %tid;",
            "line 7, column 15: the name `%tid` has a meaning in PTX; expected another name\n    .reg .b32 %a, %tid;\n                  ^",
        ),
        (
            "{ .reg .b64 %clock<65>; }",
            "line 7, column 13: the name `%clock64` has a meaning in PTX; expected another name\n    { .reg .b64 %clock<65>; }\n                ^",
        ),
        (
            ".reg .b32 _;",
            "line 7, column 11: the name `_` has a meaning in PTX; expected another name\n    .reg .b32 _;\n              ^",
        ),
        (
            ".shared .b32 WARP_SZ;",
            "line 7, column 14: the name `WARP_SZ` has a meaning in PTX; expected another name\n    .shared .b32 WARP_SZ;\n                 ^",
        ),
    ];
    check(&cases, about);
    let cases = [
        (
            ".global .b32 %laneid;",
            "line 4, column 14: the name `%laneid` has a meaning in PTX; expected another name\n    .global .b32 %laneid;\n                 ^",
        ),
        (
            ".entry k(.param .u32 %smid) { ret; }",
            "line 4, column 22: the name `%smid` has a meaning in PTX; expected another name\n    .entry k(.param .u32 %smid) { ret; }\n                         ^",
        ),
    ];
    check(&cases, |text| message(&format!("{HEAD}{text}")));
    // None of these is predefined: the families end before, or have other numbers.
    let text =
        format!("{HEAD}.entry k() {{ .reg .b32 %clock<64>, %tid<3>, %pm<0>; mov.u32 %tid2, %tid.x; ret; }}");
    ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
}
