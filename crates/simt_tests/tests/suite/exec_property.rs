//! Random structured programs: the warp machine against a machine of one thread at a time, written here. And whatever
//! way its lanes took, a warp comes to the end as a whole.

use crate::exec_common::{Bench, HEAD, Text};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Write;

/// Registers of a program: `%r0` to `%r7`. `%r8` is the thread's number and is only read.
const REGISTERS: u8 = 8;

#[derive(Clone, Debug)]
enum Value {
    Register(u8),
    Number(i32),
}

#[derive(Clone, Debug)]
enum Statement {
    Compute {
        operation: u8,
        result: u8,
        left: u8,
        right: Value,
    },
    /// With a guard instead of a branch.
    Guarded {
        condition: Condition,
        operation: u8,
        result: u8,
        left: u8,
        right: Value,
    },
    If {
        condition: Condition,
        yes: Vec<Self>,
        no: Vec<Self>,
    },
    /// At most so many rounds.
    While {
        condition: Condition,
        most: u8,
        body: Vec<Self>,
    },
    /// Leaves the loop around it.
    Break(Condition),
    /// Ends the thread, after it stored what it has.
    Return(Condition),
    Call {
        result: u8,
        argument: u8,
    },
    /// To the next place of the thread's row.
    Store(u8),
}

#[derive(Clone, Debug)]
struct Condition {
    comparison: u8,
    left: u8,
    right: Value,
}

const OPERATIONS: [&str; 6] = ["add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32", "shr.u32"];
const COMPARISONS: [&str; 4] = ["lt.u32", "eq.u32", "gt.s32", "ne.u32"];

fn compute(operation: u8, left: u32, right: u32) -> u32 {
    match operation {
        0 => left.wrapping_add(right),
        1 => left.wrapping_sub(right),
        2 => left.wrapping_mul(right),
        3 => left ^ right,
        4 => left & right,
        _ => left.checked_shr(right).unwrap_or(0),
    }
}

fn compare(comparison: u8, left: u32, right: u32) -> bool {
    match comparison {
        0 => left < right,
        1 => left == right,
        2 => left as i32 > right as i32,
        _ => left != right,
    }
}

/// One thread.
struct Thread {
    registers: [u32; 9],
    stored: Vec<u32>,
}

/// How a list of statements ends.
#[derive(PartialEq)]
enum End {
    Through,
    Break,
    Return,
}

impl Thread {
    fn value(&self, value: &Value) -> u32 {
        match value {
            Value::Register(register) => self.registers[usize::from(*register)],
            Value::Number(number) => *number as u32,
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        let left = self.registers[usize::from(condition.left)];
        compare(condition.comparison, left, self.value(&condition.right))
    }

    fn run(&mut self, statements: &[Statement]) -> End {
        for statement in statements {
            match statement {
                Statement::Compute { operation, result, left, right } => {
                    let left = self.registers[usize::from(*left)];
                    self.registers[usize::from(*result)] = compute(*operation, left, self.value(right));
                }
                Statement::Guarded { condition, operation, result, left, right } => {
                    if self.holds(condition) {
                        let left = self.registers[usize::from(*left)];
                        self.registers[usize::from(*result)] = compute(*operation, left, self.value(right));
                    }
                }
                Statement::If { condition, yes, no } => {
                    let end = if self.holds(condition) { self.run(yes) } else { self.run(no) };
                    if end != End::Through {
                        return end;
                    }
                }
                Statement::While { condition, most, body } => {
                    for _ in 0..*most {
                        if !self.holds(condition) {
                            break;
                        }
                        match self.run(body) {
                            End::Through => {}
                            End::Break => break,
                            End::Return => return End::Return,
                        }
                    }
                }
                Statement::Break(condition) => {
                    if self.holds(condition) {
                        return End::Break;
                    }
                }
                Statement::Return(condition) => {
                    if self.holds(condition) {
                        return End::Return;
                    }
                }
                Statement::Call { result, argument } => {
                    let argument = self.registers[usize::from(*argument)];
                    let value = if argument & 1 == 0 {
                        argument >> 1
                    } else {
                        argument.wrapping_mul(3).wrapping_add(1)
                    };
                    self.registers[usize::from(*result)] = value;
                }
                Statement::Store(register) => self.stored.push(self.registers[usize::from(*register)]),
            }
        }
        End::Through
    }
}

/// The same as PTX. Stores go to the thread's own row.
#[derive(Default)]
struct Writer {
    text: Text,
    counters: u32,
    ends: Vec<String>,
}

impl Writer {
    fn value(value: &Value) -> String {
        match value {
            Value::Register(register) => format!("%r{register}"),
            Value::Number(number) => number.to_string(),
        }
    }

