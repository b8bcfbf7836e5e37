//! AMG: V-cycles of an algebraic multigrid solver.
//!
//! The workload "AMG" of the DOE's Design Forward program is hypre's BoomerAMG on a 3-D grid with the 7-point stencil
//! of 40^3 points per rank. Its trace on 27 ranks (3 x 3 x 3, x fastest) has two V-cycles of 30 exchanges each. On each
//! level `l` of the six distributed ones: the matrix `A_l` twice, restriction `R_l`; on the way up interpolation, which
//! is reversed restriction, and `A_l` once. The seventh level is on one rank.
//!
//! On the finest level every rank sends 40^2 points of 8 B to each of its 6 neighbors. On coarser levels, whose points
//! the solver chooses, the neighborhood grows: across edges, corners, two ranks away. [`MATRIX`] and [`RESTRICTION`]
//! hold measurements of the trace: for each class of neighbors (by distance per dimension), the number of pairs with a
//! message, and its bytes. The model gives the same share of pairs messages of this mean size, spread evenly over the
//! grid. On 27 ranks, messages and bytes of each of the 60 exchanges equal the trace; the assignment to pairs does not.
//! On 13,824 ranks the two cycles send 10 GiB, as reported by Mubarak et al. (IEEE TPDS 28(1), 2017) for the largest
//! trace. Neighbors more than two ranks away on coarse levels of large machines, and levels beyond the seventh, were
//! not measured and are not modeled.

use odonata_units::{Bytes, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::grid::{Grid, balanced};
use crate::program::check_length;
use crate::{Comm, Cursor, Op, OpKind, Program, Request, Source, Tag};

/// AMG: V-cycles of an algebraic multigrid solver on a 3-D mesh of ranks. The defaults are the traces of the Design Forward programme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Amg")]
pub struct AmgParams {
    /// Ranks along x, y, z, the first fastest; their product is `ranks`. Default: balanced (13,824 ranks: 24 x 24 x
    /// 24).
    pub dims: Option<[u32; 3]>,
    /// Levels of a cycle, 2 to 7. The last one is on one rank and sends nothing.
    #[default = 7]
    pub levels: u32,
    /// V-cycles.
    #[default = 2]
    pub cycles: u32,
    /// Size of the message to a neighbor on the finest level, e.g. "12800 B"; 8 n^2 bytes for n^3 points per rank.
    /// Messages of coarser levels are in proportion.
    #[default(Bytes(12_800))]
    pub message: Bytes,
    /// Computation before the first cycle, in which the solver sets up its levels. Default: 91.4%, as measured on 27
    /// ranks, of the computation of 60.34% of 7.5 s that was measured on 13,824 ranks.
    #[default(Time::from_ns(4_134_400_000))]
    pub setup: Time,
    /// Computation in all cycles together, most of it on the finest level, as measured on 27 ranks. Default: the rest
    /// of that time.
    #[default(Time::from_ns(391_100_000))]
    pub compute: Time,
}

impl Parameters for AmgParams {
    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        odonata_units::within(format!("{at}.levels"), self.levels, 2, MATRIX.len() as u32 + 1)?;
        odonata_units::within(format!("{at}.message"), self.message, Bytes(8), Bytes(1 << 40))?;
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Amg::new(ranks, self.clone())?))
    }

    fn take_dims(&mut self) -> bool {
        self.dims.take().is_some()
    }
}

/// Neighbors of one class, measured on 3 x 3 x 3 ranks: distance per dimension, ascending; messages in one exchange;
/// total of their 8-byte words.
type Measured = ([u8; 3], u64, u64);

/// Exchanges of the matrix of each level, the finest first. From the trace `df_AMG_n27_dumpi` of the Design Forward
/// program.
const MATRIX: [&[Measured]; 6] = [
    &[([0, 0, 1], 108, 172_800)],
    &[([0, 0, 1], 108, 46_654), ([0, 1, 1], 144, 2_091), ([1, 1, 1], 20, 23)],
    &[([0, 0, 1], 108, 21_822), ([0, 1, 1], 144, 4_274), ([1, 1, 1], 60, 180)],
    &[([0, 0, 1], 108, 6_759), ([0, 1, 1], 144, 3_125), ([1, 1, 1], 62, 334)],
    &[
        ([0, 0, 1], 108, 1_481),
        ([0, 1, 1], 144, 1_458),
        ([1, 1, 1], 62, 372),
        ([0, 0, 2], 48, 137),
        ([0, 1, 2], 82, 176),
        ([1, 1, 2], 28, 43),
        ([0, 2, 2], 2, 2),
    ],
    &[
        ([0, 0, 1], 74, 155),
        ([0, 1, 1], 94, 186),
        ([1, 1, 1], 42, 78),
        ([0, 0, 2], 34, 71),
        ([0, 1, 2], 76, 148),
        ([1, 1, 2], 48, 84),
        ([0, 2, 2], 12, 18),
        ([1, 2, 2], 10, 14),
    ],
];

