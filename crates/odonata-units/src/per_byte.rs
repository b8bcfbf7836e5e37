//! Costs that grow with the size.

use crate::{Bytes, Time};

/// A time per byte in picoseconds, such as that of a memory copy; zero or positive, and finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PerByte(pub f64);

impl PerByte {
    /// No time.
    pub const ZERO: PerByte = PerByte(0.0);

    /// How long `size` takes, rounded once to the nearest picosecond.
    pub fn time_for(self, size: Bytes) -> Time {
        Time((size.0 as f64 * self.0 + 0.5) as u64)
    }
}
