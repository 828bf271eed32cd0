//! Finds the slow cards among thousands, from their records.
//!
//! [`Records::read`] streams the files that the ranks of a run wrote and keeps eight bytes per row. [`judge()`] compares the
//! cards of each kind with each other, each card with itself over passes, and its rows with its own clock and peak, and
//! names the [`Component`] that slow rows point to. The result is a [`Report`], which is JSON, Prometheus's text format, or
//! what the crate `report` draws of it. Nothing here measures or knows a driver.
//!
//! [`judge`](mod@judge) explains the arithmetic; [`simulate`] makes fleets with known faults, by which it is judged itself.
//!
//! ```
//! use fleet::{Component, Fault, Records, Thresholds, judge, simulate::{Fleet, Injected}};
//!
//! // 64 cards, eight in a machine, of which one lost 5% of its device memory's bandwidth.
//! let fleet = Fleet { cards: 64, ..Fleet::default() }.with_fault(9, Injected::HbmLoss);
//! let texts: Vec<(String, String)> = fleet.files().collect();
//! let records = Records::of_texts(texts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())));
//! let report = judge(&records, Thresholds::default());
//! assert_eq!(report.findings.len(), 1);
//! assert_eq!(report.findings[0].fault, Fault::Slow(Component::Hbm));
//! assert_eq!(report.findings[0].cards[0].rank, Some(9));
//! ```

mod component;
mod data;
mod error;
pub mod judge;
mod line;
mod prometheus;
mod read;
mod report;
pub mod robust;
pub mod simulate;
mod trouble;

pub use component::Component;
pub use data::{CardName, Kind};
pub use error::FleetError;
pub use judge::{FEWEST_CARDS, Thresholds, judge};
pub use prometheus::prometheus;
pub use read::{Reader, Records};
pub use report::{CardReport, Fault, Finding, Group, Histogram, Pattern, Report, RowReport, SCHEMA};
pub use trouble::Trouble;
