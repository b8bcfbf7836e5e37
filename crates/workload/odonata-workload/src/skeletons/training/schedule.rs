//! Pipeline schedules: the order of micro-batch passes in a stage.
//!
//! **GPipe** (Y. Huang et al., NeurIPS 2019): all forward, then all backward. **1F1B** (D. Narayanan et al.,
//! "PipeDream-Flush", ICML 2021): stage s of p processes min(p - s - 1, M) micro-batches forward, then alternates one
//! forward and one backward, then the remaining backward passes. Both idle for (p - 1) / M of the time of the passes,
//! so M micro-batches take (M + p - 1) times one forward and one backward pass; 1F1B keeps the activations of at most p
//! - s micro-batches.
//!
//! **Interleaved 1F1B** (D. Narayanan et al., SC 2021, section 2.2; `schedules.py` of Megatron-LM): a stage has v groups of
//! layers, the virtual stages s, s + p, .. It makes 2 (p - s - 1) + (v - 1) p forward passes before it alternates, p
//! micro-batches of a group at a time, and idles for (p - 1) / (v M) of the time of the passes.

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

/// A pass of a micro-batch through a group of layers of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Whether it is a backward pass.
    pub backward: bool,
    /// The micro-batch.
    pub micro_batch: u32,
    /// The group: virtual stage `stage + stages * group`.
    pub group: u32,
}

impl Schedule {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Schedule::OneForwardOneBackward => "1F1B",
            Schedule::GPipe => "GPipe",
        }
    }
}

/// The stages of a pipeline and their schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Order of passes.
    pub schedule: Schedule,
    /// Stages.
    pub stages: u32,
    /// Groups of layers in a stage: 1, or with 1F1B more, which need micro-batches divisible by the stages.
    pub groups: u32,
    /// Micro-batches of an iteration.
    pub micro_batches: u32,
}

impl Pipeline {
    /// Passes of a stage in an iteration.
    pub fn passes(&self) -> u32 {
        2 * self.micro_batches * self.groups
    }

    /// Pass number `index`, below [`passes`](Self::passes), of `stage`.
    pub fn pass(&self, index: u32, stage: u32) -> Pass {
        let (ahead, each) = (self.ahead(stage), self.passes() / 2);
        let in_turn = 2 * (each - ahead);
        match index {
            index if index < ahead => self.forward(index),
            index if index - ahead < in_turn => match (index - ahead) % 2 {
                0 => self.forward(ahead + (index - ahead) / 2),
                _ => self.backward((index - ahead) / 2),
            },
            index => self.backward(index - each),
        }
    }

    /// Forward pass number `number` of a stage.
    fn forward(&self, number: u32) -> Pass {
        let (turn, within) = (
            number / (self.stages * self.groups),
            number % (self.stages * self.groups),
        );
        match self.groups {
            1 => Pass {
                backward: false,
                micro_batch: number,
                group: 0,
            },
            _ => Pass {
                backward: false,
                micro_batch: turn * self.stages + within % self.stages,
                group: within / self.stages,
            },
        }
    }

    /// Backward pass number `number` of a stage: the groups come in reverse.
    fn backward(&self, number: u32) -> Pass {
        let forward = self.forward(number);
        Pass {
            backward: true,
            group: self.groups - 1 - forward.group,
            ..forward
        }
    }

    /// Forward passes of `stage` before the first one followed by a backward pass.
    fn ahead(&self, stage: u32) -> u32 {
        let behind = self.stages - stage - 1;
        match (self.schedule, self.groups) {
            (Schedule::GPipe, _) => self.passes() / 2,
            (Schedule::OneForwardOneBackward, 1) => behind.min(self.micro_batches),
            (Schedule::OneForwardOneBackward, groups) => {
                (2 * behind + (groups - 1) * self.stages).min(self.passes() / 2)
            }
        }
    }

    /// Whether the send of pass number `index` is combined with the receive of the next one: in the alternating phase of
    /// stages with one group. The others send without waiting.
    pub fn joined(&self, index: u32, stage: u32) -> bool {
        let (ahead, passes) = (self.ahead(stage), self.passes());
        self.groups == 1 && (ahead..passes - ahead).contains(&index) && index + 1 < passes - ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every micro-batch goes forward once and then backward once through every group, in order; 1F1B holds at most p - s at
    /// a time in a stage with one group.
    #[test]
    fn every_micro_batch_passes_forward_and_then_backward() {
        let schedules = [Schedule::OneForwardOneBackward, Schedule::GPipe];
        let sizes = schedules.into_iter().flat_map(|schedule| {
            (1..5).flat_map(move |stages| (1..13).map(move |micro_batches| (schedule, stages, micro_batches)))
        });
        for (schedule, stages, micro_batches) in sizes {
            for groups in 1..4 {
                let interleaves = schedule != Schedule::GPipe && micro_batches % stages == 0;
                if groups > 1 && !interleaves {
                    continue;
                }
                let pipeline = Pipeline {
                    schedule,
                    stages,
                    groups,
                    micro_batches,
                };
                for stage in 0..stages {
                    let (mut forward, mut backward) = (vec![0; groups as usize], vec![0; groups as usize]);
                    let mut held = 0;
                    for index in 0..pipeline.passes() {
                        let pass = pipeline.pass(index, stage);
                        let done = if pass.backward { &mut backward } else { &mut forward };
                        assert_eq!(pass.micro_batch, done[pass.group as usize]);
                        done[pass.group as usize] += 1;
                        assert!(backward.iter().zip(&forward).all(|(back, front)| back <= front));
                        held = held.max(forward.iter().sum::<u32>() - backward.iter().sum::<u32>());
                    }
                    assert!(forward.iter().chain(&backward).all(|&done| done == micro_batches));
                    let most = match (schedule, groups) {
                        (Schedule::GPipe, _) => micro_batches,
                        (Schedule::OneForwardOneBackward, 1) => (stages - stage).min(micro_batches),
                        // One more than those ahead.
                        _ => (2 * (stages - stage - 1) + (groups - 1) * stages + 1).min(groups * micro_batches),
                    };
                    assert_eq!(held, most);
                }
            }
        }
    }
}
