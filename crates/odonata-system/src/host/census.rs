//! All parts of the hosts seen together, between events: how the run ended.

use super::Hosts;
use super::outcome::{Blocked, HostOutcome, StuckWrite};
use super::standing::Standing;
use odonata_engine::Time;
use odonata_workload::Op;

/// The most blocked ranks that are described.
const MOST_DESCRIBED: usize = 10;

/// The parts of the hosts, in the order of their logical processes.
#[derive(Clone, Debug)]
pub struct Census<'a>(Vec<&'a Hosts>);

impl<'a> Census<'a> {
    /// All parts there are, at least one.
    ///
    /// # Panics
    /// There is none.
    pub fn new(parts: Vec<&'a Hosts>) -> Self {
        assert!(!parts.is_empty(), "the hosts have at least one part");
        Census(parts)
    }

    /// The parts.
    pub(crate) fn parts(&self) -> &[&'a Hosts] {
        &self.0
    }

    /// What is the same in all parts.
    pub fn any(&self) -> &'a Hosts {
        self.0[0]
    }

    /// The part of rank `rank`, counted over all jobs.
    pub(crate) fn part_of(&self, rank: u32) -> &'a Hosts {
        let lp = self.any().places[rank as usize].lp;
        let part = self.0.partition_point(|part| part.processes.end <= lp);
        self.0[part]
    }

    /// Ranks of all jobs.
    pub(crate) fn ranks(&self) -> u32 {
        self.any().places.len() as u32
    }

    /// How the run stands.
    pub fn standing(&self) -> Standing {
        let parts = self.0.iter().map(|part| part.standing());
        parts.reduce(Standing::join).unwrap_or_default()
    }

    /// The ranks that are blocked longest, ten at most; a rank with several streams by its first
    /// operation.
    pub fn blocked(&self) -> Vec<Blocked> {
        let mut blocked: Vec<(Time, u32, Op)> = self.0.iter().flat_map(|part| part.all_blocked()).collect();
        blocked.sort_unstable_by_key(|&(since, rank, _)| (since, rank));
        blocked.truncate(MOST_DESCRIBED);
        let described = |(since, rank, op): (Time, u32, Op)| self.any().describe_blocked(rank, &op, since);
        blocked.into_iter().map(described).collect()
    }

    /// How the run ended; to be asked when no event is left, or the hosts have halted it.
    pub fn outcome(&self) -> HostOutcome {
        let any = self.any();
        let failures = self.0.iter().filter_map(|part| part.first_failure());
        let failure = failures.min_by_key(|(at, failure)| (*at, failure.rank()));
        let leftover = || {
            let leftovers = self.0.iter().filter_map(|part| part.leftover());
            leftovers.min_by_key(|failure| failure.rank())
        };
        if let Some(failure) = failure.map(|(_, failure)| failure).or_else(leftover) {
            let (kind, text) = any.explain(&failure);
            return HostOutcome::Failed { kind, text };
        }
        let unmatched = self.0.iter().map(|part| part.unmatched()).sum();
        let unfinished = self.standing().unfinished();
        let mut stuck: Vec<StuckWrite> = self.0.iter().flat_map(|part| part.stuck_writes()).collect();
        stuck.sort_by_key(|write| write.server);
        match (stuck.is_empty(), unfinished) {
            (false, _) => HostOutcome::StorageFull {
                stuck,
                blocked: self.blocked(),
                unfinished,
            },
            (true, 0) => HostOutcome::Completed { unmatched },
            (true, _) => HostOutcome::Stalled {
                blocked: self.blocked(),
                unfinished,
                unmatched,
                cycle: self.cycle_of_waits(),
            },
        }
    }

    /// Checks that nothing is left after a completed run but messages that nobody asked for: no receive, request,
    /// message in transit or file transfer.
    ///
    /// # Errors
    /// Says what is left, and where.
    pub fn audit(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|part| part.audit())
    }
}
