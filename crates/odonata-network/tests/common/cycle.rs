//! A slow input-queued virtual-channel router network, simulated cycle by cycle and flit by flit.
//!
//! Written without a look at the fabric's way of doing it: no events, no lazy credits, no head-and-tail
//! arithmetic. Every cycle, in this order:
//!
//! 1. credits that are due count; flits that have crossed a link are in, those of a node leave the network;
//!    a link whose packet's last flit is out is free, and so is its buffer if that is a FIFO;
//! 2. at each router, the heads that come out of the pipeline ask for their outputs, in order of (sending
//!    router, start on the link), FIFOs permitting; messages reach their NICs, and an idle NIC starts at once;
//! 3. each output, in order of port number, grants one of the packets that wait for it;
//! 4. each NIC, in order of node number, starts a packet if it can;
//! 5. each FIFO, in order, that is neither read nor has asked lets its next head ask;
//! 6. links that hold a packet start its next flit if it is there.
//!
//! **Rules.** A head is granted an idle output at once if room for the whole packet is free behind it and
//! nobody waits there, or all who wait have been tried and found no room, and none waits for the same virtual
//! channel. Else it waits. A waiting packet is granted by virtual channel in turn after the last that was
//! served, inside one in order of asking. A granted output is held until the last flit is out.
//!
//! With virtual output queues every packet of a buffer asks, and any number of them may be read at once. A FIFO
//! has one read port, held until the last flit is out, and only its oldest packet asks.

use super::{CYCLE, FLIT, Net, Scripted};
use odonata_network::{InputQueues, LinkParams};
use odonata_topology::{Dragonfly, LinkClass, Peer};
use std::collections::{BTreeMap, VecDeque};

/// The sending side of a link.
struct Output {
    cycles_per_flit: u64,
    latency: u64,
    credit_delay: u64,
    router: u32,
    to_node: bool,
    /// First buffer at the far end.
    far: usize,
    far_router: u32,
    room: Vec<u64>,
    credits: Vec<(u64, usize, u64)>,
    waiting: Vec<VecDeque<usize>>,
    /// All waiting packets were tried since the output became idle, and found no room.
    tried: bool,
    last: usize,
    sending: Option<Sending>,
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

/// An input buffer. What it holds is the sender's `room`; the queue and its state are those of a FIFO.
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
    globals: u32,
    buffer: usize,
    /// Per hop, when each flit is ready to be sent on.
    ready: Vec<Vec<u64>>,
}

pub(crate) struct Machine<'a> {
    dragonfly: Dragonfly,
    script: &'a [Scripted],
    fifo: bool,
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

/// The cycle in which each message of `script` has arrived, under minimal routing.
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
            let p: &LinkParams = net.params.link(class);
            Output {
                cycles_per_flit: (FLIT as f64 * 1e9 / p.bandwidth.0).round() as u64,
                latency: cycles(p.latency),
                credit_delay: cycles(p.credit_delay),
                router,
                to_node,
                far,
                far_router,
                room: vec![p.buffer / FLIT; vcs],
                credits: Vec::new(),
                waiting: vec![VecDeque::new(); vcs],
                tried: false,
                last: 0,
                sending: None,
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
            while flits > 0 {
                let n = flits.min(self.packet_flits);
                flits -= n;
                self.undelivered[i] += 1;
                self.nics[m.source as usize].push_back(self.packets.len());
                let ready = vec![vec![now; n as usize]];
                let target = m.target;
                self.packets.push(Packet {
                    flits: n as usize,
                    target,
                    message: i,
                    globals: 0,
                    buffer: usize::MAX,
                    ready,
                });
            }
            if idle {
                self.inject(m.source as usize);
            }
        }
        for port in 0..self.first_buffer.len() {
            self.arbitrate(port);
        }
        for node in 0..self.nics.len() {
            self.inject(node);
        }
        for buffer in 0..self.buffers.len() {
            let Buffer { fifo, read, asked, .. } = &self.buffers[buffer];
            if let (Some(&head), false, false) = (fifo.front(), read, asked) {
                self.ask(head);
            }
        }
        for output in &mut self.outputs {
            if let Some(s) = &mut output.sending {
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

    /// Credits and flits that have come by `now`.
    fn receive(&mut self, now: u64) {
        for number in 0..self.outputs.len() {
            let output = &mut self.outputs[number];
            output.credits.retain(|&(due, vc, flits)| {
                if due <= now {
                    output.room[vc] += flits;
                }
                due > now
            });
            let Some(s) = &output.sending else { continue };
            if s.done_at != now || s.started == 0 {
                continue;
            }
            let (packet, first, last) = (s.packet, s.started == 1, s.started == self.packets[s.packet].flits);
            let at = now + output.latency;
            if output.to_node {
                if last {
                    let message = self.packets[packet].message;
                    let flits = self.packets[packet].flits as u64;
                    let vc = s.vc;
                    output.credits.push((at + output.credit_delay, vc, flits));
                    self.undelivered[message] -= 1;
                    if self.undelivered[message] == 0 {
                        self.arrivals[message] = at;
                    }
                }
            } else {
                let ready = at + self.pipeline;
                if first {
                    self.packets[packet].ready.push(Vec::new());
                    self.heads
                        .insert((ready, output.far_router, output.router, s.order), packet);
                    self.packets[packet].buffer = output.far + s.vc;
                }
                let hop = s.hop + 1;
                self.packets[packet].ready[hop].push(ready);
            }
            if !last {
                continue;
            }
            let from = self.outputs[number].sending.take().and_then(|s| s.from);
            if let Some(from) = from {
                let buffer = &mut self.buffers[from];
                buffer.read = false;
                let (link, vc, flits) = (buffer.fed_by, buffer.fed_vc, self.packets[packet].flits as u64);
                let due = now + self.outputs[link].credit_delay;
                self.outputs[link].credits.push((due, vc, flits));
            }
        }
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
        let open = output.sending.is_none() && (nobody_waits || output.tried);
        if open && output.waiting[vc].is_empty() && output.room[vc] >= self.packets[packet].flits as u64 {
            self.grant(port, vc, packet);
            return;
        }
        output.tried = open;
        output.waiting[vc].push_back(packet);
        self.buffers[buffer].asked = true;
    }

    fn arbitrate(&mut self, port: usize) {
        let output = &mut self.outputs[port];
        if output.sending.is_some() {
            return;
        }
        let n = output.waiting.len();
        for turn in 1..=n {
            let vc = (output.last + turn) % n;
            if let Some(&packet) = output.waiting[vc].front()
                && output.room[vc] >= self.packets[packet].flits as u64
            {
                output.waiting[vc].pop_front();
                self.grant(port, vc, packet);
                return;
            }
        }
        output.tried = true;
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
        let output = &mut self.outputs[link];
        output.room[vc] -= self.packets[packet].flits as u64;
        output.tried = false;
        output.last = vc;
        output.sending = Some(Sending {
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

    fn inject(&mut self, node: usize) {
        let link = self.first_buffer.len() + node;
        let Some(&packet) = self.nics[node].front() else { return };
        if self.outputs[link].sending.is_none() && self.outputs[link].room[0] >= self.packets[packet].flits as u64 {
            self.nics[node].pop_front();
            self.begin(link, 0, packet, None);
        }
    }
}
