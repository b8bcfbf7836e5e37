//! Servers that track the places of their data.

use crate::rig::{MB, Rig, contents, delay, drain, ms, pipelined, plain_device, range};
use odonata_device::Rules;
use odonata_engine::Plain;
use odonata_storage::settings::{Acknowledge, Unwritten};
use odonata_storage::{Place, ServerParams};
use odonata_units::{Bytes, Time};

fn indexed(mut params: ServerParams) -> ServerParams {
    params.manager.extents = true;
    params
}

#[test]
fn overwriting_takes_no_new_space() {
    let used = |index: bool| {
        let mut params = plain_device(10 * MB, 100 * MB);
        params.manager.extents = index;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(ms(0), 0, range(true, 1, 7, (0, 8 * MB)));
        // 5 of its 7 MB are already present.
        rig.request(ms(100), 0, range(true, 2, 7, (3 * MB, 7 * MB)));
        rig.run::<Plain>();
        if index {
            rig.servers.measured().audit().unwrap();
            assert_eq!(contents(&rig), [(7, 0, 10 * MB, Place::Device(0))]);
        }
        (
            rig.answers.len(),
            rig.servers.measured().used(0),
            rig.servers.measured().blocked_writes().count(),
        )
    };
    assert_eq!(used(true), (2, 10 * MB, 0));
    assert_eq!(used(false), (1, 8 * MB, 1));
}

#[test]
fn capacity_is_counted_to_the_byte() {
    let mut rig = Rig::new(vec![indexed(plain_device(1_000_000, 100 * MB))], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 7, (10, 999_990)));
    rig.request(ms(10), 0, range(true, 2, 7, (0, 20))); // 10 new bytes: the device is full
    rig.request(ms(20), 0, range(true, 3, 7, (5, 999_995))); // none
    rig.request(ms(30), 0, range(true, 4, 8, (0, 1))); // one too many
    rig.run::<Plain>();
    let answered: Vec<_> = rig.answers.iter().map(|answer| answer.1).collect();
    assert_eq!((answered, rig.servers.measured().used(0)), (vec![1, 2, 3], 1_000_000));
    let blocked: Vec<_> = rig
        .servers
        .measured()
        .blocked_writes()
        .map(|write| (write.header.token, write.free))
        .collect();
    assert_eq!(blocked, [(4, 0)]);
}

/// By the rules, small requests go to device 0 and large ones to device 1, but a read goes to the device that holds the
/// data.
#[test]
fn a_read_goes_to_the_device_that_has_the_data() {
    let reads = |index: bool| {
        let one = plain_device(100 * MB, 100 * MB).devices.remove(0);
        let params = ServerParams {
            devices: vec![one.clone(), one],
            rules: Rules::by_size(Bytes(MB), "a", "b").resolve(&["a", "b"]).unwrap(),
            ..plain_device(1, 100 * MB)
        };
        let params = if index { indexed(params) } else { params };
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        for part in 0..8 {
            rig.request(ms(0), 0, range(true, part, 7, (part * MB / 2, MB / 2)));
        }
        rig.request(ms(50), 0, range(false, 10, 7, (0, 4 * MB)));
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        let reads: Vec<_> = rig
            .servers
            .measured()
            .device_metrics(0)
            .map(|(_, m)| m.bytes_read)
            .collect();
        reads
    };
    assert_eq!(reads(true), [4 * MB, 0]);
    assert_eq!(reads(false), [0, 4 * MB]);
}

