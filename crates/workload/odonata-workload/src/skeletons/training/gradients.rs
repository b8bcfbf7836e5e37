//! Gradients: their reduction after the passes, or beside the last backward pass.

use super::{DATA, Gradients, SAME_EXPERTS, Training};
use crate::{Collective, Comm, OpKind, Request};

impl Training {
    /// Begins the reduction of the gradients of `layer` that are shared (`number` 0), or of its experts (1).
    pub(super) fn begin_reduction(&self, layer: u32, number: u32) -> Option<OpKind> {
        let (shared, own) = self.layer_parameters(layer);
        let (comm, parameters) = if number == 0 {
            (DATA, shared)
        } else {
            (SAME_EXPERTS, own)
        };
        let [reduction, _] = self.reductions(comm, parameters.div_ceil(u64::from(self.params.tensor)));
        reduction.map(|collective| OpKind::Icollective {
            collective,
            request: Request(2 * layer + number),
        })
    }

    /// The reductions that begin beside the passes of `stage`, with overlap.
    fn begun(&self, stage: u32) -> impl Iterator<Item = Collective> + '_ {
        let layers = (0..self.sizes.layers).filter(|_| self.params.overlap_gradients);
        let of_stage = layers.filter(move |&layer| self.layers_of_stage(stage).any(|own| own == layer));
        let begun = of_stage.flat_map(|layer| [0, 1].map(|number| self.begin_reduction(layer, number)));
        begun.filter_map(|kind| match kind {
            Some(OpKind::Icollective { collective, .. }) => Some(collective),
            _ => None,
        })
    }

    /// The reductions of all stages, and what gathers the parameters.
    pub(super) fn all_reductions(&self) -> impl Iterator<Item = Collective> + '_ {
        let after = move |stage: u32| {
            let steps = (1..).map_while(move |step| self.gradients(stage * self.layout.stage_stride(), step).ok());
            steps.filter_map(|kind| match kind {
                Some(OpKind::Collective(collective)) => Some(collective),
                _ => None,
            })
        };
        (0..self.layout.pipeline).flat_map(move |stage| after(stage).chain(self.begun(stage)))
    }

    /// Most operations of NCCL beside the passes of an iteration.
    pub(super) fn operations_beside(&self) -> u32 {
        let of_stage = |stage: u32| {
            let calls = self.begun(stage).filter_map(|collective| self.calls.of(&collective));
            calls.fold(0, |sum: u64, call| sum.saturating_add(call.operations()))
        };
        let most = (0..self.layout.pipeline).map(of_stage).max().unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// The collectives that reduce the gradients of `parameters` in `comm`, and then gather the parameters.
    pub(super) fn reductions(&self, comm: Comm, parameters: u64) -> [Option<Collective>; 2] {
        let members = u64::from(self.layout.members(comm));
        if parameters == 0 || members == 1 {
            return [None; 2];
        }
        let element = self.params.element.0;
        let share = parameters.div_ceil(members);
        match self.params.gradients {
            Gradients::AllReduce => {
                let (bytes, count) = (parameters * element, parameters);
                [Some(Collective::Allreduce { comm, bytes, count }), None]
            }
            Gradients::Sharded => {
                let (bytes, count) = (share * element, share);
                [
                    Some(Collective::ReduceScatterBlock { comm, bytes, count }),
                    Some(Collective::Allgather { comm, bytes }),
                ]
            }
        }
    }

    /// Step `step` of the gradients; `Err` after the last one. With overlap, only those of embedding and output are left
    /// to reduce, after those of the layers, and all parameters to gather.
    pub(super) fn gradients(&self, rank: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (_, _, stage) = self.layout.place(rank);
        let overlap = self.params.overlap_gradients;
        let (shared, own) = self.parameters(stage);
        let (comm, parameters) = match step {
            0 => {
                // Requests of layers that are elsewhere do not exist.
                let layers = match self.params.interleave {
                    1 => self.layers(stage),
                    _ => 0..self.sizes.layers,
                };
                return Ok(overlap.then_some(OpKind::WaitAll {
                    first: Request(2 * layers.start),
                    count: 2 * layers.len() as u32,
                }));
            }
            1 | 2 => (DATA, shared),
            3 | 4 => (SAME_EXPERTS, own),
            _ => return Err(()),
        };
        let second = step.is_multiple_of(2);
        let left = match (overlap && !second, comm) {
            (true, DATA) => {
                let tensor = u64::from(self.params.tensor);
                let reduced = self
                    .layers_of_stage(stage)
                    .map(|layer| self.layer_parameters(layer).0.div_ceil(tensor));
                parameters.saturating_sub(reduced.sum())
            }
            (true, _) => 0,
            (false, _) => parameters,
        };
        Ok(self.reductions(comm, left)[usize::from(second)].map(OpKind::Collective))
    }
}
