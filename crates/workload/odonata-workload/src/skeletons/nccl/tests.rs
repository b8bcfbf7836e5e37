use super::*;
use crate::operations;
use crate::skeletons::Parameters;
use odonata_units::Bandwidth;
use std::collections::BTreeMap;

const ALL: [NcclCollective; 4] = [
    NcclCollective::AllReduce,
    NcclCollective::AllGather,
    NcclCollective::ReduceScatter,
    NcclCollective::Broadcast,
];

fn params(collective: NcclCollective, bytes: u64, ranks: u32, change: impl FnOnce(&mut NcclParams)) -> NcclParams {
    let mut params = NcclParams {
        collective,
        bytes: Bytes(bytes).into(),
        gpus_per_host: 4,
        ..NcclParams::default()
    };
    change(&mut params);
    params.resolve("nccl", ranks).unwrap();
    params
}

fn transfers(nccl: &Nccl, rank: u32) -> impl Iterator<Item = (u32, u32, u64, u32, u64)> + '_ {
    operations(nccl, rank).filter_map(|op| match op.kind {
        OpKind::Sendrecv {
            to,
            send_tag,
            send_bytes,
            from: Source::Rank(from),
            recv_bytes,
            ..
        } => Some((send_tag, to, send_bytes, from, recv_bytes)),
        _ => None,
    })
}

/// Per rank: all-reduce 2 (p - 1) n / p, all-gather and reduce-scatter (p - 1) n / p, if p C divides n; broadcast n
/// from all except the last rank of each ring.
#[test]
fn bytes_sent_are_the_closed_forms() {
    let (p, n) = (8, 1 << 20);
    for collective in ALL {
        let nccl = Nccl::new(
            p,
            &params(collective, n, p, |params| params.chunk = Bytes(20_000).into()),
        )
        .unwrap();
        assert_eq!(nccl.channels(), 8);
        let sent = |rank| transfers(&nccl, rank).map(|transfer| transfer.2).sum::<u64>();
        let around = u64::from(p - 1);
        match collective {
            NcclCollective::AllReduce => assert!((0..p).all(|rank| sent(rank) == 2 * around * n / u64::from(p))),
            NcclCollective::Broadcast => assert_eq!((0..p).map(sent).sum::<u64>(), around * n),
            _ => assert!((0..p).all(|rank| sent(rank) == around * n / u64::from(p))),
        }
    }
}

/// For any sizes: nothing is lost, and no step of a channel exceeds a chunk.
#[test]
fn every_block_comes_around_once() {
    for (ranks, bytes, channels, chunk) in [
        (2, 1_000_003, 3, 999),
        (12, 777_777, 5, 2_000),
        (1, 100_000, 2, 10),
        (3, 7, 8, 100),
    ] {
        for collective in ALL {
            let params = params(collective, bytes, ranks, |params| {
                params.gpus_per_host = if ranks == 12 { 4 } else { ranks };
                (params.channels, params.chunk) = (channels, Bytes(chunk).into());
            });
            let nccl = Nccl::new(ranks, &params).unwrap();
            let mut total = 0;
            for rank in 0..ranks {
                for (.., sent, _, got) in transfers(&nccl, rank) {
                    assert!(sent <= chunk + 1 && got <= chunk + 1, "{sent} and {got} of {chunk}");
                    total += sent;
                }
            }
            let around = u64::from(ranks - 1) * bytes;
            let expected = if collective == NcclCollective::AllReduce {
                2 * around
            } else {
                around
            };
            assert_eq!(total, expected, "{collective:?} {ranks}");
        }
    }
}

#[test]
fn sends_and_receives_of_every_pair_and_channel_agree() {
    for collective in ALL {
        for protocol in [NcclProtocol::Simple, NcclProtocol::Ll, NcclProtocol::Ll128] {
            let params = params(collective, 300_001, 8, |params| params.protocol = protocol);
            let nccl = Nccl::new(8, &params).unwrap();
            let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
            for rank in 0..8 {
                for (channel, to, bytes, from, got) in transfers(&nccl, rank) {
                    if to != PROC_NULL {
                        sent.entry((rank, to, channel)).or_insert_with(Vec::new).push(bytes);
                    }
                    if from != PROC_NULL {
                        received.entry((from, rank, channel)).or_insert_with(Vec::new).push(got);
                    }
                }
            }
            assert_eq!(sent, received, "{collective:?} {protocol:?}");
        }
    }
}

