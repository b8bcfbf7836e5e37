//! The hosts: everything above the fabric.
//!
//! [`Hosts`] executes the programs of all ranks, matches their messages, carries out collectives, runs open-loop
//! sources, and connects I/O clients with storage servers.
//!
//! ```text
//!  Program ─> rank: execute ─> call ─> mpi ─────> effects      one LP = a router with its nodes,
//!                                │      ^            │          their ranks, servers and NICs
//!                                v      │            │
//!                      io: calls,client │            │        io: server <─> odonata_storage::Servers
//!  Synthetic ─> source        │         │            │             │
//!                 │           v         │            v             v
//!               send: Fabric::submit, or within the node ──> arrived / sent
//! ```
//!
//! [`Hosts`] consists of components, each of which owns its state: ranks, the MPI library, the I/O layer, job control,
//! sources, the interface to the fabric, instruments. `Hosts` only routes their inputs and effects (`route`). The content of
//! a message is a [`Payload`].
//!
//! The traffic class of job `j` is `2 j` for MPI and `2 j + 1` for I/O, including control messages.
//!
//! # Cost model
//! Compute occupies its stream, and so do overheads and the random delays of calls. A message enters the network after
//! the software delay and the copy. These do not occupy the rank, so several of them overlap.
//!
//! A send completes when its last packet starts on the terminal link, a receive when the whole message has arrived.
//! Messages above [`Mpi::eager_threshold`](settings::Mpi::eager_threshold) and synchronous sends use the rendezvous
//! protocol (`rendezvous`), which may have to wait for MPI calls of the two ranks ([`Progress`](settings::Progress)).
//! [`RankMetrics`] documents how times add up.
//!
//! # Guarantees to programs
//! - Messages from one sender on one communicator match in the order of sending, on whatever routes
//!   (`mpi::sequence`, `mpi::matching`).
//! - [`Program::group`](odonata_workload::Program::group) defines the members of a communicator at all times. The call
//!   that creates a communicator costs its messages, and later uses are not checked against it. An operation on a
//!   communicator without its rank is an error of the program.
//! - A wait or test on a number that is not open returns immediately (`MPI_REQUEST_NULL`), as it does for an inactive
//!   persistent request. A wait-any takes the lowest complete number, a wait-some takes all complete ones.
//! - Non-blocking collectives of a communicator may overlap. Blocking and non-blocking calls share one order. At most
//!   4,095 per rank can be active on a communicator.
//! - Messages tell a job that the jobs before it have ended (`job`); its ranks start one after the other.
//! - A rank with several streams looks 256 operations ahead, counted from the oldest incomplete one.

mod context;
mod diagnosis;
mod event;
mod failure;
pub mod footprint;
mod interfaces;
mod interrupt;
mod io;
mod job;
mod layout;
mod measured;
mod metrics;
mod mpi;
mod noise;
mod observe;
mod params;
mod payload;
mod plan;
mod rank;
mod route;
mod send;
pub mod settings;
mod source;
#[cfg(test)]
mod tests;
mod timeline;
mod turn;
mod view;

