//! What a run costs: time and memory of the processes that work on it.

use crate::memory;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What a run has cost so far, in all processes that have worked on it one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The largest resident size of any of them, bytes.
    pub(crate) peak_rss: u64,
}

/// Measures what a run costs, from the building of its machine on.
pub(crate) struct Meter {
    started: Instant,
    cpu_started: Option<Duration>,
    /// What the run had cost before this process went on with it.
    earlier: Spent,
}

impl Meter {
    /// Starts to measure a run that nobody has worked on.
    pub(crate) fn start() -> Meter {
        Meter {
            started: Instant::now(),
            cpu_started: cpu_time(),
            earlier: Spent::default(),
        }
    }

    /// Adds what the run had cost before this process went on with it.
    pub(crate) fn resume(&mut self, earlier: Spent) {
        self.earlier = earlier;
    }

    /// What the run had cost before this process went on with it.
    pub(crate) fn earlier(&self) -> Spent {
        self.earlier
    }

    /// What the run has cost so far.
    pub(crate) fn spent(&self) -> Spent {
        let wall = self.started.elapsed();
        let cpu = cpu_time().zip(self.cpu_started);
        Spent {
            wall: self.earlier.wall + wall,
            cpu: self.earlier.cpu + cpu.map_or(wall, |(now, then)| now.saturating_sub(then)),
            peak_rss: self.earlier.peak_rss.max(peak_rss()),
        }
    }
}

/// What a run has cost one of the processes that share it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) spent: Spent,
    /// Events handled.
    pub(crate) events: u64,
}

/// CPU time of this process so far.
fn cpu_time() -> Option<Duration> {
    cpu_time::ProcessTime::try_now().ok().map(|time| time.as_duration())
}

/// The largest resident size of this process so far, bytes; 0 where the system does not tell.
pub(crate) fn peak_rss() -> u64 {
    memory::peak_resident().unwrap_or(0)
}
