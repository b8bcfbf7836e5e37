//! How paths are chosen.

use odonata_topology::LinkClass;
use odonata_units::Bytes;

use super::within;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// How the way up can be chosen, the default first.
fn ways_up(algorithm: r::Algorithm) -> &'static [r::Up] {
    match algorithm {
        r::Algorithm::NearestCommonAncestor => &[r::Up::DModK, r::Up::Random, r::Up::Adaptive],
        r::Algorithm::UpDown => &[r::Up::Random, r::Up::Adaptive],
        _ => &[],
    }
}

pub(super) fn routing(routing: &w::Routing, kind: &r::Kind) -> Result<r::Routing, Problem> {
    const KEY: &str = "network.routing";
    let known = kind.algorithms();
    let algorithm = routing.algorithm.unwrap_or(known[0]);
    if !known.contains(&algorithm) {
        let problem = format!(
            "machines of kind {} have no routing \"{}\"",
            kind.name(),
            algorithm.name()
        );
        let names: Vec<&str> = known.iter().map(|algorithm| algorithm.name()).collect();
        let expected = format!("one of {}", names.join(", "));
        return Err(Problem::new(format!("{KEY}.algorithm"), problem, expected));
    }
    let ugal = algorithm == r::Algorithm::Ugal;
    let ways_up = ways_up(algorithm);
    let only = |key: &str, given: bool, has: bool, whose: &str| {
        if given && !has {
            let problem = format!("the routing is {}", algorithm.name());
            return Err(Problem::new(
                format!("{KEY}.{key}"),
                problem,
                format!("algorithm = {whose}"),
            ));
        }
        Ok(())
    };
    only("knowledge", routing.knowledge.is_some(), ugal, "\"ugal\"")?;
    only(
        "up",
        routing.up.is_some(),
        !ways_up.is_empty(),
        "\"nearest-common-ancestor\" or \"up-down\"",
    )?;
    if let Some(up) = routing.up.filter(|up| !ways_up.contains(up)) {
        let problem = format!("{} by {}", algorithm.name(), up.name());
        let names: Vec<&str> = ways_up.iter().map(|up| up.name()).collect();
        return Err(Problem::new(
            format!("{KEY}.up"),
            problem,
            format!("one of {}", names.join(", ")),
        ));
    }
    if let Some(knowledge) = routing.knowledge.filter(|&knowledge| knowledge != r::Knowledge::Local) {
        let problem = format!("source routers know no {} loads", knowledge.name());
        return Err(Problem::new(format!("{KEY}.knowledge"), problem, "one of local"));
    }
    match routing.vcs {
        Some(r::Vcs::All(count)) => {
            within(&format!("{KEY}.vcs"), count, 1, 16)?;
        }
        Some(vcs @ r::Vcs::Classes(_)) => {
            for class in LinkClass::ALL {
                let key = format!("{KEY}.vcs.{}", class.name());
                vcs.of(class).map(|count| within(&key, count, 1, 16)).transpose()?;
            }
        }
        None => {}
    }
    let nonminimal = algorithm != r::Algorithm::Minimal;
    let refuse = routing.deadlock_check == r::DeadlockCheck::Refuse;
    if routing.vc_rule == r::VcRule::Codes && routing.via == r::Via::Router && nonminimal && refuse {
        let problem = "virtual channels by the rule of CODES on detours over a router can deadlock";
        let error = Problem::new(format!("{KEY}.vc_rule"), problem, "\"stage\", or via = \"group\"");
        return Err(error.hint("two local hops in the intermediate group would share virtual channel 2"));
    }
    let bias = routing.bias.unwrap_or(if ugal { 1.0 } else { 2.0 });
    let threshold = if ugal { Bytes::ZERO } else { Bytes::kib(16) };
    Ok(r::Routing {
        algorithm,
        knowledge: ugal.then(|| routing.knowledge.unwrap_or_default()),
        up: routing.up.or(ways_up.first().copied()),
        via: routing.via,
        threshold: routing.threshold.unwrap_or(threshold),
        bias: within(&format!("{KEY}.bias"), bias, 0.0, 1_000.0)?,
        comparison: routing.comparison.unwrap_or(match ugal {
            true => r::Comparison::Sum,
            false => r::Comparison::Both,
        }),
        weigh_hops: routing.weigh_hops.unwrap_or(ugal),
        selection: routing.selection,
        candidates: within(&format!("{KEY}.candidates"), routing.candidates, 1, 64)?,
        vcs: routing.vcs,
        divert: routing.divert,
        vc_rule: routing.vc_rule,
        deadlock_check: routing.deadlock_check,
    })
}
