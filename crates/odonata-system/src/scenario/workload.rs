//! Parameters of the application skeletons, written and resolved alike: every key has a default.

use std::sync::Arc;

use odonata_units::{Bandwidth, Bytes, Time};
use odonata_workload::conceptual::{Conceptual, ConceptualProgram};
use odonata_workload::skeletons as programs;
use odonata_workload::{Neighbours, Phases, Program, synthetic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::{Arrival, CheckpointOffset, CosmoflowIo, GridStep, Reach, Turn};
use super::resolved::{Bursts, Job, OnOff, Pattern, ProgramFile, Synthetic, Workload};

/// Communication of MILC's solver: per iteration, twice an exchange with 8 neighbours in a 4-D torus, then two
/// all-reduces of 8 B. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Milc {
    /// Ranks along each of the 4 dimensions, the first fastest; their product is `ranks`. Default: balanced (300
    /// ranks: 3 x 4 x 5 x 5).
    pub dims: Option<[u32; 4]>,
    /// Iterations of the solver.
    pub iterations: u32,
    /// Size of the message to one neighbour, e.g. "497664 B"; 1.5 L^4 bytes for L^4 lattice sites per rank.
    pub message: Bytes,
    /// Computation on the sites of one parity, twice per iteration, e.g. "25 ns".
    pub compute: Time,
}

impl Default for Milc {
    fn default() -> Self {
        let programs::MilcParams {
            dims,
            iterations,
            message_bytes,
            compute,
        } = programs::MilcParams::default();
        Milc {
            dims,
            iterations,
            message: Bytes(message_bytes),
            compute,
        }
    }
}

/// Communication of Nekbone: for each polynomial order two conjugate gradient solves with 26-neighbour exchanges
/// in a 3-D mesh and all-reduces of 8 B. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nekbone {
    /// Ranks along x, y, z, the first fastest; their product is `ranks`. Default: balanced (300 ranks: 5 x 6 x 10).
    pub dims: Option<[u32; 3]>,
    /// Polynomial orders, solved one after the other; at most 1,000.
    pub orders: Vec<u32>,
    /// Spectral elements along each edge of a rank's block.
    pub elements_per_edge: u32,
    /// Iterations of each of the two solves per order.
    pub cg_iterations: u32,
}

impl Default for Nekbone {
    fn default() -> Self {
        let programs::NekboneParams {
            dims,
            orders,
            elements_per_edge,
            cg_iterations,
        } = programs::NekboneParams::default();
        Nekbone {
            dims,
            orders,
            elements_per_edge,
            cg_iterations,
        }
    }
}

/// Checkpoints: compute, then every rank writes its share of a common file. The defaults are the MFNetSim case study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Checkpoint {
    /// Number of checkpoints.
    pub iterations: u32,
    /// Size of one checkpoint of the whole job, e.g. "50 GB"; every rank writes the same share, rounded down.
    pub total: Bytes,
    /// Computation before each checkpoint, e.g. "100 ms".
    pub interval: Time,
    /// Where in the file a rank writes.
    pub offset: CheckpointOffset,
    /// Whether there is a barrier before and after the writes (the MFNetSim runs have none).
    pub coordinated: bool,
}

impl Default for Checkpoint {
    fn default() -> Self {
        let params = programs::CheckpointParams::default();
        Checkpoint {
            iterations: params.iterations,
            total: Bytes(params.total_bytes),
            interval: params.interval,
            offset: match params.offset {
                programs::CheckpointOffset::ByRank => CheckpointOffset::ByRank,
                programs::CheckpointOffset::Zero => CheckpointOffset::Zero,
            },
            coordinated: params.coordinated,
        }
    }
}

/// Data-parallel training of CosmoFlow: per step a transfer of the rank's own file, computation, and an all-reduce
/// of the gradient. The defaults are the MFNetSim paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cosmoflow {
    /// Training steps.
    pub iterations: u32,
    /// Elements of the gradient.
    pub elements: u64,
    /// Size of an element, e.g. "4 B".
    pub element: Bytes,
    /// What each rank transfers per step, e.g. "8 MiB".
    pub sample: Bytes,
    /// Computation per step, e.g. "129 ms".
    pub compute: Time,
    /// Which way the samples go.
    pub io: CosmoflowIo,
    /// Whether the transfer of the next step overlaps with the computation of this one (the MFNetSim runs: no).
    pub pipelined: bool,
}

