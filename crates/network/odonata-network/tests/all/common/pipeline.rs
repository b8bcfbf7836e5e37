//! A slow network of pipelined virtual-channel routers, simulated cycle by cycle and flit by flit.
//!
//! It follows W. Dally, B. Towles, "Principles and practices of interconnection networks", 2004, chapters 16 to 19,
//! with the timing of N. Jiang et al., "A detailed and flexible cycle-accurate network-on-chip simulator", ISPASS 2013,
//! and is independent of the fabric's implementation. Every flit is an object in a buffer, a crossbar, an output queue
//! or on a wire; every credit travels; every router takes every step of every cycle. Every cycle, in this order:
//!
//! 1. due credits and flits arrive; a node takes its flits at once, and the credit starts back a cycle later;
//! 2. messages reach their NICs, and every NIC with a free link starts a flit;
//! 3. routers take the cycle's steps of allocation. In a step every input virtual channel requests a virtual channel or
//!    the switch, then both allocators decide;
//! 4. every free link starts the first flit of its output queue that has left the crossbar.
//!
//! **Stages.** A stage of `n` cycles that begins in a step of cycle `k` ends with that step if `n = 1`, otherwise with
//! the first step of cycle `k + n - 1`; the next stage begins in the step after it. A flit that crosses the crossbar in
//! its `n` cycles can start on the link in the last of them.

// Matrices by row and column, as in the description.
#![allow(clippy::needless_range_loop)]

use super::{CYCLE, FLIT, Scripted};
use odonata_network::routing::{Choice, Header, Path, Routing};
use odonata_network::{
    AdaptiveRequests, Allocator, Arbitration, InjectionVc, NetworkParams, Switching, VirtualChannels,
};
use odonata_topology::{LinkClass, Peer};
use odonata_units::SplitMix64;
use std::collections::{BTreeMap, VecDeque};

/// A step of a cycle, counted from 1.
type Moment = (u64, u32);

/// A flit: its packet, and its index in it.
#[derive(Clone, Copy)]
struct Flit {
    packet: usize,
    number: u64,
}

struct Packet {
    message: usize,
    flits: u64,
    header: Header,
    /// Picoseconds: the packets of a message follow one another at the rate of the terminal link.
    created: u64,
    /// The cycle in which its head left the node.
    injected: u64,
}

/// Where a wire ends.
#[derive(Clone, Copy)]
enum End {
    Node,
    /// A router, and the first of its input virtual channels there.
    Router(usize, usize),
    Nothing,
}

/// The sender's state of a virtual channel of the downstream buffer.
#[derive(Clone, Copy)]
struct FarVc {
    room: u64,
    /// The input virtual channel whose packet holds it.
    owner: Option<usize>,
}

/// A link in one direction, with its output queue and its returning credits.
struct Wire {
    class: LinkClass,
    flit_time: u64,
    latency: u64,
    credit_delay: u64,
    capacity: u64,
    end: End,
    vcs: Vec<FarVc>,
    /// In the crossbar, or out of it since the given cycle.
    queue: VecDeque<(u64, usize, Flit)>,
    free_at: u64,
    flying: VecDeque<(u64, usize, Flit)>,
    credits: Vec<(u64, usize)>,
}

enum State {
    Empty,
    /// In the routing stage, until this time.
    Routing(Moment),
    /// Holds output virtual channel (wire, number) from this time on.
    Active(usize, usize, Moment),
}

struct InVc {
    port: usize,
    vc: usize,
    /// The wire into it.
    feeder: Option<usize>,
    buffer: VecDeque<Flit>,
    state: State,
    /// The routing decision: possible outputs.
    way: Option<Vec<Candidate>>,
}

/// Output and level, the header behind, and whether room for one more packet is required.
type Candidate = (usize, usize, Header, bool);

struct Router {
    inputs: Vec<InVc>,
    /// Its wires, and the number of the first virtual channel of each, numbered over the router.
    wires: Vec<usize>,
    first_vc: Vec<usize>,
    channels: Arbiters,
    switch: Arbiters,
    /// The virtual channel sent last, per switch input.
    sent: Vec<Option<usize>>,
}

