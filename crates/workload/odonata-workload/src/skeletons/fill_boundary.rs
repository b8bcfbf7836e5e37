//! FillBoundary: the exchange of ghost cells of a block-structured grid.
//!
//! The workload "FillBoundary" of the DOE's Design Forward program is a benchmark of the BoxLib function of that name.
//! The model derives from the byte matrix of its trace on 1,000 ranks: 10 x 10 x 10 boxes, one per rank along a Z-order
//! curve, not periodic; 16,384,000 B to each neighbor across a face, 384,000 B across an edge, 20,000 B across a
//! corner. With boxes of 64^3 points of 8 B and ghost cells 1, 2, 3 and 4 wide, 25 exchanges with all 26 neighbors and
//! 25 with faces only give all three: `8 x 50 x 64^2 (1 + 2 + 3 + 4)`, `8 x 25 x 64 (1 + 4 + 9 + 16)`, `8 x 25 (1 + 8 +
//! 27 + 64)`. The matrix does not show the order of the exchanges.
//!
//! In addition every rank sends 64 B to every other (rank 0: 8 B): collectives, which the tool counts as 8 B between
//! all pairs. The model has 7 broadcasts from rank 0 and an all-reduce.

use odonata_units::{Bytes, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::boxes::{Boxes, reach};
use super::{Parameters, allreduce, ghost_cells};
use crate::program::check_length;
use crate::{Collective, Comm, Cursor, Op, OpKind, Program};

/// FillBoundary: exchanges of ghost cells between boxes of a block-structured grid. The defaults are the trace of the
/// Design Forward program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FillBoundary")]
pub struct FillBoundaryParams {
    /// Boxes along x, y, z, one per rank; their product is `ranks`. Default: balanced (1,000 ranks: 10 x 10 x 10).
    pub dims: Option<[u32; 3]>,
    /// Whether the domain is periodic.
    pub periodic: bool,
    /// Points along each edge of a box.
    #[default = 64]
    pub points: u32,
    /// Widths of the ghost cells in points, used in turn.
    #[default(vec![1, 2, 3, 4])]
    pub ghost_cells: Vec<u32>,
    /// Exchanges per width with all 26 neighbors, and the same number with neighbors across faces only.
    #[default = 25]
    pub repetitions: u32,
    /// Size of a point, e.g. "8 B".
    #[default(Bytes(8))]
    pub point: Bytes,
    /// Broadcasts of 8 B from rank 0 at the start.
    #[default = 7]
    pub broadcasts: u32,
    /// Computation of each rank before each exchange, e.g. "1 ms".
    pub compute: Time,
}

/// Maximum number of widths of ghost cells.
const MOST_WIDTHS: usize = 64;

impl Parameters for FillBoundaryParams {
    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        let key = |name: &str| format!("{at}.{name}");
        let widths = self.ghost_cells.len();
        if widths == 0 || widths > MOST_WIDTHS {
            let expected = format!("1 to {MOST_WIDTHS}");
            return Err(Problem::new(key("ghost_cells"), format!("{widths} widths"), expected));
        }
        odonata_units::within(key("points"), self.points, 1, 1 << 20)?;
        odonata_units::within(key("point"), self.point, Bytes(1), Bytes::mib(1))?;
        for (place, &width) in self.ghost_cells.iter().enumerate() {
            odonata_units::within(key(&format!("ghost_cells.{place}")), width, 1, self.points)?;
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(FillBoundary::new(ranks, self.clone())?))
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// Exchanges of ghost cells.
///
/// Broadcasts and an all-reduce; then for each width of ghost cells `repetitions` exchanges with all neighbors, and
/// `repetitions` with neighbors across faces; after each exchange a mark.
#[derive(Clone, Debug)]
pub struct FillBoundary {
    boxes: Boxes,
    params: FillBoundaryParams,
    exchanges: u32,
}

impl FillBoundary {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The product of `dims` is not `ranks`, there is no exchange, or there are too many operations.
    pub fn new(ranks: u32, params: FillBoundaryParams) -> Result<Self, String> {
        let mut checked = params;
        checked
            .resolve("fill-boundary", ranks)
            .map_err(|problem| problem.problem)?;
        let params = checked;
        let boxes = Boxes::new(ranks, params.dims)?;
        if params.repetitions == 0 {
            return Err("repetitions is 0: expected at least 1".into());
        }
        let widths = params.ghost_cells.len() as u32;
        let exchanges = params
            .repetitions
            .checked_mul(2 * widths)
            .ok_or("too many exchanges to number")?;
        check_length(exchanges, ghost_cells::MOST_OPERATIONS + 2)?;
        check_length(
            1,
            u64::from(exchanges) * (ghost_cells::MOST_OPERATIONS + 2) + u64::from(params.broadcasts) + 1,
        )?;
        Ok(FillBoundary {
            boxes,
            params,
            exchanges,
        })
    }

    /// Bytes that a box sends across step number `step` in exchange number `exchange`.
    fn bytes(&self, exchange: u32, step: u32) -> u64 {
        let FillBoundaryParams {
            points,
            repetitions,
            point: Bytes(point),
            ref ghost_cells,
            ..
        } = self.params;
        let (round, reach) = (exchange / repetitions, reach(step));
        let faces_only = round % 2 == 1;
        if faces_only && reach > 1 {
            return 0;
        }
        let width = u64::from(ghost_cells[(round / 2) as usize]);
        u64::from(points).pow(3 - reach) * width.pow(reach) * point
    }
}

impl Program for FillBoundary {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn ranks(&self) -> u32 {
        self.boxes.ranks()
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        let (broadcasts, duration) = (self.params.broadcasts, self.params.compute);
        cursor.advance(|[before, at, computed, progress @ ..]| {
            if *before <= broadcasts {
                *before += 1;
                return Some(if *before > broadcasts {
                    allreduce(8, 1)
                } else {
                    OpKind::Collective(Collective::Broadcast {
                        comm: Comm::WORLD,
                        root: 0,
                        bytes: 8,
                    })
                });
            }
            if *at >= self.exchanges {
                return None;
            }
            if *computed == 0 && duration > Time::ZERO {
                *computed = 1;
                return Some(OpKind::Compute { duration });
            }
            let bytes = |step, _| self.bytes(*at, step);
            if let Some(kind) = ghost_cells::next(&self.boxes, self.params.periodic, rank, progress, bytes) {
                return Some(kind);
            }
            let mark = OpKind::Mark { iteration: *at };
            (*at, *computed) = (*at + 1, 0);
            Some(mark)
        })
    }

    fn describe(&self) -> String {
        let FillBoundaryParams {
            points,
            ref ghost_cells,
            ..
        } = self.params;
        format!(
            "FillBoundary, {} of {points}^3 points, {} exchanges of ghost cells {ghost_cells:?} wide",
            self.boxes, self.exchanges
        )
    }
}
