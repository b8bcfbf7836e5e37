//! Links: constant properties of ports.
//!
//! Links are numbered by their sending port: router output ports `0..ports` as in the topology, then the NIC of node
//! `n` as `ports + n`. The receiving buffer of virtual channel `v` of a link is `first_vc` of the *receiving* port plus
//! `v`.
//!
//! A part of the machine stores the links on which its own routers and NICs send, with all their state, and numbers
//! them from 0 in the same order. State and events use these *local* numbers, so a lookup costs the same with and
//! without other parts. Numbers of the machine occur in the topology, in messages from other parts and in results;
//! [`Links`] converts them there. On an undivided machine both are the same.

use crate::params::{NetworkParams, VirtualChannels};
use crate::settings::{RouterModel, Switching};
use odonata_engine::state::cell;
use odonata_engine::{Mode, NIL, Plain, Time};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// One direction of a cable, assembled from its own and its shared properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Time per byte, picoseconds.
    ps_per_byte: f64,
    /// Bytes of a full packet, and its transmission time with its header.
    packet: (u32, Time),
    /// Bytes of a header.
    header: u32,
    pub(crate) latency: Time,
    pub(crate) credit_delay: Time,
    /// Time of one flit, for the head and the tail of a cut-through packet.
    pub(crate) flit: Time,
    /// Flits per virtual channel at the receiving end.
    pub(crate) capacity: u32,
    /// Local number of virtual channel 0 among all output virtual channels.
    pub(crate) first_vc: u32,
    /// LP of the receiving side.
    pub(crate) far_lp: u32,
    /// Number of the first input buffer of the receiving port, in the machine's numbering if the link `leaves`; the
    /// node number if `to_node`.
    pub(crate) far: u32,
    pub(crate) vcs: u8,
    pub(crate) class: LinkClass,
    pub(crate) to_node: bool,
    /// Whether the receiving side belongs to another part.
    pub(crate) leaves: bool,
}

impl Link {
    /// Transmission time of a packet of `bytes`, with its header.
    #[inline]
    pub(crate) fn serialization(&self, bytes: u32) -> Time {
        // Most packets are full ones, which need no conversion of numbers.
        match self.packet {
            (full, time) if full == bytes => time,
            _ => serialization(bytes + self.header, self.ps_per_byte),
        }
    }

    /// Transmission time of `bytes` in full packets.
    #[inline]
    pub(crate) fn time_for(&self, bytes: u64) -> Time {
        let headers = match self.header {
            0 => 0,
            header => bytes / u64::from(self.packet.0) * u64::from(header),
        };
        // As `serialization` converts.
        Time(((bytes + headers) as i64 as f64 * self.ps_per_byte + 0.5) as i64 as u64)
    }

    /// Start and end of the transmission of a flit that arrives at `arrival`.
    #[inline]
    pub(crate) fn times_on(&self, arrival: Time) -> (Time, Time) {
        let out = arrival - self.latency;
        (out - self.flit, out)
    }

    /// Transmission time of the head (or tail) flit of a packet with transmission time `serialization`.
    #[inline]
    pub(crate) fn flit_time(&self, serialization: Time) -> Time {
        self.flit.min(serialization)
    }
}

/// Transmission time of `bytes` at this time per byte.
fn serialization(bytes: u32, ps_per_byte: f64) -> Time {
    // The processor converts to i64 in one instruction; a run ends long before 2^63 ps.
    Time((f64::from(bytes) * ps_per_byte + 0.5) as i64 as u64)
}

/// The individual properties of a link. A copy lies beside the state of its port, so that sending touches one cache
/// line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LinkEntry {
    /// LP of the sending side.
    pub(super) sender: u32,
    far_lp: u32,
    far: u32,
    /// Index of its [`LinkKind`].
    kind: u32,
}

