//! Training of a transformer: data, tensor, pipeline and expert parallelism.
//!
//! Ranks are GPUs; rank t + T (d + D s) is tensor rank t of T, data rank d of D, stage s of P. In this order of
//! Megatron-LM, tensor groups are contiguous. An iteration of a rank is
//!
//! 1. its samples, if it reads any (stage 0, tensor rank 0);
//! 2. the passes of its M micro-batches in the order of the [schedule](Schedule): receive from the previous stage, its
//!    own layers, send to the next; backward in reverse. A stage of several groups of layers passes each micro-batch once
//!    through every group, and its sends do not wait. With one group, in the steady state of 1F1B a stage sends the result of a pass
//!    and receives the input of the next in one call, like Megatron-LM (`send_forward_recv_backward`,
//!    `send_backward_recv_forward`): separate sends would deadlock. A layer is attention and MLP, each a computation
//!    and an all-reduce in the tensor group, forward and backward (M. Shoeybi et al., "Megatron-LM", 2019); with
//!    experts, the MLP has an all-to-all of the tokens in the expert group before and after it (D. Lepikhin et al.,
//!    "GShard", 2020);
//! 3. gradients: an all-reduce in the data group, or a reduce-scatter and an all-gather of parameters (S. Rajbhandari
//!    et al., "ZeRO", SC 2020, stages 1 and 2); for experts among the ranks with the same experts. With overlap, the
//!    last backward pass begins the reductions of each layer as soon as it has left the layer, and only the embedding
//!    and the all-gathers remain for the end, as with the buckets of PyTorch (S. Li et al., VLDB 2020);
//! 4. a checkpoint at the checkpoint interval; mark.
//!
//! [Failures](failures) make all ranks repeat iterations from the last checkpoint on.
//!
//! With b sequences of s tokens in a micro-batch, hidden size h, elements of w bytes, a rank moves per iteration
//!
//! | kind | calls | bytes of each |
//! |---|---|---|
//! | tensor all-reduces, T > 1 | 4 M L / P | b s h w |
//! | sends and receives, P > 1 | M each way at every stage boundary | b s h w / T |
//! | all-to-alls of E experts, e active, X ranks | 4 M L / P | e b s h w / (T X) to each |
//! | gradients, D > 1 | one | w times the parameters of the rank |
//!
//! Sends are split over the tensor ranks (Narayanan et al., SC 2021, section 4.1). Their gather is not modeled, nor is
//! the all-reduce of an embedding shared with the output. Computation times follow from operations ([`Sizes`]) and
//! `flops`. Collectives are rings, like NCCL's for large vectors, or [NCCL's](calls); all-to-alls post all messages at once.

mod calls;
mod failures;
mod files;
mod gradients;
mod layout;
pub mod model;
mod params;
pub mod schedule;

use odonata_units::{Bytes, Problem, Time, counted};

use crate::program::check_length;
use crate::{
    After, Algorithm, Collective, Comm, Cursor, Group, Op, OpId, OpKind, Parallelism, Program, Request, Source, Tag,
};
use calls::Calls;
pub use calls::{BEGIN, END, RESTART};
pub use failures::{Execution, Failures, History};
use layout::Layout;
pub use model::{Model, Sizes};
pub use params::{Gradients, Straggler, TrainingParams};
pub use schedule::{Pass, Pipeline, Schedule};

/// Training of a transformer. [`Cursor::words`]: six times the number of the execution and its part (restart, samples,
/// passes, gradients, checkpoint, mark); position in the part: the pass and its step, or a step; in a call of NCCL its position and 1, and its first
/// operation.
#[derive(Clone, Debug)]
pub struct Training {
    params: TrainingParams,
    sizes: Sizes,
    layout: Layout,
    /// Bytes of the activations of a micro-batch.
    activations: u64,
    /// Forward time of attention, of the MLPs of a layer and of a dense layer, and of the output.
    times: [Time; 4],
    /// The collectives of NCCL.
    calls: Calls,
    /// Most operations of NCCL beside the passes of an iteration.
    beside: u32,
    /// The executions of iterations.
    history: History,
}

