//! The routing of a machine.

use crate::family::Family;
use crate::scenario::resolved::{self, Algorithm, Machine};
use odonata_network::routing::{self, DragonflyRouting, Routing};

/// The routing that `r` describes on `machine`.
pub(super) fn new(machine: &Machine, r: &resolved::Routing) -> Result<Routing, String> {
    let family = Family::new(machine)?;
    let missing = || {
        let (name, kind) = (r.algorithm.name(), machine.kind.name());
        format!("machines of kind {kind} have no routing \"{name}\"")
    };
    match family {
        Family::Dragonfly(dragonfly) => {
            dragonfly.check_ways()?;
            let algorithm = match r.algorithm {
                Algorithm::Minimal => routing::Algorithm::Minimal,
                Algorithm::Valiant => routing::Algorithm::Valiant,
                Algorithm::ProgressiveAdaptive => routing::Algorithm::ProgressiveAdaptive,
                _ => return Err(missing()),
            };
            let via = match r.via {
                resolved::Via::Group => routing::Intermediate::Group,
                resolved::Via::Router => routing::Intermediate::Router,
            };
            let divert = match r.divert {
                resolved::Divert::Any => routing::Divert::Anywhere,
                resolved::Divert::OwnGlobalPorts => routing::Divert::OwnGlobalPorts,
            };
            let vc_rule = match r.vc_rule {
                resolved::VcRule::Stage => routing::VcRule::Stage,
                resolved::VcRule::Codes => routing::VcRule::Codes,
            };
            let routing = DragonflyRouting::new(dragonfly, algorithm, via, divert, vc_rule, r.candidates);
            Ok(Routing::Dragonfly(routing))
        }
        _ => Err(missing()),
    }
}
