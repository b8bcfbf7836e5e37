//! How paths are chosen.

use std::collections::BTreeSet;

use odonata_network::routing::{OF_ANY_GRAPH, Routing, Spread, algorithms};
use odonata_network::settings::{Network, Routing as Settings, RoutingKey};
use odonata_topology::family::graph::fnv;
use odonata_topology::{Family, LinkClass, MapError};
use odonata_units::{Bytes, Number, Time};

use super::{routing_keys, within};
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::text_file::read_text;

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
    if routing.vc_rule == Some(r::VcRule::Phase) && routing.in_group == Some(r::InGroup::Adaptive) {
        let problem = "with virtual channels by phase, both cables of a detour inside a group would share a channel";
        let expected = "\"minimal\", or vc_rule = \"stage\"";
        return Err(Problem::new(format!("{KEY}.in_group"), problem, expected));
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
    fill(&mut routing.spread, takes(RoutingKey::Spread), Spread::default());
    let paths = within(format!("{KEY}.paths"), routing.paths.unwrap_or(4), 1, 64)?;
    fill(&mut routing.paths, takes(RoutingKey::Paths), paths);
    let compares = routing.up.is_none_or(|up| up == r::Up::Adaptive)
        && routing.spread.is_none_or(|spread| spread == Spread::Adaptive);
    if !compares && leftovers.contains(RoutingKey::Candidates.name()) {
        routing.candidates = None;
    }
    if routing.candidates.is_some() && !compares {
        let (problem, expected) = match routing.up {
            Some(_) => (
                "only adaptive up-routing compares ports",
                "no such key, or up = \"adaptive\"",
            ),
            None => (
                "only adaptive spreading compares ports",
                "no such key, or spread = \"adaptive\"",
            ),
        };
        return Err(Problem::new(format!("{KEY}.candidates"), problem, expected));
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
    fill(&mut routing.in_group, takes(RoutingKey::InGroup), r::InGroup::default());
    fill(&mut routing.divert, takes(RoutingKey::Divert), r::Divert::default());
    fill(&mut routing.vc_rule, takes(RoutingKey::VcRule), r::VcRule::default());
    Ok(())
}

/// Whether the routing works on any graph by tables of paths.
pub(super) fn has_tables(network: &Network) -> bool {
    let algorithm = *network.routing.algorithm;
    algorithm != r::Algorithm::UpDown && OF_ANY_GRAPH.iter().any(|&(name, _)| name == algorithm)
}

/// Reads the file of routes, and refuses a routing of any graph that cannot work on `family`, or any routing that knows no
/// way around failed cables. Relative paths start at `folder`.
pub(super) fn on_machine(
    network: &mut Network,
    machine: &r::Machine,
    family: Family,
    folder: &std::path::Path,
) -> Result<(), Problem> {
    let has_tables = has_tables(network);
    let routing = &mut network.routing;
    if *routing.algorithm == r::Algorithm::Table {
        read_routes(routing, folder)?;
    }
    let has_failed = !machine.failed_links.is_empty();
    if !has_tables && !has_failed {
        return Ok(());
    }
    let refuse = |problem: String| match (&routing.routes, has_tables) {
        (Some(file), true) => {
            // Messages of the reader begin with the line, if known.
            let MapError { line, problem } = MapError::parse(&problem);
            Problem::new(format!("{KEY}.routes"), problem, ROUTES_EXPECTED).within(file.as_str(), line)
        }
        (None, true) => Problem::new(
            format!("{KEY}.algorithm"),
            problem,
            "a routing that works on this machine",
        ),
        (_, false) => Problem::new(
            "machine.failed_links",
            problem,
            "failures that leave the routing a path",
        ),
    };
    Routing::on(family, routing).map(|_| ()).map_err(refuse)
}

const ROUTES_EXPECTED: &str = "CSV with columns from, to, path or at, to, next, with routes between all routers with nodes \
                               (docs/routing.md)";
/// Maximum size of a file of routes, in bytes.
const LONGEST: u64 = 1 << 30;

fn read_routes(routing: &mut Settings, folder: &std::path::Path) -> Result<(), Problem> {
    let key = format!("{KEY}.routes");
    let Some(file) = &routing.routes else {
        return Err(Problem::new(key, "the key is missing", "the path of a file"));
    };
    let path = folder.join(file);
    let text = read_text(&path, LONGEST).map_err(|problem| Problem::new(key, problem, ROUTES_EXPECTED))?;
    routing.routes_hash = Some(fnv(text.as_bytes()));
    routing.routes_text = text.into();
    routing.routes = Some(path.display().to_string());
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
