//! Nekbone: spectral elements on a 3-D mesh.

use odonata_units::Problem;

use super::{Parameters, allreduce, barrier, halo};
use crate::grid::{Grid, Offset};
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of polynomial orders; [`Phases`](crate::Phases) and listings iterate over all of them.
const MOST_ORDERS: usize = 1_000;

/// The 26 neighbors: faces +x -x +y -y +z -z, then corners, then edges; opposite ones side by side.
const NEIGHBOURS: [Offset; 26] = [
    [1, 0, 0, 0],
    [-1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, -1, 0, 0],
    [0, 0, 1, 0],
    [0, 0, -1, 0],
    [1, 1, 1, 0],
    [-1, -1, -1, 0],
    [1, 1, -1, 0],
    [-1, -1, 1, 0],
    [1, -1, 1, 0],
    [-1, 1, -1, 0],
    [-1, 1, 1, 0],
    [1, -1, -1, 0],
    [1, 1, 0, 0],
    [-1, -1, 0, 0],
    [1, -1, 0, 0],
    [-1, 1, 0, 0],
    [1, 0, 1, 0],
    [-1, 0, -1, 0],
    [1, 0, -1, 0],
    [-1, 0, 1, 0],
    [0, 1, 1, 0],
    [0, -1, -1, 0],
    [0, 1, -1, 0],
    [0, -1, 1, 0],
];

/// Communication of Nekbone: for each polynomial order two conjugate gradient solves with 26-neighbor exchanges in a
/// 3-D mesh and all-reduces of 8 B. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Nekbone")]
pub struct NekboneParams {
    /// Ranks along x, y, z, the first fastest; their product is `ranks`. Default: balanced (300 ranks: 5 x 6 x 10).
    pub dims: Option<[u32; 3]>,
    /// Polynomial orders, solved one after the other; at most 1,000.
    #[default(vec![8, 11, 14])]
    pub orders: Vec<u32>,
    /// Spectral elements along each edge of a rank's block.
    #[default = 13]
    pub elements_per_edge: u32,
    /// Iterations of each of the two solves per order.
    #[default = 100]
    pub cg_iterations: u32,
}

impl Parameters for NekboneParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Nekbone::new(ranks, self.clone())?))
    }

    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        if self.orders.len() > MOST_ORDERS {
            let problem = format!("{} polynomial orders", self.orders.len());
            return Err(Problem::new(
                format!("{at}.orders"),
                problem,
                format!("at most {MOST_ORDERS}"),
            ));
        }
        Ok(())
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// The communication of Nekbone.
///
/// For each order: two exchanges with the neighbors; a conjugate gradient solve; a barrier; another solve; a mark. A
/// solve is an all-reduce of 8 bytes, then per iteration all-reduce, exchange, all-reduce, all-reduce. An exchange
/// receives from and sends to every existing neighbor and waits for the receives; the sends are detached. With `n` =
/// elements x order + 1 points along an edge, a face takes `8 n^2` bytes, an edge `8 n`, a corner 8. There is no
/// computation.
#[derive(Clone, Debug)]
pub struct Nekbone {
    grid: Grid,
    params: NekboneParams,
}

impl Nekbone {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The product of `dims` is not `ranks`; there are no ranks or no orders; or there are too many operations or
    /// bytes.
    pub fn new(ranks: u32, params: NekboneParams) -> Result<Self, String> {
        let grid = Grid::with_dims_or_balanced(ranks, params.dims, false)?;
        if params.orders.is_empty() {
            return Err("orders is empty: expected at least one polynomial order".into());
        }
        for &order in &params.orders {
            let points = points(params.elements_per_edge, order);
            if points
                .checked_mul(points)
                .and_then(|face| face.checked_mul(8))
                .is_none()
            {
                return Err(format!(
                    "order {order}: a face of {points}^2 points has more than 2^64 bytes"
                ));
            }
        }
        let solve = 1 + u64::from(params.cg_iterations) * (3 + 53);
        let orders = u32::try_from(params.orders.len()).map_err(|_| "orders has more than 2^32 entries".to_string())?;
        check_length(orders, 2 * 53 + 2 * solve + 2)?;
        Ok(Nekbone { grid, params })
    }

    /// The action of a rank in `step` of an order.
    fn step(&self, order: u32, step: u32) -> Stage {
        let solve = 1 + 4 * self.params.cg_iterations;
        let in_solve = |step: u32| {
            if step % 4 == 2 {
                Stage::Exchange
            } else {
                Stage::Op(allreduce(8, 1))
            }
        };
        match step {
            0 | 1 => Stage::Exchange,
            step if step - 2 < solve => in_solve(step - 2),
            step if step - 2 == solve => Stage::Op(barrier()),
            step if step - 3 < 2 * solve => in_solve(step - 3 - solve),
            _ => Stage::Last(OpKind::Mark { iteration: order }),
        }
    }
}

/// One stage of an order.
enum Stage {
    /// Exchange with the neighbors.
    Exchange,
    /// One operation.
    Op(OpKind),
    /// The last operation of the order.
    Last(OpKind),
}

/// Grid points along an edge of a rank's block.
fn points(elements_per_edge: u32, order: u32) -> u64 {
    // At most (2^32 - 1)^2 + 1, which fits.
    u64::from(elements_per_edge) * u64::from(order) + 1
}

impl Program for Nekbone {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        cursor.advance(|[order, step, exchange @ ..]| {
            let points = points(self.params.elements_per_edge, *self.params.orders.get(*order as usize)?);
            match self.step(*order, *step) {
                Stage::Exchange => {
                    let bytes = |direction| match direction {
                        0..6 => 8 * points * points,
                        6..14 => 8,
                        _ => 8 * points,
                    };
                    let posted = halo::next(&self.grid, &NEIGHBOURS, rank, exchange, bytes, halo::Sends::Detached);
                    posted.or_else(|| {
                        *step += 1;
                        Some(halo::wait_receives(&std::mem::take(exchange)))
                    })
                }
                Stage::Op(kind) => {
                    *step += 1;
                    Some(kind)
                }
                Stage::Last(kind) => {
                    (*order, *step) = (*order + 1, 0);
                    Some(kind)
                }
            }
        })
    }

    fn describe(&self) -> String {
        let NekboneParams {
            orders, cg_iterations, ..
        } = &self.params;
        format!(
            "Nekbone, {}, orders {orders:?}, {cg_iterations} iterations per solve",
            self.grid
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_neighbours_are_side_by_side_and_all_differ() {
        for pair in NEIGHBOURS.chunks(2) {
            assert_eq!(pair[0].map(|c| -c), pair[1]);
        }
        let mut all = NEIGHBOURS.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 3 * 3 * 3 - 1);
        let dimensions = |offset: &Offset| offset.iter().filter(|c| **c != 0).count();
        let of = |range: std::ops::Range<usize>| NEIGHBOURS[range].iter().map(dimensions).collect::<Vec<_>>();
        assert_eq!((of(0..6), of(6..14), of(14..26)), (vec![1; 6], vec![3; 8], vec![2; 12]));
    }
}
