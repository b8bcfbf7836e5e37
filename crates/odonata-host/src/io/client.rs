//! The client's side of I/O.
//!
//! A call is a request to every server that has a part of its range ([`FileLayout::parts`](odonata_storage::FileLayout)), all
//! at once, and ends with the last of them. Of a write, the node answers every pull with the piece at once and without a copy; a
//! part ends with the server's response. A part of a read ends when the response and all data are there: under adaptive
//! routing the response may come first. What a client does where no answer comes is in `retry`.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::io::below::object_on;
use crate::io::retry::{Retries, Share};
use crate::io::write_behind::WritesBehind;
use crate::lost::Dependent;
use crate::metrics::{IoOperation, IoRecord};
use crate::payload::{ClientId, IoAccess, Payload, Requester, SplitU64};
use crate::rank::activity::Activity;
use crate::send::{SendRequest, traffic_of};
use odonata_engine::{Mode, NIL, Pool, SparseStore, Time};
use odonata_storage::{MetadataCall, SyncDepth};
use odonata_units::Bytes;

/// What a rank has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Call {
    Read,
    Write,
    /// Nothing, for itself: its input shall be in its buffers.
    StageIn,
    /// What a metadata server answers; closing and syncing a file waits for what the rank has written before that.
    Metadata(MetadataCall),
}

impl Call {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Call::Read => "read",
            Call::Write => "write",
            Call::StageIn => "stage-in",
            Call::Metadata(call) => call.name(),
        }
    }
}

/// A call under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct FileTransfer {
    pub(crate) call: Call,
    /// Rank, counted over all jobs.
    pub(crate) rank: u32,
    /// What completes with it, or [`NIL`].
    pub(crate) request: u32,
    pub(crate) file: u64,
    /// First byte of it; of a call for metadata, the directory.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) start: Time,
    /// When its first data went, or [`Time::NEVER`].
    first_byte: Time,
    /// The server of its first part.
    pub(crate) server: u32,
    /// Its parts, and those that have not ended.
    pub(crate) parts: u32,
    pub(crate) open: u32,
    /// Tries that were in vain.
    pub(crate) timeouts: u32,
    /// Whether some of what it has read is lost.
    lost: bool,
    next: u32,
}

/// The part of a call that one server has, or a try of it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct PartTransfer {
    /// The call; [`NIL`] of a try that nobody waits for any more.
    transfer: u32,
    /// Bytes of a read that have not arrived.
    missing: u64,
    responded: bool,
    /// Whether some of what it has read is lost.
    lost: bool,
    /// What it is a try of, or [`NIL`].
    watched: u32,
    /// Whether its timer will mention it.
    timed: bool,
    next: u32,
}

impl FileTransfer {
    /// A call of `rank` that is made now and has no parts yet.
    pub(crate) fn new(
        now: Time,
        call: Call,
        (rank, request): (u32, u32),
        (file, offset, bytes): (u64, u64, u64),
    ) -> Self {
        FileTransfer {
            call,
            rank,
            request,
            file,
            offset,
            bytes,
            start: now,
            first_byte: Time::NEVER,
            server: NIL,
            parts: 0,
            open: 0,
            timeouts: 0,
            lost: false,
            next: NIL,
        }
    }
}

odonata_engine::slots!(FileTransfer PartTransfer);

/// Calls under way at the clients of a part of the machine.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) transfers: Pool<FileTransfer>,
    parts: Pool<PartTransfer>,
    /// What ranks have written behind; no cells where no job may.
    pub(crate) behind: SparseStore<WritesBehind>,
    pub(crate) retries: Retries,
}
odonata_engine::journalled!(Clients {
    transfers,
    parts,
    behind,
    retries
});

impl Clients {
    pub(crate) fn new(behind: SparseStore<WritesBehind>, retries: Retries) -> Self {
        Clients {
            transfers: Pool::new(),
            parts: Pool::new(),
            behind,
            retries,
        }
    }

