//! Deadlock diagnosis: a cycle of ranks that wait for each other.
//!
//! The wait-for graph has a node per rank, and an edge from a rank to each rank that could end its wait:
//!
//! | a rank waits in | edges to |
//! |---|---|
//! | a receive or probe from one rank | that rank, which has not sent |
//! | a receive or probe from any source | each member of the communicator |
//! | a send by rendezvous | its receiver, which has posted no matching receive |
//! | a collective | the peers of its step, by the rules above |
//! | a wait for requests | the edges of the operations of its requests |
//!
//! The graph is built when no event is left, so nothing can remove an edge between blocked ranks. If a rank waits for
//! any of several requests, it has the edges of all of them.

use crate::diagnosis::PartState;
use crate::diagnosis::outcome::Blocked;
use crate::diagnosis::run_state::RunState;
use crate::mpi::sequence::communicator;
use crate::rank::activity::Phase;
use odonata_engine::NIL;
use odonata_workload::{Comm, Source};

/// The target of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WaitTarget {
    /// A rank, numbered over all jobs.
    Rank(u32),
    /// Any member of a communicator.
    Any(Comm),
}

/// An edge of the graph: operation `slot` of the rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    slot: u32,
    target: WaitTarget,
}

/// The state of a rank in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    /// On the current path.
    Open,
    Closed,
}

impl RunState<'_> {
    /// A cycle of ranks in which each waits for the next, if there is one. Valid when no event is left.
    pub fn cycle_of_waits(&self) -> Vec<Blocked> {
        let mut waits = vec![Vec::new(); self.ranks() as usize];
        for part in self.parts() {
            part.waits(&mut waits);
        }
        let mut marks = vec![Mark::New; waits.len()];
        for root in 0..waits.len() as u32 {
            if let Some(way) = self.follow(root, &waits, &mut marks) {
                let described = |&(rank, slot): &(u32, u32)| {
                    let part = self.part_of(rank);
                    let activity = part.0.ranks.activity(slot);
                    part.describe_blocked(rank, &activity.op, activity.since)
                };
                return way.iter().map(described).collect();
            }
        }
        Vec::new()
    }

    /// Follows waits from `root`; returns the (rank, operation) pairs of the first cycle found.
    fn follow(&self, root: u32, waits: &[Vec<Wait>], marks: &mut [Mark]) -> Option<Vec<(u32, u32)>> {
        if marks[root as usize] != Mark::New {
            return None;
        }
        marks[root as usize] = Mark::Open;
        // Ranks on the path, each with the targets of its waits that have not been followed.
        type Targets<'a> = Box<dyn Iterator<Item = (u32, u32)> + 'a>;
        let targets = |rank: u32| -> Targets<'_> {
            Box::new(
                waits[rank as usize]
                    .iter()
                    .flat_map(move |wait| self.targets(rank, wait.target).map(move |target| (wait.slot, target))),
            )
        };
        let mut way: Vec<(u32, u32, Targets<'_>)> = vec![(root, NIL, targets(root))];
        while let Some((rank, slot, left)) = way.last_mut() {
            let Some((by, target)) = left.next() else {
                marks[*rank as usize] = Mark::Closed;
                way.pop();
                continue;
            };
            *slot = by;
            match marks[target as usize] {
                Mark::Closed => {}
                Mark::Open => {
                    let start = way.iter().position(|&(rank, ..)| rank == target).unwrap_or(0);
                    return Some(way[start..].iter().map(|&(rank, slot, _)| (rank, slot)).collect());
                }
                Mark::New => {
                    marks[target as usize] = Mark::Open;
                    way.push((target, NIL, targets(target)));
                }
            }
        }
        None
    }

    /// The ranks of `target`, a wait target of `rank`, `rank` itself last.
    fn targets(&self, rank: u32, target: WaitTarget) -> Box<dyn Iterator<Item = u32> + '_> {
        let PartState(part) = self.part_of(rank);
        let first = part.layout.job_of(rank).first_rank;
        match target {
            WaitTarget::Rank(other) => Box::new(std::iter::once(other)),
            WaitTarget::Any(comm) => {
                let others = part.layout.members(rank, comm).map(move |member| first + member);
                Box::new(others.filter(move |&other| other != rank).chain(std::iter::once(rank)))
            }
        }
    }
}

impl PartState<'_> {
    /// Adds the waits of each rank of this part to `waits`, which has a list per rank of all jobs.
    fn waits(self, waits: &mut [Vec<Wait>]) {
        let mut add = |rank: u32, request: u32, target: WaitTarget| {
            if let Some(slot) = self.waiter(request) {
                waits[rank as usize].push(Wait { slot, target });
            }
        };
        let matching = &self.0.mpi.matching;
        for rank in matching.ranks() {
            let first = self.0.layout.job_of(rank).first_rank;
            for receive in matching.posted(rank) {
                let target = match receive.source {
                    Source::Rank(source) => WaitTarget::Rank(first + source),
                    Source::Any => WaitTarget::Any(communicator(receive.context)),
                };
                add(rank, receive.request, target);
            }
        }
        for outgoing in self.0.mpi.rendezvous.outgoing() {
            add(outgoing.rank, outgoing.request, WaitTarget::Rank(outgoing.to));
        }
        for incoming in self.0.mpi.rendezvous.incoming() {
            add(incoming.rank, incoming.request, WaitTarget::Rank(incoming.from));
        }
        // In the order of the programs, which does not depend on slots.
        for rank in matching.ranks() {
            let waits = &mut waits[rank as usize];
            waits.sort_unstable_by_key(|wait| (self.0.ranks.activity(wait.slot).op.id, wait.target));
            waits.dedup_by_key(|wait| wait.target);
        }
    }

    /// The blocked operation that waits for `request`, if there is one.
    fn waiter(self, request: u32) -> Option<u32> {
        let mut request = request;
        loop {
            if request == NIL {
                return None;
            }
            let slot = self.0.mpi.requests.get(request).waiter;
            if slot == NIL {
                return None;
            }
            let caller = self.0.mpi.calls.get(slot).caller;
            if caller != NIL {
                return (self.0.ranks.activity(caller).phase == Phase::Blocked).then_some(caller);
            }
            request = self.0.mpi.calls.schedule(slot)?.request;
        }
    }
}

/// Describes a cycle of waits: `rank 0 waits in Recv from 1 tag 7 (world) -> rank 1 waits in ... -> rank 0`; of a long
/// cycle, the first `most` ranks.
pub fn describe_cycle(cycle: &[Blocked], most: usize) -> String {
    let mut text = String::new();
    for blocked in cycle.iter().take(most) {
        text += &format!("rank {} waits in {} -> ", blocked.rank, blocked.op);
    }
    if cycle.len() > most {
        text += &format!("{} more -> ", cycle.len() - most);
    }
    text + &cycle
        .first()
        .map_or(String::new(), |blocked| format!("rank {}", blocked.rank))
}
