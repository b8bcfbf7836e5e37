//! Times with closed forms.

use crate::rig::{MB, Rig, burst_buffer, delay, ms, pipelined, plain_device, transfer};
use odonata_engine::Plain;
use odonata_storage::{ServerParams, StorageRequest};
use odonata_units::{Bandwidth, Bytes, Time};

/// A full piece at 5,700 MiB/s, with 20 us per access, in ps.
const PIECE: u64 = 187_311_284;
/// A full piece after a seek of 2.5 ms.
const PIECE_AFTER_SEEK: u64 = 2_687_311_284;

/// The time of one request on an empty server.
fn alone(params: ServerParams, network: Time, request: StorageRequest) -> Time {
    let mut rig = Rig::new(vec![params], delay(network));
    rig.request(Time::ZERO, 0, request);
    rig.run::<Plain>();
    assert_eq!(rig.answers.len(), 1);
    rig.servers.measured().audit().unwrap();
    rig.answers[0].0
}

#[test]
fn a_piece_takes_187_3_us_and_2_687_3_us_after_a_seek() {
    let piece = (20e6 + 1e18_f64 / (5_700.0 * 1_048_576.0)).round() as u64;
    assert_eq!((piece, piece + 2_500_000_000), (PIECE, PIECE_AFTER_SEEK));
    let first_of_file = |file| {
        alone(
            burst_buffer(),
            Time::ZERO,
            StorageRequest {
                object: file,
                ..transfer(true, 1, MB)
            },
        )
    };
    assert_eq!(first_of_file(0), Time(PIECE)); // the device begins at file 0, offset 0
    assert_eq!(first_of_file(1), Time(PIECE_AFTER_SEEK));
}

#[test]
fn over_an_instant_network_a_request_takes_its_device_time() {
    for write in [true, false] {
        // One seek to the file, n - 1 further full pieces, 20 us + 1/4 of the transfer for the last one.
        let quarter = 20_000_000 + (PIECE - 20_000_000) / 4;
        let time = alone(burst_buffer(), Time::ZERO, transfer(write, 1, 7 * MB + MB / 4));
        assert_eq!(time, Time(PIECE_AFTER_SEEK + 6 * PIECE + quarter), "write: {write}");
    }
}

#[test]
fn the_pipelining_factor_hides_the_network_as_far_as_it_reaches() {
    let s = 1; // ms per piece at the device
    for write in [true, false] {
        for k in 1..=5 {
            for d in [1, 3, 10] {
                let n = 4 * u64::from(k); // pieces
                let params = pipelined(k, plain_device(100 * MB, 100 * MB));
                let time = alone(params, ms(d), transfer(write, 1, n * MB));
                let k = u64::from(k);
                let expected = if k * s >= d + s {
                    d + n * s // the device never starves
                } else {
                    (n / k) * (d + s) + (k - 1) * s // n/k rounds; the pieces of the last one are written in sequence
                };
                assert_eq!(time, ms(expected), "write: {write}, k = {k}, d = {d} ms");
            }
        }
    }
}

#[test]
fn at_most_the_pipelining_factor_is_outstanding_per_request() {
    for k in [1, 4, 6] {
        let params = pipelined(k, plain_device(100 * MB, 100 * MB));
        let mut rig = Rig::new(vec![params], delay(ms(20)));
        for token in 1..=3 {
            rig.request(Time::ZERO, 0, transfer(true, token, 10 * MB));
        }
        rig.run::<Plain>();
        assert_eq!(rig.most_outstanding, k);
        // Three concurrent requests: 3 k blocks of memory.
        assert_eq!(rig.servers.measured().metrics(0).peak_memory, 3 * u64::from(k) * MB);
    }
}

#[test]
fn a_small_memory_pool_acts_like_a_small_pipelining_factor() {
    let network = ms(10);
    let with = |memory, k| {
        let params = pipelined(k, plain_device(100 * MB, memory));
        alone(params, network, transfer(true, 1, 12 * MB))
    };
    // 2.5 blocks of memory count as two.
    assert_eq!(with(2 * MB + MB / 2, 4), with(100 * MB, 2));
}

/// Little's law: `m` blocks of memory, each held for the network and device times, give `m / (d + s)` pieces per unit
/// of time, over all requests. The pieces of the last round are written in sequence.
#[test]
fn the_memory_pool_limits_all_requests_together_where_littles_law_puts_it() {
    let (d, s, requests, pieces) = (10, 1, 4, 6);
    for m in [1, 2, 3, 8] {
        let mut rig = Rig::new(vec![plain_device(1_000 * MB, m * MB)], delay(ms(d)));
        for token in 0..requests {
            rig.request(Time::ZERO, 0, transfer(true, token, pieces * MB));
        }
        rig.run::<Plain>();
        assert_eq!(rig.now, ms(requests * pieces / m * (d + s) + (m - 1) * s), "{m} blocks");
        rig.servers.measured().audit().unwrap();
    }
}

