//! Sequence numbers of messages, which keep their order under adaptive routing.
//!
//! MPI guarantees that messages from one rank to another on one communicator match in the order of sending (MPI 4.1,
//! section 3.5). Each rank therefore numbers its messages per (peer, context) and knows the next number that it expects
//! from each.
//!
//! A rank keeps counters only for peers that it communicates with, in a few short chains: a table of all pairs would
//! grow with the square of the number of ranks.

use super::stamp::MOST_BACKGROUND;
use crate::failure::InvalidOperation;
use crate::layout::Layout;
use odonata_engine::{Mode, NIL, Pool, SparseStore, Store};
use odonata_workload::Comm;

/// The counters of one rank for one peer and context.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PairCounters {
    /// Rank of the job, in every communicator.
    peer: u32,
    /// See [`context`].
    context: u32,
    /// Messages sent to the peer. For the rank itself in the context of collectives, where no rank sends to itself:
    /// number of collectives called.
    pub(crate) sent: u32,
    /// Messages from the peer passed to matching. For the rank itself in that context: number of active non-blocking
    /// collectives.
    pub(crate) received: u32,
    next: u32,
}

odonata_engine::slots!(PairCounters);

/// The context in which messages of communicator `comm` match. Collectives have their own, so that a receive with
/// wildcards never takes their messages.
pub(crate) const fn context(comm: Comm, collective: bool) -> u32 {
    comm.0 << 1 | collective as u32
}

pub(crate) const fn communicator(context: u32) -> Comm {
    Comm(context >> 1)
}

/// Whether `context` belongs to the collectives of a communicator.
pub(crate) const fn of_collective(context: u32) -> bool {
    context & 1 == 1
}

/// Chains per rank for a job of `ranks` ranks: about one per four peers, within a limit of 128 B per rank.
pub(crate) fn chains(ranks: u32) -> u32 {
    ranks.div_ceil(4).next_power_of_two().clamp(1, 32)
}

/// The counters of the ranks of a part.
#[derive(Debug)]
pub(crate) struct SequenceNumbers {
    /// Index of the first chain of each rank; never changes.
    first_chain: SparseStore<u32>,
    /// Heads of the chains.
    chains: Store<u32>,
    counters: Pool<PairCounters>,
}
odonata_engine::journalled!(SequenceNumbers { chains, counters });

impl SequenceNumbers {
    /// `count` chains in total, of which those of each rank start at `first_chain`.
    pub(crate) fn new(first_chain: SparseStore<u32>, count: u32) -> Self {
        SequenceNumbers {
            first_chain,
            chains: Store::filled(count as usize, NIL),
            counters: Pool::new(),
        }
    }

    #[inline]
    fn chain(&self, layout: &Layout, rank: u32, peer: u32, context: u32) -> u32 {
        let chain = (peer ^ context.wrapping_mul(0x9e37_79b9)) & (layout.job_of(rank).chains - 1);
        self.first_chain.get(rank) + chain
    }

    #[inline]
    fn find(&self, chain: u32, peer: u32, context: u32) -> Option<u32> {
        let mut at = *self.chains.get(chain);
        while at != NIL {
            let cell = self.counters.get(at);
            if cell.peer == peer && cell.context == context {
                return Some(at);
            }
            at = cell.next;
        }
        None
    }

    /// Consumes and returns the number of the next collective of `rank` on `comm`.
    pub(crate) fn next_collective<M: Mode>(&mut self, layout: &Layout, rank: u32, comm: Comm) -> u32 {
        self.next_to_send::<M>(layout, rank, layout.local(rank), context(comm, true))
    }

    /// Counts the start of a non-blocking collective of `rank` on `comm`.
    ///
    /// # Errors
    /// Too many are active.
    pub(crate) fn begin_background<M: Mode>(
        &mut self,
        layout: &Layout,
        rank: u32,
        comm: Comm,
    ) -> Result<(), InvalidOperation> {
        let slot = self.pair::<M>(layout, rank, layout.local(rank), context(comm, true));
        let active = &mut self.counters.edit::<M>(slot).received;
        *active += 1;
        if *active > MOST_BACKGROUND {
            return Err(InvalidOperation::TooManyCollectives);
        }
        Ok(())
    }

    /// Counts the end of a non-blocking collective of `rank` on `comm`.
    pub(crate) fn end_background<M: Mode>(&mut self, layout: &Layout, rank: u32, comm: Comm) {
        let slot = self.pair::<M>(layout, rank, layout.local(rank), context(comm, true));
        self.counters.edit::<M>(slot).received -= 1;
    }

    /// Number of active non-blocking collectives of `rank` in `context`.
    pub(crate) fn collectives_under_way(&self, layout: &Layout, rank: u32, context: u32) -> u32 {
        let local = layout.local(rank);
        let slot = self.find(self.chain(layout, rank, local, context), local, context);
        slot.map_or(0, |slot| self.counters.get(slot).received)
    }

    /// The slot of the counters of `rank` for `peer`, a rank of the same job, in `context`.
    #[inline]
    pub(crate) fn pair<M: Mode>(&mut self, layout: &Layout, rank: u32, peer: u32, context: u32) -> u32 {
        let chain = self.chain(layout, rank, peer, context);
        if let Some(slot) = self.find(chain, peer, context) {
            return slot;
        }
        let slot = self.counters.allocate::<M>(PairCounters {
            peer,
            context,
            sent: 0,
            received: 0,
            next: *self.chains.get(chain),
        });
        *self.chains.edit::<M>(chain) = slot;
        slot
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &PairCounters {
        self.counters.get(slot)
    }

    #[inline]
    pub(crate) fn edit<M: Mode>(&mut self, slot: u32) -> &mut PairCounters {
        self.counters.edit::<M>(slot)
    }

    /// Consumes and returns the number of the next message from `rank` to `peer` in `context`.
    #[inline]
    pub(crate) fn next_to_send<M: Mode>(&mut self, layout: &Layout, rank: u32, peer: u32, context: u32) -> u32 {
        let slot = self.pair::<M>(layout, rank, peer, context);
        let cell = self.counters.edit::<M>(slot);
        let number = cell.sent;
        cell.sent = number.wrapping_add(1);
        number
    }
}
