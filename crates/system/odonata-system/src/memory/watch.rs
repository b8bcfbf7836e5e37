//! Looks, while a run goes on, at how much memory this process has: a run that comes to its bound ends in order, with
//! what it has measured, before the system ends it without.
//!
//! The memory in use is looked at between slices of events, of which there are a hundred a second or so. By default the
//! bound is nine tenths of what was available at the start; the rest is for making the results. Others take memory too:
//! when next to nothing is left on the computer, whoever has a good part of it ends.

use super::available::system;
use super::{Available, Bound, size};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Between two looks at oneself: some 10 us each, and runs with little to do have many slices.
const LOOK: Duration = Duration::from_millis(2);

/// Between two looks at what the computer has free, which cost more.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Bytes that may be copied without a look at whether there is room.
const LEAST_COPIED: u64 = 16 << 20;

/// Most memory that is left for making results.
const MOST_RESERVE: u64 = 2 << 30;

/// Memory that a process has taken, and the bound that it has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exceeded {
    /// What this process takes, bytes.
    pub(crate) taken: u64,
    /// In words.
    pub(crate) text: String,
}

/// Watches the memory of this process.
pub(crate) struct Watch {
    /// Most that it may take, and why.
    limit: u64,
    bound: Bound,
    /// Most of its address space that it may take.
    space: Option<u64>,
    /// When less than this is free on the computer, or left in its control group, a process with as much again has to end.
    reserve: u64,
    /// When it was looked, and when around.
    looked: Option<Instant>,
    looked_around: Instant,
}

impl Watch {
    /// Watches that this process takes no more than what is `available`.
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

    /// Which bound this process has come to, if it has; `growth` says how many bytes are soon copied to a place of twice the
    /// size, which takes both for a moment.
    pub(crate) fn look(&mut self, growth: impl FnOnce() -> u64) -> Option<Exceeded> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        let has = system::taken()?;
        let taken = has.resident;
        let exceeded = |text: String| Some(Exceeded { taken, text });
        let copied = match growth() {
            // Too little to matter, and gone at once.
            few if few < LEAST_COPIED => 0,
            copied => copied,
        };
        let more = match copied {
            0 => String::new(),
            copied => format!(", and would need {} more at once", size(copied)),
        };
        if taken + copied >= self.limit {
            let (limit, words) = (size(self.limit), self.bound.words());
            let share = if self.bound == Bound::Key {
                ""
            } else {
                "nine tenths of that "
            };
            let text = format!("it takes {} of memory{more}: {limit}, {share}{words}", size(taken));
            return exceeded(text);
        }
        if self.space.is_some_and(|space| has.space + 2 * copied >= space) {
            let text = "nearly all that ulimit -v allows";
            return exceeded(format!("it takes {} of address space{more}: {text}", size(has.space)));
        }
        if self.looked_around.elapsed() < LOOK_AROUND {
            return None;
        }
        self.looked_around = Instant::now();
        let left = [system::free(), system::left_in_groups()].into_iter().flatten().min()?;
        // The smaller ones hold out longer.
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
                size(taken),
                size(left)
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
        // What there is for a moment counts, too.
        let growing = Watch::new(&of(1 << 50))
            .look(|| 1 << 50)
            .expect("it does not fit twice");
        assert!(
            growing.text.contains("and would need 1.0 PiB more at once") && growing.taken < 1 << 50,
            "{growing:?}"
        );
    }
}
