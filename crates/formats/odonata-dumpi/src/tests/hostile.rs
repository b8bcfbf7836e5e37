//! Files that are truncated, damaged or state wrong lengths: an error with the place, never a panic.

use std::io::Cursor;

use odonata_workload::{Program, operations};

use super::super::error::Fault;
use super::super::rank_file::{Ending, Incomplete, Records};
use super::super::record::Record;
use super::super::set::TraceFiles;
use super::super::survey::survey;
use super::super::trace::Trace;
use super::super::trailer::Version;
use super::super::{Oddity, Statistics, lint, repeat};
use super::writer::{Folder, V, Writer};

/// A rank with a record of every kind.
fn sample() -> Writer {
    let mut writer = Writer::new(Version(13, 0, 0));
    let status = V::Status(vec![(8, 0, 1, false)]);
    writer
        .call("Init", &[V::Ss(vec!["a.out", "-x"])])
        .call("Comm_dup", &[V::H(2), V::H(4)])
        .call("Comm_group", &[V::H(4), V::H(3)])
        .call("Group_incl", &[V::H(3), V::I(1), V::Is(vec![0]), V::H(4)])
        .call("Comm_create", &[V::H(4), V::H(4), V::H(5)])
        .call("Type_vector", &[V::I(4), V::I(2), V::I(8), V::H(14), V::H(28)])
        .call("Irecv", &[V::I(1), V::H(14), V::I(-1), V::I(-1), V::H(4), V::I(2)])
        .call("Isend", &[V::I(1), V::H(14), V::I(0), V::I(1), V::H(4), V::I(3)])
        .call(
            "Waitall",
            &[
                V::I(2),
                V::Is(vec![2, 3]),
                V::Status(vec![(8, 0, 1, false), (0, 0, 0, false)]),
            ],
        )
        .call(
            "Sendrecv",
            &[
                V::I(1),
                V::H(13),
                V::I(0),
                V::I(2),
                V::I(1),
                V::H(13),
                V::I(-1),
                V::I(2),
                V::H(2),
                status,
            ],
        )
        .call(
            "Alltoallv",
            &[
                V::I(1),
                V::Is(vec![3]),
                V::Is(vec![0]),
                V::H(13),
                V::Is(vec![3]),
                V::Is(vec![0]),
                V::H(13),
                V::H(2),
            ],
        )
        .call("File_open", &[V::H(2), V::S("data"), V::B(0), V::H(0), V::H(1)])
        .call("File_write_shared", &[V::H(1), V::I(16), V::H(5), V::Status(vec![])])
        .call("File_close", &[V::H(1)])
        .call("Finalize", &[]);
    writer
}

/// All operations on a file; errors are fine.
fn try_everything(bytes: &[u8]) -> Result<(), String> {
    let folder = Folder::new();
    folder.write("t-0000.bin", bytes);
    let files = TraceFiles::find(&folder.0).map_err(|error| error.to_string())?;
    let trace = Trace::of(files.clone().with(Incomplete::Read), 1.0).map_err(|error| error.to_string())?;
    let mut lists = 0;
    for op in operations(&trace, 0) {
        if let odonata_workload::OpKind::Collective(odonata_workload::Collective::Alltoallv { counts, .. }) = op.kind {
            lists += trace.bytes(0, counts, 0, 0);
        }
    }
    std::hint::black_box(lists);
    lint(&files).map_err(|error| error.to_string())?;
    let target = folder.0.join("again");
    repeat(&files, &target, 2).map_err(|error| error.to_string())
}

#[test]
fn a_whole_file_is_without_fault() {
    assert_eq!(try_everything(&sample().finish()), Ok(()));
    let folder = Folder::trace(&[sample()]);
    let findings = lint(&TraceFiles::find(&folder.0).unwrap()).unwrap();
    assert_eq!(findings, []);
}

/// The error of a file with these bytes, read to its end.
fn refused(bytes: Vec<u8>) -> Option<String> {
    let refusal = |fault: Box<Fault>| {
        Some(format!(
            "byte {}: {}; expected {}",
            fault.offset, fault.problem, fault.expected
        ))
    };
    let mut records = match Records::new(Cursor::new(bytes), Incomplete::Refused) {
        Ok(records) => records,
        Err(fault) => return refusal(fault),
    };
    let mut record = Record::default();
    loop {
        match records.read(&mut record) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(fault) => return refusal(fault),
        }
    }
}

