//! Tests of the hosts on a small dragonfly.

mod algorithms;
mod collectives;
mod communicators;
mod components;
mod deadlocks;
mod faults;
mod jobs;
mod leftovers;
mod lost_path;
mod lost_start;
mod lost_storage;
mod lost_time;
mod matching;
mod messages;
mod metadata;
mod mpi;
mod noise;
mod nonblocking;
mod one_sided;
mod outcomes;
mod persistent;
mod random;
mod random_program;
mod reference;
mod rehearsal;
mod rendezvous;
mod requests;
mod retries;
mod sources;
mod storage;
mod streams;
mod timeline;

use super::*;
use crate::settings::{Collectives, Mpi, Progress};
use odonata_device::{DeviceModel, Rate};
use odonata_engine::random::Purpose;
use odonata_engine::{
    Context, Digest, Journalled, Mode, Model, NIL, Pause, RollbackCheck, SendBuffer, Sequential, Speculative, Stream,
};
use odonata_network::FabricEvent;
use odonata_network::routing::{
    Algorithm, Divert, DragonflyRouting, Header, Intermediate, Routing as FabricRouting, VcRule,
};
use odonata_network::settings::Jitter;
use odonata_network::{
    Blueprint, Link, NetworkParams, Nic, RemoteEvent, RemoteUpdate, RouterModel, Switching, deadlock,
};
use odonata_storage::{ServerParams, ServersBuilder};
use odonata_topology::{Arrangement, Dragonfly, DragonflyShape, Peer};
use odonata_units::{Bandwidth, Bytes, PerByte};
use odonata_workload::collective::{Arguments, Kind, Rules};
use odonata_workload::{
    After, Collective, Comm, Cursor, Group, Op, OpId, OpKind, PROC_NULL, Program, Request, Source, Tag,
};
use std::sync::Arc;

const NS: u64 = 1_000;

/// A program given as one list of operations per rank, with the members of its communicators. If several lists have the
/// same communicator number, a rank uses the first list that contains it. A number without lists stands for all ranks.
#[derive(Debug)]
struct Script(Vec<Vec<Op>>, Vec<(Comm, Vec<u32>)>);

impl Program for Script {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let op = *self.0.get(rank as usize)?.get(cursor.op as usize)?;
        cursor.op += 1;
        Some(op)
    }
    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let mut lists = self.1.iter().filter(|(other, _)| *other == comm).peekable();
        if lists.peek().is_none() {
            return Some(Group::world(self.ranks()));
        }
        let list = lists.find(|(_, members)| members.contains(&rank))?;
        Some(Group::List(list.1.clone().into()))
    }
    fn describe(&self) -> String {
        "script".into()
    }
}

/// The outcome of programs with the leftovers in `text`.
fn left_behind(text: &str) -> HostOutcome {
    HostOutcome::Failed {
        kind: FailureKind::LeftBehind,
        text: text.into(),
    }
}

/// Operations of one stream.
fn sequence(kinds: impl IntoIterator<Item = OpKind>) -> Vec<Op> {
    (0..)
        .zip(kinds)
        .map(|(id, kind)| Op {
            id: OpId(id),
            stream: 0,
            after: After::NONE,
            kind,
        })
        .collect()
}

fn isend(to: u32, tag: u32, bytes: u64, request: u32) -> OpKind {
    OpKind::Isend {
        to,
        tag,
        bytes,
        comm: Comm::WORLD,
        request: Request(request),
    }
}
fn irecv(from: u32, tag: u32, bytes: u64, request: u32) -> OpKind {
    OpKind::Irecv {
        from: Source::Rank(from),
        tag: Tag::Is(tag),
        bytes,
        comm: Comm::WORLD,
        request: Request(request),
    }
}
fn send(to: u32, tag: u32, bytes: u64) -> OpKind {
    OpKind::Send {
        to,
        tag,
        bytes,
        comm: Comm::WORLD,
    }
}
fn recv(from: u32, tag: u32, bytes: u64) -> OpKind {
    OpKind::Recv {
        from: Source::Rank(from),
        tag: Tag::Is(tag),
        bytes,
        comm: Comm::WORLD,
    }
}
fn wait_all(count: u32) -> OpKind {
    OpKind::WaitAll {
        first: Request(0),
        count,
    }
}
/// On all ranks.
fn broadcast(root: u32, bytes: u64) -> Collective {
    let arguments = Arguments {
        root,
        bytes,
        ..Arguments::NONE
    };
    Kind::Broadcast.call(Comm::WORLD, arguments)
}
/// On all ranks.
fn allreduce(bytes: u64, count: u64) -> Collective {
    let arguments = Arguments {
        bytes,
        count,
        ..Arguments::NONE
    };
    Kind::Allreduce.call(Comm::WORLD, arguments)
}
fn compute(ns: u64) -> OpKind {
    OpKind::Compute {
        duration: Time::from_ns(ns),
    }
}