/// The arbiters of an allocator: the first candidate of each.
struct Arbiters {
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

/// Requests of rows for columns: preference of the row and urgency; the least first.
type Asked = Vec<Vec<Option<(u64, u64)>>>;

impl Arbiters {
    fn new(inputs: usize, outputs: usize) -> Arbiters {
        Arbiters {
            inputs: vec![0; inputs],
            outputs: vec![0; outputs],
        }
    }

    /// A separable allocator.
    fn allocate(&mut self, (allocator, rounds, arbitration): Allocation, asked: &Asked) -> Vec<(usize, usize)> {
        let (rows, columns) = (self.inputs.len(), self.outputs.len());
        if asked.iter().flatten().all(Option::is_none) {
            return Vec::new();
        }
        let (mut row_free, mut column_free) = (vec![true; rows], vec![true; columns]);
        let mut matches = Vec::new();
        for _ in 0..rounds {
            let mut open = asked.clone();
            for (asks, &row_free) in open.iter_mut().zip(&row_free) {
                for (ask, &column_free) in asks.iter_mut().zip(&column_free) {
                    *ask = ask.filter(|_| row_free && column_free);
                }
            }
            let by_column = |open: Asked, pointers: &[usize]| {
                let mut chosen = transposed(&open);
                // A row's preference does not matter to a column.
                let wishes: Vec<Vec<u64>> = open
                    .iter()
                    .map(|row| row.iter().map(|ask| ask.map_or(0, |ask| ask.0)).collect())
                    .collect();
                chosen.iter_mut().flatten().flatten().for_each(|ask| ask.0 = 0);
                let mut chosen = transposed(&one_of_each_row(chosen, pointers));
                for (row, wishes) in chosen.iter_mut().zip(&wishes) {
                    for (ask, wish) in row.iter_mut().zip(wishes) {
                        *ask = ask.map(|(_, urgency)| (*wish, urgency));
                    }
                }
                chosen
            };
            let chosen = match allocator {
                Allocator::InputFirst => by_column(one_of_each_row(open, &self.inputs), &self.outputs),
                Allocator::OutputFirst => one_of_each_row(by_column(open, &self.outputs), &self.inputs),
            };
            for (row, asks) in chosen.iter().enumerate() {
                for column in (0..columns).filter(|&column| asks[column].is_some()) {
                    (row_free[row], column_free[column]) = (false, false);
                    matches.push((row, column));
                    if arbitration != Arbitration::LowestFirst {
                        self.inputs[row] = (column + 1) % columns;
                        self.outputs[column] = (row + 1) % rows;
                    }
                }
            }
        }
        matches
    }
}

/// Each row's arbiter chooses the most urgent request, among equals the first from its pointer on.
fn one_of_each_row(mut asked: Asked, pointers: &[usize]) -> Asked {
    for (asks, &pointer) in asked.iter_mut().zip(pointers) {
        let n = asks.len();
        let behind = |column: usize| (column + n - pointer) % n;
        let ranks = asks.iter().enumerate();
        let best = ranks
            .filter_map(|(column, ask)| Some((*ask.as_ref()?, behind(column), column)))
            .min();
        for (column, ask) in asks.iter_mut().enumerate() {
            *ask = ask.filter(|_| best.is_some_and(|best| best.2 == column));
        }
    }
    asked
}

fn transposed(asked: &Asked) -> Asked {
    let columns = asked.first().map_or(0, Vec::len);
    (0..columns)
        .map(|column| asked.iter().map(|asks| asks[column]).collect())
        .collect()
}

/// The side that chooses first, the number of rounds, and the arbitration.
type Allocation = (Allocator, u32, Arbitration);

struct Nic {
    packets: VecDeque<usize>,
    /// Flits of the first message that have left, and their virtual channel.
    gone: u64,
    vc: usize,
}

pub(crate) struct Machine<'a> {
    params: &'a NetworkParams,
    routing: &'a Routing,
    vcs: VirtualChannels,
    script: &'a [Scripted],
    routers: Vec<Router>,
    /// Of router ports, then of NICs.
    wires: Vec<Wire>,
    ports: usize,
    nics: Vec<Nic>,
    packets: Vec<Packet>,
    undelivered: Vec<u64>,
    arrivals: Vec<Option<u64>>,
    /// The remaining fraction of a step.
    partial: f64,
}

