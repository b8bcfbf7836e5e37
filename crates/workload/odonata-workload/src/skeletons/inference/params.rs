//! The keys of an inference job.

use odonata_units::{Bandwidth, Bytes, Filled, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Inference;
use crate::Program;
use crate::skeletons::Parameters;
use crate::skeletons::training::{Model, Sizes};

/// When keys and values go from prefill to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KvTransfer {
    /// After the last layer, in one message.
    #[default]
    Whole,
    /// Those of each layer as soon as it is computed.
    Layerwise,
}

/// Inference of a transformer with prefill and decode on separate GPUs: the job has `prefill` x `prefill_tensor` +
/// `decode` x `decode_tensor` ranks, each a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "InferenceWorkload")]
pub struct InferenceParams {
    /// The model. Required.
    pub model: Option<Model>,
    /// Layers. Default: those of the model.
    #[schemars(with = "Option<u32>")]
    pub layers: Filled<u32>,
    /// Prefill instances.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub prefill: u32,
    /// Tensor parallel ranks of a prefill instance.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub prefill_tensor: u32,
    /// Decode instances.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub decode: u32,
    /// Tensor parallel ranks of a decode instance; a divisor or a multiple of `prefill_tensor`. Default: as many.
    #[schemars(with = "Option<u32>")]
    pub decode_tensor: Filled<u32>,
    /// Requests.
    #[schemars(range(min = 1))]
    #[default = 16]
    pub requests: u32,
    /// Time between their arrivals, e.g. "50 ms". "0 s": all arrive at the start.
    pub interval: Time,
    /// Tokens of a prompt.
    #[schemars(range(min = 1))]
    #[default = 2_048]
    pub prompt: u32,
    /// Tokens of an answer.
    #[schemars(range(min = 1))]
    #[default = 128]
    pub output: u32,
    /// Requests decoded together.
    #[schemars(range(min = 1))]
    #[default = 8]
    pub batch: u32,
    /// When keys and values go from prefill to decode.
    #[default(KvTransfer::Whole)]
    pub kv_transfer: KvTransfer,
    /// Size of an element of weights, activations, keys and values, e.g. "2 B" for bfloat16.
    #[default(Bytes(2))]
    pub element: Bytes,
    /// Sustained floating-point operations of a GPU per second.
    #[default(400e12)]
    pub flops: f64,
    /// Rate at which a GPU reads its memory. Default: 3.35 TB/s, that of an H100 SXM (NVIDIA's data sheet).
    #[default(Bandwidth(3.35e12))]
    pub memory_bandwidth: Bandwidth,
}

impl InferenceParams {
    /// The sizes of the model; resolved.
    pub fn sizes(&self) -> Option<Sizes> {
        let layers = *self.layers;
        self.model.map(|model| Sizes {
            layers,
            ..model.sizes()
        })
    }

    /// Ranks of all instances; resolved.
    pub fn ranks(&self) -> u64 {
        let of = |instances: u32, tensor: u32| u64::from(instances) * u64::from(tensor);
        of(self.prefill, self.prefill_tensor) + of(self.decode, *self.decode_tensor)
    }
}

impl Parameters for InferenceParams {
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        const MOST: u32 = 1 << 20;
        let key = |name: &str| format!("{at}.{name}");
        let Some(model) = self.model else {
            let problem = "the key \"model\" is missing";
            return Err(Problem::new(at, problem, "a model such as \"llama-3-70b\""));
        };
        self.layers.fill(model.sizes().layers);
        self.decode_tensor.fill(self.prefill_tensor);
        for (name, value) in [
            ("layers", *self.layers),
            ("prefill", self.prefill),
            ("prefill_tensor", self.prefill_tensor),
            ("decode", self.decode),
            ("decode_tensor", *self.decode_tensor),
            ("requests", self.requests),
            ("prompt", self.prompt),
            ("output", self.output),
            ("batch", self.batch),
        ] {
            odonata_units::within(key(name), value, 1, MOST)?;
        }
        let (prefill, decode) = (self.prefill_tensor, *self.decode_tensor);
        if !prefill.is_multiple_of(decode) && !decode.is_multiple_of(prefill) {
            let problem = format!("{decode} ranks receive from {prefill}");
            let expected = "a divisor or a multiple of prefill_tensor";
            return Err(Problem::new(key("decode_tensor"), problem, expected));
        }
        if self.ranks() != u64::from(ranks) {
            let problem = format!(
                "{} x {prefill} + {} x {decode} ranks of {ranks}",
                self.prefill, self.decode
            );
            let expected = "prefill x prefill_tensor + decode x decode_tensor = ranks of the job";
            return Err(Problem::new(key("decode"), problem, expected));
        }
        if !(1e6..=1e21).contains(&self.flops) {
            let problem = format!("{} operations per second", odonata_units::Number(self.flops));
            return Err(Problem::new(key("flops"), problem, "1e6 to 1e21"));
        }
        odonata_units::within(key("element"), self.element, Bytes(1), Bytes(64))?;
        if self.interval > Time::from_seconds(3600.0) {
            return Err(Problem::new(
                key("interval"),
                format!("{}", self.interval),
                "at most \"1 h\"",
            ));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Inference::new(ranks, self)?))
    }
}
