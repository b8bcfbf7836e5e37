//! Metadata calls, from a rank over the fabric to a server and back.

use super::rehearsal::hand_over;
use super::*;
use odonata_storage::{METADATA_CALLS, MetadataCall, MetadataParams};
use odonata_workload::FileCall;

const COST: Time = Time::from_ns(50_000);

fn call(call: FileCall, directory: u32, file: u64) -> OpKind {
    OpKind::Metadata { call, directory, file }
}

/// A metadata server with `threads` threads on each of `nodes`, beside a storage server on node 40.
fn metadata(threads: u32, nodes: &[u32]) -> Setup {
    let mut setup = Setup::new().server(40, 1 << 40);
    setup.metadata_nodes = nodes.to_vec();
    setup.params.metadata = Some(MetadataParams {
        threads,
        by_directory: false,
        serial_directories: false,
        costs: [COST; METADATA_CALLS],
    });
    setup
}

/// Interface and network latency of a single control message.
fn way(setup: &Setup, source: u32, target: u32) -> Time {
    setup.params.nic.message_delay + setup.zero_load(source, target, 128)
}

fn measured(machine: &TestMachine) -> HostMeasured {
    HostMeasured::join([machine.hosts.measured(Time::NEVER)]).unwrap()
}

/// A call takes the request latency, its service time and the answer latency; each call waits for the previous one.
#[test]
fn a_call_takes_request_latency_service_time_and_answer_latency() {
    let ops = [
        OpKind::Open { file: 5 },
        call(FileCall::Stat, 0, 5),
        OpKind::Close { file: 5 },
    ];
    let setup = metadata(2, &[50]).script(vec![sequence(ops)], &[0]);
    let machine = setup.complete();
    let one = way(&setup, 0, 50) + COST + way(&setup, 50, 0);
    let metrics = machine.hosts.metrics(0, 0);
    assert_eq!(
        (metrics.end, metrics.io, metrics.mpi),
        (one.times(3), one.times(3), Time::ZERO)
    );
    assert_eq!(
        (metrics.metadata_calls, metrics.metadata_ps),
        (3, u128::from(one.times(3).0))
    );
    assert_eq!((metrics.io_operations, metrics.io_duration_ps), (0, 0));
    let rows: Vec<_> = machine
        .hosts
        .observers
        .records
        .io()
        .iter()
        .map(|row| (row.operation, row.server, row.file))
        .collect();
    let of = |call| (IoOperation::Metadata(call), 1, 5);
    assert_eq!(
        rows,
        [of(MetadataCall::Open), of(MetadataCall::Stat), of(MetadataCall::Close)]
    );
    let (server, metrics) = measured(&machine).metadata[0];
    assert_eq!(
        (server, metrics.busy_ps, metrics.thread_wait_ps),
        (1, u128::from(COST.times(3).0), 0)
    );
    // Without metadata servers, the calls take no time.
    let mut setup = setup;
    (setup.params.metadata, setup.metadata_nodes) = (None, Vec::new());
    assert_eq!(setup.complete().hosts.metrics(0, 0).end, Time::ZERO);
}

/// n ranks open at the same time, k threads of cost c. Thread j is busy from the j-th arrival on, so the last answer
/// leaves between `ceil(n / k) c` after the first arrival and `ceil(n / k) c` after the k-th.
#[test]
fn a_storm_of_opens_is_answered_in_waves() {
    for (n, k) in [(12_u32, 1_u32), (12, 4), (13, 4)] {
        let nodes: Vec<u32> = (0..n).collect();
        let ranks = (0..n).map(|_| sequence([OpKind::Open { file: 5 }])).collect();
        let setup = metadata(k, &[50]).script(ranks, &nodes);
        let machine = setup.complete();
        let last = (0..n).map(|rank| machine.hosts.metrics(0, rank).end).max().unwrap();
        let ways: Vec<Time> = nodes.iter().map(|&node| way(&setup, node, 50)).collect();
        let back: Vec<Time> = nodes.iter().map(|&node| way(&setup, 50, node)).collect();
        let busy = COST.times(u64::from(n.div_ceil(k)));
        let (least, most) = (ways.iter().min().unwrap(), ways.iter().max().unwrap());
        assert!(
            last >= *least + busy + *back.iter().min().unwrap(),
            "{n} ranks, {k} threads: {last:?}"
        );
        // All requests share the link of the server: 128 B each at 8 GB/s.
        let shared = Time::from_ns(16).times(u64::from(n));
        assert!(
            last <= *most + shared + busy + *back.iter().max().unwrap() + shared,
            "{n} ranks, {k} threads: {last:?}"
        );
        let (_, metrics) = measured(&machine).metadata[0];
        assert_eq!(metrics.busy_ps, u128::from(COST.times(n.into()).0));
        assert_eq!(metrics.peak_waiting, n - k);
    }
}

