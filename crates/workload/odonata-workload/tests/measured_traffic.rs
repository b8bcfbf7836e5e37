//! Workloads with measured traffic, compared with the traces.
//!
//! The numbers are facts about public traces of the DOE's Design Forward program, taken with our own tools: from the
//! byte matrices of `FillBoundary`, `MultiGrid_C` and Crystal Router on 1,000 ranks (tables of source, destination,
//! bytes), and from the DUMPI trace `df_AMG_n27`. The files are not part of this repository; if available,
//! `tests/python/test_measured_traffic.py` compares the workloads with every entry of them.

use std::collections::BTreeMap;

use odonata_units::Bytes;
use odonata_workload::skeletons::*;
use odonata_workload::{Collective, OpKind, Program, operations};

/// Bytes from each rank to each other one, as counted by the tool that made the matrices: messages, 8 B between all
/// pairs for an all-reduce of 8 B, and the same from all ranks except 0 for a broadcast of 8 B.
fn matrix(program: &dyn Program) -> BTreeMap<(u32, u32), u64> {
    let mut matrix = BTreeMap::new();
    for from in 0..program.ranks() {
        let mut to_all = 0;
        for op in operations(program, from) {
            match op.kind {
                OpKind::Isend { to, bytes, .. } => *matrix.entry((from, to)).or_default() += bytes,
                OpKind::Collective(Collective::Allreduce { bytes, .. }) => to_all += bytes,
                OpKind::Collective(Collective::Broadcast { bytes, root, .. }) if from != root => to_all += bytes,
                _ => {}
            }
        }
        if to_all > 0 {
            for to in (0..program.ranks()).filter(|to| *to != from) {
                *matrix.entry((from, to)).or_default() += to_all;
            }
        }
    }
    matrix
}

/// Number of pairs by bytes.
fn histogram(matrix: &BTreeMap<(u32, u32), u64>) -> BTreeMap<u64, usize> {
    let mut histogram = BTreeMap::new();
    for bytes in matrix.values() {
        *histogram.entry(*bytes).or_default() += 1;
    }
    histogram
}

#[test]
fn fill_boundary_sends_the_bytes_of_the_trace_on_1000_ranks() {
    let matrix = matrix(&FillBoundary::new(1_000, FillBoundaryParams::default()).unwrap());
    let expected = [
        (8, 992),
        (64, 977_056),
        (20_008, 1),
        (20_064, 5_831),
        (384_008, 3),
        (384_064, 9_717),
        (16_384_008, 3),
        (16_384_064, 5_397),
    ];
    assert_eq!(histogram(&matrix), BTreeMap::from(expected));
    // The file lists pairs above the common 64 B, and pairs below.
    let listed = expected.iter().filter(|(bytes, _)| *bytes != 64);
    assert_eq!(listed.clone().map(|(_, pairs)| pairs).sum::<usize>(), 21_944);
    // Faces 8 x 50 x 64^2 (1 + 2 + 3 + 4), edges 8 x 25 x 64 (1 + 4 + 9 + 16), corners 8 x 25 (1 + 8 + 27 + 64).
    assert_eq!(
        (8 * 50 * 4_096 * 10, 8 * 25 * 64 * 30, 8 * 25 * 100),
        (16_384_000, 384_000, 20_000)
    );
    assert_eq!(matrix[&(0, 1)], 16_384_008);
    assert_eq!(
        (matrix[&(7, 488)], matrix[&(100, 512)], matrix[&(999, 995)]),
        (20_064, 16_384_064, 16_384_064)
    );
}

#[test]
fn multigrid_sends_the_bytes_of_the_trace_on_1000_ranks() {
    let matrix = matrix(&Multigrid::new(1_000, MultigridParams::default()).unwrap());
    let expected = [
        (128, 977),
        (216, 987_575),
        (544, 7),
        (632, 2_161),
        (10_656, 9),
        (10_744, 2_271),
        (491_392, 6),
        (491_480, 5_994),
    ];
    assert_eq!(histogram(&matrix), BTreeMap::from(expected));
    let listed = expected.iter().filter(|(bytes, _)| *bytes != 216);
    assert_eq!(listed.map(|(_, pairs)| pairs).sum::<usize>(), 11_425);
    // Exchanges on boxes of 64^3 to 2^3 points: second, first and zeroth powers of the points along an edge.
    let sum = |power| -> u64 {
        let levels = [(12, 64u64), (9, 32), (9, 16), (9, 8), (9, 4), (4, 2)];
        levels.iter().map(|(times, points)| times * 8 * points.pow(power)).sum()
    };
    assert_eq!((sum(2), sum(1), sum(0)), (491_264, 10_528, 416));
}