/// Restrictions from each level to the next; the same trace.
const RESTRICTION: [&[Measured]; 6] = [
    &[([0, 0, 1], 108, 21_408), ([0, 1, 1], 141, 432), ([1, 1, 1], 1, 1)],
    &[([0, 0, 1], 108, 6_042), ([0, 1, 1], 140, 422), ([1, 1, 1], 3, 3)],
    &[([0, 0, 1], 108, 1_523), ([0, 1, 1], 113, 219), ([1, 1, 1], 14, 14)],
    &[([0, 0, 1], 108, 396), ([0, 1, 1], 72, 101), ([1, 1, 1], 12, 13)],
    &[
        ([0, 0, 1], 68, 114),
        ([0, 1, 1], 52, 67),
        ([1, 1, 1], 13, 14),
        ([0, 0, 2], 4, 4),
        ([0, 1, 2], 6, 6),
        ([1, 1, 2], 1, 1),
    ],
    &[
        ([0, 0, 1], 1, 1),
        ([0, 1, 1], 1, 1),
        ([1, 1, 1], 1, 1),
        ([1, 1, 2], 1, 1),
    ],
];

/// Computation of a cycle per level, as parts of their sum, measured on 27 ranks.
const COMPUTATION: [u64; 6] = [8_555, 684, 339, 142, 164, 115];

/// Exchanges of a cycle on a level: the matrix three times, restriction, interpolation.
const EXCHANGES_PER_LEVEL: u64 = 5;

/// Maximum number of neighbors: at most two ranks away in each dimension.
const MOST_NEIGHBOURS: u64 = 5 * 5 * 5 - 1;

/// A message of the finest level in the trace.
const MEASURED_MESSAGE: u64 = 12_800;

/// An offset to a rank.
type Step = [i8; 3];

/// The neighbors at one offset, and which of them have messages.
///
/// The pairs of a class are numbered in order of offsets and places. Of `pairs` pairs on 27 ranks, `messages` have one:
/// pair `i` has message `floor(i messages / pairs)` if that differs from the value for `i + 1`. Message `k` has
/// `floor((k + 1) words / messages) - floor(k words / messages)` words. Sums are exact over 27 ranks, and nearly exact
/// elsewhere.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    step: Step,
    /// Number of the first pair at this offset; in a symmetric exchange, where both ranks of a pair have a message or
    /// neither, of the offset or its opposite.
    first: u64,
    pairs: u64,
    messages: u64,
    words: u64,
}

/// The messages of an exchange: offsets and their opposites side by side (2 k and 2 k + 1).
#[derive(Clone, Debug)]
struct Exchange {
    neighbours: Vec<Neighbours>,
    symmetric: bool,
}

/// Ranks on a 3-D mesh, x fastest.
type Extents = [u32; 3];

impl Exchange {
    /// The `measured` messages on a mesh of these extents, scaled to messages of `message` bytes on the finest level.
    fn new(measured: &[Measured], symmetric: bool, extents: Extents, message: u64) -> Exchange {
        let mut neighbours = Vec::new();
        for &(class, messages, words) in measured {
            let steps = steps(class);
            let count = |extents: Extents| -> u64 { steps.iter().map(|step| places(extents, *step)).sum() };
            // In a symmetric exchange, one pair stands for both directions.
            let fold = if symmetric { 2 } else { 1 };
            let scaled = u128::from(words) * u128::from(message) / u128::from(MEASURED_MESSAGE);
            let words = u64::try_from(scaled).unwrap_or(u64::MAX).max(messages);
            let pairs = count([3; 3]) / fold;
            let mut first = 0;
            for (number, &step) in steps.iter().enumerate() {
                neighbours.push(Neighbours {
                    step,
                    first,
                    pairs,
                    messages,
                    words,
                });
                if !symmetric || number % 2 == 1 {
                    first += places(extents, step);
                }
            }
        }
        Exchange { neighbours, symmetric }
    }