/// Communicators of a rank.
const TENSOR: Comm = Comm(1);
const DATA: Comm = Comm(2);
const EXPERT: Comm = Comm(3);
/// Ranks with the same experts.
const SAME_EXPERTS: Comm = Comm(4);

/// Parts of an execution: that of the passes, and the last one, which marks its end.
const PARTS: u32 = 6;
const PASSES: u32 = 2;
const MARK: u32 = 5;

/// Steps of a layer, forward or backward: attention and its all-reduce; to the experts, MLP, from the experts; its
/// all-reduce. After these, the two reductions of its gradients.
const LAYER: u32 = 8;
/// The first of these reductions.
const REDUCTIONS: u32 = 6;

impl Training {
    /// The program on `ranks` ranks; `params` are resolved.
    ///
    /// # Errors
    /// There are no iterations or too many operations, or messages of more than 2^63 bytes.
    pub fn new(ranks: u32, params: &TrainingParams) -> Result<Self, String> {
        let mut training = Training::without_nccl(ranks, params)?;
        if let Some(nccl) = &params.nccl {
            training.calls = Calls::new(&training, nccl, "nccl").map_err(|problem| problem.problem)?;
            let longest = training
                .calls
                .iter()
                .map(|call| call.operations() + 2)
                .max()
                .unwrap_or(0);
            let layers = u64::from(training.sizes.layers);
            let calls = (4 * u64::from(params.micro_batches) + 2) * layers + 4;
            check_length(training.history.executions(), longest.saturating_mul(calls))?;
            training.beside = training.operations_beside();
        }
        Ok(training)
    }

    /// The same with the collectives of messages.
    fn without_nccl(ranks: u32, params: &TrainingParams) -> Result<Self, String> {
        let sizes = params.sizes();
        let layout = params.layout();
        if layout.ranks() != u64::from(ranks) {
            return Err(format!("{} ranks for a layout of {}", ranks, layout.ranks()));
        }
        let groups = u64::from(params.interleave);
        let layers = u64::from(sizes.layers).div_ceil(u64::from(params.pipeline) * groups);
        let passes = 2 * u64::from(params.micro_batches) * groups * (layers * u64::from(LAYER) + 4);
        let history = params.history()?;
        check_length(history.executions(), passes + 31)?;
        let activations = [params.micro_batch, sizes.sequence, sizes.hidden]
            .into_iter()
            .try_fold(params.element.0, |bytes, factor| bytes.checked_mul(u64::from(factor)))
            .filter(|&bytes| bytes < 1 << 62)
            .ok_or("the activations of a micro-batch have more than 2^62 bytes")?;
        let time = |operations: f64| Time::from_ps_f64(operations / f64::from(params.tensor) / params.flops * 1e12);
        let tokens = f64::from(params.micro_batch) * f64::from(sizes.sequence);
        let times = [
            time(sizes.attention_operations(tokens, f64::from(sizes.sequence))),
            time(sizes.mlp_operations(sizes.layers, tokens)),
            time(sizes.mlp_operations(0, tokens)),
            time(sizes.output_operations(tokens)),
        ];
        Ok(Training {
            params: params.clone(),
            sizes,
            layout,
            activations,
            times,
            calls: Calls::default(),
            beside: 0,
            history,
        })
    }

