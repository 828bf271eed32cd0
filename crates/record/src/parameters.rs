//! Identification of a row: its parameters, its shape and its bytes.

use crate::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{collections::BTreeMap, fmt};

/// The parameters that tell a row from the others of its experiment.
///
/// In JSON the swept parameter and those in `more` are fields of their own names, and `swept` names the swept one:
/// `{"bytes": 4096, "swept": "offset", "offset": 3, ..}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Parameters {
    /// The element type, where the experiment has a choice.
    pub precision: Option<Precision>,
    /// The size that was asked for, in bytes.
    pub bytes: u64,
    /// Elements, in the kernel's own width.
    pub elements: u64,
    /// Threads a block; `None` where no kernel runs.
    pub block: Option<Extent>,
    /// Blocks; `None` where no kernel runs.
    pub grid: Option<Extent>,
    /// The swept parameter.
    pub swept: Option<Swept>,
    /// All others by their names, such as `nx`.
    pub more: BTreeMap<String, serde_json::Value>,
}

/// [`Parameters`] as JSON has them.
#[derive(Clone, Serialize, Deserialize)]
struct Fields {
    precision: Option<Precision>,
    bytes: u64,
    elements: u64,
    block: Option<Extent>,
    grid: Option<Extent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swept: Option<String>,
    #[serde(flatten)]
    more: BTreeMap<String, serde_json::Value>,
}

impl From<Parameters> for Fields {
    fn from(parameters: Parameters) -> Fields {
        let Parameters { precision, bytes, elements, block, grid, swept, mut more } = parameters;
        let name = swept.map(|Swept { name, value }| {
            more.insert(name.clone(), value.into());
            name
        });
        Fields { precision, bytes, elements, block, grid, swept: name, more }
    }
}

impl TryFrom<Fields> for Parameters {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Parameters, String> {
        let Fields { precision, bytes, elements, block, grid, swept, mut more } = fields;
        let swept = swept.map(|name| {
            let value = more.remove(&name).as_ref().and_then(serde_json::Value::as_u64);
            let value = value.ok_or_else(|| {
                format!("`swept` names `{name}`, which is missing from `parameters` or is no whole number")
            })?;
            Ok::<_, String>(Swept { name, value })
        });
        Ok(Parameters { precision, bytes, elements, block, grid, swept: swept.transpose()?, more })
    }
}

/// The swept parameter of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u64,
}

impl Parameters {
    /// Parameters of work that has nothing but a size.
    pub fn of_bytes(bytes: u64) -> Parameters {
        Parameters {
            precision: None,
            bytes,
            elements: bytes,
            block: None,
            grid: None,
            swept: None,
            more: BTreeMap::new(),
        }
    }

    /// With one more parameter.
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Parameters {
        self.more.insert(name.to_string(), value.into());
        self
    }

    /// With the value of the swept parameter.
    pub fn swept(self, name: &str, value: u32) -> Parameters {
        Parameters { swept: Some(Swept { name: name.to_string(), value: u64::from(value) }), ..self }
    }
}

impl Parameters {
    /// What tells a row from others of its kernel, but for the launch's shape: `stride 1, f32, 16 MiB`.
    pub fn label(&self) -> String {
        let swept = self.swept.iter().map(|swept| format!("{} {}", swept.name, swept.value));
        let more = self.more.iter().map(|(name, value)| format!("{name} {}", shown(name, value)));
        let precision = self.precision.iter().map(ToString::to_string);
        let bytes = (self.bytes > 0).then(|| Bytes(self.bytes).to_string());
        swept.chain(more).chain(precision).chain(bytes).collect::<Vec<_>>().join(", ")
    }
}

/// The parameters that are sizes in bytes.
pub const SIZES: [&str; 5] = ["bytes", "budget", "footprint", "in_flight", "page"];

/// The value of a parameter as people write it: a size in its largest unit.
pub fn shown(name: &str, value: &serde_json::Value) -> String {
    match (value.as_str(), value.as_u64().filter(|_| SIZES.contains(&name))) {
        (Some(text), _) => text.to_string(),
        (None, Some(bytes)) => Bytes(bytes).to_string(),
        (None, None) => value.to_string(),
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Swept { name, value }) = &self.swept {
            write!(f, "{name} {value}, ")?;
        }
        for (name, value) in &self.more {
            match value {
                serde_json::Value::String(text) => write!(f, "{name} {text}, ")?,
                value => write!(f, "{name} {value}, ")?,
            }
        }
        write!(f, "{} bytes", self.bytes)?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        Ok(())
    }
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision, 4 bytes.
    F32,
    /// Double precision, 8 bytes.
    F64,
}

impl Precision {
    /// Bytes an element.
    pub fn size(self) -> u64 {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        })
    }
}

/// Bytes of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesMoved {
    /// Bytes that the kernel asks for.
    pub read: u64,
    /// Bytes that the kernel hands over to be written.
    pub written: u64,
    /// Bytes of the 32-byte sectors that it touches, each counted once: what a cache has to hold to serve it.
    pub footprint: u64,
}

/// Blocks or threads of a launch in a record: a number in one dimension, else a text such as `32x8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(pub [u32; 3]);

impl Extent {
    /// The number of blocks or threads.
    pub fn count(self) -> u64 {
        self.0.iter().map(|&number| u64::from(number)).product()
    }
}

impl From<[u32; 3]> for Extent {
    fn from(extent: [u32; 3]) -> Extent {
        Extent(extent)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [x, 1, 1] => write!(f, "{x}"),
            [x, y, 1] => write!(f, "{x}x{y}"),
            [x, y, z] => write!(f, "{x}x{y}x{z}"),
        }
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [x, 1, 1] => serializer.serialize_u32(x),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Extent, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u32),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(x) => Ok(Extent([x, 1, 1])),
            Form::Text(text) => {
                let mut extent = [1; 3];
                for (number, part) in text.split('x').enumerate() {
                    let place =
                        extent.get_mut(number).ok_or_else(|| de::Error::custom("too many dimensions"))?;
                    *place = part.parse().map_err(de::Error::custom)?;
                }
                Ok(Extent(extent))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_fields_of_their_own_names() {
        let parameters = Parameters::of_bytes(4096).with("nx", 64).swept("offset", 3);
        let fields = json!({
            "precision": null, "bytes": 4096, "elements": 4096, "block": null, "grid": null, "swept": "offset", "offset": 3, "nx": 64,
        });
        assert_eq!(serde_json::to_value(&parameters).ok(), Some(fields.clone()));
        assert_eq!(serde_json::from_value::<Parameters>(fields).ok(), Some(parameters));
        let wrong = json!({"bytes": 1, "elements": 1, "swept": "offset"});
        let error = serde_json::from_value::<Parameters>(wrong).expect_err("no offset").to_string();
        assert_eq!(error, "`swept` names `offset`, which is missing from `parameters` or is no whole number");
    }

    #[test]
    fn extents_are_numbers_or_texts() {
        for (extent, json) in [([256, 1, 1], "256"), ([32, 8, 1], "\"32x8\""), ([2, 3, 4], "\"2x3x4\"")] {
            assert_eq!(serde_json::to_string(&Extent(extent)).ok().as_deref(), Some(json));
            assert_eq!(serde_json::from_str::<Extent>(json).ok(), Some(Extent(extent)));
        }
        assert_eq!(Extent([32, 8, 2]).count(), 512);
    }
}
