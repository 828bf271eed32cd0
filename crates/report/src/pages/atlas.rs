//! docs/h200-atlas.md: constants of an H200 beside publications and the model.
//!
//! Each constant of `atlas.toml` states what the literature found, and a rule that finds our own figure among kept
//! rows. For example, this one takes the median of `observed.cycles` over the rows of the kernel `chase_cached` with a
//! footprint of 32 KiB, and compares it with 34.2 clocks; where no such row is kept, the page says "not measured":
//!
//! ```toml
//! [[constant]]
//! group = "L1"
//! name = "latency of a dependent load"
//! unit = "clocks"
//! literature = [{ value = 34.2, source = "gpu-benches-h100" }, { value = 32.0, source = "luo25", at = "table 3" }]
//! measured = { experiment = "latency", kernel = "chase_cached", where = { "parameters.footprint" = 32768 }, figure = "observed.cycles" }
//! command = "run latency"
//! model = { card = "l1_clocks" }
//! ```
//!
//! The difference is that to the first figure of the literature, the one that compares best.

use record::ReadError;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

/// The page, from the repository's root.
pub const PAGE: &str = "docs/h200-atlas.md";

/// The constants.
pub const CONSTANTS: &str = "docs/results/h200/atlas.toml";

/// Rows kept for the atlas alone, which `coalesce pages atlas --records` adds to.
pub const ROWS: &str = "docs/results/h200/atlas.jsonl";

/// All files whose rows may measure a constant. One that does not exist has no rows.
pub const KEPT: [&str; 4] = [
    "docs/results/h200/records.jsonl",
    "docs/results/h200/kernels.jsonl",
    "docs/results/h200/matmul.jsonl",
    ROWS,
];

/// The card whose figures are the model's.
pub const CARD: &str = "crates/simt/cards/h200.toml";

/// The name of the card that measures.
const MEASURED_ON: &str = "NVIDIA H200";

/// Difference to the literature, relative, from which on it needs an explanation.
const UNEXPLAINED: f64 = 0.03;

const OPENING: &str = "<!-- atlas -->";
const ENDING: &str = "<!-- end of atlas -->";

/// Why the atlas cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AtlasError {
    /// The constants or the card are not TOML of their form.
    #[error("{file} cannot be read")]
    Toml {
        /// The file.
        file: &'static str,
        /// Why.
        #[source]
        cause: toml::de::Error,
    },
    /// A kept row is not JSON.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A constant names a source that the file does not describe.
    #[error("{constant}: there is no source `{source_key}` in [sources]")]
    Source {
        /// The constant.
        constant: String,
        /// The source's key.
        source_key: String,
    },
    /// A constant names a field that the card does not have.
    #[error("{constant}: {CARD} has no figure `{field}`")]
    Field {
        /// The constant.
        constant: String,
        /// The field.
        field: String,
    },
    /// The page lacks the marks of its tables.
    #[error("{PAGE} lacks the mark {OPENING} or {ENDING}")]
    NoMark,
}

/// The content of `atlas.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atlas {
    sources: BTreeMap<String, Source>,
    constant: Vec<Constant>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// Its name in tables.
    label: String,
    /// The card that it is about.
    of: String,
    /// Authors and title.
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constant {
    group: String,
    name: String,
    unit: String,
    literature: Vec<Found>,
    measured: Option<Rule>,
    /// What to type behind `cargo xtask` to measure it.
    command: Option<String>,
    model: Option<Model>,
    /// Why the measured figure is not the literature's.
    explanation: Option<String>,
}

/// A published figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    value: f64,
    source: String,
    /// Table, figure or section.
    at: Option<String>,
}

/// Finds a figure among kept rows: measured by a Rust kernel or the driver on an H200, and verified.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    experiment: String,
    kernel: Option<String>,
    /// Fields of the row, by their path, and the values that they must have.
    #[serde(default, rename = "where")]
    conditions: BTreeMap<String, Value>,
    /// The path of the figure.
    figure: String,
    /// From the figure's unit to the constant's.
    #[serde(default = "one")]
    times: f64,
    /// If stated, the constant is this over the figure, as in bytes per clock from clocks.
    over: Option<f64>,
    /// Which of several rows counts.
    #[serde(default)]
    pick: Pick,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pick {
    #[default]
    Median,
    Greatest,
    Least,
}

