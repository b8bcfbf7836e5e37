//! Patterns on a grid of ranks: neighbors, and tornado.

use super::below;
use crate::grid::{Grid, balanced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The neighbors on a grid of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Ranks across a face: up to 2 per dimension.
    #[default]
    Faces,
    /// Ranks across a face, an edge or a corner: up to 26 in three dimensions.
    Box,
}

/// The order of neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Random, with equal probability.
    #[default]
    Random,
    /// One after the other.
    InOrder,
}

/// Traffic to the neighbors on a grid of one to four dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbors {
    grid: Grid,
    reach: Reach,
    turn: Turn,
}

/// The grid with extents `dims`, or a balanced one of `dimensions` dimensions.
fn grid(ranks: u32, dims: Option<&[u32]>, dimensions: u32, wrap: bool) -> Result<Grid, String> {
    match dims {
        Some(dims) => Grid::new(ranks, dims, wrap),
        None => Grid::new(
            ranks,
            &balanced(ranks, usize::try_from(dimensions).unwrap_or(usize::MAX))?,
            wrap,
        ),
    }
}

impl Neighbors {
    /// On `ranks` ranks along `dims` (1 to 4 extents, the first fastest), or on a balanced grid of `dimensions`
    /// dimensions; a torus if `wrap`, otherwise a mesh, whose border has fewer neighbors.
    ///
    /// # Errors
    /// The product of the extents is not `ranks`, or there are not 1 to 4 of them.
    pub fn new(
        ranks: u32,
        dims: Option<&[u32]>,
        dimensions: u32,
        wrap: bool,
        reach: Reach,
        turn: Turn,
    ) -> Result<Self, String> {
        let grid = grid(ranks, dims, dimensions, wrap)?;
        Ok(Neighbors { grid, reach, turn })
    }

    /// Number of ranks of the grid.
    pub fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// The coordinates one step away from `here` in a dimension of `extent`.
    #[inline]
    fn steps(&self, here: u32, extent: u32) -> ([u32; 2], u32) {
        let (minus, plus) = (here.wrapping_sub(1), here + 1);
        match (here > 0, plus < extent) {
            (true, true) => ([minus, plus], 2),
            _ if extent <= 2 || !self.grid.wraps() => match (here > 0, plus < extent) {
                (true, _) => ([minus, 0], 1),
                (_, true) => ([plus, 0], 1),
                _ => ([0, 0], 0),
            },
            (true, false) => ([minus, 0], 2),
            (false, _) => ([extent - 1, plus], 2),
        }
    }

    /// Number of neighbors of `rank`.
    pub fn count(&self, rank: u32) -> u32 {
        let mut rest = rank;
        let (mut faces, mut corners) = (0, 1);
        for &extent in self.grid.extents() {
            let (_, steps) = self.steps(rest % extent, extent);
            rest /= extent;
            faces += steps;
            corners *= 1 + steps;
        }
        match self.reach {
            Reach::Faces => faces,
            Reach::Box => corners - 1,
        }
    }

    /// Neighbor number `k`, below [`count`](Self::count), of `rank`: by dimension, minus before plus; in a
    /// box the first dimension changes fastest.
    pub fn neighbor(&self, rank: u32, k: u32) -> u32 {
        let mut rest = rank;
        let mut stride = 1u32;
        let mut neighbor = rank;
        // Faces: number of steps left to skip. Box: the digits, with 0 for no step.
        let mut left = match self.reach {
            Reach::Faces => k,
            Reach::Box => k + 1,
        };
        for &extent in self.grid.extents() {
            let here = rest % extent;
            rest /= extent;
            let (to, steps) = self.steps(here, extent);
            let step = match self.reach {
                Reach::Faces if left < steps => Some(left),
                Reach::Faces => None,
                Reach::Box => (left % (1 + steps)).checked_sub(1),
            };
            if let Some(step) = step {
                neighbor = neighbor - here * stride + to[step as usize] * stride;
            }
            left = match self.reach {
                Reach::Faces if step.is_some() => return neighbor,
                Reach::Faces => left - steps,
                Reach::Box => left / (1 + steps),
            };
            // The stride after the last dimension is never used; it may be 2^32.
            stride = stride.wrapping_mul(extent);
        }
        neighbor
    }

