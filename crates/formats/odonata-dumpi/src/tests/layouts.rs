//! Every record type, in every version that changes its layout.

use std::io::Cursor;

use super::super::rank_file::{Ending, Incomplete, Records};
use super::super::record::{Arg, Record, call_name};
use super::super::table::{CALLS, PCONTROL, TABLE};
use super::super::trailer::Version;
use super::writer::{V, Writer};

/// Versions around every change of the format.
const VERSIONS: [Version; 7] = [
    Version(0, 6, 1),
    Version(0, 6, 2),
    Version(0, 6, 3),
    Version(0, 6, 8),
    Version(0, 6, 9),
    Version(1, 0, 0),
    Version(13, 0, 0),
];

fn version(text: &str) -> Version {
    let parts: Vec<u8> = text.split('.').map(|part| part.parse().expect("a number")).collect();
    Version(parts[0], parts[1], parts[2])
}

/// Arguments according to the table, with ascending numbers; `root`: whether the rank is the root.
fn arguments(text: &str, at: Version, root: bool) -> Vec<V> {
    let mut next = 10;
    let mut number = || {
        next += 1;
        next
    };
    let mut values = Vec::new();
    for token in text.split_whitespace() {
        let conditional = token.starts_with('?');
        let (name, kind) = token.trim_start_matches('?').split_once(':').expect("name:type");
        let (kind, there) = match (kind.split_once('<'), kind.split_once(">=")) {
            (Some((kind, below)), _) => (kind, at < version(below)),
            (_, Some((kind, from))) => (kind, at >= version(from)),
            _ => (kind, !conditional || root),
        };
        if !there {
            continue;
        }
        values.push(match (name, kind) {
            ("rank", "i32") => V::I(3),
            ("root", "i32") => V::I(if root { 3 } else { 4 }),
            (_, "u8") => V::B(number() as u8),
            (_, "i16") => V::H(-number() as i16),
            (_, "i32") => V::I(-number()),
            (_, "i64") => V::L(i64::from(number()) << 33),
            (_, "[u8]") => V::Bytes(vec![1, 2, 3]),
            (_, "[i16]") => V::Hs(vec![number() as i16, -5]),
            (_, "[i32]") => V::Is(vec![number(), -7, 1 << 30]),
            (_, "[[i32]]") => V::Nested(vec![vec![1, 2, 3], vec![], vec![4, 5, 6]]),
            (_, "str32") => V::S("a name"),
            (_, "[str32]") => V::Ss(vec!["", "two"]),
            (_, "[[str32]]") => V::Sss(vec![vec!["x"], vec![]]),
            (_, "status[]") => V::Status(vec![(number(), -2, 77, true), (8, 1, -1, false)]),
            (_, other) => panic!("no type {other}"),
        });
    }
    values
}

#[test]
fn every_record_type_ends_where_the_next_begins_in_every_version() {
    for version in VERSIONS {
        for (label, (name, text)) in TABLE.iter().enumerate() {
            if label == usize::from(PCONTROL) {
                continue;
            }
            // Without and with statuses; with CPU times; with counters; the root of a call and another rank.
            for (mask, root) in [(0, true), (3, false), (7, true), (0x83, true)] {
                let mut writer = Writer::new(version);
                if mask == 7 {
                    writer.thread = Some(513);
                }
                writer
                    .masked(name, mask, &arguments(text, version, root))
                    .call("Wtime", &[]);
                let mut records =
                    Records::new(Cursor::new(writer.finish()), Incomplete::Refused).expect("it is a file");
                let mut record = Record::default();
                let context = format!("{name} in {version:?} with mask {mask:#x}");
                assert!(records.read(&mut record).expect(&context), "{context}");
                assert_eq!(call_name(record.label), *name, "{context}");
                assert_eq!(record.thread, writer.thread.unwrap_or(0), "{context}");
                assert_eq!(record.cpu.is_some(), mask & 4 != 0, "{context}");
                let wall = record.wall.expect("wall times are stored");
                assert_eq!(
                    (wall.stop - wall.start, wall.start % 1_000_000_000),
                    (10, 90),
                    "{context}"
                );
                if text.contains("status[]") {
                    assert_eq!(record.statuses().len(), if mask & 3 == 0 { 0 } else { 2 }, "{context}");
                }
                assert!(records.read(&mut record).expect(&context), "{context}");
                assert_eq!(call_name(record.label), "MPI_Wtime", "{context}");
                assert!(!records.read(&mut record).expect(&context), "{context}");
                assert_eq!(records.ending(), Some(Ending::Complete), "{context}");
            }
        }
    }
    assert_eq!(TABLE.len(), CALLS);
}

