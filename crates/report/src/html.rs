//! The report as one HTML page: what was measured, seen at a glance and explained down to the line.
//!
//! [`page`] makes it from records and the [`Catalog`] alone. The page is one file without a network: its style, its script and its
//! drawings are in it. It reads without script, on paper, on a telephone, in light and dark, by keyboard and by screen reader; each
//! mark of a chart carries its record's numbers as `data-kernel`, `data-x` and `data-y`.

mod access;
mod axes;
mod band;
mod bars;
mod curve;
mod distribution;
mod figure;
mod fleet;
mod kernel;
mod lesson;
mod limits;
mod map;
mod number;
mod overview;
mod picture;
mod profile;
mod prose;
mod roofline;
mod rows;
mod scale;
mod sectors;
mod series;
mod source;

pub use fleet::fleet;
pub use picture::picture;
pub use profile::{Profile, profile};

use crate::{Catalog, CodeLine, diff::Comparison};
use lesson::Section;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Backend, Record, Run};
use std::collections::BTreeMap;

/// The input of a page.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The page's title.
    pub title: String,
    /// The runs, each of one device.
    pub runs: Vec<RunRecords>,
    /// The lessons and kernels.
    pub catalog: &'a Catalog,
    /// The kernels' SASS, where it was disassembled.
    pub sass: Option<Sass>,
}

/// The SASS of the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sass {
    /// Which assembler, and for what: `ptxas 13.5.37 for sm_90`.
    pub origin: String,
    /// The lines of kernels by their names.
    pub kernels: BTreeMap<String, Vec<CodeLine>>,
}

/// A run and its rows.
#[derive(Clone, Debug)]
pub struct RunRecords {
    /// The fields that all rows share.
    pub run: Run,
    /// The rows.
    pub records: Vec<Record>,
    /// Rows of a simulated card of the same kind, which have the counters that a GPU does not give. Empty where there are none, and
    /// where the run itself is simulated.
    pub simulated: Vec<Record>,
}

impl RunRecords {
    /// Whether the run's times are measured or modelled.
    fn backend(&self) -> Backend {
        self.run.device.backend()
    }
}

impl Report<'_> {
    /// The label of a run: its card, and if several runs have that card, its driver or its number.
    fn card(&self, run: &RunRecords) -> String {
        let device = &run.run.device;
        let alike = |other: &&RunRecords| {
            other.run.device.plain_name() == device.plain_name() && other.backend() == run.backend()
        };
        let alike: Vec<&RunRecords> = self.runs.iter().filter(alike).collect();
        let of_driver = alike.iter().filter(|other| other.run.device.driver == device.driver).count();
        match (alike.len(), of_driver) {
            (..=1, _) => device.plain_name().to_string(),
            (_, 1) => format!("{}, driver {}", device.plain_name(), device.driver),
            _ => {
                let nth = self.runs.iter().position(|other| std::ptr::eq(other, run)).unwrap_or(0);
                format!("{}, run {}", device.plain_name(), nth + 1)
            }
        }
    }

    /// The same, measured or modelled.
    fn whose(&self, run: &RunRecords) -> String {
        format!("{}, {}", self.card(run), run.backend())
    }

    /// The kernels that have a section: those whose text or counters are known, in the order of lessons.
    fn kernels(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for section in lesson::sections(self) {
            let rows =
                self.runs.iter().flat_map(|run| &run.records).filter(|row| row.experiment == section.name);
            for row in rows {
                if !names.contains(&row.kernel.as_str()) && self.has_kernel(&row.kernel) {
                    names.push(&row.kernel);
                }
            }
        }
        names
    }

    /// Whether a kernel has a section.
    fn has_kernel(&self, name: &str) -> bool {
        let rows = || self.runs.iter().flat_map(|run| &run.records).filter(|row| row.kernel == name);
        let simulated = || self.runs.iter().flat_map(|run| &run.simulated).filter(|row| row.kernel == name);
        let counted = rows().chain(simulated()).any(|row| row.counters.is_some());
        rows().next().is_some() && (counted || self.catalog.kernel(name).is_some())
    }
}

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// The page as one text of HTML.
pub fn page(report: &Report<'_>) -> String {
    let sections = lesson::sections(report);
    let kernels = report.kernels();
    let body = html! {
        a.skip href="#main" { "Skip to the results" }
        (figure::definitions())
        header.top {
            p.brand { "Coalesce" }
            h1 { (report.title) }
        }
        div.columns {
            (contents(report, &sections, &kernels))
            main #main {
                @for (nth, run) in report.runs.iter().enumerate() { (overview::run(report, run, &sections, nth)) }
                @if report.runs.is_empty() { p { "There are no rows in this report." } }
                @for section in &sections { (section.render()) }
                @if !kernels.is_empty() {
                    section #kernels aria-labelledby="kernels-title" {
                        h2 #kernels-title { "Kernels, line by line" }
                        p { "Each kernel's Rust source beside its PTX. Below each line are the costs of its requests. A line's number links to
                            its PTX, and back. "
                            @match &report.sass {
                                Some(sass) => { "The SASS is that of " (sass.origin) "." }
                                None => { "There is no SASS, since ptxas and nvdisasm were not found where this page was made." }
                            } }
                        @for (number, name) in kernels.iter().enumerate() { (kernel::render(report, number, name)) }
                    }
                }
            }
        }
        footer { p { "Made by Coalesce from records alone. Bandwidth is bytes read and written over the median time, in 10⁹ bytes per
            second. A figure is printed only for a row that verified, every element of its result." } }
        script { (PreEscaped(SCRIPT)) }
    };
    whole(&report.title, &body)
}

/// The page of a comparison: what became slower, faster, wrong, new or gone.
pub fn comparison(comparison: &Comparison<'_>) -> String {
    let title = format!("{} against {}", comparison.b.name, comparison.a.name);
    let body = html! {
        a.skip href="#diff" { "Skip to the rows" }
        header.top { p.brand { "Coalesce" } h1 { "Two runs compared" } }
        main { (PreEscaped(comparison.html())) }
        footer { p { "Made by Coalesce from records alone. A change is certain if the 95% interval of the ratio excludes 1." } }
        script { (PreEscaped(SCRIPT)) }
    };
    whole(&title, &body)
}

/// A page with its style.
fn whole(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

fn contents(report: &Report<'_>, sections: &[Section<'_>], kernels: &[&str]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ol {
                @for (nth, run) in report.runs.iter().enumerate() {
                    li { a href={"#run-" (nth)} { (report.whose(run)) } }
                }
                @for section in sections { li { a href={"#lesson-" (section.name)} {
                    span.short { (section.name) } span.long { (section.title()) }
                } } }
                @if !kernels.is_empty() { li { a href="#kernels" { "Kernels, line by line" } } }
            }
        }
    }
}
