//! All-reduce: recursive doubling, reduce-scatter with all-gather, rings, reduce with broadcast.

use super::blocks::Vector;
use super::tree::{Tree, up_and_down};
use super::{Algorithm, Step, back, bine, forward, power_of_two_within};

/// Step `index` of an all-reduce; `rank < ranks`, `ranks >= 2`.
#[inline]
pub(super) fn step(algorithm: Algorithm, bytes: u64, count: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::Ring => ring(bytes, count, 1, rank, ranks, index),
        Algorithm::SegmentedRing { segment } => ring(
            bytes,
            count,
            ring_parts(bytes, count, segment, ranks),
            rank,
            ranks,
            index,
        ),
        Algorithm::ReduceBroadcast => Tree { number: rank, ranks }.up_and_down(bytes, index),
        Algorithm::Switches => (index == 0).then(Step::nothing),
        Algorithm::Offload { radix } => up_and_down(rank, ranks, radix, bytes, index),
        Algorithm::BineLatency | Algorithm::BineBandwidth | Algorithm::BineSegmented { .. } => {
            bine::allreduce(algorithm, bytes, count, rank, ranks, index)
        }
        _ => folded(algorithm, bytes, count, rank, ranks, index),
    }
}

/// Both algorithms run on a power of two `p` of ranks. The other `r = ranks - p` ranks are folded in: of the first `2
/// r` ranks, each even one sends its vector to the next odd one, which takes part as number `rank / 2` and returns the
/// result at the end; the others are number `rank - r`.
#[inline]
fn folded(algorithm: Algorithm, bytes: u64, count: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let p = power_of_two_within(ranks);
    let rest = ranks - p;
    let folded = rank / 2 < rest;
    if folded && rank.is_multiple_of(2) {
        return match index {
            0 => Some(Step::send(rank + 1, bytes)),
            1 => Some(Step::recv(rank + 1, bytes)),
            _ => None,
        };
    }
    let (number, index) = match (folded, index) {
        (true, 0) => return Some(Step::recv(rank - 1, bytes)),
        (true, _) => (rank / 2, index - 1),
        (false, _) => (rank - rest, index),
    };
    let rank_of = |number: u32| if number < rest { 2 * number + 1 } else { number + rest };

    let halvings = p.ilog2();
    let exchanges = if algorithm == Algorithm::RecursiveDoubling {
        halvings
    } else {
        2 * halvings
    };
    if index >= exchanges {
        return (folded && index == exchanges).then(|| Step::send(rank - 1, bytes));
    }
    if algorithm == Algorithm::RecursiveDoubling {
        let peer = rank_of(number ^ (1 << index));
        return Some(Step::both((peer, bytes), (peer, bytes)));
    }

    // Bit `level` of the number selects the half that a rank keeps at that halving. On the way down it sends the other
    // half; on the way up it sends its own and receives the other.
    let vector = Vector {
        bytes,
        count,
        blocks: p,
    };
    let down = index < halvings;
    let level = if down { index } else { 2 * halvings - 1 - index };
    let partner = number ^ (1 << level);
    let own = vector.bytes_kept(number, level + 1);
    let other = vector.bytes_kept(partner, level + 1);
    let (given, got) = if down { (other, own) } else { (own, other) };
    let peer = rank_of(partner);
    Some(Step::both((peer, given), (peer, got)))
}

/// Number of parts into which a segmented ring cuts its blocks, so that none exceeds `segment` (or one element).
#[inline(never)]
pub(super) fn ring_parts(bytes: u64, count: u64, segment: u32, ranks: u32) -> u32 {
    let element = bytes.checked_div(count).unwrap_or(1).max(1);
    let most = if segment == 0 {
        u64::MAX
    } else {
        (u64::from(segment) / element).max(1)
    };
    let longest = count.div_ceil(u64::from(ranks));
    longest.div_ceil(most).clamp(1, u64::from(u32::MAX)) as u32
}

/// One block per rank travels the ring and is summed, its `parts` one after the other; then the finished blocks travel
/// once more, unsegmented.
#[inline(never)]
fn ring(bytes: u64, count: u64, parts: u32, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let vector = Vector {
        bytes,
        count,
        blocks: ranks,
    };
    let (left, right) = (back(rank, 1, ranks), forward(rank, 1, ranks));
    let around = u64::from(ranks - 1);
    let (round, step) = (u64::from(index) / around, (u64::from(index) % around) as u32);
    let (given, got) = (back(rank, step, ranks), back(left, step, ranks));
    if round < u64::from(parts) {
        let size = |block: u32| vector.within(block, parts).one(round as u32);
        return Some(Step::both((right, size(given)), (left, size(got))));
    }
    let (given, got) = (forward(given, 1, ranks), forward(got, 1, ranks));
    (round == u64::from(parts)).then(|| Step::both((right, vector.one(given)), (left, vector.one(got))))
}
