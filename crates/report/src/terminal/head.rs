//! The head of a run: what holds for all its rows, in four lines of 80 columns.

use super::{
    Shown,
    layout::{hanging, wrapped},
};
use crate::expected;
use record::{Backend, Bytes, Run, Sensors};
use std::fmt::Write;

/// The head of a run, which holds for all its rows: the card, the driver, the peak, the copy ceiling, and of a simulated card how far to trust
/// its times. Where all is [to be shown](Shown::verbose), also where the card's figures are from.
pub fn head(run: &Run, shown: Shown) -> String {
    let width = shown.style.prose();
    let device = &run.device;
    let l2 = match device.l2_bytes {
        0 => "no L2".to_string(),
        bytes => format!("L2 {}", Bytes(bytes)),
    };
    let card = format!(
        "{} ({}, compute capability {}, {} SMs, {l2})",
        device.plain_name(),
        device.selector(),
        device.compute_capability,
        device.multiprocessors,
    );
    let ptx = run.ptx.as_ref().map(|ptx| format!(", kernels as PTX for {ptx}")).unwrap_or_default();
    let peak = |source: bool| match &run.peak {
        Some(peak) if source => format!("peak {:.0} GB/s ({})", peak.gb_per_s, peak.source),
        Some(peak) => format!("peak {:.0} GB/s", peak.gb_per_s),
        None => "peak unknown".to_string(),
    };
    let copy = |how: &str| {
        let ceiling = run.copy?;
        Some(format!("copy {:.0} GB/s (the driver's own, {}{how})", ceiling.gb_per_s, Bytes(ceiling.bytes)))
    };
    let mut paragraphs = match device.backend() {
        Backend::Measured => {
            let mut lines = vec![
                format!("measured on {card}"),
                format!("driver for CUDA {}{ptx}", device.driver),
                peak(true),
            ];
            lines.extend(copy(" from device to device, in this run"));
            lines
        }
        Backend::Modelled => {
            let ceilings = [Some(peak(shown.verbose)), copy(", modelled")].into_iter().flatten();
            vec![card, expected::in_brief(&device.selector()), ceilings.collect::<Vec<_>>().join(", ")]
        }
    };
    match run.sensors.as_ref().filter(|_| shown.verbose) {
        Some(Sensors::Nvml(driver)) => {
            paragraphs.push(format!("clocks, power and temperature by the driver's NVML {driver}"));
        }
        Some(Sensors::Missing(reason)) => {
            paragraphs.push(format!("no clocks, power or temperature: {reason}"));
        }
        None => {}
    }
    if shown.verbose && device.backend() == Backend::Modelled {
        paragraphs.push(format!("simulated driver{ptx}"));
    }
    if let Some((source, calibration)) = run.card_origin().filter(|_| shown.verbose) {
        paragraphs.push(format!("card: {source}. Calibration: {calibration}"));
    }
    let mut text = String::new();
    for (number, paragraph) in paragraphs.iter().enumerate() {
        let lines = if number == 0 { hanging(paragraph, width, 2) } else { wrapped(paragraph, width) };
        let _ = writeln!(text, "{lines}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{
        Style,
        setting::tests::{modelled, row},
    };
    use record::{Precision, doubt::Residuals};

    #[test]
    fn a_measured_run_has_four_lines() {
        let run = Run::of(&[row(0, Precision::F32, Some(0.2))]).expect("a record");
        assert_eq!(
            head(&run, Shown::default()),
            "measured on NVIDIA H200 (cuda:0, compute capability 9.0, 132 SMs, L2 60 MiB)\n\
             driver for CUDA 13.0, kernels as PTX for compute_90\n\
             peak 4917 GB/s (the driver)\n\
             copy 4200 GB/s (the driver's own, 256 MiB from device to device, in this run)\n"
        );
    }

    #[test]
    fn the_source_of_clocks_is_told_with_everything() {
        let mut run = Run::of(&[row(0, Precision::F32, Some(0.2))]).expect("a record");
        let last = |run: &Run, verbose| {
            let text = head(run, Shown { verbose, ..Shown::default() });
            text.lines().last().unwrap_or_default().to_string()
        };
        run.sensors = Some(Sensors::Nvml("580.159.04".to_string()));
        assert_eq!(last(&run, true), "clocks, power and temperature by the driver's NVML 580.159.04");
        run.sensors = Some(Sensors::Missing("NVML cannot be loaded".to_string()));
        assert_eq!(last(&run, true), "no clocks, power or temperature: NVML cannot be loaded");
        assert!(last(&run, false).starts_with("copy 4200 GB/s"));
    }

    #[test]
    fn a_modelled_run_says_how_far_its_times_are_off() {
        let mut run = Run::of(&[modelled(row(0, Precision::F32, Some(0.2)))]).expect("a record");
        let fields = [("source", "data sheet; measured"), ("calibration", "none")];
        run.card = Some(fields.map(|(name, text)| (name.to_string(), text.into())).into_iter().collect());
        let residuals = Residuals::built_in();
        let errors = [residuals.own_errors(), residuals.unseen_errors()];
        let [own, unseen] = errors.map(|errors| errors.expect("there are residuals").median_in_words());
        let brief = format!(
            "Tesla C870 (sim:c870, compute capability 1.0, 16 SMs, no L2)\n\
             modelled, not measured: times are off by {own} in the median on this repository's\n\
             kernels, by {unseen} on kernels that the model had not seen (both on an H200; this\n\
             card's times were compared with none, so expect more)\n\
             peak 4917 GB/s, copy 4200 GB/s (the driver's own, 256 MiB, modelled)\n"
        );
        assert_eq!(head(&run, Shown::default()), brief);
        let all = head(&run, Shown { verbose: true, style: Style::FILE, ..Shown::default() });
        assert!(all.contains("peak 4917 GB/s (the driver), copy "), "{all}");
        assert!(
            all.ends_with(
                "\nsimulated driver, kernels as PTX for compute_90\ncard: data sheet; measured. Calibration: none\n"
            ),
            "{all}"
        );
    }
}