/// The machine of a test; by default 9 groups of 4 routers with 2 nodes each, minimal routing.
#[derive(Clone)]
struct Setup {
    shape: DragonflyShape,
    algorithm: Algorithm,
    params: HostParams,
    servers: Vec<ServerParams>,
    server_nodes: Vec<u32>,
    metadata_nodes: Vec<u32>,
    outages: Vec<ServerOutage>,
    /// Periods in which all devices are slow.
    slow: Vec<odonata_storage::FaultPeriod>,
    jobs: Vec<Job>,
}

const PACKET: u64 = 8_192;
const ROUTER_DELAY: Time = Time::from_ns(50);

impl Setup {
    fn new() -> Setup {
        let mpi = Mpi {
            send_delay: Time::from_ns(2_510),
            send_per_byte: PerByte(550.0),
            send_overhead: Time::ZERO,
            recv_overhead: Time::ZERO,
            call_jitter: None,
            noise: Vec::new(),
            local_latency: Time::from_ns(400),
            local_bandwidth: Bandwidth(1e10),
            eager_threshold: None,
            rendezvous_control: Bytes(64),
            rendezvous_zero_copy: false,
            progress: Progress::Asynchronous,
            collectives: Collectives::default(),
            ..Mpi::default()
        };
        let params = HostParams {
            mpi,
            rules: Rules::default(),
            trees: Vec::new(),
            nic: Nic {
                message_delay: Time::from_ns(1_000),
                ..Nic::default()
            },
            io_control_message: Bytes(128),
            locks: None,
            client: None,
            sync: Default::default(),
            removes: true,
            tiers: [].into(),
            metadata: None,
            outages: Vec::new(),
            metadata_faults: Vec::new(),
            ledger: None,
            lost_time: false,
            lost_time_path: 0,
            lost_time_interval: None,
            records: RecordParams {
                messages: 1_000_000,
                io: 1_000_000,
                source_arrivals: true,
                matches: true,
            },
            timeline: None,
            idle_wake_ups: false,
            seed: 7,
        };
        Setup {
            shape: DragonflyShape {
                groups: 9,
                routers: 4,
                nodes: 2,
                global_ports: 2,
                cables: None,
            },
            algorithm: Algorithm::Minimal,
            params,
            servers: Vec::new(),
            server_nodes: Vec::new(),
            metadata_nodes: Vec::new(),
            outages: Vec::new(),
            slow: Vec::new(),
            jobs: Vec::new(),
        }
    }

    /// Adds a job with `program`, with rank `r` on node `nodes[r]` and on server 0 if there is one.
    fn job(mut self, program: JobProgram, nodes: &[u32]) -> Setup {
        let servers = if self.servers.is_empty() {
            Vec::new()
        } else {
            vec![0; nodes.len()]
        };
        let name = format!("job {}", self.jobs.len());
        self.jobs.push(Job {
            name,
            program,
            nodes: nodes.to_vec(),
            servers,
            files: FileAccess::own(self.jobs.len() as u16),
            stage_in: Vec::new(),
            stage_wait: true,
            stage_out: false,
            start: Time::ZERO,
            start_after: Vec::new(),
            until: Vec::new(),
        });
        self
    }

    fn script(self, ranks: Vec<Vec<Op>>, nodes: &[u32]) -> Setup {
        self.split(ranks, Vec::new(), nodes)
    }

