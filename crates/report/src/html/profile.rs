//! The page of a profile: the launches of any program on the simulated driver, kernel by kernel.

use super::{
    figure, kernel, limits,
    number::{count, first_letter_up, percent, time},
    source::Panes,
    whole,
};
use crate::explanation;
use maud::{Markup, PreEscaped, html};
use record::{Bound, Counted, Line, ProfiledLaunch, doubt::Residuals};
use std::collections::BTreeMap;

/// The input of a profile's page.
pub struct Profile<'a> {
    /// The page's title.
    pub title: String,
    /// The launches.
    pub launches: &'a [ProfiledLaunch],
    /// Gives the text of a source file by the path that the compiler wrote; `None` where it is not at hand.
    pub source: &'a dyn Fn(&str) -> Option<String>,
}

/// The launches of one kernel on one card.
struct Kernel<'a> {
    name: &'a str,
    launches: Vec<&'a ProfiledLaunch>,
    nanoseconds: f64,
}

impl Kernel<'_> {
    /// The launch that took longest.
    fn longest(&self) -> &ProfiledLaunch {
        let time = |launch: &ProfiledLaunch| launch.modelled.nanoseconds;
        let longer = |one, other| if time(other) > time(one) { other } else { one };
        self.launches.iter().copied().reduce(longer).unwrap_or(self.launches[0])
    }

    fn id(&self) -> String {
        format!("kernel-{}-{}", self.longest().card, self.name)
    }
}

/// The page as one text of HTML.
pub fn profile(profile: &Profile<'_>) -> String {
    let kernels = kernels(profile.launches);
    let total: f64 = kernels.iter().map(|kernel| kernel.nanoseconds).sum();
    let body = html! {
        a.skip href="#main" { "Skip to the kernels" }
        (figure::definitions())
        header.top { p.brand { "Coalesce" } h1 { (profile.title) } }
        main #main {
            section aria-labelledby="overview-title" {
                h2 #overview-title { "Where the time goes" }
                p { (plural(profile.launches.len(), "launch", "launches")) " of " (plural(kernels.len(), "kernel", "kernels"))
                    " took " (time(total * 1e-6)) " of modelled time." }
                p.note { (DOUBT) }
                (bars(&kernels, total))
            }
            section #kernels aria-labelledby="kernels-title" {
                h2 #kernels-title { "Kernels, line by line" }
                p { "Of each kernel the launch that took longest. Below a line of source stands what its requests cost." }
                @for (number, kernel) in kernels.iter().enumerate() { (section(profile, number, kernel, total)) }
            }
        }
        footer { p { "Made by Coalesce from a profile of the simulated driver. Whether the kernels' results are right, it does not know." } }
        script { (PreEscaped(super::SCRIPT)) }
    };
    whole(&profile.title, &body)
}

/// The expected error of the times.
const DOUBT: &str = "Requests, sectors and wavefronts are counted exactly. Times are modelled, and the model has not seen these \
                     kernels: on 80 such rows its median error was 11%, and a tenth were off by more than 36% (H200). The \
                     interval behind a time holds eight in ten such kernels.";

/// Returns the interval of a launch's time as text. Its kernel counts as other people's, since a name in another program
/// does not identify one of this repository's.
fn interval(launch: &ProfiledLaunch, bound: Bound) -> String {
    let milliseconds = launch.modelled.nanoseconds * 1e-6;
    let interval = Residuals::built_in().interval(&launch.card, Some(""), bound, milliseconds);
    interval.map(|[low, high]| format!(" ({} to {})", time(low), time(high))).unwrap_or_default()
}

/// The kernels, those that took longest first.
fn kernels(launches: &[ProfiledLaunch]) -> Vec<Kernel<'_>> {
    let mut kernels: BTreeMap<(&str, &str), Kernel<'_>> = BTreeMap::new();
    for launch in launches {
        let kernel = kernels.entry((&launch.kernel, &launch.card)).or_insert_with(|| Kernel {
            name: &launch.kernel,
            launches: Vec::new(),
            nanoseconds: 0.0,
        });
        kernel.launches.push(launch);
        kernel.nanoseconds += launch.modelled.nanoseconds;
    }
    let mut kernels: Vec<Kernel<'_>> = kernels.into_values().collect();
    kernels.sort_by(|one, other| other.nanoseconds.total_cmp(&one.nanoseconds));
    kernels
}

