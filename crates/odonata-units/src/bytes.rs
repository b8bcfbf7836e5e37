//! Sizes.

use std::ops::{Add, AddAssign};

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