    fn condition(&mut self, condition: &Condition) {
        let (comparison, right) =
            (COMPARISONS[usize::from(condition.comparison)], Self::value(&condition.right));
        self.text.line(&format!("setp.{comparison} %p1, %r{}, {right};", condition.left));
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Compute { operation, result, left, right } => {
                    let (operation, right) = (OPERATIONS[usize::from(*operation)], Self::value(right));
                    self.text.line(&format!("{operation} %r{result}, %r{left}, {right};"));
                }
                Statement::Guarded { condition, operation, result, left, right } => {
                    self.condition(condition);
                    let (operation, right) = (OPERATIONS[usize::from(*operation)], Self::value(right));
                    self.text.line(&format!("@%p1 {operation} %r{result}, %r{left}, {right};"));
                }
                Statement::If { condition, yes, no } => {
                    let (other, end) = (self.text.label(), self.text.label());
                    self.condition(condition);
                    self.text.line(&format!("@!%p1 bra {other};"));
                    self.statements(yes);
                    self.text.line(&format!("bra.uni {end};"));
                    self.text.line(&format!("{other}:"));
                    self.statements(no);
                    self.text.line(&format!("{end}:"));
                }
                Statement::While { condition, most, body } => {
                    let (head, end) = (self.text.label(), self.text.label());
                    let counter = self.counters;
                    self.counters += 1;
                    self.text.line(&format!("mov.b32 %c{counter}, 0;"));
                    self.text.line(&format!("{head}:"));
                    self.text.line(&format!("setp.ge.u32 %p2, %c{counter}, {most};"));
                    self.text.line(&format!("@%p2 bra {end};"));
                    self.text.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                    self.condition(condition);
                    self.text.line(&format!("@!%p1 bra {end};"));
                    self.ends.push(end.clone());
                    self.statements(body);
                    self.ends.pop();
                    self.text.line(&format!("bra.uni {head};"));
                    self.text.line(&format!("{end}:"));
                }
                Statement::Break(condition) => {
                    self.condition(condition);
                    let end = self.ends.last().cloned().unwrap_or_else(|| "END".to_owned());
                    self.text.line(&format!("@%p1 bra {end};"));
                }
                Statement::Return(condition) => {
                    self.condition(condition);
                    self.text.line("@%p1 bra END;");
                }
                Statement::Call { result, argument } => {
                    self.text.line("{");
                    self.text.line(".param .b32 param0;");
                    self.text.line(&format!("st.param.b32 [param0], %r{argument};"));
                    self.text.line(".param .b32 retval0;");
                    self.text.line("call.uni (retval0), collatz, (param0);");
                    self.text.line(&format!("ld.param.b32 %r{result}, [retval0];"));
                    self.text.line("}");
                }
                Statement::Store(register) => {
                    self.text.line(&format!("st.global.u32 [%rd1], %r{register};"));
                    self.text.line("add.u64 %rd1, %rd1, 4;");
                }
            }
        }
    }
}

/// Room for what a thread stores.
const ROW: usize = 2048;

/// Returns the program in PTX. The first `uniform` registers start with the same number in all threads.
fn text_of(program: &[Statement], uniform: u8) -> String {
    let mut writer = Writer::default();
    writer.statements(program);
    let counters = writer.counters;
    let mut text = format!(
        "{HEAD}
.func (.param .b32 result) collatz(.param .b32 value)
{{
	.reg .pred %p;
	.reg .b32 %r<3>;
	ld.param.b32 %r0, [value];
	and.b32 %r1, %r0, 1;
	setp.eq.u32 %p, %r1, 0;
	@%p bra EVEN;
	mad.lo.u32 %r2, %r0, 3, 1;
	st.param.b32 [result], %r2;
	ret;
EVEN:
	shr.u32 %r2, %r0, 1;
	st.param.b32 [result], %r2;
	ret;
}}
.visible .entry k(.param .u64 out)
{{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b32 %c<{}>;
	.reg .b64 %rd<3>;
	mov.u32 %r8, %tid.x;
	ld.param.u64 %rd1, [out];
	mul.wide.u32 %rd2, %r8, {};
	add.u64 %rd1, %rd1, %rd2;
",
        counters + 1,
        ROW * 4
    );
    for register in 0..REGISTERS {
        let factor = 7 * u32::from(register) + 1;
        if register < uniform {
            writeln!(text, "mov.u32 %r{register}, {factor};").expect("text");
        } else {
            writeln!(text, "mul.lo.u32 %r{register}, %r8, {factor};").expect("text");
        }
    }
    text + &writer.text.lines + "END:\nadd.u32 %r0, %r0, 5;\nst.global.u32 [%rd1], %r0;\nret;\n}\n"
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![(0..9u8).prop_map(Value::Register), (-4..70i32).prop_map(Value::Number)]
}

fn condition() -> impl Strategy<Value = Condition> {
    (0..4u8, 0..9u8, value()).prop_map(|(comparison, left, right)| Condition { comparison, left, right })
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let leaf = prop_oneof![
        4 => (0..6u8, 0..REGISTERS, 0..9u8, value())
            .prop_map(|(operation, result, left, right)| Statement::Compute { operation, result, left, right }),
        1 => (condition(), 0..6u8, 0..REGISTERS, 0..9u8, value()).prop_map(
            |(condition, operation, result, left, right)| {
                Statement::Guarded { condition, operation, result, left, right }
            }
        ),
        1 => condition().prop_map(Statement::Break),
        1 => condition().prop_map(Statement::Return),
        1 => (0..REGISTERS, 0..9u8).prop_map(|(result, argument)| Statement::Call { result, argument }),
        2 => (0..9u8).prop_map(Statement::Store),
    ];
    let statement = leaf.prop_recursive(4, 40, 6, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            (condition(), list(), list()).prop_map(|(condition, yes, no)| Statement::If {
                condition,
                yes,
                no
            }),
            (condition(), 1..5u8, list()).prop_map(|(condition, most, body)| Statement::While {
                condition,
                most,
                body
            }),
        ]
    });
    prop::collection::vec(statement, 1..12)
}