    /// Data of part `slot` have gone now, which may be the first of its call.
    fn data_went<M: Mode>(&mut self, slot: u32, now: Time) {
        let transfer = self.parts.get(slot).transfer;
        if transfer != NIL && self.transfers.get(transfer).first_byte == Time::NEVER {
            self.transfers.edit::<M>(transfer).first_byte = now;
        }
    }

    /// Whether nobody waits for try `slot`.
    pub(crate) fn has_ended(&self, slot: u32) -> bool {
        self.parts.get(slot).transfer == NIL
    }

    /// The time of try `slot` is over: it is given up if it has not ended; what it was a try of.
    pub(crate) fn time_is_over<M: Mode>(&mut self, slot: u32) -> Option<u32> {
        if self.has_ended(slot) {
            self.parts.free::<M>(slot);
            return None;
        }
        let part = self.parts.edit::<M>(slot);
        (part.transfer, part.timed) = (NIL, false);
        Some(part.watched)
    }

    /// Frees part `slot` if it has ended; its call, if that has ended with it.
    fn end_part<M: Mode>(&mut self, slot: u32) -> Option<u32> {
        let PartTransfer {
            transfer,
            missing,
            responded,
            lost,
            watched,
            timed,
            ..
        } = *self.parts.get(slot);
        if !responded || missing > 0 {
            return None;
        }
        match timed {
            true => self.parts.edit::<M>(slot).transfer = NIL,
            false => self.parts.free::<M>(slot),
        }
        if transfer == NIL {
            // Too late.
            return None;
        }
        self.retries.end::<M>(watched);
        let cell = self.transfers.edit::<M>(transfer);
        cell.open -= 1;
        cell.lost |= lost;
        (cell.open == 0).then_some(transfer)
    }

    /// Calls under way.
    pub(crate) fn live(&self) -> u32 {
        self.transfers.live()
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.transfers.memory() + self.parts.memory() + self.behind.memory() + self.retries.footprint()
    }
}

impl Hosts {
    /// Begins a read or write of (file, offset, bytes) for operation `slot`; `request` completes with it.
    pub(crate) fn start_io<C: HostContext>(
        &mut self,
        ctx: &mut C,
        slot: u32,
        write: bool,
        (file, offset, bytes): (u64, u64, u64),
        request: u32,
    ) {
        let Activity { op, rank, .. } = *self.ranks.activity(slot);
        if self.layout.place(rank).server == NIL {
            self.fail(ctx, Failure::NoServer { rank, op });
            return;
        }
        let call = if write { Call::Write } else { Call::Read };
        let call = FileTransfer::new(ctx.now(), call, (rank, request), (file, offset, bytes));
        let transfer = self.io.clients.transfers.allocate::<C>(call);
        match write {
            true => {
                self.send_parts(ctx, transfer);
                if self.layout.job_of(rank).files.write_behind > Bytes::ZERO {
                    self.write_behind(ctx, transfer);
                }
            }
            false if self.io.clients.writes_behind(rank) > 0 => self.wait_for_writes::<C>(transfer),
            false => self.send_parts(ctx, transfer),
        }
    }

