//! Each finding, of rows made for it.

use super::*;
use crate::{device::tests::h200, experiments};
use record::{
    Backend, Bound, BytesMoved, Ceiling, Counted, Method, Operation, Operations, Parameters, Parts,
    Precision, Record, Residence, SCHEMA, Times, Timing, counters::LaunchCounters,
};
use std::collections::BTreeMap;

/// A row of a kernel with this bandwidth, on an H200 whose copy reaches 4000 GB/s and whose peak is 4800.
fn row(kernel: &str, gb_per_s: f64) -> Record {
    Record {
        schema: SCHEMA.to_string(),
        experiment: String::new(),
        kernel: kernel.to_string(),
        language: Language::Rust,
        backend: Backend::Measured,
        device: h200(),
        ptx: None,
        parameters: Parameters {
            block: Some([256, 1, 1].into()),
            grid: Some([4096, 1, 1].into()),
            ..Parameters::of_bytes(1 << 20)
        },
        bytes: BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 1 << 20 },
        residence: Residence::Dram,
        time_ms: Some(Times { median: 1.0 / gb_per_s, min: 0.0, max: 0.0, samples: 1, interval: None }),
        samples_ms: Vec::new(),
        gb_per_s: Some(gb_per_s),
        percent_of_peak: Some(gb_per_s / 48.0),
        percent_of_copy: Some(gb_per_s / 40.0),
        gflop_per_s: None,
        arithmetic_intensity: None,
        operations: None,
        ns_per_operation: None,
        gop_per_s: None,
        verified: true,
        note: None,
        explanation: None,
        observed: BTreeMap::new(),
        timing: Timing { method: Method::Graph, launches_per_sample: 1, load: None },
        peak: None,
        copy: Some(Ceiling { gb_per_s: 4000.0, bytes: 1 << 20 }),
        ratio_to_reference: None,
        ratio_range: None,
        reference: None,
        conditions: None,
        counters: None,
        origin: None,
    }
}

/// Rows made from [`row`] by what is different.
trait Given: Into<Record> + Sized {
    fn with(self, name: &str, value: impl Into<serde_json::Value>) -> Record {
        let row = self.into();
        Record { parameters: row.parameters.with(name, value), ..row }
    }

    fn at(self, precision: Precision, name: &str, value: u32) -> Record {
        let row = self.into();
        let parameters = row.parameters.swept(name, value);
        Record { parameters: Parameters { precision: Some(precision), ..parameters }, ..row }
    }

    fn block(self, threads: u32) -> Record {
        let row = self.into();
        Record { parameters: Parameters { block: Some([threads, 1, 1].into()), ..row.parameters }, ..row }
    }

    fn counted(self, change: impl FnOnce(&mut LaunchCounters)) -> Record {
        let mut launch = LaunchCounters::default();
        change(&mut launch);
        let (dram_bytes, bound, lines) = (0, Bound::Dram, Vec::new());
        let modelled_us = Parts {
            launch: 0.0,
            dram: 0.0,
            l2: 0.0,
            on_chip: 0.0,
            issue: 0.0,
            latency: 0.0,
            link: 0.0,
            migration: 0.0,
        };
        Record {
            counters: Some(Box::new(Counted {
                launch,
                dram_bytes,
                modelled_us,
                bound,
                estimates_us: None,
                lines,
            })),
            ..self.into()
        }
    }
}

impl Given for Record {}

/// The finding of the experiment of this name in the rows.
fn found(experiment: &str, rows: &[Record]) -> Option<String> {
    let finding = experiments::by_name(experiment).expect("an experiment").finding();
    finding(&rows.iter().collect::<Vec<_>>())
}

/// The row as the model gives it, whose time may be off by this part.
fn doubted(row: Record, part: f64) -> Record {
    let interval = |times: Times| Some([times.median * (1.0 - part), times.median * (1.0 + part)]);
    Record {
        backend: Backend::Modelled,
        time_ms: row.time_ms.map(|times| Times { interval: interval(times), ..times }),
        ..row
    }
}

