//! I/O through client, fabric and server.

use super::rehearsal::hand_over;
use super::*;
use odonata_storage::{Drain, FileLayout, Layout, Locks, Start, StripeCount, Striped};

pub(super) fn write(bytes: u64) -> OpKind {
    OpKind::Write {
        file: 5,
        offset: 0,
        bytes,
    }
}
pub(super) fn read(bytes: u64) -> OpKind {
    OpKind::Read {
        file: 5,
        offset: 0,
        bytes,
    }
}

/// Interface and network latency of a single message.
fn way(setup: &Setup, source: u32, target: u32, bytes: u64) -> Time {
    setup.params.nic.message_delay + setup.zero_load(source, target, bytes)
}

#[test]
fn one_piece_takes_request_pull_piece_device_and_response() {
    let bytes = 1_000;
    let setup = Setup::new()
        .server(40, 1 << 40)
        .script(vec![sequence([write(bytes)])], &[0]);
    let machine = setup.complete();
    let device = Time::from_ns(100 + bytes);
    let control = |a, b| way(&setup, a, b, 128);
    let expected = control(0, 40) + control(40, 0) + way(&setup, 0, 40, bytes) + device + control(40, 0);
    let metrics = machine.hosts.metrics(0, 0);
    assert_eq!(metrics.end, expected);
    assert_eq!((metrics.io, metrics.io_duration_ps), (expected, u128::from(expected.0)));
    assert_eq!(machine.hosts.observers.records.io().len(), 1);
    let row = machine.hosts.observers.records.io()[0];
    assert_eq!(
        (row.rank, row.server, row.operation, row.file, row.bytes),
        (0, 0, IoOperation::Write, 5, bytes)
    );
    assert_eq!((row.start, row.end), (Time::ZERO, expected));

    let setup = Setup::new()
        .server(40, 1 << 40)
        .script(vec![sequence([read(bytes)])], &[0]);
    let machine = setup.complete();
    // The response joins the NIC of the server when the data have started on the link, and takes the interface delay.
    // The data arrive before it.
    let expected = control(0, 40) + device + setup.params.nic.message_delay + control(40, 0);
    assert_eq!(machine.hosts.metrics(0, 0).end, expected);
    assert_eq!(machine.hosts.metrics(0, 0).bytes_read, bytes);
}

/// One piece in flight: request, reservation, then pull, transfer and write of each piece, then the acknowledgment; for
/// every device model.
#[test]
fn a_write_takes_request_pulls_pieces_device_and_acknowledgment() {
    let (bytes, pieces) = (1_000, 5);
    let (ssd, nvme) = (odonata_device::Ssd::default(), odonata_device::Nvme::default());
    // The first block of a file lies on its first page, as do the next three of 4 KiB; the fifth lies on two.
    let flash = ssd.alone(true, 1).times(4) + ssd.alone(true, 2);
    let devices = [
        (None, Time::from_ns(100 + bytes).times(pieces)),
        (Some(DeviceModel::Ssd(ssd)), flash),
        (Some(DeviceModel::Nvme(nvme)), nvme.alone(true, bytes).times(pieces)),
    ];
    for (model, device) in devices {
        let mut setup = Setup::new()
            .server(40, 1 << 40)
            .script(vec![sequence([write(pieces * bytes)])], &[0]);
        setup.servers[0].manager.pieces_in_flight = 1;
        if let Some(model) = model {
            setup.servers[0].devices[0].model = model;
            setup.servers[0].devices[0].queue_depth = 32;
        }
        let machine = setup.complete();
        let control = |a, b| way(&setup, a, b, 128);
        let exchange = control(40, 0) + way(&setup, 0, 40, bytes);
        let expected = control(0, 40) + exchange.times(pieces) + device + control(40, 0);
        assert_eq!(machine.hosts.metrics(0, 0).end, expected, "{model:?}");
    }
}

