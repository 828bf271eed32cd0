//! A report of two runs: an H200 that was measured, and a simulated card whose rows have counters.

use record::{
    Backend, Bound, CYCLES, Counted, DeviceInfo, Language, Line, Operation, Operations, Parameters, Parts,
    Precision, Record, Run, Times,
    counters::{Access, AccessKind, Counts, LaunchCounters, Limiter, MemoryCounts, Residency, SharedCounts},
};
use report::{
    Article, Catalog, CodeLine, KernelText, Lesson, Picture, Place,
    html::{Report, RunRecords, Sass},
};

use serde_json::json;

/// What would be an element or end a text if it were not escaped.
pub(crate) const HOSTILE: &str = "</script><script>alert(\"1\")</script> & 'x'";

static ARTICLES: &[Article] = &[Article {
    title: "On <sectors>",
    author: "A. Writer",
    year: 2013,
    url: "https://example.org/?a=1&b=2",
}];

/// The rows of an H200 that the repository keeps: copies, offsets and strides with their twins.
pub(crate) fn measured() -> Vec<Record> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/h200/records.jsonl");
    let text = std::fs::read_to_string(path).expect("the repository has these records");
    record::read(&text).expect("they are records")
}

/// The interval of a modelled time, as such kernels fare that the model has not seen.
fn interval(milliseconds: f64) -> Option<[f64; 2]> {
    Some([0.82 * milliseconds, 1.53 * milliseconds])
}

/// Rows of a simulated card: offsets with a line each, a tile with bank conflicts, products, placements, and one that is wrong.
pub(crate) fn simulated() -> Vec<Record> {
    let model = measured().into_iter().find(|row| row.experiment == "offset").expect("there are offsets");
    let device = DeviceInfo {
        name: "Card <X> (modelled)".to_string(),
        card: Some("x".to_string()),
        ..model.device.clone()
    };
    let row = |experiment: &str, kernel: &str, microseconds: f64| {
        let bytes = model.moved() as f64;
        let rate = bytes / microseconds / 1e3;
        Record {
            experiment: experiment.to_string(),
            kernel: kernel.to_string(),
            language: Language::Rust,
            backend: Backend::Modelled,
            device: device.clone(),
            parameters: Parameters { precision: None, swept: None, ..model.parameters.clone() },
            time_ms: Times::of(&[microseconds / 1e3])
                .map(|times| Times { interval: interval(microseconds / 1e3), ..times }),
            samples_ms: Vec::new(),
            gb_per_s: Some(rate),
            percent_of_copy: model.copy.map(|copy| 100.0 * rate / copy.gb_per_s),
            ratio_to_reference: None,
            ratio_range: None,
            reference: None,
            conditions: None,
            explanation: None,
            ..model.clone()
        }
    };
    let mut rows = Vec::new();
    for offset in [0, 1, 2, 8] {
        let counts = loads(if offset % 8 == 0 { 4 } else { 5 });
        let lanes = (0..32).map(|lane| Some((lane + u64::from(offset)) * 4)).collect();
        let access = access(AccessKind::GlobalLoad, lanes, counts.loads.sectors as u32 / 100, 0);
        let row = row("offset", "offset_f32", 200.0 + f64::from(offset));
        let parameters = Parameters { precision: Some(Precision::F32), ..row.parameters.clone() };
        let counters = Some(counted(counts, Some(access), 6));
        rows.push(Record { parameters: parameters.swept("offset", offset), counters, ..row });
    }
    let counts =
        Counts { shared_loads: SharedCounts { requests: 10, wavefronts: 320, ideal: 10 }, ..loads(4) };
    let access = access(AccessKind::SharedLoad, (0..32).map(|lane| Some(lane * 128)).collect(), 0, 32);
    let tile = row("transpose", "tile", 400.0);
    rows.push(Record {
        counters: Some(counted(counts, Some(access), 6)),
        note: Some(HOSTILE.to_string()),
        ..tile
    });
    rows.push(Record {
        verified: false,
        gb_per_s: None,
        time_ms: None,
        percent_of_copy: None,
        ..row("transpose", "wrong", 1.0)
    });
    for (kernel, rate, intensity) in [("matmul_naive", 4000.0, 0.25), ("matmul_tiled", 9000.0, 4.0)] {
        let row = row("matmul", kernel, 300.0);
        rows.push(Record { gflop_per_s: Some(rate), arithmetic_intensity: Some(intensity), ..row });
    }
    for kernel in ["grid_stride", "block_stride", "random_warp"] {
        for (nth, placement) in ["on-demand", "zero-copy", "partition"].into_iter().enumerate() {
            for factor in [0.5, 1.0, 1.5] {
                let mut row = row("unified", kernel, 500.0 * 10f64.powi(nth as i32) * factor);
                // As of records from before there were intervals.
                row.time_ms = row.time_ms.map(|times| Times { interval: None, ..times });
                let parameters = row.parameters.clone().with("factor", factor).with("placement", placement);
                rows.push(Record { parameters, ..row });
            }
        }
    }
    for (kernel, level) in [("chase_cached", 20.0), ("chase_l2", 110.0)] {
        for shift in [10, 14, 18, 22, 26, 30] {
            let operations = Operations { kind: Operation::Load, count: 1000 };
            let ns = level + if shift > 24 { 400.0 } else { 0.0 };
            let row = row("latency", kernel, ns);
            let parameters = row.parameters.clone().with("footprint", 1u64 << shift);
            rows.push(Record {
                parameters,
                operations: Some(operations),
                ns_per_operation: Some(ns),
                gop_per_s: Some(1.0 / ns),
                observed: [(CYCLES.to_string(), json!(ns * 1.98))].into(),
                ..row
            });
        }
    }
    for stride in [1u64, 2, 4, 8, 16, 32] {
        for footprint in [64u64 << 10, 1 << 20, 256 << 20] {
            let row = row("mountain", "mountain", (stride * (footprint >> 10).ilog2() as u64) as f64);
            let parameters = row.parameters.clone().with("stride", stride).with("footprint", footprint);
            rows.push(Record { parameters, ..row });
        }
    }
    rows
}

