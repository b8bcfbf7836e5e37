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
mod metrics;
mod outcome;
mod params;
mod peers;
mod persistent;
mod post;
mod progress;
mod rank;
mod rendezvous;
mod report;
mod request;
mod server;
mod source;
#[cfg(test)]
mod tests;

pub use deadlock::describe_cycle;
pub use event::HostEvent;
pub use jobs::{CONTROL_BYTES, WaitingJob};
pub use metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics};
pub use outcome::{Blocked, FailureKind, HALT_FAILURE, HostOutcome, StuckWrite};
pub use params::{HostParams, IoParams, Jitter, Job, JobProgram, MpiParams, Progress, RecordParams};
pub use report::JobView;

use event::Desk;
use letter::Letter;
use odonata_engine::random::Purpose;
use odonata_engine::{Context, List, Lp, NIL, Pool, Rows, Store, Stream, Time};
use odonata_network::{Fabric, FabricEvent, Histogram, Notice};
use odonata_storage::{Actions, Servers};

/// A job as the hosts keep it; never changes.
#[derive(Debug)]
struct JobPlan {
    name: String,
    program: JobProgram,
    /// When it starts, or how long after the jobs that it waits for.
    start: Time,
    /// Jobs that must have ended before it starts.
    start_after: Vec<u16>,
    /// Jobs whose end stops its sources.
    until: Vec<u16>,
    /// Jobs that want to know when it has ended, each once.
    watchers: Vec<u16>,
    ranks: u32,
    /// Number of its rank 0 among the ranks of all jobs.
    first_rank: u32,
    /// Index of its first source, if it has any.
    first_source: u32,
    /// Index of its first chain of peers, and chains per rank.
    first_chain: u32,
    chains: u32,
}

/// Everything above the fabric. Ranks are counted over all jobs, in the jobs' order.
#[derive(Debug)]
pub struct Hosts {
    params: HostParams,
    jobs: Vec<JobPlan>,
    places: Vec<rank::Place>,
    /// Node and logical process of each server.
    server_places: Vec<(u32, Lp)>,
    /// (logical process, rank), sorted.
    starts: Vec<(Lp, u32)>,
    ranks: Store<rank::Rank>,
    activities: Pool<rank::Activity>,
    inboxes: Store<matching::Inbox>,
    requests: Pool<request::RequestCell>,
    /// What persistent requests stand for.
    plans: Pool<persistent::Plan>,
    posted: Pool<matching::Posted>,
    waiting: Pool<matching::Waiting>,
    /// Heads of the chains of `peers`.
    chains: Store<u32>,
    peers: Pool<peers::Peer>,
    /// Random streams of the software: one per rank, then one per server.
    streams: Store<Stream>,
    sources: Store<source::SourceCell>,
    /// Per rank: reports of ends that it waits for before it passes them on; empty if no job waits for another.
    unreported: Store<u32>,
    /// Per job, at its rank 0.
    awaited: Store<jobs::Awaited>,
    /// Per logical process: its last event that did something; empty if all do.
    last: Store<Time>,
    outgoing: Pool<rendezvous::Outgoing>,
    incoming: Pool<rendezvous::Incoming>,
    envelopes: Pool<rendezvous::Envelope>,
    deferred: Pool<progress::Deferred>,
    /// What the library of each rank has to do in its next call.
    chores: Store<List>,
    parcels: Pool<post::Parcel>,
    io_ops: Pool<client::IoOp>,
    io_headers: Pool<client::IoHeader>,
    servers: Servers,
    metrics: Store<RankMetrics>,
    message_latency: Histogram,
    message_rows: Rows<MessageRecord>,
    io_rows: Rows<IoRecord>,
    iteration_rows: Rows<IterationRecord>,
    failures: Rows<outcome::Failure>,
    /// Empty outside of tests.
    facts: Rows<fact::Fact>,
    /// Empty between events; kept for its memory.
    actions: Actions,
}
odonata_engine::journalled!(Hosts {
    ranks,
    activities,
    inboxes,
    requests,
    plans,
    posted,
    waiting,
    chains,
    peers,
    streams,
    sources,
    unreported,
    awaited,
    last,
    outgoing,
    incoming,
    envelopes,
    deferred,
    chores,
    parcels,
    io_ops,
    io_headers,
    servers,
    metrics,
    message_latency,
    message_rows,
    io_rows,
    iteration_rows,
    failures,
    facts,
});

