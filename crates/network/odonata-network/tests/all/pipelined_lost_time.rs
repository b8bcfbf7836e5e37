//! Lost time of messages through pipelined routers: constructed cases, sums, and independence of the scheduler.

use crate::common::*;
use crate::lost_time::lost;
use crate::pipelined::{of_three, pipelined, variants};
use odonata_blame::lost::{Kind, Loss, LostAt, total};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::Switching;

const SWITCHINGS: [Switching; 3] = [Switching::Wormhole, Switching::CutThrough, Switching::StoreAndForward];

fn cycles(n: u64) -> Time {
    Time(n * CYCLE.0)
}

/// `bytes` of `traffic` from `source` to `target`, from cycle `at` on.
fn of(traffic: u16, at: u64, (source, target): (u32, u32), bytes: u64) -> Scripted {
    Scripted {
        traffic,
        ..message(cycles(at), source, target, bytes)
    }
}

/// The losses of message `name` at arrival.
fn losses(model: &Play, name: u32) -> Vec<Loss> {
    let found = model.losses.iter().find(|lost| lost.0 == name);
    found.map_or(Vec::new(), |lost| lost.1.losses.clone())
}

/// The delay of message `name` compared with running alone, and its losses alone, to its own flits.
fn beside_alone(net: &Net, model: &Play, script: &[Scripted], name: usize) -> (Time, Time) {
    let mine = script[name];
    let alone = play(net, named(vec![Scripted { traffic: 0, ..mine }]));
    (model.arrival(name) - alone.arrival(0), total(&losses(&alone, 0)))
}

fn late(net: &Net, model: &Play, script: &[Scripted], name: usize) -> Time {
    beside_alone(net, model, script, name).0
}

fn with_lost_time(mut net: Net) -> Net {
    net.params.lost_time = true;
    net
}

/// All losses to `culprit`, of any kind.
fn to(losses: &[Loss], culprit: u16) -> Time {
    let his: Vec<Loss> = losses.iter().filter(|loss| loss.culprit == culprit).copied().collect();
    total(&his)
}

/// A message is late by its losses, minus those to its own flits when alone: to the picosecond, for each message,
/// although its flits may wait in several routers at once.
#[test]
fn the_losses_of_a_message_equal_its_delay() {
    for (net, context) in variants() {
        // One path per pair of nodes; the same number of steps in every cycle.
        if !context.contains("Minimal") || net.params.pipeline.internal_speedup.fract() != 0.0 {
            continue;
        }
        let mut net = with_lost_time(net);
        net.shape.cables = Some(1);
        let most = net.params.packet;
        for sizes in [&[FLIT] as &[u64], &[FLIT, 3 * FLIT, 8 * FLIT, most]] {
            let script = of_three(&net, 600, 200, sizes, 5);
            let model = play(&net, script.clone());
            let mut sum = Time::ZERO;
            for (name, m) in script.iter().enumerate() {
                let (late, alone) = beside_alone(&net, &model, &script, name);
                assert_eq!(total(&losses(&model, m.name)), late + alone, "{context}: {m:?}");
                sum += late;
            }
            assert!(sum > cycles(100), "{context}: {sum:?} is no traffic to speak of");
        }
    }
}

/// Links whose latencies are not a whole number of cycles: losses before a router are rounded there as time is.
#[test]
fn losses_are_rounded_to_cycles_like_times() {
    let mut net = with_lost_time(pipelined(Switching::Wormhole));
    net.shape.cables = Some(1);
    for class in &mut net.params.links {
        class.latency = (*class.latency + Time(437)).into();
    }
    let script = of_three(&net, 600, 200, &[FLIT, 8 * FLIT], 5);
    let model = play(&net, script.clone());
    for (name, m) in script.iter().enumerate() {
        let (lost, late) = (total(&losses(&model, m.name)), late(&net, &model, &script, name));
        // Each of its routers may hide part of a cycle that another message cost it before.
        assert!(
            lost <= late + cycles(1) && late <= lost + cycles(4),
            "{m:?}: {lost:?}, {late:?}"
        );
    }
}

