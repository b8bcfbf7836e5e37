//! The meaning of calls that real traces lack.

use odonata_workload::{Collective, Comm, OpKind, PROC_NULL, Program, Request, Source, Tag, operations};

use super::super::trace::Trace;
use super::super::translate::Oddity;
use super::super::{Statistics, TraceFiles, lint, repeat};
use super::writer::{Folder, V, Writer};
use super::{INT, open, ops, ranks};

#[test]
fn unmatched_operations_are_found() {
    let texts = |writers: &[Writer]| -> String {
        let folder = Folder::trace(writers);
        let findings = lint(&TraceFiles::find(&folder.0).unwrap()).unwrap();
        findings
            .iter()
            .map(|finding| format!("{}: {}\n", finding.check, finding.text))
            .collect()
    };
    let mut writers = ranks(2);
    writers[0].call("Send", &[V::I(1), INT, V::I(1), V::I(5), V::H(2)]);
    assert!(texts(&writers).contains("1 sends from rank 0 to rank 1, tag 5, on communicator 0 are not received"));
    let mut writers = ranks(2);
    writers[1].call("Recv", &[V::I(1), INT, V::I(0), V::I(5), V::H(2), V::Status(vec![])]);
    assert!(texts(&writers).contains("1 receives from rank 0 to rank 1, tag 5, on communicator 0 never match"));
    let mut writers = ranks(2);
    writers[0].call("Barrier", &[V::H(2)]);
    writers[1].call("Bcast", &[V::I(1), INT, V::I(0), V::H(2)]);
    assert!(texts(&writers).contains("collectives: call 0 on communicator 0"));
    let mut writers = ranks(2);
    writers[0].call("Comm_dup", &[V::H(2), V::H(4)]);
    assert!(texts(&writers).contains("rank 0 calls MPI_Comm_dup on a communicator, but its member 1 does not"));
    let mut writers = ranks(1);
    writers[0].call("Barrier", &[V::H(77)]);
    assert!(texts(&writers).contains("communicators that cannot be reconstructed"));
    let mut writers = ranks(1);
    writers[0].now = 1_000;
    writers[0].call("Wtime", &[]);
    writers[0].now -= 150;
    writers[0].call("Wtime", &[]);
    assert!(texts(&writers).contains("starts 60 ns before the previous call ends"));
    let mut bytes = ranks(1)[0].clone().call("Wtime", &[]).finish();
    let wtime = bytes
        .windows(8)
        .position(|window| window == 0xf007_fee7u64.to_be_bytes())
        .unwrap()
        + 8
        + 4 * 122;
    bytes[wtime + 3] = 3;
    let folder = Folder::new();
    folder.write("t-0000.bin", &bytes);
    let findings = lint(&TraceFiles::find(&folder.0).unwrap()).unwrap();
    assert!(findings[0].text.contains("1 records of MPI_Wtime, the footer counts 3"));
}

#[test]
fn a_receive_from_any_source_takes_the_recorded_message() {
    let mut writers = ranks(3);
    let any = |request| [V::I(4), INT, V::I(-1), V::I(-1), V::H(2), V::I(request)];
    writers[0]
        .call("Irecv", &any(2))
        .call("Irecv", &any(3))
        .call("Recv_init", &any(4))
        .call("Start", &[V::I(4)])
        // The second completes first.
        .call(
            "Waitany",
            &[V::I(2), V::Is(vec![2, 3]), V::I(1), V::Status(vec![(4, 2, 8, false)])],
        )
        .call(
            "Waitsome",
            &[
                V::I(2),
                V::Is(vec![2, 1]),
                V::I(1),
                V::Is(vec![0]),
                V::Status(vec![(4, 1, 9, false)]),
            ],
        )
        .call("Wait", &[V::I(4), V::Status(vec![(4, 1, 7, false)])])
        .call(
            "Recv",
            &[
                V::I(4),
                INT,
                V::I(-1),
                V::I(-1),
                V::H(2),
                V::Status(vec![(4, 2, 6, false)]),
            ],
        );
    let (_folder, trace) = open(&writers);
    let from = |kind: &OpKind| match *kind {
        OpKind::Irecv { from, tag, request, .. } => Some((from, tag, request.0)),
        OpKind::Recv { from, tag, .. } => Some((from, tag, u32::MAX)),
        OpKind::Wait { request } => Some((Source::Any, Tag::Any, request.0)),
        _ => None,
    };
    let seen: Vec<_> = ops(&trace, 0).iter().filter_map(from).collect();
    let is = |rank, tag, request| (Source::Rank(rank), Tag::Is(tag), request);
    let wait = |request| (Source::Any, Tag::Any, request);
    let expected = [
        is(1, 9, 0),
        is(2, 8, 1),
        is(1, 7, 3),
        wait(1),
        wait(0),
        wait(3),
        is(2, 6, u32::MAX),
    ];
    assert_eq!(seen, expected);
    assert!(trace.oddities().is_empty());
}