    /// Like [`script`](Self::script), with communicators.
    fn split(self, ranks: Vec<Vec<Op>>, comms: Vec<(Comm, Vec<u32>)>, nodes: &[u32]) -> Setup {
        self.job(JobProgram::Program(Arc::new(Script(ranks, comms))), nodes)
    }

    /// Adds a storage server on `node` with 1 ns per byte and 100 ns per access.
    fn server(mut self, node: u32, capacity: u64) -> Setup {
        let device = Rate {
            read: Bandwidth(1e9),
            write: Bandwidth(1e9),
            overhead: Time::from_ns(100),
            seek: Time::ZERO,
            seek_window: Bytes(0),
        };
        let mut params = ServerParams::new(DeviceModel::Rate(device), capacity, 4_000);
        params.manager.block = Bytes(1_000);
        self.servers.push(params);
        self.server_nodes.push(node);
        self
    }

    fn network(&self) -> NetworkParams {
        let link = |gbps: f64, ns| {
            Link::new(
                Bandwidth(gbps * 1e9),
                Time::from_ns(ns),
                Bytes(1 << 16),
                Time::from_ns(10),
            )
        };
        NetworkParams {
            input_queues: odonata_network::InputQueues::VirtualOutput,
            packet: PACKET,
            header: 0,
            flit: 64,
            switching: Switching::StoreAndForward,
            router: RouterModel::InputQueued,
            arbitration: odonata_network::Arbitration::FirstCome,
            router_delay: ROUTER_DELAY,
            links: [link(8.0, 20), link(10.0, 40), link(5.0, 300), link(10.0, 40)],
            detour: odonata_network::Detour {
                bias: 1.0,
                ..Default::default()
            },
            knowledge: odonata_network::Knowledge::Local,
            pipeline: odonata_network::Pipeline::default(),
            clock: Time::from_ns(1),
            nic: Nic {
                queue: 4,
                ..Nic::default()
            },
            nic_rates: None,
            analytic: None,
            ethernet: None,
            reduction: None,
            fidelities: odonata_network::Fidelities::Same(odonata_network::settings::Fidelity::Packet),
            coupling_interval: None,
            classes: odonata_network::TrafficClasses::default(),
            congestion: odonata_network::CongestionControl::default(),
            traffics: 2 * self.jobs.len() as u16,
            series: None,
            blame: self.params.lost_time,
            blame_sampling: 1,
            lost_time: self.params.lost_time,
            lost_places: self.params.lost_time_path > 0,
            seed: 3,
        }
    }

    fn build(&self) -> TestMachine {
        let dragonfly = Dragonfly::new(self.shape, Arrangement::Relative).unwrap();
        let (via, divert) = (Intermediate::Group, Divert::Any);
        let routing = FabricRouting::Dragonfly(DragonflyRouting::new(
            dragonfly,
            self.algorithm,
            via,
            divert,
            VcRule::Stage,
            2,
        ));
        let vcs = routing.virtual_channels();
        let blueprint = Blueprint::new(self.network(), routing, vcs);
        let tiers = self.params.tiers.len().max(1);
        let servers = ServersBuilder::new(self.servers.clone())
            .unwrap()
            .with_faults(|_, _| self.slow.clone())
            .shared_by(&vec![1.0; self.jobs.len()])
            .in_tiers(tiers, self.jobs.len());
        let servers = match self.params.client {
            Some(client) => {
                let of = |server: u32| {
                    let own = self.outages.iter();
                    let own = own.filter(|outage| outage.server == server && outage.device.is_none());
                    own.map(|outage| outage.outage).collect()
                };
                let of_devices = |server: u32, device: u32| {
                    let own = self.outages.iter();
                    let own = own.filter(|outage| (outage.server, outage.device) == (server, Some(device)));
                    own.map(|outage| outage.outage).collect()
                };
                servers
                    .with_failures(of, self.jobs.len(), client.lost_reads)
                    .with_device_failures(of_devices)
            }
            None => servers,
        };
        let servers = match self.params.lost_time {
            true => {
                let jobs = self.jobs.len() as u16;
                servers.with_blame(jobs, None, false).with_losses().build()
            }
            false => servers.build(),
        };
        let topology = blueprint.routing().topology();
        let mut params = self.params.clone();
        params.outages = self.outages.clone();
        let plan = HostPlan::new(params, self.jobs.clone(), &self.server_nodes, topology)
            .with_metadata_servers(&self.metadata_nodes, topology);
        let (fabric, hosts) = (blueprint.whole(), plan.whole(servers));
        TestMachine { fabric, hosts }
    }