/// A tenth off, rates of 3600 and 4000 may be in the other order, and 2000 and 4000 not.
#[test]
fn comparisons_within_the_model_s_doubt_say_so() {
    let of = |experiment: &str, rows: &[(Record, f64)]| {
        let rows: Vec<Record> = rows.iter().map(|(row, part)| doubted(row.clone(), *part)).collect();
        found(experiment, &rows)
    };
    let at = |offset, rate| row("offset", rate).at(Precision::F32, "offset", offset);
    let offsets = |part| of("offset", &[(at(0, 4000.0), part), (at(1, 3600.0), part)]);
    assert_eq!(
        offsets(0.1).as_deref(),
        Some("A misaligned warp loses 10% in f32 (within the model's doubt).")
    );
    assert_eq!(offsets(0.01).as_deref(), Some("A misaligned warp loses 10% in f32."));

    let copies =
        |part, scalar| of("copy", &[(row("copy_scalar", scalar), part), (row("copy_vector", 4000.0), part)]);
    let best = "copy_vector reaches 100% of the driver's own copy and 83% of the peak; copy_scalar";
    assert_eq!(copies(0.1, 3600.0), Some(format!("{best} reaches 90% (within the model's doubt).")));
    assert_eq!(copies(0.1, 2000.0), Some(format!("{best}, the slowest, reaches 50%.")));

    let task = |way: &str, rate| row(&format!("copy_{way}"), rate).with("task", "copy").with("way", way);
    let tasks = |part| of("idioms", &[(task("checked", 3600.0), part), (task("unchecked", 4000.0), part)]);
    assert_eq!(
        tasks(0.1).as_deref(),
        Some("Checked indexing takes 1.11~ times as long as unchecked in copy; ~: within the model's doubt.")
    );
    assert_eq!(
        tasks(0.01).as_deref(),
        Some("Checked indexing takes 1.11 times as long as unchecked in copy.")
    );

    let counts = |kernel: &str, input: &str, rate| row(kernel, rate).with("input", input);
    let histogram = |part| {
        let (one, other) =
            (counts("histogram_shared", "uniform", 4000.0), counts("histogram_global", "uniform", 3600.0));
        of("histogram", &[(one, part), (other, part)])
    };
    assert_eq!(
        histogram(0.1).as_deref(),
        Some("Of uniform bytes histogram_shared counts most (within the model's doubt), 4000 GB/s.")
    );
    assert_eq!(histogram(0.01).as_deref(), Some("Of uniform bytes histogram_shared counts most, 4000 GB/s."));
}

#[test]
fn nothing_is_found_in_no_rows_and_in_wrong_ones() {
    for experiment in experiments::ALL {
        assert_eq!(found(experiment.name(), &[]), None, "{}", experiment.name());
        let wrong = Record { verified: false, gb_per_s: None, time_ms: None, ..row("copy_vector", 1.0) };
        assert_eq!(found(experiment.name(), &[wrong]), None, "{}", experiment.name());
    }
}

#[test]
fn every_experiment_names_what_it_comes_from() {
    for experiment in experiments::ALL.iter().filter(|experiment| experiment.name() != "idioms") {
        let articles = experiment.articles();
        assert!(!articles.is_empty(), "{}", experiment.name());
        assert!(articles.iter().all(|article| article.url.starts_with("https://") && article.year >= 2009));
    }
}

#[test]
fn an_offset_costs_what_misaligned_rows_lose() {
    let at = |precision, offset, rate| row("offset", rate).at(precision, "offset", offset);
    let (f32, f64) = (Precision::F32, Precision::F64);
    let rows = [
        at(f32, 0, 4000.0),
        at(f32, 1, 3760.0),
        at(f32, 8, 3760.0),
        at(f64, 16, 4100.0),
        at(f64, 31, 3772.0),
    ];
    assert_eq!(found("offset", &rows).as_deref(), Some("A misaligned warp loses 6% in f32 and 8% in f64."));
    assert_eq!(found("offset", &rows[1..3]), None, "there is no aligned row");
    let old = |offset, rate, moved| {
        let row = at(f32, offset, rate).counted(|launch| {
            launch.total.loads.bytes_requested = 64;
            launch.total.loads.bytes_moved = moved;
        });
        Record { device: record::DeviceInfo { compute_capability: "1.0".to_string(), ..h200() }, ..row }
    };
    // A half-warp of f32 has segments of 64 bytes.
    let rows = [old(0, 60.0, 64), old(16, 60.0, 64), old(1, 7.5, 512)];
    assert_eq!(
        found("offset", &rows).as_deref(),
        Some(
            "A misaligned half-warp loses 88% in f32: its requests move 8.00 bytes for each byte asked for."
        )
    );
}

#[test]
fn a_stride_leaves_a_share_of_the_copy() {
    let at = |precision, stride, rate, footprint| {
        let row = row("stride", rate).at(precision, "stride", stride);
        Record { bytes: BytesMoved { footprint, ..row.bytes }, ..row }
    };
    let rows = [
        at(Precision::F32, 1, 4000.0, 1 << 20),
        at(Precision::F32, 32, 156.0, 8 << 20),
        at(Precision::F64, 32, 280.0, 4 << 20),
    ];
    assert_eq!(
        found("stride", &rows).as_deref(),
        Some(
            "At a stride of 32 the NVIDIA H200 delivers 3.9% in f32 and 7% in f64 of its copy's bandwidth, as lanes use 12.5% and \
             25% of the sectors that they touch."
        )
    );
    assert_eq!(found("stride", &rows[..1]), None);
}

