//! Traces as programs: every sent message is received, every collective is called by all members.

mod reference_traces;

use odonata_dumpi::{Arg, Incomplete, RankFile, Record, Statistics, Trace, TraceFiles, call_name, lint};
use odonata_trace_format::{Cancellation, Severity, traffic_matrix};
use odonata_workload::{Cursor, OpKind, Program, Source, operations};
use std::path::PathBuf;

#[test]
fn reference_traces_are_without_fault_and_nothing_in_them_is_unknown() {
    for set in reference_traces::sets() {
        let files = TraceFiles::find(&set).unwrap_or_else(|error| panic!("{error}"));
        let findings = lint(&files).unwrap_or_else(|error| panic!("{error}"));
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", set.display());
        let known = ["polls", "cancelled"];
        let others = findings
            .iter()
            .filter(|note| !known.iter().any(|known| note.text.contains(known)));
        assert_eq!(others.count(), 0, "{}: {findings:#?}", set.display());
    }
}

/// Message sizes by the statuses of blocking receives.
#[derive(Default)]
struct Received {
    /// Receives with a status.
    statuses: u64,
    /// Bytes of their messages.
    bytes: u64,
    /// Excess of message sizes over buffer sizes computed with the stated datatype sizes: ids were reused for datatypes
    /// of other sizes.
    more: u64,
}

fn received(files: &[PathBuf]) -> Received {
    let mut received = Received::default();
    for path in files {
        let mut file = RankFile::open(path, Incomplete::Refused).unwrap_or_else(|error| panic!("{error}"));
        let sizes = file.trailer().map_or(Vec::new(), |trailer| trailer.sizes.clone());
        let count = |record: &Record| {
            if let ("MPI_Recv", Some(status)) = (call_name(record.label), record.statuses().first()) {
                let room = record.int(Arg::Count) * sizes[record.int(Arg::Type) as usize];
                received.statuses += 1;
                received.bytes += u64::try_from(status.bytes).unwrap();
                received.more += u64::try_from(status.bytes - room).unwrap_or(0);
            }
        };
        file.for_each(path, count).unwrap_or_else(|error| panic!("{error}"));
    }
    received
}

#[test]
fn a_replay_sends_the_messages_of_the_trace_and_knows_every_source() {
    for set in reference_traces::sets() {
        let files = TraceFiles::find(&set).unwrap_or_else(|error| panic!("{error}"));
        let statistics = Statistics::of(&files).unwrap_or_else(|error| panic!("{error}"));
        let trace = Trace::of(files, 1.0).unwrap_or_else(|error| panic!("{error}"));
        let flows = traffic_matrix(&trace, &Cancellation::default());
        let (mut sum, mut stated) = (0, 0);
        for rank in &statistics.ranks {
            let of_rank = flows.iter().filter(|flow| flow.source == rank.rank);
            let (messages, bytes) = of_rank.fold((0, 0), |(messages, bytes), flow| {
                (messages + flow.messages, bytes + flow.bytes)
            });
            let starts = rank.persistent_starts;
            assert_eq!(
                messages,
                rank.sends.count + starts.send,
                "{} rank {}",
                set.display(),
                rank.rank
            );
            sum += bytes;
            stated += rank.sends.bytes + starts.send_bytes;
        }
        // If datatypes of several sizes shared an id, the statuses are more accurate than the file.
        let received = received(&trace.files().ranks);
        let all_have_one = statistics.total_persistent_starts == 0;
        if all_have_one && received.statuses == statistics.total_recvs_posted {
            assert_eq!(sum, received.bytes, "{}", set.display());
        } else {
            assert_eq!(sum, stated + received.more, "{}", set.display());
        }
        for rank in 0..trace.ranks() {
            let any = operations(&trace, rank).filter(|op| {
                let from = match op.kind {
                    OpKind::Recv { from, .. } | OpKind::Irecv { from, .. } | OpKind::Probe { from, .. } => from,
                    _ => return false,
                };
                from == Source::Any
            });
            assert_eq!(any.count(), 0, "{} rank {rank}", set.display());
        }
    }
}

#[test]
fn a_cursor_that_is_restored_gives_the_same_operations_wherever_it_stands() {
    for set in reference_traces::sets() {
        let trace = Trace::open(&set, 1.0).unwrap_or_else(|error| panic!("{error}"));
        let rank = trace.ranks() - 1;
        let all: Vec<_> = operations(&trace, rank).collect();
        let mut cursor = Cursor::default();
        let mut kept = Vec::new();
        for _ in 0..all.len() {
            kept.push(cursor);
            trace.next(rank, &mut cursor);
        }
        for (number, cursor) in kept.iter().enumerate().rev().step_by(37) {
            assert_eq!(trace.next(rank, &mut cursor.clone()), Some(all[number]));
        }
        assert_eq!(trace.next(rank, &mut cursor), None);
    }
}
