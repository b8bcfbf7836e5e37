//! Run state: a view of all parts of the hosts between events, and the outcome of the run.

use crate::Hosts;
use crate::diagnosis::PartState;
use crate::diagnosis::outcome::{Blocked, BlockedWrite, FailureKind, HostOutcome};
use crate::job::status::JobStatuses;
use odonata_engine::Time;
use odonata_workload::Op;

const MOST_DESCRIBED: usize = 10;

/// The parts of the hosts, in the order of their logical processes.
#[derive(Clone, Debug)]
pub struct RunState<'a>(Vec<&'a Hosts>);

impl<'a> RunState<'a> {
    /// A view of all parts.
    ///
    /// # Panics
    /// `parts` is empty.
    pub fn new(parts: Vec<&'a Hosts>) -> Self {
        assert!(!parts.is_empty(), "the hosts have at least one part");
        RunState(parts)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = PartState<'a>> {
        self.0.iter().map(|&part| PartState(part))
    }

    /// Any part, for state that all parts share.
    pub fn any(&self) -> &'a Hosts {
        self.0[0]
    }

    /// The part of rank `rank`, numbered over all jobs.
    pub(crate) fn part_of(&self, rank: u32) -> PartState<'a> {
        let lp = self.any().layout.place(rank).lp;
        let part = self.0.partition_point(|part| part.layout.processes.end <= lp);
        PartState(self.0[part])
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.any().layout.rank_count()
    }

    /// The status of all jobs.
    pub fn job_statuses(&self) -> JobStatuses {
        let parts = self.0.iter().map(|part| part.job_statuses());
        parts.reduce(JobStatuses::join).unwrap_or_default()
    }

    /// The ranks that have been blocked longest, ten at most; a rank with several streams by its first operation.
    pub fn blocked(&self) -> Vec<Blocked> {
        let mut blocked: Vec<(Time, u32, Op)> = self.parts().flat_map(|part| part.all_blocked()).collect();
        blocked.sort_unstable_by_key(|&(since, rank, _)| (since, rank));
        blocked.truncate(MOST_DESCRIBED);
        let any = PartState(self.any());
        let described = |(since, rank, op): (Time, u32, Op)| any.describe_blocked(rank, &op, since);
        blocked.into_iter().map(described).collect()
    }

    /// The outcome of the run. Valid when no event is left, or when the hosts have halted it.
    pub fn outcome(&self) -> HostOutcome {
        // The part of the failed rank describes it: only that part knows the position in the rank's program.
        let failures = self.parts().filter_map(|part| Some((part.0.first_failure()?, part)));
        let failure = failures.min_by_key(|((at, failure), _)| (*at, failure.place()));
        let leftover = || {
            let leftovers = self
                .parts()
                .filter_map(|part| Some((part.collective_leftover()?, part)));
            leftovers.min_by_key(|(failure, _)| failure.place())
        };
        let first = failure.map(|((_, failure), part)| (failure, part)).or_else(leftover);
        if let Some((failure, part)) = first {
            let (kind, text) = part.describe_failure(&failure);
            return HostOutcome::Failed { kind, text };
        }
        let unfinished = self.job_statuses().unfinished();
        let mut blocked_writes: Vec<BlockedWrite> = self.parts().flat_map(|part| part.blocked_writes()).collect();
        blocked_writes.sort_by_key(|write| write.server);
        match (blocked_writes.is_empty(), unfinished) {
            (false, _) => HostOutcome::StorageFull {
                blocked_writes,
                blocked: self.blocked(),
                unfinished,
            },
            (true, 0) => match self.describe_leftovers() {
                None => HostOutcome::Completed,
                Some(text) => HostOutcome::Failed {
                    kind: FailureKind::LeftBehind,
                    text,
                },
            },
            (true, _) => HostOutcome::Stalled {
                blocked: self.blocked(),
                unfinished,
                unmatched: self.parts().map(|part| part.unmatched()).sum(),
                cycle: self.cycle_of_waits(),
            },
        }
    }

    /// Checks that nothing is left after a completed run: no receive, request, message or file transfer.
    ///
    /// # Errors
    /// Describes the first leftover and its place.
    pub fn audit(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|part| part.audit())
    }
}
