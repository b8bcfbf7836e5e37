//! Collectives: numbers and sizes of messages, their order, and the choice of algorithms.

mod common;

use common::{LISTS, algorithms, collectives, known_to, listed};
use odonata_workload::collective::{Algorithm, Arguments, Kind, Rules, Step, choose, step};
use odonata_workload::{Collective, Comm, Counts};

const COMM: Comm = Comm::WORLD;

fn barrier() -> Collective {
    Collective::Barrier { comm: COMM }
}

fn allreduce(bytes: u64, count: u64) -> Collective {
    Collective::Allreduce {
        comm: COMM,
        bytes,
        count,
    }
}

fn broadcast(root: u32, bytes: u64) -> Collective {
    Collective::Broadcast {
        comm: COMM,
        root,
        bytes,
    }
}

fn steps(collective: &Collective, algorithm: Algorithm, rank: u32, ranks: u32) -> Vec<Step> {
    let sizes = known_to(rank, *collective);
    (0..)
        .map_while(|index| step(collective, algorithm, rank, ranks, index, &sizes))
        .collect()
}

/// Messages and bytes of all ranks.
fn totals_by(collective: &Collective, algorithm: Algorithm, ranks: u32) -> (u64, u64) {
    let sends = (0..ranks)
        .flat_map(|rank| steps(collective, algorithm, rank, ranks))
        .filter_map(|step| step.send);
    sends.fold((0, 0), |(messages, bytes), send| (messages + 1, bytes + send.bytes))
}

/// The same with the default rules.
fn totals(collective: &Collective, ranks: u32) -> (u64, u64) {
    totals_by(collective, choose(collective, ranks, &Rules::default(), &listed), ranks)
}

fn for_all(most: u32, mut check: impl FnMut(&Collective, Algorithm, u32)) {
    for ranks in 1..=most {
        for collective in collectives(ranks) {
            for algorithm in algorithms(&collective, ranks) {
                check(&collective, algorithm, ranks);
            }
        }
    }
}

#[test]
fn every_send_meets_a_receive_of_the_same_size_in_the_same_order() {
    for_all(33, |collective, algorithm, ranks| {
        let cell = |a: u32, b: u32| (a * ranks + b) as usize;
        let mut sends = vec![Vec::new(); (ranks * ranks) as usize];
        let mut receives = sends.clone();
        for rank in 0..ranks {
            for step in steps(collective, algorithm, rank, ranks) {
                if let Some(send) = step.send {
                    assert!(send.peer != rank);
                    sends[cell(rank, send.peer)].push(send.bytes);
                }
                if let Some(recv) = step.recv {
                    receives[cell(recv.peer, rank)].push(recv.bytes);
                }
            }
        }
        assert!(sends == receives, "{collective:?} by {algorithm:?} on {ranks} ranks");
    });
}

/// The ranks of a power of two that are others with their bits reversed.
fn mirrored(ranks: u32) -> impl Iterator<Item = u32> {
    let bits = ranks.ilog2();
    (0..ranks).filter(move |rank| rank.reverse_bits() >> (32 - bits) != *rank)
}