#[test]
fn copies_are_held_against_the_driver_s() {
    let rows = [row("copy_scalar", 3680.0), row("copy_vector", 4040.0)];
    assert_eq!(
        found("copy", &rows).as_deref(),
        Some(
            "copy_vector reaches 101% of the driver's own copy and 84% of the peak; copy_scalar, the slowest, reaches 92%."
        )
    );
    assert_eq!(
        found("copy", &rows[1..]).as_deref(),
        Some("copy_vector reaches 101% of the driver's own copy and 84% of the peak.")
    );
}

#[test]
fn padding_is_told_with_its_conflicts_where_they_are_counted() {
    let tile = |kernel, rate, wavefronts| {
        row(kernel, rate).counted(|launch| {
            launch.total.shared_loads.ideal = 10;
            launch.total.shared_loads.wavefronts = wavefronts;
            launch.total.shared_stores =
                record::counters::SharedCounts { requests: 10, wavefronts: 10, ideal: 10 };
        })
    };
    let rows = [
        row("copy_row", 4000.0),
        row("naive_row", 960.0),
        tile("tile", 1200.0, 320),
        tile("tile_padded", 3600.0, 10),
    ];
    assert_eq!(
        found("transpose", &rows).as_deref(),
        Some(
            "tile_padded transposes at 90% of the copy's bandwidth, naive_row at 24%; padding by one word turns 32-way bank \
             conflicts into none and makes the tile 3.0 times as fast."
        )
    );
    let measured = [row("tile", 1200.0), row("tile_padded", 3600.0)];
    assert_eq!(
        found("transpose", &measured).as_deref(),
        Some("Padding by one word makes the tile 3.0 times as fast.")
    );
}

#[test]
fn a_stencil_tells_vectors_coefficients_and_blocks_apart() {
    let rows = [
        row("stencil_constant", 424.0).block(32),
        row("stencil_constant", 2120.0).block(256),
        row("stencil_read_only", 2000.0).block(256),
        row("stencil_vector", 4040.0).block(256),
    ];
    assert_eq!(
        found("stencil", &rows).as_deref(),
        Some(
            "Four results per thread reach 101% of the copy's bandwidth, one result per thread 53%; coefficients from constant \
             memory make it 6% faster; blocks of 256 threads are 5.0 times as fast as blocks of 32."
        )
    );
}

#[test]
fn a_constant_s_replays_are_a_ratio() {
    let of = |kernel, distinct, rate| row(kernel, rate).with("distinct", distinct);
    let rows = [
        of("constant_broadcast", 1, 9600.0),
        of("constant_broadcast", 32, 300.0),
        of("read_only_broadcast", 1, 800.0),
        of("read_only_broadcast", 32, 800.0),
    ];
    assert_eq!(
        found("constant", &rows).as_deref(),
        Some(
            "For 32 different words per request constant memory takes 32.0 times as long as for one, the read-only path takes no \
             longer."
        )
    );
    assert!(found("constant", &rows[..2]).is_some_and(|text| text.ends_with("as for one.")));
}

#[test]
fn shuffles_are_held_against_the_copy_and_shared_memory() {
    let rows = [
        row("shuffle_up_i32", 3960.0),
        row("reduce_block_shared", 1000.0),
        row("reduce_block_shuffle", 1500.0),
        row("reduce_vector", 3800.0),
    ];
    assert_eq!(
        found("shuffle", &rows).as_deref(),
        Some(
            "A kernel with one shuffle reaches 99% of the copy's bandwidth; reduce_vector reads at 95% of it; reductions of blocks \
             by shuffles are 1.50 times as fast as through shared memory."
        )
    );
}