/// The kernels' shares of the time.
fn bars(kernels: &[Kernel<'_>], total: f64) -> Markup {
    let longest = kernels.first().map_or(1.0, |kernel| kernel.nanoseconds);
    html! {
        table.bars.modelled role="table" {
            caption { "Modelled time of each kernel, all its launches together" }
            tbody role="rowgroup" { @for kernel in kernels {
                tr role="row" {
                    th scope="row" role="rowheader" { a href={"#" (kernel.id())} { (kernel.name) } }
                    td.track role="cell" {
                        span.bar style={"width:" (format!("{:.2}", 100.0 * kernel.nanoseconds / longest)) "%"}
                            data-kernel=(kernel.name) data-y=(kernel.nanoseconds) {}
                    }
                    td.value role="cell" { (time(kernel.nanoseconds * 1e-6)) }
                    td.part role="cell" { (percent(kernel.nanoseconds / total)) }
                }
            } }
        }
        p.note { "Modelled figures are hatched." }
    }
}

fn section(profile: &Profile<'_>, number: usize, kernel: &Kernel<'_>, total: f64) -> Markup {
    let launch = kernel.longest();
    let (device, counted) = (launch.device_info(), launch.counted());
    let each = kernel.nanoseconds / kernel.launches.len() as f64;
    let files = files(&counted);
    html! {
        details.kernel id=(kernel.id()) open[number == 0] {
            summary { h3 { code { (kernel.name) } } span.says {
                (plural(kernel.launches.len(), "launch", "launches")) ", " (time(each * 1e-6)) " each, " (percent(kernel.nanoseconds / total)) " of the time" } }
            p.note { "Launch " (launch.launch) " on " (device.plain_name()) ": grid " (extent(launch.grid)) ", block " (extent(launch.block))
                ", modelled time " (time(launch.modelled.nanoseconds * 1e-6)) (interval(launch, counted.bound)) "." }
            p { (first_letter_up(&explanation::of_counters(&counted, &device))) "." }
            (limits::render(&device, &counted))
            @if counted.lines.is_empty() {
                p.note { "The PTX has no line information: compile with line tables (nvcc -lineinfo, or debug = \"line-tables-only\") to \
                    see counters beside the source." }
            }
            @for (nth, file) in files.iter().enumerate() { (source(profile, 1000 * number + nth, kernel.name, file, &counted)) }
            (kernel::worst(&format!("{number}"), &counted.lines))
        }
    }
}

/// A file's lines with their counters.
fn source(profile: &Profile<'_>, number: usize, name: &str, file: &str, counted: &Counted) -> Markup {
    let text = (profile.source)(file);
    let lines: Vec<Line> = counted.lines.iter().filter(|line| line.file == file).cloned().collect();
    // Lines of another file than the one that is shown appear by their numbers.
    let (file, source) = text.as_deref().map_or(("no source", ""), |text| (file, text));
    let total = counted.launch.total;
    let panes =
        Panes { number, name, file, source, function: None, ptx: &[], sass: &[], lines: &lines, total };
    html! {
        @if text.is_none() {
            p.note { "The source file is not on this machine, so its lines are shown by their numbers." }
        }
        (panes.render())
    }
}

/// The files that have counters, in the order of their sectors and wavefronts.
fn files(counted: &Counted) -> Vec<&str> {
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &counted.lines {
        let moved =
            line.counts.global().sectors + line.counts.shared().wavefronts + line.counts.constant.requests;
        *files.entry(&line.file).or_default() += moved;
    }
    let mut files: Vec<(&str, u64)> = files.into_iter().filter(|(_, moved)| *moved > 0).collect();
    files.sort_by_key(|(_, moved)| std::cmp::Reverse(*moved));
    files.into_iter().map(|(file, _)| file).collect()
}

/// `1 launch`, or `1,200 launches`.
fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// `4096`, or `64 x 32 x 2`.
fn extent([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => count(x.into()),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    }
}
