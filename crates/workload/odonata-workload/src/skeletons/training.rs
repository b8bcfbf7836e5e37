//! Training of a transformer: data, tensor, pipeline and expert parallelism.
//!
//! Ranks are GPUs; rank t + T (d + D s) is tensor rank t of T, data rank d of D, stage s of P. In this order of
//! Megatron-LM, tensor groups are contiguous. An iteration of a rank is
//!
//! 1. its samples, if it reads any (stage 0, tensor rank 0);
//! 2. the passes of its M micro-batches in the order of the [schedule](Schedule): receive from the previous stage, its
//!    own layers, send to the next; backward in reverse. In the steady state of 1F1B a stage sends the result of a pass
//!    and receives the input of the next in one call, like Megatron-LM (`send_forward_recv_backward`,
//!    `send_backward_recv_forward`): separate sends would deadlock. A layer is attention and MLP, each a computation
//!    and an all-reduce in the tensor group, forward and backward (M. Shoeybi et al., "Megatron-LM", 2019); with
//!    experts, the MLP has an all-to-all of the tokens in the expert group before and after it (D. Lepikhin et al.,
//!    "GShard", 2020);
//! 3. gradients: an all-reduce in the data group, or a reduce-scatter and an all-gather of parameters (S. Rajbhandari
//!    et al., "ZeRO", SC 2020, stages 1 and 2); for experts among the ranks with the same experts;
//! 4. a checkpoint at the checkpoint interval; mark.
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
//! `flops`. Collectives are rings, like NCCL's for large vectors; all-to-alls post all messages at once.

mod layout;
pub mod model;
pub mod schedule;

