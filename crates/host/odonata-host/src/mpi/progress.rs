//! Progress: when the MPI library of a rank does its protocol work.
//!
//! | mode | when it answers a matched RTS, sends the data after a CTS, or advances a non-blocking collective |
//! |---|---|
//! | asynchronous | immediately, by a thread or by the network interface |
//! | in calls | while the rank is inside an MPI call, blocked or busy, or when it enters the next one |
//!
//! In both modes, matching and the completion of messages in flight occupy no rank time. File access calls do not count
//! as MPI calls here; waits for requests do. A rank whose program has ended is inside `MPI_Finalize`.

use crate::Hosts;
use crate::context::HostContext;
use crate::rank::activity::Phase;
use crate::settings::Progress;
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
    CollectiveStep { activity: u32 },
}

/// Work that waits for the rank's next call.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Deferred {
    work: ProtocolWork,
    next: u32,
}

odonata_engine::slots!(Deferred);

/// Deferred protocol work: what the library of each rank must do in its next call.
#[derive(Debug)]
pub(crate) struct DeferredWork {
    queues: SparseStore<List>,
    work: Pool<Deferred>,
}
odonata_engine::journalled!(DeferredWork { queues, work });

impl DeferredWork {
    pub(crate) fn new(queues: SparseStore<List>) -> Self {
        DeferredWork {
            queues,
            work: Pool::new(),
        }
    }

    /// Defers `work` to the next call of `rank`.
    fn defer<M: Mode>(&mut self, rank: u32, work: ProtocolWork) {
        let mut queue = *self.queues.get(rank);
        let slot = self.work.allocate::<M>(Deferred { work, next: NIL });
        queue.push::<M, _>(&mut self.work, slot);
        *self.queues.edit::<M>(rank) = queue;
    }

    /// Takes the oldest deferred work of `rank`.
    #[inline]
    fn next<M: Mode>(&mut self, rank: u32) -> Option<ProtocolWork> {
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

impl Hosts {
    /// Whether the library of `rank` makes progress now.
    #[inline]
    pub(crate) fn may_progress(&self, rank: u32) -> bool {
        self.params.mpi.progress == Progress::Asynchronous || self.inside(rank)
    }

    /// Whether `rank` is inside an MPI call.
    #[inline]
    fn inside(&self, rank: u32) -> bool {
        self.records.metrics(rank).finished
            || self.ranks.activities_of(rank).any(|activity| {
                matches!(activity.phase, Phase::Blocked | Phase::Woken | Phase::Busy) && is_mpi_call(&activity.op.kind)
            })
    }

    /// Does `work` for `rank`, now or in its next call.
    pub(crate) fn progress<C: HostContext>(&mut self, ctx: &mut C, rank: u32, work: ProtocolWork) {
        if self.may_progress(rank) {
            self.work(ctx, work);
        } else {
            self.ranks.lost.defer_work::<C>(work);
            self.mpi.deferred.defer::<C>(rank, work);
        }
    }

    /// Does all work deferred to this call of `rank`.
    pub(crate) fn catch_up<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        while let Some(work) = self.mpi.deferred.next::<C>(rank) {
            self.work(ctx, work);
        }
    }

    fn work<C: HostContext>(&mut self, ctx: &mut C, work: ProtocolWork) {
        let before = self.ranks.lost.do_work::<C>(work);
        match work {
            ProtocolWork::SendCts { incoming } => self.send_cts(ctx, incoming),
            ProtocolWork::SendData { outgoing } => self.send_data(ctx, outgoing),
            ProtocolWork::CollectiveStep { activity } => self.settle(ctx, activity),
        }
        self.ranks.lost.is_now(before);
    }
}
