//! The state of the executor when it is stuck.

use super::*;

impl Reference<'_> {
    /// The current operation of `rank`, unless it has ended.
    pub(in super::super) fn blocked(&self, rank: u32) -> Option<Op> {
        self.script.0[rank as usize]
            .get(self.states[rank as usize].next)
            .copied()
    }

    /// Number of messages that were never received.
    pub(in super::super) fn unmatched(&self) -> u64 {
        let messages: usize = self.states.iter().map(|state| state.unexpected.len()).sum();
        let steps: usize = self.steps.values().map(VecDeque::len).sum();
        (messages + steps) as u64
    }

    /// The ranks that could let `rank` continue.
    pub(in super::super) fn waits_for(&self, rank: u32) -> BTreeSet<u32> {
        let Some(op) = self.blocked(rank) else {
            return BTreeSet::new();
        };
        let entries: Vec<usize> = match op.kind {
            OpKind::Wait { request } => self.active(rank, request, 1).iter().map(|a| a.1).collect(),
            OpKind::WaitAll { first, count } | OpKind::WaitAny { first, count } | OpKind::WaitSome { first, count } => {
                self.active(rank, first, count).iter().map(|a| a.1).collect()
            }
            OpKind::Probe { from, comm, .. } => {
                let members = self.members(rank, comm);
                return match from {
                    Source::Rank(member) => [members[member as usize]].into(),
                    Source::Any => members.into_iter().collect(),
                };
            }
            _ => self.states[rank as usize].called.clone().unwrap_or_default(),
        };
        if matches!(op.kind, OpKind::WaitAny { .. } | OpKind::WaitSome { .. }) {
            assert!(
                entries.iter().all(|&entry| !self.entries[entry].done),
                "rank {rank} could go on"
            );
        }
        let mut ranks = BTreeSet::new();
        for entry in entries.into_iter().filter(|&entry| !self.entries[entry].done) {
            match &self.entries[entry].peers {
                Peers::None => {}
                Peers::Rank(rank) => drop(ranks.insert(*rank)),
                Peers::Any(members) => ranks.extend(members),
                Peers::Collective(at) => {
                    let (receive, send) = self.running[*at].step.expect("an unfinished collective is in a step");
                    ranks.extend(receive);
                    if let Some(send) = send.filter(|&send| !self.entries[send].done)
                        && let Peers::Rank(to) = self.entries[send].peers
                    {
                        ranks.insert(to);
                    }
                }
            }
        }
        ranks
    }
}
