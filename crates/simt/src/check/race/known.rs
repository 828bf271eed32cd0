//! What a warp has acquired through global memory.

use std::sync::Arc;

/// What a warp acquired: pairs of a word and the number of its releases at the time.
///
/// Few words are used for synchronisation, so the list is short. Warps that acquired the same share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Option<Arc<[(u64, u32)]>>);

impl Known {
    pub(super) fn entries(&self) -> &[(u64, u32)] {
        self.0.as_deref().unwrap_or_default()
    }

    pub(super) fn with(&self, word: u64, count: u32) -> Self {
        match self.entries().iter().find(|(known, _)| *known == word) {
            Some((_, known)) if *known >= count => self.clone(),
            _ => {
                let others = self.entries().iter().copied().filter(|(known, _)| *known != word);
                Self(Some(others.chain([(word, count)]).collect()))
            }
        }
    }

    /// Returns what either of the two has acquired.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let same = match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        if same || other.0.is_none() {
            return self.clone();
        }
        other.entries().iter().fold(self.clone(), |known, (word, count)| known.with(*word, *count))
    }
}
