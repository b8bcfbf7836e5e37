//! Devices against closed forms, to the picosecond if nothing is random.

use odonata_device::bench::{Pattern, Workload, run};
use odonata_device::{Access, Device, DeviceModel, Hdd, HddState, Nvme, Rate, RateState, SeekCurve, Ssd, SsdState};
use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bandwidth, Bytes, Time};

fn random() -> Stream {
    Stream::new(1, 0, Purpose::Device)
}

/// End time of an access to a fresh SSD.
fn alone(ssd: &Ssd, access: Access) -> u64 {
    ssd.start(&mut SsdState::default(), Time::ZERO, access, &mut random()).0
}

fn ssd(channels: u32, ways: u32, work: u64, switch: u64) -> Ssd {
    Ssd {
        page: Bytes(4_096),
        channels,
        ways,
        page_read: Time(work),
        page_write: Time(work),
        read_switch: Time(switch),
        write_switch: Time(switch),
    }
}

#[test]
fn an_ssd_that_hands_out_pages_in_no_time_takes_a_cycle_per_channels_times_ways_pages() {
    for (channels, ways) in [(1, 1), (2, 1), (4, 2), (8, 8)] {
        let device = ssd(channels, ways, 700_000_000, 0);
        for cycles in [1, 2, 3, 4, 17, 1_000_000] {
            let pages = cycles * u64::from(channels * ways);
            // Time per page x pages / (channels x ways).
            assert_eq!(alone(&device, Access::write(0, pages * 4_096)), 700_000_000 * cycles);
            // One page more is one cycle more.
            assert_eq!(
                alone(&device, Access::write(0, pages * 4_096 + 1)),
                700_000_000 * (cycles + 1)
            );
        }
    }
}

#[test]
fn a_write_to_an_idle_ssd_follows_yoo_s_equation() {
    for (channels, ways) in [(1, 1), (3, 1), (4, 2), (7, 9)] {
        let dies = u64::from(channels * ways);
        for (work, switch) in [
            (71_000_000, 10_074_000),
            (700_000_000, 10_074_000),
            (13, 5),
            (5, 13),
            (64, 1),
        ] {
            let device = ssd(channels, ways, work, switch);
            for pages in (1..200).chain([4_096, 1_000_003]) {
                let wait = work.saturating_sub(switch * dies);
                let expected = switch * (pages - 1) + wait * (pages.div_ceil(dies) - 1) + work;
                let found = alone(&device, Access::write(0, pages * 4_096));
                assert_eq!(found, expected, "{pages} pages, {dies} dies, {work} and {switch} ps");
            }
        }
    }
}

#[test]
fn a_read_of_an_idle_ssd_follows_yoo_s_equation() {
    let device = Ssd::default();
    for pages in (1..200).chain([4_096, 1_000_003]) {
        let expected = 9_601_000 * (pages - 1) + 118_000_000;
        assert_eq!(alone(&device, Access::read(0, pages * 4_096)), expected);
    }
    // An access that begins within a page touches it as well.
    assert_eq!(alone(&device, Access::read(4_095, 2)), 9_601_000 + 118_000_000);
    assert_eq!(alone(&device, Access::read(4_095, 0)), 118_000_000);
}

/// The shortcut for long accesses leaves the state of the page-by-page loop.
#[test]
fn an_access_leaves_an_ssd_as_its_pages_one_by_one_do() {
    let mut choices = Stream::new(7, 0, Purpose::Device);
    for (work, switch) in [(700, 10), (70, 10), (100, 0), (7, 100)] {
        let device = ssd(3, 2, work, switch);
        let (mut whole, mut paged) = (SsdState::default(), SsdState::default());
        let mut now = 0;
        for _ in 0..200 {
            let pages = u64::from(choices.below(40)) + 1;
            now += u64::from(choices.below(3_000));
            let access = Access::write(0, pages * 4_096);
            let finish = device.start(&mut whole, Time(now), access, &mut random());
            let one = |page| Access::write(page * 4_096, 4_096);
            let last = (0..pages).map(|page| device.start(&mut paged, Time(now), one(page), &mut random()));
            assert_eq!(last.max(), Some(finish));
            assert_eq!(whole, paged);
        }
    }
}

