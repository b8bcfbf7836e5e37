//! Bine butterflies and trees, and sparbit; on powers of two.
//!
//! At level `i` an even rank `r` meets `r + s`, an odd one `r - s`, with `s = 1, -1, 3, -5, 11, ... = (1 - (-2)^(i+1)) /
//! 3`: from every rank the levels `j`, `j + 1`, ... reach a set of `2^(levels - j)` ranks, `reached(j)`, that the partner
//! of level `j - 1` shares the double of. A reduce-scatter goes through the levels upwards, an all-gather downwards, so
//! that the longest messages go to the nearest ranks. Upwards, what a rank has gathered is a range around the ring.
//!
//! Sources: D. De Sensi, S. Pasqualoni, L. Piarulli, T. Bonato, S. Ba, M. Turisini, J. Domke, T. Hoefler, "Bine Trees:
//! Enhancing Collective Operations by Optimizing Communication Locality", SC 2025; sparbit: W. Jocksch et al.'s
//! allgather family as S. Loch, G. Koslovski, "Sparbit: towards to a logarithmic-cost and data locality-aware MPI
//! Allgather algorithm", SBAC-PAD 2021. The renumbering of `BineSend` is assumed: the bits of a rank reversed.

use super::allreduce::ring_parts;
use super::blocks::{Blocks, Vector};
use super::tree::{from_root, named};
use super::{Algorithm, Step, Transfer, back, forward};

/// The butterfly of `ranks`, a power of two.
#[derive(Clone, Copy)]
pub(super) struct Butterfly {
    pub(super) ranks: u32,
}

impl Butterfly {
    fn levels(self) -> u32 {
        self.ranks.ilog2()
    }

    /// The rank that `rank` meets at `level`.
    pub(super) fn peer(self, rank: u32, level: u32) -> u32 {
        let distance = (1 - (-2i64).pow(level + 1)) / 3;
        let signed = if rank.is_multiple_of(2) { distance } else { -distance };
        (i64::from(rank) + signed).rem_euclid(i64::from(self.ranks)) as u32
    }

    /// Rank number `index` of those that `rank` reaches from `level` on.
    fn reached(self, mut rank: u32, level: u32, index: u32) -> u32 {
        let levels = self.levels();
        for at in level..levels {
            if index >> (levels - 1 - at) & 1 == 1 {
                rank = self.peer(rank, at);
            }
        }
        rank
    }

    /// Bytes of the blocks of the ranks that `rank` reaches from `level` on; `block` names the block of a rank.
    fn bytes(self, blocks: &Blocks, rank: u32, level: u32, block: impl Fn(u32) -> u32 + Copy) -> u64 {
        let count = 1u32 << (self.levels() - level);
        match blocks {
            Blocks::Equal(each) => each.saturating_mul(count.into()),
            _ => (0..count).fold(0, |sum: u64, index| {
                sum.saturating_add(blocks.one(block(self.reached(rank, level, index))))
            }),
        }
    }

    /// The exchange of an all-gather at `level`: what each has from the higher levels.
    fn gather(self, blocks: &Blocks, rank: u32, level: u32, block: impl Fn(u32) -> u32 + Copy) -> Step {
        let peer = self.peer(rank, level);
        let has = |rank| self.bytes(blocks, rank, level + 1, block);
        Step::both((peer, has(rank)), (peer, has(peer)))
    }

    /// The exchange of a reduce-scatter at `level`: what the other, and the ranks behind it, are to have.
    fn scatter(self, blocks: &Blocks, rank: u32, level: u32, block: impl Fn(u32) -> u32 + Copy) -> Step {
        let peer = self.peer(rank, level);
        let wants = |rank| self.bytes(blocks, rank, level + 1, block);
        Step::both((peer, wants(peer)), (peer, wants(rank)))
    }

    /// The number of `rank` after the exchange that renumbers the ranks.
    fn renumbered(self, rank: u32) -> u32 {
        rank.reverse_bits() >> (u32::BITS - self.levels())
    }

