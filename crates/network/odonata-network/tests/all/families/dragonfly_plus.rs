//! Dragonfly+.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, longest};
use odonata_network::deadlock::check;
use odonata_network::routing::{DragonflyPlusAlgorithm, DragonflyPlusRouting, Routing};
use odonata_topology::{Arrangement, DragonflyPlus, DragonflyPlusShape};

pub(crate) fn plus_shape(groups: u32) -> DragonflyPlusShape {
    DragonflyPlusShape {
        groups,
        leaves: 2,
        spines: 2,
        nodes: 1,
        local_cables: 1,
        global_ports: 2,
        cables: None,
    }
}

pub(crate) fn on_plus(shape: DragonflyPlusShape, algorithm: DragonflyPlusAlgorithm) -> Routing {
    let plus = DragonflyPlus::new(shape, Arrangement::Absolute).unwrap();
    Routing::DragonflyPlus(DragonflyPlusRouting::new(plus, algorithm, 2).unwrap())
}

pub(crate) const PLUS: [DragonflyPlusAlgorithm; 4] = [
    DragonflyPlusAlgorithm::Minimal,
    DragonflyPlusAlgorithm::Valiant,
    DragonflyPlusAlgorithm::Ugal,
    DragonflyPlusAlgorithm::ProgressiveAdaptive,
];

#[test]
fn dragonfly_plus_packets_arrive_within_three_or_six_cables() {
    for groups in [1, 2, 3, 5] {
        for algorithm in PLUS {
            let wide = DragonflyPlusShape {
                local_cables: 2,
                ..plus_shape(groups)
            };
            for shape in [plus_shape(groups), wide] {
                let routing = on_plus(shape, algorithm);
                let context = format!("{shape:?} {algorithm:?}");
                let minimal = algorithm == DragonflyPlusAlgorithm::Minimal || groups < 3;
                if minimal {
                    assert_shortest(&routing);
                }
                let most = match groups {
                    1 => 2,
                    2 => 3,
                    _ if minimal => 3,
                    // Two cables per pair of groups: every spine has one to every group.
                    3 => 4,
                    _ => 6,
                };
                assert_eq!(longest(&routing), most, "{context}");
                // With every spine linked to every group no packet goes down in between.
                if groups == 3 && !minimal {
                    assert_eq!(check(&routing).cycle, None);
                } else {
                    assert_safe(&routing, &context);
                }
            }
        }
    }
    assert_cyclic_on_one_level(&on_plus(plus_shape(5), DragonflyPlusAlgorithm::Valiant), "Valiant");
}
