//! Requests that are open and pieces in transit: the cells of the two pools.

use crate::StorageRequest;
use odonata_blame::Place;
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
    /// Pieces between "wants memory" and "is done"; of a write that is answered in memory, "is in memory".
    pub(crate) in_flight: u32,
    /// Bytes for which a piece was made.
    pub(crate) issued: u64,
    /// Bytes of a write that are, or were, in the memory of the server.
    pub(crate) received: u64,
    /// Bytes of pieces that are done.
    pub(crate) done: u64,
    /// Whether it is a write that is answered when it is in memory: its pieces are in flight until then.
    pub(crate) write_back: bool,
    /// Whether it brings data from the lower tier to the device, for no receiver.
    pub(crate) stages: bool,
    /// Whether it was answered: nobody waits for the rest.
    pub(crate) answered: bool,
    /// Whether its server, or its device, has failed since.
    pub(crate) dead: bool,
    /// Whether its file was removed since.
    pub(crate) removed: bool,
    /// Whether some of what it reads is lost, of which its reader is told.
    pub(crate) lost: bool,
    pub(crate) arrived: Time,
    /// Pieces that wait for memory, and for the device.
    pub(crate) at_memory: u32,
    pub(crate) at_device: u32,
    /// Pieces that the device serves.
    pub(crate) in_service: u32,
    /// Of a write that was acknowledged early, its number among those of its server.
    pub(crate) number: u64,
    /// What it waits for as a whole; only where waits are booked.
    pub(crate) wait: Wait,
    /// Since when, where it is asked whom this one has waited for.
    pub(crate) place: Place,
    next: u32,
}

/// What a request as a whole waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Wait {
    /// Nothing that the server has: it is being served, or its data are on their way.
    Nothing,
    /// Space on the device.
    Space,
    /// A block of memory, and nothing of it is on its way.
    Memory,
    /// The device, which serves somebody else.
    Device,
}

impl OpenRequest {
    /// What it waits for now that it has its space.
    pub(crate) fn waits_for(&self) -> Wait {
        if self.answered || self.dead || (self.in_service > 0 && !self.write_back) {
            Wait::Nothing
        } else if self.at_device > 0 && !self.write_back {
            Wait::Device
        } else if self.at_memory > 0 && self.at_memory == self.in_flight {
            Wait::Memory
        } else {
            Wait::Nothing
        }
    }

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
            wait: Wait::Nothing,
            place: Place::NONE,
            next: NIL,
        }
    }
}

/// A block's worth of a request, or of the drain.
///
/// Carries all that the device has to know, so that pieces may arrive in any order.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Piece {
    /// The request, or [`NIL`] for the drain's.
    pub(crate) request: u32,
    pub(crate) server: u32,
    pub(crate) device: u32,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// When it began to wait for what it waits for; at the device, since when it is served.
    pub(crate) since: Time,
    /// When it joined the queue of its device.
    pub(crate) joined: Time,
    /// The job that it belongs to.
    pub(crate) owner: u16,
    pub(crate) kind: PieceKind,
    /// Of a write-through: how many of device and lower tier do not have it yet.
    pub(crate) missing: u8,
    /// Whether it is on its way down.
    pub(crate) down: bool,
    /// Whether its server, or its device, has failed since.
    pub(crate) dead: bool,
    /// Whether its file was removed since.
    pub(crate) removed: bool,
    /// Whether the lower tier has lost some of it.
    pub(crate) lost: bool,
    /// Of a dead one, whether it has a block of memory of a server that is there.
    pub(crate) has_block: bool,
    /// Whether a device has begun to serve it.
    pub(crate) begun: bool,
    /// Who has made it seek, which it would not have alone.
    pub(crate) moved_by: Option<u16>,
    /// Of a block that goes down, its number among those of its server.
    pub(crate) number: u64,
    next: u32,
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum PieceKind {
    /// A request.
    Request,
    /// A read whose data have come from the lower tier.
    Fetched,
    /// On its way down.
    Drain,
    /// A clean copy of what was read from the lower tier, on its way to the device.
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
            moved_by: None,
            number: 0,
            next: NIL,
        }
    }
}

odonata_engine::slots!(OpenRequest Piece);
