//! Servers above another tier: closed forms of each policy, eviction, and undo of random inputs.

use crate::rig::{MB, Network, Rig, contents, for_job, ms, pipelined, plain_device, range, slow_lower_tier, transfer};
use odonata_engine::Plain;
use odonata_engine::{Stream, random::Purpose};
use odonata_storage::settings::{Acknowledge, DrainPolicy, Eviction, Policy, ReadPolicy, Sharing, WritePolicy};
use odonata_storage::{FaultPeriod, Place, ServerParams, ServersBuilder, StorageRequest, TierMetrics};
use odonata_units::{Bytes, Time};

fn above(params: ServerParams, policy: Policy) -> ServerParams {
    let mut params = params;
    params.manager.extents = true;
    params.next = Some(policy);
    params
}

fn metrics(rig: &Rig) -> TierMetrics {
    let of_job = rig
        .servers
        .measured()
        .tier_metrics()
        .find(|&(tier, job, _)| (tier, job) == (0, 0));
    of_job.expect("job 0 is counted").2
}

/// Blocks of 1 MB, 1 ms each to write and 1 ms to read; b of them in flight to the lower tier, with d each. As in a
/// pipeline, they take (n / b) (d + 1) if the lower tier is the bottleneck.
#[test]
fn a_drain_has_as_many_blocks_on_their_way_as_its_reserve_holds() {
    for blocks in [1, 2, 4] {
        let policy = Policy {
            drain: DrainPolicy::JobEnd,
            blocks_in_flight: blocks,
            ..Policy::default()
        };
        let mut rig = Rig::new(
            vec![above(plain_device(100 * MB, 10 * MB), policy)],
            slow_lower_tier(ms(9)),
        );
        rig.request(Time::ZERO, 0, transfer(true, 1, 8 * MB));
        rig.job_ends(ms(50), 0, 0);
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        // The first blocks are read in sequence; each later one when the block before it is stable.
        let rounds = 8 / u64::from(blocks);
        assert_eq!(rig.now, ms(50 + rounds * 10 + u64::from(blocks) - 1), "{blocks} blocks");
        assert_eq!((rig.servers.measured().used(0), metrics(&rig).sent), (0, 8 * MB));
        assert_eq!(contents(&rig), [(1, 0, 8 * MB, Place::LowerTier)]);
        assert!(rig.lower_tier.iter().all(|&(_, write, ..)| write));
    }
}

