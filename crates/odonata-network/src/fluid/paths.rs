//! The paths of a flow: those that packets of its message would take, each with its share.
//!
//! The routing itself is asked, packet by packet, for up to [`MOST`] packets of a message that are spread over its answers: where it
//! draws lots every answer is taken equally often, as far as so few packets go. Where it compares loads it is told the demand for a
//! port as a part of its capacity, the packets before it included; what exceeds the capacity fills the buffer behind the port.

use super::max_min::MaxMin;
use crate::params::{Knowledge, NetworkParams};
use crate::routing::{Choice, Header, NOWHERE, Path, Routing};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{SplitMix64, Time};

/// Most packets whose paths stand for those of a message.
pub(super) const MOST: u64 = 16;

/// Most links of a path: no routing has paths as long as that.
const LONGEST: usize = 250;

/// Where a flow goes.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Links, and how many of the packets cross each.
    pub(super) links: Vec<(u32, u32)>,
    /// Packets.
    pub(super) packets: u32,
    /// What is added to the time that the bytes take, in the mean: links and routers, and a flit on every link but the slowest.
    pub(super) latency: Time,
    /// Whether loads have been compared.
    pub(super) adaptive: bool,
}

impl Paths {
    /// The links, and the part of the flow on each.
    pub(super) fn weights(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        (self.links.iter()).map(|&(link, packets)| (link, f64::from(packets) / f64::from(self.packets)))
    }
}

/// What paths follow from.
pub(super) struct Network<'a> {
    pub(super) routing: &'a Routing,
    pub(super) params: &'a NetworkParams,
    pub(super) rates: &'a MaxMin,
}

impl Network<'_> {
    /// The number of the link of the NIC of `node`.
    pub(super) fn nic(topology: &Topology, node: u32) -> u32 {
        topology.ports() + node
    }

    /// The class of `link`.
    fn class(&self, link: u32) -> LinkClass {
        let topology = self.routing.topology();
        if link < topology.ports() {
            topology.class(link)
        } else {
            LinkClass::Terminal
        }
    }

    /// Paths of a message of `bytes` from `source` to `target`, which would have the rate `demand` alone; the same for the same
    /// `name` and demand for links.
    pub(super) fn paths(&self, (source, target): (u32, u32), bytes: u64, demand: f64, name: u64) -> Paths {
        let topology = self.routing.topology();
        let packets = bytes.div_ceil(self.params.packet).clamp(1, MOST) as u32;
        let head = match bytes % self.params.packet {
            0 => self.params.packet.min(bytes),
            rest => rest,
        };
        let names = [u64::from(source), u64::from(target), name];
        let lot = SplitMix64::named(self.params.seed, names);
        let mut paths = Paths {
            packets,
            ..Paths::default()
        };
        let mut latency = 0;
        for number in 0..packets {
            let mut asking = Asking {
                network: self,
                taken: &paths.links,
                share: demand / f64::from(packets),
                number,
                span: packets,
                lot,
                own: SplitMix64::named(lot.0, [u64::from(number)]),
                asked: false,
                adaptive: false,
            };
            let mut header = Header::new(target);
            let mut router = topology.node_router(source);
            let mut path = vec![Self::nic(topology, source)];
            while path.len() < LONGEST {
                let decision = self.routing.decide(router, &mut header, &mut asking);
                path.push(decision.port);
                match topology.peer(decision.port) {
                    Peer::Router { router: far, .. } => router = far,
                    Peer::Node(_) | Peer::Free => break,
                }
            }
            let (asked, adaptive) = (asking.asked, asking.adaptive);
            paths.adaptive |= adaptive;
            latency += self.latency(&path, head);
            for link in path {
                match paths.links.iter_mut().find(|(known, _)| *known == link) {
                    Some((_, count)) => *count += 1,
                    None => paths.links.push((link, 1)),
                }
            }
            if number == 0 && !asked && !adaptive {
                // There is only one.
                paths.packets = 1;
                break;
            }
        }
        paths.latency = Time(latency / u64::from(paths.packets));
        paths
    }

    /// What `path` adds to the time of the bytes, of which the last packet has `head`, in picoseconds.
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
    /// What a packet stands for, bytes per picosecond.
    share: f64,
    /// Which of the answers that are left it takes, and how many packets are to be spread over them.
    number: u32,
    span: u32,
    /// The same for all packets; its own.
    lot: SplitMix64,
    own: SplitMix64,
    asked: bool,
    adaptive: bool,
}

impl Asking<'_> {
    /// Demand for `port` as a part of its capacity.
    fn demand(&mut self, port: u32) -> f64 {
        self.adaptive = true;
        let taken = self.taken.iter().find(|(link, _)| *link == port);
        let packets = taken.map_or(0, |&(_, packets)| packets);
        (self.network.rates).demand(port, self.share * f64::from(packets + 1))
    }

    /// Bytes that wait for `port`: the buffer behind it is full where the demand is twice what it carries.
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
        let below = |lot: &mut SplitMix64| (((lot.next_u64() >> 32) * u64::from(n)) >> 32) as u32;
        if self.span <= 1 {
            return below(&mut self.own);
        }
        let answer = (self.number % n + below(&mut self.lot)) % n;
        self.number /= n;
        self.span = self.span.div_ceil(n);
        answer
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