/// A slow device hides the network: request, first pull and piece, the device without idle time, acknowledgment. The
/// last pieces of `k` clients with equal writes are written one after the other.
#[test]
fn clients_of_a_slow_device_are_served_in_turn() {
    let (bytes, pieces, clients) = (1_000, 6, 3);
    let nodes: Vec<u32> = (0..clients).map(|client| client * 3).collect();
    let mut setup = Setup::new().server(40, 1 << 40).script(
        (0..clients)
            .map(|_| sequence([write(u64::from(pieces) * bytes)]))
            .collect(),
        &nodes,
    );
    setup.servers[0].manager.pieces_in_flight = 2;
    setup.servers[0].manager.memory = Bytes(100 * bytes);
    let slow = Time::from_ns(1_000_000);
    setup.servers[0].devices[0].model = DeviceModel::Rate(Rate {
        overhead: slow,
        write: Bandwidth(1e18),
        ..Rate::default()
    });
    let machine = setup.complete();
    let piece = slow; // the transfer of a piece at 1e18 B/s takes less than a picosecond
    let ends: Vec<Time> = (0..clients)
        .map(|client| machine.hosts.metrics(0, client).end)
        .collect();
    let first = *ends.iter().min().unwrap();
    let last = *ends.iter().max().unwrap();
    // Service alternates: between the ends of the first and the last client lies one piece of each other client.
    let apart = |ends: Time| ends.0.abs_diff(piece.times(u64::from(clients) - 1).0);
    assert!(apart(last - first) < 10_000 * NS, "{:?}", last - first);
    // The device is never idle: all pieces, plus the latencies of the first and the last.
    let all = piece.times(u64::from(pieces * clients));
    let server = machine.hosts.servers().metrics(0);
    assert_eq!(server.device_busy, all);
    let (from, to) = (nodes[0], 40);
    let control = |a, b| way(&setup, a, b, 128);
    let least = control(from, to) + control(to, from) + way(&setup, from, to, bytes) + all + control(to, from);
    assert!(last >= least.saturating_sub(Time::from_ns(10_000)) && last <= least + Time::from_ns(10_000));
}

#[test]
fn writes_and_reads_move_every_byte_in_pieces_with_their_control_messages() {
    let (n, bytes) = (6u32, 7_500u64);
    let ops = || {
        sequence([
            OpKind::Open { file: 5 },
            write(bytes),
            read(bytes),
            OpKind::Close { file: 5 },
        ])
    };
    let nodes: Vec<u32> = (0..n).map(|r| r * 3).collect();
    let setup = Setup::new()
        .server(40, 1 << 40)
        .script((0..n).map(|_| ops()).collect(), &nodes);
    let machine = setup.complete();
    for r in 0..n {
        let m = machine.hosts.metrics(0, r);
        assert_eq!((m.bytes_written, m.bytes_read, m.io_operations), (bytes, bytes, 2));
        assert_eq!((m.sends, m.recvs), (0, 0), "I/O is no MPI");
        assert_eq!(m.io, m.end);
    }
    let pieces = bytes.div_ceil(1_000);
    // A write takes a request, a pull and a transfer per piece, and a response; a read takes a request, data and a
    // response.
    let messages = u64::from(n) * ((2 + 2 * pieces) + (2 + pieces));
    assert_eq!(machine.hosts.observers.records.messages().len() as u64, messages);
    assert!(machine.hosts.observers.records.messages().iter().all(|m| m.io));
    let control = u64::from(n) * (2 + pieces + 2);
    assert_eq!(
        machine.fabric.traffic_stats().get(1).bytes,
        u64::from(n) * 2 * bytes + control * 128
    );
    assert_eq!(machine.fabric.traffic_stats().get(0).bytes, 0);
    let server = machine.hosts.servers().metrics(0);
    assert_eq!(
        (server.bytes_written, server.bytes_read),
        (u64::from(n) * bytes, u64::from(n) * bytes)
    );
}