fn cycles(time: odonata_engine::Time) -> u64 {
    assert_eq!(time.0 % CYCLE.0, 0);
    time.0 / CYCLE.0
}

/// The arrival cycle of each message of `script`; `None` if it has not arrived after `most` cycles.
pub(crate) fn arrivals(
    params: &NetworkParams,
    routing: &Routing,
    vcs: VirtualChannels,
    script: &[Scripted],
    most: u64,
) -> Vec<Option<u64>> {
    assert_eq!(params.clock, CYCLE);
    let mut machine = Machine::new(params, routing, vcs, script);
    let mut submissions: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (i, m) in script.iter().enumerate() {
        submissions.entry(cycles(m.at)).or_default().push(i);
    }
    let mut now = 0;
    while now < most && machine.arrivals.contains(&None) {
        machine.cycle(now, submissions.get(&now).map_or(&[], Vec::as_slice));
        now += 1;
    }
    machine.arrivals
}

/// A routing's view of a router: the load in flight over a port, and whether a channel is available. There are no
/// random draws.
struct View<'a> {
    machine: &'a Machine<'a>,
    flits: u64,
}

impl View<'_> {
    fn load(&self, port: u32) -> u64 {
        let wire = &self.machine.wires[port as usize];
        wire.vcs.iter().map(|vc| wire.capacity - vc.room).sum()
    }
}

impl Choice for View<'_> {
    fn pick(&mut self, n: u32) -> u32 {
        assert_eq!(n, 1, "a routing that draws");
        0
    }

    fn lighter(&mut self, a: u32, b: u32) -> bool {
        self.load(a) < self.load(b)
    }

    fn divert(&mut self, _: Path, _: Path) -> bool {
        panic!("a routing that diverts")
    }

    fn room(&mut self, port: u32, level: u8) -> bool {
        let wanted = self.machine.room_for(self.flits);
        self.machine
            .span(port as usize, usize::from(level))
            .any(|vc| self.machine.can_be_had(port as usize, vc, wanted))
    }
}

/// The view of a packet without room: where it waits. Random draws repeat for a packet and router.
struct Blocked(SplitMix64);

