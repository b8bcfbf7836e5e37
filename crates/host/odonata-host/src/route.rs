//! Routing: each input goes to its component, and the effects of a component go to the others.
//!
//! | component | input | effects |
//! |---|---|---|
//! | [`Mpi`] | [`Hosts::ask_mpi`] | [`MpiEffect`] |
//! | [`JobControl`] | [`Hosts::ask_jobs`] | [`JobEffect`] |
//! | [`Io`] | [`Hosts::ask_io`] | [`IoEffect`] |
//! | [`Sources`](crate::source::Sources) | [`Hosts::generate`] | [`NextMessage`] |
//!
//! The executor of ranks is asked what a rank does next (`rank::perform`).

use crate::Hosts;
use crate::context::{HostContext, MachineContext, RunContext};
use crate::event::HostEvent;
use crate::failure::{Failure, HALT_FAILURE};
use crate::io::effect::IoEffect;
use crate::io::{Io, IoTurn};
use crate::job::control::JobControl;
use crate::job::effect::{JobEffect, signal_message};
use crate::mpi::contribution::RankContribution;
use crate::mpi::effect::{MessageRoute, MpiEffect, OutgoingMessage};
use crate::mpi::matching::Envelope;
use crate::mpi::{ArrivedAccess, Mpi};
use crate::observe::{MessageArrival, Observer};
use crate::params::JobProgram;
use crate::payload::Payload;
use crate::rank::activity::Phase;
use crate::send::{SendRequest, traffic_of};
use crate::source::{NextMessage, SourceMessage};
use crate::turn::Turn;
use odonata_blame::lost::{Carried, job_of};
use odonata_engine::{NIL, Time};
use odonata_network::{Contribution, Message};

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
        let effects = self.mpi_effects.take_list();
        for effect in &effects {
            match *effect {
                MpiEffect::Send(ref message) => self.send_message(ctx, message),
                MpiEffect::Contribute(ref contribution) => contribute(self, ctx, contribution),
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
        while let Some(failure) = self.mpi_effects.take_failure() {
            self.fail(ctx, failure);
        }
        self.mpi_effects.give_back(effects);
        self.observers.effects_end::<C>();
    }

    #[inline]
    fn send_message<C: HostContext>(&mut self, ctx: &mut C, message: &OutgoingMessage) {
        let MessageRoute {
            from,
            to,
            counted,
            request,
        } = message.route(&self.mpi.settings, &self.layout);
        if let Some(bytes) = counted {
            self.observers.data_are_sent::<C>(from, bytes);
        }
        let send = SendRequest {
            source: self.layout.endpoint_of_rank(from),
            target: self.layout.endpoint_of_rank(to),
            bytes: message.bytes,
            traffic: traffic_of(self.layout.place(from).job, false),
            payload: message.payload,
            created: message.created,
            software: message.software,
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        if message.cause == NIL {
            self.transport.send(ctx, &mut self.observers, send);
            return;
        }
        let before = self.observers.effect_begins(message.cause);
        self.transport.send(ctx, &mut self.observers, send);
        self.observers.act_again_for::<C>(before);
    }

    /// Gives an input to job control and carries out its effects, which may lead to further inputs.
    pub(crate) fn ask_jobs<C: HostContext>(
        &mut self,
        ctx: &mut C,
        input: impl FnOnce(&mut JobControl, &mut Turn<'_, JobEffect>),
    ) {
        let turn = &mut Turn {
            now: ctx.now(),
            observers: &mut self.observers,
            effects: &mut self.job_effects,
        };
        input(&mut self.jobs, turn);
        let effects = self.job_effects.take_list();
        for &effect in &effects {
            match effect {
                JobEffect::Signal { from, to, signal } => {
                    let request = signal_message(&self.layout, &self.params.mpi, ctx.now(), (from, to), signal);
                    self.transport.send(ctx, &mut self.observers, request);
                }
                JobEffect::Begin { rank } => self.begin_rank(ctx, rank),
                JobEffect::StartProgram { rank } => self.start_program(ctx, rank),
                JobEffect::Stop { rank } => self.stop_source(ctx, rank),
                JobEffect::TellServers { rank } => self.ask_io(ctx, |io, turn| io.tell_servers(turn, rank)),
                JobEffect::ReportStaged { rank } => self.ask_io(ctx, |io, turn| io.subtree_is_staged(turn, rank)),
            }
        }
        self.job_effects.give_back(effects);
    }

    /// Gives an input to the I/O layer and carries out its effects, which may lead to further inputs.
    pub(crate) fn ask_io<C: HostContext, R>(
        &mut self,
        ctx: &mut C,
        input: impl FnOnce(&mut Io, &mut IoTurn<'_, C>) -> R,
    ) -> R {
        let turn = &mut IoTurn {
            ctx,
            transport: &mut self.transport,
            observers: &mut self.observers,
            effects: &mut self.io_effects,
        };
        let answer = input(&mut self.io, turn);
        if !self.io_effects.is_empty() {
            self.carry_out_io_effects(ctx);
        }
        answer
    }

    fn carry_out_io_effects<C: HostContext>(&mut self, ctx: &mut C) {
        let effects = self.io_effects.take_list();
        for &effect in &effects {
            match effect {
                IoEffect::Complete { request } => self.ask_mpi(ctx, |mpi, turn| mpi.complete::<C>(turn, request)),
                IoEffect::DataLost { rank } => self.ranks.note_lost::<C>(rank),
                IoEffect::ReturnCalls { rank } => self.ask_io(ctx, |io, turn| io.return_calls(turn, rank)),
                IoEffect::Advance { rank } => self.advance(ctx, rank),
                IoEffect::RanksStaged { rank } => self.ask_jobs(ctx, |jobs, turn| jobs.ranks_are_staged(turn, rank)),
            }
        }
        while let Some(failure) = self.io_effects.take_failure() {
            self.fail(ctx, failure);
        }
        self.io_effects.give_back(effects);
    }

    /// Lets `rank` begin, immediately or after the start delay of its job.
    fn begin_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let place = self.layout.place(rank);
        match self.layout.job(place.job).start {
            Time::ZERO => self.start_rank(ctx, rank),
            delay => {
                self.observers.rank_may_start::<C>(rank);
                ctx.schedule(place.lp, ctx.now() + delay, HostEvent::Start { rank });
            }
        }
    }

    /// Starts the program or the source of `rank`, after its stage-in if it has one.
    pub(crate) fn start_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        self.observers.rank_is_due::<C>(rank, ctx.now());
        if !self.ask_io(ctx, |io, turn| io.begin_stage_in(turn, rank)) {
            self.start_program(ctx, rank);
        }
    }

    /// Starts the program or the source of `rank`. A source without a destination in its pattern ends immediately.
    fn start_program<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let now = ctx.now();
        let job = self.layout.place(rank).job;
        self.observers.rank_starts::<C>(rank, job, now);
        match self.layout.job(job).program {
            JobProgram::Program(_) => self.advance(ctx, rank),
            JobProgram::Synthetic { .. } => {
                if let Some(next) = self.sources.start::<C>(now, rank, &mut self.transport) {
                    self.wait_for_source(ctx, rank, next);
                }
            }
        }
    }

    /// `rank` has ended at `end`.
    pub(crate) fn end_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32, end: Time) {
        self.observers.program_ends::<C>(rank, end);
        self.ask_jobs(ctx, |jobs, turn| jobs.rank_ends::<C>(turn, rank, end));
    }

    /// Sends the next message of the source on `rank`.
    #[inline]
    pub(crate) fn generate<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let generated = self.sources.generate::<C>(ctx.now(), rank, &mut self.transport);
        let Some((message, next)) = generated else {
            return;
        };
        let SourceMessage {
            target,
            bytes,
            created,
            over_the_network,
        } = message;
        self.observers.data_are_sent::<C>(rank, bytes);
        let payload = Payload::Synthetic { from: rank, to: target };
        let (here, there) = (self.layout.endpoint_of_rank(rank), self.layout.endpoint_of_rank(target));
        let traffic = traffic_of(self.layout.place(rank).job, false);
        let notify_arrived = self.params.records.source_arrivals;
        if here.node == there.node && !over_the_network {
            let request = SendRequest {
                source: here,
                target: there,
                bytes,
                traffic,
                payload,
                created,
                software: Time::ZERO,
                notify_sent: false,
                notify_arrived,
            };
            self.transport.send(ctx, &mut self.observers, request);
        } else {
            let (from, to) = self.transport.interfaces.between(here, there);
            let mut message = Message::new(from, to, bytes, traffic, created, payload);
            (message.notify_sent, message.notify_arrived) = (false, notify_arrived);
            ctx.submit_now(message);
        }
        self.wait_for_source(ctx, rank, next);
    }

    /// Schedules the next message of the source on `rank`, or ends the rank.
    #[inline]
    fn wait_for_source<C: HostContext>(&mut self, ctx: &mut C, rank: u32, next: NextMessage) {
        match next {
            NextMessage::At(at) => ctx.schedule(self.layout.place(rank).lp, at, HostEvent::Generate { rank }),
            NextMessage::End(end) => self.end_rank(ctx, rank, end),
        }
    }

    /// Stops the source of `rank`. A message that was created before is still sent and ends the source; no further
    /// message is created.
    fn stop_source<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        if self.sources.has_ended(rank) {
            return;
        }
        self.observers.source_is_stopped::<C>(rank);
        let now = ctx.now();
        if self.sources.stop::<C>(rank, now) {
            self.end_rank(ctx, rank, now);
        }
    }

    /// A message has left its sender, which asked for this notice.
    pub(crate) fn sent<C: HostContext>(&mut self, ctx: &mut C, payload: Payload) {
        match payload {
            Payload::Eager { from, request, .. } | Payload::RendezvousData { from, request, .. } => {
                self.ask_mpi(ctx, |mpi, turn| mpi.complete::<C>(turn, request));
                self.advance(ctx, from);
            }
            Payload::ReadData { piece, .. } => self.ask_io(ctx, |io, turn| io.read_data_sent(turn, piece)),
            _ => {}
        }
    }

    /// A message has arrived.
    #[inline]
    pub(crate) fn arrived<C: HostContext>(&mut self, ctx: &mut C, payload: Payload, bytes: u64, created: Time) {
        self.observers.message_arrives::<C>(&MessageArrival {
            layout: &self.layout,
            payload: &payload,
            bytes,
            created,
            now: ctx.now(),
        });
        match payload {
            Payload::Synthetic { .. } => {}
            Payload::JobControl { from, to, signal } => {
                self.ask_jobs(ctx, |jobs, turn| jobs.signal_arrives::<C>(turn, from, to, signal));
            }
            Payload::Eager {
                from,
                to,
                tag,
                context,
                sequence,
                request,
            } => {
                let source = from - self.layout.job_of(to).first_rank;
                let message = Envelope::new(source, (tag, context, sequence), bytes, NIL);
                self.ask_mpi(ctx, |mpi, turn| {
                    mpi.acknowledge::<C>(turn, (to, from), bytes, request);
                    mpi.message_arrives::<C>(turn, to, message);
                });
                self.advance(ctx, to);
            }
            Payload::Rts {
                from,
                to,
                tag,
                context,
                sequence,
                outgoing,
                bytes,
            } => {
                let source = from - self.layout.job_of(to).first_rank;
                let message = Envelope::new(source, (tag, context, sequence), bytes, outgoing);
                self.ask_mpi(ctx, |mpi, turn| mpi.message_arrives::<C>(turn, to, message));
                self.advance(ctx, to);
            }
            Payload::Cts {
                to, outgoing, incoming, ..
            } => self.ask_mpi(ctx, |mpi, turn| mpi.cts_arrives::<C>(turn, to, outgoing, incoming)),
            Payload::RendezvousData {
                to, incoming, request, ..
            } => {
                self.ask_mpi(ctx, |mpi, turn| mpi.data_arrives::<C>(turn, to, incoming, request));
                self.advance(ctx, to);
            }
            Payload::Access {
                from,
                to,
                access,
                bytes,
                request,
            } => {
                let arrived = ArrivedAccess {
                    from,
                    to,
                    access,
                    bytes,
                    request,
                    created,
                };
                self.ask_mpi(ctx, |mpi, turn| mpi.access_arrives::<C>(turn, arrived));
            }
            Payload::Lock {
                from,
                to,
                comm,
                exclusive,
                request,
            } => self.ask_mpi(ctx, |mpi, turn| {
                mpi.windows
                    .lock_arrives::<C>(turn, &mpi.settings, (to, comm), (from, request), exclusive);
            }),
            Payload::Unlock { to, comm, .. } => self.ask_mpi(ctx, |mpi, turn| {
                mpi.windows.unlock_arrives::<C>(turn, &mpi.settings, to, comm)
            }),
            Payload::Epoch { from, to, comm, ends } => {
                self.ask_mpi(ctx, |mpi, turn| mpi.epoch_arrives::<C>(turn, (to, from), comm, ends));
                self.advance(ctx, to);
            }
            Payload::Ack { to, request, .. } | Payload::Fetched { to, request, .. } => {
                self.ask_mpi(ctx, |mpi, turn| mpi.complete::<C>(turn, request));
                self.advance(ctx, to);
            }
            Payload::Request { .. }
            | Payload::Pull { .. }
            | Payload::WriteData { .. }
            | Payload::ReadData { .. }
            | Payload::Response { .. }
            | Payload::LockRevoke { .. }
            | Payload::LockReturn { .. }
            | Payload::JobEnded { .. } => self.ask_io(ctx, |io, turn| io.message_arrives(turn, payload, bytes)),
        }
    }

    /// Records a failure and halts the run.
    pub(crate) fn fail<C: HostContext>(&mut self, ctx: &mut C, failure: Failure) {
        self.failures.push::<C>((ctx.now(), failure));
        ctx.halt(HALT_FAILURE);
    }
}

