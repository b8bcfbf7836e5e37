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
//! [`FileCalls`] is a layer over the storage [`Client`]: calls of ranks and answers of the client come in with the time,
//! requests go to the client, and [`IoEffect`]s come out. [`write_behind`] delays the end of writes, [`metadata`] has the
//! order of requests of the other calls.

mod metadata;
mod write_behind;

pub(crate) use metadata::metadata_call;
pub(crate) use write_behind::WritesBehind;

use super::effect::IoEffect;
use crate::context::Uses;
use crate::io::client::{self, Client, Completed, NewRequest, RequestPart, Waiter};
use crate::io::facts::IoObserver;
use crate::io::lower_tier::object_on;
use crate::layout::Layout;
use crate::metrics::{IoOperation, IoRecord};
use crate::observe::Observers;
use crate::params::HostParams;
use crate::turn::Effects;
use odonata_engine::{NIL, Pool, SparseStore, Time};
use odonata_storage::{ClientId, MetadataCall, MetadataParams, Requester, StorageOperation};
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
    /// Whether a read goes on without data that a failed server has lost.
    pub(crate) tolerates_loss: bool,
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
            tolerates_loss: false,
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
pub(crate) struct FileCalls {
    layout: Layout,
    /// Whether there are several tiers of servers.
    tiered: bool,
    /// Whether storage servers hear of removed files.
    removes: bool,
    /// Whether a sync waits for the last tier.
    syncs_last_tier: bool,
    metadata: Option<MetadataParams>,
    calls: Pool<OpenCall>,
    /// Writes that have not been acknowledged; no cells where no job may write behind.
    behind: SparseStore<WritesBehind>,
}
odonata_engine::journalled!(FileCalls { calls, behind });

/// The time of an input to the calls, the client for their requests, the records, and the list for their effects.
pub(crate) struct CallTurn<'a> {
    pub(crate) now: Time,
    pub(crate) client: &'a mut Client,
    /// Effects of the client.
    pub(crate) requests: &'a mut client::Effects,
    pub(crate) observers: &'a mut Observers,
    pub(crate) effects: &'a mut Effects<IoEffect>,
}

impl FileCalls {
    pub(crate) fn new(params: &HostParams, layout: Layout, behind: SparseStore<WritesBehind>) -> Self {
        FileCalls {
            layout,
            tiered: !params.tiers.is_empty(),
            removes: params.removes,
            syncs_last_tier: params.sync == odonata_storage::SyncDepth::Below,
            metadata: params.metadata,
            calls: Pool::new(),
            behind,
        }
    }

    /// Calls under way.
    pub(crate) fn live(&self) -> u32 {
        self.calls.live()
    }

    /// Begins `call`, a read, a write or a stage-in, of a rank with a server.
    pub(crate) fn begin<M: Uses>(&mut self, turn: &mut CallTurn<'_>, call: OpenCall) {
        let OpenCall { call: kind, rank, .. } = call;
        let slot = self.calls.allocate::<M>(call);
        if kind == Call::Read && self.writes_behind(rank) > 0 {
            self.wait_for_writes::<M>(slot);
            return;
        }
        self.access_range::<M>(turn, slot);
        if kind == Call::Write && self.writes_behind_at_most(rank) > Bytes::ZERO {
            self.write_behind::<M>(turn, slot);
        }
    }