#[test]
fn polls_are_folded_cancelled_receives_left_out_and_null_stays_null() {
    let mut writers = ranks(1);
    let none = || V::Status(vec![]);
    writers[0]
        .call("Irecv", &[V::I(1), INT, V::I(0), V::I(3), V::H(2), V::I(2)])
        .call("Irecv", &[V::I(1), INT, V::I(-2), V::I(3), V::H(2), V::I(3)])
        .call("Isend", &[V::I(1), INT, V::I(-1), V::I(3), V::H(2), V::I(4)])
        .call("Test", &[V::I(3), V::I(0), none()])
        .call("Wtime", &[])
        .call("Test", &[V::I(3), V::I(0), none()])
        .call("Test", &[V::I(3), V::I(1), none()])
        .call("Cancel", &[V::I(2)])
        .call("Wait", &[V::I(2), V::Status(vec![(0, -1, -1, true)])])
        .call("Wait", &[V::I(4), none()])
        .call("Wait", &[V::I(99), none()])
        .call(
            "Recv",
            &[
                V::I(1),
                INT,
                V::I(-1),
                V::I(3),
                V::H(2),
                V::Status(vec![(0, -1, -1, false)]),
            ],
        );
    let (_folder, trace) = open(&writers);
    let all: Vec<OpKind> = operations(&trace, 0).map(|op| op.kind).collect();
    let computed: u64 = all
        .iter()
        .map(|kind| {
            if let OpKind::Compute { duration } = kind {
                duration.0
            } else {
                0
            }
        })
        .sum();
    // 90 ns before each call except the first, and except the three after an unsuccessful poll.
    assert_eq!(computed, (12 - 1 - 3) * 90_000);
    let request = Request(1);
    let null = Source::Rank(PROC_NULL);
    assert_eq!(
        ops(&trace, 0),
        [
            OpKind::Irecv {
                from: null,
                tag: Tag::Is(3),
                bytes: 4,
                comm: Comm::WORLD,
                request
            },
            OpKind::Isend {
                to: PROC_NULL,
                tag: 3,
                bytes: 4,
                comm: Comm::WORLD,
                request: Request(2)
            },
            OpKind::Wait { request },
            OpKind::Wait { request: Request(2) },
            OpKind::Recv {
                from: null,
                tag: Tag::Any,
                bytes: 4,
                comm: Comm::WORLD
            },
        ]
    );
    let odd: Vec<_> = trace
        .oddities()
        .iter()
        .map(|(&oddity, &count)| (oddity, count))
        .collect();
    assert_eq!(
        odd,
        [(Oddity::UnknownRequest, 1), (Oddity::Cancelled, 1), (Oddity::Polled, 2)]
    );
}

