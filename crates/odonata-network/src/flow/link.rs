//! Links: what a port's state is interpreted with. Never changes during a run.
//!
//! Links are numbered by their sending port: router output ports `0..ports` as in the topology, then
//! the NIC of node `n` as `ports + n`. The receiving buffer of virtual channel `v` of a link is
//! `first_vc` of the *receiving* port plus `v`.
//!
//! A part of the machine keeps the links that its own routers and NICs send on, and counts them and all that belongs to
//! them in the same order, from 0. These *own* numbers are what its state and its events are told by: a lookup is then as
//! cheap as if there were no other parts. The machine's numbers come in from the topology, from other parts and for
//! results only, and [`Links`] converts them there. For a machine that is not divided the two are the same.

use crate::params::{NetworkParams, VirtualChannels};
use crate::settings::{RouterModel, Switching};
use odonata_engine::{NIL, Time};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{Bandwidth, Bytes};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// One direction of a cable, put together of what is kept of it and of what it has in common with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Time per byte, picoseconds.
    ps_per_byte: f64,
    pub(crate) latency: Time,
    pub(crate) credit_delay: Time,
    /// Time of one flit, for the head and the tail of a cut-through packet.
    pub(crate) flit: Time,
    /// Flits per virtual channel at the far end.
    pub(crate) capacity: u32,
    /// Own number of virtual channel 0 among all output virtual channels.
    pub(crate) first_vc: u32,
    /// LP of the receiving side.
    pub(crate) far_lp: u32,
    /// Number of the far port's first input buffer, the machine's where the link `leaves`; or the node number where `to_node`.
    pub(crate) far: u32,
    pub(crate) vcs: u8,
    pub(crate) class: LinkClass,
    pub(crate) to_node: bool,
    /// Whether the receiving side belongs to another part.
    pub(crate) leaves: bool,
}

impl Link {
    /// How long the link takes to send `bytes`.
    #[inline]
    pub(crate) fn serialisation(&self, bytes: u32) -> Time {
        // By way of i64, which the processor converts in one instruction; a run ends long before 2^63 ps.
        Time((f64::from(bytes) * self.ps_per_byte + 0.5) as i64 as u64)
    }

    /// How long the link takes for `bytes`, more than a packet.
    #[inline]
    pub(crate) fn time_for(&self, bytes: u64) -> Time {
        Time((bytes as f64 * self.ps_per_byte + 0.5) as u64)
    }

    /// When a flit that is at the other end at `arrival` started on the link, and when it was out.
    #[inline]
    pub(crate) fn times_on(&self, arrival: Time) -> (Time, Time) {
        let out = arrival - self.latency;
        (out - self.flit, out)
    }

    /// How long the head (or the tail) flit of a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flit_time(&self, serialisation: Time) -> Time {
        self.flit.min(serialisation)
    }
}

/// What is kept of each link. Beside the state of its port once more, so that who sends touches one line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OwnOfLink {
    /// LP of the sending side.
    pub(super) sender: u32,
    far_lp: u32,
    far: u32,
    /// Index of its kind.
    kind: u32,
}

/// What links have in common, of which a machine has a handful of kinds: one for each class of link, rate of a degraded cable,
/// and whether they lead to a node or to another part.
#[derive(Clone, Copy, Debug)]
struct LinkKind {
    ps_per_byte: f64,
    latency: Time,
    credit_delay: Time,
    flit: Time,
    capacity: u32,
    vcs: u8,
    class: LinkClass,
    to_node: bool,
    leaves: bool,
}

/// Where a credit goes: to the sender of the link that feeds a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// A link of this part, and how long a credit takes.
    Local(u32, Time),
    /// The machine's number of the link, its sender's LP, and how long a credit takes.
    Remote(u32, u32, Time),
}

/// The number of the first virtual channel of each port, and of all at the end: the same for all parts.
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

/// The links of a part, and which link feeds each of its input ports.
#[derive(Debug)]
pub(crate) struct Links {
    own: Vec<OwnOfLink>,
    kinds: Vec<LinkKind>,
    /// How long a credit takes, by class of link.
    credit_delays: [Time; LinkClass::COUNT],
    /// The own number of virtual channel 0 of each: of many links in a cache line, so that the state of the channel is asked for
    /// while that of the port is still on its way.
    first_vcs: Vec<u32>,
    /// Router ports of this part: the own number of the first NIC's link.
    pub(crate) ports: u32,
    /// Virtual channels of router ports, as outputs and as input buffers. As outputs those of NICs follow.
    pub(crate) buffers: u32,
    nic_vcs: u8,
    /// The machine's numbers of this part's nodes, of its first router port and of that one's first buffer, and the number of
    /// router ports of the machine.
    nodes: Range<u32>,
    first_port: u32,
    first_buffer: u32,
    machine_ports: u32,
    feeders: Vec<Feeder>,
    others: Vec<(u32, u32, Time, LinkClass)>,
}

