//! Putting an allocation's pages where a placement wants them, before each launch, and seeing where they are.

use crate::{
    device::Backend,
    experiments::{Buffers, Moment, Observe, Placement, QueueWork},
    simulated,
};
use anyhow::Context;
use cuda_driver::ext::{self, Advice, Location};
use cust::{
    error::{CudaError, CudaResult},
    memory::{DeviceBuffer, mem_get_info},
    stream::Stream,
};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

/// Device memory that is taken so that no more than a budget is free, shared by the points of a run.
pub(super) type Ballast = Rc<RefCell<Option<DeviceBuffer<u8>>>>;

/// An allocation, and how its pages are to be dealt with.
#[derive(Clone)]
pub(super) struct Placing {
    pub backend: Backend,
    /// The device's number.
    pub device: u32,
    pub placement: Placement,
    /// Bytes of the allocation, whole pages.
    pub bytes: u64,
    /// Bytes of a page in a partition.
    pub page: u64,
    /// The memory that counts as the card's.
    pub budget: u64,
    /// Whether a real card's memory is to be filled up but for the budget.
    pub oversubscribes: bool,
    pub ballast: Ballast,
}

/// Pages in a row that are dealt to one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    pages: u64,
    on_card: bool,
}

/// Partitions pages: as many as fit go to the card, and the host's are spread evenly among them.
/// Of three pages of which two fit the host has the third, of four of which two fit the second and fourth.
fn deal(pages: u64, on_card: u64) -> Vec<Run> {
    let with_host = u128::from(pages.saturating_sub(on_card));
    let is_hosts = |page: u64| {
        let before = |page: u64| u128::from(page) * with_host / u128::from(pages);
        before(page + 1) > before(page)
    };
    let mut runs: Vec<Run> = Vec::new();
    for on_card in (0..pages).map(|page| !is_hosts(page)) {
        match runs.last_mut() {
            Some(run) if run.on_card == on_card => run.pages += 1,
            _ => runs.push(Run { pages: 1, on_card }),
        }
    }
    runs
}

impl Placing {
    /// The preparation of each launch: pages go back to the host, as though it had just filled them, and then to
    /// where the placement wants them.
    pub(super) fn before_each(self) -> Box<QueueWork> {
        Box::new(move |stream, buffers| {
            self.place(stream, buffers).context("the driver does not place the allocation's pages")
        })
    }

    fn place(&self, stream: &Stream, buffers: &Buffers) -> CudaResult<()> {
        self.keep_budget()?;
        if !self.is_managed() {
            return Ok(());
        }
        let (start, card) = (buffers.address(0), Location::Device(self.device as i32));
        let whole = Range { start, bytes: self.bytes };
        whole.advise(Advice::NoPreferredLocation, card)?;
        whole.advise(Advice::NotAccessedBy, card)?;
        whole.prefetch(Location::Host, stream)?;
        match self.placement {
            Placement::OnDemand => {}
            Placement::Prefetched => whole.prefetch(card, stream)?,
            Placement::ZeroCopy | Placement::ZeroCopyHints => whole.stays_with_host(card)?,
            Placement::PartitionPrefetch => {
                whole.advise(Advice::AccessedBy, card)?;
                // What does not fit stays with the host.
                whole.prefetch(card, stream)?;
            }
            Placement::Partition => {
                let mut at = start;
                let mut ranges = Vec::new();
                for run in deal(self.bytes / self.page, self.budget / self.page) {
                    let range = Range { start: at, bytes: run.pages * self.page };
                    if run.on_card {
                        range.advise(Advice::PreferredLocation, card)?;
                        ranges.push(range);
                    } else {
                        range.stays_with_host(card)?;
                    }
                    at += range.bytes;
                }
                // When all is said: the driver may move more than one page of a partition at a time.
                ranges.into_iter().try_for_each(|range| range.prefetch(card, stream))?;
            }
        }
        // Placing is not what is timed.
        stream.synchronize()
    }

    /// Whether the allocation is managed memory; else it is pinned.
    pub(super) fn is_managed(&self) -> bool {
        self.placement != Placement::ZeroCopy
    }