impl Default for Cosmoflow {
    fn default() -> Self {
        let params = programs::CosmoFlowParams::default();
        Cosmoflow {
            iterations: params.iterations,
            elements: params.elements,
            element: Bytes(params.element_bytes),
            sample: Bytes(params.io_bytes),
            compute: params.compute,
            io: match params.io {
                programs::CosmoFlowIo::Read => CosmoflowIo::Read,
                programs::CosmoFlowIo::Write => CosmoflowIo::Write,
            },
            pipelined: params.pipelined,
        }
    }
}

/// Sweeps over a grid of 1 to 4 dimensions with an exchange of faces. The defaults are the Jacobi skeleton of Union.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stencil {
    /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a balanced
    /// grid of `dimensions` dimensions.
    pub dims: Option<Vec<u32>>,
    /// Dimensions of the balanced grid, 1 to 4; without effect where `dims` is given.
    pub dimensions: u32,
    /// Whether the grid is a torus.
    pub wrap: bool,
    /// Size of the message to one neighbour, e.g. "1 MB".
    pub message: Bytes,
    /// Sweeps over the grid.
    pub iterations: u32,
    /// Computation per sweep, e.g. "2 ms".
    pub compute: Time,
    /// Size of the all-reduce that ends a sweep, e.g. "8 B"; "0 B": none.
    pub allreduce: Bytes,
}

impl Default for Stencil {
    fn default() -> Self {
        let params = programs::StencilParams::default();
        Stencil {
            dims: None,
            dimensions: 3,
            wrap: params.wrap,
            message: Bytes(params.message_bytes),
            iterations: params.iterations,
            compute: params.compute,
            allreduce: Bytes(params.allreduce_bytes.unwrap_or(0)),
        }
    }
}

impl Workload {
    /// The program that `ranks` ranks run; `None` for synthetic traffic, which is no program, and for phases, which
    /// are several ([`Job::program`]).
    ///
    /// # Errors
    /// The parameters do not fit the number of ranks; the text says which and how.
    pub fn program(&self, ranks: u32) -> Result<Option<Box<dyn Program>>, String> {
        Ok(Some(match self {
            Workload::Milc(w) => Box::new(programs::Milc::new(
                ranks,
                programs::MilcParams {
                    dims: w.dims,
                    iterations: w.iterations,
                    message_bytes: w.message.0,
                    compute: w.compute,
                },
            )?),
            Workload::Nekbone(w) => Box::new(programs::Nekbone::new(
                ranks,
                programs::NekboneParams {
                    dims: w.dims,
                    orders: w.orders.clone(),
                    elements_per_edge: w.elements_per_edge,
                    cg_iterations: w.cg_iterations,
                },
            )?),
            Workload::Checkpoint(w) => Box::new(programs::Checkpoint::new(
                ranks,
                programs::CheckpointParams {
                    iterations: w.iterations,
                    total_bytes: w.total.0,
                    interval: w.interval,
                    offset: match w.offset {
                        CheckpointOffset::ByRank => programs::CheckpointOffset::ByRank,
                        CheckpointOffset::Zero => programs::CheckpointOffset::Zero,
                    },
                    coordinated: w.coordinated,
                },
            )?),
            Workload::Cosmoflow(w) => Box::new(programs::CosmoFlow::new(
                ranks,
                programs::CosmoFlowParams {
                    iterations: w.iterations,
                    elements: w.elements,
                    element_bytes: w.element.0,
                    io_bytes: w.sample.0,
                    compute: w.compute,
                    io: match w.io {
                        CosmoflowIo::Read => programs::CosmoFlowIo::Read,
                        CosmoflowIo::Write => programs::CosmoFlowIo::Write,
                    },
                    pipelined: w.pipelined,
                },
            )?),
            Workload::Stencil(w) => Box::new(programs::Stencil::new(
                ranks,
                programs::StencilParams {
                    layout: match &w.dims {
                        Some(dims) => programs::StencilLayout::Dims(dims.clone()),
                        None => programs::StencilLayout::Balanced(w.dimensions),
                    },
                    wrap: w.wrap,
                    message_bytes: w.message.0,
                    iterations: w.iterations,
                    compute: w.compute,
                    allreduce_bytes: Some(w.allreduce.0).filter(|&bytes| bytes > 0),
                },
            )?),
            Workload::Trace(w) => Box::new(w.replay().clone()),
            Workload::Python(w) => Box::new(w.program().clone()),
            Workload::Program(file) => Box::new(file.program(ranks)?),
            Workload::Phases(_) | Workload::Synthetic(_) => return Ok(None),
        }))
    }
}

