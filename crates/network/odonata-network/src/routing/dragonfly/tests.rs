//! Tests of routing on a dragonfly.

use super::*;

/// A minimal path has a local, a global and a local cable at most; an adaptive packet chooses before its first global
/// cable and never after.
#[test]
fn steps_are_fixed_on_minimal_paths_and_after_the_choice() {
    let shape = odonata_topology::DragonflyShape {
        groups: 5,
        routers: 4,
        nodes: 2,
        global_ports: 1,
        cables: None,
    };
    let graph = Dragonfly::new(shape, odonata_topology::Arrangement::Relative).unwrap();
    let routing = |algorithm| {
        let (via, divert, rule) = (Intermediate::Group, Divert::Any, VcRule::Stage);
        DragonflyRouting::new(graph.clone(), algorithm, via, divert, rule, 1)
    };
    let (minimal, adaptive) = (routing(Algorithm::Minimal), routing(Algorithm::ProgressiveAdaptive));
    let topology = graph.topology();
    for source in 0..topology.routers() {
        for target in 0..topology.nodes() {
            let (home, mut header, mut at) = (topology.node_router(target), Header::new(target), source);
            let mut cables = Vec::new();
            loop {
                let is_open = header.level == 0 && graph.group_of(at) != graph.group_of(home);
                let mut copy = header;
                let adaptive = adaptive.fixed_step(at, &mut copy);
                let step = minimal.fixed_step(at, &mut header).expect("one cable between groups");
                assert_eq!(adaptive.is_none(), is_open, "{source} {target} at {at}");
                assert!(adaptive.is_none_or(|other| other.port == step.port && copy == header));
                match topology.peer(step.port) {
                    Peer::Router { router, .. } => at = router,
                    peer => break assert_eq!((peer, at), (Peer::Node(target), home)),
                }
                cables.push(topology.class(step.port));
            }
            let globals = cables.iter().filter(|&&class| class == LinkClass::Global).count();
            let others = usize::from(graph.group_of(source) != graph.group_of(home));
            assert_eq!(globals, others, "{source} {target}");
            assert!(cables.len() <= 1 + 2 * others, "{source} {target}: {cables:?}");
        }
    }
}

/// Answers from numbers that depend on nothing but their order; loads are those of the ports, modulo a prime.
struct Drawn(odonata_units::SplitMix64);

impl Choice for Drawn {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }
    fn lighter(&mut self, a: u32, b: u32) -> bool {
        a * 5 % 7 < b * 5 % 7
    }
    fn divert(&mut self, minimal: Path, other: Path) -> bool {
        (minimal.hops, other.hops) == (3, 5) && self.lighter(other.port, minimal.port)
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        true
    }
}

/// The table of only cables is a shortcut: without it, all decisions are the same.
#[test]
fn decisions_do_not_depend_on_the_table_of_only_cables() {
    let shape = odonata_topology::DragonflyShape {
        groups: 9,
        routers: 4,
        nodes: 2,
        global_ports: 2,
        cables: None,
    };
    let graph = Dragonfly::new(shape, odonata_topology::Arrangement::Relative).unwrap();
    let topology = graph.topology();
    let mut detours = 0;
    for algorithm in [
        Algorithm::Minimal,
        Algorithm::Valiant,
        Algorithm::Ugal,
        Algorithm::ProgressiveAdaptive,
    ] {
        let routing = || {
            let (via, divert, rule) = (Intermediate::Group, Divert::Any, VcRule::Stage);
            DragonflyRouting::new(graph.clone(), algorithm, via, divert, rule, 2)
        };
        let (tabled, mut searching) = (routing(), routing());
        searching.only_cables.clear();
        assert!(tabled.only_cables.ports(&graph, 0, 0).is_some());
        assert!(searching.only_cables.ports(&graph, 0, 0).is_none());
        let decide = |routing: &DragonflyRouting, router, mut header, choice: &mut Drawn| {
            let step = routing.fixed_step(router, &mut header);
            (
                step.unwrap_or_else(|| routing.decide(router, &mut header, choice)),
                header,
            )
        };
        for (source, target) in (0..topology.routers()).flat_map(|r| (0..topology.nodes()).map(move |n| (r, n))) {
            let seed = u64::from(source * topology.nodes() + target);
            let [mut a, mut b] = [0, 1].map(|_| Drawn(odonata_units::SplitMix64(seed)));
            let (mut at, mut header) = (source, Header::new(target));
            while at != topology.node_router(target) {
                let (decision, next) = decide(&tabled, at, header, &mut a);
                assert_eq!(
                    (decision, next),
                    decide(&searching, at, header, &mut b),
                    "{source} {target} at {at}"
                );
                header = next;
                at = topology.neighbour(decision.port).expect("a cable between routers");
            }
            detours += u32::from(header.via != NOWHERE);
        }
    }
    assert!(detours > 0);
}
