//! Lost time of messages: equal sums with and without places.

use crate::common::*;
use odonata_blame::lost::{Carried, Kind, Loss, LostAt, Origin, add, total, without_places};
use odonata_engine::Time;

/// Messages of three traffics.
fn script(net: &Net) -> Vec<Scripted> {
    let mut script = random_messages(net, 250, 300, &SIZES, 7);
    script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
    script
}

/// Losses of some messages from before their submission: by all culprits, their own traffic included, in all kinds of
/// waits.
fn before(name: u32) -> Carried {
    let mut losses = Vec::new();
    for n in 0..name % 5 {
        let loss = Loss {
            culprit: ((name + n) % 3) as u16,
            kind: Kind::ALL[(name / 3 + 2 * n) as usize % Kind::ALL.len()],
            place: LostAt::NOWHERE,
            time: Time(u64::from(n + 1) * 3 * CYCLE.0 + u64::from(name)),
        };
        add(&mut losses, loss);
    }
    Carried {
        origin: Origin::NONE,
        losses,
    }
}

/// The losses of messages at arrival, in the order of their names, without places.
pub(crate) fn lost(net: &Net, places: bool) -> Vec<(u32, Vec<Loss>)> {
    let mut net = net.clone();
    (net.params.lost_time, net.params.lost_places) = (true, places);
    let mut played = finish(Play::new(&net, script(&net)).carrying(before));
    played.assert_complete("lost time");
    let losses = std::mem::take(&mut played.losses);
    let mut plain: Vec<(u32, Vec<Loss>)> = (losses.into_iter())
        .map(|(name, Carried { mut losses, .. })| {
            let known = losses.iter().any(|loss| loss.place != LostAt::NOWHERE);
            assert!(places || !known, "{losses:?}");
            assert!(
                losses.is_sorted_by_key(|loss| (loss.culprit, loss.kind, loss.place)),
                "{losses:?}"
            );
            without_places(&mut losses);
            (name, losses)
        })
        .collect();
    plain.sort_unstable();
    plain
}

/// Without places, the losses of the own traffic are shared, and waits for it are two sums; with places every loss is
/// separate. For every message, the losses by culprit and kind of wait are equal to the picosecond.
#[test]
fn places_change_no_sum_on_any_fabric() {
    let mut kinds = std::collections::BTreeSet::new();
    every_fabric(|net, _, context| {
        let mut net = net.clone();
        net.params.traffics = 3;
        let (with, without) = (lost(&net, true), lost(&net, false));
        assert_eq!(without, with, "{context}");
        let all: Vec<Loss> = without.into_iter().flat_map(|(_, losses)| losses).collect();
        assert!(total(&all) > Time::ZERO, "{context}");
        kinds.extend(all.iter().map(|loss| loss.kind));
    });
    assert_eq!(kinds.len(), Kind::ALL.len(), "{kinds:?}");
}

/// A message of two packets of 8 flits has the NIC from cycle 1 to cycle 17. Another job's message, submitted while the
/// first packet is sent, waits for both: 14 cycles, by which it arrives late.
#[test]
fn a_message_behind_a_partly_sent_one_loses_its_whole_wait() {
    let mut net = Net::round(shape(3, 2, 2, 1));
    net.params.traffics = 2;
    net.params.lost_time = true;
    let at = |cycle: u64, target, traffic, bytes| Scripted {
        traffic,
        ..message(Time(cycle * CYCLE.0), 0, target, bytes)
    };
    let late = at(3, 1, 1, 8 * FLIT);
    let alone = play(&net, named(vec![late]));
    let both = play(&net, named(vec![at(1, 2, 0, 16 * FLIT), late]));
    let wait = Time(14 * CYCLE.0);
    assert_eq!(both.arrival(1) - alone.arrival(0), wait);
    let (_, lost) = both.losses.iter().find(|&&(name, _)| name == 1).unwrap();
    let expected = Loss {
        culprit: 0,
        kind: Kind::Link,
        place: LostAt::NOWHERE,
        time: wait,
    };
    assert_eq!(lost.losses, [expected]);
}