    /// The exchange that renumbers the ranks, which moves a block.
    fn renumber(self, blocks: &Blocks, rank: u32) -> Step {
        let peer = self.renumbered(rank);
        if peer == rank {
            return Step::nothing();
        }
        Step::both((peer, blocks.one(rank)), (peer, blocks.one(peer)))
    }

    /// The first of the `2^level` ranks whose blocks `rank` has after the levels below `level`, upwards: a range
    /// around the ring, which even ranks extend to the right at even levels.
    fn range_start(self, rank: u32, level: u32) -> u32 {
        let parity = if rank.is_multiple_of(2) { 1 } else { 0 };
        let left = (0..level).filter(|at| at % 2 == parity).map(|at| 1u32 << at).sum();
        back(rank, left, self.ranks)
    }

    /// Parts of the range of `rank` at `level`: up to the last block, and from the first one on.
    fn range_parts(self, blocks: &Blocks, rank: u32, level: u32) -> [Option<u64>; 2] {
        let (first, length) = (self.range_start(rank, level), 1u32 << level);
        let before = length.min(self.ranks - first);
        let rest = length - before;
        [
            Some(blocks.size(first, first + before)),
            (rest > 0).then(|| blocks.size(0, rest)),
        ]
    }

    /// The level at which `number` gets data that start at number 0, upwards: the first after which its range has 0.
    fn level_of(self, number: u32) -> u32 {
        let has = |level: u32| back(0, self.range_start(number, level), self.ranks) < 1 << level;
        (0..self.levels()).find(|&level| has(level + 1)).unwrap_or(0)
    }

    /// Step `index` of the tree from number 0: from the parent, then to the children, all at once or one by one.
    /// `size(level)` is what goes to the child of a level.
    fn down(self, number: u32, index: u32, at_once: bool, size: impl Fn(u32) -> u64) -> Result<Step, u32> {
        let (mut first, mut left) = (0, index);
        if number != 0 {
            let level = self.level_of(number);
            if left == 0 {
                return Ok(Step::recv(self.peer(number, level), size(level)));
            }
            (first, left) = (level + 1, left - 1);
        }
        if let Some(beyond) = left.checked_sub(self.levels() - first) {
            return Err(beyond);
        }
        let level = first + left;
        let step = Step::send(self.peer(number, level), size(level));
        Ok(step.and_more(at_once && level + 1 < self.levels()))
    }

    /// Step `index` of the tree to number 0: from the children, the latest first, then to the parent.
    fn up(self, number: u32, index: u32, size: impl Fn(u32) -> u64) -> Option<Step> {
        let first = if number == 0 { 0 } else { self.level_of(number) + 1 };
        let children = self.levels() - first;
        if index < children {
            let level = self.levels() - 1 - index;
            return Some(Step::recv(self.peer(number, level), size(level)));
        }
        let level = first.checked_sub(1)?;
        (index == children).then(|| Step::send(self.peer(number, level), size(level)))
    }
}

/// Step `index` of an all-gather.
pub(super) fn allgather(algorithm: Algorithm, blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let fly = Butterfly { ranks };
    let levels = fly.levels();
    match algorithm {
        Algorithm::BinePermute => (index < levels).then(|| fly.gather(blocks, rank, levels - 1 - index, |rank| rank)),
        Algorithm::BineSend => match index {
            0 => Some(fly.renumber(blocks, rank)),
            _ => (index <= levels).then(|| fly.gather(blocks, rank, levels - index, |rank| fly.renumbered(rank))),
        },
        Algorithm::BineTwoBlocks => {
            let (level, part) = (index / 2, (index % 2) as usize);
            (level < levels).then(|| {
                let peer = fly.peer(rank, level);
                let transfer =
                    |from: u32| fly.range_parts(blocks, from, level)[part].map(|bytes| Transfer { peer, bytes });
                Step {
                    send: transfer(rank),
                    recv: transfer(peer),
                    more: part == 0,
                }
            })
        }
        // One message per block.
        _ => {
            let done = index.checked_add(1).filter(|&done| done < ranks)?;
            let round = done.ilog2();
            let block = done - (1 << round);
            let more = block + 1 < 1 << round;
            let step = if algorithm == Algorithm::Sparbit {
                let distance = ranks >> (round + 1);
                let (to, from) = (forward(rank, distance, ranks), back(rank, distance, ranks));
                let held = |rank| blocks.one(back(rank, block * 2 * distance, ranks));
                Step::both((to, held(rank)), (from, held(from)))
            } else {
                let level = levels - 1 - round;
                let peer = fly.peer(rank, level);
                let held = |rank| blocks.one(fly.reached(rank, level + 1, block));
                Step::both((peer, held(rank)), (peer, held(peer)))
            };
            Some(step.and_more(more))
        }
    }
}

