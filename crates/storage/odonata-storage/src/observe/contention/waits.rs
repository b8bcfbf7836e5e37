//! What a request waits for at a server, and the lines of a device in the ledger.

use odonata_blame::{Cause, Place};
use odonata_engine::Time;

use super::super::charges::{FAULT, RESERVED, RequestLoss};
use crate::RequestHeader;
use crate::open_request::OpenRequest;
use crate::servers::ServerParts;

/// Space on the device.
pub(super) const SPACE: Cause = 0;
/// A block of memory.
pub(super) const MEMORY: Cause = 1;
/// The device.
pub(super) const DEVICE: Cause = 2;

/// A block of the reserve for data that leave.
pub(super) const RESERVE: Cause = 3;

/// A device that is stalled or slow.
pub(super) const LOST: Cause = 4;

/// Lines of a device: one for each of the resources above.
pub(super) const LINES: u32 = 4;

/// The resource that a request as a whole waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Wait {
    /// No resource of the server: it is in service, or its data are on their way.
    #[default]
    Nothing,
    /// Space on the device.
    Space,
    /// A block of memory, while none of its data are on their way.
    Memory,
    /// The device, which serves another request.
    Device,
}

impl Wait {
    /// The resource that `request` waits for, once it has its space.
    pub(super) fn of(request: &OpenRequest) -> Wait {
        if request.answered || request.dead || (request.in_service > 0 && !request.write_back) {
            Wait::Nothing
        } else if request.at_device > 0 && !request.write_back {
            Wait::Device
        } else if request.at_memory > 0 && request.at_memory == request.in_flight {
            Wait::Memory
        } else {
            Wait::Nothing
        }
    }

    pub(super) fn cause(self) -> Option<Cause> {
        match self {
            Wait::Nothing => None,
            Wait::Space => Some(SPACE),
            Wait::Memory => Some(MEMORY),
            Wait::Device => Some(DEVICE),
        }
    }
}

/// The wait of an open request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct RequestWait {
    pub(super) wait: Wait,
    /// Its position in the history of its line, where waits of single requests are recorded.
    pub(super) place: Option<Place>,
}

/// A request or synchronization that waits at a server while a client waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    /// Its position in the history of its line.
    pub(super) place: Place,
    /// Its job.
    pub(super) owner: u16,
    /// The header of its request; `None` after the answer, since the client may reuse its token.
    pub(super) name: Option<RequestHeader>,
}

impl Waiter {
    pub(super) fn of(request: &OpenRequest, place: Place) -> Waiter {
        let what = request.what;
        Waiter {
            place,
            owner: what.header.owner,
            name: (!request.answered).then_some(what.header),
        }
    }

    /// The loss of the wait in `line` for `resource`, which `culprit` held.
    pub(super) fn loss(
        self,
        line: u32,
        (culprit, resource): (u16, Cause),
        (from, until): (Time, Time),
    ) -> Option<RequestLoss> {
        let waits_for_device = line % LINES == u32::from(DEVICE);
        self.name.map(|header| RequestLoss {
            header,
            // The device; `take_waits` replaces it by its server.
            server: line / LINES,
            device: waits_for_device.then_some(line / LINES),
            culprit,
            resource: resource_of(resource),
            from,
            until,
        })
    }
}

/// The line for `cause` at a device; for memory, at the first device of a server.
pub(super) fn line(device: u32, cause: Cause) -> u32 {
    device * LINES + u32::from(cause)
}

/// The line for `cause` at `device` of `server`.
pub(super) fn line_of(parts: &ServerParts, (server, device): (u32, u32), cause: Cause) -> u32 {
    match cause {
        MEMORY | RESERVE => line(parts.devices.of(server).start, cause),
        cause => line(device, cause),
    }
}

/// The number of a cause in [`SERVER_RESOURCES`].
pub(super) fn resource_of(cause: Cause) -> u8 {
    match cause {
        RESERVE => RESERVED,
        LOST => FAULT,
        cause => cause,
    }
}