#[test]
fn accesses_to_an_ssd_at_once_share_its_dies() {
    // As many single-page reads as dies are one switch apart; the next read waits for a die.
    let device = ssd(4, 2, 1_000, 10);
    let mut state = SsdState::default();
    let mut read = || {
        device
            .start(&mut state, Time::ZERO, Access::read(0, 4_096), &mut random())
            .0
    };
    let finishes: Vec<u64> = (0..9).map(|_| read()).collect();
    assert_eq!(
        finishes,
        [1_000, 1_010, 1_020, 1_030, 1_040, 1_050, 1_060, 1_070, 2_000]
    );
}

#[test]
fn a_rate_device_takes_overhead_transfer_and_seek_first_come_first_served() {
    let device = Rate {
        read: Bandwidth(5_700.0 * 1_048_576.0),
        write: Bandwidth(2_850.0 * 1_048_576.0),
        overhead: Time::from_ns(20_000),
        seek: Time::from_ns(2_500_000),
        seek_window: Bytes(512),
    };
    let mut state = RateState::default();
    let mut start = |now, access| device.start(&mut state, Time(now), access, &mut random()).0;
    let read = 20_000_000 + (1e18_f64 / (5_700.0 * 1_048_576.0)).round() as u64;
    let write = 20_000_000 + (2e18_f64 / (5_700.0 * 1_048_576.0)).round() as u64;
    let seek = 2_500_000_000;
    assert_eq!(start(0, Access::read(0, 1_000_000)), read);
    // It continues the last access, and waits for it.
    assert_eq!(start(1, Access::write(1_000_000, 1_000_000)), read + write);
    // A gap of 512 B is still sequential; 513 B, a lower offset, or another object is not.
    let mut at = read + write;
    let mut next = |now: &mut u64, access, expected: u64| {
        assert_eq!(start(*now, access) - *now, expected);
        *now += expected;
    };
    next(&mut at, Access::read(2_000_512, 1_000_000), read);
    next(&mut at, Access::read(3_001_025, 1_000_000), read + seek);
    next(&mut at, Access::read(3_001_025, 1_000_000), read + seek);
    let other = Access {
        object: 1,
        ..Access::read(4_001_025, 1_000_000)
    };
    next(&mut at, other, read + seek);
    assert_eq!(state.seeks, 3);
}

#[test]
fn nvme_devices_keep_little_s_law_at_every_queue_depth() {
    let device = Nvme {
        read_latency: Time::from_ns(80_000),
        write_latency: Time::from_ns(20_000),
        read: Bandwidth(4.096e9),
        write: Bandwidth(1.024e9),
        lanes: 16,
        queue_depth: 32,
    };
    // 4,096 B take 1 us to read and 4 us to write: 81 us and 24 us alone; 10^6 and 250,000 per second at most.
    for (pattern, alone_s, most) in [(Pattern::RandomRead, 81e-6, 1e6), (Pattern::RandomWrite, 24e-6, 250e3)] {
        for queue_depth in [1, 2, 4, 8, 16, 17, 64, 1_000] {
            let workload = Workload {
                pattern,
                queue_depth,
                accesses: Some(160_000),
                ..Workload::default()
            };
            let figures = run(&DeviceModel::Nvme(device), workload).unwrap();
            let expected = (f64::from(queue_depth.min(16)) / alone_s).min(most);
            let error = figures.iops / expected - 1.0;
            // Filling and draining the queue takes a moment.
            assert!((-0.01..1e-9).contains(&error), "{pattern:?} {queue_depth}: {error}");
            // Little's law on the measured figures: accesses in flight = rate x latency.
            let under_way = figures.iops * figures.latency_us.mean / 1e6;
            assert!((under_way / f64::from(queue_depth) - 1.0).abs() < 0.011, "{under_way}");
        }
    }
    // A queue shorter than the lanes is the limit.
    let short = Nvme {
        queue_depth: 2,
        ..device
    };
    let workload = Workload {
        pattern: Pattern::RandomRead,
        queue_depth: 8,
        accesses: Some(10_000),
        ..Workload::default()
    };
    let figures = run(&DeviceModel::Nvme(short), workload).unwrap();
    assert!((figures.iops * 81e-6 / 2.0 - 1.0).abs() < 1e-3);
}

