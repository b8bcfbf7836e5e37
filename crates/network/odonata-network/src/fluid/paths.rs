//! The paths of a message: those of its packets, each with its fraction.
//!
//! The routing is run packet by packet, for up to [`MOST`] packets; longer messages are divided into as many equal
//! parts. As the load of a port the routing gets its demand as a fraction of its capacity, earlier packets included;
//! demand beyond the capacity fills the buffer behind the port.
//!
//! A message is one flow that loads each link, pipe or set of links ([`pipes`](super::pipes)) with the fraction of the
//! packets there. Random choices are stratified over its packets: with n choices, an n-th of them makes each.
//!
//! Where [pipes do not serve](Pipes::divide_messages), every path is a flow of its own, and random choices are drawn.

use super::max_min::{MaxMin, Step};
use super::pipes::{Between, LONGEST, Pipes};
use crate::flow::CableDelays;
use crate::params::{Knowledge, NetworkParams};
use crate::routing::{Choice, Header, NOWHERE, Path, Routing, spread};
use odonata_topology::{Peer, Topology};
use odonata_units::{SplitMix64, Time};

/// Most packets whose paths represent a message.
const MOST: u64 = 8;

/// The same where random choices alone, not loads, lead to sets of links, over which they even out.
const MOST_AT_RANDOM: u64 = 4;

/// The same beside packets: these wait in all buffers that a message fills, of which fewer paths would miss more.
const MOST_BESIDE_PACKETS: u64 = 16;

/// The paths of a message.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// At least one; all different.
    pub(super) routes: Vec<Route>,
    /// Mean latency, in addition to the time of the bytes.
    pub(super) latency: Time,
    /// Whether loads have been compared.
    pub(super) adaptive: bool,
    /// The number of leading links whose loads have been compared, at most; that of the NIC included.
    pub(super) compared: u8,
}

/// One of the paths, or all of them as one.
#[derive(Debug)]
pub(super) struct Route {
    /// Links in the order of the path, each with the fraction of the route's bytes there.
    pub(super) steps: Vec<Step>,
    /// The fraction of the message on it.
    pub(super) part: f64,
    /// Latency in picoseconds, in addition to the time of the bytes: links and routers, and a flit on every link but
    /// the slowest.
    pub(super) latency: f64,
    /// The first packet that takes it.
    pub(super) number: u32,
}

impl Paths {
    fn add(&mut self, steps: Vec<Step>, number: u32, part: f64, latency: u64) {
        match self.routes.iter_mut().find(|route| route.steps == steps) {
            Some(route) => route.part += part,
            None => self.routes.push(Route {
                latency: latency as f64,
                steps,
                part,
                number,
            }),
        }
    }
}

impl Route {
    /// Its links, each with this fraction of a flow's rate.
    pub(super) fn steps(&self, weight: f64) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().map(move |step| Step {
            weight: step.weight * weight,
            ..*step
        })
    }

    /// Whether it loads `link`.
    pub(super) fn uses(&self, link: u32) -> bool {
        self.steps.iter().any(|step| step.link == link)
    }
}

/// The path of a packet.
struct Walk {
    links: Vec<u32>,
    /// The level of the routing on each link.
    levels: Vec<u8>,
    is_detour: bool,
}

/// The steps of several paths, with the sum of their places on these.
#[derive(Default)]
struct Gathered {
    steps: Vec<(Step, f64)>,
}

impl Gathered {
    /// Adds the fraction `part`, which takes `weight`, at `place` from 0 to 1 of the path. `counted`: its bytes count
    /// here.
    fn add(&mut self, (link, level): (u32, u8), (part, weight): (f64, f64), place: f64, counted: bool) {
        let on_link = if counted { part as f32 } else { 0.0 };
        match self.steps.iter_mut().find(|(step, _)| step.link == link) {
            Some((step, places)) => {
                step.weight += weight;
                step.counted += on_link;
                *places += place * weight;
            }
            None => {
                let step = Step {
                    link,
                    weight,
                    counted: on_link,
                    level,
                };
                self.steps.push((step, place * weight));
            }
        }
    }

    /// In the order of their mean places.
    fn sorted(mut self) -> Vec<Step> {
        let place = |(step, places): &(Step, f64)| places / step.weight;
        self.steps.sort_by(|a, b| place(a).total_cmp(&place(b)));
        let mut steps: Vec<Step> = self.steps.into_iter().map(|(step, _)| step).collect();
        for step in &mut steps {
            // All packets, up to rounding.
            if (step.weight - 1.0).abs() < 1e-6 {
                step.weight = 1.0;
            }
            if (step.counted - 1.0).abs() < 1e-6 {
                step.counted = 1.0;
            }
        }
        steps
    }
}

