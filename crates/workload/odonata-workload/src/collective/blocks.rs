//! Division of data into one block per rank, and into segments of a pipeline.

use super::Sizes;
use crate::Counts;

/// Data divided into one block per rank.
#[derive(Clone, Copy)]
pub(super) enum Blocks<'a> {
    /// Blocks of equal size in bytes.
    Equal(u64),
    /// Blocks of equal size except at the end of the data: the last ones are shorter or empty.
    Filled {
        /// Size of the data.
        bytes: u64,
        /// Size of a full block.
        each: u64,
    },
    /// The blocks of a vector.
    OfVector(Vector),
    /// Sizes from a list.
    Listed {
        /// Which list.
        counts: Counts,
        /// Source of its values.
        sizes: &'a dyn Sizes,
    },
}

impl Blocks<'_> {
    /// Bytes of the blocks `first .. end`. Listed blocks are queried one by one; an algorithm that moves ever larger
    /// runs queries each about once.
    #[inline]
    pub(super) fn size(&self, first: u32, end: u32) -> u64 {
        match *self {
            Blocks::Equal(each) => each.saturating_mul(u64::from(end - first)),
            Blocks::Filled { bytes, each } => {
                let before = |block: u32| each.saturating_mul(u64::from(block)).min(bytes);
                before(end) - before(first)
            }
            Blocks::OfVector(vector) => vector.bytes_before(end) - vector.bytes_before(first),
            Blocks::Listed { counts, sizes } => {
                let sum = |sum: u64, block| sum.saturating_add(sizes.bytes(counts, block, block));
                (first..end).fold(0, sum)
            }
        }
    }

    /// Bytes of block `block`.
    #[inline]
    pub(super) fn one(&self, block: u32) -> u64 {
        self.size(block, block + 1)
    }

    /// Bytes of `length` blocks from `first` on, wrapping around after the last.
    pub(super) fn around(&self, first: u32, length: u32, ranks: u32) -> u64 {
        let left = ranks - first;
        if length <= left {
            self.size(first, first + length)
        } else {
            self.size(first, ranks).saturating_add(self.size(0, length - left))
        }
    }
}

/// A vector divided evenly into blocks of whole elements: the first `count mod blocks` blocks have one element more.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    pub(super) bytes: u64,
    pub(super) count: u64,
    pub(super) blocks: u32,
}

impl Vector {
    /// Size of the run of blocks that `number` still holds after `levels` halvings.
    pub(super) fn bytes_kept(&self, number: u32, levels: u32) -> u64 {
        let mut first = 0;
        let mut length = self.blocks;
        for level in 0..levels {
            length /= 2;
            first += length * (number >> level & 1);
        }
        self.bytes_before(first + length) - self.bytes_before(first)
    }

    /// Size of block `block`.
    pub(super) fn one(&self, block: u32) -> u64 {
        self.bytes_before(block + 1) - self.bytes_before(block)
    }

    /// Elements before `block`.
    fn elements_before(&self, block: u32) -> u64 {
        let (block, blocks) = (u64::from(block), u64::from(self.blocks));
        block * (self.count / blocks) + block.min(self.count % blocks)
    }

    /// Block `block` as a vector, divided into `parts`.
    pub(super) fn within(&self, block: u32, parts: u32) -> Vector {
        Vector {
            bytes: self.one(block),
            count: self.elements_before(block + 1) - self.elements_before(block),
            blocks: parts,
        }
    }

    /// Bytes before `block`.
    fn bytes_before(&self, block: u32) -> u64 {
        if self.count == 0 {
            return if block == self.blocks { self.bytes } else { 0 };
        }
        let elements = self.elements_before(block);
        // In 128 bits: the product overflows for a vector of 2^40 bytes with 2^38 elements. Dividing last keeps the sum
        // exact if the size is not a multiple of the count.
        (u128::from(elements) * u128::from(self.bytes) / u128::from(self.count)) as u64
    }
}

/// Data divided into the segments of a pipeline, equal except the last. There is at least one, which may be empty.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    bytes: u64,
    each: u64,
}

impl Segments {
    /// `bytes` in segments of at most `segment` bytes (0: unsegmented), each a positive number of whole elements of
    /// `element` bytes.
    pub(super) fn new(bytes: u64, element: u64, segment: u32) -> Segments {
        let element = element.max(1);
        let each = if segment == 0 {
            bytes
        } else {
            (u64::from(segment) / element).max(1).saturating_mul(element)
        };
        Segments {
            bytes,
            each: each.max(1),
        }
    }

    /// Number of segments.
    pub(super) fn count(&self) -> u64 {
        self.bytes.div_ceil(self.each).max(1)
    }

    /// Size of segment `index`.
    pub(super) fn one(&self, index: u64) -> u64 {
        (self.bytes - index * self.each).min(self.each)
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
        let sizes: Vec<u64> = (0..4).map(|b| vector.one(b)).collect();
        assert_eq!(sizes, [12, 12, 12, 8]);
        let parts = vector.within(0, 2);
        assert_eq!([parts.one(0), parts.one(1)], [8, 4]);
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

    #[test]
    fn the_last_blocks_are_short_or_empty() {
        // ceil(10 / 8) = 2 bytes each: five blocks are full and three are empty.
        let blocks = Blocks::Filled { bytes: 10, each: 2 };
        let sizes: Vec<u64> = (0..8).map(|b| blocks.one(b)).collect();
        assert_eq!(sizes, [2, 2, 2, 2, 2, 0, 0, 0]);
        assert_eq!(blocks.size(4, 8), 2);
    }

    #[test]
    fn runs_go_on_at_the_first_block() {
        let list = |_: Counts, from: u32, _: u32| u64::from(from) * 10;
        let blocks = Blocks::Listed {
            counts: Counts(0),
            sizes: &list,
        };
        assert_eq!(blocks.around(2, 2, 4), 50);
        assert_eq!(blocks.around(3, 3, 4), 30 + 10);
    }

    #[test]
    fn segments_are_whole_elements_and_there_is_always_one() {
        let sizes = |bytes, element, segment| {
            let segments = Segments::new(bytes, element, segment);
            (0..segments.count()).map(|i| segments.one(i)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(20, 4, 9), [8, 8, 4]);
        assert_eq!(sizes(16, 8, 3), [8, 8]);
        assert_eq!(sizes(20, 4, 0), [20]);
        assert_eq!(sizes(0, 1, 1_024), [0]);
    }
}
