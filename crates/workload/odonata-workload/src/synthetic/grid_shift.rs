//! Patterns on a grid of routers with one destination per rank.

use crate::grid::{Grid, balanced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The destination of a rank at a router with coordinates c of a grid with extents k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "GridStep")]
pub enum Step {
    /// To c + 1 (modulo k) in every dimension.
    Neighbor,
    /// To c + k / 2, rounded down (modulo k), in every dimension: the far end of the diagonal, across the bisection.
    Diagonal,
    /// To c + k / 2, rounded up, - 1 (modulo k) in every dimension.
    Tornado,
    /// To c + 1 (modulo k) in the first dimension longer than 1 only.
    Next,
    /// Coordinates in reverse order, (x, y) to (y, x).
    Transpose,
    /// Coordinates complemented and in reverse order, (x, y) to (k - 1 - y, k - 1 - x): DCR of the HyperX.
    ComplementReverse,
}

impl Step {
    fn reverses(self) -> bool {
        matches!(self, Step::Transpose | Step::ComplementReverse)
    }
}

/// Traffic on a grid of one to four dimensions, each cell of which is a router with consecutive ranks. A rank sends to
/// the rank of the same position at another router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridShift {
    grid: Grid,
    per_cell: u32,
    step: Step,
}

impl GridShift {
    /// On `ranks` ranks, `per_cell` at each cell of a grid of extents `dims` (the first fastest), or of a square grid.
    ///
    /// # Errors
    /// The cells do not match `ranks`, there are not 1 to 4 extents, the step moves nothing, or the extents are not
    /// symmetric where required.
    pub fn new(ranks: u32, dims: Option<&[u32]>, per_cell: u32, step: Step) -> Result<Self, String> {
        if per_cell == 0 || !ranks.is_multiple_of(per_cell) {
            return Err(format!(
                "{ranks} ranks, {per_cell} per router: expected a divisor of the ranks"
            ));
        }
        let cells = ranks / per_cell;
        let grid = match dims {
            Some(dims) => Grid::new(cells, dims, true).map_err(|problem| {
                if per_cell == 1 {
                    problem
                } else {
                    format!("{problem} / {per_cell} per router")
                }
            })?,
            None => Grid::new(cells, &balanced(cells, 2)?, true)?,
        };
        let extents = grid.extents();
        if step.reverses() && !extents.iter().eq(extents.iter().rev()) {
            return Err(format!(
                "a {grid} differs in reverse order: expected a symmetric grid such as 4 x 4 or 2 x 3 x 2"
            ));
        }
        let this = GridShift { grid, per_cell, step };
        if (0..this.ranks()).all(|rank| this.destination(rank) == rank) {
            return Err(format!("the pattern sends nothing on a {}", this.grid));
        }
        Ok(this)
    }

    /// Number of ranks of the grid.
    pub fn ranks(&self) -> u32 {
        self.grid.ranks() * self.per_cell
    }

    /// Where `rank` sends.
    #[inline]
    pub(super) fn destination(&self, rank: u32) -> u32 {
        let (mut cell, place) = (rank / self.per_cell, rank % self.per_cell);
        let extents = self.grid.extents();
        let mut coordinates = [0u32; Grid::MOST];
        let mut moved = false;
        for (coordinate, &extent) in coordinates.iter_mut().zip(extents) {
            let here = cell % extent;
            cell /= extent;
            let around = |by: u32| ((u64::from(here) + u64::from(by)) % u64::from(extent)) as u32;
            *coordinate = match self.step {
                Step::Neighbor => around(1),
                Step::Diagonal => around(extent / 2),
                Step::Tornado => around(extent.div_ceil(2) - 1),
                Step::Next if !moved && extent > 1 => {
                    moved = true;
                    around(1)
                }
                Step::Next | Step::Transpose => here,
                Step::ComplementReverse => extent - 1 - here,
            };
        }
        let used = &mut coordinates[..extents.len()];
        if self.step.reverses() {
            used.reverse();
        }
        let cells = used
            .iter()
            .zip(extents)
            .rev()
            .fold(0u32, |cell, (&c, &extent)| cell.wrapping_mul(extent).wrapping_add(c));
        cells.wrapping_mul(self.per_cell).wrapping_add(place)
    }
}

