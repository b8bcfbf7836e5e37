//! Clients of unresponsive servers: retries, giving up, and rerouting.

use super::storage::{random_files, read, write};
use super::*;
use odonata_storage::settings::{Client, LostReads, OnFailure};
use odonata_storage::{FaultPeriod, Losses, Outage};

pub(super) fn client(retries: u32, on_failure: OnFailure) -> Client {
    Client {
        timeout: Time::from_ns(50_001),
        retries,
        backoff: Time(7_000_003),
        on_failure,
        lost_reads: LostReads::Below,
    }
}

/// `(1 + k) T + (2^k - 1) b`: all attempts and the backoff between them.
pub(super) fn in_vain(client: Client) -> Time {
    client.timeout.times(1 + u64::from(client.retries)) + client.backoff.times((1 << client.retries) - 1)
}

pub(super) fn away(from: Time) -> Outage {
    Outage {
        from,
        until: Time::BEYOND,
    }
}

pub(super) fn of_server(server: u32, outage: Outage) -> ServerOutage {
    ServerOutage {
        server,
        device: None,
        outage,
    }
}

/// Two servers that track their contents, and a rank that uses the first one.
fn setup(kinds: Vec<OpKind>, client: Client) -> Setup {
    let mut setup = Setup::new().server(40, 1 << 40).server(56, 1 << 40);
    for server in &mut setup.servers {
        server.manager.extents = true;
    }
    setup.params.client = Some(client);
    setup.script(vec![sequence(kinds)], &[0])
}

pub(super) fn losses(machine: &TestMachine) -> Losses {
    let mut sum = Losses::default();
    machine
        .hosts
        .servers()
        .losses()
        .for_each(|(_, _, losses)| sum.absorb(&losses));
    sum
}

#[test]
fn a_call_to_an_absent_server_fails_after_all_timeouts_and_backoffs() {
    for retries in 0..6 {
        let client = client(retries, OnFailure::Error);
        let mut setup = setup(vec![compute(123), write(1_000)], client);
        setup.outages = vec![of_server(0, away(Time::ZERO))];
        let machine = setup.run();
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!("{:?}", machine.outcome());
        };
        assert_eq!(kind, FailureKind::ServerFailed);
        assert!(
            text.contains("server 0 has not answered any attempt at the write called at 0.000000123 s"),
            "{text}"
        );
        let (at, _) = machine.hosts.first_failure().unwrap();
        assert_eq!(at, Time::from_ns(123) + in_vain(client), "{retries} retries");
        let (jobs, servers) = machine.hosts.io.client.counts();
        let tries = u64::from(retries);
        assert_eq!(
            (jobs[0].timeouts, jobs[0].retries, jobs[0].rerouted),
            (tries + 1, tries, 0)
        );
        assert_eq!((servers[0], servers[1]), (jobs[0], Default::default()));
        assert_eq!(losses(&machine).while_down, tries + 1);
    }
}

#[test]
fn a_rank_reroutes_to_the_next_server_and_remembers_it() {
    let client = client(2, OnFailure::ReRoute);
    // The same for a rank assigned to the other server.
    let alone = |second: OpKind| {
        let mut setup = setup(vec![write(3_000), second], client);
        setup.jobs[0].servers = vec![1];
        setup.complete().hosts.observers.records.io().to_vec()
    };
    for second in [write(3_000), read(3_000)] {
        let mut setup = setup(vec![write(3_000), second], client);
        setup.outages = vec![of_server(0, away(Time::ZERO))];
        let machine = setup.complete();
        let (rows, alone) = (machine.hosts.observers.records.io(), alone(second));
        assert_eq!(
            rows[0].end - rows[0].start,
            in_vain(client) + (alone[0].end - alone[0].start)
        );
        assert_eq!(
            rows[1].end - rows[1].start,
            alone[1].end - alone[1].start,
            "it knows now"
        );
        assert_eq!((rows[0].timeouts, rows[1].timeouts), (3, 0));
        let (jobs, servers) = machine.hosts.io.client.counts();
        assert_eq!((jobs[0].timeouts, jobs[0].retries, jobs[0].rerouted), (3, 2, 6_000));
        assert_eq!(servers[1], Default::default());
        assert_eq!(losses(&machine).reads, 0, "it reads what it has written there");
    }
}