    /// Asks the servers that have parts of `transfer`.
    pub(crate) fn send_parts<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let FileTransfer {
            rank,
            file,
            offset,
            bytes,
            ..
        } = *self.io.clients.transfers.get(transfer);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let name = files.name(file).object();
        let tiered = !self.params.tiers.is_empty();
        let parts = files.layout.parts(file, (offset, bytes), place.server);
        let count = parts.len() as u32;
        let mut first = NIL;
        for part in parts {
            if first == NIL {
                first = part.server;
                let cell = self.io.clients.transfers.edit::<C>(transfer);
                (cell.server, cell.parts, cell.open) = (first, count, count);
            }
            let object = match tiered {
                true => object_on(&files.layout, name, part.server),
                false => name,
            };
            let share = Share {
                server: part.server,
                object,
                offset: part.offset,
                bytes: part.bytes,
            };
            self.ask(ctx, transfer, share);
        }
    }

    /// Asks the server of `share`, for which the layout has another one if it is `elsewhere`, for what `transfer` is about; what that
    /// is called between the two.
    pub(crate) fn send_request<C: HostContext>(
        &mut self,
        ctx: &mut C,
        transfer: u32,
        watched: u32,
        share: Share,
        elsewhere: bool,
    ) -> u32 {
        let FileTransfer { call, rank, .. } = *self.io.clients.transfers.get(transfer);
        let operation = self.io.clients.parts.allocate::<C>(PartTransfer {
            transfer,
            missing: if call == Call::Read { share.bytes } else { 0 },
            responded: false,
            lost: false,
            watched,
            timed: watched != NIL,
            next: NIL,
        });
        let (client, owner) = (Requester::Rank(rank).into(), self.layout.place(rank).job);
        let server = share.server;
        let [object, offset, bytes] = [share.object, share.offset, share.bytes].map(SplitU64::from);
        let request = match call {
            Call::Metadata(call) if server >= self.layout.first_metadata => Payload::MetadataRequest {
                rank,
                server,
                call,
                owner,
                operation,
                directory: object,
            },
            Call::StageIn => Payload::IoStage {
                client,
                server,
                owner,
                operation,
                object,
                offset,
                bytes,
            },
            Call::Metadata(MetadataCall::Unlink) => Payload::IoRemove {
                client,
                server,
                owner,
                operation,
                object,
            },
            Call::Metadata(_) => Payload::IoSync {
                client,
                server,
                owner,
                operation,
                object,
                below: self.params.sync == SyncDepth::Below,
            },
            Call::Read | Call::Write => Payload::IoRequest {
                client,
                server,
                access: match call == Call::Write {
                    true => IoAccess::Write,
                    false => IoAccess::read(elsewhere, self.reads_survivors(rank)),
                },
                owner,
                operation,
                object,
                offset,
                bytes,
            },
        };
        self.send_to_server(ctx, rank, server, self.params.io_control_message.0, request);
        operation
    }

    /// Synchronises the file of `transfer` at all servers that may have something of it.
    pub(crate) fn send_syncs<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let FileTransfer { rank, file, .. } = *self.io.clients.transfers.get(transfer);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let servers: Vec<u32> = files.layout.servers_of(file, place.server).collect();
        self.io.clients.transfers.edit::<C>(transfer).server = NIL;
        self.ask_all(ctx, transfer, &servers);
    }

    /// Asks `servers`, at least one, for what `transfer` is about, which has no range.
    pub(crate) fn ask_all<C: HostContext>(&mut self, ctx: &mut C, transfer: u32, servers: &[u32]) {
        let FileTransfer { rank, file, .. } = *self.io.clients.transfers.get(transfer);
        let files = self.layout.job_of(rank).files;
        let (name, tiered) = (files.name(file).object(), !self.params.tiers.is_empty());
        let cell = self.io.clients.transfers.edit::<C>(transfer);
        (cell.parts, cell.open) = (servers.len() as u32, servers.len() as u32);
        for &server in servers {
            let object = match tiered {
                true => object_on(&files.layout, name, server),
                false => name,
            };
            let cell = self.io.clients.transfers.edit::<C>(transfer);
            if cell.server == NIL {
                cell.server = server;
            }
            let share = Share {
                server,
                object,
                offset: 0,
                bytes: 0,
            };
            self.ask(ctx, transfer, share);
        }
    }

    pub(crate) fn send_to_server<C: HostContext>(
        &mut self,
        ctx: &mut C,
        rank: u32,
        server: u32,
        bytes: u64,
        payload: Payload,
    ) {
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_rank(rank),
            target: self.layout.endpoint_of_server(server),
            bytes,
            traffic: traffic_of(self.layout.place(rank).job, true),
            payload,
            software: Time::ZERO,
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }

    /// The server wants a piece of what part `operation` writes.
    pub(crate) fn pull_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, rank): (u32, u32),
        (operation, piece): (u32, u32),
        bytes: u64,
    ) {
        self.io.clients.data_went::<C>(operation, ctx.now());
        let data = Payload::WriteData {
            client: Requester::Rank(rank).into(),
            server,
            owner: self.layout.place(rank).job,
            piece,
        };
        self.send_to_server(ctx, rank, server, bytes, data);
    }

    /// A piece of what part `operation` reads has arrived.
    pub(crate) fn read_data_arrived<C: HostContext>(&mut self, ctx: &mut C, operation: u32, bytes: u64) {
        self.io.clients.data_went::<C>(operation, ctx.now());
        self.io.clients.parts.edit::<C>(operation).missing -= bytes;
        self.end_part(ctx, operation);
    }

    /// The server has answered part `operation`; `lost`: some of what it was to read is.
    pub(crate) fn io_response_arrived<C: HostContext>(&mut self, ctx: &mut C, operation: u32, lost: bool) {
        let part = self.io.clients.parts.edit::<C>(operation);
        (part.responded, part.lost) = (true, lost);
        self.end_part(ctx, operation);
    }

    /// Ends part `operation`, and its call, if everything is there.
    fn end_part<C: HostContext>(&mut self, ctx: &mut C, operation: u32) {
        let transfer = self.io.clients.parts.get(operation).transfer;
        self.ranks.lost.needs_current::<C>(Dependent::Transfer(transfer));
        let Some(slot) = self.io.clients.end_part::<C>(operation) else {
            return;
        };
        self.ranks.lost.takes::<C>(Dependent::Transfer(slot));
        let transfer = *self.io.clients.transfers.get(slot);
        // A try that was watched; storage servers hear of an unlink only behind it.
        let removing = transfer.call == Call::Metadata(MetadataCall::Unlink) && transfer.parts > 0;
        let by_metadata = transfer.server != NIL && transfer.server >= self.layout.first_metadata && !removing;
        match transfer.call {
            Call::Metadata(_) if by_metadata => {
                self.metadata_answered(ctx, slot);
                return;
            }
            Call::Metadata(MetadataCall::Unlink) => {
                self.end_metadata_call(ctx, slot);
                return;
            }
            Call::Metadata(_) => {
                self.servers_synced(ctx, slot);
                return;
            }
            Call::StageIn => {
                self.io.clients.transfers.free::<C>(slot);
                self.file_staged(ctx, transfer.rank);
                return;
            }
            Call::Read | Call::Write => {}
        }
        let FileTransfer { rank, bytes, start, .. } = transfer;
        let write = transfer.call == Call::Write;
        let end = ctx.now();
        let metrics = self.records.edit_metrics::<C>(rank);
        match write {
            true => metrics.bytes_written += bytes,
            false => metrics.bytes_read += bytes,
        }
        let first = if metrics.io_operations == 0 {
            start
        } else {
            metrics.io_first.min(start)
        };
        metrics.io_first = first;
        metrics.io_last = end;
        metrics.io_operations += 1;
        metrics.io_duration_ps += u128::from((end - start).0);
        let layout = &self.layout;
        self.records.add_io::<C>(end, || IoRecord {
            job: layout.place(rank).job,
            rank: layout.local(rank),
            server: transfer.server,
            operation: if write { IoOperation::Write } else { IoOperation::Read },
            file: transfer.file,
            bytes,
            start,
            end,
            offset: transfer.offset,
            first_byte: transfer.first_byte.min(end),
            servers: transfer.parts,
            timeouts: transfer.timeouts,
        });
        if transfer.lost {
            self.note_lost::<C>(rank);
        }
        if write && self.layout.job_of(rank).files.write_behind > Bytes::ZERO {
            self.end_write_behind(ctx, slot);
        } else {
            self.complete(ctx, transfer.request);
        }
        self.io.clients.transfers.free::<C>(slot);
        self.advance(ctx, rank);
    }

    /// `server` wants the lock back that `client` has, for request `holder` of job `owner`.
    pub(crate) fn lock_revoke_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        client: ClientId,
        (owner, holder): (u16, u32),
    ) {
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_client(client),
            target: self.layout.endpoint_of_server(server),
            bytes: self.params.io_control_message.0,
            traffic: traffic_of(owner, true),
            payload: Payload::LockReturn {
                client,
                server,
                owner,
                holder,
            },
            software: self.params.locks.map_or(Time::ZERO, |locks| locks.revocation),
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }
}
