//! The events of the hosts, and what a handler may do to the world outside.

use odonata_engine::{Context, Lp, Mode, Time};
use odonata_network::{Fabric, FabricEvent, Message};
use std::marker::PhantomData;

/// An event of the hosts; at most 12 bytes. Slots are indices into pools of [`Hosts`](super::Hosts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum HostEvent {
    /// The job of rank `rank` starts.
    Start {
        /// Rank, counted over all jobs.
        rank: u32,
    },
    /// The time for which operation `activity` occupied its stream has passed.
    Resume {
        /// Slot of the operation.
        activity: u32,
    },
    /// The source on rank `rank` sends its next message.
    Generate {
        /// Rank, counted over all jobs.
        rank: u32,
    },
    /// The sender of local message `parcel` may reuse its buffer.
    LocalSent {
        /// Slot of the message.
        parcel: u32,
    },
    /// Local message `parcel` is at its receiver.
    LocalArrived {
        /// Slot of the message.
        parcel: u32,
    },
    /// The access in service at `server`'s device ends.
    DeviceDone {
        /// Storage server.
        server: u32,
    },
    /// A block of `server` is safe in the external file system.
    DrainDone {
        /// Storage server.
        server: u32,
    },
}

/// What a handler of the hosts may do besides changing their state.
pub(crate) trait Outside: Mode {
    /// The current time.
    fn now(&self) -> Time;
    /// Schedules `event` for the hosts of LP `lp`, whose event is being handled.
    fn schedule(&mut self, lp: Lp, at: Time, event: HostEvent);
    /// Hands a message to the network interface of its source.
    fn submit(&mut self, at: Time, message: Message);
    /// Hands a message that does not want to know when it is sent to the network interface now.
    fn submit_now(&mut self, message: Message);
    /// Ends the run after this event.
    fn halt(&mut self, code: u32);
}

/// The [`Outside`] of a run: the scheduler's context and the fabric.
pub(crate) struct Desk<'a, E, C> {
    pub(crate) ctx: &'a mut C,
    pub(crate) fabric: &'a mut Fabric,
    event: PhantomData<E>,
}

impl<'a, E, C> Desk<'a, E, C> {
    pub(crate) fn new(ctx: &'a mut C, fabric: &'a mut Fabric) -> Self {
        Desk {
            ctx,
            fabric,
            event: PhantomData,
        }
    }
}

impl<E, C: Mode> Mode for Desk<'_, E, C> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<E, C> Outside for Desk<'_, E, C>
where
    E: Copy + From<FabricEvent> + From<HostEvent>,
    C: Context<E>,
{
    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }

    #[inline]
    fn schedule(&mut self, lp: Lp, at: Time, event: HostEvent) {
        self.ctx.send(lp, at, event.into());
    }

    #[inline]
    fn submit(&mut self, at: Time, message: Message) {
        self.fabric.submit::<E, C>(self.ctx, at, message);
    }

    #[inline]
    fn submit_now(&mut self, message: Message) {
        self.fabric.submit_now::<E, C>(self.ctx, message);
    }

    fn halt(&mut self, code: u32) {
        self.ctx.halt(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_small() {
        assert!(size_of::<HostEvent>() <= 12, "{} bytes", size_of::<HostEvent>());
    }
}
