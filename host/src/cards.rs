//! The simulated cards as a table, and under it where their figures are from.

use crate::{simulated::Card, sizes::Bytes};
use report::terminal::{
    Style,
    layout::{Table, hanging},
};
use std::fmt::Write;

/// The list of simulated cards, as text.
pub(crate) fn cards(cards: &[Card]) -> String {
    let header =
        ["--device", "name", "capability", "SMs", "MHz", "memory", "L2", "peak\nGB/s", "host link\nGB/s"];
    let mut table = Table::new(header.map(str::to_string).to_vec(), 2);
    for card in cards {
        let l2 = if card.l2_bytes == 0 { "none".to_string() } else { Bytes(card.l2_bytes).to_string() };
        table.add(vec![
            format!("sim:{}", card.key),
            card.name.clone(),
            card.compute_capability.to_string(),
            card.multiprocessors.to_string(),
            format!("{:.0}", card.clock_mhz),
            Bytes(card.memory_bytes).to_string(),
            l2,
            format!("{:.1}", card.dram_gb_per_s),
            format!("{:.1}", card.host_link_gb_per_s),
        ]);
    }
    let mut text = format!(
        "simulated cards: the same PTX runs, and is checked and counted, on this computer; times are modelled\n\n{}\n\n\
         Where the figures are from, and what the model is fitted to (`coalesce devices CARD` prints all):\n",
        table.text(Style::FILE),
    );
    for card in cards {
        let from = format!("{}: {}. Calibration: {}.", card.key, card.source, card.calibration);
        let _ = writeln!(text, "{}", hanging(&from, Style::FILE.width, 2));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated;

    #[test]
    fn every_card_is_listed_with_its_figures_within_100_columns() {
        let all = simulated::all();
        let text = cards(&all);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 100), "{widest:?} columns:\n{text}");
        for card in &all {
            let start = format!("sim:{} ", card.key);
            let row = text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{text}"));
            assert!(
                row.contains(&card.name) && row.contains(&format!(" {:.1} ", card.dram_gb_per_s)),
                "{row}"
            );
            assert!(text.contains(&format!("\n{}: ", card.key)), "{text}");
        }
        assert!(text.contains("sim:c870 ") && text.contains(" none "), "{text}");
    }
}