/// A job that opens a file behind the open storm of another job waits for that job, and the ledger shows it.
#[test]
fn an_open_waits_for_the_storm_of_another_job() {
    let storm = (0..8)
        .map(|rank| sequence((0..20).map(move |file| call(FileCall::Create, 0, 100 * rank + file))))
        .collect();
    let victim = sequence([compute(200_000), OpKind::Open { file: 1 }]);
    let mut setup = metadata(1, &[50])
        .script(storm, &[0, 1, 2, 3, 4, 5, 6, 7])
        .script(vec![victim], &[20]);
    setup.params.ledger = Some(LedgerParams {
        jobs: 2,
        interval: None,
    });
    let machine = setup.complete();
    let alone = way(&setup, 20, 50) + COST + way(&setup, 50, 20);
    let waited = machine.hosts.metrics(1, 0).io - alone;
    assert!(waited > COST.times(6), "{waited:?}");
    let blame = measured(&machine).blame;
    let of_victim: Vec<_> = blame.iter().filter(|charge| charge.victim == 1).collect();
    assert_eq!(of_victim.len(), 1, "{blame:?}");
    assert_eq!(
        (of_victim[0].server, of_victim[0].resource, of_victim[0].culprit),
        (1, odonata_storage::THREAD, Some(0))
    );
    let charged = of_victim[0].time;
    assert!(
        charged <= waited && waited - charged < Time::from_ns(1_000),
        "{charged:?} of {waited:?}"
    );
}

/// A close waits for the acknowledgments of all writes, then sends its call.
#[test]
fn a_close_sends_its_call_after_all_writes_are_acknowledged() {
    let write = OpKind::Write {
        file: 5,
        offset: 0,
        bytes: 100_000,
    };
    let run = |close: OpKind| {
        let mut setup = metadata(1, &[50]).script(vec![sequence([write, close])], &[0]);
        setup.jobs[0].files.write_behind = Bytes(1 << 30);
        let machine = setup.complete();
        let rows = machine.hosts.observers.records.io().to_vec();
        // A sync asks the storage server first.
        let synced = match close {
            OpKind::Metadata { .. } => way(&setup, 0, 40) + way(&setup, 40, 0),
            _ => Time::ZERO,
        };
        let one = way(&setup, 0, 50) + COST + way(&setup, 50, 0);
        assert_eq!(machine.hosts.metrics(0, 0).end, rows[0].end + synced + one);
        rows
    };
    for close in [OpKind::Close { file: 5 }, call(FileCall::Sync, 0, 5)] {
        let rows = run(close);
        assert_eq!((rows[0].operation, rows[1].start), (IoOperation::Write, Time::ZERO));
    }
}

/// Two servers that acknowledge in memory, far apart, and a file striped over both: the sync ends when the slower one
/// has committed its part to its device and its answer has arrived.
#[test]
fn a_sync_waits_for_the_commit_at_every_server_of_the_file() {
    let bytes = 30_000;
    let write = OpKind::Write {
        file: 5,
        offset: 0,
        bytes,
    };
    let run = |ops: &[OpKind]| {
        let mut setup = Setup::new().server(40, 1 << 40).server(60, 1 << 40);
        for server in &mut setup.servers {
            server.manager.acknowledge = odonata_storage::settings::Acknowledge::Memory;
            server.manager.memory = Bytes(100_000);
        }
        let mut setup = setup.script(vec![sequence(ops.iter().copied())], &[0]);
        let striped = odonata_storage::Striped {
            stripe: Bytes(1_000),
            ..Default::default()
        };
        setup.jobs[0].files.layout =
            odonata_storage::FileLayout::new(odonata_storage::Layout::Striped(striped), 2, 1, "d");
        let machine = setup.complete();
        // The second message leaves the interface after the first.
        let behind = setup.network().links[0]
            .bandwidth
            .time_for(setup.params.io_control_message);
        let order = setup.jobs[0].files.layout.servers_of(5, 0);
        let far = order.enumerate().map(|(place, server)| {
            let node = setup.server_nodes[server as usize];
            behind.times(place as u64) + way(&setup, 0, node) + way(&setup, node, 0)
        });
        let far: Vec<Time> = far.collect();
        (machine.hosts.observers.records.io().to_vec(), far, machine)
    };
    let sync = call(FileCall::Sync, 0, 5);
    let (rows, far, _) = run(&[compute(10), sync]);
    assert_eq!(
        (rows[0].operation, rows[0].servers, rows[0].end - rows[0].start),
        (IoOperation::Metadata(MetadataCall::Sync), 2, *far.iter().max().unwrap())
    );
    // Times at which the servers have all data in memory, and on their devices.
    let (rows, _, machine) = run(&[write, sync]);
    let (written, synced) = (rows[0].end, rows[1].end);
    let committed = measured(&machine).last_commit[0].expect("it was written");
    assert!(written < committed, "acknowledged in memory");
    let back = [40, 60].map(|node| way(&run_setup(), node, 0));
    assert!(
        back.iter().any(|&back| synced == committed + back),
        "{synced:?} {committed:?}"
    );
}

