//! Local work of a collective: sums of received data with the own, and copies.
//!
//! What a step receives is summed in the reducing part of its algorithm, and only moved in the other (`reducing`).
//! Copies: reductions copy their input into the buffer of the result first; Bruck's algorithms rotate all blocks at the
//! end, that of all-to-alls also at the start, and pack and unpack what each step moves. Bine algorithms that permute copy
//! all blocks once, those of all-to-alls what each step moves, twice.

use super::{Algorithm, Collective, Kind, Step, power_of_two_within, rounds};

/// Bytes of local work that follow the messages of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalWork {
    /// Received bytes that are summed with own ones.
    pub reduced: u64,
    /// Bytes that are copied.
    pub copied: u64,
}

/// The local work of `step`, step `index` of `rank` among `ranks`.
pub fn local_work(
    collective: &Collective,
    algorithm: Algorithm,
    rank: u32,
    ranks: u32,
    index: u32,
    step: &Step,
) -> LocalWork {
    if matches!(algorithm, Algorithm::Offload { .. } | Algorithm::Switches) {
        // The interfaces or the routers sum.
        return LocalWork::default();
    }
    let received = step.recv.map_or(0, |recv| recv.bytes);
    let input = input(collective, ranks);
    let copied = match (*collective, algorithm) {
        (Collective::Allgather { bytes, .. }, Algorithm::Bruck) if index + 1 == rounds(ranks) => {
            bytes.saturating_mul(ranks.into())
        }
        (Collective::Allgather { bytes, .. }, Algorithm::BinePermute) if index + 1 == rounds(ranks) => {
            bytes.saturating_mul(ranks.into())
        }
        (Collective::ReduceScatterBlock { .. }, Algorithm::BinePermute) if index == 0 => input.saturating_mul(2),
        (Collective::Alltoall { .. }, Algorithm::BinePermute) => received.saturating_mul(2),
        (Collective::Alltoall { bytes, .. }, Algorithm::Bruck) => {
            let ends = u64::from(index == 0) + u64::from(index + 1 == rounds(ranks));
            let all = bytes.saturating_mul(ranks.into()).saturating_mul(ends);
            all.saturating_add(received.saturating_mul(2))
        }
        _ if index == 0 => input,
        _ => 0,
    };
    LocalWork {
        reduced: if reducing(collective, algorithm, rank, ranks, index, step) {
            received
        } else {
            0
        },
        copied,
    }
}

/// Bytes of the vector of a reduction, as its rank has it; 0 for other collectives and listed sizes.
fn input(collective: &Collective, ranks: u32) -> u64 {
    match *collective {
        Collective::Allreduce { bytes, .. }
        | Collective::Reduce { bytes, .. }
        | Collective::Scan { bytes, .. }
        | Collective::Exscan { bytes, .. } => bytes,
        Collective::ReduceScatterBlock { bytes, .. } => bytes.saturating_mul(ranks.into()),
        _ => 0,
    }
}

/// Whether what `step` receives is summed.
fn reducing(collective: &Collective, algorithm: Algorithm, rank: u32, ranks: u32, index: u32, step: &Step) -> bool {
    let Some(recv) = step.recv else {
        return false;
    };
    // Of the first ranks, which are folded in pairs: those that stay out of the exchanges, and the step before these.
    let p = power_of_two_within(ranks);
    let folded = rank / 2 < ranks - p;
    let halvings = p.ilog2();
    let before = |exchanges: u32, outside: bool| match (folded, outside) {
        (true, true) => false,
        (true, false) => index <= exchanges,
        (false, _) => index < exchanges,
    };
    let even = rank.is_multiple_of(2);
    match (collective.which(), algorithm) {
        (Kind::Allreduce, Algorithm::RecursiveDoubling)
        | (Kind::ReduceScatterBlock | Kind::ReduceScatter, Algorithm::RecursiveHalving) => before(halvings, even),
        (Kind::Allreduce, Algorithm::ReduceScatterAllgather) => before(halvings, even),
        (Kind::Reduce, Algorithm::ReduceScatterGather) => before(halvings, !even),
        // From children, whose numbers are higher.
        (Kind::Allreduce, Algorithm::ReduceBroadcast)
        | (Kind::ReduceScatterBlock | Kind::ReduceScatter, Algorithm::ReduceThenScatter) => recv.peer > rank,
        // All rounds but the last.
        (Kind::Allreduce, Algorithm::Ring) => index < ranks - 1,
        (Kind::Allreduce, Algorithm::BineBandwidth | Algorithm::BineSegmented { .. }) => {
            let segment = match algorithm {
                Algorithm::BineSegmented { segment } => segment,
                _ => 0,
            };
            match *collective {
                Collective::Allreduce { bytes, count, .. } => {
                    super::bine::is_scattering(segment, bytes, count, ranks, index)
                }
                _ => false,
            }
        }
        (Kind::Reduce, Algorithm::BineBandwidth)
        | (Kind::ReduceScatter | Kind::ReduceScatterBlock, Algorithm::BineSend) => index < ranks.ilog2(),
        (Kind::Allreduce, Algorithm::SegmentedRing { segment }) => match *collective {
            Collective::Allreduce { bytes, count, .. } => {
                let parts = super::allreduce::ring_parts(bytes, count, segment, ranks);
                u64::from(index) < u64::from(parts) * u64::from(ranks - 1)
            }
            _ => false,
        },
        (kind, _) => matches!(
            kind,
            Kind::Allreduce | Kind::Reduce | Kind::ReduceScatter | Kind::ReduceScatterBlock | Kind::Scan | Kind::Exscan
        ),
    }
}
