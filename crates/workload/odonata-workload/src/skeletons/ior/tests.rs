//! Offsets and order of IOR against a transcription of its own loops.

use super::*;
use crate::program::operations;
use crate::{Collective, Op, OpKind, Source};

fn program(line: &str, ranks: u32, tasks_per_node: u32) -> IorProgram {
    let mut ior = Ior(flags::parse(line).unwrap().params);
    ior.of_job(OfJob {
        ranks_per_node: tasks_per_node,
        seed: 5,
    });
    ior.resolve("ior", ranks)
        .unwrap_or_else(|problem| panic!("{problem:?}"));
    IorProgram::new(ranks, ior.0).unwrap()
}

fn refused(line: &str, ranks: u32) -> Problem {
    let mut ior = Ior(flags::parse(line).unwrap().params);
    ior.resolve("ior", ranks).unwrap_err()
}

/// (file, offset) of the writes or of the reads of a rank.
fn accesses(program: &IorProgram, rank: u32, write: bool) -> Vec<(u64, u64)> {
    let of = |op: Op| match op.kind {
        OpKind::Write { file, offset, .. } if write => Some((file, offset)),
        OpKind::Read { file, offset, .. } if !write => Some((file, offset)),
        _ => None,
    };
    operations(program, rank).filter_map(of).collect()
}

/// The loops of IOR's `GetOffsetArraySequential`.
fn by_iors_loops(program: &IorProgram, pretend_rank: u64) -> Vec<u64> {
    let p = &program.params;
    let (b, t) = (p.block_size.0, p.transfer_size.0);
    let mut offsets = Vec::new();
    for i in 0..u64::from(p.segment_count) {
        for j in 0..b / t {
            let own = i * b;
            let shared = i * u64::from(program.ranks) * b + pretend_rank * b;
            offsets.push(j * t + if p.file_per_proc { own } else { shared });
        }
    }
    offsets
}

#[test]
fn offsets_are_those_of_iors_loops() {
    for (line, ranks) in [
        ("-w -r -t 1k -b 4k -s 3", 5),
        ("-w -r -t 1k -b 1k -s 4", 3),
        ("-w -r -t 2k -b 8k -F", 4),
        ("-w -r -t 2k -b 8k -s 2 -F", 1),
    ] {
        let program = program(line, ranks, 1);
        for rank in 0..ranks {
            let file = if program.params.file_per_proc {
                u64::from(rank)
            } else {
                0
            };
            let expected: Vec<(u64, u64)> = by_iors_loops(&program, rank.into())
                .into_iter()
                .map(|at| (file, at))
                .collect();
            assert_eq!(accesses(&program, rank, true), expected, "{line}, rank {rank}");
            assert_eq!(accesses(&program, rank, false), expected, "{line}, rank {rank}");
        }
    }
}

/// Rank r reads the data of rank (r + Q tasks per node) mod N.
#[test]
fn reordered_tasks_read_data_of_other_nodes() {
    let constant = program("-w -r -t 1k -b 2k -C -Q 2", 8, 2);
    for rank in 0..8 {
        let expected: Vec<(u64, u64)> = by_iors_loops(&constant, u64::from((rank + 4) % 8))
            .into_iter()
            .map(|at| (0, at))
            .collect();
        assert_eq!(accesses(&constant, rank, false), expected);
    }
    let of_own = program("-w -r -F -t 1k -b 2k -C", 8, 2);
    assert_eq!(accesses(&of_own, 7, false), [(1, 0), (1, 1024)]);
    assert_eq!(accesses(&of_own, 7, true), [(7, 0), (7, 1024)]);
    // Random: at least one node away, not all equal, reproducible.
    let random = program("-w -r -F -t 1k -b 1k -Z -X 3", 16, 2);
    let files: Vec<u64> = (0..16).map(|rank| accesses(&random, rank, false)[0].0).collect();
    let away = files.iter().zip(0u64..).map(|(file, rank)| (file + 16 - rank) % 16);
    assert!(away.clone().all(|away| away >= 2), "{files:?}");
    assert!(away.collect::<std::collections::BTreeSet<_>>().len() > 3, "{files:?}");
    let fixed = program("-w -r -F -t 1k -b 1k -Z -X 3 -i 2", 16, 2);
    let changing = program("-w -r -F -t 1k -b 1k -Z -X -3 -i 2", 16, 2);
    let differ = |program: &IorProgram| {
        (0..16).any(|rank| {
            let found = accesses(program, rank, false);
            found[0] != found[1]
        })
    };
    assert!(!differ(&fixed) && differ(&changing));
}

