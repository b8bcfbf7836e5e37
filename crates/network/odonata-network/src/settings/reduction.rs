//! Sums in routers.

use odonata_units::{Bytes, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Network, RouterModel};

/// Barriers and all-reduces in routers, as by SHARP (R. Graham et al., COMHPC 2016; ISC 2020). Each job whose
/// collectives have the algorithm "switches" gets a tree of routers for all of the run, in the order of the jobs. A job
/// that finds a router without a free tree falls back to the library's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Reduction")]
pub struct Reduction {
    /// Trees that a router can sum in; assumed. A router with one neighbor below it in a tree only passes data on.
    #[default = 64]
    pub trees: u32,
    /// Operations of a tree under way at a time, 1 to 4,096: a node sends the next one when it has the result of the
    /// oldest.
    #[schemars(range(min = 1, max = 4096))]
    #[default = 2]
    pub operations: u32,
    /// Data of an operation, at most a packet; longer vectors take several operations. With the defaults, 4 KiB take eight
    /// round trips.
    #[default(Bytes(256))]
    pub data: Bytes,
    /// Time in which a router sums the data of its children; assumed.
    #[default(Time::from_ns(100))]
    pub delay: Time,
    /// Largest vector of an all-reduce; longer ones fall back to the library's choice.
    #[default(Bytes::kib(4))]
    pub up_to: Bytes,
}

impl Reduction {
    /// Checks the sizes, and that the routers of `network` sum.
    ///
    /// # Errors
    /// A value is out of range, or the routers do not sum.
    pub fn check(&self, network: &Network) -> Result<(), Problem> {
        within("network.reduction.operations", self.operations, 1, 1 << 12)?;
        if self.data == Bytes::ZERO || self.data > network.packet {
            let problem = format!("operations of {}", self.data);
            let expected = format!("1 B to network.packet, {}", network.packet);
            return Err(Problem::new("network.reduction.data", problem, expected));
        }
        if network.router != RouterModel::InputQueued {
            let problem = format!("{} routers do not sum", network.router.name());
            return Err(Problem::new(
                "network.reduction",
                problem,
                "network.router = \"input-queued\"",
            ));
        }
        if !network.traffic_classes.is_empty() {
            let problem = "sums in routers have no traffic class";
            return Err(Problem::new("network.reduction", problem, "no network.traffic_classes"));
        }
        Ok(())
    }
}
