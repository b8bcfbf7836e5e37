//! Construction of fabrics: the data that all parts of a machine share.

use super::variant::smallest_variant;
use super::{Fabric, Setup, Shared, has_fifos};
use crate::Payload;
use crate::analytic::Analytic;
use crate::boundary::Boundary;
use crate::carrier::{Carriers, Packets};
use crate::control::{ClassScheduler, Congestion};
use crate::ethernet::EthernetCarrier;
use crate::features::Variant;
use crate::flow::{Coupling, Flow, Links, OutPort, VcNumbers, VcRanges};
use crate::fluid::Fluid;
use crate::nic::exchanges::Exchanges;
use crate::nic::{Nics, send_queues};
use crate::observe::Observers;
use crate::params::{NetworkParams, VirtualChannels};
use crate::reduction::{Reduction, ReductionParams};
use crate::remote_congestion::RemoteCongestion;
use crate::route_computation::RouteComputation;
use crate::router::AnyRouter;
use crate::router::input_queued::{PORTS_LAST, heads_first};
use crate::routing::Routing;
use crate::settings::{Queues as MessageQueues, RouterModel, Switching};
use odonata_engine::{Plain, Pool, Time};
use std::ops::Range;
use std::sync::Arc;

/// The shared data of all parts of a fabric.
#[derive(Clone, Debug)]
pub struct Blueprint {
    params: NetworkParams,
    routing: Arc<Routing>,
    /// Per traffic class.
    vcs: VirtualChannels,
    numbers: VcNumbers,
}

impl Blueprint {
    /// `vcs` are the virtual channels per link class, at least as many as the routing needs; each traffic class gets as
    /// many.
    ///
    /// # Panics
    /// - `vcs` are too few, or more than 255 in total.
    /// - A packet has more flits than a credit counts, or a buffer cannot hold one.
    /// - There are several traffic classes with output-queued routers.
    /// - NICs have a queue per output with routers that are pipelined or have FIFOs.
    /// - Routers would publish their loads without delay.
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
                || (params.links.iter().zip(needed))
                    .all(|(link, levels)| levels == 0 || link.buffer.0 >= params.packet),
            "a buffer does not hold one packet"
        );
        let broadcast = params.knowledge.broadcast();
        assert!(
            broadcast.is_none_or(|b| b.interval > Time::ZERO && b.delay > Time::ZERO),
            "{broadcast:?}: both must be positive"
        );
        assert!(
            params.classes.count() == 1 || params.router != RouterModel::OutputQueued,
            "output-queued routers do not tell traffic classes apart"
        );
        let several = params.nic.send_queues.are_several();
        assert!(
            !several || (params.router != RouterModel::Pipelined && !has_fifos(&params)),
            "a queue for each output needs routers in which packets wait for their outputs alone"
        );
        Blueprint {
            numbers: VcNumbers::new(routing.topology(), all_channels(vcs, &params)),
            params,
            routing: Arc::new(routing),
            vcs,
        }
    }

    /// Adds sums in routers.
    ///
    /// # Panics
    /// Routers are not input-queued, or there are several traffic classes.
    #[must_use]
    pub fn with_reduction(mut self, reduction: ReductionParams) -> Blueprint {
        let fits = self.params.router == RouterModel::InputQueued && self.params.classes.count() == 1;
        assert!(fits, "only input-queued routers with one traffic class sum");
        self.params.reduction = Some(reduction);
        self
    }

    /// The routing, which holds the topology.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The idle fabric of `routers` and their nodes.
    ///
    /// # Panics
    /// `routers` are a part of the machine, and nodes are not numbered in the order of their routers.
    pub fn part<P: Payload>(&self, routers: Range<u32>) -> Fabric<P> {
        let params = self.params.clone();
        let topology = self.routing.topology();
        let divided = routers != (0..topology.routers());
        let nodes = topology
            .nodes_of_routers(routers.clone())
            .expect("nodes are numbered in the order of their routers");
        let queues = send_queues::count(&params, topology, self.vcs);
        let links = Links::new(
            topology,
            &params,
            (all_channels(self.vcs, &params), queues),
            &self.numbers,
            routers.clone(),
            nodes.clone(),
        );
        let first_wake_up_id = match has_fifos(&params) && heads_first(&params) {
            true => PORTS_LAST,
            false => 0,
        };
        let vcs = VcRanges::new(self.routing.virtual_channels(), self.vcs, params.classes.count());
        let takes_any = params.takes_any_channel(&vcs);
        // With wormhole switching a flit needs only its own room.
        let room = match (params.router, params.switching) {
            (RouterModel::Pipelined, Switching::Wormhole) => 1,
            _ => params.flits(params.packet) as u32,
        };
        let n_links = links.len();
        // Every packet waits for room in one channel, and every channel has its bit.
        let own_channel_alone = params.router == RouterModel::InputQueued
            && self.routing.waits_for_room()
            && !takes_any
            && all_channels(self.vcs, &params).iter().all(|&n| n <= OutPort::MASKED);
        let observers = Observers::new(&params, &links, &vcs, nodes.clone());
        // First-come arbitration chooses among several channels by the credits counted so far, and instruments may
        // ask whether packets wait when a credit is counted.
        let counts_early = own_channel_alone && !vcs.are_several() && !observers.follow_owners::<Plain>();
        let coupling = Coupling::new(&params, &links, routers.clone());
        let mut fabric = Fabric {
            carriers: Carriers {
                packets: Packets {
                    nics: Nics::new(
                        nodes.len(),
                        (params.classes.count(), queues),
                        params.nic.queues == MessageQueues::PerPeer,
                    ),
                    router: AnyRouter::new(&params, &links, &self.routing, routers.clone()),
                },
                analytic: Analytic::new(params.analytic, nodes.len()),
                fluid: Fluid::new(&params, &self.routing, queues, routers.start == 0),
                ethernet: EthernetCarrier::new(&params, topology, routers.clone(), nodes.clone()),
                reduction: Reduction::new(params.reduction.as_ref(), &routers, n_links),
            },
            shared: Shared {
                remote: RemoteCongestion::new(&links, &params, &self.routing, routers.clone()),
                packets: Pool::new(),
                messages: Pool::new(),
                routes: RouteComputation::new(self.routing.clone(), routers.clone(), params.seed),
                classes: ClassScheduler::new(&params.classes, n_links),
                congestion: Congestion::new(&params, nodes.len(), queues),
                exchanges: Exchanges::new(nodes.len(), params.nic.one_way_above.map(|bytes| bytes.0)),
                boundary: Boundary::new(nodes.len() as u32, divided),
                flow: Flow::new(
                    links,
                    observers,
                    coupling,
                    params.router == RouterModel::Pipelined,
                    (takes_any.then(|| vcs.clone()), room),
                    first_wake_up_id,
                    (own_channel_alone, counts_early),
                ),
                setup: Setup::new(params, routers, vcs),
            },
            variant: Variant::Everything,
        };
        fabric.variant = smallest_variant(&fabric.carriers, &fabric.shared);
        fabric
    }

    /// The idle fabric of the whole machine.
    pub fn whole<P: Payload>(&self) -> Fabric<P> {
        self.part(0..self.routing.topology().routers())
    }
}

/// The virtual channels of all traffic classes.
fn all_channels(vcs: VirtualChannels, params: &NetworkParams) -> VirtualChannels {
    vcs.map(|n| {
        n.checked_mul(params.classes.count())
            .expect("a port has at most 255 virtual channels")
    })
}