/// The ring of channel c enters and leaves every host at GPU c: the predecessor of a host's first rank is on the
/// previous host.
#[test]
fn rings_go_through_hosts_and_have_a_rail_each() {
    let nccl = Nccl::new(12, &params(NcclCollective::AllReduce, 1 << 20, 12, |_| {})).unwrap();
    for channel in 0..4 {
        let ring: Vec<u32> = (0..12).map(|position| nccl.rank_at(channel, position)).collect();
        for (position, &rank) in ring.iter().enumerate() {
            assert_eq!(nccl.position(channel, rank), position as u32);
            assert_eq!(rank / 4, position as u32 / 4, "{ring:?}");
        }
        for host in 0..3 {
            assert_eq!(ring[4 * host] % 4, channel);
        }
    }
}

/// LL sends 8 B for 4 B, LL128 128 B for 120 B.
#[test]
fn protocols_send_flags_along() {
    assert_eq!(NcclProtocol::Simple.wire(1_001), 1_001);
    assert_eq!(NcclProtocol::Ll.wire(1_001), 8 * 251);
    assert_eq!(NcclProtocol::Ll128.wire(1_200), 1_280);
    assert_eq!(NcclProtocol::Ll128.wire(1_201), 1_280 + 128);
}

/// The last operation of every channel is joined before the mark, and the next call begins after it on every channel.
#[test]
fn a_call_ends_when_all_channels_have() {
    let params = params(NcclCollective::AllReduce, 1 << 20, 4, |params| {
        (params.iterations, params.channels) = (2, 6);
    });
    let nccl = Nccl::new(4, &params).unwrap();
    let ops: Vec<Op> = operations(&nccl, 1).collect();
    let mark = ops
        .iter()
        .position(|op| matches!(op.kind, OpKind::Mark { .. }))
        .unwrap();
    let joined: Vec<u32> = ops[..mark]
        .iter()
        .filter(|op| op.stream == 0 && op.after.iter().count() > 0 && matches!(op.kind, OpKind::Compute { .. }))
        .flat_map(|op| op.after.iter().map(|id| id.0))
        .collect();
    let last: Vec<u32> = (0..6)
        .map(|channel| ops[..mark - 2].iter().rposition(|op| op.stream == channel).unwrap() as u32)
        .collect();
    assert_eq!(joined, last);
    let call = ops[mark + 1];
    assert!(matches!(call.kind, OpKind::Compute { duration } if duration == *params.launch));
    for channel in 0..6 {
        let first = ops[mark + 2..].iter().find(|op| op.stream == channel).unwrap();
        assert_eq!(first.after.iter().collect::<Vec<_>>(), [call.id]);
    }
}

#[test]
fn small_vectors_have_few_channels() {
    let channels = |bytes| {
        Nccl::new(8, &params(NcclCollective::AllReduce, bytes, 8, |_| {}))
            .unwrap()
            .channels()
    };
    assert_eq!([8, 65_536, 1 << 30].map(channels), [1, 2, 8]);
}

