//! Every shape that the language has, and what becomes of it.

use ptx::{
    Address, AddressBase, Attribute, Component, FunctionDirective, FunctionKind, Immediate, Initializer,
    LabelId, LabelMeaning, Linkage, Module, Operand, Pointer, RegisterId, ScalarType, Space, SpecialRegister,
    Symbol, SymbolMeaning,
};

const HEAD: &str = ".version 8.5\n.target sm_90, debug\n.address_size 64\n";

#[track_caller]
fn parse(text: &str) -> Module {
    let module = ptx::parse(&format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error}"));
    let printed = module.to_string();
    let again = ptx::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again, module, "{printed}");
    module
}

/// The body of a kernel with registers 0..4 `%p`, 4..14 `%r`, 14..24 `%rd`, 24 `%v` (four `f32`) and 25 `q`.
#[track_caller]
fn body(code: &str) -> ptx::Body {
    let module = parse(&format!(
        ".global .align 4 .b8 g[64]; .func f(.param .b32 a); .func h() .noreturn;
         .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16])
         {{ .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .v4 .f32 %v; .reg .pred q;
            .shared .align 16 .b8 sh[16];
            {code}
         }}"
    ));
    module.entry("k").expect("the kernel").body.clone().expect("a definition")
}

fn register(number: u32) -> Operand {
    Operand::Register(RegisterId(number))
}

fn r(number: u32) -> Operand {
    register(4 + number)
}

fn rd(number: u32) -> Operand {
    register(14 + number)
}

fn integer(value: i64) -> Operand {
    Operand::Immediate(Immediate::Integer { bits: value as u64, unsigned: false })
}

fn unsigned(bits: u64) -> Operand {
    Operand::Immediate(Immediate::Integer { bits, unsigned: true })
}

fn named(name: &str, meaning: SymbolMeaning) -> Symbol {
    Symbol { name: ptx::Name::new(name), meaning }
}

fn address(base: AddressBase, offset: i64) -> Operand {
    Operand::Address(Address { base, offset, more: Vec::new() })
}