#[test]
fn a_product_that_does_not_fill_the_card_is_named_and_not_the_best() {
    let product = |kernel, gflop_per_s, intensity, blocks: u32| {
        let row = row(kernel, 100.0).with("m", 512).with("n", 512).with("k", 512);
        Record {
            gflop_per_s: Some(gflop_per_s),
            arithmetic_intensity: Some(intensity),
            parameters: Parameters { grid: Some([blocks, 1, 1].into()), ..row.parameters },
            ..row
        }
    };
    let mut rows = [
        product("matmul_naive", 2500.0, 0.25, 1024),
        product("matmul_tiled_32", 7500.0, 8.0, 256),
        product("matmul_register", 9000.0, 32.0, 16),
    ];
    assert_eq!(
        found("matmul", &rows).as_deref(),
        Some(
            "matmul_tiled_32 computes 7500 GFLOP/s, 3.0 times as many as matmul_naive, with 32 times the operations per byte \
             loaded; matmul_register (16 blocks on 132 SMs) does not fill the card."
        )
    );
    rows[2].parameters.grid = Some([132, 1, 1].into());
    assert_eq!(
        found("matmul", &rows).as_deref(),
        Some(
            "matmul_register computes 9000 GFLOP/s, 3.6 times as many as matmul_naive, with 128 times the operations per byte \
             loaded."
        )
    );

    let on_tensor_cores = |kernel, rate| {
        Record { gflop_per_s: Some(rate), ..product(kernel, rate, 51.0, 512) }.with("types", "bf16")
    };
    let mut with: Vec<Record> = rows.to_vec();
    with.extend(
        [("matmul_mma", 291e3), ("matmul_overlapped", 814e3)]
            .map(|(kernel, rate)| on_tensor_cores(kernel, rate)),
    );
    let of_parts = product("matmul_3xtf32", 130e3, 51.0, 512);
    with.push(Record { gflop_per_s: Some(130e3), ..of_parts }.with("b", "n x k"));
    let said = found("matmul", &with).expect("a finding");
    assert!(
        said.ends_with(
            "per byte loaded; on tensor cores matmul_overlapped computes 814 TFLOP/s in bf16, 2.8 times as many as matmul_mma \
             and 90 times as many as matmul_register in f32."
        ),
        "{said}"
    );
    assert_eq!(
        found("matmul", &with[rows.len() + 1..]).as_deref(),
        Some("On tensor cores matmul_overlapped computes 814 TFLOP/s in bf16.")
    );
}

#[test]
fn placements_are_compared_at_the_largest_factor() {
    let of = |placement: &str, factor: f64, rate| {
        row("random_warp", rate).with("placement", placement).with("factor", factor)
    };
    let rows = [
        of("on-demand", 0.5, 11.0),
        of("on-demand", 2.0, 0.52),
        of("zero-copy", 2.0, 51.4),
        of("partition", 2.0, 104.6),
    ];
    assert_eq!(
        found("unified", &rows).as_deref(),
        Some(
            "At 2 times the budget, random reads reach 0.5 GB/s with pages that migrate on a fault, 51 GB/s over the link \
             and 105 GB/s with pages partitioned between host and card."
        )
    );
    let link = Record { language: Language::Driver, ..row("host_copy_driver", 55.0) };
    assert_eq!(
        found("unified", &[link, of("zero-copy", 1.0, 51.4)]).as_deref(),
        Some("Reads over the link reach 51 GB/s, 93% of the driver's copy.")
    );
}

#[test]
fn storage_classes_share_state_spaces() {
    let of = |class: &str, space: &str| row("storage", 1.0).with("class", class).with("space", space);
    let rows = [of("device global", "global"), of("constant", "const"), of("managed", "global")];
    assert_eq!(
        found("storage", &rows).as_deref(),
        Some("Device global and managed are in .global; constant is in .const.")
    );
}

#[test]
fn idioms_are_held_against_unchecked_code() {
    let of = |task: &str, way: &str, rate| row("idiom", rate).with("task", task).with("way", way);
    let rows = [
        of("copy", "checked", 4000.0),
        of("copy", "typed", 4000.0),
        of("copy", "unchecked", 4000.0),
        of("matmul", "checked", 50.0),
        of("matmul", "typed", 98.0),
        of("matmul", "unchecked", 100.0),
    ];
    assert_eq!(
        found("idioms", &rows).as_deref(),
        Some(
            "Checked indexing takes 1.00 and 2.00 times as long as unchecked in copy and matmul, typed indices 1.00 and 1.02."
        )
    );
}

#[test]
fn layouts_are_held_against_an_array_of_structures() {
    let rows = [
        row("layout_aos3_one", 1000.0),
        row("layout_soa3_one", 2700.0),
        row("layout_aos3_all", 3000.0),
        row("layout_soa3_all", 3300.0),
        row("layout_aos4_all", 2000.0),
        row("layout_vector_all", 4100.0),
    ];
    assert_eq!(
        found("layout", &rows).as_deref(),
        Some(
            "One field of three is updated 2.7 times as fast in an array of its own as among structures; all three fields \
             together 1.10 times as fast; structures of four as vectors 2.05 times as fast as by scalars."
        )
    );
    assert_eq!(
        found("layout", &rows[4..]).as_deref(),
        Some("Structures of four as vectors 2.05 times as fast as by scalars.")
    );
}