#[test]
fn meaningless_values_are_refused() {
    let mut none = NcclParams::default();
    assert!(
        none.resolve("nccl", 8)
            .unwrap_err()
            .problem
            .contains("\"bytes\" is missing")
    );
    let bad = |change: &dyn Fn(&mut NcclParams)| {
        let mut params = NcclParams {
            bytes: Bytes(8).into(),
            ..NcclParams::default()
        };
        change(&mut params);
        params.resolve("nccl", 12).unwrap_err().key
    };
    assert_eq!(bad(&|_| {}), "nccl.gpus_per_host");
    assert_eq!(
        bad(&|params| (params.algorithm, params.collective) = (NcclAlgorithm::Tree, NcclCollective::AllGather)),
        "nccl.algorithm"
    );
    let pat = |params: &mut NcclParams, collective| {
        (params.algorithm, params.collective, params.gpus_per_host) = (NcclAlgorithm::Pat, collective, 1);
    };
    for collective in [NcclCollective::AllReduce, NcclCollective::Broadcast] {
        assert_eq!(bad(&|params| pat(params, collective)), "nccl.algorithm");
    }
    let refused = |change: &dyn Fn(&mut NcclParams)| {
        bad(&|params| {
            pat(params, NcclCollective::ReduceScatter);
            change(params);
        })
    };
    assert_eq!(refused(&|params| params.gpus_per_host = 4), "nccl.gpus_per_host");
    assert_eq!(refused(&|params| params.protocol = NcclProtocol::Ll), "nccl.protocol");
    assert_eq!(bad(&|params| params.channels = 0), "nccl.channels");
    assert_eq!(bad(&|params| params.channels = 65), "nccl.channels");
    let good = |change: &dyn Fn(&mut NcclParams)| {
        bad(&|params| {
            params.gpus_per_host = 4;
            change(params);
        })
    };
    assert_eq!(good(&|params| params.chunk = Bytes(0).into()), "nccl.chunk");
    assert_eq!(
        good(&|params| params.nvls_efficiency = 0.0.into()),
        "nccl.nvls_efficiency"
    );
    assert_eq!(
        good(&|params| params.nvls_efficiency = f64::NAN.into()),
        "nccl.nvls_efficiency"
    );
    let by_ll =
        |params: &mut NcclParams| (params.algorithm, params.protocol) = (NcclAlgorithm::Nvls, NcclProtocol::Auto);
    assert_eq!(
        bad(&|params| {
            by_ll(params);
            params.gpus_per_host = 12;
        }),
        "nccl.algorithm"
    );
}

/// NCCL's drawings of 14 ranks beside `ncclGetBtree`, and of the mirrored tree of 12 beside `ncclGetDtree`.
#[test]
fn binary_trees_are_those_of_nccl() {
    let children = |n, second, rank| tree::double_tree(n, second, rank).children;
    assert_eq!(children(14, false, 0), [None, Some(8)]);
    assert_eq!(children(14, false, 8), [Some(4), Some(12)]);
    assert_eq!(children(14, false, 12), [Some(10), Some(13)]);
    assert_eq!(children(14, false, 10), [Some(9), Some(11)]);
    assert_eq!(children(12, true, 11), [None, Some(3)]);
    assert_eq!(children(12, true, 3), [Some(7), Some(1)]);
    assert_eq!(children(12, true, 7), [Some(9), Some(5)]);
    assert_eq!(children(13, true, 1), [None, Some(9)]);
    assert_eq!(children(13, true, 0), [Some(11), None]);
}

/// Links agree at both ends, every rank reaches the root within log2 n + 1 steps, and every rank except at most one
/// with children in one tree has none in the other.
#[test]
fn ranks_are_leaves_in_one_of_two_trees() {
    for n in 1..70 {
        let mut inner = vec![0; n as usize];
        for second in [false, true] {
            let links: Vec<tree::Links> = (0..n).map(|rank| tree::double_tree(n, second, rank)).collect();
            assert_eq!(links.iter().filter(|links| links.parent.is_none()).count(), 1);
            for rank in 0..n {
                inner[rank as usize] += u32::from(links[rank as usize].children != [None, None]);
                for child in links[rank as usize].children.into_iter().flatten() {
                    assert_eq!(links[child as usize].parent, Some(rank), "{n} {second}");
                }
                let (mut at, mut steps) = (rank, 0);
                while let Some(parent) = links[at as usize].parent {
                    assert!(links[parent as usize].children.contains(&Some(at)));
                    (at, steps) = (parent, steps + 1);
                }
                assert!(steps <= n.ilog2() + 1, "{n}: {steps} steps");
            }
        }
        let both = inner.iter().filter(|&&trees| trees == 2).count();
        assert!(both <= (n % 2) as usize, "{n}: {both}");
    }
}

