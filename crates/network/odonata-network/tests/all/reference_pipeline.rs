//! The event-driven pipelined router compared with routers simulated cycle by cycle and flit by flit.

use crate::common;
use crate::common::{CYCLE, FLIT, Net, Play, Scripted, finish, link, links, message, named, pipeline, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::routing::{
    FatTreeRouting, HyperXAlgorithm, HyperXRouting, Routing, TorusAlgorithm, TorusRouting, Up,
};
use odonata_network::{
    AdaptiveRequests, Allocator, Arbitration, Blueprint, InjectionVc, InputQueues, NetworkParams, Pipeline,
    RouterModel, Switching, VirtualChannels,
};
use odonata_topology::{FatTree, FatTreeShape, HyperX, HyperXShape, Torus, TorusShape};
use std::ops::Range;

/// A case: a network, its parameters and its messages.
struct Case {
    routing: fn() -> Routing,
    params: NetworkParams,
    vcs: VirtualChannels,
    script: Vec<Scripted>,
}

/// Checks that every message arrives in the same cycle as in the reference.
fn assert_equal(case: Case, context: &str) -> Vec<u64> {
    let Case {
        routing,
        params,
        vcs,
        script,
    } = case;
    let context = || {
        format!(
            "{context}: {:?} {:?} {:?} {vcs:?}",
            params.pipeline, params.switching, params.links
        )
    };
    let most = 200_000;
    let expected = pipeline::arrivals(&params, &routing(), vcs, &script, most);
    let expected: Vec<u64> = (expected.iter().copied())
        .map(|at| at.unwrap_or_else(|| panic!("{}: not over after {most} cycles", context())))
        .collect();
    let fabric = Blueprint::new(params.clone(), routing(), vcs).whole();
    let mut model = finish(Play::on(fabric, script.clone()));
    model.assert_complete(&context());
    let wrong: Vec<_> = (0..script.len())
        .filter(|&i| model.arrival(i).0 != expected[i] * CYCLE.0)
        .map(|i| (expected[i], model.arrival(i).0 as f64 / CYCLE.0 as f64, script[i]))
        .collect();
    assert!(
        wrong.is_empty(),
        "{}: {} of {} differ, first (reference, fabric) {:?}",
        context(),
        wrong.len(),
        script.len(),
        wrong.iter().min_by_key(|wrong| wrong.0)
    );
    expected
}

fn torus(extents: &[u32], wrap: bool, nodes: u32, algorithm: TorusAlgorithm) -> Routing {
    let extents = extents.to_vec();
    let torus = Torus::new(TorusShape { extents, wrap, nodes }).unwrap();
    Routing::Torus(TorusRouting::new(torus, algorithm).unwrap())
}

fn tree(shape: FatTreeShape) -> Routing {
    Routing::FatTree(FatTreeRouting::new(FatTree::new(shape).unwrap(), Up::DModK).unwrap())
}

fn dragonfly(groups: u32, routers: u32, nodes: u32, global_ports: u32) -> Routing {
    Net::round(shape(groups, routers, nodes, global_ports)).routing()
}

/// A network by its name.
type Named = (&'static str, fn() -> Routing);

/// Networks without random paths: without ties, and with one cable between groups.
const NETWORKS: [Named; 12] = [
    ("one router", || dragonfly(1, 1, 5, 0)),
    ("a group", || dragonfly(1, 4, 2, 0)),
    ("3 groups", || dragonfly(3, 2, 2, 1)),
    ("5 groups", || dragonfly(5, 2, 2, 2)),
    ("mesh", || torus(&[3, 4], false, 1, TorusAlgorithm::DimensionOrder)),
    ("line", || torus(&[6], false, 2, TorusAlgorithm::DimensionOrder)),
    ("ring", || torus(&[5], true, 2, TorusAlgorithm::DimensionOrder)),
    ("torus", || torus(&[3, 5], true, 1, TorusAlgorithm::DimensionOrder)),
    ("tree", || tree(FatTreeShape::k_ary(2, 3))),
    ("slim tree", || {
        tree(FatTreeShape {
            down: vec![2, 3, 2],
            up: vec![1, 2, 1],
            parallel: vec![1, 1, 1],
        })
    }),
    ("hyperx", || {
        let shape = HyperXShape {
            extents: vec![3, 3],
            cables: vec![1, 1],
            nodes: 1,
        };
        Routing::HyperX(HyperXRouting::new(HyperX::new(shape).unwrap(), HyperXAlgorithm::Minimal, 1).unwrap())
    }),
    ("adaptive mesh", || {
        torus(&[3, 3], false, 1, TorusAlgorithm::MinimalAdaptive)
    }),
];

/// Rings that a packet enters only with room for one more packet.
const BUBBLES: [Named; 2] = [
    ("bubble ring", || torus(&[5], true, 2, TorusAlgorithm::Bubble)),
    ("bubble torus", || torus(&[3, 3], true, 1, TorusAlgorithm::Bubble)),
];

const ADAPTIVE: Named = ("adaptive torus", || {
    torus(&[4, 3], true, 1, TorusAlgorithm::MinimalAdaptive)
});

const SWITCHINGS: [Switching; 3] = [Switching::Wormhole, Switching::CutThrough, Switching::StoreAndForward];

/// Draws cases.
struct Author(Stream);

impl Author {
    fn new(seed: u64) -> Author {
        Author(Stream::new(seed, 1, Purpose::Host))
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u32) as usize]
    }

    /// A number in `from..=to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + u64::from(self.0.below((to - from + 1) as u32))
    }

    fn pipeline(&mut self) -> Pipeline {
        let stage = [1, 1, 1, 2, 3];
        Pipeline {
            routing: self.one_of(&[0, 0, 1, 2]),
            vc_allocation: self.one_of(&stage),
            switch_allocation: self.one_of(&stage),
            crossbar: self.one_of(&stage),
            input_speedup: self.one_of(&[1, 1, 2]),
            internal_speedup: self.one_of(&[1.0, 1.0, 1.5, 2.0]),
            allocator: self.one_of(&[Allocator::InputFirst, Allocator::OutputFirst]),
            iterations: self.one_of(&[1, 1, 2, 3]),
            busy_when_full: self.one_of(&[false, true]),
            adaptive_requests: self.one_of(&[AdaptiveRequests::All, AdaptiveRequests::First]),
            injection_vc: self.one_of(&[InjectionVc::InTurn, InjectionVc::Random]),
        }
    }

    fn case(&mut self, routing: fn() -> Routing, switching: Switching) -> Case {
        let mut params = Net::round(shape(1, 1, 1, 0)).params;
        (params.router, params.input_queues) = (RouterModel::Pipelined, InputQueues::VirtualOutput);
        (params.blame, params.switching, params.pipeline) = (false, switching, self.pipeline());
        params.arbitration = self.one_of(&common::ARBITRATIONS);
        let largest = self.one_of(&[1, 3, 6]);
        params.packet = largest * FLIT;
        // A ring with bubble flow control has room for two packets.
        let bubble = matches!(routing(), Routing::Torus(torus) if torus.torus().shape().wrap);
        let least = match switching {
            Switching::Wormhole => 1,
            _ => largest * (1 + u64::from(bubble)),
        };
        let mut one = |most_latency: u64| {
            let buffer = least + self.one_of(&[0, 1, 3, 12]);
            let latency = self.between(0, most_latency);
            link(self.one_of(&[1, 1, 2, 3]), latency, buffer, self.between(0, 6))
        };
        params.links = links([one(3), one(6), one(15)]);
        let mut vcs = routing().virtual_channels();
        for vc in vcs.iter_mut().filter(|vc| **vc > 0) {
            *vc += self.one_of(&[0, 0, 1, 2]);
        }
        let nodes = routing().topology().nodes();
        let n = self.between(10, 150);
        let span = self.one_of(&[5, 100, 1_000]);
        let script = (0..n).map(|_| {
            let source = self.0.below(nodes);
            let target = if self.0.below(4) == 0 { 0 } else { self.0.below(nodes) };
            let at = Time(CYCLE.0 * self.between(1, span));
            let bytes = self.one_of(&[0, 1, FLIT, FLIT, 2 * FLIT, 5 * FLIT + 3, 13 * FLIT]);
            message(at, source, target, bytes)
        });
        let script = named(script.collect());
        Case {
            routing,
            params,
            vcs,
            script,
        }
    }
}

