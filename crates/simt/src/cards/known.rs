//! The built-in cards, which are written down in [`tesla_to_kepler`](old) and [`volta_to_hopper`](new). There, behind
//! each figure stands its source; what has no source is an estimate and says so.
//!
//! Sources in short: *sheet*, NVIDIA's data sheet or board specification; *query*, what `deviceQuery` or the driver
//! reports on such a card; *guide*, CUDA C Programming Guide; *gpu-benches*, measurements published in
//! te42kyfo/gpu-benches; *records*, measurements in this repository, `docs/results/h200/records.jsonl`; *transpose*,
//! Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA", and the figures NVIDIA gives with it for later
//! cards; *estimate*, a guess by kinship or rule of thumb.

use super::card::Card;
use super::{tesla_to_kepler as old, volta_to_hopper as new};

/// No built-in card has this key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no card \"{wanted}\"; nearest is \"{nearest}\", and there are {}", keys.join(", "))]
pub struct UnknownCard {
    /// What was asked for.
    pub wanted: String,
    /// The key most like it.
    pub nearest: String,
    /// All keys.
    pub keys: Vec<String>,
}

/// All built-in cards, oldest first.
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

/// The card with this key; capitals do not matter.
///
/// # Errors
/// [`UnknownCard`] with the nearest key and all others.
pub fn find(key: &str) -> Result<Card, UnknownCard> {
    let wanted = key.to_lowercase();
    let cards = all();
    if let Some(card) = cards.iter().find(|card| card.key == wanted) {
        return Ok(card.clone());
    }
    let keys: Vec<String> = cards.into_iter().map(|card| card.key).collect();
    let nearest = keys.iter().min_by_key(|known| edits(&wanted, known)).cloned().unwrap_or_default();
    Err(UnknownCard { wanted: key.to_owned(), nearest, keys })
}

/// Insertions, deletions and replacements that make one word of another.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
