//! Published figures beside those of a run, for the constants of the [atlas](crate::pages::atlas) that an experiment measures.

use crate::pages::atlas::{Atlas, Beside};
use record::Record;
use std::sync::LazyLock;

/// The atlas of this repository, and the card whose figures are the model's.
const CONSTANTS: &str = include_str!("../../../docs/results/h200/atlas.toml");
const CARD: &str = include_str!("../../simt/cards/h200.toml");

/// Compares the rows of an experiment with the published figures of the constants that it measures.
pub(crate) fn beside(rows: &[&Record]) -> Vec<Beside> {
    static ATLAS: LazyLock<Option<(Atlas, toml::Table)>> =
        LazyLock::new(|| Some((Atlas::read(CONSTANTS).ok()?, toml::from_str(CARD).ok()?)));
    let (Some(first), Some((atlas, card))) = (rows.first(), ATLAS.as_ref()) else { return Vec::new() };
    let values = || rows.iter().filter_map(|row| serde_json::to_value(row).ok()).collect();
    atlas.beside(&first.experiment, values, card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::Precision;
    use serde_json::json;

    #[test]
    fn a_run_stands_beside_the_literature() {
        let mut chain = row(0, Precision::F32, Some(0.2));
        chain.experiment = "latency".to_string();
        chain.kernel = "chase_cached".to_string();
        chain.parameters = chain.parameters.with("footprint", 32768);
        chain.observed.insert("cycles".to_string(), json!(33.0));
        let found = beside(&[&chain]);
        let l1 = found.iter().find(|line| line.name.starts_with("L1: latency")).expect("the atlas has it");
        assert_eq!(
            (l1.name.as_str(), l1.here.as_deref(), l1.model.as_deref()),
            ("L1: latency of a dependent load, clocks", Some("33"), Some("32"))
        );
        assert!(l1.published.starts_with("34.2 (H100 PCIe, gpu-benches)"), "{}", l1.published);
        // It measures no other constant.
        assert!(found.iter().filter(|line| line.here.is_some()).count() == 1 && found.len() > 5, "{found:?}");
        // Any card stands there, but no wrong result, and no twin.
        chain.device.name = "NVIDIA T4".to_string();
        assert!(beside(&[&chain]).iter().any(|line| line.here.as_deref() == Some("33")));
        chain.verified = false;
        assert!(beside(&[&chain]).iter().all(|line| line.here.is_none()));
        chain.experiment = "copy_of_nothing".to_string();
        assert!(beside(&[&chain]).is_empty() && beside(&[]).is_empty());
    }
}
