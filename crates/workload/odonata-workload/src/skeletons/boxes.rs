//! Boxes of a block-structured grid, one per rank, assigned along a space-filling curve.
//!
//! BoxLib assigns the boxes of a grid to ranks along a Z-order (Morton) curve. In the traces of the Design Forward
//! program (1,000 ranks, 10 x 10 x 10 boxes) rank `n - 1 - i` has the `i`-th box of the curve that starts at the far
//! corner; the model keeps that order for any extents.

use std::sync::Arc;

use crate::grid::balanced;

/// An offset to a neighbor: -1, 0 or 1 per dimension.
pub(super) type Step = [i8; 3];

/// The 26 offsets: opposite ones side by side (2 k and 2 k + 1), faces first, then edges, then corners.
pub(super) const STEPS: [Step; 26] = [
    [-1, 0, 0],
    [1, 0, 0],
    [0, -1, 0],
    [0, 1, 0],
    [0, 0, -1],
    [0, 0, 1],
    [-1, -1, 0],
    [1, 1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [-1, 0, -1],
    [1, 0, 1],
    [-1, 0, 1],
    [1, 0, -1],
    [0, -1, -1],
    [0, 1, 1],
    [0, -1, 1],
    [0, 1, -1],
    [-1, -1, -1],
    [1, 1, 1],
    [-1, -1, 1],
    [1, 1, -1],
    [-1, 1, -1],
    [1, -1, 1],
    [-1, 1, 1],
    [1, -1, -1],
];

/// Number of nonzero dimensions of offset number `step`: 1 across a face, 2 across an edge, 3 across a corner.
pub(super) const fn reach(step: u32) -> u32 {
    match step {
        0..6 => 1,
        6..18 => 2,
        _ => 3,
    }
}

/// A neighbor of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neighbour {
    /// The rank of the box.
    pub(super) rank: u32,
    /// Whether the offset crosses the periodic boundary.
    pub(super) wraps: bool,
}

/// The assignment of the boxes of a 3-D grid to ranks.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    extents: [u32; 3],
    /// Ranks by place in the grid, x fastest.
    ranks: Arc<[u32]>,
    /// By rank, the place in the grid.
    places: Arc<[u32]>,
}

impl Boxes {
    /// `ranks` boxes, with these extents or balanced ones.
    ///
    /// # Errors
    /// There are no ranks, or the extents do not match.
    pub(super) fn new(ranks: u32, dims: Option<[u32; 3]>) -> Result<Self, String> {
        let extents = match dims {
            Some(dims) => dims,
            None => match balanced(ranks, 3)?[..] {
                [x, y, z] => [x, y, z],
                _ => return Err(format!("{ranks} ranks have no 3-D layout")),
            },
        };
        // Reports invalid extents.
        crate::grid::Grid::new(ranks, &extents, true)?;
        let mut places: Vec<u32> = (0..ranks).collect();
        let from_the_end = |place| {
            let at = split(place, extents);
            [0, 1, 2].map(|d| extents[d] - 1 - at[d])
        };
        places.sort_unstable_by(|&a, &b| z_order(from_the_end(b), from_the_end(a)));
        let mut owners = vec![0; ranks as usize];
        for (rank, &place) in (0..).zip(&places) {
            owners[place as usize] = rank;
        }
        Ok(Boxes {
            extents,
            ranks: owners.into(),
            places: places.into(),
        })
    }

    /// Number of boxes and of ranks.
    pub(super) fn ranks(&self) -> u32 {
        self.places.len() as u32
    }

    /// The neighbor of the box of `rank` at `step`, in a domain that is periodic in all dimensions or bounded; `None`
    /// outside a bounded domain, or if the step leads back to the same box.
    pub(super) fn neighbour(&self, rank: u32, step: Step, periodic: bool) -> Option<Neighbour> {
        let at = split(self.places[rank as usize], self.extents);
        let mut there = [0; 3];
        let mut wraps = false;
        for d in 0..3 {
            let (here, extent) = (at[d], self.extents[d]);
            let (to, around) = match step[d] {
                0 => (here, false),
                1.. if here + 1 < extent => (here + 1, false),
                ..0 if here > 0 => (here - 1, false),
                _ if !periodic => return None,
                1.. => (0, true),
                ..0 => (extent - 1, true),
            };
            there[d] = to;
            wraps |= around;
        }
        let [x, y, z] = there;
        let rank_there = self.ranks[(x + self.extents[0] * (y + self.extents[1] * z)) as usize];
        (rank_there != rank).then_some(Neighbour {
            rank: rank_there,
            wraps,
        })
    }
}

