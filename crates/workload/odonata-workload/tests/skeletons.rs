//! Skeletons: totals of the published runs, and the order of operations.

use odonata_units::{Bytes, Time};
use odonata_workload::collective::{Rules, choose, step};
use odonata_workload::skeletons::*;
use odonata_workload::{Collective, Counts, OpKind, Program, Request, Source, operations};

/// Totals over all ranks of a job.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    /// Messages, those of collectives included.
    messages: u64,
    /// Messages sent by the program itself, and their bytes.
    own: u64,
    own_bytes: u64,
    allreduces: u64,
    barriers: u64,
    read: u64,
    written: u64,
    marks: u64,
}

fn messages_of(collective: &Collective, ranks: u32) -> u64 {
    // No skeleton uses size lists.
    let sizes = |_: Counts, _: u32, _: u32| 0;
    let algorithm = choose(collective, ranks, &Rules::default(), &sizes);
    let steps = |rank| (0..).map_while(move |index| step(collective, algorithm, rank, ranks, index, &sizes));
    (0..ranks).flat_map(steps).filter(|step| step.send.is_some()).count() as u64
}

fn totals(program: &dyn Program) -> Totals {
    let mut totals = Totals::default();
    let mut known: Vec<(Collective, u64)> = Vec::new();
    for rank in 0..program.ranks() {
        for op in operations(program, rank) {
            match op.kind {
                OpKind::Isend { bytes, .. } => {
                    totals.own += 1;
                    totals.own_bytes += bytes;
                }
                // All ranks call it; it is counted once.
                OpKind::Collective(collective) if rank == 0 => {
                    let messages = known
                        .iter()
                        .find(|(c, _)| *c == collective)
                        .map(|(_, n)| *n)
                        .unwrap_or_else(|| {
                            known.push((collective, messages_of(&collective, program.ranks())));
                            known[known.len() - 1].1
                        });
                    totals.messages += messages;
                    match collective {
                        Collective::Barrier { .. } => totals.barriers += 1,
                        Collective::Allreduce { .. } => totals.allreduces += 1,
                        _ => {}
                    }
                }
                OpKind::Read { bytes, .. } | OpKind::Iread { bytes, .. } => totals.read += bytes,
                OpKind::Write { bytes, .. } | OpKind::Iwrite { bytes, .. } => totals.written += bytes,
                OpKind::Mark { .. } => totals.marks += 1,
                _ => {}
            }
        }
    }
    totals.messages += totals.own;
    totals
}

#[test]
fn milc_sends_the_bytes_of_the_published_run() {
    let milc = Milc::new(300, MilcParams::default()).unwrap();
    assert!(milc.describe().contains("3 x 4 x 5 x 5 torus"), "{}", milc.describe());
    let totals = totals(&milc);
    // 100 iterations x 2 parities x 8 neighbors.
    assert_eq!(totals.own, 300 * 1_600);
    assert_eq!(totals.own_bytes, 300 * 1_600 * 497_664);
    assert_eq!(totals.own_bytes / 300, 796_262_400);
    assert_eq!(totals.messages, 480_000 + 200 * 2_136);
    assert_eq!(totals.messages, 907_200);
    assert_eq!((totals.allreduces, totals.marks), (200, 300 * 100));
}

#[test]
fn nekbone_sends_the_bytes_of_the_published_run() {
    let nekbone = Nekbone::new(300, NekboneParams::default()).unwrap();
    assert!(nekbone.describe().contains("5 x 6 x 10 mesh"), "{}", nekbone.describe());
    let totals = totals(&nekbone);
    // Per order 202 exchanges of 5,524 messages, 602 all-reduces of 2,136 and a barrier of 2,700.
    assert_eq!(totals.messages, 3 * (202 * 5_524 + 602 * 2_136 + 2_700));
    assert_eq!(totals.messages, 7_213_260);
    assert_eq!(totals.own_bytes, 202 * (136_229_280 + 255_115_008 + 410_991_456));
    assert_eq!(
        (totals.allreduces, totals.barriers, totals.marks),
        (3 * 602, 3, 300 * 3)
    );
}