impl ProgramFile {
    /// The program for `ranks` tasks.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column.
    fn program(&self, ranks: u32) -> Result<ConceptualProgram, String> {
        let read = |name: &str| {
            self.files
                .get(name)
                .cloned()
                .ok_or_else(|| format!("file {name:?} was not read"))
        };
        self.program_with(ranks, &read)
    }

    /// As [`ProgramFile::program`], with files that `read` gives.
    pub(super) fn program_with(
        &self,
        ranks: u32,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<ConceptualProgram, String> {
        let parsed = Conceptual::parse(&self.path, &self.source).map_err(|errors| errors.to_string())?;
        parsed
            .program(ranks, &self.args, self.seed, read)
            .map_err(|abort| abort.message)
    }
}

impl Job {
    /// The program of its ranks, repetitions included; `None` for synthetic traffic, which is no program.
    ///
    /// # Errors
    /// As [`Workload::program`], or the repetitions cannot be numbered.
    pub fn program(&self) -> Result<Option<Arc<dyn Program>>, String> {
        let programs = match &self.workload {
            // Phases of phases are not possible: the list and the repetitions are one.
            Workload::Phases(phases) => phases.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut phases: Vec<Arc<dyn Program>> = Vec::with_capacity(programs.len());
        for workload in programs {
            match workload.program(self.ranks)? {
                Some(program) => phases.push(Arc::from(program)),
                None => return Ok(None),
            }
        }
        match (phases.len(), self.repeat) {
            (1, 1) => Ok(phases.pop()),
            _ => Ok(Some(Arc::new(Phases::new(phases, self.repeat)?))),
        }
    }
}

impl Pattern {
    /// The pattern for `ranks` ranks.
    ///
    /// # Errors
    /// The extents of its grid do not fit.
    fn pattern(&self, ranks: u32) -> Result<synthetic::Pattern, String> {
        Ok(match self {
            Pattern::Uniform => synthetic::Pattern::Uniform,
            Pattern::NextGroup { ranks_per_group } => synthetic::Pattern::NextGroup {
                ranks_per_group: *ranks_per_group,
            },
            Pattern::Permutation { targets } => synthetic::Pattern::Permutation {
                targets: targets.as_slice().into(),
            },
            Pattern::Neighbours {
                dims,
                dimensions,
                wrap,
                reach,
                turn,
            } => {
                let reach = match reach {
                    Reach::Faces => synthetic::Reach::Faces,
                    Reach::Box => synthetic::Reach::Box,
                };
                let turn = match turn {
                    Turn::Random => synthetic::Turn::Random,
                    Turn::InOrder => synthetic::Turn::InOrder,
                };
                let neighbours = Neighbours::new(ranks, dims.as_deref(), *dimensions, *wrap, reach, turn)?;
                synthetic::Pattern::Neighbours(neighbours)
            }
            Pattern::HotSpot { targets, share } => synthetic::Pattern::HotSpot {
                targets: targets.as_slice().into(),
                share: *share,
            },
            Pattern::Incast { targets } => synthetic::Pattern::Incast {
                targets: targets.as_slice().into(),
            },
            Pattern::AllToAll => synthetic::Pattern::AllToAll,
            Pattern::Tornado { dims } => synthetic::Pattern::Tornado(synthetic::Tornado::new(ranks, dims.as_deref())?),
            Pattern::Transpose => synthetic::Pattern::Transpose,
            Pattern::BitComplement => synthetic::Pattern::BitComplement,
            Pattern::BitReverse => synthetic::Pattern::BitReverse,
            Pattern::Shuffle => synthetic::Pattern::Shuffle,
            Pattern::BitRotation => synthetic::Pattern::BitRotation,
            Pattern::Asymmetric => synthetic::Pattern::Asymmetric,
            Pattern::Shift { by } => synthetic::Pattern::Shift { by: *by },
            Pattern::Grid {
                step,
                dims,
                ranks_per_router,
            } => {
                let step = match step {
                    GridStep::Neighbour => synthetic::Step::Neighbour,
                    GridStep::Diagonal => synthetic::Step::Diagonal,
                    GridStep::Tornado => synthetic::Step::Tornado,
                    GridStep::Next => synthetic::Step::Next,
                    GridStep::Transpose => synthetic::Step::Transpose,
                    GridStep::ComplementReverse => synthetic::Step::ComplementReverse,
                };
                let shift = synthetic::GridShift::new(ranks, dims.as_deref(), *ranks_per_router, step)?;
                synthetic::Pattern::GridShift(shift)
            }
        })
    }

