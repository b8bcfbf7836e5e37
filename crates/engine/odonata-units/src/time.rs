//! Simulated time.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::quantity::{Quantity, Units};

/// A point in simulated time, or a span of it, in picoseconds.
///
/// One type serves both because the simulation starts at zero. Debug builds check subtractions for negative results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);
    /// The end of simulated time, 2^62 ps (53 days). It bounds the times of a scenario, and every run ends by then.
    pub const LONGEST: Time = Time(1 << 62);
    /// A span too long to be exact, 2^63 ps: an activity of this length outlasts [`LONGEST`](Self::LONGEST). The sum of
    /// both does not overflow.
    pub const BEYOND: Time = Time(1 << 63);

    /// `n` picoseconds.
    pub const fn from_ps(n: u64) -> Self {
        Time(n)
    }

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Self {
        Time(n * 1_000)
    }

    /// `s` seconds, rounded to the nearest picosecond.
    pub fn from_seconds(s: f64) -> Self {
        Time((s * 1e12).round() as u64)
    }

    /// `ps` picoseconds, rounded to the nearest; at most [`BEYOND`](Self::BEYOND). Negative numbers and NaN count as
    /// zero.
    #[inline]
    pub fn from_ps_f64(ps: f64) -> Self {
        Time(((ps + 0.5) as u64).min(Time::BEYOND.0))
    }

    /// `n` times this time, at most [`BEYOND`](Self::BEYOND).
    #[inline]
    pub fn times(self, n: u64) -> Self {
        Time(self.0.saturating_mul(n).min(Time::BEYOND.0))
    }

    /// This time in seconds, for output.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// This time in nanoseconds, for output.
    pub fn nanoseconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// `self + span`, for sums that cannot overflow: a handler's time, which is at most [`LONGEST`](Self::LONGEST), and
    /// delays of a scenario. Debug builds check.
    #[inline(always)]
    pub const fn plus(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }

    /// `self - other`, or zero where `other` is later.
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, other: Time) -> Time {
        // Saturating: a sum of huge times does not wrap around to an early time. Runs end at `LONGEST`.
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl SubAssign for Time {
    #[inline]
    fn sub_assign(&mut self, other: Time) {
        self.0 -= other.0;
    }
}

/// The exact decimal text of `value / scale`; `scale` is a power of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').into()
}

impl Quantity for Time {
    const KIND: &'static str = "a time";
    const EXAMPLE: &'static str = "30 ns";
    const PLAIN: &'static str = "ns";
    const UNITS: &'static Units = &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("sec", "seconds are written \"s\""),
        ("seconds", "seconds are written \"s\""),
        ("min", "write minutes in seconds: \"60 s\""),
        ("m", "write \"ms\" for milliseconds, or minutes in seconds"),
        ("h", "write hours in seconds: \"3600 s\""),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        let rounded = base.round();
        if rounded > Time::LONGEST.0 as f64 {
            return Err("at most 4611686 s (53 days) can be simulated".into());
        }
        if base > 0.0 && rounded == 0.0 {
            return Err("times are multiples of 1 ps: this rounds to 0".into());
        }
        Ok(Time(rounded as u64))
    }

    fn text(self) -> String {
        let (name, scale) = Self::UNITS
            .iter()
            .rev()
            .map(|&(name, scale)| (name, scale as u64))
            .find(|(_, scale)| self.0 >= *scale)
            .unwrap_or(("s", 1));
        format!("{} {name}", decimal(self.0, scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bandwidth, Bytes, PerByte};

    /// A span that saturates ends after every run, wherever it begins.
    #[test]
    fn products_that_do_not_fit_are_beyond_every_run_and_never_wrap_around() {
        let petabyte = Bytes(1_000_000_000_000_000);
        for span in [
            PerByte(1e9).time_for(petabyte),
            Bandwidth(1.0).time_for(Bytes::MOST),
            Time::LONGEST.times(3),
            Time(u64::MAX).times(u64::MAX),
            Time::from_ps_f64(f64::INFINITY),
            Time::from_ps_f64(1e300),
        ] {
            assert_eq!(span, Time::BEYOND);
            assert!(Time::ZERO + span > Time::LONGEST && Time::LONGEST + span < Time::NEVER);
            assert_eq!(Time::LONGEST + span - Time::LONGEST, span);
        }
        // Products that fit are exact.
        assert_eq!(Time(7).times(6), Time(42));
        assert_eq!(Time::from_ps_f64(2.5), Time(3));
        assert_eq!(Time::from_ps_f64(-1.0), Time::ZERO);
        assert_eq!(Time::from_ps_f64(f64::NAN), Time::ZERO);
    }
}
