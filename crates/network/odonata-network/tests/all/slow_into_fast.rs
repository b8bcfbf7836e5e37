//! Packets from slow links on a faster one: it carries them side by side, at the rate of their arrival up to its own.

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTERS, Router, SIZES, SWITCHINGS, Scripted, assert_blame_changes_nothing,
    assert_can_be_undone, assert_equal_divided, finish, link, links, message, named, play, random_messages, shape,
};
use odonata_engine::Time;
use odonata_network::routing::{Algorithm, Intermediate};
use odonata_network::{Blueprint, InputQueues, RouterModel, Switching};

const PIPELINED: Router = (RouterModel::Pipelined, InputQueues::VirtualOutput);
/// Flits per packet.
const PACKET: u64 = 8;

/// `k` nodes behind local links of `slow` cycles per flit, and a node with a terminal link of `fast` cycles per flit.
fn incast(k: u32, slow: u64, fast: u64, router: Router, switching: Switching) -> Net {
    let mut net = Net::round(shape(1, k + 1, 1, 0)).with(router);
    net.params.switching = switching;
    net.params.blame = false;
    net.params.links = links([link(fast, 2, 512, 1), link(slow, 5, 512, 2), link(1, 1, 64, 1)]);
    net
}

/// With enough channels on the terminal link for packets of all inputs to be in flight side by side.
fn play_with_channels(net: &Net, channels: u8, script: Vec<Scripted>) -> Play {
    let [_, local, global, column] = net.vcs();
    let blueprint = Blueprint::new(net.params.clone(), net.routing(), [channels, local, global, column]);
    let mut model = finish(Play::on(blueprint.whole(), script));
    model.assert_complete("incast");
    model
}

/// `packets` from each of the nodes 1 to `k` to node 0, at once.
fn packets_to_node_0(k: u32, packets: u64) -> Vec<Scripted> {
    let from = |source| (0..packets).map(move |_| message(CYCLE, source, 0, PACKET * FLIT));
    named((1..=k).flat_map(from).collect())
}

/// Cycles at which messages arrive, sorted.
fn arrivals(model: &Play) -> Vec<u64> {
    let mut arrivals: Vec<u64> = model.fates().iter().map(|fate| fate.at.0 / CYCLE.0).collect();
    arrivals.sort_unstable();
    arrivals
}

