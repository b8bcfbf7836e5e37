//! The cost of a run: time and memory of its processes.

use crate::memory;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The cost of a run so far, over all processes that have worked on it in sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The largest resident size of any of them, bytes.
    pub(crate) peak_rss: u64,
}

/// Measures the cost of a run, from the build of its machine on.
pub(crate) struct Meter {
    started: Instant,
    cpu_started: Duration,
    /// The cost before this process resumed the run.
    earlier: Spent,
}

impl Meter {
    /// Starts to measure a new run.
    pub(crate) fn start() -> Meter {
        Meter {
            started: Instant::now(),
            cpu_started: cpu_time(),
            earlier: Spent::default(),
        }
    }

    /// Adds the cost before this process resumed the run.
    pub(crate) fn resume(&mut self, earlier: Spent) {
        self.earlier = earlier;
    }

    /// The cost before this process resumed the run.
    pub(crate) fn earlier(&self) -> Spent {
        self.earlier
    }

    /// The cost so far.
    pub(crate) fn spent(&self) -> Spent {
        let wall = self.started.elapsed();
        Spent {
            wall: self.earlier.wall + wall,
            cpu: self.earlier.cpu + cpu_time().saturating_sub(self.cpu_started),
            peak_rss: self.earlier.peak_rss.max(peak_rss()),
        }
    }
}

/// The cost of a run in one of the processes that share it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) spent: Spent,
    /// Events handled.
    pub(crate) events: u64,
}

/// CPU time of this process so far; zero if unknown.
pub(crate) fn cpu_time() -> Duration {
    cpu_time::ProcessTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

/// The largest resident size of this process so far, bytes; 0 if unknown.
pub(crate) fn peak_rss() -> u64 {
    memory::peak_resident().unwrap_or(0)
}
