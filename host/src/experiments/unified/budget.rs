//! How much memory counts as the card's, and how much of it, or more than it, an allocation takes.

use crate::{
    device::{Backend, DeviceInfo},
    experiments::{Request, Scale},
    memory,
    sizes::Bytes,
};
use anyhow::{Result, bail};

/// The article's.
const FACTORS: [f64; 4] = [0.5, 1.0, 1.5, 2.0];

/// The most that makes sense: what comes after it is like it.
const MOST_FACTOR: f64 = 64.0;

/// The factors that the request asks for, or those of the article that are safe on the device.
pub(super) fn factors(request: &Request, device: &DeviceInfo) -> Result<Vec<f64>> {
    let safe = |factor: &f64| {
        device.backend() == Backend::Modelled || request.choices.allow_oversubscription || *factor <= 1.0
    };
    let asked = &request.choices.factor;
    if asked.is_empty() {
        let default = if request.scale == Scale::Small { &FACTORS[2..3] } else { &FACTORS };
        let factors: Vec<f64> = default.iter().copied().filter(safe).collect();
        return Ok(if factors.is_empty() { vec![1.0] } else { factors });
    }
    if let Some(factor) = asked.iter().find(|factor| **factor > MOST_FACTOR) {
        bail!(
            "a factor of {factor} is out of range: it goes up to {MOST_FACTOR}, and the article uses 0.5, 1.0, 1.5, 2.0"
        );
    }
    if let Some(factor) = asked.iter().find(|factor| !safe(factor)) {
        bail!(
            "a factor of {factor} oversubscribes {}: with more managed memory than the card has, a launch can take minutes, \
             hang the GPU for all its users, and need a restart of the machine. Factors up to 1 are safe, a simulated card \
             (`--device sim:h200`) takes any factor, and --allow-oversubscription runs it on the GPU",
            device.plain_name(),
        );
    }
    Ok(asked.clone())
}

/// The memory that counts as the card's where the user does not say: no more than half of what is free.
pub(super) fn default_budget(scale: Scale, device: &DeviceInfo, free: u64) -> u64 {
    let wished = match (device.backend(), scale) {
        (_, Scale::Small) => 256 << 10,
        (Backend::Modelled, Scale::Quick) => 32 << 20,
        (Backend::Modelled, Scale::Full) => 256 << 20,
        (Backend::Measured, Scale::Quick) => 256 << 20,
        (Backend::Measured, Scale::Full) => 1 << 30,
    };
    wished.min(free / 2)
}

/// The card's free memory in bytes.
pub(super) fn free(device: &DeviceInfo) -> Result<u64> {
    match device.backend() {
        Backend::Modelled => Ok(device.memory_bytes),
        Backend::Measured => memory::available(Backend::Measured),
    }
}

/// Refuses a budget that exceeds the card's free memory.
pub(super) fn check_budget(
    budget: u64,
    free: u64,
    factors: &[f64],
    allowed: bool,
    device: &DeviceInfo,
) -> Result<()> {
    if budget > free {
        bail!(
            "a budget of {} is more than the {} that {} has free: --budget takes up to that",
            Bytes(budget),
            Bytes(free),
            device.plain_name(),
        );
    }
    let largest = factors.iter().copied().fold(0.0, f64::max) * budget as f64;
    if device.backend() == Backend::Measured && !allowed && largest > free as f64 {
        bail!(
            "{} of managed memory is more than the {} that {} has free, which can hang the GPU: use a smaller --budget",
            Bytes(largest as u64),
            Bytes(free),
            device.plain_name(),
        );
    }
    Ok(())
}

/// The bytes of an allocation: whole pages, the nearest to what the factor says.
pub(super) fn allocation(factor: f64, budget: u64, page: u64) -> Result<u64> {
    let pages = (factor * budget as f64 / page as f64).round();
    if pages < 1.0 {
        bail!(
            "{factor} times a budget of {} is less than half a page of {}: use a larger --factor or --budget, or a smaller \
             --page",
            Bytes(budget),
            Bytes(page),
        );
    }
    if pages > f64::from(u32::MAX) {
        bail!(
            "{factor} times a budget of {} is more than {} pages of {}: use a smaller --factor or --budget, or a larger --page",
            Bytes(budget),
            u32::MAX,
            Bytes(page),
        );
    }
    Ok(pages as u64 * page)
}
