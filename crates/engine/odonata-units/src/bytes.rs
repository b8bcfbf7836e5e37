//! Sizes.

use std::ops::{Add, AddAssign};

use crate::quantity::{Quantity, Units};

/// Hint for a lower-case b.
const BITS: &str = "\"b\" means bits; a size is in bytes (\"B\"): 16 Kb are 2 KiB";

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest size that can be written in a scenario, 2^62 bytes.
    pub const MOST: Bytes = Bytes(1 << 62);

    /// `n` KiB (1,024 bytes each).
    pub const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }

    /// `n` MiB (1,048,576 bytes each).
    pub const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }

    /// The size with two to four digits, in the largest binary unit that it reaches.
    pub fn rounded(self) -> String {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= 1023.5 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        match value {
            value if unit > 0 && value < 9.95 => format!("{value:.1} {}", UNITS[unit]),
            value => format!("{value:.0} {}", UNITS[unit]),
        }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Quantity for Bytes {
    const KIND: &'static str = "a size";
    const EXAMPLE: &'static str = "8 KiB";
    const PLAIN: &'static str = "B";
    const UNITS: &'static Units = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KiB", 1024.0),
        ("MB", 1e6),
        ("MiB", 1_048_576.0),
        ("GB", 1e9),
        ("GiB", 1_073_741_824.0),
        ("TB", 1e12),
        ("TiB", 1_099_511_627_776.0),
        ("PB", 1e15),
        ("PiB", 1_125_899_906_842_624.0),
    ];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("KB", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("K", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("k", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("M", "write \"MB\" for 10^6 bytes or \"MiB\" for 2^20"),
        ("G", "write \"GB\" for 10^9 bytes or \"GiB\" for 2^30"),
        ("T", "write \"TB\" for 10^12 bytes or \"TiB\" for 2^40"),
        ("bytes", "bytes are written \"B\""),
        ("b", BITS),
        ("bit", BITS),
        ("bits", BITS),
        ("kb", BITS),
        ("Kb", BITS),
        ("kbit", BITS),
        ("Kbit", BITS),
        ("Kibit", BITS),
        ("Mb", BITS),
        ("Mbit", BITS),
        ("Gb", BITS),
        ("Gbit", BITS),
    ];

    fn build(base: f64, number: &str, unit: f64) -> Result<Self, String> {
        // Whole numbers are multiplied as such: a product of floats is exact only up to 2^53.
        if let Ok(number) = number.parse::<u64>() {
            let bytes = number.checked_mul(unit as u64).filter(|&bytes| bytes <= Bytes::MOST.0);
            return bytes.map(Bytes).ok_or_else(|| "at most 2^62 bytes are possible".into());
        }
        if base > Bytes::MOST.0 as f64 {
            return Err("at most 2^62 bytes are possible".into());
        }
        if (base - base.round()).abs() > 1e-9 * base {
            return Err("it must be a whole number of bytes".into());
        }
        Ok(Bytes(base.round() as u64))
    }

    fn text(self) -> String {
        Self::UNITS
            .iter()
            .rev()
            .map(|&(name, scale)| (name, scale as u64))
            .filter(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale))
            .map(|(name, scale)| format!("{} {name}", self.0 / scale))
            .min_by_key(String::len)
            .unwrap_or_else(|| format!("{} B", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn rounded_sizes_have_two_digits_or_more() {
        let sizes = [0, 1_023, 1_024, 10 << 20, (1 << 30) + (1 << 28), 1_023 << 30, u64::MAX];
        assert_eq!(
            sizes.map(|bytes| Bytes(bytes).rounded()),
            ["0 B", "1023 B", "1.0 KiB", "10 MiB", "1.2 GiB", "1023 GiB", "16384 PiB"]
        );
    }
}
