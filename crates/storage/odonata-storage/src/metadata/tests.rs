use super::*;
use crate::{ClientId, Requester};
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Journalled, Plain, Savepoint, Speculative, Stream};
use std::collections::BTreeMap;

const COST: Time = Time::from_ns(100);

fn servers(threads: u32, serial_directories: bool) -> MetadataServers {
    let params = MetadataParams {
        threads,
        by_directory: false,
        serial_directories,
        costs: [COST; CALLS],
    };
    MetadataServers::new(1, Some(params))
}

fn call(call: MetadataCall, owner: u16, directory: u64) -> MetadataRequest {
    MetadataRequest {
        header: RequestHeader {
            client: ClientId::from(Requester::Rank(0)),
            token: 0,
            owner,
        },
        call,
        directory,
    }
}

fn arrive<M: Mode>(servers: &mut MetadataServers, now: Time, what: MetadataRequest) -> Option<Begun> {
    servers.request::<M>(now, 0, what.header, (what.call, what.directory))
}

/// Lets the calls of `arrivals` arrive, in ascending order of time. Returns the time of each answer, in the order of arrival.
fn answers(servers: &mut MetadataServers, arrivals: &[(Time, MetadataRequest)]) -> Vec<Time> {
    let mut due: BTreeMap<(Time, u32), ()> = BTreeMap::new();
    let mut ends = vec![Time::ZERO; arrivals.len()];
    let mut coming = (0..).zip(arrivals).peekable();
    loop {
        let next_end = due.keys().next().copied();
        match (coming.peek(), next_end) {
            (Some(&(token, &(at, what))), end) if end.is_none_or(|(end, _)| at < end) => {
                coming.next();
                let header = RequestHeader { token, ..what.header };
                let begun = arrive::<Plain>(servers, at, MetadataRequest { header, ..what });
                due.extend(begun.map(|begun| ((begun.at, begun.slot), ())));
            }
            (_, Some((end, slot))) => {
                due.remove(&(end, slot));
                let (_, header, begun) = servers.done::<Plain>(end, slot).unwrap();
                ends[header.token as usize] = end;
                due.extend(begun.map(|begun| ((begun.at, begun.slot), ())));
            }
            _ => return ends,
        }
    }
}

/// n calls of c each at once, k threads: the i-th (from 1) is answered ceil(i / k) c later.
#[test]
fn calls_that_arrive_together_are_answered_in_waves() {
    for (n, k) in [(1, 1), (7, 1), (7, 2), (64, 16), (65, 16), (3, 16)] {
        let mut servers = servers(k, false);
        let together = vec![(Time::from_ns(5), call(MetadataCall::Open, 0, 9)); n];
        let ends = answers(&mut servers, &together);
        for (i, end) in ends.iter().enumerate() {
            let waves = (i as u64 + 1).div_ceil(u64::from(k));
            assert_eq!(
                *end,
                Time::from_ns(5) + COST.times(waves),
                "{n} calls, {k} threads, call {i}"
            );
        }
        let metrics = servers.metrics().next().unwrap();
        assert_eq!(metrics.calls[MetadataCall::Open as usize], n as u64);
        assert_eq!(metrics.busy_ps, u128::from(COST.times(n as u64).0));
        // Calls k i + 1 to k (i + 1) wait i waves.
        let waited: u64 = (0..n as u64).map(|i| i / u64::from(k)).sum();
        assert_eq!(metrics.thread_wait_ps, u128::from(COST.times(waited).0));
        assert_eq!(metrics.peak_waiting, (n as u32).saturating_sub(k));
        assert_eq!(metrics.longest, *ends.last().unwrap() - Time::from_ns(5));
        servers.audit().unwrap();
    }
}

/// Creates in one directory are serial, those of two directories do not interfere, and a lookup waits for neither.
#[test]
fn changes_of_a_directory_are_served_one_after_the_other() {
    let together: Vec<_> = [0, 0, 1, 0, 1]
        .map(|directory| (Time::ZERO, call(MetadataCall::Create, 0, directory)))
        .into_iter()
        .chain([(Time::ZERO, call(MetadataCall::Stat, 0, 0))])
        .collect();
    let waves = |ends: Vec<Time>| ends.into_iter().map(|end| end.0 / COST.0).collect::<Vec<_>>();
    let mut serial = servers(16, true);
    assert_eq!(waves(answers(&mut serial, &together)), [1, 2, 1, 3, 2, 1]);
    let metrics = serial.metrics().next().unwrap();
    assert_eq!(metrics.directory_wait_ps, u128::from(COST.times(1 + 2 + 1).0));
    assert_eq!((metrics.thread_wait_ps, metrics.peak_waiting), (0, 3));
    serial.audit().unwrap();
    assert_eq!(waves(answers(&mut servers(16, false), &together)), [1; 6]);
    // One thread serves them in the order in which they can go on.
    assert_eq!(waves(answers(&mut servers(1, true), &together)), [1, 4, 2, 6, 5, 3]);
}

