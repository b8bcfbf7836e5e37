//! All-reduce: recursive doubling, and reduce-scatter with all-gather.

use super::{Algorithm, Step, Transfer, power_of_two_within};

/// Step `index` of an all-reduce; `rank < ranks`, `ranks >= 2`.
///
/// Both algorithms run on a power of two `p` of ranks. The `r = ranks - p` left over are folded in:
/// of the first `2 r` ranks each even one gives its vector to the odd one after it, which takes part
/// as number `rank / 2`, and gets the result back at the end; the others are number `rank - r`.
pub(super) fn step(algorithm: Algorithm, bytes: u64, count: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
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
        let transfer = Some(Transfer {
            peer: rank_of(number ^ (1 << index)),
            bytes,
        });
        return Some(Step {
            send: transfer,
            recv: transfer,
        });
    }

    // Bit `level` of the number decides which half of what is left after `level` halvings a rank
    // keeps. Going down it gives the other half away; coming up it gives its own and gets the other.
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
    Some(Step {
        send: Some(Transfer { peer, bytes: given }),
        recv: Some(Transfer { peer, bytes: got }),
    })
}

/// A vector cut into blocks of whole elements, as evenly as possible: the first
/// `count mod blocks` of them have one element more.
struct Vector {
    bytes: u64,
    count: u64,
    blocks: u32,
}

impl Vector {
    /// Size of the run of blocks that `number` still works on after `levels` halvings.
    fn bytes_kept(&self, number: u32, levels: u32) -> u64 {
        let mut first = 0;
        let mut length = self.blocks;
        for level in 0..levels {
            length /= 2;
            first += length * (number >> level & 1);
        }
        self.bytes_before(first + length) - self.bytes_before(first)
    }

    /// Bytes before `block`.
    fn bytes_before(&self, block: u32) -> u64 {
        if self.count == 0 {
            return if block == self.blocks { self.bytes } else { 0 };
        }
        let (block, blocks) = (u64::from(block), u64::from(self.blocks));
        let elements = block * (self.count / blocks) + block.min(self.count % blocks);
        // Wide, as a vector of 2^40 bytes with 2^38 elements overflows the product; and divided
        // last, so that a size that is no multiple of the count still adds up.
        (u128::from(elements) * u128::from(self.bytes) / u128::from(self.count)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_differ_by_one_element_at_most_and_add_up() {
        // 11 elements of 4 bytes in 4 blocks: 3 + 3 + 3 + 2.
        let vector = Vector {
            bytes: 44,
            count: 11,
            blocks: 4,
        };
        let sizes: Vec<u64> = (0..4)
            .map(|b| vector.bytes_before(b + 1) - vector.bytes_before(b))
            .collect();
        assert_eq!(sizes, [12, 12, 12, 8]);
    }

    #[test]
    fn bit_k_of_the_number_chooses_the_half_at_level_k() {
        let vector = Vector {
            bytes: 11,
            count: 11,
            blocks: 8,
        };
        // Blocks of 2, 2, 2, 1, 1, 1, 1, 1 bytes.
        assert_eq!([1, 2, 3].map(|levels| vector.bytes_kept(1, levels)), [4, 2, 1]);
        assert_eq!([1, 2, 3].map(|levels| vector.bytes_kept(0, levels)), [7, 4, 2]);
    }
}