/// Sends of (source, destination, tag) in their order, and receives.
type Sizes = BTreeMap<(u32, u32, u32), Vec<u64>>;

fn all_messages(nccl: &Nccl) -> (Sizes, Sizes) {
    let (mut sent, mut received) = (Sizes::new(), Sizes::new());
    for rank in 0..nccl.ranks() {
        for op in operations(nccl, rank) {
            let (send, receive) = match op.kind {
                OpKind::Send { to, tag, bytes, .. } => (Some((to, tag, bytes)), None),
                OpKind::Recv {
                    from: Source::Rank(from),
                    tag: Tag::Is(tag),
                    bytes,
                    ..
                } => (None, Some((from, tag, bytes))),
                OpKind::Sendrecv {
                    to,
                    send_tag,
                    send_bytes,
                    from: Source::Rank(from),
                    recv_bytes,
                    ..
                } => (Some((to, send_tag, send_bytes)), Some((from, send_tag, recv_bytes))),
                _ => (None, None),
            };
            if let Some((to, tag, bytes)) = send {
                sent.entry((rank, to, tag)).or_default().push(bytes);
            }
            if let Some((from, tag, bytes)) = receive {
                received.entry((from, rank, tag)).or_default().push(bytes);
            }
        }
    }
    (sent, received)
}

/// Every message has its receive; over trees of p ranks go 2 (p - 1) n bytes, for any sizes.
#[test]
fn trees_send_everything_up_and_down_once() {
    for (ranks, gpus, bytes, channels, chunk) in [
        (1, 1, 100_000, 2, 1_000),
        (2, 1, 1_000_003, 1, 5_000),
        (8, 8, 300_001, 3, 10_000),
        (12, 4, 777_777, 8, 7_000),
        (20, 2, 65_536, 2, 1 << 20),
    ] {
        for algorithm in [NcclAlgorithm::Tree, NcclAlgorithm::Nvls, NcclAlgorithm::Collnet] {
            let params = params(NcclCollective::AllReduce, bytes, ranks, |params| {
                (params.algorithm, params.gpus_per_host) = (algorithm, gpus);
                (params.channels, params.chunk) = (channels, Bytes(chunk).into());
            });
            let nccl = Nccl::new(ranks, &params).unwrap();
            let (sent, received) = all_messages(&nccl);
            assert_eq!(sent, received, "{algorithm:?} {ranks}");
            let total: u64 = sent.values().flatten().sum();
            let hosts = u64::from(ranks / gpus);
            let chunks = u64::from(nccl.blocks() * nccl.loops * ranks);
            match algorithm {
                NcclAlgorithm::Tree => assert_eq!(total, 2 * u64::from(ranks - 1) * bytes, "{ranks}"),
                _ => {
                    // Exchanges: n (1 + 1 / g) from each GPU, up to a byte per message; between hosts 2 (h - 1) n, or n
                    // from each if switches sum.
                    let inside = if gpus > 1 {
                        hosts * bytes * u64::from(gpus + 1)
                    } else {
                        0
                    };
                    let times = match algorithm {
                        NcclAlgorithm::Collnet if hosts > 1 => hosts,
                        _ => 2 * (hosts - 1),
                    };
                    let least = inside + times * bytes;
                    assert!(
                        (least..=least + 2 * chunks * u64::from(gpus)).contains(&total),
                        "{total} {least}"
                    );
                }
            }
        }
    }
}

/// A host's links to other hosts end at the GPU of the channel, and one of its children at the next; no GPU has more
/// than two.
#[test]
fn hosts_of_a_tree_are_linked_by_two_gpus() {
    let nccl = Nccl::new(
        24,
        &params(NcclCollective::AllReduce, 1 << 20, 24, |params| {
            params.algorithm = NcclAlgorithm::Tree
        }),
    )
    .unwrap();
    for block in 0..nccl.blocks() {
        for rank in 0..24 {
            let links = nccl.links(rank, block);
            let place = nccl.position(block / 2, rank) % 4;
            let elsewhere = |other: Option<u32>| other.is_some_and(|other| other / 4 != rank / 4);
            assert!(!elsewhere(links.parent) || place == 0);
            assert!(!links.children.into_iter().any(elsewhere) || place < 2);
            for child in links.children.into_iter().flatten() {
                assert_eq!(nccl.links(child, block).parent, Some(rank));
            }
        }
    }
}

