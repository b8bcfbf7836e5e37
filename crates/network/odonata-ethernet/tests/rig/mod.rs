//! A machine of Ethernet alone on a fat tree: all flows start at once.

#![allow(dead_code)]

use odonata_engine::{
    Context, Digest, Journalled, Lp, Mode, Model, Partition, Pause, SendBuffer, Sequential, Time, WireFormat,
};
use odonata_ethernet::settings::Settings;
use odonata_ethernet::{
    Ethernet, Event, FlowRecord, Links, Outcome, Params, PortCounters, Remote, RoceCounters, Route, Submission,
    Surroundings, TransportCounters,
};
use odonata_topology::{FatTree, FatTreeShape};
use odonata_units::{Bandwidth, mix64};
use std::ops::Range;
use std::sync::Arc;

/// A flow: source, target, bytes.
pub(crate) type Flow = (u32, u32, u64);

/// A machine and its flows.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) tree: Arc<FatTree>,
    pub(crate) gbps: f64,
    pub(crate) settings: Settings,
    pub(crate) packet: (u64, u64),
    pub(crate) seed: u64,
    pub(crate) flows: Vec<Flow>,
}

/// The full fat tree of 2 or 3 levels with this number of nodes: routers of equal radix.
pub(crate) fn full_tree(nodes: u32, levels: usize) -> Arc<FatTree> {
    let half = (1..).find(|half: &u32| 2 * half.pow(levels as u32) >= nodes).unwrap();
    let mut down = vec![half; levels];
    down[levels - 1] = 2 * half;
    let mut up = vec![half; levels];
    up[0] = 1;
    let parallel = vec![1; levels];
    Arc::new(FatTree::new(FatTreeShape { down, up, parallel }).unwrap())
}

impl Case {
    pub(crate) fn new(nodes: u32, levels: usize, gbps: f64, flows: Vec<Flow>) -> Case {
        Case {
            tree: full_tree(nodes, levels),
            gbps,
            settings: Settings {
                record_flows: true,
                ..Settings::default()
            },
            packet: (4086, 64),
            seed: 1,
            flows,
        }
    }

    pub(crate) fn with(mut self, set: impl FnOnce(&mut Settings)) -> Case {
        set(&mut self.settings);
        self
    }

    pub(crate) fn part(&self, routers: Range<u32>) -> Rig {
        let mut settings = self.settings.clone();
        settings.resolve().unwrap();
        let hops = 2 * self.tree.levels();
        let bandwidth = Bandwidth(self.gbps * 1e9 / 8.0);
        let latency = Time(u64::from(hops) * 1_000_000);
        settings.fill_base_rtt((hops, latency), bandwidth, self.packet.0 + self.packet.1);
        settings.fill_sizes(bandwidth, self.packet).unwrap();
        let params = Params::new(&settings, bandwidth, self.packet, self.seed);
        let topology = self.tree.topology();
        let nodes = topology.nodes_of_routers(routers.clone()).unwrap();
        Rig {
            ethernet: Ethernet::new(params, topology, (routers.clone(), nodes), &Uniform(bandwidth), 1),
            case: self.clone(),
            routers,
            arrived: odonata_engine::Store::filled(1, 0),
            send_buffer: SendBuffer::new(),
        }
    }

    pub(crate) fn run(&self) -> Results {
        let mut scheduler = Sequential::new(self.part(0..self.tree.topology().routers()));
        assert_eq!(scheduler.run(Time(20_000_000_000), u64::MAX), Pause::Idle);
        let events = scheduler.events();
        Results::of(&[scheduler.into_model()], events)
    }

    pub(crate) fn partition(&self, parts: u32) -> Partition {
        let routers = self.tree.topology().routers();
        let bounds: Vec<u32> = (0..=parts).map(|part| routers * part / parts).collect();
        let others = |part: u32| (0..parts).filter(move |&other| other != part);
        let senders = (0..parts).map(|part| others(part).map(|other| (other, Time(1_000_000))).collect());
        Partition::new(bounds, senders.collect()).unwrap()
    }