#[test]
fn operands() {
    let at = |number: u32| AddressBase::Register(RegisterId(14 + number));
    let global = || AddressBase::Symbol(named("g", SymbolMeaning::Module));
    let shared = || named("sh", SymbolMeaning::Variable(0));
    let parameter =
        |index| AddressBase::Symbol(named(&format!("k_{index}"), SymbolMeaning::Parameter(index)));
    let special = |name, component| Operand::Special(SpecialRegister { name, component });
    let pair = |first, second| Operand::Pair(Box::new([first, second]));
    let cases: Vec<(&str, Vec<Operand>)> = vec![
        ("mov.u32 %r1, %r9;", vec![r(1), r(9)]),
        ("mov.u32 %r1, %tid.x;", vec![r(1), special("%tid", Some(Component::X))]),
        ("mov.u32 %r1, %laneid;", vec![r(1), special("%laneid", None)]),
        ("mov.u64 %rd1, %clock64;", vec![rd(1), special("%clock64", None)]),
        ("mov.u32 %r1, WARP_SZ;", vec![r(1), integer(32)]),
        ("mov.u32 %r1, 12;", vec![r(1), integer(12)]),
        ("mov.u32 %r1, -12;", vec![r(1), integer(-12)]),
        ("mov.u32 %r1, 0;", vec![r(1), integer(0)]),
        ("mov.u32 %r1, 0xFf;", vec![r(1), integer(255)]),
        ("mov.u32 %r1, 0XFFU;", vec![r(1), unsigned(255)]),
        ("mov.u32 %r1, 017;", vec![r(1), integer(15)]),
        ("mov.u32 %r1, 0b101;", vec![r(1), integer(5)]),
        ("mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF;", vec![rd(1), unsigned(u64::MAX)]),
        ("mov.u64 %rd1, -9223372036854775808;", vec![rd(1), unsigned(1 << 63)]),
        ("mov.b32 %r1, 0f3F800000;", vec![r(1), Operand::Immediate(Immediate::Single(0x3F80_0000))]),
        (
            "mov.b64 %rd1, 0D3ff0000000000000;",
            vec![rd(1), Operand::Immediate(Immediate::Double(1.0_f64.to_bits()))],
        ),
        ("mov.b64 %rd1, -2.5e1;", vec![rd(1), Operand::Immediate(Immediate::Double((-25.0_f64).to_bits()))]),
        ("mov.b64 %rd1, 1e-3;", vec![rd(1), Operand::Immediate(Immediate::Double(0.001_f64.to_bits()))]),
        ("mov.u64 %rd1, g;", vec![rd(1), Operand::Symbol(named("g", SymbolMeaning::Module), 0)]),
        ("mov.u64 %rd1, sh+4;", vec![rd(1), Operand::Symbol(shared(), 4)]),
        ("mov.u64 %rd1, sh-4;", vec![rd(1), Operand::Symbol(shared(), -4)]),
        ("ld.param.u64 %rd1, [k_0];", vec![rd(1), address(parameter(0), 0)]),
        ("ld.param.u64 %rd1, [k_1+8];", vec![rd(1), address(parameter(1), 8)]),
        ("ld.global.u32 %r1, [%rd2];", vec![r(1), address(at(2), 0)]),
        ("ld.global.u32 %r1, [%rd2+16];", vec![r(1), address(at(2), 16)]),
        ("ld.global.u32 %r1, [%rd2+-16];", vec![r(1), address(at(2), -16)]),
        ("ld.global.u32 %r1, [%rd2-16];", vec![r(1), address(at(2), -16)]),
        ("ld.global.u32 %r1, [g+4];", vec![r(1), address(global(), 4)]),
        ("ld.global.u32 %r1, [64];", vec![r(1), address(AddressBase::Absolute, 64)]),
        ("ld.global.L2::cache_hint.u32 %r1, [%rd2], %rd3;", vec![r(1), address(at(2), 0), rd(3)]),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile [sh], [%rd1, {%r1, %r2}], [%rd2];",
            vec![
                address(AddressBase::Symbol(shared()), 0),
                Operand::Address(Address {
                    base: at(1),
                    offset: 0,
                    more: vec![Operand::Vector(vec![r(1), r(2)])],
                }),
                address(at(2), 0),
            ],
        ),
        (
            "ld.global.v4.u32 {%r1, _, %r3, %r4}, [g];",
            vec![Operand::Vector(vec![r(1), Operand::Sink, r(3), r(4)]), address(global(), 0)],
        ),
        ("mov.b64 %rd1, {%r1, %r2};", vec![rd(1), Operand::Vector(vec![r(1), r(2)])]),
        ("atom.global.add.u32 _, [g], 1;", vec![Operand::Sink, address(global(), 0), integer(1)]),
        ("setp.lt.s32 %p1|%p2, %r1, 3;", vec![pair(register(1), register(2)), r(1), integer(3)]),
        ("setp.lt.s32 q, %r1, 3;", vec![register(25), r(1), integer(3)]),
        (
            "setp.lt.and.s32 %p1|_, %r1, 3, !%p2;",
            vec![pair(register(1), Operand::Sink), r(1), integer(3), Operand::Not(RegisterId(2))],
        ),
        (
            "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
            vec![pair(r(1), register(1)), r(2), integer(1), integer(31), integer(-1)],
        ),
        ("mov.u32 %r1, -%r2;", vec![r(1), Operand::Minus(RegisterId(6))]),
        (
            "mov.f32 %v.x, %v.w;",
            vec![
                Operand::Element(RegisterId(24), Component::X),
                Operand::Element(RegisterId(24), Component::W),
            ],
        ),
        ("ret;", vec![]),
    ];
    for (code, expected) in cases {
        let body = body(code);
        assert_eq!(body.instructions.len(), 1, "{code}");
        assert_eq!(body.instructions[0].operands, expected, "{code}");
        assert_eq!(body.instructions[0].guard, None, "{code}");
    }
}

