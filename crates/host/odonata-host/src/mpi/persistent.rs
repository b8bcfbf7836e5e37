//! Persistent requests: a send or receive that is described once and started many times.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::InvalidOperation;
use crate::mpi::point_to_point::{SendMode, request_kind};
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::{OpKind, PROC_NULL, Request, Source};

/// The operation of a persistent request: the call that created it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PersistentOperation {
    kind: OpKind,
    next: u32,
}

impl PersistentOperation {
    pub(crate) fn new(kind: OpKind) -> Self {
        PersistentOperation { kind, next: NIL }
    }

    pub(crate) fn kind(&self) -> OpKind {
        self.kind
    }
}

odonata_engine::slots!(PersistentOperation);

impl Hosts {
    /// Creates the persistent request of operation `slot`.
    ///
    /// # Errors
    /// The peer does not exist, or the number is in use or reserved for detached operations.
    pub(crate) fn make_persistent<M: Mode>(&mut self, slot: u32) -> Result<(), InvalidOperation> {
        let (op, rank) = (self.ranks.activity(slot).op, self.ranks.activity(slot).rank);
        let number = match op.kind {
            OpKind::SendInit { to, comm, request, .. } => {
                if to != PROC_NULL {
                    self.layout.rank_of(rank, comm, to)?;
                }
                request
            }
            OpKind::RecvInit {
                from, comm, request, ..
            } => {
                if from != Source::Rank(PROC_NULL) {
                    self.layout.source_of(rank, comm, from)?;
                }
                request
            }
            _ => unreachable!("only these make persistent requests"),
        };
        let requests = &mut self.mpi.requests;
        if number == Request::DETACHED || requests.numbered(rank, number).is_some() {
            return Err(InvalidOperation::Active(number.0));
        }
        requests.open_persistent::<M>(rank, op.id, number, op.kind);
        Ok(())
    }

    /// Starts persistent request `number` for operation `slot`; returns the time that it occupies the rank.
    ///
    /// # Errors
    /// There is no such persistent request, or it is active.
    pub(crate) fn start_persistent<C: HostContext>(
        &mut self,
        ctx: &mut C,
        slot: u32,
        number: Request,
    ) -> Result<Time, InvalidOperation> {
        let (op, rank) = (self.ranks.activity(slot).op.id, self.ranks.activity(slot).rank);
        let requests = &mut self.mpi.requests;
        let Some((request, kind)) = requests.persistent(rank, number) else {
            return Err(InvalidOperation::NotPersistent(number.0));
        };
        requests.reopen::<C>(request, op, request_kind(&kind))?;
        match kind {
            OpKind::SendInit {
                to, tag, bytes, comm, ..
            } => self.send_to_member(ctx, (rank, op), to, tag, bytes, comm, request, SendMode::STANDARD),
            OpKind::RecvInit {
                from, tag, bytes, comm, ..
            } => self
                .receive_from_member(ctx, (rank, op), from, tag, bytes, comm, request)
                .map(|()| Time::ZERO),
            _ => unreachable!("a persistent request is one of these"),
        }
    }
}
