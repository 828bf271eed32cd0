//! The cases by category, and which half of them the model's authors may look at.

mod algebra;
mod atomics;
mod finance;
mod fourier;
mod graphs;
mod grids;
mod images;
mod integers;
mod learning;
mod mining;
mod products;
mod quantised;
mod scans;
mod sorting;
mod sparse;

use crate::case::Case;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A half of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Half {
    /// Looked at while the model is changed
    Seen,
    /// Judged at the end alone
    Unseen,
}

impl Half {
    /// The half that a kernel belongs to, by the FNV-1a hash (32 bits, folded to 8) of `2009`, a space and its name: seen if
    /// it is even. The rule is older than the first measurement. 2009 is the number below 3000 that divides the categories
    /// most evenly. All sizes of a kernel are in one half.
    pub(crate) fn of(kernel: &str) -> Half {
        let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let hash = b"2009 ".iter().copied().chain(kernel.bytes()).fold(0x811c_9dc5, step);
        // The lowest bit of FNV is no more than the parity of the bytes' lowest bits.
        let folded = hash ^ (hash >> 16);
        if (folded ^ (folded >> 8)).is_multiple_of(2) { Half::Seen } else { Half::Unseen }
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Half::Seen => "seen",
            Half::Unseen => "unseen",
        })
    }
}

/// A case that is not built yet: its data may take much memory.
pub(crate) struct Plan {
    pub(crate) kernel: &'static str,
    pub(crate) category: &'static str,
    /// The sizes, as `n=1024 width=32`.
    pub(crate) parameters: String,
    pub(crate) build: Box<dyn Fn() -> Case + Sync>,
}

/// All cases, as categories add them.
#[derive(Default)]
struct Set {
    category: &'static str,
    plans: Vec<Plan>,
}

impl Set {
    fn add(&mut self, kernel: &'static str, parameters: String, build: impl Fn() -> Case + Sync + 'static) {
        self.plans.push(Plan { kernel, category: self.category, parameters, build: Box::new(build) });
    }
}

/// All cases, category by category.
pub(crate) fn all() -> Vec<Plan> {
    type Category = (&'static str, fn(&mut Set));
    const CATEGORIES: [Category; 15] = [
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
    let mut set = Set::default();
    for (category, add) in CATEGORIES {
        set.category = category;
        add(&mut set);
    }
    set.plans
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_halves_are_fixed_and_alike() {
        let kernels: BTreeMap<&str, Half> =
            all().iter().map(|plan| (plan.kernel, Half::of(plan.kernel))).collect();
        let unseen = kernels.values().filter(|&&half| half == Half::Unseen).count();
        assert_eq!((kernels.len(), unseen), (114, 56));
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