    /// Utilization and mean queue in bytes at the link to `node` within `span`, in milliseconds. With a marking ramp from 0
    /// to 1 MB the share of marked packets is the mean queue in MB, if senders do not look at marks.
    pub(crate) fn measured(&self, node: u32, span: Range<u64>) -> (f64, f64) {
        let topology = self.tree.topology();
        let mut run = Sequential::new(self.part(0..topology.routers()));
        let mut at = |ms: u64| {
            assert_eq!(run.run(Time(ms * 1_000_000_000), u64::MAX), Pause::TimeLimit);
            let mut counters = run.model().ethernet.port_counters();
            let port = *counters.nth(topology.node_port(node) as usize).unwrap();
            (port.data as f64, port.marked as f64, port.busy.0 as f64)
        };
        let (before, after) = (at(span.start), at(span.end));
        let queue = (after.1 - before.1) / (after.0 - before.0) * 1e6;
        ((after.2 - before.2) / ((span.end - span.start) as f64 * 1e9), queue)
    }
}

struct Uniform(Bandwidth);

impl Links for Uniform {
    fn port(&self, _: u32) -> (Bandwidth, Time) {
        (self.0, Time(1_000_000))
    }
    fn nic(&self, _: u32) -> (Bandwidth, Time) {
        (self.0, Time(1_000_000))
    }
}

/// What a run has measured.
#[derive(Debug, PartialEq)]
pub(crate) struct Results {
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) transport: TransportCounters,
    pub(crate) roce: RoceCounters,
    pub(crate) ports: PortCounters,
    pub(crate) arrived: u64,
    pub(crate) events: u64,
}

impl Results {
    pub(crate) fn of(parts: &[Rig], events: u64) -> Results {
        let mut flows: Vec<FlowRecord> = parts.iter().flat_map(|rig| rig.ethernet.records()).collect();
        flows.sort_unstable();
        let mut transport = TransportCounters::default();
        let mut roce = RoceCounters::default();
        let mut ports = PortCounters::default();
        for rig in parts {
            rig.ethernet.audit().unwrap();
            rig.ethernet.transport_counters().for_each(|one| transport.add(one));
            rig.ethernet.roce_counters().for_each(|one| roce.add(one));
            for one in rig.ethernet.port_counters() {
                ports.data += one.data;
                ports.control += one.control;
                ports.bytes += one.bytes;
                ports.marked += one.marked;
                ports.trimmed += one.trimmed;
                ports.dropped += one.dropped;
                ports.pauses += one.pauses;
                ports.paused += one.paused;
                ports.most = ports.most.max(one.most);
            }
        }
        Results {
            flows,
            transport,
            roce,
            ports,
            arrived: parts.iter().map(|rig| *rig.arrived.get(0)).sum(),
            events,
        }
    }

    /// Flow completion times in microseconds, ascending.
    pub(crate) fn times(&self) -> Vec<f64> {
        let time = |flow: &FlowRecord| (flow.end.0 - flow.start.0) as f64 / 1e6;
        let mut times: Vec<f64> = self.flows.iter().map(time).collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

/// A part of the machine.
pub(crate) struct Rig {
    pub(crate) ethernet: Ethernet,
    case: Case,
    routers: Range<u32>,
    /// Messages that have arrived.
    arrived: odonata_engine::Store<u64>,
    send_buffer: SendBuffer<Wire, odonata_engine::Never>,
}
odonata_engine::journalled!(Rig { ethernet, arrived });

/// An event: of Ethernet, or the start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum RigEvent {
    Ethernet(Event),
    /// Flow `.0` of the case is known at its target under number `.1`.
    Open(u32, u32),
    Start(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Wire {
    Remote(Remote),
    Open(u32, u32),
}

impl WireFormat for Wire {
    fn write(&self, bytes: &mut Vec<u8>) {
        odonata_engine::write_compact(self, bytes);
    }
    fn read(bytes: &mut &[u8]) -> Option<Wire> {
        odonata_engine::read_compact(bytes)
    }
}

struct Around<'a, C> {
    ctx: &'a mut C,
    tree: &'a FatTree,
    out: &'a mut SendBuffer<Wire, odonata_engine::Never>,
}

impl<C: Mode> Mode for Around<'_, C> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<C: Context<Event = RigEvent>> Surroundings for Around<'_, C> {
    fn now(&self) -> Time {
        self.ctx.now()
    }
    fn send(&mut self, process: u32, at: Time, event: Event) {
        self.ctx.send(process, at, RigEvent::Ethernet(event));
    }
    fn export(&mut self, process: u32, at: Time, remote: Remote) {
        self.out.events.push((process, at, Wire::Remote(remote)));
    }
    fn route(&mut self, router: u32, target: u32, state: Route, hash: u64, _: &dyn Fn(u32) -> u64) -> (u32, Route) {
        (self.port(router, target, hash), state)
    }
}

impl<C> Around<'_, C> {
    fn port(&self, router: u32, target: u32, hash: u64) -> u32 {
        let topology = self.tree.topology();
        let leaf = topology.node_router(target);
        if router == leaf {
            return topology.node_port(target);
        }
        if self.tree.is_above(router, leaf) {
            let ports = self.tree.down_ports(router, leaf);
            return ports.start + (hash % u64::from(ports.end - ports.start)) as u32;
        }
        let parents = self.tree.parents(router);
        let parent = ((u128::from(hash) * u128::from(parents)) >> 64) as u32;
        let ports = self.tree.up_ports(router, parent);
        ports.start + (mix64(hash) % u64::from(ports.end - ports.start)) as u32
    }
}

impl Model for Rig {
    type Event = RigEvent;
    type RemoteEvent = Wire;
    type RemoteUpdate = odonata_engine::Never;

