//! The proof of freedom from routing deadlock, on the channel dependency graph.
//!
//! A channel is a (link, virtual channel). Channel `c` depends on `d` if a packet that holds `c` may request `d` next.
//! Without a cycle in the graph, no set of packets can wait for each other in a circle (W. Dally, C. Seitz,
//! "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans. Computers 1987). The
//! dependencies are enumerated by running the routing's own decision function from every source to every destination
//! with all outcomes of its choices. NICs accept all packets, so terminal channels have no dependencies.
//!
//! Under priority flow control a channel is a link: the packets that came by it and wait in its switch pause it, and all
//! share one buffer. An output is chosen on arrival, so a packet waits for it even if another one has room. Levels and
//! bubbles change nothing.
//!
//! A ring with bubble flow control, in which every entering packet leaves room for another one, always progresses (V.
//! Puente et al. 2001): it counts as one channel.

use crate::routing::{Choice, Decision, Header, NOWHERE, Path, Routing};
use odonata_topology::{Peer, Topology};
use std::hash::{BuildHasherDefault, Hasher};

type HashSet<T> = std::collections::HashSet<T, BuildHasherDefault<Mix>>;
type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;

/// A fast hash for trusted small numbers: lookups dominate the check, and the standard hash, which resists attacks,
/// would take most of its time.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(23) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
}

/// What a packet waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Room in a virtual channel of the next router.
    Credits,
    /// The end of a pause of the next link (priority flow control).
    Pauses,
}

/// The result of the check.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Channels that a packet can hold.
    pub channels: usize,
    /// Dependencies between them.
    pub dependencies: usize,
    /// Virtual channels that are used, per link class.
    pub used: crate::VirtualChannels,
    /// A cycle, as (port, virtual channel), if there is one.
    pub cycle: Option<Vec<(u32, u8)>>,
}

/// Answers choices by following a script, and extends the script at its end.
struct Script<'a> {
    /// (answer, number of possible answers)
    answers: &'a mut Vec<(u32, u32)>,
    at: usize,
}

impl Script<'_> {
    fn answer(&mut self, n: u32) -> u32 {
        if self.at == self.answers.len() {
            self.answers.push((0, n.max(1)));
        }
        self.at += 1;
        self.answers[self.at - 1].0
    }
}

impl Choice for Script<'_> {
    fn pick(&mut self, n: u32) -> u32 {
        self.answer(n)
    }
    fn draws(&self, _: u32) -> u32 {
        1
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        self.answer(2) == 1
    }
    fn knows_beyond(&self) -> bool {
        true
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        self.answer(2) == 1
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        self.answer(2) == 1
    }
}

/// Calls `visit` with every outcome of the decision at `router`.
pub fn outcomes(routing: &Routing, router: u32, header: Header, mut visit: impl FnMut(Decision, Header)) {
    outcomes_while(routing, router, header, |decision, next| {
        visit(decision, next);
        true
    });
}

/// The same until `visit` returns false. A single decision can have too many outcomes: one that chooses among the
/// cables of several bundles has their product.
fn outcomes_while(routing: &Routing, router: u32, header: Header, mut visit: impl FnMut(Decision, Header) -> bool) {
    let mut answers = Vec::new();
    loop {
        let mut next = header;
        let decision = routing.decide(
            router,
            &mut next,
            &mut Script {
                answers: &mut answers,
                at: 0,
            },
        );
        if !visit(decision, next) {
            return;
        }
        // The next script in lexicographic order.
        while let Some((answer, n)) = answers.pop() {
            if answer + 1 < n {
                answers.push((answer + 1, n));
                break;
            }
        }
        if answers.is_empty() {
            return;
        }
    }
}

/// A packet that holds a channel and requests its next hop from `router`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    router: u32,
    held: Option<(u32, u8)>,
    header: Header,
}

/// The enumeration.
struct Explorer<'a> {
    routing: &'a Routing,
    waits: Waits,
    graph: Graph,
    used: crate::VirtualChannels,
    /// Number of decisions that may still be made.
    left: u64,
}

impl Explorer<'_> {
    /// Adds the dependencies of `state` and calls `visit` with all following states, if decisions are left after that.
    fn step(&mut self, state: State, mut visit: impl FnMut(State)) {
        let topology = self.routing.topology();
        outcomes_while(self.routing, state.router, state.header, |decision, header| {
            self.left = self.left.saturating_sub(1);
            let class = topology.class(decision.port) as usize;
            self.used[class] = self.used[class].max(decision.level + 1);
            let (ring, channel) = match self.waits {
                Waits::Credits => {
                    let ring = self.routing.ring(decision.port);
                    (ring, (ring.unwrap_or(decision.port), decision.level))
                }
                Waits::Pauses => (None, (decision.port, 0)),
            };
            let waits_not = decision.retry && self.waits == Waits::Credits;
            self.graph.channel(channel);
            // A packet with another possible output does not wait. Packets in a ring do not block each other if all
            // entering packets leave a bubble.
            let inside = ring.is_some() && state.held == Some(channel);
            if let Some(held) = state.held.filter(|_| !waits_not && !inside) {
                self.graph.depend(held, channel);
            }
            if ring.is_some() && !inside && !decision.spare {
                self.graph.depend(channel, channel);
            }
            if let Peer::Router { router, .. } = topology.peer(decision.port) {
                visit(State {
                    router,
                    held: Some(channel),
                    header,
                });
            }
            self.left > 0
        });
    }
}

