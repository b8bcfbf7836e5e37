//! Diagnosis of packets that do not arrive: deadlock, livelock, starvation.

use crate::scenario::Resolved;
use odonata_machine::Machine;
use odonata_network::{Channel, Deadlock, PacketView, Waiting, find_deadlock};
use odonata_topology::{Peer, Topology};
use odonata_units::Time;

/// Maximum number of described packets of a cycle.
const MOST_OF_CYCLE: usize = 12;

/// Livelock threshold: more visits than any routing needs, in multiples of the number of routers.
const VISITS: u64 = 4;

/// Starvation threshold: the wait of a packet while others pass.
const STARVED: Time = Time::from_ns(1_000_000);

/// The deadlock of these parts, as text, if there is one.
pub(crate) fn deadlock(parts: &[Machine], scenario: &Resolved, topology: &Topology) -> Option<String> {
    let found = find_deadlock(parts.iter().map(|part| &part.fabric))?;
    Some(describe(&found, scenario, topology))
}

/// The reason why packets are blocked at `now`, as text, if it is more than a queue: deadlock, livelock or starvation.
pub(crate) fn explain(parts: &[Machine], scenario: &Resolved, topology: &Topology, now: Time) -> Option<String> {
    if let Some(text) = deadlock(parts, scenario, topology) {
        return Some(text);
    }
    let most = VISITS.saturating_mul(u64::from(topology.routers())).min(60_000) as u16;
    let fabrics = || parts.iter().map(|part| &part.fabric);
    let wanderer = fabrics()
        .filter_map(|fabric| fabric.livelocked(most))
        .max_by_key(|waiting| waiting.packet.hops);
    if let Some(Waiting { packet, .. }) = wanderer {
        let name = packet_name(&packet, scenario);
        return Some(format!(
            "livelock: the {name} has visited {} routers, the machine has {}, and still moves",
            packet.hops,
            topology.routers()
        ));
    }
    let starved = fabrics()
        .filter_map(|fabric| fabric.starved(now, STARVED))
        .min_by_key(|waiting| waiting.since)?;
    Some(format!(
        "starvation: the {} has waited at {} since {:.9} s for {}, which other packets use",
        packet_name(&starved.packet, scenario),
        place(starved.packet.holds, topology),
        starved.since.seconds(),
        place(starved.wants, topology)
    ))
}

fn describe(deadlock: &Deadlock, scenario: &Resolved, topology: &Topology) -> String {
    let hop = |waiting: &Waiting| {
        format!(
            "the {} holds {} and waits for {}",
            packet_name(&waiting.packet, scenario),
            place(waiting.packet.holds, topology),
            place(waiting.wants, topology)
        )
    };
    let shown: Vec<String> = deadlock.cycle.iter().take(MOST_OF_CYCLE).map(hop).collect();
    let more = match deadlock.cycle.len().saturating_sub(MOST_OF_CYCLE) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "deadlock in the network: {} packets wait for room in each other's buffers; cycle of {}: {}{more}",
        deadlock.packets,
        deadlock.cycle.len(),
        shown.join("; ")
    )
}

/// A packet, by its job and its destination.
fn packet_name(packet: &PacketView, scenario: &Resolved) -> String {
    let job = scenario.jobs.get(usize::from(packet.traffic / 2));
    let io = if packet.traffic % 2 == 1 { "I/O " } else { "" };
    format!(
        "{io}packet of {} from node {} to node {}",
        job.map_or("an unknown job", |job| &job.name),
        packet.source,
        packet.target
    )
}