#[test]
fn an_ambiguous_source_is_resolved_by_the_available_messages() {
    // A line of three ranks under an MPI whose MPI_PROC_NULL is -1, all statuses ignored: tag 1 goes up, tag 2 down.
    // Then rank 0 receives from the others, in any order.
    let mut writers = ranks(3);
    let none = || V::Status(vec![]);
    let peer = |rank: i32| V::I(if (0..3).contains(&rank) { rank } else { -1 });
    for (rank, writer) in (0..).zip(&mut writers) {
        writer
            .call("Irecv", &[V::I(1), INT, peer(rank - 1), V::I(1), V::H(2), V::I(2)])
            .call("Isend", &[V::I(1), INT, peer(rank + 1), V::I(1), V::H(2), V::I(3)])
            .call("Waitall", &[V::I(2), V::Is(vec![2, 3]), none()])
            .call(
                "Sendrecv",
                &[
                    V::I(1),
                    INT,
                    peer(rank - 1),
                    V::I(2),
                    V::I(1),
                    INT,
                    peer(rank + 1),
                    V::I(2),
                    V::H(2),
                    none(),
                ],
            );
        if rank > 0 {
            writer.call("Send", &[V::I(1), INT, V::I(0), V::I(3), V::H(2)]);
        }
    }
    for status in [none(), V::Status(vec![(4, 1, 3, false)])] {
        writers[0].call("Recv", &[V::I(1), INT, V::I(-1), V::I(3), V::H(2), status]);
    }
    let (folder, trace) = open(&writers);
    let sources = |rank| -> Vec<Source> {
        let source = |kind: &OpKind| match *kind {
            OpKind::Irecv { from, .. } | OpKind::Recv { from, .. } | OpKind::Sendrecv { from, .. } => Some(from),
            _ => None,
        };
        ops(&trace, rank).iter().filter_map(source).collect()
    };
    let null = Source::Rank(PROC_NULL);
    // The last receive would miss its message if the one before took the message of rank 1.
    assert_eq!(sources(0), [null, Source::Rank(1), Source::Any, Source::Any]);
    assert_eq!(sources(1), [Source::Rank(0), Source::Rank(2)]);
    assert_eq!(sources(2), [Source::Rank(1), null]);
    assert_eq!(trace.oddities()[&Oddity::UnknownSource], 1);
    let findings = lint(&TraceFiles::find(&folder.0).unwrap()).unwrap();
    assert!(findings.iter().all(|finding| finding.check == "replay"), "{findings:?}");
}

#[test]
fn requests_become_ranges_in_the_order_in_which_they_are_named() {
    let mut writers = ranks(1);
    let send = |request| [V::I(1), INT, V::I(0), V::I(0), V::H(2), V::I(request)];
    for request in [12, 11, 10, 13] {
        writers[0].call("Send_init", &send(request));
    }
    writers[0]
        .call("Startall", &[V::I(4), V::Is(vec![12, 11, 13, 10])])
        .call("Waitall", &[V::I(5), V::Is(vec![10, 13, 1, 11, 12]), V::Status(vec![])])
        .call("Request_free", &[V::I(12)]);
    let (_folder, trace) = open(&writers);
    let seen = ops(&trace, 0);
    let first = Request(0);
    // The remaining requests are freed at the end.
    let expected = [
        OpKind::StartAll { first, count: 2 },
        OpKind::Start { request: Request(3) },
        OpKind::Start { request: Request(2) },
        OpKind::WaitAll { first, count: 4 },
        OpKind::RequestFree { request: first },
        OpKind::RequestFree { request: Request(1) },
        OpKind::RequestFree { request: Request(2) },
        OpKind::RequestFree { request: Request(3) },
    ];
    assert_eq!(seen[4..], expected);
}