#[test]
fn late_answers_are_ignored_and_repeated_requests_are_written_twice() {
    let us = |n: u64| Time::from_ns(1_000 * n);
    let mut patient = client(1, OnFailure::Error);
    (patient.timeout, patient.backoff) = (us(50), us(60));
    let mut setup = setup(vec![write(1_000), read(1_000)], patient);
    let alone = setup.complete().hosts.observers.records.io()[0].end;
    // The answer to the first attempt arrives after 100 us, between timeout and second attempt.
    setup.slow = vec![FaultPeriod {
        from: Time::ZERO,
        until: us(100),
        thousandths: 0,
    }];
    let machine = setup.complete();
    let rows = machine.hosts.observers.records.io();
    assert_eq!((rows[0].timeouts, rows[1].timeouts), (1, 0));
    assert_eq!(rows[0].end, us(110) + alone);
    assert_eq!(machine.hosts.servers().metrics(0).bytes_written, 2_000);
    assert_eq!(machine.hosts.metrics(0, 0).bytes_written, 1_000);
    // The second attempt is in progress when the first is answered, and is served after it.
    setup.params.client.as_mut().unwrap().backoff = us(45);
    let machine = setup.complete();
    let row = machine.hosts.observers.records.io()[0];
    assert!(
        row.timeouts == 1 && row.end > us(95) + alone && row.end < us(145),
        "{row:?}"
    );
}

#[test]
fn a_rank_without_a_working_server_fails() {
    let mut setup = setup(vec![write(1_000)], client(0, OnFailure::ReRoute));
    setup.outages = vec![of_server(0, away(Time::ZERO)), of_server(1, away(Time::ZERO))];
    let machine = setup.run();
    let (at, _) = machine.hosts.first_failure().unwrap();
    assert_eq!(at, setup.params.client.unwrap().timeout.times(2));
}

#[test]
fn lost_bytes_are_read_as_an_error_or_counted() {
    let run = |lost_reads, outage| {
        let client = Client {
            lost_reads,
            ..client(1, OnFailure::ReRoute)
        };
        let mut setup = setup(vec![write(3_000), compute(500_000), read(3_000)], client);
        setup.outages = vec![of_server(0, outage)];
        setup.run()
    };
    let for_good = away(Time::from_ns(400_000));
    // Back before it is asked: the server itself knows what it has lost.
    let until = Time::from_ns(450_000);
    for outage in [for_good, Outage { until, ..for_good }] {
        let machine = run(LostReads::Error, outage);
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!("{:?}", machine.outcome());
        };
        assert_eq!(kind, FailureKind::ServerFailed);
        assert!(text.contains("lost_reads"), "{text}");
        let machine = run(LostReads::Below, outage);
        assert_eq!(machine.outcome(), HostOutcome::Completed);
        assert_eq!((losses(&machine).lost(), losses(&machine).reads), (3_000, 3_000));
    }
}

/// Random accesses to servers, two of which fail, one of them twice.
pub(super) fn random_failures(seed: u64) -> Setup {
    let mut random = Stream::new(seed, 2, Purpose::Host);
    let mut setup = random_files(seed);
    for server in &mut setup.servers {
        server.manager.extents = true;
    }
    setup.params.client = Some(Client {
        timeout: Time::from_ns([12_000, 20_000, 60_000][random.below(3) as usize]),
        retries: random.below(3),
        backoff: Time::from_ns(u64::from(random.below(2)) * 3_000),
        on_failure: OnFailure::ReRoute,
        lost_reads: LostReads::Below,
    });
    let mut at = |least: u32| Time::from_ns(u64::from(least + random.below(25_000)));
    let (first, second, third) = (at(0), at(30_000), at(0));
    setup.outages = vec![
        of_server(0, away(first)),
        of_server(
            1,
            Outage {
                from: third,
                until: third + Time::from_ns(15_000),
            },
        ),
        of_server(1, away(second + Time::from_ns(15_000))),
    ];
    setup
}

#[test]
fn random_accesses_with_failures_complete_or_report_a_failure() {
    let (mut completed, mut sum) = (0, Losses::default());
    for seed in 0..200 {
        let mut machine = random_failures(seed).run();
        machine.hosts.fail_servers(Time::LONGEST);
        sum.absorb(&losses(&machine));
        match machine.outcome() {
            HostOutcome::Completed => {
                completed += 1;
                let audit = machine.hosts.audit();
                audit.unwrap_or_else(|text| panic!("seed {seed}: {text}"));
            }
            HostOutcome::Failed { kind, .. } => assert_eq!(kind, FailureKind::ServerFailed, "seed {seed}"),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(completed > 100, "{completed}");
    assert!(
        sum.lost() > 0 && sum.dropped > 0 && sum.while_down > 0 && sum.reads > 0,
        "{sum:?}"
    );
}

#[test]
fn every_event_with_failures_can_be_undone_and_redone() {
    take_back(0..3, random_failures);
}

#[test]
#[ignore = "takes long"]
fn more_events_with_failures_can_be_taken_back_and_redone() {
    take_back(3..12, random_failures);
}

pub(super) fn take_back(seeds: std::ops::Range<u64>, setup_of: fn(u64) -> Setup) {
    for seed in seeds {
        let setup = setup_of(seed);
        let redone = redo_every_event(&setup, seed);
        let machine = setup.run();
        // The harness continues after the run was halted.
        if machine.outcome() == HostOutcome::Completed {
            assert_eq!(redone, digest(&machine), "seed {seed}");
        }
    }
}
