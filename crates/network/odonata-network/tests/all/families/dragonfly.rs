//! Dragonflies with one- and two-dimensional groups.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, ends, longest, walk};
use odonata_network::deadlock::{check, outcomes};
use odonata_network::routing::{
    Algorithm, Choice, Divert, Dragonfly2dRouting, DragonflyRouting, Header, Intermediate, NOWHERE, Path, Routing,
    VcRule,
};
use odonata_topology::{
    Arrangement, Dragonfly, Dragonfly2d, Dragonfly2dShape, DragonflyShape, Effect, FamilyGraph, Fault, LinkClass,
};

pub(crate) fn two_shape(groups: u32, cables: u32, bundle: u32) -> Dragonfly2dShape {
    Dragonfly2dShape {
        groups,
        rows: 2,
        columns: 3,
        column_cables: 2,
        global_ports: 2,
        cables: Some(cables),
        bundle,
        nodes: 1,
        exceptions: vec![(4, 2)],
    }
}

pub(crate) fn on_two(shape: Dragonfly2dShape, algorithm: Algorithm, intermediate: Intermediate) -> Routing {
    let dragonfly = Dragonfly2d::new(shape, Arrangement::Circulant).unwrap();
    Routing::Dragonfly2d(Dragonfly2dRouting::new(dragonfly, algorithm, intermediate, 2).unwrap())
}

/// BookSim's dragonfly: the last channel is that of the phase, and detours use any third group drawn from all.
#[test]
fn by_phase_packets_leave_on_the_channel_of_their_phase() {
    let shape = DragonflyShape {
        groups: 5,
        routers: 4,
        nodes: 1,
        global_ports: 1,
        cables: None,
    };
    for algorithm in [Algorithm::Minimal, Algorithm::Ugal] {
        let dragonfly = Dragonfly::new(shape, Arrangement::Absolute).unwrap();
        let group = |router| dragonfly.group_of(router);
        let via = Intermediate::Router;
        let on = |rule| {
            Routing::Dragonfly(DragonflyRouting::new(
                dragonfly.clone(),
                algorithm,
                via,
                Divert::Any,
                rule,
                1,
            ))
        };
        let routing = on(VcRule::Phase);
        let levels = if algorithm == Algorithm::Minimal { 2 } else { 3 };
        assert_eq!(routing.virtual_channels(), [levels, levels, levels, 0]);
        let mut left = 0;
        for source in 0..dragonfly.topology().routers() {
            for target in 0..dragonfly.topology().nodes() {
                let home = dragonfly.topology().node_router(target);
                let expected = levels - 1 - u8::from(algorithm == Algorithm::Minimal && group(source) == group(home));
                walk(&routing, &[source], target, |_, decision| {
                    if dragonfly.topology().class(decision.port) == LinkClass::Terminal {
                        left += 1;
                        assert_eq!(decision.level, expected, "{algorithm:?}, {source} to {target}");
                    }
                });
            }
        }
        assert!(left >= 20 * 20);
        if algorithm == Algorithm::Ugal {
            for (rule, drawn) in [(VcRule::Phase, 5), (VcRule::Stage, 3)] {
                let mut choice = Drawn(Vec::new());
                let mut header = Header::new(19);
                on(rule).decide(0, &mut header, &mut choice);
                assert_eq!(choice.0[0], drawn, "{rule:?}");
                // The first of all groups is the packet's own.
                assert_eq!(header.via == NOWHERE, rule == VcRule::Phase);
            }
        }
    }
}

/// Draws the first of all options, and records the number of options.
struct Drawn(Vec<u32>);

impl Choice for Drawn {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.push(n);
        0
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        true
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        true
    }
}

/// Levels of rows and columns, of global cables, and cables of the longest path.
pub(crate) const TWO: [(Algorithm, Intermediate, u8, u8, u32); 7] = [
    (Algorithm::Minimal, Intermediate::Group, 2, 1, 5),
    (Algorithm::Valiant, Intermediate::Group, 3, 2, 8),
    (Algorithm::Valiant, Intermediate::Router, 4, 2, 10),
    (Algorithm::Ugal, Intermediate::Group, 3, 2, 8),
    (Algorithm::Ugal, Intermediate::Router, 4, 2, 10),
    (Algorithm::ProgressiveAdaptive, Intermediate::Group, 4, 2, 10),
    (Algorithm::ProgressiveAdaptive, Intermediate::Router, 5, 2, 12),
];