#[test]
fn opcodes() {
    for (code, expected) in [
        ("ld.global.nc.v2.b32 {%r1, %r2}, [g];", "ld global nc v2 b32"),
        ("ld.global.L1::no_allocate.L2::128B.u32 %r1, [g];", "ld global L1::no_allocate L2::128B u32"),
        ("mov .u32 %r1, 1;", "mov u32"),
        ("mov.u32\n// here\n%r1, 1;", "mov u32"),
        ("bar.sync 0;", "bar sync"),
        ("trap;", "trap"),
        ("cvta.to.global.u64 %rd1, %rd2;", "cvta to global u64"),
        ("mbarrier.arrive.shared::cta.b64 _, [sh];", "mbarrier arrive shared::cta b64"),
    ] {
        let body = body(code);
        let opcode = &body.instructions[0].opcode;
        assert_eq!(opcode.as_str().replace('.', " "), expected, "{code}");
        assert_eq!(Some(opcode.base()), expected.split(' ').next(), "{code}");
    }
}

#[test]
fn guards() {
    let body = body("@%p1 trap;\n\t@!q exit;");
    let guards: Vec<_> = body.instructions.iter().map(|instruction| instruction.guard).collect();
    let guard = |number, negated| Some(ptx::Guard { register: RegisterId(number), negated });
    assert_eq!(guards, [guard(1, false), guard(25, true)]);
    let positions: Vec<_> =
        body.instructions.iter().map(|it| (it.position.line, it.position.column)).collect();
    assert_eq!(positions, [(8, 13), (9, 2)]);
}

#[test]
fn blocks_have_registers_and_labels_of_their_own() {
    let body = body(
        "bra L;
         { .reg .b32 %r1; .reg .b32 t<2>; mov.u32 %r1, t1; L: bra L; }
         { .reg .b32 t<2>; mov.u32 %r1, t0; }
         L: mov.u32 %r1, 7;",
    );
    assert_eq!(body.instructions[1].operands, [register(26), register(28)]);
    assert_eq!(body.instructions[3].operands, [r(1), register(29)]);
    assert_eq!(body.instructions[4].operands, [r(1), integer(7)]);
    let target = |index: usize| match body.instructions[index].operands[0] {
        Operand::Label(label) => body.target(label),
        _ => None,
    };
    assert_eq!([target(0), target(2)], [Some(4), Some(2)]);
    assert_eq!(body.register_name(RegisterId(29)).as_deref(), Some("t0"));
    assert_eq!(body.register_name(RegisterId(26)).as_deref(), Some("%r1"));
    assert_eq!(body.register_type(RegisterId(24)), Some(ScalarType::F32));
    assert_eq!(body.register_count, 31);
}

#[test]
fn a_block_reaches_labels_around_it() {
    let body = body("{ { bra L; } bra L; } mov.u32 %r1, 1; L:");
    assert_eq!(body.labels.len(), 1);
    assert_eq!(body.labels[0].meaning, LabelMeaning::Code(3));
    for instruction in &body.instructions[..2] {
        assert_eq!(instruction.operands, [Operand::Label(LabelId(0))]);
    }
}

#[test]
fn families_whose_names_end_in_digits() {
    let body =
        body(".reg .b32 %a1<10>; .reg .b32 %a<12>; .reg .b32 %a99; mov.b32 %a15, %a11; mov.b32 %a99, %a1;");
    let names = |index: usize| -> Vec<u32> {
        let numbers = body.instructions[index].operands.iter();
        numbers
            .map(|operand| if let Operand::Register(register) = operand { register.0 } else { 0 })
            .collect()
    };
    // %a1<10> begins at 26, %a<12> at 36, %a99 is 48.
    assert_eq!((names(0), names(1)), (vec![31, 47], vec![48, 37]));
}

#[test]
fn jumps_by_table() {
    let body = body("T: .branchtargets A, B, A; @%p1 brx.idx %r1, T; A: trap; B: exit;");
    let targets = match &body.labels.iter().find(|label| label.name == "T").expect("a table").meaning {
        LabelMeaning::BranchTargets(targets) => targets.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        targets.iter().map(|target| body.target(*target)).collect::<Vec<_>>(),
        [Some(1), Some(2), Some(1)]
    );
    assert!(
        matches!(body.instructions[0].operands[..], [_, Operand::Label(label)] if body.labels[label.0 as usize].name == "T")
    );
}

