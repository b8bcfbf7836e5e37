//! The stages of pipelined routers.

use odonata_units::{Number, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pipeline of `router = "pipelined"`. Its stages take whole cycles of `network.clock` (W. Dally, B. Towles,
/// "Principles and practices of interconnection networks", 2004).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Pipeline {
    /// Cycles from the time when a packet reaches the front of its buffer until it requests a virtual channel. 0 is
    /// lookahead routing: the upstream router has routed the packet.
    #[schemars(range(max = 100))]
    pub routing: u32,
    /// Cycles of virtual-channel allocation.
    #[schemars(range(min = 1, max = 100))]
    #[default = 1]
    pub vc_allocation: u32,
    /// Cycles of switch allocation.
    #[schemars(range(min = 1, max = 100))]
    #[default = 1]
    pub switch_allocation: u32,
    /// Cycles of crossbar traversal.
    #[schemars(range(min = 1, max = 100))]
    #[default = 1]
    pub crossbar: u32,
    /// Flits that an input port can send per step, from different virtual channels.
    #[schemars(range(min = 1, max = 16))]
    #[default = 1]
    pub input_speedup: u32,
    /// Steps of allocation and crossbar per cycle; a fraction is spread over the cycles.
    #[schemars(range(min = 1, max = 4))]
    #[default = 1.0]
    pub internal_speedup: f64,
    /// Which side of the separable allocators chooses first.
    #[default(Allocator::InputFirst)]
    pub allocator: Allocator,
    /// Rounds in which an allocator tries to match the remaining requests.
    #[schemars(range(min = 1, max = 16))]
    #[default = 1]
    pub iterations: u32,
    /// Whether a virtual channel with a full buffer is excluded from allocation.
    pub busy_when_full: bool,
    /// At how many outputs an adaptive packet requests a virtual channel at once.
    #[default(AdaptiveRequests::All)]
    pub adaptive_requests: AdaptiveRequests,
    /// The virtual channel of the terminal link on which a node sends a packet.
    #[default(InjectionVc::InTurn)]
    pub injection_vc: InjectionVc,
}

/// Which side of a separable allocator chooses first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// Inputs choose their requests, then outputs choose among the requests.
    #[default]
    InputFirst,
    /// Outputs choose among all inputs with a request, then inputs choose among the grants (one round of iSLIP).
    OutputFirst,
}

/// At how many outputs a packet with minimal adaptive routing on a torus or mesh requests a virtual channel at once,
/// besides the escape channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdaptiveRequests {
    /// At all outputs on shortest paths; the allocator decides.
    #[default]
    All,
    /// At the output of the lowest unfinished dimension. BookSim 2 behaves this way: its output set keeps only the
    /// first of several entries with equal priority, so its min_adapt follows dimension order on the adaptive channel,
    /// too.
    First,
}

/// The virtual channel of the terminal link, within its traffic class, on which a node sends a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionVc {
    /// The first channel with room, searched round-robin from the one after the last used.
    #[default]
    InTurn,
    /// A random channel; if it has no room, another is drawn when a credit may have arrived.
    Random,
    /// As in BookSim 2's routing functions: random on a dragonfly, in turn on other machines.
    Booksim,
}

impl Pipeline {
    /// Cycles of all stages: the time of a flit from its buffer over the next link at zero load, without the link's
    /// latency.
    pub(crate) fn stages(&self) -> u32 {
        self.routing + self.vc_allocation + self.switch_allocation + self.crossbar
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// A key is out of range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let counts = [
            ("routing", self.routing, 0, 100),
            ("vc_allocation", self.vc_allocation, 1, 100),
            ("switch_allocation", self.switch_allocation, 1, 100),
            ("crossbar", self.crossbar, 1, 100),
            ("input_speedup", self.input_speedup, 1, 16),
            ("iterations", self.iterations, 1, 16),
        ];
        let refuse = |name: &str, value: String, expected: String| {
            let key = format!("network.pipeline.{name}");
            Err(Problem::new(key, format!("{value} is out of range"), expected))
        };
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return refuse(name, value.to_string(), format!("{least} to {most}"));
            }
        }
        if !(1.0..=4.0).contains(&self.internal_speedup) {
            return refuse(
                "internal_speedup",
                Number(self.internal_speedup).to_string(),
                "1 to 4".into(),
            );
        }
        Ok(())
    }
}