use odonata_units::{Bytes, Filled, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::program::check_length;
use crate::{Algorithm, Collective, Comm, Cursor, Group, Op, OpKind, Program, Source, Tag};
use layout::Layout;
pub use model::{Model, Sizes};
pub use schedule::{Pass, Schedule};

/// The reduction of gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TrainingGradients")]
pub enum Gradients {
    /// An all-reduce.
    #[default]
    AllReduce,
    /// A reduce-scatter, and an all-gather of the parameters (ZeRO, stages 1 and 2).
    Sharded,
}

/// Training of a transformer with data, tensor, pipeline and expert parallelism: the job has `tensor` x `data` x
/// `pipeline` ranks, each a GPU. Missing sizes are those of `model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "TrainingWorkload")]
pub struct TrainingParams {
    /// A model with published sizes. Default: none, and all sizes are required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Layers.
    #[schemars(with = "Option<u32>")]
    pub layers: Filled<u32>,
    /// Hidden size: elements of a token between layers.
    #[schemars(with = "Option<u32>")]
    pub hidden: Filled<u32>,
    /// Inner size of a multi-layer perceptron (MLP). Default: that of the model, else 4 times the hidden size.
    #[schemars(with = "Option<u32>")]
    pub inner: Filled<u32>,
    /// Matrices of an MLP, 2 or 3 (3 for a gated one). Default: that of the model, else 2.
    #[schemars(with = "Option<u32>")]
    pub matrices: Filled<u32>,
    /// Heads of attention. Default: those of the model, else hidden size / 128, at least 1.
    #[schemars(with = "Option<u32>")]
    pub heads: Filled<u32>,
    /// Heads with separate keys and values. Default: those of the model, else all.
    #[schemars(with = "Option<u32>")]
    pub kv_heads: Filled<u32>,
    /// Words of the vocabulary. Default: those of the model, else 50,257.
    #[schemars(with = "Option<u32>")]
    pub vocabulary: Filled<u32>,
    /// Tokens of a sequence. Default: those of the model, else 2,048.
    #[schemars(with = "Option<u32>")]
    pub sequence: Filled<u32>,
    /// Experts of a layer; 1: a plain MLP. Default: those of the model, else 1.
    #[schemars(with = "Option<u32>")]
    pub experts: Filled<u32>,
    /// Active experts per token. Default: those of the model, else 1.
    #[schemars(with = "Option<u32>")]
    pub active: Filled<u32>,
    /// Tensor parallel ranks.
    #[schemars(range(min = 1))]
    pub tensor: u32,
    /// Pipeline stages; a divisor of the layers.
    #[schemars(range(min = 1))]
    pub pipeline: u32,
    /// Data parallel ranks. Default: the ranks of the job / (tensor x pipeline).
    #[schemars(with = "Option<u32>")]
    pub data: Filled<u32>,
    /// Expert-parallel ranks, which are among the data-parallel ranks: a divisor of these, and of the experts.
    #[schemars(range(min = 1))]
    pub expert: u32,
    /// Micro-batches of an iteration, on each data parallel rank.
    #[schemars(range(min = 1))]
    pub micro_batches: u32,
    /// Sequences of a micro-batch.
    #[schemars(range(min = 1))]
    pub micro_batch: u32,
    /// Order of micro-batches in a stage.
    pub schedule: Schedule,
    /// Reduction of gradients.
    pub gradients: Gradients,
    /// Size of an element of activations and gradients, e.g. "2 B" for bfloat16.
    pub element: Bytes,
    /// Sustained floating-point operations of a GPU per second. Default: 400e12, the sustained rate of an H100 in the
    /// training of Llama 3 405B on 16,384 of them (table 4 of that paper).
    pub flops: f64,
    /// Whether a backward pass repeats the forward computation, because activations were not kept.
    pub recompute: bool,
    /// How often.
    pub iterations: u32,
    /// Size of a sequence in its file. "0 B": nothing is read.
    pub sample: Bytes,
    /// Iterations between checkpoints; 0: none.
    pub checkpoint_interval: u32,
    /// Checkpoint size per parameter. Default: "14 B", bfloat16 and Adam's three numbers of 4 B.
    pub checkpoint: Bytes,
}

impl Default for TrainingParams {
    fn default() -> Self {
        TrainingParams {
            model: None,
            layers: Filled::EMPTY,
            hidden: Filled::EMPTY,
            inner: Filled::EMPTY,
            matrices: Filled::EMPTY,
            heads: Filled::EMPTY,
            kv_heads: Filled::EMPTY,
            vocabulary: Filled::EMPTY,
            sequence: Filled::EMPTY,
            experts: Filled::EMPTY,
            active: Filled::EMPTY,
            tensor: 1,
            pipeline: 1,
            data: Filled::EMPTY,
            expert: 1,
            micro_batches: 1,
            micro_batch: 1,
            schedule: Schedule::OneForwardOneBackward,
            gradients: Gradients::AllReduce,
            element: Bytes(2),
            flops: 400e12,
            recompute: false,
            iterations: 1,
            sample: Bytes(0),
            checkpoint_interval: 0,
            checkpoint: Bytes(14),
        }
    }
}

/// Largest of the sizes: products of them fit into 64 bits.
const MOST: u32 = 1 << 20;

impl TrainingParams {
    /// The sizes of the model; resolved.
    fn sizes(&self) -> Sizes {
        Sizes {
            layers: *self.layers,
            hidden: *self.hidden,
            inner: *self.inner,
            heads: *self.heads,
            kv_heads: *self.kv_heads,
            vocabulary: *self.vocabulary,
            sequence: *self.sequence,
            matrices: *self.matrices,
            experts: *self.experts,
            active: *self.active,
        }
    }
}

impl Parameters for TrainingParams {
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let key = |name: &str| format!("{at}.{name}");
        let published = self.model.map(Model::sizes);
        for (name, filled, size) in [
            ("layers", &mut self.layers, published.map(|sizes| sizes.layers)),
            ("hidden", &mut self.hidden, published.map(|sizes| sizes.hidden)),
        ] {
            match size {
                Some(size) => _ = filled.fill(size),
                None if filled.is_empty() => {
                    let problem = format!("the key \"{name}\" is missing");
                    return Err(Problem::new(at, problem, "a whole number, or a model"));
                }
                None => {}
            }
            odonata_units::within(key(name), **filled, 1, MOST)?;
        }
        let hidden = *self.hidden;
        let heads = published.map_or((hidden / 128).max(1), |sizes| sizes.heads);
        let heads = *self.heads.fill(heads);
        let of = |size: fn(&Sizes) -> u32, default: u32| published.as_ref().map_or(default, size);
        for (name, filled, default, most) in [
            ("inner", &mut self.inner, of(|sizes| sizes.inner, 4 * hidden), 4 * MOST),
            ("matrices", &mut self.matrices, of(|sizes| sizes.matrices, 2), 3),
            ("heads", &mut self.heads, heads, MOST),
            ("kv_heads", &mut self.kv_heads, of(|sizes| sizes.kv_heads, heads), heads),
            (
                "vocabulary",
                &mut self.vocabulary,
                of(|sizes| sizes.vocabulary, 50_257),
                MOST,
            ),
            ("sequence", &mut self.sequence, of(|sizes| sizes.sequence, 2_048), MOST),
            ("experts", &mut self.experts, of(|sizes| sizes.experts, 1), 1 << 16),
        ] {
            let least = if name == "matrices" { 2 } else { 1 };
            let given = !filled.is_empty();
            let value = *filled.fill(default);
            if name == "kv_heads" && !given && value > heads {
                // The model gives the kv_heads, so the user has changed the heads.
                let problem = format!("{heads} heads for the {value} kv_heads of the model");
                return Err(Problem::new(
                    key("heads"),
                    problem,
                    format!("{value} or more; or kv_heads of at most {heads}"),
                ));
            }
            odonata_units::within(key(name), value, least, most)?;
        }
        let experts = *self.experts;
        let active = *self.active.fill(of(|sizes| sizes.active, 1).min(experts));
        odonata_units::within(key("active"), active, 1, experts)?;
        for (name, value) in [
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("expert", self.expert),
            ("micro_batches", self.micro_batches),
            ("micro_batch", self.micro_batch),
        ] {
            odonata_units::within(key(name), value, 1, MOST)?;
        }
        let both = u64::from(self.tensor) * u64::from(self.pipeline);
        if self.data.is_empty() && u64::from(ranks).is_multiple_of(both) && ranks > 0 {
            self.data.fill(ranks / both as u32);
        }
        let all = self.data.given().map(|&data| both.saturating_mul(u64::from(data)));
        if all != Some(u64::from(ranks)) {
            let divides = ranks.is_multiple_of(self.tensor);
            let (name, problem) = match self.data.given() {
                Some(data) => (
                    "data",
                    format!("{} x {data} x {} ranks of {ranks}", self.tensor, self.pipeline),
                ),
                None if self.pipeline == 1 => ("tensor", format!("{} does not divide {ranks} ranks", self.tensor)),
                None => (
                    if divides { "pipeline" } else { "tensor" },
                    format!("{} x {} do not divide {ranks} ranks", self.tensor, self.pipeline),
                ),
            };
            let expected = "tensor x data x pipeline = ranks of the job";
            return Err(Problem::new(key(name), problem, expected));
        }
        if !self.layers.is_multiple_of(self.pipeline) {
            let problem = format!("{} layers on {} stages", *self.layers, self.pipeline);
            return Err(Problem::new(key("pipeline"), problem, "a divisor of the layers"));
        }
        if !self.data.is_multiple_of(self.expert) || !experts.is_multiple_of(self.expert) {
            let problem = format!(
                "{} ranks for {experts} experts, of {} data parallel ones",
                self.expert, *self.data
            );
            return Err(Problem::new(
                key("expert"),
                problem,
                "a divisor of the experts and of data",
            ));
        }
        if !(self.flops >= 1e6 && self.flops <= 1e21) {
            let problem = format!("{} operations per second", odonata_units::Number(self.flops));
            return Err(Problem::new(key("flops"), problem, "1e6 to 1e21"));
        }
        odonata_units::within(key("element"), self.element, Bytes(1), Bytes(64))?;
        odonata_units::within(key("checkpoint"), self.checkpoint, Bytes(0), Bytes(1 << 20))?;
        odonata_units::within(key("sample"), self.sample, Bytes(0), Bytes(1 << 40))?;
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Training::new(ranks, self)?))
    }

    fn does_io(&self) -> bool {
        self.sample > Bytes::ZERO || self.checkpoint_interval > 0
    }
}

