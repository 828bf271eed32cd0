//! Random kernels of blocks, executed by both tiers: arithmetic in all widths, regions that lanes decide apart, loops, barriers,
//! shared memory, shuffles, votes, and atomics.

use super::{has_compiler, same, two_arrays_and};
use crate::exec_common::{HEAD, Text};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Registers of each width.
const REGISTERS: u8 = 4;

const INTEGERS: [&str; 9] =
    ["add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32", "min.s32", "max.u32", "mul.hi.u32", "shr.s32"];
const WIDE: [&str; 6] = ["add.u64", "sub.s64", "mul.lo.u64", "xor.b64", "min.u64", "max.s64"];
const FLOATS: [&str; 7] =
    ["add.rn.f32", "sub.rn.f32", "mul.rn.f32", "div.rn.f32", "min.f32", "max.f32", "add.rn.ftz.f32"];
const DOUBLES: [&str; 4] = ["add.rn.f64", "mul.rn.f64", "min.f64", "sub.rn.f64"];
const CONVERSIONS: [&str; 8] = [
    "cvt.rn.f32.u32 %f{to}, %r{from};",
    "cvt.rzi.s32.f32 %r{to}, %f{from};",
    "cvt.f64.f32 %d{to}, %f{from};",
    "cvt.rn.f32.f64 %f{to}, %d{from};",
    "cvt.u64.u32 %x{to}, %r{from};",
    "cvt.u32.u64 %r{to}, %x{from};",
    "mov.b32 %r{to}, %f{from};",
    "popc.b32 %r{to}, %r{from};",
];
const COMPARISONS: [&str; 4] = ["setp.lt.u32", "setp.eq.u32", "setp.gt.s32", "setp.ne.u32"];

#[derive(Clone, Debug)]
enum Statement {
    /// Executes an operation of the width's table: result and operands.
    Compute(Width, u8, [u8; 3]),
    Fused([u8; 3]),
    Convert(u8, [u8; 2]),
    /// Executes the body in threads whose two registers compare so.
    If(u8, [u8; 2], Vec<Self>),
    /// Repeats the body, equally often in all threads.
    Repeat(u8, Vec<Self>),
    /// All threads of a block execute it.
    Together(Together),
}

#[derive(Clone, Copy, Debug)]
enum Width {
    Integer,
    Wide,
    Float,
    Double,
}

#[derive(Clone, Copy, Debug)]
enum Together {
    /// Takes the value of the lane whose number differs by an exclusive or.
    Shuffle([u8; 2], u8),
    Vote([u8; 3]),
    /// Takes the value of a later thread, at this distance, through shared memory.
    Exchange([u8; 2], u8),
    /// Adds by atomics in shared memory, and reads one of the sums.
    Sum([u8; 2]),
    /// Adds to one of 256 words of global memory.
    Add([u8; 2]),
}

impl Text {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Compute(width, operation, [to, left, right]) => {
                    let (register, table): (_, &[&str]) = match width {
                        Width::Integer => ('r', &INTEGERS),
                        Width::Wide => ('x', &WIDE),
                        Width::Float => ('f', &FLOATS),
                        Width::Double => ('d', &DOUBLES),
                    };
                    let operation = table[usize::from(*operation) % table.len()];
                    self.line(&format!(
                        "{operation} %{register}{to}, %{register}{left}, %{register}{right};"
                    ));
                }
                Statement::Fused([to, left, right]) => {
                    self.line(&format!("fma.rn.f32 %f{to}, %f{left}, %f{right}, %f{to};"));
                    self.line(&format!("mad.lo.u32 %r{to}, %r{left}, %r{right}, %r{to};"));
                }
                Statement::Convert(which, [to, from]) => {
                    let text = CONVERSIONS[usize::from(*which)];
                    self.line(&text.replace("{to}", &to.to_string()).replace("{from}", &from.to_string()));
                }
                Statement::If(comparison, [left, right], body) => {
                    let end = self.label();
                    let comparison = COMPARISONS[usize::from(*comparison)];
                    self.line(&format!("{comparison} %p1, %r{left}, %r{right};\n@!%p1 bra {end};"));
                    self.statements(body);
                    self.line(&format!("{end}:"));
                }
                Statement::Repeat(times, body) => {
                    let begin = self.label();
                    let counter = format!("%c{}", self.labels);
                    self.line(&format!("mov.b32 {counter}, 0;\n{begin}:\nadd.u32 {counter}, {counter}, 1;"));
                    self.statements(body);
                    self.line(&format!("setp.lt.u32 %p1, {counter}, {times};\n@%p1 bra {begin};"));
                }
                Statement::Together(together) => self.together(together),
            }
        }
    }

    fn together(&mut self, together: &Together) {
        match together {
            Together::Shuffle([to, from], lane) => {
                self.line(&format!("shfl.sync.bfly.b32 %r{to}, %r{from}, {lane}, 31, 0xffffffff;"));
            }
            Together::Vote([to, left, right]) => {
                self.line(&format!("setp.lt.s32 %p1, %r{left}, %r{right};"));
                self.line(&format!("vote.sync.ballot.b32 %r{to}, %p1, 0xffffffff;"));
            }
            Together::Exchange([to, from], distance) => {
                self.line(&format!(
                    "st.shared.b32 [%own], %r{from};\nbar.sync 0;\nadd.u32 %t0, %thread, {distance};\n\
                     rem.u32 %t0, %t0, %size;\nmad.lo.u32 %t0, %t0, 4, %base;\n\
                     ld.shared.b32 %r{to}, [%t0];\nbar.sync 0;"
                ));
            }
            Together::Sum([to, from]) => {
                self.line(&format!(
                    "st.shared.b32 [%own], 0;\nbar.sync 0;\nand.b32 %t0, %r{from}, 60;\nadd.u32 %t0, %t0, %base;\n\
                     red.shared.add.u32 [%t0], %r{from};\nbar.sync 0;\nld.shared.b32 %r{to}, [%base+8];\n\
                     bar.sync 0;"
                ));
            }
            Together::Add([at, value]) => {
                self.line(&format!(
                    "and.b32 %t0, %r{at}, 1020;\ncvt.u64.u32 %y0, %t0;\nadd.u64 %y0, %y0, %in;\n\
                     red.global.add.u32 [%y0+131072], %r{value};"
                ));
            }
        }
    }
}