#[test]
fn random_indices_are_held_against_sorted_ones() {
    let of = |kernel: &str, order: &str, rate| row(kernel, rate).with("order", order);
    let rows = [
        of("gather", "sorted", 4000.0),
        of("gather", "blocks of 128 B", 3900.0),
        of("gather", "blocks of 32 B", 2000.0),
        of("gather", "random", 500.0),
        of("scatter", "random", 280.0),
        of("scatter_unchecked", "random", 280.0),
    ];
    assert_eq!(
        found("gather", &rows).as_deref(),
        Some(
            "At random indices a gather keeps 12.5% of its rate in order; blocks of 128 B are within 5% of sorted indices; \
             relaxed stores take 1.00 times as long as plain ones."
        )
    );
}

#[test]
fn equal_bytes_are_held_against_uniform_ones() {
    let of = |kernel: &str, input: &str, rate| row(kernel, rate).with("input", input);
    let rows = [
        of("histogram_global", "uniform", 50.0),
        of("histogram_global", "equal", 100.0),
        of("histogram_shared", "uniform", 900.0),
        of("histogram_shared", "equal", 300.0),
    ];
    assert_eq!(
        found("histogram", &rows).as_deref(),
        Some(
            "Of uniform bytes histogram_shared counts most, 900 GB/s; of equal bytes histogram_shared counts most, 300 GB/s; \
             equal bytes speed histogram_global up by 2.0; equal bytes slow histogram_shared down by 3.0."
        )
    );
}

#[test]
fn one_pass_is_held_against_three_kernels() {
    let rows = [
        row("scan_hillis_steele", 1500.0),
        row("scan_shuffle", 3000.0),
        row("scan_apply", 2400.0),
        row("scan_lookback", 3600.0),
    ];
    assert_eq!(
        found("scan", &rows).as_deref(),
        Some(
            "The single pass reaches 90% of the copy's bandwidth; the scan by three kernels reaches 60% of the copy's \
             bandwidth; one pass is 1.50 times as fast as three kernels; within blocks scan_shuffle is 2.0 times as fast as \
             scan_hillis_steele."
        )
    );
}

#[test]
fn one_address_is_held_against_one_per_thread() {
    let of = |kernel: &str, addresses, rate| row(kernel, rate).at(Precision::F32, "addresses", addresses);
    let rows = [
        of("atomics_global_add_u32", 1, 40.0),
        of("atomics_global_add_u32", 262_144, 1000.0),
        of("atomics_global_redux_u32", 1, 60.0),
        of("atomics_global_fetch_u32", 1, 2.0),
        of("atomics_global_fetch_u32", 262_144, 800.0),
        of("atomics_shared_add_u32", 1, 100.0),
    ];
    assert_eq!(
        found("atomics", &rows).as_deref(),
        Some(
            "Reductions in global memory on one address run at 4% of their rate on one per thread; adding up in the warp first \
             makes them 1.5 times as fast; atomics with a result on one address run at 0.2% of their rate on one per thread."
        )
    );
}

#[test]
fn asynchronous_copies_are_told_by_the_bytes_in_flight() {
    let of = |kernel: &str, in_flight: u64, rate| row(kernel, rate).with("in_flight", in_flight);
    let rows = [
        of("async_copy", 4 << 10, 500.0),
        of("async_copy", 16 << 10, 2000.0),
        of("async_copy", 32 << 10, 3600.0),
        of("async_bulk", 16 << 10, 2000.0),
        of("async_bulk", 32 << 10, 3900.0),
        of("async_bulk", 64 << 10, 4000.0),
    ];
    assert_eq!(
        found("async", &rows).as_deref(),
        Some(
            "async_copy still gains at 32 KiB in flight per multiprocessor, 90% of the driver's copy; async_bulk gains \
             nothing beyond 32 KiB in flight per multiprocessor, 100% of the driver's copy."
        )
    );
}

#[test]
fn transfers_are_fitted_by_latency_and_bandwidth() {
    let of = |direction: &str, bytes: u64, us: f64| {
        let crossing = if direction == "both" { 2 * bytes } else { bytes };
        let row = row("transfer_driver", crossing as f64 / us / 1e3);
        let time = Times { median: us / 1e3, min: 0.0, max: 0.0, samples: 1, interval: None };
        let parameters =
            Parameters { bytes, ..row.parameters }.with("direction", direction).with("memory", "pinned");
        Record { language: Language::Driver, parameters, time_ms: Some(time), ..row }
    };
    // 2 us, and 50 GB/s: 50,000 bytes per us.
    let rows = [
        of("to-device", 50_000, 3.0),
        of("to-device", 5_000_000, 102.0),
        of("to-device", 50_000_000, 1002.0),
        of("both", 50_000_000, 1100.0),
        of("both", 50_000_000, 2000.0).with("parts", 1),
        of("both", 50_000_000, 1200.0).with("parts", 4),
        of("both", 50_000_000, 1300.0).with("parts", 16),
    ];
    assert_eq!(
        found("transfer", &rows).as_deref(),
        Some(
            "A copy of V bytes to the device takes 2.0 us + V / 50.0 GB/s (pinned); both directions at once move 1.82 times \
             the bytes of one; copy, kernel and copy in 4 parts on three streams take 60% of the time in one."
        )
    );
    // One size has no line.
    assert_eq!(found("transfer", &rows[..1]), None);
}

