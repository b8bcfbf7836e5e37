//! The facts that lost time follows: operations, the requests that they wait for, messages that wait for a match, starts
//! and ends of jobs.

use super::path::PathCall;
use super::{Dependent, LostTime, start};
use crate::context::Uses;
use crate::layout::Layout;
use crate::mpi::matching::Envelope;
use crate::mpi::progress::ProtocolWork;
use crate::observe::{IterationEnd, Observer, OperationEnd, RequestCompletion, RequestTaken, StepEnd};
use odonata_blame::lost::Stamp;
use odonata_engine::{NIL, Time};

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
            ProtocolWork::Combine { answer } => Some(Dependent::Answer(answer)),
            ProtocolWork::CollectiveStep { .. } => None,
        }
    }
}

impl Observer for LostTime {
    #[inline]
    fn event_begins<M: Uses>(&mut self, now: Time) {
        self.stamps.begins(now);
    }

    #[inline]
    fn operation_begins<M: Uses>(&mut self, operation: u32, rank: u32, now: Time) {
        if self.stamps.is_on() {
            self.stamps.begins(now);
            self.stamps.continues(Dependent::Rank(rank), now);
            self.stamps.note::<M>(Dependent::Operation(operation));
        }
    }

    #[inline]
    fn background_begins<M: Uses>(&mut self, operation: u32) {
        self.stamps.note::<M>(Dependent::Operation(operation));
    }

    #[inline]
    fn step_begins<M: Uses>(&mut self, operation: u32, now: Time) {
        if self.stamps.is_on() {
            self.stamps.continues(Dependent::Operation(operation), now);
            self.stamps.note::<M>(Dependent::Step(operation));
        }
    }

    #[inline]
    fn stream_is_occupied<M: Uses>(&mut self, operation: u32, until: Time) {
        if self.stamps.is_on()
            && let Some(own) = self.stamps.stamp(Dependent::Operation(operation))
        {
            let before = std::mem::replace(&mut self.stamps.current, own.later(until));
            self.stamps.needs_current::<M>(Dependent::Step(operation));
            self.stamps.current = before;
        }
    }

    #[inline]
    fn receives_are_handled<M: Uses>(&mut self, operation: u32, until: Time) {
        if self.stamps.is_on()
            && let Some(stamp) = self.stamps.stamp(Dependent::Step(operation))
        {
            let before = std::mem::replace(&mut self.stamps.current, stamp.later(until));
            self.stamps.note::<M>(Dependent::Step(operation));
            self.stamps.current = before;
        }
    }

    #[inline]
    fn step_ends<M: Uses>(&mut self, step: &StepEnd) {
        if self.stamps.is_on()
            && let Some(stamp) = self.stamps.stamp(Dependent::Step(step.operation))
        {
            let mut stamp = stamp.later(step.until);
            let call = PathCall::Operation(step.kind, step.number);
            self.path.record_wait::<M>(step.rank, call, step.since, &mut stamp);
            self.stamps.is_now(stamp);
            self.stamps.note::<M>(Dependent::Operation(step.operation));
        }
    }

    /// In the foreground, the rank continues from the operation's stamp.
    #[inline]
    fn operation_ends<M: Uses>(&mut self, end: &OperationEnd) {
        if self.stamps.is_on() {
            self.stamps
                .is_complete::<M>(Dependent::Operation(end.operation), end.now);
            self.stamps.forget::<M>(Dependent::Step(end.operation));
            if !end.background {
                if self.progress.has_series() {
                    let before = self.stamps.stamp(Dependent::Rank(end.rank));
                    (self.progress).charge_call::<M>(end.job, before.as_ref(), &self.stamps.current, end.now);
                }
                self.stamps.note::<M>(Dependent::Rank(end.rank));
            }
        }
    }

    fn iteration_ends<M: Uses>(&mut self, end: &IterationEnd) {
        let IterationEnd {
            operation, rank, now, ..
        } = *end;
        if !self.stamps.is_on() {
            return;
        }
        let Some(stamp) = self.stamps.stamp(Dependent::Operation(operation)) else {
            return;
        };
        let mut stamp = stamp.later(now);
        (self.progress).end_iteration::<M>((end.job, end.iteration), rank, stamp.clone());
        self.path.record_iteration::<M>(rank, end.iteration, now, &mut stamp);
        self.stamps.is_now(stamp);
        self.stamps.note::<M>(Dependent::Operation(operation));
        self.stamps.note::<M>(Dependent::Step(operation));
    }

    #[inline]
    fn receive_is_posted<M: Uses>(&mut self, request: u32) {
        self.stamps.note::<M>(Dependent::Request(request));
    }

    #[inline]
    fn request_completes<M: Uses>(&mut self, completion: &RequestCompletion) {
        self.stamps.note::<M>(Dependent::Request(completion.request));
    }

