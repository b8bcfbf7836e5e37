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
//! A layer with experts may have further experts that see every token (shared). The first layers may have one MLP of
//! their own inner size instead (dense). Multi-head latent attention has its own parameters and scores ([`Latent`]).
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
    /// Llama 2 with 7 billion parameters (H. Touvron et al., "Llama 2", 2023, table 1; inner size and vocabulary of its
    /// published weights).
    #[serde(rename = "llama-2-7b")]
    Llama2,
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
    /// DeepSeek-V3, 671 billion parameters: 256 experts of which 8 are active, a shared one, and 3 dense layers
    /// (DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 4.2).
    #[serde(rename = "deepseek-v3")]
    DeepSeek,
}

impl Model {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Gpt3 => "gpt3-175b",
            Model::Llama2 => "llama-2-7b",
            Model::Llama8 => "llama-3-8b",
            Model::Llama70 => "llama-3-70b",
            Model::Llama405 => "llama-3-405b",
            Model::Mixtral => "mixtral-8x7b",
            Model::DeepSeek => "deepseek-v3",
        }
    }

    /// Its sizes.
    pub const fn sizes(self) -> Sizes {
        let [layers, hidden, inner, heads, kv_heads, vocabulary, sequence] = match self {
            Model::Gpt3 => [96, 12_288, 49_152, 96, 96, 50_257, 2_048],
            Model::Llama2 => [32, 4_096, 11_008, 32, 32, 32_000, 4_096],
            Model::Llama8 => [32, 4_096, 14_336, 32, 8, 128_256, 8_192],
            Model::Llama70 => [80, 8_192, 28_672, 64, 8, 128_256, 8_192],
            Model::Llama405 => [126, 16_384, 53_248, 128, 8, 128_256, 8_192],
            Model::Mixtral => [32, 4_096, 14_336, 32, 8, 32_000, 32_768],
            Model::DeepSeek => [61, 7_168, 2_048, 128, 128, 129_280, 4_096],
        };
        let (experts, active, shared) = match self {
            Model::Mixtral => (8, 2, 0),
            Model::DeepSeek => (256, 8, 1),
            _ => (1, 1, 0),
        };
        let (dense_layers, dense_inner, latent) = match self {
            Model::DeepSeek => (3, 18_432, Some(Latent::DEEPSEEK)),
            _ => (0, inner, None),
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
            shared,
            dense_layers,
            dense_inner,
            latent,
        }
    }
}

/// Multi-head latent attention: queries by way of `query` elements, keys and values by way of `latent`, which is all that
/// is cached of them (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1). A head has `plain` + `rotary` elements of a key and
/// `value` of a value; all heads share the rotary ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latent {
    /// Compressed queries.
    pub query: u32,
    /// Compressed keys and values.
    pub latent: u32,
    /// Elements of a key without position.
    pub plain: u32,
    /// Elements of a key with rotary position.
    pub rotary: u32,
    /// Elements of a value.
    pub value: u32,
}

impl Latent {
    /// DeepSeek-V3's.
    const DEEPSEEK: Latent = Latent {
        query: 1_536,
        latent: 512,
        plain: 128,
        rotary: 64,
        value: 128,
    };

    /// Parameters of a layer with hidden size `h` and `a` heads.
    fn parameters(self, h: u64, a: u64) -> u64 {
        let [query, latent, plain, rotary, value] =
            [self.query, self.latent, self.plain, self.rotary, self.value].map(u64::from);
        h * query + query * a * (plain + rotary) + h * (latent + rotary) + latent * a * (plain + value) + a * value * h
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
    /// Experts that see every token, beside these.
    pub shared: u32,
    /// First layers with one MLP instead of experts.
    pub dense_layers: u32,
    /// Inner size of that MLP.
    pub dense_inner: u32,
    /// Latent attention instead of `kv_heads`.
    pub latent: Option<Latent>,
}

impl Sizes {
    /// Parameters of the attention of a layer.
    pub fn attention(&self) -> u64 {
        let h = u64::from(self.hidden);
        match self.latent {
            Some(latent) => latent.parameters(h, self.heads.into()),
            None => 2 * h * h + 2 * h * h * u64::from(self.kv_heads) / u64::from(self.heads),
        }
    }

    /// Parameters of one MLP.
    pub fn mlp(&self) -> u64 {
        u64::from(self.matrices) * u64::from(self.hidden) * u64::from(self.inner)
    }

    /// Parameters of the MLP of a dense layer.
    pub fn dense_mlp(&self) -> u64 {
        u64::from(self.matrices) * u64::from(self.hidden) * u64::from(self.dense_inner)
    }