/// Step `index` of a reduce-scatter.
pub(super) fn reduce_scatter(algorithm: Algorithm, blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let fly = Butterfly { ranks };
    let levels = fly.levels();
    match (algorithm, index) {
        (Algorithm::BineSend, _) if index < levels => {
            Some(fly.scatter(blocks, rank, index, |rank| fly.renumbered(rank)))
        }
        // Each block goes to its rank.
        (Algorithm::BineSend, _) => (index == levels).then(|| {
            let peer = fly.renumbered(rank);
            if peer == rank {
                return Step::nothing();
            }
            Step::both((peer, blocks.one(peer)), (peer, blocks.one(rank)))
        }),
        _ => (index < levels).then(|| fly.scatter(blocks, rank, index, |rank| rank)),
    }
}

/// The messages of a reduce-scatter in segments: blocks are cut into `parts`, of which `together` go in one message.
#[derive(Clone, Copy)]
struct Cut {
    parts: u32,
    together: u32,
}

impl Cut {
    /// For segments of at most `segment` bytes of the all-reduce of a vector on `ranks`; 0: unsegmented.
    fn new(bytes: u64, count: u64, segment: u32, ranks: u32) -> Cut {
        let parts = ring_parts(bytes, count, segment, ranks);
        let block = count.div_ceil(ranks.into()) * bytes.checked_div(count).unwrap_or(1);
        let together = match (segment, parts) {
            (0, _) => u32::MAX,
            (_, 1) => (u64::from(segment) / block.max(1)).clamp(1, u32::MAX.into()) as u32,
            _ => 1,
        };
        Cut { parts, together }
    }

    /// Messages of the exchange of `blocks` blocks.
    fn messages(self, blocks: u32) -> u32 {
        let all = u64::from(blocks) * u64::from(self.parts);
        all.div_ceil(self.together.into()).min(u32::MAX.into()) as u32
    }
}

/// Whether step `index` of an all-reduce on `ranks` comes before its all-gather.
pub(super) fn is_scattering(segment: u32, bytes: u64, count: u64, ranks: u32, index: u32) -> bool {
    let cut = Cut::new(bytes, count, segment, ranks);
    let exchanges = (0..ranks.ilog2()).map(|level| u64::from(cut.messages(ranks >> (level + 1))));
    u64::from(index) < exchanges.sum()
}

