//! How fabrics are built: the parts of one machine have much in common.

use super::Fabric;
use crate::blame::Books;
use crate::border::Arrivals;
use crate::clocked::Clocked;
use crate::congestion::Control;
use crate::credit::Flow;
use crate::knowledge::Board;
use crate::levels::Spans;
use crate::link::{Links, VcNumbers};
use crate::nic::Nic;
use crate::params::{CongestionControl, InputQueues, NetworkParams, RouterModel, Switching, VirtualChannels};
use crate::port::InBuffer;
use crate::routing::Routing;
use crate::sampling::Sampler;
use crate::shares::Shares;
use crate::stats::{Histogram, LinkStats, NodeStats, TrafficStats};
use odonata_engine::random::Purpose;
use odonata_engine::{Growing, Outbox, Pool, Store, Stream, Time, Windowed};
use std::ops::Range;
use std::sync::Arc;

/// What all parts of a fabric have in common.
#[derive(Clone, Debug)]
pub struct Blueprint {
    params: NetworkParams,
    routing: Arc<Routing>,
    /// Of each traffic class.
    vcs: VirtualChannels,
    numbers: VcNumbers,
}

impl Blueprint {
    /// `vcs` are the virtual channels per link class (at least what the routing needs); each traffic class gets as many.
    ///
    /// # Panics
    /// If `vcs` are too few, or more than 255 in all, if a packet has more flits than a credit counts, if a buffer cannot
    /// hold one, if there are several traffic classes and routers are not input-queued, if there is congestion control and
    /// they are pipelined, or if routers were to publish their loads in no time.
    pub fn new(params: NetworkParams, routing: Routing, vcs: VirtualChannels) -> Self {
        let needed = routing.virtual_channels();
        assert!(
            vcs.iter().zip(needed).all(|(&have, need)| have >= need),
            "{needed:?} virtual channels are needed"
        );
        assert!(
            params.flits(params.packet) <= u64::from(u16::MAX),
            "a packet has at most {} flits",
            u16::MAX
        );
        assert!(
            params.switching == Switching::Wormhole
                || (params.links.iter().zip(needed)).all(|(link, levels)| levels == 0 || link.buffer >= params.packet),
            "a buffer does not hold one packet"
        );
        let broadcast = params.knowledge.broadcast();
        assert!(
            broadcast.is_none_or(|b| b.interval > Time::ZERO && b.delay > Time::ZERO),
            "{broadcast:?}: both must be positive"
        );
        assert!(
            params.classes.count() == 1 || params.router == RouterModel::InputQueued,
            "only input-queued routers tell traffic classes apart"
        );
        assert!(
            params.congestion == CongestionControl::None || params.router != RouterModel::Pipelined,
            "pipelined routers know no congestion control"
        );
        Blueprint {
            numbers: VcNumbers::new(routing.topology(), all_channels(vcs, &params)),
            params,
            routing: Arc::new(routing),
            vcs,
        }
    }

    /// The routing, and with it the topology.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The idle fabric of `routers` and their nodes.
    ///
    /// # Panics
    /// If that is not all of them, and nodes are not numbered in the order of their routers.
    pub fn part(&self, routers: Range<u32>) -> Fabric {
        let params = self.params.clone();
        let topology = self.routing.topology();
        let divided = routers != (0..topology.routers());
        let nodes = topology
            .nodes_of_routers(routers.clone())
            .expect("nodes are numbered in the order of their routers");
        let links = Links::new(
            topology,
            &params,
            all_channels(self.vcs, &params),
            &self.numbers,
            routers.clone(),
            nodes.clone(),
        );
        let traffics = usize::from(params.traffics);
        let books = match params.blame {
            true => Books::new(&links, &params),
            false => Books::off(),
        };
        let fifo = params.router == RouterModel::InputQueued && params.input_queues == InputQueues::Fifo;
        let (ingress, egress) = match params.router {
            RouterModel::InputQueued => (params.router_delay, Time::ZERO),
            RouterModel::OutputQueued => (Time::ZERO, params.router_delay),
            RouterModel::Pipelined => (Time::ZERO, Time::ZERO),
        };
        let inputs = if fifo { links.buffers as usize } else { 0 };
        let n_links = links.len() as usize;
        let clocked = Clocked::new(&links, &params, &self.routing, routers.clone());
        let board = Board::new(&links, &params, &self.routing, routers.clone());
        let mut flow = Flow::new(links, books, params.router == RouterModel::Pipelined);
        if fifo && params.classes.count() > 1 {
            flow.names = crate::input_queued::PORTS_LAST;
        }
        let stream = |router| Stream::new(params.seed, u64::from(router), Purpose::Routing);
        Fabric {
            ingress,
            egress,
            spare: params.flits(params.packet) as u32,
            spans: Spans::new(self.routing.virtual_channels(), self.vcs),
            full_packet: (params.router == RouterModel::OutputQueued).then(|| params.flits(params.packet) as u32),
            flow,
            inputs: Store::filled(inputs, InBuffer::EMPTY),
            fifo,
            clocked,
            board,
            packets: Pool::new(),
            messages: Pool::new(),
            arrivals: Arrivals::new(nodes.len() as u32, divided),
            nics: Store::filled(nodes.len() * usize::from(params.classes.count()), Nic::IDLE),
            shares: Shares::new(&params.classes, n_links as u32),
            control: Control::new(&params, nodes.len()),
            random: Windowed::with(routers.clone(), stream),
            links: Store::filled(n_links, LinkStats::default()),
            nodes: Windowed::filled(nodes, NodeStats::NONE),
            traffic: Store::filled(traffics, TrafficStats::default()),
            latency: Histogram::new(traffics),
            latency_created: Histogram::new(traffics),
            series: Growing::new(),
            sampler: Sampler::default(),
            outbox: Outbox::new(),
            routing: self.routing.clone(),
            routers,
            divided,
            params,
        }
    }

    /// The idle fabric of the whole machine.
    pub fn whole(&self) -> Fabric {
        self.part(0..self.routing.topology().routers())
    }
}

/// The virtual channels of all traffic classes together.
fn all_channels(vcs: VirtualChannels, params: &NetworkParams) -> VirtualChannels {
    vcs.map(|n| {
        n.checked_mul(params.classes.count())
            .expect("a port has at most 255 virtual channels")
    })
}
