//! Facts of the hosts: what happens there, stated by the component where it happens.
//!
//! An *operation* is named by the executor's slot, or is a non-blocking collective in the background
//! ([`Calls::operation`](crate::mpi::call::Calls::operation)). It consists of steps; all but collectives have one.

use crate::layout::Layout;
use crate::mpi::matching::{Envelope, PostedReceive};
use crate::mpi::progress::ProtocolWork;
use crate::mpi::request::RequestKind;
use crate::timeline::CallKind;
use odonata_engine::{Mode, Time};
use odonata_workload::OpId;

/// A step of an operation ends: its requests are complete and its costs have passed at `until`.
pub(crate) struct StepEnd {
    pub(crate) operation: u32,
    pub(crate) until: Time,
    pub(crate) rank: u32,
    pub(crate) kind: CallKind,
    /// The number of the operation in the program.
    pub(crate) number: u32,
    /// Time of the call.
    pub(crate) since: Time,
}

/// An operation ends.
pub(crate) struct OperationEnd {
    pub(crate) operation: u32,
    pub(crate) rank: u32,
    pub(crate) job: u16,
    /// Whether it is a non-blocking collective.
    pub(crate) background: bool,
    pub(crate) now: Time,
}

/// A request completes.
pub(crate) struct RequestCompletion {
    pub(crate) request: u32,
    pub(crate) rank: u32,
    /// The program's number, or [`NIL`](odonata_engine::NIL).
    pub(crate) number: u32,
    pub(crate) kind: RequestKind,
    /// The operation that began it.
    pub(crate) begun_by: u32,
    /// The call that takes it now, or [`NIL`](odonata_engine::NIL).
    pub(crate) taker: u32,
    pub(crate) now: Time,
}

/// A call takes a complete request.
pub(crate) struct RequestTaken {
    pub(crate) request: u32,
    pub(crate) operation: u32,
    pub(crate) rank: u32,
    /// The program's number, or [`NIL`](odonata_engine::NIL).
    pub(crate) number: u32,
    pub(crate) kind: RequestKind,
    /// The operation that began it.
    pub(crate) begun_by: u32,
    /// The operation that takes it.
    pub(crate) taken_by: OpId,
    /// Whether it was complete before.
    pub(crate) was_done: bool,
    pub(crate) now: Time,
}

/// A rank sends a message.
pub(crate) struct SentMessage {
    pub(crate) rank: u32,
    /// Receiver, numbered over all jobs.
    pub(crate) target: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    pub(crate) op: OpId,
    pub(crate) bytes: u64,
    pub(crate) at: Time,
}

/// A receive and a message match.
pub(crate) struct Match<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) rank: u32,
    pub(crate) receive: &'a PostedReceive,
    pub(crate) message: &'a Envelope,
    /// The operation that began the request of the receive.
    pub(crate) begun_by: u32,
    /// The program's number of the request, or [`NIL`](odonata_engine::NIL).
    pub(crate) number: u32,
    /// The call that takes the request if it completes now, or [`NIL`](odonata_engine::NIL).
    pub(crate) taker: u32,
    pub(crate) now: Time,
}

/// The data of a rendezvous arrive.
pub(crate) struct Arrival {
    pub(crate) rank: u32,
    /// Sender, numbered over all jobs.
    pub(crate) from: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    /// As in [`Match`].
    pub(crate) begun_by: u32,
    pub(crate) number: u32,
    pub(crate) taker: u32,
    pub(crate) now: Time,
}

