//! Memory of a fabric's state before the first event, computed from sizes without building it.
//!
//! A test compares it with built fabrics. It excludes what depends on traffic: packets, messages, credits of single
//! flits, charges.

use crate::control::{ClassScheduler, Congestion};
use crate::ethernet::EthernetCarrier;
use crate::flow::{FlitCredits, Flow, Links};
use crate::nic::Nics;
use crate::nic::exchanges::Exchanges;
use crate::observe::statistics::{Histogram, LinkStats, NodeStats, TrafficStats};
use crate::observe::{BlameLedger, has_input_lines};
use crate::packet::Packet;
use crate::params::{NetworkParams, VirtualChannels};
use crate::router::input_queued::InputQueued;
use crate::router::pipelined::Pipelined;
use crate::settings::{InputQueues, Queues, RouterModel};
use odonata_engine::{Stream, Time};
use odonata_ethernet::Ethernet;
use odonata_topology::LinkClass;

/// Bytes per packet in flight, with its pending event.
pub const PACKET_BYTES: u64 = (size_of::<Packet>() + EVENT) as u64;
/// Bytes per message that waits or is in flight.
pub const MESSAGE_BYTES: u64 = crate::message::BYTES as u64;
/// Bytes per flit credit in flight, with pipelined routers.
pub const FLIT_CREDIT_BYTES: u64 = FlitCredits::CREDIT as u64;

/// Bytes per pending event: key, receiver and event.
const EVENT: usize = 32;

/// The numbers of a machine's components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Routers.
    pub routers: u64,
    /// Nodes.
    pub nodes: u64,
    /// Router ports by class, those without a cable included.
    pub ports: [u64; LinkClass::COUNT],
    /// Largest number of cables of each class at a router with nodes ([`outputs`](crate::outputs)).
    pub outputs: [u64; LinkClass::COUNT],
}

impl Extent {
    /// Ports of all classes.
    pub fn all_ports(&self) -> u64 {
        self.ports.iter().sum()
    }
}

/// Bytes of an idle fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Routers and their ports.
    pub ports: u64,
    /// Nodes and their interfaces.
    pub nodes: u64,
    /// Virtual channels.
    pub channels: u64,
    /// Counters per traffic, independent of the number of parts.
    pub traffics: u64,
    /// Per flow of an Ethernet in flight; not idle.
    pub flow: u64,
}

impl Footprint {
    /// The footprint of a machine of this extent; `vcs` as for [`Blueprint::new`](crate::Blueprint::new).
    pub fn new(params: &NetworkParams, vcs: VirtualChannels, extent: &Extent) -> Footprint {
        let of = |count: u64, size: usize| count.saturating_mul(size as u64);
        let classes = u64::from(params.classes.count());
        let (ports, nodes) = (extent.all_ports(), extent.nodes);
        let buffers = (extent.ports.iter().zip(vcs))
            .map(|(&ports, vcs)| ports.saturating_mul(u64::from(vcs) * classes))
            .fold(0, u64::saturating_add);
        let queues = u64::from(params.nic.send_queues.count(&extent.outputs, vcs));
        let per_peer = params.nic.queues == Queues::PerPeer;
        let pipelined = params.router == RouterModel::Pipelined;
        let nic_channels = nodes.saturating_mul(match pipelined {
            true => u64::from(vcs[LinkClass::Terminal as usize]) * classes,
            false => classes * queues,
        });
        let fifos = match (params.router, params.input_queues) {
            (RouterModel::InputQueued, InputQueues::Fifo) => buffers,
            _ => 0,
        };
        let lined = if has_input_lines(params) { buffers } else { 0 };
        let mut bytes_per_link = Flow::BYTES_PER_LINK + size_of::<LinkStats>();
        bytes_per_link += if classes > 1 { ClassScheduler::BYTES_PER_LINK } else { 0 };
        bytes_per_link += match pipelined {
            true => FlitCredits::IDLE_LINK,
            false => Flow::CREDIT_BYTES_PER_LINK,
        };
        // The loads of a group's ports, as published to a router.
        let known = match params.knowledge.broadcast() {
            Some(_) => of(ports, size_of::<u32>()).saturating_add(of(extent.routers, size_of::<Time>())),
            None => 0,
        };
        let pipeline = |routers, ports, channels| match pipelined {
            true => Pipelined::bytes(params, routers, ports, channels),
            false => 0,
        };
        let booked = |links, channels, buffers| match params.blame {
            true => BlameLedger::bytes(links, channels, buffers),
            false => 0,
        };
        let ethernet = EthernetCarrier::resolved(params);
        let of_ethernet = |count: u64, size: usize| of(if ethernet.is_some() { count } else { 0 }, size);
        let sum = |terms: &[u64]| terms.iter().copied().fold(0, u64::saturating_add);
        Footprint {
            ports: sum(&[
                // The number of each port's first channel.
                of(ports, bytes_per_link + Flow::BYTES_PER_PORT + size_of::<u32>()),
                of(extent.routers, size_of::<Stream>()),
                pipeline(extent.routers, ports, 0),
                booked(ports, 0, 0),
                of_ethernet(ports, ethernet.as_ref().map_or(0, Ethernet::bytes_per_port)),
                known,
            ]),
            nodes: sum(&[
                of(nodes, bytes_per_link + size_of::<NodeStats>()),
                of(nodes * classes * queues, Nics::bytes_per_queue(per_peer)),
                of(nic_channels, Flow::BYTES_PER_CHANNEL),
                booked(nodes, nic_channels, 0),
                of_ethernet(nodes, Ethernet::BYTES_PER_NODE),
                Congestion::bytes(params, nodes, queues),
                of(
                    if params.nic.one_way_above.is_some() { nodes } else { 0 },
                    Exchanges::BYTES_PER_NIC,
                ),
            ]),
            channels: sum(&[
                // The link into each buffer.
                of(buffers, Flow::BYTES_PER_CHANNEL + Links::BYTES_PER_BUFFER),
                of(fifos, InputQueued::BYTES_PER_FIFO),
                pipeline(0, 0, buffers),
                booked(0, buffers, lined),
            ]),
            traffics: of(
                u64::from(params.traffics),
                size_of::<TrafficStats>() + 2 * Histogram::BYTES,
            ),
            flow: ethernet.as_ref().map_or(0, Ethernet::bytes_per_flow) as u64,
        }
    }

    /// The total of the idle fabric.
    pub fn sum(&self) -> u64 {
        let parts = [self.ports, self.nodes, self.channels, self.traffics];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}
