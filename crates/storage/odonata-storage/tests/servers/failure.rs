//! Failures of servers: data that are lost, data that are kept, and sums.

use crate::random_operations;
use crate::rig::{MB, Rig, delay, drain, header, ms, plain_device, transfer};
use crate::tiers;
use odonata_engine::Plain;
use odonata_storage::settings::{Acknowledge, LostReads, Policy, ReadPolicy, WritePolicy};
use odonata_storage::{Losses, Outage, Place, RequestHeader, ServerParams, StorageOperation, StorageRequest};
use odonata_units::Time;

fn indexed() -> ServerParams {
    let mut params = plain_device(100 * MB, 100 * MB);
    params.manager.extents = true;
    params.manager.pieces_in_flight = 1;
    params
}

fn outage(from: u64, until: u64) -> Outage {
    Outage {
        from: ms(from),
        until: ms(until),
    }
}

/// A server that fails at `from` and returns at `until`, in a network without latency. Its device takes 1 ms per MB.
fn failing(params: ServerParams, from: u64, until: u64, lost_reads: LostReads) -> Rig {
    Rig::new(vec![params], delay(Time::ZERO)).failing(|_| vec![outage(from, until)], lost_reads)
}

pub(crate) fn losses(rig: &Rig) -> Losses {
    let mut sum = Losses::default();
    rig.servers
        .measured()
        .losses()
        .for_each(|(_, _, losses)| sum.absorb(&losses));
    sum
}

/// A read of a range of another server.
const REROUTED: StorageOperation = StorageOperation::Read {
    rerouted: true,
    tolerates_loss: false,
};

/// A read whose reader accepts lost bytes.
fn tolerant(rerouted: bool) -> StorageOperation {
    StorageOperation::Read {
        rerouted,
        tolerates_loss: true,
    }
}

fn tokens(rig: &Rig) -> Vec<u64> {
    rig.answers.iter().map(|&(_, token, _)| token).collect()
}

#[test]
fn what_was_acknowledged_is_lost_and_what_was_not_is_dropped() {
    let mut rig = failing(indexed(), 20, 1_000, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 5 * MB));
    // Three of its pieces are on the device at 20 ms; the fourth is being written.
    rig.request(Time::from_ns(16_500_000), 0, transfer(true, 2, 6 * MB));
    rig.request(ms(30), 0, transfer(true, 3, MB));
    rig.request(ms(40), 0, transfer(false, 1, MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!(tokens(&rig), [1]);
    let expected = Losses {
        on_devices: 5 * MB,
        in_memory: 0,
        dropped: 3 * MB,
        while_down: 2,
        reads: 0,
    };
    assert_eq!(losses(&rig), expected);
    assert_eq!(
        (rig.servers.measured().used(0), rig.servers.measured().memory_in_use(0)),
        (0, 0)
    );
}

#[test]
fn a_failure_counts_from_its_time_on_whenever_it_is_noticed() {
    let mut rig = failing(indexed(), 20, 1_000, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 5 * MB));
    rig.run::<Plain>();
    assert_eq!(losses(&rig), Losses::default(), "nothing has come to it since");
    rig.servers.fail_until(Time(ms(20).0 - 1));
    assert_eq!(losses(&rig), Losses::default());
    rig.servers.fail_until(ms(20));
    assert_eq!(losses(&rig).lost(), 5 * MB);
    rig.servers.measured().audit().unwrap();
}

