//! What people and programs see of records. Nothing here knows anything that a record does not say.

mod csv;
mod json;
mod table;

pub(crate) use self::{
    csv::csv,
    json::json_line,
    table::{comparison, table},
};