/// The data from which paths follow.
pub(super) struct Network<'a> {
    pub(super) routing: &'a Routing,
    pub(super) params: &'a NetworkParams,
    pub(super) rates: &'a MaxMin,
    pub(super) pipes: &'a Pipes,
}

impl Network<'_> {
    /// The number of the link of `node`'s NIC.
    pub(super) fn nic(topology: &Topology, node: u32) -> u32 {
        topology.ports() + node
    }

    /// The router port at the cable of `link`.
    pub(super) fn port(topology: &Topology, link: u32) -> u32 {
        match link.checked_sub(topology.ports()) {
            None => link,
            Some(node) => topology.node_port(node),
        }
    }

    /// The paths of a message of `bytes` between `ends`, whose rate alone would be `demand`; equal for equal `name` and
    /// equal demand on links. Packets of a message with a flow per path are numbered from `first`. `full`: a port whose
    /// buffer the backlog of the message fills, with its demand, where it is one flow.
    pub(super) fn paths(
        &self,
        ends: (u32, u32),
        bytes: u64,
        demand: f64,
        name: u64,
        (first, full): (u32, Option<(u32, f64)>),
    ) -> Paths {
        let lot = self.lot(ends, name);
        match self.pipes.divide_messages() {
            true => self.each(ends, bytes, demand, lot, first),
            false => self.together(ends, bytes, demand, lot, full),
        }
    }

    fn lot(&self, ends: (u32, u32), name: u64) -> SplitMix64 {
        SplitMix64::named(self.params.seed, [u64::from(ends.0), u64::from(ends.1), name])
    }

    /// Bytes of the last packet of a message.
    fn head(&self, bytes: u64) -> u64 {
        match bytes % self.params.packet {
            0 => self.params.packet.min(bytes),
            rest => rest,
        }
    }

    /// The fractions of a message in each of its packets, or in `most` equal parts.
    fn parts(&self, bytes: u64, most: u64) -> Vec<f64> {
        let packets = bytes.div_ceil(self.params.packet);
        if bytes == 0 || packets > most {
            let equal = packets.clamp(1, most);
            return vec![1.0 / equal as f64; equal as usize];
        }
        // The last may be short.
        let of = |number: u64| (bytes - number * self.params.packet).min(self.params.packet);
        (0..packets).map(|number| of(number) as f64 / bytes as f64).collect()
    }

    /// One route for all packets.
    fn together(
        &self,
        ends: (u32, u32),
        bytes: u64,
        demand: f64,
        mut lot: SplitMix64,
        full: Option<(u32, f64)>,
    ) -> Paths {
        let topology = self.routing.topology();
        let head = self.head(bytes);
        let most = match (self.pipes.are_all(), self.pipes.compares_loads()) {
            (true, _) => 1,
            (false, true) => MOST,
            (false, false) => MOST_AT_RANDOM,
        };
        let parts = self.parts(bytes, most);
        let shift = f64::from(lot.below(1 << 30)) / f64::from(1 << 30);
        let (from, to) = (topology.node_router(ends.0), topology.node_router(ends.1));
        let (mut gathered, mut latency, mut adaptive) = (Gathered::default(), 0.0, false);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for (number, &part) in parts.iter().enumerate() {
            let mut asking = Asking {
                network: self,
                source: ends.0,
                taken: &taken,
                share: demand * part,
                draw: Draw::Stratum((number as f64 + shift) / parts.len() as f64),
                full,
                asked: false,
                adaptive: false,
                at: 0,
                compared: 0,
            };
            let walk = self.walk(ends, &mut asking);
            let is_only = number == 0 && !asking.asked && !asking.adaptive;
            adaptive |= asking.adaptive && !self.pipes.are_all();
            let part = if is_only { 1.0 } else { part };
            latency += part * self.latency(&walk.links, head) as f64;
            let last = walk.links.len() - 1;
            let choices = self.random_choices(last - 1);
            for (at, (&link, &level)) in walk.links.iter().zip(&walk.levels).enumerate() {
                let place = at as f64 / last as f64;
                let between = (link < topology.ports()).then(|| Between::of(topology, link)).flatten();
                let mut is_counted = false;
                let blocked = between.map_or(part, |between| part * self.blocking(between.class, choices));
                if !walk.is_detour || between.is_none() {
                    let weight = if self.pipes.members(self.pipes.number(link)) > 1 {
                        blocked
                    } else {
                        part
                    };
                    gathered.add((self.pipes.number(link), level), (part, weight), place, true);
                    is_counted = true;
                }
                if let (Some(between), Some(sets)) = (between, self.pipes.of_detours()) {
                    for set in sets.loaded(between, from, to) {
                        gathered.add((set, 0), (part, blocked), place, !is_counted);
                        is_counted = true;
                    }
                }
            }
            if is_only {
                break;
            }
            take(&mut taken, &walk.links);
        }
        let route = Route {
            steps: gathered.sorted(),
            part: 1.0,
            latency,
            number: 0,
        };
        Paths {
            latency: Time(route.latency as u64),
            routes: vec![route],
            adaptive,
            compared: u8::MAX,
        }
    }

    /// A route for each path.
    fn each(&self, ends: (u32, u32), bytes: u64, demand: f64, lot: SplitMix64, first: u32) -> Paths {
        let head = self.head(bytes);
        let mut paths = Paths::default();
        let mut taken: Vec<(u32, u32)> = Vec::new();
        let most = self.params.coupling_interval.map_or(MOST, |_| MOST_BESIDE_PACKETS);
        for (number, part) in (0..).zip(self.parts(bytes, most)) {
            let mut asking = Asking {
                network: self,
                source: ends.0,
                taken: &taken,
                share: demand * part,
                draw: Draw::Lot(SplitMix64::named(lot.0, [u64::from(first + number)])),
                full: None,
                asked: false,
                adaptive: false,
                at: 0,
                compared: 0,
            };
            let walk = self.walk(ends, &mut asking);
            let is_only = number == 0 && !asking.asked && !asking.adaptive;
            paths.adaptive |= asking.adaptive;
            paths.compared = paths.compared.max(asking.compared);
            let latency = self.latency(&walk.links, head);
            let steps = walk.links.iter().zip(&walk.levels);
            let steps = steps.map(|(&link, &level)| Step {
                link,
                weight: 1.0,
                counted: 1.0,
                level,
            });
            paths.add(steps.collect(), number, if is_only { 1.0 } else { part }, latency);
            if is_only {
                break;
            }
            take(&mut taken, &walk.links);
        }
        if let [only] = &mut paths.routes[..] {
            only.part = 1.0;
        }
        let latency: f64 = paths.routes.iter().map(|route| route.part * route.latency).sum();
        paths.latency = Time(latency as u64);
        paths
    }

    /// The path of a packet.
    fn walk(&self, (source, target): (u32, u32), asking: &mut Asking) -> Walk {
        let topology = self.routing.topology();
        let mut header = Header::new(target);
        let mut router = topology.node_router(source);
        let (mut links, mut levels) = (vec![Self::nic(topology, source)], vec![0]);
        while links.len() < LONGEST {
            asking.at = links.len() as u8;
            let decision = self.routing.decide(router, &mut header, asking);
            links.push(decision.port);
            levels.push(decision.level);
            match topology.peer(decision.port) {
                Peer::Router { router: far, .. } => router = far,
                Peer::Node(_) | Peer::Free => break,
            }
        }
        let is_detour =
            self.pipes.of_detours().is_some() && self.routing.is_detour(source, links.len() as u32 - 1, &header);
        Walk {
            links,
            levels,
            is_detour,
        }
    }

    /// The capacity of `link`, bytes per picosecond, without the others of its pipe.
    fn capacity(&self, link: u32) -> f64 {
        let number = self.pipes.number(link);
        self.rates.capacity(number) / f64::from(self.pipes.members(number))
    }

    /// The latency of `path` in picoseconds, in addition to the time of the bytes; the last packet has `head` bytes.
    fn latency(&self, path: &[u32], head: u64) -> u64 {
        let topology = self.routing.topology();
        let (mut sum, mut slowest) = (0, (f64::INFINITY, 0));
        for &link in path {
            let capacity = self.capacity(link);
            let first = match self.params.switching {
                crate::settings::Switching::StoreAndForward => head,
                _ => head.min(self.params.flit),
            };
            let flit = (first as f64 / capacity + 0.5) as u64;
            if capacity < slowest.0 {
                slowest = (capacity, flit);
            }
            sum += flit
                + CableDelays::of(self.params, topology, Self::port(topology, link))
                    .latency
                    .0;
        }
        sum - slowest.1 + (path.len() as u64 - 1) * self.params.router_delay.0
    }
}

