use super::*;
use crate::operations;
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

/// Per rank: all-reduce 2 (p - 1) n / p, all-gather and reduce-scatter (p - 1) n / p, where p C divides n; broadcast n from all
/// but the last rank of each ring.
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

/// Whatever does not divide: nothing is lost, and no step of a channel has more than a chunk.
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

/// The ring of channel c enters and leaves every host at GPU c: the rank before the first of a host is of the host before.
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
fn what_makes_no_sense_is_refused() {
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
    assert_eq!(bad(&|params| params.channels = 0), "nccl.channels");
    assert_eq!(bad(&|params| params.channels = 65), "nccl.channels");
    assert_eq!(bad(&|params| params.chunk = Bytes(0).into()), "nccl.chunk");
}
