//! Calls of ranks to files: each is one or several requests to storage, one after the other.
//!
//! | call | requests |
//! |---|---|
//! | read, write | one, to every server that has a part of the range |
//! | stage-in | one, likewise |
//! | sync | to every storage server that may have bytes of the file, then to its metadata server |
//! | unlink | to its metadata server, then to every storage server that may have bytes of the file |
//! | other calls for metadata | one, to its metadata server |
//!
//! [`write_behind`](super::write_behind) delays the end of writes, [`metadata`](super::metadata) and [`remove`](super::remove) have the order of
//! requests.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::io::client::{Completed, NewRequest, RequestPart, Waiter};
use crate::io::lower_tier::object_on;
use crate::io::write_behind::WritesBehind;
use crate::metrics::{IoOperation, IoRecord};
use crate::payload::Payload;
use crate::rank::activity::Activity;
use odonata_engine::{NIL, Pool, SparseStore, Time};
use odonata_storage::{ClientId, MetadataCall, Requester, StorageOperation, SyncDepth};
use odonata_units::Bytes;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Call {
    Read,
    Write,
    /// Brings the input of the rank to its buffers; no operation of a program.
    StageIn,
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

/// The call that asks for an operation.
impl From<StorageOperation> for Call {
    fn from(operation: StorageOperation) -> Call {
        match operation {
            StorageOperation::Read { .. } => Call::Read,
            StorageOperation::Write => Call::Write,
            StorageOperation::Stage => Call::StageIn,
            StorageOperation::Sync { .. } => Call::Metadata(MetadataCall::Sync),
            StorageOperation::Remove => Call::Metadata(MetadataCall::Unlink),
            StorageOperation::Metadata(call) => Call::Metadata(call),
        }
    }
}

/// A call under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) call: Call,
    /// Rank, counted over all jobs.
    pub(crate) rank: u32,
    /// The request of the program that completes with the call, or [`NIL`].
    pub(crate) request: u32,
    pub(crate) file: u64,
    /// First byte; of a call for metadata, the directory.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) start: Time,
    /// The first server asked, or the metadata server, as [`IoRecord::server`] has it.
    pub(crate) server: u32,
    /// Storage servers asked.
    pub(crate) parts: u32,
    /// Attempts of its requests that were not answered in time.
    pub(crate) timeouts: u32,
    next: u32,
}

impl OpenCall {
    /// A call of `rank` that is made now and has not asked any server.
    pub(crate) fn new(
        now: Time,
        call: Call,
        (rank, request): (u32, u32),
        (file, offset, bytes): (u64, u64, u64),
    ) -> Self {
        OpenCall {
            call,
            rank,
            request,
            file,
            offset,
            bytes,
            start: now,
            server: NIL,
            parts: 0,
            timeouts: 0,
            next: NIL,
        }
    }
}

odonata_engine::slots!(OpenCall);

/// Calls under way of the ranks of a part of the machine.
#[derive(Debug)]
pub(crate) struct OpenCalls {
    pub(crate) calls: Pool<OpenCall>,
    /// Writes that have not been acknowledged; no cells where no job may write behind.
    pub(crate) behind: SparseStore<WritesBehind>,
}
odonata_engine::journalled!(OpenCalls { calls, behind });

impl OpenCalls {
    pub(crate) fn new(behind: SparseStore<WritesBehind>) -> Self {
        OpenCalls {
            calls: Pool::new(),
            behind,
        }
    }

    /// Calls under way.
    pub(crate) fn live(&self) -> u32 {
        self.calls.live()
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
        let call = OpenCall::new(ctx.now(), call, (rank, request), (file, offset, bytes));
        let call = self.io.calls.calls.allocate::<C>(call);
        match write {
            true => {
                self.access_range(ctx, call);
                if self.layout.job_of(rank).files.write_behind > Bytes::ZERO {
                    self.write_behind(ctx, call);
                }
            }
            false if self.io.calls.writes_behind(rank) > 0 => self.wait_for_writes::<C>(call),
            false => self.access_range(ctx, call),
        }
    }

