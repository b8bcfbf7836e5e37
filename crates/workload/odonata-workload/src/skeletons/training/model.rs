//! Transformers: sizes, parameters and operations of their layers.
//!
//! For b sequences of s tokens and hidden size h, with f the inner size of a multi-layer perceptron (MLP) of m
//! matrices, a heads of which k have keys and values, and e active of E experts:
//!
//! | part | parameters | floating-point operations forward |
//! |---|---|---|
//! | attention | h² (2 + 2 k / a) | 2 b s times that, and 4 b s² h for its scores |
//! | MLP | m h f each, E of them | 2 b s e m h f |
//! | embedding, output | V h each | none, 2 b s h V |
//!
//! A backward pass has twice as many operations (D. Narayanan et al., "Efficient large-scale language model training on
//! GPU clusters using Megatron-LM", SC 2021, appendix; as there, masks are not counted). Norms and biases are left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model with published sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TrainingModel")]
pub enum Model {
    /// GPT-3 with 175 billion parameters (T. Brown et al., "Language models are few-shot learners", 2020, table 2.1).
    #[serde(rename = "gpt3-175b")]
    Gpt3,
    /// Llama 3 with 8 billion parameters ("The Llama 3 herd of models", 2024, table 3).
    #[serde(rename = "llama-3-8b")]
    Llama8,
    /// Llama 3 with 70 billion parameters (ibid.).
    #[serde(rename = "llama-3-70b")]
    Llama70,
    /// Llama 3 with 405 billion parameters (ibid.).
    #[serde(rename = "llama-3-405b")]
    Llama405,
    /// Mixtral, 8 experts of which 2 are active (A. Jiang et al., "Mixtral of experts", 2024, table 1).
    #[serde(rename = "mixtral-8x7b")]
    Mixtral,
}

impl Model {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Gpt3 => "gpt3-175b",
            Model::Llama8 => "llama-3-8b",
            Model::Llama70 => "llama-3-70b",
            Model::Llama405 => "llama-3-405b",
            Model::Mixtral => "mixtral-8x7b",
        }
    }

    /// Its sizes.
    pub const fn sizes(self) -> Sizes {
        let [layers, hidden, inner, heads, kv_heads, vocabulary, sequence] = match self {
            Model::Gpt3 => [96, 12_288, 49_152, 96, 96, 50_257, 2_048],
            Model::Llama8 => [32, 4_096, 14_336, 32, 8, 128_256, 8_192],
            Model::Llama70 => [80, 8_192, 28_672, 64, 8, 128_256, 8_192],
            Model::Llama405 => [126, 16_384, 53_248, 128, 8, 128_256, 8_192],
            Model::Mixtral => [32, 4_096, 14_336, 32, 8, 32_000, 32_768],
        };
        let (experts, active) = match self {
            Model::Mixtral => (8, 2),
            _ => (1, 1),
        };
        Sizes {
            layers,
            hidden,
            inner,
            heads,
            kv_heads,
            vocabulary,
            sequence,
            matrices: if matches!(self, Model::Gpt3) { 2 } else { 3 },
            experts,
            active,
        }
    }
}

/// The sizes of a transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Layers.
    pub layers: u32,
    /// h.
    pub hidden: u32,
    /// f.
    pub inner: u32,
    /// a.
    pub heads: u32,
    /// k.
    pub kv_heads: u32,
    /// V.
    pub vocabulary: u32,
    /// s.
    pub sequence: u32,
    /// m: 2, or 3 for a gated MLP.
    pub matrices: u32,
    /// E: experts of a layer; 1: a plain MLP.
    pub experts: u32,
    /// e: active experts per token.
    pub active: u32,
}

impl Sizes {
    /// Parameters of the attention of a layer.
    pub fn attention(&self) -> u64 {
        let h = u64::from(self.hidden);
        2 * h * h + 2 * h * h * u64::from(self.kv_heads) / u64::from(self.heads)
    }

    /// Parameters of one MLP.
    pub fn mlp(&self) -> u64 {
        u64::from(self.matrices) * u64::from(self.hidden) * u64::from(self.inner)
    }

    /// Parameters of the embedding, and of the output.
    pub fn embedding(&self) -> u64 {
        u64::from(self.hidden) * u64::from(self.vocabulary)
    }

    /// Parameters of the model without embedding and output.
    pub fn parameters(&self) -> u64 {
        let layer = self.attention() + u64::from(self.experts) * self.mlp();
        u64::from(self.layers) * layer + 2 * self.embedding()
    }

    /// Forward operations of the attention of a layer.
    pub fn attention_operations(&self, sequences: u32) -> f64 {
        let (b, s, h) = (f64::from(sequences), f64::from(self.sequence), f64::from(self.hidden));
        2.0 * b * s * self.attention() as f64 + 4.0 * b * s * s * h
    }

    /// Forward operations of the MLPs of a layer.
    pub fn mlp_operations(&self, sequences: u32) -> f64 {
        let tokens = f64::from(sequences) * f64::from(self.sequence);
        2.0 * tokens * f64::from(self.active) * self.mlp() as f64
    }

    /// Forward operations of the output.
    pub fn output_operations(&self, sequences: u32) -> f64 {
        2.0 * f64::from(sequences) * f64::from(self.sequence) * self.embedding() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published numbers of parameters, in billions; GPT-3 counts its embedding once, which is also its output.
    #[test]
    fn models_have_the_parameters_of_their_names() {
        for (model, published, tolerance) in [
            (Model::Gpt3, 174.6, 0.01),
            (Model::Llama8, 8.03, 0.01),
            (Model::Llama70, 70.6, 0.01),
            (Model::Llama405, 405.9, 0.01),
            (Model::Mixtral, 46.7, 0.01),
        ] {
            let found = model.sizes().parameters() as f64 / 1e9;
            assert!((found / published - 1.0).abs() < tolerance, "{}: {found}", model.name());
        }
    }

    /// About 6 operations per parameter and token, forward and backward together (Kaplan et al. 2020): three times
    /// forward.
    #[test]
    fn a_token_takes_six_operations_per_parameter() {
        let sizes = Model::Gpt3.sizes();
        let layers = f64::from(sizes.layers);
        let forward = layers * (sizes.attention_operations(1) + sizes.mlp_operations(1)) + sizes.output_operations(1);
        let per_token = 3.0 * forward / f64::from(sizes.sequence);
        let ratio = per_token / (6.0 * 175e9);
        // 96 layers' scores are 1 + s / (6 h) of the rest.
        assert!((ratio / (1.0 + 2048.0 / (6.0 * 12288.0)) - 1.0).abs() < 0.01, "{ratio}");
    }
}
