//! The built-in cards, which are defined in [`tesla_to_kepler`](old) and [`volta_to_hopper`](new). A comment beside
//! each figure gives its source; figures without one are estimates and marked so.
//!
//! Sources in short: *sheet*, NVIDIA's data sheet or board specification; *query*, what `deviceQuery` or the driver
//! reports on such a card; *guide*, CUDA C Programming Guide; *gpu-benches*, measurements published in
//! te42kyfo/gpu-benches; *records*, measurements in this repository, `docs/results/h200/records.jsonl`; *transpose*,
//! Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA", and the figures NVIDIA gives with it for later
//! cards; *estimate*, a guess by kinship or rule of thumb.

use super::card::Card;
use super::{tesla_to_kepler as old, volta_to_hopper as new};

/// The error that no built-in card has this key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no card \"{wanted}\" among {}{}", keys.join(", "), nearest::hint(wanted, keys))]
pub struct UnknownCard {
    /// The key requested.
    pub wanted: String,
    /// All keys.
    pub keys: Vec<String>,
}

/// Returns all built-in cards, oldest first.
pub fn all() -> Vec<Card> {
    vec![
        old::c870(),
        old::c1060(),
        old::gtx280(),
        old::c2050(),
        old::m2090(),
        old::k20x(),
        old::k40c(),
        new::v100(),
        new::rtx3090(),
        new::a100_40(),
        new::a100_80(),
        new::h100(),
        new::h200(),
    ]
}

/// Returns the card with this key, in upper or lower case.
///
/// # Errors
/// [`UnknownCard`] with all keys.
pub fn find(key: &str) -> Result<Card, UnknownCard> {
    let wanted = key.to_lowercase();
    let cards = all();
    if let Some(card) = cards.iter().find(|card| card.key == wanted) {
        return Ok(card.clone());
    }
    let keys: Vec<String> = cards.into_iter().map(|card| card.key).collect();
    Err(UnknownCard { wanted: key.to_owned(), keys })
}