#[test]
fn write_through_is_acknowledged_when_both_have_it_and_write_around_when_below_has() {
    let time = |write, memory| {
        let policy = Policy {
            write,
            keep: true,
            drain: DrainPolicy::JobEnd,
            ..Policy::default()
        };
        let mut params = above(pipelined(1, plain_device(100 * MB, 10 * MB)), policy);
        if memory {
            params.manager.acknowledge = Acknowledge::Memory;
        }
        let mut rig = Rig::new(vec![params], slow_lower_tier(ms(9)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        (
            rig.answers[0].0,
            contents(&rig)[0].3,
            rig.servers.measured().metrics(0).device_writes,
        )
    };
    // Two pieces in sequence: 1 ms each on the device, 9 ms each in the lower tier.
    assert_eq!(time(WritePolicy::Back, false), (ms(2), Place::Device(0), 2));
    assert_eq!(time(WritePolicy::Through, false), (ms(18), Place::Clean(0), 2));
    assert_eq!(time(WritePolicy::Around, false), (ms(18), Place::LowerTier, 0));
    assert_eq!(time(WritePolicy::Around, true).0, Time::ZERO);
}

#[test]
fn a_server_drains_above_its_watermark_or_while_a_write_waits() {
    let policy = Policy {
        drain: DrainPolicy::AboveWatermark,
        watermark: Bytes(3 * MB),
        blocks_in_flight: 1,
        ..Policy::default()
    };
    let mut rig = Rig::new(
        vec![above(plain_device(10 * MB, 20 * MB), policy)],
        slow_lower_tier(ms(1)),
    );
    rig.request(Time::ZERO, 0, transfer(true, 1, 8 * MB));
    rig.run::<Plain>();
    assert_eq!((rig.servers.measured().used(0), metrics(&rig).sent), (3 * MB, 5 * MB));
    // 9 MB more do not fit: 2 MB of the remaining 3 MB must be drained.
    rig.request(ms(100), 0, transfer(true, 2, 9 * MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!(rig.answers.len(), 2);
    assert_eq!(rig.servers.measured().used(0), 3 * MB);
}

/// Missing data come from the lower tier, the rest from the device; a kept copy serves the next read.
#[test]
fn a_read_fetches_what_is_below_and_may_keep_it() {
    for read in [ReadPolicy::Pass, ReadPolicy::Cache] {
        let policy = Policy {
            drain: DrainPolicy::JobEnd,
            read,
            ..Policy::default()
        };
        let mut rig = Rig::new(
            vec![above(pipelined(1, plain_device(100 * MB, 10 * MB)), policy)],
            slow_lower_tier(ms(9)),
        );
        rig.request(Time::ZERO, 0, range(true, 1, 7, (MB, MB)));
        // An input, written data, another input.
        rig.request(ms(10), 0, range(false, 2, 7, (0, 3 * MB)));
        rig.request(ms(100), 0, range(false, 3, 7, (0, 3 * MB)));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        let first = ms(10 + 9 + 1 + 9);
        let again = if read == ReadPolicy::Cache { 3 } else { 19 };
        // The next piece of the read joins the queue of the device before the copy of this one does.
        let ends: Vec<Time> = rig.answers.iter().map(|&(at, ..)| at).collect();
        assert_eq!(ends, [ms(1), first, ms(100 + again)], "{read:?}");
        let asked: Vec<_> = rig
            .lower_tier
            .iter()
            .take(2)
            .map(|&(_, write, _, offset, bytes)| (write, offset, bytes))
            .collect();
        assert_eq!(asked, [(false, 0, MB), (false, 2 * MB, MB)]);
        let m = metrics(&rig);
        match read {
            ReadPolicy::Pass => assert_eq!((m.fetched, m.inputs), (4 * MB, 0)),
            ReadPolicy::Cache => assert_eq!((m.fetched, m.filled, m.inputs), (2 * MB, 2 * MB, 2 * MB)),
        }
    }
}

/// A device of 4 MB with copies of files 1 to 4, which became clean in this order; file 1 is read again. File 5 needs 1
/// MB.
#[test]
fn clean_copies_make_room_the_oldest_first_unless_they_were_read() {
    for (eviction, leaves) in [(Eviction::Oldest, 1), (Eviction::Lru, 2)] {
        let policy = Policy {
            keep: true,
            eviction,
            ..Policy::default()
        };
        let mut rig = Rig::new(
            vec![above(plain_device(4 * MB, 10 * MB), policy)],
            slow_lower_tier(ms(1)),
        );
        for file in 1..=4 {
            rig.request(ms(10 * file), 0, range(true, file, file, (0, MB)));
        }
        rig.request(ms(100), 0, range(false, 10, 1, (0, MB)));
        rig.request(ms(200), 0, range(true, 11, 5, (0, MB)));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        let gone: Vec<u64> = contents(&rig)
            .into_iter()
            .filter(|&(.., place)| place == Place::LowerTier)
            .map(|(file, ..)| file)
            .collect();
        assert_eq!(gone, [leaves], "{eviction:?}");
        assert_eq!((rig.servers.measured().used(0), metrics(&rig).evicted), (4 * MB, MB));
        // No request waited for the space of a copy.
        assert_eq!(rig.servers.measured().metrics(0).space_wait_ps, 0);
    }
}

#[test]
fn what_is_written_anew_on_its_way_down_goes_down_again() {
    let mut rig = Rig::new(
        vec![above(plain_device(100 * MB, 10 * MB), Policy::default())],
        slow_lower_tier(ms(20)),
    );
    rig.request(ms(0), 0, range(true, 1, 7, (0, MB)));
    rig.request(ms(5), 0, range(true, 2, 7, (0, MB)));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!((metrics(&rig).received, metrics(&rig).sent), (2 * MB, 2 * MB));
    assert_eq!(contents(&rig), [(7, 0, MB, Place::LowerTier)]);
}

const SERVERS: u32 = 4;
const TOKENS: u64 = 150;
/// Synchronizations and stage-ins among the operations.
const EXTRAS: u64 = 40;

/// Servers with few resources and all kinds of policies; the lower tier takes a different time for every block.
pub(crate) fn scene(seed: u64) -> Rig {
    let mut stream = Stream::new(seed, 7, Purpose::Arrival);
    let mut pick = |n: u32| stream.below(n);
    let params: Vec<ServerParams> = (0..SERVERS)
        .map(|number| {
            let policy = Policy {
                write: [
                    WritePolicy::Back,
                    WritePolicy::Back,
                    WritePolicy::Through,
                    WritePolicy::Around,
                ][pick(4) as usize],
                drain: [
                    DrainPolicy::Immediately,
                    DrainPolicy::AboveWatermark,
                    DrainPolicy::JobEnd,
                ][pick(3) as usize],
                watermark: Bytes(u64::from(pick(8)) * MB),
                blocks_in_flight: 1 + pick(5),
                keep: pick(2) == 0,
                eviction: [Eviction::Lru, Eviction::Oldest][pick(2) as usize],
                read: [ReadPolicy::Pass, ReadPolicy::Cache][pick(2) as usize],
                ..Policy::default()
            };
            let policy = Policy {
                read_ahead: match policy.read {
                    ReadPolicy::Cache => Bytes(u64::from(pick(4)) * MB),
                    ReadPolicy::Pass => Bytes::ZERO,
                },
                ..policy
            };
            let mut params = plain_device(u64::from(8 + pick(20)) * MB, u64::from(1 + pick(6)) * MB);
            params.manager.pieces_in_flight = 1 + pick(5);
            params.manager.sharing = [Sharing::Fifo, Sharing::RoundRobin, Sharing::Weighted][pick(3) as usize];
            params.manager.acknowledge = [Acknowledge::Device, Acknowledge::Memory][pick(2) as usize];
            if number == 0 {
                // A server without devices, which forwards everything.
                params.next = Some(Policy {
                    write: WritePolicy::Around,
                    ..Policy::default()
                });
                return params;
            }
            if pick(2) == 0 {
                let device = params.devices[0].clone();
                params.devices.push(device);
                let rules = odonata_device::Rules::by_size(Bytes(2 * MB), "a", "b");
                params.rules = rules.resolve(&["a", "b"]).unwrap();
            }
            above(params, policy)
        })
        .collect();
    let mut times = Stream::new(seed, 8, Purpose::Host);
    let network: Network = Box::new(move |now, _, _, _| now + Time::from_ns(u64::from(times.below(5_000_000))));
    let mut rig = Rig::new(params, network);
    for token in 0..TOKENS {
        let object = u64::from(stream.below(4));
        let offset = u64::from(stream.below(8)) * MB / 2;
        let owner = [0, 1, 2, 5][stream.below(4) as usize];
        let whole = transfer(stream.below(3) > 0, token, u64::from(stream.below(6_000_000)));
        let request = StorageRequest {
            object,
            offset,
            ..for_job(owner, whole)
        };
        let at = Time::from_ns(u64::from(stream.below(400_000_000)));
        rig.request(at, stream.below(SERVERS), request);
    }
    for token in 0..EXTRAS {
        let (at, server) = (
            Time::from_ns(u64::from(stream.below(400_000_000))),
            stream.below(SERVERS),
        );
        let file = u64::from(stream.below(4));
        let token = TOKENS + token;
        match stream.below(2) {
            0 => {
                let owner = (token % 3) as u16;
                rig.sync_of(owner, at, server, (token, file), stream.below(2) == 0);
            }
            _ => {
                let what = StorageRequest {
                    object: file,
                    offset: u64::from(stream.below(8)) * MB / 2,
                    ..transfer(false, token, u64::from(stream.below(6_000_000)))
                };
                rig.stage_in(at, server, what);
            }
        }
    }
    let slow = |server: u32, device: u32| {
        let period = |from: u64, until: u64, thousandths| FaultPeriod {
            from: ms(from),
            until: ms(until),
            thousandths,
        };
        match (server, device) {
            (1, 0) => vec![period(50, 90, 0), period(200, 300, 2_500)],
            _ => Vec::new(),
        }
    };
    let servers = std::mem::replace(&mut rig.servers, ServersBuilder::new(Vec::new()).unwrap().build());
    rig.servers = ServersBuilder::from(servers).with_faults(slow).build();
    for number in 0..EXTRAS {
        let at = Time::from_ns(u64::from(stream.below(500_000_000)));
        rig.remove(at, stream.below(SERVERS), (number, u64::from(stream.below(4))));
    }
    for server in 0..SERVERS {
        for job in [0, 1, 5] {
            rig.job_ends(Time::from_ns(u64::from(stream.below(300_000_000))), server, job);
        }
    }
    rig
}

#[test]
fn every_request_is_answered_and_every_byte_is_in_one_place_whatever_the_policies() {
    let (mut evicted, mut filled, mut removed) = (0, 0, 0);
    for seed in 0..60 {
        let mut rig = scene(seed);
        rig.run::<Plain>();
        rig.servers
            .measured()
            .audit()
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(rig.answers.len() as u64, TOKENS + EXTRAS, "seed {seed}");
        assert_eq!(rig.removals.len() as u64, EXTRAS, "seed {seed}");
        let contents = rig.servers.measured().tier_contents();
        let of_job = |job: u16| rig.servers.measured().removed().filter(move |removed| removed.1 == job);
        removed += rig.servers.measured().removed().map(|(.., bytes)| bytes).sum::<u64>();
        let all = rig.servers.measured().tier_metrics().filter(|&(tier, ..)| tier == 0);
        for (_, job, m) in all {
            let stored = contents.get(&(0, job)).map_or(0, |contents| contents.bytes());
            let gone: u64 = of_job(job).map(|(.., bytes)| bytes).sum();
            assert!(m.received + m.inputs >= stored + gone, "seed {seed}, job {job}");
            (evicted, filled) = (evicted + m.evicted, filled + m.filled);
        }
        let sent: u64 = rig.servers.measured().tier_metrics().map(|(.., m)| m.sent).sum();
        let down: u64 = rig
            .lower_tier
            .iter()
            .filter(|&&(_, write, ..)| write)
            .map(|&(.., bytes)| bytes)
            .sum();
        assert_eq!(sent, down, "seed {seed}");
    }
    assert!(evicted > 0 && filled > 0 && removed > 0);
}
