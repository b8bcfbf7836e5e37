//! Counter-based random values: a value is a function of the seed and of the place and time of its draw.

use odonata_units::SplitMix64;

use super::ast::Func;
use super::functions::Value;

/// The draws of one execution of one place.
pub(super) struct Draws(SplitMix64);

impl Draws {
    pub(super) fn new(seed: u64, names: impl IntoIterator<Item = u64>) -> Draws {
        Draws(SplitMix64::named(seed, names))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// In `0 .. n`, for `n >= 1`; the bias is below `n / 2^64`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn gaussian(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// What `function` draws.
    pub(super) fn value(&mut self, function: Func, args: &[f64]) -> Value<f64> {
        const DOMAIN: &str = "function argument out of range";
        let arg = |index: usize| args.get(index).copied().unwrap_or(0.0);
        let (a, b) = (arg(0), arg(1));
        if args.iter().any(|arg| !arg.is_finite()) {
            return Err(DOMAIN);
        }
        match function {
            Func::RandomUniform => {
                if b <= a {
                    return Err("RANDOM_UNIFORM of an empty interval");
                }
                Ok((a + (1.0 - self.unit()) * (b - a)).floor().max(a).min(b))
            }
            Func::RandomGaussian => Ok((a + b * self.gaussian()).round()),
            Func::RandomPoisson if a < 0.0 => Err(DOMAIN),
            // Products of uniform values (Knuth, The Art of Computer Programming 2, 3.4.1), or the limit.
            Func::RandomPoisson if a < 60.0 => {
                let limit = (-a).exp();
                let mut product = self.unit();
                let mut count = 0;
                while product > limit {
                    product *= self.unit();
                    count += 1;
                }
                Ok(f64::from(count))
            }
            Func::RandomPoisson => Ok((a + a.sqrt() * self.gaussian()).round().max(0.0)),
            _ => {
                if a <= 0.0 || b <= 0.0 {
                    return Err(DOMAIN);
                }
                let unit = self.unit();
                if args.len() < 3 {
                    return Ok((b / unit.powf(1.0 / a)).round());
                }
                let high = arg(2);
                if high < b {
                    return Err(DOMAIN);
                }
                // Inverse of the distribution function of the bounded law.
                let share = (1.0 - unit) * (1.0 - (b / high).powf(a));
                Ok((b / (1.0 - share).powf(1.0 / a)).round().min(high))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_many_draws_are_those_of_the_laws() {
        let mean = |function, args: &[f64]| {
            let draw = |place| Draws::new(7, [place, 3]).value(function, args).unwrap();
            (0..20_000).map(draw).sum::<f64>() / 20_000.0
        };
        assert!((mean(Func::RandomUniform, &[10.0, 20.0]) - 14.5).abs() < 0.1);
        assert!((mean(Func::RandomGaussian, &[50.0, 5.0]) - 50.0).abs() < 0.2);
        assert!((mean(Func::RandomPoisson, &[4.0]) - 4.0).abs() < 0.1);
        assert!((mean(Func::RandomPoisson, &[400.0]) - 400.0).abs() < 1.0);
        // shape * scale / (shape - 1)
        assert!((mean(Func::RandomPareto, &[3.0, 100.0]) - 150.0).abs() < 4.0);
        assert!(mean(Func::RandomPareto, &[1.0, 10.0, 20.0]) < 20.0);
        assert!(Draws::new(1, [0]).value(Func::RandomUniform, &[3.0, 3.0]).is_err());
    }

    #[test]
    fn the_same_place_draws_the_same_value() {
        assert_eq!(Draws::new(7, [1, 2]).next(), Draws::new(7, [1, 2]).next());
        assert_ne!(Draws::new(7, [1, 2]).next(), Draws::new(7, [2, 1]).next());
        assert_ne!(Draws::new(8, [1, 2]).next(), Draws::new(7, [1, 2]).next());
    }
}