/// What the model uses.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Model {
    /// A figure of the card's file.
    Card {
        card: String,
        #[serde(default = "one")]
        times: f64,
        /// If stated, the constant is this over the figure, as in operations per clock from clocks.
        over: Option<f64>,
    },
    /// A constant of the program's source.
    Value { value: f64 },
}

fn one() -> f64 {
    1.0
}

/// A constant that others have measured, beside the figure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beside {
    /// Its group, name and unit.
    pub(crate) name: String,
    /// The published figures, each with its card and source.
    pub(crate) published: String,
    /// The run's own figure; `None` if no row of it measures the constant.
    pub(crate) here: Option<String>,
    /// The model's figure of an H200; `None` if it has no such constant.
    pub(crate) model: Option<String>,
}

impl Atlas {
    /// Reads `atlas.toml`.
    ///
    /// # Errors
    /// It is not of that form, or a constant names an unknown source.
    pub fn read(text: &str) -> Result<Self, AtlasError> {
        let atlas: Self =
            toml::from_str(text).map_err(|cause| AtlasError::Toml { file: CONSTANTS, cause })?;
        for constant in &atlas.constant {
            let unknown = constant.literature.iter().find(|found| !atlas.sources.contains_key(&found.source));
            if let Some(found) = unknown {
                let (constant, source_key) = (constant.name.clone(), found.source.clone());
                return Err(AtlasError::Source { constant, source_key });
            }
        }
        Ok(atlas)
    }

    /// Whether a row measures a constant.
    pub fn uses(&self, row: &Value) -> bool {
        self.constant.iter().filter_map(|constant| constant.measured.as_ref()).any(|rule| rule.takes(row))
    }

    /// Names of the constants whose difference to the literature needs an explanation and has none.
    pub fn unexplained(&self, rows: &[Value]) -> Vec<String> {
        let lacks = |constant: &&Constant| {
            let apart = constant.difference(rows).is_some_and(|difference| difference.abs() > UNEXPLAINED);
            apart && constant.explanation.is_none()
        };
        self.constant
            .iter()
            .filter(lacks)
            .map(|constant| format!("{}: {}", constant.group, constant.name))
            .collect()
    }

    /// Writes the tables into the page's text. `card` is the text of [`CARD`], `rows` those of [`KEPT`].
    ///
    /// # Errors
    /// The page lacks its marks, or a constant names a figure that the card does not have.
    pub fn rewritten(&self, page: &str, rows: &[Value], card: &str) -> Result<String, AtlasError> {
        let card: toml::Table =
            toml::from_str(card).map_err(|cause| AtlasError::Toml { file: CARD, cause })?;
        let (before, rest) = page.split_once(OPENING).ok_or(AtlasError::NoMark)?;
        let (_, after) = rest.split_once(ENDING).ok_or(AtlasError::NoMark)?;
        let mut text = self.summary(rows);
        let mut groups: Vec<&str> = self.constant.iter().map(|constant| constant.group.as_str()).collect();
        groups.dedup();
        for group in groups {
            let of_group: Vec<&Constant> =
                self.constant.iter().filter(|constant| constant.group == group).collect();
            let _ = write!(
                text,
                "\n### {group}\n\n| constant | unit | literature | measured | difference | model |\n\
                 | --- | --- | --- | --: | --: | --: |\n"
            );
            for constant in &of_group {
                text += &self.line(constant, rows, &card)?;
            }
            text += &below(&of_group, rows);
        }
        text += "\n### Sources\n\n";
        for Source { label, of, text: source } in self.sources.values() {
            let _ = writeln!(text, "- **{label}** ({of}): {source}.");
        }
        Ok(format!("{before}{OPENING}\n\n{text}\n{ENDING}{after}"))
    }