#[test]
fn an_exchange_of_nekbone_has_the_bytes_of_its_order() {
    for (order, bytes) in [
        (8, 136_229_280),
        (11, 255_115_008),
        (14, 410_991_456),
        (17, 603_858_624),
    ] {
        let params = NekboneParams {
            orders: vec![order],
            cg_iterations: 0,
            ..NekboneParams::default()
        };
        let totals = totals(&Nekbone::new(300, params).unwrap());
        // Without iterations, two exchanges and the first all-reduce of each solve are left.
        assert_eq!(
            (totals.own, totals.own_bytes, totals.allreduces),
            (2 * 5_524, 2 * bytes, 2)
        );
        // Faces between neighbors: 4 x 6 x 10 + 5 x 5 x 10 + 5 x 6 x 9 = 760, twice; edges and corners likewise from
        // the extents minus one.
        let n = 13 * u64::from(order) + 1;
        let faces = 2 * (4 * 6 * 10 + 5 * 5 * 10 + 5 * 6 * 9);
        let (edges, corners) = (4 * (4 * 5 * 10 + 4 * 6 * 9 + 5 * 5 * 9), 8 * (4 * 5 * 9));
        assert_eq!(faces + edges + corners, 5_524);
        assert_eq!(bytes, faces * 8 * n * n + edges * 8 * n + corners * 8);
    }
}

#[test]
fn checkpoint_and_cosmoflow_move_the_bytes_of_the_published_runs() {
    let stored = CheckpointParams {
        coordinated: false,
        offset: CheckpointOffset::Zero,
        ..Default::default()
    };
    let checkpoint = Checkpoint::new(300, stored).unwrap();
    assert_eq!(checkpoint.bytes_per_rank(), 166_666_666);
    assert_eq!(
        totals(&checkpoint),
        Totals {
            written: 300 * 166_666_666,
            ..Totals::default()
        }
    );

    let (messages, allreduces, marks, moved) = (20_920, 5, 300 * 5, 300 * 5 * (8 << 20));
    assert_eq!((messages, moved), (5 * (88 + 256 * 16), 12_582_912_000));
    let cosmoflow = |io, pipelined| {
        totals(
            &CosmoFlow::new(
                300,
                CosmoFlowParams {
                    io,
                    pipelined,
                    ..Default::default()
                },
            )
            .unwrap(),
        )
    };
    for pipelined in [false, true] {
        let expected = Totals {
            messages,
            allreduces,
            marks,
            ..Totals::default()
        };
        assert_eq!(
            cosmoflow(CosmoFlowIo::Write, pipelined),
            Totals {
                written: moved,
                ..expected
            }
        );
        let expected = Totals {
            messages,
            allreduces,
            marks,
            ..Totals::default()
        };
        assert_eq!(
            cosmoflow(CosmoFlowIo::Read, pipelined),
            Totals {
                read: moved,
                ..expected
            }
        );
    }
}

/// A short name for each operation, for comparing programs.
fn listing(program: &dyn Program, rank: u32) -> String {
    let name = |kind| match kind {
        OpKind::Compute { .. } => "compute".into(),
        OpKind::Isend { to, .. } => format!(">{to}"),
        OpKind::Irecv {
            from: Source::Rank(from),
            ..
        } => format!("<{from}"),
        OpKind::Wait { .. } => "wait".into(),
        OpKind::WaitAll { first, count } => format!("wait{}+{count}", first.0),
        OpKind::Collective(Collective::Barrier { .. }) => "barrier".into(),
        OpKind::Collective(_) => "allreduce".into(),
        OpKind::Open { file } => format!("open{file}"),
        OpKind::Close { file } => format!("close{file}"),
        OpKind::Read { file, .. } => format!("read{file}"),
        OpKind::Iread { file, .. } => format!("iread{file}"),
        OpKind::Write { file, offset, .. } => format!("write{file}@{offset}"),
        OpKind::Mark { iteration } => format!("mark{iteration}"),
        other => format!("{other:?}"),
    };
    operations(program, rank)
        .map(|op| name(op.kind))
        .collect::<Vec<String>>()
        .join(" ")
}