    /// Checks that NCCL can perform the collectives of `params`, with settings at key `at`.
    fn check_nccl(ranks: u32, params: &TrainingParams, at: &str) -> Result<(), Problem> {
        // Other errors are those of the program.
        let training = Training::without_nccl(ranks, params).ok();
        match (&training, &params.nccl) {
            (Some(training), Some(nccl)) => Calls::new(training, nccl, at).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The blocking collectives of all ranks but all-to-alls.
    fn collectives(&self) -> impl Iterator<Item = Collective> + '_ {
        let tensor = (self.layout.tensor > 1).then_some(Collective::Allreduce {
            comm: TENSOR,
            bytes: self.activations,
            count: self.activations / self.params.element.0,
        });
        tensor.into_iter().chain(self.all_reductions())
    }

    /// The parallelism that a collective in `comm` serves.
    fn parallelism_of(comm: Comm) -> Parallelism {
        match comm {
            TENSOR => Parallelism::Tensor,
            EXPERT => Parallelism::Expert,
            _ => Parallelism::Data,
        }
    }

    /// What `rank` does at a step of a part; `Err` after the last one.
    fn at(&self, rank: u32, (at, part): (Execution, u32), [pass, step]: [u32; 2]) -> Result<Option<OpKind>, ()> {
        match part {
            0 => self.restart(rank, at, step),
            1 => self.samples(rank, at, step),
            PASSES => self.pass(rank, pass, step),
            3 => self.gradients(rank, step),
            _ => self.checkpoint(rank, at, step),
        }
    }

    /// The stages and their schedule.
    fn pipeline(&self) -> Pipeline {
        Pipeline {
            schedule: self.params.schedule,
            stages: self.layout.pipeline,
            groups: self.params.interleave,
            micro_batches: self.params.micro_batches,
        }
    }

    /// Layers of virtual stage `stage`, from 0: if these do not divide them, the first ones have one more.
    fn layers(&self, stage: u32) -> std::ops::Range<u32> {
        let (layers, stages) = (self.sizes.layers, self.layout.pipeline * self.params.interleave);
        let first = |stage: u32| stage * (layers / stages) + stage.min(layers % stages);
        first(stage)..first(stage + 1)
    }

    /// Layers of all groups of `stage`.
    fn layers_of_stage(&self, stage: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.params.interleave).flat_map(move |group| self.layers(stage + self.layout.pipeline * group))
    }

    /// Parameters that a rank has of `layer`: those shared by all data-parallel ranks, and those of its experts.
    fn layer_parameters(&self, layer: u32) -> (u64, u64) {
        let experts = match self.sizes.has_experts(layer) {
            true => u64::from(self.sizes.experts / self.params.expert),
            false => 0,
        };
        (self.sizes.layer(layer), experts * self.sizes.mlp())
    }

    /// Parameters of a rank of `stage` shared by all data-parallel ranks, and parameters of its experts.
    fn parameters(&self, stage: u32) -> (u64, u64) {
        let ends = u64::from(stage == 0) + u64::from(stage + 1 == self.layout.pipeline);
        let layers = self.layers_of_stage(stage).map(|layer| self.layer_parameters(layer));
        let (shared, own) = layers.fold((0, 0), |sum, layer| (sum.0 + layer.0, sum.1 + layer.1));
        let tensor = u64::from(self.params.tensor);
        let all = shared + ends * self.sizes.embedding();
        (all.div_ceil(tensor), own.div_ceil(tensor))
    }

    /// An all-reduce of whole elements in `comm`.
    fn allreduce(&self, comm: Comm, bytes: u64) -> OpKind {
        OpKind::Collective(Collective::Allreduce {
            comm,
            bytes,
            count: bytes / self.params.element.0,
        })
    }

    /// A computation of `rank`.
    fn compute(&self, rank: u32, time: Time) -> OpKind {
        let duration = match self.params.straggler {
            Some(Straggler { rank: slow, slowdown }) if slow == rank => Time::from_ps_f64(time.0 as f64 * slowdown),
            _ => time,
        };
        OpKind::Compute { duration }
    }