#[test]
fn links_are_told_by_pairs() {
    let of = |source: &str, destination: &str, ways: &str, gb_per_s: f64| {
        let row = row("link_driver", gb_per_s);
        let row = Record { language: Language::Driver, ..row };
        row.with("from", source).with("to", destination).with("ways", ways)
    };
    let copies = [
        of("host", "card 0", "one", 55.0),
        of("card 0", "host", "one", 54.0),
        of("host", "card 0", "both", 99.0),
        of("card 0", "card 1", "one", 384.0),
        of("card 1", "card 0", "one", 300.0),
        of("card 0", "card 1", "both", 727.0),
    ];
    assert_eq!(
        found("link", &copies).as_deref(),
        Some(
            "The link between cards carries 384 GB/s one way and 727 both ways, 1.89 times as much (the slowest pair 300); the \
             host link carries 55 GB/s one way and 99 both ways, 1.80 times as much, 7.0 times less."
        )
    );
    let copied = |read, written, gb_per_s| {
        let row = row("copy_vector", gb_per_s).with("width", 16);
        Record { bytes: BytesMoved { read, written, footprint: 2 }, ..row }
    };
    let summed = |pieces: u32, bus: f64| {
        let mut row = row("ring_add", bus).with("cards", 4).with("pieces", pieces);
        row.observed.insert("algorithm_gb_per_s".to_string(), (bus / 1.5).into());
        row
    };
    let rows = [
        copied(1, 0, 350.0),
        copied(0, 1, 360.0),
        row("stride_f32", 700.0).with("stride", 1),
        row("stride_f32", 84.0).with("stride", 8),
        Record { ns_per_operation: Some(950.0), ..row("chase_l2", 1.0).with("footprint", 4 << 20) },
        summed(1, 300.0),
        summed(4, 330.0),
    ];
    assert_eq!(
        found("link", &rows).as_deref(),
        Some(
            "Kernels read another card's memory at 350 GB/s and write it at 360; at a stride of 8 they update it at 12% of the \
             rate of a stride of 1; a load from it takes 950 ns; a sum over 4 cards has 220 GB/s of algorithm bandwidth and 330 \
             of bus bandwidth."
        )
    );
    let alone = "The host link carries 55 GB/s one way and 99 both ways, 1.80 times as much.";
    assert_eq!(found("link", &copies[..3]).as_deref(), Some(alone));
}

#[test]
fn launches_are_told_by_the_way_they_are_handed_over() {
    let of = |kernel: &str, handed: &str, blocks: u64, us: f64| {
        let operations = Operations { kind: Operation::Launch, count: 1 };
        let row = Record {
            operations: Some(operations),
            ns_per_operation: Some(1e3 * us),
            ..row(kernel, 1.0).with("handed", handed)
        };
        row.with("blocks", blocks).with("threads", 256)
    };
    let rows = [
        of("launch_empty", "calls", 1, 2.25),
        of("launch_empty", "graph", 1, 1.5),
        of("launch_empty", "graph", 132, 1.6),
        of("launch_empty", "graph", 33_792, 18.42),
        of("launch_parameters_64", "calls", 1, 2.25).with("parameter_bytes", 64),
        of("launch_parameters_4080", "calls", 1, 2.75).with("parameter_bytes", 4080),
        of("launch_dependent", "calls", 1, 2.25),
        of("launch_dependent", "overlapping calls", 1, 1.25),
    ];
    assert_eq!(
        found("launch", &rows).as_deref(),
        Some(
            "An empty launch takes 2.25 us by calls and 1.50 us in a graph; a dependent launch takes 1.25 us, and 2.25 us \
             without overlap; blocks of 256 threads start at 2001 per us; 4080 bytes of parameters take 2.75 us by calls, where \
             64 take 2.25."
        )
    );
    // On a simulated card, where calls have no time.
    assert_eq!(
        found("launch", &rows[1..4]).as_deref(),
        Some("An empty launch takes 1.50 us in a graph; blocks of 256 threads start at 2001 per us.")
    );
}