#[test]
fn arguments_come_back_as_they_were_written() {
    let mut writer = Writer::new(Version(13, 0, 0));
    let status = V::Status(vec![(64, 5, 9, false), (12, -1, 3, true)]);
    writer
        .call(
            "Waitsome",
            &[V::I(3), V::Is(vec![7, 8, 9]), V::I(2), V::Is(vec![2, 0]), status],
        )
        .call("File_open", &[V::H(2), V::S("out/data"), V::B(4), V::H(0), V::H(1)])
        .call(
            "Gatherv",
            &[
                V::I(1),
                V::I(2),
                V::I(6),
                V::H(9),
                V::I(1),
                V::H(2),
                V::Is(vec![6, 4]),
                V::Is(vec![0, 6]),
                V::H(13),
            ],
        )
        .call(
            "Group_range_incl",
            &[
                V::H(3),
                V::I(2),
                V::Nested(vec![vec![0, 6, 2], vec![9, 7, -1]]),
                V::H(4),
            ],
        );
    let mut records = Records::new(Cursor::new(writer.finish()), Incomplete::Refused).expect("it is a file");
    let mut record = Record::default();
    records.read(&mut record).unwrap();
    assert_eq!(
        (record.list(Arg::Reqs), record.list(Arg::Indices)),
        (&[7, 8, 9][..], &[2, 0][..])
    );
    assert_eq!((record.int(Arg::Outcount), record.statuses()[1].source), (2, -1));
    assert_eq!((record.statuses()[0].tag, record.statuses()[1].cancelled), (9, true));
    // Arguments of the previous call do not leak into a call without them.
    assert_eq!((record.get(Arg::Dest), record.list(Arg::Ranks)), (None, &[][..]));
    records.read(&mut record).unwrap();
    assert_eq!(
        (record.name(), record.int(Arg::File), record.list(Arg::Reqs)),
        ("out/data", 1, &[][..])
    );
    records.read(&mut record).unwrap();
    assert_eq!((record.list(Arg::Rcounts), record.int(Arg::Rtype)), (&[6, 4][..], 13));
    records.read(&mut record).unwrap();
    assert_eq!(record.list(Arg::Ranges), [0, 6, 2, 9, 7, -1]);
}

#[test]
fn clocks_that_go_around_after_16_bits_of_seconds_go_on() {
    let mut writer = Writer::new(Version(13, 0, 0));
    let day = 86_400_000_000_000;
    for _ in 0..3 {
        // Less than half a period from one call to the next.
        writer.call("Wtime", &[]);
        writer.now += day / 3;
        writer.call("Wtime", &[]);
        writer.now += day / 3;
    }
    let mut records = Records::new(Cursor::new(writer.finish()), Incomplete::Refused).expect("it is a file");
    let mut record = Record::default();
    let mut starts = Vec::new();
    while records.read(&mut record).unwrap() {
        starts.push(record.wall.unwrap().start);
    }
    let first = i64::from(super::writer::BASE) * 1_000_000_000 + 90;
    let expected: Vec<i64> = (0..6).map(|number| first + number * (day as i64 / 3 + 100)).collect();
    assert_eq!(starts, expected);
}

#[test]
fn shorter_indices_of_older_tracers_and_streams_without_a_last_label_are_read() {
    for index in [8, 7, 6, 5] {
        for ends in [true, false] {
            let mut writer = Writer::new(Version(0, 6, 2));
            (writer.index, writer.ends) = (index, ends);
            writer.call("Wtime", &[]).call("Finalize", &[]);
            let mut records = Records::new(Cursor::new(writer.finish()), Incomplete::Refused).expect("it is a file");
            let trailer = records.trailer().expect("it has an index").clone();
            assert_eq!((trailer.version, trailer.hostname.as_str()), (Version(0, 6, 2), "host"));
            assert_eq!(trailer.sizes.is_empty(), index < 8);
            assert_eq!(trailer.footer.expect("it has a footer").calls.iter().sum::<u32>(), 2);
            let mut record = Record::default();
            let mut count = 0;
            while records.read(&mut record).unwrap() {
                count += 1;
            }
            assert_eq!((count, records.ending()), (2, Some(Ending::Complete)));
        }
    }
}

#[test]
fn instrumented_functions_are_passed_over() {
    let mut writer = Writer::new(Version(13, 0, 0));
    writer.call("Wtime", &[]);
    for label in [291u16, 292] {
        writer.bytes.extend(label.to_be_bytes());
        writer.bytes.push(0);
        writer.bytes.extend(5i64.to_be_bytes());
    }
    writer.call("Finalize", &[]);
    let mut records = Records::new(Cursor::new(writer.finish()), Incomplete::Refused).expect("it is a file");
    let mut record = Record::default();
    let mut labels = Vec::new();
    while records.read(&mut record).unwrap() {
        labels.push(record.label);
    }
    assert_eq!(labels, [122, 291, 292, 125]);
}