/// Training of a transformer. [`Cursor::words`]: iteration, part of it (samples, passes, gradients, checkpoint),
/// position in the part: the pass and its step, or a step.
#[derive(Clone, Debug)]
pub struct Training {
    params: TrainingParams,
    sizes: Sizes,
    layout: Layout,
    /// Layers of a stage.
    layers: u32,
    /// Bytes of the activations of a micro-batch.
    activations: u64,
    /// Forward time of attention, of an MLP and of the output.
    times: [Time; 3],
}

/// Communicators of a rank.
const TENSOR: Comm = Comm(1);
const DATA: Comm = Comm(2);
const EXPERT: Comm = Comm(3);
/// Ranks with the same experts.
const SAME_EXPERTS: Comm = Comm(4);

/// Steps of a layer, forward or backward: attention and its all-reduce; to the experts, MLP, from the experts; its
/// all-reduce.
const LAYER: u32 = 6;

impl Training {
    /// The program on `ranks` ranks; `params` are resolved.
    ///
    /// # Errors
    /// There are no iterations or too many operations, or messages of more than 2^63 bytes.
    pub fn new(ranks: u32, params: &TrainingParams) -> Result<Self, String> {
        let sizes = params.sizes();
        let layout = Layout {
            tensor: params.tensor,
            data: *params.data,
            pipeline: params.pipeline,
            expert: params.expert,
        };
        if layout.ranks() != u64::from(ranks) {
            return Err(format!("{} ranks for a layout of {}", ranks, layout.ranks()));
        }
        let layers = sizes.layers / params.pipeline;
        let passes = 2 * u64::from(params.micro_batches) * (u64::from(layers) * u64::from(LAYER) + 4);
        check_length(params.iterations, passes + 20)?;
        let activations = [params.micro_batch, sizes.sequence, sizes.hidden]
            .into_iter()
            .try_fold(params.element.0, |bytes, factor| bytes.checked_mul(u64::from(factor)))
            .filter(|&bytes| bytes < 1 << 62)
            .ok_or("the activations of a micro-batch have more than 2^62 bytes")?;
        let time = |operations: f64| Time::from_ps_f64(operations / f64::from(params.tensor) / params.flops * 1e12);
        let b = params.micro_batch;
        let times = [
            time(sizes.attention_operations(b)),
            time(sizes.mlp_operations(b)),
            time(sizes.output_operations(b)),
        ];
        Ok(Training {
            params: params.clone(),
            sizes,
            layout,
            layers,
            activations,
            times,
        })
    }