/// The shared properties of links. A machine has few kinds: one per link class, rate, latency and buffer of a cable
/// that differs from its class, and destination (node, other part).
#[derive(Clone, Copy, Debug)]
struct LinkKind {
    ps_per_byte: f64,
    packet: (u32, Time),
    header: u32,
    latency: Time,
    credit_delay: Time,
    /// The number of its credit delay among those of all links.
    credit_number: u16,
    flit: Time,
    capacity: u32,
    vcs: u8,
    class: LinkClass,
    to_node: bool,
    leaves: bool,
}

/// The delays of one cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CableDelays {
    pub(crate) latency: Time,
    /// Time from freeing a buffer until the credit counts.
    pub(crate) credit: Time,
}

impl CableDelays {
    /// The delays of the cable at `port`: those of its class. A latency of its own changes both by the same time, since
    /// credits travel over the same cable.
    pub(crate) fn of(params: &NetworkParams, topology: &Topology, port: u32) -> CableDelays {
        let of_class = params.link(topology.medium(port));
        CableDelays::new((*of_class.latency, *of_class.credit_delay), topology.latency(port))
    }

    /// The delays of a cable with latency `own` (none: that of its class), from latency and credit delay of its class.
    pub(crate) fn new((latency, credit): (Time, Time), own: Option<Time>) -> CableDelays {
        let own = own.unwrap_or(latency);
        CableDelays {
            latency: own,
            credit: Time((credit.0 + own.0).saturating_sub(latency.0)),
        }
    }
}

/// The destination of a credit: the sender of the link into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// A link of this part, and the credit delay.
    Local(u32, Time),
    /// The number of the link in the machine, the sending LP, and the credit delay.
    Remote(u32, u32, Time),
}

/// The number of the first virtual channel of each port, and the total at the end; the same for all parts.
#[derive(Clone, Debug)]
pub(crate) struct VcNumbers(Arc<[u32]>);

impl VcNumbers {
    pub(crate) fn new(topology: &Topology, vcs: VirtualChannels) -> VcNumbers {
        let mut total = 0;
        let mut next = |port: u32| {
            let first = total;
            total += u32::from(vcs[topology.class(port) as usize]);
            first
        };
        let mut first: Vec<u32> = (0..topology.ports()).map(&mut next).collect();
        first.push(total);
        VcNumbers(first.into())
    }

    fn of(&self, port: u32) -> u32 {
        self.0[port as usize]
    }
}

/// The links of a part, and the link into each of its input ports.
#[derive(Debug)]
pub(crate) struct Links {
    entries: Vec<LinkEntry>,
    kinds: Vec<LinkKind>,
    /// The different credit delays of links, by number.
    credit_delays: Vec<Time>,
    /// The local number of virtual channel 0 of each link. It is separate so that the channel's state can be prefetched
    /// while that of the port is still loading.
    first_vcs: Vec<u32>,
    /// The class of each router port of the machine: the table of the topology, which the routing has just used.
    classes: Arc<[LinkClass]>,
    /// Number of router ports of this part: the local number of the first NIC's link.
    pub(crate) ports: u32,
    /// Number of virtual channels of router ports, as outputs and as input buffers. As outputs, those of NICs follow.
    pub(crate) buffers: u32,
    nic_vcs: u8,
    /// In the machine's numbering: this part's nodes, its first router port and that port's first buffer; and the
    /// number of router ports of the machine.
    nodes: Range<u32>,
    first_port: u32,
    first_buffer: u32,
    machine_ports: u32,
    feeders: Vec<Feeder>,
    others: Vec<(u32, u32, Time, LinkClass)>,
}

/// The link into an input buffer, with the data that a credit for it needs without access to the link.
#[derive(Clone, Copy, Debug)]
struct Feeder {
    /// The link; from [`OTHER`] on, an index into [`Links::others`]; [`NONE`] without a link.
    link: u32,
    /// The kind of the cable's other direction, which has the same credit delay.
    kind: u32,
}

/// From this number on the upstream link belongs to another part.
const OTHER: u32 = 1 << 31;
/// No link leads into the buffer.
const NONE: u32 = u32::MAX;

