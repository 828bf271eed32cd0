//! Checks that the results of atomics on one cell fit some sequential order.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

/// Each operation found one value and left another. Some order of all of them, in which each finds what the one before
/// left, leads from the first value to the last.
///
/// That is a path through a graph that uses each edge once, which there is if every value is left as often as it is found
/// but for the first and the last, and all hangs together.
pub(crate) fn check<T: Copy + Eq + Hash + Debug>(
    first: T,
    last: T,
    operations: &[(T, T)],
) -> Result<(), String> {
    let mut numbers = HashMap::new();
    let mut number = |value| {
        let next = numbers.len();
        *numbers.entry(value).or_insert(next)
    };
    let (start, end) = (number(first), number(last));
    let edges: Vec<(usize, usize)> =
        operations.iter().map(|&(old, new)| (number(old), number(new))).collect();
    let mut surplus = vec![0_i64; numbers.len()];
    surplus[start] += 1;
    surplus[end] -= 1;
    let mut parents: Vec<usize> = (0..numbers.len()).collect();
    fn root(parents: &mut [usize], mut value: usize) -> usize {
        while parents[value] != value {
            parents[value] = parents[parents[value]];
            value = parents[value];
        }
        value
    }
    for (old, new) in edges {
        surplus[old] -= 1;
        surplus[new] += 1;
        let (old, new) = (root(&mut parents, old), root(&mut parents, new));
        parents[old] = new;
    }
    let whole = root(&mut parents, start);
    for (value, &number) in &numbers {
        if surplus[number] != 0 {
            return Err(format!("{value:?} was left {} times more than found", surplus[number]));
        }
        if root(&mut parents, number) != whole {
            return Err(format!("{value:?} cannot be reached from {first:?}"));
        }
    }
    Ok(())
}

#[test]
fn an_order_is_found_or_not() {
    assert_eq!(check(0, 3, &[(2, 3), (0, 1), (1, 2)]), Ok(()));
    assert_eq!(check(0, 0, &[(0, 0), (0, 1), (1, 0)]), Ok(()));
    assert!(check(0, 2, &[(0, 1), (0, 1)]).is_err(), "a lost update");
    assert!(check(0, 1, &[(0, 1), (5, 5)]).is_err(), "a value from nowhere");
    assert!(check(0, 2, &[(0, 1)]).is_err(), "another last value");
}
