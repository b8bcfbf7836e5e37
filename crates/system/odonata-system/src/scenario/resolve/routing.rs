//! How paths are chosen.

use std::collections::BTreeSet;

use odonata_network::routing::algorithms;
use odonata_network::settings::{Network, RoutingKey};
use odonata_topology::LinkClass;
use odonata_units::{Bytes, Number, Time};

use super::{routing_keys, within};
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;

/// The possible rules for the way up, the default first.
fn ways_up(kind: &r::Kind, algorithm: r::Algorithm) -> &'static [r::Up] {
    match algorithm {
        r::Algorithm::UpDown => &[r::Up::Random, r::Up::Adaptive],
        _ if routing_keys::takes(kind.family(), algorithm, RoutingKey::Up) => {
            &[r::Up::DModK, r::Up::Random, r::Up::Adaptive]
        }
        _ => &[],
    }
}

const KEY: &str = "network.routing";

/// Information that arrives later than this is useless.
const LATEST: Time = Time::from_ns(1_000_000_000);

/// Fills in and checks the routing of `network` on a machine of `kind`. `leftovers` are keys that need not fit the
/// algorithm.
pub(super) fn routing(network: &mut Network, leftovers: &BTreeSet<String>, kind: &r::Kind) -> Result<(), Problem> {
    let known: Vec<r::Algorithm> = algorithms(kind.family()).iter().map(|(name, _)| *name).collect();
    let algorithm = *network.routing.algorithm.fill(known[0]);
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
    routing_keys::take(&mut network.routing, leftovers, kind.family(), algorithm)?;
    let routing = &network.routing;
    let ugal = algorithm == r::Algorithm::Ugal;
    let ways_up = ways_up(kind, algorithm);
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
            within(format!("{KEY}.vcs"), count, 1, 16)?;
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
    if routing.vc_rule == Some(r::VcRule::Codes) && routing.via == Some(r::Intermediate::Router) && nonminimal && refuse
    {
        let problem = "with detours over a router, the CODES rule of virtual channels can deadlock";
        let error = Problem::new(format!("{KEY}.vc_rule"), problem, "\"stage\", or via = \"group\"");
        return Err(error.hint("two local hops in the intermediate group would share virtual channel 2"));
    }
    if routing.vc_rule == Some(r::VcRule::Phase) && nonminimal && refuse {
        let problem = "virtual channels by phase can deadlock with detours";
        let error = Problem::new(
            format!("{KEY}.vc_rule"),
            problem,
            "\"stage\", or deadlock_check = \"warn\"",
        );
        return Err(error.hint("packets entering and leaving an intermediate group share channels"));
    }
    knowledge_keys(network, kind)?;
    let takes = |key: RoutingKey| routing_keys::takes(kind.family(), algorithm, key);
    let routing = &mut network.routing;
    let threshold = if ugal { Bytes::ZERO } else { Bytes::kib(16) };
    let bias = routing.bias.unwrap_or(if ugal { 1.0 } else { 2.0 });
    let bias = within(format!("{KEY}.bias"), bias, 0.0, 1_000.0)?;
    let comparison = match ugal {
        true => r::Comparison::Sum,
        false => r::Comparison::Both,
    };
    let candidates = within(format!("{KEY}.candidates"), routing.candidates.unwrap_or(2), 1, 64)?;
    routing.up = routing.up.or(ways_up.first().copied());
    fill(
        &mut routing.knowledge,
        takes(RoutingKey::Knowledge),
        r::KnowledgeKind::default(),
    );
    fill(&mut routing.via, takes(RoutingKey::Via), r::Intermediate::default());
    fill(&mut routing.threshold, takes(RoutingKey::Threshold), threshold);
    fill(&mut routing.bias, takes(RoutingKey::Bias), bias);
    fill(&mut routing.comparison, takes(RoutingKey::Comparison), comparison);
    fill(&mut routing.weigh_hops, takes(RoutingKey::WeighHops), ugal);
    let compares = routing.up.is_none_or(|up| up == r::Up::Adaptive);
    if !compares && leftovers.contains(RoutingKey::Candidates.name()) {
        routing.candidates = None;
    }
    if routing.candidates.is_some() && !compares {
        let problem = "only adaptive up-routing compares ports";
        return Err(Problem::new(
            format!("{KEY}.candidates"),
            problem,
            "no such key, or up = \"adaptive\"",
        ));
    }
    fill(
        &mut routing.candidates,
        takes(RoutingKey::Candidates) && compares,
        candidates,
    );
    fill(
        &mut routing.selection,
        takes(RoutingKey::Selection),
        r::Selection::default(),
    );
    fill(&mut routing.ties, takes(RoutingKey::Ties), r::Ties::default());
    fill(&mut routing.divert, takes(RoutingKey::Divert), r::Divert::default());
    fill(&mut routing.vc_rule, takes(RoutingKey::VcRule), r::VcRule::default());
    Ok(())
}

/// Sets a key to its default if the algorithm takes it; otherwise it has already been removed.
fn fill<T>(key: &mut Option<T>, taken: bool, default: T) {
    if taken {
        key.get_or_insert(default);
    }
}

/// Fills in and checks the keys that need, or are needed for, knowledge of other routers' ports.
fn knowledge_keys(network: &mut Network, kind: &r::Kind) -> Result<(), Problem> {
    let (routing, links) = (&mut network.routing, &network.links);
    let knowledge = routing.knowledge.unwrap_or_default();
    let bits = knowledge == r::KnowledgeKind::Piggyback;
    let published = bits || knowledge == r::KnowledgeKind::Global;
    let keys = [
        ("knowledge_interval", routing.knowledge_interval.is_some(), published),
        ("knowledge_delay", routing.knowledge_delay.is_some(), published),
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
    if !published {
        return Ok(());
    }
    // The shortest path from the routers with global ports to the routers with nodes.
    let Some(way) = kind.way_in_a_group() else {
        let problem = format!("machines of kind {} have no groups with global links", kind.name());
        return Err(Problem::new(format!("{KEY}.knowledge"), problem, "\"local\""));
    };
    let latencies = way.iter().map(|&class| links.of(class).latency.0);
    let way = Time(latencies.fold(0, u64::saturating_add));
    let most = way.max(LATEST);
    let interval = *routing.knowledge_interval.get_or_insert(Time::from_ns(100));
    within(format!("{KEY}.knowledge_interval"), interval, Time(1), LATEST)?;
    let delay = *routing.knowledge_delay.get_or_insert(way);
    within(format!("{KEY}.knowledge_delay"), delay, way, most)?;
    if bits {
        let global = &links.global;
        let round = global.latency.seconds() + network.router_delay.seconds() + global.credit_delay.seconds();
        let on_the_way = (global.bandwidth.0 * round).min((1_u64 << 40) as f64) as u64;
        let threshold = Bytes(on_the_way + 2 * network.packet.0);
        let factor = Number(*routing.congestion_factor.get_or_insert(1.5));
        within(format!("{KEY}.congestion_factor"), factor, Number(0.0), Number(1_000.0))?;
        routing.congestion_threshold.get_or_insert(threshold);
    }
    Ok(())
}