    /// Step `step` of `layer`; `None` if it does not exist.
    fn layer(&self, rank: u32, layer: u32, step: u32, backward: bool) -> Option<OpKind> {
        let times = match (backward, self.params.recompute) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        let compute = |time: Time| self.compute(rank, Time(time.0.saturating_mul(times)));
        let dense = layer < self.sizes.dense_layers;
        // Backward, the MLP comes first.
        match if backward { (step + 2) % REDUCTIONS } else { step } {
            0 => Some(compute(self.times[0])),
            2 | 4 => (self.sizes.has_experts(layer) && self.layout.expert > 1).then(|| {
                let all = self.activations.saturating_mul(u64::from(self.sizes.active));
                let each = all / u64::from(self.layout.tensor) / u64::from(self.layout.expert);
                OpKind::Collective(Collective::Alltoall {
                    comm: EXPERT,
                    bytes: each,
                })
            }),
            3 => Some(compute(self.times[if dense { 2 } else { 1 }])),
            _ => (self.layout.tensor > 1).then(|| self.allreduce(TENSOR, self.activations)),
        }
    }

    /// Step `step` of pass number `index`; `Err` after its last step.
    fn pass(&self, rank: u32, index: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (_, _, stage) = self.layout.place(rank);
        let pipeline = self.pipeline();
        let pass = pipeline.pass(index, stage);
        let backward = pass.backward;
        let virtual_stage = stage + pipeline.stages * pass.group;
        let last = virtual_stage + 1 == pipeline.stages * pipeline.groups;
        let own = self.layers(virtual_stage);
        let layers = LAYER * own.len() as u32;
        let joined = |index| pipeline.joined(index, stage);
        Ok(match step {
            0 if index > 0 && joined(index - 1) => None,
            0 => self.receive(rank, pass),
            // The output: the end of a forward pass and the beginning of its backward pass.
            1 => (last && backward).then(|| self.compute(rank, self.times[3] + self.times[3])),
            step if step < 2 + layers => {
                let (number, step) = ((step - 2) / LAYER, (step - 2) % LAYER);
                let layer = if backward {
                    own.end - 1 - number
                } else {
                    own.start + number
                };
                let reduces =
                    self.params.overlap_gradients && backward && pass.micro_batch + 1 == pipeline.micro_batches;
                match step {
                    step if step < REDUCTIONS => self.layer(rank, layer, step, backward),
                    step if reduces => self.begin_reduction(layer, step - REDUCTIONS),
                    _ => None,
                }
            }
            step if step == 2 + layers => (last && !backward).then(|| self.compute(rank, self.times[3])),
            step if step == 3 + layers => match self.send(rank, pass) {
                Some(OpKind::Send { to, tag, bytes, comm }) if pipeline.groups > 1 => Some(OpKind::Isend {
                    to,
                    tag,
                    bytes,
                    comm,
                    request: Request::DETACHED,
                }),
                sent if !joined(index) => sent,
                sent => both(sent, self.receive(rank, pipeline.pass(index + 1, stage))),
            },
            _ => return Err(()),
        })
    }

    /// The rank before or `behind` that of a pass in the pipeline, and the group there; `None` at its ends.
    fn neighbor(&self, rank: u32, group: u32, behind: bool) -> Option<(u32, u32)> {
        let (_, _, stage) = self.layout.place(rank);
        let (stride, stages) = (self.layout.stage_stride(), self.layout.pipeline);
        let around = stride * (stages - 1);
        match (behind, stage) {
            (false, 0) => (group > 0).then(|| (rank + around, group - 1)),
            (false, _) => Some((rank - stride, group)),
            (true, stage) if stage + 1 < stages => Some((rank + stride, group)),
            (true, _) => (group + 1 < self.params.interleave).then(|| (rank - around, group + 1)),
        }
    }

    /// The tag of a message that is the input of a pass, with its bytes.
    fn input(&self, micro_batch: u32, group: u32, backward: bool) -> (u32, u64) {
        let number = group * self.params.micro_batches + micro_batch;
        let bytes = (self.activations / u64::from(self.layout.tensor)).max(1);
        (2 * number + u32::from(backward), bytes)
    }

