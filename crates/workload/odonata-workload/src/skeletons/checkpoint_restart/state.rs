//! The state of a rank of a job that may fail: the words of its cursor and of its memory, by name.

use odonata_units::Time;

use crate::OpKind;

/// Reports of rank 0: number, and meaning of the value.
pub mod reports {
    /// The interval is known: the interval in seconds.
    pub const INTERVAL: u32 = 0;
    /// A checkpoint is complete: its duration, in seconds.
    pub const CHECKPOINT: u32 = 1;
    /// A failure: the lost work, in seconds.
    pub const FAILURE: u32 = 2;
    /// A failure during a checkpoint: the time spent on it, in seconds.
    pub const LOST_CHECKPOINT: u32 = 3;
    /// A restart is complete: its duration, in seconds.
    pub const RESTART: u32 = 4;
    /// A failure during a restart: the time spent on it, in seconds.
    pub const LOST_RESTART: u32 = 5;
    /// The job begins: its work in seconds.
    pub const BEGIN: u32 = 6;
    /// The solution: its work in seconds.
    pub const SOLUTION: u32 = 7;
    /// A restart has found a checkpoint lost with a storage server: the work saved only there, in seconds.
    pub const UNREADABLE: u32 = 8;
}

/// The stage of a rank, `words[0]`.
pub(super) mod stage {
    pub(in super::super) const BEGIN: u32 = 0;
    pub(in super::super) const PLAN: u32 = 1;
    pub(in super::super) const COMPUTE: u32 = 2;
    pub(in super::super) const WRITE: u32 = 3;
    pub(in super::super) const PLAN_RESTART: u32 = 4;
    pub(in super::super) const RESTART: u32 = 5;
    pub(in super::super) const READ: u32 = 6;
    pub(in super::super) const END: u32 = 7;
}

/// The decision of rank 0, the first word of its broadcast.
pub(super) mod verdict {
    pub(in super::super) const GO_ON: u64 = 0;
    pub(in super::super) const FAILS: u64 = 1;
    /// Part of the checkpoint is lost.
    pub(in super::super) const LOST: u64 = 2;
}

/// The memory words.
pub(super) mod slot {
    /// Work in the last complete checkpoint, ps.
    pub(in super::super) const SAFE: usize = 0;
    /// Completed work, ps.
    pub(in super::super) const DONE: usize = 1;
    /// The interval, ps; known to rank 0 only. 0: unknown.
    pub(in super::super) const INTERVAL: usize = 2;
    /// Time of the next failure, ps.
    pub(in super::super) const FAILURE: usize = 3;
    /// Start of the stage, ps.
    pub(in super::super) const SINCE: usize = 4;
    /// Failures so far.
    pub(in super::super) const FAILURES: usize = 5;
    /// The last complete checkpoint, from 1; 0: none.
    pub(in super::super) const COMPLETE: usize = 6;
    /// Pending reports of rank 0, at most two: for each its number, from 1, and the bits of its value.
    pub(in super::super) const REPORTS: usize = 7;
    /// The broadcast of rank 0: verdict, duration and next failure in two words each.
    pub(in super::super) const BROADCAST: usize = 11;
    /// Whether the checkpoint before the last complete one still exists: its file is not overwritten yet.
    pub(in super::super) const HAS_OLDER: usize = BROADCAST + super::PLAN_WORDS as usize;
    /// Work in that checkpoint, ps.
    pub(in super::super) const OLDER_SAFE: usize = HAS_OLDER + 1;
    /// Whether the rank, or a rank in its subtree, has lost data of the checkpoint.
    pub(in super::super) const LOST: usize = OLDER_SAFE + 1;
    pub(in super::super) const COUNT: usize = LOST + 1;
}

/// Broadcast words of a plan; a commit has only the first.
pub(super) const PLAN_WORDS: u32 = 5;
/// Bits of a word carried by a tag.
pub(super) const TAG_BITS: u32 = 31;
/// Steps to broadcast one word: a receive, and a send per child.
pub(super) const BROADCAST_STEPS: u32 = 40;

/// A rank's position in its program, and its inputs.
pub(super) struct View<'a> {
    pub(super) words: &'a mut [u32; 5],
    pub(super) memory: &'a mut [u64],
    pub(super) now: Option<Time>,
    pub(super) answer: u32,
    /// Whether data read last is lost.
    pub(super) lost: bool,
    pub(super) failure: Option<String>,
}

impl View<'_> {
    /// The clock, 0 without one.
    pub(super) fn now(&self) -> u64 {
        self.now.map_or(0, |now| now.0)
    }

    /// Time since the start of the stage.
    pub(super) fn since(&self) -> Time {
        Time(self.now().saturating_sub(self.memory[slot::SINCE]))
    }

    pub(super) fn go_to(&mut self, stage: u32) {
        self.words[0] = stage;
        self.words[1] = 0;
        self.memory[slot::SINCE] = self.now();
    }

    pub(super) fn planned_duration(&self) -> Time {
        Time(self.memory[slot::BROADCAST + 1] << TAG_BITS | self.memory[slot::BROADCAST + 2])
    }

    /// Stores the broadcast time of the next failure.
    pub(super) fn hear(&mut self) {
        self.memory[slot::FAILURE] = self.memory[slot::BROADCAST + 3] << TAG_BITS | self.memory[slot::BROADCAST + 4];
    }

    /// Queues a report of rank 0, after the pending one.
    pub(super) fn report(&mut self, report: u32, value: f64) {
        let first = self.memory[slot::REPORTS] == 0;
        let at = slot::REPORTS + if first { 0 } else { 2 };
        self.memory[at] = u64::from(report) + 1;
        self.memory[at + 1] = value.to_bits();
    }

    /// The first pending report of rank 0.
    pub(super) fn next_report(&mut self) -> Option<OpKind> {
        let [report, value, next, its_value] = self.memory[slot::REPORTS..slot::BROADCAST] else {
            return None;
        };
        self.memory[slot::REPORTS..slot::BROADCAST].copy_from_slice(&[next, its_value, 0, 0]);
        let report = (report as u32).checked_sub(1)?;
        let value = f64::from_bits(value);
        Some(OpKind::Report {
            report,
            index: 0,
            value,
        })
    }
}
