//! Requests that are open and pieces in transit: the cells of the two pools.

use crate::NewRequest;
use odonata_engine::{NIL, Slot};
use odonata_units::Time;

/// An open request.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Request {
    pub(crate) what: NewRequest,
    pub(crate) server: u32,
    /// Pieces between "wants memory" and "is done".
    pub(crate) in_flight: u32,
    /// Bytes for which a piece was made.
    pub(crate) issued: u64,
    /// Bytes of pieces that are done.
    pub(crate) done: u64,
    pub(crate) arrived: Time,
    /// Pieces that wait for memory, and for the device.
    pub(crate) at_memory: u32,
    pub(crate) at_device: u32,
    /// Whether the device serves one of its pieces.
    pub(crate) in_service: bool,
    /// What it waits for as a whole; only where waits are booked.
    pub(crate) wait: Wait,
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

impl Request {
    /// What it waits for now that it has its space.
    pub(crate) fn waits_for(&self) -> Wait {
        if self.in_service {
            Wait::Nothing
        } else if self.at_device > 0 {
            Wait::Device
        } else if self.at_memory > 0 && self.at_memory == self.in_flight {
            Wait::Memory
        } else {
            Wait::Nothing
        }
    }

    pub(crate) fn new(now: Time, server: u32, what: NewRequest) -> Self {
        Request {
            what,
            server,
            in_flight: 0,
            issued: 0,
            done: 0,
            arrived: now,
            at_memory: 0,
            at_device: 0,
            in_service: false,
            wait: Wait::Nothing,
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
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// When it began to wait for what it waits for.
    pub(crate) since: Time,
    /// The job that it belongs to.
    pub(crate) owner: u16,
    next: u32,
}

impl Piece {
    pub(crate) fn new(
        now: Time,
        server: u32,
        (request, owner): (u32, u16),
        object: u64,
        offset: u64,
        bytes: u64,
    ) -> Self {
        Piece {
            owner,
            request,
            server,
            object,
            offset,
            bytes,
            since: now,
            next: NIL,
        }
    }
}

impl Slot for Request {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Slot for Piece {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}
