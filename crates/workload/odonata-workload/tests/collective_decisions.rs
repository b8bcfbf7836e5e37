//! Decision rules of the libraries: every threshold from both sides.

use odonata_workload::collective::{Algorithm as A, Arguments, Kind, Library, Rules, choose};
use odonata_workload::{Collective, Comm, Counts};

/// A list of `n` blocks with `total` bytes, all in block 1.
fn with_total(total: u64) -> impl Fn(Counts, u32, u32) -> u64 {
    move |_, from, _| if from == 1 { total } else { 0 }
}

fn by(library: Library, collective: Collective, ranks: u32) -> A {
    listed(library, collective, 0, ranks)
}

fn mpich(collective: Collective, ranks: u32) -> A {
    by(Library::Mpich, collective, ranks)
}

fn open_mpi(collective: Collective, ranks: u32) -> A {
    by(Library::OpenMpi, collective, ranks)
}

fn listed(library: Library, collective: Collective, total: u64, ranks: u32) -> A {
    let rules = Rules {
        library,
        ..Rules::default()
    };
    choose(&collective, ranks, &rules, &with_total(total))
}

const fn call(kind: Kind, bytes: u64, count: u64) -> Collective {
    let arguments = Arguments {
        bytes,
        count,
        ..Arguments::NONE
    };
    kind.call(Comm::WORLD, arguments)
}

const fn barrier() -> Collective {
    call(Kind::Barrier, 0, 0)
}

const fn allreduce(bytes: u64, count: u64) -> Collective {
    call(Kind::Allreduce, bytes, count)
}

const fn broadcast(bytes: u64) -> Collective {
    call(Kind::Broadcast, bytes, 0)
}

const fn reduce(bytes: u64, count: u64) -> Collective {
    call(Kind::Reduce, bytes, count)
}

const fn gather(bytes: u64) -> Collective {
    call(Kind::Gather, bytes, 0)
}

const fn scatter(bytes: u64) -> Collective {
    call(Kind::Scatter, bytes, 0)
}

const fn allgather(bytes: u64) -> Collective {
    call(Kind::Allgather, bytes, 0)
}

const fn alltoall(bytes: u64) -> Collective {
    call(Kind::Alltoall, bytes, 0)
}

const fn block(bytes: u64) -> Collective {
    call(Kind::ReduceScatterBlock, bytes, bytes)
}

const ALLGATHERV: Collective = call(Kind::Allgatherv, 0, 0);
const REDUCE_SCATTER: Collective = call(Kind::ReduceScatter, 0, 0);
const ALLTOALLV: Collective = call(Kind::Alltoallv, 0, 0);
const GATHERV: Collective = call(Kind::Gatherv, 0, 0);
const SCATTERV: Collective = call(Kind::Scatterv, 0, 0);
const SCAN: Collective = call(Kind::Scan, 8, 1);
const EXSCAN: Collective = call(Kind::Exscan, 8, 1);

#[test]
fn thresholds_are_those_of_mpich() {
    assert_eq!(mpich(barrier(), 64), A::Dissemination);
    // MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE is 2,048 B.
    assert_eq!(mpich(allreduce(2_048, 512), 300), A::RecursiveDoubling);
    assert_eq!(mpich(allreduce(2_052, 513), 300), A::ReduceScatterAllgather);
    assert_eq!(mpich(allreduce(1 << 20, 255), 300), A::RecursiveDoubling);
    assert_eq!(mpich(allreduce(1 << 20, 256), 300), A::ReduceScatterAllgather);
    assert_eq!(mpich(broadcast(12_287), 64), A::Binomial);
    assert_eq!(mpich(broadcast(12_288), 64), A::ScatterRecursiveDoubling);
    assert_eq!(mpich(broadcast(12_288), 7), A::Binomial);
    assert_eq!(mpich(broadcast(12_288), 9), A::ScatterRing);
    assert_eq!(mpich(broadcast(524_287), 64), A::ScatterRecursiveDoubling);
    assert_eq!(mpich(broadcast(524_288), 64), A::ScatterRing);
    assert_eq!(mpich(reduce(2_048, 512), 300), A::Binomial);
    assert_eq!(mpich(reduce(2_052, 513), 300), A::ReduceScatterGather);
    assert_eq!(mpich(reduce(1 << 20, 255), 300), A::Binomial);
    assert_eq!(mpich(reduce(1 << 20, 256), 300), A::ReduceScatterGather);
    for bytes in [1, 1 << 20] {
        assert_eq!([mpich(gather(bytes), 64), mpich(scatter(bytes), 64)], [A::Binomial; 2]);
    }
    assert_eq!([GATHERV, SCATTERV].map(|call| mpich(call, 64)), [A::Linear; 2]);
    assert_eq!([SCAN, EXSCAN].map(|call| mpich(call, 64)), [A::RecursiveDoubling; 2]);
}

