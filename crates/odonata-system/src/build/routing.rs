//! The routing of a machine.

use crate::family::Family;
use crate::scenario::resolved::{self, Algorithm, Machine};
use odonata_network::routing::{
    self, Dragonfly2dRouting, DragonflyPlusAlgorithm, DragonflyPlusRouting, DragonflyRouting, FatTreeAlgorithm,
    FatTreeRouting, HyperXAlgorithm, HyperXRouting, Routing, SlimFlyAlgorithm, SlimFlyRouting, TorusAlgorithm,
    TorusRouting, UpDownRouting,
};

/// The routing that `r` describes on `machine`.
pub(super) fn new(machine: &Machine, r: &resolved::Routing) -> Result<Routing, String> {
    let family = Family::new(machine)?;
    if r.algorithm == Algorithm::UpDown {
        let adaptive = r.up == Some(resolved::Up::Adaptive);
        return UpDownRouting::new(family.topology().clone(), None, adaptive).map(Routing::UpDown);
    }
    let missing = || {
        let (name, kind) = (r.algorithm.name(), machine.kind.name());
        format!("machines of kind {kind} have no routing \"{name}\"")
    };
    let of_groups = || match r.algorithm {
        Algorithm::Minimal => Ok(routing::Algorithm::Minimal),
        Algorithm::Valiant => Ok(routing::Algorithm::Valiant),
        Algorithm::Ugal => Ok(routing::Algorithm::Ugal),
        Algorithm::ProgressiveAdaptive => Ok(routing::Algorithm::ProgressiveAdaptive),
        _ => Err(missing()),
    };
    let via = match r.via {
        resolved::Via::Group => routing::Intermediate::Group,
        resolved::Via::Router => routing::Intermediate::Router,
    };
    Ok(match family {
        Family::Dragonfly(dragonfly) => {
            dragonfly.check_ways()?;
            let divert = match r.divert {
                resolved::Divert::Any => routing::Divert::Anywhere,
                resolved::Divert::OwnGlobalPorts => routing::Divert::OwnGlobalPorts,
            };
            let rule = match r.vc_rule {
                resolved::VcRule::Stage => routing::VcRule::Stage,
                resolved::VcRule::Codes => routing::VcRule::Codes,
                resolved::VcRule::Phase => routing::VcRule::Phase,
            };
            let routing = DragonflyRouting::new(dragonfly, of_groups()?, via, divert, rule, r.candidates);
            Routing::Dragonfly(routing)
        }
        Family::Dragonfly2d(dragonfly) => {
            Routing::Dragonfly2d(Dragonfly2dRouting::new(dragonfly, of_groups()?, via, r.candidates)?)
        }
        Family::DragonflyPlus(dragonfly) => {
            let algorithm = match r.algorithm {
                Algorithm::Minimal => DragonflyPlusAlgorithm::Minimal,
                Algorithm::Valiant => DragonflyPlusAlgorithm::Valiant,
                Algorithm::Ugal => DragonflyPlusAlgorithm::Ugal,
                Algorithm::ProgressiveAdaptive => DragonflyPlusAlgorithm::ProgressiveAdaptive,
                _ => return Err(missing()),
            };
            Routing::DragonflyPlus(DragonflyPlusRouting::new(dragonfly, algorithm, r.candidates)?)
        }
        Family::Torus(torus) => {
            let algorithm = match r.algorithm {
                Algorithm::DimensionOrder => TorusAlgorithm::DimensionOrder,
                Algorithm::Bubble => TorusAlgorithm::Bubble,
                Algorithm::MinimalAdaptive => TorusAlgorithm::MinimalAdaptive,
                Algorithm::Valiant => TorusAlgorithm::Valiant,
                _ => return Err(missing()),
            };
            let selection = match r.selection {
                resolved::Selection::Lightest => routing::Selection::Lightest,
                resolved::Selection::Random => routing::Selection::Random,
            };
            Routing::Torus(TorusRouting::new(torus, algorithm)?.with_selection(selection))
        }
        Family::FatTree(tree) => {
            let algorithm = match (r.algorithm, r.up) {
                (Algorithm::NearestCommonAncestor, Some(resolved::Up::Random)) => FatTreeAlgorithm::Random,
                (Algorithm::NearestCommonAncestor, Some(resolved::Up::Adaptive)) => FatTreeAlgorithm::Adaptive,
                (Algorithm::NearestCommonAncestor, _) => FatTreeAlgorithm::DModK,
                _ => return Err(missing()),
            };
            Routing::FatTree(FatTreeRouting::new(tree, algorithm)?)
        }
        Family::SlimFly(fly) => {
            let algorithm = match r.algorithm {
                Algorithm::Minimal => SlimFlyAlgorithm::Minimal,
                Algorithm::Valiant => SlimFlyAlgorithm::Valiant,
                Algorithm::Ugal => SlimFlyAlgorithm::Ugal,
                _ => return Err(missing()),
            };
            Routing::SlimFly(SlimFlyRouting::new(fly, algorithm, r.candidates)?)
        }
        Family::HyperX(hyperx) => {
            let algorithm = match r.algorithm {
                Algorithm::Minimal => HyperXAlgorithm::Minimal,
                Algorithm::Valiant => HyperXAlgorithm::Valiant,
                Algorithm::Ugal => HyperXAlgorithm::Ugal,
                Algorithm::Dal => HyperXAlgorithm::Dal,
                _ => return Err(missing()),
            };
            Routing::HyperX(HyperXRouting::new(hyperx, algorithm, r.candidates)?)
        }
        Family::Graph(_) => return Err(missing()),
    })
}
