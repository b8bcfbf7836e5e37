//! Failures of devices, metadata servers and lower tiers, locks of failed servers, and the ledger of the waits that
//! they cause.

use super::retries::{away, client, in_vain, losses, of_server, take_back};
use super::storage::{read, write};
use super::*;
use odonata_device::Rules;
use odonata_storage::settings::{Client, LostReads, OnFailure, Policy};
use odonata_storage::{FAULT, METADATA_CALLS, METADATA_FAULT, MetadataParams, Outage};
use odonata_workload::OpKind;

const COST: Time = Time::from_ns(30_000);

/// A storage server on node 40 and metadata servers on 50 and 51, and a rank that opens a file.
fn opens(on_failure: OnFailure) -> Setup {
    let mut setup = Setup::new().server(40, 1 << 40);
    setup.servers[0].manager.extents = true;
    setup.metadata_nodes = vec![50, 51];
    setup.params.metadata = Some(MetadataParams {
        threads: 1,
        by_directory: false,
        serial_directories: true,
        costs: [COST; METADATA_CALLS],
    });
    setup.params.client = Some(client(2, on_failure));
    setup.params.ledger = Some(LedgerParams {
        jobs: 1,
        interval: None,
    });
    let ops = [compute(123), OpKind::Open { file: 5 }, OpKind::Open { file: 5 }];
    setup.script(vec![sequence(ops)], &[0])
}

/// (server, resource, time) of the waits charged to faults.
fn charged(machine: &TestMachine) -> Vec<(u32, u8, Time)> {
    let measured = HostMeasured::join([machine.hosts.measured(Time::NEVER)]).unwrap();
    let faults = measured.blame.iter().filter(|charge| charge.culprit.is_none());
    faults
        .map(|charge| (charge.server, charge.resource, charge.time))
        .collect()
}

/// The server with the metadata of the file: 1 or 2.
fn home() -> u32 {
    let machine = opens(OnFailure::Error).complete();
    machine.hosts.observers.records.io()[0].server
}

#[test]
fn a_call_to_an_absent_metadata_server_is_retried_and_rerouted() {
    let home = home();
    let mut setup = opens(OnFailure::ReRoute);
    setup.outages = vec![of_server(home, away(Time::ZERO))];
    let machine = setup.complete();
    let rows = machine.hosts.observers.records.io();
    let patience = in_vain(setup.params.client.unwrap());
    let other = 3 - home;
    // The other server serves both calls; apart from the timeouts, they take equally long.
    assert!(rows[0].end - rows[0].start > patience + COST, "{rows:?}");
    let alone = rows[0].end - rows[0].start - patience;
    assert_eq!(rows[1].end - rows[1].start, alone, "it knows now");
    assert_eq!((rows[0].timeouts, rows[1].timeouts), (3, 0));
    assert_eq!(charged(&machine), [(home, METADATA_FAULT, patience)]);
    let calls: Vec<u64> = machine
        .hosts
        .io
        .metadata
        .metrics()
        .map(|(_, m)| m.calls.iter().sum())
        .collect();
    assert_eq!(calls[other as usize - 1], 2);

    let mut setup = opens(OnFailure::Error);
    setup.outages = vec![of_server(home, away(Time::ZERO))];
    let machine = setup.run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!("{:?}", machine.outcome());
    };
    assert_eq!(kind, FailureKind::ServerFailed);
    assert!(
        text.contains(&format!(
            "metadata server {home} has not answered any attempt at the open"
        )),
        "{text}"
    );
    assert_eq!(machine.hosts.first_failure().unwrap().0, Time::from_ns(123) + patience);
}

/// The server fails during the call and is back for the third attempt.
#[test]
fn a_metadata_server_that_returns_answers_a_later_attempt() {
    let home = home();
    let mut setup = opens(OnFailure::Error);
    let (from, until) = (Time::from_ns(20_000), Time::from_ns(115_000));
    setup.outages = vec![of_server(home, Outage { from, until })];
    let machine = setup.complete();
    let rows = machine.hosts.observers.records.io();
    let client = setup.params.client.unwrap();
    let third = rows[0].start + client.timeout.times(2) + client.backoff.times(3);
    assert_eq!(rows[0].timeouts, 2);
    assert_eq!(rows[0].end, third + (rows[1].end - rows[1].start));
    assert_eq!(charged(&machine), [(home, METADATA_FAULT, third - from)]);
}