/// Messages and bytes by the table in `collective.rs`; `None` without a closed form for these sizes.
fn table(collective: &Collective, algorithm: Algorithm, ranks: u32) -> Option<(u64, u64)> {
    let n = u64::from(ranks);
    let log_p = u64::from(ranks.ilog2());
    let p = 1 << log_p;
    let r = n - p;
    let l = u64::from((ranks - 1).checked_ilog2().map_or(0, |log| log + 1));
    let w: u64 = (0..n).map(|number| u64::from(number.count_ones())).sum();
    // Segments of at most `segment` bytes that are whole elements.
    let segments = |bytes: u64, element: u64, segment: u32| match u64::from(segment) {
        0 => 1,
        segment => bytes.div_ceil((segment / element).max(1) * element).max(1),
    };
    // Sizes of the subtrees of a binomial tree, except the whole tree.
    let subtrees = || (1..n).map(|v| (v & v.wrapping_neg()).min(n - v)).sum::<u64>();
    let list = |counts: Counts| (0..ranks).map(move |b| listed(counts, b, b));
    Some(match (*collective, algorithm) {
        (Collective::Barrier { .. }, Algorithm::Dissemination) => (n * l, 0),
        (Collective::Barrier { .. }, Algorithm::RecursiveDoubling) => (2 * r + p * log_p, 0),
        (Collective::Barrier { .. }, Algorithm::DoubleRing) => (2 * n, 0),
        (Collective::Barrier { .. }, _) => (2 * (n - 1), 0),
        (Collective::Broadcast { bytes, .. }, Algorithm::Binomial | Algorithm::Linear) => (n - 1, (n - 1) * bytes),
        (
            Collective::Broadcast { bytes, .. },
            Algorithm::Chain { segment } | Algorithm::Binary { segment } | Algorithm::SegmentedBinomial { segment },
        ) => ((n - 1) * segments(bytes, 1, segment), (n - 1) * bytes),
        (Collective::Broadcast { bytes, .. }, Algorithm::BineLatency) => (n - 1, (n - 1) * bytes),
        (Collective::Broadcast { bytes, .. }, Algorithm::BineBandwidth) => {
            let b = bytes.div_ceil(n);
            (n - 1 + n * log_p, (n * log_p / 2 + n * (n - 1)) * b)
        }
        (Collective::Broadcast { bytes, .. }, Algorithm::SplitBinary { segment }) => {
            let [left, right] = [bytes.div_ceil(2), bytes / 2].map(|half| segments(half, 1, segment));
            (n / 2 * left + (n.div_ceil(2) - 1) * right + n - 1, (n - 1) * bytes)
        }
        // With whole blocks: those of every subtree, then of every rank.
        (Collective::Broadcast { bytes, .. }, _) if bytes % n == 0 && bytes > 0 => {
            let b = bytes / n;
            let gather = if algorithm == Algorithm::ScatterRing {
                n * (n - 1)
            } else {
                n * log_p
            };
            (n - 1 + gather, (subtrees() + n * (n - 1)) * b)
        }
        (Collective::Broadcast { .. }, _) => return None,
        (Collective::Allreduce { bytes, .. }, Algorithm::RecursiveDoubling) => {
            (2 * r + p * log_p, (2 * r + p * log_p) * bytes)
        }
        (Collective::Allreduce { bytes, .. }, Algorithm::ReduceScatterAllgather) => {
            (2 * r + 2 * p * log_p, (2 * r + 2 * (p - 1)) * bytes)
        }
        (Collective::Allreduce { bytes, .. }, Algorithm::BineLatency) => (n * log_p, n * log_p * bytes),
        (Collective::Allreduce { bytes, .. }, Algorithm::BineBandwidth) => (2 * n * log_p, 2 * (n - 1) * bytes),
        (Collective::Allreduce { bytes, count, .. }, Algorithm::BineSegmented { segment }) => {
            let element = bytes.checked_div(count).unwrap_or(1).max(1);
            let block = count.div_ceil(n) * element;
            let parts = segments(block, element, segment);
            let together = match (segment, parts) {
                (0, _) => u64::MAX,
                (_, 1) => (u64::from(segment) / block.max(1)).max(1),
                _ => 1,
            };
            let messages: u64 = (0..log_p)
                .map(|level| (n / (2 << level) * parts).div_ceil(together))
                .sum();
            (n * (messages + log_p), 2 * (n - 1) * bytes)
        }
        (Collective::Allreduce { bytes, .. }, Algorithm::ReduceBroadcast | Algorithm::Offload { .. }) => {
            (2 * (n - 1), 2 * (n - 1) * bytes)
        }
        (Collective::Allreduce { bytes, count, .. }, _) => {
            let parts = match algorithm {
                Algorithm::SegmentedRing { segment } => {
                    segments(count.div_ceil(n) * (bytes / count), bytes / count, segment)
                }
                _ => 1,
            };
            (n * (n - 1) * (parts + 1), 2 * (n - 1) * bytes)
        }
        (
            Collective::Reduce { bytes: 0, .. }
            | Collective::Gather { bytes: 0, .. }
            | Collective::Scatter { bytes: 0, .. }
            | Collective::Allgather { bytes: 0, .. }
            | Collective::ReduceScatterBlock { bytes: 0, .. }
            | Collective::Scan { bytes: 0, .. }
            | Collective::Exscan { bytes: 0, .. }
            | Collective::Alltoall { bytes: 0, .. },
            _,
        ) => (0, 0),
        (Collective::Reduce { bytes, .. }, Algorithm::BineBandwidth) => {
            let b = bytes.div_ceil(n);
            (n - 1 + n * log_p, (n * log_p / 2 + n * (n - 1)) * b)
        }
        (Collective::Reduce { bytes, .. }, Algorithm::Binomial | Algorithm::Linear | Algorithm::BineLatency) => {
            (n - 1, (n - 1) * bytes)
        }
        (Collective::Reduce { root, bytes, count, .. }, Algorithm::ReduceScatterGather) => {
            let s = u64::from(u64::from(root) < 2 * r && root % 2 == 1);
            let messages = r + p * log_p + p - 1 + s;
            if count % p != 0 {
                return None;
            }
            (messages, (r + p - 1) * bytes + log_p * (bytes / 2) + s * (bytes / p))
        }
        (
            Collective::Reduce { bytes, count, .. },
            Algorithm::Chain { segment } | Algorithm::Binary { segment } | Algorithm::SegmentedBinomial { segment },
        ) => ((n - 1) * segments(bytes, bytes / count, segment), (n - 1) * bytes),
        (Collective::Gather { bytes, .. } | Collective::Scatter { bytes, .. }, Algorithm::Binomial) => {
            (n - 1, subtrees() * bytes)
        }
        (Collective::Gather { bytes, .. } | Collective::Scatter { bytes, .. }, Algorithm::BineLatency) => {
            (n - 1, n * log_p / 2 * bytes)
        }
        (Collective::Gather { bytes, .. }, Algorithm::LinearSync { segment }) => {
            let each = if bytes > u64::from(segment) { 3 } else { 2 };
            (each * (n - 1), (n - 1) * bytes)
        }
        (Collective::Gather { bytes, .. } | Collective::Scatter { bytes, .. }, _) => (n - 1, (n - 1) * bytes),
        (Collective::Gatherv { root, counts, .. } | Collective::Scatterv { root, counts, .. }, _) => {
            let gather = matches!(collective, Collective::Gatherv { .. });
            let block = |b: u32| {
                if gather {
                    listed(counts, b, root)
                } else {
                    listed(counts, root, b)
                }
            };
            let blocks: Vec<u64> = (0..ranks).filter(|&b| b != root).map(block).collect();
            (blocks.iter().filter(|&&b| b > 0).count() as u64, blocks.iter().sum())
        }
        (Collective::Allgather { .. } | Collective::Allgatherv { .. }, _) => {
            let sum = match *collective {
                Collective::Allgatherv { counts, .. } => list(counts).sum(),
                Collective::Allgather { bytes, .. } => n * bytes,
                _ => panic!("{collective:?}"),
            };
            let messages = match algorithm {
                Algorithm::RecursiveDoubling => n * log_p,
                Algorithm::Bruck => n * l,
                Algorithm::NeighborExchange => n * n / 2,
                Algorithm::BinePermute | Algorithm::BineSend => n * log_p,
                // Two ranks share each range; of those of 2^i blocks, 2^(i - 1) - 1 start within the last 2^i - 1 blocks.
                Algorithm::BineTwoBlocks => n * log_p + n - 2 * log_p,
                _ => n * (n - 1),
            };
            let (moved, bytes) = match (algorithm, *collective) {
                (Algorithm::BineSend, Collective::Allgather { bytes, .. }) => {
                    let moved = mirrored(ranks).count() as u64;
                    (moved, moved * bytes)
                }
                (Algorithm::BineSend, Collective::Allgatherv { counts, .. }) => {
                    let moved = mirrored(ranks);
                    let bytes = mirrored(ranks).map(|rank| listed(counts, rank, rank)).sum();
                    (moved.count() as u64, bytes)
                }
                _ => (0, 0),
            };
            (messages + moved, (n - 1) * sum + bytes)
        }
        (Collective::ReduceScatter { .. } | Collective::ReduceScatterBlock { .. }, _) => {
            let blocks: Vec<u64> = match *collective {
                Collective::ReduceScatter { counts, .. } => list(counts).collect(),
                Collective::ReduceScatterBlock { bytes, .. } => vec![bytes; ranks as usize],
                _ => panic!("{collective:?}"),
            };
            let sum: u64 = blocks.iter().sum();
            let full = blocks.iter().all(|&block| block > 0);
            match algorithm {
                // Empty parts are not sent.
                Algorithm::RecursiveHalving if !full => return None,
                Algorithm::RecursiveHalving => {
                    let back: u64 = blocks[..2 * r as usize].iter().step_by(2).sum();
                    (2 * r + p * log_p, (r + p - 1) * sum + back)
                }
                Algorithm::RecursiveDoubling => (n * log_p, (n * log_p - n + 1) * sum),
                Algorithm::BinePermute => (n * log_p, (n - 1) * sum),
                Algorithm::BineSend => {
                    let moved = mirrored(ranks).map(|rank| blocks[rank as usize]);
                    (
                        n * log_p + mirrored(ranks).count() as u64,
                        (n - 1) * sum + moved.sum::<u64>(),
                    )
                }
                Algorithm::ReduceThenScatter => {
                    let scattered = match *collective {
                        Collective::ReduceScatterBlock { bytes, .. } => (n - 1, subtrees() * bytes),
                        _ => (blocks[1..].iter().filter(|&&b| b > 0).count() as u64, sum - blocks[0]),
                    };
                    (n - 1 + scattered.0, (n - 1) * sum + scattered.1)
                }
                _ => (n * (n - 1), (n - 1) * sum),
            }
        }
        (Collective::Scan { bytes, .. } | Collective::Exscan { bytes, .. }, Algorithm::RecursiveDoubling) => {
            (2 * w, 2 * w * bytes)
        }
        (Collective::Scan { bytes, .. } | Collective::Exscan { bytes, .. }, _) => (n - 1, (n - 1) * bytes),
        (Collective::Alltoall { bytes, .. }, Algorithm::Bruck) => (n * l, n * w * bytes),
        (Collective::Alltoall { bytes, .. }, Algorithm::BinePermute) => (n * log_p, n * log_p * (n / 2) * bytes),
        (Collective::Alltoall { bytes, .. }, _) => (n * (n - 1), n * (n - 1) * bytes),
        (Collective::Alltoallv { counts, .. }, _) => {
            let pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b)));
            let blocks = pairs.filter(|(a, b)| a != b).map(|(a, b)| listed(counts, a, b));
            let (count, sum) = blocks.fold((0, 0), |(count, sum), b| (count + u64::from(b > 0), sum + b));
            match algorithm {
                Algorithm::Linear | Algorithm::Scattered { .. } => (count, sum),
                _ => (n * (n - 1), sum),
            }
        }
        (Collective::Reduce { .. }, _) => panic!("{algorithm:?} is no reduce"),
    })
}

