//! An MPI stencil: halo exchange in one to four dimensions.

use odonata_units::{Bytes, Time, counted};

use super::{Parameters, allreduce, halo};
use crate::grid::{Grid, balanced};
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sweeps over a grid of 1 to 4 dimensions with an exchange of faces. The defaults are the Jacobi skeleton of Union.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Stencil")]
pub struct StencilParams {
    /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a balanced
    /// grid of `dimensions` dimensions.
    pub dims: Option<Vec<u32>>,
    /// Dimensions of the balanced grid, 1 to 4; ignored if `dims` is given.
    #[default = 3]
    pub dimensions: u32,
    /// Whether the grid is a torus.
    #[default = true]
    pub wrap: bool,
    /// Size of the message to one neighbor, e.g. "1 MB".
    #[default(Bytes(1_000_000))]
    pub message: Bytes,
    /// Sweeps over the grid.
    #[default = 100]
    pub iterations: u32,
    /// Computation per sweep, e.g. "2 ms".
    #[default(Time::from_ns(2_000_000))]
    pub compute: Time,
    /// Size of the all-reduce that ends a sweep, e.g. "8 B"; "0 B": none.
    #[default(Bytes(8))]
    pub allreduce: Bytes,
}

impl Parameters for StencilParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Stencil::new(ranks, self.clone())?))
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// Sweeps over a grid with a halo exchange.
///
/// One iteration: compute; receive from all neighbors across faces and send to them, without blocking; wait for the
/// receives; wait for the sends; all-reduce; mark. On a torus an extent of 2 gives two messages to the same neighbor,
/// and an extent of 1 none.
#[derive(Clone, Debug)]
pub struct Stencil {
    grid: Grid,
    params: StencilParams,
}

impl Stencil {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The layout does not have 1 to 4 dimensions or the product `ranks`; there are no ranks or no iterations, or too
    /// many operations.
    pub fn new(ranks: u32, params: StencilParams) -> Result<Self, String> {
        let grid = match &params.dims {
            Some(dims) => Grid::new(ranks, dims, params.wrap)?,
            None => {
                let dimensions = usize::try_from(params.dimensions).unwrap_or(usize::MAX);
                Grid::new(ranks, &balanced(ranks, dimensions)?, params.wrap)?
            }
        };
        check_length(params.iterations, 2 * grid.faces().len() as u64 + 5)?;
        Ok(Stencil { grid, params })
    }
}

impl Program for Stencil {
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
            if *step == 1 {
                let bytes = |_| self.params.message.0;
                let sends = halo::Sends::Awaited;
                if let Some(kind) = halo::next(&self.grid, self.grid.faces(), rank, exchange, bytes, sends) {
                    return Some(kind);
                }
            }
            *step = match *step {
                1 => 2,
                4 if self.params.allreduce == Bytes::ZERO => 5,
                step => step,
            };
            let kind = match *step {
                0 => OpKind::Compute {
                    duration: self.params.compute,
                },
                2 => halo::wait_receives(exchange),
                3 => halo::wait_sends(&std::mem::take(exchange)),
                4 => {
                    let bytes = self.params.allreduce.0;
                    allreduce(bytes, if bytes.is_multiple_of(8) { bytes / 8 } else { bytes })
                }
                _ => OpKind::Mark { iteration: *iteration },
            };
            (*iteration, *step) = if *step == 5 {
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
        let StencilParams {
            iterations, message, ..
        } = self.params;
        format!(
            "stencil, {}, {}, {message} to each neighbor",
            self.grid,
            counted(iterations, "iteration")
        )
    }
}
