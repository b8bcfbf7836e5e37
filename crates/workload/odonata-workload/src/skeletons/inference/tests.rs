use std::collections::BTreeMap;

use odonata_units::Filled;

use super::*;
use crate::operations;
use crate::skeletons::Parameters;
use crate::skeletons::training::Model;

fn params(change: impl FnOnce(&mut InferenceParams)) -> InferenceParams {
    let mut params = InferenceParams {
        model: Some(Model::Llama8),
        layers: Filled::new(4),
        requests: 10,
        prompt: 100,
        output: 5,
        batch: 3,
        ..InferenceParams::default()
    };
    change(&mut params);
    params
}

fn inference(ranks: u32, change: impl FnOnce(&mut InferenceParams)) -> Inference {
    let mut params = params(change);
    params
        .resolve("inference", ranks)
        .unwrap_or_else(|problem| panic!("{problem:?}"));
    Inference::new(ranks, &params).unwrap()
}

/// Every message has one receive of its size, and each rank of a decode instance gets its share of the keys and values
/// of every request: 2 L k h / a w bytes of each token, over the ranks of the instance.
#[test]
fn keys_and_values_arrive_at_the_instance_that_decodes() {
    for (prefill, prefill_tensor, decode, decode_tensor) in [(1, 1, 1, 1), (2, 2, 3, 4), (3, 4, 2, 2), (2, 1, 1, 8)] {
        for kv_transfer in [KvTransfer::Whole, KvTransfer::Layerwise] {
            let ranks = prefill * prefill_tensor + decode * decode_tensor;
            let program = inference(ranks, |params| {
                (params.prefill, params.prefill_tensor) = (prefill, prefill_tensor);
                (params.decode, params.decode_tensor) = (decode, decode_tensor.into());
                params.kv_transfer = kv_transfer;
            });
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for rank in 0..ranks {
                for op in operations(&program, rank) {
                    match op.kind {
                        OpKind::Isend { to, tag, bytes, .. } => sent.push((rank, to, tag, bytes)),
                        OpKind::Irecv {
                            from: Source::Rank(from),
                            tag: Tag::Is(tag),
                            bytes,
                            ..
                        } => received.push((from, rank, tag, bytes)),
                        _ => {}
                    }
                }
            }
            sent.sort_unstable();
            received.sort_unstable();
            assert_eq!(sent, received);
            let mut bytes = BTreeMap::new();
            for (_, to, tag, size) in received {
                *bytes.entry((to, tag / program.pieces())).or_insert(0) += size;
            }
            let all = 2 * 4 * 8 * 128 * 2 * 100;
            assert_eq!(bytes.len() as u32, 10 * decode_tensor);
            assert!(bytes.values().all(|&size| size == all / u64::from(decode_tensor)));
        }
    }
}

/// A batch waits for exactly its receives, and those of the next batch are posted before it waits.
#[test]
fn the_next_batch_arrives_while_one_is_decoded() {
    let program = inference(3, |params| params.decode = 2);
    let (mut open, mut waited, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for op in operations(&program, 1) {
        match op.kind {
            OpKind::Irecv {
                request,
                tag: Tag::Is(tag),
                ..
            } => open.push((request, tag)),
            OpKind::WaitAll { first, count } => {
                begun.push(open.len());
                let of_wait = |&(request, _): &(Request, u32)| request.0 >= first.0 && request.0 - first.0 < count;
                let (taken, rest): (Vec<_>, Vec<_>) = open.iter().copied().partition(of_wait);
                assert_eq!(taken.len() as u32, count);
                waited.push(taken.into_iter().map(|(_, tag)| tag).collect::<Vec<_>>());
                open = rest;
            }
            _ => {}
        }
    }
    // Batches 0 and 2 of requests 0 to 2 and 6 to 8.
    assert_eq!(waited, [vec![0, 1, 2], vec![6, 7, 8]]);
    assert_eq!(begun, [6, 3]);
}

/// A decode step of B requests after c tokens each: attention and MLPs read their weights once, and the keys and values
/// of B c tokens; the time is that of the bytes, since these take longer than the operations.
#[test]
fn a_decode_step_takes_the_time_of_its_bytes() {
    let program = inference(2, |params| params.requests = 3);
    let found: Vec<f64> = operations(&program, 1)
        .filter_map(|op| match op.kind {
            OpKind::Compute { duration } => Some(duration.0 as f64),
            _ => None,
        })
        .collect();
    let ps = |elements: f64| elements * 2.0 / 3.35e12 * 1e12;
    let mut expected = Vec::new();
    for token in 1..5 {
        for _ in 0..4 {
            let weights = f64::from(4_096 * 4_096) * (2.0 + 2.0 * 8.0 / 32.0);
            expected.push(ps(weights + 3.0 * f64::from(100 + token) * 2.0 * 8.0 * 128.0));
            expected.push(ps(3.0 * 4_096.0 * 14_336.0));
        }
        expected.push(ps(4_096.0 * 128_256.0));
    }
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() <= 1.0, "{found} {expected}");
    }
}

/// A batch of few tokens of a mixture reads only the experts that they need.
#[test]
fn few_tokens_read_few_experts() {
    let first_mlp = |batch| {
        let program = inference(2, |params| {
            (params.model, params.requests, params.batch) = (Some(Model::Mixtral), batch, batch);
        });
        let found = operations(&program, 1).filter_map(|op| match op.kind {
            OpKind::Compute { duration } => Some(duration.0 as f64),
            _ => None,
        });
        found.skip(1).step_by(2).next().unwrap()
    };
    let expert = 3.0 * 4_096.0 * 14_336.0 * 2.0 / 3.35e12 * 1e12;
    for (batch, experts) in [(1, 2.0), (3, 6.0), (9, 8.0)] {
        assert!((first_mlp(batch) - experts * expert).abs() <= 1.0, "batch of {batch}");
    }
}

#[test]
fn values_that_do_not_fit_are_refused_by_key() {
    let refused =
        |ranks, change: &dyn Fn(&mut InferenceParams)| params(change).resolve("inference", ranks).unwrap_err().key;
    assert_eq!(refused(2, &|params| params.model = None), "inference");
    assert_eq!(refused(2, &|params| params.batch = 0), "inference.batch");
    assert_eq!(refused(3, &|_| {}), "inference.decode");
    assert_eq!(
        refused(5, &|params| (params.prefill_tensor, params.decode_tensor) =
            (3, 2.into())),
        "inference.decode_tensor"
    );
    assert_eq!(refused(2, &|params| params.flops = 0.0), "inference.flops");
}