/// Mean wait of Poisson arrivals at one server with a constant service time (Pollaczek and Khinchine): `rho c / (2 (1 - rho))`.
#[test]
fn waits_of_random_arrivals_are_those_of_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let mut random = Stream::new(11, 0, Purpose::Host);
        let (mut at, gap) = (0.0, COST.0 as f64 / load);
        let arrivals: Vec<_> = (0..200_000)
            .map(|_| {
                at -= gap * (1.0 - random.unit()).ln();
                (Time(at as u64), call(MetadataCall::Stat, 0, 0))
            })
            .collect();
        let mut servers = servers(1, false);
        answers(&mut servers, &arrivals);
        let metrics = servers.metrics().next().unwrap();
        let mean = metrics.thread_wait_ps as f64 / arrivals.len() as f64;
        let expected = load * COST.0 as f64 / (2.0 * (1.0 - load));
        assert!(
            (mean / expected - 1.0).abs() < 0.05,
            "load {load}: {mean} instead of {expected}"
        );
    }
}

/// The call of job 0 waits for a storm of job 1, behind it in the queue.
#[test]
fn a_call_behind_a_storm_charges_the_storm() {
    let mut servers = servers(1, false).with_blame(2, None, false);
    let mut arrivals = vec![(Time::ZERO, call(MetadataCall::Open, 1, 0)); 10];
    arrivals.push((Time::from_ns(50), call(MetadataCall::Open, 0, 0)));
    answers(&mut servers, &arrivals);
    let charges: Vec<_> = servers
        .blame()
        .map(|charge| (charge.victim, charge.culprit, charge.directory, charge.time))
        .collect();
    // Calls of job 1 wait for each other: 1 + 2 + ... + 9 of them.
    let own = COST.times(45);
    let other = COST.times(10) - Time::from_ns(50);
    assert_eq!(charges, [(0, Some(1), false, other), (1, Some(1), false, own)]);
    servers.audit().unwrap();
}

#[test]
fn a_wait_for_a_directory_is_charged_to_its_changes() {
    let mut servers = servers(16, true).with_blame(3, None, false);
    let arrivals: Vec<_> = [(1, 7), (1, 7), (2, 7), (0, 7), (2, 8), (2, 8)]
        .map(|(owner, directory)| (Time::ZERO, call(MetadataCall::Create, owner, directory)))
        .to_vec();
    answers(&mut servers, &arrivals);
    let charges: Vec<_> = servers
        .blame()
        .map(|charge| (charge.victim, charge.culprit, charge.time.0 / COST.0))
        .collect();
    // In directory 7: 1 for 1, 2 for 1 and 1, 0 for 1, 1 and 2; in directory 8: 2 for 2.
    let expected = [
        (0, Some(1), 2),
        (0, Some(2), 1),
        (1, Some(1), 1),
        (2, Some(1), 2),
        (2, Some(2), 1),
    ];
    assert_eq!(charges, expected);
    assert!(servers.blame().all(|charge| charge.directory));
    servers.audit().unwrap();
}

