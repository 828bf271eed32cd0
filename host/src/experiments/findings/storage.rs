//! The finding of `storage`.

use super::{list, timed};
use record::Record;

/// Which state space each storage class is in.
pub(in super::super) fn storage(rows: &[&Record]) -> Option<String> {
    let mut spaces: Vec<(&str, Vec<String>)> = Vec::new();
    for row in timed(rows) {
        let text = |name: &str| row.parameters.more.get(name).and_then(serde_json::Value::as_str);
        let (class, space) = (text("class")?, text("space")?);
        match spaces.iter_mut().find(|(known, _)| *known == space) {
            Some((_, classes)) => classes.push(class.to_string()),
            None => spaces.push((space, vec![class.to_string()])),
        }
    }
    let clauses = spaces.iter().map(|(space, classes)| {
        let are = if classes.len() == 1 { "is" } else { "are" };
        Some(format!("{} {are} in .{space}", list(classes)))
    });
    super::sentence(clauses)
}
