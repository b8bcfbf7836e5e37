//! Parameters from measurements: derived values, their accuracy, and refused inputs.

use odonata_device::bench::{Pattern, Workload, run};
use odonata_device::fit::{Fitted, Measurement, Model, Operation, Order, Request, fit};
use odonata_device::{DeviceModel, Nvme, Rate, Ssd, read};
use odonata_units::{Bandwidth, Bytes, Time};

fn measurement(pattern: Pattern, record: u64, queue_depth: u32, iops: f64) -> Measurement {
    let (operation, order) = match pattern {
        Pattern::SequentialRead => (Operation::Read, Order::Sequential),
        Pattern::SequentialWrite => (Operation::Write, Order::Sequential),
        Pattern::RandomRead => (Operation::Read, Order::Random),
        _ => (Operation::Write, Order::Random),
    };
    Measurement {
        operation,
        pattern: order,
        record: Bytes(record),
        queue_depth,
        iops: Some(iops),
        bandwidth: None,
        latency: None,
    }
}

/// A measurement of the device itself.
fn measured(device: &DeviceModel, pattern: Pattern, record: u64, queue_depth: u32) -> Measurement {
    let workload = Workload {
        pattern,
        record: Some(Bytes(record)),
        queue_depth,
        // Each access is sequential and none wraps around, which would be a seek.
        file: Bytes(5_000 * record),
        accesses: Some(5_000),
        ..Workload::default()
    };
    measurement(pattern, record, queue_depth, run(device, workload).unwrap().iops)
}

fn fitted(model: Model, measurements: Vec<Measurement>) -> Result<Fitted, odonata_device::Problem> {
    fit(&Request {
        model,
        page: None,
        measurements,
    })
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-3
}

const PATTERNS: [Pattern; 4] = [
    Pattern::SequentialRead,
    Pattern::SequentialWrite,
    Pattern::RandomRead,
    Pattern::RandomWrite,
];

/// Every model recovers its own parameters from measurements by the runner.
#[test]
fn devices_are_derived_from_measurements() {
    let rate = Rate {
        read: Bandwidth(2e9),
        write: Bandwidth(1e9),
        overhead: Time::from_ns(30_000),
        seek: Time::from_ns(400_000),
        ..Rate::default()
    };
    let device = DeviceModel::Rate(rate);
    let rows = PATTERNS
        .into_iter()
        .flat_map(|p| [4_096, 1 << 20].map(|record| measured(&device, p, record, 1)));
    let found = fitted(Model::Rate, rows.collect()).unwrap();
    let DeviceModel::Rate(derived) = found.device else {
        panic!("it has rates");
    };
    assert!(close(derived.read.0, 2e9) && close(derived.write.0, 1e9), "{derived:?}");
    assert!(
        close(derived.overhead.seconds(), 30e-6) && close(derived.seek.seconds(), 400e-6),
        "{derived:?}"
    );
    assert_eq!((found.derived.len(), found.degrees_of_freedom), (4, 4));
    assert!(
        found.residuals.iter().all(|row| row.error.abs() < 1e-3),
        "{:?}",
        found.residuals
    );
    assert_eq!(read(&found.toml), Ok(found.device));

    let device = DeviceModel::Ssd(Ssd::default());
    let rows = PATTERNS[..2]
        .iter()
        .flat_map(|&p| [4_096, 524_288].map(|record| measured(&device, p, record, 1)));
    let found = fitted(Model::Ssd, rows.collect()).unwrap();
    let DeviceModel::Ssd(derived) = found.device else {
        panic!("it has pages");
    };
    assert!(close(derived.page_read.seconds(), 118e-6) && close(derived.write_switch.seconds(), 10.074e-6));
    assert!(found.notes[0].contains("no evidence") && found.degrees_of_freedom == 0);
    assert_eq!(read(&found.toml), Ok(found.device));

    let nvme = Nvme {
        lanes: 12,
        ..Nvme::default()
    };
    let device = DeviceModel::Nvme(nvme);
    let mut rows: Vec<_> = PATTERNS[2..]
        .iter()
        .flat_map(|&p| [4_096, 1 << 20].map(|record| measured(&device, p, record, 1)))
        .collect();
    rows.push(measured(&device, Pattern::RandomRead, 4_096, 64));
    let found = fitted(Model::Nvme, rows).unwrap();
    let DeviceModel::Nvme(derived) = found.device else {
        panic!("it has lanes");
    };
    assert_eq!(derived.lanes, 12);
    assert!(
        close(derived.read.0, 5e9) && close(derived.write_latency.seconds(), 20e-6),
        "{derived:?}"
    );
}

