//! The keys of a training job.

use odonata_units::{Bytes, Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::{DATA, Failures, Model, SAME_EXPERTS, Schedule, Sizes, TENSOR, Training};
use crate::Program;
use crate::skeletons::{NcclParams, OfJob, Parameters};

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

/// A rank that computes more slowly than the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TrainingStraggler")]
pub struct Straggler {
    /// The rank.
    pub rank: u32,
    /// Its computation times over those of the others, 1 to 1000.
    pub slowdown: f64,
}

/// Training of a transformer with data, tensor, pipeline and expert parallelism: the job has `tensor` x `data` x
/// `pipeline` ranks, each a GPU. Missing sizes are those of `model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
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
    /// Experts that see every token, beside these. Default: those of the model, else 0.
    #[schemars(with = "Option<u32>")]
    pub shared_experts: Filled<u32>,
    /// First layers with one MLP instead of experts. Default: those of the model, else 0.
    #[schemars(with = "Option<u32>")]
    pub dense_layers: Filled<u32>,
    /// Inner size of their MLP. Default: that of the model, else `inner`.
    #[schemars(with = "Option<u32>")]
    pub dense_inner: Filled<u32>,
    /// Tensor parallel ranks.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub tensor: u32,
    /// Pipeline stages, at most one per layer. If they do not divide the layers, the first stages have one more.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub pipeline: u32,
    /// Data parallel ranks. Default: the ranks of the job / (tensor x pipeline).
    #[schemars(with = "Option<u32>")]
    pub data: Filled<u32>,
    /// Expert-parallel ranks, which are among the data-parallel ranks: a divisor of these, and of the experts.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub expert: u32,
    /// Micro-batches of an iteration, on each data parallel rank.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub micro_batches: u32,
    /// Sequences of a micro-batch.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub micro_batch: u32,
    /// Order of micro-batches in a stage.
    #[default(Schedule::OneForwardOneBackward)]
    pub schedule: Schedule,
    /// Groups of layers in a stage, which are virtual stages (interleaved 1F1B, as `--num-layers-per-virtual-pipeline-stage`
    /// of Megatron-LM). More than one needs several stages, the schedule "1f1b", and micro-batches that the stages divide.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub interleave: u32,
    /// Reduction of gradients.
    #[default(Gradients::AllReduce)]
    pub gradients: Gradients,
    /// Whether the gradients of a layer are reduced while the last backward pass computes the layers before it.
    pub overlap_gradients: bool,
    /// All-reduces, reduce-scatters and all-gathers by NCCL's channels and algorithms, with the keys of the workload
    /// `nccl` except `collective`, `bytes`, `iterations` and `compute`; {} has their defaults. `algorithm` is that of
    /// all-reduces, "pat" that of the others; hosts must have equal parts of each group. Default: one ring of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nccl: Option<Box<NcclParams>>,
    /// Size of an element of activations and gradients, e.g. "2 B" for bfloat16.
    #[default(Bytes(2))]
    pub element: Bytes,
    /// Sustained floating-point operations of a GPU per second. Default: 400e12, the sustained rate of an H100 in the
    /// training of Llama 3 405B on 16,384 of them (table 4 of that paper).
    #[default(400e12)]
    pub flops: f64,
    /// Highest floating-point operations of a GPU per second, for the MFU in results. Default: 989e12, dense bfloat16 of
    /// an H100 SXM (NVIDIA's data sheet).
    #[default(989e12)]
    pub peak_flops: f64,
    /// A rank that computes more slowly than the others, e.g. { rank = 5, slowdown = 1.2 }.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub straggler: Option<Straggler>,
    /// Whether a backward pass repeats the forward computation, because activations were not kept.
    pub recompute: bool,
    /// How often.
    #[default = 1]
    pub iterations: u32,
    /// Size of a sequence in its file. "0 B": nothing is read.
    #[default(Bytes(0))]
    pub sample: Bytes,
    /// Iterations between checkpoints; 0: none.
    pub checkpoint_interval: u32,
    /// Checkpoint size per parameter. Default: "14 B", bfloat16 and Adam's three numbers of 4 B.
    #[default(Bytes(14))]
    pub checkpoint: Bytes,
    /// Failures, each of which makes the job go back to its last checkpoint, e.g. { after = [7], restart = "60 s" } or
    /// { mean = 200.0 }. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
}

/// Largest of the sizes: products of them fit into 64 bits.
const MOST: u32 = 1 << 20;