    fn processes(&self) -> Range<Lp> {
        self.routers.clone()
    }

    fn start<C: Context<Event = RigEvent>>(&mut self, ctx: &mut C, lp: Lp) {
        let topology = self.case.tree.topology();
        for (flow, &(source, ..)) in self.case.flows.iter().enumerate() {
            if topology.node_router(source) == lp {
                ctx.send(lp, Time(1), RigEvent::Start(flow as u32));
            }
        }
    }

    fn handle<C: Context<Event = RigEvent>>(&mut self, ctx: &mut C, lp: Lp, event: RigEvent) {
        let now = ctx.now();
        let mut around = Around {
            ctx,
            tree: &self.case.tree,
            out: &mut self.send_buffer,
        };
        match event {
            RigEvent::Ethernet(event) => {
                if let Some(Outcome::Arrived(_)) = self.ethernet.handle(&mut around, lp, event) {
                    *self.arrived.edit::<C>(0) += 1;
                }
            }
            RigEvent::Start(flow) => {
                let (source, target, bytes) = self.case.flows[flow as usize];
                let submission = Submission {
                    message: flow,
                    source,
                    target,
                    bytes,
                    traffic: 0,
                    created: now,
                };
                let number = self.ethernet.submit(&mut around, &submission);
                let to = self.case.tree.topology().node_router(target);
                let at = Time(now.0 + 1_000_000);
                if self.routers.contains(&to) {
                    around.ctx.send(to, at, RigEvent::Open(flow, number));
                } else {
                    around.out.events.push((to, at, Wire::Open(flow, number)));
                }
            }
            RigEvent::Open(flow, number) => {
                let (source, target, bytes) = self.case.flows[flow as usize];
                self.ethernet.open(&around, flow, (source, number), target, bytes);
            }
        }
    }

    fn send_buffer(&mut self) -> &mut SendBuffer<Wire, odonata_engine::Never> {
        &mut self.send_buffer
    }

    fn receive_event<C: Context<Event = RigEvent>>(&mut self, _: &mut C, _: Lp, event: Wire) -> RigEvent {
        match event {
            Wire::Remote(remote) => RigEvent::Ethernet(self.ethernet.receive::<C>(remote)),
            Wire::Open(flow, number) => RigEvent::Open(flow, number),
        }
    }

    fn apply_update<C: Context<Event = RigEvent>>(&mut self, _: &mut C, _: Lp, _: Time, update: odonata_engine::Never) {
        match update {}
    }

    fn lookahead(&self, _: Lp, _: Lp) -> Time {
        Time(1_000_000)
    }

    fn results(&self, digest: &mut Digest) {
        self.ethernet.fingerprint(digest);
    }
}