impl Choice for Blocked {
    fn pick(&mut self, n: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    fn lighter(&mut self, _: u32, _: u32) -> bool {
        panic!("a routing that compares ports without room")
    }

    fn divert(&mut self, _: Path, _: Path) -> bool {
        panic!("a routing that diverts")
    }

    fn room(&mut self, _: u32, _: u8) -> bool {
        false
    }
}

impl<'a> Machine<'a> {
    fn new(params: &'a NetworkParams, routing: &'a Routing, vcs: VirtualChannels, script: &'a [Scripted]) -> Self {
        let topology = routing.topology();
        let number = |class: LinkClass| usize::from(vcs[class as usize]);
        // The index of each port's first input virtual channel in its router.
        let mut first = vec![0; topology.ports() as usize];
        let mut routers = Vec::new();
        for router in 0..topology.routers() {
            let mut inputs = Vec::new();
            let mut wires = Vec::new();
            for (port, number_of_port) in topology.ports_of(router).zip(0..) {
                first[port as usize] = inputs.len();
                wires.push(port as usize);
                let feeder = match topology.peer(port) {
                    Peer::Router { port, .. } => Some(port as usize),
                    Peer::Node(node) => Some((topology.ports() + node) as usize),
                    Peer::Free => None,
                };
                inputs.extend((0..number(topology.class(port))).map(|vc| InVc {
                    port: number_of_port,
                    vc,
                    feeder,
                    buffer: VecDeque::new(),
                    state: State::Empty,
                    way: None,
                }));
            }
            let switch_inputs = wires.len() * params.pipeline.input_speedup as usize;
            routers.push(Router {
                channels: Arbiters::new(inputs.len(), inputs.len()),
                switch: Arbiters::new(switch_inputs, wires.len()),
                sent: vec![None; switch_inputs],
                first_vc: wires.iter().map(|&port| first[port]).collect(),
                inputs,
                wires,
            });
        }
        let wire = |class: LinkClass, end| {
            let p = params.link(class);
            let capacity = p.buffer.0.div_ceil(FLIT);
            let vc = FarVc {
                room: capacity,
                owner: None,
            };
            Wire {
                class,
                flit_time: (FLIT as f64 * 1e9 / p.bandwidth.0).round() as u64,
                latency: cycles(*p.latency),
                credit_delay: cycles(*p.credit_delay),
                capacity,
                end,
                vcs: vec![vc; number(class)],
                queue: VecDeque::new(),
                free_at: 0,
                flying: VecDeque::new(),
                credits: Vec::new(),
            }
        };
        let mut wires = Vec::new();
        for port in 0..topology.ports() {
            let end = match topology.peer(port) {
                Peer::Router { router, port } => End::Router(router as usize, first[port as usize]),
                Peer::Node(_) => End::Node,
                Peer::Free => End::Nothing,
            };
            wires.push(wire(topology.class(port), end));
        }
        let mut nics = Vec::new();
        for node in 0..topology.nodes() {
            let port = topology.node_port(node) as usize;
            let end = End::Router(topology.node_router(node) as usize, first[port]);
            wires.push(wire(LinkClass::Terminal, end));
            nics.push(Nic {
                packets: VecDeque::new(),
                gone: 0,
                vc: 0,
            });
        }
        Machine {
            params,
            routing,
            vcs,
            script,
            routers,
            wires,
            ports: topology.ports() as usize,
            nics,
            packets: Vec::new(),
            undelivered: vec![0; script.len()],
            arrivals: vec![None; script.len()],
            partial: 0.0,
        }
    }

    /// The channels of a level on a wire: of `V` channels and `K` levels, `floor(l V / K)` up to `floor((l + 1) V /
    /// K)`.
    fn span(&self, wire: usize, level: usize) -> std::ops::Range<usize> {
        let class = self.wires[wire].class as usize;
        let (v, k) = (
            usize::from(self.vcs[class]),
            usize::from(self.routing.virtual_channels()[class]),
        );
        level * v / k..(level + 1) * v / k
    }

    /// Flits of room that a packet needs.
    fn room_for(&self, flits: u64) -> u64 {
        match self.params.switching {
            Switching::Wormhole => u64::from(self.params.pipeline.busy_when_full),
            Switching::CutThrough | Switching::StoreAndForward => flits,
        }
    }

    fn can_be_had(&self, wire: usize, vc: usize, room: u64) -> bool {
        let far = &self.wires[wire].vcs[vc];
        far.owner.is_none() && far.room >= room
    }

    fn cycle(&mut self, now: u64, submissions: &[usize]) {
        for wire in 0..self.wires.len() {
            self.come_in(wire, now);
        }
        for &message in submissions {
            self.submit(message);
        }
        for node in 0..self.nics.len() {
            self.inject(node, now);
        }
        self.partial += self.params.pipeline.internal_speedup;
        let mut steps = 0;
        while self.partial >= 1.0 {
            (self.partial, steps) = (self.partial - 1.0, steps + 1);
        }
        for step in 1..=steps {
            for router in 0..self.routers.len() {
                if self.routers[router].inputs.iter().all(|input| input.buffer.is_empty()) {
                    continue;
                }
                self.step(router, (now, step), step == steps);
            }
        }
        for wire in &mut self.wires {
            if wire.free_at > now {
                continue;
            }
            if let Some(&(ready, vc, flit)) = wire.queue.front()
                && ready <= now
            {
                wire.queue.pop_front();
                wire.free_at = now + wire.flit_time;
                wire.flying.push_back((wire.free_at + wire.latency, vc, flit));
            }
        }
    }