    /// Compares the published constants that an experiment measures with its rows, on whatever card. `rows` is called if there are such
    /// constants; `card` is the table of [`CARD`].
    pub(crate) fn beside(
        &self,
        experiment: &str,
        rows: impl FnOnce() -> Vec<Value>,
        card: &toml::Table,
    ) -> Vec<Beside> {
        let published = self.constant.iter().filter(|constant| !constant.literature.is_empty());
        let measured = published.filter_map(|constant| Some((constant, constant.measured.as_ref()?)));
        let own: Vec<_> = measured.filter(|(_, rule)| rule.experiment == experiment).collect();
        let rows = if own.is_empty() { Vec::new() } else { rows() };
        let line = |(constant, rule): (&Constant, &Rule)| Beside {
            name: match constant.unit.as_str() {
                "" => format!("{}: {}", constant.group, constant.name),
                unit => format!("{}: {}, {unit}", constant.group, constant.name),
            },
            published: self.literature(constant),
            here: rule.figure(&rows, Rule::suits).map(number),
            model: constant.modelled(card).ok().flatten(),
        };
        own.into_iter().map(line).collect()
    }

    /// The published figures of a constant, each with its card and source.
    fn literature(&self, constant: &Constant) -> String {
        let found = |found: &Found| {
            let Source { label, of, .. } = &self.sources[&found.source];
            let at = found.at.as_ref().map(|at| format!(", {at}")).unwrap_or_default();
            format!("{} ({of}, {label}{at})", number(found.value))
        };
        let literature: Vec<String> = constant.literature.iter().map(found).collect();
        if literature.is_empty() { "none found".to_owned() } else { literature.join("; ") }
    }

    /// One sentence on how many constants are measured and how they compare.
    fn summary(&self, rows: &[Value]) -> String {
        let measured = self.constant.iter().filter(|constant| constant.measurement(rows).is_some()).count();
        let differences: Vec<f64> =
            self.constant.iter().filter_map(|constant| constant.difference(rows)).collect();
        let near = differences.iter().filter(|difference| difference.abs() <= UNEXPLAINED).count();
        format!(
            "{} constants, {measured} of them measured. Of {} with a published figure beside them, {near} are within {:.0}% of \
             it; the others are explained below their tables.\n",
            self.constant.len(),
            differences.len(),
            UNEXPLAINED * 100.0,
        )
    }

    fn line(&self, constant: &Constant, rows: &[Value], card: &toml::Table) -> Result<String, AtlasError> {
        let literature = self.literature(constant);
        let measured = constant.measurement(rows).map_or_else(|| "not measured".to_owned(), number);
        let difference = constant.difference(rows).map(|value| format!("{:+.1}%", value * 100.0));
        let model = constant.modelled(card)?.unwrap_or_else(|| "-".to_owned());
        Ok(format!(
            "| {} | {} | {literature} | {measured} | {} | {model} |\n",
            constant.name,
            constant.unit,
            difference.unwrap_or_default(),
        ))
    }
}

/// The commands that measure a group, and the explanations of its differences.
fn below(constants: &[&Constant], rows: &[Value]) -> String {
    let mut commands: Vec<&str> =
        constants.iter().filter_map(|constant| constant.command.as_deref()).collect();
    commands.sort_unstable();
    commands.dedup();
    let mut text = String::new();
    if !commands.is_empty() {
        let commands: Vec<String> =
            commands.iter().map(|command| format!("`cargo xtask {command}`")).collect();
        let _ = write!(text, "\nMeasured by {}.\n", commands.join(", "));
    }
    let mut first = true;
    for constant in constants.iter().filter(|constant| constant.measurement(rows).is_some()) {
        if let Some(explanation) = &constant.explanation {
            let gap = if std::mem::take(&mut first) { "\n" } else { "" };
            let _ = writeln!(text, "{gap}- **{}:** {explanation}", constant.name);
        }
    }
    text
}

impl Constant {
    fn measurement(&self, rows: &[Value]) -> Option<f64> {
        self.measured.as_ref()?.figure(rows, Rule::takes)
    }

