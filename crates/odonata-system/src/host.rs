//! The hosts: everything above the fabric.
//!
//! [`Hosts`] executes the programs of all ranks, matches their messages, carries out collectives, runs
//! open-loop sources, and lets I/O clients and storage servers talk to each other.
//!
//! ```text
//!  Program ─> execute ─> call ─┬─> request <──────────────────┐   one LP = a router with its nodes,
//!                              ├─> matching <── rendezvous <──┤   their ranks, servers and NICs
//!                              ├─> collective ─> matching     │
//!                              │        │         progress ───┤
//!  Synthetic ──> source        │        │                     │
//!                  │           │        │      client <───────┤   server <─> odonata_storage::Servers
//!                  v           v        v        v            │     v
//!                post: Fabric::submit, or within the node ──> arrived / sent
//! ```
//!
//! The traffic of job `j` is number `2 j` (MPI) and `2 j + 1` (its I/O, control messages included).
//!
//! # What is charged to whom
//! Compute occupies its stream. A message leaves for the network after the software's delay and the copy,
//! which do not occupy the rank: several overlap. Overheads and the random delays of calls do. A send
//! is complete when its last packet starts on the terminal link, a receive when the whole message is
//! there. Messages above [`MpiParams::eager_threshold`], and those of synchronous sends, go by rendezvous
//! (`rendezvous`), which may have to wait for calls of its ranks ([`Progress`]). [`RankMetrics`] says how times
//! add up.
//!
//! # Rules that programs can rely on
//! - Messages of one sender on one communicator are matched in the order of sending, however they are
//!   routed (`peers`, `matching`).
//! - Who is in a communicator is what [`Program::group`](odonata_workload::Program::group) answers, at any time:
//!   the call that makes one costs its messages, and is not checked against the uses. An operation on a
//!   communicator that its rank is not in is an error of the program.
//! - A wait or test for a number that is not open returns at once (`MPI_REQUEST_NULL`), so does one for a
//!   persistent request that is not started. A wait for any takes the lowest number that is complete, a wait
//!   for some all that are.
//! - Non-blocking collectives of a communicator may overlap; blocking and non-blocking calls are counted as one
//!   order. At most 4,095 of a rank can be under way on a communicator.
//! - A job that waits for others hears of their end by messages (`jobs`), and its ranks start one after the other.
//! - A rank with several streams looks 256 operations ahead, counted from the oldest incomplete one.

mod call;
mod census;
mod client;
mod collective;
mod communicator;
mod deadlock;
mod event;
mod execute;
mod explain;
mod fact;
mod jobs;
mod letter;
mod matching;
mod measured;
mod memory;
mod metrics;
mod outcome;
mod params;
mod peers;
mod persistent;
mod plan;
mod post;
mod progress;
mod rank;
mod rendezvous;
mod report;
mod request;
mod server;
mod source;
mod standing;
#[cfg(test)]
mod tests;

pub use census::Census;
pub use deadlock::describe_cycle;
pub use event::HostEvent;
pub use jobs::{CONTROL_BYTES, WaitingJob};
pub use measured::HostMeasured;
pub(crate) use memory::words;
pub use metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
pub use outcome::{Blocked, FailureKind, HALT_FAILURE, HostOutcome, StuckWrite};
pub use params::{HostParams, IoParams, Jitter, Job, JobProgram, MpiParams, Progress, RecordParams};
pub use plan::HostPlan;
pub use report::JobView;
pub use standing::Standing;

use event::Desk;
use letter::Letter;
use odonata_engine::{Context, List, Lp, Pool, Rows, Sparse, Store, Stream, Time, Windowed};
use odonata_network::{Fabric, FabricEvent, Histogram, Notice};
use odonata_storage::{Actions, Servers};
use plan::{JobPlan, ServerPlace};
use std::ops::Range;
use std::sync::Arc;

