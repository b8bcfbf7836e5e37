//! Progress: when the MPI library of a rank does its protocol work.
//!
//! | mode | when it answers a matched RTS, sends the data after a CTS, or advances a non-blocking collective |
//! |---|---|
//! | asynchronous | immediately, by a thread or by the network interface |
//! | in calls | while the rank is inside an MPI call, blocked or busy, or when it enters the next one |
//!
//! In both modes, matching and the completion of messages in flight occupy no rank time. File access calls do not count
//! as MPI calls here; waits for requests do. A rank whose program has ended is inside `MPI_Finalize`.

use odonata_engine::{List, Mode, NIL, Pool, SparseStore};
use odonata_workload::OpKind;

/// Protocol work of the library of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum ProtocolWork {
    /// Answer a matched RTS.
    SendCts { incoming: u32 },
    /// Send the data that a CTS requests.
    SendData { outgoing: u32 },
    /// Continue a non-blocking collective whose step is complete.
    CollectiveStep { call: u32 },
    /// Combine the data of a one-sided access with the memory of the rank.
    Combine { answer: u32 },
}

/// Work that waits for the rank's next call.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Deferred {
    work: ProtocolWork,
    next: u32,
}

odonata_engine::slots!(Deferred);

/// Which ranks are in the library, and what it must do in the next call of each of the others.
#[derive(Debug)]
pub(crate) struct DeferredWork {
    queues: SparseStore<List>,
    work: Pool<Deferred>,
    /// Calls of each rank that are in the library; empty if progress is asynchronous.
    calls: SparseStore<u32>,
}
odonata_engine::journalled!(DeferredWork { queues, work, calls });

impl DeferredWork {
    /// For ranks with these queues. Without `calls`, progress is asynchronous.
    pub(crate) fn new(queues: SparseStore<List>, calls: SparseStore<u32>) -> Self {
        DeferredWork {
            queues,
            work: Pool::new(),
            calls,
        }
    }

    #[inline]
    fn is_asynchronous(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether the library of `rank` makes progress now.
    #[inline]
    pub(super) fn may_progress(&self, rank: u32) -> bool {
        self.is_asynchronous() || *self.calls.get(rank) > 0
    }

    /// A call of `rank` enters the library.
    #[inline]
    pub(super) fn enter<M: Mode>(&mut self, rank: u32) {
        if !self.is_asynchronous() {
            *self.calls.edit::<M>(rank) += 1;
        }
    }

    /// A call of `rank` leaves the library.
    #[inline]
    pub(super) fn leave<M: Mode>(&mut self, rank: u32) {
        if !self.is_asynchronous() {
            *self.calls.edit::<M>(rank) -= 1;
        }
    }

    /// Defers `work` to the next call of `rank`.
    pub(super) fn defer<M: Mode>(&mut self, rank: u32, work: ProtocolWork) {
        let mut queue = *self.queues.get(rank);
        let slot = self.work.allocate::<M>(Deferred { work, next: NIL });
        queue.push::<M, _>(&mut self.work, slot);
        *self.queues.edit::<M>(rank) = queue;
    }

    /// Whether work of `rank` is deferred. Asynchronous progress defers none.
    #[inline(always)]
    pub(super) fn has_work(&self, rank: u32) -> bool {
        !self.is_asynchronous() && !self.queues.get(rank).is_empty()
    }

    /// Takes the oldest deferred work of `rank`.
    #[inline]
    pub(super) fn next<M: Mode>(&mut self, rank: u32) -> Option<ProtocolWork> {
        if self.queues.get(rank).is_empty() {
            return None;
        }
        let slot = self.queues.edit::<M>(rank).pop(&self.work)?;
        let work = self.work.get(slot).work;
        self.work.free::<M>(slot);
        Some(work)
    }

    /// Number of deferred work items.
    pub(crate) fn live(&self) -> u32 {
        self.work.live()
    }
}

/// Whether an operation is an MPI call in which the library makes progress.
#[inline]
pub(crate) fn is_mpi_call(kind: &OpKind) -> bool {
    !matches!(
        kind,
        OpKind::Compute { .. }
            | OpKind::Elapsed(_)
            | OpKind::Mark { .. }
            | OpKind::Report { .. }
            | OpKind::Open { .. }
            | OpKind::Close { .. }
            | OpKind::Metadata { .. }
            | OpKind::Read { .. }
            | OpKind::Write { .. }
            | OpKind::Iread { .. }
            | OpKind::Iwrite { .. }
    )
}
