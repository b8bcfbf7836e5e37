//! Transfer rates.

use crate::{Bytes, Time};

/// A transfer rate in bytes per second; strictly positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bandwidth(pub f64);

impl Bandwidth {
    /// `n` GiB/s (2^30 bytes per second each).
    pub fn gib_per_s(n: f64) -> Self {
        Bandwidth(n * (1u64 << 30) as f64)
    }

    /// How long one byte takes, in picoseconds (not rounded).
    pub fn ps_per_byte(self) -> f64 {
        1e12 / self.0
    }

    /// How long `size` takes at this rate, rounded once to the nearest picosecond.
    pub fn time_for(self, size: Bytes) -> Time {
        Time((size.0 as f64 * self.ps_per_byte() + 0.5) as u64)
    }
}