/// Two jobs, one link: the second has lost its delay to the first, as a wait for a link, and the first nothing.
#[test]
fn a_wait_for_a_packet_is_a_loss_to_its_job() {
    for (n, switching) in [1, 2, 8].into_iter().flat_map(|n| SWITCHINGS.map(|s| (n, s))) {
        let net = with_lost_time(pipelined(switching));
        let script = named([0, 1].map(|i| of(i, 1, (u32::from(i), 2), n * FLIT)).to_vec());
        let model = play(&net, script.clone());
        let late = [0, 1].map(|i| late(&net, &model, &script, i));
        let second = usize::from(late[1] > Time::ZERO);
        assert!(late[second] >= cycles(n) && late[1 - second] == Time::ZERO, "{late:?}");
        assert_eq!(losses(&model, 1 - second as u32), []);
        let lost = losses(&model, second as u32);
        assert!(
            lost.iter().all(|loss| usize::from(loss.culprit) == 1 - second),
            "{lost:?}"
        );
        assert_eq!(total(&lost), late[second], "{n} flits, {switching:?}");
        if switching != Switching::StoreAndForward {
            assert_eq!((lost.len(), lost[0].kind), (1, Kind::Link), "{lost:?}");
        }
    }
}

/// A packet of 48 flits extends over buffers of 16. Its head is blocked by another job's packet, and its flits behind
/// wait for credits of its own flits. All its losses are to the other job, and equal its delay.
#[test]
fn flits_behind_a_blocked_head_inherit_its_losses() {
    let mut net = with_lost_time(pipelined(Switching::Wormhole));
    net.params.links = links([link(1, 2, 16, 3), link(1, 5, 16, 7), link(1, 20, 16, 22)]);
    net.params.packet = 48 * FLIT;
    // Both to the node of router 1, from that router itself and from router 0.
    let script = named(vec![of(1, 1, (3, 2), 48 * FLIT), of(0, 1, (0, 2), 48 * FLIT)]);
    let model = play(&net, script.clone());
    let late = late(&net, &model, &script, 1);
    let lost = losses(&model, 1);
    assert!(late > cycles(5), "{late:?}");
    assert_eq!((total(&lost), to(&lost, 1)), (late, late), "{lost:?}");
    let charged = model
        .fabric
        .blame()
        .iter()
        .filter(|c| c.victim == 0)
        .map(|c| c.time.0)
        .sum::<u64>();
    assert!(charged > late.0, "its flits have waited in several routers at once");
}

/// Flits arrive over a link that takes two cycles for each, and continue over one that takes one. While another job's
/// packet of `k` flits blocks the head, the others arrive; the tail is late by the rest of the delay.
#[test]
fn slack_between_flits_absorbs_losses_of_the_head() {
    let mut some = (0, 0);
    for k in 1..=20 {
        let mut net = with_lost_time(pipelined(Switching::Wormhole));
        net.params.links = links([link(1, 2, 64, 3), link(2, 5, 64, 7), link(1, 20, 64, 22)]);
        net.params.packet = 32 * FLIT;
        // The head of the second arrives at router 1 in cycle 12.
        let script = named(vec![of(1, 9, (3, 2), k * FLIT), of(0, 1, (0, 2), 8 * FLIT)]);
        let model = play(&net, script.clone());
        let late = late(&net, &model, &script, 1);
        let (lost, waited) = (losses(&model, 1), model.fabric.waited(0).time);
        assert_eq!((total(&lost), to(&lost, 1)), (late, late), "{k} flits: {lost:?}");
        some.0 += u32::from(late > Time::ZERO);
        some.1 += u32::from(waited > late && late > Time::ZERO);
    }
    assert!(some.0 > 3 && some.1 > 3, "{some:?}");
}

/// A stream of packets whose first is blocked by another job's: the last one, which completes the message, has lost its
/// delay to that job, and to its own traffic the same as alone.
#[test]
fn the_last_packet_of_a_message_inherits_the_delay_of_the_first() {
    for packets in [1, 2, 5, 12] {
        let net = with_lost_time(pipelined(Switching::Wormhole));
        let script = named(vec![
            of(1, 1, (3, 2), 8 * FLIT),
            of(1, 1, (3, 2), 8 * FLIT),
            of(0, 1, (0, 2), packets * 8 * FLIT),
        ]);
        let model = play(&net, script.clone());
        let alone = play(&net, named(vec![script[2]]));
        let (late, lost) = (late(&net, &model, &script, 2), losses(&model, 2));
        assert!(late > Time::ZERO, "{packets} packets");
        assert_eq!(to(&lost, 1), late, "{packets} packets: {lost:?}");
        assert_eq!(to(&lost, 0), total(&losses(&alone, 0)), "{packets} packets: {lost:?}");
    }
}

