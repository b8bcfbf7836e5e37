//! Trees: parents, and the order in which a message or a sum passes through.
//!
//! Ranks are renumbered from the root, which is number 0.

use super::blocks::Segments;
use super::{Step, rounds};

/// The number of `rank` counted from `root`.
#[inline]
pub(super) fn from_root(rank: u32, root: u32, ranks: u32) -> u32 {
    if rank >= root {
        rank - root
    } else {
        rank + (ranks - root)
    }
}

/// The same step with ranks instead of numbers from the root.
#[inline]
pub(super) fn named(step: Step, root: u32, ranks: u32) -> Step {
    let rank = |t: super::Transfer| super::Transfer {
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
        ..step
    }
}

/// Step `index` of `bytes` up a tree with `radix` children of a node, and down again. Messages from all children are
/// awaited together, as are those to them.
#[inline(never)]
pub(super) fn up_and_down(rank: u32, ranks: u32, radix: u32, bytes: u64, index: u32) -> Option<Step> {
    let radix = radix.max(1);
    let first = u64::from(rank) * u64::from(radix) + 1;
    let children = u64::from(ranks).saturating_sub(first).min(u64::from(radix)) as u32;
    // Numbers of children are below that of ranks.
    let child = |number: u32| first as u32 + number;
    let with_more = |step: Step, number: u32| step.and_more(number + 1 < children);
    if index < children {
        return Some(with_more(Step::recv(child(index), bytes), index));
    }
    let index = match (index - children, rank) {
        (index, 0) => index,
        (0, _) => {
            let parent = (rank - 1) / radix;
            return Some(Step::both((parent, bytes), (parent, bytes)));
        }
        (index, _) => index - 1,
    };
    (index < children).then(|| with_more(Step::send(child(index), bytes), index))
}

/// A binomial tree: the parent of a number lacks its lowest set bit, and each number is the root of
/// all numbers up to the next multiple of that bit.
pub(super) struct Tree {
    pub(super) number: u32,
    pub(super) ranks: u32,
}

impl Tree {
    /// The number after the last of the `width` numbers from `first` on.
    fn end_of(&self, first: u32, width: u64) -> u32 {
        (u64::from(first) + width).min(u64::from(self.ranks)) as u32
    }

    /// Number of nodes of the full subtree below this number.
    fn width(&self) -> u64 {
        match self.number {
            0 => 1 << rounds(self.ranks),
            number => 1 << number.trailing_zeros(),
        }
    }

    /// Step `index` of the way from parent to children, the largest subtree first, or the excess of `index` over the
    /// last step. `size(first, end)` is the size for the subtree `first .. end`; `None` sends no message.
    #[inline]
    pub(super) fn down(&self, index: u32, size: impl Fn(u32, u32) -> Option<u64>) -> Result<Step, u32> {
        let mut left = index;
        let mut width = self.width();
        if self.number != 0
            && let Some(bytes) = size(self.number, self.end_of(self.number, width))
        {
            if left == 0 {
                return Ok(Step::recv(self.number - width as u32, bytes));
            }
            left -= 1;
        }
        while width > 1 {
            width /= 2;
            let child = self.end_of(self.number, width);
            if child == self.ranks {
                continue;
            }
            if let Some(bytes) = size(child, self.end_of(child, width)) {
                if left == 0 {
                    return Ok(Step::send(child, bytes));
                }
                left -= 1;
            }
        }
        Err(left)
    }

    /// Step `index` of the way from children to parent, the smallest subtree first, or the excess of `index` over the
    /// last step. `size(first, end)` is the size from the subtree `first .. end`.
    pub(super) fn up(&self, index: u32, size: impl Fn(u32, u32) -> u64) -> Result<Step, u32> {
        let children = Shape::Binomial.children(self.number, self.ranks);
        if index < children {
            let child = self.number + (1 << index);
            return Ok(Step::recv(child, size(child, self.end_of(child, 1 << index))));
        }
        let width = self.width();
        match (index - children, self.number) {
            (left, 0) => Err(left),
            (0, number) => Ok(Step::send(
                number - width as u32,
                size(number, self.end_of(number, width)),
            )),
            (left, _) => Err(left - 1),
        }
    }

    /// Step `index` of a sum of `bytes` bytes up to number 0 and down again.
    #[inline(never)]
    pub(super) fn up_and_down(&self, bytes: u64, index: u32) -> Option<Step> {
        self.up(index, |_, _| bytes)
            .or_else(|left| self.down(left, |_, _| Some(bytes)))
            .ok()
    }
}

/// The shape of a tree for pipelined segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Each number has one child: the next number.
    Chain,
    /// A level of `2^l` numbers follows the other, and number `i` of a level is the parent of numbers `i` and `i + 2^l`
    /// of the next. So all numbers below 1 are odd, and all below 2 even (`ompi_coll_base_topo_build_tree` with fan-out
    /// 2).
    Binary,
    /// The binomial tree of [`Tree`].
    Binomial,
}

