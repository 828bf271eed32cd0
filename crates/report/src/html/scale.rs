//! Scales: from values to coordinates, and the ticks of an axis.

/// Maps values onto a stretch of the drawing.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    values: [f64; 2],
    places: [f64; 2],
    logarithmic: bool,
}

impl Scale {
    /// From values onto coordinates, in proportion.
    pub(super) fn linear(values: [f64; 2], places: [f64; 2]) -> Scale {
        let [low, high] = values;
        let high = if high > low { high } else { low + 1.0 };
        Scale { values: [low, high], places, logarithmic: false }
    }

    /// From values, all above 0, onto coordinates by their logarithms.
    pub(super) fn logarithmic(values: [f64; 2], places: [f64; 2]) -> Scale {
        let [low, high] = values;
        let high = if high > low { high } else { low * 10.0 };
        Scale { values: [low, high], places, logarithmic: true }
    }

    /// The coordinate of a value; one beyond the axis lies at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let [low, high] = self.values;
        let part = if self.logarithmic {
            (value.max(low) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        let [start, end] = self.places;
        start + part.clamp(0.0, 1.0) * (end - start)
    }

    /// Whether a value is on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.values[0]..=self.values[1]).contains(&value)
    }

    /// The values at the axis's ends.
    pub(super) fn ends(&self) -> [f64; 2] {
        self.values
    }

    /// Round values for `wanted` ticks, more or less.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let [low, high] = self.values;
        if self.logarithmic {
            return self.decades(wanted);
        }
        let rough = (high - low) / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(steps[3]);
        multiples(step, low, high)
    }

    /// Values for an axis of whole numbers: multiples of a power of two, along which memory is divided.
    pub(super) fn binary_ticks(&self, wanted: usize) -> Vec<f64> {
        let [low, high] = self.values;
        let mut step = 1.0;
        while (high - low) / step > wanted as f64 {
            step *= 2.0;
        }
        if !self.logarithmic {
            return multiples(step, low, high);
        }
        // Of the powers of two those that meet 1 KiB, 1 MiB and so on.
        let doublings = (high / low).log2();
        let step = [1, 2, 5, 10].into_iter().find(|step| doublings <= f64::from(step * wanted as i32));
        powers(f64::powi(2.0, step.unwrap_or(20)), low, high)
    }

    fn decades(&self, wanted: usize) -> Vec<f64> {
        let [low, high] = self.values;
        let tens = powers(10.0, low, high);
        if tens.len() * 2 > wanted {
            return tens;
        }
        let around = powers(10.0, low / 10.0, high);
        let finer = around.iter().flat_map(|ten| [1.0, 2.0, 5.0].map(|step| step * ten));
        finer.filter(|tick| self.holds(*tick)).collect()
    }
}

fn multiples(step: f64, low: f64, high: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|nth| nth as f64 * step).collect()
}

fn powers(base: f64, low: f64, high: f64) -> Vec<f64> {
    let exponent = |value: f64| value.ln() / base.ln();
    let first = (exponent(low) - 1e-9).ceil() as i32;
    let last = (exponent(high) + 1e-9).floor() as i32;
    (first..=last).map(|nth| base.powi(nth)).collect()
}

/// Moves labels apart that lie nearer than `gap`, keeping their order, each as near to its place as the others and the bounds let it.
pub(super) fn spread(places: &[f64], gap: f64, [low, high]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|one, other| places[*one].total_cmp(&places[*other]));
    // Pools of neighbours that touch: the sum of where their first would lie, how many, where the first lies.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    let start = |&(sum, count): &(f64, usize)| {
        let room = (high - gap * (count - 1) as f64).max(low);
        (sum / count as f64).clamp(low, room)
    };
    for &nth in &order {
        pools.push((places[nth], 1));
        while let [.., before, last] = pools.as_slice() {
            if start(before) + gap * before.1 as f64 <= start(last) {
                break;
            }
            let shifted = last.0 - gap * (before.1 * last.1) as f64;
            let merged = (before.0 + shifted, before.1 + last.1);
            pools.truncate(pools.len() - 2);
            pools.push(merged);
        }
    }
    let mut result = vec![0.0; places.len()];
    let mut next = order.into_iter();
    for pool in &pools {
        for nth in 0..pool.1 {
            if let Some(label) = next.next() {
                result[label] = start(pool) + gap * nth as f64;
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_coordinates() {
        let scale = Scale::linear([0.0, 4.0], [100.0, 0.0]);
        assert_eq!([0.0, 1.0, 4.0, 9.0].map(|value| scale.at(value)), [100.0, 75.0, 0.0, 0.0]);
        let scale = Scale::logarithmic([1.0, 100.0], [0.0, 10.0]);
        assert_eq!([1.0, 10.0, 100.0].map(|value| scale.at(value)), [0.0, 5.0, 10.0]);
        assert!(scale.holds(50.0) && !scale.holds(0.5));
    }

    #[test]
    fn ticks_are_round() {
        let linear = |high: f64, wanted| Scale::linear([0.0, high], [0.0, 1.0]).ticks(wanted);
        assert_eq!(linear(5055.0, 5), [0.0, 2000.0, 4000.0]);
        assert_eq!(linear(5055.0, 6), [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]);
        assert_eq!(
            Scale::linear([1.0, 32.0], [0.0, 1.0]).binary_ticks(8),
            [4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0]
        );
        assert_eq!(
            Scale::logarithmic([1.0, 32.0], [0.0, 1.0]).binary_ticks(8),
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
        );
        let sizes = Scale::logarithmic([2048.0, (1u64 << 30) as f64], [0.0, 1.0]).binary_ticks(8);
        assert_eq!(sizes, [32768.0, 1_048_576.0, 33_554_432.0, 1_073_741_824.0]);
        assert_eq!(Scale::logarithmic([0.5, 5000.0], [0.0, 1.0]).ticks(5), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::logarithmic([3.0, 60.0], [0.0, 1.0]).ticks(5), [5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn labels_keep_apart_and_near() {
        assert_eq!(spread(&[10.0, 50.0], 10.0, [0.0, 100.0]), [10.0, 50.0]);
        assert_eq!(spread(&[50.0, 50.0], 10.0, [0.0, 100.0]), [45.0, 55.0]);
        assert_eq!(spread(&[52.0, 50.0, 51.0], 10.0, [0.0, 100.0]), [61.0, 41.0, 51.0]);
        assert_eq!(spread(&[99.0, 98.0], 10.0, [0.0, 100.0]), [100.0, 90.0]);
        assert_eq!(spread(&[1.0, 0.0, 2.0], 10.0, [0.0, 100.0]), [10.0, 0.0, 20.0]);
    }
}
