//! How paths are chosen.

use std::collections::BTreeSet;

use odonata_topology::LinkClass;
use odonata_units::{Bytes, Time};

use super::{routing_keys, within};
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

const KEY: &str = "network.routing";

/// What is known later than that is of no use.
const LATEST: Time = Time::from_ns(1_000_000_000);

/// Resolves the routing of `network` on a machine of `kind`. `leftovers` are keys that need not fit the algorithm.
pub(super) fn routing(
    network: &w::Network,
    leftovers: &BTreeSet<String>,
    links: &r::Links,
    kind: &r::Kind,
) -> Result<r::Routing, Problem> {
    let known = kind.algorithms();
    let algorithm = network.routing.algorithm.unwrap_or(known[0]);
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
    let routing = &routing_keys::taken(&network.routing, leftovers, kind, algorithm)?;
    let ugal = algorithm == r::Algorithm::Ugal;
    let ways_up = ways_up(algorithm);
    if let Some(up) = routing.up.filter(|up| !ways_up.contains(up)) {
        let problem = format!("{} by {}", algorithm.name(), up.name());
        let names: Vec<&str> = ways_up.iter().map(|up| up.name()).collect();
        return Err(Problem::new(
            format!("{KEY}.up"),
            problem,
            format!("one of {}", names.join(", ")),
        ));
    }
    match routing.vcs {
        Some(r::Vcs::All(count)) => {
            within(&format!("{KEY}.vcs"), count, 1, 16)?;
        }
        Some(vcs @ r::Vcs::Classes(_)) => {
            for class in LinkClass::ALL {
                let key = format!("{KEY}.vcs.{}", class.name());
                let Some(count) = vcs.of(class) else { continue };
                within(&key, count, 1, 16)?;
                let classes = kind.link_classes();
                if !classes.contains(&class) {
                    let problem = format!("machines of kind {} have no {} links", kind.name(), class.name());
                    let names: Vec<&str> = classes.iter().map(|class| class.name()).collect();
                    return Err(Problem::new(key, problem, format!("one of {}", names.join(", "))));
                }
            }
        }
        None => {}
    }
    let nonminimal = algorithm != r::Algorithm::Minimal;
    let refuse = routing.deadlock_check == r::DeadlockCheck::Refuse;
    if routing.vc_rule == Some(r::VcRule::Codes) && routing.via == Some(r::Via::Router) && nonminimal && refuse {
        let problem = "virtual channels by the rule of CODES on detours over a router can deadlock";
        let error = Problem::new(format!("{KEY}.vc_rule"), problem, "\"stage\", or via = \"group\"");
        return Err(error.hint("two local hops in the intermediate group would share virtual channel 2"));
    }
    if routing.vc_rule == Some(r::VcRule::Phase) && nonminimal && refuse {
        let problem = "virtual channels by phase can deadlock where packets take detours";
        let error = Problem::new(
            format!("{KEY}.vc_rule"),
            problem,
            "\"stage\", or deadlock_check = \"warn\"",
        );
        return Err(
            error.hint("packets that reach their intermediate group share channels with those that leave theirs")
        );
    }
    let takes = |key: &str| routing_keys::takes(kind, algorithm, key);
    let told = knowledge_keys(network, routing, links, kind)?;
    let threshold = if ugal { Bytes::ZERO } else { Bytes::kib(16) };
    let bias = routing.bias.unwrap_or(if ugal { 1.0 } else { 2.0 });
    let bias = within(&format!("{KEY}.bias"), bias, 0.0, 1_000.0)?;
    let comparison = routing.comparison.unwrap_or(match ugal {
        true => r::Comparison::Sum,
        false => r::Comparison::Both,
    });
    let candidates = within(&format!("{KEY}.candidates"), routing.candidates.unwrap_or(2), 1, 64)?;
    Ok(r::Routing {
        algorithm,
        knowledge: takes("knowledge").then(|| routing.knowledge.unwrap_or_default()),
        knowledge_interval: told.interval,
        knowledge_delay: told.delay,
        congestion_factor: told.factor,
        congestion_threshold: told.threshold,
        up: routing.up.or(ways_up.first().copied()),
        via: takes("via").then(|| routing.via.unwrap_or_default()),
        threshold: takes("threshold").then(|| routing.threshold.unwrap_or(threshold)),
        bias: takes("bias").then_some(bias),
        comparison: takes("comparison").then_some(comparison),
        weigh_hops: takes("weigh_hops").then(|| routing.weigh_hops.unwrap_or(ugal)),
        candidates: takes("candidates").then_some(candidates),
        selection: takes("selection").then(|| routing.selection.unwrap_or_default()),
        divert: takes("divert").then(|| routing.divert.unwrap_or_default()),
        vc_rule: takes("vc_rule").then(|| routing.vc_rule.unwrap_or_default()),
        vcs: routing.vcs,
        deadlock_check: routing.deadlock_check,
    })
}

