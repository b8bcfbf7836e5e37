//! Requests that are open and pieces in transit: the cells of the two pools.

use crate::NewRequest;
use odonata_engine::{NIL, Slot};
use odonata_units::Time;

/// An open request.
#[derive(Clone, Copy, Debug)]
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
    next: u32,
}

impl Request {
    pub(crate) fn new(now: Time, server: u32, what: NewRequest) -> Self {
        Request {
            what,
            server,
            in_flight: 0,
            issued: 0,
            done: 0,
            arrived: now,
            next: NIL,
        }
    }
}

/// A block's worth of a request, or of the drain.
///
/// Carries all that the device has to know, so that pieces may arrive in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The request, or [`NIL`] for the drain's.
    pub(crate) request: u32,
    pub(crate) server: u32,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// When it began to wait for what it waits for.
    pub(crate) since: Time,
    next: u32,
}

impl Piece {
    pub(crate) fn new(now: Time, server: u32, request: u32, object: u64, offset: u64, bytes: u64) -> Self {
        Piece {
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
