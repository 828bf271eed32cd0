//! Text for a terminal, made from records alone.
//!
//! An experiment is a screen: what it is about, a picture, what the picture shows, and the few rows that carry it. With
//! [`Shown::verbose`] it is its whole table instead.

mod bars;
mod canvas;
mod cards;
mod carrying;
mod counters;
mod figures;
mod fleet;
mod head;
mod height;
pub mod layout;
mod lessons;
mod library;
mod map;
mod plot;
mod ratios;
mod remarks;
mod screen;
mod series;
mod setting;
mod style;
mod summary;
mod table;

pub use self::{
    cards::side_by_side,
    fleet::{fleet, fleet_verdict},
    head::head,
    ratios::comparison,
    screen::section,
    style::{LEAST, Style},
    summary::{Written, summary},
};

pub(crate) use figures::{bounds, reach};
pub(crate) use setting::{values, varying};
pub(crate) use style::Ink;
pub(crate) use table::unique;

#[cfg(test)]
pub(crate) use setting::tests;

use crate::Catalog;
use record::{Record, Run};

/// How records are shown, and what beside their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The width, the characters and the colours.
    pub style: Style,
    /// All rows with all their figures, and all that is known of the card.
    pub verbose: bool,
    /// The counters of each row.
    pub counters: bool,
    /// The counters of each line of the kernels' source.
    pub lines: bool,
    /// The explanation of each row.
    pub explanations: bool,
}

/// Everything that the records of a run say, as text.
pub fn table(records: &[Record], run: &Run, catalog: &Catalog, shown: Shown) -> String {
    if records.is_empty() {
        return "no records\n".to_string();
    }
    let mut text = head(run, shown);
    for rows in experiments(records) {
        text.push_str(&section(&rows, catalog, shown));
    }
    text
}

/// The rows of each experiment, in the order in which they come first.
pub fn experiments(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut experiments: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match experiments.iter_mut().find(|rows| rows[0].experiment == record.experiment) {
            Some(rows) => rows.push(record),
            None => experiments.push(vec![record]),
        }
    }
    experiments
}