#[test]
fn non_blocking_transfers_overlap_computation_and_waiting_for_them_is_io() {
    let iwrite = OpKind::Iwrite {
        file: 5,
        offset: 0,
        bytes: 4_000,
        request: Request(0),
    };
    let alone = Setup::new()
        .server(40, 1 << 40)
        .script(vec![sequence([write(4_000)])], &[0])
        .complete();
    let time = alone.hosts.metrics(0, 0).end;
    let half = time.0 / 2 / NS;
    for (ns, waited) in [(half, time.0 - half * NS), (4 * half, 0)] {
        let ops = sequence([iwrite, compute(ns), OpKind::Wait { request: Request(0) }]);
        let machine = Setup::new().server(40, 1 << 40).script(vec![ops], &[0]).complete();
        let m = machine.hosts.metrics(0, 0);
        assert_eq!((m.end.0, m.io.0, m.mpi.0), ((ns * NS).max(time.0), waited, 0));
        assert_eq!(m.io_duration_ps, u128::from(time.0));
    }
}

#[test]
fn a_server_on_the_ranks_own_node_is_reached_without_the_fabric() {
    let bytes = 2_500;
    let setup = Setup::new()
        .server(0, 1 << 40)
        .script(vec![sequence([write(bytes), read(bytes)])], &[0]);
    let machine = setup.complete();
    assert_eq!(machine.fabric.delivered(), (0, 0));
    let m = machine.hosts.metrics(0, 0);
    assert_eq!((m.bytes_written, m.bytes_read), (bytes, bytes));
}

#[test]
fn empty_transfers_and_detached_ones_complete() {
    let request = Request::DETACHED;
    let detached = OpKind::Iwrite {
        file: 1,
        offset: 0,
        bytes: 3_000,
        request,
    };
    let ops = sequence([write(0), read(0), detached]);
    let machine = Setup::new().server(40, 1 << 40).script(vec![ops], &[0]).complete();
    let m = machine.hosts.metrics(0, 0);
    assert_eq!((m.io_operations, m.bytes_written), (3, 3_000));
    assert!(machine.hosts.observers.records.io()[2].end > m.end);
}

#[test]
fn a_full_server_reports_blocked_writes_without_a_drain_and_continues_with_one() {
    let ranks = || vec![sequence([write(6_000)]), sequence([compute(500_000), write(6_000)])];
    let mut setup = Setup::new().server(40, 10_000);
    let machine = setup.clone().script(ranks(), &[0, 1]).run();
    let HostOutcome::StorageFull {
        blocked_writes: stuck,
        blocked,
        unfinished,
    } = machine.outcome()
    else {
        panic!()
    };
    assert_eq!((stuck.len(), blocked.len(), unfinished), (1, 1, 1));
    assert_eq!(
        (stuck[0].job, stuck[0].client, stuck[0].needed, stuck[0].free),
        (0, BlockedClient::Rank(1), 6_000, 4_000)
    );
    assert_eq!(blocked[0].op, "Write 6000 B at 0 of file 5");

    setup.servers[0].drain = Some(Drain {
        bandwidth: Bandwidth(1e8),
        latency: Time::from_ns(1_000),
        threshold: odonata_units::Bytes(10_000),
    });
    let machine = setup.clone().script(ranks(), &[0, 1]).complete();
    assert!(machine.hosts.servers().metrics(0).bytes_drained >= 2_000);

    let machine = setup.script(vec![sequence([write(10_001)])], &[0]).run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::WriteExceedsDevice);
    assert!(text.contains("10001 B") && text.contains("10000 B"), "{text}");
}

/// Stripes the files of job 0 in units of `stripe` bytes over `count` servers, starting at server 0.
fn striped(mut setup: Setup, stripe: u64, count: u32) -> Setup {
    let settings = Striped {
        stripe: Bytes(stripe),
        count: StripeCount::Number(count),
        start: Start::Server(0),
    };
    let servers = setup.servers.len() as u32;
    setup.jobs[0].files.layout = FileLayout::new(Layout::Striped(settings), servers, 1, "job");
    setup
}

