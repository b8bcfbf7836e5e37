//! The pipeline of pipelined routers.

use odonata_units::{Number, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pipeline of `router = "pipelined"`, whose stages take whole cycles of `network.clock` (W. Dally, B. Towles,
/// "Principles and practices of interconnection networks", 2004).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pipeline {
    /// Cycles from a packet's coming to the front of its buffer to its asking for a virtual channel; 0: it has been
    /// routed on its way there (lookahead routing).
    #[schemars(range(max = 100))]
    pub routing: u32,
    /// Cycles of virtual-channel allocation.
    #[schemars(range(min = 1, max = 100))]
    pub vc_allocation: u32,
    /// Cycles of switch allocation.
    #[schemars(range(min = 1, max = 100))]
    pub switch_allocation: u32,
    /// Cycles of crossbar traversal.
    #[schemars(range(min = 1, max = 100))]
    pub crossbar: u32,
    /// Flits that an input port can send in a step, from different virtual channels.
    #[schemars(range(min = 1, max = 16))]
    pub input_speedup: u32,
    /// Steps of allocation and crossbar in a cycle; a fraction is spread over the cycles.
    #[schemars(range(min = 1, max = 4))]
    pub internal_speedup: f64,
    /// Which side of the separable allocators chooses first.
    pub allocator: Allocator,
    /// Rounds in which an allocator tries to match those who are left.
    #[schemars(range(min = 1, max = 16))]
    pub iterations: u32,
    /// Whether a virtual channel whose buffer is full cannot be allocated.
    pub busy_when_full: bool,
    /// Of how many outputs an adaptive packet asks for a virtual channel at once.
    pub adaptive_requests: AdaptiveRequests,
    /// Which virtual channel of the terminal link a node sends a packet on.
    pub injection_vc: InjectionVc,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            routing: 0,
            vc_allocation: 1,
            switch_allocation: 1,
            crossbar: 1,
            input_speedup: 1,
            internal_speedup: 1.0,
            allocator: Allocator::InputFirst,
            iterations: 1,
            busy_when_full: false,
            adaptive_requests: AdaptiveRequests::All,
            injection_vc: InjectionVc::InTurn,
        }
    }
}

/// Which side of a separable allocator chooses first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// Inputs choose what to ask for, then outputs among those who ask.
    #[default]
    InputFirst,
    /// Outputs choose among all who might ask, then inputs among those who chose them (a round of iSLIP).
    OutputFirst,
}

/// Of how many outputs a packet under minimal adaptive routing on a torus or mesh asks for a virtual channel at once, apart
/// from that of the escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdaptiveRequests {
    /// Of all on shortest paths; the allocator decides.
    #[default]
    All,
    /// Of that in the lowest dimension which is not done. So it is in BookSim 2, whose set of outputs keeps of those with the
    /// same priority only the first: there min_adapt follows dimension order on the adaptive channel, too.
    First,
}

/// Which virtual channel of the terminal link, of its traffic class, a node sends a packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionVc {
    /// From the one after the last on, around, the first that has room.
    #[default]
    InTurn,
    /// One that is drawn; if it has no room, one is drawn anew when there may be.
    Random,
    /// As BookSim 2's routing functions have it: random on a dragonfly, in turn on other machines.
    Booksim,
}

impl Pipeline {
    /// Cycles of all stages: what a flit takes from its buffer to the next link and over that, but for its latency, where it waits for nothing.
    pub(crate) fn stages(&self) -> u32 {
        self.routing + self.vc_allocation + self.switch_allocation + self.crossbar
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// A key is out of its range.
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