#[test]
fn listed_sizes_are_those_of_the_trace() {
    let mut writers = ranks(2);
    for (rank, writer) in (0..).zip(&mut writers) {
        let mut gather = vec![V::I(rank), V::I(9 - 9 * rank), INT, V::I(1), V::H(2)];
        let mut scatterv = vec![
            V::I(rank),
            V::I(2),
            V::H(14),
            V::I(rank + 1),
            V::H(14),
            V::I(0),
            V::H(2),
        ];
        match rank {
            0 => scatterv.extend([V::Is(vec![1, 2]), V::Is(vec![0, 1])]),
            _ => gather.extend([V::I(9), INT]),
        }
        let other = |mine: i32, theirs: i32| {
            V::Is(if rank == 0 {
                vec![mine, theirs]
            } else {
                vec![theirs, mine]
            })
        };
        writer
            .call(
                "Alltoallv",
                &[
                    V::I(2),
                    other(1, 2 + rank),
                    V::Is(vec![0, 0]),
                    INT,
                    other(1, 3 - rank),
                    V::Is(vec![0, 0]),
                    INT,
                    V::H(2),
                ],
            )
            .call(
                "Allgatherv",
                &[
                    V::I(2),
                    V::I(0),
                    INT,
                    V::Is(vec![5, 6]),
                    V::Is(vec![0, 5]),
                    V::H(14),
                    V::H(2),
                ],
            )
            .call(
                "Reduce_scatter",
                &[V::I(2), V::Is(vec![7, 8]), V::H(14), V::B(3), V::H(2)],
            )
            .call("Gather", &gather)
            .call("Scatterv", &scatterv);
    }
    let (_folder, trace) = open(&writers);
    let mut seen = Vec::new();
    for rank in 0..2 {
        for kind in ops(&trace, rank) {
            let OpKind::Collective(collective) = kind else {
                panic!("{kind:?}")
            };
            seen.push(match collective {
                Collective::Alltoallv { counts, .. } => {
                    let other = 1 - rank;
                    vec![
                        trace.bytes(rank, counts, rank, other),
                        trace.bytes(rank, counts, other, rank),
                    ]
                }
                Collective::Allgatherv { counts, .. } | Collective::ReduceScatter { counts, .. } => {
                    vec![trace.bytes(rank, counts, 0, 0), trace.bytes(rank, counts, 1, 1)]
                }
                Collective::Gather { root, bytes, .. } => vec![u64::from(root), bytes],
                Collective::Scatterv { root, counts, .. } => {
                    vec![u64::from(root), trace.bytes(rank, counts, root, rank)]
                }
                other => panic!("{other:?}"),
            });
        }
    }
    // The first list is what rank 0 gives to rank 1, equal to what rank 1 gets, and vice versa.
    let [first, second] = [&seen[..5], &seen[5..]];
    assert_eq!(
        first,
        [vec![8, 12], vec![40, 48], vec![56, 64], vec![1, 36], vec![0, 8]]
    );
    assert_eq!(
        second,
        [vec![12, 8], vec![40, 48], vec![56, 64], vec![1, 36], vec![0, 16]]
    );
}

#[test]
fn files_are_accessed_where_pointers_and_views_say() {
    let mut writers = ranks(2);
    let none = || V::Status(vec![]);
    for (rank, writer) in (0..).zip(&mut writers) {
        // Rank 1 is later.
        writer.now = rank * 1_000_000;
        let name = if rank == 0 { "one" } else { "other" };
        let access = |count| [V::H(1), V::I(count), INT, none()];
        writer
            .call("File_open", &[V::H(3), V::S(name), V::B(0), V::H(0), V::H(7)])
            .call("File_open", &[V::H(2), V::S("both"), V::B(0), V::H(0), V::H(1)])
            .call("File_write", &access(3))
            .call(
                "File_set_view",
                &[V::H(1), V::L(100), V::H(14), V::H(14), V::S("native"), V::H(0)],
            )
            .call("File_write_at", &[V::H(1), V::L(2), V::I(1), INT, none()])
            .call("File_seek", &[V::H(1), V::L(3), V::B(1)])
            .call("File_read", &access(2))
            .call("File_iread", &[V::H(1), V::I(1), INT, V::I(50)])
            .call("Wait", &[V::I(50), none()])
            .call("File_write_ordered", &access(10))
            .call("File_write_shared", &access(5))
            .call("File_read_all_begin", &[V::H(1), V::I(1), INT])
            .call("File_read_all_end", &[V::H(1), none()])
            .call("File_close", &[V::H(1)])
            .call("File_read", &[V::H(1), V::I(1), INT, none()]);
    }
    let (_folder, trace) = open(&writers);
    let both = 1;
    let of = |rank| -> Vec<(&str, u64, u64)> {
        let access = |kind: &OpKind| match *kind {
            OpKind::Write { file, offset, bytes } => Some((file, "write", offset, bytes)),
            OpKind::Read { file, offset, bytes } => Some((file, "read", offset, bytes)),
            OpKind::Iread {
                file, offset, bytes, ..
            } => Some((file, "iread", offset, bytes)),
            _ => None,
        };
        let all: Vec<_> = ops(&trace, rank).iter().filter_map(access).collect();
        assert!(all.iter().all(|access| access.0 == both));
        all.into_iter()
            .map(|(_, what, offset, bytes)| (what, offset, bytes))
            .collect()
    };
    let expected = |ordered, shared| {
        vec![
            ("write", 0, 12),
            ("write", 116, 4),
            ("read", 124, 8),
            ("iread", 132, 4),
            ("write", ordered, 40),
            ("write", shared, 20),
            ("iread", 136, 4),
        ]
    };
    // Ordered by rank: 40 bytes each; then in order of arrival.
    assert_eq!(of(0), expected(100, 180));
    assert_eq!(of(1), expected(140, 200));
    let opened = |rank| {
        ops(&trace, rank).iter().find_map(|kind| {
            if let OpKind::Open { file } = kind {
                Some(*file)
            } else {
                None
            }
        })
    };
    assert_ne!(opened(0), opened(1));
    assert_eq!(trace.oddities()[&Oddity::UnknownFile], 2);
}