#[test]
fn what_moves_to_another_device_frees_its_space_on_the_first() {
    let one = plain_device(4 * MB, 1).devices.remove(0);
    let params = ServerParams {
        devices: vec![one.clone(), one],
        rules: Rules::by_size(Bytes(2 * MB), "a", "b").resolve(&["a", "b"]).unwrap(),
        ..plain_device(1, 100 * MB)
    };
    let mut rig = Rig::new(vec![indexed(params)], delay(Time::ZERO));
    for part in 0..4 {
        rig.request(ms(0), 0, range(true, part, 7, (part * MB, MB)));
    }
    rig.request(ms(10), 0, range(true, 5, 8, (0, MB))); // waits: device 0 is full
    rig.request(ms(20), 0, range(true, 6, 7, (0, 3 * MB))); // to device 1
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let (to, place) = (|d| Place::Device(d), contents(&rig));
    assert_eq!(
        place,
        [(7, 0, 3 * MB, to(1)), (7, 3 * MB, 4 * MB, to(0)), (8, 0, MB, to(0))]
    );
    assert_eq!(rig.servers.measured().used(0), 5 * MB);
    // The write waited from 10 ms to 20 ms.
    assert_eq!(rig.servers.measured().metrics(0).space_wait_ps, u128::from(ms(10).0));
}

#[test]
fn what_is_still_in_memory_is_read_from_there() {
    let mut params = indexed(pipelined(8, plain_device(100 * MB, 100 * MB)));
    params.manager.acknowledge = Acknowledge::Memory;
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(ms(1), 0, range(true, 1, 7, (0, 4 * MB)));
    rig.request(ms(2), 0, range(false, 2, 7, (2 * MB, 2 * MB)));
    rig.request(ms(9), 0, range(false, 3, 7, (2 * MB, 2 * MB)));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    // Immediately, and like any read when the device holds the data.
    assert_eq!(
        rig.answers,
        [(ms(1), 1, 4 * MB), (ms(2), 2, 2 * MB), (ms(9 + 2), 3, 2 * MB)]
    );
    assert_eq!(rig.servers.measured().metrics(0).device_reads, 2);
}

#[test]
fn a_read_of_unwritten_data_is_a_read_or_an_error() {
    let run = |unwritten| {
        let mut params = indexed(plain_device(100 * MB, 100 * MB));
        params.manager.unwritten = unwritten;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(ms(0), 0, range(true, 1, 7, (0, MB)));
        rig.request(ms(10), 0, range(false, 2, 7, (0, MB)));
        rig.request(ms(20), 0, range(false, 3, 7, (1, MB))); // its last byte
        rig.run::<Plain>();
        rig.servers.measured().audit().unwrap();
        (rig.answers.len(), rig.unwritten)
    };
    assert_eq!(run(Unwritten::ExistsBelow), (3, vec![]));
    assert_eq!(run(Unwritten::Error), (2, vec![3]));
}

/// Reading a block takes 1 ms, sending it 10 ms. A block overwritten during its drain is drained again.
#[test]
fn what_is_overwritten_on_its_way_down_is_drained_again() {
    let mut params = indexed(plain_device(100 * MB, 100 * MB));
    params.drain = Some(drain(ms(10), 0));
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 7, (0, 3 * MB)));
    // The first block is in flight until 12 ms; the second is being read.
    rig.request(ms(5), 0, range(true, 2, 7, (0, MB)));
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    assert_eq!(contents(&rig), [(7, 0, 3 * MB, Place::LowerTier)]);
    assert_eq!(
        (
            rig.servers.measured().used(0),
            rig.servers.measured().metrics(0).bytes_drained
        ),
        (0, 4 * MB)
    );
}

#[test]
fn files_that_are_written_in_pieces_are_one_extent_each() {
    let mut rig = Rig::new(vec![indexed(plain_device(1_000 * MB, 100 * MB))], delay(ms(1)));
    for file in 0..20 {
        for part in 0..5 {
            rig.request(
                ms(file),
                0,
                range(true, file * 10 + part, file, (part * 3 * MB, 3 * MB)),
            );
        }
    }
    rig.run::<Plain>();
    rig.servers.measured().audit().unwrap();
    let files: Vec<_> = (0..20).map(|file| (file, 0, 15 * MB, Place::Device(0))).collect();
    assert_eq!(contents(&rig), files);
}