impl std::fmt::Display for Boxes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.extents;
        write!(f, "{x} x {y} x {z} boxes")
    }
}

/// Coordinates of place `place`, x fastest.
fn split(place: u32, extents: [u32; 3]) -> [u32; 3] {
    [
        place % extents[0],
        place / extents[0] % extents[1],
        place / extents[0] / extents[1],
    ]
}

/// The order of two points on the Z-order curve, which interleaves the bits of the coordinates, x lowest: the dimension
/// with the highest differing bit decides (T. M. Chan, "Closest-point problems simplified on the RAM", SODA 2002).
fn z_order(a: [u32; 3], b: [u32; 3]) -> std::cmp::Ordering {
    let differs = |d: usize| a[d] ^ b[d];
    let mut decides = 2;
    for d in [1, 0] {
        if differs(decides).leading_zeros() > differs(d).leading_zeros() {
            decides = d;
        }
    }
    a[decides].cmp(&b[decides])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_steps_are_side_by_side_and_all_differ() {
        for pair in STEPS.chunks(2) {
            assert_eq!(pair[0].map(|c| -c), pair[1]);
        }
        let mut all = STEPS.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 26);
        for (number, step) in (0..).zip(STEPS) {
            assert_eq!(reach(number), step.iter().filter(|c| **c != 0).count() as u32);
        }
    }

    #[test]
    fn the_order_of_the_curve_is_that_of_the_bits_in_turn() {
        let code = |at: [u32; 3]| {
            let bits = (0..4).flat_map(|bit| at.map(|coordinate| coordinate >> bit & 1));
            bits.rev().fold(0, |code, bit| code << 1 | bit)
        };
        let points: Vec<[u32; 3]> = (0..10 * 7 * 9).map(|place| split(place, [10, 7, 9])).collect();
        for a in &points {
            for b in &points {
                assert_eq!(z_order(*a, *b), code(*a).cmp(&code(*b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_thousand_boxes_are_dealt_out_as_in_the_traces() {
        let boxes = Boxes::new(1_000, None).unwrap();
        // (rank, its coordinates), derived from the neighbors in the matrix df-fillboundary-1000.
        for (rank, at) in [
            (0, [0, 0, 0]),
            (7, [1, 1, 1]),
            (8, [2, 0, 0]),
            (40, [0, 2, 0]),
            (72, [2, 2, 0]),
            (200, [0, 0, 2]),
            (232, [2, 0, 2]),
            (360, [0, 2, 2]),
            (488, [2, 2, 2]),
            (743, [9, 9, 5]),
            (999, [9, 9, 9]),
        ] {
            assert_eq!(split(boxes.places[rank], boxes.extents), at, "rank {rank}");
        }
    }

    #[test]
    fn neighbours_are_mutual_and_wrap_at_the_boundary_alone() {
        for extents in [[3, 2, 1], [2, 2, 2], [5, 1, 4], [4, 3, 3]] {
            let boxes = Boxes::new(extents.iter().product(), Some(extents)).unwrap();
            for rank in 0..boxes.ranks() {
                for (number, step) in STEPS.into_iter().enumerate() {
                    let open = boxes.neighbour(rank, step, false);
                    let around = boxes.neighbour(rank, step, true);
                    assert!(open.is_none() || open == around && open.is_some_and(|n| !n.wraps));
                    assert_eq!(around.is_some_and(|n| !n.wraps), open.is_some());
                    if let Some(there) = around {
                        let back = boxes.neighbour(there.rank, STEPS[number ^ 1], true).unwrap();
                        assert_eq!((back.rank, back.wraps), (rank, there.wraps));
                    }
                }
            }
        }
    }

    #[test]
    fn extents_that_do_not_fit_are_an_error() {
        assert!(Boxes::new(8, Some([2, 2, 3])).unwrap_err().contains("2 x 2 x 3"));
        assert!(Boxes::new(0, None).is_err());
    }
}
