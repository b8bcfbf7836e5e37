use odonata_units::{Bytes, Filled};

use super::*;
use crate::operations;
use crate::skeletons::Parameters;

fn params(change: impl FnOnce(&mut TrainingParams)) -> TrainingParams {
    let mut params = TrainingParams {
        layers: 8.into(),
        hidden: 256.into(),
        sequence: 128.into(),
        vocabulary: 1_000.into(),
        micro_batches: 4,
        micro_batch: 3,
        ..TrainingParams::default()
    };
    change(&mut params);
    params
}

fn training(ranks: u32, change: impl FnOnce(&mut TrainingParams)) -> Training {
    let mut params = params(change);
    params
        .resolve("training", ranks)
        .unwrap_or_else(|problem| panic!("{problem:?}"));
    Training::new(ranks, &params).unwrap()
}

/// Calls and bytes of the collectives of a rank in `comm`.
fn calls(training: &Training, rank: u32, comm: Comm) -> Vec<u64> {
    operations(training, rank)
        .filter_map(|op| match op.kind {
            OpKind::Collective(collective) if collective.comm() == comm => match collective {
                Collective::Allreduce { bytes, .. }
                | Collective::Alltoall { bytes, .. }
                | Collective::Allgather { bytes, .. }
                | Collective::ReduceScatterBlock { bytes, .. } => Some(bytes),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// 4 M L / P all-reduces of b s h w in the tensor group.
#[test]
fn tensor_parallel_bytes_are_the_closed_form() {
    let training = training(8, |params| (params.tensor, params.pipeline) = (2, 2));
    for rank in 0..8 {
        let found = calls(&training, rank, TENSOR);
        assert_eq!(found.len(), 4 * 4 * 8 / 2);
        assert!(found.iter().all(|&bytes| bytes == 3 * 128 * 256 * 2));
    }
}

/// M messages of b s h w / T each way at every stage boundary.
#[test]
fn pipeline_bytes_are_the_closed_form() {
    for schedule in [Schedule::GPipe, Schedule::OneForwardOneBackward] {
        let training = training(8, |params| {
            (params.tensor, params.pipeline, params.schedule) = (2, 4, schedule);
        });
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for rank in 0..8 {
            for op in operations(&training, rank) {
                match op.kind {
                    OpKind::Send { to, tag, bytes, .. } => sent.push((rank, to, tag, bytes)),
                    OpKind::Recv {
                        from: Source::Rank(from),
                        tag: Tag::Is(tag),
                        bytes,
                        ..
                    } => received.push((from, rank, tag, bytes)),
                    OpKind::Sendrecv {
                        to,
                        send_tag,
                        send_bytes,
                        from: Source::Rank(from),
                        recv_tag: Tag::Is(tag),
                        recv_bytes,
                        ..
                    } => {
                        sent.push((rank, to, send_tag, send_bytes));
                        received.push((from, rank, tag, recv_bytes));
                    }
                    _ => {}
                }
            }
        }
        // Three boundaries, two tensor ranks, four micro-batches, two directions.
        assert_eq!(sent.len(), 3 * 2 * 4 * 2);
        assert!(
            sent.iter()
                .all(|&(from, to, _, bytes)| from.abs_diff(to) == 2 && bytes == 3 * 128 * 256 * 2 / 2)
        );
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent, received);
    }
}

/// w times the parameters of the rank: 12 h² of each layer of a plain transformer, and V h at both ends, over T.
#[test]
fn gradients_are_the_parameters_of_the_rank() {
    let layers = 4 * 12 * 256 * 256;
    for gradients in [Gradients::AllReduce, Gradients::Sharded] {
        let training = training(8, |params| {
            (params.tensor, params.pipeline, params.gradients) = (2, 2, gradients);
        });
        for rank in 0..8 {
            let bytes = (layers + 1_000 * 256) / 2 * 2;
            let expected = match gradients {
                Gradients::AllReduce => vec![bytes],
                Gradients::Sharded => vec![bytes / 2; 2],
            };
            assert_eq!(calls(&training, rank, DATA), expected);
        }
    }
}

/// 4 M L / P all-to-alls, each of e b s h w / (T X) to each of X ranks; gradients of experts among ranks with the same
/// experts.
#[test]
fn expert_parallel_bytes_are_the_closed_form() {
    let training = training(16, |params| {
        (params.tensor, params.pipeline, params.expert) = (2, 2, 2);
        (params.experts, params.active) = (8.into(), 2.into());
    });
    for rank in 0..16 {
        let found = calls(&training, rank, EXPERT);
        assert_eq!(found.len(), 4 * 4 * 8 / 2);
        assert!(found.iter().all(|&bytes| bytes == 2 * 3 * 128 * 256 * 2 / (2 * 2)));
        // Four layers of 4 experts of 8 h² parameters each, over two tensor ranks.
        assert_eq!(calls(&training, rank, SAME_EXPERTS), [4 * 4 * 8 * 256 * 256 / 2 * 2]);
        assert_eq!(
            calls(&training, rank, DATA),
            [(4 * 4 * 256 * 256 + 1_000 * 256) / 2 * 2]
        );
    }
}

/// Three times the operations of a forward pass, four times with recomputation, over all ranks, at the rate of each.
#[test]
fn computation_is_the_operations_over_the_rate() {
    for (recompute, times) in [(false, 3.0), (true, 4.0)] {
        let training = training(8, |params| {
            (params.tensor, params.pipeline, params.recompute) = (2, 2, recompute);
        });
        let computed: u64 = (0..8)
            .flat_map(|rank| operations(&training, rank).collect::<Vec<_>>())
            .map(|op| match op.kind {
                OpKind::Compute { duration } => duration.0,
                _ => 0,
            })
            .sum();
        let sizes = training.sizes;
        // Two data-parallel ranks with four micro-batches of three sequences each; the output is not recomputed.
        let output = sizes.output_operations(128.0);
        let layers = sizes.operations() - output;
        let operations = 2.0 * 4.0 * 3.0 * (times * layers + 3.0 * output);
        let expected = operations / 400e12 * 1e12;
        assert!((computed as f64 / expected - 1.0).abs() < 1e-3, "{computed} {expected}");
    }
}

/// Every operation of a straggler takes its slowdown; those of the others stay.
#[test]
fn a_straggler_computes_longer_by_its_slowdown() {
    let computed = |training: &Training, rank| -> Vec<u64> {
        operations(training, rank)
            .filter_map(|op| match op.kind {
                OpKind::Compute { duration } => Some(duration.0),
                _ => None,
            })
            .collect()
    };
    let (even, slow) = (
        training(4, |_| {}),
        training(4, |params| {
            params.straggler = Some(Straggler { rank: 2, slowdown: 1.5 })
        }),
    );
    for rank in 0..4 {
        let expected = computed(&even, rank)
            .into_iter()
            .map(|time| if rank == 2 { (time as f64 * 1.5) as u64 } else { time });
        for (expected, found) in expected.zip(computed(&slow, rank)) {
            assert!(
                expected.abs_diff(found) <= 1,
                "rank {rank}: {found} ps, not {expected} ps"
            );
        }
    }
}

/// With overlap, each layer's gradients are a collective of their own in the last backward pass, and all gradients have
/// the bytes that they have without.
#[test]
fn overlapped_gradients_have_the_bytes_of_the_others() {
    for gradients in [Gradients::AllReduce, Gradients::Sharded] {
        let with = |overlap| {
            training(8, |params| {
                (params.tensor, params.pipeline, params.expert) = (2, 1, 2);
                (params.experts, params.active, params.dense_layers) = (4.into(), 2.into(), 1.into());
                (params.gradients, params.overlap_gradients) = (gradients, overlap);
            })
        };
        let sums = |training: &Training| {
            let (mut reduced, mut gathered, mut begun) = (0, 0, 0);
            for op in operations(training, 3) {
                let collective = match op.kind {
                    OpKind::Collective(collective) => collective,
                    OpKind::Icollective { collective, .. } => {
                        begun += 1;
                        collective
                    }
                    _ => continue,
                };
                if ![DATA, SAME_EXPERTS].contains(&collective.comm()) {
                    continue;
                }
                match collective {
                    Collective::Allreduce { bytes, .. } | Collective::ReduceScatterBlock { bytes, .. } => {
                        reduced += bytes
                    }
                    Collective::Allgather { bytes, .. } => gathered += bytes,
                    _ => {}
                }
            }
            (reduced, gathered, begun)
        };
        let ((reduced, gathered, begun), plain) = (sums(&with(true)), sums(&with(false)));
        assert_eq!((reduced, gathered), (plain.0, plain.1));
        // Eight layers, of which seven have experts.
        assert_eq!((begun, plain.2), (8 + 7, 0));
    }
}

/// A stage with several groups of layers sends each micro-batch as often each way; at the ends of the pipeline one fewer. Its
/// gradients are those of all its layers.
#[test]
fn interleaved_stages_have_the_bytes_of_the_closed_form() {
    let (stages, groups, batches) = (4, 2, 8);
    let training = training(2 * stages, |params| {
        (params.tensor, params.pipeline, params.interleave, params.micro_batches) = (2, stages, groups, batches);
    });
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for rank in 0..2 * stages {
        for op in operations(&training, rank) {
            match op.kind {
                OpKind::Isend { to, tag, bytes, .. } => sent.push((rank, to, tag, bytes)),
                OpKind::Recv {
                    from: Source::Rank(from),
                    tag: Tag::Is(tag),
                    bytes,
                    ..
                } => received.push((from, rank, tag, bytes)),
                OpKind::Send { .. } | OpKind::Sendrecv { .. } => panic!("a send that waits"),
                _ => {}
            }
        }
        assert_eq!(calls(&training, rank, TENSOR).len() as u32, 4 * batches * 8 / stages);
    }
    // Boundaries of virtual stages, tensor ranks, micro-batches, directions.
    assert_eq!(sent.len() as u32, (stages * groups - 1) * 2 * batches * 2);
    sent.sort_unstable();
    received.sort_unstable();
    assert_eq!(sent, received);
    assert_eq!([0, 4, 7].map(|stage| training.layers(stage)), [0..1, 4..5, 7..8]);
    let plain = 12 * 256 * 256;
    assert_eq!(training.parameters(1), (2 * plain / 2, 0));
    assert_eq!(training.parameters(0), ((2 * plain + 1_000 * 256) / 2, 0));
}

/// The first L mod P stages have a layer more; dense layers have one MLP and no all-to-alls.
#[test]
fn stages_share_layers_that_they_do_not_divide() {
    let training = training(3, |params| {
        (params.pipeline, params.micro_batches) = (3, 1);
        (params.experts, params.dense_layers, params.dense_inner) = (4.into(), 3.into(), 512.into());
    });
    assert_eq!([0, 1, 2].map(|stage| training.layers(stage)), [0..3, 3..6, 6..8]);
    let (attention, embedding) = (4 * 256 * 256, 1_000 * 256);
    assert_eq!(training.parameters(0), (3 * (attention + 2 * 256 * 512) + embedding, 0));
    assert_eq!(training.parameters(1), (3 * attention, 3 * 4 * 8 * 256 * 256));
    assert_eq!(
        training.parameters(2),
        (2 * attention + embedding, 2 * 4 * 8 * 256 * 256)
    );
}

/// Each data rank reads its samples once; each rank of the first data rank writes 14 B per parameter.
#[test]
fn samples_and_checkpoints_have_their_bytes() {
    let training = training(8, |params| {
        (params.tensor, params.pipeline, params.iterations) = (2, 2, 5);
        (params.sample, params.checkpoint_interval) = (Bytes(1_000), 2);
    });
    let (mut read, mut written) = ([0; 8], [0; 8]);
    for rank in 0..8 {
        let mut open = Vec::new();
        for op in operations(&training, rank) {
            match op.kind {
                OpKind::Open { file } => open.push(file),
                OpKind::Close { file } => assert_eq!(
                    open.iter().position(|&other| other == file).map(|at| open.remove(at)),
                    Some(file)
                ),
                OpKind::Read { bytes, file, .. } => {
                    assert!(open.contains(&file));
                    read[rank as usize] += bytes;
                }
                OpKind::Write { bytes, file, .. } => {
                    assert!(open.contains(&file));
                    written[rank as usize] += bytes;
                }
                _ => {}
            }
        }
        assert!(open.is_empty());
    }
    assert_eq!(read, [60_000, 0, 60_000, 0, 0, 0, 0, 0]);
    let each = 2 * 14 * (4 * 12 * 256 * 256 + 256_000) / 2;
    assert_eq!(written, [each, each, 0, 0, each, each, 0, 0]);
}

#[test]
fn values_that_do_not_fit_are_refused_by_key() {
    let refused =
        |ranks, change: &dyn Fn(&mut TrainingParams)| params(change).resolve("training", ranks).unwrap_err().key;
    assert_eq!(refused(8, &|params| params.layers = Filled::EMPTY), "training");
    assert_eq!(refused(8, &|params| params.tensor = 3), "training.tensor");
    assert_eq!(
        refused(12, &|params| (params.tensor, params.pipeline) = (3, 5)),
        "training.pipeline"
    );
    assert_eq!(refused(8, &|params| params.data = 2.into()), "training.data");
    assert_eq!(
        refused(8, &|params| (params.pipeline, params.layers) = (8, 4.into())),
        "training.pipeline"
    );
    assert_eq!(
        refused(8, &|params| params.dense_layers = 9.into()),
        "training.dense_layers"
    );
    assert_eq!(
        refused(8, &|params| params.peak_flops = f64::NAN),
        "training.peak_flops"
    );
    let straggler = |rank, slowdown| refused(8, &move |params| params.straggler = Some(Straggler { rank, slowdown }));
    assert_eq!(straggler(8, 2.0), "training.straggler.rank");
    assert_eq!(straggler(7, 0.5), "training.straggler.slowdown");
    assert_eq!(refused(8, &|params| params.expert = 2), "training.expert");
    assert_eq!(refused(8, &|params| params.flops = 0.0), "training.flops");
    assert_eq!(refused(8, &|params| params.kv_heads = 99.into()), "training.kv_heads");
    // The model's 8 kv_heads are given: the heads are too few.
    let of_model = |change: &dyn Fn(&mut TrainingParams)| {
        let mut params = TrainingParams {
            model: Some(Model::Llama8),
            ..TrainingParams::default()
        };
        change(&mut params);
        params.resolve("training", 8).unwrap_err()
    };
    let few = of_model(&|params| params.heads = 7.into());
    assert_eq!(
        (few.key.as_str(), few.problem.as_str()),
        ("training.heads", "7 heads for the 8 kv_heads of the model")
    );
    let both = of_model(&|params| (params.heads, params.kv_heads) = (7.into(), 8.into()));
    assert_eq!(both.key, "training.kv_heads");
    assert_eq!(refused(8, &|params| params.active = 2.into()), "training.active");
    assert_eq!(refused(8, &|params| params.micro_batches = 0), "training.micro_batches");
    assert_eq!(refused(8, &|params| params.matrices = 1.into()), "training.matrices");
}

/// End of all ranks in picoseconds with zero-time messages, where a send ends no earlier than the start of its receive,
/// as for the largest messages. `None`: deadlock.
fn ends_by_rendezvous(training: &Training) -> Option<u64> {
    let mut ranks: Vec<_> = (0..training.ranks())
        .map(|rank| (operations(training, rank).collect::<Vec<_>>(), 0, 0))
        .collect();
    // Arrival of each side at a message: sender, receiver, tag.
    let mut posted = std::collections::BTreeMap::new();
    loop {
        let mut moved = false;
        for (rank, (ops, at, now)) in (0..).zip(&mut ranks) {
            while let Some(op) = ops.get(*at) {
                let (sent, received) = match op.kind {
                    OpKind::Compute { duration } => {
                        (*at, *now, moved) = (*at + 1, *now + duration.0, true);
                        continue;
                    }
                    OpKind::Isend { to, tag, .. } => {
                        let sides: &mut [Option<u64>; 2] = posted.entry((rank, to, tag)).or_default();
                        (sides[0], *at, moved) = (Some(*now), *at + 1, true);
                        continue;
                    }
                    OpKind::Send { to, tag, .. } => (Some((rank, to, tag)), None),
                    OpKind::Recv {
                        from: Source::Rank(from),
                        tag: Tag::Is(tag),
                        ..
                    } => (None, Some((from, rank, tag))),
                    OpKind::Sendrecv {
                        to,
                        send_tag,
                        from: Source::Rank(from),
                        recv_tag: Tag::Is(tag),
                        ..
                    } => (Some((rank, to, send_tag)), Some((from, rank, tag))),
                    _ => {
                        (*at, moved) = (*at + 1, true);
                        continue;
                    }
                };
                let mut end = Some(*now);
                for (message, side) in [(sent, 0), (received, 1)] {
                    let Some(message) = message else { continue };
                    let sides: &mut [Option<u64>; 2] = posted.entry(message).or_default();
                    if sides[side].is_none() {
                        (sides[side], moved) = (Some(*now), true);
                    }
                    end = end.zip(sides[1 - side]).map(|(end, other)| end.max(other));
                }
                let Some(end) = end else { break };
                (*at, *now, moved) = (*at + 1, end, true);
            }
        }
        if ranks.iter().all(|(ops, at, _)| *at == ops.len()) {
            return ranks.iter().map(|&(_, _, now)| now).max();
        }
        if !moved {
            return None;
        }
    }
}

/// For any pipeline depth and number of micro-batches, stages do not deadlock, and all end after (m + p - 1) (t_f +
/// t_b), which is three times a forward pass of L / p layers.
#[test]
fn pipelines_of_long_messages_take_the_closed_form() {
    for schedule in [Schedule::OneForwardOneBackward, Schedule::GPipe] {
        for stages in [1, 2, 4, 8] {
            for micro_batches in 1..10 {
                let training = training(stages, |params| {
                    (params.pipeline, params.micro_batches, params.schedule) = (stages, micro_batches, schedule);
                    params.vocabulary = 1.into();
                });
                let found = ends_by_rendezvous(&training);
                let layer = training.times[0].0 + training.times[1].0;
                let pass = u64::from(8 / stages) * layer;
                let expected = (u64::from(micro_batches + stages) - 1) * 3 * pass;
                // An output with a vocabulary of one word is negligible.
                let most = expected + u64::from(micro_batches) * 3 * (training.times[2].0 + 1);
                let what = format!("{schedule:?}, {stages} stages, {micro_batches} micro-batches");
                let found = found.unwrap_or_else(|| panic!("{what}: stages wait for each other"));
                assert!(
                    (expected..=most).contains(&found),
                    "{what}: {found} ps, not {expected} ps"
                );
            }
        }
    }
}

/// With v groups of layers in a stage, all end after m (t_f + t_b) + (p - 1) (t_f + t_b) / v (D. Narayanan et al., SC 2021,
/// section 2.2).
#[test]
fn interleaved_pipelines_take_the_closed_form() {
    for (stages, groups) in [(2, 2), (2, 4), (4, 2), (8, 1)] {
        for turns in 1..5 {
            let micro_batches = turns * stages;
            let training = training(stages, |params| {
                (params.pipeline, params.micro_batches, params.interleave) = (stages, micro_batches, groups);
                params.vocabulary = 1.into();
            });
            let found = ends_by_rendezvous(&training);
            let layer = training.times[0].0 + training.times[1].0;
            let pass = u64::from(8 / stages) * layer;
            let bubble = u64::from(stages - 1) * 3 * pass / u64::from(groups);
            let expected = u64::from(micro_batches) * 3 * pass + bubble;
            let most = expected + u64::from(micro_batches) * 3 * (training.times[2].0 + 1);
            let what = format!("{stages} stages, {groups} groups, {micro_batches} micro-batches");
            let found = found.unwrap_or_else(|| panic!("{what}: stages wait for each other"));
            assert!(
                (expected..=most).contains(&found),
                "{what}: {found} ps, not {expected} ps"
            );
        }
    }
}

#[test]
fn interleaving_that_no_schedule_has_is_refused() {
    let refused = |change: &dyn Fn(&mut TrainingParams)| {
        let set = |params: &mut TrainingParams| {
            (params.pipeline, params.interleave) = (4, 2);
            change(params);
        };
        params(set).resolve("training", 8).unwrap_err().key
    };
    let cases: [&dyn Fn(&mut TrainingParams); 5] = [
        &|params| params.interleave = 0,
        &|params| params.pipeline = 1,
        &|params| params.schedule = Schedule::GPipe,
        &|params| params.micro_batches = 6,
        &|params| params.interleave = 3,
    ];
    for case in cases {
        assert_eq!(refused(case), "training.interleave");
    }
}

mod failures;
mod nccl;
