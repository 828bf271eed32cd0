//! A kernel or an experiment explained in a terminal: `coalesce explain`.
//!
//! A kernel's page follows one launch that was simulated: the source with what was counted below each line, the request
//! that cost most drawn lane by lane, what limits occupancy and time. An experiment's page is its lesson.

mod access;
pub(crate) mod limits;
mod prose;
pub(crate) mod source;
mod style;

pub use prose::plain;

use crate::{
    Catalog, KernelText, Lesson,
    terminal::{Ink, Style},
};
use record::{
    Counted, Line, Record,
    counters::{Access, AccessKind},
    doubt::Residuals,
};
use std::fmt::Write;

/// The row of a kernel with the highest cost of its requests over their least possible cost,
/// of equals the first. `None` where none has counters.
pub fn most_telling(rows: &[Record]) -> Option<&Record> {
    let cost = |row: &&Record| row.counters.as_deref().map(excess);
    let known = rows.iter().filter(|row| row.counters.is_some());
    known.rev().max_by(|one, other| cost(one).partial_cmp(&cost(other)).unwrap_or(std::cmp::Ordering::Equal))
}

/// How many times their least cost a launch's requests take, in whichever memory that is most.
pub(crate) fn excess(counted: &Counted) -> f64 {
    let total = &counted.launch.total;
    let global = total.global() + total.local_loads + total.local_stores;
    let sectors = global.sectors as f64 / global.ideal_sectors().max(1) as f64;
    let constant = 1.0 + total.constant.replays as f64 / total.constant.requests.max(1) as f64;
    sectors.max(total.shared().ways()).max(constant)
}

/// A kernel by one of its rows, which has counters of a simulated launch; with `ptx` what each line was compiled to.
pub fn kernel(text: &KernelText, row: &Record, counted: &Counted, ptx: bool, style: Style) -> String {
    let mut out = head(text, style);
    let device = &row.device;
    let _ = writeln!(out, "{}", style.paint(Ink::Strong, "One launch, line by line"));
    let setting = format!(
        "Simulated for {} ({}): {}{}.",
        device.plain_name(),
        device.selector(),
        row.parameters,
        row.parameters.grid.map(|grid| format!(", grid {grid}")).unwrap_or_default(),
    );
    let _ = writeln!(out, "{}", style.wrap("", "", &setting));
    out += &source::annotated(text, &counted.lines, ptx, style);
    for access in drawn(&counted.lines) {
        out += &worst(access, style);
    }
    let _ = write!(
        out,
        "\n{}\n{}",
        style.paint(Ink::Strong, "Occupancy"),
        style.wrap("", "", &capitalised(&limits::occupancy(counted, device))),
    );
    let _ = write!(
        out,
        "\n{}\n{}",
        style.paint(Ink::Strong, "Limits, as shares of the longest (modelled)"),
        style.wrap("", "", &limits::speed_of_light(&counted.modelled_us)),
    );
    let untimed = |card: &String| Residuals::built_in().of_untimed(card, Some(&row.kernel), counted.bound);
    let whole = row.time_ms.or_else(|| device.card.as_ref().map(untimed));
    if let Some(doubt) = limits::doubt(&counted.modelled_us, whole.as_ref()) {
        out += &style.wrap("", "", &doubt);
    }
    if let Some(explanation) = &row.explanation {
        let sentence = format!("{}.", capitalised(explanation));
        let _ =
            write!(out, "\n{}\n{}", style.paint(Ink::Strong, "In a sentence"), style.wrap("", "", &sentence));
    }
    out + &see_also(text, style)
}

/// Name, summary, signature and contract.
fn head(text: &KernelText, style: Style) -> String {
    let mut out = format!(
        "{}  {}\n",
        style.paint(Ink::Strong, text.name),
        style.paint(Ink::Faint, &format!("a kernel of {}", text.experiment)),
    );
    let summary = text.summary();
    if !summary.is_empty() {
        out += &style.wrap("", "", &summary);
    }
    let signature = format!("{}({})", text.name, text.parameters.join(", "));
    if signature.chars().count() + 2 <= style.columns() {
        let _ = write!(out, "\n  {signature}\n");
    } else {
        let _ = write!(out, "\n  {}(\n", text.name);
        text.parameters
            .iter()
            .for_each(|parameter| out += &style.wrap("      ", "          ", &format!("{parameter},")));
        out += "  )\n";
    }
    for clause in &text.contract {
        out += &style.wrap("  - ", "    ", clause);
    }
    out.push('\n');
    out
}

/// The requests worth drawing: the one that is furthest from its least cost, and where it costs more than that also the
/// furthest one in another memory.
fn drawn(lines: &[Line]) -> Vec<&Access> {
    let mut all: Vec<&Access> = lines.iter().filter_map(|line| line.worst.as_ref()).collect();
    // A stable sort: of equals the first line's.
    all.sort_by(|one, other| over_ideal(other).total_cmp(&over_ideal(one)));
    let Some(&first) = all.first() else { return Vec::new() };
    let other = all
        .iter()
        .find(|access| access.kind.is_shared() != first.kind.is_shared() && over_ideal(access) > 1.0);
    [Some(first), other.copied()].into_iter().flatten().collect()
}

