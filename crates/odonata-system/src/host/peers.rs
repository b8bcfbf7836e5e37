//! Sequence numbers of messages, so that adaptive routing cannot let one overtake another.
//!
//! MPI promises that the messages from one rank to another on one communicator are matched in the order
//! in which they were sent (MPI 4.1, section 3.5). Each rank therefore numbers its messages per
//! (peer, context) and knows the next number that it expects from there. The counters of a
//! rank are kept for the peers that it really has, in a few short chains: a table of all pairs would
//! grow with ranks².

use super::Hosts;
use odonata_engine::{Mode, NIL, Slot};

/// The counters of one rank for one peer and context.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Peer {
    /// Rank of the job, in every communicator.
    peer: u32,
    /// See [`context`].
    context: u32,
    /// Messages sent to it. For the rank itself, in the context of collectives, in which no rank sends to
    /// itself: collectives called.
    pub(crate) sent: u32,
    /// Messages from it that have been let through. For the rank itself, in that context: non-blocking
    /// collectives under way.
    pub(crate) received: u32,
    next: u32,
}

impl Slot for Peer {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// The space in which messages of communicator `comm` are matched: collectives have one of their own,
/// so that a receive with wildcards never takes their messages.
pub(crate) const fn context(comm: odonata_workload::Comm, collective: bool) -> u32 {
    comm.0 << 1 | collective as u32
}

/// Whether `context` is that of the collectives of a communicator.
pub(crate) const fn of_collective(context: u32) -> bool {
    context & 1 == 1
}

/// Chains per rank for a job of `ranks` ranks: about one for four peers, as far as memory of 128 B per
/// rank allows.
pub(crate) fn chains(ranks: u32) -> u32 {
    ranks.div_ceil(4).next_power_of_two().clamp(1, 32)
}

impl Hosts {
    #[inline]
    fn chain(&self, rank: u32, peer: u32, context: u32) -> u32 {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let chain = (peer ^ context.wrapping_mul(0x9e37_79b9)) & (job.chains - 1);
        self.first_chain.get(rank) + chain
    }

    #[inline]
    fn find_peer(&self, chain: u32, peer: u32, context: u32) -> Option<u32> {
        let mut at = *self.chains.get(chain);
        while at != NIL {
            let cell = self.peers.get(at);
            if cell.peer == peer && cell.context == context {
                return Some(at);
            }
            at = cell.next;
        }
        None
    }

    /// How many non-blocking collectives of `rank` are under way in `context`.
    pub(crate) fn collectives_under_way(&self, rank: u32, context: u32) -> u32 {
        let (_, local) = self.job_of(rank);
        let slot = self.find_peer(self.chain(rank, local, context), local, context);
        slot.map_or(0, |slot| self.peers.get(slot).received)
    }

    /// The slot of the counters of `rank` for `peer` (a rank of the same job) in `context`.
    pub(crate) fn peer<M: Mode>(&mut self, rank: u32, peer: u32, context: u32) -> u32 {
        let chain = self.chain(rank, peer, context);
        if let Some(slot) = self.find_peer(chain, peer, context) {
            return slot;
        }
        let slot = self.peers.take::<M>(Peer {
            peer,
            context,
            sent: 0,
            received: 0,
            next: *self.chains.get(chain),
        });
        *self.chains.edit::<M>(chain) = slot;
        slot
    }

    /// The number of the next message from `rank` to `peer` in `context`, used up.
    pub(crate) fn next_sequence<M: Mode>(&mut self, rank: u32, peer: u32, context: u32) -> u32 {
        let slot = self.peer::<M>(rank, peer, context);
        let cell = self.peers.edit::<M>(slot);
        let number = cell.sent;
        cell.sent = number.wrapping_add(1);
        number
    }
}
