//! `mov`: registers, parts of registers, immediates, and results that nobody wants.

use crate::alu_support::{Decoded, Kind, Machine, check, levels};
use simt::internals::decode::{DecodeError, Level};

#[test]
fn whole_registers() {
    for name in ["b16", "u16", "s16"] {
        check(&format!("mov.{name} %h0, %h1;"), &[Kind::Integer(16)], |row| [row[0]]);
    }
    for name in ["b32", "u32", "s32", "f32"] {
        check(&format!("mov.{name} %r0, %r1;"), &[Kind::Integer(32)], |row| [row[0]]);
    }
    for name in ["b64", "u64", "s64", "f64"] {
        check(&format!("mov.{name} %d0, %d1;"), &[Kind::Integer(64)], |row| [row[0]]);
    }
    check("mov.pred %p0, %p1;", &[Kind::Predicate], |row| [row[0]]);
    for level in levels() {
        let mut machine = Machine::new("mov.b128 %q0, %q1;", level);
        let lanes = std::array::from_fn(|lane| (lane as u128) << 100 | 0x0123_4567_89AB_CDEF_0011);
        machine.set("%q1", &lanes);
        machine.run(0x00FF_00FF);
        let found = machine.get("%q0");
        for lane in 0..32 {
            assert_eq!(found[lane], if lane % 16 < 8 { lanes[lane] } else { 0 });
        }
        for (text, name, wanted) in [
            ("mov.f32 %r0, 0f3F800000;", "%r0", 0x3F80_0000u128),
            ("mov.b32 %r0, -7;", "%r0", 0xFFFF_FFF9),
            ("mov.u64 %d0, -1;", "%d0", 0xFFFF_FFFF_FFFF_FFFF),
            ("mov.f64 %d0, 1.5;", "%d0", 0x3FF8_0000_0000_0000),
            ("mov.pred %p0, 1;", "%p0", 1),
        ] {
            let mut machine = Machine::new(text, level);
            machine.run(u32::MAX);
            assert_eq!(machine.get(name), [wanted; 32], "{text}");
        }
        let mut machine = Machine::new("mov.u32 %r0, %laneid;", level);
        machine.run(u32::MAX);
        assert_eq!(machine.get("%r0"), std::array::from_fn(|lane| lane as u128));
    }
}

#[test]
fn parts_make_a_register() {
    check("mov.b16 %h0, {%h1, %h2};", &[Kind::Integer(16); 2], |row| [row[0] & 0xFF | (row[1] & 0xFF) << 8]);
    check("mov.b32 %r0, {%h1, %h2};", &[Kind::Integer(16); 2], |row| [row[0] | row[1] << 16]);
    check("mov.b32 %r0, {%h1, %h2, %h3, %h4};", &[Kind::Integer(16); 4], |row| {
        [row.iter().rev().fold(0, |whole, part| whole << 8 | part & 0xFF)]
    });
    check("mov.b64 %d0, {%r1, %r2};", &[Kind::Integer(32); 2], |row| [row[0] | row[1] << 32]);
    check("mov.b64 %d0, {%h1, %h2, %h3, %h4};", &[Kind::Integer(16); 4], |row| {
        [row.iter().rev().fold(0, |whole, part| whole << 16 | part)]
    });
    check("mov.b128 %q0, {%d1, %d2};", &[Kind::Integer(64); 2], |row| [row[0] | row[1] << 64]);
    check("mov.b128 %q0, {%r1, %r2, %r3, %r4};", &[Kind::Integer(32); 4], |row| {
        [row.iter().rev().fold(0, |whole, part| whole << 32 | part)]
    });
    check("mov.b64 %d0, {%r1, 7};", &[Kind::Integer(32)], |row| [row[0] | 7 << 32]);
}