/// Adds the links of a path to the packets on each.
fn take(taken: &mut Vec<(u32, u32)>, links: &[u32]) {
    for &link in links {
        match taken.iter_mut().find(|(known, _)| *known == link) {
            Some((_, count)) => *count += 1,
            None => taken.push((link, 1)),
        }
    }
}

/// The source of random choices.
enum Draw {
    Lot(SplitMix64),
    /// A number from 0 to 1, of which each choice takes the leading part.
    Stratum(f64),
}

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        match self {
            Draw::Lot(lot) => lot.below(n),
            Draw::Stratum(place) => {
                let scaled = *place * f64::from(n);
                let chosen = (scaled as u32).min(n - 1);
                *place = (scaled - f64::from(chosen)).clamp(0.0, 1.0);
                chosen
            }
        }
    }
}

/// Answers a routing for one of the packets.
struct Asking<'a> {
    network: &'a Network<'a>,
    /// The source node.
    source: u32,
    taken: &'a [(u32, u32)],
    /// The rate that a packet represents, bytes per picosecond.
    share: f64,
    draw: Draw,
    /// A port whose buffer the flow's backlog fills, with its demand.
    full: Option<(u32, f64)>,
    asked: bool,
    adaptive: bool,
    /// The number of the link that is chosen, from 0 for the NIC, and of links whose loads have been compared.
    at: u8,
    compared: u8,
}