#[test]
fn files_are_spread_over_servers_and_directories_are_not() {
    let name = |directory, file| MetadataName {
        root: 3,
        directory,
        file,
    };
    let mut counts = [0; 4];
    for file in 0..4_000 {
        counts[name(1, file).server(4, false) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    let of_files: Vec<u32> = (0..100).map(|file| name(1, file).server(4, true)).collect();
    assert!(of_files.iter().all(|server| *server == of_files[0]));
    let of_directories = (0..100).map(|directory| name(directory, 0).server(4, true));
    assert_eq!(of_directories.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

/// A stall of 30 ns delays a call, and the calls behind it, by 30 ns.
#[test]
fn a_server_that_stands_still_goes_on_where_it_was() {
    let stall = FaultPeriod {
        from: Time::from_ns(50),
        until: Time::from_ns(80),
        thousandths: 0,
    };
    let mut servers = servers(1, false).with_faults(|_| vec![stall]);
    let ends = answers(&mut servers, &[(Time::ZERO, call(MetadataCall::Open, 0, 0)); 2]);
    assert_eq!(ends, [Time::from_ns(130), Time::from_ns(230)]);
    servers.audit().unwrap();
}

/// Two calls are in service and one waits when the server fails at 150 ns. One call arrives while the server is away, and one after
/// its return at 400 ns.
#[test]
fn a_failed_server_answers_no_call_and_restarts_empty() {
    let away = Outage {
        from: Time::from_ns(150),
        until: Time::from_ns(400),
    };
    let mut servers = servers(1, true)
        .with_blame(2, None, false)
        .with_failures(|_| vec![away]);
    let at = |at: u64, owner| (Time::from_ns(at), call(MetadataCall::Create, owner, 1));
    let mut due = Vec::new();
    for (now, what) in [at(100, 0), at(110, 1), at(200, 0), at(400, 1)] {
        due.extend(arrive::<Plain>(&mut servers, now, what));
    }
    let answered: Vec<bool> = due
        .iter()
        .map(|begun| servers.done::<Plain>(begun.at, begun.slot).is_some())
        .collect();
    assert_eq!(answered, [false, true]);
    // The wait until the failure is charged to a call that was in service then.
    let charges: Vec<_> = servers.blame().map(|c| (c.victim, c.culprit, c.time)).collect();
    assert_eq!(charges, [(1, Some(0), Time::from_ns(40))]);
    assert_eq!(servers.metrics().next().unwrap().calls.iter().sum::<u64>(), 1);
    servers.audit().unwrap();
}

/// A step of a random history: a call that arrives, or the next end of one.
fn step<M: Mode>(servers: &mut MetadataServers, random: &mut Stream, due: &mut BTreeMap<(Time, u32), ()>, now: Time) {
    let ready = due.keys().next().copied().filter(|&(end, _)| end <= now);
    let begun = match ready {
        Some((end, slot)) => {
            due.remove(&(end, slot));
            servers.done::<M>(now, slot).and_then(|(_, _, begun)| begun)
        }
        None => {
            let what = MetadataRequest {
                call: MetadataCall::ALL[random.below(8) as usize],
                ..call(MetadataCall::Open, random.below(3) as u16, random.below(3).into())
            };
            arrive::<M>(servers, now, what)
        }
    };
    due.extend(begun.map(|begun| ((begun.at, begun.slot), ())));
}

#[test]
fn every_input_of_random_histories_can_be_taken_back() {
    let print = |servers: &MetadataServers| {
        let mut digest = Digest::new();
        servers.fingerprint(&mut digest);
        digest.value()
    };
    for seed in 0..40 {
        let mut random = Stream::new(seed, 0, Purpose::Host);
        let mut servers = servers(1 + seed as u32 % 3, seed % 2 == 0).with_blame(3, Some(COST), false);
        if seed % 4 < 2 {
            let outage = |from, until| Outage {
                from: Time::from_ns(from),
                until: Time::from_ns(until),
            };
            servers = servers.with_failures(|_| vec![outage(500 + 7 * seed, 900), outage(6_000, 6_001 + 9 * seed)]);
        }
        let mut due = BTreeMap::new();
        for round in 0..300u32 {
            let now = Time::from_ns(u64::from(round) * 40);
            let before = print(&servers);
            let point = Savepoint(round);
            point.begin();
            let (mut tried, mut other) = (due.clone(), random);
            step::<Speculative>(&mut servers, &mut other, &mut tried, now);
            let after = print(&servers);
            servers.undo(point);
            assert_eq!(print(&servers), before, "seed {seed} round {round}");
            step::<Plain>(&mut servers, &mut random, &mut due, now);
            assert_eq!(print(&servers), after, "seed {seed} round {round}");
        }
        assert!(servers.metrics().next().unwrap().calls.iter().sum::<u64>() > 80);
    }
}

/// A run that ends during waits reports their lengths, with an unknown culprit.
#[test]
fn waits_that_have_not_ended_are_charged() {
    let mut servers = servers(1, true).with_blame(2, None, false);
    for (owner, kind) in [
        (0, MetadataCall::Create),
        (1, MetadataCall::Create),
        (1, MetadataCall::Open),
    ] {
        arrive::<Plain>(&mut servers, Time::ZERO, call(kind, owner, 0));
    }
    servers.charge_open_waits(Time::from_ns(30));
    let charges: Vec<_> = servers
        .blame()
        .map(|c| (c.victim, c.culprit, c.directory, c.time))
        .collect();
    let waited = Time::from_ns(30);
    assert_eq!(charges, [(1, None, false, waited), (1, None, true, waited)]);
}