#[test]
fn a_register_falls_apart() {
    check("mov.b32 {%h0, %h1}, %r2;", &[Kind::Integer(32)], |row| [row[0] & 0xFFFF, row[0] >> 16]);
    check("mov.b16 {%h0, %h1}, %h2;", &[Kind::Integer(16)], |row| [row[0] & 0xFF, row[0] >> 8]);
    check("mov.b64 {%r0, %r1}, %d2;", &[Kind::Integer(64)], |row| [row[0] & 0xFFFF_FFFF, row[0] >> 32]);
    check("mov.b32 {%h0, %h1, %h2, %h3}, %r4;", &[Kind::Integer(32)], |row| {
        [0, 8, 16, 24].map(|place| row[0] >> place & 0xFF)
    });
    check("mov.b64 {%h0, %h1, %h2, %h3}, %d4;", &[Kind::Integer(64)], |row| {
        [0, 16, 32, 48].map(|place| row[0] >> place & 0xFFFF)
    });
    for level in levels() {
        // The first part is not wanted.
        let mut machine = Machine::new("mov.b64 {_, %r1}, %d2;", level);
        machine.set("%d2", &[0x1234_5678_9ABC_DEF0; 32]);
        machine.run(u32::MAX);
        assert_eq!(machine.get("%r1"), [0x1234_5678; 32]);
        let mut machine = Machine::new("mov.b128 {%d0, %d1}, %q2;", level);
        machine.set("%q2", &[5 << 64 | 9; 32]);
        machine.run(u32::MAX);
        assert_eq!((machine.get("%d0"), machine.get("%d1")), ([9; 32], [5; 32]));
        let mut machine = Machine::new("mov.b128 {%r0, %r1, %r2, %r3}, %q4;", level);
        machine.set("%q4", &[4 << 96 | 3 << 64 | 2 << 32 | 1; 32]);
        machine.run(u32::MAX);
        for (index, name) in ["%r0", "%r1", "%r2", "%r3"].into_iter().enumerate() {
            assert_eq!(machine.get(name), [index as u128 + 1; 32]);
        }
    }
}

/// Liveness and the tracking of undefined registers depend on it.
#[test]
fn what_is_read_and_written_is_told() {
    for (text, results, sources) in [
        ("add.s32 %r0, %r1, %r2;", &["%r0"][..], &["%r1", "%r2"][..]),
        ("mov.b64 {%h0, %h1, %h2, %h3}, %d4;", &["%h0", "%h1", "%h2", "%h3"], &["%d4"]),
        ("mov.b32 %r0, {%h1, %h2, %h3, %h4};", &["%r0"], &["%h1", "%h2", "%h3", "%h4"]),
        ("setp.gt.and.s32 %p0|%p1, %r1, %r2, !%p2;", &["%p0", "%p1"], &["%r1", "%r2", "%p2"]),
        ("set.gt.u32.s32 %r0, %r1, %r2;", &["%r0"], &["%r1", "%r2"]),
        ("shfl.sync.up.b32 %r0|%p0, %r1, %r2, %r3, %r4;", &["%r0", "%p0"], &["%r1", "%r2", "%r3", "%r4"]),
        ("activemask.b32 %r0;", &["%r0"], &[]),
    ] {
        let machine = Machine::new(text, Level::Portable);
        let (mut written, mut read): (Vec<_>, Vec<_>) = match &machine.decoded {
            Decoded::Arithmetic(arithmetic) => {
                (arithmetic.results().collect(), arithmetic.sources().collect())
            }
            Decoded::Collective(collective) => {
                (collective.results().collect(), collective.sources().collect())
            }
        };
        let slots = |names: &[&str]| {
            let mut slots: Vec<_> = names.iter().map(|name| machine.registers.slot(name)).collect();
            slots.sort_by_key(|slot| slot.cell);
            slots
        };
        written.sort_by_key(|slot| slot.cell);
        read.sort_by_key(|slot| slot.cell);
        assert_eq!(written, slots(results), "{text}");
        assert_eq!(read, slots(sources), "{text}");
    }
}

#[test]
fn operands_that_do_not_fit_are_named() {
    for (text, what) in [
        ("mov.b32 %r0, %r1, %r2;", "takes 2 operands, has 3"),
        ("set.gt.u32.s64 %d0, %d1, %d2;", "needs a register of up to 32 bits"),
        ("set.gt.u32.s64 %r0, %d1, %r2;", "needs a 64-bit register"),
        ("mov.b64 %d0, {%r1, %r2, %r3};", "is not made up of 3 parts"),
        ("lop3.b32 %r0, %r1, %r2, %r3, 256;", "from 0 to 255"),
        ("cvt.u32.u64 %r0, !%p1;", "`!` before an operand that is not a predicate"),
    ] {
        match Machine::try_new(text, Level::Portable) {
            Err(DecodeError::Operands { opcode, what: found }) => {
                assert!(text.starts_with(&opcode) && found.contains(what), "{text}: {found}");
            }
            Err(other) => panic!("{text}: {other}"),
            Ok(_) => panic!("{text}: accepted"),
        }
    }
}
