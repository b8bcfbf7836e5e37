//! The order of service, and acknowledgment and commit of writes.

use crate::rig::{MB, Rig, delay, for_job, ms, pipelined, plain_device, transfer};
use odonata_device::{DeviceModel, Rate};
use odonata_engine::Plain;
use odonata_storage::ServerParams;
use odonata_storage::settings::{Acknowledge, Sharing};
use odonata_units::Time;

fn shared(sharing: Sharing, mut params: ServerParams) -> ServerParams {
    params.manager.sharing = sharing;
    params
}

/// Answer times of two jobs in ms: job 0 writes 8 pieces of 1 ms, job 1 has 2 pieces a moment later; all are at the
/// device together.
fn ends(sharing: Sharing) -> [u64; 2] {
    let mut rig = Rig::new(
        vec![shared(sharing, pipelined(8, plain_device(100 * MB, 100 * MB)))],
        delay(Time::ZERO),
    );
    for (owner, pieces) in [(0, 8), (1, 2)] {
        let request = transfer(true, owner, pieces * MB);
        let request = for_job(owner as u16, request);
        rig.request(Time::from_ps(owner), 0, request);
    }
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    rig.answers.sort_by_key(|answer| answer.1);
    [0, 1].map(|job: usize| rig.answers[job].0.0 / ms(1).0)
}

#[test]
fn a_small_job_waits_for_a_large_one_only_where_all_are_served_in_order() {
    assert_eq!(ends(Sharing::Fifo), [8, 10]);
    // 0 1 0 1 0 0 0 0 0 0
    assert_eq!(ends(Sharing::RoundRobin), [10, 4]);
    // Weight 3 of job 0: 0 1 0 0 0 1 0 0 0 0.
    assert_eq!(ends(Sharing::Weighted), [10, 6]);
}

#[test]
fn jobs_take_turns_for_memory_too() {
    // One block of memory; each piece takes 2 ms in the network and 1 ms at the device.
    let params = shared(Sharing::RoundRobin, plain_device(100 * MB, MB));
    let mut rig = Rig::new(vec![params], delay(ms(2)));
    for (token, owner, pieces) in [(0, 0, 4), (1, 0, 4), (2, 1, 2)] {
        let request = transfer(true, token, pieces * MB);
        rig.request(Time::ZERO, 0, for_job(owner, request));
    }
    rig.run::<Plain>();
    // Its two pieces are the second and the fourth overall.
    let (end, ..) = rig.answers.iter().find(|answer| answer.1 == 2).copied().unwrap();
    assert_eq!((end, rig.now), (ms(4 * 3), ms(10 * 3)));
    rig.servers.measured().audit().unwrap();
}

#[test]
fn a_job_for_which_there_is_space_does_not_wait_for_the_large_request_of_another() {
    use crate::rig::drain;
    let answers = |sharing| {
        let mut params = shared(sharing, plain_device(10 * MB, 100 * MB));
        params.drain = Some(drain(ms(10), 10 * MB));
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        for (token, owner, bytes) in [(0, 0, 9 * MB), (1, 0, 9 * MB), (2, 1, MB)] {
            let request = transfer(true, token, bytes);
            rig.request(Time::from_ps(token), 0, for_job(owner, request));
        }
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        let order: Vec<_> = rig.answers.iter().map(|answer| answer.1).collect();
        order
    };
    assert_eq!(answers(Sharing::Fifo), [0, 1, 2]);
    assert_eq!(answers(Sharing::RoundRobin), [2, 0, 1]);
}

/// Network 2 ms, device 1 ms per piece, all pieces in flight: acknowledged when the last one is in memory, committed
/// when the device has written all of them.
#[test]
fn a_write_is_acknowledged_in_memory_and_committed_on_the_device() {
    let run = |acknowledge| {
        let mut params = pipelined(8, plain_device(100 * MB, 100 * MB));
        params.manager.acknowledge = acknowledge;
        let mut rig = Rig::new(vec![params], delay(ms(2)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 6 * MB));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        let (_, m) = rig.servers.measured().device_metrics(0).next().unwrap();
        assert_eq!((m.commits, m.commit_ps), (1, u128::from(ms(8).0)));
        assert_eq!(rig.servers.measured().last_commit(0), Some(ms(8)));
        assert_eq!(rig.servers.measured().last_commit(1), None);
        (rig.answers[0].0, rig.servers.measured().metrics(0).request_time_ps)
    };
    assert_eq!(run(Acknowledge::Device), (ms(8), u128::from(ms(8).0)));
    assert_eq!(run(Acknowledge::Memory), (ms(2), u128::from(ms(2).0)));
}

/// One piece in flight, with 2 ms in the network; the device, with 5 ms, delays no piece.
#[test]
fn a_write_to_memory_is_as_fast_as_the_network() {
    let mut params = pipelined(1, plain_device(100 * MB, 100 * MB));
    params.manager.acknowledge = Acknowledge::Memory;
    let DeviceModel::Rate(device) = params.devices[0].model else {
        unreachable!("a plain device")
    };
    params.devices[0].model = DeviceModel::Rate(Rate {
        overhead: ms(4),
        ..device
    });
    let mut rig = Rig::new(vec![params], delay(ms(2)));
    rig.request(Time::ZERO, 0, transfer(true, 1, 6 * MB));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!((rig.answers[0].0, rig.now), (ms(6 * 2), ms(2 + 6 * 5)));
}

/// Memory limits write-back: if it is smaller than the request, the rest waits for the device.
#[test]
fn write_back_is_as_large_as_the_memory() {
    let mut params = pipelined(8, plain_device(100 * MB, 2 * MB));
    params.manager.acknowledge = Acknowledge::Memory;
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 6 * MB));
    rig.run::<Plain>();
    // When the fourth piece is on the device, its memory takes the sixth.
    assert_eq!((rig.answers[0].0, rig.now), (ms(4), ms(6)));
    rig.servers.measured().audit().unwrap();
}

/// Three pieces arrive after 2 ms and are written in 1 ms each: 6 ms of memory and of accesses in total, in intervals
/// of 7 ms.
#[test]
fn what_is_in_use_is_integrated_over_time() {
    let mut rig = Rig::new(vec![plain_device(100 * MB, 100 * MB)], delay(ms(2)));
    rig.request(ms(3), 0, transfer(true, 1, 3 * MB));
    rig.run::<Plain>();
    let until = ms(20);
    let by_interval = rig.servers.measured().occupancy(until);
    let accesses: Vec<_> = by_interval.iter().map(|(&(bin, _), sum)| (bin, sum.accesses)).collect();
    // Three at 5 ms, two at 6 ms; in the next interval one for a millisecond.
    let ps = |ms_: u64| u128::from(ms(ms_).0);
    assert_eq!(accesses, [(0, ps(3 + 2)), (1, ps(1)), (2, 0)]);
    // Memory is also in use while pieces are in flight.
    let memory: u128 = by_interval.values().map(|sum| sum.memory).sum();
    assert_eq!(memory, u128::from(MB) * ps(3 * 2 + 6));
    // Space is in use from the reservation on.
    let used: u128 = by_interval.values().map(|sum| sum.used).sum();
    assert_eq!(used, 3 * u128::from(MB) * ps(20 - 3));
}
