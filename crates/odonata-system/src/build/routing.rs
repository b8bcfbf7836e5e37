//! The routing of a machine.

use crate::family::Family;
use crate::scenario::choices::algorithm::{self, Algorithm};
use crate::scenario::resolved::{self, Machine};
use odonata_network::routing::{
    self, Dragonfly2dRouting, DragonflyPlusRouting, DragonflyRouting, FatTreeAlgorithm, FatTreeRouting, HyperXRouting,
    Routing, SlimFlyRouting, TorusRouting, UpDownRouting,
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
    let of_groups = || r.algorithm.among(algorithm::DRAGONFLY).ok_or_else(missing);
    // Resolved, every key that the algorithm takes is there; the others make no difference.
    let candidates = r.candidates.unwrap_or(1);
    let via = match r.via.unwrap_or_default() {
        resolved::Via::Group => routing::Intermediate::Group,
        resolved::Via::Router => routing::Intermediate::Router,
    };
    Ok(match family {
        Family::Dragonfly(dragonfly) => {
            dragonfly.check_ways()?;
            let divert = match r.divert.unwrap_or_default() {
                resolved::Divert::Any => routing::Divert::Anywhere,
                resolved::Divert::OwnGlobalPorts => routing::Divert::OwnGlobalPorts,
            };
            let rule = match r.vc_rule.unwrap_or_default() {
                resolved::VcRule::Stage => routing::VcRule::Stage,
                resolved::VcRule::Codes => routing::VcRule::Codes,
                resolved::VcRule::Phase => routing::VcRule::Phase,
            };
            let routing = DragonflyRouting::new(dragonfly, of_groups()?, via, divert, rule, candidates);
            Routing::Dragonfly(routing)
        }
        Family::Dragonfly2d(dragonfly) => {
            Routing::Dragonfly2d(Dragonfly2dRouting::new(dragonfly, of_groups()?, via, candidates)?)
        }
        Family::DragonflyPlus(dragonfly) => {
            let algorithm = r.algorithm.among(algorithm::DRAGONFLY_PLUS).ok_or_else(missing)?;
            Routing::DragonflyPlus(DragonflyPlusRouting::new(dragonfly, algorithm, candidates)?)
        }
        Family::Torus(torus) => {
            let table = match torus.shape().wrap {
                true => algorithm::TORUS,
                false => algorithm::MESH,
            };
            let algorithm = r.algorithm.among(table).ok_or_else(missing)?;
            let selection = match r.selection.unwrap_or_default() {
                resolved::Selection::Lightest => routing::Selection::Lightest,
                resolved::Selection::Random => routing::Selection::Random,
            };
            Routing::Torus(TorusRouting::new(torus, algorithm)?.with_selection(selection))
        }
        Family::FatTree(tree) => {
            r.algorithm.among(algorithm::FAT_TREE).ok_or_else(missing)?;
            let algorithm = match r.up {
                Some(resolved::Up::Random) => FatTreeAlgorithm::Random,
                Some(resolved::Up::Adaptive) => FatTreeAlgorithm::Adaptive,
                _ => FatTreeAlgorithm::DModK,
            };
            Routing::FatTree(FatTreeRouting::new(tree, algorithm)?)
        }
        Family::SlimFly(fly) => {
            let algorithm = r.algorithm.among(algorithm::SLIM_FLY).ok_or_else(missing)?;
            Routing::SlimFly(SlimFlyRouting::new(fly, algorithm, candidates)?)
        }
        Family::HyperX(hyperx) => {
            let algorithm = r.algorithm.among(algorithm::HYPERX).ok_or_else(missing)?;
            Routing::HyperX(HyperXRouting::new(hyperx, algorithm, candidates)?)
        }
        Family::Graph(_) => return Err(missing()),
    })
}
