//! The labels of rows: the kernel, and the parameters in which its experiment's rows differ.

use record::{Bytes, Language, Record};
use std::collections::{BTreeMap, BTreeSet};

/// A label for each row.
pub(super) fn labels(rows: &[&Record]) -> Vec<String> {
    let mut values: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.language != Language::Driver) {
        for (name, value) in parameters(row) {
            values.entry((&row.experiment, name)).or_default().insert(value);
        }
    }
    let varies = |row: &Record, name: &String| {
        values.get(&(row.experiment.as_str(), name.clone())).is_some_and(|values| values.len() > 1)
    };
    let label = |row: &&Record| {
        let swept = row.parameters.swept.as_ref().map(|swept| swept.value.to_string());
        let more = parameters(row).into_iter().filter(|(name, _)| varies(row, name));
        // The kernel's name has it.
        let more = more.filter(|(name, value)| name != "precision" || !row.kernel.ends_with(value));
        let more = more.map(|(name, value)| match name.as_str() {
            "bytes" | "block" | "precision" => value,
            _ => format!("{name} {value}"),
        });
        let twin = (row.language == Language::CudaCpp).then(|| "(C++)".to_string());
        [row.kernel.clone()].into_iter().chain(swept).chain(more).chain(twin).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(label).collect()
}

/// The parameters that may tell rows apart, the swept one left out.
fn parameters(row: &Record) -> Vec<(String, String)> {
    let parameters = &row.parameters;
    let more = parameters.more.iter().map(|(name, value)| {
        (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_string))
    });
    let precision = parameters.precision.map(|precision| ("precision".to_string(), precision.to_string()));
    let block = parameters.block.map(|block| ("block".to_string(), block.to_string()));
    more.chain(precision)
        .chain([("bytes".to_string(), Bytes(parameters.bytes).to_string())])
        .chain(block)
        .collect()
}
