//! Open requests and pieces in transit: the cells of the two pools.

use crate::StorageRequest;
use odonata_engine::NIL;
use odonata_units::Time;

/// An open request.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OpenRequest {
    pub(crate) what: StorageRequest,
    /// The number of its lock, if it has one.
    pub(crate) lock: Option<u32>,
    pub(crate) server: u32,
    /// The device that has, or will have, its data.
    pub(crate) device: u32,
    /// Pieces between their request for memory and their end. A piece of a write with `write_back` ends when it is in memory.
    pub(crate) in_flight: u32,
    /// Bytes that have a piece.
    pub(crate) issued: u64,
    /// Bytes of a write that are, or were, in the memory of the server.
    pub(crate) received: u64,
    /// Bytes of pieces that have ended.
    pub(crate) done: u64,
    /// Whether it is a write that is acknowledged in memory.
    pub(crate) write_back: bool,
    /// Whether it brings data from the lower tier to the device, for no receiver.
    pub(crate) stages: bool,
    /// Whether it was answered: no client waits for the rest.
    pub(crate) answered: bool,
    /// Whether its server or device has failed.
    pub(crate) dead: bool,
    /// Whether its file was removed.
    pub(crate) removed: bool,
    /// Whether part of what it reads is lost, and the answer says so.
    pub(crate) lost: bool,
    pub(crate) arrived: Time,
    /// Pieces that wait for memory.
    pub(crate) at_memory: u32,
    pub(crate) at_device: u32,
    /// Pieces in service at the device.
    pub(crate) in_service: u32,
    /// The number of a write that was acknowledged early, among those of its server.
    pub(crate) number: u64,
    next: u32,
}

impl OpenRequest {
    pub(crate) fn new(now: Time, (server, device): (u32, u32), what: StorageRequest) -> Self {
        OpenRequest {
            what,
            lock: None,
            server,
            device,
            in_flight: 0,
            issued: 0,
            received: 0,
            done: 0,
            write_back: false,
            stages: false,
            answered: false,
            dead: false,
            removed: false,
            lost: false,
            arrived: now,
            at_memory: 0,
            at_device: 0,
            in_service: 0,
            number: 0,
            next: NIL,
        }
    }
}

/// A block of a request, or of the drain.
///
/// A piece carries everything that the device needs, so that pieces may arrive in any order.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Piece {
    /// The request, or [`NIL`] for a piece of the drain.
    pub(crate) request: u32,
    pub(crate) server: u32,
    pub(crate) device: u32,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// The start of its current wait; at the device, the start of its service.
    pub(crate) since: Time,
    /// When it joined the queue of its device.
    pub(crate) joined: Time,
    /// The job that it belongs to.
    pub(crate) owner: u16,
    pub(crate) kind: PieceKind,
    /// Of a write-through: the number of copies still missing, on the device and in the lower tier.
    pub(crate) missing: u8,
    /// Whether it is on its way to the lower tier.
    pub(crate) down: bool,
    /// Whether its server or device has failed.
    pub(crate) dead: bool,
    /// Whether its file was removed.
    pub(crate) removed: bool,
    /// Whether the lower tier has lost part of it.
    pub(crate) lost: bool,
    /// Whether it is dead and still holds a block of memory of a server that is up.
    pub(crate) has_block: bool,
    /// Whether a device has begun to serve it.
    pub(crate) begun: bool,
    /// The number of a block that leaves, among those of its server.
    pub(crate) number: u64,
    next: u32,
}

/// The purpose of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum PieceKind {
    /// A request.
    Request,
    /// A read whose data have come from the lower tier.
    Fetched,
    /// A block on its way to the lower tier.
    Drain,
    /// A clean copy of data from the lower tier, on its way to the device.
    Fill,
}

impl Piece {
    /// Its bytes within the object.
    pub(crate) fn range(&self) -> std::ops::Range<u64> {
        self.offset..self.offset.saturating_add(self.bytes)
    }

    pub(crate) fn new(
        now: Time,
        (server, device): (u32, u32),
        (request, owner): (u32, u16),
        object: u64,
        offset: u64,
        bytes: u64,
    ) -> Self {
        Piece {
            owner,
            request,
            server,
            device,
            object,
            offset,
            bytes,
            since: now,
            joined: now,
            kind: if request == NIL {
                PieceKind::Drain
            } else {
                PieceKind::Request
            },
            missing: 0,
            down: false,
            dead: false,
            removed: false,
            lost: false,
            has_block: false,
            begun: false,
            number: 0,
            next: NIL,
        }
    }
}

odonata_engine::slots!(OpenRequest Piece);
