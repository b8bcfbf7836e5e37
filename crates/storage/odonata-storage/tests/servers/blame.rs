//! Waiting time at a server by culprit: constructed cases with known answers.

use crate::rig::*;
use odonata_engine::Plain;
use odonata_storage::{RESOURCES, StorageRequest};
use odonata_units::Time;

/// A write of `bytes` by job `owner`.
fn of(owner: u16, token: u64, bytes: u64) -> StorageRequest {
    for_job(owner, transfer(true, token, bytes))
}

/// (resource, victim, culprit, milliseconds).
fn blame(rig: &Rig) -> Vec<(&'static str, u16, u16, u64)> {
    let charges = rig.servers.measured().blame().map(|c| {
        let culprit = c.culprit.expect("nothing is left open");
        (
            RESOURCES[usize::from(c.resource)],
            c.victim,
            culprit,
            c.time.0 / ms(1).0,
        )
    });
    charges.collect()
}

/// Jobs 1 and 2 write 3 MB each at the same time, in pieces of 1 MB with 1 ms each at the device; all pieces arrive
/// together. The queue is 1 1 1 2 2 2. Job 2 waits 3 ms for its first piece to be served. Job 1 waits for no other job:
/// it does not wait while one of its pieces is in service.
#[test]
fn two_jobs_on_one_device() {
    let mut rig = Rig::new(vec![plain_device(100 * MB, 100 * MB)], delay(Time::from_ps(1)));
    rig.request(ms(1), 0, of(1, 10, 3 * MB));
    rig.request(ms(1), 0, of(2, 20, 3 * MB));
    rig.run::<Plain>();
    assert_eq!(blame(&rig), [("device", 2, 1, 3)]);
    assert_eq!(
        [1, 2].map(|job| rig.servers.measured().device_time_ps(job)),
        [ms(3).0.into(); 2]
    );
    rig.servers.measured().audit().unwrap();
}

/// With one piece in flight per request, the device alternates: 1 2 1 2 1 2 (a pull takes no time). Each job waits 1 ms
/// for each piece of the other: job 2 three times, job 1 twice.
#[test]
fn in_turn_each_waits_for_the_other() {
    let mut params = plain_device(100 * MB, 100 * MB);
    params.manager.pieces_in_flight = 1;
    let mut rig = Rig::new(vec![params], delay(Time::from_ps(1)));
    rig.request(ms(1), 0, of(1, 10, 3 * MB));
    rig.request(ms(1), 0, of(2, 20, 3 * MB));
    rig.run::<Plain>();
    // A pull takes 1 ps, during which no piece waits.
    assert_eq!(blame(&rig), [("device", 1, 2, 1), ("device", 2, 1, 2)]);
    let total = |victim| {
        let mine = rig.servers.measured().blame().filter(|c| c.victim == victim);
        mine.map(|c| c.time.0).sum::<u64>()
    };
    // 2 ms minus the 2 pulls after the first piece, 3 ms minus 2 pulls.
    assert_eq!((total(1), total(2)), (ms(2).0 - 2, ms(3).0 - 2));
    rig.servers.measured().audit().unwrap();
}

/// A device of 2 MB with a drain of 5 ms per MB. Job 1 fills it. Job 2 waits for space from its request until the first
/// block of job 1 has left: 1 ms to read, 5 ms to send.
#[test]
fn a_wait_for_space_is_charged_to_the_job_with_the_oldest_data() {
    let mut params = plain_device(2 * MB, 100 * MB);
    params.drain = Some(drain(ms(5), 2 * MB));
    let mut rig = Rig::new(vec![params], delay(Time::from_ps(1)));
    rig.request(ms(1), 0, of(1, 10, 2 * MB));
    rig.request(ms(10), 0, of(2, 20, MB));
    rig.run::<Plain>();
    assert_eq!(blame(&rig), [("space", 2, 1, 6)]);
    rig.servers.measured().audit().unwrap();
}

/// Memory for one block: the only piece of job 2 waits for the block, which job 1 releases after its first piece.
#[test]
fn a_wait_for_memory_is_charged_to_the_job_that_releases_it() {
    let mut rig = Rig::new(vec![plain_device(100 * MB, MB)], delay(Time::from_ps(1)));
    rig.request(ms(1), 0, of(1, 10, MB));
    rig.request(ms(1), 0, of(2, 20, MB));
    rig.run::<Plain>();
    // The block is held during its pull (1 ps) and write (1 ms).
    assert_eq!(blame(&rig), [("memory", 2, 1, 1)]);
    rig.servers.measured().audit().unwrap();
}