/// Every host has sent to the first one, and has its answer, before it ends its first chunk: no sum ends before the last
/// host has begun.
#[test]
fn sums_in_switches_between_hosts_need_all_hosts() {
    let params = params(NcclCollective::AllReduce, 1 << 20, 12, |params| {
        (params.algorithm, params.channels) = (NcclAlgorithm::Collnet, 1);
        params.chunk = Bytes(50_000).into();
    });
    let nccl = Nccl::new(12, &params).unwrap();
    let empty = |rank: u32| -> Vec<(u32, bool)> {
        let ops = operations(&nccl, rank).filter(|op| op.stream == 0);
        // The first chunk: up to the second shift.
        let mut shifts = 0;
        ops.take_while(|op| {
            let host = |rank: u32| rank / 4;
            shifts += u32::from(matches!(op.kind, OpKind::Sendrecv { to, .. } if host(to) != host(rank)));
            shifts < 2
        })
        .filter_map(|op| match op.kind {
            OpKind::Send { to, bytes: 0, .. } => Some((to, true)),
            OpKind::Recv {
                from: Source::Rank(from),
                bytes: 0,
                ..
            } => Some((from, false)),
            _ => None,
        })
        .collect()
    };
    for gpu in 0..4 {
        let others = [4 + gpu, 8 + gpu];
        let expected: Vec<(u32, bool)> = [false, true]
            .iter()
            .flat_map(|&sends| others.map(|other| (other, sends)))
            .collect();
        assert_eq!(empty(gpu), expected);
        for other in others {
            assert_eq!(empty(other), [(gpu, true), (gpu, false)]);
        }
    }
}

/// The joins name the last operation of each tree.
#[test]
fn a_call_over_trees_ends_when_all_trees_have() {
    for algorithm in [NcclAlgorithm::Tree, NcclAlgorithm::Nvls, NcclAlgorithm::Collnet] {
        let params = params(NcclCollective::AllReduce, 1 << 20, 8, |params| {
            (params.algorithm, params.iterations, params.channels) = (algorithm, 2, 3);
            params.chunk = Bytes(50_000).into();
        });
        let nccl = Nccl::new(8, &params).unwrap();
        for rank in 0..8 {
            let ops: Vec<Op> = operations(&nccl, rank).collect();
            assert!(ops.iter().enumerate().all(|(number, op)| op.id.0 == number as u32));
            let mark = ops
                .iter()
                .position(|op| matches!(op.kind, OpKind::Mark { .. }))
                .unwrap();
            let joins = mark - 2;
            let joined: Vec<u32> = ops[joins..mark]
                .iter()
                .flat_map(|op| op.after.iter().map(|id| id.0))
                .collect();
            // The streams of a tree are adjacent.
            let last: Vec<u32> = (0..6)
                .map(|block| ops[1..joins].iter().rposition(|op| op.stream / 2 == block).unwrap() as u32 + 1)
                .collect();
            assert_eq!(joined, last);
            assert!(matches!(ops[mark + 1].kind, OpKind::Compute { duration } if duration == *params.launch));
        }
    }
}

fn chosen(ranks: u32, bytes: u64, change: impl FnOnce(&mut NcclParams)) -> NcclParams {
    params(NcclCollective::AllReduce, bytes, ranks, |params| {
        (params.algorithm, params.protocol) = (NcclAlgorithm::Auto, NcclProtocol::Auto);
        (params.gpus_per_host, params.channels) = (8, 16);
        change(params);
    })
}