#[test]
fn mpich_gathers_and_scatters_sums_by_the_size_of_the_whole() {
    // 64 ranks: 8,191 B and 8,192 B each are just below 512 KiB, and 512 KiB.
    assert_eq!(mpich(allgather(8_191), 64), A::RecursiveDoubling);
    assert_eq!(mpich(allgather(8_192), 64), A::Ring);
    // 80 ranks: 1,023 B each are below 80 KiB, 1,024 B are 80 KiB.
    assert_eq!(mpich(allgather(1_023), 80), A::Bruck);
    assert_eq!(mpich(allgather(1_024), 80), A::Ring);
    let allgatherv = |total, ranks| listed(Library::Mpich, ALLGATHERV, total, ranks);
    assert_eq!(allgatherv(524_287, 64), A::RecursiveDoubling);
    assert_eq!(allgatherv(524_288, 64), A::Ring);
    assert_eq!(allgatherv(81_919, 80), A::Bruck);
    assert_eq!(allgatherv(81_920, 80), A::Ring);
    assert_eq!(mpich(block(8_191), 64), A::RecursiveHalving);
    assert_eq!(mpich(block(8_192), 64), A::Pairwise);
    assert_eq!(listed(Library::Mpich, REDUCE_SCATTER, 524_287, 9), A::RecursiveHalving);
    assert_eq!(listed(Library::Mpich, REDUCE_SCATTER, 524_288, 9), A::Pairwise);
}

#[test]
fn mpich_exchanges_by_the_size_of_a_block() {
    let scattered = A::Scattered { window: 32 };
    assert_eq!(mpich(alltoall(256), 8), A::Bruck);
    assert_eq!(mpich(alltoall(256), 7), scattered);
    assert_eq!(mpich(alltoall(257), 8), scattered);
    assert_eq!(mpich(alltoall(32_768), 8), scattered);
    assert_eq!(mpich(alltoall(32_769), 8), A::PairwiseExchange);
    assert_eq!(mpich(alltoall(32_769), 9), A::Pairwise);
    assert_eq!(mpich(ALLTOALLV, 9), scattered);
}

