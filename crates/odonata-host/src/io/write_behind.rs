//! Write-behind: a write returns before it is acknowledged.
//!
//! A write of a rank returns as soon as no more than `write_behind` bytes that the rank has written, its own among them, are
//! not acknowledged; with 0 bytes, when it is acknowledged. Its data are on their way in any case. A rank's `close` and its reads
//! wait until all that it has written is acknowledged, in the order of its calls.

use crate::Hosts;
use crate::context::HostContext;
use crate::io::client::{Call, Clients, FileTransfer};
use odonata_engine::{List, NIL};

/// What a rank has written and is not acknowledged.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct WritesBehind {
    bytes: u64,
    /// Calls that wait for acknowledgements, in their order.
    waiting: List,
}

impl Clients {
    /// Bytes that `rank` has written and are not acknowledged, where that is counted.
    pub(crate) fn writes_behind(&self, rank: u32) -> u64 {
        match self.behind.is_empty() {
            true => 0,
            false => self.behind.get(rank).bytes,
        }
    }
}

impl Hosts {
    /// Call `transfer` has written; it returns now, or waits.
    pub(crate) fn write_behind<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let FileTransfer { rank, bytes, .. } = *self.io.clients.transfers.get(transfer);
        self.io.clients.behind.edit::<C>(rank).bytes += bytes;
        self.wait_for_writes::<C>(transfer);
        self.return_calls(ctx, rank);
    }

    /// Puts call `transfer` among those that wait for acknowledgements.
    pub(crate) fn wait_for_writes<C: HostContext>(&mut self, transfer: u32) {
        let clients = &mut self.io.clients;
        let rank = clients.transfers.get(transfer).rank;
        let mut waiting = clients.behind.get(rank).waiting;
        waiting.push::<C, _>(&mut clients.transfers, transfer);
        clients.behind.edit::<C>(rank).waiting = waiting;
    }

    /// Write `transfer` is acknowledged: it returns if it has not, and others may.
    pub(crate) fn end_write_behind<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let clients = &mut self.io.clients;
        let FileTransfer {
            rank, bytes, request, ..
        } = *clients.transfers.get(transfer);
        let mut waiting = clients.behind.get(rank).waiting;
        if request != NIL {
            // The only one with this request.
            waiting.remove_first::<C, _>(&mut clients.transfers, |other| other.request == request);
        }
        let cell = clients.behind.edit::<C>(rank);
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
            let clients = &mut self.io.clients;
            let WritesBehind { bytes, mut waiting } = *clients.behind.get(rank);
            let Some(call) = waiting.iter(&clients.transfers).next() else {
                return;
            };
            let FileTransfer {
                call: what, request, ..
            } = *clients.transfers.get(call);
            let most = if what == Call::Write { limit } else { 0 };
            if bytes > most {
                return;
            }
            waiting.pop(&clients.transfers);
            clients.behind.edit::<C>(rank).waiting = waiting;
            match what {
                Call::Read | Call::StageIn => self.send_parts(ctx, call),
                Call::Write => {
                    self.io.clients.transfers.edit::<C>(call).request = NIL;
                    self.complete(ctx, request);
                }
                Call::Metadata(_) => self.go_on_with_metadata(ctx, call),
            }
        }
    }
}