    /// Whether layer `layer`, from 0, has experts.
    pub fn has_experts(&self, layer: u32) -> bool {
        self.experts > 1 && layer >= self.dense_layers
    }

    /// Parameters of layer `layer`, from 0, that do not belong to one of the E experts.
    pub fn layer(&self, layer: u32) -> u64 {
        let mlp = match (self.has_experts(layer), layer < self.dense_layers) {
            (true, _) => u64::from(self.shared) * self.mlp(),
            (false, true) => self.dense_mlp(),
            (false, false) => self.mlp(),
        };
        self.attention() + mlp
    }

    /// Parameters of the embedding, and of the output.
    pub fn embedding(&self) -> u64 {
        u64::from(self.hidden) * u64::from(self.vocabulary)
    }

    /// Parameters of the model, without norms and biases.
    pub fn parameters(&self) -> u64 {
        let experts = |layer| u64::from(self.has_experts(layer)) * u64::from(self.experts) * self.mlp();
        let layers = (0..self.layers).map(|layer| self.layer(layer) + experts(layer));
        layers.sum::<u64>() + 2 * self.embedding()
    }

    /// Elements of the keys and values of a token in one layer.
    pub fn cached(&self) -> u64 {
        match self.latent {
            Some(Latent { latent, rotary, .. }) => u64::from(latent) + u64::from(rotary),
            None => 2 * u64::from(self.hidden) * u64::from(self.kv_heads) / u64::from(self.heads),
        }
    }

    /// Forward operations of the scores of a layer for each pair of tokens.
    fn score_operations(&self) -> f64 {
        match self.latent {
            Some(Latent {
                plain, rotary, value, ..
            }) => 2.0 * f64::from(self.heads) * f64::from(plain + rotary + value),
            None => 4.0 * f64::from(self.hidden),
        }
    }

    /// Forward operations of the attention of a layer, in `tokens` tokens which each see `context` tokens.
    pub fn attention_operations(&self, tokens: f64, context: f64) -> f64 {
        2.0 * tokens * self.attention() as f64 + tokens * context * self.score_operations()
    }

    /// Forward operations of the MLPs of layer `layer` in `tokens` tokens.
    pub fn mlp_operations(&self, layer: u32, tokens: f64) -> f64 {
        let parameters = match (self.has_experts(layer), layer < self.dense_layers) {
            (true, _) => u64::from(self.active + self.shared) * self.mlp(),
            (false, true) => self.dense_mlp(),
            (false, false) => self.mlp(),
        };
        2.0 * tokens * parameters as f64
    }

    /// Forward operations of the output in `tokens` tokens.
    pub fn output_operations(&self, tokens: f64) -> f64 {
        2.0 * tokens * self.embedding() as f64
    }

    /// Forward operations of the model for a sequence.
    pub fn operations(&self) -> f64 {
        let tokens = f64::from(self.sequence);
        let layer = |layer| self.attention_operations(tokens, tokens) + self.mlp_operations(layer, tokens);
        (0..self.layers).map(layer).sum::<f64>() + self.output_operations(tokens)
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
            (Model::Llama2, 6.74, 0.01),
            (Model::Llama8, 8.03, 0.01),
            (Model::Llama70, 70.6, 0.01),
            (Model::Llama405, 405.9, 0.01),
            (Model::Mixtral, 46.7, 0.01),
            (Model::DeepSeek, 671.0, 0.01),
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
        let per_token = 3.0 * sizes.operations() / f64::from(sizes.sequence);
        let ratio = per_token / (6.0 * 175e9);
        // 96 layers' scores are 1 + s / (6 h) of the rest.
        assert!((ratio / (1.0 + 2048.0 / (6.0 * 12288.0)) - 1.0).abs() < 0.01, "{ratio}");
    }

    /// 37 billion parameters of DeepSeek-V3 are active for a token, and it caches 576 elements of one per layer: the
    /// report's abstract, and section 2.1.2 of DeepSeek-V2. The embedding takes no operations.
    #[test]
    fn deepseek_has_its_published_active_parameters() {
        let sizes = Sizes {
            sequence: 1,
            ..Model::DeepSeek.sizes()
        };
        let scores = 61.0 * sizes.score_operations();
        let active = (sizes.operations() - scores) / 2.0 + sizes.embedding() as f64;
        assert!((active / 37e9 - 1.0).abs() < 0.02, "{active}");
        assert_eq!(sizes.cached(), 576);
        // Two numbers for each of 8 heads of 128 elements.
        assert_eq!(Model::Llama70.sizes().cached(), 2 * 8 * 128);
    }
}