#[test]
fn reductions_are_decided_as_in_open_mpi() {
    assert_eq!(open_mpi(barrier(), 2), A::RecursiveDoubling);
    assert_eq!(open_mpi(barrier(), 64), A::RecursiveDoubling);
    assert_eq!(open_mpi(barrier(), 65), A::Dissemination);
    assert_eq!(open_mpi(allreduce(9_999, 9_999), 8), A::RecursiveDoubling);
    assert_eq!(open_mpi(allreduce(10_000, 10_000), 8), A::Ring);
    assert_eq!(open_mpi(allreduce(16_000, 8), 8), A::ReduceBroadcast);
    assert_eq!(open_mpi(allreduce(18_000, 9), 8), A::Ring);
    let mib = 1 << 20;
    assert_eq!(open_mpi(allreduce(8 * mib, 8 * mib), 8), A::Ring);
    assert_eq!(
        open_mpi(allreduce(8 * mib + 1, 8 * mib + 1), 8),
        A::SegmentedRing { segment: 1 << 20 }
    );

    assert_eq!(open_mpi(reduce(511, 511), 7), A::Linear);
    assert_eq!(open_mpi(reduce(512, 512), 7), A::Binomial);
    assert_eq!(open_mpi(reduce(511, 511), 8), A::Binomial);
    assert_eq!(open_mpi(reduce(20_479, 20_479), 7), A::Binomial);
    // 0.0410 / 1024 x 20,480 + 9.7128 is 10.5 and 0.0422 / 1024 x 20,480 + 1.1614 is 2.005: above the second only.
    assert_eq!(open_mpi(reduce(20_480, 20_480), 7), A::Binary { segment: 32 << 10 });
    assert_eq!(open_mpi(reduce(1 << 20, 1), 64), A::Binomial);
    // 0.6016 / 1024 x 2,048 + 1.3496 is 2.55.
    assert_eq!(open_mpi(reduce(2_047, 2_047), 64), A::Binomial);
    assert_eq!(
        open_mpi(reduce(2_048, 2_048), 64),
        A::SegmentedBinomial { segment: 1_024 }
    );
    // 64 ranks are above 0.6016 / 1024 x m + 1.3496 up to m = 106,640.
    assert_eq!(
        open_mpi(reduce(106_638, 106_638), 64),
        A::SegmentedBinomial { segment: 1_024 }
    );
    assert_eq!(open_mpi(reduce(106_640, 106_640), 64), A::Chain { segment: 1_024 });
    // Then above 0.0410 / 1024 x m + 9.7128 up to 1,355,856.
    assert_eq!(open_mpi(reduce(1_355_850, 1_355_850), 64), A::Chain { segment: 1_024 });
    assert_eq!(
        open_mpi(reduce(1_355_900, 1_355_900), 64),
        A::Binary { segment: 32 << 10 }
    );
    // Then above 0.0422 / 1024 x m + 1.1614 up to 1,524,799, and above 0.0033 / 1024 x m + 1.6761 up to 19,339,180.
    assert_eq!(
        open_mpi(reduce(1_524_700, 1_524_700), 64),
        A::Binary { segment: 32 << 10 }
    );
    assert_eq!(
        open_mpi(reduce(1_524_900, 1_524_900), 64),
        A::Chain { segment: 32 << 10 }
    );
    assert_eq!(
        open_mpi(reduce(19_339_000, 19_339_000), 64),
        A::Chain { segment: 32 << 10 }
    );
    assert_eq!(
        open_mpi(reduce(19_340_000, 19_340_000), 64),
        A::Chain { segment: 64 << 10 }
    );

    let reduce_scatter = |total, ranks| listed(Library::OpenMpi, REDUCE_SCATTER, total, ranks);
    assert_eq!(reduce_scatter(12_288, 9), A::RecursiveHalving);
    assert_eq!(reduce_scatter(12_289, 9), A::Ring);
    assert_eq!(reduce_scatter(262_144, 8), A::RecursiveHalving);
    assert_eq!(reduce_scatter(262_145, 8), A::Ring);
    // 0.0012 x 15,000 + 8 = 26.
    assert_eq!(reduce_scatter(15_000, 27), A::RecursiveHalving);
    assert_eq!(reduce_scatter(15_000, 25), A::Ring);
    assert_eq!(open_mpi(block(1 << 20), 8), A::ReduceThenScatter);
    assert_eq!([SCAN, EXSCAN].map(|call| open_mpi(call, 64)), [A::Linear; 2]);
}

#[test]
fn broadcasts_are_decided_as_in_open_mpi() {
    assert_eq!(open_mpi(broadcast(2_047), 64), A::Binomial);
    assert_eq!(open_mpi(broadcast(2_048), 64), A::SplitBinary { segment: 1_024 });
    assert_eq!(open_mpi(broadcast(370_727), 64), A::SplitBinary { segment: 1_024 });
    // 370,728 B: the lines are at 2.7 (128 KiB), 2.06 (64 KiB) and 9.98 ranks (16 KiB).
    assert_eq!(open_mpi(broadcast(370_728), 2), A::Chain { segment: 128 << 10 });
    assert_eq!(open_mpi(broadcast(370_728), 3), A::SplitBinary { segment: 8 << 10 });
    assert_eq!(open_mpi(broadcast(370_728), 12), A::SplitBinary { segment: 8 << 10 });
    assert_eq!(open_mpi(broadcast(370_728), 13), A::Chain { segment: 8 << 10 });
    // 10^7 B: 18.2, 24.9 and 40.9 ranks.
    let ten = |ranks| open_mpi(broadcast(10_000_000), ranks);
    assert_eq!(
        [18, 19].map(ten),
        [A::Chain { segment: 128 << 10 }, A::Chain { segment: 64 << 10 }]
    );
    assert_eq!(
        [24, 25].map(ten),
        [A::Chain { segment: 64 << 10 }, A::Chain { segment: 16 << 10 }]
    );
    assert_eq!(
        [40, 41].map(ten),
        [A::Chain { segment: 16 << 10 }, A::Chain { segment: 8 << 10 }]
    );
}