    /// Runs until no event is left or the hosts halt the run.
    fn run(&self) -> TestMachine {
        let mut scheduler = Sequential::new(self.build());
        let pause = scheduler.run(Time::NEVER, u64::MAX);
        assert!(matches!(pause, Pause::Idle | Pause::Halted(HALT_FAILURE)), "{pause:?}");
        let machine = scheduler.into_model();
        let failed = matches!(machine.outcome(), HostOutcome::Failed { .. });
        assert!(failed || pause == Pause::Idle);
        machine
    }

    /// Like [`run`](Self::run), and checks that the run completed and left nothing behind.
    fn complete(&self) -> TestMachine {
        let mut machine = self.run();
        assert_eq!(machine.outcome(), HostOutcome::Completed);
        machine.hosts.audit().unwrap();
        machine.fabric.audit().unwrap();
        machine
    }

    /// Time from joining the queue of an idle NIC to arrival, for a message of one packet: `sum over links (L / b +
    /// latency) + routers * delay`.
    fn zero_load(&self, source: u32, target: u32, bytes: u64) -> Time {
        let machine = self.build();
        let (routing, params) = (machine.fabric.routing(), machine.fabric.params());
        let topology = routing.topology();
        let hop = |class: usize| params.links[class].bandwidth.time_for(Bytes(bytes)) + *params.links[class].latency;
        let (mut router, mut header) = (topology.node_router(source), Header::new(target));
        let mut time = hop(topology.class(topology.node_port(source)) as usize);
        loop {
            let mut next = None;
            deadlock::outcomes(routing, router, header, |decision, header| {
                next = Some((decision.port, header))
            });
            let (port, after) = next.unwrap();
            header = after;
            time += ROUTER_DELAY + hop(topology.class(port) as usize);
            match topology.peer(port) {
                Peer::Router { router: far, .. } => router = far,
                _ => return time,
            }
        }
    }
}

/// The fabric and the hosts.
#[derive(Debug)]
struct TestMachine {
    fabric: Fabric,
    hosts: Hosts,
}
odonata_engine::journalled!(TestMachine { fabric, hosts });

impl TestMachine {
    fn outcome(&self) -> HostOutcome {
        RunState::new(vec![&self.hosts]).outcome()
    }

    fn started(&self, job: u16) -> Option<Time> {
        self.hosts.job_statuses().started(self.hosts.plans(), job)
    }
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
enum TestEvent {
    Fabric(FabricEvent),
    Host(HostEvent),
}
impl From<FabricEvent> for TestEvent {
    fn from(event: FabricEvent) -> Self {
        TestEvent::Fabric(event)
    }
}
impl From<HostEvent> for TestEvent {
    fn from(event: HostEvent) -> Self {
        TestEvent::Host(event)
    }
}

/// What [`TestContext`] asks of the context that the scheduler gave.
trait Scheduling {
    fn now(&self) -> Time;
    fn now_of(&self, lp: Lp) -> Time;
    fn handled_before(&self) -> Time;
    fn send(&mut self, to: Lp, at: Time, event: TestEvent);
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: TestEvent);
    fn halt(&mut self, code: u32);
}

impl<C: Context<Event = TestEvent>> Scheduling for C {
    fn now(&self) -> Time {
        Context::now(self)
    }
    fn now_of(&self, lp: Lp) -> Time {
        Context::now_of(self, lp)
    }
    fn handled_before(&self) -> Time {
        Context::handled_before(self)
    }
    fn send(&mut self, to: Lp, at: Time, event: TestEvent) {
        Context::send(self, to, at, event);
    }
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: TestEvent) {
        Context::wake_up(self, lp, at, id, event);
    }
    fn halt(&mut self, code: u32) {
        Context::halt(self, code);
    }
}

