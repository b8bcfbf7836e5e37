//! The settings of a network: the keys of a scenario's network tables.
//!
//! Written and resolved settings have the same type. The `Default` of a table holds the default values. A default that
//! depends on other keys is [filled in](odonata_units::Filled) when the scenario is resolved.

mod algorithm;
mod analytic;
mod clock;
mod congestion;
mod link;
mod network;
mod nic;
mod pipeline;
mod reduction;
mod routing;
mod routing_key;
mod traffic_class;

pub use algorithm::Algorithm;
pub use analytic::{Analytic, Fidelity};
pub use clock::{CLOCK, Clock};
pub use congestion::{CongestionControl, CongestionKind};
pub use link::{Link, Links};
pub use network::{Arbitration, InputQueues, Network, RouterModel, Switching};
pub use nic::{Affinity, Jitter, Nic, NicRates, Queues, RateAbove, SendQueues};
pub use odonata_ethernet::settings as ethernet;
pub use pipeline::{AdaptiveRequests, Allocator, InjectionVc, Pipeline};
pub use reduction::Reduction;
pub use routing::{ClassVcs, Comparison, DeadlockCheck, KnowledgeKind, Routing, Vcs};
pub use routing_key::RoutingKey;
pub use traffic_class::{MOST_CLASSES, TrafficClass};
