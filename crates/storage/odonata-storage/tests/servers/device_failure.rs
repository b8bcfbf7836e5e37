//! Failure of one of several devices of a server: losses, continued service, and sums.

use crate::failure::losses;
use crate::rig::{MB, Rig, delay, ms, plain_device, transfer};
use crate::{failure, random_operations, tiers};
use odonata_device::Rules;
use odonata_engine::Plain;
use odonata_storage::settings::{Acknowledge, LostReads};
use odonata_storage::{Losses, Outage, Place, ServerParams};
use odonata_units::{Bytes, Time};

/// Two devices, each 1 ms per MB: "small" takes requests below 2 MB, "large" the others.
fn two_devices() -> ServerParams {
    let mut params = plain_device(100 * MB, 100 * MB);
    params.manager.extents = true;
    params.manager.pieces_in_flight = 1;
    let mut small = params.devices[0].clone();
    params.devices[0].name = "large".into();
    small.name = "small".into();
    params.devices.push(small);
    let rules = Rules::by_size(Bytes(2 * MB), "small", "large");
    params.rules = rules.resolve(&["large", "small"]).unwrap();
    params
}

fn outage(from: u64, until: u64) -> Outage {
    Outage {
        from: ms(from),
        until: ms(until),
    }
}

/// The large device, number 0, fails at `from` and returns at `until`.
fn failing(params: ServerParams, from: u64, until: u64, lost_reads: LostReads) -> Rig {
    Rig::new(vec![params], delay(Time::ZERO))
        .failing(|_| Vec::new(), lost_reads)
        .failing_devices(|_, device| (device == 0).then(|| outage(from, until)).into_iter().collect())
}

#[test]
fn what_the_device_had_is_lost_and_the_other_goes_on() {
    let mut rig = failing(two_devices(), 20, 100, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 5 * MB));
    // The device holds 3 of 6 MB when it fails; meanwhile the other device writes for 1 ms from 19.5 ms on.
    rig.request(Time::from_ns(16_500_000), 0, transfer(true, 2, 6 * MB));
    rig.request(Time::from_ns(19_500_000), 0, transfer(true, 3, MB));
    // Requests during the outage go to the other device; the returned device is empty.
    rig.request(ms(30), 0, transfer(true, 2, 6 * MB));
    rig.request(ms(50), 0, transfer(false, 2, 6 * MB));
    rig.request(ms(110), 0, transfer(true, 4, 4 * MB));
    rig.request(ms(120), 0, transfer(false, 1, MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let at = |n: u64| Time::from_ns(n * 500_000);
    let answers: Vec<(Time, u64)> = rig.answers.iter().map(|&(at, token, _)| (at, token)).collect();
    let expected = [(at(10), 1), (at(41), 3), (at(72), 2), (at(112), 2), (at(228), 4)];
    assert_eq!(answers, expected);
    assert_eq!(
        (rig.given_up.as_slice(), rig.lost.as_slice()),
        (&[2][..], &[(0, MB)][..])
    );
    let expected = Losses {
        on_devices: 5 * MB,
        dropped: 3 * MB,
        ..Losses::default()
    };
    assert_eq!(losses(&rig), expected);
    let on = |device: u8| -> u64 {
        let there = rig
            .servers
            .measured()
            .contents(0)
            .filter(|(_, extent)| extent.place == Place::Device(device));
        there.map(|(_, extent)| extent.bytes()).sum()
    };
    assert_eq!((on(0), on(1)), (4 * MB, 7 * MB));
}

/// A request that waits for a block of memory gets it when its holders are abandoned.
#[test]
fn memory_of_requests_that_are_given_up_goes_to_others() {
    let mut params = two_devices();
    params.manager.memory = Bytes(2 * MB);
    params.manager.pieces_in_flight = 2;
    let mut rig = failing(params, 10, 1_000, LostReads::Error);
    // Two blocks of memory, one of which is at the device.
    rig.request(ms(0), 0, transfer(true, 1, 50 * MB));
    rig.request(ms(1), 0, transfer(true, 2, MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let (at, token, _) = rig.answers[0];
    assert!(token == 2 && at <= ms(11), "{at:?}");
    assert_eq!(
        (rig.servers.measured().memory_in_use(0), rig.given_up.as_slice()),
        (0, &[1][..])
    );
}

#[test]
fn what_was_acknowledged_in_memory_is_lost_and_what_is_synchronized_goes_on() {
    let mut params = two_devices();
    params.manager.acknowledge = Acknowledge::Memory;
    params.manager.pieces_in_flight = 8;
    let mut rig = failing(params, 2, 1_000, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 5 * MB));
    rig.sync(ms(1), 0, (9, 1), false);
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let answers: Vec<(Time, u64)> = rig.answers.iter().map(|&(at, token, _)| (at, token)).collect();
    assert_eq!(
        answers,
        [(ms(0), 1), (ms(2), 9)],
        "nothing of the file is under way any more"
    );
    assert_eq!((losses(&rig).lost(), losses(&rig).dropped), (5 * MB, 0));
}

#[test]
fn a_server_without_devices_answers_no_request() {
    let mut rig = Rig::new(vec![two_devices()], delay(Time::ZERO))
        .failing(|_| Vec::new(), LostReads::Error)
        .failing_devices(|_, device| vec![outage(10 + u64::from(device), 50)]);
    for at in [0, 20, 60] {
        rig.request(ms(at), 0, transfer(true, at, MB));
    }
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!((rig.answers.len(), losses(&rig).while_down), (2, 1));
}

/// Scenes of random operations in which devices fail in addition to servers.
pub(crate) fn scene(of: fn(u64) -> Rig, seed: u64) -> Rig {
    let rig = failure::scene(of, seed);
    let several: Vec<bool> = (0..rig.servers.measured().len())
        .map(|server| rig.servers.measured().params(server).manager.extents)
        .collect();
    rig.failing_devices(move |server, device| {
        let server = server as usize;
        match (several[server], (seed + server as u64 + u64::from(device)) % 3) {
            (false, _) | (_, 0) => Vec::new(),
            (_, 1) => vec![outage(30 + seed, 60 + seed), outage(120, 1_000_000)],
            _ => vec![outage(75 + 2 * seed, 90 + 2 * seed)],
        }
    })
}

#[test]
fn whatever_devices_fail_every_byte_is_somewhere_or_lost() {
    let (mut sum, mut given_up) = (Losses::default(), 0);
    for of in [random_operations::scene, tiers::scene] {
        for seed in 0..80 {
            let mut rig = scene(of, seed);
            rig.run::<Plain>();
            rig.servers.fail_until(Time::LONGEST);
            let mut answered: Vec<u64> = rig.answers.iter().map(|&(_, token, _)| token).collect();
            answered.extend(&rig.given_up);
            answered.sort_unstable();
            let answers = answered.len();
            answered.dedup();
            assert_eq!(answered.len(), answers, "seed {seed}: answered twice");
            if rig.servers.measured().blocked_writes().next().is_none() {
                rig.servers
                    .measured()
                    .audit()
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
            sum.absorb(&losses(&rig));
            given_up += rig.given_up.len();
        }
    }
    assert!(
        sum.on_devices > 0 && sum.in_memory > 0 && sum.dropped > 0 && given_up > 50,
        "{sum:?}, {given_up}"
    );
}
