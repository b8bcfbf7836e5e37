//! CosmoFlow: training of a neural network on data read during the run.

use odonata_units::{Bytes, Time, counted};

use super::{Parameters, allreduce};
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction of the data of a CosmoFlow step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CosmoflowIo")]
pub enum CosmoFlowIo {
    /// Samples are read, as in the MFNetSim paper.
    #[default]
    Read,
    /// Samples are written, as in the MFNetSim runs.
    Write,
}

/// Data-parallel training of CosmoFlow: each step transfers the rank's own file, computes, and all-reduces the
/// gradient. The defaults are those of the MFNetSim paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Cosmoflow")]
pub struct CosmoFlowParams {
    /// Training steps.
    #[default = 5]
    pub iterations: u32,
    /// Elements of the gradient.
    #[default = 7_379_200]
    pub elements: u64,
    /// Size of an element, e.g. "4 B".
    #[default(Bytes(4))]
    pub element: Bytes,
    /// Size transferred by each rank per step, e.g. "8 MiB".
    #[default(Bytes::mib(8))]
    pub sample: Bytes,
    /// Computation per step, e.g. "129 ms".
    #[default(Time::from_ns(129_000_000))]
    pub compute: Time,
    /// Direction of the samples.
    #[default(CosmoFlowIo::Read)]
    pub io: CosmoFlowIo,
    /// Whether the transfer of the next step overlaps with the computation of this one (the MFNetSim runs: no).
    #[default = true]
    pub pipelined: bool,
}

impl Parameters for CosmoFlowParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(CosmoFlow::new(ranks, self.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

/// Data-parallel training.
///
/// Step `i`: transfer of the rank's own file number `i`, compute, all-reduce of the gradient, mark. Rank `r` numbers
/// its files `1000 r + i` (with a larger stride for more than 1,000 steps).
#[derive(Clone, Debug)]
pub struct CosmoFlow {
    ranks: u32,
    params: CosmoFlowParams,
}

/// The request of the transfer in progress; one at a time.
const SAMPLE: Request = Request(0);

impl CosmoFlow {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many operations, or a gradient of more than 2^64 bytes.
    pub fn new(ranks: u32, params: CosmoFlowParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        if params.elements.checked_mul(params.element.0).is_none() {
            let CosmoFlowParams { elements, element, .. } = params;
            return Err(format!("{elements} elements of {element} are more than 2^64 bytes"));
        }
        check_length(params.iterations, 7)?;
        Ok(CosmoFlow { ranks, params })
    }

    fn file(&self, rank: u32, iteration: u32) -> u64 {
        u64::from(rank) * u64::from(self.params.iterations.max(1_000)) + u64::from(iteration)
    }

    fn transfer(&self, file: u64) -> OpKind {
        let (offset, bytes) = (0, self.params.sample.0);
        match self.params.io {
            CosmoFlowIo::Read => OpKind::Read { file, offset, bytes },
            CosmoFlowIo::Write => OpKind::Write { file, offset, bytes },
        }
    }

    fn start_transfer(&self, file: u64) -> OpKind {
        let (offset, bytes, request) = (0, self.params.sample.0, SAMPLE);
        match self.params.io {
            CosmoFlowIo::Read => OpKind::Iread {
                file,
                offset,
                bytes,
                request,
            },
            CosmoFlowIo::Write => OpKind::Iwrite {
                file,
                offset,
                bytes,
                request,
            },
        }
    }

    /// Part `step` of an iteration's input; `None` if it does not exist.
    fn input(&self, rank: u32, iteration: u32, step: u32) -> Option<OpKind> {
        let this = self.file(rank, iteration);
        if !self.params.pipelined {
            return match step {
                0 => Some(OpKind::Open { file: this }),
                1 => Some(self.transfer(this)),
                2 => Some(OpKind::Close { file: this }),
                _ => None,
            };
        }
        let first = iteration == 0;
        let next = (iteration + 1 < self.params.iterations).then(|| self.file(rank, iteration + 1));
        match step {
            0 => first.then_some(OpKind::Open { file: this }),
            1 => first.then(|| self.start_transfer(this)),
            2 => Some(OpKind::Wait { request: SAMPLE }),
            3 => Some(OpKind::Close { file: this }),
            4 => next.map(|file| OpKind::Open { file }),
            _ => next.map(|file| self.start_transfer(file)),
        }
    }
}

impl Program for CosmoFlow {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        cursor.advance(|[iteration, step, ..]| {
            if *iteration >= self.params.iterations {
                return None;
            }
            while *step < 6 {
                *step += 1;
                if let Some(kind) = self.input(rank, *iteration, *step - 1) {
                    return Some(kind);
                }
            }
            *step += 1;
            Some(match *step {
                7 => OpKind::Compute {
                    duration: self.params.compute,
                },
                8 => allreduce(self.params.elements * self.params.element.0, self.params.elements),
                _ => {
                    let mark = OpKind::Mark { iteration: *iteration };
                    (*iteration, *step) = (*iteration + 1, 0);
                    mark
                }
            })
        })
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let CosmoFlowParams {
            iterations,
            elements,
            element,
            sample,
            io,
            pipelined,
            ..
        } = self.params;
        let verb = if io == CosmoFlowIo::Read { "reads" } else { "writes" };
        let when = if pipelined { "ahead of" } else { "before" };
        format!(
            "CosmoFlow, {} ranks, {}, all-reduce of {elements} x {element}, each rank {verb} {sample} {when} each step",
            self.ranks,
            counted(iterations, "step")
        )
    }
}
