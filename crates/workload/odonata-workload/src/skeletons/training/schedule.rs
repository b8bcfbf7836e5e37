//! Pipeline schedules: the order of micro-batch passes in a stage.
//!
//! **GPipe** (Y. Huang et al., NeurIPS 2019): all forward, then all backward. **1F1B** (D. Narayanan et al.,
//! "PipeDream-Flush", ICML 2021): stage s of p processes min(p - s - 1, M) micro-batches forward, then alternates one
//! forward and one backward, then the remaining backward passes. Both idle for (p - 1) / M of the time of the passes,
//! so M micro-batches take (M + p - 1) times one forward and one backward pass; 1F1B keeps the activations of at most p
//! - s micro-batches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order of micro-batch passes in a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PipelineSchedule")]
pub enum Schedule {
    /// Alternating forward and backward (PipeDream-Flush).
    #[default]
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// All forward, then all backward (GPipe).
    #[serde(rename = "gpipe")]
    GPipe,
}

/// A pass of a micro-batch through a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Forward pass of this micro-batch.
    Forward(u32),
    /// Backward pass of this micro-batch.
    Backward(u32),
}

impl Schedule {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Schedule::OneForwardOneBackward => "1F1B",
            Schedule::GPipe => "GPipe",
        }
    }

    /// Pass number `index`, below `2 micro_batches`, of `stage` of `stages`.
    pub fn pass(self, index: u32, stage: u32, stages: u32, micro_batches: u32) -> Pass {
        let ahead = self.ahead(stage, stages, micro_batches);
        let in_turn = 2 * (micro_batches - ahead);
        match index {
            index if index < ahead => Pass::Forward(index),
            index if index - ahead < in_turn => match (index - ahead) % 2 {
                0 => Pass::Forward(ahead + (index - ahead) / 2),
                _ => Pass::Backward((index - ahead) / 2),
            },
            index => Pass::Backward(index - micro_batches),
        }
    }

    /// Forward passes of `stage` before the first one followed by a backward pass.
    fn ahead(self, stage: u32, stages: u32, micro_batches: u32) -> u32 {
        match self {
            Schedule::GPipe => micro_batches,
            Schedule::OneForwardOneBackward => (stages - stage - 1).min(micro_batches),
        }
    }

    /// Whether the send of pass number `index` is combined with the receive of the next one: in the alternating phase.
    pub fn joined(self, index: u32, stage: u32, stages: u32, micro_batches: u32) -> bool {
        let ahead = self.ahead(stage, stages, micro_batches);
        (ahead..2 * micro_batches - ahead).contains(&index) && index + 1 < 2 * micro_batches - ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every micro-batch goes forward once and then backward once, in order, and 1F1B holds at most p - s at a time.
    #[test]
    fn every_micro_batch_passes_forward_and_then_backward() {
        for schedule in [Schedule::OneForwardOneBackward, Schedule::GPipe] {
            for stages in 1..5 {
                for stage in 0..stages {
                    for micro_batches in 1..7 {
                        let (mut forward, mut backward, mut held) = (0, 0, 0);
                        for index in 0..2 * micro_batches {
                            match schedule.pass(index, stage, stages, micro_batches) {
                                Pass::Forward(number) => {
                                    assert_eq!(number, forward);
                                    forward += 1;
                                }
                                Pass::Backward(number) => {
                                    assert_eq!(number, backward);
                                    backward += 1;
                                }
                            }
                            assert!(backward <= forward);
                            held = held.max(forward - backward);
                        }
                        assert_eq!((forward, backward), (micro_batches, micro_batches));
                        let most = match schedule {
                            Schedule::GPipe => micro_batches,
                            Schedule::OneForwardOneBackward => (stages - stage).min(micro_batches),
                        };
                        assert_eq!(held, most);
                    }
                }
            }
        }
    }
}