#[test]
fn what_is_acknowledged_in_memory_is_lost_with_it() {
    let mut params = indexed();
    params.manager.acknowledge = Acknowledge::Memory;
    let mut rig = failing(params, 2, 1_000, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 5 * MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!(tokens(&rig), [1]);
    assert_eq!((losses(&rig).lost(), losses(&rig).dropped), (5 * MB, 0));
}

#[test]
fn blocks_that_have_left_arrive_and_others_are_lost() {
    let mut params = indexed();
    params.drain = Some(drain(ms(10), 0));
    // On the device by 4 ms; the first block is in flight from 5 ms on, after one read of 1 ms and its wait.
    let mut rig = failing(params, 12, 1_000, LostReads::Error);
    rig.request(ms(0), 0, transfer(true, 1, 4 * MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let below: u64 = rig
        .servers
        .measured()
        .contents(0)
        .filter(|(_, extent)| extent.place == Place::LowerTier)
        .map(|(_, extent)| extent.bytes())
        .sum();
    assert_eq!(below, rig.servers.measured().metrics(0).bytes_drained);
    assert!((MB..4 * MB).contains(&below), "{below}");
    assert_eq!(losses(&rig).lost(), 4 * MB - below);
    assert!(!rig.servers.measured().is_draining(0));
}

#[test]
fn what_is_written_through_is_below_and_what_goes_around_arrives() {
    for write in [WritePolicy::Through, WritePolicy::Around] {
        let mut params = indexed();
        params.next = Some(Policy {
            write,
            ..Policy::default()
        });
        let mut rig = failing(params, 7, 1_000, LostReads::Error);
        rig.request(ms(0), 0, transfer(true, 1, 3 * MB));
        rig.request(Time::from_ns(6_500_000), 0, transfer(true, 2, 4 * MB));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        assert_eq!(losses(&rig).lost(), 0, "{write:?}");
        let places: Vec<Place> = rig
            .servers
            .measured()
            .contents(0)
            .map(|(_, extent)| extent.place)
            .collect();
        assert!(
            places.iter().all(|&place| place == Place::LowerTier),
            "{write:?}: {places:?}"
        );
        assert!(tokens(&rig).contains(&1), "{write:?}");
    }
}

/// Back at 100 ms, empty: 4 MB of the file are lost, of which 1 MB is rewritten.
fn back(lost_reads: LostReads) -> Rig {
    let mut rig = failing(indexed(), 20, 100, lost_reads);
    rig.request(ms(0), 0, transfer(true, 1, 4 * MB));
    rig.request(ms(110), 0, transfer(true, 1, MB));
    rig.request(ms(150), 0, transfer(false, 1, MB));
    let rest = StorageRequest {
        offset: MB / 2,
        ..transfer(false, 1, MB)
    };
    rig.request(ms(200), 0, rest);
    rig.run::<Plain>();
    rig
}

#[test]
fn a_read_of_lost_bytes_is_an_error_or_counted() {
    let rig = back(LostReads::Error);
    assert_eq!((tokens(&rig), &rig.lost), (vec![1, 1, 1], &vec![(MB / 2, MB)]));
    rig.servers.measured().audit().unwrap();
    let rig = back(LostReads::Below);
    assert_eq!((tokens(&rig).len(), rig.lost.len()), (4, 0));
    assert_eq!((losses(&rig).lost(), losses(&rig).reads), (4 * MB, MB / 2));
    assert_eq!(rig.servers.measured().used(0), MB);
    rig.servers.measured().audit().unwrap();
}

#[test]
fn a_read_of_what_another_server_had_is_one_of_lost_bytes_unless_all_is_here() {
    let run = |lost_reads| {
        let mut rig = Rig::new(vec![indexed()], delay(Time::ZERO)).failing(|_| Vec::new(), lost_reads);
        rig.request(ms(0), 0, transfer(true, 1, 2 * MB));
        for (at, bytes) in [(50, 2 * MB), (60, 3 * MB)] {
            let read = StorageRequest {
                operation: REROUTED,
                ..transfer(false, 1, bytes)
            };
            rig.request(ms(at), 0, read);
        }
        rig.run::<Plain>();
        (rig.answers.len(), rig.lost.len(), losses(&rig).reads)
    };
    assert_eq!(run(LostReads::Error), (2, 1, 0));
    assert_eq!(run(LostReads::Below), (3, 0, MB));
}

#[test]
fn a_reader_that_tolerates_loss_gets_a_report_whatever_others_get() {
    for lost_reads in [LostReads::Error, LostReads::Below] {
        let mut rig = failing(indexed(), 20, 100, lost_reads);
        rig.request(ms(0), 0, transfer(true, 1, 4 * MB));
        rig.request(ms(110), 0, transfer(true, 1, MB));
        for (token, offset, rerouted) in [(7, 0, false), (8, MB / 2, false), (9, 3 * MB, true)] {
            let read = StorageRequest {
                header: RequestHeader { token, ..header(1, 0) },
                operation: tolerant(rerouted),
                offset,
                ..transfer(false, 1, MB)
            };
            rig.request(ms(300), 0, read);
        }
        rig.run::<Plain>();
        // The first MB was rewritten. Data that belong to another server do not count as lost here.
        assert_eq!((&rig.reported, rig.lost.len()), (&vec![8, 9], 0));
        assert_eq!(losses(&rig).reads, MB / 2 + MB);
        assert!([7, 8, 9].iter().all(|token| tokens(&rig).contains(token)));
        rig.servers.measured().audit().unwrap();
    }
}

/// Data drained before the failure are kept; only the lower tier knows about data of other servers. No clean copy is
/// kept of lost data.
#[test]
fn the_lower_tier_reports_its_losses_to_a_reader() {
    for (lost_in_lower_tier, rerouted, reported) in [(false, false, 0), (true, false, 1), (false, true, 1)] {
        let policy = Policy {
            read: ReadPolicy::Cache,
            ..Policy::default()
        };
        let mut params = indexed();
        params.next = Some(policy);
        let mut rig = failing(params, 200, 300, LostReads::Error);
        rig.lost_in_lower_tier = lost_in_lower_tier;
        rig.request(ms(0), 0, transfer(true, 1, 2 * MB));
        let read = StorageRequest {
            operation: tolerant(rerouted),
            ..transfer(false, 1, 2 * MB)
        };
        rig.request(ms(400), 0, read);
        rig.run::<Plain>();
        assert_eq!(
            (tokens(&rig).len(), rig.reported.len(), rig.lost.len()),
            (2, reported, 0)
        );
        let copies = rig
            .servers
            .measured()
            .contents(0)
            .any(|(_, extent)| matches!(extent.place, Place::Clean(_)));
        assert_eq!(copies, reported == 0, "{lost_in_lower_tier} {rerouted}");
        rig.servers.measured().audit().unwrap();
    }
}

/// Scenes of random operations with servers that fail and return, once or twice.
pub(crate) fn scene(of: fn(u64) -> Rig, seed: u64) -> Rig {
    let rig = of(seed);
    let indexed: Vec<bool> = (0..rig.servers.measured().len())
        .map(|server| rig.servers.measured().params(server).manager.extents)
        .collect();
    let outages = move |server: u32| match (indexed[server as usize], (u64::from(server) + seed) % 4) {
        (false, _) | (_, 0) => Vec::new(),
        (true, 1) => vec![outage(100 + seed, 1_000_000)],
        (true, 2) => vec![outage(90 + 3 * seed, 91 + 4 * seed)],
        (true, _) => vec![outage(50, 51), outage(150 + seed, 250)],
    };
    rig.failing(outages, [LostReads::Below, LostReads::Error][seed as usize % 2])
}

#[test]
fn whatever_fails_every_byte_is_somewhere_or_lost() {
    let (mut sum, mut unanswered) = (Losses::default(), 0);
    for of in [random_operations::scene, tiers::scene] {
        for seed in 0..60 {
            let mut rig = scene(of, seed);
            rig.run::<Plain>();
            let mut answered = tokens(&rig);
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
            unanswered += rig.lost.len();
        }
    }
    assert!(
        sum.lost() > 0 && sum.dropped > 0 && sum.while_down > 0 && sum.reads > 0 && unanswered > 0,
        "{sum:?}"
    );
}