    /// Sees to it that no more managed memory than the budget is on the card at a time.
    fn keep_budget(&self) -> CudaResult<()> {
        match self.backend {
            Backend::Modelled => {
                simulated::limit_managed_memory(self.device, Some(self.budget));
            }
            Backend::Measured => {
                let mut ballast = self.ballast.borrow_mut();
                if !self.oversubscribes {
                    *ballast = None;
                } else if ballast.is_none() {
                    let (free, _) = mem_get_info()?;
                    let excess = free.saturating_sub(self.budget as usize);
                    if excess > 0 {
                        // SAFETY: nobody reads it.
                        *ballast = Some(unsafe { DeviceBuffer::uninitialized(excess) }?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells where pages are before and after a launch, and what moved in between, as far as the driver knows.
    pub(super) fn observe(self) -> Box<Observe> {
        Box::new(move |moment, buffers| {
            let mut seen = BTreeMap::new();
            let when = match moment {
                Moment::Before => "before",
                Moment::After => "after",
            };
            if self.is_managed() {
                match self.backend {
                    Backend::Modelled => {
                        if let Some(bytes) =
                            simulated::bytes_on_device(self.device, buffers.address(0), self.bytes)
                        {
                            seen.insert(format!("on_card_{when}"), Value::from(bytes));
                        }
                    }
                    Backend::Measured => {
                        // The driver does not tell where pages are, but where the program last sent them.
                        // SAFETY: the range is the allocation, which lives.
                        let place =
                            unsafe { ext::last_prefetch_location(buffers.address(0), self.bytes as usize) }?;
                        let place = match place {
                            Some(Location::Host | Location::HostNuma(_)) => "host",
                            Some(Location::Device(_)) => "card",
                            None => "both",
                        };
                        seen.insert(format!("last_prefetch_{when}"), Value::from(place));
                    }
                }
            }
            if moment == Moment::After
                && let Some(launch) = simulated::last_launch()
            {
                simulated::limit_managed_memory(self.device, None);
                let migration = launch.migration;
                let counts = [
                    ("faults", migration.faults),
                    ("fault_batches", migration.batches),
                    ("bytes_to_card", migration.bytes_in),
                    ("bytes_evicted", migration.bytes_out),
                    (
                        "bytes_over_link",
                        32 * (launch.counters.link.sectors_read + launch.counters.link.sectors_written),
                    ),
                ];
                seen.extend(counts.map(|(name, count)| (name.to_string(), Value::from(count))));
                let times = [("migration_us", migration.seconds), ("link_us", launch.link_seconds)];
                seen.extend(times.map(|(name, seconds)| (name.to_string(), Value::from(1e6 * seconds))));
            }
            Ok(seen)
        })
    }
}

/// A part of a managed allocation that lives.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    bytes: u64,
}

impl Range {
    fn advise(self, advice: Advice, place: Location) -> CudaResult<()> {
        // SAFETY: the range is of an allocation that lives.
        unsafe { ext::advise(self.start, self.bytes as usize, advice, place) }.map_err(of_driver)
    }

    fn prefetch(self, place: Location, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the range is of an allocation that lives until the stream is synchronised, which lives too.
        unsafe { ext::prefetch(self.start, self.bytes as usize, place, stream.as_inner()) }.map_err(of_driver)
    }

    /// The host keeps the pages, and the card reaches them there.
    fn stays_with_host(self, card: Location) -> CudaResult<()> {
        self.advise(Advice::PreferredLocation, Location::Host)?;
        self.advise(Advice::AccessedBy, card)
    }
}

/// The driver's error as `cust` has it.
fn of_driver(error: ext::Error) -> CudaError {
    match error.code.0 {
        1 => CudaError::InvalidValue,
        2 => CudaError::OutOfMemory,
        101 => CudaError::InvalidDevice,
        801 => CudaError::NotSupported,
        _ => CudaError::UnknownError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c` for a page of the card's, `h` for one of the host's.
    fn dealt(pages: u64, on_card: u64) -> String {
        let text = |run: Run| if run.on_card { "c" } else { "h" }.repeat(run.pages as usize);
        deal(pages, on_card).into_iter().map(text).collect()
    }

    #[test]
    fn pages_are_dealt_evenly() {
        assert_eq!(dealt(6, 4), "cchcch", "at 1.5 every third is the host's");
        assert_eq!(dealt(8, 4), "chchchch", "at 2 every second is");
        assert_eq!(dealt(6, 6), "cccccc");
        assert_eq!(dealt(3, 8), "ccc", "all fit");
        assert_eq!(dealt(4, 0), "hhhh");
        assert_eq!(dealt(10, 7), "ccchcchcch");
        for (pages, fit) in [(1000, 1), (1000, 999), (977, 500)] {
            assert_eq!(dealt(pages, fit).matches('c').count() as u64, fit);
        }
    }
}
