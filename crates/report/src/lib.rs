//! Everything that people see of records: tables in the terminal, pages, comparisons of runs, and the tables of the documents.
//!
//! All of it is made from [`record::Record`]s and from the [`Catalog`], which says what the laboratory knows of its lessons and
//! kernels beside them. Nothing here measures, simulates or knows a driver.

mod catalog;
pub mod diff;
mod expected;
pub mod explain;
pub mod explanation;
pub mod html;
mod literature;
mod matrix;
pub mod pages;
pub mod terminal;
#[cfg(test)]
mod testing;

pub use catalog::{Article, Catalog, CodeLine, KernelText, Lesson, Picture, Place};