#[test]
fn a_milc_iteration_is_two_exchanges_and_two_allreduces() {
    let milc = Milc::new(
        300,
        MilcParams {
            iterations: 1,
            ..Default::default()
        },
    )
    .unwrap();
    // Rank 100 = 1 + 3 (1 + 4 (3 + 5 x 1)): strides 1, 3, 12, 60.
    let half = "<99 <101 <97 <103 <88 <112 <40 <160 >99 >101 >97 >103 >88 >112 >40 >160 compute wait8+8 wait0+8";
    assert_eq!(listing(&milc, 100), format!("{half} {half} allreduce allreduce mark0"));
}

#[test]
fn nekbone_sends_to_faces_corners_edges_and_waits_for_receives_only() {
    let params = NekboneParams {
        orders: vec![1],
        cg_iterations: 1,
        ..Default::default()
    };
    let nekbone = Nekbone::new(300, params).unwrap();
    // Rank 0 is a corner of the mesh: +x +y +z, the corner 1 + 5 + 30, and the edges xy, xz, yz.
    let exchange = "<1 <5 <30 <36 <6 <31 <35 >1 >5 >30 >36 >6 >31 >35 wait0+7";
    let solve = format!("allreduce allreduce {exchange} allreduce allreduce");
    assert_eq!(
        listing(&nekbone, 0),
        format!("{exchange} {exchange} {solve} barrier {solve} mark0")
    );
    let detached = |kind| {
        matches!(
            kind,
            OpKind::Isend {
                request: Request::DETACHED,
                ..
            }
        )
    };
    assert_eq!(operations(&nekbone, 0).filter(|op| detached(op.kind)).count(), 7 * 4);
}

#[test]
fn checkpoints_are_written_between_barriers_by_default() {
    let params = CheckpointParams {
        iterations: 2,
        total: Bytes(40),
        ..Default::default()
    };
    let checkpoint = Checkpoint::new(4, params.clone()).unwrap();
    let first = "compute open0 barrier write0@0 barrier close0";
    let second = "compute open1 barrier write1@0 barrier close1";
    assert_eq!(listing(&checkpoint, 0), format!("{first} {second}"));
    assert_eq!(
        listing(&checkpoint, 3),
        "compute barrier write0@30 barrier compute barrier write1@30 barrier"
    );
    let params = CheckpointParams {
        coordinated: false,
        offset: CheckpointOffset::Zero,
        ..params
    };
    let stored = Checkpoint::new(4, params).unwrap();
    assert_eq!(listing(&stored, 3), "compute write0@0 compute write1@0");
}

#[test]
fn checkpoints_go_to_one_file_in_segments_or_strides_or_to_a_file_per_rank() {
    let params = |file, offset, record: Option<u64>| CheckpointParams {
        iterations: 2,
        total: Bytes(100),
        coordinated: false,
        file,
        offset,
        record: record.map(Bytes),
        ..Default::default()
    };
    let list = |rank, params| listing(&Checkpoint::new(4, params).unwrap(), rank);
    // 25 B per rank, in records of 10 B.
    assert_eq!(
        list(3, params(CheckpointFile::Shared, CheckpointOffset::ByRank, Some(10))),
        "compute write0@75 write0@85 write0@95 compute write1@75 write1@85 write1@95"
    );
    assert_eq!(
        list(3, params(CheckpointFile::Shared, CheckpointOffset::Strided, Some(10))),
        "compute write0@30 write0@70 write0@110 compute write1@30 write1@70 write1@110"
    );
    assert_eq!(
        list(3, params(CheckpointFile::PerRank, CheckpointOffset::ByRank, Some(20))),
        "compute open3 write3@0 write3@20 close3 compute open7 write7@0 write7@20 close7"
    );
    // With records as large as the share, strides are segments.
    for record in [None, Some(25), Some(1_000)] {
        let strided = params(CheckpointFile::Shared, CheckpointOffset::Strided, record);
        let segmented = params(CheckpointFile::Shared, CheckpointOffset::ByRank, None);
        assert_eq!(list(2, strided), list(2, segmented));
    }
    for file in [CheckpointFile::Shared, CheckpointFile::PerRank] {
        let checkpoint = Checkpoint::new(4, params(file, CheckpointOffset::ByRank, Some(7))).unwrap();
        let written: u64 = (0..4)
            .flat_map(|rank| operations(&checkpoint, rank))
            .map(|op| match op.kind {
                OpKind::Write { bytes, .. } => bytes,
                _ => 0,
            })
            .sum();
        assert_eq!(written, 2 * 100);
    }
    let refused = |file, offset, record| Checkpoint::new(4, params(file, offset, record)).unwrap_err();
    let text = refused(CheckpointFile::PerRank, CheckpointOffset::Strided, None);
    assert!(text.contains("files of the ranks' own"), "{text}");
    let text = refused(CheckpointFile::Shared, CheckpointOffset::ByRank, Some(0));
    assert!(text.contains("record is 0 B"), "{text}");
    let many = CheckpointParams {
        total: Bytes(1 << 50),
        record: Some(Bytes(1)),
        ..Default::default()
    };
    assert!(Checkpoint::new(4, many).unwrap_err().contains("2^32 - 2 operations"));
}

