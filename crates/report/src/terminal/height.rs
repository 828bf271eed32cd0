//! The vertical axis of a plot: from 0 in proportion, or by logarithms where values span more than a decade.

/// A vertical axis.
pub(super) struct Height {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Height {
    /// An axis from 0 to a little above the highest value.
    pub(super) fn linear(highest: f64) -> Height {
        Height { low: 0.0, high: highest.max(f64::MIN_POSITIVE) * 1.02, logarithmic: false }
    }

    /// A logarithmic axis from a round value below the lowest; a linear one where the values lie within a decade.
    pub(super) fn by_decades(lowest: f64, highest: f64) -> Height {
        if lowest <= 0.0 || highest <= 10.0 * lowest {
            return Height::linear(highest);
        }
        let power = 10f64.powf(lowest.log10().floor());
        let low = [5.0, 2.0, 1.0].into_iter().map(|step| step * power).find(|low| *low <= lowest);
        Height { low: low.unwrap_or(power), high: highest * 1.05, logarithmic: true }
    }

    /// The value at the bottom, as text.
    pub(super) fn floor(&self) -> String {
        if self.logarithmic { plain(self.low) } else { "0".to_string() }
    }

    /// How far up a value is, from 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            value / self.high
        }
    }

    /// Round values with their texts, ascending: four to six of them, or by logarithms 1, 2 and 5 of each decade, of many decades
    /// 1 alone.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            let steps: &[f64] = if self.high / self.low <= 200.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = self.low.log10().floor() as i32..=self.high.log10().floor() as i32;
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            let within = all.filter(|value| (self.low * 1.001..=self.high).contains(value));
            return within.map(|value| (value, plain(value))).collect();
        }
        let top = self.high;
        let scale = 10f64.powf((top / 4.0).log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * scale).find(|step| top / step <= 6.0);
        let step = step.unwrap_or(10.0 * scale);
        let decimals = if step >= 1.0 && step.fract() == 0.0 {
            0
        } else {
            (1.0 - step.log10().floor()).max(1.0) as usize
        };
        let count = (top / step).floor() as usize;
        (0..=count)
            .map(|number| step * number as f64)
            .map(|value| (value, format!("{value:.decimals$}")))
            .collect()
    }
}

/// A round value of a logarithmic axis without superfluous zeros.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{}", (value * 1e9).round() / 1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(height: &Height) -> Vec<String> {
        height.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let of = |top: f64| texts(&Height { low: 0.0, high: top, logarithmic: false });
        assert_eq!(of(5015.0), ["0", "1000", "2000", "3000", "4000", "5000"]);
        assert_eq!(of(58.0), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(of(1.9), ["0.00", "0.50", "1.00", "1.50"]);
    }

    #[test]
    fn decades_are_equally_high() {
        let height = Height::by_decades(23.0, 700.0);
        assert_eq!(
            (height.floor(), texts(&height)),
            ("20".to_string(), vec!["50".to_string(), "100".into(), "200".into(), "500".into()])
        );
        assert!((height.at(200.0) - height.at(100.0) - (height.at(100.0) - height.at(50.0))).abs() < 1e-12);
        assert_eq!(height.at(20.0), 0.0);
        assert_eq!(texts(&Height::by_decades(0.04, 900.0)), ["0.1", "1", "10", "100"]);
        // Within a decade the axis begins at 0.
        assert_eq!(Height::by_decades(300.0, 700.0).floor(), "0");
    }
}
