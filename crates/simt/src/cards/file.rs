//! Reads a user's own card from a TOML file: `extends = "h200"` and the differences, or all fields.

use super::card::{Card, Impossible, Stated};
use crate::coalescing::{CapabilityError, ComputeCapability};
use toml::Spanned;

/// The error that no built-in card has this key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no card \"{wanted}\" among {}{}", keys.join(", "), nearest::hint(wanted, keys))]
pub struct UnknownCard {
    /// The key requested.
    pub wanted: String,
    /// All keys.
    pub keys: Vec<String>,
}

/// Why a card file cannot be used. All but [`Syntax`](Self::Syntax) name the line themselves; TOML's own messages do
/// too.
#[derive(Debug, thiserror::Error)]
pub enum CardFileError {
    /// The file is not TOML, has an unknown key, or a value of the wrong type.
    #[error("card file: {0}")]
    Syntax(#[from] toml::de::Error),
    /// `extends` names an unknown card.
    #[error("card file, line {line}: extends: {cause}")]
    Extends {
        /// Line in the file, from 1.
        line: usize,
        /// The name, and the known cards.
        cause: UnknownCard,
    },
    /// The compute capability does not exist.
    #[error("card file, line {line}: compute_capability: {cause}")]
    Capability {
        /// Line in the file, from 1.
        line: usize,
        /// What is wrong with it.
        cause: CapabilityError,
    },
    /// A card that extends no other must state all fields.
    #[error("card file: without extends = \"...\" a card needs every value, and lacks {}", .0.join(", "))]
    Missing(Vec<&'static str>),
    /// A value is impossible.
    #[error("card file, line {line}: {cause}")]
    Impossible {
        /// Line in the file, from 1.
        line: usize,
        /// The field, and why.
        cause: Impossible,
    },
}

/// The key of a changed card that has none of its own.
pub(super) const CHANGED: &str = "custom";

/// Returns the name of a changed card.
pub(super) fn changed(name: &str) -> String {
    format!("{name}, changed")
}

/// Reads a card file, with the cards that it may extend.
///
/// # Errors
/// [`CardFileError`] with the line.
pub(super) fn read(
    text: &str,
    find: impl FnOnce(&str) -> Result<Card, UnknownCard>,
) -> Result<Card, CardFileError> {
    let line_at = |position: usize| text[..position].matches('\n').count() + 1;
    let stated: Stated = toml::from_str(text)?;
    let capability = stated
        .compute_capability
        .as_ref()
        .map(|text| {
            text.get_ref()
                .parse::<ComputeCapability>()
                .map_err(|cause| CardFileError::Capability { line: line_at(text.span().start), cause })
        })
        .transpose()?;
    let mut card = match &stated.extends {
        Some(key) => {
            let base = find(key.get_ref())
                .map_err(|cause| CardFileError::Extends { line: line_at(key.span().start), cause })?;
            Card { key: CHANGED.to_owned(), name: changed(&base.name), ..base }
        }
        None => {
            let mut missing = stated.missing();
            if stated.name.is_none() {
                missing.insert(0, "name");
            }
            if stated.key.is_none() {
                missing.insert(0, "key");
            }
            match capability {
                Some(capability) if missing.is_empty() => Card {
                    source: "card file".to_owned(),
                    calibration: "card file".to_owned(),
                    ..Card::blank(capability)
                },
                Some(_) => return Err(CardFileError::Missing(missing)),
                None => {
                    missing.insert(0, "compute_capability");
                    return Err(CardFileError::Missing(missing));
                }
            }
        }
    };
    if let Some(capability) = capability {
        card.compute_capability = capability;
    }
    let put = |stated: &Option<Spanned<String>>, field: &mut String| {
        if let Some(value) = stated {
            field.clone_from(value.get_ref());
        }
    };
    put(&stated.key, &mut card.key);
    put(&stated.name, &mut card.name);
    put(&stated.source, &mut card.source);
    put(&stated.calibration, &mut card.calibration);
    stated.change(&mut card);
    // The chain's clocks are those of the card that is extended; latencies that this file states replace them.
    if stated.extends.is_some() && stated.chain_clocks.is_none() && card.chain_clocks != [0.0; 4] {
        let clocks = |ns: &Spanned<f64>| ns.get_ref() * 1e-3 * card.clock_mhz;
        let [on_chip, l1, l2, dram] = card.chain_clocks;
        let l2 = stated.l2_latency_ns.as_ref().map_or(l2, clocks);
        let dram = stated.dram_latency_ns.as_ref().map_or(dram, clocks);
        card.chain_clocks = [on_chip, l1, l2, dram];
    }
    card.check().map_err(|cause| {
        // Built-in cards are possible, so at least one of the fields is stated here.
        let position = cause.fields.iter().find_map(|field| stated.position(field)).unwrap_or(0);
        CardFileError::Impossible { line: line_at(position), cause }
    })?;
    Ok(card)
}
