//! Shared test code: networks with round numbers, scripted messages, a model that records their arrivals, and a slow
//! reference.

pub(crate) mod cycle;
pub(crate) mod divided;
pub(crate) mod pipeline;
mod play;

pub(crate) use divided::*;
pub(crate) use play::*;

use odonata_engine::Time;
use odonata_network::routing::{Algorithm, Divert, DragonflyRouting, InGroup, Intermediate, Routing, VcRule};
use odonata_network::{
    Arbitration, Blueprint, Detour, InputQueues, Link, NetworkParams, Nic, Pipeline, RouterModel, Switching,
    VirtualChannels,
};
use odonata_topology::{Arrangement, Dragonfly, DragonflyShape, LinkClass};
use odonata_units::{Bandwidth, Bytes};

/// A network to build.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub(crate) shape: DragonflyShape,
    pub(crate) arrangement: Arrangement,
    pub(crate) algorithm: Algorithm,
    pub(crate) intermediate: Intermediate,
    pub(crate) divert: Divert,
    pub(crate) in_group: InGroup,
    pub(crate) rule: VcRule,
    pub(crate) candidates: u32,
    pub(crate) params: NetworkParams,
}

pub(crate) fn shape(groups: u32, routers: u32, nodes: u32, global_ports: u32) -> DragonflyShape {
    DragonflyShape {
        groups,
        routers,
        nodes,
        global_ports,
        cables: None,
    }
}

/// One clock cycle of the networks with round numbers.
pub(crate) const CYCLE: Time = Time::from_ns(1);
/// Flit size of the networks with round numbers, bytes.
pub(crate) const FLIT: u64 = 16;

/// Parameters of terminal, local and global links that send one flit in `cycles_per_flit` cycles; columns are as local
/// links.
pub(crate) fn links([terminal, local, global]: [Link; 3]) -> [Link; LinkClass::COUNT] {
    [terminal, local, global, local]
}

pub(crate) fn link(cycles_per_flit: u64, latency: u64, buffer_flits: u64, credit_delay: u64) -> Link {
    Link::new(
        Bandwidth(FLIT as f64 * 1e9 / cycles_per_flit as f64),
        Time(latency * CYCLE.0),
        Bytes(buffer_flits * FLIT),
        Time(credit_delay * CYCLE.0),
    )
}

impl Net {
    /// A network whose every duration is a whole number of cycles: minimal routing, input-queued routers
    /// with virtual output queues, virtual cut-through, packets of up to 8 flits.
    pub(crate) fn round(shape: DragonflyShape) -> Net {
        Net {
            shape,
            arrangement: Arrangement::Relative,
            algorithm: Algorithm::Minimal,
            intermediate: Intermediate::Group,
            divert: Divert::Any,
            in_group: InGroup::Minimal,
            rule: VcRule::Stage,
            candidates: 1,
            params: NetworkParams {
                packet: 8 * FLIT,
                header: 0,
                flit: FLIT,
                switching: Switching::CutThrough,
                router: RouterModel::InputQueued,
                input_queues: InputQueues::VirtualOutput,
                arbitration: Arbitration::RoundRobin,
                router_delay: Time(3 * CYCLE.0),
                pipeline: Pipeline::default(),
                clock: CYCLE,
                links: [
                    link(1, 2, 32, 1),
                    link(1, 5, 32, 2),
                    link(1, 20, 64, 4),
                    link(1, 5, 32, 2),
                ],
                detour: Detour::default(),
                knowledge: odonata_network::Knowledge::Local,
                nic: Nic::default(),
                nic_rates: None,
                analytic: None,
                ethernet: None,
                fidelities: odonata_network::Fidelities::Same(odonata_network::settings::Fidelity::Packet),
                coupling_interval: None,
                reduction: None,
                classes: odonata_network::TrafficClasses::default(),
                congestion: odonata_network::CongestionControl::default(),
                traffics: 1,
                series: None,
                blame: true,
                blame_sampling: 1,
                lost_time: false,
                lost_places: false,
                seed: 1,
            },
        }
    }

    /// The dragonfly of the stored MFNetSim runs: 33 groups of 8 routers with 4 nodes and 4 global ports,
    /// output-queued routers, store and forward, four virtual channels.
    pub(crate) fn codes() -> Net {
        let gib = (1u64 << 30) as f64;
        // A cable's delay is that of one full packet at its own bandwidth; a credit is 8 bytes on a local link.
        let link = |gib_per_s: f64, packets: u64| {
            Link::new(
                Bandwidth(gib_per_s * gib),
                Time::from_seconds(4096.0 / (gib_per_s * gib)),
                Bytes(packets * 4096),
                Time::from_seconds(8.0 / (5.25 * gib)),
            )
        };
        Net {
            shape: shape(33, 8, 4, 4),
            rule: VcRule::Codes,
            params: NetworkParams {
                packet: 4096,
                flit: 4096,
                switching: Switching::StoreAndForward,
                router: RouterModel::OutputQueued,
                arbitration: Arbitration::FirstCome,
                router_delay: Time::from_ns(100),
                links: links([link(16.0, 8), link(5.25, 4), link(4.7, 4)]),
                ..Net::round(shape(1, 1, 1, 0)).params
            },
            ..Net::round(shape(1, 1, 1, 0))
        }
    }