/// An instrument: it implements the facts that it records.
#[allow(unused_variables)]
pub(crate) trait Observer {
    /// An event of the hosts begins, without a known cause.
    #[inline(always)]
    fn event_begins<M: Mode>(&mut self, now: Time) {}
    /// An operation of `rank` begins.
    #[inline(always)]
    fn operation_begins<M: Mode>(&mut self, operation: u32, rank: u32, now: Time) {}
    /// A non-blocking collective begins.
    #[inline(always)]
    fn background_begins<M: Mode>(&mut self, operation: u32) {}
    /// A step of an operation begins.
    #[inline(always)]
    fn step_begins<M: Mode>(&mut self, operation: u32, now: Time) {}
    /// The step occupies its stream, regardless of its requests.
    #[inline(always)]
    fn stream_is_occupied<M: Mode>(&mut self, operation: u32, until: Time) {}
    /// The processor handles the completed receives of the step.
    #[inline(always)]
    fn receives_are_handled<M: Mode>(&mut self, operation: u32, until: Time) {}
    #[inline(always)]
    fn step_ends<M: Mode>(&mut self, step: &StepEnd) {}
    #[inline(always)]
    fn operation_ends<M: Mode>(&mut self, end: &OperationEnd) {}
    /// `rank` ends an iteration: job and number.
    #[inline(always)]
    fn iteration_ends<M: Mode>(&mut self, operation: u32, rank: u32, iteration: (u16, u32), now: Time) {}
    /// A receive that completes `request` is posted.
    #[inline(always)]
    fn receive_is_posted<M: Mode>(&mut self, request: u32) {}
    #[inline(always)]
    fn request_completes<M: Mode>(&mut self, completion: &RequestCompletion) {}
    #[inline(always)]
    fn request_is_taken<M: Mode>(&mut self, taken: &RequestTaken) {}
    #[inline(always)]
    fn message_is_sent<M: Mode>(&mut self, message: &SentMessage) {}
    /// A message is passed to matching, in the order of sending.
    #[inline(always)]
    fn message_is_offered<M: Mode>(&mut self, rank: u32, message: &Envelope) {}
    /// A message has overtaken an earlier one.
    #[inline(always)]
    fn message_waits_for_earlier<M: Mode>(&mut self, rank: u32, message: &Envelope) {}
    /// A message has no receive yet.
    #[inline(always)]
    fn message_waits_for_receive<M: Mode>(&mut self, layout: &Layout, rank: u32, message: &Envelope, now: Time) {}
    /// The message that `message` had overtaken has arrived.
    #[inline(always)]
    fn message_follows_earlier<M: Mode>(&mut self, rank: u32, message: &Envelope) {}
    #[inline(always)]
    fn message_is_matched<M: Mode>(&mut self, found: &Match<'_>) {}
    #[inline(always)]
    fn data_arrive<M: Mode>(&mut self, arrival: &Arrival) {}
    /// Work of the library waits for the next call of its rank.
    #[inline(always)]
    fn work_is_deferred<M: Mode>(&mut self, work: ProtocolWork) {}
    /// The library does work; for a step of a collective, that of `operation`.
    #[inline(always)]
    fn work_is_done<M: Mode>(&mut self, work: ProtocolWork, operation: u32) {}
    /// `rank` may start at some later time, because of the event.
    #[inline(always)]
    fn rank_may_start<M: Mode>(&mut self, rank: u32) {}
    /// The start time of `rank` has come.
    #[inline(always)]
    fn rank_is_due<M: Mode>(&mut self, rank: u32, now: Time) {}
    /// The program or source of `rank` starts.
    #[inline(always)]
    fn rank_starts<M: Mode>(&mut self, rank: u32, job: u16, now: Time) {}
    /// `rank`, for whose job others wait, ends.
    #[inline(always)]
    fn rank_ends<M: Mode>(&mut self, rank: u32, end: Time) {}
    /// `rank` hears that it, or a subtree below it, has ended.
    #[inline(always)]
    fn end_is_reported<M: Mode>(&mut self, rank: u32) {}
    /// `rank` and all ranks below it have ended.
    #[inline(always)]
    fn ranks_have_ended<M: Mode>(&mut self, rank: u32, now: Time) {}
    /// `rank`, rank 0 of `job`, hears that a job has ended that `job` starts after.
    #[inline(always)]
    fn job_end_is_heard<M: Mode>(&mut self, rank: u32, job: u16) {}
    /// All jobs that the job of `rank` starts after have ended.
    #[inline(always)]
    fn job_may_start<M: Mode>(&mut self, rank: u32, now: Time) {}
    /// The source of `rank` is stopped before its end.
    #[inline(always)]
    fn source_is_stopped<M: Mode>(&mut self, rank: u32) {}
    /// A message leaves for a rank of the same node.
    #[inline(always)]
    fn local_message_departs<M: Mode>(&mut self, message: u32) {}
    /// The event is the departure of a message within a node.
    #[inline(always)]
    fn local_message_has_left<M: Mode>(&mut self, message: u32, now: Time) {}
    /// The event is the arrival of a message within a node.
    #[inline(always)]
    fn local_message_arrives<M: Mode>(&mut self, message: u32, now: Time) {}
}