#[test]
fn packets_of_two_dimensional_groups_arrive_within_the_stated_cables() {
    for (algorithm, intermediate, local, global, most) in TWO {
        for (groups, cables, bundle) in [(7, 2, 1), (4, 4, 2), (7, 2, 2)] {
            let routing = on_two(two_shape(groups, cables, bundle), algorithm, intermediate);
            let context = format!("{groups} {cables} {bundle} {algorithm:?} {intermediate:?}");
            assert_eq!(routing.virtual_channels(), [1, local, global, local], "{context}");
            let links = longest(&routing);
            assert!(links <= most, "{context}: {links}");
            let proof = check(&routing);
            assert_eq!(proof.cycle, None, "{context}");
            let within = proof
                .used
                .iter()
                .zip(routing.virtual_channels())
                .all(|(&used, have)| used <= have);
            assert!(within, "{context}: {:?}", proof.used);
        }
    }
}

/// With one cable per pair of groups there is one gateway, and the bounds are reached.
#[test]
fn one_cable_per_pair_of_groups_needs_all_levels() {
    for (algorithm, intermediate, local, global, most) in TWO {
        let shape = Dragonfly2dShape {
            global_ports: 1,
            ..two_shape(7, 1, 1)
        };
        let routing = on_two(shape, algorithm, intermediate);
        let context = format!("{algorithm:?} {intermediate:?}");
        assert_safe(&routing, &context);
        assert_eq!(routing.virtual_channels(), [1, local, global, local]);
        let links = longest(&routing);
        assert!(links <= most && links + 1 >= most, "{context}: {links} of {most}");
        if algorithm != Algorithm::Minimal {
            assert_cyclic_on_one_level(&routing, &context);
        }
    }
}

#[test]
fn a_single_two_dimensional_group_has_detours_over_its_routers() {
    let shape = Dragonfly2dShape {
        cables: None,
        ..two_shape(1, 0, 1)
    };
    assert_shortest(&on_two(shape.clone(), Algorithm::Minimal, Intermediate::Group));
    assert_safe(
        &on_two(shape.clone(), Algorithm::Minimal, Intermediate::Group),
        "minimal",
    );
    for algorithm in [Algorithm::Valiant, Algorithm::Ugal, Algorithm::ProgressiveAdaptive] {
        let routing = on_two(shape.clone(), algorithm, Intermediate::Group);
        assert_eq!(longest(&routing), 4, "{algorithm:?}");
        assert_safe(&routing, &format!("{algorithm:?}"));
    }
}

#[test]
fn two_dimensional_groups_avoid_failed_cables() {
    let mut dragonfly = Dragonfly2d::new(two_shape(4, 4, 2), Arrangement::Absolute).unwrap();
    let gateway = dragonfly.gateways(0, 1)[0];
    let fault = |a, b, index| Fault {
        routers: (a, b),
        index,
        effect: Effect::Failed,
    };
    dragonfly
        .impair(&[fault(gateway.router, gateway.far_router, None), fault(0, 3, Some(0))])
        .unwrap();
    for (algorithm, intermediate, ..) in TWO {
        let routing = Dragonfly2dRouting::new(dragonfly.clone(), algorithm, intermediate, 1).unwrap();
        let routing = Routing::Dragonfly2d(routing);
        longest(&routing);
        assert_eq!(check(&routing).cycle, None);
    }
}

/// As Valiant, but a packet may also stay minimal: local, global, local.
#[test]
fn ugal_on_one_dimensional_groups_decides_at_the_source_alone() {
    for (intermediate, local, most) in [(Intermediate::Group, 3, 5), (Intermediate::Router, 4, 6)] {
        for cables in [None, Some(1)] {
            let shape = DragonflyShape {
                groups: 5,
                routers: 3,
                nodes: 1,
                global_ports: 3,
                cables,
            };
            let dragonfly = Dragonfly::new(shape, Arrangement::Circulant).unwrap();
            let routing = Routing::Dragonfly(DragonflyRouting::new(
                dragonfly,
                Algorithm::Ugal,
                intermediate,
                Divert::Any,
                VcRule::Stage,
                2,
            ));
            assert_eq!(routing.virtual_channels(), [1, local, 2, 0]);
            assert!(longest(&routing) <= most);
            assert_safe(&routing, &format!("{intermediate:?} {cables:?}"));
            // After the first cable load decides nothing any more: if the packet stays minimal, a second router has one
            // outcome per gateway, and none makes it non-minimal.
            let ends = ends(routing.topology());
            for &(source, _) in &ends {
                for &(_, node) in &ends {
                    outcomes(&routing, source, Header::new(node), |decision, header| {
                        if let Some(next) = routing.topology().neighbour(decision.port) {
                            outcomes(&routing, next, header, |_, after| assert_eq!(after.via, header.via));
                        }
                    });
                }
            }
        }
    }
}
