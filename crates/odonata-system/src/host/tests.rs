//! Tests of the hosts on a small dragonfly.

mod algorithms;
mod author;
mod collectives;
mod communicators;
mod deadlocks;
mod jobs;
mod matching;
mod messages;
mod nonblocking;
mod outcomes;
mod persistent;
mod random;
mod reference;
mod rehearsal;
mod rendezvous;
mod requests;
mod sources;
mod storage;
mod streams;

use super::*;
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Model, NIL, Outbox, Pause, Sequential};
use odonata_network::routing::{
    Algorithm, Divert, DragonflyRouting, Header, Intermediate, Routing as FabricRouting, VcRule,
};
use odonata_network::{
    Blueprint, LinkParams, NetworkParams, NicParams, Parcel, RouterModel, Switching, Token, deadlock,
};
use odonata_storage::{DeviceModel, RateDevice, ServerParams};
use odonata_topology::{Arrangement, Dragonfly, DragonflyShape, Peer};
use odonata_units::{Bandwidth, Bytes};
use odonata_workload::collective::Rules;
use odonata_workload::{After, Comm, Cursor, Group, Op, OpId, OpKind, PROC_NULL, Program, Request, Source, Tag};
use std::sync::Arc;

const NS: u64 = 1_000;

/// A program that is written down rank by rank, with the members of its communicators: of a number, those
/// of the first list that the rank is in. A number without lists stands for all ranks.
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
fn compute(ns: u64) -> OpKind {
    OpKind::Compute {
        duration: Time::from_ns(ns),
    }
}

/// What a test runs on; the default is 9 groups of 4 routers with 2 nodes, minimal routing.
#[derive(Clone)]
struct World {
    shape: DragonflyShape,
    algorithm: Algorithm,
    params: HostParams,
    servers: Vec<ServerParams>,
    server_nodes: Vec<u32>,
    jobs: Vec<Job>,
}

const PACKET: u64 = 8_192;
const ROUTER_DELAY: Time = Time::from_ns(50);

impl World {
    fn new() -> World {
        let mpi = MpiParams {
            send_delay: Time::from_ns(2_510),
            send_ps_per_byte: 550.0,
            send_overhead: Time::ZERO,
            recv_overhead: Time::ZERO,
            call_jitter: None,
            local_latency: Time::from_ns(400),
            local_bandwidth: Bandwidth(1e10),
            eager_threshold: u64::MAX,
            rendezvous_control: 64,
            zero_copy: false,
            progress: Progress::Asynchronous,
            rules: Rules::default(),
        };
        let params = HostParams {
            looks_in_vain: false,
            mpi,
            io: IoParams {
                control_bytes: 128,
                send_delay: Time::ZERO,
            },
            nic_message_delay: Time::from_ns(1_000),
            nic_handoff: None,
            records: RecordParams {
                messages: 1_000_000,
                io: 1_000_000,
                source_arrivals: true,
            },
            seed: 7,
        };
        World {
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
            jobs: Vec::new(),
        }
    }

