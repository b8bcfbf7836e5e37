//! What a run takes of the computer's memory: reckoned before anything large is built ([`Need`]), held against what this
//! process may take ([`Available`]), and watched while the run goes on ([`Watch`]).
//!
//! Results do not depend on it, but for whether a run comes to its end: the one thing about a run that is a matter of the
//! computer. What may wait in a run is bounded by the scenario as well (`nic.message_queue`), and that bound is hit at the
//! same event everywhere.

mod available;
mod need;
mod watch;

pub(crate) use available::system::peak_resident;
pub(crate) use available::{Available, Bound, available};
pub use need::{MemoryItem, MemoryReport};
pub(crate) use need::{Need, Spread};
pub(crate) use watch::{Exceeded, Watch};

/// A size for people, in the largest binary unit of which there is one at least, to two or three digits.
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
        let told = [0, 1_023, 1_024, 10 << 20, (1 << 30) + (1 << 28), 1_023 << 30, u64::MAX].map(size);
        assert_eq!(
            told,
            ["0 B", "1023 B", "1.0 KiB", "10 MiB", "1.2 GiB", "1023 GiB", "16384 PiB"]
        );
    }
}
