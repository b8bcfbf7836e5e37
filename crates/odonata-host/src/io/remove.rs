//! Removal of a file: a rank's `unlink` frees what storage servers hold of it.
//!
//! ```text
//!   metadata server: the name is gone -> every storage server that may have something of the file: its bytes are gone -> the call ends
//! ```
//!
//! The order of PVFS, whose clients remove the name and then the data files (Ross et al., 2000). A message per server, all at once:
//! in stripes, those of the file; where each rank has a server of its own (`layout = "assigned"`), those of all jobs with the same
//! directory, since nobody knows who has written. The caller's own writes end before it asks anybody. What a server does is
//! in `odonata-storage` (`remove.rs`); it asks the tier below itself. Where servers keep no index of what is where, they
//! know nothing of files, and nobody asks them.

use odonata_engine::NIL;
use odonata_storage::{FileLayout, MetadataCall, RemoveRequest};

use crate::Hosts;
use crate::context::HostContext;
use crate::io::below::ErrandKind;
use crate::io::below_retry::What;
use crate::io::client::{Call, FileTransfer};
use crate::lost::ServerRequest;

impl Hosts {
    /// Whether `call` of `rank` is one that storage servers hear of behind the metadata server.
    pub(crate) fn removes(&self, rank: u32, call: MetadataCall) -> bool {
        call == MetadataCall::Unlink && self.params.removes && self.layout.place(rank).server != NIL
    }

    /// The metadata server has answered call `transfer`.
    pub(crate) fn metadata_answered<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let FileTransfer { call, rank, .. } = *self.io.clients.transfers.get(transfer);
        match call {
            Call::Metadata(call) if self.removes(rank, call) => self.send_removals(ctx, transfer),
            _ => self.end_metadata_call(ctx, transfer),
        }
    }

    /// Removes the file of call `transfer` from all servers that may have something of it.
    pub(crate) fn send_removals<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let FileTransfer { rank, file, .. } = *self.io.clients.transfers.get(transfer);
        let place = self.layout.place(rank);
        let job = self.layout.job(place.job);
        let servers: Vec<u32> = match job.files.layout {
            FileLayout::Assigned => job.directory_servers.clone(),
            FileLayout::Striped(_) => job.files.layout.servers_of(file, place.server).collect(),
        };
        self.ask_all(ctx, transfer, &servers);
    }

    /// A client removes a file at `server`.
    pub(crate) fn removal_arrived<C: HostContext>(&mut self, ctx: &mut C, server: u32, what: RemoveRequest) {
        let (client, token) = (what.client, what.token);
        self.ranks.lost.asks::<C>(ServerRequest { client, token });
        let (now, server) = (ctx.now(), self.layout.server(server).local);
        self.serve(ctx, |servers, actions| servers.remove::<C>(now, server, what, actions));
    }

    /// Removes what `server` (its number in the part) has handed down of a file.
    pub(crate) fn remove_below<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (server, slot): (u32, u32),
        RemoveRequest { owner, file, .. }: RemoveRequest,
    ) {
        self.ask_all_below(ctx, (server, slot), ErrandKind::Removal, (owner, file), What::Remove);
    }
}