#[test]
fn multigrid_sends_326_gb_on_110592_ranks() {
    // Mubarak et al. report 326 GiB. 110,592 ranks with 6 faces each; edges and corners of the periodic boundary are
    // 0.02% more.
    let multigrid = Multigrid::new(110_592, MultigridParams::default()).unwrap();
    assert!(
        multigrid.describe().contains("48 x 48 x 48"),
        "{}",
        multigrid.describe()
    );
    let sent = |rank| -> u64 {
        let bytes = |op: odonata_workload::Op| match op.kind {
            OpKind::Isend { bytes, .. } => bytes,
            _ => 0,
        };
        operations(&multigrid, rank).map(bytes).sum()
    };
    let inside = (0..110_592).step_by(997).map(sent).min().unwrap();
    assert_eq!(inside, 6 * 491_264);
    let faces = 110_592 * inside;
    assert!((faces as f64 / 326e9 - 1.0).abs() < 0.001, "{faces}");
}

#[test]
fn a_crystal_router_has_the_pairs_of_the_trace_and_their_bytes() {
    let params = CrystalRouterParams {
        header: Bytes(0),
        ..Default::default()
    };
    let matrix = matrix(&CrystalRouter::new(1_000, params).unwrap());
    assert_eq!(matrix.len(), 9_976);
    let total: u64 = matrix.values().sum();
    let measured = 115_520_834_932.0;
    assert!((total as f64 / measured - 1.0).abs() < 1e-4, "{total}");
    // Pairs of the trace with their bytes: halves of even groups, the middle of an odd group, and their consequences.
    for (pair, measured) in [
        ((0, 999), 11_593_176.0),
        ((500, 999), 11_591_680.0),
        ((1, 0), 11_869_580.0),
        ((62, 0), 5_945_964.0),
        ((0, 31), 8_906_248.0),
        ((0, 15), 7_417_960.0),
        ((123, 124), 5_940_584.0),
        ((751, 750), 11_871_736.0),
    ] {
        let ours = matrix[&pair] as f64;
        assert!((ours / measured - 1.0).abs() < 0.01, "{pair:?}: {ours}");
    }
}

#[test]
fn a_crystal_router_brings_everything_to_its_destination() {
    // With equal data for all ranks, all data has arrived at the end: the sum is preserved, and on a power of two of
    // ranks each exchange moves exactly half.
    let params = CrystalRouterParams {
        payload: Bytes(1 << 20),
        rounds: 1,
        header: Bytes(0),
        ..Default::default()
    };
    let router = CrystalRouter::new(64, params).unwrap();
    for rank in 0..64 {
        let sent: Vec<u64> = operations(&router, rank)
            .filter_map(|op| match op.kind {
                OpKind::Isend { bytes, .. } => Some(bytes),
                _ => None,
            })
            .collect();
        assert_eq!(sent, [1 << 19; 6]);
    }
}

/// Messages and bytes of each exchange of the trace `df_AMG_n27`: of the matrix and of the restriction of each level.
const AMG_MATRIX: [(u64, u64); 6] = [
    (108, 1_382_400),
    (272, 390_144),
    (312, 210_208),
    (314, 81_744),
    (474, 29_352),
    (390, 6_032),
];
const AMG_RESTRICTION: [(u64, u64); 6] = [
    (250, 174_728),
    (251, 51_736),
    (235, 14_048),
    (192, 4_080),
    (144, 1_648),
    (4, 32),
];

/// (messages, bytes) of each exchange: between two waits of the ranks that have any.
fn exchanges(amg: &dyn Program, length: usize) -> Vec<(u64, u64)> {
    let mut sums = vec![(0, 0); length];
    for rank in 0..amg.ranks() {
        // Computation begins each exchange, with or without messages of the rank. The first one is the setup.
        let mut exchange = 0;
        for op in operations(amg, rank) {
            match op.kind {
                OpKind::Compute { .. } => exchange += 1,
                OpKind::Isend { bytes, .. } => {
                    let (messages, sum) = &mut sums[exchange - 2];
                    (*messages, *sum) = (*messages + 1, *sum + bytes);
                }
                _ => {}
            }
        }
        assert_eq!(exchange, length + 1);
    }
    sums
}

