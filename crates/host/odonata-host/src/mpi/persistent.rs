//! Persistent requests: a send or receive that is described once and started many times.

use crate::failure::InvalidOperation;
use crate::layout::Layout;
use odonata_engine::NIL;
use odonata_workload::{OpKind, PROC_NULL, Request, Source};

/// The operation of a persistent request or of a one-sided access: the call that created it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PersistentOperation {
    kind: OpKind,
    next: u32,
}

odonata_engine::slots!(PersistentOperation);

impl PersistentOperation {
    /// The operation that call `kind` of `rank` describes.
    ///
    /// # Errors
    /// The peer does not exist.
    pub(crate) fn of(layout: &Layout, rank: u32, kind: &OpKind) -> Result<Self, InvalidOperation> {
        match *kind {
            OpKind::SendInit { to, comm, .. } if to != PROC_NULL => {
                layout.rank_of(rank, comm, to)?;
            }
            OpKind::RecvInit { from, comm, .. } if from != Source::Rank(PROC_NULL) => {
                layout.source_of(rank, comm, from)?;
            }
            _ => {}
        }
        Ok(PersistentOperation { kind: *kind, next: NIL })
    }

    /// One-sided access `kind`, which has no number.
    pub(super) fn access(kind: OpKind) -> Self {
        PersistentOperation { kind, next: NIL }
    }

    pub(crate) fn kind(&self) -> OpKind {
        self.kind
    }

    /// The number of its request.
    pub(crate) fn number(&self) -> Request {
        match self.kind {
            OpKind::SendInit { request, .. } | OpKind::RecvInit { request, .. } => request,
            _ => Request::DETACHED,
        }
    }
}