impl std::fmt::Display for GridShift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.grid.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    const STEPS: [Step; 6] = [
        Step::Neighbor,
        Step::Diagonal,
        Step::Tornado,
        Step::Next,
        Step::Transpose,
        Step::ComplementReverse,
    ];

    fn shift(dims: &[u32], per_cell: u32, step: Step) -> Result<GridShift, String> {
        GridShift::new(dims.iter().product::<u32>() * per_cell, Some(dims), per_cell, step)
    }

    #[test]
    fn every_step_is_a_permutation_that_keeps_the_place_at_the_router() {
        for dims in [&[8, 8][..], &[4, 4, 4], &[5], &[3, 2, 3], &[2, 2, 2, 2], &[7, 7]] {
            for per_cell in [1, 3] {
                for step in STEPS {
                    let Ok(pattern) = shift(dims, per_cell, step) else {
                        continue;
                    };
                    let ranks = pattern.ranks();
                    let mut hit: Vec<u32> = (0..ranks).map(|rank| pattern.destination(rank)).collect();
                    assert!((0..ranks).zip(&hit).all(|(from, to)| from % per_cell == to % per_cell));
                    hit.sort_unstable();
                    assert!(hit.into_iter().eq(0..ranks), "{step:?} on {dims:?}");
                }
            }
        }
    }

    #[test]
    fn destinations_on_an_8_x_8_grid_are_those_of_booksim() {
        for (x, y) in (0..64).map(|rank| (rank % 8, rank / 8)) {
            let to = |step| shift(&[8, 8], 1, step).unwrap().destination(x + 8 * y);
            let at = |x: u32, y: u32| x % 8 + 8 * (y % 8);
            assert_eq!(to(Step::Neighbor), at(x + 1, y + 1));
            assert_eq!(to(Step::Tornado), at(x + 3, y + 3));
            assert_eq!(to(Step::Transpose), at(y, x));
            assert_eq!(to(Step::Diagonal), at(x + 4, y + 4));
            assert_eq!(to(Step::Next), at(x + 1, y));
            assert_eq!(to(Step::ComplementReverse), at(7 - y, 7 - x));
        }
    }

    #[test]
    fn the_diagonal_is_as_far_as_a_torus_goes() {
        // Hops on a torus: sum over dimensions of min(d, k - d); the maximum is sum floor(k / 2).
        let dims = [6u32, 5, 4];
        let pattern = shift(&dims, 2, Step::Diagonal).unwrap();
        for rank in 0..pattern.ranks() {
            let (mut from, mut to) = (rank / 2, pattern.destination(rank) / 2);
            let mut hops = 0;
            for k in dims {
                let d = (from % k).abs_diff(to % k);
                hops += d.min(k - d);
                (from, to) = (from / k, to / k);
            }
            assert_eq!(hops, 3 + 2 + 2);
        }
    }

    #[test]
    fn grids_that_do_not_fit_are_errors() {
        assert!(shift(&[4, 3], 1, Step::Transpose).unwrap_err().contains("4 x 3"));
        assert!(shift(&[2, 2], 1, Step::Tornado).unwrap_err().contains("sends nothing"));
        assert!(shift(&[1, 1], 4, Step::Neighbor).is_err() && shift(&[4, 4], 0, Step::Next).is_err());
        assert!(
            GridShift::new(64, Some(&[4, 4]), 3, Step::Next)
                .unwrap_err()
                .contains("divisor")
        );
        assert!(
            GridShift::new(64, Some(&[4, 4]), 2, Step::Next)
                .unwrap_err()
                .contains("16 ranks")
        );
        // Without extents, a square.
        assert_eq!(
            GridShift::new(64, None, 1, Step::Neighbor),
            shift(&[8, 8], 1, Step::Neighbor)
        );
        let pattern = Pattern::GridShift(shift(&[1, 5], 2, Step::Next).unwrap());
        assert_eq!(pattern.check(10), Ok(()));
        assert!(pattern.check(12).is_err());
        // Dimension 1 is the first one longer than 1.
        assert_eq!(pattern.destination(9, 10, 0, 0), 1);
    }
}