#[test]
fn streams_are_held_against_one_in_both_ways() {
    let of = |handed: &str, blocks: u64, streams: u64, us: f64| {
        let operations = Operations { kind: Operation::Launch, count: 32 };
        let row = Record {
            operations: Some(operations),
            ns_per_operation: Some(1e3 * us),
            ..row("stream_chain", 1.0).with("handed", handed)
        };
        row.with("blocks", blocks).with("streams", streams)
    };
    let rows = [
        of("calls", 1, 1, 10.0),
        of("calls", 1, 32, 5.0),
        of("graph", 1, 1, 9.5),
        of("graph", 1, 4, 2.5),
        of("graph", 1, 32, 1.0),
        of("calls", 132, 32, 8.0),
        of("graph", 132, 1, 9.9),
        of("graph", 132, 32, 4.5),
    ];
    assert_eq!(
        found("streams", &rows).as_deref(),
        Some(
            "Launches of one block take 9.50 us each on one stream and 1.00 us on 32, in a graph; by calls on 32 streams 5.00 us; \
             with a block on each multiprocessor, streams gain a factor of 2.2."
        )
    );
    assert_eq!(found("streams", &rows[..3]).as_deref(), Some("By calls on 32 streams 5.00 us."));
}

#[test]
fn clusters_are_held_against_the_own_block() {
    let loads = |kernel: &str, cluster: u64, ns: f64| Record {
        operations: Some(Operations { kind: Operation::Load, count: 1 }),
        ns_per_operation: Some(ns),
        ..row(kernel, 1.0).with("cluster", cluster)
    };
    let of = |kernel: &str, cluster: u64, rate| row(kernel, rate).with("cluster", cluster);
    let rows = [
        loads("cluster_chase_own", 1, 16.0),
        loads("cluster_chase", 1, 17.0),
        loads("cluster_chase", 8, 110.0),
        of("cluster_read_own", 1, 30000.0),
        of("cluster_read", 1, 29000.0),
        of("cluster_read", 8, 3000.0),
        of("cluster_each", 8, 4000.0),
        of("cluster_multicast", 8, 10000.0),
    ];
    assert_eq!(
        found("cluster", &rows).as_deref(),
        Some(
            "A load of the neighbour's shared memory takes 110 ns in clusters of 8, where the own block's takes 16 ns; all \
             blocks read 3000 GB/s from neighbours, 30000 GB/s of their own; with multicast to 8 blocks they receive 2.50 times the \
             bytes of copies by each block."
        )
    );
    assert_eq!(
        found("cluster", &rows[..2]).as_deref(),
        Some("A load of the block's own shared memory takes 16 ns, and 17 ns by the cluster's instruction.")
    );
}

#[test]
fn l2_is_told_by_what_stays_what_is_fetched_and_what_is_stored() {
    let beside = |policy: &str, share: u64, rate| {
        row("l2_plain", rate).with("policy", policy).with("table_share", share)
    };
    let fetch = |distance: u64, rate| row("l2_fetch", rate).with("distance", distance);
    let store = |stored: &str, rate| row("l2_store", rate).with("stored", stored);
    let rows = [
        beside("none", 25, 7000.0),
        beside("none", 50, 4000.0),
        beside("window", 50, 6000.0),
        fetch(32, 4000.0),
        fetch(64, 2000.0),
        fetch(128, 2000.0),
        store("32 of 32 bytes", 3000.0),
        store("4 of 32 bytes", 300.0),
    ];
    assert_eq!(
        found("l2", &rows).as_deref(),
        Some(
            "Beside a table of 50% of L2, policies read 1.50 times (window) the bytes of none; a sector costs as much as these \
             bytes side by side, by the bytes from one used sector to the next: 64 at 64 and 64 at 128; stores reach these \
             shares of the rate of whole lines: 0.10 for 4 of 32 bytes."
        )
    );
}

#[test]
fn latencies_are_told_level_by_level() {
    let of = |kernel: &str, bytes: u64, ns: f64, cycles: Option<f64>| {
        let row = row(kernel, 0.01).with("spread", "lines");
        let operations = Operations { kind: Operation::Load, count: 1000 };
        Record {
            parameters: Parameters { bytes, ..row.parameters.clone() },
            operations: Some(operations),
            ns_per_operation: Some(ns),
            gop_per_s: Some(1.0 / ns),
            observed: cycles.map(|cycles| (record::CYCLES.to_string(), cycles.into())).into_iter().collect(),
            ..row
        }
    };
    let mut rows = vec![
        of("chase_shared", 16 << 10, 15.0, None),
        of("chase_cached", 4 << 10, 18.2, Some(36.0)),
        of("chase_cached", 1 << 20, 130.0, Some(258.0)),
        of("chase_l2", 1 << 20, 128.0, None),
        of("chase_l2", 16 << 20, 136.0, Some(270.0)),
        of("chase_l2", 512 << 20, 640.0, None),
    ];
    let levels = "A load takes 15 ns from shared memory, 18 ns (36 cycles) from L1, 136 ns (270 cycles) from L2 and 640 ns from DRAM";
    assert_eq!(found("latency", &rows), Some(format!("{levels}.")));
    let mut each = of("chase_each", 16 << 20, 150.0, None);
    each.observed.insert("modes".to_string(), serde_json::json!([276, 212, 900]));
    rows.push(each);
    let modes = "by themselves, loads of 16 MiB mostly take 212 or 276 cycles";
    assert_eq!(found("latency", &rows), Some(format!("{levels}; {modes}.")));
}

