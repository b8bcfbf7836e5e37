//! Wall-clock time, as opposed to simulated time.

use crate::quantity::{Quantity, Units, shortest};
use std::time::Duration;

/// A span of wall-clock time in seconds, such as the interval between snapshots; zero or positive, and finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct WallTime(pub f64);

impl WallTime {
    /// As a [`Duration`].
    pub fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl Quantity for WallTime {
    const KIND: &'static str = "a wall time";
    const EXAMPLE: &'static str = "10 min";
    const PLAIN: &'static str = "s";
    const UNITS: &'static Units = &[("s", 1.0), ("min", 60.0), ("h", 3_600.0)];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("m", "minutes are written \"min\""),
        ("minutes", "minutes are written \"min\""),
        ("sec", "seconds are written \"s\""),
        ("seconds", "seconds are written \"s\""),
        ("hours", "hours are written \"h\""),
        ("d", "write days in hours: \"24 h\""),
        (
            "ms",
            "this is wall time, not simulated time: write \"s\", \"min\" or \"h\"",
        ),
        (
            "us",
            "this is wall time, not simulated time: write \"s\", \"min\" or \"h\"",
        ),
        (
            "ns",
            "this is wall time, not simulated time: write \"s\", \"min\" or \"h\"",
        ),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        if base > 3.2e7 {
            return Err("at most a year is possible".into());
        }
        Ok(WallTime(base))
    }

    fn text(self) -> String {
        let units = Self::UNITS.iter().rev();
        let whole = units.map(|&(name, scale)| ((self.0 / scale).trunc(), scale, name));
        whole
            .filter(|&(number, scale, _)| number >= 1.0 && number * scale == self.0)
            .map(|(number, _, name)| format!("{number} {name}"))
            .next()
            .unwrap_or_else(|| shortest(self.0, Self::UNITS, |number, scale| number * scale))
    }
}
