//! Slim Fly.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, longest};
use odonata_network::routing::{DiameterTwoAlgorithm, Routing, SlimFlyRouting};
use odonata_topology::{SlimFly, SlimFlyShape};

#[test]
fn slim_fly_packets_arrive_within_two_or_four_cables() {
    for q in [3, 4, 5] {
        for (algorithm, most) in [
            (DiameterTwoAlgorithm::Minimal, 2),
            (DiameterTwoAlgorithm::Valiant, 4),
            (DiameterTwoAlgorithm::Ugal, 4),
        ] {
            let fly = SlimFly::new(SlimFlyShape { q, nodes: Some(1) }).unwrap();
            let routing = Routing::SlimFly(SlimFlyRouting::new(fly, algorithm, 2).unwrap());
            let context = format!("q = {q} {algorithm:?}");
            assert_eq!(routing.virtual_channels(), [1, most, most, 0]);
            if algorithm == DiameterTwoAlgorithm::Minimal {
                assert_shortest(&routing);
            }
            assert_safe(&routing, &context);
            if q < 5 {
                assert_eq!(longest(&routing), u32::from(most), "{context}");
                assert_cyclic_on_one_level(&routing, &context);
            }
        }
    }
}
