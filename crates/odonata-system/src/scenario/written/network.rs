//! Links, routers, routing as they are written.

use odonata_units::{Bandwidth, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::Clock;
use crate::scenario::choices::{
    Algorithm, Comparison, CongestionKind, DeadlockCheck, Divert, InputQueues, Knowledge, RouterModel, Selection,
    Switching, Up, VcRule, Vcs, Via,
};
use crate::scenario::pipeline::Pipeline;

/// Links, routers, routing. The defaults are a virtual cut-through network of input-queued routers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// Largest packet, 1 B to 1 MiB; messages are cut into packets. At least one flit.
    pub packet: Bytes,
    /// Unit of buffer space and of cut-through. Every size of the scenario may be written in flits ("8 flits").
    pub flit: Bytes,
    /// How a packet crosses a router.
    pub switching: Switching,
    /// Where packets wait inside a router.
    pub router: RouterModel,
    /// Which packets of an input buffer compete for outputs; only of input-queued routers.
    pub input_queues: InputQueues,
    /// Latency of a router's pipeline; it limits no rate. Pipelined routers have stages instead.
    pub router_delay: Time,
    /// The stages of pipelined routers; only of these.
    pub pipeline: Pipeline,
    /// The classes of links.
    pub links: Links,
    /// How paths are chosen.
    pub routing: Routing,
    /// Traffic classes, `[[network.traffic_classes]]`, at most 8; jobs name theirs in `traffic_class`. Each has virtual
    /// channels of its own, as many as `routing.vcs` says, and a share of every link. Input-queued routers only. Default:
    /// none, which is one for all.
    pub traffic_classes: Vec<TrafficClass>,
    /// Congestion control between the ends of the network; not with pipelined routers.
    pub congestion_control: CongestionControl,
    /// Length of a cycle, as its period ("1 ns") or its frequency ("1 GHz"). Where it is given, every time of the
    /// scenario may be written in cycles ("3 cycles"), every rate in flits ("1 flit/cycle"). Default: none.
    pub clock: Option<Clock>,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            packet: Bytes::kib(4),
            flit: Bytes(32),
            switching: Switching::CutThrough,
            router: RouterModel::InputQueued,
            input_queues: InputQueues::VirtualOutput,
            router_delay: Time::from_ns(100),
            pipeline: Pipeline::default(),
            links: Links::default(),
            routing: Routing::default(),
            traffic_classes: Vec::new(),
            congestion_control: CongestionControl::default(),
            clock: None,
        }
    }
}

/// A traffic class.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficClass {
    /// Name, different from that of every other class.
    pub name: String,
    /// Part of a link that the class gets at least while it has something to send, against the others of its priority; 0.001
    /// to 1, and at most 1 over all classes. What is left, and what a class does not use, is shared out in proportion.
    #[schemars(range(min = 0.001, max = 1))]
    pub share: f64,
    /// Classes of a higher priority always go first. Default: 0.
    #[serde(default)]
    pub priority: i32,
}

/// Congestion control. Notifications take the time of an idle network and no bandwidth.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionControl {
    /// The kind. Default: "none"; the other keys are for the other kinds.
    pub kind: CongestionKind,
    /// ECN: a port marks a packet if more than this waits behind it. Per flow: what may wait for the link to a node without anybody
    /// being slowed down. Default: 8 packets; per flow: 4 packets.
    pub threshold: Option<Bytes>,
    /// ECN: the part of its rate that a flow loses when it is notified; more than 0 and less than 1. Default: 0.5.
    pub decrease: Option<f64>,
    /// Least time between two such losses of a flow (ECN), or between two changes of the rate to a node (per flow); about the
    /// way there and back. Default: "5 us".
    pub interval: Option<Time>,
    /// In which time a flow recovers from nothing to the rate of its link. Default: "500 us".
    pub recovery: Option<Time>,
}

/// The classes of links of a machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Links {
    /// Between a node and its router. Defaults: bandwidth "16 GiB/s", latency "30 ns", buffer "32 KiB".
    pub terminal: Link,
    /// Between routers of a group. Defaults: bandwidth "5.25 GiB/s", latency "50 ns", buffer "16 KiB".
    pub local: Link,
    /// Between groups. Defaults: bandwidth "4.7 GiB/s", latency "300 ns", buffer "16 KiB".
    pub global: Link,
    /// Between routers of a group that has two kinds of links: the columns of a two-dimensional dragonfly group. What is
    /// left out is as for `local` by default.
    pub column: Link,
}