const THREADS: u32 = 48;

/// Generates programs and gives each, with its text, to the check.
fn generated(cases: u32, uniform: u8, check: impl Fn(&[Statement], &str) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&statements(), |program| check(&program, &text_of(&program, uniform)));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Compares what threads have stored with the machine of one thread at a time.
fn compare_with_threads(
    program: &[Statement],
    (text, uniform): (&str, u8),
    threads: u32,
    got: &[u32],
) -> Result<(), TestCaseError> {
    for number in 0..threads {
        let mut thread = Thread { registers: [0; 9], stored: Vec::new() };
        for register in 0..REGISTERS {
            let by = if register < uniform { 1 } else { number };
            thread.registers[usize::from(register)] = by.wrapping_mul(7 * u32::from(register) + 1);
        }
        thread.registers[8] = number;
        thread.run(program);
        thread.stored.push(thread.registers[0].wrapping_add(5));
        thread.stored.resize(ROW, 0);
        let row = &got[number as usize * ROW..][..ROW];
        prop_assert!(row == thread.stored.as_slice(), "thread {number}\n{text}");
    }
    Ok(())
}

/// Runs generated programs that are prepared in some way. Half of their registers start with the same number in all
/// threads, so that many branches are taken by whole warps.
pub(crate) fn against_threads(cases: u32, prepare: impl Fn(&Bench)) {
    const UNIFORM: u8 = 4;
    let threads = 64;
    generated(cases, UNIFORM, |program, text| {
        let bench = Bench::new(text);
        prepare(&bench);
        let out = bench.upload(&vec![0u32; threads as usize * ROW]);
        let outcome = bench.launch_with("k", &[out.into()], &mut (), |launch| launch.block = [threads, 1, 1]);
        prop_assert!(outcome.is_ok(), "{outcome:?}\n{text}");
        let got = bench.download::<u32>(out, threads as usize * ROW);
        compare_with_threads(program, (text, UNIFORM), threads, &got)
    });
}

/// Generates programs, as above, the last three of whose registers start with what is 4100 bytes behind each thread's first
/// word of `out`, and gives their texts to the check, with the bytes of a thread's row.
pub(crate) fn that_load(cases: u32, check: impl Fn(&str, u64)) {
    generated(cases, 4, |_, text| {
        let (start, rest) = text.split_once("mul.lo.u32 %r5,").expect("registers are set");
        let (_, rest) = rest.split_once("mul.lo.u32 %r7, %r8, 50;").expect("registers are set");
        let loads = [5, 6, 7]
            .map(|register| format!("ld.global.u32 %r{register}, [%rd1+{}];\n", 4080 + 4 * register));
        check(&format!("{start}{}{rest}", loads.concat()), ROW as u64 * 4);
        Ok(())
    });
}

#[test]
fn warps_do_what_each_thread_would() {
    generated(300, 0, |program, text| {
        let bench = Bench::new(text);
        let out = bench.upload(&vec![0u32; THREADS as usize * ROW]);
        let log = bench.watch("k", THREADS, &[out.into()]);
        // All ways lead to the end, so each warp comes there whole, and once: then an addition, a store and two returns.
        let last =
            bench.program.sites().iter().rposition(|site| &*site.opcode == "add.u32").expect("it") as u32;
        prop_assert_eq!(log.issued.get(&last), Some(&(2, u64::from(THREADS))), "{}", text);
        let got = bench.download::<u32>(out, THREADS as usize * ROW);
        compare_with_threads(program, (text, 0), THREADS, &got)
    });
}