#[test]
fn one_access_to_an_nvme_device_takes_latency_and_transfer() {
    let device = Nvme::default();
    let finish = device.start(
        &mut Default::default(),
        Time(5),
        Access::read(0, 5_000_000),
        &mut random(),
    );
    assert_eq!(finish, Time(5) + Time::from_ns(20_000 + 1_000_000));
}

/// A disk with two zones of 100 and 50 MB/s that meet at two thirds of its capacity.
fn disk() -> Hdd {
    Hdd {
        capacity: Bytes(3_000_000_000),
        outer_rate: Bandwidth(100e6),
        inner_rate: Bandwidth(50e6),
        zones: 2,
        ..Hdd::default()
    }
}

#[test]
fn a_stream_has_the_rate_of_its_zone() {
    let disk = disk();
    // (address, rate)
    for (from, rate) in [
        (0, 100e6),
        (1_900_000_000, 100e6),
        (2_000_000_000, 50e6),
        (2_900_000_000, 50e6),
    ] {
        let mut state = HddState::default();
        let mut random = random();
        let mut now = disk.start(&mut state, Time::ZERO, Access::read(from, 500_000), &mut random);
        for record in 1..100 {
            let finish = disk.start(
                &mut state,
                now,
                Access::read(from + record * 500_000, 500_000),
                &mut random,
            );
            // Read ahead: neither a seek nor a rotation, to the picosecond.
            assert_eq!(finish - now, Bandwidth(rate).time_for(Bytes(500_000)));
            now = finish;
        }
        assert_eq!(state.seeks, u64::from(from > 0));
    }
    // Across the border, each part has the rate of its zone.
    let mut state = HddState::default();
    let first = disk.start(
        &mut state,
        Time::ZERO,
        Access::read(1_990_000_000, 5_000_000),
        &mut random(),
    );
    let finish = disk.start(
        &mut state,
        first,
        Access::read(1_995_000_000, 10_000_000),
        &mut random(),
    );
    assert_eq!(finish - first, Time::from_ns(50_000_000 + 100_000_000));
}

#[test]
fn seeks_have_the_three_times_of_a_data_sheet_and_a_square_root_between() {
    let ms = |ms: f64| Time::from_seconds(ms / 1e3);
    let curve = SeekCurve {
        track_to_track: ms(1.0),
        average: ms(9.0),
        full_stroke: ms(17.0),
    };
    assert_eq!(curve.time(0.0), ms(1.0));
    assert_eq!(curve.time(1.0 / 12.0), ms(5.0));
    assert_eq!(curve.time(1.0 / 3.0), ms(9.0));
    assert_eq!(curve.time(2.0 / 3.0), ms(13.0));
    assert_eq!(curve.time(1.0), ms(17.0));
}

#[test]
fn random_reads_take_a_seek_and_half_a_rotation_on_average() {
    // One zone, so addresses are distances; no read-ahead, so the buffer is empty.
    let disk = Hdd {
        outer_rate: Bandwidth(100e6),
        inner_rate: Bandwidth(100e6),
        zones: 1,
        capacity: Bytes(1_000_000_000_000),
        read_ahead: Bytes::ZERO,
        read_ahead_most: Bytes::ZERO,
        ..Hdd::default()
    };
    let (mut state, mut random) = (HddState::default(), random());
    let (mut now, mut seeks, count) = (Time::ZERO, 0, 20_000u64);
    let mut choices = Stream::new(1, 1, Purpose::Device);
    let mut head = 0;
    for _ in 0..count {
        let at = u64::from(choices.below(1_000_000)) * 1_000_000;
        seeks += if head == at {
            0
        } else {
            disk.read_seek.time(at.abs_diff(head) as f64 / 1e12).0
        };
        head = at + 4_096;
        now = disk.start(&mut state, now, Access::read(at, 4_096), &mut random);
    }
    let rotation = disk.rotation().0 as f64;
    let rotational = (now.0 - seeks) as f64 / count as f64 - 4_096.0 * 1e12 / 100e6;
    // Uniform draws: the mean of 20,000 has a standard deviation of rotation / sqrt(12 x 20,000).
    let deviations = (rotational - rotation / 2.0) / (rotation / (12.0 * count as f64).sqrt());
    assert!(deviations.abs() < 4.0, "{deviations} standard deviations");
    // The seek between two random addresses: square root and line, integrated over the distances 2 (1 - x).
    let mean_ms = seeks as f64 / count as f64 / 1e9;
    assert!((7.3..8.6).contains(&mean_ms), "{mean_ms} ms");
}

