//! MILC: lattice quantum chromodynamics on a 4-D torus.

use odonata_units::{Bytes, Time, counted};

use super::{Parameters, allreduce, halo};
use crate::grid::Grid;
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Communication of MILC's solver: each iteration has two exchanges with 8 neighbors in a 4-D torus, then two
/// all-reduces of 8 B. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Milc")]
pub struct MilcParams {
    /// Ranks along each of the 4 dimensions, the first fastest; their product is `ranks`. Default: balanced (300
    /// ranks: 3 x 4 x 5 x 5).
    pub dims: Option<[u32; 4]>,
    /// Iterations of the solver.
    #[default = 100]
    pub iterations: u32,
    /// Size of the message to one neighbor, e.g. "497664 B"; 1.5 L^4 bytes for L^4 lattice sites per rank.
    #[default(Bytes(497_664))]
    pub message: Bytes,
    /// Computation on the sites of one parity, twice per iteration, e.g. "25 ns".
    #[default(Time::from_ns(25))]
    pub compute: Time,
}

impl Parameters for MilcParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Milc::new(ranks, self.clone())?))
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// The communication of MILC's solver.
///
/// One iteration does this twice (even, then odd sites): receive from all 8 neighbors and send to them, without
/// blocking; compute; wait for the sends; wait for the receives. Two all-reduces of 8 bytes follow, and a mark.
#[derive(Clone, Debug)]
pub struct Milc {
    grid: Grid,
    params: MilcParams,
}

impl Milc {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The product of `dims` is not `ranks`; there are no ranks or no iterations, or too many operations.
    pub fn new(ranks: u32, params: MilcParams) -> Result<Self, String> {
        let grid = Grid::with_dims_or_balanced(ranks, params.dims, true)?;
        check_length(params.iterations, 2 * (2 * 8 + 3) + 3)?;
        Ok(Milc { grid, params })
    }
}

impl Program for Milc {
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
        cursor.advance(|[iteration, step, exchange @ ..]| {
            if *iteration >= self.params.iterations {
                return None;
            }
            if matches!(*step, 0 | 4) {
                let bytes = |_| self.params.message.0;
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

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let MilcParams {
            iterations, message, ..
        } = self.params;
        format!(
            "MILC, {}, {}, {message} to each neighbor twice",
            self.grid,
            counted(iterations, "iteration")
        )
    }
}