/// Two nodes write alternately to one range. The server fails while a lock is in flight and another request holds its
/// own, and returns.
#[test]
fn locks_of_a_failed_server_block_no_request() {
    let mut alone = None;
    for at in [
        0, 4_000, 8_000, 9_000, 10_000, 11_000, 12_000, 13_000, 14_000, 16_000, 20_000, 30_000,
    ] {
        let mut setup = Setup::new().server(40, 1 << 40);
        setup.servers[0].manager.extents = true;
        setup.params.locks = Some(odonata_storage::Locks {
            granularity: Bytes(4_096),
            revocation: Time::from_ns(2_000),
        });
        setup.params.client = Some(client(9, OnFailure::Error));
        setup.params.ledger = Some(LedgerParams {
            jobs: 1,
            interval: None,
        });
        let ranks = (0..3).map(|_| sequence([write(3_000), write(3_000)])).collect();
        let mut setup = setup.script(ranks, &[0, 2, 9]);
        setup.jobs[0].files.layout = odonata_storage::FileLayout::new(odonata_storage::Layout::Hash, 1, 1, "job");
        if at > 0 {
            let from = Time::from_ns(at);
            let until = from + Time::from_ns(60_000);
            setup.outages = vec![of_server(0, Outage { from, until })];
        }
        let mut machine = setup.run();
        machine.hosts.fail_servers(Time::LONGEST);
        assert_eq!(machine.outcome(), HostOutcome::Completed, "{at}");
        machine.hosts.audit().unwrap_or_else(|text| panic!("{at}: {text}"));
        assert_eq!(machine.hosts.metrics(0, 2).bytes_written, 6_000);
        let end = (0..3).map(|rank| machine.hosts.metrics(0, rank).end).max().unwrap();
        match alone {
            None => alone = Some(end),
            Some(alone) if at < 20_000 => assert!(end > alone + Time::from_ns(50_000), "{at}"),
            Some(_) => {}
        }
    }
}

/// The device of a write fails during the access: the server answers the second attempt with its other device. The lock
/// of the first attempt is released, so that another node gets it.
#[test]
fn a_server_continues_without_a_failed_device() {
    let mut setup = Setup::new().server(40, 1 << 40);
    let params = &mut setup.servers[0];
    params.manager.extents = true;
    let mut small = params.devices[0].clone();
    params.devices[0].name = "large".into();
    small.name = "small".into();
    params.devices.push(small);
    params.rules = Rules::by_size(Bytes(2_000), "small", "large")
        .resolve(&["large", "small"])
        .unwrap();
    setup.params.locks = Some(odonata_storage::Locks::default());
    let patient = Client {
        timeout: Time::from_ns(200_000),
        ..client(2, OnFailure::Error)
    };
    setup.params.client = Some(patient);
    setup.params.ledger = Some(LedgerParams {
        jobs: 1,
        interval: None,
    });
    let ops = || sequence([write(30_000), read(30_000)]);
    let mut setup = setup.script(vec![ops(), ops()], &[0, 2]);
    setup.jobs[0].files.layout = odonata_storage::FileLayout::new(odonata_storage::Layout::Hash, 1, 1, "job");
    setup.complete();
    let from = Time::from_ns(25_000);
    setup.outages = vec![ServerOutage {
        server: 0,
        device: Some(0),
        outage: away(from),
    }];
    let machine = setup.complete();
    let (lost, rows) = (losses(&machine), machine.hosts.observers.records.io());
    assert!(lost.dropped > 0 && lost.lost() == 0 && lost.while_down == 0, "{lost:?}");
    // The other rank has waited for the lock and gets it when the device fails.
    assert_eq!(rows.iter().map(|row| row.timeouts).sum::<u32>(), 1, "{rows:?}");
    let waited = patient.timeout + patient.backoff - from;
    assert_eq!(charged(&machine), [(0, FAULT, waited)]);
}

