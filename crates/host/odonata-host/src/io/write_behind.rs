//! Write-behind: a write returns before it is acknowledged.
//!
//! A write returns as soon as its rank has at most `write_behind` unacknowledged bytes, those of the write included; with 0 bytes,
//! when it is acknowledged. Its data are on their way in any case. The `close` and the reads of a rank wait until all its writes are
//! acknowledged, in the order of its calls. It is a layer over the storage client, which knows nothing of it.

use crate::Hosts;
use crate::context::HostContext;
use crate::io::calls::{Call, OpenCall, OpenCalls};
use odonata_engine::{List, NIL};

/// The unacknowledged writes of a rank.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct WritesBehind {
    bytes: u64,
    /// Calls that wait for acknowledgements, in their order.
    waiting: List,
}

impl OpenCalls {
    /// Unacknowledged bytes of `rank`, where they are counted.
    pub(crate) fn writes_behind(&self, rank: u32) -> u64 {
        match self.behind.is_empty() {
            true => 0,
            false => self.behind.get(rank).bytes,
        }
    }
}

impl Hosts {
    /// Write `transfer` is on its way; it returns now, or waits.
    pub(crate) fn write_behind<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall { rank, bytes, .. } = *self.io.calls.calls.get(transfer);
        self.io.calls.behind.edit::<C>(rank).bytes += bytes;
        self.wait_for_writes::<C>(transfer);
        self.return_calls(ctx, rank);
    }

    /// Puts call `transfer` among those that wait for acknowledgements.
    pub(crate) fn wait_for_writes<C: HostContext>(&mut self, transfer: u32) {
        let calls = &mut self.io.calls;
        let rank = calls.calls.get(transfer).rank;
        let mut waiting = calls.behind.get(rank).waiting;
        waiting.push::<C, _>(&mut calls.calls, transfer);
        calls.behind.edit::<C>(rank).waiting = waiting;
    }

    /// Write `transfer` is acknowledged: it returns if it has not, and others may.
    pub(crate) fn end_write_behind<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let calls = &mut self.io.calls;
        let OpenCall {
            rank, bytes, request, ..
        } = *calls.calls.get(transfer);
        let mut waiting = calls.behind.get(rank).waiting;
        if request != NIL {
            // The only one with this request.
            waiting.remove_first::<C, _>(&mut calls.calls, |other| other.request == request);
        }
        let cell = calls.behind.edit::<C>(rank);
        cell.bytes -= bytes;
        cell.waiting = waiting;
        if request != NIL {
            self.complete(ctx, request);
        }
        self.return_calls(ctx, rank);
    }

    /// Lets the calls of `rank` go on that wait for no more acknowledgements.
    fn return_calls<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let limit = self.layout.job_of(rank).files.write_behind.0;
        loop {
            let calls = &mut self.io.calls;
            let WritesBehind { bytes, mut waiting } = *calls.behind.get(rank);
            let Some(call) = waiting.iter(&calls.calls).next() else {
                return;
            };
            let OpenCall {
                call: what, request, ..
            } = *calls.calls.get(call);
            let most = if what == Call::Write { limit } else { 0 };
            if bytes > most {
                return;
            }
            waiting.pop(&calls.calls);
            calls.behind.edit::<C>(rank).waiting = waiting;
            match what {
                Call::Read | Call::StageIn => self.access_range(ctx, call),
                Call::Write => {
                    self.io.calls.calls.edit::<C>(call).request = NIL;
                    self.complete(ctx, request);
                }
                Call::Metadata(_) => self.go_on_with_metadata(ctx, call),
            }
        }
    }
}