    /// Parameters of a rank of `stage` shared by all data-parallel ranks, and parameters of its experts.
    fn parameters(&self, stage: u32) -> (u64, u64) {
        let Sizes { experts, .. } = self.sizes;
        let ends = u64::from(stage == 0) + u64::from(stage + 1 == self.layout.pipeline);
        let layers = u64::from(self.layers);
        let (shared, own) = match experts {
            1 => (self.sizes.attention() + self.sizes.mlp(), 0),
            experts => (
                self.sizes.attention(),
                u64::from(experts / self.params.expert) * self.sizes.mlp(),
            ),
        };
        let tensor = u64::from(self.params.tensor);
        let all = layers * shared + ends * self.sizes.embedding();
        (all.div_ceil(tensor), (layers * own).div_ceil(tensor))
    }

    /// An all-reduce of whole elements in `comm`.
    fn allreduce(&self, comm: Comm, bytes: u64) -> OpKind {
        OpKind::Collective(Collective::Allreduce {
            comm,
            bytes,
            count: bytes / self.params.element.0,
        })
    }

    /// Members of `comm`.
    fn members(&self, comm: Comm) -> u32 {
        match comm {
            TENSOR => self.layout.tensor,
            DATA => self.layout.data,
            EXPERT => self.layout.expert,
            SAME_EXPERTS => self.layout.data / self.layout.expert,
            _ => self.layout.ranks() as u32,
        }
    }

    /// Step `step` of a layer; `None` if it does not exist.
    fn layer(&self, step: u32, backward: bool) -> Option<OpKind> {
        let times = match (backward, self.params.recompute) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        let compute = |time: Time| OpKind::Compute {
            duration: Time(time.0.saturating_mul(times)),
        };
        // Backward, the MLP comes first.
        match if backward { (step + 2) % LAYER } else { step } {
            0 => Some(compute(self.times[0])),
            2 | 4 => (self.sizes.experts > 1 && self.layout.expert > 1).then(|| {
                let all = self.activations.saturating_mul(u64::from(self.sizes.active));
                let each = all / u64::from(self.layout.tensor) / u64::from(self.layout.expert);
                OpKind::Collective(Collective::Alltoall {
                    comm: EXPERT,
                    bytes: each,
                })
            }),
            3 => Some(compute(self.times[1])),
            _ => (self.layout.tensor > 1).then(|| self.allreduce(TENSOR, self.activations)),
        }
    }

