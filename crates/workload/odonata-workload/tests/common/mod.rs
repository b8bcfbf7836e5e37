//! Test collectives: every kind, with divisible, indivisible and empty sizes.

use odonata_workload::collective::{Algorithm, Sizes};
use odonata_workload::{Collective, Comm, Counts};

const COMM: Comm = Comm::WORLD;

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
    let mut all = vec![Collective::Barrier { comm: COMM }];
    let mut roots = vec![0, 1 % ranks, ranks / 3, ranks - 1];
    roots.dedup();
    for (count, element) in VECTORS {
        let bytes = count * element;
        all.extend([
            Collective::Allreduce {
                comm: COMM,
                bytes,
                count,
            },
            Collective::ReduceScatterBlock {
                comm: COMM,
                bytes,
                count,
            },
            Collective::Scan {
                comm: COMM,
                bytes,
                count,
            },
            Collective::Exscan {
                comm: COMM,
                bytes,
                count,
            },
        ]);
        all.extend(roots.iter().map(|&root| Collective::Reduce {
            comm: COMM,
            root,
            bytes,
            count,
        }));
    }
    for bytes in [0, 1, 3, 17, 4_096, 9_973] {
        all.extend([
            Collective::Allgather { comm: COMM, bytes },
            Collective::Alltoall { comm: COMM, bytes },
        ]);
        for &root in &roots {
            all.extend([
                Collective::Broadcast {
                    comm: COMM,
                    root,
                    bytes,
                },
                Collective::Gather {
                    comm: COMM,
                    root,
                    bytes,
                },
                Collective::Scatter {
                    comm: COMM,
                    root,
                    bytes,
                },
            ]);
        }
    }
    for counts in LISTS {
        all.extend([
            Collective::Allgatherv { comm: COMM, counts },
            Collective::ReduceScatter { comm: COMM, counts },
            Collective::Alltoallv { comm: COMM, counts },
        ]);
        for &root in &roots {
            all.extend([
                Collective::Gatherv {
                    comm: COMM,
                    root,
                    counts,
                },
                Collective::Scatterv {
                    comm: COMM,
                    root,
                    counts,
                },
            ]);
        }
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
    let sized = |algorithm| match algorithm {
        Algorithm::Chain { .. } => segments.map(|segment| Algorithm::Chain { segment }).to_vec(),
        Algorithm::Binary { .. } => segments.map(|segment| Algorithm::Binary { segment }).to_vec(),
        Algorithm::SplitBinary { .. } => segments.map(|segment| Algorithm::SplitBinary { segment }).to_vec(),
        Algorithm::SegmentedBinomial { .. } => segments
            .map(|segment| Algorithm::SegmentedBinomial { segment })
            .to_vec(),
        Algorithm::SegmentedRing { .. } => [0, 9, 64].map(|segment| Algorithm::SegmentedRing { segment }).to_vec(),
        Algorithm::BineSegmented { .. } => [0, 9, 64].map(|segment| Algorithm::BineSegmented { segment }).to_vec(),
        Algorithm::LinearSync { .. } => segments.map(|segment| Algorithm::LinearSync { segment }).to_vec(),
        Algorithm::Scattered { .. } => [1, 2, 8, 32].map(|window| Algorithm::Scattered { window }).to_vec(),
        Algorithm::Offload { .. } => [1, 2, 3, 32].map(|radix| Algorithm::Offload { radix }).to_vec(),
        other => vec![other],
    };
    let all = Algorithm::ALL.into_iter().flat_map(sized);
    all.filter(|algorithm| algorithm.supports(collective, ranks)).collect()
}
