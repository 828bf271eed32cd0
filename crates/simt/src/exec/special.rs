//! Special registers: the supported ones, and when their values change.

use crate::ptx::{Component, SpecialRegister};

/// How often a column has to be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// Never during a launch.
    Never,
    /// With each block.
    ByBlock,
    /// With each warp of a block.
    ByWarp,
    /// At any time: the register is read at each instruction that uses it.
    Always,
}

/// Value of a special register. Axes are 0 for x to 2 for z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    Thread(u8),
    Block(u8),
    BlockShape(u8),
    GridShape(u8),
    /// Coordinates of the block's cluster among the grid's.
    Cluster(u8),
    /// Clusters of the grid.
    Clusters(u8),
    /// Coordinates of the block in its cluster.
    InCluster(u8),
    /// Blocks of a cluster.
    ClusterShape(u8),
    ClusterRank,
    ClusterSize,
    /// Whether the launch or the kernel states the shape of clusters.
    ExplicitCluster,
    Lane,
    LaneMask(LaneMask),
    Warp,
    Warps,
    Multiprocessor,
    Multiprocessors,
    Grid,
    /// Address of a cooperative launch's barrier, shifted right by this many bits; 0 in other launches.
    GridBarrier(u8),
    SharedBytes,
    DynamicSharedBytes,
    /// Clock cycles, shifted right by this many bits.
    Clock(u8),
    /// Nanoseconds, shifted right by this many bits.
    Timer(u8),
    /// A constant: performance counters and environment registers, which are never set.
    Constant(u8),
}

/// Lanes of a mask register, relative to the lane that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LaneMask {
    Equal,
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
}

impl Special {
    /// Returns None if the simulator does not know the register.
    pub(super) fn new(register: SpecialRegister) -> Option<Self> {
        let axis = match register.component {
            None => None,
            Some(Component::X | Component::R) => Some(0),
            Some(Component::Y | Component::G) => Some(1),
            Some(Component::Z | Component::B) => Some(2),
            // The fourth component exists and is always 0.
            Some(Component::W | Component::A) => return Some(Self::Constant(0)),
        };
        let of_axis = |special: fn(u8) -> Self| axis.map(special);
        Some(match register.name {
            "%tid" => return of_axis(Self::Thread),
            "%ntid" => return of_axis(Self::BlockShape),
            "%ctaid" => return of_axis(Self::Block),
            "%nctaid" => return of_axis(Self::GridShape),
            "%clusterid" => return of_axis(Self::Cluster),
            "%nclusterid" => return of_axis(Self::Clusters),
            "%cluster_ctaid" => return of_axis(Self::InCluster),
            "%cluster_nctaid" => return of_axis(Self::ClusterShape),
            "%cluster_ctarank" => Self::ClusterRank,
            "%cluster_nctarank" => Self::ClusterSize,
            "%is_explicit_cluster" => Self::ExplicitCluster,
            "%laneid" => Self::Lane,
            "%warpid" => Self::Warp,
            "%nwarpid" => Self::Warps,
            "%smid" => Self::Multiprocessor,
            "%nsmid" => Self::Multiprocessors,
            "%gridid" => Self::Grid,
            "%lanemask_eq" => Self::LaneMask(LaneMask::Equal),
            "%lanemask_le" => Self::LaneMask(LaneMask::LessOrEqual),
            "%lanemask_lt" => Self::LaneMask(LaneMask::Less),
            "%lanemask_ge" => Self::LaneMask(LaneMask::GreaterOrEqual),
            "%lanemask_gt" => Self::LaneMask(LaneMask::Greater),
            "%clock" | "%clock64" => Self::Clock(0),
            "%clock_hi" => Self::Clock(32),
            "%globaltimer" | "%globaltimer_lo" => Self::Timer(0),
            "%globaltimer_hi" => Self::Timer(32),
            "%total_smem_size" | "%aggr_smem_size" => Self::SharedBytes,
            "%dynamic_smem_size" => Self::DynamicSharedBytes,
            "%current_graph_exec" => Self::Constant(0),
            "%envreg1" => Self::GridBarrier(32),
            "%envreg2" => Self::GridBarrier(0),
            name if name.starts_with("%pm") || name.starts_with("%envreg") => Self::Constant(0),
            // The driver's reserved part of shared memory, which the simulated driver does not have.
            name if name.starts_with("%reserved_smem_offset") => Self::Constant(0),
            _ => return None,
        })
    }

    pub(super) fn changes(self) -> Changes {
        match self {
            Self::Thread(_) | Self::Warp => Changes::ByWarp,
            Self::Block(_)
            | Self::Multiprocessor
            | Self::Cluster(_)
            | Self::InCluster(_)
            | Self::ClusterRank => Changes::ByBlock,
            Self::Clock(_) | Self::Timer(_) => Changes::Always,
            _ => Changes::Never,
        }
    }
}

impl LaneMask {
    pub(super) fn of(self, lane: u32) -> u32 {
        let own = 1u32 << lane;
        match self {
            Self::Equal => own,
            Self::Less => own - 1,
            Self::LessOrEqual => own | (own - 1),
            Self::Greater => !(own | (own - 1)),
            Self::GreaterOrEqual => !(own - 1),
        }
    }
}