    /// Step `step` of pass number `index`; `Err` after its last step.
    fn pass(&self, rank: u32, index: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (_, _, stage) = self.layout.place(rank);
        let schedule = self.params.schedule;
        let (stages, batches) = (self.layout.pipeline, self.params.micro_batches);
        let pass = schedule.pass(index, stage, stages, batches);
        let backward = matches!(pass, Pass::Backward(_));
        let last = stage + 1 == stages;
        let layers = LAYER * self.layers;
        let joined = |index| schedule.joined(index, stage, stages, batches);
        Ok(match step {
            0 if index > 0 && joined(index - 1) => None,
            0 => self.receive(rank, pass),
            // The output: the end of a forward pass and the beginning of its backward pass.
            1 => (last && backward).then(|| OpKind::Compute {
                duration: self.times[2] + self.times[2],
            }),
            step if step < 2 + layers => self.layer((step - 2) % LAYER, backward),
            step if step == 2 + layers => (last && !backward).then(|| OpKind::Compute {
                duration: self.times[2],
            }),
            step if step == 3 + layers => match self.send(rank, pass) {
                sent if !joined(index) => sent,
                sent => both(
                    sent,
                    self.receive(rank, schedule.pass(index + 1, stage, stages, batches)),
                ),
            },
            _ => return Err(()),
        })
    }

    /// Source and destination rank of a pass, with tag and bytes.
    fn border(&self, rank: u32, pass: Pass) -> (Option<u32>, Option<u32>, u32, u64) {
        let (_, _, stage) = self.layout.place(rank);
        let (before, behind) = (
            (stage > 0).then(|| rank - self.layout.stage_stride()),
            (stage + 1 < self.layout.pipeline).then(|| rank + self.layout.stage_stride()),
        );
        let bytes = (self.activations / u64::from(self.layout.tensor)).max(1);
        match pass {
            Pass::Forward(number) => (before, behind, 2 * number, bytes),
            Pass::Backward(number) => (behind, before, 2 * number + 1, bytes),
        }
    }

    /// The receive before a pass; `None` without input.
    fn receive(&self, rank: u32, pass: Pass) -> Option<OpKind> {
        let (from, _, tag, bytes) = self.border(rank, pass);
        from.map(|from| OpKind::Recv {
            from: Source::Rank(from),
            tag: Tag::Is(tag),
            bytes,
            comm: Comm::WORLD,
        })
    }

    /// The send after a pass; `None` without output.
    fn send(&self, rank: u32, pass: Pass) -> Option<OpKind> {
        let (_, to, tag, bytes) = self.border(rank, pass);
        to.map(|to| OpKind::Send {
            to,
            tag,
            bytes,
            comm: Comm::WORLD,
        })
    }

    /// Step `step` of the gradients; `Err` after the last one.
    fn gradients(&self, rank: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (_, _, stage) = self.layout.place(rank);
        let (shared, own) = self.parameters(stage);
        let (comm, parameters) = match step / 2 {
            0 => (DATA, shared),
            1 => (SAME_EXPERTS, own),
            _ => return Err(()),
        };
        let members = u64::from(self.members(comm));
        if parameters == 0 || members == 1 {
            return Ok(None);
        }
        let element = self.params.element.0;
        let (share, second) = (parameters.div_ceil(members), step % 2 == 1);
        Ok(match (self.params.gradients, second) {
            (Gradients::AllReduce, false) => Some(self.allreduce(comm, parameters * element)),
            (Gradients::AllReduce, true) => None,
            (Gradients::Sharded, false) => Some(OpKind::Collective(Collective::ReduceScatterBlock {
                comm,
                bytes: share * element,
                count: share,
            })),
            (Gradients::Sharded, true) => Some(OpKind::Collective(Collective::Allgather {
                comm,
                bytes: share * element,
            })),
        })
    }

