//! Stage-in: before a job starts, its ranks have its input files brought from the lower tiers into its buffers.
//!
//! ```text
//!   rank: its share of each file -> `Stage` to every server that has a part of it -> answers when that is on devices
//!   all files of a rank there: RanksStaged, up a binomial tree -> rank 0 -> Staged, down the tree -> the programs start
//! ```
//!
//! The messages are control messages on the job's account, the data go from tier to tier as a read from the lower tier does. Of a
//! shared file of `b` bytes, rank `r` of `n` asks for `b r / n` to `b (r + 1) / n`. With `stage_wait = false` ranks start at once and
//! read what has come, or fetch it themselves. What goes down at the job's end (`stage_out`) is reported as by `drain = "job-end"`
//! ([`Io::tell_servers`](super::Io::tell_servers)).

use crate::context::Uses;
use odonata_engine::{SparseStore, Store, Time};
use odonata_storage::StageMetrics;

use crate::io::facts::IoObserver;

/// A file that is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageFile {
    /// Its number; with `per_rank`, that of rank 0, behind which those of the others follow.
    pub file: u64,
    /// First byte.
    pub offset: u64,
    /// How many of it.
    pub bytes: u64,
    /// Whether every rank has a file of its own.
    pub per_rank: bool,
}

impl StageFile {
    /// What rank `rank` of `ranks` asks for: file, first byte, length.
    pub(super) fn share(&self, rank: u32, ranks: u32) -> (u64, u64, u64) {
        if self.per_rank {
            return (self.file + u64::from(rank), self.offset, self.bytes);
        }
        let before = |rank: u32| (u128::from(self.bytes) * u128::from(rank) / u128::from(ranks.max(1))) as u64;
        (
            self.file,
            self.offset.saturating_add(before(rank)),
            before(rank + 1) - before(rank),
        )
    }
}

/// When the stage-in of a job began, and when the last rank had its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageTimes {
    /// When the first rank asked.
    pub from: Option<Time>,
    /// When the last answer was there.
    pub until: Option<Time>,
}

impl StageTimes {
    /// Adds what other ranks of the job did.
    pub fn absorb(&mut self, other: &StageTimes) {
        self.from = self.from.into_iter().chain(other.from).min();
        self.until = self.until.max(other.until);
    }
}

/// What a job staged: when, and what servers did for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageMeasured {
    /// When the stage-in was.
    pub times: StageTimes,
    /// Bytes.
    pub metrics: StageMetrics,
}

/// A rank that stages in.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RankStage {
    /// Files that have not come.
    open: u32,
    /// Reports that it waits for before it passes them on, its own among them.
    unreported: u32,
}

impl RankStage {
    pub(crate) fn new(unreported: u32) -> Self {
        RankStage { open: 0, unreported }
    }
}

/// Whether a rank, with all ranks below it or alone, has its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankStaged {
    Partly,
    All,
}

impl RankStaged {
    fn of(missing: u32) -> RankStaged {
        if missing > 0 {
            RankStaged::Partly
        } else {
            RankStaged::All
        }
    }
}

/// The stage-ins of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Stages {
    /// Per rank; empty if no job stages in.
    pub(crate) ranks: SparseStore<RankStage>,
    /// Per job.
    times: Store<StageTimes>,
}
odonata_engine::journalled!(Stages { ranks, times });

impl Stages {
    pub(crate) fn new(ranks: SparseStore<RankStage>, jobs: usize) -> Self {
        Stages {
            times: Store::filled(if ranks.is_empty() { 0 } else { jobs }, StageTimes::default()),
            ranks,
        }
    }

    /// When the stage-in of `job` was, as far as this part knows.
    pub(crate) fn times(&self, job: u16) -> StageTimes {
        match self.times.is_empty() {
            true => StageTimes::default(),
            false => *self.times.get(u32::from(job)),
        }
    }

    fn note<M: Uses>(&mut self, job: u16, times: StageTimes) {
        self.times.edit::<M>(u32::from(job)).absorb(&times);
    }

    /// (rank, job) asks for so many files. It has one more open, so that the stage-in does not end before all are asked for.
    pub(super) fn begin<M: Uses>(&mut self, now: Time, (rank, job): (u32, u16), files: u32) {
        let times = StageTimes {
            from: Some(now),
            until: None,
        };
        self.note::<M>(job, times);
        self.ranks.edit::<M>(rank).open = files + 1;
    }

    /// A file of (rank, job) is in its buffers. `waits`: the observer, if the program waits for it.
    pub(super) fn file_is_staged<M: Uses>(
        &mut self,
        now: Time,
        (rank, job): (u32, u16),
        waits: Option<&mut impl IoObserver>,
    ) -> RankStaged {
        if let Some(observer) = waits {
            observer.files_are_staged::<M>(rank);
        }
        let cell = self.ranks.edit::<M>(rank);
        cell.open -= 1;
        let staged = RankStaged::of(cell.open);
        if staged == RankStaged::All {
            let times = StageTimes {
                from: None,
                until: Some(now),
            };
            self.note::<M>(job, times);
        }
        staged
    }

    /// `rank`, or all ranks of a subtree below it, have their files.
    pub(super) fn subtree_is_staged<M: Uses>(
        &mut self,
        now: Time,
        rank: u32,
        observer: &mut impl IoObserver,
    ) -> RankStaged {
        observer.files_are_staged::<M>(rank);
        let cell = self.ranks.edit::<M>(rank);
        cell.unreported -= 1;
        let staged = RankStaged::of(cell.unreported);
        if staged == RankStaged::All {
            observer.rank_is_staged::<M>(rank, now);
        }
        staged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_file_are_all_of_it() {
        let shared = StageFile {
            file: 3,
            offset: 10,
            bytes: 1_001,
            per_rank: false,
        };
        let mut next = 10;
        for rank in 0..7 {
            let (file, offset, bytes) = shared.share(rank, 7);
            assert_eq!((file, offset), (3, next));
            next += bytes;
        }
        assert_eq!(next, 1_011);
        let own = StageFile {
            per_rank: true,
            ..shared
        };
        assert_eq!(own.share(5, 7), (8, 10, 1_001));
    }
}