/// Files of old and new tracers, with and without the usually empty parts.
fn whole_files() -> impl Iterator<Item = Vec<u8>> {
    let variants = (5..=8).flat_map(|index| [(index, false, true), (index, true, true), (index, true, false)]);
    variants.map(|(index, labelled, ends)| {
        let mut writer = sample();
        (writer.index, writer.labelled, writer.ends) = (index, labelled, ends);
        writer.finish()
    })
}

#[test]
fn a_file_that_is_cut_off_at_any_byte_is_refused() {
    for whole in whole_files() {
        assert_eq!(refused(whole.clone()), None);
        for length in 0..whole.len() {
            assert!(
                refused(whole[..length].to_vec()).is_some(),
                "{length} of {} bytes",
                whole.len()
            );
        }
    }
}

#[test]
fn a_file_with_something_behind_its_end_is_refused() {
    for whole in whole_files() {
        for count in 1..=128 {
            let fillings = [
                vec![0; count],
                vec![0xff; count],
                whole[..count].to_vec(),
                whole[whole.len() - count..].to_vec(),
            ];
            for more in fillings {
                let found = refused([whole.clone(), more.clone()].concat());
                assert!(found.is_some(), "{count} bytes {:?} behind {}", &more[..1], whole.len());
            }
        }
    }
}

#[test]
fn a_file_that_lacks_a_byte_or_has_one_more_anywhere_is_refused() {
    for whole in whole_files() {
        for at in 0..whole.len() {
            let (before, after) = whole.split_at(at);
            assert!(refused([before, &after[1..]].concat()).is_some(), "without byte {at}");
            assert!(
                refused([before, &[0], after].concat()).is_some(),
                "one more at byte {at}"
            );
        }
    }
}

#[test]
fn an_incomplete_file_is_reported_with_cause_and_position() {
    let whole = sample().finish();
    let (length, records) = (whole.len(), sample().bytes.len());
    let refusal = |bytes: Vec<u8>| refused(bytes).expect("it is not whole");
    assert_eq!(
        refusal(whole[..records + 1].to_vec()),
        format!(
            "byte {}: the file ends without an index; expected an index at the end: the traced program died, or the \
             file was truncated",
            records + 1
        )
    );
    assert_eq!(
        refusal(whole[..length - 1].to_vec()),
        format!(
            "byte {}: a truncated index of 63 bytes; expected 64 bytes at the end of the file (40 to 56 from old \
             tracers)",
            length - 64
        )
    );
    let appended = refusal([&whole[..], b"12345"].concat());
    assert!(
        appended.starts_with(&format!("byte {}: an index of up to 64 bytes, and 5 more", length - 64)),
        "{appended}"
    );
    // The end-of-stream label precedes further records.
    let mut early = sample();
    early.bytes.extend(293u16.to_be_bytes());
    early.call("Wtime", &[]);
    let found = refusal(early.finish());
    assert!(
        found.contains(&format!("byte {records}: the last label, and")),
        "{found}"
    );
}

#[test]
fn lint_tells_of_files_that_are_not_whole_and_everything_else_refuses_them() {
    let whole = sample().finish();
    for bytes in [whole[..whole.len() - 1].to_vec(), [&whole[..], &[0]].concat()] {
        let folder = Folder::new();
        folder.write("t-0000.bin", &bytes);
        let files = TraceFiles::find(&folder.0).unwrap();
        let findings = lint(&files).unwrap();
        let about: Vec<&str> = findings.iter().map(|finding| finding.check).collect();
        assert_eq!(about, ["complete"], "{findings:?}");
        assert!(findings[0].text.contains("t-0000.bin, byte"), "{findings:?}");
        let error = Trace::open(&folder.0, 1.0).unwrap_err().to_string();
        assert_eq!(error, findings[0].text);
        assert_eq!(Statistics::of(&files).unwrap_err().to_string(), error);
        assert_eq!(
            repeat(&files, &folder.0.join("again"), 2).unwrap_err().to_string(),
            error
        );
        // Reading incomplete files returns the records, and reports the damage.
        let files = files.with(Incomplete::Read);
        let trace = Trace::of(files.clone(), 1.0).unwrap();
        assert_eq!(trace.damages().len(), 1);
        assert_eq!(trace.records(), 15);
        let statistics = Statistics::of(&files).unwrap();
        assert_eq!(statistics.ranks[0].incomplete.as_ref(), Some(&error));
    }
}