    /// A job with `program` whose rank `r` is on node `nodes[r]`, with server 0 if there is one.
    fn job(mut self, program: JobProgram, nodes: &[u32]) -> World {
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
            start: Time::ZERO,
            start_after: Vec::new(),
            until: Vec::new(),
        });
        self
    }

    fn script(self, ranks: Vec<Vec<Op>>, nodes: &[u32]) -> World {
        self.split(ranks, Vec::new(), nodes)
    }

    /// As [`script`](Self::script), with communicators.
    fn split(self, ranks: Vec<Vec<Op>>, comms: Vec<(Comm, Vec<u32>)>, nodes: &[u32]) -> World {
        self.job(JobProgram::Program(Arc::new(Script(ranks, comms))), nodes)
    }

    /// One storage server on `node`: 1 ns per byte and 100 ns per access.
    fn server(mut self, node: u32, capacity: u64) -> World {
        let device = RateDevice {
            read: Bandwidth(1e9),
            write: Bandwidth(1e9),
            overhead: Time::from_ns(100),
            seek: Time::ZERO,
            seek_window: 0,
        };
        let params = ServerParams::new(DeviceModel::Rate(device), capacity, 4_000);
        self.servers.push(ServerParams { block: 1_000, ..params });
        self.server_nodes.push(node);
        self
    }

    fn network(&self) -> NetworkParams {
        let link = |gbps: f64, ns| LinkParams {
            bandwidth: Bandwidth(gbps * 1e9),
            latency: Time::from_ns(ns),
            buffer: 1 << 16,
            credit_delay: Time::from_ns(10),
        };
        NetworkParams {
            input_queues: odonata_network::InputQueues::VirtualOutput,
            packet: PACKET,
            flit: 64,
            switching: Switching::StoreAndForward,
            router: RouterModel::InputQueued,
            router_delay: ROUTER_DELAY,
            links: [link(8.0, 20), link(10.0, 40), link(5.0, 300), link(10.0, 40)],
            detour: odonata_network::Detour {
                bias: 1.0,
                ..Default::default()
            },
            knowledge: odonata_network::Knowledge::Local,
            pipeline: odonata_network::Pipeline::default(),
            nic: NicParams { queue: 4, rate: None },
            classes: odonata_network::TrafficClasses::default(),
            congestion: odonata_network::CongestionControl::None,
            traffics: 2 * self.jobs.len() as u16,
            series: None,
            blame: false,
            seed: 3,
        }
    }

    fn build(&self) -> Rig {
        let dragonfly = Dragonfly::new(self.shape, Arrangement::Relative).unwrap();
        let (via, divert) = (Intermediate::Group, Divert::Anywhere);
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
        let servers = Servers::new(self.servers.clone()).unwrap();
        let topology = blueprint.routing().topology();
        let plan = HostPlan::new(self.params.clone(), self.jobs.clone(), &self.server_nodes, topology);
        let (fabric, hosts) = (blueprint.whole(), plan.whole(servers));
        Rig { fabric, hosts }
    }

    /// Runs until nothing is left, or the hosts halt the run.
    fn run(&self) -> Rig {
        let mut scheduler = Sequential::new(self.build());
        let pause = scheduler.run(Time::NEVER, u64::MAX);
        assert!(matches!(pause, Pause::Idle | Pause::Halted(HALT_FAILURE)), "{pause:?}");
        let rig = scheduler.into_model();
        let failed = matches!(rig.outcome(), HostOutcome::Failed { .. });
        assert!(failed || pause == Pause::Idle);
        rig
    }

    /// As [`run`](Self::run); everything must have come to its end, and home.
    fn complete(&self) -> Rig {
        let mut rig = self.run();
        assert_eq!(rig.outcome(), HostOutcome::Completed { unmatched: 0 });
        rig.hosts.audit().unwrap();
        rig.fabric.audit().unwrap();
        rig
    }

    /// From the moment a message of one packet joins an idle NIC's queue to its arrival:
    /// `sum over links (L / b + latency) + routers * delay`.
    fn zero_load(&self, source: u32, target: u32, bytes: u64) -> Time {
        let rig = self.build();
        let (routing, params) = (rig.fabric.routing(), rig.fabric.params());
        let topology = routing.topology();
        let hop = |class: usize| params.links[class].bandwidth.time_for(Bytes(bytes)) + params.links[class].latency;
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
struct Rig {
    fabric: Fabric,
    hosts: Hosts,
}
odonata_engine::journalled!(Rig { fabric, hosts });

impl Rig {
    fn outcome(&self) -> HostOutcome {
        Census::new(vec![&self.hosts]).outcome()
    }

    fn started(&self, job: u16) -> Option<Time> {
        self.hosts.started(job, &self.hosts.standing())
    }
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
enum RigEvent {
    Fabric(FabricEvent),
    Host(HostEvent),
}
impl From<FabricEvent> for RigEvent {
    fn from(event: FabricEvent) -> Self {
        RigEvent::Fabric(event)
    }
}
impl From<HostEvent> for RigEvent {
    fn from(event: HostEvent) -> Self {
        RigEvent::Host(event)
    }
}

impl Model for Rig {
    type Event = RigEvent;
    type Parcel = Parcel;
    type Token = Token;

    fn processes(&self) -> std::ops::Range<u32> {
        self.fabric.processes()
    }
    fn start<C: Context<RigEvent>>(&mut self, ctx: &mut C, lp: Lp) {
        self.hosts.start(ctx, lp, &mut self.fabric);
    }
    fn handle<C: Context<RigEvent>>(&mut self, ctx: &mut C, lp: Lp, event: RigEvent) {
        match event {
            RigEvent::Fabric(event) => {
                if let Some(notice) = self.fabric.handle::<RigEvent, C>(ctx, lp, event) {
                    self.hosts.notice(ctx, &mut self.fabric, notice);
                }
            }
            RigEvent::Host(event) => self.hosts.handle(ctx, &mut self.fabric, lp, event),
        }
    }
    fn outbox(&mut self) -> &mut Outbox<Parcel, Token> {
        self.fabric.outbox()
    }

    fn receive<C: Context<RigEvent>>(&mut self, _: &mut C, _: Lp, parcel: Parcel) -> RigEvent {
        RigEvent::Fabric(self.fabric.receive::<C>(parcel))
    }

    fn accept<C: Context<RigEvent>>(&mut self, ctx: &mut C, _: Lp, at: Time, token: Token) {
        self.fabric.accept::<RigEvent, C>(ctx, at, token);
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

fn digest(rig: &Rig) -> u128 {
    let mut digest = Digest::new();
    rig.results(&mut digest);
    digest.value()
}