fn run_setup() -> Setup {
    Setup::new().server(40, 1 << 40).server(60, 1 << 40)
}

/// Random calls of two jobs to several servers, interleaved with writes.
fn random_calls(seed: u64) -> Setup {
    let mut random = Stream::new(seed, 2, Purpose::Host);
    let mut setup = metadata(1 + seed as u32 % 3, &[[50, 51, 40], [60, 3, 7]][seed as usize % 2]);
    let params = setup.params.metadata.as_mut().unwrap();
    (params.by_directory, params.serial_directories) = (seed % 2 == 1, !seed.is_multiple_of(3));
    params.costs = std::array::from_fn(|call| Time::from_ns(call as u64 * 700));
    let mut rank = || {
        let kinds = (0..8).map(|_| {
            let (directory, file) = (random.below(2), random.below(4).into());
            match random.below(12) {
                0 => compute(random.below(9_000).into()),
                1 => OpKind::Open { file },
                2 => OpKind::Close { file },
                3 => OpKind::Write {
                    file,
                    offset: 0,
                    bytes: 1_500,
                },
                what => call(FileCall::ALL[what as usize - 4], directory, file),
            }
        });
        sequence(kinds.collect::<Vec<_>>())
    };
    let ranks = |rank: &mut dyn FnMut() -> Vec<Op>, n: usize| (0..n).map(|_| rank()).collect::<Vec<_>>();
    let (first, second) = (ranks(&mut rank, 4), ranks(&mut rank, 2));
    let mut setup = setup.script(first, &[0, 0, 2, 9]).script(second, &[18, 19]);
    setup.jobs[0].files.write_behind = Bytes([0, 4_000][seed as usize % 2]);
    setup.params.locks = seed.is_multiple_of(4).then(odonata_storage::Locks::default);
    setup.params.ledger = Some(LedgerParams {
        jobs: 2,
        interval: seed.is_multiple_of(2).then(|| Time::from_ns(5_000)),
    });
    setup
}

/// Every call is answered once, waits are charged to the picosecond (checked by the audit), and every event can be
/// undone.
#[test]
fn all_random_calls_are_answered_and_can_be_undone() {
    let mut waited = 0;
    for seed in 0..120 {
        let setup = random_calls(seed);
        let machine = setup.complete();
        let all = measured(&machine);
        let answered: u64 = all.metadata.iter().map(|(_, m)| m.calls.iter().sum::<u64>()).sum();
        let made: u64 = all.ranks.iter().map(|(_, m)| m.metadata_calls).sum();
        assert_eq!(answered, made, "seed {seed}");
        let records = machine.hosts.observers.records.io().iter();
        let recorded = records
            .filter(|row| matches!(row.operation, IoOperation::Metadata(_)))
            .count();
        assert_eq!(recorded as u64, made, "seed {seed}");
        let charged: u128 = all
            .blame
            .iter()
            .filter(|c| c.resource >= odonata_storage::THREAD)
            .map(|c| u128::from(c.time.0))
            .sum();
        let sum: u128 = all
            .metadata
            .iter()
            .map(|(_, m)| m.thread_wait_ps + m.directory_wait_ps)
            .sum();
        assert_eq!(charged, sum, "seed {seed}");
        waited += sum;
        if seed < 5 {
            let redone = redo_every_event(&setup, seed);
            assert_eq!(redone, digest(&machine), "seed {seed}");
        }
        if seed < 8 {
            hand_over(&setup, 30);
        }
    }
    assert!(waited > 0);
}

#[test]
#[ignore = "takes long"]
fn more_random_calls_can_be_taken_back_and_go_on_from_what_was_saved() {
    for seed in 5..12 {
        let setup = random_calls(seed);
        assert_eq!(redo_every_event(&setup, seed), digest(&setup.complete()), "seed {seed}");
    }
    for seed in 8..24 {
        hand_over(&random_calls(seed), 30);
    }
}
