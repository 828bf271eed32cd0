//! Data kept of the records: eight bytes per row and pass, and a description per card, row and kind.

use crate::{component::Component, line::Figure};
use record::Backend;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// One time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    /// The row, as the fleet numbers them.
    pub(crate) row: u16,
    /// The pass, as the fleet numbers them over all runs.
    pub(crate) pass: u16,
    /// The natural logarithm of the median time in milliseconds.
    pub(crate) log_ms: f32,
}

/// A card with all of its times.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) name: CardName,
    /// The kind, as the fleet numbers them.
    pub(crate) kind: u16,
    pub(crate) values: Vec<Value>,
    /// Rows that did not verify.
    pub(crate) invalid: Vec<u16>,
    /// Rows without a time that are no failure.
    pub(crate) untimed: u32,
    pub(crate) peak_gb_per_s: Option<f64>,
    /// The least and the greatest clock of the SMs over its rows.
    pub(crate) clocks_mhz: Option<[f64; 2]>,
    pub(crate) clocks_are_set: bool,
}

/// A card by its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct CardName {
    /// The machine; of records without an origin the file.
    pub host: String,
    /// The card's number, as `--device` takes it.
    pub ordinal: u32,
    /// The rank that measured it, of several runs the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The card's UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl std::fmt::Display for CardName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rank = self.rank.map(|rank| format!(" (rank {rank})")).unwrap_or_default();
        f.pad(&format!("{} cuda:{}{rank}", self.host, self.ordinal))
    }
}

/// A kind of cards that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Kind {
    /// The name that the driver gives such cards.
    pub device: String,
    /// Their multiprocessors: a MIG instance is another kind than the whole card.
    pub multiprocessors: u32,
    /// Whether times are measured or modelled.
    pub backend: Backend,
    /// The version of the program that measured them; empty in records without an origin.
    pub version: String,
}

/// A row that cards have in common.
#[derive(Clone, Debug)]
pub(crate) struct RowKey {
    pub(crate) experiment: String,
    pub(crate) kernel: String,
    pub(crate) label: String,
    pub(crate) component: Option<Component>,
    pub(crate) figure: Figure,
}

/// Numbers for things that many threads meet again and again.
#[derive(Debug)]
pub(crate) struct Interner<K, V> {
    known: RwLock<(HashMap<K, u16>, Vec<V>)>,
}

impl<K, V> Default for Interner<K, V> {
    fn default() -> Self {
        Interner { known: RwLock::new((HashMap::new(), Vec::new())) }
    }
}

impl<K: std::hash::Hash + Eq, V> Interner<K, V> {
    /// The number of `key`; a new one gets the value of `make`. `None` beyond the 65,536th.
    pub(crate) fn number<Q>(&self, key: &Q, make: impl FnOnce() -> V) -> Option<u16>
    where
        K: std::borrow::Borrow<Q>,
        Q: std::hash::Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = known.0.get(key) {
            return Some(number);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been first.
        if let Some(&number) = known.0.get(key) {
            return Some(number);
        }
        let number = u16::try_from(known.1.len()).ok()?;
        known.1.push(make());
        known.0.insert(key.to_owned(), number);
        Some(number)
    }

    /// The values by their numbers.
    pub(crate) fn into_values(self) -> Vec<V> {
        self.known.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}