    /// The model's figure; `None` if it has no such constant.
    fn modelled(&self, card: &toml::Table) -> Result<Option<String>, AtlasError> {
        Ok(match &self.model {
            Some(Model::Card { card: field, times, over }) => {
                let value = card
                    .get(field)
                    .and_then(as_number)
                    .ok_or_else(|| AtlasError::Field { constant: self.name.clone(), field: field.clone() })?;
                Some(number(over.map_or(value, |over| over / value) * times))
            }
            Some(Model::Value { value }) => Some(number(*value)),
            None => None,
        })
    }

    /// The measured figure over the first of the literature, less 1.
    fn difference(&self, rows: &[Value]) -> Option<f64> {
        Some(self.measurement(rows)? / self.literature.first()?.value - 1.0)
    }
}

impl Rule {
    /// Whether a row measures the constant of an H200.
    fn takes(&self, row: &Value) -> bool {
        let is_of_h200 = at(row, "device.name").is_none_or(|name| *name == MEASURED_ON);
        is(row, "backend", "measured") && is_of_h200 && self.suits(row)
    }

    /// Whether a row of any card measures the constant.
    fn suits(&self, row: &Value) -> bool {
        is(row, "experiment", &self.experiment)
            && self.kernel.as_ref().is_none_or(|kernel| is(row, "kernel", kernel))
            && (is(row, "language", "rust") || is(row, "language", "driver"))
            && at(row, "verified").is_none_or(|verified| *verified == Value::Bool(true))
            && self
                .conditions
                .iter()
                .all(|(path, wanted)| at(row, path).is_some_and(|found| same(found, wanted)))
            && at(row, &self.figure).is_some_and(Value::is_number)
    }

    /// The constant by the rows that it takes.
    fn figure(&self, rows: &[Value], takes: fn(&Rule, &Value) -> bool) -> Option<f64> {
        let figures: Vec<f64> = rows
            .iter()
            .filter(|row| takes(self, row))
            .filter_map(|row| at(row, &self.figure)?.as_f64())
            .map(|figure| self.over.map_or(figure, |over| over / figure) * self.times)
            .collect();
        match self.pick {
            Pick::Median => record::median(&figures),
            Pick::Greatest => figures.into_iter().max_by(f64::total_cmp),
            Pick::Least => figures.into_iter().min_by(f64::total_cmp),
        }
    }
}

/// Whether a field of a row is this word.
fn is(row: &Value, path: &str, wanted: &str) -> bool {
    at(row, path).and_then(Value::as_str) == Some(wanted)
}

/// The field at a path such as `parameters.footprint`.
fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(row, |value, key| value.get(key))
}

fn same(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => found == wanted,
    }
}

fn as_number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|value| value as f64))
}

