//! Links, routers, routing.

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Bytes, Time};
use serde::Serialize;

use crate::scenario::choices::{
    Algorithm, Comparison, DeadlockCheck, Divert, InputQueues, Knowledge, RouterModel, Selection, Switching, Up,
    VcRule, Vcs, Via,
};
use crate::scenario::clock::Clock;
use crate::scenario::pipeline::Pipeline;

/// Links, routers, routing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Largest packet; at least one flit.
    pub packet: Bytes,
    /// Unit of buffer space and of cut-through.
    pub flit: Bytes,
    /// How a packet crosses a router.
    pub switching: Switching,
    /// Where packets wait.
    pub router: RouterModel,
    /// Which packets of an input buffer compete, in an input-queued router.
    pub input_queues: InputQueues,
    /// Latency of a router's pipeline.
    pub router_delay: Time,
    /// The stages of pipelined routers.
    pub pipeline: Pipeline,
    /// The link classes.
    pub links: Links,
    /// How paths are chosen.
    pub routing: Routing,
    /// The traffic classes; none: one for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic_classes: Vec<TrafficClass>,
    /// Congestion control between the ends of the network.
    #[serde(skip_serializing_if = "CongestionControl::is_none")]
    pub congestion_control: CongestionControl,
    /// Length of a cycle, where the scenario counts in cycles; nothing depends on it any more.
    pub clock: Option<Clock>,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficClass {
    /// Name; unique in the scenario.
    pub name: String,
    /// Part of a link, 0.001 to 1.
    pub share: f64,
    /// Classes of a higher priority always go first.
    pub priority: i32,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CongestionControl {
    /// None.
    None,
    /// Ports mark packets, and their sources slow down.
    Ecn {
        /// A packet is marked if more than this waits behind it.
        threshold: Bytes,
        /// The part of its rate that a flow loses, between 0 and 1.
        decrease: f64,
        /// Least time between two such losses.
        interval: Time,
        /// From nothing to the rate of the link.
        recovery: Time,
    },
    /// The router in front of a node slows down those who send to it.
    PerFlow {
        /// What may wait there without anybody being slowed down.
        threshold: Bytes,
        /// Least time between two changes of the rate.
        interval: Time,
        /// From nothing to the rate of the link.
        recovery: Time,
    },
}

impl CongestionControl {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == CongestionControl::None
    }
}

/// The link classes of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Links {
    /// Node to router and back.
    pub terminal: Link,
    /// Between routers of a group.
    pub local: Link,
    /// Between groups.
    pub global: Link,
    /// The second kind between routers of a group.
    pub column: Link,
}

impl Links {
    /// The parameters of links of `class`.
    pub fn of(&self, class: LinkClass) -> &Link {
        match class {
            LinkClass::Terminal => &self.terminal,
            LinkClass::Local => &self.local,
            LinkClass::Global => &self.global,
            LinkClass::Column => &self.column,
        }
    }
}

/// One class of links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Transfer rate of one direction.
    pub bandwidth: Bandwidth,
    /// Time of flight; positive.
    pub latency: Time,
    /// Buffer at the receiving end, per virtual channel; at least one packet.
    pub buffer: Bytes,
    /// How long a credit takes back; positive.
    pub credit_delay: Time,
}

/// How paths are chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Routing {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Which loads the source router knows; only of UGAL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<Knowledge>,
    /// When and how late routers tell their group of their global ports; only of global and piggyback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_interval: Option<Time>,
    /// See `knowledge_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_delay: Option<Time>,
    /// When a global port is congested: load over the mean of the router's; only of piggyback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_factor: Option<f64>,
    /// And load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_threshold: Option<Bytes>,
    /// How the way up is chosen; only of fat trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Up>,
    /// What a non-minimal path goes through; this and the following are there where the algorithm takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Load of the minimal port up to which no packet leaves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Factor on the load of the non-minimal port; above 1 favours minimal paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// How threshold and bias are taken together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Whether loads count times hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh_hops: Option<bool>,
    /// Non-minimal paths that are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
    /// Which of several open ports an adaptive packet takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Over what a second router of the source group may divert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divert: Option<Divert>,
    /// How virtual channels are assigned to hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc_rule: Option<VcRule>,
    /// Virtual channels per port; `None`: as many as the algorithm needs.
    pub vcs: Option<Vcs>,
    /// What happens to a routing that can deadlock.
    pub deadlock_check: DeadlockCheck,
}