impl Shape {
    /// The parent of a number other than 0.
    fn parent(self, number: u32) -> u32 {
        match self {
            Shape::Chain => number - 1,
            Shape::Binary => {
                let above = 1u32 << ((u64::from(number) + 1).ilog2() - 1);
                ((number - (2 * above - 1)) & (above - 1)) + (above - 1)
            }
            Shape::Binomial => number & (number - 1),
        }
    }

    /// Child `index` of a number; it may exceed the last rank.
    fn child(self, number: u32, index: u32) -> u64 {
        u64::from(number)
            + match self {
                Shape::Chain => 1,
                Shape::Binary => u64::from(index + 1) << (u64::from(number) + 1).ilog2(),
                Shape::Binomial => 1 << index,
            }
    }

    /// Number of children.
    fn children(self, number: u32, ranks: u32) -> u32 {
        let within = |index| self.child(number, index) < u64::from(ranks);
        match self {
            Shape::Chain => u32::from(within(0)),
            Shape::Binary => u32::from(within(0)) + u32::from(within(1)),
            // The number of powers of two below the lowest bit and within the communicator.
            Shape::Binomial => {
                let below = if number == 0 { 32 } else { number.trailing_zeros() };
                below.min(rounds(ranks - number))
            }
        }
    }

    /// Step `index` of segments from parent to children, or the excess of `index` over the last step. A segment goes to
    /// all children at once, while the next one arrives.
    #[inline(never)]
    pub(super) fn down(self, number: u32, ranks: u32, segments: &Segments, index: u32) -> Result<Step, u32> {
        let (count, children) = (segments.count(), u64::from(self.children(number, ranks)));
        let mut at = u64::from(index);
        if number != 0 {
            if at == 0 || (children == 0 && at < count) {
                return Ok(Step::recv(self.parent(number), segments.one(at)));
            }
            at -= if children == 0 { count } else { 1 };
        }
        if at >= count * children {
            return Err((at - count * children) as u32);
        }
        let (segment, child) = (at / children, (at % children) as u32);
        let mut step = Step::send(self.child(number, child) as u32, segments.one(segment));
        if number != 0 && child == 0 && segment + 1 < count {
            step.recv = Step::recv(self.parent(number), segments.one(segment + 1)).recv;
        }
        step.more = u64::from(child) + 1 < children;
        Ok(step)
    }

    /// Step `index` of segments summed from children to parent. They come from one child after the other; a sum goes up
    /// while the next one begins.
    pub(super) fn up(self, number: u32, ranks: u32, segments: &Segments, index: u32) -> Option<Step> {
        let (count, children) = (segments.count(), u64::from(self.children(number, ranks)));
        let at = u64::from(index);
        let to_parent = |segment: u64| (number != 0).then(|| Step::send(self.parent(number), segments.one(segment)));
        if children == 0 {
            return (at < count).then(|| to_parent(at)).flatten();
        }
        if at >= count * children {
            return (at == count * children).then(|| to_parent(count - 1)).flatten();
        }
        let (segment, child) = (at / children, (at % children) as u32);
        let mut step = Step::recv(self.child(number, child) as u32, segments.one(segment));
        if child == 0 && segment > 0 {
            step.send = to_parent(segment - 1).and_then(|step| step.send);
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_six_sends_to_four_two_one() {
        let tree = Tree { number: 0, ranks: 6 };
        let children: Vec<_> = (0..4)
            .map(|i| tree.down(i, |first, end| Some(u64::from(end - first))))
            .collect();
        assert_eq!(
            children,
            [Ok(Step::send(4, 2)), Ok(Step::send(2, 2)), Ok(Step::send(1, 1)), Err(0)]
        );
        let children: Vec<_> = (0..5)
            .map(|i| tree.up(i, |first, end| u64::from(end - first)))
            .collect();
        let [one, two, four] = [(1, 1), (2, 2), (4, 2)].map(|(peer, bytes)| Ok(Step::recv(peer, bytes)));
        assert_eq!(children, [one, two, four, Err(0), Err(1)]);
    }

    #[test]
    fn parents_and_children_agree_in_every_shape() {
        for shape in [Shape::Chain, Shape::Binary, Shape::Binomial] {
            for ranks in 1..=70u32 {
                let mut parents = vec![None; ranks as usize];
                for number in 0..ranks {
                    for index in 0..shape.children(number, ranks) {
                        let child = shape.child(number, index) as usize;
                        assert_eq!(parents[child].replace(number), None);
                        assert_eq!(shape.parent(child as u32), number);
                    }
                }
                assert!(parents[1..].iter().all(Option::is_some));
            }
        }
    }

    #[test]
    fn the_binary_tree_is_that_of_open_mpi() {
        let children = |number| [0, 1].map(|index| Shape::Binary.child(number, index));
        assert_eq!([0, 1, 2, 3].map(children), [[1, 2], [3, 5], [4, 6], [7, 11]]);
    }
}