pub use context::{Fabric, MachineContext};
pub use diagnosis::deadlock::describe_cycle;
pub use diagnosis::outcome::{Blocked, BlockedClient, BlockedWrite, FailureKind, HostOutcome};
pub use diagnosis::run_state::RunState;
pub use event::HostEvent;
pub use failure::HALT_FAILURE;
pub use interrupt::Interrupt;
pub use io::client::RetryCounts;
pub use io::lower_tier::{Outside, StorageTier};
pub use io::stage::{StageFile, StageMeasured, StageTimes};
pub use job::control::WaitingJob;
pub use job::effect::CONTROL_BYTES;
pub use job::status::JobStatuses;
pub use measured::HostMeasured;
pub use metrics::{IoOperation, IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
pub use observe::exposed::ExposedTime;
pub use observe::lost::path::{Parts, PathCall, PathRecord};
pub use observe::lost::progress::{JobStamp, LostInterval};
pub use observe::matches::MatchRecord;
pub use params::{FileAccess, HostParams, Job, JobProgram, LedgerParams, RecordParams, ServerOutage};
pub use payload::{JobSignal, Payload};
pub use plan::HostPlan;
pub use timeline::{
    AccessRecord, CALLS, CallKind, CallRecord, Charge, Flow, RequestSpan, Step, StepRecord, TimelineMeasured,
    TimelineParams,
};
pub use view::{JobPlans, JobView};

use context::{HostContext, RunContext};
use failure::Failure;
use io::Io;
use io::client::Timer;
use io::effect::IoEffect;
use job::control::JobControl;
use job::effect::JobEffect;
use layout::Layout;
use mpi::Mpi;
use mpi::effect::MpiEffect;
use observe::{Observer, Observers};
use odonata_blame::lost::job_of;
use odonata_engine::{Lp, Rows, Time};
use odonata_network::Notice;
use rank::RankExecutor;
use send::{LocalMessage, Transport};
use source::Sources;
use turn::Effects;

/// Everything above the fabric, or above one part of it. Rank numbers run over all jobs in order; a part holds the
/// state of the ranks on its own nodes.
#[derive(Debug)]
pub struct Hosts {
    params: HostParams,
    layout: Layout,
    ranks: RankExecutor,
    mpi: Mpi,
    io: Io,
    jobs: JobControl,
    sources: Sources,
    transport: Transport,
    observers: Observers,
    failures: Rows<(Time, Failure)>,
    /// Effects of components; empty between inputs, kept for their memory.
    mpi_effects: Effects<MpiEffect>,
    job_effects: Effects<JobEffect>,
    io_effects: Effects<IoEffect>,
}
odonata_engine::journalled!(Hosts {
    ranks,
    mpi,
    io,
    jobs,
    sources,
    transport,
    observers,
    failures,
});

impl Hosts {
    /// Starts the ranks of LP `lp`: immediately for jobs that start at time zero, otherwise at their start time or on
    /// notice of another job's end (`job`).
    pub fn start<C: MachineContext>(&mut self, ctx: &mut C, lp: Lp, fabric: &mut Fabric) {
        match self.observers.are_compiled::<C>() {
            true => self.start_observed(&mut RunContext::<C, true>::new(ctx, fabric), lp),
            false => self.start_observed(&mut RunContext::<C, false>::new(ctx, fabric), lp),
        }
    }

    fn start_observed<H: HostContext>(&mut self, run: &mut H, lp: Lp) {
        for index in self.layout.ranks_at(lp) {
            let (_, rank) = self.layout.starts[index];
            let job = self.layout.job_of(rank);
            match job.start {
                _ if !job.start_after.is_empty() => {}
                Time::ZERO => self.start_rank(run, rank),
                start => run.schedule(lp, start, HostEvent::Start { rank }),
            }
        }
        for (server, at) in self.io.servers.device_failures() {
            if self.layout.server(server).lp == lp {
                run.schedule(lp, at.max(Time::from_ps(1)), HostEvent::DeviceFails { server });
            }
        }
    }

    /// Handles a host event at its LP.
    pub fn handle<C: MachineContext>(&mut self, ctx: &mut C, fabric: &mut Fabric, lp: Lp, event: HostEvent) {
        match self.observers.are_compiled::<C>() {
            true => self.handle_observed(&mut RunContext::<C, true>::new(ctx, fabric), lp, event),
            false => self.handle_observed(&mut RunContext::<C, false>::new(ctx, fabric), lp, event),
        }
    }

    #[inline]
    fn handle_observed<H: HostContext>(&mut self, run: &mut H, lp: Lp, event: HostEvent) {
        self.observers.event_begins::<H>(run.now());
        match event {
            HostEvent::Generate { rank } => {
                debug_assert_eq!(self.layout.place(rank).lp, lp);
                if self.sources.is_stopped(rank) {
                    return;
                }
                self.generate(run, rank);
            }
            HostEvent::Start { rank } => self.start_rank(run, rank),
            HostEvent::Resume { activity } => self.resume(run, activity),
            HostEvent::StepEnds { call } => self.step_ends(run, call),
            HostEvent::LocalSent { message } => {
                let payload = self.transport.local(message).payload;
                self.observers.local_message_has_left::<H>(message, run.now());
                self.sent(run, payload);
            }
            HostEvent::LocalArrived { message } => {
                let LocalMessage {
                    bytes,
                    created,
                    payload,
                    ..
                } = self.transport.take_local::<H>(message);
                self.observers.local_message_arrives::<H>(message, run.now());
                self.arrived(run, payload, bytes, created);
            }
            HostEvent::DeviceBegins { piece } => self.ask_io(run, |io, turn| io.device_begins(turn, piece)),
            HostEvent::DeviceDone { piece } => self.ask_io(run, |io, turn| io.device_done(turn, piece)),
            HostEvent::DrainDone { server } => self.ask_io(run, |io, turn| io.drain_done(turn, server)),
            HostEvent::CachesWritten { sync } => self.ask_io(run, |io, turn| io.caches_written(turn, sync)),
            HostEvent::FromFileSystem { attempt } => {
                self.ask_io(run, |io, turn| io.file_system_data_arrived(turn, attempt))
            }
            HostEvent::ClientTimeout { attempt } => {
                let late = self.is_without_effect(&event);
                self.ask_io(run, |io, turn| io.client_timer(turn, Timer::Timeout { attempt }));
                if late {
                    return;
                }
            }
            HostEvent::DeviceFails { server } => {
                if self.is_without_effect(&event) {
                    return;
                }
                self.ask_io(run, |io, turn| io.device_fails(turn, server));
            }
            HostEvent::ClientRetry { part } => {
                self.ask_io(run, |io, turn| io.client_timer(turn, Timer::Retry { part }))
            }
            HostEvent::MetadataDone { call } => self.ask_io(run, |io, turn| io.metadata_done(turn, call)),
        }
        self.io.have_worked::<H>(&mut self.observers, run.now());
        self.note_effect::<H>(lp, run.now());
    }

    /// Handles a notice of the fabric about a message.
    pub fn notice<C: MachineContext>(&mut self, ctx: &mut C, fabric: &mut Fabric, notice: Notice) {
        match self.observers.are_compiled::<C>() {
            true => self.notice_observed(&mut RunContext::<C, true>::new(ctx, fabric), notice),
            false => self.notice_observed(&mut RunContext::<C, false>::new(ctx, fabric), notice),
        }
    }

    #[inline]
    fn notice_observed<C: MachineContext, const OBSERVED: bool>(
        &mut self,
        run: &mut RunContext<'_, C, OBSERVED>,
        notice: Notice,
    ) {
        self.observers.event_begins::<RunContext<'_, C, OBSERVED>>(run.now());
        let slot = match notice {
            Notice::Sent { message } | Notice::Arrived { message } => message,
            Notice::Reduced { operation } => return route::reduction_ends(self, run, operation),
        };
        let message = *run.message(slot);
        if self.observers.ask_for_tags::<RunContext<'_, C, OBSERVED>>() {
            let tag = run.losses(slot);
            self.observers.message_acts(run.now(), job_of(message.traffic), tag);
        }
        match notice {
            Notice::Reduced { .. } => {}
            Notice::Sent { .. } => {
                run.note_sent(slot);
                if self
                    .transport
                    .interfaces
                    .join::<RunContext<'_, C, OBSERVED>>(&message, false)
                    .is_some()
                {
                    self.sent(run, message.content);
                }
            }
            Notice::Arrived { .. } => {
                run.release(slot);
                let whole = self
                    .transport
                    .interfaces
                    .join::<RunContext<'_, C, OBSERVED>>(&message, true);
                if let Some(bytes) = whole {
                    self.arrived(run, message.content, bytes, message.created);
                }
            }
        }
        self.io
            .have_worked::<RunContext<'_, C, OBSERVED>>(&mut self.observers, run.now());
    }
}