#[test]
fn threads_are_streams_with_times_of_their_own() {
    let mut writers = ranks(1);
    let writer = &mut writers[0];
    for (thread, at) in [(5, 0), (9, 1_000), (5, 2_000), (9, 5_000)] {
        (writer.thread, writer.now) = (Some(thread), at);
        writer.call("Send", &[V::I(1), INT, V::I(0), V::I(0), V::H(2)]);
    }
    let (_folder, trace) = open(&writers);
    let computed: Vec<(u16, u64)> = operations(&trace, 0)
        .filter_map(|op| match op.kind {
            OpKind::Compute { duration } => Some((op.stream, duration.0 / 1_000)),
            _ => None,
        })
        .collect();
    // The second thread waits from the first call of the rank on; a call takes 10 ns.
    assert_eq!(computed, [(1, 1_000), (0, 1_990), (1, 3_990)]);
}

#[test]
fn with_the_time_in_calls_operations_stand_on_the_clock_of_the_recording() {
    let mut writers = ranks(1);
    let writer = &mut writers[0];
    let mut starts = Vec::new();
    for at in [0, 1_000, 4_000] {
        writer.now = at;
        starts.push(at);
        writer.call("Send", &[V::I(1), INT, V::I(0), V::I(0), V::H(2)]);
        // Unsuccessful polls count like the rest of the time.
        writer.now = at + 500;
        for _ in 0..2 {
            writer.call("Test", &[V::I(4), V::I(0), V::Status(vec![])]);
        }
    }
    let folder = Folder::trace(&writers);
    let mut files = TraceFiles::find(&folder.0).unwrap();
    files.call_time = true;
    for chunk in [1, 2, 1_000] {
        let trace = Trace::with_chunks(files.clone(), 1.0, chunk).unwrap();
        let (mut now, mut found) = (0, Vec::new());
        for op in operations(&trace, 0) {
            match op.kind {
                OpKind::Compute { duration } => now += duration.0 / 1_000,
                _ => found.push(now),
            }
        }
        assert_eq!(found, starts, "{chunk}");
    }
}

