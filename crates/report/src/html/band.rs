//! Bands behind curves: where eight in ten such kernels are measured, of modelled figures.

use super::number::px;

/// The width of a curve's line in pixels, as the style sheet has it: a lower band is hidden by its line.
const LINE: f64 = 2.0;

/// A place along a curve: its coordinate across, and those of its interval's bounds down, where it has one.
pub(super) type Place = (f64, Option<[f64; 2]>);

/// The intervals of a curve, those of neighbours together.
pub(super) struct Bands {
    /// The points of polygons: one for each run of neighbours, if any interval in it is higher than the line is wide.
    pub outlines: Vec<String>,
    /// The intervals of places without neighbours, if they are higher than that.
    pub alone: Vec<(f64, [f64; 2])>,
}

impl Bands {
    /// Of the places of a curve, in order.
    pub(super) fn of(places: &[Place]) -> Bands {
        let mut bands = Bands { outlines: Vec::new(), alone: Vec::new() };
        for run in places.chunk_by(|(_, one), (_, other)| one.is_some() == other.is_some()) {
            let run: Vec<(f64, [f64; 2])> =
                run.iter().filter_map(|(x, bounds)| Some((*x, (*bounds)?))).collect();
            match &run[..] {
                run if run.iter().all(|(_, [low, high])| (low - high).abs() <= LINE) => {}
                [one] => bands.alone.push(*one),
                run => bands.outlines.push(outline(run)),
            }
        }
        bands
    }
}

/// Along the upper bounds, and back along the lower ones.
fn outline(run: &[(f64, [f64; 2])]) -> String {
    let upper = run.iter().map(|(x, [_, high])| (x, high));
    let lower = run.iter().rev().map(|(x, [low, _])| (x, low));
    upper.chain(lower).map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_goes_along_the_upper_bounds_and_back_along_the_lower() {
        let places = [(0.0, Some([50.0, 40.0])), (10.0, Some([30.5, 30.0])), (20.0, Some([20.0, 5.0]))];
        let bands = Bands::of(&places);
        assert_eq!(
            (bands.outlines, bands.alone),
            (vec!["0,40 10,30 20,5 20,20 10,30.5 0,50".to_string()], vec![])
        );
    }

    #[test]
    fn there_is_no_band_without_intervals_or_under_the_line() {
        let (narrow, wide) = (Some([11.0, 9.5]), Some([20.0, 0.0]));
        let of = |places: &[Place]| {
            let bands = Bands::of(places);
            (bands.outlines, bands.alone)
        };
        assert_eq!(of(&[(0.0, None), (1.0, None)]), (vec![], vec![]));
        assert_eq!(of(&[(0.0, narrow), (1.0, narrow)]), (vec![], vec![]));
        assert_eq!(of(&[(0.0, wide), (1.0, None), (2.0, narrow)]), (vec![], vec![(0.0, [20.0, 0.0])]));
        let parted = [(0.0, wide), (1.0, wide), (2.0, None), (3.0, wide), (4.0, narrow)];
        let outlines = ["0,0 1,0 1,20 0,20", "3,0 4,9.5 4,11 3,20"].map(str::to_string).to_vec();
        assert_eq!(of(&parted), (outlines, vec![]));
    }
}
