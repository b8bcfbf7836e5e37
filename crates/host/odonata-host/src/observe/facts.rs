//! Facts of the hosts: what happens there, stated by the component where it happens.
//!
//! An *operation* is named by the executor's slot, or is a non-blocking collective in the background
//! ([`Calls::operation`](crate::mpi::calls::Calls::operation)). It consists of steps; all but collectives have one.

use crate::context::Uses;
use crate::layout::Layout;
use crate::metrics::ReportRecord;
use crate::mpi::matching::{Envelope, PostedReceive};
use crate::mpi::progress::ProtocolWork;
use crate::mpi::request::kind::RequestKind;
use crate::payload::Payload;
use crate::rank::activity::Activity;
use crate::timeline::CallKind;
use odonata_engine::Time;
use odonata_workload::{OpId, RankTimes};

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

/// A rank ends an iteration.
pub(crate) struct IterationEnd {
    pub(crate) operation: u32,
    pub(crate) rank: u32,
    pub(crate) job: u16,
    /// Its number in the job.
    pub(crate) local: u32,
    pub(crate) iteration: u32,
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

/// A message arrives: of a rank, of job control, of the I/O layer.
pub(crate) struct MessageArrival<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) payload: &'a Payload,
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    pub(crate) now: Time,
}

/// An instrument: it implements the facts that it records.
#[allow(unused_variables)]
pub(crate) trait Observer {
    /// An event of the hosts begins, without a known cause.
    #[inline(always)]
    fn event_begins<M: Uses>(&mut self, now: Time) {}
    /// An operation of `rank` begins.
    #[inline(always)]
    fn operation_begins<M: Uses>(&mut self, operation: u32, rank: u32, now: Time) {}
    /// A non-blocking collective begins.
    #[inline(always)]
    fn background_begins<M: Uses>(&mut self, operation: u32) {}
    /// A step of an operation begins.
    #[inline(always)]
    fn step_begins<M: Uses>(&mut self, operation: u32, now: Time) {}
    /// The step occupies its stream, regardless of its requests.
    #[inline(always)]
    fn stream_is_occupied<M: Uses>(&mut self, operation: u32, until: Time) {}
    /// The processor handles the completed receives of the step.
    #[inline(always)]
    fn receives_are_handled<M: Uses>(&mut self, operation: u32, until: Time) {}
    #[inline(always)]
    fn step_ends<M: Uses>(&mut self, step: &StepEnd) {}
    #[inline(always)]
    fn operation_ends<M: Uses>(&mut self, end: &OperationEnd) {}
    /// A rank ends an iteration.
    #[inline(always)]
    fn iteration_ends<M: Uses>(&mut self, end: &IterationEnd) {}
    /// A receive that completes `request` is posted.
    #[inline(always)]
    fn receive_is_posted<M: Uses>(&mut self, request: u32) {}
    #[inline(always)]
    fn request_completes<M: Uses>(&mut self, completion: &RequestCompletion) {}
    #[inline(always)]
    fn request_is_taken<M: Uses>(&mut self, taken: &RequestTaken) {}
    #[inline(always)]
    fn message_is_sent<M: Uses>(&mut self, message: &SentMessage) {}
    /// A message is passed to matching, in the order of sending.
    #[inline(always)]
    fn message_is_offered<M: Uses>(&mut self, rank: u32, message: &Envelope) {}
    /// A message has overtaken an earlier one.
    #[inline(always)]
    fn message_waits_for_earlier<M: Uses>(&mut self, rank: u32, message: &Envelope) {}
    /// A message has no receive yet.
    #[inline(always)]
    fn message_waits_for_receive<M: Uses>(&mut self, layout: &Layout, rank: u32, message: &Envelope, now: Time) {}
    /// The message that `message` had overtaken has arrived.
    #[inline(always)]
    fn message_follows_earlier<M: Uses>(&mut self, rank: u32, message: &Envelope) {}
    #[inline(always)]
    fn message_is_matched<M: Uses>(&mut self, found: &Match<'_>) {}
    #[inline(always)]
    fn data_arrive<M: Uses>(&mut self, arrival: &Arrival) {}
    /// Work of the library waits for the next call of its rank.
    #[inline(always)]
    fn work_is_deferred<M: Uses>(&mut self, work: ProtocolWork) {}
    /// The library does work; for a step of a collective, that of `operation`.
    #[inline(always)]
    fn work_is_done<M: Uses>(&mut self, work: ProtocolWork, operation: u32) {}
    /// `rank` may start at some later time, because of the event.
    #[inline(always)]
    fn rank_may_start<M: Uses>(&mut self, rank: u32) {}
    /// The start time of `rank` has come.
    #[inline(always)]
    fn rank_is_due<M: Uses>(&mut self, rank: u32, now: Time) {}
    /// The program or source of `rank` starts.
    #[inline(always)]
    fn rank_starts<M: Uses>(&mut self, rank: u32, job: u16, now: Time) {}
    /// `rank`, for whose job others wait, ends.
    #[inline(always)]
    fn rank_ends<M: Uses>(&mut self, rank: u32, end: Time) {}
    /// `rank` hears that it, or a subtree below it, has ended.
    #[inline(always)]
    fn end_is_reported<M: Uses>(&mut self, rank: u32) {}
    /// `rank` and all ranks below it have ended.
    #[inline(always)]
    fn ranks_have_ended<M: Uses>(&mut self, rank: u32, now: Time) {}
    /// `rank`, rank 0 of `job`, hears that a job has ended that `job` starts after.
    #[inline(always)]
    fn job_end_is_known<M: Uses>(&mut self, rank: u32, job: u16) {}
    /// All jobs that the job of `rank` starts after have ended.
    #[inline(always)]
    fn job_may_start<M: Uses>(&mut self, rank: u32, now: Time) {}
    /// The source of `rank` is stopped before its end.
    #[inline(always)]
    fn source_is_stopped<M: Uses>(&mut self, rank: u32) {}
    /// A message leaves for a rank of the same node.
    #[inline(always)]
    fn local_message_departs<M: Uses>(&mut self, message: u32) {}
    /// The event is the departure of a message within a node.
    #[inline(always)]
    fn local_message_has_left<M: Uses>(&mut self, message: u32, now: Time) {}
    /// The event is the arrival of a message within a node.
    #[inline(always)]
    fn local_message_arrives<M: Uses>(&mut self, message: u32, now: Time) {}
    /// A message arrives.
    #[inline(always)]
    fn message_arrives<M: Uses>(&mut self, arrival: &MessageArrival<'_>) {}
    /// `rank` sends a message with data of its program.
    #[inline(always)]
    fn data_are_sent<M: Uses>(&mut self, rank: u32, bytes: u64) {}
    /// An operation ends. `for_io`: the request that completed last was for I/O.
    #[inline(always)]
    fn activity_ends<M: Uses>(&mut self, layout: &Layout, activity: &Activity, for_io: bool, now: Time) {}
    /// A stream of `rank` begins to compute.
    #[inline(always)]
    fn rank_computes<M: Uses>(&mut self, rank: u32, now: Time, duration: Time) {}
    /// `rank` begins a part of its program of which only times and numbers are known.
    #[inline(always)]
    fn part_elapses<M: Uses>(&mut self, rank: u32, times: &RankTimes) {}
    /// The program or source of `rank` ends.
    #[inline(always)]
    fn program_ends<M: Uses>(&mut self, rank: u32, end: Time) {}
    /// A program reports a value.
    #[inline(always)]
    fn value_is_reported<M: Uses>(&mut self, record: &ReportRecord) {}
}
