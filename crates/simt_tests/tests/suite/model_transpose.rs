//! NVIDIA's transposes of 2048 x 2048 floats on three cards, from counters that follow from the tiles.

use crate::transpose_kernels::Variant::{Coalesced, Diagonal, Naive, Padded, SharedCopy, Straight};
use crate::transpose_kernels::{N, counters};
use simt::cards::find;
use simt::model::LaunchTime;

#[test]
fn figures_are_nvidias_within_a_quarter() {
    let mut wrong = Vec::new();
    for (key, figures) in [
        ("gtx280", [96.9, 80.9, 2.2, 16.5, 16.6, 69.5]),
        ("m2090", [125.2, 110.6, 61.5, 92.8, 103.2, 81.4]),
        ("k20x", [147.6, 130.5, 92.0, 114.0, 112.6, 106.7]),
    ] {
        let card = find(key).unwrap();
        let variants = [Straight, SharedCopy, Naive, Coalesced, Padded, Diagonal];
        for (variant, measured) in variants.into_iter().zip(figures) {
            let time = LaunchTime::new(&counters(&card, variant), &card);
            // NVIDIA times many launches in a row, which hides what a launch costs.
            let modelled = (2 * N * N * 4) as f64 / (time.seconds - time.launch) / 1e9;
            let error = modelled / measured - 1.0;
            println!("{key} {variant:?}: {modelled:.1}, measured {measured}, {error:+.3}");
            if error.abs() > 0.25 {
                wrong.push((key, variant, modelled, measured));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
