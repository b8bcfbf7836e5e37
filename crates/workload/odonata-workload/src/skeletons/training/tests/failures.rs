//! Trainings that fail: the operations of restarts.

use super::*;
use crate::skeletons::barrier;
use odonata_units::Time;

fn failing(ranks: u32, after: &[u32], change: impl FnOnce(&mut TrainingParams)) -> Training {
    training(ranks, |params| {
        (params.iterations, params.checkpoint_interval) = (5, 2);
        params.failures = Some(Failures {
            after: after.to_vec(),
            restart: Time(7),
            ..Failures::default()
        });
        change(params);
    })
}

/// Operations of a rank by execution, without marks.
fn executions(training: &Training, rank: u32) -> Vec<Vec<OpKind>> {
    let kinds: Vec<OpKind> = operations(training, rank).map(|op| op.kind).collect();
    let executions = kinds.split(|kind| matches!(kind, OpKind::Mark { .. }));
    let mut executions: Vec<_> = executions.map(<[_]>::to_vec).collect();
    assert_eq!(executions.pop(), Some(Vec::new()));
    executions
}

fn is_file(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Open { .. } | OpKind::Read { .. } | OpKind::Write { .. } | OpKind::Close { .. }
    )
}

/// Iterations 0, 1, 2 and their repetition from 2 on are those of a training without failures, with a restart between.
#[test]
fn repeated_iterations_are_the_same_again() {
    let change = |params: &mut TrainingParams| (params.tensor, params.pipeline) = (2, 2);
    let (found, plain) = (
        failing(8, &[3], change),
        training(8, |params| {
            (params.iterations, params.checkpoint_interval) = (5, 2);
            change(params);
        }),
    );
    for rank in 0..8 {
        let (found, plain) = (executions(&found, rank), executions(&plain, rank));
        assert_eq!((found.len(), plain.len()), (6, 5));
        assert_eq!((&found[..3], &found[4..]), (&plain[..3], &plain[3..]));
        let restart = found[3].len() - plain[2].len();
        assert_eq!(found[3][restart..], plain[2][..]);
        let restart = &found[3][..restart];
        let barriers = restart.iter().filter(|&kind| *kind == barrier()).count();
        assert_eq!(barriers, 2);
        assert!(restart.contains(&OpKind::Compute { duration: Time(7) }));
    }
}

/// A rank reads the shared parameters of its stage and tensor rank and those of its experts, from the files of the last
/// checkpoint. A checkpoint at which a failure strikes is not written.
#[test]
fn a_restart_reads_the_files_of_the_last_checkpoint() {
    let found = failing(32, &[4], |params| {
        (params.tensor, params.pipeline, params.expert) = (2, 2, 2);
        (params.experts, params.active) = (8.into(), 2.into());
    });
    let bytes_of = |rank: u32, execution: usize, written: bool| {
        let files = executions(&found, rank)[execution].clone();
        let bytes = files.iter().filter_map(|kind| match *kind {
            OpKind::Write { file, bytes, .. } if written => Some((file, bytes)),
            OpKind::Read { file, bytes, .. } if !written => Some((file, bytes)),
            _ => None,
        });
        bytes.collect::<Vec<_>>()
    };
    let mut files = std::collections::BTreeMap::new();
    for rank in 0..32 {
        files.extend(bytes_of(rank, 1, true));
        assert!(bytes_of(rank, 3, true).is_empty(), "the checkpoint of the failure");
        assert_eq!(bytes_of(rank, 5, true).len(), bytes_of(rank, 1, true).len());
    }
    for rank in 0..32 {
        let (_, data, stage) = found.layout.place(rank);
        let (shared, own) = found.parameters(stage);
        let reads = bytes_of(rank, 4, false);
        assert_eq!(reads.len(), 1 + (data % 2) as usize);
        let total: u64 = reads.iter().map(|read| read.1).sum();
        assert_eq!(total, 14 * (shared + own), "rank {rank}");
        for (file, bytes) in reads {
            assert!(files[&file] >= bytes, "rank {rank} reads {bytes} of file {file}");
        }
    }
    // Before the first checkpoint there is nothing to read.
    let found = failing(4, &[1], |_| {});
    let files: Vec<_> = executions(&found, 0)[1].iter().copied().filter(is_file).collect();
    assert_eq!(files, []);
}

#[test]
fn failures_that_do_not_fit_are_refused() {
    let refused = |failures: Failures| {
        let mut params = params(|params| params.iterations = 5);
        params.failures = Some(failures);
        let problem = params.resolve("training", 2).unwrap_err();
        (problem.key, problem.problem)
    };
    let after = |after: &[u32]| Failures {
        after: after.to_vec(),
        ..Failures::default()
    };
    let mean = |mean: f64, after: &[u32]| Failures {
        mean: Some(mean),
        after: after.to_vec(),
        ..Failures::default()
    };
    for (failures, key, problem) in [
        (after(&[]), "failures", "no failure"),
        (after(&[3, 3]), "failures.after", "failures after [3, 3] iterations"),
        (after(&[0]), "failures.after", "failures after [0] iterations"),
        (after(&[6]), "failures.after", "a failure after 6 executed iterations"),
        (mean(5.0, &[1]), "failures.mean", "both after and mean"),
        (mean(0.0, &[]), "failures.mean", "a mean of 0 iterations"),
        (
            mean(0.01, &[]),
            "failures",
            "iteration 1 of 5 is not reached after 65536 failures",
        ),
    ] {
        assert_eq!(refused(failures), (format!("training.{key}"), problem.into()));
    }
}