/// `k` clients with one piece in flight each, on a device that never idles (`k s >= d + s`), are served in turn: the
/// last of the `n` pieces of client `i` is written at `d + (k (n - 1) + i + 1) s`.
#[test]
fn clients_of_one_device_are_served_in_turn() {
    let (d, s, k, n) = (3, 1, 4, 5);
    let mut rig = Rig::new(vec![pipelined(1, plain_device(1_000 * MB, 100 * MB))], delay(ms(d)));
    for token in 0..k {
        rig.request(Time::ZERO, 0, transfer(true, token, n * MB));
    }
    rig.run::<Plain>();
    let expected: Vec<_> = (0..k).map(|i| (ms(d + (k * (n - 1) + i + 1) * s), i, n * MB)).collect();
    assert_eq!(rig.answers, expected);
}

#[test]
fn an_empty_request_is_answered_at_once() {
    for write in [true, false] {
        let mut rig = Rig::new(vec![plain_device(MB, MB)], delay(ms(1)));
        rig.request(ms(3), 0, transfer(write, 9, 0));
        rig.run::<Plain>();
        assert_eq!(rig.answers, [(ms(3), 9, 0)]);
        assert_eq!(rig.servers.measured().metrics(0).requests, 1);
        rig.servers.measured().audit().unwrap();
    }
}

#[test]
fn metrics_add_up() {
    let mut rig = Rig::new(vec![plain_device(100 * MB, 100 * MB)], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
    rig.request(Time::ZERO, 0, transfer(false, 2, 3 * MB));
    rig.run::<Plain>();
    let m = rig.servers.measured().metrics(0);
    assert_eq!((m.bytes_written, m.bytes_read), (2 * MB, 3 * MB));
    assert_eq!((m.device_writes, m.device_reads, m.drain_reads), (2, 3, 0));
    assert_eq!(m.device_busy, ms(5)); // 5 pieces of 1 ms
    // The three pieces of the read join the queue immediately, the two of the write after their pull: the read ends at
    // 3 ms, the write at 5 ms.
    assert_eq!(m.request_time_ps, u128::from(ms(3 + 5).0));
    // Waiting times for the device: 0 + 1 + 2 ms and 3 + 4 ms.
    assert_eq!(m.device_wait_ps, u128::from(ms(10).0));
    assert_eq!(
        (m.requests, m.peak_used, m.space_wait_ps, m.memory_wait_ps),
        (2, 2 * MB, 0, 0)
    );
}

#[test]
fn pieces_of_different_clients_continue_each_other_only_where_all_share_one_object() {
    let seeks = |object_per_file| {
        let mut params = pipelined(1, burst_buffer());
        params.manager.object_per_file = object_per_file;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(Time::ZERO, 0, transfer(true, 1, 4 * MB));
        rig.request(Time::ZERO, 0, transfer(true, 2, 4 * MB));
        rig.run::<Plain>();
        let m = rig.servers.measured().metrics(0);
        assert_eq!(m.device_busy, Time(8 * PIECE) + Time::from_ns(2_500_000 * m.seeks));
        m.seeks
    };
    // The device alternates a0 b0 a1 b1 ...: with one object per file, every access seeks; in a shared object, a(i+1)
    // begins at the end of b(i), and only the accesses of b seek.
    assert_eq!(seeks(true), 8);
    assert_eq!(seeks(false), 4);
}

#[test]
fn clients_in_step_seek_as_in_the_stored_runs() {
    // MFNetSim, Checkpoint under random placement, servers 17 and 44: two clients write 50 GB / 300 each; 334 writes,
    // 167 seeks, 479,950,427.637 ns of device time. The queue keeps the order of the first round, a0 b0 a1 b1 a2 b2 a3
    // b3, so that every second piece begins in the shared object at the end of the previous one.
    let mut params = burst_buffer();
    params.manager.object_per_file = false;
    let piece_on_the_wire = Bandwidth::gib_per_s(5.25).time_for(Bytes(MB));
    let mut free = [Time::ZERO; 2]; // time at which the link of each client is free
    let network = Box::new(move |now: Time, _: u32, client: u32, _: u64| {
        let link = &mut free[client as usize];
        *link = now.max(*link) + piece_on_the_wire;
        *link
    });
    let mut rig = Rig::new(vec![params], network);
    for client in 0..2 {
        rig.request(Time::from_ns(client), 0, transfer(true, client, 50_000 * MB / 300));
    }
    rig.run::<Plain>();
    let m = rig.servers.measured().metrics(0);
    assert_eq!((m.bytes_written, m.device_writes, m.seeks), (333_333_332, 334, 167));
    assert!(m.device_busy.0.abs_diff(479_950_427_637) < 1_000, "{:?}", m.device_busy);
}