/// The least that a request's bytes could cost.
fn ideal(access: &Access) -> u32 {
    let bytes = access.lanes.iter().flatten().count() as u32 * access.bytes;
    match access.kind {
        AccessKind::ConstantLoad => 1,
        kind if kind.is_shared() => bytes.div_ceil(128).max(1),
        _ => bytes.div_ceil(32).max(1),
    }
}

fn over_ideal(access: &Access) -> f64 {
    f64::from(access.cost()) / f64::from(ideal(access))
}

/// A request in words and as a picture.
fn worst(access: &Access, style: Style) -> String {
    let (what, memory) = match access.kind {
        AccessKind::GlobalLoad => ("load", "global"),
        AccessKind::GlobalStore => ("store", "global"),
        AccessKind::GlobalAtomic => ("atomic", "global"),
        AccessKind::LocalLoad => ("load", "local"),
        AccessKind::LocalStore => ("store", "local"),
        AccessKind::SharedLoad => ("load", "shared"),
        AccessKind::SharedStore => ("store", "shared"),
        AccessKind::SharedAtomic => ("atomic", "shared"),
        AccessKind::ConstantLoad => ("load", "constant"),
    };
    let unit = match access.kind {
        AccessKind::ConstantLoad => "issue",
        kind if kind.is_shared() => "wavefront",
        _ => "sector",
    };
    let count = |number: u32| format!("{number} {unit}{}", if number == 1 { "" } else { "s" });
    let (cost, least) = (access.cost(), ideal(access));
    let lanes = access.lanes.iter().flatten().count();
    let verdict = match cost {
        cost if cost > least => format!("{}; the least possible is {}", count(cost), least),
        cost => format!("{}, the least possible", count(cost)),
    };
    let drawn = match (cost, access::drawn(access)) {
        (cost, drawn) if cost == drawn => String::new(),
        (cost, drawn) if cost > drawn => {
            format!(
                " The picture has {}: this card serves the warp in parts, some of which touch the same ones.",
                count(drawn)
            )
        }
        (_, drawn) => format!(" The picture has {}: this card serves some of them together.", count(drawn)),
    };
    let [x, y, z] = access.block;
    let caption = format!(
        "A {what} in {memory} memory, {} bytes in each of {lanes} lanes, by warp {} of block ({x}, {y}, {z}): {verdict}.{drawn}",
        access.bytes, access.warp,
    );
    let title = format!("The worst request in {memory} memory");
    format!(
        "\n{}\n{}{}",
        style.paint(Ink::Strong, &title),
        style.wrap("", "", &caption),
        access::drawing(access, style)
    )
}

fn see_also(text: &KernelText, style: Style) -> String {
    let (name, experiment) = (text.name, text.experiment);
    let commands = [
        (format!("coalesce explain {experiment}"), "the lesson that it belongs to"),
        (format!("coalesce run {experiment} --kernel {name}"), "its rows"),
        (format!("coalesce check {name}"), "races, bounds, barriers"),
        (format!("cargo xtask ptx {name} --lines"), "its PTX by line of Rust"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let line = |(command, why): (String, &str)| {
        let line = format!("  {command:<width$}  {why}");
        match line.chars().count() <= style.columns() {
            true => format!("  {command:<width$}  {}\n", style.paint(Ink::Faint, why)),
            false => format!("  {command}\n"),
        }
    };
    format!("\n{}\n{}", style.paint(Ink::Strong, "See also"), commands.map(line).concat())
}

/// An experiment as a lesson.
pub fn experiment(lesson: &Lesson, catalog: &Catalog, style: Style) -> String {
    let title = lesson.prose.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or(lesson.name);
    let title = style.wrap("", "", &plain(title));
    let mut out = format!("{}\n", style.paint(Ink::Strong, title.trim_end()));
    let question = format!("{}: {}", lesson.name, lesson.summary);
    let _ = writeln!(out, "{}", style.wrap("", "", &question));
    out += &prose::wrapped(&lesson.prose, style);
    let _ = write!(
        out,
        "\n{}\n{}",
        style.paint(Ink::Strong, "How to read its table"),
        style.wrap("", "", lesson.reading)
    );
    let kernels: Vec<&KernelText> =
        catalog.kernels.iter().filter(|kernel| kernel.experiment == lesson.name).collect();
    if !kernels.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Ink::Strong, "Kernels"));
        let width = kernels.iter().map(|kernel| kernel.name.len()).max().unwrap_or(0);
        for kernel in kernels {
            let first = format!("  {:<width$}  ", kernel.name);
            out += &style.wrap(&first, &" ".repeat(first.len()), &kernel.summary());
        }
    }
    if !lesson.articles.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Ink::Strong, "From"));
        for article in lesson.articles {
            let text = format!("{}, {}, {}.", article.author, article.title, article.year);
            out += &style.wrap("  ", "    ", &text);
            let _ = writeln!(out, "    {}", article.url);
        }
    }
    let name = lesson.name;
    let _ = write!(
        out,
        "\n{}\n  coalesce run {name}\n  coalesce explain KERNEL\n",
        style.paint(Ink::Strong, "Run it"),
    );
    out
}

/// With a capital letter at its start.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
