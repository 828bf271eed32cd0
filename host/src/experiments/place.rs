//! The memory that a buffer is in, and the placement of managed pages.

use clap::ValueEnum;

/// The memory that a buffer is allocated in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Device memory.
    #[default]
    Device,
    /// Managed memory, which host and device share and whose pages move. The host fills it, so that its pages are the host's
    /// to begin with; what else the placement asks for is the experiment's own to queue.
    Managed(Placement),
    /// Pinned memory of the host, which kernels reach over the link.
    Pinned,
    /// The same on the NUMA node with this number.
    PinnedOn(u32),
    /// The same, not cached by the host's processor, which reads it very slowly.
    WriteCombined,
    /// Memory that the driver does not know, which copies alone reach.
    Pageable,
    /// Memory of another device, by its number.
    Peer(u32),
}

/// The placement of managed pages while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Pages migrate to the card when a kernel touches them
    OnDemand,
    /// All pages are prefetched to the card before the launch
    Prefetched,
    /// Pinned memory on the host, which the kernel reads over the link
    ZeroCopy,
    /// Managed memory that hints keep on the host, read over the link
    ZeroCopyHints,
    /// Pages are partitioned between host and card, by a hint for each page
    Partition,
    /// The pages that fit are prefetched, and the others are read over the link
    PartitionPrefetch,
}

impl Place {
    /// Whether the driver's copies take its address as one of the host's.
    pub(crate) fn is_hosts(self) -> bool {
        !matches!(self, Place::Device | Place::Peer(_))
    }
}

impl Placement {
    /// Its name on the command line and in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Placement::OnDemand => "on-demand",
            Placement::Prefetched => "prefetched",
            Placement::ZeroCopy => "zero-copy",
            Placement::ZeroCopyHints => "zero-copy-hints",
            Placement::Partition => "partition",
            Placement::PartitionPrefetch => "partition-prefetch",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for placement in Placement::value_variants() {
            let value = placement.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), placement.name());
        }
    }
}