#[test]
fn amg_has_the_messages_and_bytes_of_each_exchange_of_the_trace_on_27_ranks() {
    let amg = Amg::new(27, AmgParams::default()).unwrap();
    let mut cycle = Vec::new();
    for level in 0..6 {
        cycle.extend([AMG_MATRIX[level], AMG_MATRIX[level], AMG_RESTRICTION[level]]);
    }
    for level in (0..6).rev() {
        cycle.extend([AMG_RESTRICTION[level], AMG_MATRIX[level]]);
    }
    let both: Vec<_> = cycle.iter().chain(&cycle).copied().collect();
    assert_eq!(exchanges(&amg, 60), both);
    let (messages, bytes) = both.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!((messages, bytes), (15_524, 13_584_368));
}

#[test]
fn amg_sends_10_gib_on_13824_ranks_nearest_neighbours_most_of_it() {
    let amg = Amg::new(13_824, AmgParams::default()).unwrap();
    assert!(amg.describe().contains("24 x 24 x 24"), "{}", amg.describe());
    let sums = exchanges(&amg, 60);
    let total: u64 = sums.iter().map(|(_, bytes)| bytes).sum();
    let gib = total as f64 / f64::from(1 << 30);
    // "approximately 10 GiB" (Mubarak et al.).
    assert!((gib - 10.0).abs() < 0.7, "{gib} GiB");
    // Faces of the finest level: 6 x 24^2 x 23 messages of 12,800 B, six times.
    assert_eq!(sums[0], (79_488, 79_488 * 12_800));
    assert!(6.0 * (79_488.0 * 12_800.0) / total as f64 > 0.5);
}

#[test]
fn messages_of_amg_grow_with_those_of_the_finest_level() {
    let twice = AmgParams {
        message: Bytes(25_600),
        ..Default::default()
    };
    let (once, twice) = (
        Amg::new(27, AmgParams::default()).unwrap(),
        Amg::new(27, twice).unwrap(),
    );
    for (one, two) in exchanges(&once, 60).into_iter().zip(exchanges(&twice, 60)) {
        assert_eq!((two.0, two.1), (one.0, 2 * one.1));
    }
}

#[test]
fn impossible_parameters_are_errors() {
    let problem = |mut skeleton: Skeleton, ranks| {
        let resolved = skeleton.parameters_mut().resolve("at", ranks);
        resolved
            .map_err(|problem| problem.key)
            .and_then(|()| skeleton.parameters().program(ranks).map(|_| String::new()))
            .unwrap_err()
    };
    let amg = |levels, message| {
        Skeleton::Amg(AmgParams {
            levels,
            message: Bytes(message),
            ..Default::default()
        })
    };
    assert_eq!(problem(amg(8, 100), 27), "at.levels");
    assert_eq!(problem(amg(1, 100), 27), "at.levels");
    assert_eq!(problem(amg(7, 7), 27), "at.message");
    let dims = AmgParams {
        dims: Some([3, 3, 2]),
        ..Default::default()
    };
    assert!(problem(Skeleton::Amg(dims), 27).contains("3 x 3 x 2"));
    let multigrid = |points, exchanges| {
        Skeleton::Multigrid(MultigridParams {
            points,
            exchanges,
            ..Default::default()
        })
    };
    assert_eq!(problem(multigrid(16, vec![1; 6]), 8), "at.exchanges");
    assert_eq!(problem(multigrid(64, vec![]), 8), "at.exchanges");
    assert_eq!(problem(multigrid(64, vec![0, 0]), 8), "at.exchanges");
    assert_eq!(problem(multigrid(64, vec![u32::MAX; 5]), 8), "at.exchanges");
    assert_eq!(problem(multigrid(0, vec![1]), 8), "at.points");
    let ghosts = |ghost_cells, repetitions| {
        Skeleton::FillBoundary(FillBoundaryParams {
            ghost_cells,
            repetitions,
            ..Default::default()
        })
    };
    assert_eq!(problem(ghosts(vec![], 1), 8), "at.ghost_cells");
    assert_eq!(problem(ghosts(vec![1, 65], 1), 8), "at.ghost_cells.1");
    assert!(problem(ghosts(vec![1], 0), 8).contains("repetitions"));
    assert!(problem(ghosts(vec![1], u32::MAX), 8).contains("too many"));
    let router = |payload, rounds| {
        Skeleton::CrystalRouter(CrystalRouterParams {
            payload: Bytes(payload),
            rounds,
            ..Default::default()
        })
    };
    assert_eq!(problem(router(u64::MAX, 1), 8), "at.payload");
    assert!(problem(router(1, 0), 8).contains("iterations is 0"));
    assert!(problem(router(1, 1), u32::MAX).contains("at most"));
}