/// Data not yet on its aggregator moves between ranks, and the file is written exactly once.
#[test]
fn collective_writes_exchange_missing_data_and_write_the_file_once() {
    let (ranks, share, iterations) = (12u32, 600u64, 2u32);
    let size = u64::from(ranks) * share;
    for (record, offset) in [
        (600, CheckpointOffset::ByRank),
        (50, CheckpointOffset::Strided),
        (7, CheckpointOffset::ByRank),
    ] {
        for aggregators in [1u32, 2, 3, 5, 12] {
            for buffer in [37u64, 600, 100_000] {
                let params = CheckpointParams {
                    iterations,
                    total: Bytes(size),
                    coordinated: false,
                    offset,
                    record: Some(Bytes(record)),
                    collective: Some(CollectiveIo {
                        aggregators,
                        buffer: Bytes(buffer),
                    }),
                    ..Default::default()
                };
                let checkpoint = Checkpoint::new(ranks, params).unwrap();
                let domain = size.div_ceil(aggregators.into());
                // The slow reference: the owner of every byte, and the rank that writes it.
                let owner = |byte: u64| match offset {
                    CheckpointOffset::Strided => (byte / record % u64::from(ranks)) as u32,
                    _ => (byte / share) as u32,
                };
                let writer = |byte: u64| (byte / domain * u64::from(ranks) / u64::from(aggregators)) as u32;
                let moved = (0..size).filter(|&byte| owner(byte) != writer(byte)).count() as u64;
                let (mut sent, mut received, mut written) = (0, 0, vec![0u32; size as usize]);
                let (mut writes, mut pairs) = (0, std::collections::BTreeMap::<(u32, u32), Vec<i64>>::new());
                for rank in 0..ranks {
                    for op in operations(&checkpoint, rank) {
                        match op.kind {
                            OpKind::Isend { to, bytes, .. } => {
                                sent += bytes;
                                pairs.entry((rank, to)).or_default().push(bytes as i64);
                            }
                            OpKind::Irecv {
                                from: Source::Rank(from),
                                bytes,
                                ..
                            } => {
                                received += bytes;
                                pairs.entry((from, rank)).or_default().push(-(bytes as i64));
                            }
                            OpKind::Write { file: 0, offset, bytes } => {
                                writes += 1;
                                assert!(bytes <= buffer && writer(offset) == rank);
                                (offset..offset + bytes).for_each(|byte| written[byte as usize] += 1);
                            }
                            _ => {}
                        }
                    }
                }
                let times = u64::from(iterations);
                assert_eq!(
                    (sent, received),
                    (times * moved, times * moved),
                    "{aggregators} {buffer}"
                );
                assert!(written.iter().all(|&times| times == 1), "{aggregators} {buffer}");
                // In every pair the sends match the receives, in order.
                for sizes in pairs.values() {
                    let sends = sizes.iter().filter(|&&size| size > 0).copied();
                    let receives = sizes.iter().filter(|&&size| size < 0).map(|size| -size);
                    assert!(sends.eq(receives));
                }
                let expected: u64 = (0..u64::from(aggregators))
                    .map(|number| (size.min((number + 1) * domain) - size.min(number * domain)).div_ceil(buffer))
                    .sum();
                assert_eq!(writes, expected);
            }
        }
    }
}