    /// Takes in the due credits and flits of a wire.
    fn come_in(&mut self, number: usize, now: u64) {
        let wire = &mut self.wires[number];
        let Wire { credits, vcs, .. } = wire;
        credits.retain(|&(due, vc)| {
            vcs[vc].room += u64::from(due <= now);
            due > now
        });
        while let Some(&(at, vc, flit)) = wire.flying.front()
            && at <= now
        {
            wire.flying.pop_front();
            match wire.end {
                End::Nothing => panic!("a flit on a wire that ends nowhere"),
                End::Router(router, first) => {
                    let input = &mut self.routers[router].inputs[first + vc];
                    input.buffer.push_back(flit);
                    if matches!(input.state, State::Empty) {
                        // Routing can begin in the first step.
                        input.state = State::Routing(match self.params.pipeline.routing {
                            0 => (now, 0),
                            stage => (now + u64::from(stage) - 1, 1),
                        });
                    }
                }
                End::Node => {
                    wire.credits.push((now + 1 + wire.credit_delay, vc));
                    let packet = &self.packets[flit.packet];
                    self.undelivered[packet.message] -= 1;
                    if self.undelivered[packet.message] == 0 {
                        self.arrivals[packet.message] = Some(now);
                    }
                }
            }
        }
    }

    /// A message reaches its NIC, which divides it into packets.
    fn submit(&mut self, message: usize) {
        let m = self.script[message];
        let mut left = m.bytes.div_ceil(FLIT).max(1);
        self.undelivered[message] = left;
        let mut sent = 0;
        let pace = self.wires[self.ports + m.source as usize].flit_time * CYCLE.0;
        while left > 0 {
            let flits = left.min(self.params.packet / FLIT);
            left -= flits;
            self.nics[m.source as usize].packets.push_back(self.packets.len());
            self.packets.push(Packet {
                message,
                flits,
                header: Header::new(m.target),
                created: m.at.0 + sent * pace,
                injected: 0,
            });
            sent += flits;
        }
    }

    /// Starts the next flit of a NIC if possible: a new packet on the next virtual channel with room, round-robin, or
    /// on a random one drawn in every cycle.
    fn inject(&mut self, node: usize, now: u64) {
        let wire = self.ports + node;
        let nic = &self.nics[node];
        let Some(&packet) = nic.packets.front() else { return };
        if self.wires[wire].free_at > now {
            return;
        }
        let flits = self.packets[packet].flits;
        let room = match (nic.gone, self.params.switching) {
            (1.., _) | (_, Switching::Wormhole) => 1,
            _ => flits,
        };
        let n = self.wires[wire].vcs.len();
        let mut choices = if nic.gone > 0 {
            nic.vc..nic.vc + 1
        } else if self.params.pipeline.injection_vc == InjectionVc::Random {
            let lot = SplitMix64::named(self.params.seed, [node as u64, now]).next_u64() >> 32;
            let drawn = ((lot * n as u64) >> 32) as usize;
            drawn..drawn + 1
        } else {
            nic.vc + 1..nic.vc + 1 + n
        };
        let Some(vc) = choices
            .find(|vc| self.wires[wire].vcs[vc % n].room >= room)
            .map(|vc| vc % n)
        else {
            return;
        };
        let flit = Flit {
            packet,
            number: nic.gone,
        };
        let nic = &mut self.nics[node];
        if nic.gone == 0 {
            self.packets[packet].injected = now;
        }
        (nic.gone, nic.vc) = (nic.gone + 1, vc);
        if nic.gone == flits {
            nic.packets.pop_front();
            nic.gone = 0;
        }
        let wire = &mut self.wires[wire];
        wire.vcs[vc].room -= 1;
        wire.free_at = now + wire.flit_time;
        wire.flying.push_back((wire.free_at + wire.latency, vc, flit));
    }

    /// The urgency of `flit`, which has waited for its request since `since`.
    fn rank(&self, flit: Flit, since: Moment) -> u64 {
        match self.params.arbitration {
            Arbitration::Age => self.packets[flit.packet].created,
            // The step after that.
            Arbitration::FirstCome if since.1 >= steps_of(since.0, self.params.pipeline.internal_speedup) => {
                16 * (since.0 + 1) + 1
            }
            Arbitration::FirstCome => 16 * since.0 + u64::from(since.1) + 1,
            Arbitration::RoundRobin | Arbitration::LowestFirst => 0,
        }
    }