impl Hosts {
    /// The hosts of `jobs` on the nodes of `fabric`; storage server `s` of `servers` is on node
    /// `server_nodes[s]`.
    ///
    /// # Panics
    /// The lists do not belong together: a job with as many nodes (or servers, if it has any) as its
    /// program has ranks, and a node per server are expected, and nodes that exist.
    pub fn new(params: HostParams, jobs: Vec<Job>, servers: Servers, server_nodes: Vec<u32>, fabric: &Fabric) -> Self {
        assert_eq!(
            servers.len() as usize,
            server_nodes.len(),
            "every storage server has a node"
        );
        let server_places: Vec<(u32, Lp)> = server_nodes
            .iter()
            .map(|&node| (node, fabric.process_of(node)))
            .collect();
        let mut watchers = vec![Vec::new(); jobs.len()];
        for (number, job) in (0..).zip(&jobs) {
            let mut watched: Vec<u16> = job.start_after.iter().chain(&job.until).copied().collect();
            watched.sort_unstable();
            watched.dedup();
            for other in watched {
                watchers[usize::from(other)].push(number);
            }
        }
        let told = jobs.iter().any(|job| !job.until.is_empty());
        let awaited = jobs.iter().map(|job| jobs::Awaited {
            start: job.start_after.len() as u16,
            stop: job.until.len() as u16,
        });
        let awaited = awaited.collect();
        let mut unreported = Vec::new();
        if watchers.iter().any(|list| !list.is_empty()) {
            for (job, list) in jobs.iter().zip(&watchers) {
                let ranks = job.nodes.len() as u32;
                unreported.extend(jobs::reports(ranks).map(|reports| if list.is_empty() { 0 } else { reports }));
            }
        }
        let mut plans = Vec::with_capacity(jobs.len());
        let mut places = Vec::new();
        let mut sources = Vec::new();
        let mut chains = 0;
        // Who draws random numbers is named by node and order on the node, not by rank: jobs share no node, so a
        // job draws the same whether or not others run beside it.
        let mut owners: Vec<u64> = Vec::new();
        let mut on_node = std::collections::BTreeMap::<u32, u64>::new();
        for (number, job) in jobs.into_iter().enumerate() {
            assert!(number < 1 << 15, "two kinds of traffic per job have 16-bit numbers");
            let number = number as u16;
            let ranks = job.nodes.len() as u32;
            let first_rank = places.len() as u32;
            owners.extend(job.nodes.iter().map(|&node| {
                let order = on_node.entry(node).or_default();
                *order += 1;
                (*order - 1) << 33 | u64::from(node)
            }));
            let mut plan = JobPlan {
                name: job.name,
                program: job.program,
                start: job.start,
                start_after: job.start_after,
                until: job.until,
                watchers: std::mem::take(&mut watchers[usize::from(number)]),
                ranks,
                first_rank,
                first_source: sources.len() as u32,
                first_chain: chains,
                chains: peers::chains(ranks),
            };
            match &plan.program {
                JobProgram::Program(program) => {
                    assert_eq!(program.ranks(), ranks, "job {:?}: every rank has a node", plan.name);
                    chains += ranks * plan.chains;
                }
                JobProgram::Synthetic { .. } => {
                    plan.chains = 0;
                    sources.extend(owners[first_rank as usize..].iter().map(|&owner| source::SourceCell {
                        destination: Stream::new(params.seed, owner, Purpose::Destination),
                        arrival: Stream::new(params.seed, owner, Purpose::Arrival),
                        sent: 0,
                        next: Time::ZERO,
                        told: Time::NEVER,
                    }));
                }
            }
            assert!(
                job.servers.is_empty() || job.servers.len() == job.nodes.len(),
                "every rank has a server or none"
            );
            places.extend(job.nodes.iter().enumerate().map(|(rank, &node)| rank::Place {
                job: number,
                node,
                lp: fabric.process_of(node),
                server: job.servers.get(rank).copied().unwrap_or(NIL),
            }));
            plans.push(plan);
        }
        assert!(places.len() < letter::MOST_ENDS as usize, "at most 2^28 ranks");
        let mut starts: Vec<(Lp, u32)> = (0..).zip(&places).map(|(rank, place)| (place.lp, rank)).collect();
        starts.sort_unstable();
        let n = places.len();
        let server_owner = |server: usize| 1 << 32 | server as u64;
        let streams = owners
            .into_iter()
            .chain((0..server_places.len()).map(server_owner))
            .map(|owner| Stream::new(params.seed, owner, Purpose::Host))
            .collect();
        Hosts {
            ranks: Store::filled(n, rank::Rank::new()),
            activities: Pool::new(),
            inboxes: Store::filled(n, matching::Inbox::default()),
            requests: Pool::new(),
            plans: Pool::new(),
            posted: Pool::new(),
            waiting: Pool::new(),
            chains: Store::filled(chains as usize, NIL),
            peers: Pool::new(),
            streams: Store::from_vec(streams),
            sources: Store::from_vec(sources),
            unreported: Store::from_vec(unreported),
            awaited: Store::from_vec(awaited),
            last: Store::filled(if told { fabric.processes() as usize } else { 0 }, Time::ZERO),
            outgoing: Pool::new(),
            incoming: Pool::new(),
            envelopes: Pool::new(),
            deferred: Pool::new(),
            chores: Store::filled(n, List::EMPTY),
            parcels: Pool::new(),
            io_ops: Pool::new(),
            io_headers: Pool::new(),
            servers,
            metrics: Store::filled(n, RankMetrics::default()),
            message_latency: Histogram::new(2 * plans.len()),
            message_rows: Rows::new(),
            io_rows: Rows::new(),
            iteration_rows: Rows::new(),
            failures: Rows::new(),
            facts: Rows::new(),
            actions: Actions::new(),
            params,
            jobs: plans,
            places,
            server_places,
            starts,
        }
    }

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
