//! Observers: the instruments that record what happens at the hosts.
//!
//! Ranks, the MPI library, job control and the transport state facts: an operation begins, a message waits for its
//! receive, a request completes. [`Observers`] passes each fact to every instrument that implements it ([`Observer`]).
//! The model never reads an instrument. A [`Cause`] or a tag that an instrument gives to an effect or a message travels
//! with it, and the model does not look into it.
//!
//! | instrument | records |
//! |---|---|
//! | [`Records`] | counters and rows of ranks, messages and file calls; always on |
//! | [`LostTime`] | how much later ranks reach their position because of waits, and along which path |
//! | [`MatchLog`] | each decision of message matching |
//! | [`StepLog`], [`TimelineLog`] | for a timeline, the steps of messages and requests; calls and accesses |
//! | [`FaultWaits`] | waits for servers that are away |
//! | [`ExposedLog`] | waits of ranks for communication, by the parallelism of a training job |
//!
//! Handlers are compiled with and without the instruments that a run may leave out ([`Uses::OBSERVED`]). To add one,
//! implement the facts that it needs and add it to [`Observers`].

pub(crate) mod exposed;
mod facts;
pub(crate) mod fault_waits;
pub(crate) mod lost;
pub(crate) mod matches;
pub(crate) mod records;

pub(crate) use facts::{
    Arrival, IterationEnd, Match, MessageArrival, Observer, OperationEnd, RequestCompletion, RequestTaken, SentMessage,
    StepEnd,
};

use crate::context::Uses;
use crate::io::facts::{Aside, IoObserver, OutsideBlock, ServerWaits};
use crate::layout::Layout;
use crate::metrics::{IoRecord, ReportRecord};
use crate::mpi::matching::Envelope;
use crate::mpi::progress::ProtocolWork;
use crate::params::HostParams;
use crate::rank::activity::Activity;
use crate::timeline::{StepLog, TimelineLog};
use exposed::ExposedLog;
use fault_waits::FaultWaits;
use lost::LostTime;
use matches::MatchLog;
use odonata_blame::lost::{Carried, Stamp};
use odonata_engine::{Mode, NIL, Time};
use odonata_storage::{RequestHeader, ServerAccess};
use odonata_workload::RankTimes;
use records::Records;

/// The instruments of a part of the hosts.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) records: Records,
    pub(crate) lost: LostTime,
    pub(crate) matches: MatchLog,
    pub(crate) steps: StepLog,
    pub(crate) timeline: TimelineLog,
    pub(crate) fault_waits: FaultWaits,
    pub(crate) exposed: ExposedLog,
    /// Whether any of them but the records is on; never changes.
    are_on: bool,
}
odonata_engine::journalled!(Observers {
    records,
    lost,
    matches,
    steps,
    timeline,
    fault_waits,
    exposed
});

/// What an event, or an effect that is carried out later, acts for; empty if no instrument asks.
#[derive(Debug)]
#[must_use]
pub(crate) struct Cause(Option<Box<Stamp>>);

/// Passes each fact on to all instruments, in this order.
macro_rules! pass_on {
    ($observer:ident: $(fn $fact:ident($($argument:ident: $type:ty),*);)+) => {
        #[warn(clippy::missing_trait_methods)]
        impl $observer for Observers {
            $(
                #[inline(always)]
                fn $fact<M: Uses>(&mut self, $($argument: $type),*) {
                    self.records.$fact::<M>($($argument),*);
                    if self.are_on::<M>() {
                        self.lost.$fact::<M>($($argument),*);
                        self.matches.$fact::<M>($($argument),*);
                        self.steps.$fact::<M>($($argument),*);
                        self.timeline.$fact::<M>($($argument),*);
                        self.fault_waits.$fact::<M>($($argument),*);
                        self.exposed.$fact::<M>($($argument),*);
                    }
                }
            )+
        }
    };
}

