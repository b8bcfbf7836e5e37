//! The paths of a message: those of its packets, each with its fraction.
//!
//! The routing is run packet by packet, for up to [`MOST`] packets, [more](MOST_BESIDE_PACKETS) beside jobs in packets;
//! longer messages are divided into as many equal parts. Random choices are drawn, so that flows meet on links as
//! packets do. As the load of a port the routing gets its demand as a fraction of its capacity, earlier packets
//! included; demand beyond the capacity fills the buffer behind the port.

use super::max_min::{MaxMin, Step};
use crate::params::{Knowledge, NetworkParams};
use crate::routing::{Choice, Header, NOWHERE, Path, Routing};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{SplitMix64, Time};

/// Most packets whose paths represent a message. Sixteen are no closer to the packet model, and take half as long again
/// to compute.
const MOST: u64 = 8;

/// The same beside packets: these wait in all buffers that a message fills, of which fewer paths would miss more.
const MOST_BESIDE_PACKETS: u64 = 16;

/// Most links of a path; no routing has longer ones.
const LONGEST: usize = 250;

/// The paths of a message.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// At least one; all different.
    pub(super) routes: Vec<Route>,
    /// Mean latency, in addition to the time of the bytes.
    pub(super) latency: Time,
    /// Whether loads have been compared.
    pub(super) adaptive: bool,
}

/// One of the paths.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) links: Vec<u32>,
    /// The level of the routing on each link.
    pub(super) levels: Vec<u8>,
    /// The fraction of the message on it.
    pub(super) part: f64,
    /// Latency in picoseconds, in addition to the time of the bytes: links and routers, and a flit on every link but
    /// the slowest.
    pub(super) latency: u64,
    /// The first packet that takes it.
    pub(super) number: u32,
}

impl Paths {
    fn add(
        &mut self,
        (links, levels): (Vec<u32>, Vec<u8>),
        number: u32,
        part: f64,
        latency: impl FnOnce(&[u32]) -> u64,
    ) {
        match self
            .routes
            .iter_mut()
            .find(|route| route.links == links && route.levels == levels)
        {
            Some(route) => route.part += part,
            None => self.routes.push(Route {
                latency: latency(&links),
                links,
                levels,
                part,
                number,
            }),
        }
    }
}

impl Route {
    /// Its links, each with this fraction of a flow's rate.
    pub(super) fn steps(&self, weight: f64) -> impl Iterator<Item = Step> + '_ {
        let steps = self.links.iter().zip(&self.levels);
        steps.map(move |(&link, &level)| Step { link, weight, level })
    }
}

/// The data from which paths follow.
pub(super) struct Network<'a> {
    pub(super) routing: &'a Routing,
    pub(super) params: &'a NetworkParams,
    pub(super) rates: &'a MaxMin,
}