/// The data of the second server follow those of the first; the call ends with the second.
#[test]
fn a_write_to_two_servers_is_one_call_that_ends_with_the_last_server() {
    let setup = || Setup::new().server(40, 1 << 40).server(41, 1 << 40);
    let one = setup().script(vec![sequence([write(1_000)])], &[0]).complete();
    let two = striped(setup().script(vec![sequence([write(2_000)])], &[0]), 1_000, 2);
    let two = two.complete();
    let (alone, both) = (one.hosts.observers.records.io()[0], two.hosts.observers.records.io()[0]);
    assert_eq!((both.server, both.servers, alone.servers), (0, 2, 1));
    assert_eq!((both.first_byte, both.bytes), (alone.first_byte, 2_000));
    // The transfer time of the first server's data on the slowest link of the route, the global one.
    let link = Bandwidth(5e9).time_for(Bytes(1_000));
    assert_eq!(both.end, alone.end + link);
    assert_eq!(two.hosts.observers.records.io().len(), 1);
    for server in 0..2 {
        assert_eq!(two.hosts.servers().metrics(server).bytes_written, 1_000);
    }
    let m = two.hosts.metrics(0, 0);
    assert_eq!((m.io_operations, m.bytes_written, m.io), (1, 2_000, both.end));
}

/// `count` servers with enough pieces in flight to keep their devices busy over the network latency.
fn servers(count: u32) -> Setup {
    let mut setup = Setup::new();
    for server in 0..count {
        setup = setup.server(40 + server, 1 << 40);
    }
    for params in &mut setup.servers {
        (params.manager.pieces_in_flight, params.manager.memory) = (16, Bytes(64_000));
    }
    setup
}

/// n servers write n times as fast as one, while the link of the client has more bandwidth than they need: 0.9 GB/s
/// each.
#[test]
fn striping_scales_with_the_servers_until_the_clients_link_is_full() {
    let time = |count: u32| {
        let setup = servers(count).script(vec![sequence([write(960_000)])], &[0]);
        let setup = striped(setup, 1_000, count);
        setup.complete().hosts.metrics(0, 0).end.seconds()
    };
    let one = time(1);
    // Pieces of 1,000 B take 1.1 us each, plus the latency of the first and of the answer.
    assert!((one - 960.0 * 1.1e-6).abs() < 20e-6, "{one}");
    for count in [2, 3, 4] {
        let ratio = one / time(count) / f64::from(count);
        assert!((0.93..1.0).contains(&ratio), "{count}: {ratio}");
    }
    // 24 servers could take 22 GB/s; the link of the client has 8 GB/s.
    let (least, all) = (960_000.0 / 8e9, time(24));
    assert!((least..1.1 * least).contains(&all), "{all}");
}

/// Whole files are placed on servers by number: one file per rank uses one server per rank, a shared file uses one
/// server.
#[test]
fn ranks_share_the_server_of_a_shared_file_only() {
    let bytes = 40_000;
    let run = |shared: bool| {
        let write = |rank: u64| OpKind::Write {
            file: if shared { 0 } else { rank },
            offset: if shared { rank * bytes } else { 0 },
            bytes,
        };
        let ranks = (0..4).map(|rank| sequence([write(rank)])).collect();
        let mut setup = servers(4).script(ranks, &[0, 2, 4, 6]);
        setup.jobs[0].files.layout = FileLayout::new(Layout::RoundRobin, 4, 1, "job");
        let machine = setup.complete();
        let end = (0..4).map(|rank| machine.hosts.metrics(0, rank).end).max();
        let written = [0, 1, 2, 3].map(|server| machine.hosts.servers().metrics(server).bytes_written);
        (end.unwrap().seconds(), written)
    };
    let device = 40.0 * 1.1e-6;
    let (shared, written) = run(true);
    assert_eq!(written, [4 * bytes, 0, 0, 0]);
    assert!((4.0 * device..4.3 * device).contains(&shared), "{shared}");
    let (own, written) = run(false);
    assert_eq!(written, [bytes; 4]);
    assert!((device..1.3 * device).contains(&own), "{own}");
}