    /// Bytes that the rank at `from` sends at offset number `number`; 0 means no message. The target is within the
    /// mesh.
    fn bytes(&self, extents: Extents, from: [u32; 3], number: usize) -> u64 {
        let backwards = self.symmetric && number % 2 == 1;
        let Neighbours {
            first,
            pairs,
            messages,
            words,
            ..
        } = self.neighbours[number];
        // The first of two directions names the pair, by the sending rank.
        let step = self.neighbours[number & !usize::from(self.symmetric)].step;
        let from = match backwards {
            true => moved(extents, from, self.neighbours[number].step).unwrap_or(from),
            false => from,
        };
        let pair = first + place(extents, from, step);
        let directions = if self.symmetric { 2 } else { 1 };
        let selected = |pair: u64| pair * (messages / directions) / pairs;
        if selected(pair) == selected(pair + 1) {
            return 0;
        }
        let message = selected(pair) * directions + u64::from(backwards);
        let until = |message: u64| (u128::from(message) * u128::from(words) / u128::from(messages)) as u64;
        8 * (until(message + 1) - until(message))
    }
}

/// The offsets of a class: opposite ones side by side.
fn steps(class: [u8; 3]) -> Vec<Step> {
    let mut steps = Vec::new();
    for z in -2i8..=2 {
        for y in -2i8..=2 {
            for x in -2i8..=2 {
                let step = [x, y, z];
                let mut far = step.map(i8::unsigned_abs);
                far.sort_unstable();
                // Of two opposites, the one whose last nonzero dimension is positive.
                let up = step.iter().rev().find(|way| **way != 0).is_some_and(|way| *way > 0);
                if far == class && up {
                    steps.extend([step, step.map(|way| -way)]);
                }
            }
        }
    }
    steps
}

/// Number of ranks with a neighbor at `step`.
fn places(extents: Extents, step: Step) -> u64 {
    let along = |d: usize| u64::from(extents[d].saturating_sub(u32::from(step[d].unsigned_abs())));
    along(0) * along(1) * along(2)
}

/// Index of the rank at `at` among the ranks with a neighbor at `step`, x fastest.
fn place(extents: Extents, at: [u32; 3], step: Step) -> u64 {
    let along = |d: usize| u64::from(extents[d].saturating_sub(u32::from(step[d].unsigned_abs())));
    let within = |d: usize| {
        u64::from(at[d])
            - if step[d] < 0 {
                u64::from(step[d].unsigned_abs())
            } else {
                0
            }
    };
    within(0) + along(0) * (within(1) + along(1) * within(2))
}

/// The target of `step`; `None` outside the mesh.
fn moved(extents: Extents, at: [u32; 3], step: Step) -> Option<[u32; 3]> {
    let mut to = at;
    for d in 0..3 {
        to[d] = at[d]
            .checked_add_signed(i32::from(step[d]))
            .filter(|&to| to < extents[d])?;
    }
    Some(to)
}

/// The action of a rank at one place of a cycle.
#[derive(Clone, Copy, Debug)]
struct Stage {
    level: u8,
    /// Number of the exchange, and whether it is reversed.
    exchange: u8,
    backwards: bool,
}

/// V-cycles of an algebraic multigrid solver.
///
/// Setup; then per cycle, on each level down: matrix, matrix, restriction; on each level up: interpolation, matrix; a
/// mark. Computation precedes each exchange. An exchange receives from all neighbors and sends to them, without
/// blocking, and waits for both; a rank without neighbors continues at once.
#[derive(Clone, Debug)]
pub struct Amg {
    extents: Extents,
    params: AmgParams,
    /// Matrices, then restrictions.
    exchanges: Vec<Exchange>,
    cycle: Vec<Stage>,
    /// Computation before an exchange on each level.
    computes: Vec<Time>,
}