    /// Destination of message number `sequence` of `rank`.
    #[inline]
    pub(super) fn destination(&self, rank: u32, draw: u64, sequence: u64) -> u32 {
        let count = self.count(rank).max(1);
        let k = match self.turn {
            Turn::Random => below(count, draw),
            Turn::InOrder => (sequence % u64::from(count)) as u32,
        };
        self.neighbor(rank, k)
    }
}

impl std::fmt::Display for Neighbors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.grid.fmt(f)
    }
}

/// Traffic nearly half-way around every dimension of a torus: its worst case for minimal routing.
///
/// In a dimension of extent `k` from coordinate `c` to `c + ceil(k / 2) - 1` modulo `k` (Dally and Towles, table 3.1);
/// extents of 1 and 2 are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tornado {
    grid: Grid,
}

impl Tornado {
    /// On `ranks` ranks along `dims`, or on a ring of all ranks.
    ///
    /// # Errors
    /// The product of the extents is not `ranks`, there are not 1 to 4 of them, or none is at least 3.
    pub fn new(ranks: u32, dims: Option<&[u32]>) -> Result<Self, String> {
        let grid = grid(ranks, dims, 1, true)?;
        if grid.extents().iter().all(|&extent| extent < 3) {
            return Err(format!(
                "tornado on a {grid} sends nothing: expected an extent of 3 at least"
            ));
        }
        Ok(Tornado { grid })
    }

    /// Number of ranks of the grid.
    pub fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// Where `rank` sends.
    #[inline]
    pub(super) fn destination(&self, rank: u32) -> u32 {
        let mut rest = rank;
        let (mut stride, mut target) = (1u32, 0);
        for &extent in self.grid.extents() {
            let moved = u64::from(rest % extent) + u64::from(extent.div_ceil(2)) - 1;
            rest /= extent;
            target += (moved % u64::from(extent)) as u32 * stride;
            stride = stride.wrapping_mul(extent);
        }
        target
    }
}

impl std::fmt::Display for Tornado {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.grid.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::super::tests::draws;
    use super::*;

    fn neighbors(dims: &[u32], wrap: bool, reach: Reach, turn: Turn) -> Neighbors {
        let ranks = dims.iter().product();
        Neighbors::new(ranks, Some(dims), 3, wrap, reach, turn).unwrap()
    }

    /// Coordinates of a rank.
    fn place(dims: &[u32], rank: u32) -> Vec<i64> {
        let mut rest = rank;
        let coordinate = |&extent: &u32| {
            let here = rest % extent;
            rest /= extent;
            i64::from(here)
        };
        dims.iter().map(coordinate).collect()
    }