/// Hands over the part of a rank in a sum of routers.
fn contribute<C: HostContext>(hosts: &mut Hosts, ctx: &mut C, contribution: &RankContribution) {
    let &RankContribution {
        rank, bytes, software, ..
    } = contribution;
    hosts.observers.data_are_sent::<C>(rank, bytes);
    let owner = traffic_of(hosts.layout.place(rank).job, false);
    let endpoint = hosts.layout.endpoint_of_rank(rank);
    hosts
        .transport
        .contribute(ctx, endpoint, software, (contribution, owner));
}

/// A sum of routers has ended at an interface: the requests of its ranks complete.
pub(crate) fn reduction_ends<C: MachineContext, const OBSERVED: bool>(
    hosts: &mut Hosts,
    run: &mut RunContext<'_, C, OBSERVED>,
    operation: u32,
) {
    while let Some(Contribution {
        rank, request, owner, ..
    }) = run.take_reduced(operation)
    {
        if hosts.observers.ask_for_tags::<RunContext<'_, C, OBSERVED>>() {
            hosts
                .observers
                .message_acts(run.now(), job_of(owner), Carried::default());
        }
        hosts.ask_mpi(run, |mpi, turn| {
            mpi.complete::<RunContext<'_, C, OBSERVED>>(turn, request)
        });
        hosts.advance(run, rank);
    }
}