#[test]
fn sizes_of_datatypes_that_nothing_states_are_noted() {
    let mut writer = sample();
    // A Fortran datatype, created by no call.
    writer.call("Send", &[V::I(4), V::H(40), V::I(0), V::I(1), V::H(2)]);
    let mut whole = writer.clone();
    whole.sizes.resize(41, 8);
    let bytes = whole.finish();
    for (bytes, unknown) in [(bytes.clone(), 0), (bytes[..bytes.len() - 1].to_vec(), 1)] {
        let folder = Folder::new();
        folder.write("t-0000.bin", &bytes);
        let files = TraceFiles::find(&folder.0).unwrap().with(Incomplete::Read);
        let trace = Trace::of(files, 1.0).unwrap();
        let count = trace.oddities().get(&Oddity::UnknownSize).copied().unwrap_or(0);
        assert_eq!(count, unknown);
    }
}

#[test]
fn records_before_a_cut_are_available_on_request() {
    let whole = sample().finish();
    let body = sample().bytes.len();
    for length in 0..whole.len() {
        let bytes = &whole[..length];
        // The zeros of the footer are all alike.
        if length < body + 48 || length + 200 > whole.len() {
            let _ = try_everything(bytes);
        }
        let Ok(mut records) = Records::new(Cursor::new(bytes.to_vec()), Incomplete::Read) else {
            assert!(length < 16, "cut to {length} of {}", whole.len());
            continue;
        };
        assert!(records.trailer().is_none());
        let mut record = Record::default();
        while records
            .read(&mut record)
            .unwrap_or_else(|fault| panic!("cut to {length}: {fault:?}"))
        {}
        let complete = length >= body + 2;
        match records.ending() {
            Some(Ending::Complete) => assert!(complete, "cut to {length}"),
            Some(Ending::Truncated { offset }) => {
                assert!(!complete && offset <= length as u64, "cut to {length}: {offset}");
            }
            None => panic!("cut to {length}: not ended"),
        }
    }
}

#[test]
fn flipped_bits_are_read_or_an_error() {
    flip_bits(5);
}

#[test]
#[ignore = "takes long"]
fn every_flipped_bit_is_read_or_an_error() {
    flip_bits(1);
}

/// Flips bits of every byte whose offset is a multiple of `step`.
fn flip_bits(step: usize) {
    let whole = sample().finish();
    // The zeros of the footer are all alike.
    let interesting = (0..whole.len()).filter(|&at| at < sample().bytes.len() + 48 || at + 200 > whole.len());
    for at in interesting.filter(|at| at % step == 0) {
        for bit in [0, 4, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            if let Err(error) = try_everything(&bytes) {
                assert!(error.contains(".bin") || error.contains("odonata-dumpi"), "{error}");
            }
        }
    }
}

#[test]
fn lengths_that_cannot_be_are_errors_that_name_the_byte() {
    for (length, expected) in [
        (-1, "a length of -1"),
        (i32::MAX, "2147483647 elements"),
        (1_000, "1000 elements"),
    ] {
        let mut writer = Writer::new(Version(13, 0, 0));
        writer.call("Wtime", &[]);
        let at = writer.bytes.len();
        // The length is the last number of the record.
        writer.call("Waitall", &[V::I(2), V::I(length)]);
        let folder = Folder::trace(&[writer]);
        let error = Trace::open(&folder.0, 1.0).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains(&format!("record at byte {at}")),
            "{error}"
        );
    }
}

#[test]
fn an_invalid_call_is_an_error_with_the_expectation() {
    for (label, mask, expected) in [
        (128u16, 0u8, "label 128"),
        (290, 0, "label 290"),
        (294, 0, "label 294"),
        (65_535, 0, "label 65535"),
        (122, 0x10, "mask 0x10"),
        (122, 0x20, "mask 0x20"),
    ] {
        let mut writer = Writer::new(Version(13, 0, 0));
        writer.bytes.extend(label.to_be_bytes());
        writer.bytes.push(mask);
        let folder = Folder::trace(&[writer]);
        let error = Trace::open(&folder.0, 1.0).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("byte 16") && error.contains("expected"),
            "{error}"
        );
    }
}

#[test]
fn groups_made_of_groups_ten_thousand_deep_do_not_overflow_the_stack() {
    let mut writer = Writer::new(Version(13, 0, 0));
    writer.call("Comm_group", &[V::H(2), V::H(3)]);
    for _ in 0..100_000 {
        writer.call("Group_incl", &[V::H(3), V::I(1), V::Is(vec![0]), V::H(3)]);
    }
    writer
        .call("Comm_create", &[V::H(2), V::H(3), V::H(4)])
        .call("Barrier", &[V::H(4)]);
    let folder = Folder::trace(&[writer]);
    let trace = Trace::open(&folder.0, 1.0).unwrap();
    assert_eq!(trace.problems(), [""; 0]);
    assert_eq!(trace.communicators(), 3);
}

