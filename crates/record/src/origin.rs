//! The place of a row's card among many: which run, which rank of it, which machine.

use serde::{Deserialize, Serialize};

/// The origin of a row that one rank of many wrote, or one card of several in a machine.
///
/// Each row carries its own, so that files of ranks can be concatenated, split and queried as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The run that all ranks share, such as `slurm-1234.0`.
    pub run: String,
    /// The rank that measured the row, from 0; `None` where nobody numbers the processes, as in a DaemonSet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The number of ranks of the run; `None` where the scheduler does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// The machine's name.
    pub host: String,
    /// The card's UUID by the driver; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The pass over all points that the row belongs to, from 1.
    pub pass: u32,
    /// The number of passes that were asked for.
    pub passes: u32,
    /// The program's version.
    pub version: String,
}
