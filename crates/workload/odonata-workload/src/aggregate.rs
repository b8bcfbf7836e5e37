//! Aggregates of logged values.

use crate::named;

named! {
    /// A function of a list of values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Aggregate {
        /// All values as they are.
        Each = "each",
        /// The only value, which must not change; if it does, all values.
        The = "the",
        /// Each distinct value, with its count.
        Histogram = "histogram",
        /// Arithmetic mean.
        Mean = "mean",
        /// Harmonic mean.
        HarmonicMean = "harmonic mean",
        /// Geometric mean.
        GeometricMean = "geometric mean",
        /// Median: the mean of the middle two for an even number.
        Median = "median",
        /// Sample standard deviation, with n - 1 in the denominator; 0 for one value.
        StandardDeviation = "standard deviation",
        /// Median of the absolute deviations from the median.
        MedianAbsoluteDeviation = "median absolute deviation",
        /// Square of the standard deviation.
        Variance = "variance",
        /// Sum.
        Sum = "sum",
        /// Least value.
        Minimum = "minimum",
        /// Greatest value.
        Maximum = "maximum",
        /// Last value.
        Final = "final",
        /// The value below which a percentage of all values lies, with linear interpolation.
        Percentile = "percentile",
    }
}

impl Aggregate {
    /// The aggregate of `values` as (value, count): one pair, or several for [`Aggregate::Each`],
    /// [`Aggregate::Histogram`] and a changing [`Aggregate::The`]. Empty without values. `percent` is the percentile, 0
    /// to 100.
    pub fn of(self, values: &[f64], percent: f64) -> Vec<(f64, u64)> {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
            return Vec::new();
        };
        let count = values.len() as f64;
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
        let variance = || {
            let center = mean(&mut values.iter().copied());
            if values.len() < 2 {
                0.0
            } else {
                values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / (count - 1.0)
            }
        };
        let one = match self {
            Aggregate::Each => return values.iter().map(|&value| (value, 1)).collect(),
            Aggregate::The if values.iter().any(|&value| value != first) => {
                return values.iter().map(|&value| (value, 1)).collect();
            }
            Aggregate::Histogram => {
                let mut bins: Vec<(f64, u64)> = Vec::new();
                for value in sorted(values) {
                    match bins.last_mut() {
                        Some((same, times)) if *same == value => *times += 1,
                        _ => bins.push((value, 1)),
                    }
                }
                return bins;
            }
            Aggregate::The => first,
            Aggregate::Mean => mean(&mut values.iter().copied()),
            Aggregate::HarmonicMean => 1.0 / mean(&mut values.iter().map(|value| 1.0 / value)),
            Aggregate::GeometricMean => mean(&mut values.iter().map(|value| value.ln())).exp(),
            Aggregate::Median => quantile(&sorted(values), 0.5),
            Aggregate::StandardDeviation => variance().sqrt(),
            Aggregate::MedianAbsoluteDeviation => {
                let center = quantile(&sorted(values), 0.5);
                let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
                quantile(&sorted(&distances), 0.5)
            }
            Aggregate::Variance => variance(),
            Aggregate::Sum => values.iter().sum(),
            Aggregate::Minimum => values.iter().copied().fold(f64::INFINITY, f64::min),
            Aggregate::Maximum => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Aggregate::Final => last,
            Aggregate::Percentile => quantile(&sorted(values), percent / 100.0),
        };
        vec![(one, 1)]
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Linear interpolation at `share * (n - 1)` (Hyndman and Fan, The American Statistician 50(4), 1996, definition 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_are_those_of_the_formulas() {
        let values = [4.0, 1.0, 1.0, 16.0];
        let one = |aggregate: Aggregate| match aggregate.of(&values, 75.0)[..] {
            [(value, 1)] => value,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(one(Aggregate::Mean), 5.5);
        assert_eq!(one(Aggregate::Median), 2.5);
        assert!((one(Aggregate::GeometricMean) - 64f64.powf(0.25)).abs() < 1e-12);
        assert!((one(Aggregate::HarmonicMean) - 4.0 / (0.25 + 1.0 + 1.0 + 0.0625)).abs() < 1e-12);
        // (1.5^2 + 2 * 4.5^2 + 10.5^2) / 3
        assert_eq!(one(Aggregate::Variance), 51.0);
        assert_eq!(one(Aggregate::StandardDeviation), 51f64.sqrt());
        assert_eq!(one(Aggregate::MedianAbsoluteDeviation), 1.5);
        assert_eq!(one(Aggregate::Final), 16.0);
        assert_eq!(one(Aggregate::Sum), 22.0);
        assert_eq!((one(Aggregate::Minimum), one(Aggregate::Maximum)), (1.0, 16.0));
        assert_eq!(one(Aggregate::Percentile), 7.0);
        assert_eq!(Aggregate::Histogram.of(&values, 0.0), [(1.0, 2), (4.0, 1), (16.0, 1)]);
        assert_eq!(Aggregate::The.of(&[3.0, 3.0], 0.0), [(3.0, 1)]);
        assert_eq!(Aggregate::The.of(&[3.0, 4.0], 0.0).len(), 2);
        assert!(Aggregate::Mean.of(&[], 0.0).is_empty());
    }
}