/// The program as a kernel: registers begin with what the first array holds and end in the thread's row of the second.
fn text_of(program: &[Statement]) -> String {
    let mut body = Text::default();
    body.statements(program);
    let mut writer = Text::default();
    writer.line(&format!(".visible .entry k(.param .u64 from, .param .u64 to, .param .u32 number)\n{{\n.shared .align 4 .b8 words[512];\n\
         .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b32 %t<1>;\n.reg .b64 %x<4>;\n.reg .b32 %f<4>;\n.reg .b64 %d<4>;\n\
         .reg .b64 %y<2>;\n.reg .b64 %in;\n.reg .b64 %out;\n.reg .b32 %base;\n.reg .b32 %own;\n.reg .b32 %thread;\n\
         .reg .b32 %size;\n.reg .b32 %all;\n.reg .b32 %c<{}>;\nld.param.u64 %in, [from];\nld.param.u64 %out, [to];\nmov.u32 %thread, %tid.x;\n\
         mov.u32 %size, %ntid.x;\nmov.u32 %all, %ctaid.x;\nmad.lo.u32 %all, %all, %size, %thread;\nmov.u32 %base, words;\n\
         mad.lo.u32 %own, %thread, 4, %base;\nmul.wide.u32 %y0, %all, 64;\nadd.u64 %out, %out, %y0;\nadd.u64 %y1, %in, %y0;",
        body.labels + 1
    ));
    for register in 0..REGISTERS {
        let at = 4 * u32::from(register);
        writer.line(&format!("ld.global.b32 %r{register}, [%y1+{at}];"));
        writer.line(&format!("ld.global.b32 %f{register}, [%y1+{}];", 16 + at));
        writer.line(&format!("mul.wide.u32 %x{register}, %r{register}, %all;"));
        writer.line(&format!("cvt.f64.f32 %d{register}, %f{register};"));
    }
    writer.line(&body.lines);
    for register in 0..REGISTERS {
        let at = 4 * u32::from(register);
        writer.line(&format!("st.global.b32 [%out+{at}], %r{register};"));
        writer.line(&format!("st.global.b32 [%out+{}], %f{register};", 16 + at));
        writer.line(&format!("cvt.u32.u64 %t0, %x{register};\nst.global.b32 [%out+{}], %t0;", 32 + at));
        writer.line(&format!("cvt.rn.f32.f64 %f{register}, %d{register};"));
        writer.line(&format!("st.global.b32 [%out+{}], %f{register};", 48 + at));
    }
    HEAD.to_owned() + &writer.lines + "ret;\n}\n"
}

fn registers<const COUNT: usize>() -> impl Strategy<Value = [u8; COUNT]> {
    [(); COUNT].map(|()| 0..REGISTERS)
}

/// Statements that a thread executes by itself.
fn alone() -> impl Strategy<Value = Statement> {
    let width = prop_oneof![Just(Width::Integer), Just(Width::Wide), Just(Width::Float), Just(Width::Double)];
    let leaf = prop_oneof![
        5 => (width, 0..9_u8, registers()).prop_map(|(width, operation, of)| Statement::Compute(width, operation, of)),
        1 => registers().prop_map(Statement::Fused),
        2 => (0..8_u8, registers()).prop_map(|(which, of)| Statement::Convert(which, of)),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let body = prop::collection::vec(inner, 1..4);
        prop_oneof![
            (0..4_u8, registers(), body.clone()).prop_map(|(test, of, body)| Statement::If(test, of, body)),
            (1..5_u8, body).prop_map(|(times, body)| Statement::Repeat(times, body)),
        ]
    })
}

fn together() -> impl Strategy<Value = Statement> {
    let together = prop_oneof![
        (registers(), 1..32_u8).prop_map(|(of, lane)| Together::Shuffle(of, lane)),
        registers().prop_map(Together::Vote),
        (registers(), 1..64_u8).prop_map(|(of, distance)| Together::Exchange(of, distance)),
        registers().prop_map(Together::Sum),
        registers().prop_map(Together::Add),
    ];
    together.prop_map(Statement::Together)
}

fn program() -> impl Strategy<Value = Vec<Statement>> {
    let step = || prop_oneof![3 => alone(), 2 => together()];
    let body = prop::collection::vec(step(), 1..4);
    let repeated = (1..4_u8, body).prop_map(|(times, body)| Statement::Repeat(times, body));
    prop::collection::vec(prop_oneof![5 => step(), 1 => repeated], 2..12)
}

#[test]
fn generated_blocks_are_alike_in_both_tiers() {
    if !has_compiler() {
        return;
    }
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&program(), |program| {
        let text = text_of(&program);
        let left = same(&text, "k", &two_arrays_and(0), ([3, 1, 1], [96, 1, 1], 1));
        prop_assert!(left.outcome.is_ok(), "{:?}\n{text}", left.outcome);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