/// A write to a range locked by another node adds the round trip of the lock and the revocation cost at that node.
#[test]
fn a_lock_held_by_another_node_costs_a_round_trip_and_its_revocation() {
    let revocation = Time::from_ns(7_000);
    let run = |locks: Option<Locks>, offset: u64| {
        let late = |at| OpKind::Write {
            file: 5,
            offset: at,
            bytes: 1_000,
        };
        let ranks = vec![
            sequence([write(1_000)]),
            sequence([compute(100_000), late(offset), late(offset)]),
        ];
        let mut setup = Setup::new().server(40, 1 << 40).script(ranks, &[0, 2]);
        setup.params.locks = locks;
        let back = way(&setup, 40, 0, 128) + revocation + way(&setup, 0, 40, 128);
        let machine = setup.complete();
        let records = machine.hosts.observers.records.io();
        assert_eq!(records.len(), 3);
        let took = |row: &IoRecord| row.end - row.start;
        let locks = HostMeasured::join([machine.hosts.measured(Time::NEVER)]).unwrap().locks;
        (took(&records[1]), took(&records[2]), back, locks)
    };
    let locks = |granularity| {
        Some(Locks {
            granularity: Bytes(granularity),
            revocation,
        })
    };
    let (free, again, _, none) = run(None, 0);
    assert_eq!((free, none.len()), (again, 0));
    let (first, second, back, metrics) = run(locks(1), 500);
    assert_eq!((first, second), (free + back, free), "it has the lock the second time");
    assert_eq!((metrics[0].1.revocations, metrics[0].1.wait_ps), (1, back.0.into()));
    // Adjacent ranges conflict only within the same page.
    assert_eq!(run(locks(1), 1_000).0, free);
    assert_eq!(run(locks(4_096), 1_000).0, free + back);
}

/// A write returns immediately while at most `write_behind` bytes are unacknowledged; a close waits for the rest.
#[test]
fn writes_return_before_their_acknowledgment_up_to_the_limit() {
    let close = OpKind::Close { file: 5 };
    let run = |behind: u64, ops: Vec<OpKind>| {
        let mut setup = Setup::new().server(40, 1 << 40).script(vec![sequence(ops)], &[0]);
        setup.jobs[0].files.write_behind = Bytes(behind);
        let machine = setup.complete();
        (
            *machine.hosts.metrics(0, 0),
            machine.hosts.observers.records.io().to_vec(),
        )
    };
    let (waits, one) = run(0, vec![write(1_000)]);
    let alone = one[0].end;
    assert_eq!(waits.io, alone);
    // The rank computes while its data are in flight; close finds them written, or waits.
    let (behind, rows) = run(1_000, vec![write(1_000), compute(100_000), close]);
    assert_eq!((behind.io, behind.end), (Time::ZERO, Time::from_ns(100_000)));
    assert_eq!(rows, one);
    let (closes, _) = run(1_000, vec![write(1_000), close]);
    assert_eq!((closes.io, closes.end), (alone, alone));
    // A read waits for the earlier writes of the rank.
    let (_, rows) = run(1_000, vec![write(1_000), read(0)]);
    assert!(rows[1].start == Time::ZERO && rows[1].end > rows[0].end);
    // Two of three writes may be unacknowledged: the third returns with the acknowledgment of the first.
    let (third, rows) = run(2_000, vec![write(1_000), write(1_000), write(1_000)]);
    assert_eq!(third.end, rows[0].end);
    assert!(rows[2].end > third.end && rows.iter().all(|row| row.start == Time::ZERO));
    // A write above the limit waits for its own acknowledgment.
    let (large, rows) = run(999, vec![write(1_000)]);
    assert_eq!((large.end, rows[0].end), (alone, alone));
}

