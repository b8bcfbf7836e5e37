//! Multigrid: a V-cycle of a geometric multigrid solver on boxes.
//!
//! The workload "Multigrid" of the DOE's Design Forward program is a cycle of BoxLib's elliptic solver. The model
//! derives from the byte matrix of its trace on 1,000 ranks: 10 x 10 x 10 boxes of 64^3 points, one per rank along a
//! Z-order curve, periodic. On a level with boxes of n^3 points, a box sends each neighbor across a face n^2 points of
//! 8 B per exchange; across the periodic boundary only, it sends neighbors across edges n points and those across
//! corners one. The three sums of the matrix, 491,264 B, 10,528 B and 416 B, equal 12 exchanges on the level of 64^3, 9
//! on each of 32^3, 16^3, 8^3 and 4^3, and 4 on that of 2^3: `8 (12 x 64^2 + 9 (32^2 + 16^2 + 8^2 + 4^2) + 4 x 2^2) =
//! 491,264`, and likewise with first and zeroth powers. No other plausible numbers of exchanges give all three. On
//! 110,592 ranks the same boxes send 326 GB, as reported by Mubarak et al. (IEEE TPDS 28(1), 2017) for the largest
//! trace. The order of the exchanges is that of a V-cycle; the matrix does not show it.
//!
//! Every rank of the matrix sends 216 B to every other (rank 0: 128 B), 27 times 8 B: collectives, which the tool
//! counts as 8 B between all pairs. The model has 16 all-reduces, and 11 broadcasts from rank 0.