fn loads(sectors: u64) -> Counts {
    let loads = MemoryCounts {
        requests: 100,
        sectors: 100 * sectors,
        bytes_requested: 12_800,
        bytes_moved: 3200 * sectors,
        ..MemoryCounts::default()
    };
    Counts { instructions: 500, loads, ..Counts::default() }
}

fn access(kind: AccessKind, lanes: Vec<Option<u64>>, sectors: u32, wavefronts: u32) -> Access {
    Access { site: 0, kind, bytes: 4, lanes, sectors, wavefronts, block: [0, 0, 0], warp: 0 }
}

fn counted(counts: Counts, worst: Option<Access>, line: u32) -> Box<Counted> {
    let residency = Residency {
        registers: 32,
        shared_bytes: 0,
        most_warps: 64,
        by_warps: 8,
        by_blocks: 32,
        by_registers: Some(8),
        by_shared_memory: None,
        limiter: Limiter::Warps,
    };
    let launch = LaunchCounters {
        blocks: 1000,
        warps: 8000,
        resident_blocks: 8,
        resident_warps: 64,
        residency: Some(residency),
        total: counts,
        ..LaunchCounters::default()
    };
    let modelled_us = Parts {
        launch: 0.5,
        dram: 10.0,
        l2: 4.0,
        on_chip: 1.0,
        issue: 0.0,
        latency: 2.5,
        link: 0.0,
        migration: 0.0,
    };
    let lines = vec![Line { file: "/somewhere/kernels/src/lesson.rs".to_string(), line, counts, worst }];
    Box::new(Counted {
        launch,
        dram_bytes: 1 << 20,
        modelled_us,
        bound: Bound::Dram,
        estimates_us: None,
        lines,
    })
}

/// Lessons of each picture, and the text of two kernels.
pub(crate) fn catalog() -> Catalog {
    let lesson = |name, picture, prose: &str| Lesson {
        name,
        summary: "what <it> shows",
        reading: "A row is a launch.",
        prose: prose.to_string(),
        articles: ARTICLES,
        picture,
        finding: |rows| Some(format!("There are {} rows & more.", rows.len())),
    };
    let curve = |over, by, sectors| Picture::Curve { over, by, sectors };
    let kernel = |name| KernelText {
        name,
        experiment: "offset",
        parameters: vec!["a: &mut f32".to_string()],
        contract: Vec::new(),
        file: "kernels/src/lesson.rs",
        source: format!(
            "//! Head.\n\n/// Adds <one>.\n#[kernel]\npub fn {name}(a: &mut f32) {{\n    *a += 1.0; // {HOSTILE}\n}}\n"
        ),
        ptx: [(".visible .entry k(", None), ("ld.global.f32 %f1, [%rd1];", Some(6)), ("ret;", Some(7))]
            .map(|(text, line)| CodeLine {
                text: text.to_string(),
                place: line.map(|line| Place { file: "kernels/src/lesson.rs".to_string(), line }),
            })
            .to_vec(),
    };
    Catalog {
        lessons: vec![
            lesson(
                "offset",
                curve("offset", &[], true),
                "# Coalescing: `a` title\n\nA lead on `offset_f32`.\n\n# More\n\n[`x`] <b>",
            ),
            lesson(
                "stride",
                curve("stride", &[], true),
                "# Coalescing: `a` title\n\nA lead on `offset_f32`.\n\n# More\n\n[`x`] <b>",
            ),
            lesson("copy", Picture::Bars { by: &[] }, "# Copy\n\nA lead."),
            lesson("transpose", Picture::Bars { by: &[] }, "# Transpose\n\nA lead."),
            lesson("matmul", Picture::Roofline, "# Products\n\nA lead."),
            lesson("unified", curve("factor", &["placement"], false), "# Pages\n\nA lead."),
            lesson("latency", curve("footprint", &[], false), "# Latency\n\nA lead."),
            lesson("mountain", Picture::Map { x: "stride", y: "footprint" }, "# Mountain\n\nA lead."),
        ],
        kernels: vec![kernel("offset_f32"), kernel("tile")],
    }
}

/// The report of both runs, each by the rows given.
pub(crate) fn report(catalog: &Catalog) -> Report<'_> {
    let run = |records: Vec<Record>, simulated: Vec<Record>| RunRecords {
        run: Run { started_unix: 1_767_225_600, ..Run::of(&records).expect("there are rows") },
        records,
        simulated,
    };
    let mut runs = vec![run(measured(), simulated()), run(simulated(), Vec::new())];
    let card = json!({
        "source": "a data sheet", "calibration": "fitted to <nothing>", "multiprocessors": 132, "warp_threads": 32,
        "clock_mhz": 1980.0, "issue_per_clock": 4.0,
    });
    runs[1].run.card = card.as_object().cloned();
    let place = Place { file: "kernels/src/lesson.rs".to_string(), line: 6 };
    let machine = CodeLine { text: "LDS R0, [R1] ;".to_string(), place: Some(place) };
    Report {
        title: format!("Two cards {HOSTILE}"),
        runs,
        catalog,
        sass: Some(Sass {
            origin: "ptxas 13.5.37 for sm_90".to_string(),
            kernels: [("tile".to_string(), vec![machine])].into(),
        }),
    }
}