/// Random accesses of many ranks to few files, with all features of clients and servers.
pub(super) fn random_files(seed: u64) -> Setup {
    let mut random = Stream::new(seed, 1, Purpose::Host);
    let mut setup = Setup::new();
    for server in 0..3 {
        setup = setup.server(40 + server, 1 << 40);
    }
    let mut rank = || {
        let mut kinds = Vec::new();
        for request in 0..6 {
            let (file, offset, bytes) = (
                random.below(3).into(),
                u64::from(random.below(4)) * 900,
                u64::from(random.below(3)) * 1_700,
            );
            kinds.push(match random.below(6) {
                0 => compute(random.below(9_000).into()),
                1 => OpKind::Read { file, offset, bytes },
                2 => OpKind::Close { file },
                3 => OpKind::Iwrite {
                    file,
                    offset,
                    bytes,
                    request: Request(request),
                },
                _ => OpKind::Write { file, offset, bytes },
            });
        }
        kinds.push(wait_all(6));
        sequence(kinds)
    };
    let ranks: Vec<Vec<Op>> = (0..5).map(|_| rank()).collect();
    let mut setup = setup.script(ranks, &[0, 0, 2, 9, 17]);
    let files = &mut setup.jobs[0].files;
    files.write_behind = Bytes([0, 2_000, 1 << 30][seed as usize % 3]);
    let layout = match seed % 4 {
        0 => Layout::Assigned,
        1 => Layout::Random,
        _ => Layout::Striped(Striped {
            stripe: Bytes([500, 1_000, 3_000][seed as usize % 3]),
            count: StripeCount::All,
            start: Start::RoundRobin,
        }),
    };
    files.layout = FileLayout::new(layout, 3, seed, "job");
    setup.params.locks = (!seed.is_multiple_of(5)).then(|| Locks {
        granularity: Bytes([1, 1_024][seed as usize % 2]),
        revocation: Time::from_ns(300),
    });
    setup
}

#[test]
fn random_accesses_move_every_byte_and_leave_nothing_behind() {
    let mut revocations = 0;
    for seed in 0..200 {
        let machine = random_files(seed).complete();
        machine
            .hosts
            .audit()
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        let sum = |write: bool| -> u64 {
            let rows = machine
                .hosts
                .observers
                .records
                .io()
                .iter()
                .filter(|row| row.operation == if write { IoOperation::Write } else { IoOperation::Read });
            rows.map(|row| row.bytes).sum()
        };
        let all = |of: fn(&odonata_storage::Metrics) -> u64| -> u64 {
            (0..3).map(|server| of(&machine.hosts.servers().metrics(server))).sum()
        };
        assert_eq!(sum(true), all(|m| m.bytes_written), "seed {seed}");
        assert_eq!(sum(false), all(|m| m.bytes_read), "seed {seed}");
        for row in machine.hosts.observers.records.io() {
            assert!(
                row.start <= row.first_byte && row.first_byte <= row.end,
                "seed {seed} {row:?}"
            );
        }
        let measured = HostMeasured::join([machine.hosts.measured(Time::NEVER)]).unwrap();
        revocations += measured.locks.iter().map(|(_, locks)| locks.revocations).sum::<u64>();
    }
    assert!(revocations > 1_000, "{revocations}");
}

#[test]
fn every_event_of_random_accesses_can_be_undone_and_redone() {
    take_back_accesses(0..5);
}

#[test]
#[ignore = "takes long"]
fn more_events_of_random_accesses_can_be_taken_back_and_redone() {
    take_back_accesses(5..12);
}

fn take_back_accesses(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let setup = random_files(seed);
        let redone = redo_every_event(&setup, seed);
        assert_eq!(redone, digest(&setup.complete()), "seed {seed}");
    }
}

#[test]
fn random_accesses_resume_from_a_saved_state() {
    hand_over_accesses(0..12);
}

#[test]
#[ignore = "takes long"]
fn more_random_accesses_go_on_from_what_was_saved() {
    hand_over_accesses(12..40);
}

fn hand_over_accesses(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        hand_over(&random_files(seed), 30);
    }
}