pass_on! {
    Observer:
    fn event_begins(now: Time);
    fn operation_begins(operation: u32, rank: u32, now: Time);
    fn background_begins(operation: u32);
    fn step_begins(operation: u32, now: Time);
    fn stream_is_occupied(operation: u32, until: Time);
    fn receives_are_handled(operation: u32, until: Time);
    fn step_ends(step: &StepEnd);
    fn operation_ends(end: &OperationEnd);
    fn iteration_ends(end: &IterationEnd);
    fn receive_is_posted(request: u32);
    fn request_completes(completion: &RequestCompletion);
    fn request_is_taken(taken: &RequestTaken);
    fn message_is_sent(message: &SentMessage);
    fn message_is_offered(rank: u32, message: &Envelope);
    fn message_waits_for_earlier(rank: u32, message: &Envelope);
    fn message_waits_for_receive(layout: &Layout, rank: u32, message: &Envelope, now: Time);
    fn message_follows_earlier(rank: u32, message: &Envelope);
    fn message_is_matched(found: &Match<'_>);
    fn data_arrive(arrival: &Arrival);
    fn work_is_deferred(work: ProtocolWork);
    fn work_is_done(work: ProtocolWork, operation: u32);
    fn rank_may_start(rank: u32);
    fn rank_is_due(rank: u32, now: Time);
    fn rank_starts(rank: u32, job: u16, now: Time);
    fn rank_ends(rank: u32, end: Time);
    fn end_is_reported(rank: u32);
    fn ranks_have_ended(rank: u32, now: Time);
    fn job_end_is_known(rank: u32, job: u16);
    fn job_may_start(rank: u32, now: Time);
    fn source_is_stopped(rank: u32);
    fn local_message_departs(message: u32);
    fn local_message_has_left(message: u32, now: Time);
    fn local_message_arrives(message: u32, now: Time);
    fn message_arrives(arrival: &MessageArrival<'_>);
    fn data_are_sent(rank: u32, bytes: u64);
    fn activity_ends(layout: &Layout, activity: &Activity, for_io: bool, now: Time);
    fn rank_computes(rank: u32, now: Time, duration: Time);
    fn part_elapses(rank: u32, times: &RankTimes);
    fn program_ends(rank: u32, end: Time);
    fn value_is_reported(record: &ReportRecord);
}

pass_on! {
    IoObserver:
    fn file_call_ends(rank: u32, record: &IoRecord);
    fn access_ends(server: u32, access: &ServerAccess, now: Time);
    fn attempt_times_out(server: u32, owner: u16, times: (Time, Time, Time));
    fn servers_have_worked(now: Time, waits: &ServerWaits, numbers: [&dyn Fn(u32) -> u32; 2]);
    fn request_arrives(request: RequestHeader);
    fn piece_arrives(request: impl Fn() -> Option<RequestHeader> + Copy);
    fn server_acts(request: RequestHeader, now: Time);
    fn rank_hears(request: impl Fn() -> Option<u32> + Copy);
    fn server_hears_from_below(attempt: u32);
    fn data_have_crossed(attempt: u32, now: Time);
    fn attempt_ends(request: u32, attempt: u32);
    fn attempt_is_late(attempt: u32);
    fn request_is_complete(request: u32);
    fn metadata_call_arrives(call: RequestHeader);
    fn metadata_call_ends(call: RequestHeader, now: Time);
    fn files_are_staged(rank: u32);
    fn rank_is_staged(rank: u32, now: Time);
}

impl Observers {
    pub(crate) fn new(
        params: &HostParams,
        records: Records,
        lost: LostTime,
        fault_waits: FaultWaits,
        exposed: ExposedLog,
    ) -> Observers {
        let matches = MatchLog::new(params.records.matches);
        let timeline = TimelineLog::new(params.timeline.as_ref());
        Observers {
            are_on: lost.is_on() || matches.is_on() || timeline.is_on() || fault_waits.is_on() || exposed.is_on(),
            records,
            lost,
            matches,
            steps: StepLog::new(params.timeline.as_ref()),
            timeline,
            fault_waits,
            exposed,
        }
    }

    /// Whether events under a scheduler of mode `M` need handlers with the instruments that a run may leave out.
    #[inline(always)]
    pub(crate) fn are_compiled<M: Mode>(&self) -> bool {
        M::JOURNAL || self.are_on
    }

    /// Whether any instrument but the records is on.
    #[inline(always)]
    fn are_on<M: Uses>(&self) -> bool {
        M::OBSERVED && self.are_on
    }

    /// Whether an instrument asks for the accesses of servers.
    #[inline(always)]
    pub(crate) fn follow_accesses<M: Uses>(&self) -> bool {
        M::OBSERVED && self.timeline.is_on()
    }

    /// A storage server asks the lower tier for `request`, or for no request. Followed by [`resume`](Self::resume).
    #[inline]
    pub(crate) fn server_asks_below<M: Uses>(&mut self, request: Option<RequestHeader>, now: Time) -> Aside {
        match self.are_on::<M>() {
            true => self.lost.server_asks_below::<M>(request, now),
            false => Aside(None),
        }
    }

    /// `block` crosses the link of I/O server `server` to a file system. Followed by [`resume`](Self::resume).
    pub(crate) fn block_crosses<M: Uses>(&mut self, block: OutsideBlock, server: u32) -> Aside {
        match self.are_on::<M>() {
            true => self.lost.block_crosses::<M>(block, server),
            false => Aside(None),
        }
    }

    /// The event goes on as before `aside`.
    #[inline]
    pub(crate) fn resume(&mut self, aside: Aside) {
        self.lost.resume(aside);
    }

    /// What the event acts for now, to be restored.
    #[inline(always)]
    pub(crate) fn acts_for<M: Uses>(&self) -> Cause {
        match self.are_on::<M>() {
            true => Cause(self.lost.stamps.save()),
            false => Cause(None),
        }
    }

    /// The event acts again for `cause`.
    #[inline(always)]
    pub(crate) fn act_again_for<M: Uses>(&mut self, cause: Cause) {
        if M::OBSERVED {
            self.lost.stamps.restore(cause.0);
        }
    }

    /// A receive just posted at `rank` has found `message`, which arrived earlier: the event acts for the match. Returns
    /// what it acted for.
    #[inline(always)]
    pub(crate) fn receive_finds<M: Uses>(&mut self, rank: u32, message: &Envelope) -> Cause {
        match self.are_on::<M>() {
            true => Cause(self.lost.meets_earlier::<M>(rank, message)),
            false => Cause(None),
        }
    }

    /// An arriving message has found the receive of `request`, posted earlier: the event acts for the match. Returns what
    /// it acted for.
    #[inline(always)]
    pub(crate) fn message_finds<M: Uses>(&mut self, request: u32, message: &Envelope) -> Cause {
        match self.are_on::<M>() {
            true => Cause(self.lost.meets_later::<M>(request, message)),
            false => Cause(None),
        }
    }

    /// The tag of an effect that the event has now and that is carried out later; [`NIL`] if no instrument asks.
    #[inline(always)]
    pub(crate) fn tag_of_effect<M: Uses>(&mut self) -> u32 {
        match self.are_on::<M>() {
            true => self.lost.stamps.cause(),
            false => NIL,
        }
    }

    /// An effect with `tag` is carried out: the event acts for its cause. Returns what it acted for.
    #[inline]
    pub(crate) fn effect_begins(&mut self, tag: u32) -> Cause {
        match tag {
            NIL => Cause(None),
            tag => Cause(self.lost.stamps.act_for(tag)),
        }
    }

    /// All effects are carried out.
    #[inline]
    pub(crate) fn effects_end<M: Uses>(&mut self) {
        if self.are_on::<M>() {
            self.lost.stamps.forget_causes();
        }
    }

    /// The tag of a message that leaves for another node.
    #[inline]
    pub(crate) fn tag_of_message<M: Uses>(&self) -> Carried {
        match self.are_on::<M>() {
            true => self.lost.stamps.carried(),
            false => Carried::default(),
        }
    }

    /// Whether messages carry tags.
    #[inline]
    pub(crate) fn ask_for_tags<M: Uses>(&self) -> bool {
        M::OBSERVED && self.lost.is_on()
    }

    /// The event is the arrival or departure of a message of `job`, which carries `tag`.
    #[inline]
    pub(crate) fn message_acts(&mut self, now: Time, job: u16, tag: Carried) {
        self.lost.stamps.is_now(Stamp::carried(now, job, tag));
    }
}
