//! Where a buffer lies.

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
}

/// Where the pages of managed memory are to be while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Pages come over when a kernel asks for them
    OnDemand,
    /// All pages are brought over beforehand
    Prefetched,
    /// Pages stay on the host, and a kernel reads them over the link
    ZeroCopy,
    /// The same with managed memory, by hints, where zero-copy takes pinned memory
    ZeroCopyHints,
    /// Pages are partitioned between host and card, by hints for each of them
    Partition,
    /// The same by one prefetch of what fits, the rest read over the link
    PartitionPrefetch,
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