    /// Asks the servers that have parts of the range of `slot`, a read, a write or a stage-in.
    fn access_range<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall {
            call,
            rank,
            file,
            offset,
            bytes,
            tolerates_loss,
            ..
        } = *self.calls.get(slot);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let (name, tiered) = (files.name(file).object(), self.tiered);
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
                tolerates_loss,
            },
        };
        self.calls.edit::<M>(slot).parts = parts.len() as u32;
        self.request::<M>(turn, slot, operation, parts);
    }

    /// Asks `servers`, at least one, each for all that it has of the file of call `slot`.
    fn access_file<M: Uses>(
        &mut self,
        turn: &mut CallTurn<'_>,
        slot: u32,
        operation: StorageOperation,
        servers: &[u32],
    ) {
        let OpenCall { rank, file, .. } = *self.calls.get(slot);
        let files = self.layout.job_of(rank).files;
        let (name, tiered) = (files.name(file).object(), self.tiered);
        let parts = servers.iter().map(|&server| {
            let object = match tiered {
                true => object_on(&files.layout, name, server),
                false => name,
            };
            RequestPart::whole(server, object)
        });
        self.calls.edit::<M>(slot).parts = servers.len() as u32;
        self.request::<M>(turn, slot, operation, parts);
    }

    /// Begins a request of call `slot`.
    fn request<M: Uses>(
        &mut self,
        turn: &mut CallTurn<'_>,
        slot: u32,
        operation: StorageOperation,
        parts: impl ExactSizeIterator<Item = RequestPart>,
    ) {
        let OpenCall { rank, start, .. } = *self.calls.get(slot);
        let what = NewRequest {
            client: ClientId::from(Requester::Rank(rank)),
            owner: self.layout.place(rank).job,
            operation,
            waiter: Waiter::Call(slot),
            since: start,
        };
        let first = turn.client.begin::<M>(turn.now, what, parts, turn.requests);
        let cell = self.calls.edit::<M>(slot);
        if cell.server == NIL {
            cell.server = first;
        }
    }

    /// A request of call `slot` is complete: begins the next one, or ends the call. Returns the rank of a stage-in, which
    /// has ended.
    pub(crate) fn answered<M: Uses>(
        &mut self,
        turn: &mut CallTurn<'_>,
        slot: u32,
        completed: Completed,
    ) -> Option<u32> {
        if completed.timeouts > 0 {
            self.calls.edit::<M>(slot).timeouts += completed.timeouts;
        }
        match completed.operation {
            StorageOperation::Read { .. } | StorageOperation::Write => self.end_transfer::<M>(turn, slot, completed),
            StorageOperation::Stage => {
                let rank = self.calls.get(slot).rank;
                self.calls.free::<M>(slot);
                return Some(rank);
            }
            StorageOperation::Sync { .. } => self.servers_synced::<M>(turn, slot),
            StorageOperation::Remove => self.end_metadata::<M>(turn, slot),
            StorageOperation::Metadata(_) => self.metadata_answered::<M>(turn, slot),
        }
        None
    }

    /// Read or write `slot` has ended.
    fn end_transfer<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32, completed: Completed) {
        let call = *self.calls.get(slot);
        let rank = call.rank;
        let (operation, first_byte) = match call.call {
            Call::Write => (IoOperation::Write, completed.first_data),
            _ => (IoOperation::Read, completed.first_data),
        };
        self.record::<M>(turn, &call, (operation, call.bytes, call.parts), first_byte);
        if completed.lost {
            turn.effects.push(IoEffect::DataLost { rank });
        }
        if operation == IoOperation::Write && self.writes_behind_at_most(rank) > Bytes::ZERO {
            self.end_write_behind::<M>(turn, slot);
        } else {
            let request = call.request;
            turn.effects.push(IoEffect::Complete { request });
        }
        self.calls.free::<M>(slot);
        turn.effects.push(IoEffect::Advance { rank });
    }

    /// Records `call`, which ends now.
    fn record<M: Uses>(
        &self,
        turn: &mut CallTurn<'_>,
        call: &OpenCall,
        (operation, bytes, servers): (IoOperation, u64, u32),
        first_byte: Time,
    ) {
        let rank = call.rank;
        let record = IoRecord {
            job: self.layout.place(rank).job,
            rank: self.layout.local(rank),
            server: call.server,
            operation,
            file: call.file,
            bytes,
            start: call.start,
            end: turn.now,
            offset: call.offset,
            first_byte: first_byte.min(turn.now),
            servers,
            timeouts: call.timeouts,
        };
        turn.observers.file_call_ends::<M>(rank, &record);
    }
}
