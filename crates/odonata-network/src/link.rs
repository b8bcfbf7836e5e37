//! The static side of links: what a port's state is interpreted with. Never changes during a run.
//!
//! Links are numbered by their sending port: router output ports `0..ports` as in the topology, then
//! the NIC of node `n` as `ports + n`. The receiving buffer of virtual channel `v` of a link is
//! `first_vc` of the *receiving* port plus `v`.
//!
//! A part of the machine keeps the links that its own routers and NICs send on, and counts them and all that belongs to
//! them in the same order, from 0. These *own* numbers are what its state and its events are told by: a lookup is then as
//! cheap as if there were no other parts. The machine's numbers come in from the topology, from other parts and for
//! results only, and [`Links`] converts them there. For a machine that is not divided the two are the same.

use crate::params::{NetworkParams, RouterModel, Switching, VirtualChannels};
use odonata_engine::Time;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{Bandwidth, Bytes};
use std::ops::Range;
use std::sync::Arc;

/// One direction of a cable; one cache line.
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
    /// LP of the sending side.
    pub(crate) lp: u32,
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

    /// How long the head (or the tail) flit of a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flit_time(&self, serialisation: Time) -> Time {
        self.flit.min(serialisation)
    }
}

/// Where a credit goes: to the sender of the link that feeds a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feeder {
    /// A link of this part.
    Own(u32),
    /// The machine's number of the link, its sender's LP, and how long a credit takes.
    Other(u32, u32, Time),
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
    links: Vec<Link>,
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
    /// The link that feeds each input buffer; from [`OTHER`] on, an index into `others`; [`NONE`]: none.
    feeding: Vec<u32>,
    others: Vec<(u32, u32, Time, LinkClass)>,
}

/// From here on a feeding link is one of another part.
const OTHER: u32 = 1 << 31;
/// Nothing feeds the buffer.
const NONE: u32 = u32::MAX;

impl Links {
    /// The links of `routers` and `nodes`, their nodes; `vcs` are the channels of all traffic classes together.
    pub(crate) fn new(
        topology: &Topology,
        params: &NetworkParams,
        vcs: VirtualChannels,
        numbers: &VcNumbers,
        routers: Range<u32>,
        nodes: Range<u32>,
    ) -> Self {
        let ports = topology.ports_of_routers(routers.clone());
        let (first_port, first_buffer) = (ports.start, numbers.of(ports.start));
        let buffers = numbers.of(ports.end) - first_buffer;
        let packet_flits = params.flits(params.packet);
        let link = |class: LinkClass, factor: f64, lp, far_lp, far, first_vc, vcs, to_node| {
            let p = params.link(class);
            // Of a degraded cable; 1 of all others, which changes nothing.
            let bandwidth = Bandwidth(p.bandwidth.0 * factor);
            let flits = match params.router {
                // Up, as a packet's flits are: a buffer of one packet holds one, whatever the flit.
                RouterModel::InputQueued | RouterModel::Pipelined => params.flits(p.buffer),
                // Whole packets only: every packet counts as a full one.
                RouterModel::OutputQueued => p.buffer / params.packet * packet_flits,
            };
            Link {
                ps_per_byte: bandwidth.ps_per_byte(),
                latency: p.latency,
                credit_delay: p.credit_delay,
                flit: match params.switching {
                    Switching::StoreAndForward if params.router != RouterModel::Pipelined => Time::NEVER,
                    _ => bandwidth.time_for(Bytes(params.flit)),
                },
                capacity: u32::try_from(flits).unwrap_or(u32::MAX / 2),
                first_vc,
                lp,
                far_lp,
                far,
                vcs,
                class,
                to_node,
                leaves: !routers.contains(&far_lp),
            }
        };
        // The routers that do not work cycle by cycle have no use for more than one for each traffic class.
        let nic_vcs = match params.router {
            RouterModel::Pipelined => vcs[LinkClass::Terminal as usize],
            _ => params.classes.count(),
        };
        let mut links = Vec::with_capacity(ports.len() + nodes.len());
        let mut feeding = Vec::with_capacity(buffers as usize);
        let mut others = Vec::new();
        for port in ports.clone() {
            let class = topology.class(port);
            let factor = topology.factor(port);
            let n = vcs[class as usize];
            let at = numbers.of(port) - first_buffer;
            let router = topology.router_of_port(port);
            // A cable's other direction feeds this port's buffers.
            let feeder = match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far_port,
                } => {
                    let far = numbers.of(far_port);
                    if routers.contains(&far_router) {
                        links.push(link(
                            class,
                            factor,
                            router,
                            far_router,
                            far - first_buffer,
                            at,
                            n,
                            false,
                        ));
                        far_port - first_port
                    } else {
                        links.push(link(class, factor, router, far_router, far, at, n, false));
                        others.push((far_port, far_router, params.link(class).credit_delay, class));
                        OTHER | (others.len() as u32 - 1)
                    }
                }
                Peer::Node(node) => {
                    links.push(link(class, factor, router, router, node, at, n, true));
                    ports.len() as u32 + (node - nodes.start)
                }
                Peer::Free => {
                    links.push(link(class, factor, router, router, u32::MAX, at, n, false));
                    NONE
                }
            };
            feeding.extend(std::iter::repeat_n(feeder, usize::from(n)));
        }
        for (nic, node) in (0..).zip(nodes.clone()) {
            let port = topology.node_port(node);
            let router = topology.router_of_port(port);
            let (far, at) = (numbers.of(port) - first_buffer, buffers + nic * u32::from(nic_vcs));
            links.push(link(
                LinkClass::Terminal,
                topology.factor(port),
                router,
                router,
                far,
                at,
                nic_vcs,
                false,
            ));
        }
        Links {
            links,
            ports: ports.len() as u32,
            buffers,
            nic_vcs,
            nodes,
            first_port,
            first_buffer,
            machine_ports: topology.ports(),
            feeding,
            others,
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, link: u32) -> &Link {
        &self.links[link as usize]
    }

    /// Virtual channels of `link`.
    pub(crate) fn channels(&self, link: u32) -> u8 {
        self.get(link).vcs
    }

    /// Number of links of this part.
    pub(crate) fn len(&self) -> u32 {
        self.links.len() as u32
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

    /// The own number of router port `port` of the machine.
    #[inline(always)]
    pub(crate) fn port(&self, port: u32) -> u32 {
        port - self.first_port
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
    #[inline]
    pub(crate) fn feeder(&self, buffer: u32) -> Feeder {
        match self.feeding[buffer as usize] {
            link if link < OTHER => Feeder::Own(link),
            other => {
                let (link, lp, delay, _) = self.others[(other & !OTHER) as usize];
                Feeder::Other(link, lp, delay)
            }
        }
    }

    /// The machine's number of the link that feeds input buffer `buffer`, and its class; `None` where nothing does.
    pub(crate) fn feeding(&self, buffer: u32) -> Option<(u32, LinkClass)> {
        match self.feeding[buffer as usize] {
            NONE => None,
            link if link < OTHER => Some((self.number(link), self.get(link).class)),
            other => {
                let (link, _, _, class) = self.others[(other & !OTHER) as usize];
                Some((link, class))
            }
        }
    }
}
