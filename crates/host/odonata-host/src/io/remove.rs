//! Removal of a file: a rank's `unlink` frees what storage servers hold of it.
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

use odonata_engine::NIL;
use odonata_storage::{FileLayout, MetadataCall, StorageOperation};

use crate::Hosts;
use crate::context::HostContext;
use crate::io::calls::{Call, OpenCall};

impl Hosts {
    /// Whether `call` of `rank` is one that storage servers hear of behind the metadata server.
    pub(crate) fn removes(&self, rank: u32, call: MetadataCall) -> bool {
        call == MetadataCall::Unlink && self.params.removes && self.layout.place(rank).server != NIL
    }

    /// The metadata server has answered call `transfer`.
    pub(crate) fn metadata_answered<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall { call, rank, .. } = *self.io.calls.calls.get(transfer);
        match call {
            Call::Metadata(call) if self.removes(rank, call) => self.send_removals(ctx, transfer),
            _ => self.end_metadata_call(ctx, transfer),
        }
    }

    /// Removes the file of call `transfer` from all servers that may have something of it.
    pub(crate) fn send_removals<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall { rank, file, .. } = *self.io.calls.calls.get(transfer);
        let place = self.layout.place(rank);
        let job = self.layout.job(place.job);
        let servers: Vec<u32> = match job.files.layout {
            FileLayout::Assigned => job.directory_servers.clone(),
            FileLayout::Striped(_) => job.files.layout.servers_of(file, place.server).collect(),
        };
        self.access_file(ctx, transfer, StorageOperation::Remove, &servers);
    }
}