impl Network<'_> {
    /// The number of the link of `node`'s NIC.
    pub(super) fn nic(topology: &Topology, node: u32) -> u32 {
        topology.ports() + node
    }

    fn class(&self, link: u32) -> LinkClass {
        let topology = self.routing.topology();
        if link < topology.ports() {
            topology.class(link)
        } else {
            LinkClass::Terminal
        }
    }

    /// The paths of a message of `bytes` from `source` to `target`, whose rate alone would be `demand`; equal for equal
    /// `name` and equal demand on links. Its packets are numbered from `first`.
    pub(super) fn paths(&self, (source, target): (u32, u32), bytes: u64, demand: f64, name: u64, first: u32) -> Paths {
        let topology = self.routing.topology();
        let most = match self.params.coupling_interval {
            Some(_) => MOST_BESIDE_PACKETS,
            None => MOST,
        };
        let packets = bytes.div_ceil(self.params.packet).clamp(1, most) as u32;
        let head = match bytes % self.params.packet {
            0 => self.params.packet.min(bytes),
            rest => rest,
        };
        let names = [u64::from(source), u64::from(target), name];
        let lot = SplitMix64::named(self.params.seed, names);
        let mut paths = Paths::default();
        let mut taken: Vec<(u32, u32)> = Vec::new();
        // Packet by packet; the last may be short.
        let one_by_one = bytes > 0 && bytes.div_ceil(self.params.packet) <= most;
        for number in 0..packets {
            let part = match one_by_one {
                true => (bytes - u64::from(number) * self.params.packet).min(self.params.packet) as f64 / bytes as f64,
                false => 1.0 / f64::from(packets),
            };
            let mut asking = Asking {
                network: self,
                taken: &taken,
                share: demand * part,
                lot: SplitMix64::named(lot.0, [u64::from(first + number)]),
                asked: false,
                adaptive: false,
            };
            let mut header = Header::new(target);
            let mut router = topology.node_router(source);
            let (mut links, mut levels) = (vec![Self::nic(topology, source)], vec![0]);
            while links.len() < LONGEST {
                let decision = self.routing.decide(router, &mut header, &mut asking);
                links.push(decision.port);
                levels.push(decision.level);
                match topology.peer(decision.port) {
                    Peer::Router { router: far, .. } => router = far,
                    Peer::Node(_) | Peer::Free => break,
                }
            }
            let (asked, adaptive) = (asking.asked, asking.adaptive);
            paths.adaptive |= adaptive;
            if number == 0 && !asked && !adaptive {
                // There is only one.
                paths.add((links, levels), number, 1.0, |links| self.latency(links, head));
                break;
            }
            for &link in &links {
                match taken.iter_mut().find(|(known, _)| *known == link) {
                    Some((_, count)) => *count += 1,
                    None => taken.push((link, 1)),
                }
            }
            paths.add((links, levels), number, part, |links| self.latency(links, head));
        }
        if let [only] = &mut paths.routes[..] {
            only.part = 1.0;
        }
        let latency: f64 = paths.routes.iter().map(|route| route.part * route.latency as f64).sum();
        paths.latency = Time(latency as u64);
        paths
    }

    /// The latency of `path` in picoseconds, in addition to the time of the bytes; the last packet has `head` bytes.
    fn latency(&self, path: &[u32], head: u64) -> u64 {
        let (mut sum, mut slowest) = (0, (f64::INFINITY, 0));
        for &link in path {
            let capacity = self.rates.capacity(link);
            let first = match self.params.switching {
                crate::settings::Switching::StoreAndForward => head,
                _ => head.min(self.params.flit),
            };
            let flit = (first as f64 / capacity + 0.5) as u64;
            if capacity < slowest.0 {
                slowest = (capacity, flit);
            }
            sum += flit + self.params.link(self.class(link)).latency.0;
        }
        sum - slowest.1 + (path.len() as u64 - 1) * self.params.router_delay.0
    }
}

/// Answers a routing for one of the packets.
struct Asking<'a> {
    network: &'a Network<'a>,
    taken: &'a [(u32, u32)],
    /// The rate that a packet represents, bytes per picosecond.
    share: f64,
    lot: SplitMix64,
    asked: bool,
    adaptive: bool,
}

impl Asking<'_> {
    /// The demand for `port` as a fraction of its capacity.
    fn demand(&mut self, port: u32) -> f64 {
        self.adaptive = true;
        let taken = self.taken.iter().find(|(link, _)| *link == port);
        let packets = taken.map_or(0, |&(_, packets)| packets);
        (self.network.rates).demand(port, self.share * f64::from(packets + 1))
    }

    /// Bytes that wait for `port`: the buffer behind it is full when the demand is twice its capacity.
    fn load(&mut self, port: u32) -> u64 {
        let excess = (self.demand(port) - 1.0).clamp(0.0, 1.0);
        let class = self.network.class(port);
        (excess * self.network.params.link(class).buffer.0 as f64) as u64
    }

    fn path_load(&mut self, path: Path) -> u64 {
        let beyond = match path.remote {
            NOWHERE => 0,
            _ if !self.knows_beyond() => 0,
            remote => self.load(remote),
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
        self.lot.below(n)
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