    /// A step of a router. `last`: it is the last of its cycle.
    fn step(&mut self, router: usize, moment: Moment, last: bool) {
        let p = self.params.pipeline;
        let how = (p.allocator, p.iterations, self.params.arbitration);
        let asked = self.ask_for_channels(router, moment);
        let (passages, senders) = self.ask_for_switch(router, moment);
        for (input, output) in self.routers[router].channels.allocate(how, &asked) {
            let r = &mut self.routers[router];
            let port = (0..r.wires.len()).rfind(|&port| r.first_vc[port] <= output).unwrap();
            let (wire, vc) = (r.wires[port], output - r.first_vc[port]);
            let over = end_of_stage(moment, p.vc_allocation);
            let cell = &mut r.inputs[input];
            cell.state = State::Active(wire, vc, over);
            let (ways, packet) = (cell.way.take().unwrap(), cell.buffer[0].packet);
            let is_it = |way: &&Candidate| way.0 == wire && self.span(wire, way.1).contains(&vc);
            let header = ways.iter().find(is_it).unwrap().2;
            self.packets[packet].header = header;
            self.wires[wire].vcs[vc].owner = Some(input);
        }
        for (input, output) in self.routers[router].switch.allocate(how, &passages) {
            self.pass(router, senders[input][output].unwrap(), input, moment, last);
        }
    }

    /// The input virtual channels that can have each output virtual channel; routes unrouted packets.
    fn ask_for_channels(&mut self, router: usize, moment: Moment) -> Asked {
        let n = self.routers[router].inputs.len();
        let mut asked = vec![vec![None; n]; n];
        for (input, asks) in asked.iter_mut().enumerate() {
            let cell = &self.routers[router].inputs[input];
            let State::Routing(over) = cell.state else { continue };
            let Flit { packet, .. } = cell.buffer[0];
            let (flits, mut header) = (self.packets[packet].flits, self.packets[packet].header);
            let here = cell.buffer.iter().filter(|flit| flit.packet == packet).count() as u64;
            let waits = self.params.switching == Switching::StoreAndForward && here < flits;
            if over >= moment || waits {
                continue;
            }
            let mut options = Vec::new();
            if self.routing.takes_any() {
                self.routing.free_outputs(router as u32, &header, |wire, level| {
                    options.push((0, wire as usize, usize::from(level), header, false));
                });
                if self.params.pipeline.adaptive_requests == AdaptiveRequests::First {
                    options.truncate(1);
                }
                let mut behind = header;
                let injected = self.packets[packet].injected * CYCLE.0;
                let mut lot = SplitMix64(self.params.seed ^ injected.rotate_left(17) ^ u64::from(header.target) << 32);
                lot.next_u64();
                lot.0 ^= router as u64;
                let decision = self.routing.decide(router as u32, &mut behind, &mut Blocked(lot));
                options.push((
                    1,
                    decision.port as usize,
                    usize::from(decision.level),
                    behind,
                    decision.spare,
                ));
            } else if let (Some([(wire, level, header, spare)]), false) =
                (cell.way.as_deref(), self.routing.decides_again())
            {
                options.push((0, *wire, *level, *header, *spare));
            } else {
                let mut view = View { machine: self, flits };
                let decision = self.routing.decide(router as u32, &mut header, &mut view);
                options.push((
                    0,
                    decision.port as usize,
                    usize::from(decision.level),
                    header,
                    decision.spare,
                ));
            }
            let ways = options
                .iter()
                .map(|&(_, wire, level, header, spare)| (wire, level, header, spare));
            self.routers[router].inputs[input].way = Some(ways.collect());
            for (wish, wire, level, _, spare) in options {
                let bubble = if spare { self.params.packet / FLIT + flits } else { 0 };
                let room = self.room_for(flits).max(bubble);
                let port = self.routers[router].wires.iter().position(|&w| w == wire).unwrap();
                for vc in self.span(wire, level) {
                    if self.can_be_had(wire, vc, room) {
                        let output = self.routers[router].first_vc[port] + vc;
                        let rank = self.rank(self.routers[router].inputs[input].buffer[0], over);
                        asks[output] = Some((wish, rank));
                    }
                }
            }
        }
        asked
    }

