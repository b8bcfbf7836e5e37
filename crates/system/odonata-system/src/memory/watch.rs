//! Monitors the memory of this process between slices of events: a run that reaches its limit ends in order and keeps its
//! measurements.
//!
//! The default limit is nine tenths of the memory available at the start; the rest is for making the results. A process
//! with a large share of the memory also ends when almost none is left on the computer.

use super::available::system;
use super::{Available, Bound};
use odonata_units::Bytes;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Time between two looks at this process, each of about 10 us.
const LOOK: Duration = Duration::from_millis(2);

/// Time between two looks at the free memory of the computer, which cost more.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Bytes that may be copied without a check.
const LEAST_COPIED: u64 = 16 << 20;

/// Maximum memory reserved for making results.
const MOST_RESERVE: u64 = 2 << 30;

/// The memory of a process that has reached a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exceeded {
    /// Resident size, bytes.
    pub(crate) taken: u64,
    /// The explanation.
    pub(crate) text: String,
}

/// Watches the memory of this process.
pub(crate) struct Watch {
    /// Maximum resident size, and its source.
    limit: u64,
    bound: Bound,
    /// Maximum address space.
    space: Option<u64>,
    /// With less free memory than this on the computer or in its control group, a process that holds as much ends.
    reserve: u64,
    /// Times of the last looks at the process and at the computer.
    looked: Option<Instant>,
    looked_around: Instant,
}

impl Watch {
    /// Limits this process to the `available` memory.
    pub(crate) fn new(available: &Available) -> Watch {
        let tenth = available.bytes / 10;
        Watch {
            limit: match available.bound {
                Bound::Key => available.bytes,
                _ => available.bytes - tenth,
            },
            bound: available.bound,
            space: system::address_space().map(|space| space - space / 10),
            reserve: tenth.min(MOST_RESERVE),
            looked: None,
            looked_around: Instant::now(),
        }
    }

    /// Whether this process may take as much memory again.
    pub(crate) fn has_room_for_another(&self) -> bool {
        system::taken().is_none_or(|has| {
            2 * has.resident < self.limit && self.space.is_none_or(|space| has.space + has.resident < space)
        })
    }

    /// The limit that this process has reached, if any. `growth` gives the bytes that are soon copied to an allocation of
    /// twice the size; both exist for a moment.
    pub(crate) fn look(&mut self, growth: impl FnOnce() -> u64) -> Option<Exceeded> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        let has = system::taken()?;
        let taken = has.resident;
        let exceeded = |text: String| Some(Exceeded { taken, text });
        let copied = match growth() {
            // Negligible.
            few if few < LEAST_COPIED => 0,
            copied => copied,
        };
        let more = match copied {
            0 => String::new(),
            copied => format!(", and would need {} more at once", Bytes(copied).rounded()),
        };
        if taken + copied >= self.limit {
            let (limit, words) = (Bytes(self.limit).rounded(), self.bound.words());
            let share = if self.bound == Bound::Key {
                ""
            } else {
                "nine tenths of that "
            };
            let text = format!(
                "it takes {} of memory{more}: {limit}, {share}{words}",
                Bytes(taken).rounded()
            );
            return exceeded(text);
        }
        if self.space.is_some_and(|space| has.space + 2 * copied >= space) {
            let text = "nearly all that ulimit -v allows";
            return exceeded(format!(
                "it takes {} of address space{more}: {text}",
                Bytes(has.space).rounded()
            ));
        }
        if self.looked_around.elapsed() < LOOK_AROUND {
            return None;
        }
        self.looked_around = Instant::now();
        let left = [system::free(), system::left_in_groups()].into_iter().flatten().min()?;
        // Small processes end later.
        let left = left.saturating_sub(copied);
        let least = if taken >= 2 * self.reserve {
            self.reserve
        } else {
            self.reserve / 2
        };
        if left < least && taken >= self.reserve {
            let text = "is left on this computer or in its control group";
            return exceeded(format!(
                "it takes {} of memory, and only {} {text}",
                Bytes(taken).rounded(),
                Bytes(left).rounded()
            ));
        }
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_takes_more_than_it_may_is_told_so() {
        let of = |bytes: u64| Available {
            bytes,
            bound: Bound::Key,
            taken: 0,
        };
        let exceeded = Watch::new(&of(1 << 20))
            .look(|| 0)
            .expect("a test takes more than 1 MiB");
        assert!(exceeded.taken > 1 << 20);
        assert!(
            exceeded.text.ends_with(": 1.0 MiB, which run.memory_limit allows"),
            "{exceeded:?}"
        );
        assert_eq!(Watch::new(&of(1 << 50)).look(|| 1 << 49), None);
        // Copies count, too.
        let growing = Watch::new(&of(1 << 50))
            .look(|| 1 << 50)
            .expect("it does not fit twice");
        assert!(
            growing.text.contains("and would need 1.0 PiB more at once") && growing.taken < 1 << 50,
            "{growing:?}"
        );
    }
}