/// What goes with the knowledge of other routers' ports, and only with it.
#[derive(Default)]
struct Known {
    interval: Option<Time>,
    delay: Option<Time>,
    factor: Option<f64>,
    threshold: Option<Bytes>,
}

fn knowledge_keys(
    network: &w::Network,
    routing: &w::Routing,
    links: &r::Links,
    kind: &r::Kind,
) -> Result<Known, Problem> {
    let knowledge = routing.knowledge.unwrap_or_default();
    let bits = knowledge == r::Knowledge::Piggyback;
    let told = bits || knowledge == r::Knowledge::Global;
    let keys = [
        ("knowledge_interval", routing.knowledge_interval.is_some(), told),
        ("knowledge_delay", routing.knowledge_delay.is_some(), told),
        ("congestion_factor", routing.congestion_factor.is_some(), bits),
        ("congestion_threshold", routing.congestion_threshold.is_some(), bits),
    ];
    if let Some((key, ..)) = keys.into_iter().find(|&(_, given, has)| given && !has) {
        let expected = match key.starts_with("congestion") {
            true => "knowledge = \"piggyback\"",
            false => "knowledge = \"global\" or \"piggyback\"",
        };
        let problem = format!("the knowledge is {}", knowledge.name());
        return Err(Problem::new(format!("{KEY}.{key}"), problem, expected));
    }
    if !told {
        return Ok(Known::default());
    }
    // The shortest way from the routers with global ports to those with nodes.
    let way = match kind {
        r::Kind::Dragonfly(_) | r::Kind::DragonflyPlus(_) => links.local.latency,
        r::Kind::Dragonfly2d(d) => match (d.rows, d.columns) {
            (1, _) => links.local.latency,
            (_, 1) => links.column.latency,
            _ => Time(links.local.latency.0.saturating_add(links.column.latency.0)),
        },
        _ => {
            let problem = format!(
                "machines of kind {} have no groups that share global links",
                kind.name()
            );
            return Err(Problem::new(format!("{KEY}.knowledge"), problem, "\"local\""));
        }
    };
    let delay = routing.knowledge_delay.unwrap_or(way);
    let most = way.max(LATEST);
    let interval = routing.knowledge_interval.unwrap_or(Time::from_ns(100));
    let interval = within(&format!("{KEY}.knowledge_interval"), interval, Time(1), LATEST)?;
    let delay = within(&format!("{KEY}.knowledge_delay"), delay, way, most)?;
    let mut known = Known {
        interval: Some(interval),
        delay: Some(delay),
        ..Known::default()
    };
    if bits {
        let global = &links.global;
        let round = global.latency.seconds() + network.router_delay.seconds() + global.credit_delay.seconds();
        let on_the_way = (global.bandwidth.0 * round).min((1_u64 << 40) as f64) as u64;
        let threshold = Bytes(on_the_way + 2 * network.packet.0);
        let factor = routing.congestion_factor.unwrap_or(1.5);
        known.factor = Some(within(&format!("{KEY}.congestion_factor"), factor, 0.0, 1_000.0)?);
        known.threshold = Some(routing.congestion_threshold.unwrap_or(threshold));
    }
    Ok(known)
}
