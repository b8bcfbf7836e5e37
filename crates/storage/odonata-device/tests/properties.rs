//! Properties of every device under thousands of random accesses: time advances, seeds decide, a state can be restored.

use odonata_device::{Access, Device, DeviceModel, DeviceState, Hdd, Nvme, Rate, Ssd, presets};
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Journalled, Savepoint, Speculative, Store, Stream};
use odonata_units::{Bandwidth, Bytes, Time};

/// Presets, and devices with extreme parameters.
fn devices() -> Vec<(String, DeviceModel)> {
    let mut devices: Vec<_> = presets::names()
        .map(|name| (name.to_owned(), presets::device(name).unwrap()))
        .collect();
    let hdd = Hdd::default();
    let mut add = |name: &str, device| devices.push((name.to_owned(), device));
    add(
        "write through",
        DeviceModel::Hdd(Hdd {
            write_cache: Bytes::ZERO,
            ..hdd
        }),
    );
    let ahead = Hdd {
        read_ahead: Bytes::ZERO,
        read_ahead_most: Bytes::ZERO,
        segments: 1,
        ..hdd
    };
    add("no read-ahead", DeviceModel::Hdd(ahead));
    add("one write", DeviceModel::Hdd(Hdd { reorder: 1, ..hdd }));
    let slow = Hdd {
        capacity: Bytes::mib(1),
        rpm: 60,
        outer_rate: Bandwidth(1e3),
        inner_rate: Bandwidth(1e3),
        zones: 64,
        read_ahead_most: Bytes::mib(1),
        reorder: 256,
        interface: Bandwidth(1.0),
        ..hdd
    };
    add("slow disk", DeviceModel::Hdd(slow));
    let swift = Ssd {
        channels: 1,
        ways: 1,
        page_read: Time(1),
        page_write: Time(1),
        read_switch: Time::ZERO,
        write_switch: Time::ZERO,
        page: Bytes(1 << 30),
    };
    add("one die", DeviceModel::Ssd(swift));
    let many = Nvme {
        lanes: 64,
        queue_depth: 65_535,
        read_latency: Time(1),
        read: Bandwidth(1e18),
        ..Nvme::default()
    };
    add("many lanes", DeviceModel::Nvme(many));
    let nothing = Rate {
        overhead: Time::ZERO,
        read: Bandwidth(1e18),
        write: Bandwidth(1.0),
        ..Rate::default()
    };
    add("no overhead", DeviceModel::Rate(nothing));
    for (name, device) in &devices {
        assert_eq!(device.check(), Ok(()), "{name}");
    }
    devices
}

/// Access number `n` of a mixed workload: streams, random offsets, all sizes, several objects, pauses.
fn access(choices: &mut Stream, now: &mut Time) -> Access {
    let kind = choices.below(8);
    let write = choices.below(2) == 1;
    let bytes = match choices.below(4) {
        0 => u64::from(choices.below(2)),
        1 => 4_096,
        2 => u64::from(choices.below(1 << 21)),
        _ => 512 << 10,
    };
    *now += Time(match choices.below(4) {
        0 => 0,
        1 => u64::from(choices.below(1_000_000)),
        2 => u64::from(choices.below(2_000)) * 1_000_000,
        _ => u64::from(choices.below(100)) * 1_000_000_000,
    });
    Access {
        write,
        object: u64::from(choices.below(3)),
        offset: if kind < 4 {
            now.0 / 1_000_000 / 4_096 * 4_096
        } else {
            choices.bits() >> choices.below(40)
        },
        bytes,
    }
}

#[test]
fn every_access_ends_later_than_it_begins_and_a_flush_not_before_it() {
    for (name, device) in devices() {
        let (mut state, mut now) = (DeviceState::default(), Time::ZERO);
        let mut random = Stream::new(1, 0, Purpose::Device);
        let mut choices = Stream::new(2, 0, Purpose::Device);
        for number in 0..3_000 {
            let access = access(&mut choices, &mut now);
            let finish = device.start(&mut state, now, access, &mut random);
            assert!(finish > now, "{name}: access {number}, {access:?}");
            if number % 500 == 499 {
                let flushed = device.flush(&mut state, now, &mut random);
                assert!(flushed >= now, "{name}");
                assert_eq!(
                    device.flush(&mut state, now, &mut random),
                    flushed,
                    "{name}: nothing is left to flush"
                );
            }
        }
    }
}

/// With equal state and draws, more bytes never end earlier, and a later start never ends earlier.
#[test]
fn ends_grow_with_bytes_and_with_beginnings() {
    for (name, device) in devices() {
        let (mut state, mut now) = (DeviceState::default(), Time::ZERO);
        let mut random = Stream::new(1, 0, Purpose::Device);
        let mut choices = Stream::new(3, 0, Purpose::Device);
        for number in 0..1_000 {
            let one = access(&mut choices, &mut now);
            let ends = |now: Time, bytes: u64| {
                let (mut state, mut random) = (state, random);
                device.start(&mut state, now, Access { bytes, ..one }, &mut random)
            };
            let sizes = [one.bytes, one.bytes + 1, one.bytes + 100_000];
            let by_size = sizes.map(|bytes| ends(now, bytes));
            // A write that exceeds the cache, or a read that leaves the buffer, is a different case.
            if one.write || !matches!(device, DeviceModel::Hdd(_)) {
                assert!(by_size.is_sorted(), "{name}: access {number}, {one:?}: {by_size:?}");
            }
            if !matches!(device, DeviceModel::Hdd(_)) {
                let by_time = [0, 1, 1_000_000_000].map(|later| ends(now + Time(later), one.bytes));
                assert!(by_time.is_sorted(), "{name}: access {number}, {one:?}: {by_time:?}");
            }
            device.start(&mut state, now, one, &mut random);
        }
    }
}

