//! A record with its fields side by side, as tables of rows and columns have it: CSV and Parquet.

use crate::{Limit, Parameters, Readings, Record};
use serde::Serialize;

/// From one list of columns: the row, and with the feature `parquet` its columns by name.
macro_rules! row {
    ($($name:ident: $type:ty,)*) => {
        /// A record with its fields side by side. New columns are added at the end.
        #[derive(Default, Serialize)]
        pub(crate) struct Row {
            $($name: $type,)*
        }

        #[cfg(feature = "parquet")]
        impl Row {
            /// The columns of some rows, by their names.
            pub(crate) fn columns(rows: &[Row]) -> Vec<(&'static str, crate::parquet::Column)> {
                use crate::parquet::Cell;
                vec![$((stringify!($name), <$type>::column(&mut rows.iter().map(|row| &row.$name)))),*]
            }
        }
    };
}

row! {
    schema: String,
    experiment: String,
    kernel: String,
    language: String,
    backend: String,
    device: String,
    compute_capability: String,
    driver: String,
    ptx: String,
    precision: String,
    swept: String,
    value: Option<u64>,
    bytes: u64,
    elements: u64,
    block: String,
    grid: String,
    bytes_read: u64,
    bytes_written: u64,
    footprint: u64,
    residence: String,
    ms_median: Option<f64>,
    ms_min: Option<f64>,
    ms_max: Option<f64>,
    samples: Option<usize>,
    gb_per_s: Option<f64>,
    percent_of_peak: Option<f64>,
    percent_of_copy: Option<f64>,
    verified: bool,
    ratio_to_reference: Option<f64>,
    method: String,
    launches_per_sample: u32,
    peak_gb_per_s: Option<f64>,
    copy_gb_per_s: Option<f64>,
    copy_bytes: Option<u64>,
    note: String,
    device_ordinal: u32,
    memory_bytes: u64,
    l2_bytes: u64,
    multiprocessors: u32,
    max_threads_per_block: u32,
    max_grid: u32,
    memory_clock_khz: u32,
    memory_bus_bits: u32,
    peak_source: String,
    selector: String,
    bound: String,
    warp_instructions: Option<u64>,
    load_requests: Option<u64>,
    load_sectors: Option<u64>,
    load_lines: Option<u64>,
    load_bytes_requested: Option<u64>,
    load_bytes_moved: Option<u64>,
    store_requests: Option<u64>,
    store_sectors: Option<u64>,
    store_lines: Option<u64>,
    store_bytes_requested: Option<u64>,
    store_bytes_moved: Option<u64>,
    atomic_requests: Option<u64>,
    l2_sectors_read: Option<u64>,
    l2_sectors_written: Option<u64>,
    dram_bytes: Option<u64>,
    shared_wavefronts: Option<u64>,
    shared_wavefronts_ideal: Option<u64>,
    constant_replays: Option<u64>,
    branches: Option<u64>,
    divergent_branches: Option<u64>,
    gflop_per_s: Option<f64>,
    arithmetic_intensity: Option<f64>,
    parameters: String,
    explanation: String,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    reference: String,
    load: String,
    sm_clock_mhz: Option<f64>,
    memory_clock_mhz: Option<f64>,
    temperature_c: Option<f64>,
    limited_by: String,
    power_limit_w: Option<f64>,
    power_w: Option<f64>,
    metered_s: Option<f64>,
    launch_j: Option<f64>,
    picojoules_per_flop: Option<f64>,
    operation: String,
    operations: Option<u64>,
    ns_per_operation: Option<f64>,
    gop_per_s: Option<f64>,
    cycles: Option<f64>,
    ms_low: Option<f64>,
    ms_high: Option<f64>,
    run: String,
    rank: Option<u32>,
    ranks: Option<u32>,
    host: String,
    uuid: String,
    pass: Option<u32>,
    passes: Option<u32>,
    version: String,
    per_clock: Option<f64>,
}

