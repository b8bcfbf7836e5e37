//! A slow input-queued virtual-channel router network, simulated cycle by cycle and flit by flit.
//!
//! It is independent of the fabric's implementation: no events, no lazy credits, no head-and-tail arithmetic. Every
//! cycle, in this order:
//!
//! 1. due credits count; flits that have crossed a link arrive, those to a node leave the network; each link completes
//!    a cycle of the packets granted to it, and a FIFO whose packet's last flit has left is free;
//! 2. at each router, the heads that leave the pipeline request their outputs, in order of (sending router, start on
//!    the link), FIFOs permitting; messages reach their NICs, and an idle NIC starts at once;
//! 3. each output, in order of port number, grants one of its waiting packets;
//! 4. each NIC, in order of node number, starts a packet if it can;
//! 5. each FIFO, in order, that is neither read nor has a request lets its next head request; before step 3 unless
//!    arbitration is first-come;
//! 6. every packet on a link starts its next flit if that has arrived and the one before has left.
//!
//! **Rules.** A head is granted an idle output at once if the downstream buffer has room for the whole packet, and
//! either no packet waits there, or all waiting packets have been tried and lack room and its turn comes before those
//! that wait for the same virtual channel. Otherwise it waits. A granted output is held for as many flit times as the
//! packet has flits. Flits that arrive more slowly leave as they arrive, between the flits of packets granted
//! meanwhile.
//!
//! An idle output takes one candidate of every virtual channel with room. First-come: the packet that requested first,
//! of the next virtual channel after the last served. Otherwise: the candidate of the most urgent input port or packet;
//! among equals the virtual channel decides; of the packets of an input port (FIFOs: of a buffer) only the one that
//! requested first takes part. Round robin: the candidate of a virtual channel is of the next input port after the last
//! served of it, and the most urgent candidate that of the next port after the last served of all.
//!
//! With virtual output queues every packet of a buffer requests, and any number of them may be read at once. A FIFO has
//! one read port, held until the last flit has left, and only its oldest packet requests.

use super::{CYCLE, FLIT, Net, Scripted};
use odonata_network::{Arbitration, InputQueues, Link};
use odonata_topology::{Dragonfly, LinkClass, Peer};
use std::collections::{BTreeMap, VecDeque};

/// The sending side of a link.
struct Output {
    cycles_per_flit: u64,
    latency: u64,
    credit_delay: u64,
    router: u32,
    to_node: bool,
    /// First buffer at the receiving end.
    far: usize,
    far_router: u32,
    room: Vec<u64>,
    credits: Vec<(u64, usize, u64)>,
    waiting: Vec<VecDeque<usize>>,
    /// All waiting packets have been tried since the output became idle, and lack room.
    tried: bool,
    last: usize,
    /// The input port served last, of each virtual channel and of all.
    served_of: Vec<Option<usize>>,
    served: Option<usize>,
    sending: Vec<Sending>,
    /// Cycles that the link still needs for the packets granted to it.
    owed: u64,
}

struct Sending {
    packet: usize,
    vc: usize,
    hop: usize,
    /// Buffer that is read; NICs have none.
    from: Option<usize>,
    started: usize,
    done_at: u64,
    order: u64,
}

/// An input buffer. Its content is counted in the sender's `room`; the queue and its state are those of a FIFO.
#[derive(Default)]
struct Buffer {
    fifo: VecDeque<usize>,
    read: bool,
    asked: bool,
    fed_by: usize,
    fed_vc: usize,
}

struct Packet {
    flits: usize,
    target: u32,
    message: usize,
    /// Creation time, and start time at its node.
    age: (u64, u64),
    globals: u32,
    buffer: usize,
    /// Per hop, when each flit can be sent on.
    ready: Vec<Vec<u64>>,
}

pub(crate) struct Machine<'a> {
    dragonfly: Dragonfly,
    script: &'a [Scripted],
    fifo: bool,
    arbitration: Arbitration,
    pipeline: u64,
    packet_flits: u64,
    outputs: Vec<Output>,
    buffers: Vec<Buffer>,
    first_buffer: Vec<usize>,
    packets: Vec<Packet>,
    /// (cycle, router, sending router, start order) of heads in flight.
    heads: BTreeMap<(u64, u32, u32, u64), usize>,
    nics: Vec<VecDeque<usize>>,
    undelivered: Vec<usize>,
    arrivals: Vec<u64>,
    starts: u64,
}

fn cycles(time: odonata_engine::Time) -> u64 {
    assert_eq!(time.0 % CYCLE.0, 0);
    time.0 / CYCLE.0
}

