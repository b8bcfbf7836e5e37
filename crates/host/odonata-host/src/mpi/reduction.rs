//! Collectives in routers: a rank hands over its part, and its request completes with the result
//! ([`odonata_network::Contribution`]).

use super::Mpi;
use super::contribution::RankContribution;
use super::effect::MpiEffect;
use super::request::kind::RequestKind;
use crate::context::Uses;
use crate::layout::{Layout, PartRanks, cells};
use crate::observe::Observer;
use crate::turn::Turn;
use odonata_engine::{SparseStore, Time};
use odonata_workload::Collective;

/// The operations that ranks have begun in the trees of their jobs.
#[derive(Debug)]
pub(crate) struct Reductions {
    begun: SparseStore<u32>,
}
odonata_engine::journalled!(Reductions { begun });

impl Reductions {
    pub(super) fn new(layout: &Layout, ranks: &PartRanks) -> Reductions {
        let begun = match layout.trees.iter().all(Option::is_none) {
            true => SparseStore::default(),
            false => cells(ranks, |_| 0),
        };
        Reductions { begun }
    }
}

impl Mpi {
    /// Hands over the part of the rank of call `slot` in `collective`, after a delay of `after`. Returns the time that this
    /// occupies the rank; none without a tree.
    pub(super) fn contribute<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        collective: &Collective,
        after: Time,
    ) -> Time {
        let rank = self.calls.get(slot).rank;
        let Some(tree) = self.layout.tree_of(rank) else {
            return Time::ZERO;
        };
        let bytes = match *collective {
            Collective::Allreduce { bytes, .. } => bytes,
            _ => 0,
        };
        let begun = self.reductions.begun.edit::<M>(rank);
        let number = *begun;
        *begun = number.wrapping_add(1);
        let request = self.open_request::<M>(slot, RequestKind::Receive);
        turn.observers.receive_is_posted::<M>(request);
        turn.effects.push(MpiEffect::Contribute(RankContribution {
            rank,
            tree,
            number,
            bytes,
            request,
            software: after + self.settings.send_software(bytes),
        }));
        self.settings.send_overhead
    }
}
