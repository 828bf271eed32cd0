//! The model of the H200 against the H200: fitted on a few points, judged on the others.

mod model_kernels;

use model_kernels::{Kernel, counters};
use simt::cards::{Card, find};
use simt::model::{Counters, LaunchTime};

/// One measured row: what ran, the size of an element, seconds.
#[derive(Debug)]
struct Point {
    kernel: Kernel,
    size: u64,
    seconds: f64,
    counters: Counters,
}

/// The text of a number or string behind `"key":` in one line of JSON written by this project.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let start = line.find(&format!("\"{key}\":"))? + key.len() + 3;
    let rest = &line[start..];
    Some(rest[..rest.find([',', '}']).unwrap_or(rest.len())].trim_matches('"'))
}

fn measured() -> Vec<Point> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/h200/records.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let card = find("h200").unwrap();
    text.lines()
        .filter(|line| value(line, "language") == Some("rust"))
        .filter_map(|line| {
            let number = |key| value(line, key).unwrap().parse::<u64>().unwrap();
            let (kernel, size) = match value(line, "kernel")? {
                "offset_f32" => (Kernel::Offset(number("offset")), 4),
                "offset_f64" => (Kernel::Offset(number("offset")), 8),
                "stride_f32" => (Kernel::Stride(number("stride")), 4),
                "stride_f64" => (Kernel::Stride(number("stride")), 8),
                "copy_scalar" => (Kernel::Copy, 4),
                "copy_vector" => (Kernel::Copy, 16),
                _ => return None,
            };
            assert_eq!(number("block"), 256, "{line}");
            let seconds = value(line, "median").unwrap().parse::<f64>().unwrap() * 1e-3;
            Some(Point { kernel, size, seconds, counters: counters(&card, kernel, size, number("read")) })
        })
        .collect()
}

fn is_calibration(point: &Point) -> bool {
    match point.kernel {
        Kernel::Offset(s) => [0, 1, 8, 32].contains(&s),
        Kernel::Stride(s) => [1, 2, 4, 8, 16, 32].contains(&s),
        Kernel::Copy => point.size == 16,
    }
}

/// Modelled over measured, less 1.
fn error(point: &Point, card: &Card) -> f64 {
    LaunchTime::new(&point.counters, card).seconds / point.seconds - 1.0
}

fn median_and_worst(points: &[&Point], card: &Card) -> (f64, f64) {
    let mut errors: Vec<f64> = points.iter().map(|point| error(point, card).abs()).collect();
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() / 2], errors[errors.len() - 1])
}

#[test]
fn errors_on_points_that_were_not_fitted() {
    let card = find("h200").unwrap();
    let points = measured();
    assert_eq!(points.len(), 132);
    let (fitted, judged): (Vec<_>, Vec<_>) = points.iter().partition(|point| is_calibration(point));
    assert_eq!((fitted.len(), judged.len()), (21, 111));
    let (median, worst) = median_and_worst(&judged, &card);
    println!("judged: median {median:.4}, worst {worst:.4}");
    assert!(median <= 0.02, "median error {median}");
    assert!(worst <= 0.08, "worst error {worst}");
    let kind = |offset: bool, size: u64| {
        let of: Vec<&Point> = judged
            .iter()
            .copied()
            .filter(|point| point.size == size && matches!(point.kernel, Kernel::Offset(_)) == offset)
            .collect();
        median_and_worst(&of, &card)
    };
    for (offset, size) in [(true, 4), (true, 8), (false, 4), (false, 8)] {
        let (median, worst) = kind(offset, size);
        println!("offset {offset}, {size} bytes: median {median:.4}, worst {worst:.4}");
        assert!(median <= 0.07 && worst <= 0.15, "offset {offset}, {size} bytes: {median} {worst}");
    }
}

/// The fitted constants are what a fit finds: least squares of the logarithms, by going downhill from a start that is
/// well off.
#[test]
fn the_fit_can_be_repeated() {
    let known = find("h200").unwrap();
    let points: Vec<Point> = measured().into_iter().filter(is_calibration).collect();
    let constants: [fn(&mut Card) -> &mut f64; 5] = [
        |card| &mut card.dram_share,
        |card| &mut card.dram_line_weight,
        |card| &mut card.dram_page_weight,
        |card| &mut card.warp_overhead_ns,
        |card| &mut card.straddle_penalty,
    ];
    let loss = |card: &Card| points.iter().map(|point| (1.0 + error(point, card)).ln().powi(2)).sum::<f64>();
    let mut card = Card {
        dram_share: 0.8,
        dram_line_weight: 0.2,
        dram_page_weight: 0.2,
        warp_overhead_ns: 300.0,
        straddle_penalty: 0.03,
        ..known.clone()
    };
    let mut best = loss(&card);
    let mut step = 0.1;
    while step > 1e-4 {
        let mut better = false;
        for constant in constants {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = card.clone();
                *constant(&mut tried) *= factor;
                let lost = loss(&tried);
                if lost < best {
                    (best, card, better) = (lost, tried, true);
                }
            }
        }
        if !better {
            step /= 2.0;
        }
    }
    for (index, constant) in constants.into_iter().enumerate() {
        let (found, written) = (*constant(&mut card), *constant(&mut known.clone()));
        println!("constant {index}: found {found:.4}, written {written}");
        assert!(
            (found / written - 1.0).abs() < 0.02,
            "constant {index}: the fit finds {found}, the card has {written}"
        );
    }
}

#[test]
fn counters_are_those_of_the_hardware() {
    // docs/h200.md, by Nsight Compute: requests, sectors that reach L2 for a load, lines moved by DRAM a request.
    let card = find("h200").unwrap();
    let of = |kernel, size| counters(&card, kernel, size, 256 << 20);
    let aligned = of(Kernel::Offset(0), 4);
    assert_eq!((aligned.requests, aligned.warps), (2.0 * 2_097_152.0, 2_097_152.0));
    assert_eq!(aligned.l2_sectors_read / aligned.warps, 4.0);
    assert_eq!(of(Kernel::Offset(1), 4).l2_sectors_read / aligned.warps, 4.125);
    assert_eq!(of(Kernel::Offset(8), 4).l2_sectors_read / aligned.warps, 4.0);
    assert_eq!(of(Kernel::Offset(1), 8).l2_sectors_read / (aligned.warps / 2.0), 8.125);
    let mib = |touched: f64| touched * 64.0 / f64::from(1 << 20);
    assert_eq!(mib(of(Kernel::Stride(2), 4).dram_read.granules), 512.0);
    assert_eq!(mib(of(Kernel::Stride(8), 4).dram_read.granules), 2048.0);
    assert_eq!(mib(of(Kernel::Stride(16), 4).dram_read.granules), 4096.0);
    assert_eq!(mib(of(Kernel::Stride(32), 4).dram_read.granules), 4096.0);
    assert_eq!(mib(of(Kernel::Stride(8), 8).dram_read.granules), 2048.0);
}
