//! What a launch's counters come to on a card: the model's input, its time, and sums by source line.

use crate::cards::Card;
use crate::exec::SiteInfo;
use crate::model::{Counters, LaunchTime, Touched};
use counters::{Access, Counts, DramCounts, LaunchCounters};
use std::collections::BTreeMap;
use std::sync::Arc;

impl From<DramCounts> for Touched {
    fn from(counts: DramCounts) -> Self {
        Self { granules: counts.granules as f64, lines: counts.lines as f64, pages: counts.pages as f64 }
    }
}

/// A line of the user's source: file and line. `None` where no line is known.
pub type SourcePlace = Option<(Arc<str>, u32)>;

/// The line that an instruction comes from.
fn place(sites: &[SiteInfo], site: u32) -> SourcePlace {
    let place = sites.get(site as usize)?.user_line()?;
    Some((place.file.clone(), place.line))
}

/// Counters of a launch on the card that they were counted for.
pub trait Modelled {
    /// What the [model](crate::model) takes.
    fn model(&self) -> Counters;

    /// The modelled time on the card that was counted for.
    fn time(&self, card: &Card) -> LaunchTime;

    /// The share of the bytes that loads asked of L2 which L2 had, 0 where DRAM's granules make it negative or where
    /// there is nothing to ask.
    fn l2_hit_share(&self, card: &Card) -> f64;

    /// Sums by line of the user's source; `None` has what no line is known of.
    fn by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, Counts>;

    /// The worst request of each line of the user's source: of its instructions' the dearest, of equals the first.
    fn worst_by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, &Access>;
}

impl Modelled for LaunchCounters {
    fn model(&self) -> Counters {
        let total = &self.total;
        let memory = total.global() + total.local_loads + total.local_stores;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Counters {
            blocks: self.blocks as f64,
            warps: self.warps as f64,
            resident_warps: f64::from(self.resident_warps),
            round_trips: self.round_trips,
            barriers: share(total.barriers, self.blocks),
            // Counters that were written down before there were slots have none.
            instructions: if self.issue_slots == 0 { total.instructions } else { self.issue_slots } as f64,
            integer: self.integer_slots as f64,
            requests: memory.requests as f64,
            straddling: memory.straddling as f64,
            l1_turns: memory.turns as f64,
            l1_hit_share: share(total.loads.requests_in_l1, total.loads.requests),
            lines_a_load: share(total.loads.lines, total.loads.requests),
            stores: total.stores.requests as f64,
            rewritten: total.stores.rewritten as f64,
            constant_turns: (total.constant.requests + total.constant.replays) as f64,
            l2_sectors_read: self.l2_sectors_read as f64,
            l2_sectors_written: self.l2_sectors_written as f64,
            dram_read: self.dram_read.into(),
            dram_written: self.dram_written.into(),
            camping_read: self.camping_read,
            camping_written: self.camping_written,
            shared_wavefronts: total.shared().wavefronts as f64,
            phased: self.phased,
        }
    }

    fn time(&self, card: &Card) -> LaunchTime {
        LaunchTime::new(&self.model(), card)
    }

    fn l2_hit_share(&self, card: &Card) -> f64 {
        if self.l2_sectors_read == 0 || card.l2_bytes == 0 {
            return 0.0;
        }
        (1.0 - self.dram_read.bytes(card.dram_granule_bytes) as f64 / (self.l2_sectors_read * 32) as f64)
            .max(0.0)
    }

    fn by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, Counts> {
        self.grouped(|site| place(sites, site))
    }

    fn worst_by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, &Access> {
        let mut worst: BTreeMap<SourcePlace, &Access> = BTreeMap::new();
        for access in &self.worst {
            let known = worst.entry(place(sites, access.site)).or_insert(access);
            if access.cost() > known.cost() {
                *known = access;
            }
        }
        worst
    }
}