impl TrainingParams {
    /// The sizes of the model; resolved.
    pub fn sizes(&self) -> Sizes {
        let published = self.model.map(Model::sizes);
        // Latent attention belongs to the hidden size and the heads of its model.
        let latent = published
            .filter(|sizes| (sizes.hidden, sizes.heads) == (*self.hidden, *self.heads))
            .and_then(|sizes| sizes.latent);
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
            shared: *self.shared_experts,
            dense_layers: *self.dense_layers,
            dense_inner: *self.dense_inner,
            latent,
        }
    }

    /// Checks the conditions of several groups of layers in a stage.
    fn check_interleave(&self, key: String) -> Result<(), Problem> {
        let (groups, stages) = (self.interleave, self.pipeline);
        let (problem, expected) = if groups == 1 {
            return Ok(());
        } else if stages == 1 {
            (
                format!("{groups} groups of layers, and one stage"),
                "1, or several stages",
            )
        } else if self.schedule != Schedule::OneForwardOneBackward {
            let problem = format!("{groups} groups of layers, and the schedule {}", self.schedule.name());
            (problem, "1, or schedule = \"1f1b\"")
        } else if !self.micro_batches.is_multiple_of(stages) {
            let problem = format!(
                "{groups} groups of layers, and {} micro-batches on {stages} stages",
                self.micro_batches
            );
            (problem, "1, or micro_batches that pipeline divides")
        } else if u64::from(groups) * u64::from(stages) > u64::from(*self.layers) {
            let problem = format!("{} layers in {groups} groups on {stages} stages", *self.layers);
            (problem, "at most one virtual stage per layer")
        } else {
            return Ok(());
        };
        Err(Problem::new(key, problem, expected))
    }

    /// Checks the collectives of NCCL, of `ranks` ranks.
    fn check_nccl(&self, at: &str, ranks: u32) -> Result<(), Problem> {
        let Some(nccl) = &self.nccl else {
            return Ok(());
        };
        let default = NcclParams::default();
        let of_training = [
            ("bytes", nccl.bytes.is_empty()),
            ("collective", nccl.collective == default.collective),
            ("iterations", nccl.iterations == default.iterations),
            ("compute", nccl.compute == default.compute),
        ];
        if let Some((name, _)) = of_training.iter().find(|(_, is_default)| !is_default) {
            let key = format!("{at}.nccl.{name}");
            return Err(Problem::new(key, "follows from the training", "no such key"));
        }
        let gpus = odonata_units::within(format!("{at}.nccl.gpus_per_host"), nccl.gpus_per_host, 1, 1 << 20)?;
        let layout = self.layout();
        for (comm, name) in [(TENSOR, "tensor"), (DATA, "data"), (SAME_EXPERTS, "equal expert")] {
            if layout.members(comm) > 1 && layout.members_per_host(comm, gpus).is_none() {
                let members = layout.members(comm);
                let problem =
                    format!("hosts of {gpus} GPUs have unequal parts of {name} groups of {members} of {ranks} ranks");
                let expected =
                    "tensor and expert that divide the GPUs of a host or are multiples of them, and full hosts";
                return Err(Problem::new(format!("{at}.nccl.gpus_per_host"), problem, expected));
            }
        }
        Training::check_nccl(ranks, self, &format!("{at}.nccl"))
    }

    /// The parallel ranks; resolved.
    pub(super) fn layout(&self) -> Layout {
        Layout {
            tensor: self.tensor,
            data: *self.data,
            pipeline: self.pipeline,
            expert: self.expert,
        }
    }

    /// Sequences of an iteration.
    pub fn sequences(&self) -> u64 {
        u64::from(*self.data) * u64::from(self.micro_batches) * u64::from(self.micro_batch)
    }
}

impl Parameters for TrainingParams {
    fn of_job(&mut self, job: OfJob) {
        if let Some(failures) = &mut self.failures {
            failures.seed.fill(job.seed);
        }
    }

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
        let shared = *self.shared_experts.fill(of(|sizes| sizes.shared, 0));
        odonata_units::within(key("shared_experts"), shared, 0, 1 << 16)?;
        let (layers, inner) = (*self.layers, *self.inner);
        let dense = *self.dense_layers.fill(of(|sizes| sizes.dense_layers, 0).min(layers));
        odonata_units::within(key("dense_layers"), dense, 0, layers)?;
        let of_dense = published.filter(|sizes| sizes.dense_layers > 0);
        let dense_inner = *self.dense_inner.fill(of_dense.map_or(inner, |sizes| sizes.dense_inner));
        odonata_units::within(key("dense_inner"), dense_inner, 1, 4 * MOST)?;
        for (name, value) in [
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("expert", self.expert),
            ("micro_batches", self.micro_batches),
            ("micro_batch", self.micro_batch),
            ("interleave", self.interleave),
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
        if self.pipeline > *self.layers {
            let problem = format!("{} layers on {} stages", *self.layers, self.pipeline);
            return Err(Problem::new(key("pipeline"), problem, "at most one stage per layer"));
        }
        self.check_interleave(key("interleave"))?;
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
        for (name, flops) in [("flops", self.flops), ("peak_flops", self.peak_flops)] {
            if !(1e6..=1e21).contains(&flops) {
                let problem = format!("{} operations per second", odonata_units::Number(flops));
                return Err(Problem::new(key(name), problem, "1e6 to 1e21"));
            }
        }
        if let Some(Straggler { rank, slowdown }) = self.straggler {
            odonata_units::within(key("straggler.rank"), rank, 0, ranks.saturating_sub(1))?;
            if !(1.0..=1e3).contains(&slowdown) {
                let problem = format!("{}", odonata_units::Number(slowdown));
                return Err(Problem::new(key("straggler.slowdown"), problem, "1 to 1000"));
            }
        }
        odonata_units::within(key("element"), self.element, Bytes(1), Bytes(64))?;
        odonata_units::within(key("checkpoint"), self.checkpoint, Bytes(0), Bytes(1 << 20))?;
        odonata_units::within(key("sample"), self.sample, Bytes(0), Bytes(1 << 40))?;
        self.resolve_failures(at)?;
        self.check_nccl(at, ranks)
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Training::new(ranks, self)?))
    }

    fn does_io(&self) -> bool {
        self.sample > Bytes::ZERO || self.checkpoint_interval > 0
    }
}