use odonata_units::{Bytes, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::boxes::{Boxes, Neighbour, reach};
use super::{Parameters, allreduce, ghost_cells};
use crate::program::check_length;
use crate::{Collective, Comm, Cursor, Op, OpKind, Program};

/// Multigrid: V-cycles of a geometric multigrid solver on boxes of a block-structured grid. The defaults are the trace
/// of the Design Forward program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Multigrid")]
pub struct MultigridParams {
    /// Boxes along x, y, z, one per rank; their product is `ranks`. Default: balanced (1,000 ranks: 10 x 10 x 10).
    pub dims: Option<[u32; 3]>,
    /// Whether the domain is periodic.
    #[default = true]
    pub periodic: bool,
    /// Points along each edge of a box on the finest level; half as many on each following level, rounded down.
    #[default = 64]
    pub points: u32,
    /// Exchanges of ghost cells on each level, the finest first.
    #[default(vec![12, 9, 9, 9, 9, 4])]
    pub exchanges: Vec<u32>,
    /// Size of a point, e.g. "8 B".
    #[default(Bytes(8))]
    pub point: Bytes,
    /// V-cycles.
    #[default = 1]
    pub cycles: u32,
    /// Broadcasts of 8 B from rank 0 at the start.
    #[default = 11]
    pub broadcasts: u32,
    /// All-reduces of 8 B at the end of each cycle.
    #[default = 16]
    pub allreduces: u32,
    /// Computation of each rank in all cycles together; each exchange follows a part of it that is proportional to the
    /// points of its level. Default: 96.6% of 5.199 s, as measured on 110,592 ranks.
    #[default(Time::from_ns(5_022_234_000))]
    pub compute: Time,
}

/// Maximum number of levels, and of exchanges on all of them.
const MOST_LEVELS: usize = 32;
const MOST_EXCHANGES: u64 = 1 << 20;

impl Parameters for MultigridParams {
    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        let levels = self.exchanges.len();
        let key = |name: &str| format!("{at}.{name}");
        if levels == 0 || levels > MOST_LEVELS {
            let expected = format!("1 to {MOST_LEVELS}");
            return Err(Problem::new(key("exchanges"), format!("{levels} levels"), expected));
        }
        let total: u64 = self.exchanges.iter().map(|&count| u64::from(count)).sum();
        if total == 0 || total > MOST_EXCHANGES {
            let expected = format!("1 to {MOST_EXCHANGES} in all");
            return Err(Problem::new(key("exchanges"), format!("{total} exchanges"), expected));
        }
        let most = 1 << 20;
        odonata_units::within(key("points"), self.points, 1, most)?;
        odonata_units::within(key("point"), self.point, Bytes(1), Bytes::mib(1))?;
        if self.points >> (levels - 1) == 0 {
            let problem = format!(
                "no point is left on level {levels} of boxes with {} points along an edge",
                self.points
            );
            let expected = format!("at most {} levels", self.points.ilog2() + 1);
            return Err(Problem::new(key("exchanges"), problem, expected));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Multigrid::new(ranks, self.clone())?))
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// V-cycles on boxes.
///
/// Broadcasts; then per cycle: on each level down, half of its exchanges (rounded up), on the coarsest all, on each
/// level up the rest; all-reduces; a mark. Computation precedes each exchange.
#[derive(Clone, Debug)]
pub struct Multigrid {
    boxes: Boxes,
    params: MultigridParams,
    /// The level of each exchange of a cycle, in order.
    cycle: Vec<u8>,
    /// Computation before an exchange on each level.
    computes: Vec<Time>,
}

impl Multigrid {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The product of `dims` is not `ranks`, there is no exchange, or there are too many operations.
    pub fn new(ranks: u32, params: MultigridParams) -> Result<Self, String> {
        let mut checked = params;
        checked.resolve("multigrid", ranks).map_err(|problem| problem.problem)?;
        let params = checked;
        let boxes = Boxes::new(ranks, params.dims)?;
        let mut cycle = Vec::new();
        let levels = params.exchanges.len();
        for level in 0..levels {
            let count = params.exchanges[level];
            let down = if level + 1 == levels { count } else { count.div_ceil(2) };
            cycle.extend((0..down).map(|_| level as u8));
        }
        for level in (0..levels - 1).rev() {
            cycle.extend((0..params.exchanges[level] / 2).map(|_| level as u8));
        }
        // In proportion to the points of the level.
        let volume = |level: usize| f64::from(params.points >> level).powi(3);
        let all: f64 = (0..levels)
            .map(|level| f64::from(params.exchanges[level]) * volume(level))
            .sum();
        let computes = (0..levels)
            .map(|level| Time((params.compute.0 as f64 / f64::from(params.cycles.max(1)) * volume(level) / all) as u64))
            .collect();
        let each = cycle.len() as u64 * (ghost_cells::MOST_OPERATIONS + 1) + u64::from(params.allreduces) + 1;
        check_length(params.cycles, each.saturating_add(u64::from(params.broadcasts)))?;
        Ok(Multigrid {
            boxes,
            params,
            cycle,
            computes,
        })
    }

    /// Bytes that a box sends to a neighbor in an exchange on `level`.
    fn bytes(&self, level: u8, step: u32, there: Neighbour) -> u64 {
        let reach = reach(step);
        if reach > 1 && !there.wraps {
            return 0;
        }
        u64::from(self.params.points >> level).pow(3 - reach) * self.params.point.0
    }
}

impl Program for Multigrid {
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
        let (broadcasts, exchanges) = (self.params.broadcasts, self.cycle.len() as u32);
        cursor.advance(|[cycle, place, computed, exchange @ ..]| {
            if *cycle >= self.params.cycles {
                return None;
            }
            loop {
                // The places of a cycle: broadcasts (in the first one), exchanges, all-reduces, the mark.
                if *place < broadcasts {
                    if *cycle > 0 {
                        *place = broadcasts;
                        continue;
                    }
                    *place += 1;
                    return Some(OpKind::Collective(Collective::Broadcast {
                        comm: Comm::WORLD,
                        root: 0,
                        bytes: 8,
                    }));
                }
                let Some(&level) = self.cycle.get((*place - broadcasts) as usize) else {
                    break;
                };
                let duration = self.computes[usize::from(level)];
                if *computed == 0 && duration > Time::ZERO {
                    *computed = 1;
                    return Some(OpKind::Compute { duration });
                }
                let bytes = |step, there| self.bytes(level, step, there);
                if let Some(kind) = ghost_cells::next(&self.boxes, self.params.periodic, rank, exchange, bytes) {
                    return Some(kind);
                }
                (*place, *computed) = (*place + 1, 0);
            }
            if *place - broadcasts - exchanges < self.params.allreduces {
                *place += 1;
                return Some(allreduce(8, 1));
            }
            let mark = OpKind::Mark { iteration: *cycle };
            (*cycle, *place) = (*cycle + 1, 0);
            Some(mark)
        })
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.cycles)
    }

    fn describe(&self) -> String {
        let MultigridParams { points, cycles, .. } = self.params;
        let levels = self.computes.len();
        format!(
            "Multigrid, {} of {points}^3 points, {levels} levels, {cycles} cycles",
            self.boxes
        )
    }
}
