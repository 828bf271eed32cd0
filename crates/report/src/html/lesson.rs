//! A lesson's section: its finding, its picture of each run, its text and its rows.

use super::{
    Report, RunRecords,
    bars::Bars,
    curve::Curves,
    distribution::Distribution,
    figure::{Figure, scrolling},
    map::Map,
    number::{first_letter_down, first_letter_up},
    prose::Prose,
    roofline::Roofline,
    rows,
    series::{self, Cells},
};
use crate::{
    Lesson, Picture, literature,
    matrix::{self, matrices},
    pages::atlas::Beside,
    terminal::{bounds, reach},
};
use maud::{Markup, html};
use record::{Backend, Language, Measure, Record};

/// More curves than this are drawn in charts of their own, a kernel in each.
const CURVES: usize = 7;

/// A run with its number, and its rows of one lesson.
type Part<'a> = (usize, &'a RunRecords, Vec<&'a Record>);

/// A lesson of the report: an experiment that has rows.
pub(super) struct Section<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// Its entry in the catalog; `None` for an experiment that this program does not have.
    pub lesson: Option<&'a Lesson>,
    report: &'a Report<'a>,
}

/// The lessons with rows, in the order in which they are taught; experiments that the catalog lacks come last.
pub(super) fn sections<'a>(report: &'a Report<'a>) -> Vec<Section<'a>> {
    let mut names: Vec<&str> = Vec::new();
    let of_rows = report.runs.iter().flat_map(|run| &run.records).map(|row| row.experiment.as_str());
    let taught = report.catalog.lessons.iter().map(|lesson| lesson.name);
    let present: Vec<&str> = of_rows.collect();
    for name in taught.filter(|name| present.contains(name)).chain(present.iter().copied()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let section = |name| Section { name, lesson: report.catalog.lesson(name), report };
    names.into_iter().map(section).collect()
}

impl Section<'_> {
    /// The lesson's title.
    pub(super) fn title(&self) -> String {
        let Some(lesson) = self.lesson else { return self.name.to_string() };
        let title =
            if self.told_by().is_some() { String::new() } else { Prose::of(&lesson.prose, &|_| false).title };
        if title.is_empty() {
            // A summary begins with what is computed: `a[i * s] += 1: warps spread out`.
            let said = lesson.summary.split_once(": ").map_or(lesson.summary, |(_, said)| said);
            first_letter_up(said)
        } else {
            title
        }
    }

    /// The lesson before this one with the same text, where there is one: kernels of one module share its comment.
    fn told_by(&self) -> Option<&str> {
        let mine = self.lesson?;
        let first = sections(self.report)
            .into_iter()
            .filter_map(|section| section.lesson)
            .find(|lesson| lesson.prose == mine.prose)?;
        (first.name != self.name && !mine.prose.is_empty()).then_some(first.name)
    }

    /// The section as an element.
    pub(super) fn render(&self) -> Markup {
        let linked = |name: &str| self.report.has_kernel(name);
        let told = self.told_by();
        let prose = self.lesson.filter(|_| told.is_none()).map(|lesson| Prose::of(&lesson.prose, &linked));
        let runs = self.runs();
        let several = self.report.runs.len() > 1;
        html! {
            section.lesson id={"lesson-" (self.name)} aria-labelledby={"lesson-" (self.name) "-title"} {
                p.kicker {
                    code { (self.name) }
                    @if let Some(lesson) = self.lesson.filter(|lesson| lesson.summary != self.title()) { " · " (lesson.summary) }
                }
                h2 id={"lesson-" (self.name) "-title"} { (self.title()) }
                @if let Some(prose) = &prose { div.prose { (prose.lead) } }
                @if let Some(other) = told { p { "The text of " a href={"#lesson-" (other)} { (other) } " tells of both." } }
                @for (_, run, rows) in &runs {
                    @if let Some(finding) = self.lesson.and_then(|lesson| (lesson.finding)(rows)) {
                        p.finding {
                            @if several || run.backend() == Backend::Modelled {
                                span.whose { (self.report.whose(run)) ": " }
                            }
                            (finding)
                        }
                    }
                }
                div.charts {
                    @for figure in self.squares(&runs) { (figure.render()) }
                    @for (nth, run, rows) in &runs { (self.picture(*nth, run, rows)) }
                }
                @if let Some(lesson) = self.lesson { @if !lesson.reading.is_empty() { p.note { (lesson.reading) } } }
                @for (_, run, rows) in &runs {
                    @if several { p.whose { (self.report.whose(run)) } }
                    (rows::table(rows, &linked))
                    (others(rows))
                }
                @if let Some(prose) = prose.filter(|prose| !prose.rest.0.is_empty()) {
                    details.more { summary { "Read the lesson" } div.prose { (prose.rest) } }
                }
                (self.kernels())
                (self.articles())
            }
        }
    }

    /// The runs that have rows of it, with their numbers.
    pub(super) fn runs(&self) -> Vec<Part<'_>> {
        let runs = self.report.runs.iter().enumerate().map(|(nth, run)| {
            (nth, run, run.records.iter().filter(|row| row.experiment == self.name).collect())
        });
        runs.filter(|(_, _, rows): &(_, _, Vec<&Record>)| !rows.is_empty()).collect()
    }

    /// Links to the sections of its kernels.
    fn kernels(&self) -> Markup {
        let kernels: Vec<&str> = self.report.kernels().into_iter().filter(|name| self.has(name)).collect();
        html! {
            @if !kernels.is_empty() {
                p.chips { "Line by line: " @for name in kernels { a href={"#kernel-" (name)} { code { (name) } } " " } }
            }
        }
    }

    fn has(&self, kernel: &str) -> bool {
        let mut rows = self.report.runs.iter().flat_map(|run| &run.records);
        rows.any(|row| row.experiment == self.name && row.kernel == kernel)
    }

    fn articles(&self) -> Markup {
        let articles = self.lesson.map(|lesson| lesson.articles).unwrap_or_default();
        html! {
            @if !articles.is_empty() {
                ul.articles aria-label="Articles" {
                    @for article in articles {
                        li { a href=(article.url) { cite { (article.title) } } ", " (article.author) ", " (article.year) }
                    }
                }
            }
        }
    }

    /// The matrices of ends, of all runs on cards of one kind together: each card has its own pairs.
    pub(super) fn squares(&self, runs: &[Part<'_>]) -> Vec<Figure> {
        let Some(Picture::Matrix { to, from, .. }) = self.lesson.map(|lesson| lesson.picture) else {
            return Vec::new();
        };
        // Cards of one kind with different numbers; a number that comes again is of another machine or another time.
        let mut groups: Vec<Vec<&Part<'_>>> = Vec::new();
        for part in runs {
            let (device, backend) = (&part.1.run.device, part.1.backend());
            let joins = |group: &&mut Vec<&Part<'_>>| {
                let of_kind = |run: &RunRecords| {
                    run.run.device.plain_name() == device.plain_name() && run.backend() == backend
                };
                group.iter().all(|(_, run, _)| of_kind(run) && run.run.device.ordinal != device.ordinal)
            };
            match groups.iter_mut().find(joins) {
                Some(group) => group.push(part),
                None => groups.push(vec![part]),
            }
        }
        let mut figures = Vec::new();
        for alike in groups {
            let (name, backend) = (alike[0].1.run.device.plain_name(), alike[0].1.backend());
            let rows: Vec<&Record> = alike.iter().flat_map(|(.., rows)| rows.iter().copied()).collect();
            let (matrices, _) = matrices(&rows, [to, from]);
            let bounds = matrix::bounds(&matrices);
            let whose = match alike[..] {
                [(_, run, _)] => self.report.whose(run),
                _ => format!("{} x {name}, {backend}", alike.len()),
            };
            for mut matrix in matrices {
                let id = format!("map-{}-{}", self.name, figures.len());
                let label = std::mem::take(&mut matrix.label);
                let whose = if label.is_empty() { whose.clone() } else { format!("{label}, {whose}") };
                let (measure, over, cells) = (Measure::Bandwidth, [to, from], Cells::from(matrix));
                figures.push(Map { id, measure, whose, over, cells, bounds, backend }.figure());
            }
        }
        figures
    }

    fn picture(&self, nth: usize, run: &RunRecords, rows: &[&Record]) -> Markup {
        let figures = self.figures(nth, run, rows);
        if !figures.is_empty() {
            return html! { @for figure in figures { (figure.render()) } };
        }
        let by = match self.lesson.map(|lesson| lesson.picture) {
            Some(Picture::Matrix { to, from, by }) => {
                let (matrices, others) = matrices(rows, [to, from]);
                return html! { @if matrices.is_empty() || !others.is_empty() { (self.bars(run, &others, by)) } };
            }
            Some(Picture::Bars { by } | Picture::Curve { by, .. }) => by,
            _ => &[],
        };
        self.bars(run, rows, by)
    }

    /// The curves, maps or the roofline of a run; none of a lesson that is drawn as bars.
    pub(super) fn figures(&self, nth: usize, run: &RunRecords, rows: &[&Record]) -> Vec<Figure> {
        match self.lesson.map(|lesson| lesson.picture) {
            Some(Picture::Curve { over, by, sectors }) => {
                let of = |measure| self.curves(nth, run, rows, measure, over, by, sectors);
                let curves = measures(rows).into_iter().flat_map(of);
                curves.chain(self.distributions(nth, run, rows)).collect()
            }
            Some(Picture::Map { x, y }) => {
                let of = |measure| self.maps(nth, run, rows, measure, [x, y]);
                measures(rows).into_iter().flat_map(of).collect()
            }
            Some(Picture::Roofline) => {
                let rows = series::labelled(rows, &[]);
                let id = format!("chart-{}-{nth}", self.name);
                let figure = Roofline { id, whose: self.report.whose(run), run: &run.run, rows }.figure();
                figure.into_iter().collect()
            }
            Some(Picture::Bars { .. } | Picture::Matrix { .. }) | None => Vec::new(),
        }
    }

    /// The distributions of rows whose operations were timed one by one.
    fn distributions(&self, nth: usize, run: &RunRecords, rows: &[&Record]) -> Vec<Figure> {
        let labelled = series::labelled(rows, &[]).into_iter().enumerate();
        let figures = labelled.filter_map(|(part, (label, row))| {
            let id = format!("distribution-{}-{nth}-{part}", self.name);
            Some(Distribution::of(id, label, self.report.whose(run), row)?.figure())
        });
        figures.collect()
    }

    fn maps(
        &self,
        nth: usize,
        run: &RunRecords,
        rows: &[&Record],
        measure: Measure,
        over: [&'static str; 2],
    ) -> Vec<Figure> {
        let [x, y] = over;
        let all = series::cells(rows, measure, x, y);
        let rows = all.iter().flat_map(|map| &map.rows);
        let bounds = bounds(rows.filter_map(|(.., row)| measure.of(row)));
        let figure = |(part, cells)| {
            let id = format!("map-{}-{nth}-{}{part}", self.name, measure_id(measure));
            let whose = self.report.whose(run);
            Map { id, measure, whose, over, cells, bounds, backend: run.backend() }.figure()
        };
        all.clone().into_iter().enumerate().map(figure).collect()
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of the picture, one by one")]
    fn curves(
        &self,
        nth: usize,
        run: &RunRecords,
        rows: &[&Record],
        measure: Measure,
        over: &'static str,
        by: &[&str],
        sectors: bool,
    ) -> Vec<Figure> {
        let all = series::over(rows, measure, over, by);
        if all.iter().all(|series| series.points.len() < 2) {
            return Vec::new();
        }
        let points = all.iter().flat_map(|series| &series.points);
        let bounds = bounds(points.flat_map(|(_, row)| reach(row, measure)));
        let mut parts: Vec<(String, Vec<series::Series<'_>>)> = Vec::new();
        if all.len() <= CURVES {
            parts.push((String::new(), all));
        } else {
            for mut series in all {
                if let Some(rest) =
                    series.label.strip_prefix(series.kernel).and_then(|rest| rest.strip_prefix(", "))
                {
                    series.label = rest.to_string();
                }
                match parts.iter_mut().find(|(kernel, _)| kernel == series.kernel) {
                    Some((_, part)) => part.push(series),
                    None => parts.push((series.kernel.to_string(), vec![series])),
                }
            }
        }
        let figures = parts.into_iter().enumerate().filter_map(|(part, (kernel, series))| {
            let curves = Curves {
                id: format!("chart-{}-{nth}-{}{part}", self.name, measure_id(measure)),
                measure,
                subject: match (kernel.is_empty(), measure) {
                    (true, _) => measure.name().to_string(),
                    (false, Measure::Bandwidth) => format!("{kernel}: bandwidth"),
                    (false, _) => format!("{kernel}: {}", first_letter_down(measure.name())),
                },
                whose: self.report.whose(run),
                over,
                series,
                sectors: sectors && measure == Measure::Bandwidth,
                simulated: &run.simulated,
                bounds,
            };
            curves.figure()
        });
        figures.collect()
    }

    fn bars(&self, run: &RunRecords, rows: &[&Record], by: &[&str]) -> Markup {
        let kernels = || rows.iter().filter(|row| row.language == Language::Rust);
        let first = kernels().map(|row| row.measure()).next();
        let measure = first.filter(|first| kernels().all(|row| row.measure() == *first));
        let measure = measure.unwrap_or(Measure::Bandwidth);
        let title = format!("{}, {}", measure.name(), self.report.whose(run));
        let linked = |name: &str| self.report.has_kernel(name);
        let groups = vec![(html! {}, series::labelled(rows, by))];
        Bars { title, measure, rows, groups, linked: &linked }.render()
    }
}

/// Renders the published figures of what these rows measure beside their own; empty if there are none.
fn others(rows: &[&Record]) -> Markup {
    let lines = literature::beside(rows);
    let known = |figure: &Option<String>| figure.clone().unwrap_or_else(|| "-".to_string());
    let table = html! {
        table.numbers {
            thead { tr { th { "Constant" } th.words { "Others" } th { "Here" } th { "H200, model" } } }
            tbody {
                @for Beside { name, published, here, model } in &lines {
                    tr { td.words { (name) } td.words { (published) } td { (known(here)) } td { (known(model)) } }
                }
            }
        }
    };
    html! {
        @if !lines.is_empty() {
            details.table { summary { "What others have measured" } (scrolling("What others have measured", &table)) }
        }
    }
}

/// The quantities that rows are compared by.
fn measures(rows: &[&Record]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = rows.iter().map(|row| row.measure()).collect();
    measures.sort();
    measures.dedup();
    measures
}

/// The part of a figure's id that tells the quantity; empty for bandwidth.
fn measure_id(measure: Measure) -> String {
    match measure {
        Measure::Bandwidth => String::new(),
        Measure::Arithmetic => "flop-".to_string(),
        Measure::Operations(kind) => format!("{kind}-"),
    }
}