/// What feeds an input buffer: with what a credit for it needs, so that nobody looks at the link.
#[derive(Clone, Copy, Debug)]
struct Feeder {
    /// The link; from [`OTHER`] on, an index into [`Links::others`]; [`NONE`]: none.
    link: u32,
    /// The kind of the cable's other direction, whose credits take as long.
    kind: u32,
}

/// From here on a feeding link is one of another part.
const OTHER: u32 = 1 << 31;
/// Nothing feeds the buffer.
const NONE: u32 = u32::MAX;

impl Links {
    /// The links of `routers` and `nodes`, their nodes; `vcs` are the channels of all traffic classes together, `queues` those of a
    /// NIC for each of them.
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
        let kind = |class: LinkClass, factor: f64, vcs, to_node, leaves| {
            let p = params.link(class);
            // Of a degraded cable; 1 of all others, which changes nothing.
            let bandwidth = Bandwidth(p.bandwidth.0 * factor);
            let flits = match params.router {
                // Up, as a packet's flits are: a buffer of one packet holds one, whatever the flit.
                RouterModel::InputQueued | RouterModel::Pipelined => params.flits(p.buffer.0),
                // Whole packets only: every packet counts as a full one.
                RouterModel::OutputQueued => p.buffer.0 / params.packet * packet_flits,
            };
            LinkKind {
                ps_per_byte: bandwidth.ps_per_byte(),
                latency: *p.latency,
                credit_delay: *p.credit_delay,
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
        // The routers that do not work cycle by cycle have no use for more than one for each queue.
        let nic_vcs = match params.router {
            RouterModel::Pipelined => vcs[LinkClass::Terminal as usize],
            _ => params.classes.count() * queues,
        };
        let mut links = Links {
            own: Vec::with_capacity(ports.len() + nodes.len()),
            kinds: Vec::new(),
            credit_delays: LinkClass::ALL.map(|class| *params.link(class).credit_delay),
            first_vcs: Vec::with_capacity(ports.len() + nodes.len()),
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
        let mut number = |kinds: &mut Vec<LinkKind>, class: LinkClass, factor: f64, vcs, to_node, leaves| {
            let name = (class as u8, factor.to_bits(), vcs, to_node, leaves);
            *numbers_of_kinds.entry(name).or_insert_with(|| {
                kinds.push(kind(class, factor, vcs, to_node, leaves));
                kinds.len() as u32 - 1
            })
        };
        for port in ports.clone() {
            let class = topology.class(port);
            let n = vcs[class as usize];
            let router = topology.router_of_port(port);
            // A cable's other direction feeds this port's buffers.
            let (far_lp, far, feeder) = match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far_port,
                } => {
                    let far = numbers.of(far_port);
                    if routers.contains(&far_router) {
                        (far_router, far - first_buffer, far_port - first_port)
                    } else {
                        let other = (far_port, far_router, *params.link(class).credit_delay, class);
                        links.others.push(other);
                        (far_router, far, OTHER | (links.others.len() as u32 - 1))
                    }
                }
                Peer::Node(node) => (router, node, ports.len() as u32 + (node - nodes.start)),
                Peer::Free => (router, u32::MAX, NONE),
            };
            let to_node = matches!(topology.peer(port), Peer::Node(_));
            let leaves = !routers.contains(&far_lp);
            let kind = number(&mut links.kinds, class, topology.factor(port), n, to_node, leaves);
            links.push(kind, router, far_lp, far, numbers.of(port) - first_buffer);
            let feeder = Feeder { link: feeder, kind };
            links.feeders.extend(std::iter::repeat_n(feeder, usize::from(n)));
        }
        for (nic, node) in (0..).zip(nodes) {
            let port = topology.node_port(node);
            let router = topology.router_of_port(port);
            let (far, at) = (numbers.of(port) - first_buffer, buffers + nic * u32::from(nic_vcs));
            let factor = topology.factor(port);
            let kind = number(&mut links.kinds, LinkClass::Terminal, factor, nic_vcs, false, false);
            links.push(kind, router, router, far, at);
        }
        links
    }

    /// Adds a link of this kind from LP `sender` to `far_lp`.
    fn push(&mut self, kind: u32, sender: u32, far_lp: u32, far: u32, first_vc: u32) {
        self.own.push(OwnOfLink {
            sender,
            far_lp,
            far,
            kind,
        });
        self.first_vcs.push(first_vc);
    }

    #[inline(always)]
    pub(crate) fn get(&self, link: u32) -> Link {
        self.whole(link, self.own[link as usize])
    }