/// A buffer, by its router and port, and the other end of its link.
fn place(channel: Channel, topology: &Topology) -> String {
    let Channel { link, vc } = channel;
    let local = |router: u32, port: u32| port - topology.ports_of(router).start;
    if link >= topology.ports() {
        let node = link - topology.ports();
        let router = topology.node_router(node);
        let port = local(router, topology.node_port(node));
        let node = node / topology.interfaces();
        return format!("router {router} port {port} VC {vc} (from node {node})");
    }
    match topology.peer(link) {
        Peer::Router { router, port } => format!(
            "router {router} port {} VC {vc} (from router {})",
            local(router, port),
            topology.router_of_port(link)
        ),
        Peer::Node(node) => format!("node {}", node / topology.interfaces()),
        Peer::Free => "a port without a cable".into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::resolved::{Algorithm, Intermediate, VcRule};
    use crate::{Outcome, Simulation, scenario};
    use std::time::Duration;

    /// Buffers of one packet, at a load that shows deadlocks.
    const TEXT: &str = "[run]\nscheduler = \"sequential\"\n[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\n\
                        nodes_per_router = 2\nglobal_ports_per_router = 2\n[network]\npacket = \"512 B\"\nflit = \"64 B\"\n\
                        [network.links]\nterminal.buffer = \"512 B\"\nlocal.buffer = \"512 B\"\nglobal.buffer = \"512 B\"\n\
                        [network.routing]\nalgorithm = \"valiant\"\n\
                        [[jobs]]\nname = \"flood\"\nranks = 72\nworkload.uniform = { load = 1.0, messages = 400 }\n";

    fn run(unsafe_channels: bool, limit: Option<&str>) -> crate::Results {
        let limit: Vec<String> = limit.iter().map(|limit| format!("run.time_limit={limit}")).collect();
        run_with(unsafe_channels, &limit)
    }

    fn run_with(unsafe_channels: bool, overrides: &[String]) -> crate::Results {
        let mut loaded = scenario::load(TEXT, "flood.toml", overrides, None, "").unwrap();
        if unsafe_channels {
            // Refused in scenarios: too few virtual channels for paths through any router.
            let routing = &mut loaded.resolved.network.routing;
            (routing.algorithm, routing.via) = (Algorithm::Valiant.into(), Some(Intermediate::Router));
            routing.vc_rule = Some(VcRule::Codes);
        }
        let mut simulation = Simulation::new(loaded).unwrap();
        while !simulation.advance(Duration::from_secs(60)).finished {}
        simulation.finish(false)
    }

    #[test]
    fn a_deadlock_of_packets_ends_a_run_as_stalled_with_its_cycle() {
        assert_tells_a_cycle(&run(true, None));
    }

    #[test]
    fn a_deadlock_of_worms_is_reported_on_any_number_of_parts() {
        let settings = [
            "network.router=pipelined",
            "network.clock=1 ns",
            "network.switching=wormhole",
        ];
        for division in ["run.parts=1", "run.parts=5"] {
            let scheduler = match division {
                "run.parts=1" => "run.scheduler=sequential",
                _ => "run.scheduler=conservative",
            };
            let all: Vec<String> = settings
                .iter()
                .chain(&[division, scheduler])
                .map(|&o| o.into())
                .collect();
            assert_tells_a_cycle(&run_with(true, &all));
        }
    }

    fn assert_tells_a_cycle(results: &crate::Results) {
        assert_eq!(results.outcome(), &Outcome::Stalled);
        let detail = results.run_json()["detail"].as_str().unwrap_or_default().to_string();
        assert!(detail.starts_with("deadlock in the network: "), "{detail}");
        assert!(
            detail.contains("packet of flood from node ") && detail.contains(" VC "),
            "{detail}"
        );
        // The resource that one packet waits for is held by the next, around to the first.
        let (_, cycle) = detail.split_once(": the ").unwrap();
        let hops: Vec<(&str, &str)> = cycle
            .split("; the ")
            .map(|hop| {
                hop.split_once(" holds ")
                    .unwrap()
                    .1
                    .split_once(" and waits for ")
                    .unwrap()
            })
            .collect();
        for pair in hops.windows(2) {
            assert_eq!(pair[0].1, pair[1].0);
        }
        assert!(hops.len() >= 2);
        if !detail.contains(" more") {
            assert_eq!(hops.last().unwrap().1, hops[0].0);
        }
    }

    #[test]
    fn a_deadlock_is_reported_at_the_time_limit_too_and_a_queue_is_not_one() {
        // Long after the deadlock.
        let detail = |results: crate::Results| results.run_json()["detail"].as_str().map(str::to_string);
        let stuck = run(true, Some("1 s"));
        assert!(detail(stuck).is_some_and(|text| text.contains("deadlock in the network")));
        let queued = run(false, Some("5 us"));
        assert_eq!(queued.outcome(), &Outcome::TimeLimit);
        let text = detail(queued).unwrap();
        assert!(
            text.contains("of 28800 messages") && !text.contains("deadlock"),
            "{text}"
        );
        assert_eq!(run(false, None).outcome(), &Outcome::Completed);
    }
}
