//! Persistent requests: a send or receive that is described once and started many times.

use super::Hosts;
use super::collective::Manner;
use super::event::Outside;
use super::outcome::Wrong;
use odonata_engine::{Mode, NIL, Slot, Time};
use odonata_workload::{OpKind, PROC_NULL, Request, Source};

/// What a persistent request stands for: the operation that made it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Plan {
    kind: OpKind,
    next: u32,
}

impl Slot for Plan {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Hosts {
    /// Makes the persistent request that operation `slot` asks for.
    ///
    /// # Errors
    /// The peer does not exist, or the number is in use or is that of detached operations.
    pub(crate) fn make_persistent<M: Mode>(&mut self, slot: u32) -> Result<(), Wrong> {
        let (op, rank) = (self.activities.get(slot).op, self.activities.get(slot).rank);
        let number = match op.kind {
            OpKind::SendInit { to, comm, request, .. } => {
                if to != PROC_NULL {
                    self.rank_of(rank, comm, to)?;
                }
                request
            }
            OpKind::RecvInit {
                from, comm, request, ..
            } => {
                if from != Source::Rank(PROC_NULL) {
                    self.source_of(rank, comm, from)?;
                }
                request
            }
            _ => unreachable!("only these make persistent requests"),
        };
        if number == Request::DETACHED || self.numbered(rank, number).is_some() {
            return Err(Wrong::Active(number.0));
        }
        let plan = self.plans.take::<M>(Plan {
            kind: op.kind,
            next: NIL,
        });
        self.open_persistent::<M>(rank, op.id, number, plan);
        Ok(())
    }

    /// Starts persistent request `number` for operation `slot`; returns how long that occupies the rank.
    ///
    /// # Errors
    /// There is no such persistent request, or it is under way.
    pub(crate) fn start_persistent<X: Outside>(
        &mut self,
        x: &mut X,
        slot: u32,
        number: Request,
    ) -> Result<Time, Wrong> {
        let (op, rank) = (self.activities.get(slot).op.id, self.activities.get(slot).rank);
        let found = self.numbered(rank, number);
        let request = found.filter(|&request| self.requests.get(request).plan != NIL);
        let Some(request) = request else {
            return Err(Wrong::NotPersistent(number.0));
        };
        let kind = self.plans.get(self.requests.get(request).plan).kind;
        self.reopen::<X>(request, op, super::call::transfer(&kind))?;
        match kind {
            OpKind::SendInit {
                to, tag, bytes, comm, ..
            } => self.send_to(x, rank, to, tag, bytes, comm, request, Manner::PLAIN),
            OpKind::RecvInit {
                from, tag, bytes, comm, ..
            } => self
                .receive_from(x, rank, from, tag, bytes, comm, request)
                .map(|()| Time::ZERO),
            _ => unreachable!("a plan is one of these"),
        }
    }
}
