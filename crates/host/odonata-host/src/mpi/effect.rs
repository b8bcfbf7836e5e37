//! Effects: what the MPI library asks of the hosts, which carry it out.

use super::Mpi;
use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::payload::Payload;
use crate::rank::activity::Phase;
use crate::send::{SendRequest, traffic_of};
use crate::turn::{Effects, Turn};
use odonata_engine::{NIL, Time};

/// An effect of an input. `caller` is the executor's name of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MpiEffect {
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

impl Hosts {
    /// Gives an input to the MPI library and carries out its effects. None of them leads to a further input at once.
    #[inline]
    pub(crate) fn ask_mpi<C: HostContext, R>(
        &mut self,
        ctx: &mut C,
        input: impl FnOnce(&mut Mpi, &mut Turn<'_, MpiEffect>) -> R,
    ) -> R {
        let turn = &mut Turn {
            now: ctx.now(),
            observers: &mut self.observers,
            effects: &mut self.mpi_effects,
        };
        let answer = input(&mut self.mpi, turn);
        if !self.mpi_effects.is_empty() {
            self.carry_out_effects(ctx);
        }
        answer
    }

    fn carry_out_effects<C: HostContext>(&mut self, ctx: &mut C) {
        let mut effects = std::mem::replace(&mut self.mpi_effects, Effects::new());
        for effect in effects.iter() {
            match *effect {
                MpiEffect::Send(ref message) => self.send_message(ctx, message),
                MpiEffect::Occupy { caller, until } => self.pause(ctx, caller, Phase::Busy, until),
                MpiEffect::End { caller, for_io } => self.retire::<C>(caller, for_io, ctx.now()),
                MpiEffect::Wake { caller } => self.ranks.wake::<C>(caller),
                MpiEffect::StepEnds { call, at } => {
                    let rank = self.mpi.calls.get(call).rank;
                    ctx.schedule(self.layout.place(rank).lp, at, HostEvent::StepEnds { call });
                }
                MpiEffect::TakeTag { rank, tag } => self.ranks.note_tag::<C>(rank, tag),
            }
        }
        while let Some(failure) = effects.take_failure() {
            self.fail(ctx, failure);
        }
        effects.clear();
        self.mpi_effects = effects;
        self.observers.effects_end();
    }

    #[inline]
    fn send_message<C: HostContext>(&mut self, ctx: &mut C, message: &OutgoingMessage) {
        let OutgoingMessage {
            payload,
            bytes,
            created,
            software,
            cause,
        } = *message;
        let (from, to, request) = match payload {
            Payload::Eager { from, to, request, .. } => {
                self.records.count_send::<C>(from, bytes);
                (from, to, request)
            }
            Payload::Rts { from, to, bytes, .. } => {
                self.records.count_send::<C>(from, bytes);
                (from, to, NIL)
            }
            Payload::RendezvousData { from, to, request, .. } => (from, to, request),
            Payload::Cts { from, to, .. } => (from, to, NIL),
            _ => unreachable!("the library sends messages of MPI only"),
        };
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
        if cause == NIL {
            self.send(ctx, send);
            return;
        }
        let before = self.observers.effect_begins(cause);
        self.send(ctx, send);
        self.observers.act_again_for(before);
    }
}
