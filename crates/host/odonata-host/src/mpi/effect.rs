//! Effects: what the MPI library asks of the hosts, which carry it out.

use super::{Mpi, Turn};
use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::payload::Payload;
use crate::rank::activity::Phase;
use crate::send::{SendRequest, traffic_of};
use odonata_blame::lost::Stamp;
use odonata_engine::{NIL, Time};

/// An effect of an input. `caller` is the executor's name of an operation.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send a message between ranks.
    Send(OutgoingMessage),
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
    /// The program is in error.
    Fail(Box<Failure>),
}

/// A message to be sent.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) payload: Payload,
    pub(crate) bytes: u64,
    /// Time of the call.
    pub(crate) created: Time,
    /// From now until the software has done its part.
    pub(crate) software: Time,
    /// The request that completes when it has left, or [`NIL`].
    pub(crate) request: u32,
    /// The stamp of its cause, if lost time is recorded.
    pub(crate) cause: Option<Box<Stamp>>,
}

impl Hosts {
    /// Gives an input to the MPI library and carries out its effects. None of them leads to a further input at once.
    #[inline]
    pub(crate) fn ask_mpi<C: HostContext, R>(
        &mut self,
        ctx: &mut C,
        input: impl FnOnce(&mut Mpi, &mut Turn<'_>) -> R,
    ) -> R {
        let turn = &mut Turn {
            now: ctx.now(),
            lost: &mut self.ranks.lost,
            effects: &mut self.effects,
        };
        let answer = input(&mut self.mpi, turn);
        if !self.effects.is_empty() {
            self.carry_out_effects(ctx);
        }
        answer
    }

    fn carry_out_effects<C: HostContext>(&mut self, ctx: &mut C) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(message) => self.send_message(ctx, message),
                Effect::Occupy { caller, until } => {
                    self.ranks.edit_activity::<C>(caller).phase = Phase::Busy;
                    self.resume_at(ctx, caller, until);
                }
                Effect::End { caller, for_io } => self.retire::<C>(caller, for_io, ctx.now()),
                Effect::Wake { caller } => self.ranks.wake::<C>(caller),
                Effect::StepEnds { call, at } => {
                    let rank = self.mpi.calls.get(call).rank;
                    ctx.schedule(self.layout.place(rank).lp, at, HostEvent::StepEnds { call });
                }
                Effect::TakeTag { rank, tag } => self.note_tag::<C>(rank, tag),
                Effect::Fail(failure) => self.fail(ctx, *failure),
            }
        }
        self.effects = effects;
    }

    fn send_message<C: HostContext>(&mut self, ctx: &mut C, message: OutgoingMessage) {
        let OutgoingMessage {
            from,
            to,
            payload,
            bytes,
            created,
            software,
            request,
            cause,
        } = message;
        match payload {
            Payload::Eager { .. } => self.records.count_send::<C>(from, bytes),
            Payload::Rts { bytes, .. } => self.records.count_send::<C>(from, bytes),
            _ => {}
        }
        let send = SendRequest {
            source: self.layout.endpoint_of_rank(from),
            target: self.layout.endpoint_of_rank(to),
            bytes,
            traffic: traffic_of(self.layout.place(from).job, false),
            payload,
            created,
            software,
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        let Some(cause) = cause else {
            self.send(ctx, send);
            return;
        };
        let before = std::mem::replace(&mut self.ranks.lost.current, *cause);
        self.send(ctx, send);
        self.ranks.lost.current = before;
    }
}
