//! Costs proportional to a size.

use crate::quantity::{Quantity, Units, shortest};
use crate::{Bytes, Time};

/// A time per byte in picoseconds, such as the cost of a memory copy; zero or positive, and finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PerByte(pub f64);

impl PerByte {
    /// No time.
    pub const ZERO: PerByte = PerByte(0.0);

    /// How long `size` takes, rounded once to the nearest picosecond; at most [`Time::BEYOND`].
    pub fn time_for(self, size: Bytes) -> Time {
        Time::from_ps_f64(size.0 as f64 * self.0)
    }
}

impl Quantity for PerByte {
    const KIND: &'static str = "a time per byte";
    const EXAMPLE: &'static str = "0.55 ns/B";
    const PLAIN: &'static str = "ns/B";
    const UNITS: &'static Units = &[("ps/B", 1.0), ("ns/B", 1e3), ("us/B", 1e6)];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("ns", "a time per byte: did you mean \"ns/B\"?"),
        ("ps", "a time per byte: did you mean \"ps/B\"?"),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        if base > 1e9 {
            return Err("at most 1 ms per byte is possible".into());
        }
        Ok(PerByte(base))
    }

    fn text(self) -> String {
        shortest(self.0, Self::UNITS, |number, scale| number * scale)
    }
}
