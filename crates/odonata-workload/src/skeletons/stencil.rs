//! An MPI stencil: halo exchange in one to four dimensions.

use odonata_units::Time;

use super::{allreduce, halo};
use crate::grid::{Grid, balanced};
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};

/// How the ranks of a [`Stencil`] are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StencilLayout {
    /// As close to a cube of so many dimensions (1 to 4) as the number of ranks allows.
    Balanced(u32),
    /// Ranks along each dimension (1 to 4 of them), the first fastest.
    Dims(Vec<u32>),
}

/// Parameters of [`Stencil`]. The default is the Jacobi skeleton of Union (`jacobi3d`, 64 ranks)
/// without its barriers at the start and the end: 125,000 doubles to each of 6 neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct StencilParams {
    /// How the ranks are laid out.
    pub layout: StencilLayout,
    /// Whether the grid is a torus; else ranks at the border have fewer neighbours.
    pub wrap: bool,
    /// Size of the message to one neighbour, in bytes.
    pub message_bytes: u64,
    /// Sweeps over the grid.
    pub iterations: u32,
    /// Computation per sweep.
    pub compute: Time,
    /// Size of the all-reduce that ends a sweep, in bytes (doubles where they divide by 8); `None`:
    /// neighbours alone keep the ranks together.
    pub allreduce_bytes: Option<u64>,
}

impl Default for StencilParams {
    fn default() -> Self {
        StencilParams {
            layout: StencilLayout::Balanced(3),
            wrap: true,
            message_bytes: 1_000_000,
            iterations: 100,
            compute: Time::from_ns(2_000_000),
            allreduce_bytes: Some(8),
        }
    }
}

/// Sweeps over a grid with an exchange of halos.
///
/// One iteration: compute; receive from all neighbours across faces and send to them, without
/// blocking; wait for the receives; wait for the sends; all-reduce; mark. On a torus an extent of 2
/// gives two messages to the same neighbour, and an extent of 1 none.
#[derive(Clone, Debug)]
pub struct Stencil {
    grid: Grid,
    params: StencilParams,
}

impl Stencil {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The layout does not have 1 to 4 dimensions or does not multiply to `ranks`; there are no ranks
    /// or no iterations, or too many of them to number the operations.
    pub fn new(ranks: u32, params: StencilParams) -> Result<Self, String> {
        let grid = match &params.layout {
            StencilLayout::Balanced(dimensions) => {
                let dimensions = usize::try_from(*dimensions).unwrap_or(usize::MAX);
                Grid::new(ranks, &balanced(ranks, dimensions)?, params.wrap)?
            }
            StencilLayout::Dims(dims) => Grid::new(ranks, dims, params.wrap)?,
        };
        check_length(params.iterations, 2 * grid.faces().len() as u64 + 5)?;
        Ok(Stencil { grid, params })
    }
}

impl Program for Stencil {
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
                let bytes = |_| self.params.message_bytes;
                let sends = halo::Sends::Awaited;
                if let Some(kind) = halo::next(&self.grid, self.grid.faces(), rank, exchange, bytes, sends) {
                    return Some(kind);
                }
            }
            *step = match *step {
                1 => 2,
                4 if self.params.allreduce_bytes.is_none() => 5,
                step => step,
            };
            let kind = match *step {
                0 => OpKind::Compute {
                    duration: self.params.compute,
                },
                2 => halo::wait_receives(exchange),
                3 => halo::wait_sends(&std::mem::take(exchange)),
                4 => {
                    let bytes = self.params.allreduce_bytes.unwrap_or(0);
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

    fn describe(&self) -> String {
        let StencilParams {
            iterations,
            message_bytes,
            ..
        } = self.params;
        format!(
            "stencil, {}, {iterations} iterations, {message_bytes} B to each neighbour",
            self.grid
        )
    }
}
