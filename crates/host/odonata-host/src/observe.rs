//! Observers: the instruments that record what happens at the hosts.
//!
//! Ranks, the MPI library, job control and the transport state facts: an operation begins, a message waits for its
//! receive, a request completes. [`Observers`] passes each fact to every instrument that implements it ([`Observer`]).
//! The model never reads an instrument. A [`Cause`] or a tag that an instrument gives to an effect or a message travels
//! with it, and the model does not look into it.
//!
//! | instrument | records |
//! |---|---|
//! | [`LostTime`] | how much later ranks reach their position because of waits, and along which path |
//! | [`MatchLog`] | each decision of message matching |
//! | [`StepLog`] | the steps of messages and requests for a timeline |
//!
//! An instrument that is off returns from each fact at once. To add one, implement the facts that it needs and add it to
//! [`Observers`].

mod facts;
pub(crate) mod lost;
pub(crate) mod matches;

pub(crate) use facts::{Arrival, Match, Observer, OperationEnd, RequestCompletion, RequestTaken, SentMessage, StepEnd};

use crate::layout::Layout;
use crate::mpi::matching::Envelope;
use crate::mpi::progress::ProtocolWork;
use crate::timeline::StepLog;
use lost::LostTime;
use matches::MatchLog;
use odonata_blame::lost::{Carried, Stamp};
use odonata_engine::{Mode, NIL, Time};

/// The instruments of a part of the hosts.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) lost: LostTime,
    pub(crate) matches: MatchLog,
    pub(crate) steps: StepLog,
}
odonata_engine::journalled!(Observers { lost, matches, steps });

/// What an event, or an effect that is carried out later, acts for; empty if no instrument asks.
#[derive(Debug)]
#[must_use]
pub(crate) struct Cause(Option<Box<Stamp>>);

/// Passes each fact on to all instruments, in this order.
macro_rules! pass_on {
    ($(fn $fact:ident($($argument:ident: $type:ty),*);)+) => {
        impl Observer for Observers {
            $(
                #[inline(always)]
                fn $fact<M: Mode>(&mut self, $($argument: $type),*) {
                    self.lost.$fact::<M>($($argument),*);
                    self.matches.$fact::<M>($($argument),*);
                    self.steps.$fact::<M>($($argument),*);
                }
            )+
        }
    };
}

pass_on! {
    fn event_begins(now: Time);
    fn operation_begins(operation: u32, rank: u32, now: Time);
    fn background_begins(operation: u32);
    fn step_begins(operation: u32, now: Time);
    fn stream_is_occupied(operation: u32, until: Time);
    fn receives_are_handled(operation: u32, until: Time);
    fn step_ends(step: &StepEnd);
    fn operation_ends(end: &OperationEnd);
    fn iteration_ends(operation: u32, rank: u32, iteration: (u16, u32), now: Time);
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
    fn job_end_is_heard(rank: u32, job: u16);
    fn job_may_start(rank: u32, now: Time);
    fn source_is_stopped(rank: u32);
    fn local_message_departs(message: u32);
    fn local_message_has_left(message: u32, now: Time);
    fn local_message_arrives(message: u32, now: Time);
}

impl Observers {
    /// What the event acts for now, to be restored.
    #[inline]
    pub(crate) fn acts_for(&self) -> Cause {
        Cause(self.lost.save())
    }

    /// The event acts again for `cause`.
    #[inline]
    pub(crate) fn act_again_for(&mut self, cause: Cause) {
        self.lost.restore(cause.0);
    }

    /// A receive just posted at `rank` has found `message`, which arrived earlier: the event acts for the match. Returns
    /// what it acted for.
    #[inline]
    pub(crate) fn receive_finds<M: Mode>(&mut self, rank: u32, message: &Envelope) -> Cause {
        Cause(self.lost.meets_earlier::<M>(rank, message))
    }

    /// An arriving message has found the receive of `request`, posted earlier: the event acts for the match. Returns what
    /// it acted for.
    #[inline]
    pub(crate) fn message_finds<M: Mode>(&mut self, request: u32, message: &Envelope) -> Cause {
        Cause(self.lost.meets_later::<M>(request, message))
    }

    /// The tag of an effect that the event has now and that is carried out later; [`NIL`] if no instrument asks.
    #[inline]
    pub(crate) fn tag_of_effect(&mut self) -> u32 {
        self.lost.cause()
    }

    /// An effect with `tag` is carried out: the event acts for its cause. Returns what it acted for.
    #[inline]
    pub(crate) fn effect_begins(&mut self, tag: u32) -> Cause {
        match tag {
            NIL => Cause(None),
            tag => Cause(self.lost.act_for(tag)),
        }
    }

    /// All effects are carried out.
    #[inline]
    pub(crate) fn effects_end(&mut self) {
        self.lost.forget_causes();
    }

    /// The tag of a message that leaves for another node.
    #[inline]
    pub(crate) fn tag_of_message(&self) -> Carried {
        self.lost.carried()
    }

    /// Whether messages carry tags.
    #[inline]
    pub(crate) fn ask_for_tags(&self) -> bool {
        self.lost.is_on()
    }

    /// The event is the arrival or departure of a message of `job`, which carries `tag`.
    #[inline]
    pub(crate) fn message_acts(&mut self, now: Time, job: u16, tag: Carried) {
        self.lost.is_now(Stamp::carried(now, job, tag));
    }
}