    /// Sets the routing.
    pub(crate) fn routed(mut self, algorithm: Algorithm, intermediate: Intermediate) -> Net {
        (self.algorithm, self.intermediate) = (algorithm, intermediate);
        self
    }

    /// Sets the router model.
    pub(crate) fn with(mut self, router: Router) -> Net {
        (self.params.router, self.params.input_queues) = router;
        self
    }

    /// Sets buffers of one full packet per virtual channel on every link.
    pub(crate) fn smallest_buffers(mut self) -> Net {
        self.params
            .links
            .iter_mut()
            .for_each(|link| link.buffer = Bytes(self.params.packet).into());
        self
    }

    pub(crate) fn dragonfly(&self) -> Dragonfly {
        Dragonfly::new(self.shape, self.arrangement).unwrap()
    }

    pub(crate) fn routing(&self) -> Routing {
        let (algorithm, intermediate) = (self.algorithm, self.intermediate);
        let routing = DragonflyRouting::new(
            self.dragonfly(),
            algorithm,
            intermediate,
            self.divert,
            self.rule,
            self.candidates,
        );
        Routing::Dragonfly(routing.with_paths_in_group(self.in_group))
    }

    pub(crate) fn vcs(&self) -> VirtualChannels {
        self.routing().virtual_channels()
    }

    /// The data shared by all parts of the fabric.
    pub(crate) fn blueprint(&self) -> Blueprint {
        Blueprint::new(self.params.clone(), self.routing(), self.vcs())
    }

    /// The fabric; packets divert where the minimal port has more than twice the other's load.
    pub(crate) fn fabric(&self) -> Fabric {
        self.blueprint().whole()
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.shape.groups * self.shape.routers * self.shape.nodes
    }

    pub(crate) fn group_of(&self, node: u32) -> u32 {
        node / (self.shape.nodes * self.shape.routers)
    }
}

/// All routings, with the most routers that a packet may visit: one more than the links of the longest path (local,
/// global, local; through a group also intermediate local, global; and so on).
pub(crate) const ROUTINGS: [(Algorithm, Intermediate, u64); 5] = [
    (Algorithm::Minimal, Intermediate::Group, 4),
    (Algorithm::Valiant, Intermediate::Group, 6),
    (Algorithm::Valiant, Intermediate::Router, 7),
    (Algorithm::ProgressiveAdaptive, Intermediate::Group, 7),
    (Algorithm::ProgressiveAdaptive, Intermediate::Router, 8),
];

/// Selects every `step`-th case, starting with the first. A step of 2 or 3 through the products of the lists here
/// reaches every value of every list.
pub(crate) fn sample(step: usize) -> impl FnMut() -> bool {
    let mut cases = (0..step).cycle();
    move || cases.next() == Some(0)
}

/// Where packets wait in a router, and which of them compete.
pub(crate) type Router = (RouterModel, InputQueues);

pub(crate) const INPUT_QUEUES: [InputQueues; 2] = [InputQueues::VirtualOutput, InputQueues::Fifo];

/// All routers. Output-queued ones have no input queues: both values mean the same.
pub(crate) const ROUTERS: [Router; 3] = [
    (RouterModel::InputQueued, InputQueues::VirtualOutput),
    (RouterModel::InputQueued, InputQueues::Fifo),
    (RouterModel::OutputQueued, InputQueues::VirtualOutput),
];

pub(crate) const ARBITRATIONS: [Arbitration; 4] = [
    Arbitration::RoundRobin,
    Arbitration::Age,
    Arbitration::FirstCome,
    Arbitration::LowestFirst,
];

pub(crate) const SWITCHINGS: [Switching; 2] = [Switching::CutThrough, Switching::StoreAndForward];

/// Sizes around the limits of flits and packets, empty ones included.
pub(crate) const SIZES: [u64; 9] = [
    0,
    1,
    FLIT - 1,
    FLIT,
    FLIT + 1,
    8 * FLIT - 1,
    8 * FLIT,
    8 * FLIT + 1,
    100 * FLIT + 3,
];

/// Every routing on all routers with both switching modes, with generous and with minimal buffers.
pub(crate) fn every_fabric(mut test: impl FnMut(&Net, u64, &str)) {
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for (algorithm, intermediate, routers) in ROUTINGS {
                let mut net = Net::round(shape(5, 4, 2, 2))
                    .routed(algorithm, intermediate)
                    .with(router);
                (net.params.switching, net.candidates) = (switching, 2);
                let context = format!("{router:?} {switching:?} {algorithm:?} {intermediate:?}");
                test(&net, routers, &context);
                test(
                    &net.smallest_buffers(),
                    routers,
                    &format!("{context}, smallest buffers"),
                );
            }
        }
    }
}
