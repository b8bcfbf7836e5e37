//! Computation only: a job that occupies its nodes and sends nothing.

use odonata_units::{Time, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::program::check_length;
use crate::{Cursor, Op, OpKind, Program};

/// Computation only. In a list of workloads: a pause, a delayed start, a phase of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ComputeWorkload")]
pub struct ComputeParams {
    /// Duration of each computation.
    #[default(Time::from_ns(1_000_000))]
    pub time: Time,
    /// How often.
    #[default = 1]
    pub iterations: u32,
}

impl Parameters for ComputeParams {
    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Compute::new(ranks, self.clone())?))
    }
}

/// Ranks that compute: `iterations` times computation and a mark.
#[derive(Clone, Debug)]
pub struct Compute {
    ranks: u32,
    params: ComputeParams,
}

impl Compute {
    /// The program on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many operations.
    pub fn new(ranks: u32, params: ComputeParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        check_length(params.iterations, 2)?;
        Ok(Compute { ranks, params })
    }
}

impl Program for Compute {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        cursor.advance(|[iteration, marked, ..]| {
            if *iteration >= self.params.iterations {
                return None;
            }
            if *marked == 0 {
                *marked = 1;
                return Some(OpKind::Compute {
                    duration: self.params.time,
                });
            }
            let mark = OpKind::Mark { iteration: *iteration };
            (*iteration, *marked) = (*iteration + 1, 0);
            Some(mark)
        })
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let ComputeParams { time, iterations } = self.params;
        format!(
            "{} of {time} of computation, {} ranks",
            counted(iterations, "iteration"),
            self.ranks
        )
    }
}
