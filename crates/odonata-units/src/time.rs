//! Simulated time.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::quantity::{Quantity, Units};

/// A point in simulated time, or a span of it, in picoseconds.
///
/// One type serves both because the simulation starts at zero; subtraction is checked in debug
/// builds, so that a negative span cannot arise in silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// Later than anything that can happen.
    pub const NEVER: Time = Time(u64::MAX);
    /// The longest time that can be written in a scenario, 2^62 ps (53 days): sums of two stay far
    /// from [`Time::NEVER`].
    pub const LONGEST: Time = Time(1 << 62);

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

    /// This time in seconds, for output.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// This time in nanoseconds, for output.
    pub fn nanoseconds(self) -> f64 {
        self.0 as f64 / 1e3
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
        // Saturating, so that no sum of absurd times wraps around to an early one; runs end at `LONGEST`.
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

/// `value / scale` in decimal, exactly, for scales that are powers of ten.
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
            return Err("the clock ticks in steps of 1 ps: this would become 0".into());
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