fn compare(networks: &[Named], switchings: &[Switching], cases: Range<u64>) {
    for (place, &(name, routing)) in (0..).zip(networks) {
        for seed in cases.clone() {
            let mut author = Author::new(1_000 * place + seed);
            let switching = author.one_of(switchings);
            assert_equal(author.case(routing, switching), &format!("{name}, seed {seed}"));
        }
    }
}

#[test]
fn random_messages_on_random_networks_take_the_same_cycles() {
    compare(&NETWORKS, &SWITCHINGS, 0..15);
}

#[test]
#[ignore = "takes long"]
fn many_random_messages_on_random_networks_take_the_same_cycles() {
    compare(&NETWORKS, &SWITCHINGS, 15..100);
}

#[test]
fn rings_with_bubble_flow_control_take_the_same_cycles() {
    compare(&BUBBLES, &SWITCHINGS[1..], 0..80);
}

#[test]
fn packets_routed_again_in_every_step_take_the_same_cycles() {
    compare(&[ADAPTIVE], &SWITCHINGS, 0..150);
}

/// The settings of most simulations, with two and more steps per cycle, and short packets: flits without competition
/// pass without being queued.
#[test]
fn flits_that_pass_take_the_same_cycles() {
    compare_flits_that_pass(0..15);
}

#[test]
#[ignore = "takes long"]
fn many_flits_that_pass_take_the_same_cycles() {
    compare_flits_that_pass(15..40);
}

fn compare_flits_that_pass(cases: Range<u64>) {
    for (place, &(name, routing)) in (0..).zip(&NETWORKS) {
        for seed in cases.clone() {
            let mut author = Author::new(100_000 + 1_000 * place + seed);
            let switching = author.one_of(&SWITCHINGS[..2]);
            let mut case = author.case(routing, switching);
            case.params.arbitration = Arbitration::RoundRobin;
            // Buffers hold the drawn packets.
            case.params.packet = case.params.packet.min(author.one_of(&[1, 1, 2]) * FLIT);
            case.params.pipeline = Pipeline {
                routing: 0,
                vc_allocation: 1,
                input_speedup: 1,
                internal_speedup: author.one_of(&[1.5, 2.0, 2.0, 3.0]),
                allocator: Allocator::InputFirst,
                iterations: 1,
                ..case.params.pipeline
            };
            assert_equal(case, &format!("{name}, seed {seed}"));
        }
    }
}
