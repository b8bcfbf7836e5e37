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

use crate::Hosts;
use crate::context::HostContext;
use crate::rank::activity::Phase;
use crate::settings::Progress;
use odonata_engine::{List, Mode, NIL, Pool, SparseStore};
use odonata_workload::OpKind;

/// Something that the library of a rank has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum ProtocolWork {
    /// Answer a matched RTS.
    SendCts { incoming: u32 },
    /// Send the data that a CTS asked for.
    SendData { outgoing: u32 },
    /// Go on with a non-blocking collective whose step is complete.
    CollectiveStep { activity: u32 },
}

/// Work that has to wait for the rank's next call.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Deferred {
    work: ProtocolWork,
    next: u32,
}

odonata_engine::slots!(Deferred);

/// Deferred protocol work: what the library of each rank has to do in its next call.
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

    /// Leaves `work` to the next call of `rank`.
    fn defer<M: Mode>(&mut self, rank: u32, work: ProtocolWork) {
        let mut queue = *self.queues.get(rank);
        let slot = self.work.allocate::<M>(Deferred { work, next: NIL });
        queue.push::<M, _>(&mut self.work, slot);
        *self.queues.edit::<M>(rank) = queue;
    }

    /// Takes what was left first to `rank`.
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

    /// How much is left to do.
    pub(crate) fn live(&self) -> u32 {
        self.work.live()
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.queues.memory() + self.work.memory()
    }
}

/// Whether an operation is a call of the MPI library that makes progress.
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
    /// Whether the library of `rank` is at work now.
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

    /// Does all that was left for this call of `rank`.
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
