//! Gather and scatter, of equal and listed blocks.

use super::tree::{Tree, from_root, named};
use super::{Algorithm, Step, Transfer, bine};

/// Step `index` of a gather of `bytes` from each; `rank < ranks`, `root < ranks`, `ranks >= 2`.
pub(super) fn gather(algorithm: Algorithm, root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::Binomial => {
            let number = from_root(rank, root, ranks);
            let size = |first: u32, end: u32| bytes.saturating_mul(u64::from(end - first));
            let step = Tree { number, ranks }.up(index, size).ok()?;
            Some(named(step, root, ranks))
        }
        Algorithm::BineLatency => bine::gather(root, bytes, rank, ranks, index),
        Algorithm::LinearSync { segment } => linear_sync(root, bytes, u64::from(segment), rank, ranks, index),
        // One after the other, as Open MPI receives them.
        _ if rank == root => (index < ranks - 1).then(|| Step::recv(other(root, index), bytes)),
        _ => (index == 0).then(|| Step::send(root, bytes)),
    }
}

/// Step `index` of a scatter of `bytes` to each; as [`gather`].
pub(super) fn scatter(algorithm: Algorithm, root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::Binomial => {
            let number = from_root(rank, root, ranks);
            let size = |first: u32, end: u32| Some(bytes.saturating_mul(u64::from(end - first)));
            let step = Tree { number, ranks }.down(index, size).ok()?;
            Some(named(step, root, ranks))
        }
        Algorithm::BineLatency => bine::scatter(root, bytes, rank, ranks, index),
        _ if rank == root => (index < ranks - 1).then(|| Step::send(other(root, index), bytes)),
        _ => (index == 0).then(|| Step::recv(root, bytes)),
    }
}

/// Step `index` of a gather in which rank `r` gives `size(r)` bytes: the root posts all receives at once; empty blocks
/// are not sent.
pub(super) fn gatherv(root: u32, rank: u32, ranks: u32, index: u32, size: impl Fn(u32) -> u64) -> Option<Step> {
    spread(root, rank, ranks, index, size).map(|step| Step {
        send: step.recv,
        recv: step.send,
        ..step
    })
}

/// Step `index` of a scatter in which rank `r` gets `size(r)` bytes; as [`gatherv`].
pub(super) fn scatterv(root: u32, rank: u32, ranks: u32, index: u32, size: impl Fn(u32) -> u64) -> Option<Step> {
    spread(root, rank, ranks, index, size)
}

fn spread(root: u32, rank: u32, ranks: u32, index: u32, size: impl Fn(u32) -> u64) -> Option<Step> {
    let filled = |peer: u32, bytes: u64| (bytes > 0).then_some(Transfer { peer, bytes });
    if rank == root {
        return (index < ranks - 1).then(|| {
            let peer = other(root, index);
            Step {
                send: filled(peer, size(peer)),
                recv: None,
                more: index + 2 < ranks,
            }
        });
    }
    let recv = (index == 0).then(|| filled(root, size(rank))).flatten()?;
    Some(Step::recv(recv.peer, recv.bytes))
}

/// The root requests one rank after the other; each sends a first segment, and then the rest during the next request
/// (`ompi_coll_base_gather_intra_linear_sync`, whose root waits for the rests only at the end).
fn linear_sync(root: u32, bytes: u64, segment: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let first = bytes.min(segment);
    let rest = bytes - first;
    if rank != root {
        return match index {
            0 => Some(Step::recv(root, 0)),
            1 => Some(Step::send(root, first)),
            2 if rest > 0 => Some(Step::send(root, rest)),
            _ => None,
        };
    }
    let ask =
        |which: u32| (which < ranks - 1).then(|| Step::both((other(root, which), 0), (other(root, which), first)));
    match (rest, index % 2) {
        (0, _) => ask(index),
        (_, 0) => ask(index / 2),
        // The rest of the previous rank, together with the next request.
        _ => (index / 2 < ranks - 1).then(|| Step::recv(other(root, index / 2), rest).and_more(index / 2 + 2 < ranks)),
    }
}

/// The `index`-th rank other than the root.
pub(super) fn other(root: u32, index: u32) -> u32 {
    index + u32::from(index >= root)
}
