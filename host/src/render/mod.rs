//! What people and programs see of records. Nothing here knows anything that a record does not say.

mod cards;
mod counters;
mod csv;
mod figures;
mod json;
mod layout;
mod lessons;
mod remarks;
mod summary;
mod table;

pub(crate) use self::{
    cards::cards,
    csv::csv,
    json::json_line,
    summary::summary,
    table::{Shown, comparison, table},
};