#[test]
fn collective_writes_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut CheckpointParams)| {
        let mut params = CheckpointParams {
            total: Bytes(4_000),
            collective: Some(CollectiveIo::default()),
            ..Default::default()
        };
        change(&mut params);
        Checkpoint::new(4, params).unwrap_err()
    };
    let settings = |aggregators, buffer| {
        Some(CollectiveIo {
            aggregators,
            buffer: Bytes(buffer),
        })
    };
    for (text, words) in [
        (
            refused(&|p| p.file = CheckpointFile::PerRank),
            "files of the ranks' own",
        ),
        (refused(&|p| p.offset = CheckpointOffset::Zero), "at one offset"),
        (refused(&|p| p.collective = settings(5, 1)), "5 aggregators of 4 ranks"),
        (refused(&|p| p.collective = settings(0, 1)), "0 aggregators of 4 ranks"),
        (
            refused(&|p| p.collective = settings(1, 0)),
            "buffer of an aggregator is 0 B",
        ),
        (
            refused(&|p| (p.offset, p.record) = (CheckpointOffset::Strided, Some(Bytes(300)))),
            "records that divide it",
        ),
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn cosmoflow_reads_ahead_by_default() {
    let params = CosmoFlowParams {
        iterations: 2,
        ..Default::default()
    };
    let ahead = CosmoFlow::new(4, params.clone()).unwrap();
    assert_eq!(
        listing(&ahead, 3),
        "open3000 iread3000 wait close3000 open3001 iread3001 compute allreduce mark0 \
         wait close3001 compute allreduce mark1"
    );
    let stored = CosmoFlow::new(
        4,
        CosmoFlowParams {
            pipelined: false,
            ..params
        },
    )
    .unwrap();
    assert_eq!(
        listing(&stored, 0),
        "open0 read0 close0 compute allreduce mark0 open1 read1 close1 compute allreduce mark1"
    );
}

#[test]
fn a_stencil_has_the_neighbours_of_its_layout() {
    let dims = Some(vec![4, 2]);
    let params = StencilParams {
        dims,
        iterations: 1,
        wrap: false,
        ..Default::default()
    };
    let mesh = Stencil::new(8, params.clone()).unwrap();
    assert_eq!(listing(&mesh, 0), "compute <1 <4 >1 >4 wait0+2 wait2+2 allreduce mark0");
    let torus = Stencil::new(
        8,
        StencilParams {
            wrap: true,
            allreduce: Bytes(0),
            ..params
        },
    )
    .unwrap();
    assert_eq!(
        listing(&torus, 0),
        "compute <3 <1 <4 <4 >3 >1 >4 >4 wait0+4 wait4+4 mark0"
    );
}

#[test]
fn impossible_parameters_are_errors() {
    assert!(
        Milc::new(
            300,
            MilcParams {
                dims: Some([3, 4, 5, 6]),
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(Milc::new(0, MilcParams::default()).is_err());
    assert!(
        Milc::new(
            300,
            MilcParams {
                iterations: u32::MAX,
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(
        Nekbone::new(
            300,
            NekboneParams {
                orders: vec![],
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(
        Nekbone::new(
            300,
            NekboneParams {
                orders: vec![u32::MAX],
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(
        Nekbone::new(
            300,
            NekboneParams {
                cg_iterations: u32::MAX,
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(Checkpoint::new(0, CheckpointParams::default()).is_err());
    assert!(
        Checkpoint::new(
            4,
            CheckpointParams {
                iterations: 0,
                ..Default::default()
            }
        )
        .is_err()
    );
    assert!(
        CosmoFlow::new(
            4,
            CosmoFlowParams {
                elements: u64::MAX,
                ..Default::default()
            }
        )
        .is_err()
    );
    let layout = |(dims, dimensions)| {
        Stencil::new(
            8,
            StencilParams {
                dims,
                dimensions,
                ..Default::default()
            },
        )
    };
    assert!(layout((None, 0)).is_err() && layout((None, 5)).is_err());
    assert!(layout((Some(vec![]), 3)).is_err() && layout((Some(vec![3, 3]), 3)).is_err());
}

#[test]
fn times_of_the_case_study_are_those_of_its_table() {
    assert_eq!(MilcParams::default().compute, Time::from_ps(25_000));
    assert_eq!(CheckpointParams::default().interval, Time::from_ns(100_000_000));
    assert_eq!(CosmoFlowParams::default().compute, Time::from_ns(129_000_000));
}
