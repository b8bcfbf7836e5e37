//! The memory of a run: computed before anything large is built ([`Need`]), compared with the memory that this process
//! may use ([`Available`]), and monitored during the run ([`Watch`]).
//!
//! Results do not depend on it, except that a run may end early as out of memory. `nic.message_queue` bounds waiting
//! messages independently of the computer.

mod available;
mod need;
mod of_scenario;
mod watch;

pub(crate) use available::system::peak_resident;
pub(crate) use available::{Available, Bound, available};
pub use need::{MemoryItem, MemoryReport};
pub(crate) use need::{Need, Spread};
pub(crate) use watch::{Exceeded, Watch};

/// A size with two to four digits, in the largest binary unit that it reaches.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value {
        value if unit > 0 && value < 9.95 => format!("{value:.1} {}", UNITS[unit]),
        value => format!("{value:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_two_digits_or_more() {
        let texts = [0, 1_023, 1_024, 10 << 20, (1 << 30) + (1 << 28), 1_023 << 30, u64::MAX].map(size);
        assert_eq!(
            texts,
            ["0 B", "1023 B", "1.0 KiB", "10 MiB", "1.2 GiB", "1023 GiB", "16384 PiB"]
        );
    }
}