impl Links {
    /// The links of `routers` and of `nodes`, their nodes. `vcs` are the channels of all traffic classes, `queues` the
    /// queues of a NIC per class.
    pub(crate) fn new(
        topology: &Topology,
        params: &NetworkParams,
        (vcs, queues): (VirtualChannels, u8),
        numbers: &VcNumbers,
        routers: Range<u32>,
        nodes: Range<u32>,
    ) -> Self {
        let ports = topology.ports_of_routers(routers.clone());
        let (first_port, first_buffer) = (ports.start, numbers.of(ports.start));
        let buffers = numbers.of(ports.end) - first_buffer;
        let packet_flits = params.flits(params.packet);
        let kind = |(class, medium), (factor, delays, buffer): (f64, CableDelays, Bytes), vcs, to_node, leaves| {
            // The factor of a degraded cable; 1 for all others.
            let bandwidth = params.bandwidth(medium, factor, to_node);
            let flits = match params.router {
                // Rounded up, as the flits of a packet are: a buffer of one packet holds one packet for every flit
                // size.
                RouterModel::InputQueued | RouterModel::Pipelined => params.flits(buffer.0),
                // Whole packets only: every packet counts as a full one.
                RouterModel::OutputQueued => buffer.0 / params.packet * packet_flits,
            };
            let ps_per_byte = bandwidth.ps_per_byte();
            // Packets of 4 GiB or more do not exist.
            let full = params.packet.min(u64::from(u32::MAX)) as u32;
            LinkKind {
                ps_per_byte,
                packet: (full, serialization(full + params.header as u32, ps_per_byte)),
                header: params.header as u32,
                latency: delays.latency,
                credit_delay: delays.credit,
                credit_number: 0,
                flit: match params.switching {
                    Switching::StoreAndForward if params.router != RouterModel::Pipelined => Time::NEVER,
                    _ => bandwidth.time_for(Bytes(params.flit)),
                },
                capacity: u32::try_from(flits).unwrap_or(u32::MAX / 2),
                vcs,
                class,
                to_node,
                leaves,
            }
        };
        // Routers that do not work cycle by cycle need one channel per queue.
        let nic_vcs = match params.router {
            RouterModel::Pipelined => vcs[LinkClass::Terminal as usize],
            _ => params.classes.count() * queues,
        };
        let mut links = Links {
            entries: Vec::with_capacity(ports.len() + nodes.len()),
            kinds: Vec::new(),
            credit_delays: Vec::new(),
            first_vcs: Vec::with_capacity(ports.len() + nodes.len()),
            classes: topology.classes(),
            ports: ports.len() as u32,
            buffers,
            nic_vcs,
            nodes: nodes.clone(),
            first_port,
            first_buffer,
            machine_ports: topology.ports(),
            feeders: Vec::with_capacity(buffers as usize),
            others: Vec::new(),
        };
        let mut numbers_of_kinds = BTreeMap::new();
        let mut number = |kinds: &mut Vec<LinkKind>, class: LinkClass, port, vcs, to_node, leaves| {
            let (factor, delays) = (topology.factor(port), CableDelays::of(params, topology, port));
            let (medium, buffer) = (topology.medium(port), params.buffer(topology, port));
            let name = (
                (class as u8, medium as u8),
                factor.to_bits(),
                delays.latency,
                buffer,
                vcs,
                to_node,
                leaves,
            );
            *numbers_of_kinds.entry(name).or_insert_with(|| {
                kinds.push(kind((class, medium), (factor, delays, buffer), vcs, to_node, leaves));
                kinds.len() as u32 - 1
            })
        };
        for port in ports.clone() {
            let class = topology.class(port);
            let n = vcs[class as usize];
            let router = topology.router_of_port(port);
            // The cable's other direction leads into this port's buffers.
            let (far_lp, far, feeder) = match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far_port,
                } => {
                    let far = numbers.of(far_port);
                    if routers.contains(&far_router) {
                        (far_router, far - first_buffer, far_port - first_port)
                    } else {
                        let delay = CableDelays::of(params, topology, port).credit;
                        let other = (far_port, far_router, delay, class);
                        links.others.push(other);
                        (far_router, far, OTHER | (links.others.len() as u32 - 1))
                    }
                }
                Peer::Node(node) => (router, node, ports.len() as u32 + (node - nodes.start)),
                Peer::Free => (router, u32::MAX, NONE),
            };
            let to_node = matches!(topology.peer(port), Peer::Node(_));
            let leaves = !routers.contains(&far_lp);
            let kind = number(&mut links.kinds, class, port, n, to_node, leaves);
            links.push(kind, router, far_lp, far, numbers.of(port) - first_buffer);
            let feeder = Feeder { link: feeder, kind };
            links.feeders.extend(std::iter::repeat_n(feeder, usize::from(n)));
        }
        for (nic, node) in (0..).zip(nodes) {
            let port = topology.node_port(node);
            let router = topology.router_of_port(port);
            let (far, at) = (numbers.of(port) - first_buffer, buffers + nic * u32::from(nic_vcs));
            let kind = number(&mut links.kinds, LinkClass::Terminal, port, nic_vcs, false, false);
            links.push(kind, router, router, far, at);
        }
        links.number_credit_delays();
        links
    }

    /// Adds a link of this kind from LP `sender` to `far_lp`.
    fn push(&mut self, kind: u32, sender: u32, far_lp: u32, far: u32, first_vc: u32) {
        self.entries.push(LinkEntry {
            sender,
            far_lp,
            far,
            kind,
        });
        self.first_vcs.push(first_vc);
    }

    #[inline(always)]
    pub(crate) fn get(&self, link: u32) -> Link {
        self.whole::<Plain>(link, self.entries[link as usize])
    }

    /// The individual properties of `link`.
    pub(super) fn entry(&self, link: u32) -> LinkEntry {
        self.entries[link as usize]
    }

    /// Numbers the different credit delays of links.
    fn number_credit_delays(&mut self) {
        let mut numbers = BTreeMap::new();
        for kind in &mut self.kinds {
            kind.credit_number = *numbers.entry(kind.credit_delay).or_insert_with(|| {
                self.credit_delays.push(kind.credit_delay);
                u16::try_from(self.credit_delays.len() - 1).expect("at most `Topology::MOST_LATENCIES` per class")
            });
        }
    }

    /// The class of router port `port` of the machine.
    #[inline(always)]
    pub(crate) fn class_of_port<M: Mode>(&self, port: u32) -> LinkClass {
        *cell::<M, _>(&self.classes, port)
    }

    /// The number of the credit delay of a link with these properties.
    pub(super) fn credit_number(&self, entry: LinkEntry) -> u16 {
        self.kinds[entry.kind as usize].credit_number
    }

    /// The [front](crate::observe::lost) of NIC `link`.
    pub(crate) fn front_of_nic(&self, link: u32) -> u32 {
        self.buffers + (link - self.ports)
    }

    /// The credit delay with this number.
    #[inline(always)]
    pub(super) fn credit_delay<M: Mode>(&self, number: u16) -> Time {
        *cell::<M, _>(&self.credit_delays, u32::from(number))
    }

    /// The local number of virtual channel 0 of `link`.
    #[inline(always)]
    pub(crate) fn first_vc<M: Mode>(&self, link: u32) -> u32 {
        *cell::<M, _>(&self.first_vcs, link)
    }

    /// Assembles `link` from its individual properties `entry`.
    #[inline(always)]
    pub(super) fn whole<M: Mode>(&self, link: u32, entry: LinkEntry) -> Link {
        let kind = cell::<M, _>(&self.kinds, entry.kind);
        Link {
            ps_per_byte: kind.ps_per_byte,
            packet: kind.packet,
            header: kind.header,
            latency: kind.latency,
            credit_delay: kind.credit_delay,
            flit: kind.flit,
            capacity: kind.capacity,
            first_vc: self.first_vc::<M>(link),
            far_lp: entry.far_lp,
            far: entry.far,
            vcs: kind.vcs,
            class: kind.class,
            to_node: kind.to_node,
            leaves: kind.leaves,
        }
    }

    /// The LP of the sender of `link`.
    #[inline(always)]
    pub(crate) fn sender(&self, link: u32) -> u32 {
        self.entries[link as usize].sender
    }

    pub(crate) const BYTES_PER_BUFFER: usize = size_of::<Feeder>();
    pub(crate) const BYTES_PER_LINK: usize = size_of::<LinkEntry>() + size_of::<u32>();

    pub(crate) fn channels(&self, link: u32) -> u8 {
        self.get(link).vcs
    }

    /// Number of links of this part.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Output virtual channels of this part, those of NICs included.
    pub(crate) fn vcs(&self) -> u32 {
        self.buffers + self.nodes.len() as u32 * u32::from(self.nic_vcs)
    }

    /// Whether `node` belongs to this part.
    pub(crate) fn holds(&self, node: u32) -> bool {
        self.nodes.contains(&node)
    }

    /// The local number of the NIC of `node`. The number of its link is that plus [`ports`](Self::ports).
    #[inline(always)]
    pub(crate) fn nic(&self, node: u32) -> u32 {
        node - self.nodes.start
    }

    /// The node of the local NIC `nic`.
    #[inline(always)]
    pub(crate) fn node(&self, nic: u32) -> u32 {
        self.nodes.start + nic
    }

    /// The local number of router port `port` of the machine.
    #[inline(always)]
    pub(crate) fn port(&self, port: u32) -> u32 {
        port - self.first_port
    }

    /// The local number of `link` of the machine: the inverse of [`number`](Self::number).
    pub(crate) fn own_number(&self, link: u32) -> u32 {
        match link.checked_sub(self.machine_ports) {
            None => self.port(link),
            Some(node) => self.ports + self.nic(node),
        }
    }

    /// The local number of input buffer `buffer` of the machine.
    pub(crate) fn buffer(&self, buffer: u32) -> u32 {
        buffer - self.first_buffer
    }

    /// The number of `link` in the machine.
    pub(crate) fn number(&self, link: u32) -> u32 {
        match link.checked_sub(self.ports) {
            None => self.first_port + link,
            Some(nic) => self.machine_ports + self.nodes.start + nic,
        }
    }

    /// The destination of the credits of input buffer `buffer`.
    ///
    /// # Panics
    /// No link leads into the buffer.
    #[inline(always)]
    pub(crate) fn upstream<M: Mode>(&self, buffer: u32) -> Upstream {
        let Feeder { link, kind } = *cell::<M, _>(&self.feeders, buffer);
        match link {
            link if link < OTHER => Upstream::Local(link, cell::<M, _>(&self.kinds, kind).credit_delay),
            other => {
                let (link, lp, delay, _) = self.others[(other & !OTHER) as usize];
                Upstream::Remote(link, lp, delay)
            }
        }
    }

    /// The link of this part into input buffer `buffer`, or [`NIL`].
    #[inline(always)]
    pub(crate) fn feeder<M: Mode>(&self, buffer: u32) -> u32 {
        match cell::<M, _>(&self.feeders, buffer).link {
            link if link < OTHER => link,
            _ => NIL,
        }
    }

    /// The LP that sends into input buffer `buffer`.
    #[inline]
    pub(crate) fn feeding_lp(&self, buffer: u32) -> u32 {
        match self.feeders[buffer as usize].link {
            link if link < OTHER => self.sender(link),
            other => self.others[(other & !OTHER) as usize].1,
        }
    }

    /// The machine's number and the class of the link into input buffer `buffer`; `None` without one.
    pub(crate) fn upstream_link(&self, buffer: u32) -> Option<(u32, LinkClass)> {
        match self.feeders[buffer as usize].link {
            NONE => None,
            link if link < OTHER => Some((self.number(link), self.get(link).class)),
            other => {
                let (link, _, _, class) = self.others[(other & !OTHER) as usize];
                Some((link, class))
            }
        }
    }
}
