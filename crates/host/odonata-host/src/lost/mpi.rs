//! Lost time of operations, of the requests that they wait for, and of messages that wait for a match.

use super::path::PathCall;
use super::{Dependent, LostTime};
use crate::mpi::matching::Envelope;
use crate::mpi::progress::ProtocolWork;
use odonata_blame::lost::Stamp;
use odonata_engine::{Mode, NIL, Time};

impl Dependent {
    /// The owner of the stamp of message `envelope` while it waits at `rank`.
    pub(crate) fn envelope(rank: u32, envelope: &Envelope) -> Dependent {
        Dependent::Envelope(rank, envelope.source, envelope.context, envelope.sequence)
    }

    /// The owner of the stamp of deferred library work; the stamp of a collective is kept by its operation.
    fn work(work: ProtocolWork) -> Option<Dependent> {
        match work {
            ProtocolWork::SendCts { incoming } => Some(Dependent::Incoming(incoming)),
            ProtocolWork::SendData { outgoing } => Some(Dependent::Outgoing(outgoing)),
            ProtocolWork::CollectiveStep { .. } => None,
        }
    }
}

impl LostTime {
    #[inline]
    pub(crate) fn call<M: Mode>(&mut self, slot: u32, rank: u32, now: Time) {
        if self.is_on() {
            self.begins(now);
            self.continues(Dependent::Rank(rank), now);
            self.note::<M>(Dependent::Operation(slot));
        }
    }

    #[inline]
    pub(crate) fn begin_step<M: Mode>(&mut self, slot: u32, now: Time) {
        if self.is_on() {
            self.continues(Dependent::Operation(slot), now);
            self.note::<M>(Dependent::Step(slot));
        }
    }

    /// Extends the step: it occupies its stream until `busy_until`, regardless of its requests.
    #[inline]
    pub(crate) fn occupy<M: Mode>(&mut self, slot: u32, busy_until: Time) {
        if self.is_on()
            && let Some(own) = self.stamp(Dependent::Operation(slot))
        {
            let before = std::mem::replace(&mut self.current, own.later(busy_until));
            self.needs_current::<M>(Dependent::Step(slot));
            self.current = before;
        }
    }

    /// Extends the step of operation `slot` by the handling of its receives, until `busy_until`.
    #[inline]
    pub(crate) fn handle_receives<M: Mode>(&mut self, slot: u32, busy_until: Time) {
        if self.is_on()
            && let Some(stamp) = self.stamp(Dependent::Step(slot))
        {
            let before = std::mem::replace(&mut self.current, stamp.later(busy_until));
            self.note::<M>(Dependent::Step(slot));
            self.current = before;
        }
    }

    /// Ends the step of operation `slot`, whose requests are all complete. `call` returns the rank, its call, and the
    /// time of the call.
    #[inline]
    pub(crate) fn end_step<M: Mode>(&mut self, slot: u32, now: Time, call: impl FnOnce() -> (u32, PathCall, Time)) {
        if self.is_on()
            && let Some(stamp) = self.stamp(Dependent::Step(slot))
        {
            let mut stamp = stamp.later(now);
            if self.path.is_on() {
                let (rank, call, begin) = call();
                self.record_wait::<M>(rank, call, begin, &mut stamp);
            }
            self.is_now(stamp);
            self.note::<M>(Dependent::Operation(slot));
        }
    }

    /// Retires operation `slot`; in the foreground, its `rank` continues from the operation's stamp. `job` returns the
    /// job of a rank.
    #[inline]
    pub(crate) fn retire<M: Mode>(&mut self, slot: u32, rank: Option<u32>, now: Time, job: impl FnOnce(u32) -> u16) {
        if self.is_on() {
            self.is_complete::<M>(Dependent::Operation(slot), now);
            self.forget::<M>(Dependent::Step(slot));
            if let Some(rank) = rank {
                if self.has_series() {
                    let before = self.stamp(Dependent::Rank(rank));
                    self.book::<M>(job(rank), before, now);
                }
                self.note::<M>(Dependent::Rank(rank));
            }
        }
    }

    /// Operation `waiter` has waited for `request`.
    #[inline]
    pub(crate) fn wait<M: Mode>(&mut self, waiter: u32, request: u32) {
        if self.is_on() {
            self.needs::<M>(Dependent::Step(waiter), Dependent::Request(request));
        }
    }

    /// A posted receive matches `message`, which arrived earlier at `rank`. In a rendezvous, the data need both;
    /// otherwise the data have arrived, and the request completes at their arrival. Returns the stamp to restore.
    #[inline]
    pub(crate) fn meets_earlier<M: Mode>(&mut self, rank: u32, message: &Envelope) -> Option<Box<Stamp>> {
        let before = self.save()?;
        let dependent = Dependent::envelope(rank, message);
        if let Some(arrival) = self.stamp(dependent) {
            self.forget::<M>(dependent);
            match message.rendezvous {
                NIL => self.current = arrival,
                _ => self.current.join(&arrival),
            }
        }
        Some(before)
    }

    /// An arriving message matches a receive for `request` that was posted earlier. Returns the stamp to restore.
    #[inline]
    pub(crate) fn meets_later<M: Mode>(&mut self, request: u32, message: &Envelope) -> Option<Box<Stamp>> {
        let before = self.save()?;
        if message.rendezvous != NIL && request != NIL {
            self.takes::<M>(Dependent::Request(request));
        }
        Some(before)
    }

    /// Defers `work` to the next call of its rank.
    #[inline]
    pub(crate) fn defer_work<M: Mode>(&mut self, work: ProtocolWork) {
        if let Some(dependent) = Dependent::work(work) {
            self.note::<M>(dependent);
        }
    }

    /// Does `work`, which waited for its rank if it was deferred.
    #[inline]
    pub(crate) fn do_work<M: Mode>(&mut self, work: ProtocolWork) {
        if let Some(dependent) = Dependent::work(work) {
            self.takes::<M>(dependent);
        }
    }
}
