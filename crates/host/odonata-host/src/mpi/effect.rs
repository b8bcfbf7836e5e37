//! Effects: what the MPI library asks of the hosts, which carry it out.

use super::contribution::RankContribution;
use crate::layout::Layout;
use crate::payload::Payload;
use crate::settings::{Mpi as Settings, RendezvousForm};
use odonata_engine::{NIL, Time};
use odonata_workload::Access;

/// An effect of an input. `caller` is the executor's name of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MpiEffect {
    /// Send a message between ranks.
    Send(OutgoingMessage),
    /// Hand over the part of a rank in a sum of routers.
    Contribute(RankContribution),
    /// The requests of the call are complete, and its costs occupy its stream until `until`.
    Occupy { caller: u32, until: Time },
    /// The call has ended; the request that completed last may have been for I/O.
    End { caller: u32, for_io: bool },
    /// One of several requests that the call waits for is complete. It takes requests at the end of this event.
    Wake { caller: u32 },
    /// The step of a non-blocking collective lasts until `at`.
    StepEnds { call: u32, at: Time },
    /// A receive of `rank` with any tag has taken a message with `tag`.
    TakeTag { rank: u32, tag: u32 },
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingMessage {
    pub(crate) payload: Payload,
    pub(crate) bytes: u64,
    /// Time of the call.
    pub(crate) created: Time,
    /// From now until the software has done its part.
    pub(crate) software: Time,
    /// The observers' tag of its cause.
    pub(crate) cause: u32,
}

/// The way of a message.
pub(crate) struct MessageRoute {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Bytes that count as sent by the rank; none of the protocol.
    pub(crate) counted: Option<u64>,
    /// The request that completes when the message has left, or [`NIL`].
    pub(crate) request: u32,
}

impl OutgoingMessage {
    /// The way of the message between ranks placed by `layout`.
    #[inline]
    pub(crate) fn route(&self, settings: &Settings, layout: &Layout) -> MessageRoute {
        let (from, to, counted, request) = match self.payload {
            Payload::Eager { from, to, request, .. } => {
                let leaves = !settings.is_acknowledged(layout, (from, to), self.bytes);
                (from, to, Some(self.bytes), if leaves { request } else { NIL })
            }
            Payload::Rts { from, to, bytes, .. } => (from, to, Some(bytes), NIL),
            Payload::RendezvousData { from, to, request, .. } => match settings.rendezvous {
                RendezvousForm::Put => (from, to, None, request),
                RendezvousForm::Get => (from, to, None, NIL),
            },
            Payload::Access {
                from,
                to,
                access: Access::Put | Access::Accumulate | Access::GetAccumulate,
                ..
            }
            | Payload::Fetched { from, to, .. } => (from, to, Some(self.bytes), NIL),
            Payload::Cts { from, to, .. }
            | Payload::Ack { from, to, .. }
            | Payload::Access { from, to, .. }
            | Payload::Lock { from, to, .. }
            | Payload::Unlock { from, to, .. }
            | Payload::Epoch { from, to, .. } => (from, to, None, NIL),
            _ => unreachable!("the library sends messages of MPI only"),
        };
        MessageRoute {
            from,
            to,
            counted,
            request,
        }
    }
}