    /// Step `step` of the samples; `Err` after the last one. File r of the job has the samples of data rank r.
    fn samples(&self, rank: u32, iteration: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (tensor, data, stage) = self.layout.place(rank);
        let sequences = u64::from(self.params.micro_batches) * u64::from(self.params.micro_batch);
        let bytes = sequences.saturating_mul(self.params.sample.0);
        let reads = bytes > 0 && (tensor, stage) == (0, 0);
        let file = u64::from(data);
        let kind = match step {
            0 => (iteration == 0).then_some(OpKind::Open { file }),
            1 => Some(OpKind::Read {
                file,
                offset: u64::from(iteration).saturating_mul(bytes),
                bytes,
            }),
            2 => (iteration + 1 == self.params.iterations).then_some(OpKind::Close { file }),
            _ => return Err(()),
        };
        Ok(kind.filter(|_| reads))
    }

    /// Step `step` of a checkpoint; `Err` after the last one. The first data-parallel ranks, and ranks with separate
    /// experts, write a file each.
    fn checkpoint(&self, rank: u32, iteration: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let (_, data, stage) = self.layout.place(rank);
        let interval = self.params.checkpoint_interval;
        let due = interval > 0 && (iteration + 1).is_multiple_of(interval);
        let (shared, own) = self.parameters(stage);
        let parameters = u64::from(data == 0) * shared + u64::from(data < self.layout.expert) * own;
        let bytes = parameters.saturating_mul(self.params.checkpoint.0);
        // Files of samples come before those of checkpoints.
        let number = u64::from(iteration) * self.layout.ranks() + u64::from(rank);
        let file = u64::from(self.layout.data) + number;
        let kind = match step {
            0 => OpKind::Open { file },
            1 => OpKind::Write { file, offset: 0, bytes },
            2 => OpKind::Close { file },
            _ => return Err(()),
        };
        Ok((due && bytes > 0).then_some(kind))
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
        let passes = 2 * self.params.micro_batches;
        cursor.advance(|[iteration, part, pass, step, _]| {
            loop {
                if *iteration >= self.params.iterations {
                    return None;
                }
                let found = match *part {
                    0 => self.samples(rank, *iteration, *step),
                    1 if *pass < passes => {
                        let found = self.pass(rank, *pass, *step);
                        if found.is_err() {
                            (*pass, *step) = (*pass + 1, 0);
                            continue;
                        }
                        found
                    }
                    1 => Err(()),
                    2 => self.gradients(rank, *step),
                    3 => self.checkpoint(rank, *iteration, *step),
                    _ => {
                        let mark = OpKind::Mark { iteration: *iteration };
                        (*iteration, *part, *pass, *step) = (*iteration + 1, 0, 0, 0);
                        return Some(mark);
                    }
                };
                match found {
                    Ok(kind) => {
                        *step += 1;
                        if kind.is_some() {
                            return kind;
                        }
                    }
                    Err(()) => (*part, *pass, *step) = (*part + 1, 0, 0),
                }
            }
        })
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
            .supports(collective, self.members(collective.comm()))
            .then_some(algorithm)
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let TrainingParams {
            micro_batches,
            micro_batch,
            iterations,
            ..
        } = self.params;
        let name = self.params.model.map_or("a transformer", Model::name);
        let parameters = self.sizes.parameters() as f64 / 1e9;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let Layout {
            tensor,
            data,
            pipeline,
            expert,
        } = self.layout;
        let batches = f64::from(2 * micro_batches) * f64::from(2 * self.layers);
        let tensors = if tensor > 1 {
            batches * mib(self.activations)
        } else {
            0.0
        };
        let sent = if pipeline > 1 {
            f64::from(micro_batches) * mib(self.activations / u64::from(tensor))
        } else {
            0.0
        };
        let gradient = (self.parameters(0).0 + self.parameters(0).1).saturating_mul(self.params.element.0);
        let experts = if expert > 1 {
            format!(", {expert} expert")
        } else {
            String::new()
        };
        format!(
            "{iterations} iterations of training {name} ({parameters:.1} thousand million parameters): {tensor} tensor x {data} data x \
             {pipeline} pipeline{experts} parallel, {micro_batches} micro-batches of {micro_batch}, {}; per rank of stage 0 and iteration: tensor \
             all-reduces of {tensors:.1} MiB, sends of {sent:.1} MiB, gradients of {:.1} MiB",
            self.params.schedule.name(),
            if data > 1 { mib(gradient) } else { 0.0 },
        )
    }
}

#[cfg(test)]
mod tests;