#[test]
fn instructions_are_told_by_latency_rate_and_barrier() {
    let of = |kernel: &str, name: &str, figure: f64, block: u32| {
        let row = row(kernel, 0.01);
        Record {
            parameters: Parameters { block: Some([block, 1, 1].into()), ..row.parameters.clone() },
            observed: [(name.to_string(), figure.into())].into(),
            ..row
        }
    };
    let cycles = |kernel: &str, cycles| of(kernel, record::CYCLES, cycles, 32);
    let rate = |kernel: &str, rate| of(kernel, record::PER_CLOCK, rate, 1024);
    let mut rows = vec![
        cycles("chain_shuffle", 23.2),
        cycles("chain_fma_f32", 4.1),
        rate("rate_fma_f32", 126.8),
        rate("rate_rsqrt", 15.9),
        cycles("chain_barrier", 19.0),
    ];
    let told = "Latencies are, in cycles, 4 for `fma.f32` and 23 for a shuffle; an SM completes 127 `fma.f32` and 16 `rsqrt` of single \
                threads per clock";
    assert_eq!(found("instructions", &rows), Some(format!("{told}.")));
    rows.push(of("chain_barrier", record::CYCLES, 84.6, 1024));
    let barrier = "a barrier takes 19 cycles in a block of 32 threads and 85 in one of 1024";
    assert_eq!(found("instructions", &rows), Some(format!("{told}; {barrier}.")));
    assert_eq!(found("instructions", &rows[..0]), None);
}

#[test]
fn the_mountain_has_a_ridge_and_a_slope() {
    let of = |bytes: u64, stride: u64, rate: f64| {
        let row = row("mountain", rate);
        let swept = Some(record::Swept { name: "stride".to_string(), value: stride });
        Record { parameters: Parameters { bytes, swept, ..row.parameters.clone() }, ..row }
    };
    let rows = [
        of(1 << 20, 1, 9000.0),
        of(16 << 20, 1, 8000.0),
        of(1 << 16, 1, 30000.0),
        of(512 << 20, 1, 4200.0),
        of(512 << 20, 8, 520.0),
    ];
    assert_eq!(
        found("mountain", &rows).as_deref(),
        Some(
            "Neighbouring lanes read 30000 GB/s over 64 KiB, 8000 GB/s over 16 MiB and 4200 GB/s over 512 MiB; at a stride of 8 \
             vectors 512 MiB deliver 520 GB/s."
        )
    );
}

#[test]
fn bandwidth_follows_bytes_in_flight_up_to_the_knee() {
    let of = |in_flight: u64, rate: f64| row("in_flight_1", rate).with("in_flight", in_flight);
    let rows = [of(1024, 211.2), of(16384, 3100.0), of(32768, 4000.0), of(65536, 4200.0)];
    assert_eq!(
        found("occupancy", &rows).as_deref(),
        Some(
            "32 KiB in flight per SM reach 95% of the best bandwidth, 4200 GB/s; with 1 KiB there are 211 GB/s, which is what is \
             in flight over a latency of 640 ns."
        )
    );
}

#[test]
fn conflicts_multiply_the_time_of_an_access() {
    let of = |width: u64, stride: u64, ns: f64| {
        let row = row("banks_4", 0.01).with("width", width);
        let swept = Some(record::Swept { name: "stride".to_string(), value: stride });
        let operations = Operations { kind: Operation::Access, count: 1000 };
        Record {
            parameters: Parameters { swept, ..row.parameters.clone() },
            operations: Some(operations),
            ns_per_operation: Some(ns),
            gop_per_s: Some(1.0 / ns),
            ..row
        }
    };
    let rows = [of(4, 1, 0.51), of(4, 3, 0.52), of(4, 32, 16.32), of(16, 1, 2.04)];
    assert_eq!(
        found("banks", &rows).as_deref(),
        Some(
            "An access of neighbouring lanes occupies shared memory for 0.51 ns; a stride of 32 takes 32 times as long, for its lanes \
             share a bank; odd strides cost nothing; 16 bytes per lane take 4.0 times as long for four times the bytes."
        )
    );
}
