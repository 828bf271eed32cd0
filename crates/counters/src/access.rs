//! One request of a warp, lane by lane: what a picture of an access pattern is drawn from.

use serde::{Deserialize, Serialize};

/// A kind of access: load, store or atomic, and the memory it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    /// A load from global memory.
    GlobalLoad,
    /// A store to global memory.
    GlobalStore,
    /// An atomic or reduction in global memory.
    GlobalAtomic,
    /// A load from local memory.
    LocalLoad,
    /// A store to local memory.
    LocalStore,
    /// A load from shared memory.
    SharedLoad,
    /// A store to shared memory.
    SharedStore,
    /// An atomic or reduction in shared memory.
    SharedAtomic,
    /// A load from constant memory.
    ConstantLoad,
}

impl AccessKind {
    /// True for shared memory, whose unit is the bank and not the sector.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::SharedLoad | Self::SharedStore | Self::SharedAtomic)
    }
}

/// The most expensive request of an instruction. Cost is sectors in global and local memory, wavefronts in shared
/// memory, and issues in constant memory. Ties go to the lowest block, then to the lowest warp, then to the warp's
/// first request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// The instruction's number in its module.
    pub site: u32,
    /// The kind of access.
    pub kind: AccessKind,
    /// Bytes per lane.
    pub bytes: u32,
    /// The first byte of each lane's access; `null` for lanes that took no part.
    ///
    /// In shared memory it is an offset in the block's. In the others it counts from the line of 128 bytes that the lowest
    /// address lies in. Local memory is shown as it is laid out: word `w` of lane `l` at byte `128 w + 4 l`, so that of
    /// an access of several words each lies 128 bytes behind the one before.
    pub lanes: Vec<Option<u64>>,
    /// Sectors of 32 bytes that the request touched; 0 in shared and constant memory.
    pub sectors: u32,
    /// Wavefronts that the request took in shared memory, or issues in constant memory (one per distinct address); else 0.
    pub wavefronts: u32,
    /// The block that the warp belongs to, in x, y and z.
    pub block: [u32; 3],
    /// The warp's number in its block.
    pub warp: u32,
}

impl Access {
    /// The cost of the request in the unit of its memory: sectors, wavefronts or issues.
    pub fn cost(&self) -> u32 {
        self.sectors.max(self.wavefronts)
    }
}