/// The context of every handler in these tests, whichever scheduler runs them: all handlers are compiled once, in the mode that
/// journals. odonata-machine compiles them for each scheduler; tests of the schedulers are in odonata-system.
struct TestContext<'a>(&'a mut dyn Scheduling);

impl Mode for TestContext<'_> {
    const JOURNAL: bool = Speculative::JOURNAL;
}

impl Context for TestContext<'_> {
    type Event = TestEvent;

    fn now(&self) -> Time {
        self.0.now()
    }
    fn now_of(&self, lp: Lp) -> Time {
        self.0.now_of(lp)
    }
    fn handled_before(&self) -> Time {
        self.0.handled_before()
    }
    fn send(&mut self, to: Lp, at: Time, event: TestEvent) {
        self.0.send(to, at, event);
    }
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: TestEvent) {
        self.0.wake_up(lp, at, id, event);
    }
    fn halt(&mut self, code: u32) {
        self.0.halt(code);
    }
}

impl TestMachine {
    /// Does `what` in the mode that journals. A scheduler that never rolls back wants no undo log.
    fn journalled<C: Context<Event = TestEvent>, T>(
        &mut self,
        ctx: &mut C,
        what: impl FnOnce(&mut Self, &mut TestContext<'_>) -> T,
    ) -> T {
        let done = what(self, &mut TestContext(ctx));
        if !C::JOURNAL {
            self.commit();
        }
        done
    }

    fn handle_event(&mut self, ctx: &mut TestContext<'_>, lp: Lp, event: TestEvent) {
        match event {
            TestEvent::Fabric(event) => {
                if let Some(notice) = self.fabric.handle(ctx, lp, event) {
                    self.hosts.notice(ctx, &mut self.fabric, notice);
                }
            }
            TestEvent::Host(event) => self.hosts.handle(ctx, &mut self.fabric, lp, event),
        }
    }
}

impl Model for TestMachine {
    type Event = TestEvent;
    type RemoteEvent = RemoteEvent<Payload>;
    type RemoteUpdate = RemoteUpdate;

    fn processes(&self) -> std::ops::Range<u32> {
        self.fabric.processes()
    }
    fn start<C: Context<Event = TestEvent>>(&mut self, ctx: &mut C, lp: Lp) {
        self.journalled(ctx, |machine, ctx| machine.hosts.start(ctx, lp, &mut machine.fabric));
    }
    fn handle<C: Context<Event = TestEvent>>(&mut self, ctx: &mut C, lp: Lp, event: TestEvent) {
        self.journalled(ctx, |machine, ctx| machine.handle_event(ctx, lp, event));
    }
    fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<Payload>, RemoteUpdate> {
        self.fabric.send_buffer()
    }

    fn receive_event<C: Context<Event = TestEvent>>(
        &mut self,
        ctx: &mut C,
        _: Lp,
        event: RemoteEvent<Payload>,
    ) -> TestEvent {
        self.journalled(ctx, |machine, _| {
            TestEvent::Fabric(machine.fabric.receive_event::<TestContext<'_>>(event))
        })
    }

    fn apply_update<C: Context<Event = TestEvent>>(&mut self, ctx: &mut C, _: Lp, at: Time, update: RemoteUpdate) {
        self.journalled(ctx, |machine, ctx| machine.fabric.apply_update(ctx, at, update));
    }

    fn lookahead(&self, from: Lp, to: Lp) -> Time {
        self.fabric.lookahead(from, to)
    }
    fn results(&self, digest: &mut Digest) {
        self.fabric.results(digest);
        let hosts = HostMeasured::join([self.hosts.measured(Time::NEVER)]);
        hosts.expect("there is one part").results(digest);
    }
}

/// Undoes and repeats every event of `setup`, which was generated from `seed`; returns the digest of the final state.
fn redo_every_event(setup: &Setup, seed: u64) -> u128 {
    let mut harness = RollbackCheck::new(setup.build());
    harness
        .run(u64::MAX)
        .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
    digest(harness.model())
}

fn digest(machine: &TestMachine) -> u128 {
    let mut digest = Digest::new();
    machine.results(&mut digest);
    digest.value()
}