/// A message that waits for credits from another job's flits has lost to that job, in waits for buffers.
#[test]
fn waits_for_credits_are_losses_to_the_flits_that_return_them() {
    let mut net = with_lost_time(pipelined(Switching::Wormhole));
    net.params.links = links([link(2, 2, 8, 3), link(1, 5, 8, 7), link(1, 20, 8, 22)]);
    let script = named(vec![
        of(0, 1, (2, 0), 100 * FLIT),
        of(0, 1, (4, 0), 100 * FLIT),
        of(1, 200, (3, 1), FLIT),
    ]);
    let model = play(&net, script.clone());
    let (late, lost) = (late(&net, &model, &script, 2), losses(&model, 2));
    assert_eq!((total(&lost), to(&lost, 0)), (late, late), "{lost:?}");
    assert!(lost.iter().any(|loss| loss.kind == Kind::Buffer), "{lost:?}");
}

/// Losses of all messages, by name.
fn sorted(mut model: Play) -> Vec<(u32, Vec<Loss>)> {
    let losses = std::mem::take(&mut model.losses);
    let mut sorted: Vec<_> = losses.into_iter().map(|(name, lost)| (name, lost.losses)).collect();
    sorted.sort_unstable();
    sorted
}

#[test]
fn places_change_no_sum_of_losses() {
    for (net, context) in variants().into_iter().step_by(2) {
        let (with, without) = (lost(&net, true), lost(&net, false));
        assert_eq!(without, with, "{context}");
        assert!(
            without
                .iter()
                .any(|lost| lost.1.iter().any(|loss| loss.place == LostAt::NOWHERE))
        );
    }
}

/// Losses change no other result, and superfluous cycles change no loss.
#[test]
fn needless_cycles_change_no_loss() {
    for (net, context) in variants().into_iter().step_by(2) {
        let script = of_three(&net, 200, 200, &[FLIT, 8 * FLIT, 30 * FLIT], 3);
        let without = play(&net, script.clone()).digest();
        let net = with_lost_time(net);
        let plain = play(&net, script.clone());
        let eager = finish(Play::new(&net, script).ticking(Time(900 * CYCLE.0)));
        assert_eq!(plain.digest(), without, "{context}");
        assert_eq!(sorted(plain), sorted(eager), "{context}");
    }
}

#[test]
fn losses_are_the_same_on_all_schedulers_and_divisions() {
    for (net, context) in variants().into_iter().step_by(9) {
        let net = with_lost_time(net);
        let script = of_three(&net, 150, 150, &[0, FLIT, 6 * FLIT, 40 * FLIT], 8);
        assert_equal_divided(&net, &script, &context);
    }
}

#[test]
fn every_loss_can_be_undone() {
    for (net, context) in variants().into_iter().step_by(11) {
        let mut net = with_lost_time(net);
        net.shape = shape(3, 2, 1, 1);
        let script = of_three(&net, 8, 10, &[0, FLIT, 6 * FLIT, 12 * FLIT], 6);
        assert_can_be_undone(&net, script, &context);
    }
}

#[test]
fn losses_restore_from_a_saved_state() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    for (net, context) in variants().into_iter().step_by(7) {
        let net = with_lost_time(net);
        let script = of_three(&net, 60, 30, &[0, FLIT, 8 * FLIT, 50 * FLIT], 6);
        assert_restores(&net, &script, (&mut random, 1_000), &context);
    }
}

/// A NIC with half of its link's rate pauses after each packet. A message that waits for it then waits for the previous
/// packet; all waits are charged.
#[test]
fn a_wait_for_a_pausing_nic_is_charged_to_the_previous_packet() {
    let mut net = with_lost_time(pipelined(Switching::Wormhole));
    net.params.nic.rate = Some(odonata_units::Bandwidth(FLIT as f64 * 1e9 / 2.0));
    let script = named(vec![of(1, 1, (0, 2), 16 * FLIT), of(0, 1, (0, 3), FLIT)]);
    let mut model = play(&net, script.clone());
    model.assert_complete("charges add up to the waits");
    let (late, lost) = (late(&net, &model, &script, 1), losses(&model, 1));
    // Two packets of eight flits, two cycles for each.
    assert_eq!((late, total(&lost), to(&lost, 1)), (cycles(32), cycles(32), cycles(32)));
}
