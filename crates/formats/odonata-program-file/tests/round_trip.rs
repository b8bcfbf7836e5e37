//! Programs that are written and read back stay the same.

mod random_program;

use std::path::PathBuf;

use odonata_program_file::{Options, ProgramFile, kind_names, to_row, write};
use odonata_units::Time;
use odonata_workload::skeletons::{Milc, MilcParams};
use odonata_workload::{Comm, Counts, Cursor, Op, OpKind, Phases, Program, operations};
use random_program::{Folder, RandomProgram};

fn save(program: &dyn Program, folder: &Folder) -> PathBuf {
    let target = folder.0.join("x.program");
    write(program, &target, &Options::default(), &mut |_, _| true).unwrap();
    target
}

/// Asserts equal operations, communicator members and sizes for every rank.
fn assert_same(one: &dyn Program, other: &dyn Program) {
    assert_eq!(one.ranks(), other.ranks());
    for rank in 0..one.ranks() {
        let mut theirs = operations(other, rank);
        for op in operations(one, rank) {
            assert_eq!(Some(op), theirs.next(), "rank {rank}");
            let (_, numbers) = to_row(&op.kind);
            for comm in [3, 8].into_iter().filter_map(|field: usize| numbers[field]) {
                let comm = Comm(comm as u32);
                let members = |program: &dyn Program| {
                    let group = program.group(rank, comm)?;
                    Some((0..group.len()).map(|member| group.rank(member)).collect::<Vec<_>>())
                };
                assert_eq!(members(one), members(other), "rank {rank}, {comm:?}");
            }
            if let (Some(counts), OpKind::Collective(call)) = (numbers[7], op.kind) {
                let group = one.group(rank, call.comm()).unwrap();
                let me = group.member(rank).unwrap();
                let counts = Counts(counts as u32);
                for peer in 0..group.len() {
                    let pairs = match call {
                        odonata_workload::Collective::Alltoallv { .. } => vec![(me, peer), (peer, me)],
                        odonata_workload::Collective::Gatherv { root, .. } if me == root => vec![(peer, root)],
                        odonata_workload::Collective::Gatherv { root, .. } => vec![(me, root)],
                        odonata_workload::Collective::Scatterv { root, .. } if me == root => vec![(root, peer)],
                        odonata_workload::Collective::Scatterv { root, .. } => vec![(root, me)],
                        _ => vec![(peer, peer)],
                    };
                    for (from, to) in pairs {
                        assert_eq!(
                            one.bytes(rank, counts, from, to),
                            other.bytes(rank, counts, from, to),
                            "{op:?}"
                        );
                    }
                }
            }
        }
        assert_eq!(theirs.next(), None, "rank {rank}");
    }
}

#[test]
fn random_programs_of_every_kind_come_back_as_they_were() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..12 {
        let program = RandomProgram::new(seed, 1 + (seed as u32 * 5) % 23, 40 << (seed % 5));
        let folder = Folder::new("round-trip");
        let read = ProgramFile::open(&save(&program, &folder), 1.0).unwrap();
        assert_same(&program, &read);
        kinds.extend(read.contents().kinds.keys().copied());
        let total: u64 = (0..program.ranks())
            .map(|rank| operations(&program, rank).count() as u64)
            .sum();
        assert_eq!(read.contents().operations, total);
        // And once more from the copy.
        let again = Folder::new("round-trip");
        assert_same(&read, &ProgramFile::open(&save(&read, &again), 1.0).unwrap());
    }
    assert_eq!(kinds, kind_names().collect());
}

