//! I/O through client, fabric and server.

use super::*;
use odonata_storage::DrainParams;

fn write(bytes: u64) -> OpKind {
    OpKind::Write {
        file: 5,
        offset: 0,
        bytes,
    }
}
fn read(bytes: u64) -> OpKind {
    OpKind::Read {
        file: 5,
        offset: 0,
        bytes,
    }
}

/// Interface and network of a message that travels alone.
fn way(world: &World, source: u32, target: u32, bytes: u64) -> Time {
    world.params.nic_message_delay + world.zero_load(source, target, bytes)
}

#[test]
fn one_piece_takes_request_pull_piece_device_and_response() {
    let bytes = 1_000;
    let world = World::new()
        .server(40, 1 << 40)
        .script(vec![sequence([write(bytes)])], &[0]);
    let rig = world.complete();
    let device = Time::from_ns(100 + bytes);
    let control = |a, b| way(&world, a, b, 128);
    let expected = control(0, 40) + control(40, 0) + way(&world, 0, 40, bytes) + device + control(40, 0);
    let metrics = rig.hosts.metrics(0, 0);
    assert_eq!(metrics.end, expected);
    assert_eq!((metrics.io, metrics.io_duration_ps), (expected, u128::from(expected.0)));
    assert_eq!(rig.hosts.io_records().len(), 1);
    let row = rig.hosts.io_records()[0];
    assert_eq!(
        (row.rank, row.server, row.write, row.file, row.bytes),
        (0, 0, true, 5, bytes)
    );
    assert_eq!((row.start, row.end), (Time::ZERO, expected));

    let world = World::new()
        .server(40, 1 << 40)
        .script(vec![sequence([read(bytes)])], &[0]);
    let rig = world.complete();
    // The response joins the server's NIC when the data have started on the link, and is paid for by the
    // interface; the data are back before it.
    let expected = control(0, 40) + device + world.params.nic_message_delay + control(40, 0);
    assert_eq!(rig.hosts.metrics(0, 0).end, expected);
    assert_eq!(rig.hosts.metrics(0, 0).bytes_read, bytes);
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
    let world = World::new()
        .server(40, 1 << 40)
        .script((0..n).map(|_| ops()).collect(), &nodes);
    let rig = world.complete();
    for r in 0..n {
        let m = rig.hosts.metrics(0, r);
        assert_eq!((m.bytes_written, m.bytes_read, m.io_operations), (bytes, bytes, 2));
        assert_eq!((m.sends, m.recvs), (0, 0), "I/O is no MPI");
        assert_eq!(m.io, m.end);
    }
    let pieces = bytes.div_ceil(1_000);
    // A write: request, a pull and a piece each, response. A read: request, data, response.
    let messages = u64::from(n) * ((2 + 2 * pieces) + (2 + pieces));
    assert_eq!(rig.hosts.message_records().len() as u64, messages);
    assert!(rig.hosts.message_records().iter().all(|m| m.io));
    let control = u64::from(n) * (2 + pieces + 2);
    assert_eq!(
        rig.fabric.traffic_stats().get(1).bytes,
        u64::from(n) * 2 * bytes + control * 128
    );
    assert_eq!(rig.fabric.traffic_stats().get(0).bytes, 0);
    let server = rig.hosts.servers().metrics(0);
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
    let alone = World::new()
        .server(40, 1 << 40)
        .script(vec![sequence([write(4_000)])], &[0])
        .complete();
    let time = alone.hosts.metrics(0, 0).end;
    let half = time.0 / 2 / NS;
    for (ns, waited) in [(half, time.0 - half * NS), (4 * half, 0)] {
        let ops = sequence([iwrite, compute(ns), OpKind::Wait { request: Request(0) }]);
        let rig = World::new().server(40, 1 << 40).script(vec![ops], &[0]).complete();
        let m = rig.hosts.metrics(0, 0);
        assert_eq!((m.end.0, m.io.0, m.mpi.0), ((ns * NS).max(time.0), waited, 0));
        assert_eq!(m.io_duration_ps, u128::from(time.0));
    }
}

#[test]
fn a_server_on_the_ranks_own_node_is_reached_without_the_fabric() {
    let bytes = 2_500;
    let world = World::new()
        .server(0, 1 << 40)
        .script(vec![sequence([write(bytes), read(bytes)])], &[0]);
    let rig = world.complete();
    assert_eq!(rig.fabric.delivered(), (0, 0));
    let m = rig.hosts.metrics(0, 0);
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
    let rig = World::new().server(40, 1 << 40).script(vec![ops], &[0]).complete();
    let m = rig.hosts.metrics(0, 0);
    assert_eq!((m.io_operations, m.bytes_written), (3, 3_000));
    assert!(rig.hosts.io_records()[2].end > m.end);
}

#[test]
fn a_full_server_without_drain_names_its_victims_and_with_one_it_goes_on() {
    let ranks = || vec![sequence([write(6_000)]), sequence([compute(500_000), write(6_000)])];
    let mut world = World::new().server(40, 10_000);
    let rig = world.clone().script(ranks(), &[0, 1]).run();
    let HostOutcome::StorageFull {
        stuck,
        blocked,
        unfinished,
    } = rig.outcome()
    else {
        panic!()
    };
    assert_eq!((stuck.len(), blocked.len(), unfinished), (1, 1, 1));
    assert_eq!(
        (stuck[0].job, stuck[0].rank, stuck[0].needed, stuck[0].free),
        (0, 1, 6_000, 4_000)
    );
    assert_eq!(blocked[0].op, "Write 6000 B at 0 of file 5");

    world.servers[0].drain = Some(DrainParams {
        bandwidth: Bandwidth(1e8),
        latency: Time::from_ns(1_000),
        threshold: 10_000,
    });
    let rig = world.clone().script(ranks(), &[0, 1]).complete();
    assert!(rig.hosts.servers().metrics(0).bytes_drained >= 2_000);

    let rig = world.script(vec![sequence([write(10_001)])], &[0]).run();
    let HostOutcome::Failed { kind, text } = rig.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::WriteExceedsDevice);
    assert!(text.contains("10001 B") && text.contains("10000 B"), "{text}");
}
