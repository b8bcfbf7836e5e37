//! Bytes as the files of a DUMPI trace: records, statistics, communicators, operations, findings, traffic.
//!
//! The first byte is the number of ranks, 1 to 4; the rest is cut at the mark `|RANK|` into their files (those that
//! are missing are the first one again).

#![no_main]

mod files;

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use odonata_dumpi::{Incomplete, RankFile, Statistics, Trace, TraceFiles, lint, repeat};
use odonata_trace_format::{Cancellation, traffic_matrix};
use odonata_workload::{Collective, OpKind, Program, operations};

const MARK: &[u8] = b"|RANK|";
/// Operations of a rank that are looked at.
const MOST: usize = 5_000;

/// In memory where the machine has such a folder.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = files::folder("dumpi");
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    folder
});

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let parts = files::parts(data, MARK);
    let ranks: Vec<PathBuf> = (0..usize::from(first % 4) + 1)
        .map(|rank| {
            let path = FOLDER.join(format!("t-{rank:04}.bin"));
            std::fs::write(&path, parts.get(rank).unwrap_or(&parts[0])).expect("a file is written");
            path
        })
        .collect();
    let files = TraceFiles {
        ranks,
        ..TraceFiles::default()
    };
    for incomplete in [Incomplete::Refused, Incomplete::Read] {
        look(&files.clone().with(incomplete));
    }
    if data.len() < 4_096 {
        let _ = repeat(&files, &FOLDER.join("again"), 2);
        let _ = std::fs::remove_dir_all(FOLDER.join("again"));
    }
});

/// All that only reads `files`.
fn look(files: &TraceFiles) {
    for path in &files.ranks {
        if let Ok(mut file) = RankFile::open(path, files.incomplete) {
            let _ = file.for_each(path, |record| {
                record.statuses();
            });
        }
    }
    let _ = Statistics::of(files);
    let _ = lint(files);
    if let Ok(trace) = Trace::of(files.clone(), 1.0) {
        for rank in 0..trace.ranks() {
            for op in operations(&trace, rank).take(MOST) {
                if let OpKind::Collective(Collective::Alltoallv { counts, .. }) = op.kind {
                    trace.bytes(rank, counts, 0, 0);
                }
            }
        }
        traffic_matrix(&trace, &Cancellation::default());
    }
}