/// One class of links; both directions alike.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// Transfer rate of one direction, positive, e.g. "5.25 GiB/s". Default: by class, see `network.links`.
    pub bandwidth: Option<Bandwidth>,
    /// Time of flight, from the departure of a bit to its arrival; positive, as it is what parallel runs can look ahead.
    /// Default: by class.
    pub latency: Option<Time>,
    /// Buffer at the receiving end, per virtual channel; at least one packet, under wormhole switching one flit. Default: by
    /// class.
    pub buffer: Option<Bytes>,
    /// How long a credit takes back; positive. Default: the latency.
    pub credit_delay: Option<Time>,
}

impl Link {
    /// These keys, and those of `other` for what is left out.
    pub fn or(&self, other: &Link) -> Link {
        Link {
            bandwidth: self.bandwidth.or(other.bandwidth),
            latency: self.latency.or(other.latency),
            buffer: self.buffer.or(other.buffer),
            // A delay of its own goes with a latency of its own.
            credit_delay: self.credit_delay.or(if self.latency.is_none() {
                other.credit_delay
            } else {
                None
            }),
        }
    }
}

/// How paths are chosen. A key that the algorithm has no use for on this machine is refused, unless it is from a preset, or
/// from the file where `--set` names the algorithm; `docs/routing.md` has the table.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// The algorithm; an algorithm that the machine's family does not have is refused with a list of those that it has.
    /// On dragonflies, traffic inside a group is always minimal. Default: the family's deterministic minimal one, which is
    /// "dimension-order" on tori and meshes, "nearest-common-ancestor" on fat trees, "minimal" on all others but graphs
    /// from files, which have "up-down". That one goes around failed cables on every machine of up to 8,192 routers.
    pub algorithm: Option<Algorithm>,
    /// UGAL: which loads the source router knows. Default: "local".
    pub knowledge: Option<Knowledge>,
    /// Of "global" and "piggyback": routers tell their group at multiples of this time what has changed at their global
    /// ports; positive. Default: "100 ns".
    pub knowledge_interval: Option<Time>,
    /// Likewise: from then until the group knows it; at least the latency of the shortest way between any two routers of a
    /// group that have to do with it, which is the default: one local link, or a row and a column of two-dimensional groups.
    pub knowledge_delay: Option<Time>,
    /// Of "piggyback": a global port is congested if its load is more than this factor times the mean of its router's; 0 to
    /// 1000. With n global ports a factor of n or more lets none be congested. Default: 1.5.
    #[schemars(range(min = 0, max = 1000))]
    pub congestion_factor: Option<f64>,
    /// Likewise: and if its load is more than this. Default: what a global link and its credits have on their way at full
    /// rate, and two packets.
    pub congestion_threshold: Option<Bytes>,
    /// Fat trees and up*/down* routing: how the way up is chosen. Default: "d-mod-k", and "random".
    pub up: Option<Up>,
    /// Dragonflies: what a non-minimal path goes through. Default: "group".
    pub via: Option<Via>,
    /// Adaptive routing: a packet leaves its minimal path only if more than this waits there. UGAL: only if that much more
    /// waits there than on the other path. Default: "16 KiB"; UGAL: "0 B".
    pub threshold: Option<Bytes>,
    /// Adaptive routing: a packet leaves its minimal path if more waits there than this factor times what waits on
    /// the other path; 0 to 1000. UGAL counts what waits times the links of the path. Default: 2; UGAL: 1.
    #[schemars(range(min = 0, max = 1000))]
    pub bias: Option<f64>,
    /// Adaptive routing: how `threshold` and `bias` are taken together. Default: "both"; UGAL: "sum".
    pub comparison: Option<Comparison>,
    /// Adaptive routing: whether the load of a path counts times the hops of the path. Default: false; UGAL: true.
    pub weigh_hops: Option<bool>,
    /// UGAL and progressive adaptive routing: random non-minimal paths that are compared, 1 to 64. Default: 2.
    #[schemars(range(min = 1, max = 64))]
    pub candidates: Option<u32>,
    /// Minimal adaptive routing: which of several ports with room a packet takes. Default: "lightest".
    pub selection: Option<Selection>,
    /// Virtual channels per port, 1 to 16: a number for every class of links, or a table such as
    /// { terminal = 4, local = 3 }; where the algorithm needs more to be free of deadlock, it gets what it needs.
    /// Default: as many as it needs.
    pub vcs: Option<Vcs>,
    /// Progressive adaptive routing on a dragonfly: over what a second router of the source group may divert a packet.
    /// Default: "any".
    pub divert: Option<Divert>,
    /// Dragonfly: how virtual channels are assigned to the hops of a path. Default: "stage".
    pub vc_rule: Option<VcRule>,
    /// What happens to a routing that can deadlock.
    pub deadlock_check: DeadlockCheck,
}
