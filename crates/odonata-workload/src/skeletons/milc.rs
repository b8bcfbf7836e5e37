//! MILC: lattice quantum chromodynamics on a 4-D torus.

use odonata_units::Time;

use super::{allreduce, halo};
use crate::grid::Grid;
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};

/// Parameters of [`Milc`]. The default is the case study of MFNetSim.
#[derive(Clone, Debug, PartialEq)]
pub struct MilcParams {
    /// Ranks along each dimension, the first fastest; `None`: balanced (3 x 4 x 5 x 5 for 300 ranks).
    pub dims: Option<[u32; 4]>,
    /// Iterations of the conjugate gradient solver.
    pub iterations: u32,
    /// Size of the message to one neighbour, in bytes: 1.5 L^4 for L^4 lattice sites per rank. The
    /// default is L = 24.
    pub message_bytes: u64,
    /// Computation on the sites of one parity; an iteration has two of them. The default is 100
    /// cycles at 4 GHz.
    pub compute: Time,
}

impl Default for MilcParams {
    fn default() -> Self {
        MilcParams {
            dims: None,
            iterations: 100,
            message_bytes: 497_664,
            compute: Time::from_ns(25),
        }
    }
}

/// The communication of MILC's solver.
///
/// One iteration goes twice (even, then odd sites) through: receive from all 8 neighbours and send
/// to them, without blocking; compute; wait for the sends; wait for the receives. Two all-reduces of
/// 8 bytes follow, and a mark.
#[derive(Clone, Debug)]
pub struct Milc {
    grid: Grid,
    params: MilcParams,
}

impl Milc {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// `dims` do not multiply to `ranks`, or there are no ranks or no iterations, or too many of
    /// them to number the operations.
    pub fn new(ranks: u32, params: MilcParams) -> Result<Self, String> {
        let grid = Grid::with_dims_or_balanced(ranks, params.dims, true)?;
        check_length(params.iterations, 2 * (2 * 8 + 3) + 3)?;
        Ok(Milc { grid, params })
    }
}

impl Program for Milc {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        cursor.advance(|[iteration, step, exchange @ ..]| {
            if *iteration >= self.params.iterations {
                return None;
            }
            if matches!(*step, 0 | 4) {
                let bytes = |_| self.params.message_bytes;
                let sends = halo::Sends::Awaited;
                if let Some(kind) = halo::next(&self.grid, self.grid.faces(), rank, exchange, bytes, sends) {
                    return Some(kind);
                }
                *step += 1;
            }
            let kind = match *step {
                1 | 5 => OpKind::Compute {
                    duration: self.params.compute,
                },
                2 | 6 => halo::wait_sends(exchange),
                3 | 7 => halo::wait_receives(&std::mem::take(exchange)),
                8 | 9 => allreduce(8, 1),
                _ => OpKind::Mark { iteration: *iteration },
            };
            (*iteration, *step) = if *step == 10 {
                (*iteration + 1, 0)
            } else {
                (*iteration, *step + 1)
            };
            Some(kind)
        })
    }

    fn describe(&self) -> String {
        let MilcParams {
            iterations,
            message_bytes,
            ..
        } = self.params;
        format!(
            "MILC, {}, {iterations} iterations, {message_bytes} B to each neighbour twice",
            self.grid
        )
    }
}
