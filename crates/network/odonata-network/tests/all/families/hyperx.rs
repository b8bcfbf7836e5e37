//! HyperX.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, longest};
use odonata_network::routing::{HyperXAlgorithm, HyperXRouting, Routing};
use odonata_topology::{Effect, FamilyGraph, Fault, HyperX, HyperXShape};

pub(crate) fn hyperx(extents: &[u32], cables: &[u32]) -> HyperX {
    let shape = HyperXShape {
        extents: extents.to_vec(),
        cables: cables.to_vec(),
        nodes: 2,
    };
    HyperX::new(shape).unwrap()
}

pub(crate) fn on_hyperx(hyperx: HyperX, algorithm: HyperXAlgorithm) -> Routing {
    Routing::HyperX(HyperXRouting::new(hyperx, algorithm, 2).unwrap())
}

#[test]
fn hyperx_packets_arrive_within_one_or_two_cables_per_dimension() {
    for (extents, cables) in [
        (vec![4, 4], vec![1, 1]),
        (vec![3, 3, 3], vec![1, 2, 1]),
        (vec![5], vec![2]),
    ] {
        let x = hyperx(&extents, &cables);
        let dimensions = x.grid().dimensions();
        assert_shortest(&on_hyperx(x.clone(), HyperXAlgorithm::Minimal));
        for (algorithm, most, levels) in [
            (HyperXAlgorithm::Minimal, dimensions, 1),
            (HyperXAlgorithm::Valiant, 2 * dimensions, 2),
            (HyperXAlgorithm::Ugal, 2 * dimensions, 2),
            (HyperXAlgorithm::Dal, 2 * dimensions, 2),
        ] {
            let routing = on_hyperx(x.clone(), algorithm);
            let context = format!("{extents:?} {algorithm:?}");
            assert_eq!(longest(&routing), most, "{context}");
            let global = if dimensions > 1 { levels } else { 0 };
            assert_eq!(routing.virtual_channels(), [1, levels, global, 0]);
            assert_safe(&routing, &context);
        }
    }
    let valiant = on_hyperx(hyperx(&[3, 3], &[1, 1]), HyperXAlgorithm::Valiant);
    assert_cyclic_on_one_level(&valiant, "Valiant without phases");
}

/// A third of the cables of a pair is enough.
#[test]
fn hyperx_packets_avoid_failed_cables() {
    let mut x = hyperx(&[3, 3], &[3, 1]);
    let fault = |index| Fault {
        routers: (0, 1),
        index: Some(index),
        effect: Effect::Failed,
    };
    x.impair(&[fault(0), fault(2)]).unwrap();
    for algorithm in [HyperXAlgorithm::Minimal, HyperXAlgorithm::Ugal, HyperXAlgorithm::Dal] {
        longest(&on_hyperx(x.clone(), algorithm));
    }
    x.impair(&[Fault {
        index: None,
        ..fault(0)
    }])
    .unwrap();
    assert!(HyperXRouting::new(x, HyperXAlgorithm::Minimal, 1).is_err());
}
