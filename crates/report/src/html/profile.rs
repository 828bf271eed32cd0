//! The page of a profile: the launches of any program on the simulated driver, kernel by kernel.

use super::{
    figure, kernel, limits,
    number::{count, first_letter_up, percent, time},
    source::Panes,
    whole,
};
use crate::{expected, explanation};
use maud::{Markup, PreEscaped, html};
use record::{Counted, Line, ProfiledLaunch, Times};
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
    /// The sum of the launches' times; 0 where they have none.
    milliseconds: f64,
    /// Why a launch has no modelled time; then the kernel has none.
    unknown: Option<&'a str>,
    /// The interval of the sum: the errors of one kernel's launches go one way.
    interval: Option<[f64; 2]>,
}

impl Kernel<'_> {
    /// The launch that took longest, or the first of those without a time.
    fn longest(&self) -> &ProfiledLaunch {
        let time = |launch: &ProfiledLaunch| launch.modelled.nanoseconds.unwrap_or(0.0);
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
    let total: f64 = kernels.iter().map(|kernel| kernel.milliseconds).sum();
    let interval = sum(timed(&kernels).map(|kernel| kernel.interval));
    let launches = timed(&kernels).map(|kernel| kernel.launches.len()).sum();
    let untimed: Vec<(&str, &str)> =
        kernels.iter().filter_map(|kernel| Some((kernel.name, kernel.unknown?))).collect();
    let body = html! {
        a.skip href="#main" { "Skip to the kernels" }
        (figure::definitions())
        header.top { p.brand { "Coalesce" } h1 { (profile.title) } }
        main #main {
            section aria-labelledby="overview-title" {
                h2 #overview-title { "Where the time goes" }
                p { (plural(launches, "launch", "launches")) " of " (plural(timed(&kernels).count(), "kernel", "kernels"))
                    " took " (time(total)) " of modelled time"
                    @if let Some([low, high]) = interval {
                        ", " (time(low)) " to " (time(high)) " if the errors of all kernels go one way"
                    }
                    "." }
                p.note { (expected::of_profile()) }
                (bars(&kernels, total))
                @for (name, why) in untimed { p.caution { code { (name) } ": " (why) "." } }
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

/// A modelled time with its interval: `4.01 ms (3.70 ms to 4.21 ms)`.
fn doubted(milliseconds: f64, interval: Option<[f64; 2]>) -> String {
    let interval = interval.map(|[low, high]| format!(" ({} to {})", time(low), time(high)));
    time(milliseconds) + &interval.unwrap_or_default()
}

/// The sums of the lower and of the upper bounds: the interval of the sum where all errors go one way.
fn sum(mut intervals: impl Iterator<Item = Option<[f64; 2]>>) -> Option<[f64; 2]> {
    intervals
        .try_fold([0.0, 0.0], |[low, high], bounds| bounds.map(|[least, most]| [low + least, high + most]))
}

/// The kernels, those that took longest first.
fn kernels(launches: &[ProfiledLaunch]) -> Vec<Kernel<'_>> {
    let mut kernels: BTreeMap<(&str, &str), Kernel<'_>> = BTreeMap::new();
    for launch in launches {
        let kernel = kernels.entry((&launch.kernel, &launch.card)).or_insert_with(|| Kernel {
            name: &launch.kernel,
            launches: Vec::new(),
            milliseconds: 0.0,
            unknown: None,
            interval: None,
        });
        kernel.launches.push(launch);
        kernel.unknown = kernel.unknown.or(launch.modelled.unknown.as_deref());
    }
    let mut kernels: Vec<Kernel<'_>> = kernels.into_values().collect();
    for kernel in kernels.iter_mut().filter(|kernel| kernel.unknown.is_none()) {
        let times: Vec<Times> = kernel.launches.iter().filter_map(|launch| launch.times()).collect();
        kernel.milliseconds = times.iter().map(|times| times.median).sum();
        kernel.interval = sum(times.iter().map(|times| times.interval));
    }
    kernels.sort_by(|one, other| other.milliseconds.total_cmp(&one.milliseconds));
    kernels
}

/// The kernels that have a modelled time.
fn timed<'k>(kernels: &'k [Kernel<'k>]) -> impl Iterator<Item = &'k Kernel<'k>> {
    kernels.iter().filter(|kernel| kernel.unknown.is_none())
}

/// The kernels' shares of the time.
fn bars(kernels: &[Kernel<'_>], total: f64) -> Markup {
    let ends = kernels.iter().map(|kernel| kernel.interval.map_or(kernel.milliseconds, |[_, high]| high));
    let end = ends.chain(kernels.iter().map(|kernel| kernel.milliseconds)).fold(f64::MIN_POSITIVE, f64::max);
    let at = |milliseconds: f64| format!("{:.2}", 100.0 * milliseconds / end);
    html! {
        table.bars.modelled role="table" {
            caption { "Modelled time of each kernel, all its launches together" }
            tbody role="rowgroup" { @for kernel in timed(kernels) {
                tr role="row" {
                    th scope="row" role="rowheader" { a href={"#" (kernel.id())} { (kernel.name) } }
                    td.track role="cell" {
                        span.bar style={"width:" (at(kernel.milliseconds)) "%"}
                            data-kernel=(kernel.name) data-y=(kernel.milliseconds)
                            title=(doubted(kernel.milliseconds, kernel.interval)) {}
                        @if let Some([low, high]) = kernel.interval {
                            span.whisker style={"left:" (at(low)) "%;width:" (at(high - low)) "%"} data-low=(low) data-high=(high) {}
                        }
                    }
                    td.value role="cell" { (time(kernel.milliseconds)) }
                    td.part role="cell" { (percent(kernel.milliseconds / total)) }
                }
            } }
        }
        p.note { "Modelled figures are hatched. Whiskers: of ten such kernels, eight are measured within; where two overlap, either
            kernel may take longer." }
    }
}

fn section(profile: &Profile<'_>, number: usize, kernel: &Kernel<'_>, total: f64) -> Markup {
    let launch = kernel.longest();
    let (device, counted) = (launch.device_info(), launch.counted());
    let launches = kernel.launches.len() as f64;
    let each = doubted(
        kernel.milliseconds / launches,
        kernel.interval.map(|bounds| bounds.map(|bound| bound / launches)),
    );
    let says = match kernel.unknown {
        Some(_) => "no modelled time".to_owned(),
        None => format!("{each} each, {} of the time", percent(kernel.milliseconds / total)),
    };
    let times = launch.times().filter(|_| kernel.unknown.is_none());
    let took = match (&times, kernel.unknown) {
        (Some(times), _) => format!("modelled time {}", doubted(times.median, times.interval)),
        (None, why) => why.unwrap_or("no modelled time").to_owned(),
    };
    let files = files(&counted);
    html! {
        details.kernel id=(kernel.id()) open[number == 0] {
            summary { h3 { code { (kernel.name) } } span.says {
                (plural(kernel.launches.len(), "launch", "launches")) ", " (says) } }
            p.note { "Launch " (launch.launch) " on " (device.plain_name()) ": grid " (extent(launch.grid)) ", block " (extent(launch.block))
                ", " (took) "." }
            @if times.is_some() {
                p { (first_letter_up(&explanation::of_counters(&counted, &device, times.as_ref()))) "." }
                (limits::render(&device, &counted, times.as_ref()))
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Bound, counters::LaunchCounters, doubt::Residuals};
    use serde_json::json;

    /// A launch on an H200 whose time is that of DRAM and L2.
    fn launch(kernel: &str, milliseconds: f64, [dram, l2]: [f64; 2]) -> ProfiledLaunch {
        let seconds = json!({
            "launch": 1e-6, "dram": dram * 1e-3, "l2": l2 * 1e-3, "on_chip": 0.0, "issue": 0.0, "latency": 0.0,
            "host_link": 0.0, "migration": 0.0,
        });
        let launch = json!({
            "launch": 1, "kernel": kernel, "device": 0, "card": "h200", "card_name": "NVIDIA H200 (modelled)",
            "compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 62_914_560, "grid": [1000, 1, 1],
            "block": [256, 1, 1], "dram_bytes": 1 << 20, "lines": [], "counters": LaunchCounters::default(),
            "modelled": { "gpu__time_duration.sum": milliseconds * 1e6, "seconds": seconds },
        });
        serde_json::from_value(launch).expect("a launch as a profile has it")
    }

    fn page(launches: &[ProfiledLaunch]) -> String {
        profile(&Profile { title: "Profile".to_string(), launches, source: &|_| None })
    }

    /// Bounds of a kernel that the model has not seen, in the words of the page.
    fn interval(milliseconds: f64) -> [f64; 2] {
        let residuals = Residuals::built_in();
        residuals.interval("h200", Some(""), Bound::Dram, milliseconds).expect("there are residuals")
    }

    #[test]
    fn times_have_their_intervals() {
        let launches =
            [launch("k", 2.0, [1.9, 0.1]), launch("k", 4.0, [3.9, 0.1]), launch("other", 1.0, [0.9, 0.0])];
        let page = page(&launches);
        let text = |milliseconds: f64| {
            let [low, high] = interval(milliseconds);
            format!("{} ({} to {})", time(milliseconds), time(low), time(high))
        };
        assert!(page.contains(&format!("modelled time {}.", text(4.0))), "the longest launch");
        assert!(page.contains(&format!("2 launches, {} each, 85.7% of the time", text(3.0))), "{page}");
        let [low, high] = interval(7.0);
        let total = format!("{} of modelled time, {} to {} if the errors", time(7.0), time(low), time(high));
        assert!(page.contains(&total), "{page}");
        let [low, high] = interval(6.0);
        let whisker = page.split("class=\"whisker\"").nth(1).expect("the first kernel has one");
        let value = |name: &str| -> f64 {
            let text = whisker.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            text.and_then(|text| text.parse().ok()).expect("a number")
        };
        assert!(
            (value("data-low") / low - 1.0).abs() < 1e-9 && (value("data-high") / high - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn a_kernel_that_the_model_does_not_know_has_no_time() {
        let mut unknown = launch("swaps", 5.0, [4.9, 0.0]);
        unknown.modelled.nanoseconds = None;
        unknown.modelled.unknown = Some("no modelled time: threads contest".to_string());
        let page = page(&[launch("k", 2.0, [1.9, 0.1]), unknown]);
        assert!(page.contains("<code>swaps</code>: no modelled time: threads contest."), "{page}");
        assert!(
            page.contains(&format!("1 launch of 1 kernel took {} of modelled time", time(2.0))),
            "{page}"
        );
        assert!(page.contains("1 launch, no modelled time"), "{page}");
        assert!(page.contains("100% of the time") && !page.contains("data-kernel=\"swaps\""), "{page}");
    }

    #[test]
    fn a_split_within_the_doubt_says_so() {
        let near = page(&[launch("k", 2.0, [1.9, 1.85])]);
        assert!(near.contains("and within that either DRAM or L2 may dominate."), "{near}");
        assert!(near.contains("DRAM-bound or L2-bound, which the model cannot tell apart."), "{near}");
        let far = page(&[launch("k", 2.0, [1.9, 0.01])]);
        assert!(!far.contains("may dominate") && far.contains("DRAM-bound."), "{far}");
    }
}