    /// The receive before a pass; `None` without input.
    fn receive(&self, rank: u32, pass: Pass) -> Option<OpKind> {
        let (from, _) = self.neighbor(rank, pass.group, pass.backward)?;
        let (tag, bytes) = self.input(pass.micro_batch, pass.group, pass.backward);
        Some(OpKind::Recv {
            from: Source::Rank(from),
            tag: Tag::Is(tag),
            bytes,
            comm: Comm::WORLD,
        })
    }

    /// The send after a pass; `None` without output.
    fn send(&self, rank: u32, pass: Pass) -> Option<OpKind> {
        let (to, group) = self.neighbor(rank, pass.group, !pass.backward)?;
        let (tag, bytes) = self.input(pass.micro_batch, group, pass.backward);
        Some(OpKind::Send {
            to,
            tag,
            bytes,
            comm: Comm::WORLD,
        })
    }
}

/// A combined send and receive, or the one that exists.
fn both(send: Option<OpKind>, receive: Option<OpKind>) -> Option<OpKind> {
    match (send, receive) {
        (
            Some(OpKind::Send { to, tag, bytes, comm }),
            Some(OpKind::Recv {
                from,
                tag: recv_tag,
                bytes: recv_bytes,
                ..
            }),
        ) => Some(OpKind::Sendrecv {
            to,
            send_tag: tag,
            send_bytes: bytes,
            from,
            recv_tag,
            recv_bytes,
            comm,
        }),
        (send, receive) => send.or(receive),
    }
}

impl Program for Training {
    fn ranks(&self) -> u32 {
        self.layout.ranks() as u32
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        let passes = self.pipeline().passes();
        let [mut turn, mut pass, mut step, mut state, mut call] = cursor.words;
        let plain = |kind: OpKind| Op {
            id: OpId(cursor.op),
            stream: 0,
            after: After::NONE,
            kind,
        };
        let op = loop {
            let (number, part) = (turn / PARTS, turn % PARTS);
            let execution = self.history.execution(number)?;
            if part == MARK {
                (turn, pass, step) = (turn + 1, 0, 0);
                break plain(OpKind::Mark { iteration: number });
            }
            let found = match part {
                PASSES if pass >= passes => Err(()),
                _ => self.at(rank, (execution, part), [pass, step]),
            };
            match found {
                Ok(Some(OpKind::Collective(collective))) if self.calls.of(&collective).is_some() => {
                    let (nccl, comm) = (self.calls.of(&collective)?, collective.comm());
                    let report = |index| plain(calls::report(Training::parallelism_of(comm), index));
                    if state == 0 {
                        state = 1;
                        break report(BEGIN);
                    }
                    let member = self.layout.group(rank, comm)?.member(rank)?;
                    let mut position = state - 1;
                    let next = nccl.next_of_call((member, comm), cursor.op, [&mut position, &mut call]);
                    state = position + 1;
                    if let Some(op) = next {
                        break op;
                    }
                    (state, call, step) = (0, 0, step + 1);
                    break report(END);
                }
                Ok(Some(OpKind::Icollective { collective, .. })) if self.calls.of(&collective).is_some() => {
                    let (nccl, comm) = (self.calls.of(&collective)?, collective.comm());
                    let member = self.layout.group(rank, comm)?.member(rank)?;
                    let begins = state == 0;
                    let next = nccl.next_of_call((member, comm), cursor.op, [&mut state, &mut call]);
                    if let Some(op) = next {
                        break calls::beside(op, self.calls.streams(), begins);
                    }
                    (state, call, step) = (0, 0, step + 1);
                }
                Ok(Some(OpKind::WaitAll { .. })) if self.params.nccl.is_some() => {
                    state += 1;
                    if let Some(op) = calls::join(cursor.op, self.calls.streams(), state) {
                        break op;
                    }
                    (state, step) = (0, step + 1);
                }
                Ok(found) => {
                    step += 1;
                    if let Some(kind) = found {
                        break plain(kind);
                    }
                }
                Err(()) if part == PASSES && pass < passes => (pass, step) = (pass + 1, 0),
                Err(()) => (turn, pass, step) = (turn + 1, 0, 0),
            }
        };
        cursor.words = [turn, pass, step, state, call];
        cursor.op = cursor.op.wrapping_add(1);
        Some(op)
    }