    #[test]
    fn neighbors_are_all_ranks_at_distance_one_and_no_other() {
        for dims in [
            &[7][..],
            &[2],
            &[5, 3],
            &[4, 1, 3],
            &[2, 2, 2],
            &[3, 3, 3],
            &[2, 3, 4, 2],
            &[1, 6],
        ] {
            for (wrap, reach) in [
                (true, Reach::Faces),
                (false, Reach::Faces),
                (true, Reach::Box),
                (false, Reach::Box),
            ] {
                let pattern = neighbors(dims, wrap, reach, Turn::InOrder);
                let ranks = pattern.ranks();
                for rank in 0..ranks {
                    // The slow reference: all ranks whose coordinates differ by at most one.
                    let near = |other: u32| {
                        let steps: Vec<i64> = place(dims, rank)
                            .iter()
                            .zip(place(dims, other))
                            .zip(dims)
                            .map(|((a, b), &extent)| {
                                let direct = (a - b).abs();
                                if wrap {
                                    direct.min(i64::from(extent) - direct)
                                } else {
                                    direct
                                }
                            })
                            .collect();
                        let within = steps.iter().all(|&step| step <= 1);
                        within && other != rank && (reach == Reach::Box || steps.iter().sum::<i64>() == 1)
                    };
                    let expected: Vec<u32> = (0..ranks).filter(|&other| near(other)).collect();
                    let mut found: Vec<u32> = (0..pattern.count(rank)).map(|k| pattern.neighbor(rank, k)).collect();
                    found.sort_unstable();
                    assert_eq!(found, expected, "rank {rank} of {dims:?}, wrap {wrap}, {reach:?}");
                    assert!(!found.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_box_in_three_dimensions_has_26_neighbors_inside_and_7_at_a_corner() {
        let torus = neighbors(&[3, 4, 5], true, Reach::Box, Turn::Random);
        assert!((0..60).all(|rank| torus.count(rank) == 26));
        let mesh = neighbors(&[3, 3, 3], false, Reach::Box, Turn::Random);
        assert_eq!(
            (mesh.count(0), mesh.count(1), mesh.count(4), mesh.count(13)),
            (7, 11, 17, 26)
        );
    }

    #[test]
    fn a_random_neighbor_is_each_alike_and_in_order_is_one_after_the_other() {
        let pattern = Pattern::Neighbors(neighbors(&[4, 4], true, Reach::Faces, Turn::Random));
        assert_eq!(pattern.check(16), Ok(()));
        let mut counts = [0u32; 16];
        for draw in draws().take(40_000) {
            counts[pattern.destination(5, 16, draw, 0) as usize] += 1;
        }
        // 10,000 each to 4, 6, 1, 9; standard deviation 87.
        for (rank, &count) in counts.iter().enumerate() {
            let expected = if [4, 6, 1, 9].contains(&rank) { 10_000 } else { 0 };
            assert!(count.abs_diff(expected) < 450, "{counts:?}");
        }
        let in_order = Pattern::Neighbors(neighbors(&[4, 4], true, Reach::Faces, Turn::InOrder));
        let walk: Vec<u32> = (0..5).map(|k| in_order.destination(5, 16, 99, k)).collect();
        assert_eq!(walk, [4, 6, 1, 9, 4]);
        assert!(in_order.check(8).is_err(), "a grid of other ranks");
        assert!(Neighbors::new(7, Some(&[2, 3]), 3, true, Reach::Faces, Turn::Random).is_err());
        assert!(Neighbors::new(8, None, 5, true, Reach::Faces, Turn::Random).is_err());
        assert_eq!(
            Neighbors::new(8, None, 3, true, Reach::Box, Turn::Random)
                .unwrap()
                .count(0),
            7
        );
    }

    #[test]
    fn tornado_moves_nearly_half_way_in_every_dimension() {
        for n in 3..40u32 {
            let pattern = Pattern::Tornado(Tornado::new(n, None).unwrap());
            for rank in 0..n {
                // d = s + ceil(k / 2) - 1 mod k
                assert_eq!(pattern.destination(rank, n, 7, 3), (rank + n.div_ceil(2) - 1) % n);
                assert!(pattern.sends(rank, n) && pattern.destination(rank, n, 7, 3) != rank);
            }
        }
        // 8 x 5 x 2: by 3 in the first dimension, by 2 in the second, not in the third.
        let grid = Pattern::Tornado(Tornado::new(80, Some(&[8, 5, 2])).unwrap());
        assert_eq!(grid.destination(6 + 8 * 4 + 40, 80, 0, 0), 1 + 8 + 40);
        assert!(Tornado::new(2, None).is_err() && Tornado::new(4, Some(&[2, 2])).is_err());
        assert!(grid.check(40).is_err());
    }
}