#[test]
fn wherever_chunks_end_the_operations_are_the_same() {
    let mut writers = ranks(2);
    for (rank, writer) in (0..).zip(&mut writers) {
        let peer = V::I(1 - rank);
        for round in 0..20 {
            let (tag, of) = (V::I(round), V::H(4 + (round % 3) as i16));
            writer.call("Comm_dup", &[V::H(2), of.clone()]);
            writer.call("Irecv", &[V::I(2), INT, V::I(-1), tag.clone(), of.clone(), V::I(2)]);
            writer.call("Isend", &[V::I(2), INT, peer.clone(), tag.clone(), of.clone(), V::I(3)]);
            writer.call("Wtime", &[]);
            writer.call(
                "Alltoallv",
                &[
                    V::I(2),
                    V::Is(vec![round, 1]),
                    V::Is(vec![0, 0]),
                    INT,
                    V::Is(vec![round, 1]),
                    V::Is(vec![0, 0]),
                    INT,
                    of.clone(),
                ],
            );
            let source = V::Status(vec![(8, 1 - rank, round, false), (0, 0, 0, false)]);
            writer.call("Waitall", &[V::I(2), V::Is(vec![2, 3]), source]);
        }
    }
    let folder = Folder::trace(&writers);
    let files = TraceFiles::find(&folder.0).unwrap();
    // A computation may be split at the end of a chunk.
    let all = |chunk: u32| {
        let trace = Trace::with_chunks(files.clone(), 1.0, chunk).unwrap();
        let mut seen = Vec::new();
        for rank in 0..2 {
            let mut computed = 0;
            for op in operations(&trace, rank) {
                match op.kind {
                    OpKind::Compute { duration } => computed += duration.0,
                    OpKind::Collective(Collective::Alltoallv { counts, .. }) => {
                        let bytes = trace.bytes(rank, counts, 0, 0);
                        seen.push((computed, format!("{:?} {bytes}", op.kind)));
                    }
                    kind => seen.push((computed, format!("{kind:?}"))),
                }
            }
        }
        seen
    };
    let whole = all(1_000);
    for chunk in [1, 2, 3, 5, 7, 64] {
        assert_eq!(all(chunk), whole, "{chunk}");
    }
}

#[test]
fn a_repeated_trace_does_everything_that_often() {
    let mut writers = ranks(2);
    for (rank, writer) in (0..).zip(&mut writers) {
        writer.call("Init", &[V::Ss(vec![])]);
        writer.call("Comm_dup", &[V::H(2), V::H(4)]);
        match rank {
            0 => writer.call("Send", &[V::I(3), INT, V::I(1), V::I(1), V::H(4)]),
            _ => writer.call(
                "Recv",
                &[
                    V::I(3),
                    INT,
                    V::I(0),
                    V::I(1),
                    V::H(4),
                    V::Status(vec![(12, 0, 1, false)]),
                ],
            ),
        };
        // More than the stored seconds can represent.
        writer.now += 30_000_000_000_000;
        writer.call("Barrier", &[V::H(2)]).call("Finalize", &[]);
    }
    let folder = Folder::trace(&writers);
    let files = TraceFiles::find(&folder.0).unwrap();
    let target = folder.0.join("again");
    repeat(&files, &target, 5).unwrap_or_else(|error| panic!("{error}"));
    let again = TraceFiles::find(&target).unwrap();
    let [once, five] = [&files, &again].map(|files| Statistics::of(files).unwrap());
    assert_eq!(
        (five.total_sends, five.total_send_bytes),
        (5 * once.total_sends, 5 * once.total_send_bytes)
    );
    for (name, count) in &once.total_op_counts {
        let times = if ["MPI_Init", "MPI_Finalize"].contains(name) {
            1
        } else {
            5
        };
        assert_eq!(five.total_op_counts[name], times * count, "{name}");
        let footers = |statistics: &Statistics| -> u64 {
            statistics
                .ranks
                .iter()
                .filter_map(|rank| rank.footer_calls.get(name))
                .sum()
        };
        assert_eq!(footers(&five), times * footers(&once), "{name}");
    }
    assert_eq!(lint(&again).unwrap(), []);
    let computed = |files: &TraceFiles| -> u64 {
        let trace = Trace::of(files.clone(), 1.0).unwrap();
        operations(&trace, 0)
            .map(|op| {
                if let OpKind::Compute { duration } = op.kind {
                    duration.0
                } else {
                    0
                }
            })
            .sum()
    };
    // The time before the first call occurs once, like the time before the end.
    let each = 30_000_000_000_000_000 + 2 * 90_000;
    assert_eq!(computed(&files), 90_000 + each + 90_000);
    assert_eq!(computed(&again), 90_000 + 5 * each + 90_000);
    // Existing files are not touched.
    assert!(repeat(&files, &target, 2).unwrap_err().to_string().contains("again"));
    assert!(target.join("t-0001.bin").exists());
}