#[test]
fn folders_without_one_whole_trace_are_errors() {
    let bytes = sample().finish();
    let error = |folder: &Folder| TraceFiles::find(&folder.0).unwrap_err().to_string();
    assert!(error(&Folder::new()).contains("files of 0 traces"));
    let folder = Folder::new();
    folder.write("t-0000.bin", &bytes);
    // AppleDouble files from a macOS tar, and files of no rank.
    for name in [
        "._t-0000.bin",
        "._t.meta",
        "t-1.bin",
        "t-000x.bin",
        "notes.txt",
        "-0000.bin.old",
    ] {
        folder.write(name, b"something");
    }
    assert_eq!(TraceFiles::find(&folder.0).unwrap().ranks.len(), 1);
    folder.write("t-0002.bin", &bytes);
    assert!(error(&folder).contains("rank 2 has a file, but rank 1 has none"));
    folder.write("t-0001.bin", &bytes);
    assert_eq!(TraceFiles::find(&folder.0).unwrap().ranks.len(), 3);
    folder.write("t-00001.bin", &bytes);
    assert!(error(&folder).contains("a second file of rank 1"));
    std::fs::remove_file(folder.0.join("t-00001.bin")).unwrap();
    folder.write("u-0000.bin", &bytes);
    assert!(error(&folder).contains("files of 2 traces"));
    // A renamed set: the file's own name counts.
    let meta = folder.write("t.meta", b"numprocs=3\nfileprefix=other\n");
    let found = TraceFiles::find(&meta).unwrap();
    assert_eq!((found.ranks.len(), found.meta["numprocs"].as_str()), (3, "3"));
    folder.write("t.meta", b"numprocs=4\nfileprefix=t\n");
    assert!(error(&folder).contains("numprocs"));
    // Truncated within the number.
    folder.write("t.meta", b"fileprefix=t\nnumprocs=");
    assert!(error(&folder).contains("numprocs"));
    folder.write("u.meta", b"");
    assert!(error(&folder).contains("2 files end in .meta"));
}

/// Each copy of the state has at most as many entries as there are calls up to the next copy, and the last at most the
/// number of calls: sum <= 2 * calls.
#[test]
fn requests_without_waits_take_memory_in_proportion_to_the_file() {
    let mut writer = Writer::new(Version(13, 0, 0));
    let count = 20_000;
    for request in 0..count {
        let request = V::I(1_000 + request);
        writer.call("Isend", &[V::I(1), V::H(14), V::I(0), V::I(1), V::H(2), request]);
    }
    let folder = Folder::new();
    let path = folder.write("t-0000.bin", &writer.finish());
    let found = survey(&TraceFiles::default(), &path, 16).unwrap();
    let copied: u64 = found.resumes.iter().map(|resume| resume.state.entries()).sum();
    assert!(found.resumes.len() > 5, "{}", found.resumes.len());
    assert!(
        copied <= 2 * found.records,
        "{copied} entries of {} records",
        found.records
    );
    let trace = Trace::with_chunks(TraceFiles::find(&folder.0).unwrap(), 1.0, 16).unwrap();
    let sends = operations(&trace, 0).filter(|op| matches!(op.kind, odonata_workload::OpKind::Isend { .. }));
    assert_eq!(sends.count(), count as usize);
}

#[test]
fn a_trace_that_changes_while_it_is_replayed_ends_with_the_name_of_the_file() {
    let mut writer = Writer::new(Version(13, 0, 0));
    for _ in 0..200 {
        writer.call("Barrier", &[V::H(2)]);
    }
    let folder = Folder::new();
    let path = folder.write("t-0000.bin", &writer.finish());
    let trace = Trace::with_chunks(TraceFiles::find(&folder.0).unwrap(), 1.0, 16).unwrap();
    let mut cursor = odonata_workload::Cursor::default();
    assert!(trace.next(0, &mut cursor).is_some());
    assert_eq!(trace.broken(0, &cursor), None);
    std::fs::remove_file(&path).unwrap();
    while trace.next(0, &mut cursor).is_some() {}
    assert!(cursor.op < 200, "{}", cursor.op);
    let why = trace.broken(0, &cursor).unwrap();
    assert!(why.starts_with("the trace changed while it was replayed"), "{why}");
    assert!(why.contains("t-0000.bin"), "{why}");
}
