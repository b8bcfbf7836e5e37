//! Test collectives: every kind, with divisible, indivisible and empty sizes.

use odonata_workload::collective::choice::AlgorithmSizes;
use odonata_workload::collective::{Algorithm, Arguments, Kind, Sizes};
use odonata_workload::{Collective, Comm, Counts};

const COMM: Comm = Comm::WORLD;

/// Sizes by which algorithms that have one differ from those of [`Algorithm::ALL`].
const ONES: AlgorithmSizes = AlgorithmSizes {
    segment: 1,
    window: 1,
    radix: 1,
};

/// The lists: 0 has holes, 1 is empty, 2 has one member with data, 3 has data everywhere.
pub(crate) fn listed(counts: Counts, from: u32, to: u32) -> u64 {
    let (f, t) = (u64::from(from), u64::from(to));
    match counts.0 {
        0 => (7 * f + 4 * t) % 5,
        1 => 0,
        2 => 100 * u64::from(from == 1) + 10 * u64::from(to == 1),
        _ => 1_000 + 13 * f + 7 * t,
    }
}

pub(crate) const LISTS: [Counts; 4] = [Counts(0), Counts(1), Counts(2), Counts(3)];

/// The lists as seen by `rank`: panics on queries that MPI does not allow.
pub(crate) fn known_to(rank: u32, collective: Collective) -> impl Sizes {
    move |counts, from, to| {
        let known = match collective {
            Collective::Gatherv { root, .. } => to == root && (rank == root || from == rank),
            Collective::Scatterv { root, .. } => from == root && (rank == root || to == rank),
            Collective::Alltoallv { .. } => from == rank || to == rank,
            _ => from == to,
        };
        assert!(known, "rank {rank} cannot know {from} -> {to} of {collective}");
        listed(counts, from, to)
    }
}

/// Sizes in elements, and bytes per element.
const VECTORS: [(u64, u64); 6] = [(0, 4), (1, 8), (3, 1), (17, 4), (64, 8), (1_021, 4)];

/// All collectives on `ranks` ranks, with several roots.
pub(crate) fn collectives(ranks: u32) -> Vec<Collective> {
    let mut roots = vec![0, 1 % ranks, ranks / 3, ranks - 1];
    roots.dedup();
    let mut all = vec![Collective::Barrier { comm: COMM }];
    let mut add = |kinds: &[Kind], rooted: &[Kind], arguments: Arguments| {
        all.extend(kinds.iter().map(|kind| kind.call(COMM, arguments)));
        for &root in &roots {
            all.extend(
                rooted
                    .iter()
                    .map(|kind| kind.call(COMM, Arguments { root, ..arguments })),
            );
        }
    };
    for (count, element) in VECTORS {
        let bytes = count * element;
        let vector = Arguments {
            bytes,
            count,
            ..Arguments::NONE
        };
        let kinds = [Kind::Allreduce, Kind::ReduceScatterBlock, Kind::Scan, Kind::Exscan];
        add(&kinds, &[Kind::Reduce], vector);
    }
    for bytes in [0, 1, 3, 17, 4_096, 9_973] {
        let blocks = Arguments {
            bytes,
            ..Arguments::NONE
        };
        let rooted = [Kind::Broadcast, Kind::Gather, Kind::Scatter];
        add(&[Kind::Allgather, Kind::Alltoall], &rooted, blocks);
    }
    for counts in LISTS {
        let lists = Arguments {
            counts,
            ..Arguments::NONE
        };
        let kinds = [Kind::Allgatherv, Kind::ReduceScatter, Kind::Alltoallv];
        add(&kinds, &[Kind::Gatherv, Kind::Scatterv], lists);
    }
    all
}

/// All algorithms for `collective` on `ranks` ranks, with several segments or windows.
pub(crate) fn algorithms(collective: &Collective, ranks: u32) -> Vec<Algorithm> {
    // Segments that are not elements, that do not divide, and hundreds of them for short data only.
    let long = matches!(
        collective,
        Collective::Broadcast { bytes: 4_000.., .. } | Collective::Reduce { bytes: 4_000.., .. }
    );
    let segments = [0, if long { 701 } else { 5 }, 1_024];
    let sized = |algorithm: Algorithm| {
        let sizes: &[u32] = match algorithm {
            Algorithm::SegmentedRing { .. } | Algorithm::BineSegmented { .. } => &[0, 9, 64],
            Algorithm::Scattered { .. } => &[1, 2, 8, 32],
            Algorithm::Offload { .. } => &[1, 2, 3, 32],
            algorithm if algorithm == algorithm.sized(ONES) => &[0],
            _ => &segments,
        };
        let with = |&size| {
            algorithm.sized(AlgorithmSizes {
                segment: size,
                window: size,
                radix: size,
            })
        };
        sizes.iter().map(with).collect::<Vec<_>>()
    };
    // Without messages, routers sum.
    let by_messages = Algorithm::ALL
        .into_iter()
        .filter(|&algorithm| algorithm != Algorithm::Switches);
    let all = by_messages.flat_map(sized);
    all.filter(|algorithm| algorithm.supports(collective, ranks)).collect()
}