/// Everything above the fabric, or above a part of it. Ranks are counted over all jobs, in the jobs' order; a part has
/// the state of those on its own nodes.
#[derive(Debug)]
pub struct Hosts {
    params: HostParams,
    jobs: Arc<[JobPlan]>,
    places: Arc<[rank::Place]>,
    server_places: Arc<[ServerPlace]>,
    /// (logical process, rank), sorted.
    starts: Arc<[(Lp, u32)]>,
    /// The logical processes of this part.
    processes: Range<Lp>,
    ranks: Sparse<rank::Rank>,
    activities: Pool<rank::Activity>,
    inboxes: Sparse<matching::Inbox>,
    requests: Pool<request::RequestCell>,
    /// What persistent requests stand for.
    plans: Pool<persistent::Plan>,
    posted: Pool<matching::Posted>,
    waiting: Pool<matching::Waiting>,
    /// Index of the first chain of each rank; never changes.
    first_chain: Sparse<u32>,
    /// Index of the first word of each rank; never changes. Empty if no program has memory.
    first_word: Sparse<u32>,
    /// Memory of programs: their own words, the tag that answers, and the number of reports.
    words: Store<u64>,
    /// Heads of the chains of `peers`.
    chains: Store<u32>,
    peers: Pool<peers::Peer>,
    /// Random streams of the software: one per rank, then one per server.
    streams: Sparse<Stream>,
    /// Of the ranks that are sources.
    sources: Sparse<source::SourceCell>,
    /// Per rank: reports of ends that it waits for before it passes them on; empty if no job waits for another.
    unreported: Sparse<u32>,
    /// Per job, at its rank 0.
    awaited: Store<jobs::Awaited>,
    /// Per logical process: its last event that did something; empty if all do.
    last: Windowed<Time>,
    outgoing: Pool<rendezvous::Outgoing>,
    incoming: Pool<rendezvous::Incoming>,
    deferred: Pool<progress::Deferred>,
    /// What the library of each rank has to do in its next call.
    chores: Sparse<List>,
    parcels: Pool<post::Parcel>,
    io_ops: Pool<client::IoOp>,
    /// Those on the nodes of this part, and their numbers.
    servers: Servers,
    server_numbers: Arc<[u32]>,
    metrics: Sparse<RankMetrics>,
    message_latency: Histogram,
    message_rows: Rows<MessageRecord>,
    io_rows: Rows<IoRecord>,
    /// When the last of these message and of these I/O rows has ended.
    ends: Store<Time>,
    iteration_rows: Rows<IterationRecord>,
    report_rows: Rows<ReportRecord>,
    failures: Rows<(Time, outcome::Failure)>,
    /// Empty outside of tests.
    facts: Rows<fact::Fact>,
    /// Empty between events; kept for its memory.
    actions: Actions,
    /// Empty between pulls; kept for its memory.
    scratch: Vec<u64>,
}
odonata_engine::journalled!(Hosts {
    ranks,
    activities,
    inboxes,
    requests,
    plans,
    posted,
    waiting,
    words,
    chains,
    peers,
    streams,
    sources,
    unreported,
    awaited,
    last,
    outgoing,
    incoming,
    deferred,
    chores,
    parcels,
    io_ops,
    servers,
    metrics,
    message_latency,
    message_rows,
    io_rows,
    ends,
    iteration_rows,
    report_rows,
    failures,
    facts,
});

impl Hosts {
    /// Starts the ranks of LP `lp`: those of jobs that start at time zero at once, the others when
    /// their time comes, or when they are told (`jobs`).
    pub fn start<E, C>(&mut self, ctx: &mut C, lp: Lp, fabric: &mut Fabric)
    where
        E: Copy + From<FabricEvent> + From<HostEvent>,
        C: Context<E>,
    {
        let first = self.starts.partition_point(|&(owner, _)| owner < lp);
        for index in first..self.starts.len() {
            let (owner, rank) = self.starts[index];
            if owner != lp {
                break;
            }
            let job = &self.jobs[usize::from(self.places[rank as usize].job)];
            match job.start {
                _ if !job.start_after.is_empty() => {}
                Time::ZERO => self.start_rank(&mut Desk::<E, C>::new(ctx, fabric), rank),
                start => ctx.send(lp, start, HostEvent::Start { rank }.into()),
            }
        }
    }

    /// Handles an event of the hosts at its LP.
    pub fn handle<E, C>(&mut self, ctx: &mut C, fabric: &mut Fabric, lp: Lp, event: HostEvent)
    where
        E: Copy + From<FabricEvent> + From<HostEvent>,
        C: Context<E>,
    {
        let mut desk = Desk::<E, C>::new(ctx, fabric);
        let x = &mut desk;
        match event {
            HostEvent::Generate { rank } => {
                debug_assert_eq!(self.places[rank as usize].lp, lp);
                if self.is_void(rank) {
                    return;
                }
                self.generate(x, rank);
            }
            HostEvent::Start { rank } => self.start_rank(x, rank),
            HostEvent::Resume { activity } => self.resume(x, activity),
            HostEvent::LocalSent { parcel } => {
                let letter = Letter::unpack(self.parcels.get(parcel).content);
                self.sent(x, letter);
            }
            HostEvent::LocalArrived { parcel } => {
                let post::Parcel {
                    bytes,
                    created,
                    content,
                    ..
                } = *self.parcels.get(parcel);
                self.parcels.give::<C>(parcel);
                self.arrived(x, Letter::unpack(content), bytes, created);
            }
            HostEvent::DeviceDone { server } => self.device_done(x, server),
            HostEvent::DrainDone { server } => self.drain_done(x, server),
        }
        self.touch::<C>(lp, ctx.now());
    }

    /// Takes note of what the fabric says about a message.
    pub fn notice<E, C>(&mut self, ctx: &mut C, fabric: &mut Fabric, notice: Notice)
    where
        E: Copy + From<FabricEvent> + From<HostEvent>,
        C: Context<E>,
    {
        match notice {
            Notice::Sent { message } => {
                let letter = Letter::unpack(fabric.message(message).content);
                self.sent(&mut Desk::<E, C>::new(ctx, fabric), letter);
            }
            Notice::Arrived { message } => {
                let message_slot = message;
                let message = *fabric.message(message_slot);
                fabric.release::<C>(message_slot);
                let letter = Letter::unpack(message.content);
                self.arrived(
                    &mut Desk::<E, C>::new(ctx, fabric),
                    letter,
                    message.bytes,
                    message.created,
                );
            }
        }
    }
}