#[test]
fn data_movement_is_decided_as_in_open_mpi() {
    assert_eq!(open_mpi(gather(92_161), 8), A::LinearSync { segment: 32 << 10 });
    assert_eq!(open_mpi(gather(92_160), 8), A::LinearSync { segment: 1_024 });
    assert_eq!(open_mpi(gather(6_001), 8), A::LinearSync { segment: 1_024 });
    assert_eq!(open_mpi(gather(6_000), 8), A::Linear);
    assert_eq!(open_mpi(gather(6_000), 60), A::Linear);
    assert_eq!(open_mpi(gather(6_000), 61), A::Binomial);
    assert_eq!(open_mpi(gather(1_023), 11), A::Binomial);
    assert_eq!(open_mpi(gather(1_024), 11), A::Linear);
    assert_eq!(open_mpi(gather(1_023), 10), A::Linear);
    assert_eq!(open_mpi(scatter(299), 11), A::Binomial);
    assert_eq!(open_mpi(scatter(300), 11), A::Linear);
    assert_eq!(open_mpi(scatter(299), 10), A::Linear);
    assert_eq!([GATHERV, SCATTERV].map(|call| open_mpi(call, 64)), [A::Linear; 2]);

    assert_eq!(open_mpi(allgather(1 << 20), 2), A::RecursiveDoubling);
    // 8 x 6,249 B are below 50,000 B, 8 x 6,250 B are not.
    assert_eq!(open_mpi(allgather(6_249), 8), A::RecursiveDoubling);
    assert_eq!(open_mpi(allgather(6_250), 8), A::NeighborExchange);
    assert_eq!(open_mpi(allgather(9_999), 5), A::Bruck);
    assert_eq!(open_mpi(allgather(10_000), 5), A::Ring);
    let allgatherv = |total, ranks| listed(Library::OpenMpi, ALLGATHERV, total, ranks);
    assert_eq!(allgatherv(1 << 20, 2), A::RecursiveDoubling);
    assert_eq!(allgatherv(49_999, 8), A::Bruck);
    assert_eq!(allgatherv(50_000, 8), A::NeighborExchange);
    assert_eq!(allgatherv(50_000, 9), A::Ring);

    assert_eq!(open_mpi(alltoall(1), 2), A::Pairwise);
    assert_eq!(open_mpi(alltoall(199), 13), A::Bruck);
    assert_eq!(open_mpi(alltoall(200), 13), A::Linear);
    assert_eq!(open_mpi(alltoall(199), 12), A::Linear);
    assert_eq!(open_mpi(alltoall(2_999), 13), A::Linear);
    assert_eq!(open_mpi(alltoall(3_000), 13), A::Pairwise);
    assert_eq!(open_mpi(ALLTOALLV, 13), A::Pairwise);
}

#[test]
fn what_is_chosen_always_can_be_carried_out() {
    for library in [Library::Mpich, Library::OpenMpi] {
        for ranks in (1..=70).chain([1 << 20, (1 << 20) + 1]) {
            for exponent in 0..40 {
                let bytes = (1u64 << exponent) + 1;
                let calls = [
                    barrier(),
                    allreduce(bytes, bytes),
                    allreduce(bytes, 1),
                    broadcast(bytes),
                    reduce(bytes, bytes),
                    gather(bytes),
                    scatter(bytes),
                    allgather(bytes),
                    block(bytes),
                    alltoall(bytes),
                    SCAN,
                ];
                for call in calls {
                    assert!(by(library, call, ranks).supports(&call, ranks), "{call:?} on {ranks}");
                }
            }
        }
        for ranks in 1..=70 {
            for total in [0, 49_999, 50_000, 600_000] {
                for call in [ALLGATHERV, REDUCE_SCATTER, ALLTOALLV, GATHERV, SCATTERV] {
                    assert!(
                        listed(library, call, total, ranks).supports(&call, ranks),
                        "{call:?} on {ranks}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_forced_algorithm_is_taken_where_it_can_run() {
    let rules = Rules::default()
        .with(Kind::Allreduce, A::ReduceScatterAllgather)
        .with(Kind::Broadcast, A::ScatterRecursiveDoubling);
    assert_eq!(rules.check(), Ok(()));
    let chosen = |call, ranks| choose(&call, ranks, &rules, &with_total(0));
    assert_eq!(chosen(allreduce(8, 1), 4), A::ReduceScatterAllgather);
    assert_eq!(chosen(broadcast(8), 4), A::ScatterRecursiveDoubling);
    assert_eq!(chosen(broadcast(8), 6), A::Binomial);
    let wrong = Rules::default().with(Kind::Allreduce, A::Binomial);
    assert_eq!(
        wrong.check(),
        Err(
            "binomial is not an algorithm of all-reduce; expected one of recursive-doubling, reduce-scatter-allgather, \
             reduce-broadcast, ring, segmented-ring, bine-latency, bine-bandwidth, bine-segmented, offload, switches"
                .into()
        )
    );
    assert!(
        Rules::default()
            .with(Kind::Broadcast, A::Dissemination)
            .check()
            .is_err()
    );
}