#[test]
fn messages_and_bytes_are_those_of_the_table() {
    let mut seen = [[0u32; Algorithm::ALL.len()]; Kind::ALL.len()];
    for_all(33, |collective, algorithm, ranks| {
        if ranks < 2 {
            return;
        }
        if let Some(expected) = table(collective, algorithm, ranks) {
            let got = totals_by(collective, algorithm, ranks);
            assert_eq!(got, expected, "{collective:?} by {algorithm:?} on {ranks} ranks");
            let place = Algorithm::ALL.iter().position(|other| other.name() == algorithm.name());
            seen[collective.kind() as usize][place.expect("it is in the list")] += 1;
        }
    });
    // Every algorithm of every collective has been checked.
    for kind in Kind::ALL {
        for (place, algorithm) in Algorithm::ALL.iter().enumerate() {
            let checked = seen[kind as usize][place] > 0;
            assert_eq!(
                checked,
                algorithm.serves(kind) && *algorithm != Algorithm::Switches,
                "{} by {}",
                kind.name(),
                algorithm.name()
            );
        }
    }
}

#[test]
fn a_finished_rank_stays_finished_and_nonsense_has_no_steps() {
    for_all(17, |collective, algorithm, ranks| {
        let sizes = known_to(ranks - 1, *collective);
        let end = steps(collective, algorithm, ranks - 1, ranks).len() as u32;
        for index in [end, end + 1, end + 1_000, u32::MAX] {
            let after = step(collective, algorithm, ranks - 1, ranks, index, &sizes);
            assert_eq!(after, None, "{collective:?}, {algorithm:?}, {ranks} ranks, {index}");
        }
        assert_eq!(step(collective, algorithm, ranks, ranks, 0, &sizes), None);
        assert_eq!(step(collective, algorithm, 0, 0, 0, &sizes), None);
    });
    let none = |collective: Collective, algorithm, ranks| {
        assert_eq!(step(&collective, algorithm, 0, ranks, 0, &listed), None);
    };
    none(barrier(), Algorithm::ScatterRing, 4);
    none(broadcast(9, 1), Algorithm::Binomial, 4);
    none(broadcast(0, 1), Algorithm::ScatterRecursiveDoubling, 6);
    none(allreduce(8, 1), Algorithm::Ring, 4);
    none(
        Collective::Allgather { comm: COMM, bytes: 1 },
        Algorithm::NeighborExchange,
        5,
    );
    for counts in LISTS {
        none(
            Collective::Gatherv {
                comm: COMM,
                root: 4,
                counts,
            },
            Algorithm::Linear,
            4,
        );
    }
}

