//! The current activity of a server, for traces.

use crate::MeasuredServers;
use crate::open_request::{Piece, PieceKind};
use odonata_engine::NIL;
use odonata_units::Time;

/// The purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum AccessKind {
    /// The device writes for a request.
    Write,
    /// The device reads for a request.
    Read,
    /// The device reads for the drain.
    Fetch,
    /// The drain's link carries a block to the external file system.
    Drain,
}

/// An access of a device, or a transfer of a drain, with the state of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAccess {
    /// The device, counted within the server; for a transfer, the device that has the data.
    pub device: u32,
    /// Its purpose.
    pub kind: AccessKind,
    /// The job that owns the data.
    pub owner: u16,
    /// The client of its request, or [`NIL`].
    pub client: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it joined the device's queue; for a transfer, when the transfer began.
    pub joined: Time,
    /// When it began.
    pub begin: Time,
    /// Space in use on the device, in bytes.
    pub used: u64,
    /// Memory in use, in bytes (whole blocks).
    pub memory: u64,
}

impl MeasuredServers<'_> {
    /// The server whose device serves the piece in `slot`, and its activity.
    pub fn in_service(self, slot: u32) -> (u32, ServerAccess) {
        let piece = self.parts.pieces.get(slot);
        let (kind, client) = match piece.request {
            // A copy from the lower tier has no client.
            _ if piece.kind == PieceKind::Fill => (AccessKind::Write, NIL),
            NIL => (AccessKind::Fetch, NIL),
            request => {
                let what = &self.parts.requests.get(request).what;
                let kind = if what.operation.is_write() {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                };
                (kind, what.header.client.number())
            }
        };
        let access = self.access(piece, (kind, client), (piece.joined, piece.since));
        (piece.server, access)
    }

    /// The transfer that ends at `end` on the link of `server`'s drain, if there is one.
    pub fn in_transfer(self, server: u32, end: Time) -> Option<ServerAccess> {
        let piece = self.parts.pieces.get(self.parts.pipelines.sending(server)?);
        let transfer = self.parts.pipelines.transfer_time(server, piece.bytes);
        let begin = end.saturating_sub(transfer);
        Some(self.access(piece, (AccessKind::Drain, NIL), (begin, begin)))
    }

    fn access(self, piece: &Piece, (kind, client): (AccessKind, u32), (joined, begin): (Time, Time)) -> ServerAccess {
        ServerAccess {
            device: piece.device - self.parts.devices.of(piece.server).start,
            kind,
            owner: piece.owner,
            client,
            bytes: piece.bytes,
            joined,
            begin,
            used: self.parts.space.used(piece.device),
            memory: self.parts.memories.bytes_in_use(piece.server),
        }
    }
}
