//! Full devices: waiting requests, their order, and no lost data.

use crate::rig::{MB, Rig, delay, drain, header, ms, plain_device, transfer};
use odonata_engine::Plain;
use odonata_storage::{BlockedWrite, Drain, ServerParams};
use odonata_units::{Bandwidth, Bytes, Time};

#[test]
fn a_full_server_without_a_drain_holds_its_writers_in_order_and_names_them() {
    let mut rig = Rig::new(vec![plain_device(10 * MB, 10 * MB); 2], delay(Time::ZERO));
    rig.request(Time::ZERO, 1, transfer(true, 1, 6 * MB));
    rig.request(ms(1), 1, transfer(true, 2, 6 * MB)); // does not fit
    rig.request(ms(2), 1, transfer(true, 3, 2 * MB)); // would fit, but is not first in line
    rig.request(ms(2), 1, transfer(false, 4, MB)); // a read needs no space
    rig.run::<Plain>();
    let tokens: Vec<_> = rig.answers.iter().map(|&(_, token, _)| token).collect();
    assert_eq!(tokens.len(), 2);
    assert!(tokens.contains(&1) && tokens.contains(&4));
    let blocked: Vec<_> = rig.servers.measured().blocked_writes().collect();
    let waiting = |token: u64, since, needed| BlockedWrite {
        server: 1,
        header: header(token, 0),
        since,
        needed,
        free: 4 * MB,
    };
    assert_eq!(blocked, [waiting(2, ms(1), 6 * MB), waiting(3, ms(2), 2 * MB)]);
    assert!(
        rig.servers
            .measured()
            .audit()
            .unwrap_err()
            .contains("request 2 of client 2 (job 0) needs 6000000 B")
    );
}

#[test]
fn a_request_larger_than_the_device_is_impossible_and_delays_no_other() {
    let mut rig = Rig::new(vec![plain_device(10 * MB, 10 * MB)], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 10 * MB + 1));
    rig.request(Time::ZERO, 0, transfer(true, 2, 10 * MB));
    rig.run::<Plain>();
    assert_eq!(rig.impossible, [1]);
    assert_eq!(rig.answers, [(ms(10), 2, 10 * MB)]);
    rig.servers.measured().audit().unwrap();
}

#[test]
fn a_drain_lets_waiting_writers_in_by_their_order_and_loses_nothing() {
    let params = ServerParams {
        drain: Some(drain(ms(5), 8 * MB)),
        ..plain_device(10 * MB, 10 * MB)
    };
    let mut rig = Rig::new(vec![params], delay(ms(1)));
    for token in 1..=9 {
        rig.request(Time::ZERO, 0, transfer(true, token, (1 + token % 3) * 3 * MB));
    }
    rig.run::<Plain>();
    let answered: Vec<_> = rig.answers.iter().map(|&(_, token, _)| token).collect();
    assert_eq!(answered, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(rig.servers.measured().blocked_writes().count(), 0);
    rig.servers.measured().audit().unwrap();
    assert!(!rig.servers.measured().is_draining(0));
    let m = rig.servers.measured().metrics(0);
    assert_eq!(m.bytes_written, 3 * (3 + 6 + 9) * MB);
    assert_eq!(m.bytes_written - m.bytes_drained, rig.servers.measured().used(0));
    assert_eq!(m.drain_reads * MB, m.bytes_drained);
    assert!(rig.servers.measured().used(0) <= 8 * MB && m.space_wait_ps > 0);
}

#[test]
fn a_drain_stops_at_the_first_block_that_reaches_its_threshold() {
    let params = ServerParams {
        drain: Some(drain(ms(1), 3 * MB + 1)),
        ..plain_device(10 * MB, 10 * MB)
    };
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 8 * MB));
    rig.run::<Plain>();
    assert_eq!(
        (
            rig.servers.measured().used(0),
            rig.servers.measured().metrics(0).bytes_drained
        ),
        (3 * MB, 5 * MB)
    );
}

#[test]
fn a_writer_below_the_threshold_that_needs_more_space_is_drained_for() {
    // 7 MB in use never exceed the threshold of 8 MB, but 5 MB more do not fit into 10 MB.
    let params = ServerParams {
        drain: Some(drain(ms(1), 8 * MB)),
        ..plain_device(10 * MB, 10 * MB)
    };
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 7 * MB));
    rig.request(ms(100), 0, transfer(true, 2, 5 * MB));
    rig.run::<Plain>();
    assert_eq!(rig.answers.len(), 2);
    // Each block is read (1 ms) while the link carries the previous one (1 ms); two blocks free 2 MB: 100 + 3 ms. The
    // third is already on the link when 10 MB are reserved. The device then serves the writes, 5 of their own pieces,
    // and at most 3 blocks of the drain.
    let (at, token, _) = rig.answers[1];
    assert_eq!(token, 2);
    assert_eq!(rig.servers.measured().metrics(0).space_wait_ps, u128::from(ms(3).0));
    assert!((ms(103 + 5)..=ms(103 + 8)).contains(&at), "{at:?}");
    rig.servers.measured().audit().unwrap();
}

#[test]
fn the_link_of_the_drain_is_never_idle_while_the_device_is_faster() {
    // Reading a block takes 1 ms, its transfer 5 ms and its acknowledgment 0.5 ms.
    let to = Drain {
        bandwidth: Bandwidth(2e8),
        latency: Time::from_ns(500_000),
        threshold: Bytes(0),
    };
    let params = ServerParams {
        drain: Some(to),
        ..plain_device(100 * MB, 100 * MB)
    };
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 10 * MB));
    rig.run::<Plain>();
    // First write 1 ms, three more writes that joined the queue before the first read, that read 1 ms, then ten
    // consecutive transfers.
    assert_eq!(rig.now, ms(1 + 3 + 1 + 10 * 5) + Time::from_ns(10 * 500_000));
    assert_eq!(
        (
            rig.servers.measured().used(0),
            rig.servers.measured().metrics(0).bytes_drained
        ),
        (0, 10 * MB)
    );
}

#[test]
fn memory_is_handed_out_piece_by_piece_and_all_comes_back() {
    let mut rig = Rig::new(vec![plain_device(1_000 * MB, 3 * MB)], delay(ms(2)));
    for token in 1..=6 {
        rig.request(Time::ZERO, 0, transfer(token % 2 == 0, token, 5 * MB));
    }
    rig.run::<Plain>();
    let m = rig.servers.measured().metrics(0);
    assert_eq!(m.peak_memory, 3 * MB);
    assert!(m.memory_wait_ps > 0);
    assert_eq!((rig.servers.measured().memory_in_use(0), rig.answers.len()), (0, 6));
    rig.servers.measured().audit().unwrap();
}

#[test]
fn an_audit_during_the_run_names_what_is_open() {
    let mut rig = Rig::new(vec![plain_device(10 * MB, 10 * MB)], delay(ms(1)));
    rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
    rig.step::<Plain>();
    assert_eq!(
        rig.servers.measured().audit().unwrap_err(),
        "storage server 0: 2 blocks of memory are still taken"
    );
    assert_eq!(
        (
            rig.servers.measured().open_requests(),
            rig.servers.measured().accesses_in_service(0)
        ),
        (1, 0)
    );
    rig.step::<Plain>();
    assert_eq!(rig.servers.measured().accesses_in_service(0), 1);
}
