//! Transfer rates.

use crate::quantity::{Quantity, Units, shortest};
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

    /// How long `size` takes at this rate, rounded once to the nearest picosecond; at most [`Time::BEYOND`].
    pub fn time_for(self, size: Bytes) -> Time {
        Time::from_ps_f64(size.0 as f64 * self.ps_per_byte())
    }
}

impl Quantity for Bandwidth {
    const KIND: &'static str = "a bandwidth";
    const EXAMPLE: &'static str = "5.25 GiB/s";
    const PLAIN: &'static str = "GiB/s";
    const UNITS: &'static Units = &[
        ("B/s", 1.0),
        ("kB/s", 1e3),
        ("KiB/s", 1024.0),
        ("MB/s", 1e6),
        ("MiB/s", 1_048_576.0),
        ("GB/s", 1e9),
        ("GiB/s", 1_073_741_824.0),
        ("TB/s", 1e12),
        ("TiB/s", 1_099_511_627_776.0),
        ("Mbit/s", 1.25e5),
        ("Gbit/s", 1.25e8),
        ("Tbit/s", 1.25e11),
    ];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("GB", "a bandwidth is per second: did you mean \"GB/s\"?"),
        ("GiB", "a bandwidth is per second: did you mean \"GiB/s\"?"),
        ("MB", "a bandwidth is per second: did you mean \"MB/s\"?"),
        ("MiB", "a bandwidth is per second: did you mean \"MiB/s\"?"),
        ("KB/s", "write \"kB/s\" for 1,000 bytes or \"KiB/s\" for 1,024"),
        ("Gb/s", "write \"Gbit/s\" for bits or \"GB/s\" for bytes"),
        ("Mb/s", "write \"Mbit/s\" for bits or \"MB/s\" for bytes"),
        ("Gbps", "write \"Gbit/s\" for bits or \"GB/s\" for bytes"),
        ("GBps", "did you mean \"GB/s\"?"),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        if base < 1.0 {
            return Err("a bandwidth must be positive, 1 B/s at least".into());
        }
        if base > 1e18 {
            return Err("at most 10^18 bytes per second are possible".into());
        }
        Ok(Bandwidth(base))
    }

    fn text(self) -> String {
        // The list ends with the units of bits, which are parsed only.
        shortest(self.0, &Self::UNITS[..9], |number, scale| number * scale)
    }
}