    /// What is kept of `link`.
    pub(super) fn own(&self, link: u32) -> OwnOfLink {
        self.own[link as usize]
    }

    /// The class of a link of which this is kept.
    #[inline(always)]
    pub(super) fn class_of(&self, own: OwnOfLink) -> LinkClass {
        self.kinds[own.kind as usize].class
    }

    /// How long a credit takes to the sender of a link of `class`.
    #[inline(always)]
    pub(super) fn credit_delay(&self, class: LinkClass) -> Time {
        self.credit_delays[class as usize]
    }

    /// The own number of virtual channel 0 of `link`.
    #[inline(always)]
    pub(crate) fn first_vc(&self, link: u32) -> u32 {
        self.first_vcs[link as usize]
    }

    /// `link`, of which this is kept.
    #[inline(always)]
    pub(super) fn whole(&self, link: u32, own: OwnOfLink) -> Link {
        let kind = &self.kinds[own.kind as usize];
        Link {
            ps_per_byte: kind.ps_per_byte,
            latency: kind.latency,
            credit_delay: kind.credit_delay,
            flit: kind.flit,
            capacity: kind.capacity,
            first_vc: self.first_vc(link),
            far_lp: own.far_lp,
            far: own.far,
            vcs: kind.vcs,
            class: kind.class,
            to_node: kind.to_node,
            leaves: kind.leaves,
        }
    }

    /// The LP on which `link` begins.
    #[inline(always)]
    pub(crate) fn sender(&self, link: u32) -> u32 {
        self.own[link as usize].sender
    }

    /// Bytes of each input buffer.
    pub(crate) const OF_A_BUFFER: usize = size_of::<Feeder>();
    /// Bytes of each link.
    pub(crate) const OF_A_LINK: usize = size_of::<OwnOfLink>() + size_of::<u32>();

    /// Virtual channels of `link`.
    pub(crate) fn channels(&self, link: u32) -> u8 {
        self.get(link).vcs
    }

    /// Number of links of this part.
    pub(crate) fn len(&self) -> u32 {
        self.own.len() as u32
    }

    /// Virtual channels of this part as outputs, those of NICs included.
    pub(crate) fn vcs(&self) -> u32 {
        self.buffers + self.nodes.len() as u32 * u32::from(self.nic_vcs)
    }

    /// Whether `node` belongs to this part.
    pub(crate) fn holds(&self, node: u32) -> bool {
        self.nodes.contains(&node)
    }

    /// The NIC of `node`, counted over this part. Its link is as many behind [`ports`](Self::ports).
    #[inline(always)]
    pub(crate) fn nic(&self, node: u32) -> u32 {
        node - self.nodes.start
    }

    /// The node of NIC `nic` of this part.
    #[inline(always)]
    pub(crate) fn node(&self, nic: u32) -> u32 {
        self.nodes.start + nic
    }

    /// The own number of router port `port` of the machine.
    #[inline(always)]
    pub(crate) fn port(&self, port: u32) -> u32 {
        port - self.first_port
    }

    /// The own number of `link` of the machine: the other way round than [`number`](Self::number).
    pub(crate) fn own_number(&self, link: u32) -> u32 {
        match link.checked_sub(self.machine_ports) {
            None => self.port(link),
            Some(node) => self.ports + self.nic(node),
        }
    }

    /// The own number of input buffer `buffer` of the machine.
    pub(crate) fn buffer(&self, buffer: u32) -> u32 {
        buffer - self.first_buffer
    }

    /// The machine's number of `link`.
    pub(crate) fn number(&self, link: u32) -> u32 {
        match link.checked_sub(self.ports) {
            None => self.first_port + link,
            Some(nic) => self.machine_ports + self.nodes.start + nic,
        }
    }

    /// Who gets the credits of input buffer `buffer`.
    ///
    /// # Panics
    /// No link feeds the buffer.
    #[inline(always)]
    pub(crate) fn upstream(&self, buffer: u32) -> Upstream {
        let Feeder { link, kind } = self.feeders[buffer as usize];
        match link {
            link if link < OTHER => Upstream::Local(link, self.kinds[kind as usize].credit_delay),
            other => {
                let (link, lp, delay, _) = self.others[(other & !OTHER) as usize];
                Upstream::Remote(link, lp, delay)
            }
        }
    }

    /// The link of this part that feeds input buffer `buffer`, if one does; else [`NIL`].
    #[inline(always)]
    pub(crate) fn feeder(&self, buffer: u32) -> u32 {
        match self.feeders[buffer as usize].link {
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

    /// The machine's number of the link that feeds input buffer `buffer`, and its class; `None` where nothing does.
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