/// The arrival cycle of each message of `script`, with minimal routing.
pub(crate) fn arrivals(net: &Net, script: &[Scripted]) -> Vec<u64> {
    let mut machine = Machine::new(net, script);
    let mut submissions: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (i, m) in script.iter().enumerate() {
        submissions.entry(cycles(m.at)).or_default().push(i);
    }
    let mut now = 0;
    while machine.arrivals.contains(&0) {
        assert!(now < 10_000_000, "the reference does not come to an end");
        machine.cycle(now, submissions.get(&now).map_or(&[], Vec::as_slice));
        now += 1;
    }
    machine.arrivals
}

impl<'a> Machine<'a> {
    fn new(net: &Net, script: &'a [Scripted]) -> Self {
        let dragonfly = net.dragonfly();
        let topology = dragonfly.topology();
        // Local links: one virtual channel in the source group, one in the destination group.
        let vcs = |class: LinkClass| if class == LinkClass::Local { 2 } else { 1 };
        let mut first_buffer = Vec::new();
        let mut buffers = Vec::new();
        for port in 0..topology.ports() {
            first_buffer.push(buffers.len());
            buffers.extend((0..vcs(topology.class(port))).map(|_| Buffer::default()));
        }
        let output = |router, to_node, far, far_router, class: LinkClass, vcs: usize| {
            let p: &Link = net.params.link(class);
            Output {
                cycles_per_flit: (FLIT as f64 * 1e9 / p.bandwidth.0).round() as u64,
                latency: cycles(*p.latency),
                credit_delay: cycles(*p.credit_delay),
                router,
                to_node,
                far,
                far_router,
                room: vec![p.buffer.0 / FLIT; vcs],
                credits: Vec::new(),
                waiting: vec![VecDeque::new(); vcs],
                tried: false,
                last: 0,
                served_of: vec![None; vcs],
                served: None,
                sending: Vec::new(),
                owed: 0,
            }
        };
        let mut outputs = Vec::new();
        for port in 0..topology.ports() {
            let (router, class) = (topology.router_of_port(port), topology.class(port));
            outputs.push(match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far,
                } => {
                    for vc in 0..vcs(class) {
                        let buffer = &mut buffers[first_buffer[far as usize] + vc];
                        (buffer.fed_by, buffer.fed_vc) = (port as usize, vc);
                    }
                    output(router, false, first_buffer[far as usize], far_router, class, vcs(class))
                }
                _ => output(router, true, usize::MAX, router, class, vcs(class)),
            });
        }
        for node in 0..topology.nodes() {
            let far = first_buffer[topology.node_port(node) as usize];
            let router = topology.node_router(node);
            buffers[far].fed_by = outputs.len();
            outputs.push(output(router, false, far, router, LinkClass::Terminal, 1));
        }
        let nics = vec![VecDeque::new(); topology.nodes() as usize];
        Machine {
            dragonfly,
            script,
            fifo: net.params.input_queues == InputQueues::Fifo,
            arbitration: net.params.arbitration,
            pipeline: cycles(net.params.router_delay),
            packet_flits: net.params.packet / FLIT,
            outputs,
            buffers,
            first_buffer,
            packets: Vec::new(),
            heads: BTreeMap::new(),
            nics,
            undelivered: vec![0; script.len()],
            arrivals: vec![0; script.len()],
            starts: 0,
        }
    }

    fn cycle(&mut self, now: u64, submissions: &[usize]) {
        self.receive(now);
        while let Some((&key, &packet)) = self.heads.first_key_value() {
            if key.0 > now {
                break;
            }
            self.heads.remove(&key);
            if !self.fifo {
                self.ask(packet);
                continue;
            }
            let buffer = self.packets[packet].buffer;
            self.buffers[buffer].fifo.push_back(packet);
            if self.buffers[buffer].fifo.len() == 1 && !self.buffers[buffer].read {
                self.ask(packet);
            }
        }
        for &i in submissions {
            let m = self.script[i];
            let idle = self.nics[m.source as usize].is_empty();
            let mut flits = m.bytes / FLIT;
            assert!(flits > 0 && m.bytes.is_multiple_of(FLIT), "messages of whole flits");
            let pace = self.outputs[self.first_buffer.len() + m.source as usize].cycles_per_flit;
            while flits > 0 {
                let n = flits.min(self.packet_flits);
                let created = now + (m.bytes / FLIT - flits) * pace;
                flits -= n;
                self.undelivered[i] += 1;
                self.nics[m.source as usize].push_back(self.packets.len());
                let ready = vec![vec![now; n as usize]];
                let target = m.target;
                self.packets.push(Packet {
                    flits: n as usize,
                    target,
                    message: i,
                    age: (created, 0),
                    globals: 0,
                    buffer: usize::MAX,
                    ready,
                });
            }
            if idle {
                self.inject(m.source as usize, now);
            }
        }
        if self.arbitration != Arbitration::FirstCome {
            self.move_up();
        }
        for port in 0..self.first_buffer.len() {
            self.arbitrate(port);
        }
        for node in 0..self.nics.len() {
            self.inject(node, now);
        }
        if self.arbitration == Arbitration::FirstCome {
            self.move_up();
        }
        for output in &mut self.outputs {
            for s in &mut output.sending {
                let flits = &self.packets[s.packet].ready[s.hop];
                if s.done_at <= now
                    && s.started < self.packets[s.packet].flits
                    && s.started < flits.len()
                    && flits[s.started] <= now
                {
                    s.started += 1;
                    s.done_at = now + output.cycles_per_flit;
                }
            }
        }
    }

    /// The next heads of FIFOs that are not read make their requests.
    fn move_up(&mut self) {
        for buffer in 0..self.buffers.len() {
            let Buffer { fifo, read, asked, .. } = &self.buffers[buffer];
            if let (Some(&head), false, false) = (fifo.front(), read, asked) {
                self.ask(head);
            }
        }
    }

    /// Takes in the credits and flits due by `now`.
    fn receive(&mut self, now: u64) {
        for number in 0..self.outputs.len() {
            let output = &mut self.outputs[number];
            output.credits.retain(|&(due, vc, flits)| {
                if due <= now {
                    output.room[vc] += flits;
                }
                due > now
            });
            output.owed = output.owed.saturating_sub(1);
            let (out, under_way): (Vec<Sending>, Vec<Sending>) = std::mem::take(&mut output.sending)
                .into_iter()
                .partition(|s| s.done_at == now && s.started == self.packets[s.packet].flits);
            for s in out.iter().chain(&under_way) {
                if s.done_at == now && s.started > 0 {
                    self.flit_is_out(number, s, now);
                }
            }
            for s in out {
                self.packet_is_out(&s, now);
            }
            self.outputs[number].sending = under_way;
        }
    }

    /// The flit of `s` started last has left link `number`.
    fn flit_is_out(&mut self, number: usize, s: &Sending, now: u64) {
        let output = &mut self.outputs[number];
        let (first, last) = (s.started == 1, s.started == self.packets[s.packet].flits);
        let at = now + output.latency;
        if output.to_node {
            if last {
                let message = self.packets[s.packet].message;
                let flits = self.packets[s.packet].flits as u64;
                output.credits.push((at + output.credit_delay, s.vc, flits));
                self.undelivered[message] -= 1;
                if self.undelivered[message] == 0 {
                    self.arrivals[message] = at;
                }
            }
        } else {
            let ready = at + self.pipeline;
            if first {
                self.packets[s.packet].ready.push(Vec::new());
                self.heads
                    .insert((ready, output.far_router, output.router, s.order), s.packet);
                self.packets[s.packet].buffer = output.far + s.vc;
            }
            self.packets[s.packet].ready[s.hop + 1].push(ready);
        }
    }

    /// All flits of `s` have left its buffer.
    fn packet_is_out(&mut self, s: &Sending, now: u64) {
        let Some(from) = s.from else { return };
        let buffer = &mut self.buffers[from];
        buffer.read = false;
        let (link, vc, flits) = (buffer.fed_by, buffer.fed_vc, self.packets[s.packet].flits as u64);
        let due = now + self.outputs[link].credit_delay;
        self.outputs[link].credits.push((due, vc, flits));
    }

    /// Minimal: local to the router with the cable, global, local.
    fn route(&self, router: u32, packet: &Packet) -> (usize, usize) {
        let topology = self.dragonfly.topology();
        let home = topology.node_router(packet.target);
        if router == home {
            return (topology.node_port(packet.target) as usize, 0);
        }
        let (here, goal) = (self.dragonfly.group_of(router), self.dragonfly.group_of(home));
        let local = |to| self.dragonfly.local_port(router, to) as usize;
        if here == goal {
            return (local(home), usize::from(packet.globals > 0));
        }
        let [gateway] = self.dragonfly.gateways(here, goal) else {
            panic!("one cable per pair of groups")
        };
        (
            if gateway.router == router {
                gateway.port as usize
            } else {
                local(gateway.router)
            },
            0,
        )
    }

    fn ask(&mut self, packet: usize) {
        let buffer = self.packets[packet].buffer;
        let router = self.outputs[self.buffers[buffer].fed_by].far_router;
        let (port, vc) = self.route(router, &self.packets[packet]);
        let output = &mut self.outputs[port];
        let nobody_waits = output.waiting.iter().all(VecDeque::is_empty);
        let open = output.owed == 0 && (nobody_waits || output.tried);
        let fits = output.room[vc] >= self.packets[packet].flits as u64;
        output.waiting[vc].push_back(packet);
        if open
            && fits
            && self
                .candidate(&self.outputs[port], vc)
                .is_some_and(|(_, first)| first == packet)
        {
            self.outputs[port].waiting[vc].pop_back();
            self.grant(port, vc, packet);
            return;
        }
        self.outputs[port].tried = open;
        self.buffers[buffer].asked = true;
    }

    fn arbitrate(&mut self, port: usize) {
        let output = &self.outputs[port];
        if output.owed > 0 {
            return;
        }
        let n = output.waiting.len();
        let after = match self.arbitration {
            Arbitration::LowestFirst => n - 1,
            _ => output.last,
        };
        let candidates = (1..=n).filter_map(|turn| {
            let vc = (after + turn) % n;
            let (rank, packet) = self.candidate(output, vc)?;
            let rank = match self.arbitration {
                Arbitration::RoundRobin => {
                    let port = self.input_port(self.packets[packet].buffer);
                    (self.turns(port, output.served), 0)
                }
                _ => rank,
            };
            (output.room[vc] >= self.packets[packet].flits as u64).then_some((rank, vc, packet))
        });
        // Among equally urgent ones the first.
        let Some((_, vc, packet)) = candidates.min_by_key(|one| one.0) else {
            self.outputs[port].tried = true;
            return;
        };
        self.outputs[port].waiting[vc].retain(|&other| other != packet);
        self.grant(port, vc, packet);
    }

    fn input_port(&self, buffer: usize) -> usize {
        self.first_buffer.partition_point(|&first| first <= buffer) - 1
    }

    /// Distance in turns from input port `served` to `port`.
    fn turns(&self, port: usize, served: Option<usize>) -> u64 {
        let ports = self.first_buffer.len();
        served.map_or(port, |served| (port + ports - served - 1) % ports) as u64
    }

    /// The next packet among those that wait for virtual channel `vc` of `output`, and its urgency there.
    fn candidate(&self, output: &Output, vc: usize) -> Option<((u64, u64), usize)> {
        let mut seen = Vec::new();
        let mut open = Vec::new();
        for &packet in &output.waiting[vc] {
            let port = self.input_port(self.packets[packet].buffer);
            let rank = match self.arbitration {
                Arbitration::FirstCome => (0, 0),
                Arbitration::LowestFirst => (port as u64, 0),
                Arbitration::Age => self.packets[packet].age,
                Arbitration::RoundRobin => (self.turns(port, output.served_of[vc]), 0),
            };
            let first = match self.arbitration {
                Arbitration::FirstCome => 0,
                _ => port,
            };
            if self.fifo || !seen.contains(&port) {
                open.push((rank, first, packet));
            }
            seen.push(port);
        }
        // Among equals the one that requested first.
        open.into_iter()
            .min_by_key(|one| (one.0, one.1))
            .map(|(rank, _, packet)| (rank, packet))
    }

    fn grant(&mut self, port: usize, vc: usize, packet: usize) {
        let from = self.packets[packet].buffer;
        if self.fifo {
            let buffer = &mut self.buffers[from];
            let head = buffer.fifo.pop_front();
            assert_eq!((head, buffer.read), (Some(packet), false), "one reader, of the head");
            (buffer.read, buffer.asked) = (true, false);
        }
        if self.dragonfly.topology().class(port as u32) == LinkClass::Global {
            self.packets[packet].globals += 1;
        }
        self.begin(port, vc, packet, Some(from));
    }

    fn begin(&mut self, link: usize, vc: usize, packet: usize, from: Option<usize>) {
        let hop = self.packets[packet].ready.len() - 1;
        let served = from.map(|buffer| self.input_port(buffer));
        let output = &mut self.outputs[link];
        output.room[vc] -= self.packets[packet].flits as u64;
        output.tried = false;
        output.last = vc;
        (output.served_of[vc], output.served) = (served, served);
        output.owed = self.packets[packet].flits as u64 * output.cycles_per_flit;
        output.sending.push(Sending {
            packet,
            vc,
            hop,
            from,
            started: 0,
            done_at: 0,
            order: self.starts,
        });
        self.starts += 1;
    }

    fn inject(&mut self, node: usize, now: u64) {
        let link = self.first_buffer.len() + node;
        let Some(&packet) = self.nics[node].front() else { return };
        if self.outputs[link].owed == 0 && self.outputs[link].room[0] >= self.packets[packet].flits as u64 {
            self.nics[node].pop_front();
            self.packets[packet].age.1 = now;
            self.begin(link, 0, packet, None);
        }
    }
}