impl Asking<'_> {
    /// The demand for `port` as a fraction of its capacity.
    fn demand(&mut self, port: u32) -> f64 {
        self.adaptive = true;
        self.compared = self.compared.max(self.at + 1);
        let taken = self.taken.iter().find(|(link, _)| *link == port);
        let packets = taken.map_or(0, |&(_, packets)| packets);
        let (rates, pipes) = (self.network.rates, self.network.pipes);
        let own = rates.demand(pipes.number(port), self.share * f64::from(packets + 1));
        let own = match self.full {
            Some((full, demand)) if full == port => own.max(demand),
            _ => own,
        };
        let of_sets = pipes.sets_of(self.network.routing.topology(), port);
        of_sets.map(|set| rates.demand(set, 0.0)).fold(own, f64::max)
    }

    /// Bytes that wait for `port`: the buffer behind it is full when the demand is twice its capacity.
    fn load(&mut self, port: u32) -> u64 {
        let excess = (self.demand(port) - 1.0).clamp(0.0, 1.0);
        let class = self.network.routing.topology().medium(port);
        (excess * self.network.params.link(class).buffer.0 as f64) as u64
    }

    fn path_load(&mut self, path: Path) -> u64 {
        let beyond = match path.remote {
            NOWHERE => 0,
            _ if !self.knows_beyond() => 0,
            remote => {
                self.at += 1;
                let load = self.load(remote);
                self.at -= 1;
                load
            }
        };
        self.load(path.port) + beyond
    }
}

impl Choice for Asking<'_> {
    fn pick(&mut self, n: u32) -> u32 {
        if n <= 1 {
            return 0;
        }
        self.asked = true;
        self.draw.below(n)
    }

    fn flow(&mut self, target: u32) -> u32 {
        spread::flow(self.network.params.seed, self.source, target)
    }

    fn pick_of_flow(&mut self, flow: u32, router: u32, n: u32) -> u32 {
        spread::path_of_flow(flow, router, n)
    }

    fn lighter(&mut self, a: u32, b: u32) -> bool {
        self.demand(a) < self.demand(b)
    }

    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        let (load_a, load_b) = (self.path_load(a), self.path_load(b));
        if load_a != load_b {
            return load_a < load_b;
        }
        self.lighter(a.port, b.port)
    }

    fn knows_beyond(&self) -> bool {
        self.network.params.knowledge != Knowledge::Local
    }

    fn divert(&mut self, minimal: Path, other: Path) -> bool {
        let (m, o) = (self.path_load(minimal), self.path_load(other));
        self.network.params.detour.decide((m, minimal.hops), (o, other.hops))
    }

    fn room(&mut self, port: u32, _: u8) -> bool {
        self.demand(port) <= 1.0
    }
}