#[test]
fn a_full_cache_of_random_writes_takes_a_seek_and_the_best_rotation_of_many() {
    for reorder in [4, 8, 32, 128] {
        let disk = Hdd {
            outer_rate: Bandwidth(100e6),
            inner_rate: Bandwidth(100e6),
            zones: 1,
            capacity: Bytes(1_000_000_000_000),
            reorder,
            ..Hdd::default()
        };
        let workload = Workload {
            pattern: Pattern::RandomWrite,
            file: Bytes(1_000_000_000_000),
            accesses: Some(20_000),
            ..Workload::default()
        };
        let figures = run(&DeviceModel::Hdd(disk), workload).unwrap();
        let n = f64::from(reorder);
        let seek = disk.write_seek.time(1.0 / (n + 1.0)).seconds();
        let expected = seek + disk.rotation().seconds() / (n + 1.0) + 4_096.0 / 100e6;
        let error = (1.0 / figures.iops) / expected - 1.0;
        assert!(error.abs() < 0.02, "{reorder}: {error}");
    }
}

#[test]
fn buffered_data_do_not_wait_for_the_platters() {
    let disk = Hdd::default();
    let (mut state, mut random) = (HddState::default(), random());
    let first = disk.start(&mut state, Time::ZERO, Access::read(0, 1 << 20), &mut random);
    // A distant read, requested at the same time, and a hit during it.
    let far = disk.start(&mut state, first, Access::read(1_000_000_000_000, 4_096), &mut random);
    let hit = disk.start(&mut state, first + Time(1), Access::read(4_096, 4_096), &mut random);
    assert_eq!(
        hit,
        first + Time(1) + disk.command + disk.interface.time_for(Bytes(4_096))
    );
    assert!(far > hit + Time::from_ns(1_000_000));
    // A write fits the cache meanwhile, once the interface is free.
    let write = disk.start(&mut state, hit, Access::write(0, 4_096), &mut random);
    assert_eq!(write, hit + disk.command + disk.interface.time_for(Bytes(4_096)));
}

#[test]
fn data_read_ahead_while_idle_are_available() {
    let disk = Hdd::default();
    let (mut state, mut random) = (HddState::default(), random());
    let first = disk.start(&mut state, Time::ZERO, Access::read(0, 4_096), &mut random);
    // In 10 ms the disk reads 1.36 MB ahead; the first million bytes arrive at the interface's rate.
    let later = first + Time::from_ns(10_000_000);
    let hit = disk.start(&mut state, later, Access::read(4_096, 1_000_000), &mut random);
    assert_eq!(hit, later + disk.command + disk.interface.time_for(Bytes(1_000_000)));
    // A read of 2 MB waits for the missing part: the head passed byte 4,096 at `first`.
    let mut state = HddState::default();
    let first = disk.start(&mut state, Time::ZERO, Access::read(0, 4_096), &mut random);
    let rest = disk.start(
        &mut state,
        first + Time::from_ns(10_000_000),
        Access::read(4_096, 2_000_000),
        &mut random,
    );
    assert_eq!(rest, first + disk.outer_rate.time_for(Bytes(2_000_000)));
}

/// With a full cache, a write waits until the current range is on the platters, and no longer.
#[test]
fn a_write_to_a_full_cache_waits_for_the_next_range_to_be_written() {
    let disk = Hdd {
        reorder: 4,
        ..Hdd::default()
    };
    let (mut state, mut random) = (HddState::default(), random());
    let delivered = disk.command + disk.interface.time_for(Bytes(4_096));
    let mut now = Time::ZERO;
    for number in 0..40 {
        let write = Access::write((number * 37 % 40) * 1_000_000, 4_096);
        let finish = disk.start(&mut state, now, write, &mut random);
        if number < 4 {
            assert_eq!(finish - now, delivered);
        } else {
            // Seek, the minimum of four rotational latencies, transfer: zero to one rotation after the last one.
            let wait = (finish - now).seconds();
            assert!((0.9e-3..11e-3).contains(&wait), "{number}: {wait}");
        }
        now = finish;
    }
}