/// Two burst buffers that drain into two servers of a lower tier, one of which is away from `outage` on; with
/// `outside`, the servers are object servers of a file system.
fn drains(outage: Option<Outage>, on_failure: OnFailure, outside: Option<Outside>) -> Setup {
    let mut setup = Setup::new();
    for node in [40, 42, 50, 52] {
        setup = setup.server(node, 1 << 40);
    }
    for server in &mut setup.servers {
        server.manager.extents = true;
    }
    for server in &mut setup.servers[..2] {
        server.next = Some(Policy::default());
    }
    for server in &mut setup.servers[2..] {
        server.tier = 1;
    }
    let tier = |first, homes: &[u32], outside| StorageTier {
        first,
        servers: 2,
        layout: odonata_storage::FileLayout::Assigned,
        homes: homes.into(),
        outside,
        drains_at_job_end: false,
    };
    setup.params.tiers = [tier(0, &[], None), tier(2, &[0, 1], outside)].into();
    setup.params.client = Some(Client {
        timeout: Time::from_ns(80_000),
        lost_reads: LostReads::Error,
        ..client(1, on_failure)
    });
    setup.params.ledger = Some(LedgerParams {
        jobs: 1,
        interval: None,
    });
    setup.outages = outage.map(|outage| of_server(2, outage)).into_iter().collect();
    let ops = || sequence([write(6_000), compute(900_000), read(6_000)]);
    let mut setup = setup.script(vec![ops(), ops()], &[0, 2]);
    setup.jobs[0].servers = vec![0, 1];
    setup
}

/// Lower tiers for the tests: one on the network, and external object servers.
fn ways_down() -> [Option<Outside>; 2] {
    let outside = Outside {
        link: Bandwidth(1e9),
        latency: Time::from_ns(100),
    };
    [None, Some(outside)]
}

#[test]
fn drained_data_are_rerouted_within_the_tier_or_wait() {
    let on_failures = [OnFailure::ReRoute, OnFailure::Error];
    for (on_failure, outside) in on_failures
        .into_iter()
        .flat_map(|one| ways_down().map(|way| (one, way)))
    {
        let from = Time::ZERO;
        let until = match on_failure {
            OnFailure::ReRoute => Time::BEYOND,
            // Back for the second attempt.
            OnFailure::Error => Time::from_ns(70_000),
        };
        let setup = drains(Some(Outage { from, until }), on_failure, outside);
        let machine = setup.complete();
        let bytes = |server: u32| -> u64 {
            let servers = machine.hosts.servers();
            servers.contents(server).map(|(_, extent)| extent.bytes()).sum()
        };
        let expected = match on_failure {
            OnFailure::ReRoute => [0, 12_000],
            OnFailure::Error => [6_000, 6_000],
        };
        assert_eq!([bytes(2), bytes(3)], expected);
        assert_eq!(losses(&machine).lost(), 0);
        // The failure does not affect the writes of the ranks; their reads are served by the lower tier.
        let rows = machine.hosts.observers.records.io();
        assert!(rows.iter().all(|row| row.timeouts == 0), "{rows:?}");
        let (jobs, servers) = machine.hosts.io.client.counts();
        assert!(
            jobs[0].timeouts > 0 && servers[2].timeouts == jobs[0].timeouts,
            "{servers:?}"
        );
        assert_eq!(jobs[0].rerouted > 0, on_failure == OnFailure::ReRoute);
        let [(2, FAULT, waited)] = charged(&machine)[..] else {
            panic!("{:?}", charged(&machine));
        };
        let client = setup.params.client.unwrap();
        let tries = client.timeout.times(jobs[0].timeouts) + client.backoff.times(jobs[0].retries);
        assert_eq!(waited, tries, "every try in vain, and the wait behind it");
    }
    // The server stays away, and rerouting is not allowed.
    for outside in ways_down() {
        let machine = drains(Some(away(Time::ZERO)), OnFailure::Error, outside).run();
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!("{:?}", machine.outcome());
        };
        assert_eq!(kind, FailureKind::ServerFailed);
        assert!(
            text.contains("storage server 0: storage server 2 has not answered any attempt at the write"),
            "{text}"
        );
    }
}