impl Amg {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// The product of `dims` is not `ranks`, there are no cycles or not 2 to 7 levels, or too many operations.
    pub fn new(ranks: u32, params: AmgParams) -> Result<Self, String> {
        let mut checked = params;
        checked.resolve("amg", ranks).map_err(|problem| problem.problem)?;
        let params = checked;
        let extents = match (params.dims, balanced(ranks, 3)) {
            (Some(dims), _) => dims,
            (None, Ok(list)) => [list[0], list[1], list[2]],
            (None, Err(problem)) => return Err(problem),
        };
        Grid::new(ranks, &extents, false)?;
        let levels = params.levels as usize - 1;
        let (message, matrix) = (params.message.0, |l: usize| MATRIX[l]);
        let matrices = (0..levels).map(|l| Exchange::new(matrix(l), true, extents, message));
        let restrictions = (0..levels).map(|l| Exchange::new(RESTRICTION[l], false, extents, message));
        let stage = |level: usize, exchange: usize, backwards| Stage {
            level: level as u8,
            exchange: exchange as u8,
            backwards,
        };
        let mut cycle = Vec::new();
        for l in 0..levels {
            cycle.extend([stage(l, l, false), stage(l, l, false), stage(l, levels + l, false)]);
        }
        for l in (0..levels).rev() {
            cycle.extend([stage(l, levels + l, true), stage(l, l, false)]);
        }
        let all: u64 = COMPUTATION[..levels].iter().sum();
        let share = |l: usize| {
            let time = params.compute.0 / u64::from(params.cycles.max(1)) / EXCHANGES_PER_LEVEL;
            Time((u128::from(time) * u128::from(COMPUTATION[l]) / u128::from(all)) as u64)
        };
        check_length(params.cycles, cycle.len() as u64 * (2 * MOST_NEIGHBOURS + 2) + 2)?;
        Ok(Amg {
            extents,
            exchanges: matrices.chain(restrictions).collect(),
            cycle,
            computes: (0..levels).map(share).collect(),
            params,
        })
    }

    /// The rank at `at`.
    fn rank(&self, [x, y, z]: [u32; 3]) -> u32 {
        x + self.extents[0] * (y + self.extents[1] * z)
    }

    /// Where `rank` is.
    fn at(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.extents;
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The next operation of the exchange of `stage`; `None` when it is done, with `progress` reset.
    fn exchange(&self, rank: u32, stage: Stage, progress: &mut [u32; 2]) -> Option<OpKind> {
        let exchange = &self.exchanges[usize::from(stage.exchange)];
        let (at, count) = (self.at(rank), exchange.neighbours.len() as u32);
        let [position, posted] = progress;
        while *position < 2 * count {
            let number = (*position % count) as usize;
            let sending = *position >= count;
            *position += 1;
            let Some(there) = moved(self.extents, at, exchange.neighbours[number].step) else {
                continue;
            };
            // A reversed exchange sends what the forward one received.
            let bytes = if sending == stage.backwards {
                exchange.bytes(self.extents, there, number ^ 1)
            } else {
                exchange.bytes(self.extents, at, number)
            };
            if bytes == 0 {
                continue;
            }
            let (comm, peer, request) = (Comm::WORLD, self.rank(there), Request(*posted));
            *posted += 1;
            return Some(if sending {
                OpKind::Isend {
                    to: peer,
                    tag: 0,
                    bytes,
                    comm,
                    request,
                }
            } else {
                OpKind::Irecv {
                    from: Source::Rank(peer),
                    tag: Tag::Is(0),
                    bytes,
                    comm,
                    request,
                }
            });
        }
        let count_posted = *posted;
        if *position == 2 * count && count_posted > 0 {
            *position += 1;
            return Some(OpKind::WaitAll {
                first: Request(0),
                count: count_posted,
            });
        }
        *progress = [0; 2];
        None
    }
}

impl Program for Amg {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn ranks(&self) -> u32 {
        self.extents.iter().product()
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        cursor.advance(|[cycle, place, computed, progress @ ..]| {
            if *cycle >= self.params.cycles {
                return None;
            }
            let setup = self.params.setup;
            if *cycle == 0 && *place == 0 {
                *place = 1;
                if setup > Time::ZERO {
                    return Some(OpKind::Compute { duration: setup });
                }
            }
            *place = (*place).max(1);
            while let Some(&stage) = self.cycle.get(*place as usize - 1) {
                let duration = self.computes[usize::from(stage.level)];
                if *computed == 0 && duration > Time::ZERO {
                    *computed = 1;
                    return Some(OpKind::Compute { duration });
                }
                if let Some(kind) = self.exchange(rank, stage, progress) {
                    return Some(kind);
                }
                (*place, *computed) = (*place + 1, 0);
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
        let ([x, y, z], AmgParams { levels, cycles, .. }) = (self.extents, &self.params);
        format!("AMG, {x} x {y} x {z} mesh, {cycles} V-cycles of {levels} levels")
    }
}
