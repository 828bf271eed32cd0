//! Sums traffic by windows of resident blocks: partitions before Fermi, and pages of managed memory.

use super::run::WindowPartitions;
use super::trails::Trail;
use crate::model::PartitionTraffic;
use crate::model::unified::{BLOCK_BYTES, PAGE_BYTES};
use std::collections::BTreeMap;

/// A page of managed memory that a window touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTouch {
    /// Its address over [`PAGE_BYTES`].
    pub page: u64,
    /// True if it was read.
    pub read: bool,
    /// True if it was written.
    pub written: bool,
}

/// The pages of managed memory that one window of resident blocks touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedWindow {
    /// Number of the window in the launch.
    pub window: u64,
    /// The pages, ascending, each once.
    pub pages: Vec<PageTouch>,
    /// The sequences in which warps touched them, in the order of blocks and of their warps.
    pub trails: Vec<Trail>,
}

impl ManagedWindow {
    /// Returns the number of distinct blocks of [`BLOCK_BYTES`] among the pages.
    pub fn blocks(&self) -> u64 {
        let block = |page: &PageTouch| page.page / (BLOCK_BYTES / PAGE_BYTES);
        self.pages.chunk_by(|a, b| block(a) == block(b)).count() as u64
    }
}

/// Pages whose marks lie side by side: 256 MiB.
const CHUNK: u64 = 1 << 12;

/// Marks of a page that is read, and of one that is written.
const READ: u8 = 1;
const WRITTEN: u8 = 2;

/// The current window and the results of earlier ones.
pub(super) struct Windows {
    partitions: [PartitionTraffic; 2],
    partition_window: Option<u64>,
    /// Pages that the window has touched, by their number over [`CHUNK`]: for each its [`READ`] and [`WRITTEN`].
    pages: BTreeMap<u64, Box<[u8; CHUNK as usize]>>,
    /// Trails by window; a run may span several.
    trails: BTreeMap<u64, Vec<Trail>>,
    pub(super) managed: Vec<ManagedWindow>,
}

impl Windows {
    pub(super) fn new(partitions: u32) -> Self {
        Self {
            partitions: [PartitionTraffic::new(partitions), PartitionTraffic::new(partitions)],
            partition_window: None,
            pages: BTreeMap::new(),
            trails: BTreeMap::new(),
            managed: Vec::new(),
        }
    }

    /// Adds partition traffic of a window, of which more may follow.
    pub(super) fn add_partitions(&mut self, traffic: &WindowPartitions) {
        if self.partition_window != Some(traffic.window) {
            self.end_partition_window();
            self.partition_window = Some(traffic.window);
        }
        for (sum, bytes) in self.partitions.iter_mut().zip(&traffic.bytes) {
            // Any address in a partition stands for it.
            (0_u64..).zip(bytes).for_each(|(partition, &bytes)| sum.add(partition * 256, bytes));
        }
    }

    fn end_partition_window(&mut self) {
        self.partitions.iter_mut().for_each(PartitionTraffic::end_window);
    }

    /// Touches a page of managed memory in the current window.
    pub(super) fn touch_page(&mut self, page: u64, read: bool, written: bool) {
        let chunk = self.pages.entry(page / CHUNK).or_insert_with(|| Box::new([0; CHUNK as usize]));
        chunk[(page % CHUNK) as usize] |= if read { READ } else { 0 } | if written { WRITTEN } else { 0 };
    }

    /// Ends the current window of managed memory.
    pub(super) fn end_managed_window(&mut self, window: u64) {
        if !self.pages.is_empty() {
            let mut pages = Vec::new();
            for (number, chunk) in std::mem::take(&mut self.pages) {
                let touched = (number * CHUNK..).zip(*chunk).filter(|(_, marks)| *marks != 0);
                pages.extend(touched.map(|(page, marks)| {
                    let (read, written) = (marks & READ != 0, marks & WRITTEN != 0);
                    PageTouch { page, read, written }
                }));
            }
            self.managed.push(ManagedWindow { window, pages, trails: Vec::new() });
        }
    }

    /// Adds the trails of a run of blocks. The result does not depend on the division into runs.
    pub(super) fn add_trails(&mut self, trails: impl Iterator<Item = (u64, Trail)>) {
        for (window, trail) in trails {
            let known = self.trails.entry(window).or_default();
            if known.last() != Some(&trail) {
                known.push(trail);
            }
        }
    }

    /// Returns all windows, after the last one has ended.
    pub(super) fn finish_managed(&mut self) -> Vec<ManagedWindow> {
        let mut windows = std::mem::take(&mut self.managed);
        for window in &mut windows {
            window.trails = self.trails.remove(&window.window).unwrap_or_default();
        }
        windows
    }

    /// Returns the camping factors of reads and of writes, after the last window.
    pub(super) fn camping(&mut self) -> [f64; 2] {
        self.end_partition_window();
        self.partitions.each_ref().map(PartitionTraffic::camping)
    }
}