    /// The switch inputs with a flit for each output, and its input virtual channel: that of the most urgent packet,
    /// then the next one after the last sent.
    fn ask_for_switch(&self, router: usize, moment: Moment) -> (Asked, Vec<Vec<Option<usize>>>) {
        let r = &self.routers[router];
        let speedup = self.params.pipeline.input_speedup as usize;
        let mut asked = vec![vec![None; r.wires.len()]; r.wires.len() * speedup];
        let mut senders = vec![vec![None; r.wires.len()]; r.wires.len() * speedup];
        for from in 0..r.wires.len() * speedup {
            let mut own: Vec<usize> = (0..r.inputs.len())
                .filter(|&i| r.inputs[i].port == from / speedup && r.inputs[i].vc % speedup == from % speedup)
                .collect();
            if let Some(place) = own.iter().position(|&i| Some(i) == r.sent[from]) {
                own.rotate_left(place + 1);
            }
            for input in own {
                let cell = &r.inputs[input];
                let State::Active(wire, vc, over) = cell.state else {
                    continue;
                };
                let Some(&flit) = cell.buffer.front() else { continue };
                if over >= moment || self.wires[wire].vcs[vc].room == 0 {
                    continue;
                }
                let output = r.wires.iter().position(|&w| w == wire).unwrap();
                let rank = self.rank(flit, over);
                if asked[from][output].is_none_or(|other| (0, rank) < other) {
                    (asked[from][output], senders[from][output]) = (Some((0, rank)), Some(input));
                }
            }
        }
        (asked, senders)
    }

    /// A flit passes through the switch.
    fn pass(&mut self, router: usize, input: usize, switch_input: usize, moment: Moment, last: bool) {
        let p = self.params.pipeline;
        let r = &mut self.routers[router];
        if self.params.arbitration != Arbitration::LowestFirst {
            r.sent[switch_input] = Some(input);
        }
        let cell = &mut r.inputs[input];
        let State::Active(number, vc, _) = cell.state else {
            panic!("a flit passes without a channel")
        };
        let flit = cell.buffer.pop_front().unwrap();
        // The crossbar stage begins in the step after switch allocation ends.
        let over = end_of_stage(moment, p.switch_allocation);
        let more = if over == moment {
            !last
        } else {
            steps_of(over.0, p.internal_speedup) > over.1
        };
        let begins = over.0 + u64::from(!more);
        let wire = &mut self.wires[number];
        wire.vcs[vc].room -= 1;
        wire.queue.push_back((begins + u64::from(p.crossbar) - 1, vc, flit));
        if let Some(feeder) = cell.feeder {
            let left = moment.0 + u64::from(p.switch_allocation);
            let due = left + self.wires[feeder].credit_delay;
            self.wires[feeder].credits.push((due, cell.vc));
        }
        if flit.number + 1 == self.packets[flit.packet].flits {
            self.wires[number].vcs[vc].owner = None;
            cell.state = match cell.buffer.front() {
                None => State::Empty,
                // Routing begins in the next step.
                Some(_) => State::Routing(match p.routing {
                    0 => moment,
                    stage => end_of_stage(
                        if last {
                            (moment.0 + 1, 1)
                        } else {
                            (moment.0, moment.1 + 1)
                        },
                        stage,
                    ),
                }),
            };
        }
    }
}

/// The step that ends a stage of `stage` cycles that begins in step `begin`.
fn end_of_stage(begin: Moment, stage: u32) -> Moment {
    if stage == 1 {
        begin
    } else {
        (begin.0 + u64::from(stage) - 1, 1)
    }
}

/// The steps of a cycle: the steps of all cycles up to it, minus those before.
fn steps_of(cycle: u64, speedup: f64) -> u32 {
    let all = |cycles: u64| (cycles as f64 * speedup).floor() as u32;
    all(cycle + 1) - all(cycle)
}