#[test]
fn a_cursor_from_before_gives_the_same_operations_again() {
    let program = RandomProgram::new(7, 5, 9_000);
    let folder = Folder::new("rollback");
    let read = ProgramFile::open(&save(&program, &folder), 1.0).unwrap();
    // Back and forth over many parts: operation n does not depend on earlier accesses.
    let expected: Vec<Op> = operations(&program, 4).collect();
    let mut at = 17usize;
    for step in 0..400usize {
        at = (at * 31 + step * 1_009) % expected.len();
        let mut cursor = Cursor {
            op: at as u32,
            ..Cursor::default()
        };
        assert_eq!(read.next(4, &mut cursor), Some(expected[at]));
    }
}

#[test]
fn many_ranks_with_few_operations_share_row_groups() {
    let milc = Milc::new(
        600,
        MilcParams {
            iterations: 2,
            ..MilcParams::default()
        },
    )
    .unwrap();
    let folder = Folder::new("milc");
    assert_same(&milc, &ProgramFile::open(&save(&milc, &folder), 1.0).unwrap());
}

#[test]
fn times_of_computation_are_multiplied_and_nothing_else() {
    let program = RandomProgram::new(3, 4, 300);
    let folder = Folder::new("scaled");
    let read = ProgramFile::open(&save(&program, &folder), 2.5).unwrap();
    for (one, other) in operations(&program, 2).zip(operations(&read, 2)) {
        match (one.kind, other.kind) {
            (OpKind::Compute { duration: Time(one) }, OpKind::Compute { duration: Time(other) }) => {
                assert_eq!(other, (one as f64 * 2.5).round() as u64);
            }
            _ => assert_eq!(one, other),
        }
    }
}

#[test]
fn large_numbers_of_phases_are_replaced_by_others_that_fit() {
    let phases = |seed| -> std::sync::Arc<dyn Program> { std::sync::Arc::new(RandomProgram::new(seed, 6, 200)) };
    let both = Phases::new(vec![phases(1), phases(2)], 2).unwrap();
    let folder = Folder::new("phases");
    let read = ProgramFile::open(&save(&both, &folder), 1.0).unwrap();
    let mut names = std::collections::HashMap::new();
    for rank in 0..6 {
        for (one, other) in operations(&both, rank).zip(operations(&read, rank)) {
            let ((kind, mut numbers), (same, theirs)) = (to_row(&one.kind), to_row(&other.kind));
            // Each communicator and list has one new name.
            for field in [3usize, 7, 8] {
                if let (Some(old), Some(new)) = (numbers[field], theirs[field]) {
                    let rank = if field == 7 { rank } else { 0 };
                    let comm = if field == 8 { 3 } else { field };
                    let key = (comm, rank, old, (field == 7).then_some((kind, numbers[6])));
                    assert_eq!(*names.entry(key).or_insert(new), new);
                }
                numbers[field] = theirs[field];
            }
            assert_eq!(
                (one.id, one.after, kind, numbers),
                (other.id, other.after, same, theirs)
            );
        }
        assert_eq!(operations(&both, rank).count(), operations(&read, rank).count());
    }
}

#[test]
fn an_interrupted_write_leaves_nothing_and_replaces_nothing() {
    let program = RandomProgram::new(1, 3, 50);
    let folder = Folder::new("atomic");
    let target = folder.0.join("x.program");
    let stopped = write(&program, &target, &Options::default(), &mut |rank, _| rank < 2);
    assert!(stopped.unwrap_err().problem.contains("stopped"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);

    save(&program, &folder);
    let other = RandomProgram::new(2, 4, 50);
    let refused = write(&other, &target, &Options::default(), &mut |_, _| true);
    assert!(refused.unwrap_err().problem.contains("File exists"));
    assert_eq!(ProgramFile::open(&target, 1.0).unwrap().ranks(), 3);
    // In an existing folder, the caller removes the rest, which cannot be opened as a program.
    let made = folder.0.join("made");
    std::fs::create_dir(&made).unwrap();
    let stopped = write(&program, &made, &Options::default(), &mut |rank, _| rank < 2);
    assert!(stopped.is_err() && made.is_dir() && ProgramFile::open(&made, 1.0).is_err());
}