/// Enumerates the dependency graph of `routing` and searches for a cycle.
///
/// All routers are sources and destinations. Routings treat all nodes of a router alike, so one node per router is
/// enough. Before an intermediate only the intermediate matters, after it only the destination. So the two halves are
/// enumerated separately and joined for every destination: this gives more dependencies than can occur (a destination
/// may lie in the source group), never fewer, which keeps the proof sound.
pub fn check(routing: &Routing) -> Proof {
    check_within(routing, Waits::Credits, u64::MAX).expect("no proof takes so many decisions")
}

/// The same with about `most` decisions; `None` if that is not enough. Their number grows exponentially with the
/// dimensions among which an adaptive packet chooses, and determines the time more than the number of routers.
pub fn check_within(routing: &Routing, waits: Waits, most: u64) -> Option<Proof> {
    let nodes = representatives(routing.topology());
    let mut explorer = Explorer {
        routing,
        waits,
        graph: Graph::default(),
        used: [0; odonata_topology::LinkClass::COUNT],
        left: most,
    };
    let on_the_way = |header: &Header| header.via != NOWHERE && !header.via_reached;

    // First half: minimal packets, and diverted ones until they reach their intermediate.
    let mut diverted: HashSet<State> = HashSet::default();
    let mut open_diverted = Vec::new();
    let mut seen = HashSet::default();
    for &(_, target) in &nodes {
        seen.clear();
        let mut open: Vec<State> = nodes
            .iter()
            .map(|&(router, _)| State {
                router,
                held: None,
                header: Header::new(target),
            })
            .collect();
        while let Some(state) = open.pop() {
            if explorer.left == 0 {
                return None;
            }
            explorer.step(state, |next| {
                if !on_the_way(&next.header) {
                    if seen.insert(next) {
                        open.push(next);
                    }
                } else if diverted.insert(without_target(next)) {
                    open_diverted.push(next);
                }
            });
        }
    }
    let mut arrivals: HashSet<State> = HashSet::default();
    while let Some(state) = open_diverted.pop() {
        if explorer.left == 0 {
            return None;
        }
        explorer.step(state, |next| {
            if !on_the_way(&next.header) {
                arrivals.insert(without_target(state));
            } else if diverted.insert(without_target(next)) {
                open_diverted.push(next);
            }
        });
        // A packet whose destination is the next router still arrives at its intermediate.
        let mut header = state.header;
        routing.decide(
            state.router,
            &mut header,
            &mut Script {
                answers: &mut Vec::new(),
                at: 0,
            },
        );
        if !on_the_way(&header) {
            arrivals.insert(without_target(state));
        }
    }

    // Second half: from every arrival to every destination.
    let mut arrivals: Vec<State> = arrivals.into_iter().collect();
    arrivals.sort_unstable_by_key(|state| (state.router, state.held, state.header.via));
    for &(_, target) in &nodes {
        let mut seen = HashSet::default();
        let mut open: Vec<State> = arrivals
            .iter()
            .map(|&state| State {
                header: Header { target, ..state.header },
                ..state
            })
            .collect();
        while let Some(state) = open.pop() {
            if explorer.left == 0 {
                return None;
            }
            explorer.step(state, |next| {
                let header = Header { via: 0, ..next.header };
                if seen.insert(State { header, ..next }) {
                    open.push(next);
                }
            });
        }
    }
    if explorer.left == 0 {
        return None;
    }
    Some(Proof {
        channels: explorer.graph.channels.len(),
        dependencies: explorer.graph.edges.len(),
        used: explorer.used,
        cycle: explorer.graph.cycle(),
    })
}

fn without_target(state: State) -> State {
    State {
        header: Header {
            target: 0,
            ..state.header
        },
        ..state
    }
}

/// One (router, node) per router that has nodes.
fn representatives(topology: &Topology) -> Vec<(u32, u32)> {
    let mut last = None;
    (0..topology.nodes())
        .map(|node| (topology.node_router(node), node))
        .filter(|&(router, _)| last.replace(router) != Some(router))
        .collect()
}

/// A channel dependency graph.
#[derive(Default)]
pub struct Graph {
    numbers: HashMap<(u32, u8), u32>,
    channels: Vec<(u32, u8)>,
    next: Vec<Vec<u32>>,
    edges: HashSet<(u32, u32)>,
}

impl Graph {
    fn channel(&mut self, channel: (u32, u8)) -> u32 {
        *self.numbers.entry(channel).or_insert_with(|| {
            self.channels.push(channel);
            self.next.push(Vec::new());
            self.channels.len() as u32 - 1
        })
    }

    /// Adds the dependency of `held` on `wanted`.
    pub fn depend(&mut self, held: (u32, u8), wanted: (u32, u8)) {
        let (a, b) = (self.channel(held), self.channel(wanted));
        if self.edges.insert((a, b)) {
            self.next[a as usize].push(b);
        }
    }

    /// A cycle, if there is one (depth-first search with an explicit stack).
    pub fn cycle(&self) -> Option<Vec<(u32, u8)>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.channels.len()];
        for start in 0..self.channels.len() as u32 {
            if marks[start as usize] != Mark::New {
                continue;
            }
            marks[start as usize] = Mark::Open;
            let mut path = vec![(start, 0)];
            while let Some((at, i)) = path.last_mut() {
                let Some(&next) = self.next[*at as usize].get(*i) else {
                    marks[*at as usize] = Mark::Done;
                    path.pop();
                    continue;
                };
                *i += 1;
                match marks[next as usize] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[next as usize] = Mark::Open;
                        path.push((next, 0));
                    }
                    Mark::Open => {
                        let from = path.iter().position(|&(c, _)| c == next).unwrap_or(0);
                        return Some(path[from..].iter().map(|&(c, _)| self.channels[c as usize]).collect());
                    }
                }
            }
        }
        None
    }
}
