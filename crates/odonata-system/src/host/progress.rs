//! Progress: when the MPI library of a rank does what the protocol asks of it.
//!
//! | mode | a matched RTS is answered, data are sent on a CTS, a non-blocking collective goes on |
//! |---|---|
//! | asynchronous | at once: a thread, or the network interface, does it |
//! | in calls | while the rank is inside an MPI call, blocked or busy, or when it enters the next one |
//!
//! Matching itself and the completion of what is on its way take no part of the rank in either mode. The calls
//! of file access are no MPI calls in this sense, waits for requests are. A rank whose program has ended
//! is inside `MPI_Finalize`.

use super::Hosts;
use super::event::Outside;
use super::params::Progress;
use super::rank::Phase;
use odonata_engine::{NIL, Slot};
use odonata_workload::OpKind;

/// Something that the library of a rank has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Chore {
    /// Answer a matched RTS.
    Answer { incoming: u32 },
    /// Send the data that a CTS asked for.
    Deliver { outgoing: u32 },
    /// Go on with a non-blocking collective whose step is complete.
    Step { activity: u32 },
}

/// A chore that has to wait for the rank's next call.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Deferred {
    chore: Chore,
    next: u32,
}

impl Slot for Deferred {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Whether an operation is a call of the MPI library that makes progress.
pub(crate) fn is_mpi_call(kind: &OpKind) -> bool {
    !matches!(
        kind,
        OpKind::Compute { .. }
            | OpKind::Mark { .. }
            | OpKind::Report { .. }
            | OpKind::Open { .. }
            | OpKind::Close { .. }
            | OpKind::Read { .. }
            | OpKind::Write { .. }
            | OpKind::Iread { .. }
            | OpKind::Iwrite { .. }
    )
}

impl Hosts {
    /// Whether the library of `rank` is at work now.
    #[inline]
    pub(crate) fn may_progress(&self, rank: u32) -> bool {
        self.params.mpi.progress == Progress::Asynchronous || self.inside(rank)
    }

    /// Whether `rank` is inside an MPI call.
    fn inside(&self, rank: u32) -> bool {
        let mut live = self.ranks.get(rank).live.iter(&self.activities);
        self.metrics.get(rank).finished
            || live.any(|slot| {
                let activity = self.activities.get(slot);
                matches!(activity.phase, Phase::Blocked | Phase::Woken | Phase::Busy) && is_mpi_call(&activity.op.kind)
            })
    }

    /// Does `chore` for `rank`, now or in its next call.
    pub(crate) fn progress<X: Outside>(&mut self, x: &mut X, rank: u32, chore: Chore) {
        if self.may_progress(rank) {
            self.work(x, chore);
        } else {
            let mut chores = *self.chores.get(rank);
            let slot = self.deferred.take::<X>(Deferred { chore, next: NIL });
            chores.push::<X, _>(&mut self.deferred, slot);
            *self.chores.edit::<X>(rank) = chores;
        }
    }

    /// Does all that was left for this call of `rank`.
    pub(crate) fn catch_up<X: Outside>(&mut self, x: &mut X, rank: u32) {
        while !self.chores.get(rank).is_empty() {
            let slot = self.chores.edit::<X>(rank).pop(&self.deferred).unwrap_or(NIL);
            let chore = self.deferred.get(slot).chore;
            self.deferred.give::<X>(slot);
            self.work(x, chore);
        }
    }

    fn work<X: Outside>(&mut self, x: &mut X, chore: Chore) {
        match chore {
            Chore::Answer { incoming } => self.answer(x, incoming),
            Chore::Deliver { outgoing } => self.deliver(x, outgoing),
            Chore::Step { activity } => self.settle(x, activity),
        }
    }
}