#[test]
fn random_offsets_are_all_offsets_once() {
    for line in ["-w -r -z -t 1k -b 4k -s 3", "-w -r -z -t 1k -b 4k -s 3 -F"] {
        let program = program(line, 5, 1);
        let mut found: Vec<(u64, u64)> = (0..5).flat_map(|rank| accesses(&program, rank, true)).collect();
        let order = found.clone();
        found.sort_unstable();
        assert_ne!(found, order);
        let mut expected: Vec<(u64, u64)> = (0..5)
            .flat_map(|rank| {
                let file = if program.params.file_per_proc { rank } else { 0 };
                by_iors_loops(&program, rank).into_iter().map(move |at| (file, at))
            })
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert_ne!(accesses(&program, 0, true), accesses(&program, 0, false));
    }
}

/// Open, transfers, fsync and close are between the clock readings as in IOR's `TestIoSys`.
#[test]
fn a_repetition_has_iors_order() {
    let program = program("-w -r -e -g -d 1 -t 1k -b 2k -Y", 1, 1);
    let words: Vec<String> = operations(&program, 0)
        .map(|op| match op.kind {
            OpKind::Compute { .. } => "pause".into(),
            OpKind::Collective(Collective::Barrier { .. }) => "barrier".into(),
            OpKind::Report { report, value, .. } => format!("[{report}:{value}]"),
            OpKind::Open { .. } => "open".into(),
            OpKind::Close { .. } => "close".into(),
            OpKind::Metadata { call, .. } => call.name().into(),
            OpKind::Write { .. } => "write".into(),
            OpKind::Read { .. } => "read".into(),
            OpKind::Mark { iteration } => format!("mark {iteration}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let write = "pause barrier [0:0] open [1:0] barrier [2:0] write sync write sync sync [3:2048] barrier [4:0] close \
                 [5:0] barrier";
    let read = "pause barrier [6:0] open [7:0] barrier [8:0] read read [9:2048] barrier [10:0] close [11:0] barrier";
    assert_eq!(
        words.join(" "),
        format!("{write} {read} [12:0] unlink barrier [17:0] mark 0")
    );
}

/// (repetition, file) of a rank's removals, and whether they precede its write.
fn removals(program: &IorProgram, rank: u32) -> Vec<(u32, u64, bool)> {
    let (mut repetition, mut before, mut found) = (0, true, Vec::new());
    for op in operations(program, rank) {
        match op.kind {
            OpKind::Metadata {
                call: crate::FileCall::Unlink,
                file,
                ..
            } => found.push((repetition, file, before)),
            OpKind::Write { .. } | OpKind::Read { .. } => before = false,
            OpKind::Mark { iteration } => (repetition, before) = (iteration + 1, true),
            _ => {}
        }
    }
    found
}

/// `RemoveFile` of IOR: after each repetition, or before the next one writes the same files.
#[test]
fn files_are_removed_where_ior_removes_them() {
    let of = |line: &str, rank| removals(&program(line, 4, 1), rank);
    // A shared file is removed by the first task, per-task files by their tasks.
    assert_eq!(of("-w -i 2 -t 1k -b 1k", 0), [(0, 0, false), (1, 0, false)]);
    assert_eq!(of("-w -i 2 -t 1k -b 1k", 1), []);
    assert_eq!(of("-w -i 2 -m -F -t 1k -b 1k", 3), [(0, 3, false), (1, 7, false)]);
    // The last file that the task has opened, except for random tasks.
    assert_eq!(of("-w -r -F -C -t 1k -b 1k", 3), [(0, 0, false)]);
    assert_eq!(of("-w -r -F -Z -t 1k -b 1k", 3), [(0, 3, false)]);
    // Kept files are removed before they are written again, unless they are overwritten or repetitions have separate
    // files.
    assert_eq!(of("-w -k -i 3 -F -t 1k -b 1k", 2), [(1, 2, true), (2, 2, true)]);
    for line in [
        "-w -k -E -i 3 -t 1k -b 1k",
        "-w -k -m -i 3 -t 1k -b 1k",
        "-r -k -i 3 -t 1k -b 1k",
    ] {
        assert_eq!(of(line, 0), [], "{line}");
    }
}

/// In a collective transfer every byte of each rank goes to an aggregator, is written once, and is returned by a read.
#[test]
fn collective_transfers_move_every_byte_once() {
    for (line, ranks, nodes) in [
        ("-w -r -a MPIIO -c -t 3k -b 3k -s 2", 5u32, 2),
        ("-w -r -a MPIIO -c -t 1k -b 4k -s 2", 6, 3),
        ("-w -r -a MPIIO -c -t 1k -b 1k -C", 4, 1),
        ("-w -r -a MPIIO -c -t 1k -b 1k", 1, 1),
    ] {
        let mut program = program(line, ranks, ranks.div_ceil(nodes));
        program.params.cb_buffer_size = Bytes(700);
        let size = program.params.block_size.0 * u64::from(program.params.segment_count * ranks);
        for write in [true, false] {
            let mut covered = vec![0u8; size as usize];
            let mut accessors = std::collections::BTreeSet::new();
            for rank in 0..ranks {
                for op in operations(&program, rank) {
                    let (offset, bytes) = match op.kind {
                        OpKind::Write { offset, bytes, .. } if write => (offset, bytes),
                        OpKind::Read { offset, bytes, .. } if !write => (offset, bytes),
                        _ => continue,
                    };
                    accessors.insert(rank);
                    (offset..offset + bytes).for_each(|at| covered[at as usize] += 1);
                }
            }
            assert!(covered.iter().all(|&times| times == 1), "{line}");
            assert_eq!(accessors.len(), *program.params.cb_nodes as usize, "{line}");
        }
        let mut sent = Vec::new();
        let mut received = Vec::new();
        for rank in 0..ranks {
            for op in operations(&program, rank) {
                match op.kind {
                    OpKind::Isend { to, bytes, .. } => sent.push((rank, to, bytes)),
                    OpKind::Irecv {
                        from: Source::Rank(from),
                        bytes,
                        ..
                    } => received.push((from, rank, bytes)),
                    _ => {}
                }
            }
        }
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent, received, "{line}");
    }
}

#[test]
fn parameters_that_do_not_fit_are_named() {
    for (line, key) in [
        ("-t 3k -b 4k", "ior.blockSize"),
        ("-t 0", "ior.transferSize"),
        ("-b 0", "ior.blockSize"),
        ("-s 0", "ior.segmentCount"),
        ("-i 0", "ior.repetitions"),
        ("-C -Z", "ior.reorderTasksRandom"),
        ("-z -C", "ior.randomOffset"),
        ("-c", "ior.collective"),
        ("-a MPIIO -c -z", "ior.collective"),
        ("-a MPIIO -c -D 3", "ior.collective"),
        ("-N 3", "ior.numTasks"),
        ("-b 1t -t 1t -s 4000000000", "ior.blockSize"),
    ] {
        assert_eq!(refused(line, 4).key, key, "{line}");
    }
    let mut ior = Ior::default();
    ior.0.cb_nodes = Filled::new(9);
    assert_eq!(ior.resolve("ior", 4).unwrap_err().key, "ior.cbNodes");
    let mut many = Ior(flags::parse("-t 1 -b 1t").unwrap().params);
    many.resolve("ior", 4).unwrap();
    assert!(
        many.program(4)
            .unwrap_err()
            .contains("a rank can have 2^32 - 2 operations at most")
    );
}

#[test]
fn without_any_access_it_writes_and_reads() {
    let both = program("", 2, 1);
    assert!(*both.params.write_file && *both.params.read_file);
    let write = program("-w", 2, 1);
    assert!(*write.params.write_file && !*write.params.read_file);
    // A check reads, and is not reported.
    let check = program("-w -W -t 1k -b 1k", 2, 1);
    assert_eq!(accesses(&check, 0, false).len(), 1);
    let reports = operations(&check, 0)
        .filter(|op| matches!(op.kind, OpKind::Report { .. }))
        .count();
    // Six of the write, two of the removal.
    assert_eq!(reports, 6 + 2);
}