/// A lower-tier server that fails loses its stable data, and a read of them fails.
#[test]
fn data_lost_by_a_lower_tier_stay_lost() {
    for outside in ways_down() {
        let at = Time::from_ns(500_000);
        let until = Time::from_ns(600_000);
        let mut setup = drains(Some(Outage { from: at, until }), OnFailure::ReRoute, outside);
        let machine = setup.run();
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!("{:?}", machine.outcome());
        };
        assert_eq!(kind, FailureKind::ServerFailed);
        assert!(
            text.contains("storage server 0: a read of") && text.contains("lost_reads"),
            "{text}"
        );
        setup.params.client.as_mut().unwrap().lost_reads = LostReads::Below;
        let machine = setup.complete();
        assert_eq!((losses(&machine).lost(), losses(&machine).reads), (6_000, 6_000));
    }
}

/// Random accesses with failures of servers, devices, metadata servers and the lower tier, and with locks.
fn random_faults(seed: u64) -> Setup {
    let mut random = Stream::new(seed, 3, Purpose::Host);
    let mut setup = super::retries::random_failures(seed);
    for params in &mut setup.servers {
        let mut other = params.devices[0].clone();
        params.devices[0].name = "large".into();
        other.name = "small".into();
        params.devices.push(other);
        params.rules = Rules::by_size(Bytes(1_700), "small", "large")
            .resolve(&["large", "small"])
            .unwrap();
    }
    let mut outage = |server: u32, device: Option<u32>| {
        let from = Time::from_ns(u64::from(random.below(50_000)));
        let until = from + Time::from_ns(u64::from(1 + random.below(40_000)));
        ServerOutage {
            server,
            device,
            outage: Outage { from, until },
        }
    };
    let devices = [outage(2, Some(0)), outage(2, Some(1))];
    setup.outages.extend(devices);
    setup.metadata_nodes = vec![50, 52];
    setup.params.metadata = Some(MetadataParams {
        threads: 1,
        by_directory: false,
        serial_directories: true,
        costs: [Time::from_ns(3_000); METADATA_CALLS],
    });
    setup.params.ledger = Some(LedgerParams {
        jobs: 1,
        interval: None,
    });
    let tiered = seed % 2 == 1;
    if tiered {
        // One server of the lower tier holds everything that the others drain.
        setup = setup.server(57, 1 << 40).server(59, 1 << 40);
        for server in &mut setup.servers[3..] {
            (server.tier, server.manager.extents) = (1, true);
        }
        for server in &mut setup.servers[..3] {
            let keep = seed % 4 == 1;
            server.next = Some(Policy {
                keep,
                ..Policy::default()
            });
        }
        let tier = |first, servers, homes: &[u32]| StorageTier {
            first,
            servers,
            layout: odonata_storage::FileLayout::Assigned,
            homes: homes.into(),
            outside: None,
            drains_at_job_end: false,
        };
        setup.params.tiers = [tier(0, 3, &[]), tier(3, 2, &[0, 0, 1])].into();
        setup.outages.push(outage(3, None));
    }
    setup.outages.push(outage(if tiered { 5 } else { 3 }, None));
    setup
}

#[test]
fn runs_with_random_faults_complete_or_report_a_failure_and_add_up() {
    let (mut completed, mut sum, mut waited) = (0, odonata_storage::Losses::default(), 0);
    for seed in 0..200 {
        let mut machine = random_faults(seed).run();
        machine.hosts.fail_servers(Time::LONGEST);
        sum.absorb(&losses(&machine));
        match machine.outcome() {
            HostOutcome::Completed => {
                completed += 1;
                let audit = machine.hosts.audit();
                audit.unwrap_or_else(|text| panic!("seed {seed}: {text}"));
                waited += charged(&machine).len();
            }
            HostOutcome::Failed { kind, .. } => assert_eq!(kind, FailureKind::ServerFailed, "seed {seed}"),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(completed > 80 && waited > 100, "{completed} {waited}");
    assert!(sum.lost() > 0 && sum.dropped > 0 && sum.while_down > 0, "{sum:?}");
}

#[test]
fn every_event_with_faults_of_all_kinds_can_be_undone_and_redone() {
    take_back(0..3, random_faults);
}

#[test]
#[ignore = "takes long"]
fn more_events_with_faults_of_all_kinds_can_be_taken_back_and_redone() {
    take_back(3..14, random_faults);
}