    /// The operation has waited for the request.
    #[inline]
    fn request_is_taken<M: Uses>(&mut self, taken: &RequestTaken) {
        if self.stamps.is_on() {
            self.stamps
                .needs::<M>(Dependent::Step(taken.operation), Dependent::Request(taken.request));
        }
    }

    #[inline]
    fn message_waits_for_earlier<M: Uses>(&mut self, rank: u32, message: &Envelope) {
        self.stamps.note::<M>(Dependent::envelope(rank, message));
    }

    #[inline]
    fn message_waits_for_receive<M: Uses>(&mut self, _: &Layout, rank: u32, message: &Envelope, _: Time) {
        self.stamps.note::<M>(Dependent::envelope(rank, message));
    }

    fn message_follows_earlier<M: Uses>(&mut self, rank: u32, message: &Envelope) {
        self.stamps.takes::<M>(Dependent::envelope(rank, message));
    }

    #[inline]
    fn work_is_deferred<M: Uses>(&mut self, work: ProtocolWork) {
        if let Some(dependent) = Dependent::work(work) {
            self.stamps.note::<M>(dependent);
        }
    }

    #[inline]
    fn work_is_done<M: Uses>(&mut self, work: ProtocolWork, operation: u32) {
        match Dependent::work(work) {
            Some(dependent) => self.stamps.takes::<M>(dependent),
            None => self.stamps.needs_current::<M>(Dependent::Step(operation)),
        }
    }

    /// The loss of the current event counts as the loss of its start.
    fn rank_may_start<M: Uses>(&mut self, rank: u32) {
        start::may_start::<M>(&mut self.stamps, rank);
    }

    fn rank_is_due<M: Uses>(&mut self, rank: u32, now: Time) {
        self.stamps.continues(Dependent::Start(rank), now);
    }

    fn rank_starts<M: Uses>(&mut self, rank: u32, job: u16, now: Time) {
        start::start_rank::<M>(&mut self.stamps, (rank, job), self.path.is_on(), now);
    }

    fn rank_ends<M: Uses>(&mut self, rank: u32, end: Time) {
        start::end_rank::<M>(&mut self.stamps, rank, end);
    }

    fn end_is_reported<M: Uses>(&mut self, rank: u32) {
        self.stamps.needs_current::<M>(Dependent::Ended(rank));
    }

    fn ranks_have_ended<M: Uses>(&mut self, rank: u32, now: Time) {
        self.stamps.is_complete::<M>(Dependent::Ended(rank), now);
    }

    fn job_end_is_known<M: Uses>(&mut self, rank: u32, job: u16) {
        start::concerns(&mut self.stamps, job);
        self.stamps.needs_current::<M>(Dependent::Awaited(rank));
    }

    fn job_may_start<M: Uses>(&mut self, rank: u32, now: Time) {
        self.stamps.is_complete::<M>(Dependent::Awaited(rank), now);
    }

    fn source_is_stopped<M: Uses>(&mut self, rank: u32) {
        self.stamps.note::<M>(Dependent::StopNotice(rank));
    }

    #[inline]
    fn local_message_departs<M: Uses>(&mut self, message: u32) {
        self.stamps.note::<M>(Dependent::Local(message));
    }

    #[inline]
    fn local_message_has_left<M: Uses>(&mut self, message: u32, now: Time) {
        self.stamps.continues(Dependent::Local(message), now);
    }

    #[inline]
    fn local_message_arrives<M: Uses>(&mut self, message: u32, now: Time) {
        self.stamps.is_complete::<M>(Dependent::Local(message), now);
    }
}

impl LostTime {
    /// A posted receive matches `message`, which arrived earlier at `rank`. In a rendezvous, the data need both;
    /// otherwise the data have arrived, and the request completes at their arrival. Returns the stamp to restore.
    #[inline]
    pub(crate) fn meets_earlier<M: Uses>(&mut self, rank: u32, message: &Envelope) -> Option<Box<Stamp>> {
        let before = self.stamps.save()?;
        let dependent = Dependent::envelope(rank, message);
        if let Some(arrival) = self.stamps.stamp(dependent) {
            self.stamps.forget::<M>(dependent);
            match message.rendezvous {
                NIL => self.stamps.current = arrival,
                _ => self.stamps.current.join(&arrival),
            }
        }
        Some(before)
    }

    /// An arriving message matches a receive for `request` that was posted earlier. Returns the stamp to restore.
    #[inline]
    pub(crate) fn meets_later<M: Uses>(&mut self, request: u32, message: &Envelope) -> Option<Box<Stamp>> {
        let before = self.stamps.save()?;
        if message.rendezvous != NIL && request != NIL {
            self.stamps.takes::<M>(Dependent::Request(request));
        }
        Some(before)
    }
}
