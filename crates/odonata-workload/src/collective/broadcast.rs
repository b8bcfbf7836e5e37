//! Broadcast: binomial tree, and scatter with all-gather.

use super::{Algorithm, Step, Transfer, rounds};

/// Step `index` of a broadcast; `rank < ranks`, `root < ranks`, `ranks >= 2`.
pub(super) fn step(algorithm: Algorithm, root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    // Everything runs on numbers counted from the root.
    let number = if rank >= root {
        rank - root
    } else {
        rank + (ranks - root)
    };
    let tree = Tree { number, ranks };
    if algorithm == Algorithm::Binomial {
        return tree
            .step(index, |_, _| Some(bytes))
            .ok()
            .map(|step| named(step, root, ranks));
    }
    let blocks = Blocks {
        bytes,
        each: bytes.div_ceil(u64::from(ranks)),
    };
    // Empty parts of the scatter are not sent; the all-gather sends its own, as MPICH does.
    let scattered = tree.step(index, |first, end| {
        Some(blocks.size(first, end)).filter(|&size| size > 0)
    });
    let step = match (scattered, algorithm) {
        (Ok(step), _) => step,
        (Err(index), Algorithm::ScatterRing) => ring(number, ranks, &blocks, index)?,
        (Err(index), _) => doubling(number, ranks, &blocks, index)?,
    };
    Some(named(step, root, ranks))
}

/// The same step with peers as ranks instead of numbers from the root.
fn named(step: Step, root: u32, ranks: u32) -> Step {
    let rank = |t: Transfer| Transfer {
        peer: if t.peer < ranks - root {
            t.peer + root
        } else {
            t.peer - (ranks - root)
        },
        ..t
    };
    Step {
        send: step.send.map(rank),
        recv: step.recv.map(rank),
    }
}

/// A binomial tree: the parent of a number lacks its lowest set bit, and each number is the root of
/// all numbers up to the next multiple of that bit.
struct Tree {
    number: u32,
    ranks: u32,
}

impl Tree {
    /// Step `index` on the way from parent to children, the largest subtree first, or else how far
    /// `index` lies beyond the last one. `size(first, end)` is how much goes to the subtree of the
    /// numbers `first .. end`; with `None` no message goes there.
    fn step(&self, index: u32, size: impl Fn(u32, u32) -> Option<u64>) -> Result<Step, u32> {
        let end_of = |first: u32, width: u64| (u64::from(first) + width).min(u64::from(self.ranks)) as u32;
        let mut left = index;
        let mut width = match self.number {
            0 => 1u64 << rounds(self.ranks),
            number => 1u64 << number.trailing_zeros(),
        };
        if self.number != 0
            && let Some(bytes) = size(self.number, end_of(self.number, width))
        {
            if left == 0 {
                return Ok(Step::recv(self.number - width as u32, bytes));
            }
            left -= 1;
        }
        while width > 1 {
            width /= 2;
            let child = end_of(self.number, width);
            if child == self.ranks {
                continue;
            }
            if let Some(bytes) = size(child, end_of(child, width)) {
                if left == 0 {
                    return Ok(Step::send(child, bytes));
                }
                left -= 1;
            }
        }
        Err(left)
    }
}

/// The data cut into one block per number, all of the same size but for the end of the data: the
/// last blocks are shorter or empty.
struct Blocks {
    bytes: u64,
    each: u64,
}

impl Blocks {
    /// Bytes of the blocks `first .. end`.
    fn size(&self, first: u32, end: u32) -> u64 {
        let before = |block: u32| self.each.saturating_mul(u64::from(block)).min(self.bytes);
        before(end) - before(first)
    }
}

/// All-gather on a power of two: what has been gathered is swapped over distances 1, 2, 4, ...
fn doubling(number: u32, ranks: u32, blocks: &Blocks, index: u32) -> Option<Step> {
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    let partner = number ^ distance;
    let gathered = |number: u32| {
        let first = number & !(distance - 1);
        blocks.size(first, first + distance)
    };
    Some(Step {
        send: Some(Transfer {
            peer: partner,
            bytes: gathered(number),
        }),
        recv: Some(Transfer {
            peer: partner,
            bytes: gathered(partner),
        }),
    })
}

/// All-gather around a ring: everybody passes on to the right what came from the left, starting
/// with the own block.
fn ring(number: u32, ranks: u32, blocks: &Blocks, index: u32) -> Option<Step> {
    if index >= ranks - 1 {
        return None;
    }
    let back = |from: u32, by: u32| if from >= by { from - by } else { from + (ranks - by) };
    let (left, right) = (back(number, 1), back(number, ranks - 1));
    let block = |number: u32| blocks.size(number, number + 1);
    Some(Step {
        send: Some(Transfer {
            peer: right,
            bytes: block(back(number, index)),
        }),
        recv: Some(Transfer {
            peer: left,
            bytes: block(back(left, index)),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_blocks_are_short_or_empty() {
        // ceil(10 / 8) = 2 bytes each: five blocks are full and three are empty.
        let blocks = Blocks { bytes: 10, each: 2 };
        let sizes: Vec<u64> = (0..8).map(|b| blocks.size(b, b + 1)).collect();
        assert_eq!(sizes, [2, 2, 2, 2, 2, 0, 0, 0]);
        assert_eq!(blocks.size(4, 8), 2);
    }

    #[test]
    fn the_root_of_six_sends_to_four_two_one() {
        let tree = Tree { number: 0, ranks: 6 };
        let children: Vec<_> = (0..4)
            .map(|i| tree.step(i, |first, end| Some(u64::from(end - first))))
            .collect();
        assert_eq!(
            children,
            [Ok(Step::send(4, 2)), Ok(Step::send(2, 2)), Ok(Step::send(1, 1)), Err(0)]
        );
    }
}
