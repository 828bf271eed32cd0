//! Every reader of opcodes refuses a word that it does not know, and names it.

use super::{Op, arithmetic, control, copies, matrix, memory, wgmma};

/// Wherever a word is put in, or in another's stead, the refusal names it.
#[test]
fn an_unknown_word_is_named_wherever_it_stands() {
    let examples = [
        arithmetic::EXAMPLES,
        control::EXAMPLES,
        copies::EXAMPLES,
        matrix::EXAMPLES,
        memory::EXAMPLES,
        wgmma::EXAMPLES,
    ];
    let mut refused = 0;
    for opcode in examples.into_iter().flatten() {
        let op = Op::read(opcode).unwrap_or_else(|error| panic!("{error}"));
        assert!(!matches!(op, Op::Other { .. }), "{opcode}");
        let words: Vec<&str> = opcode.split('.').collect();
        for place in 1..=words.len() {
            for replaced in 0..=usize::from(place < words.len()) {
                let (before, behind) = (&words[..place], &words[place + replaced..]);
                let changed = [before, &["wrong"], behind].concat().join(".");
                match Op::read(&changed) {
                    // A form of which this crate does not read the modifiers.
                    Ok(Op::Other { .. }) => {}
                    Ok(op) => panic!("{changed} is {op:?}"),
                    Err(error) => {
                        let message = error.to_string();
                        let reason = message.strip_prefix(&*changed).unwrap_or_else(|| panic!("{message}"));
                        assert!(reason.contains(".wrong"), "{message}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}