impl Row {
    /// A record's row.
    pub(crate) fn of(record: &Record) -> Row {
        let parameters = &record.parameters;
        let (times, swept) = (record.time_ms, parameters.swept.as_ref());
        let counters = record.counters.as_deref();
        let launch = counters.map(|counters| &counters.launch);
        let total = launch.map(|launch| &launch.total);
        let shared = total.map(|total| total.shared());
        let conditions = record.conditions.clone().unwrap_or_default();
        let origin = record.origin.as_deref();
        let median = |readings: Option<Readings>| readings.map(|readings| readings.median);
        Row {
            schema: record.schema.clone(),
            experiment: record.experiment.clone(),
            kernel: record.kernel.clone(),
            language: record.language.to_string(),
            backend: record.backend.to_string(),
            device: record.device.name.clone(),
            compute_capability: record.device.compute_capability.clone(),
            driver: record.device.driver.clone(),
            ptx: record.ptx.clone().unwrap_or_default(),
            precision: parameters.precision.map(|precision| precision.to_string()).unwrap_or_default(),
            swept: swept.map(|swept| swept.name.clone()).unwrap_or_default(),
            value: swept.map(|swept| swept.value),
            bytes: parameters.bytes,
            elements: parameters.elements,
            block: parameters.block.map(|block| block.to_string()).unwrap_or_default(),
            grid: parameters.grid.map(|grid| grid.to_string()).unwrap_or_default(),
            bytes_read: record.bytes.read,
            bytes_written: record.bytes.written,
            footprint: record.bytes.footprint,
            residence: record.residence.to_string(),
            ms_median: times.map(|times| times.median),
            ms_min: times.map(|times| times.min),
            ms_max: times.map(|times| times.max),
            samples: times.map(|times| times.samples),
            gb_per_s: record.gb_per_s,
            percent_of_peak: record.percent_of_peak,
            percent_of_copy: record.percent_of_copy,
            verified: record.verified,
            ratio_to_reference: record.ratio_to_reference,
            method: record.timing.method.to_string(),
            launches_per_sample: record.timing.launches_per_sample,
            peak_gb_per_s: record.peak.as_ref().map(|peak| peak.gb_per_s),
            copy_gb_per_s: record.copy.map(|copy| copy.gb_per_s),
            copy_bytes: record.copy.map(|copy| copy.bytes),
            note: record.note.clone().unwrap_or_default(),
            device_ordinal: record.device.ordinal,
            memory_bytes: record.device.memory_bytes,
            l2_bytes: record.device.l2_bytes,
            multiprocessors: record.device.multiprocessors,
            max_threads_per_block: record.device.max_threads_per_block,
            max_grid: record.device.max_grid,
            memory_clock_khz: record.device.memory_clock_khz,
            memory_bus_bits: record.device.memory_bus_bits,
            peak_source: record.peak.as_ref().map(|peak| peak.source.clone()).unwrap_or_default(),
            selector: record.device.selector(),
            bound: counters.map(|counters| counters.bound.to_string()).unwrap_or_default(),
            warp_instructions: total.map(|total| total.instructions),
            load_requests: total.map(|total| total.loads.requests),
            load_sectors: total.map(|total| total.loads.sectors),
            load_lines: total.map(|total| total.loads.lines),
            load_bytes_requested: total.map(|total| total.loads.bytes_requested),
            load_bytes_moved: total.map(|total| total.loads.bytes_moved),
            store_requests: total.map(|total| total.stores.requests),
            store_sectors: total.map(|total| total.stores.sectors),
            store_lines: total.map(|total| total.stores.lines),
            store_bytes_requested: total.map(|total| total.stores.bytes_requested),
            store_bytes_moved: total.map(|total| total.stores.bytes_moved),
            atomic_requests: total.map(|total| total.atomics.requests),
            l2_sectors_read: launch.map(|launch| launch.l2_sectors_read),
            l2_sectors_written: launch.map(|launch| launch.l2_sectors_written),
            dram_bytes: counters.map(|counters| counters.dram_bytes),
            shared_wavefronts: shared.map(|shared| shared.wavefronts),
            shared_wavefronts_ideal: shared.map(|shared| shared.ideal),
            constant_replays: total.map(|total| total.constant.replays),
            branches: total.map(|total| total.branches),
            divergent_branches: total.map(|total| total.divergent_branches),
            gflop_per_s: record.gflop_per_s,
            arithmetic_intensity: record.arithmetic_intensity,
            parameters: more(parameters),
            explanation: record.explanation.clone().unwrap_or_default(),
            ratio_low: record.ratio_range.map(|[low, _]| low),
            ratio_high: record.ratio_range.map(|[_, high]| high),
            reference: record.reference.clone().unwrap_or_default(),
            load: record.timing.load.map(|load| load.to_string()).unwrap_or_default(),
            sm_clock_mhz: median(conditions.sm_clock_mhz),
            memory_clock_mhz: median(conditions.memory_clock_mhz),
            temperature_c: median(conditions.temperature_c),
            limited_by: conditions.limited_by.iter().map(Limit::to_string).collect::<Vec<_>>().join(";"),
            power_limit_w: conditions.power_limit_w,
            power_w: conditions.energy.map(|energy| energy.power_w),
            metered_s: conditions.energy.map(|energy| energy.metered_s),
            launch_j: conditions.energy.map(|energy| energy.launch_j),
            picojoules_per_flop: conditions.energy.and_then(|energy| energy.picojoules_per_flop),
            operation: record.operations.map(|operations| operations.kind.to_string()).unwrap_or_default(),
            operations: record.operations.map(|operations| operations.count),
            ns_per_operation: record.ns_per_operation,
            gop_per_s: record.gop_per_s,
            cycles: record.cycles(),
            ms_low: times.and_then(|times| times.interval).map(|[low, _]| low),
            ms_high: times.and_then(|times| times.interval).map(|[_, high]| high),
            run: origin.map(|origin| origin.run.clone()).unwrap_or_default(),
            rank: origin.and_then(|origin| origin.rank),
            ranks: origin.and_then(|origin| origin.ranks),
            host: origin.map(|origin| origin.host.clone()).unwrap_or_default(),
            uuid: origin.and_then(|origin| origin.uuid.clone()).unwrap_or_default(),
            pass: origin.map(|origin| origin.pass),
            passes: origin.map(|origin| origin.passes),
            version: origin.map(|origin| origin.version.clone()).unwrap_or_default(),
            per_clock: record.per_clock(),
        }
    }
}

/// The parameters that have no column of their own, as in `nx=2048;ny=2048`.
fn more(parameters: &Parameters) -> String {
    let each = parameters.more.iter().map(|(name, value)| match value {
        serde_json::Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    });
    each.collect::<Vec<_>>().join(";")
}
