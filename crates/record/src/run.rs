//! The record of a run as a whole: what all its rows have in common.

use crate::{Ceiling, DeviceInfo, Peak, Record, Sensors};
use serde::{Deserialize, Serialize};

/// The name and version of [`Run`]'s form.
pub const RUN_SCHEMA: &str = "coalesce.run/1";

/// The command, device and ceilings of a run: `run.json` beside its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The words of the command line, the program's name first.
    pub command: Vec<String>,
    /// The program's version.
    pub version: String,
    /// When the run began: seconds since 1970-01-01 00:00 UTC.
    pub started_unix: u64,
    /// The device.
    pub device: DeviceInfo,
    /// The whole description of a simulated card, by the names of a card file; absent for a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<serde_json::Map<String, serde_json::Value>>,
    /// The PTX architecture that was given to the driver, as in compute_90.
    pub ptx: Option<String>,
    /// The device's peak bandwidth; `None` where the driver does not tell.
    pub peak: Option<Peak>,
    /// The copy ceiling; `None` in a run that times nothing.
    pub copy: Option<Ceiling>,
    /// The source of clocks, power and temperature; `None` for a simulated card, and where nothing is timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensors: Option<Sensors>,
}

impl Run {
    /// The run as its records describe it, where the run's own record is missing; `None` without records.
    pub fn of(records: &[Record]) -> Option<Run> {
        let first = records.first()?;
        Some(Run {
            schema: RUN_SCHEMA.to_string(),
            command: Vec::new(),
            version: String::new(),
            started_unix: 0,
            device: first.device.clone(),
            card: None,
            ptx: records.iter().find_map(|record| record.ptx.clone()),
            peak: first.peak.clone(),
            copy: first.copy,
            sensors: None,
        })
    }

    /// The origin of the card's figures and of its model's calibration; `None` for a GPU.
    pub fn card_origin(&self) -> Option<(&str, &str)> {
        let text = |name: &str| self.card.as_ref()?.get(name)?.as_str();
        Some((text("source")?, text("calibration")?))
    }
}
