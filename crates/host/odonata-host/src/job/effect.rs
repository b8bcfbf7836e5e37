//! Effects of job control, carried out: signals as messages, starts and ends of ranks.

use super::control::{CONTROL_BYTES, JobControl};
use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::observe::Observer;
use crate::params::JobProgram;
use crate::payload::{JobSignal, Payload};
use crate::send::{SendRequest, traffic_of};
use crate::turn::{Effects, Turn};
use odonata_engine::Time;

/// An effect of an input to job control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEffect {
    /// Send a signal between ranks.
    Signal { from: u32, to: u32, signal: JobSignal },
    /// The rank begins, immediately or after the start delay of its job.
    Begin { rank: u32 },
    /// The input of the job is staged: the program of the rank starts.
    StartProgram { rank: u32 },
    /// The source of the rank stops.
    Stop { rank: u32 },
    /// The job, whose rank 0 this is, has ended: storage servers wait for that.
    TellServers { rank: u32 },
    /// The ranks of a subtree below the rank have their input.
    ReportStaged { rank: u32 },
}

impl Hosts {
    /// Gives an input to job control and carries out its effects, which may lead to further inputs.
    pub(crate) fn ask_jobs<C: HostContext>(
        &mut self,
        ctx: &mut C,
        input: impl FnOnce(&mut JobControl, &mut Turn<'_, JobEffect>),
    ) {
        let mut effects = std::mem::replace(&mut self.job_effects, Effects::new());
        let turn = &mut Turn {
            now: ctx.now(),
            observers: &mut self.observers,
            effects: &mut effects,
        };
        input(&mut self.jobs, turn);
        for &effect in effects.iter() {
            match effect {
                JobEffect::Signal { from, to, signal } => self.signal(ctx, from, to, signal),
                JobEffect::Begin { rank } => self.begin_rank(ctx, rank),
                JobEffect::StartProgram { rank } => self.start_program(ctx, rank),
                JobEffect::Stop { rank } => {
                    if !self.records.metrics(rank).finished {
                        self.observers.source_is_stopped::<C>(rank);
                    }
                    self.stop_source(ctx, rank);
                }
                JobEffect::TellServers { rank } => self.tell_servers(ctx, rank),
                JobEffect::ReportStaged { rank } => self.report_staged(ctx, rank),
            }
        }
        effects.clear();
        self.job_effects = effects;
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
        if !self.begin_stage_in(ctx, rank) {
            self.start_program(ctx, rank);
        }
    }

    /// Starts the program after the stage-in.
    pub(crate) fn start_program<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        self.records.edit_metrics::<C>(rank).start = Some(ctx.now());
        let job = self.layout.place(rank).job;
        self.observers.rank_starts::<C>(rank, job, ctx.now());
        match self.layout.job_of(rank).program {
            JobProgram::Program(_) => self.advance(ctx, rank),
            JobProgram::Synthetic { .. } => self.start_source(ctx, rank),
        }
    }

    pub(crate) fn end_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32, end: Time) {
        let metrics = self.records.edit_metrics::<C>(rank);
        metrics.finished = true;
        metrics.end = end;
        self.ask_jobs(ctx, |jobs, turn| jobs.rank_ends::<C>(turn, rank, end));
    }

    /// The parent of `rank` in the tree of its job; `None` for rank 0.
    pub(crate) fn parent(&self, rank: u32) -> Option<u32> {
        self.layout.parent(rank)
    }

    /// Relays a signal from `rank` to its children in the tree of its job.
    pub(crate) fn pass_on<C: HostContext>(&mut self, ctx: &mut C, rank: u32, signal: JobSignal) {
        self.ask_jobs(ctx, |jobs, turn| jobs.pass_on(turn, rank, signal));
    }

    pub(crate) fn signal<C: HostContext>(&mut self, ctx: &mut C, from: u32, to: u32, signal: JobSignal) {
        let request = SendRequest {
            source: self.layout.endpoint_of_rank(from),
            target: self.layout.endpoint_of_rank(to),
            bytes: CONTROL_BYTES,
            traffic: traffic_of(self.layout.place(from).job, false),
            payload: Payload::JobControl { from, to, signal },
            created: ctx.now(),
            software: self.params.mpi.send_software(CONTROL_BYTES),
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }
}
