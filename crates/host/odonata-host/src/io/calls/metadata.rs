//! Calls for metadata: a rank asks the server that has the file's name, and waits for its answer.
//!
//! A call is one control message to the server, its turn and its time there
//! ([`MetadataServers`](odonata_storage::MetadataServers)), and one control message back. Before that, `close` and `sync`
//! wait until all writes of the rank are acknowledged, and `sync` until the storage servers have committed what they have
//! of the file. Without metadata servers, only these waits take time.
//!
//! `unlink` frees what storage servers hold of a file:
//!
//! ```text
//!   metadata server: the name is gone -> every storage server that may have something of the file: its bytes are gone -> the call ends
//! ```
//!
//! The order of PVFS, whose clients remove the name and then the data files (Ross et al., 2000). A message per server, all at once:
//! in stripes, those of the file; where each rank has a server of its own (`layout = "assigned"`), those of all jobs with the same
//! directory, since each of them may have written. The caller's own writes end before it sends a request. What a server does is
//! in `odonata-storage` (`remove.rs`); it asks the lower tier itself. Servers without an index of their contents know no files, and
//! get no request.

use super::{Call, CallTurn, FileCalls, OpenCall};
use crate::context::Uses;
use crate::io::client::RequestPart;
use crate::io::effect::IoEffect;
use crate::metrics::IoOperation;
use odonata_engine::NIL;
use odonata_storage::{FileLayout, MetadataCall, MetadataName, StorageOperation};
use odonata_workload::FileCall;

/// What a server is asked for `call`.
pub(crate) const fn metadata_call(call: FileCall) -> MetadataCall {
    match call {
        FileCall::Open => MetadataCall::Open,
        FileCall::Create => MetadataCall::Create,
        FileCall::Stat => MetadataCall::Stat,
        FileCall::Close => MetadataCall::Close,
        FileCall::Unlink => MetadataCall::Unlink,
        FileCall::Sync => MetadataCall::Sync,
        FileCall::Mkdir => MetadataCall::Mkdir,
        FileCall::Rmdir => MetadataCall::Rmdir,
    }
}

impl FileCalls {
    /// Whether `call` of `rank` takes any time.
    pub(crate) fn takes_time(&self, rank: u32, call: MetadataCall) -> bool {
        self.waits_for_writes(rank, call)
            || self.syncs(rank, call)
            || self.removes(rank, call)
            || self.layout.metadata_servers() > 0
    }

    /// Whether `call` of `rank` waits for the acknowledgement of writes.
    fn waits_for_writes(&self, rank: u32, call: MetadataCall) -> bool {
        let ends_writes = matches!(call, MetadataCall::Close | MetadataCall::Sync) || self.removes(rank, call);
        ends_writes && self.writes_behind(rank) > 0
    }

    /// Whether storage servers hear of `call` of `rank` before the metadata server.
    fn syncs(&self, rank: u32, call: MetadataCall) -> bool {
        call == MetadataCall::Sync && self.layout.place(rank).server != NIL
    }

    /// Whether storage servers hear of `call` of `rank` after the metadata server.
    fn removes(&self, rank: u32, call: MetadataCall) -> bool {
        call == MetadataCall::Unlink && self.removes && self.layout.place(rank).server != NIL
    }

    /// Begins `call`, which [takes time](Self::takes_time).
    pub(crate) fn begin_metadata<M: Uses>(&mut self, turn: &mut CallTurn<'_>, call: OpenCall) {
        let Call::Metadata(kind) = call.call else {
            return;
        };
        let waits = self.waits_for_writes(call.rank, kind);
        let slot = self.calls.allocate::<M>(call);
        match waits {
            true => self.wait_for_writes::<M>(slot),
            false => self.go_on_with_metadata::<M>(turn, slot),
        }
    }

    /// No write holds call `slot` up: begins its first request, or ends it.
    pub(super) fn go_on_with_metadata<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall { call, rank, .. } = *self.calls.get(slot);
        match call {
            Call::Metadata(call) if self.syncs(rank, call) => self.sync_file::<M>(turn, slot),
            Call::Metadata(MetadataCall::Unlink) if self.layout.metadata_servers() == 0 => {
                self.metadata_answered::<M>(turn, slot);
            }
            _ => self.ask_metadata_server::<M>(turn, slot),
        }
    }

    /// Synchronizes the file of call `slot` at all servers that may have bytes of it.
    fn sync_file<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall { rank, file, .. } = *self.calls.get(slot);
        let place = self.layout.place(rank);
        let files = self.layout.job(place.job).files;
        let servers: Vec<u32> = files.layout.servers_of(file, place.server).collect();
        let to_last_tier = self.syncs_last_tier;
        self.access_file::<M>(turn, slot, StorageOperation::Sync { to_last_tier }, &servers);
    }

    /// All storage servers have synchronized the file of call `slot`.
    pub(super) fn servers_synced<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        match self.layout.metadata_servers() {
            0 => self.end_metadata::<M>(turn, slot),
            _ => self.ask_metadata_server::<M>(turn, slot),
        }
    }

    fn ask_metadata_server<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall {
            call,
            rank,
            request,
            file,
            offset: directory,
            ..
        } = *self.calls.get(slot);
        let (Call::Metadata(call), Some(params)) = (call, self.metadata) else {
            self.calls.free::<M>(slot);
            turn.effects.push(IoEffect::Complete { request });
            return;
        };
        let name = MetadataName {
            root: self.layout.job_of(rank).files.key,
            directory: directory as u32,
            file,
        };
        let servers = self.layout.metadata_servers();
        let server = self.layout.first_metadata + name.server(servers, params.by_directory);
        self.calls.edit::<M>(slot).server = server;
        let part = RequestPart::whole(server, name.key_of_directory());
        self.request::<M>(turn, slot, StorageOperation::Metadata(call), std::iter::once(part));
    }

    /// The metadata server has answered call `slot`.
    pub(super) fn metadata_answered<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall { call, rank, .. } = *self.calls.get(slot);
        match call {
            Call::Metadata(call) if self.removes(rank, call) => self.send_removals::<M>(turn, slot),
            _ => self.end_metadata::<M>(turn, slot),
        }
    }

    /// Removes the file of call `slot` from all servers that may have something of it.
    fn send_removals<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let OpenCall { rank, file, .. } = *self.calls.get(slot);
        let place = self.layout.place(rank);
        let job = self.layout.job(place.job);
        let servers: Vec<u32> = match job.files.layout {
            FileLayout::Assigned => job.directory_servers.clone(),
            FileLayout::Striped(_) => job.files.layout.servers_of(file, place.server).collect(),
        };
        self.access_file::<M>(turn, slot, StorageOperation::Remove, &servers);
    }

    /// The last server has answered call `slot`.
    pub(super) fn end_metadata<M: Uses>(&mut self, turn: &mut CallTurn<'_>, slot: u32) {
        let call = *self.calls.get(slot);
        self.calls.free::<M>(slot);
        if let Call::Metadata(kind) = call.call {
            let what = (IoOperation::Metadata(kind), 0, call.parts.max(1));
            self.record::<M>(turn, &call, what, turn.now);
        }
        let OpenCall { rank, request, .. } = call;
        turn.effects.push(IoEffect::Complete { request });
        turn.effects.push(IoEffect::Advance { rank });
    }
}