    /// Its name among the workloads of a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::NextGroup { .. } => "next-group",
            Pattern::Permutation { .. } => "permutation",
            Pattern::Neighbours { .. } => "neighbours",
            Pattern::HotSpot { .. } => "hot-spot",
            Pattern::Incast { .. } => "incast",
            Pattern::AllToAll => "all-to-all",
            Pattern::Tornado { .. } => "tornado",
            Pattern::Transpose => "transpose",
            Pattern::BitComplement => "bit-complement",
            Pattern::BitReverse => "bit-reverse",
            Pattern::Shuffle => "shuffle",
            Pattern::BitRotation => "bit-rotation",
            Pattern::Asymmetric => "asymmetric",
            Pattern::Shift { .. } => "shift",
            Pattern::Grid { .. } => "grid",
        }
    }
}

/// Mean time between messages of `bytes` that offer `load` of `bandwidth`; `None` where none does: a message without
/// payload still takes a header, but no payload that a load could be measured in.
pub(super) fn interval(load: f64, bytes: Bytes, bandwidth: Bandwidth) -> Option<Time> {
    let time = bytes.0 as f64 * bandwidth.ps_per_byte() / load;
    let possible = bytes > Bytes::ZERO && time > 0.0 && time <= Time::LONGEST.0 as f64;
    possible.then(|| Time((time.round() as u64).max(1)))
}

impl Synthetic {
    /// The traffic of every rank of a job of `ranks` ranks; `told`: somebody will tell them to stop.
    ///
    /// # Errors
    /// The pattern does not fit the number of ranks, or the traffic does not end.
    pub fn traffic(&self, ranks: u32, told: bool) -> Result<synthetic::Synthetic, String> {
        let traffic = synthetic::Synthetic {
            pattern: self.pattern.pattern(ranks)?,
            bytes: self.bytes.0,
            arrival: self.arrival()?,
            bursts: self.bursts.map(|Bursts { on, off }| synthetic::Bursts { on, off }),
            messages: self.messages,
            stop: self.stop,
            told,
            itself: self.itself,
        };
        traffic.check(ranks)?;
        Ok(traffic)
    }

    /// How the times between messages are distributed.
    ///
    /// # Errors
    /// A cycle is missing or has more than one message, or the Markov chain is impossible.
    fn arrival(&self) -> Result<synthetic::Arrival, String> {
        let period = || self.period.ok_or("arrivals in cycles: expected a period".to_string());
        let rate = |period: Time| match period.0 as f64 / self.mean_interval.0.max(1) as f64 {
            rate if rate > 1.0 => Err(format!(
                "{rate:.6} messages per cycle of {period}: expected at most 1 (a shorter period, or longer messages)"
            )),
            rate => Ok(rate),
        };
        Ok(match self.arrival {
            Arrival::Fixed => synthetic::Arrival::Fixed,
            Arrival::Exponential => synthetic::Arrival::Exponential,
            Arrival::Bernoulli => {
                let period = period()?;
                rate(period)?;
                synthetic::Arrival::Bernoulli { period }
            }
            Arrival::OnOff => {
                let (period, OnOff { alpha, beta, r1 }) = (period()?, self.on_off.unwrap_or_default());
                let process = synthetic::OnOff::with_rate(period, rate(period)?, alpha, beta, r1)?;
                synthetic::Arrival::OnOff(process)
            }
        })
    }

    /// The same traffic at another load, as a fraction of `bandwidth`, that of the terminal link; `None` where no
    /// message interval gives it.
    pub fn with_load(&self, load: f64, bandwidth: Bandwidth) -> Option<Synthetic> {
        Some(Synthetic {
            mean_interval: interval(load, self.bytes, bandwidth)?,
            ..self.clone()
        })
    }
}