/// The column "Model" of table 1 gives the preset's numbers, the column "Disk" others.
#[test]
fn table_one_gives_the_preset() {
    let row = |pattern, record, iops: f64| measurement(pattern, record, 1, iops);
    let found = fitted(
        Model::Ssd,
        vec![
            row(Pattern::SequentialRead, 524_288, 392.04e6 / 524_288.0),
            row(Pattern::SequentialWrite, 524_288, 388.26e6 / 524_288.0),
            row(Pattern::RandomRead, 4_096, 8_474.58),
            row(Pattern::RandomWrite, 4_096, 14_084.51),
        ],
    );
    let DeviceModel::Ssd(derived) = found.unwrap().device else {
        panic!("it has pages");
    };
    let ns = |time: Time| (time.nanoseconds()).round() as u64;
    let preset = Ssd::default();
    assert_eq!(
        [
            derived.page_read,
            derived.page_write,
            derived.read_switch,
            derived.write_switch
        ]
        .map(ns),
        [
            preset.page_read,
            preset.page_write,
            preset.read_switch,
            preset.write_switch
        ]
        .map(ns),
    );
}

#[test]
fn parameters_that_measurements_cannot_separate_are_refused_by_name() {
    let reads = |record| measurement(Pattern::SequentialRead, record, 1, 1e9 / record as f64);
    let refused = |model, rows: Vec<Measurement>| fitted(model, rows).unwrap_err();
    // One record size: neither overhead nor rate.
    let problem = refused(Model::Nvme, vec![reads(4_096), reads(4_096)]);
    assert_eq!(problem.key, "read_latency, read");
    assert!(problem.hint.unwrap().contains("two sizes"));
    let problem = refused(Model::Ssd, vec![reads(524_288)]);
    assert_eq!(problem.key, "page_read, read_switch");
    // Single pages alone.
    let problem = refused(Model::Ssd, vec![reads(4_096)]);
    assert_eq!(problem.key, "read_switch");
    // All measurements are random: seek and overhead cannot be separated.
    let random = |record, iops| measurement(Pattern::RandomRead, record, 1, iops);
    let problem = refused(Model::Rate, vec![random(4_096, 9_000.0), random(1 << 20, 800.0)]);
    assert_eq!(problem.key, "overhead, seek");
    // Queues alone.
    let queued = measurement(Pattern::RandomRead, 4_096, 32, 1e5);
    assert_eq!(refused(Model::Nvme, vec![queued]).key, "queue_depth");
    assert_eq!(refused(Model::Nvme, vec![]).key, "queue_depth");
    // A larger record that takes less time.
    let problem = refused(Model::Nvme, vec![random(4_096, 1_000.0), random(8_192, 2_000.0)]);
    assert_eq!(problem.key, "read");
    assert!(problem.message.contains("not a valid device"), "{problem}");
    let problem = refused(Model::Hdd, vec![reads(4_096)]);
    assert!(problem.message.contains("cannot separate") && problem.hint.unwrap().contains("data sheet"));
}

#[test]
fn invalid_measurements_are_refused_by_row() {
    let good = measurement(Pattern::RandomRead, 4_096, 1, 1e5);
    let cases = [
        (Measurement { iops: None, ..good }, "row 2: iops"),
        (
            Measurement {
                latency: Some(Time(1)),
                ..good
            },
            "row 2: iops",
        ),
        (
            Measurement {
                iops: Some(f64::NAN),
                ..good
            },
            "row 2: iops",
        ),
        (
            Measurement {
                iops: Some(-1.0),
                ..good
            },
            "row 2: iops",
        ),
        (
            Measurement {
                record: Bytes(0),
                ..good
            },
            "row 2: record",
        ),
        (Measurement { queue_depth: 0, ..good }, "row 2: queue_depth"),
    ];
    for (row, key) in cases {
        assert_eq!(fitted(Model::Nvme, vec![good, row]).unwrap_err().key, key);
    }
}
