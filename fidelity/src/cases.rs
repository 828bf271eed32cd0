//! The cases by category, and which of them the model's authors may look at.

mod accumulation;
mod algebra;
mod analytics;
mod atomics;
mod codes;
mod contributions;
mod databases;
mod decoding;
mod dynamics;
mod encodings;
mod factorings;
mod fields;
mod finance;
mod fourier;
mod frontiers;
mod graphs;
mod grids;
mod images;
mod imaging;
mod inference;
mod integers;
mod lattices;
mod layouts;
mod learning;
mod media;
mod meshes;
mod mining;
mod particles;
mod physics;
mod primitives;
mod products;
mod quantised;
mod rendering;
mod samples;
mod scans;
mod sequences;
mod signals;
mod solvers;
mod sorting;
mod sparse;
mod structures;
mod tables;
mod training;
mod vision;
mod worklists;

use crate::case::Case;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A group of kernels. All sizes of a kernel are in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// The half of the first kernels that was looked at from the beginning while the model was changed
    Seen,
    /// Their other half and 36 kernels more, by which the model was judged before anyone looked at them
    Opened,
    /// Added when the model had been judged, to be looked at like the seen ones
    Added,
    /// Written when those were opened, to judge the model: nobody looks at these
    Unseen,
}

impl Group {
    pub(crate) const ALL: [Group; 4] = [Group::Seen, Group::Opened, Group::Added, Group::Unseen];

    /// The half that one of the first kernels belongs to, by the FNV-1a hash (32 bits, folded to 8) of `2009`, a space and its
    /// name: seen if it is even. The rule is older than the first measurement. 2009 is the number below 3000 that divides the
    /// categories most evenly.
    fn half(kernel: &str) -> Group {
        let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let hash = b"2009 ".iter().copied().chain(kernel.bytes()).fold(0x811c_9dc5, step);
        // The lowest bit of FNV is no more than the parity of the bytes' lowest bits.
        let folded = hash ^ (hash >> 16);
        if (folded ^ (folded >> 8)).is_multiple_of(2) { Group::Seen } else { Group::Opened }
    }

    /// Whether its rows may be named without being asked for.
    pub(crate) fn is_open(self) -> bool {
        self != Group::Unseen
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Group::Seen => "seen",
            Group::Opened => "opened",
            Group::Added => "added",
            Group::Unseen => "unseen",
        })
    }
}

/// A case that is not built yet: its data may take much memory.
pub(crate) struct Plan {
    pub(crate) kernel: &'static str,
    pub(crate) category: &'static str,
    pub(crate) group: Group,
    /// The sizes, as `n=1024 width=32`.
    pub(crate) parameters: String,
    pub(crate) build: Box<dyn Fn() -> Case + Sync>,
}

/// All cases, as categories add them.
#[derive(Default)]
struct Set {
    category: &'static str,
    /// The group of all its kernels; without one, their names tell.
    group: Option<Group>,
    plans: Vec<Plan>,
}

impl Set {
    fn add(&mut self, kernel: &'static str, parameters: String, build: impl Fn() -> Case + Sync + 'static) {
        let group = self.group.unwrap_or_else(|| Group::half(kernel));
        self.plans.push(Plan { kernel, category: self.category, group, parameters, build: Box::new(build) });
    }
}

/// All cases, category by category.
pub(crate) fn all() -> Vec<Plan> {
    type Category = (&'static str, fn(&mut Set));
    const FIRST: [Category; 15] = [
        ("algebra", algebra::add),
        ("products", products::add),
        ("grids", grids::add),
        ("images", images::add),
        ("sparse", sparse::add),
        ("graphs", graphs::add),
        ("sorting", sorting::add),
        ("scans", scans::add),
        ("atomics", atomics::add),
        ("mining", mining::add),
        ("finance", finance::add),
        ("fourier", fourier::add),
        ("integers", integers::add),
        ("learning", learning::add),
        ("quantised", quantised::add),
    ];
    const ADDED: [Category; 22] = [
        ("factorings", factorings::add),
        ("fields", fields::add),
        ("particles", particles::add),
        ("rendering", rendering::add),
        ("imaging", imaging::add),
        ("encodings", encodings::add),
        ("inference", inference::add),
        ("structures", structures::add),
        ("primitives", primitives::add),
        ("sequences", sequences::add),
        ("layouts", layouts::add),
        ("solvers", solvers::add),
        ("dynamics", dynamics::add),
        ("training", training::add),
        ("decoding", decoding::add),
        ("databases", databases::add),
        ("signals", signals::add),
        ("accumulation", accumulation::add),
        ("worklists", worklists::add),
        ("contributions", contributions::add),
        ("frontiers", frontiers::add),
        ("tables", tables::add),
    ];
    const OPENED: [Category; 4] = [
        ("lattices", lattices::add),
        ("media", media::add),
        ("meshes", meshes::add),
        ("samples", samples::add),
    ];
    const UNSEEN: [Category; 4] = [
        ("analytics", analytics::add),
        ("codes", codes::add),
        ("physics", physics::add),
        ("vision", vision::add),
    ];
    let mut set = Set::default();
    for (categories, group) in [
        (&FIRST[..], None),
        (&ADDED, Some(Group::Added)),
        (&OPENED, Some(Group::Opened)),
        (&UNSEEN, Some(Group::Unseen)),
    ] {
        set.group = group;
        for &(category, add) in categories {
            set.category = category;
            add(&mut set);
        }
    }
    set.plans
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_halves_are_fixed_and_alike() {
        let kernels: BTreeMap<&str, Group> = all().iter().map(|plan| (plan.kernel, plan.group)).collect();
        let count = |group: Group| kernels.values().filter(|&&other| other == group).count();
        // 114 kernels in two halves, 36 that were opened later, those that were added, and those that nobody looks at.
        assert_eq!(Group::ALL.map(count), [58, 92, 164, 36]);
    }

    #[test]
    fn cases_differ() {
        let mut names: Vec<String> =
            all().iter().map(|plan| format!("{} {}", plan.kernel, plan.parameters)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