/// First come, first served devices end the accesses of a direction in order of arrival.
#[test]
fn queues_keep_their_order() {
    for (name, device) in devices() {
        if matches!(device, DeviceModel::Hdd(_)) {
            continue;
        }
        for write in [false, true] {
            let (mut state, mut now, mut last) = (DeviceState::default(), Time::ZERO, Time::ZERO);
            let mut random = Stream::new(1, 0, Purpose::Device);
            let mut choices = Stream::new(4, 0, Purpose::Device);
            for _ in 0..1_000 {
                let one = Access {
                    write,
                    ..access(&mut choices, &mut now)
                };
                let finish = device.start(&mut state, now, one, &mut random);
                assert!(finish >= last, "{name}");
                last = finish;
            }
        }
    }
}

/// A hash of all results of a workload.
fn trace(device: &DeviceModel, seed: u64) -> u128 {
    let (mut state, mut now) = (DeviceState::default(), Time::ZERO);
    let mut random = Stream::new(seed, 0, Purpose::Device);
    let mut choices = Stream::new(5, 0, Purpose::Device);
    let mut digest = Digest::new();
    for _ in 0..2_000 {
        let one = access(&mut choices, &mut now);
        digest.word(device.start(&mut state, now, one, &mut random).0);
    }
    digest.data(&state);
    digest.value()
}

#[test]
fn the_seed_decides_and_nothing_else() {
    for (name, device) in devices() {
        assert_eq!(trace(&device, 1), trace(&device, 1), "{name}");
        // Devices without moving parts draw nothing.
        assert_eq!(
            trace(&device, 1) != trace(&device, 2),
            matches!(device, DeviceModel::Hdd(_)),
            "{name}"
        );
    }
}

#[derive(Clone, Copy, serde::Serialize)]
struct Cell {
    state: DeviceState,
    random: Stream,
}

#[test]
fn an_access_can_be_done_undone_and_done_again() {
    for (name, device) in devices() {
        let random = Stream::new(1, 0, Purpose::Device);
        let state = DeviceState::default();
        let mut store = Store::filled(1, Cell { state, random });
        let mut choices = Stream::new(6, 0, Purpose::Device);
        let mut now = Time::ZERO;
        let fingerprint = |store: &Store<Cell>| {
            let mut digest = Digest::new();
            store.fingerprint(&mut digest);
            digest.value()
        };
        for number in 0..500u32 {
            let one = access(&mut choices, &mut now);
            let start = |store: &mut Store<Cell>| {
                Savepoint(number).begin();
                let cell = store.edit::<Speculative>(0);
                let finish = device.start(&mut cell.state, now, one, &mut cell.random);
                let flushed = (number % 7 == 0).then(|| device.flush(&mut cell.state, finish, &mut cell.random));
                (finish, flushed)
            };
            let before = fingerprint(&store);
            let (first, after) = (start(&mut store), fingerprint(&store));
            store.undo(Savepoint(number));
            assert_eq!(fingerprint(&store), before, "{name}: access {number} is undone");
            assert_eq!(
                (start(&mut store), fingerprint(&store)),
                (first, after),
                "{name}: access {number} is done again"
            );
            store.fossil_collect(Savepoint(number + 1));
        }
    }
}

#[test]
fn states_are_written_and_read_back() {
    for (name, device) in devices() {
        let (mut state, mut now) = (DeviceState::default(), Time::ZERO);
        let mut random = Stream::new(1, 0, Purpose::Device);
        let mut choices = Stream::new(8, 0, Purpose::Device);
        for _ in 0..100 {
            let one = access(&mut choices, &mut now);
            device.start(&mut state, now, one, &mut random);
        }
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<DeviceState>(&text).unwrap(), state, "{name}");
    }
}

/// Near the end of simulated time nothing wraps around, even for long accesses.
#[test]
fn nothing_overflows_at_the_end_of_time() {
    for (name, device) in devices() {
        for bytes in [0, 1, 4_096, 1 << 20, 1 << 40, 1 << 62, u64::MAX] {
            for offset in [0, 1 << 62, u64::MAX] {
                for write in [false, true] {
                    let mut state = DeviceState::default();
                    let mut random = Stream::new(1, 0, Purpose::Device);
                    let one = Access {
                        write,
                        object: u64::MAX,
                        offset,
                        bytes,
                    };
                    for now in [Time::ZERO, Time::LONGEST, Time::LONGEST, Time::LONGEST] {
                        let finish = device.start(&mut state, now, one, &mut random);
                        assert!(finish > now, "{name}: {one:?} at {now:?} ends at {finish:?}");
                    }
                    assert!(
                        device.flush(&mut state, Time::LONGEST, &mut random) >= Time::LONGEST,
                        "{name}"
                    );
                }
            }
        }
    }
}
