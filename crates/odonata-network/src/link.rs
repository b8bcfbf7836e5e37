//! The static side of links: what a port's state is interpreted with. Never changes during a run.
//!
//! Links are numbered by their sending port: router output ports `0..ports` as in the topology, then
//! the NIC of node `n` as `ports + n`. The receiving buffer of virtual channel `v` of a link is
//! `first_vc` of the *receiving* port plus `v`.

use crate::params::{NetworkParams, RouterModel, Switching, VirtualChannels};
use odonata_engine::Time;
use odonata_topology::{LinkClass, Peer, Topology};

/// One direction of a cable; one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Time per byte, picoseconds.
    ps_per_byte: f64,
    pub(crate) latency: Time,
    pub(crate) credit_delay: Time,
    /// Time of one flit, for the head and the tail of a cut-through packet.
    flit: Time,
    /// Flits per virtual channel at the far end.
    pub(crate) capacity: u32,
    /// Index of virtual channel 0 among all output virtual channels.
    pub(crate) first_vc: u32,
    /// LP of the sending side.
    pub(crate) lp: u32,
    /// LP of the receiving side.
    pub(crate) far_lp: u32,
    /// Index of the far port's first input buffer, or the node number where `to_node`.
    pub(crate) far: u32,
    pub(crate) vcs: u8,
    pub(crate) class: LinkClass,
    pub(crate) to_node: bool,
}

impl Link {
    /// How long the link takes to send `bytes`.
    #[inline]
    pub(crate) fn serialisation(&self, bytes: u32) -> Time {
        Time((f64::from(bytes) * self.ps_per_byte + 0.5) as u64)
    }

    /// How long the head (or the tail) flit of a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flit_time(&self, serialisation: Time) -> Time {
        self.flit.min(serialisation)
    }
}

/// All links, and which link feeds each input port.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) links: Vec<Link>,
    /// The link that feeds each input buffer.
    pub(crate) feeding: Vec<u32>,
    /// Output virtual channels of router ports; those of NICs follow (one each).
    pub(crate) vcs: u32,
    /// Number of router ports: the first NIC's link number.
    pub(crate) ports: u32,
}

impl Links {
    pub(crate) fn new(topology: &Topology, params: &NetworkParams, vcs: VirtualChannels) -> Self {
        let ports = topology.ports();
        let mut first_vc = Vec::with_capacity(ports as usize);
        let mut total = 0;
        for port in 0..ports {
            first_vc.push(total);
            total += u32::from(vcs[topology.class(port) as usize]);
        }
        let packet_flits = params.flits(params.packet);
        let link = |class: LinkClass, lp, far_lp, far, first_vc, vcs, to_node| {
            let p = params.link(class);
            let flits = match params.router {
                // Up, as a packet's flits are: a buffer of one packet holds one, whatever the flit.
                RouterModel::InputQueued => params.flits(p.buffer),
                // Whole packets only: every packet counts as a full one.
                RouterModel::OutputQueued => p.buffer / params.packet * packet_flits,
            };
            Link {
                ps_per_byte: p.bandwidth.ps_per_byte(),
                latency: p.latency,
                credit_delay: p.credit_delay,
                flit: match params.switching {
                    Switching::CutThrough => p.bandwidth.time_for(odonata_units::Bytes(params.flit)),
                    Switching::StoreAndForward => Time::NEVER,
                },
                capacity: u32::try_from(flits).unwrap_or(u32::MAX / 2),
                first_vc,
                lp,
                far_lp,
                far,
                vcs,
                class,
                to_node,
            }
        };
        let mut links = Vec::with_capacity((ports + topology.nodes()) as usize);
        let mut feeding = vec![u32::MAX; total as usize];
        let mut feed = |port: u32, by: u32| {
            let n = u32::from(vcs[topology.class(port) as usize]);
            for v in 0..n {
                feeding[(first_vc[port as usize] + v) as usize] = by;
            }
        };
        for port in 0..ports {
            let class = topology.class(port);
            let n = vcs[class as usize];
            let at = first_vc[port as usize];
            let router = topology.router_of_port(port);
            links.push(match topology.peer(port) {
                Peer::Router {
                    router: far_router,
                    port: far_port,
                } => {
                    feed(far_port, port);
                    link(class, router, far_router, first_vc[far_port as usize], at, n, false)
                }
                Peer::Node(node) => link(class, router, router, node, at, n, true),
                Peer::Free => link(class, router, router, u32::MAX, at, n, false),
            });
        }
        for node in 0..topology.nodes() {
            let port = topology.node_port(node);
            let router = topology.router_of_port(port);
            feed(port, ports + node);
            links.push(link(
                LinkClass::Terminal,
                router,
                router,
                first_vc[port as usize],
                total + node,
                1,
                false,
            ));
        }
        Links {
            links,
            feeding,
            vcs: total,
            ports,
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, link: u32) -> &Link {
        &self.links[link as usize]
    }
}
