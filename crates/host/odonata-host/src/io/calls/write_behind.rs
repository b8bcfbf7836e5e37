//! Write-behind: a write returns before it is acknowledged.
//!
//! A write returns as soon as its rank has at most `write_behind` unacknowledged bytes, those of the write included; with 0 bytes,
//! when it is acknowledged. Its data are on their way in any case. The `close` and the reads of a rank wait until all its writes are
//! acknowledged, in the order of its calls. It is a layer over the storage client, which knows nothing of it.

use super::{Call, CallTurn, FileCalls, OpenCall};
use crate::context::Uses;
use crate::io::effect::IoEffect;
use odonata_engine::{List, NIL};
use odonata_units::Bytes;

/// The unacknowledged writes of a rank.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct WritesBehind {
    bytes: u64,
    /// Calls that wait for acknowledgements, in their order.
    waiting: List,
}

impl FileCalls {
    /// Unacknowledged bytes of `rank`, where they are counted.
    pub(super) fn writes_behind(&self, rank: u32) -> u64 {
        match self.behind.is_empty() {
            true => 0,
            false => self.behind.get(rank).bytes,
        }
    }

    /// Unacknowledged bytes that `rank` may have when a write returns.
    pub(super) fn writes_behind_at_most(&self, rank: u32) -> Bytes {
        self.layout.job_of(rank).files.write_behind
    }

    /// Write `slot` is on its way; it returns now, or waits.
    pub(super) fn write_behind<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall { rank, bytes, .. } = *self.calls.get(slot);
        self.behind.edit::<M>(rank).bytes += bytes;
        self.wait_for_writes::<M>(slot);
        self.return_calls::<M>(turn, rank);
    }

    /// Puts call `slot` among those that wait for acknowledgements.
    pub(super) fn wait_for_writes<M: Uses>(&mut self, slot: u32) {
        let rank = self.calls.get(slot).rank;
        let mut waiting = self.behind.get(rank).waiting;
        waiting.push::<M, _>(&mut self.calls, slot);
        self.behind.edit::<M>(rank).waiting = waiting;
    }

    /// Write `slot` is acknowledged: it returns if it has not, and others may.
    pub(super) fn end_write_behind<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall {
            rank, bytes, request, ..
        } = *self.calls.get(slot);
        let mut waiting = self.behind.get(rank).waiting;
        if request != NIL {
            // The only one with this request.
            waiting.remove_first::<M, _>(&mut self.calls, |other| other.request == request);
            turn.effects.push(IoEffect::Complete { request });
        }
        let cell = self.behind.edit::<M>(rank);
        cell.bytes -= bytes;
        cell.waiting = waiting;
        turn.effects.push(IoEffect::ReturnCalls { rank });
    }

    /// Lets the calls of `rank` go on that wait for no more acknowledgements. One that returns leaves the next to a later
    /// input, [`IoEffect::ReturnCalls`], since the rank may go on in between.
    pub(crate) fn return_calls<M: Uses>(&mut self, turn: &mut CallTurn<'_>, rank: u32) {
        let limit = self.writes_behind_at_most(rank).0;
        loop {
            let WritesBehind { bytes, mut waiting } = *self.behind.get(rank);
            let Some(slot) = waiting.iter(&self.calls).next() else {
                return;
            };
            let OpenCall { call, request, .. } = *self.calls.get(slot);
            let most = if call == Call::Write { limit } else { 0 };
            if bytes > most {
                return;
            }
            waiting.pop(&self.calls);
            self.behind.edit::<M>(rank).waiting = waiting;
            match call {
                Call::Read | Call::StageIn => {
                    self.access_range::<M>(turn, slot);
                    continue;
                }
                Call::Write => {
                    self.calls.edit::<M>(slot).request = NIL;
                    turn.effects.push(IoEffect::Complete { request });
                }
                Call::Metadata(_) => self.go_on_with_metadata::<M>(turn, slot),
            }
            turn.effects.push(IoEffect::ReturnCalls { rank });
            return;
        }
    }
}