/// On one host of 8 GPUs: a ring by the simple protocol takes 8.4 + 14 x 3.4 us and n / (B x 8 / 14), by LL 6.6 + 14 x
/// 0.6 us and n / (141 GB/s x 8 / 14), switches 25 us and n / (0.85 B).
#[test]
fn estimates_are_those_of_nccl() {
    let of = |algorithm, protocol, bytes: u64| {
        let wanted = NcclParams {
            bytes: Bytes(bytes).into(),
            channels: 16,
            ..NcclParams::default()
        };
        tuning::estimate(&wanted, 8, (algorithm, protocol)).unwrap().estimate_us
    };
    let nvlink = 18.0 * 20.6;
    for bytes in [1 << 10, 1 << 20, 1 << 30] {
        let n = bytes as f64;
        let near = |found: f64, latency: f64, bandwidth: f64| {
            let expected = latency + n / (1e3 * bandwidth);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        };
        let ring = 8.0 / 14.0;
        near(
            of(NcclAlgorithm::Ring, NcclProtocol::Simple, bytes),
            56.0,
            nvlink * ring,
        );
        near(of(NcclAlgorithm::Ring, NcclProtocol::Ll, bytes), 15.0, 141.0 * ring);
        near(
            of(NcclAlgorithm::Ring, NcclProtocol::Ll128, bytes),
            40.6,
            0.92 * nvlink * ring,
        );
        near(
            of(NcclAlgorithm::Nvls, NcclProtocol::Simple, bytes),
            25.0,
            0.85 * nvlink,
        );
    }
}

/// Small vectors go by LL, large ones in a host by its switches, between hosts by rings; in between, a network of high
/// latency prefers trees by LL128, and switches by the simple protocol.
#[test]
fn nccl_chooses_by_size_hosts_and_network() {
    let (ring, nvls) = (NcclAlgorithm::Ring, NcclAlgorithm::Nvls);
    let of = |ranks, bytes, us: u64| {
        let found = chosen(ranks, bytes, |params| {
            params.network_latency = Time::from_ns(1_000 * us)
        });
        (found.algorithm, found.protocol)
    };
    assert_eq!(of(8, 1 << 10, 0).1, NcclProtocol::Ll);
    assert_eq!(of(8, 1 << 30, 0), (nvls, NcclProtocol::Simple));
    assert_eq!(of(32, 16 << 20, 35), (NcclAlgorithm::Tree, NcclProtocol::Ll128));
    assert_eq!(of(32, 4 << 30, 35), (ring, NcclProtocol::Simple));
    let simple = chosen(32, 16 << 20, |params| {
        (params.protocol, params.network_latency) = (NcclProtocol::Simple, Time::from_ns(35_000));
    });
    assert_eq!(simple.algorithm, nvls);
    // Domains of several hosts have no sums in switches.
    assert_eq!(
        chosen(72, 8 << 30, |params| params.gpus_per_host = 72).algorithm,
        NcclAlgorithm::Ring
    );
    let gather = params(NcclCollective::AllGather, 1 << 30, 8, |params| {
        (params.algorithm, params.protocol) = (NcclAlgorithm::Auto, NcclProtocol::Auto);
    });
    assert_eq!((gather.algorithm, gather.protocol), (ring, NcclProtocol::Simple));
}

