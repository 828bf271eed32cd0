//! The built-in cards: one file each in `crates/simt/cards`, in the form that users write.
//!
//! A comment above each group of figures gives their source; a figure that a file leaves out is taken over from the card
//! that it extends. Sources in short: *data sheet* or *white paper*, NVIDIA's; *driver* or *deviceQuery*, what the driver
//! reports on such a card; *guide*, CUDA C Programming Guide; *gpu-benches*, measurements published in
//! te42kyfo/gpu-benches; *records*, measurements in this repository, `docs/results/h200/records.jsonl`; *transpose*,
//! Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA", and the figures NVIDIA gives with it for later
//! cards; *estimate*, a guess by kinship or rule of thumb.

use super::card::Card;
use super::file::{CHANGED, CardFileError, UnknownCard, changed, read};
use std::sync::LazyLock;

macro_rules! files {
    ($($key:literal)*) => {
        [$(($key, include_str!(concat!("../../cards/", $key, ".toml"))),)*]
    };
}

/// Key and file of each built-in card, oldest first.
const FILES: [(&str, &str); 18] = files![
    "c870" "c1060" "gtx280" "c2050" "m2090" "k20x" "k40c" "v100" "t4" "rtx3090" "a100-40" "a100-80" "h100" "rtx4090"
    "l4" "h200" "b200" "rtx5090"
];

static CARDS: LazyLock<Vec<Card>> = LazyLock::new(|| FILES.map(|(key, text)| built_in(key, text)).into());

/// Returns all built-in cards, oldest first.
pub fn all() -> Vec<Card> {
    CARDS.clone()
}

/// Returns the card with this key, in upper or lower case.
///
/// # Errors
/// [`UnknownCard`] with all keys.
pub fn find(key: &str) -> Result<Card, UnknownCard> {
    let wanted = key.to_lowercase();
    CARDS.iter().find(|card| card.key == wanted).cloned().ok_or_else(|| unknown(key))
}

/// Reads a user's card file, which may extend a built-in card.
///
/// A card that extends another and states neither key nor name gets the key `custom` and the other's name followed by
/// ", changed". So does one that has the key of a built-in card and differs from it, since what is known of that card's times does not hold
/// for it.
///
/// # Errors
/// [`CardFileError`] with the line.
pub fn from_toml(text: &str) -> Result<Card, CardFileError> {
    let mut card = read(text, find)?;
    if let Ok(known) = find(&card.key)
        && known != card
    {
        card.key = CHANGED.to_owned();
        if card.name == known.name {
            card.name = changed(&known.name);
        }
    }
    Ok(card)
}

/// Returns the file of the built-in card with this key.
pub(super) fn file_of(key: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == key).map(|(_, text)| *text)
}

/// Reads a built-in card, and first the one that it extends.
///
/// # Panics
/// The file is wrong, which a test of this crate excludes.
fn built_in(key: &str, text: &str) -> Card {
    let base = |key: &str| match file_of(key) {
        Some(text) => Ok(built_in(key, text)),
        None => Err(unknown(key)),
    };
    let card = read(text, base).unwrap_or_else(|error| panic!("the built-in card {key}: {error}"));
    assert_eq!(card.key, key, "a built-in card has the key of its file");
    card
}

fn unknown(key: &str) -> UnknownCard {
    UnknownCard { wanted: key.to_owned(), keys: FILES.map(|(key, _)| key.to_owned()).into() }
}