/// A figure with about four digits.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::{fs, path::Path};

    const SMALL: &str = r#"
        [sources]
        luo = { label = "Luo 2025", of = "H800", text = "Luo et al." }

        [[constant]]
        group = "L1"
        name = "latency"
        unit = "clocks"
        literature = [{ value = 32.0, source = "luo", at = "table 3" }]
        measured = { experiment = "latency", where = { "parameters.level" = "L1" }, figure = "observed.cycles" }
        command = "run latency"
        model = { card = "l1_clocks", times = 2 }

        [[constant]]
        group = "L1"
        name = "size"
        unit = "KiB"
        literature = []
        model = { value = 256 }
    "#;

    fn row(level: &str, cycles: f64) -> Value {
        json!({
            "experiment": "latency", "kernel": "chase", "backend": "measured", "language": "rust", "verified": true,
            "device": { "name": "NVIDIA H200" }, "parameters": { "level": level }, "observed": { "cycles": cycles },
        })
    }

    fn page(rows: &[Value]) -> String {
        let atlas = Atlas::read(SMALL).expect("it is an atlas");
        atlas
            .rewritten("a\n<!-- atlas -->\nold\n<!-- end of atlas -->\nb\n", rows, "l1_clocks = 46.5\nx = 1")
            .expect("a page")
    }

    #[test]
    fn a_constant_without_a_row_is_not_measured() {
        let text = page(&[]);
        assert!(
            text.contains("| latency | clocks | 32 (H800, Luo 2025, table 3) | not measured |  | 93 |\n"),
            "{text}"
        );
        assert!(text.contains("| size | KiB | none found | not measured |  | 256 |\n"), "{text}");
        assert!(text.starts_with("a\n<!-- atlas -->\n\n2 constants, 0 of them measured."), "{text}");
        assert!(
            text.contains("\nMeasured by `cargo xtask run latency`.\n") && text.ends_with("\nb\n"),
            "{text}"
        );
    }

    #[test]
    fn a_constant_is_the_median_of_its_rows_and_compared() {
        let mut of_h100 = row("L1", 20.0);
        of_h100["device"]["name"] = json!("NVIDIA H100 80GB HBM3");
        let mut unverified = row("L1", 20.0);
        unverified["verified"] = json!(false);
        let rows =
            [row("L1", 34.0), row("L1", 32.32), row("L1", 31.0), row("L2", 260.0), of_h100, unverified];
        assert!(page(&rows).contains("| 32.32 | +1.0% | 93 |\n"), "{}", page(&rows));
        let atlas = Atlas::read(SMALL).expect("it is an atlas");
        assert_eq!(rows.iter().filter(|row| atlas.uses(row)).count(), 3);
        assert_eq!(atlas.unexplained(&rows), Vec::<String>::new());
        assert_eq!(atlas.unexplained(&[row("L1", 33.0)]), ["L1: latency"]);
        let explained = SMALL.replace("command =", "explanation = \"Another clock.\"\ncommand =");
        let atlas = Atlas::read(&explained).expect("it is an atlas");
        assert_eq!(atlas.unexplained(&[row("L1", 33.0)]), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_with_the_constants_is_named() {
        let wrong = SMALL.replace("source = \"luo\"", "source = \"lou\"");
        assert_eq!(
            Atlas::read(&wrong).expect_err("no such source").to_string(),
            "latency: there is no source `lou` in [sources]"
        );
        let atlas = Atlas::read(SMALL).expect("it is an atlas");
        let error = |page: &str, card: &str| atlas.rewritten(page, &[], card).expect_err("wrong").to_string();
        assert_eq!(
            error("<!-- atlas --><!-- end of atlas -->", "x = 1"),
            "latency: crates/simt/cards/h200.toml has no figure `l1_clocks`"
        );
        assert!(error("nothing", "l1_clocks = 1").starts_with("docs/h200-atlas.md lacks the mark"));
        assert!(Atlas::read("[sources]\nconstants = 1").is_err());
    }

    #[test]
    fn figures_have_about_four_digits() {
        assert_eq!(
            [4814.304, 414.1, 34.25, 0.517, 132.0, 0.0].map(number),
            ["4814", "414.1", "34.25", "0.517", "132", "0"]
        );
    }

    /// The kept rows, the constants and the card of this repository.
    fn kept() -> (Atlas, Vec<Value>, String, String) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |name: &str| fs::read_to_string(root.join(name));
        let atlas = Atlas::read(&read(CONSTANTS).expect("the constants")).expect("they are an atlas");
        let rows = KEPT.iter().filter_map(|name| read(name).ok());
        let rows = rows.flat_map(|text| record::read_lines(&text).expect("rows")).collect();
        (atlas, rows, read(CARD).expect("the card"), read(PAGE).expect("the page"))
    }

    #[test]
    fn the_atlas_of_this_repository_is_up_to_date() {
        let (atlas, rows, card, page) = kept();
        let made = atlas.rewritten(&page, &rows, &card).expect("a page");
        assert!(made == page, "{PAGE} differs from its data: `coalesce pages atlas` writes it again");
        assert!(atlas.constant.len() >= 60, "{}", atlas.constant.len());
    }

    #[test]
    fn differences_to_the_literature_are_explained() {
        let (atlas, rows, ..) = kept();
        let lacking = atlas.unexplained(&rows);
        assert!(
            lacking.is_empty(),
            "{CONSTANTS}: these differ from the literature by more than 3% without an explanation: {lacking:#?}"
        );
    }
}