/// With one GPU per host, few bytes go by parallel aggregated trees: 8 + log2 p 14 / 3.5 + 2.8 p us and n / (0.75 B), many by
/// rings: 8.4 + (p - 1) 14 us and n / (B p / (p - 1)), or by LL with the network's latency of trees, 5 us.
#[test]
fn one_gpu_per_host_prefers_aggregated_trees() {
    let of = |ranks: u32, bytes: u64, algorithm, protocol| {
        let wanted = NcclParams {
            collective: NcclCollective::AllGather,
            bytes: Bytes(bytes).into(),
            gpus_per_host: 1,
            ..NcclParams::default()
        };
        tuning::estimate(&wanted, ranks, (algorithm, protocol))
            .unwrap()
            .estimate_us
    };
    let (ring, pat) = (NcclAlgorithm::Ring, NcclAlgorithm::Pat);
    let (n, p) = (f64::from(1 << 20), 64.0);
    for (algorithm, protocol, expected) in [
        (pat, NcclProtocol::Simple, 8.0 + 6.0 * 4.0 + 2.8 * p + n / (0.75 * 50e3)),
        (
            ring,
            NcclProtocol::Simple,
            8.4 + (p - 1.0) * 14.0 + n / (50e3 * p / (p - 1.0)),
        ),
        (
            ring,
            NcclProtocol::Ll,
            6.6 + (p - 1.0) * 5.0 + n / (20.4e3 * p / (p - 1.0)),
        ),
    ] {
        let found = of(64, 1 << 20, algorithm, protocol);
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
    let chosen = |collective, bytes: u64, gpus: u32| {
        let found = params(collective, bytes, 64, |params| {
            (params.algorithm, params.protocol) = (NcclAlgorithm::Auto, NcclProtocol::Auto);
            params.gpus_per_host = gpus;
        });
        found.algorithm
    };
    for collective in [NcclCollective::AllGather, NcclCollective::ReduceScatter] {
        assert_eq!(chosen(collective, 1 << 20, 1), pat);
        assert_eq!(chosen(collective, 4 << 30, 1), ring);
        assert_eq!(chosen(collective, 1 << 20, 8), ring);
    }
    assert_ne!(chosen(NcclCollective::AllReduce, 1 << 20, 1), pat);
}

/// What is chosen is written out, and is chosen again.
#[test]
fn a_choice_resolves_to_itself() {
    for bytes in [8, 1 << 16, 1 << 22, 1 << 30] {
        let first = chosen(16, bytes, |params| params.network_latency = Time::from_ns(9_000));
        let mut again = first.clone();
        again.resolve("nccl", 16).unwrap();
        assert_eq!(first, again);
        assert_ne!(first.algorithm, NcclAlgorithm::Auto);
    }
}

/// A step of a channel of limited rate has three operations: the pace of b / rate beside the transfer, both after the end
/// of the channel's previous step, and the end after both.
#[test]
fn a_limited_channel_keeps_its_pace() {
    let params = params(NcclCollective::AllReduce, 1 << 20, 4, |params| {
        (params.channels, params.channel_bandwidth) = (2, Some(Bandwidth(1e9)));
        params.reduction = PerByte::default();
    });
    let nccl = Nccl::new(4, &params).unwrap();
    let ops: Vec<Op> = operations(&nccl, 1).collect();
    let block = (1 << 20) / (4 * 2);
    let steps = 2 * 3;
    for channel in 0..2 {
        let of = |stream: u16| ops[1..=steps * 6].iter().filter(move |op| op.stream == stream);
        let paces: Vec<&Op> = of(2 + channel).collect();
        let own: Vec<&Op> = of(channel).collect();
        assert_eq!((paces.len(), own.len()), (steps, 2 * steps));
        for (step, pace) in paces.iter().enumerate() {
            let (transfer, end) = (own[2 * step], own[2 * step + 1]);
            assert!(matches!(pace.kind, OpKind::Compute { duration } if duration == Time::from_ns(block)));
            assert!(matches!(transfer.kind, OpKind::Sendrecv { .. }));
            let before = if step == 0 { ops[0].id } else { own[2 * step - 1].id };
            assert_eq!(pace.after.iter().collect::<Vec<_>>(), [before]);
            assert_eq!(end.after.iter().collect::<Vec<_>>(), [pace.id]);
        }
    }
    // The joins name the ends of the last step.
    let joined: Vec<OpId> = ops[steps * 6 + 1].after.iter().collect();
    assert_eq!(joined, [ops[steps * 6 - 3].id, ops[steps * 6].id]);
}

/// Exchanges at half of the rate of the links send twice as much.
#[test]
fn switches_reach_a_part_of_the_rate_of_links() {
    let sent = |part: f64| {
        let params = params(NcclCollective::AllReduce, 1 << 20, 4, |params| {
            (params.algorithm, params.nvls_efficiency) = (NcclAlgorithm::Nvls, part.into());
        });
        let nccl = Nccl::new(4, &params).unwrap();
        transfers(&nccl, 0).map(|transfer| transfer.2).sum::<u64>()
    };
    assert!(sent(0.5).abs_diff(2 * sent(1.0)) <= 2 * 3 * 16 * 2);
}