#[test]
fn calls() {
    let body = body(
        "{ .param .b32 p0; .param .align 8 .b8 r0[16];
           call (r0), f, (p0);
           call.uni f, (p0);
           call h;
           P : .callprototype (.param .align 8 .b8 _[16]) _ (.param .b32 _) .noreturn;
           call (r0), %rd1, (p0), P;
           C: .calltargets f, h;
           call %rd1, (p0), C; }",
    );
    let local = |name, index| Operand::Symbol(named(name, SymbolMeaning::Variable(index)), 0);
    let global = |name| Operand::Symbol(named(name, SymbolMeaning::Module), 0);
    let (p0, r0) = (local("p0", 1), local("r0", 2));
    let label =
        |name| body.labels.iter().position(|label| label.name == name).map(|index| LabelId(index as u32));
    let expected = [
        (vec![r0.clone()], global("f"), vec![p0.clone()], None),
        (vec![], global("f"), vec![p0.clone()], None),
        (vec![], global("h"), vec![], None),
        (vec![r0], rd(1), vec![p0.clone()], label("P")),
        (vec![], rd(1), vec![p0], label("C")),
    ];
    for (instruction, (returns, target, arguments, prototype)) in body.instructions.iter().zip(expected) {
        let call = instruction.call().expect("a call");
        assert_eq!((call.returns, call.target), (&returns[..], &target));
        assert_eq!((call.arguments, call.prototype), (&arguments[..], prototype));
    }
    match &body.labels[label("P").expect("P").0 as usize].meaning {
        LabelMeaning::Prototype(prototype) => {
            assert!(prototype.never_returns);
            assert_eq!(prototype.returns[0].size(), Some(16));
            assert_eq!(prototype.parameters[0].scalar, ScalarType::B32);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn functions() {
    let module = parse(
        ".pragma \"nounroll\";
         .extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
         .func die () .noreturn;
         .func (.reg .b32 back) old (.reg .b32 a) { mov.b32 back, a; ret; }
         .alias young, old;
         .visible .entry k (
           .param .u64 .ptr .global .align 16 p,
           .param .u64 .ptr .align 1 q,
           .param .align 8 .b8 s[24],
           .param .f32 x
         ) .maxntid 256, 2, 1 .minnctapersm 2 .maxnreg 32 .pragma \"nounroll\"; { ret; }
         .weak .entry e .reqntid 32 { }",
    );
    assert_eq!(module.version, (8, 5));
    assert_eq!(module.target, ["sm_90", "debug"]);
    assert_eq!(module.address_size, 64);
    let kinds: Vec<_> =
        module.functions().map(|function| (&*function.name, function.kind, function.linkage)).collect();
    let (entry, function) = (FunctionKind::Entry, FunctionKind::Function);
    assert_eq!(
        kinds,
        [
            ("vprintf", function, Some(Linkage::Extern)),
            ("die", function, None),
            ("old", function, None),
            ("k", entry, Some(Linkage::Visible)),
            ("e", entry, Some(Linkage::Weak)),
        ]
    );
    assert!(module.function("die").expect("die").never_returns);
    let old = module.function("old").expect("old");
    assert_eq!(old.body.as_ref().expect("a definition").instructions[0].operands, [register(0), register(1)]);
    let kernel = module.entry("k").expect("k");
    let pointers: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.pointer).collect();
    let pointer = |space, align| Some(Pointer { space, align: Some(align) });
    assert_eq!(pointers, [pointer(Some(Space::Global), 16), pointer(None, 1), None, None]);
    let sizes: Vec<_> =
        kernel.parameters.iter().map(|parameter| (parameter.size(), parameter.alignment())).collect();
    assert_eq!(sizes, [(Some(8), 8), (Some(8), 8), (Some(24), 8), (Some(4), 4)]);
    assert_eq!(kernel.directive("maxntid"), Some(&[256, 2, 1][..]));
    assert_eq!(kernel.directive("minnctapersm"), Some(&[2][..]));
    assert_eq!(kernel.directive("reqntid"), None);
    assert_eq!(kernel.directives[3], FunctionDirective::Pragma(vec![ptx::Name::new("nounroll")]));
}

#[test]
fn variables() {
    let module = parse(
        ".extern .shared .align 16 .b8 dynamic[];
         .visible .global .attribute(.managed) .align 4 .u32 managed = 5;
         .const .align 4 .b32 table[2][3] = {{1, 2, 3}, {-4, 0x5}};
         .global .v4 .f32 vector;
         .global .align 8 .u64 pointers[] = {managed, managed+8, generic(table)+4, generic(table+12)};
         .global .align 1 .b8 bytes[3] = {0xFF(managed), 0xFF00(generic(table)+1), 255};
         .common .global .f64 d, e = 0d3FF0000000000000;
         .global .f32 f[1] = {-1.5};
         .global .texref texture;",
    );
    let sizes: Vec<_> =
        module.variables().map(|it| (&*it.name, it.space, it.size(), it.alignment())).collect();
    let (global, shared) = (Space::Global, Space::Shared);
    assert_eq!(
        sizes,
        [
            ("dynamic", shared, Some(0), 16),
            ("managed", global, Some(4), 4),
            ("table", Space::Constant, Some(24), 4),
            ("vector", global, Some(16), 16),
            ("pointers", global, Some(32), 8),
            ("bytes", global, Some(3), 1),
            ("d", global, Some(8), 8),
            ("e", global, Some(8), 8),
            ("f", global, Some(4), 4),
            ("texture", global, Some(8), 8),
        ]
    );
    let variable = |name| module.variable(name).expect("a variable");
    assert_eq!(variable("managed").attributes, [Attribute::Managed]);
    assert_eq!(
        (variable("d").linkage, variable("dynamic").linkage),
        (Some(Linkage::Common), Some(Linkage::Extern))
    );
    let number = |value: i64| Initializer::Number(Immediate::Integer { bits: value as u64, unsigned: false });
    let list = Initializer::List;
    assert_eq!(
        variable("table").initializer,
        Some(list(vec![list(vec![number(1), number(2), number(3)]), list(vec![number(-4), number(5)])]))
    );
    let address = |name: &str, offset, generic, mask| {
        let (position, name) = (ptx::Position::default(), ptx::Name::new(name));
        Initializer::Address { position, name, offset, generic, mask }
    };
    let pointers = vec![
        address("managed", 0, false, None),
        address("managed", 8, false, None),
        address("table", 4, true, None),
        address("table", 12, true, None),
    ];
    assert_eq!(variable("pointers").initializer, Some(list(pointers)));
    let bytes =
        vec![address("managed", 0, false, Some(0xFF)), address("table", 1, true, Some(0xFF00)), number(255)];
    assert_eq!(variable("bytes").initializer, Some(list(bytes)));
    let minus = Initializer::Number(Immediate::Double((-1.5_f64).to_bits()));
    assert_eq!(variable("f").initializer, Some(list(vec![minus])));
}

#[test]
fn source_positions() {
    let module = parse(
        ".entry k() { trap; .loc 1 10 5
         trap;
         .loc 2 20 1, function_name $name+4, inlined_at 1 10 5
         trap;
         .loc 2 30 2, function_name $name, inlined_at 2 20 1
         trap;
         .loc 2 40 2, inlined_at 9 9 9
         trap; }
         .file 1 \"a.rs\"
         .file 2 \"b.rs\", 1700000000, 123
         .section .debug_str { $name: .b8 111,110,101,0 \n.b8 116,119,111,0 }
         .section .debug_macinfo { } // empty",
    );
    let body = module.entry("k").expect("k").body.as_ref().expect("a definition");
    let index = ptx::Index::new(&module);
    let chain = |number: usize| -> Vec<_> {
        let source = index.source(&body.instructions[number]);
        let text = |text: Option<std::sync::Arc<str>>| text.map(|text| text.to_string());
        source.into_iter().map(|it| (text(it.file), it.line, it.column, text(it.function))).collect()
    };
    let [a, b] = ["a.rs", "b.rs"].map(|file| Some(file.to_owned()));
    let (a, b) = (|| a.clone(), || b.clone());
    assert_eq!(chain(0), []);
    assert_eq!(chain(1), [(a(), 10, 5, None)]);
    assert_eq!(chain(2), [(b(), 20, 1, Some("two".into())), (a(), 10, 5, None)]);
    assert_eq!(
        chain(3),
        [(b(), 30, 2, Some("one".into())), (b(), 20, 1, Some("two".into())), (a(), 10, 5, None)]
    );
    assert_eq!(chain(4), [(b(), 40, 2, None), (None, 9, 9, None)]);
    assert_eq!(module.files[1].stamp, Some((1_700_000_000, 123)));
    assert_eq!(&*module.sections[1].text, "");
}
