//! Invalid device files: refused with key, value and expectation.

use odonata_device::bench::{Pattern, Workload, run};
use odonata_device::{DeviceModel, Ssd, presets, read};

/// The error for a file.
fn refused(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

/// A hard disk with one key changed.
fn hdd(line: &str) -> String {
    refused(&format!("[hdd]\n{line}\n"))
}

#[test]
fn every_key_out_of_range_is_named_with_its_value_and_range() {
    let cases = [
        (
            hdd("capacity = \"1 kB\""),
            "hdd.capacity: the value is out of range, found 1 kB, expected 1 MiB to 1 PiB",
        ),
        (
            hdd("rpm = 0"),
            "hdd.rpm: the value is out of range, found 0, expected 60 to 100000",
        ),
        (
            hdd("outer_rate = \"1 B/s\""),
            "hdd.outer_rate: the value is out of range, found 1 B/s, expected 1 kB/s to 1 TB/s",
        ),
        (
            hdd("inner_rate = \"200 MB/s\""),
            "hdd.inner_rate: the value is out of range, found 200 MB/s, expected 1 kB/s to 136 MB/s",
        ),
        (
            hdd("zones = 65"),
            "hdd.zones: the value is out of range, found 65, expected 1 to 64",
        ),
        (
            hdd("segments = 9"),
            "hdd.segments: the value is out of range, found 9, expected 1 to 8",
        ),
        (
            hdd("reorder = 0"),
            "hdd.reorder: the value is out of range, found 0, expected 1 to 256",
        ),
        (
            hdd("read_ahead = \"8 MiB\""),
            "hdd.read_ahead_most: the value is out of range, found 4 MiB, expected 8 MiB to 2 TB",
        ),
        (
            hdd("read_seek = { track_to_track = \"9 ms\", average = \"8 ms\", full_stroke = \"20 ms\" }"),
            "hdd.read_seek.average: the value is out of range, found 8 ms, expected 9 ms to 4611686.018427387904 s",
        ),
        (
            refused("[ssd]\npage = \"1 B\""),
            "ssd.page: the value is out of range, found 1 B, expected 512 B to 1 GiB",
        ),
        (
            refused("[ssd]\nchannels = 0"),
            "ssd.channels: the value is out of range, found 0, expected 1 to 64",
        ),
        (
            refused("[ssd]\nchannels = 16\nways = 8"),
            "ssd.ways: there are too many dies, found 16 x 8, expected channels x ways of at most 64",
        ),
        (
            refused("[ssd]\npage_read = \"0 s\""),
            "ssd.page_read: the value is out of range, found 0 s, expected 1 ps to 4611686.018427387904 s",
        ),
        (
            refused("[nvme]\nlanes = 0"),
            "nvme.lanes: the value is out of range, found 0, expected 1 to 64",
        ),
        (
            refused("[nvme]\nqueue_depth = 65536"),
            "nvme.queue_depth: the value is out of range, found 65536, expected 1 to 65535",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn wrong_types_units_and_names_are_refused_at_their_line() {
    let cases = [
        ("[rate]\n\nread = 5\n", "rate.read", 3, "the unit is missing"),
        ("[rate]\nread = \"5 GB\"", "rate.read", 2, "bandwidth"),
        ("[rate]\nread = \"0 GB/s\"", "rate.read", 2, "0 GB/s"),
        ("[nvme]\nlanes = -1", "nvme.lanes", 2, "-1"),
        ("[nvme]\nlanes = 1.5", "nvme.lanes", 2, "1.5"),
        ("[nvme]\nlane = 1", "nvme.lane", 2, "unknown field"),
        ("[ssd]\npage_read = \"1e400 s\"", "ssd.page_read", 2, "1e400 s"),
        ("[floppy]", "floppy", 1, "unknown field"),
        ("[ssd", "", 1, ""),
    ];
    for (text, key, line, part) in cases {
        let problem = read(text).expect_err(text);
        assert_eq!(
            (problem.key.as_str(), problem.line),
            (key, Some(line)),
            "{text}: {problem:?}"
        );
        let all = format!("{problem} {:?}", problem.hint);
        assert!(all.contains(part), "{text}: {all}");
    }
    for text in ["", "[ssd]\n[hdd]\n"] {
        assert!(
            refused(text).contains("expected one table: rate, ssd, nvme or hdd"),
            "{text}"
        );
    }
}

/// Parameters built in a program bypass the parser of units.
#[test]
fn parameters_that_no_file_can_have_are_refused_as_well() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let Some(DeviceModel::Nvme(nvme)) = presets::device("datawarp-p3608") else {
            panic!("it is an NVMe device");
        };
        let broken = DeviceModel::Nvme(odonata_device::Nvme {
            write: odonata_units::Bandwidth(rate),
            ..nvme
        });
        let problem = run(&broken, Workload::default()).unwrap_err();
        assert_eq!(problem.key, "nvme.write", "{rate}");
    }
}

#[test]
fn workloads_that_cannot_be_are_refused_by_key() {
    let ssd = DeviceModel::Ssd(Ssd::default());
    let bytes = odonata_units::Bytes;
    let ok = Workload::default();
    let cases = [
        (Workload { page: bytes(0), ..ok }, "page"),
        (
            Workload {
                record: Some(bytes(0)),
                ..ok
            },
            "record",
        ),
        (Workload { file: bytes(1), ..ok }, "file"),
        (Workload { queue_depth: 0, ..ok }, "queue_depth"),
        (Workload { reads: f64::NAN, ..ok }, "reads"),
        (
            Workload {
                accesses: Some(0),
                ..ok
            },
            "accesses",
        ),
        (
            Workload {
                file: bytes(1 << 60),
                ..ok
            },
            "accesses",
        ),
    ];
    for (workload, key) in cases {
        assert_eq!(run(&ssd, workload).unwrap_err().key, key);
    }
    // Simulated time is bounded.
    let slow = read("[ssd]\npage_read = \"4000000 s\"").unwrap();
    let workload = Workload {
        pattern: Pattern::RandomRead,
        ..ok
    };
    let problem = run(&slow, workload).unwrap_err();
    assert!(
        problem
            .message
            .starts_with("simulated time, 4611686.018427387904 s, ends after 1 accesses"),
        "{problem}"
    );
}
