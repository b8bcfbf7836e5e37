//! Table 1 of X. Wang et al., "MFNetSim", ACM TOMPECS 2025: two measured devices, the authors' simulator, and ours
//! under the same conditions: a file of 512 MB, sequentially in records of 512 KB, and randomly in pages of 4 KB.
//!
//! This test holds the table on the page `docs/storage-devices.md`; `ODONATA_UPDATE_DOCS=1` writes it.

mod page;

use std::fmt::Write;

use odonata_device::bench::{Figures, Pattern, Workload, run};
use odonata_device::presets;

struct Row {
    preset: &'static str,
    device: &'static str,
    pattern: Pattern,
    name: &'static str,
    /// Column "Disk": the measured device.
    disk: f64,
    /// Column "Model": the authors' simulator.
    paper: f64,
}

const ROWS: [Row; 8] = {
    use Pattern::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    const fn row(hdd: bool, pattern: Pattern, name: &'static str, disk: f64, paper: f64) -> Row {
        let (preset, device) = if hdd {
            ("seagate-st2000nx0253", "HDD")
        } else {
            ("intel-d3-s4510", "SSD")
        };
        Row {
            preset,
            device,
            pattern,
            name,
            disk,
            paper,
        }
    }
    [
        row(true, SequentialRead, "sequential read, MB/s", 123.33, 136.00),
        row(true, SequentialWrite, "sequential write, MB/s", 129.00, 136.00),
        row(true, RandomRead, "random read, IOPS", 122.74, 111.69),
        row(true, RandomWrite, "random write, IOPS", 577.91, 592.22),
        row(false, SequentialRead, "sequential read, MB/s", 408.69, 392.04),
        row(false, SequentialWrite, "sequential write, MB/s", 378.96, 388.26),
        row(false, RandomRead, "random read, IOPS", 8_906.43, 8_474.58),
        row(false, RandomWrite, "random write, IOPS", 13_772.85, 14_084.51),
    ]
};

/// The errors accepted in the paper: 10.3% for the hard disk, 5% for the SSD.
fn allowed(row: &Row) -> f64 {
    if row.device == "HDD" { 0.103 } else { 0.05 }
}

/// The figure of a row: bandwidth for sequential rows, rate for random rows.
fn measured(row: &Row, seed: u64) -> (f64, Figures) {
    let device = presets::device(row.preset).expect("it is a preset");
    let workload = Workload {
        pattern: row.pattern,
        seed,
        ..Workload::default()
    };
    let figures = run(&device, workload).expect("it can be run");
    let figure = match row.pattern {
        Pattern::SequentialRead | Pattern::SequentialWrite => figures.bandwidth_mb_s,
        _ => figures.iops,
    };
    (figure, figures)
}

#[test]
fn all_eight_rows_are_within_the_paper_s_errors_of_the_devices() {
    let mut table = String::from(
        "| device | workload | disk | MFNetSim | its error | Odonata | our error | allowed |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut wrong = Vec::new();
    for row in &ROWS {
        let (ours, _) = measured(row, 1);
        let error = |figure: f64| figure / row.disk - 1.0;
        let percent = |share: f64| format!("{:+.1}%", share * 100.0);
        let allowed = allowed(row);
        writeln!(
            table,
            "| {} | {} | {:.2} | {:.2} | {} | {ours:.2} | {} | {:.1}% |",
            row.device,
            row.name,
            row.disk,
            row.paper,
            percent(error(row.paper)),
            percent(error(ours)),
            allowed * 100.0,
        )
        .expect("a text has room");
        if error(ours).abs() > allowed {
            wrong.push(format!("{} {}: {}", row.device, row.name, percent(error(ours))));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}\n{table}");
    page::hold("table 1", &table);
}

/// No row varies with the seed by more than a tenth of the accepted error.
#[test]
fn other_seeds_give_the_same_rows() {
    for row in ROWS.iter().filter(|row| row.device == "HDD") {
        let figures = [1, 2, 3].map(|seed| measured(row, seed).0);
        for figure in figures {
            assert!((figure / figures[0] - 1.0).abs() < 0.01, "{}: {figures:?}", row.name);
        }
    }
}

/// Without the write-back cache and its reordering, the row of random writes is off by 70%.
#[test]
fn first_come_first_served_would_miss_random_writes() {
    let odonata_device::DeviceModel::Hdd(hdd) = presets::device("seagate-st2000nx0253").expect("it is a preset") else {
        panic!("it is a hard disk");
    };
    let plain = odonata_device::Hdd {
        write_cache: odonata_units::Bytes::ZERO,
        ..hdd
    };
    let workload = Workload {
        pattern: Pattern::RandomWrite,
        accesses: Some(20_000),
        ..Workload::default()
    };
    let iops = run(&odonata_device::DeviceModel::Hdd(plain), workload)
        .expect("it can be run")
        .iops;
    // Seek 1.5 ms, half a rotation 4.17 ms, transfer 0.03 ms.
    assert!((173.0..177.0).contains(&iops), "{iops}");
}