    /// Asks the servers that have parts of the range of `slot`, a read, a write or a stage-in.
    pub(crate) fn access_range<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let OpenCall {
            call,
            rank,
            file,
            offset,
            bytes,
            ..
        } = *self.io.calls.calls.get(slot);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let name = files.name(file).object();
        let tiered = !self.params.tiers.is_empty();
        let parts = files.layout.parts(file, (offset, bytes), place.server);
        let parts = parts.map(|part| RequestPart {
            server: part.server,
            object: match tiered {
                true => object_on(&files.layout, name, part.server),
                false => name,
            },
            offset: part.offset,
            bytes: part.bytes,
        });
        let operation = match call {
            Call::Write => StorageOperation::Write,
            Call::StageIn => StorageOperation::Stage,
            Call::Read | Call::Metadata(_) => StorageOperation::Read {
                rerouted: false,
                tolerates_loss: self.ranks.reads_survivors(rank),
            },
        };
        self.io.calls.calls.edit::<C>(slot).parts = parts.len() as u32;
        self.request_for_call(ctx, slot, operation, parts);
    }

    /// Asks `servers`, at least one, each for all that it has of the file of call `slot`.
    pub(crate) fn access_file<C: HostContext>(
        &mut self,
        ctx: &mut C,
        slot: u32,
        operation: StorageOperation,
        servers: &[u32],
    ) {
        let OpenCall { rank, file, .. } = *self.io.calls.calls.get(slot);
        let files = self.layout.job_of(rank).files;
        let (name, tiered) = (files.name(file).object(), !self.params.tiers.is_empty());
        let parts = servers.iter().map(|&server| {
            let object = match tiered {
                true => object_on(&files.layout, name, server),
                false => name,
            };
            RequestPart::whole(server, object)
        });
        self.io.calls.calls.edit::<C>(slot).parts = servers.len() as u32;
        self.request_for_call(ctx, slot, operation, parts);
    }

    /// Begins a request of call `slot`.
    pub(crate) fn request_for_call<C: HostContext>(
        &mut self,
        ctx: &mut C,
        slot: u32,
        operation: StorageOperation,
        parts: impl ExactSizeIterator<Item = RequestPart>,
    ) {
        let OpenCall { rank, start, .. } = *self.io.calls.calls.get(slot);
        let what = NewRequest {
            client: ClientId::from(Requester::Rank(rank)),
            owner: self.layout.place(rank).job,
            operation,
            waiter: Waiter::Call(slot),
            since: start,
        };
        let (now, mut first) = (ctx.now(), NIL);
        self.ask_client(ctx, |client, effects| {
            first = client.begin::<C>(now, what, parts, effects);
        });
        let cell = self.io.calls.calls.edit::<C>(slot);
        if cell.server == NIL {
            cell.server = first;
        }
    }

    /// Synchronizes the file of call `slot` at all servers that may have bytes of it.
    pub(crate) fn sync_file<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let OpenCall { rank, file, .. } = *self.io.calls.calls.get(slot);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let servers: Vec<u32> = files.layout.servers_of(file, place.server).collect();
        let to_last_tier = self.params.sync == SyncDepth::Below;
        self.access_file(ctx, slot, StorageOperation::Sync { to_last_tier }, &servers);
    }

    /// A request of call `slot` is complete: begins the next one, or ends the call.
    pub(crate) fn call_answered<C: HostContext>(&mut self, ctx: &mut C, slot: u32, completed: Completed) {
        if completed.timeouts > 0 {
            self.io.calls.calls.edit::<C>(slot).timeouts += completed.timeouts;
        }
        match completed.operation {
            StorageOperation::Read { .. } | StorageOperation::Write => self.end_transfer(ctx, slot, completed),
            StorageOperation::Stage => {
                let rank = self.io.calls.calls.get(slot).rank;
                self.io.calls.calls.free::<C>(slot);
                self.file_staged(ctx, rank);
            }
            StorageOperation::Sync { .. } => self.servers_synced(ctx, slot),
            StorageOperation::Remove => self.end_metadata_call(ctx, slot),
            StorageOperation::Metadata(_) => self.metadata_answered(ctx, slot),
        }
    }

    /// Read or write `slot` has ended.
    fn end_transfer<C: HostContext>(&mut self, ctx: &mut C, slot: u32, completed: Completed) {
        let call = *self.io.calls.calls.get(slot);
        let OpenCall { rank, bytes, start, .. } = call;
        let write = call.call == Call::Write;
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
            server: call.server,
            operation: if write { IoOperation::Write } else { IoOperation::Read },
            file: call.file,
            bytes,
            start,
            end,
            offset: call.offset,
            first_byte: completed.first_data.min(end),
            servers: call.parts,
            timeouts: call.timeouts,
        });
        if completed.lost {
            self.ranks.note_lost::<C>(rank);
        }
        if write && self.layout.job_of(rank).files.write_behind > Bytes::ZERO {
            self.end_write_behind(ctx, slot);
        } else {
            self.complete(ctx, call.request);
        }
        self.io.calls.calls.free::<C>(slot);
        self.advance(ctx, rank);
    }

    /// Job `owner` has ended, of which `rank` is the first: tells the servers that wait for it.
    pub(crate) fn tell_servers<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let owner = self.layout.place(rank).job;
        let stages_out = self.layout.job(owner).stage_out;
        let control = self.params.io_control_message.0;
        let client = ClientId::from(Requester::Rank(rank));
        // Servers of the last tier have no lower tier to drain to.
        for tier in 0..self.params.tiers.len().saturating_sub(1) {
            let tier = &self.params.tiers[tier];
            let (servers, drains) = (tier.first..tier.first + tier.servers, tier.drains_at_job_end);
            for server in servers.filter(|_| drains || stages_out) {
                let payload = Payload::JobEnded {
                    from: rank,
                    server,
                    owner,
                };
                self.send_to_server(ctx, (client, server), (owner, control), payload, Time::ZERO);
            }
        }
    }
}