/// Step `index` of an all-reduce.
pub(super) fn allreduce(
    algorithm: Algorithm,
    bytes: u64,
    count: u64,
    rank: u32,
    ranks: u32,
    index: u32,
) -> Option<Step> {
    let fly = Butterfly { ranks };
    let levels = fly.levels();
    let segment = match algorithm {
        Algorithm::BineLatency => {
            return (index < levels).then(|| {
                let peer = fly.peer(rank, index);
                Step::both((peer, bytes), (peer, bytes))
            });
        }
        Algorithm::BineSegmented { segment } => segment,
        _ => 0,
    };
    let vector = Vector {
        bytes,
        count,
        blocks: ranks,
    };
    let blocks = match count.is_multiple_of(ranks.into()) && bytes.is_multiple_of(ranks.into()) {
        true => Blocks::Equal(bytes / u64::from(ranks)),
        false => Blocks::OfVector(vector),
    };
    let cut = Cut::new(bytes, count, segment, ranks);
    let mut left = index;
    for level in 0..levels {
        let messages = cut.messages(ranks >> (level + 1));
        if left < messages {
            if messages == 1 {
                return Some(fly.scatter(&blocks, rank, level, |rank| rank));
            }
            let peer = fly.peer(rank, level);
            let first = u64::from(left) * u64::from(cut.together);
            let all = u64::from(ranks >> (level + 1)) * u64::from(cut.parts);
            let wants = |rank: u32| {
                let parts = first..all.min(first + u64::from(cut.together));
                parts.fold(0, |sum: u64, part| {
                    let block = fly.reached(rank, level + 1, (part / u64::from(cut.parts)) as u32);
                    let part = (part % u64::from(cut.parts)) as u32;
                    sum.saturating_add(vector.within(block, cut.parts).one(part))
                })
            };
            return Some(Step::both((peer, wants(peer)), (peer, wants(rank))));
        }
        left -= messages;
    }
    (left < levels).then(|| fly.gather(&blocks, rank, levels - 1 - left, |rank| rank))
}

/// Step `index` of a broadcast.
pub(super) fn broadcast(
    algorithm: Algorithm,
    root: u32,
    bytes: u64,
    rank: u32,
    ranks: u32,
    index: u32,
) -> Option<Step> {
    let fly = Butterfly { ranks };
    let number = from_root(rank, root, ranks);
    let step = if algorithm == Algorithm::BineLatency {
        fly.down(number, index, true, |_| bytes).ok()?
    } else {
        let each = bytes.div_ceil(ranks.into());
        match fly.down(number, index, false, |level| subtree(each, ranks, level)) {
            Ok(step) => step,
            Err(left) => (left < fly.levels())
                .then(|| fly.gather(&Blocks::Equal(each), number, fly.levels() - 1 - left, |rank| rank))?,
        }
    };
    Some(named(step, root, ranks))
}

/// Bytes of the blocks below the child of `level`.
fn subtree(each: u64, ranks: u32, level: u32) -> u64 {
    each.saturating_mul(u64::from(ranks >> (level + 1)))
}

/// Step `index` of a reduction to `root`.
pub(super) fn reduce(algorithm: Algorithm, root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let fly = Butterfly { ranks };
    let number = from_root(rank, root, ranks);
    let step = if algorithm == Algorithm::BineLatency {
        fly.up(number, index, |_| bytes)?
    } else {
        let blocks = Blocks::Equal(bytes.div_ceil(ranks.into()));
        match index.checked_sub(fly.levels()) {
            None => fly.scatter(&blocks, number, index, |rank| rank),
            Some(index) => fly.up(number, index, |level| subtree(blocks.one(0), ranks, level))?,
        }
    };
    Some(named(step, root, ranks))
}

/// Step `index` of a gather of `bytes` from each to `root`.
pub(super) fn gather(root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let number = from_root(rank, root, ranks);
    let step = Butterfly { ranks }.up(number, index, |level| subtree(bytes, ranks, level))?;
    Some(named(step, root, ranks))
}

/// Step `index` of a scatter of `bytes` to each from `root`.
pub(super) fn scatter(root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let number = from_root(rank, root, ranks);
    let step = Butterfly { ranks }.down(number, index, false, |level| subtree(bytes, ranks, level));
    Some(named(step.ok()?, root, ranks))
}

/// Step `index` of an all-to-all of equal blocks: at each level the half that is for the ranks behind the other.
pub(super) fn alltoall(bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let fly = Butterfly { ranks };
    (index < fly.levels()).then(|| {
        let peer = fly.peer(rank, index);
        let half = bytes.saturating_mul(u64::from(ranks / 2));
        Step::both((peer, half), (peer, half))
    })
}