    /// With overlap, the layers before those whose gradients are being reduced are known as well.
    fn look_ahead(&self) -> u32 {
        let of_a_call = self.calls.iter().map(Program::look_ahead).max().unwrap_or(256);
        of_a_call.saturating_add(self.beside)
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        self.layout.group(rank, comm)
    }

    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        let algorithm = match collective {
            Collective::Alltoall { .. } => Algorithm::Linear,
            _ => Algorithm::Ring,
        };
        algorithm
            .supports(collective, self.layout.members(collective.comm()))
            .then_some(algorithm)
    }

    fn has_parallelism(&self) -> bool {
        true
    }

    fn parallelism(&self, kind: &OpKind) -> Option<Parallelism> {
        match kind {
            // Other communicators have calls of NCCL, whose reports state their times.
            OpKind::Send { comm, .. }
            | OpKind::Isend { comm, .. }
            | OpKind::Recv { comm, .. }
            | OpKind::Sendrecv { comm, .. } => (*comm == Comm::WORLD).then_some(Parallelism::Pipeline),
            OpKind::WaitAll { .. } => Some(Parallelism::Data),
            // Of a restart.
            OpKind::Collective(Collective::Barrier { .. }) => None,
            OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
                Some(Training::parallelism_of(collective.comm()))
            }
            _ => None,
        }
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.history.executions())
    }

    fn describe(&self) -> String {
        let TrainingParams {
            micro_batches,
            micro_batch,
            iterations,
            ..
        } = self.params;
        let name = self.params.model.map_or("a transformer", Model::name);
        let parameters = match self.sizes.parameters() as f64 {
            few if few < 1e9 => format!("{:.0} million", few / 1e6),
            many => format!("{:.1} billion", many / 1e9),
        };
        let Layout {
            tensor,
            data,
            pipeline,
            expert,
        } = self.layout;
        let gradient = (self.parameters(0).0 + self.parameters(0).1).saturating_mul(self.params.element.0);
        let experts = if expert > 1 {
            format!(", {expert} expert")
        } else {
            String::new()
        };
        let groups = match self.params.interleave {
            1 => String::new(),
            groups => format!(" ({groups} interleaved)"),
        };
        let sends = [
            (
                tensor,
                counted(
                    micro_batches
                        .saturating_mul(4)
                        .saturating_mul(self.layers_of_stage(0).count() as u32),
                    "tensor all-reduce",
                ),
                self.activations,
            ),
            (
                pipeline,
                counted(micro_batches.saturating_mul(self.params.interleave), "send"),
                self.activations / u64::from(tensor),
            ),
            (data, "gradients".into(), gradient),
        ];
        let sends: Vec<String> = (sends.into_iter().filter(|&(ranks, ..)| ranks > 1))
            .map(|(_, what, bytes)| format!("{what} of {}", Bytes(bytes).rounded()))
            .collect();
        let sends = match sends.is_empty() {
            true => String::new(),
            false => format!("; per rank of stage 0 and iteration: {}", sends.join(", ")),
        };
        let by_nccl = if self.params.nccl.is_some() {
            ", collectives of NCCL"
        } else {
            ""
        };
        let failures = match self.history.failures() {
            0 => String::new(),
            count => {
                let repeated = self.history.executions() - iterations;
                format!(
                    "; {}, after which {} again",
                    counted(count, "failure"),
                    counted(repeated, "iteration")
                )
            }
        };
        format!(
            "{} of training {name} ({parameters} parameters): {tensor} tensor x {data} data x {pipeline} pipeline{groups}{experts} \
             parallel, {} x {micro_batch} sequences, {}{by_nccl}{sends}{failures}",
            counted(iterations, "iteration"),
            micro_batches,
            self.params.schedule.name(),
        )
    }
}

#[cfg(test)]
mod tests;
