//! Rows that go from one end to another, as square matrices of their ends.

use crate::terminal::{self, unique, values, varying};
use record::{Bytes, Language, Measure, Record};

/// Fewer ends than these are as well told by bars.
const FEWEST: usize = 3;

/// The bandwidths between all ends, for one setting of the other parameters.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<'r> {
    /// The other parameters in which the matrices differ: `ways one`.
    pub(crate) label: String,
    /// The ends, in the order in which rows name them.
    pub(crate) ends: Vec<String>,
    /// Rows with the numbers of the end that they go to and the end that they come from. Where several rows, of several cards, have the same
    /// ends, this is the first that did not verify, or the fastest.
    pub(crate) rows: Vec<(usize, usize, &'r Record)>,
}

/// The matrices of the driver's rows over two parameters that name ends, and the rows that are in none.
pub(crate) fn matrices<'r>(rows: &[&'r Record], [to, from]: [&str; 2]) -> (Vec<Matrix<'r>>, Vec<&'r Record>) {
    let end = |row: &Record, name: &str| row.parameters.more.get(name)?.as_str().map(str::to_string);
    let is_paired = |row: &&Record| {
        row.language == Language::Driver && end(row, to).is_some() && end(row, from).is_some()
    };
    let (paired, others): (Vec<&Record>, Vec<&Record>) = rows.iter().copied().partition(is_paired);
    let ends = unique(paired.iter().flat_map(|row| [end(row, from), end(row, to)]).flatten());
    if ends.len() < FEWEST {
        return (Vec::new(), rows.to_vec());
    }
    let names: Vec<String> = varying(&paired).into_iter().filter(|name| name != to && name != from).collect();
    let of_one_size = paired.iter().all(|row| row.parameters.bytes == paired[0].parameters.bytes);
    let label = |row: &Record| {
        let size = (!of_one_size).then(|| Bytes(row.parameters.bytes).to_string());
        let told = names.iter().zip(values(row, &names)).map(|(name, value)| format!("{name} {value}"));
        told.chain(size).collect::<Vec<_>>().join(", ")
    };
    let place = |row: &Record, name| ends.iter().position(|known| Some(known) == end(row, name).as_ref());
    let matrix = |wanted: String| {
        let mut rows: Vec<(usize, usize, &Record)> = Vec::new();
        for row in paired.iter().copied().filter(|row| label(row) == wanted) {
            let (Some(x), Some(y)) = (place(row, to), place(row, from)) else { continue };
            match rows.iter_mut().find(|(of_x, of_y, _)| (*of_x, *of_y) == (x, y)) {
                Some((.., known)) if known.verified && (!row.verified || figure(row) > figure(known)) => {
                    *known = row;
                }
                Some(_) => {}
                None => rows.push((x, y, row)),
            }
        }
        Matrix { label: wanted, ends: ends.clone(), rows }
    };
    (unique(paired.iter().map(|row| label(row))).into_iter().map(matrix).collect(), others)
}

/// The least and the greatest figure of matrices.
pub(crate) fn bounds(matrices: &[Matrix<'_>]) -> [f64; 2] {
    let rows = matrices.iter().flat_map(|matrix| &matrix.rows);
    terminal::bounds(rows.map(|(.., row)| figure(row)))
}

/// A row's bandwidth; 0 if it has none.
fn figure(row: &Record) -> f64 {
    Measure::Bandwidth.of(row).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::{Parameters, Precision};

    fn copy(from: &str, to: &str, ways: &str, gb_per_s: f64) -> Record {
        let row = row(0, Precision::F32, Some(1.0));
        let parameters = Parameters { swept: None, precision: None, ..row.parameters.clone() };
        let parameters = parameters.with("from", from).with("to", to).with("ways", ways);
        let (kernel, language) = ("link_driver".to_string(), Language::Driver);
        Record { kernel, language, parameters, gb_per_s: Some(gb_per_s), ..row }
    }

    #[test]
    fn rows_of_all_cards_are_one_matrix_for_each_setting() {
        let rows = [
            copy("host", "card 0", "one", 55.0),
            copy("card 0", "host", "one", 54.0),
            copy("card 0", "card 1", "one", 388.0),
            copy("card 0", "card 1", "both", 731.0),
            copy("card 0", "card 1", "one", 371.0),
            Record { language: Language::Rust, ..copy("card 0", "card 1", "one", 361.0) },
        ];
        let rows: Vec<&Record> = rows.iter().collect();
        let (of, others) = matrices(&rows, ["to", "from"]);
        let texts: Vec<_> = of
            .iter()
            .map(|matrix| {
                let figures = matrix.rows.iter().map(|(x, y, row)| (*x, *y, row.gb_per_s.unwrap_or(0.0)));
                (matrix.label.as_str(), figures.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            texts,
            [
                ("ways one", vec![(1, 0, 55.0), (0, 1, 54.0), (2, 1, 388.0)]),
                ("ways both", vec![(2, 1, 731.0)])
            ]
        );
        assert_eq!((of[0].ends.join(" "), others.len()), ("host card 0 card 1".to_string(), 1));
        assert_eq!(bounds(&of), [54.0, 731.0]);
    }

    #[test]
    fn a_row_that_did_not_verify_is_not_hidden_by_another() {
        let wrong = Record { verified: false, gb_per_s: None, ..copy("card 0", "card 1", "one", 0.0) };
        let rows = [copy("host", "card 0", "one", 55.0), copy("card 0", "card 1", "one", 388.0), wrong];
        let rows: Vec<&Record> = rows.iter().collect();
        let (of, _) = matrices(&rows, ["to", "from"]);
        assert!(!of[0].rows[1].2.verified);
    }

    #[test]
    fn two_ends_are_no_matrix() {
        let rows = [copy("host", "card 0", "one", 55.0), copy("card 0", "host", "one", 54.0)];
        let (of, others) = matrices(&rows.iter().collect::<Vec<_>>(), ["to", "from"]);
        assert_eq!((of.len(), others.len()), (0, 2));
    }
}