/// Bytes / min(k b_slow, b_fast): each packet takes max(L/b_fast, L/b_slow / k) on average.
#[test]
fn an_incast_carries_what_its_slow_links_bring_up_to_the_rate_of_the_fast_one() {
    for (router, switching) in ROUTERS.into_iter().flat_map(|router| SWITCHINGS.map(|s| (router, s))) {
        for (slow, fast) in [(1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (3, 2), (5, 2), (1, 2), (7, 3)] {
            for k in 1..=6 {
                let net = incast(k, slow, fast, router, switching);
                let packets = 60;
                let mut model = play(&net, packets_to_node_0(k, packets));
                model.assert_complete("incast");
                let arrivals = arrivals(&model);
                // Whole rounds, with one packet of every sender in each.
                let (from, to) = (arrivals[arrivals.len() / 2 - 1], arrivals[arrivals.len() - 1]);
                let gap = (to - from) as f64 / (arrivals.len() / 2) as f64;
                let expected = (PACKET * fast) as f64;
                let expected = expected.max((PACKET * slow) as f64 / f64::from(k));
                let context = format!("{router:?} {switching:?}, {k} x 1/{slow} into 1/{fast}");
                assert!(
                    (gap - expected).abs() < 0.02 * expected,
                    "{context}: {gap} cycles, not {expected}"
                );
                // Time on the link is bytes / bandwidth.
                let terminal = model.fabric.routing().topology().node_port(0);
                let busy = model.fabric.link_stats().get(terminal).busy;
                assert_eq!(
                    busy,
                    Time(u64::from(k) * packets * PACKET * fast * CYCLE.0),
                    "{context}"
                );
            }
        }
    }
}

/// The pipelined router moves single flits, and shares a link among virtual channels flit by flit. Apart from the
/// zero-load difference, the last packet of an incast arrives at the same time in both, up to the time of a packet on
/// the fast link and of a flit on the slow one for each.
#[test]
fn an_incast_takes_as_long_as_flit_by_flit() {
    for (slow, fast) in [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (8, 1),
        (3, 2),
        (5, 2),
        (5, 3),
        (1, 2),
        (2, 3),
    ] {
        let times = |router, k: u32, packets| {
            let net = incast(k, slow, fast, router, Switching::CutThrough);
            let model = play_with_channels(&net, 8, packets_to_node_0(k, packets));
            *arrivals(&model).last().unwrap() as f64
        };
        let voq = (RouterModel::InputQueued, InputQueues::VirtualOutput);
        let alone = times(PIPELINED, 1, 1) - times(voq, 1, 1);
        for (k, packets) in (1..=6).flat_map(|k| [1, 2, 3, 5, 8].map(|packets| (k, packets))) {
            let (there, here) = (times(PIPELINED, k, packets) - alone, times(voq, k, packets));
            let most = (PACKET * fast) as f64;
            assert!(
                (here - there).abs() <= most,
                "{k} x {packets} packets of 1/{slow} into 1/{fast}: {here}, flit by flit {there}"
            );
        }
    }
}

/// While a packet from a slow link is in transmission to the node, another packet from the node's own router passes it.
/// It starts when the first has had its L/b of the link, and its message arrives first.
#[test]
fn a_packet_from_a_slow_link_leaves_the_rest_of_the_fast_one_to_others() {
    let (slow, pipeline) = (8, 3);
    for router in ROUTERS {
        let mut net = Net::round(shape(1, 2, 2, 0)).with(router);
        net.params.links = links([link(1, 2, 64, 1), link(slow, 5, 64, 2), link(1, 1, 64, 1)]);
        // Nodes 0 and 1 are at router 0, node 2 at router 1.
        let head = 1 + (1 + 2 + pipeline) + (slow + 5 + pipeline);
        let own = head + 1 - (1 + 2 + pipeline);
        let script = vec![
            message(CYCLE, 2, 0, PACKET * FLIT),
            message(Time(own * CYCLE.0), 1, 0, PACKET * FLIT),
        ];
        let model = play(&net, named(script));
        let tail = head + (PACKET - 1) * slow;
        assert_eq!(model.arrival(0).0 / CYCLE.0, tail + 1 + 2, "{router:?}");
        assert_eq!(model.arrival(1).0 / CYCLE.0, head + PACKET + PACKET + 2, "{router:?}");
    }
}

/// A dragonfly in which a message's packets take several paths, over slow links, to fast terminal links.
fn several_ways(router: Router) -> Net {
    let mut net = Net::round(shape(3, 4, 2, 2))
        .with(router)
        .routed(Algorithm::Valiant, Intermediate::Router);
    net.params.traffics = 3;
    net.params.links = links([link(1, 2, 256, 1), link(7, 5, 256, 2), link(3, 9, 256, 1)]);
    net
}

/// A message arrives with the last of its packets, although packets that start later on the last link may arrive
/// earlier. It is as late as the last of as many messages of one packet on the same paths.
#[test]
fn a_message_arrives_with_its_last_byte() {
    let mut overtaken = 0;
    for router in ROUTERS {
        for target in 1..24 {
            let net = several_ways(router);
            let packets = 12;
            let whole = play(&net, named(vec![message(CYCLE, 0, target, packets * PACKET * FLIT)]));
            let single = (0..packets).map(|_| message(CYCLE, 0, target, PACKET * FLIT));
            let single = play(&net, named(single.collect()));
            let last = single.fates().iter().map(|fate| fate.at).max();
            assert_eq!(Some(whole.arrival(0)), last, "{router:?}, to {target}");
            overtaken += single.fates().windows(2).filter(|pair| pair[1].at < pair[0].at).count();
        }
    }
    assert!(overtaken > 0, "no packet comes after one that was sent later");
}

/// Messages from one node to another over one path arrive in the order of submission, for all sizes.
#[test]
fn messages_on_one_path_arrive_in_order() {
    for (router, (slow, fast)) in ROUTERS
        .into_iter()
        .flat_map(|r| [(2, 1), (5, 1), (7, 2), (20, 3)].map(|rate| (r, rate)))
    {
        let net = incast(2, slow, fast, router, Switching::CutThrough);
        let mut script = random_messages(&net, 400, 300, &SIZES, 3);
        script.iter_mut().for_each(|m| m.target = 0);
        script.retain(|m| m.source > 0);
        script.sort_by_key(|m| m.at);
        let script = named(script);
        let model = play(&net, script.clone());
        for source in 1..=2 {
            let names = (0..script.len()).filter(|&name| script[name].source == source);
            let arrivals: Vec<Time> = names.map(|name| model.arrival(name)).collect();
            assert!(arrivals.is_sorted(), "{router:?}, 1/{slow} into 1/{fast}");
        }
    }
}

/// The losses of overtaken packets are the same in parts and undivided, and can be undone.
#[test]
fn losses_of_overtaken_packets_are_equal_on_every_scheduler() {
    for router in ROUTERS {
        let mut net = several_ways(router);
        net.params.lost_time = true;
        net.params.series = Some(Time(50 * CYCLE.0));
        let mut script = random_messages(&net, 150, 200, &[FLIT, 8 * FLIT, 30 * FLIT], 5);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
        assert_can_be_undone(&net, script.clone(), &format!("{router:?}"));
        assert_equal_divided(&net, &script, &format!("{router:?}"));
        assert_blame_changes_nothing(&net, script, &format!("{router:?}"));
    }
}