#[test]
fn the_largest_communicators_do_not_overflow() {
    let big = 1 << 50;
    // Lists of a few blocks: a sum of 2^32 blocks would query each.
    let sizes = |_: Counts, from: u32, to: u32| u64::from(from ^ to);
    for ranks in [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1] {
        let root = ranks - 1;
        let count = 1 << 48;
        let arguments = Arguments {
            root,
            bytes: big,
            count,
            counts: Counts(0),
        };
        let kinds = [
            Kind::Barrier,
            Kind::Allreduce,
            Kind::Reduce,
            Kind::Gather,
            Kind::Scatter,
            Kind::Gatherv,
            Kind::Allgather,
            Kind::ReduceScatterBlock,
            Kind::Scan,
            Kind::Alltoall,
            Kind::Alltoallv,
        ];
        let calls = kinds.map(|kind| kind.call(COMM, arguments));
        let calls: Vec<_> = calls.into_iter().chain([broadcast(root, u64::MAX)]).collect();
        for rank in [0, 1, ranks / 2, ranks - 2, ranks - 1] {
            for &collective in &calls {
                for algorithm in algorithms(&collective, ranks) {
                    for index in (0..70).chain([ranks - 3, ranks - 2, ranks - 1, u32::MAX]) {
                        if let Some(step) = step(&collective, algorithm, rank, ranks, index, &sizes) {
                            assert!([step.send, step.recv].into_iter().flatten().all(|t| t.peer < ranks));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn totals_on_300_ranks_are_those_of_codes() {
    // p = 256, r = 44: 2 r messages to fold and unfold, and log2 p = 8 rounds of p messages.
    assert_eq!(
        totals(&allreduce(8, 1), 300),
        (2 * 44 + 256 * 8, (2 * 44 + 256 * 8) * 8)
    );
    // Halving and doubling send all except the own block, 255 / 256 of the vector, per rank and phase.
    let bytes = 29_516_800;
    assert_eq!(
        totals(&allreduce(bytes, bytes / 4), 300),
        (2 * 44 + 256 * 16, (2 * 44 + 2 * 255) * bytes)
    );
    // ceil(log2 300) = 9.
    assert_eq!(totals(&barrier(), 300), (2_700, 0));
    assert_eq!(totals(&broadcast(7, 8), 300), (299, 299 * 8));
}

#[test]
fn scattered_broadcasts_send_the_sum_of_their_blocks() {
    // 64 ranks, 65,536 B: blocks of 1,024 B. Scatter: 64 / 2 blocks to each of 1 + 2 + ... per level,
    // log2 64 levels of 32 blocks. All-gather by doubling: each rank gets the other 63 blocks.
    let levels = 6 * 32 * 1_024;
    assert_eq!(
        totals(&broadcast(0, 65_536), 64),
        (63 + 64 * 6, levels + 64 * 63 * 1_024)
    );
    // From 524,288 B on around the ring: the same bytes, in n (n - 1) messages.
    let levels = 6 * 32 * 8_192;
    assert_eq!(
        totals(&broadcast(0, 524_288), 64),
        (63 + 64 * 63, levels + 64 * 63 * 8_192)
    );
}
