//! The fabric: NICs, routers, virtual channels, credits, routing.
//!
//! Hosts submit [`Message`]s to the [`Fabric`]. It divides them into packets, moves the packets from router to router
//! under credit-based flow control, and notifies the hosts ([`Notice`]) when a message has left and when it has
//! arrived.
//!
//! ```text
//!  host ──Message──► NIC queue ─► packets ─► terminal link ─► router ─► … ─► router ─► terminal link ─► host
//!                                     ▲                         │ credit
//!                                     └─────────────────────────┘
//! ```
//!
//! A logical process is a router with its NICs and nodes. Each component owns its state:
//!
//! | module | content |
//! |---|---|
//! | `fabric` | composition of the components, dispatch of events, interface to the hosts |
//! | `flow` | links, virtual channels, credits, link traversal |
//! | `carrier` | the trait of what carries messages, and the carrier of each traffic |
//! | `nic`, `router` | messages as packets: their division, and the three router models |
//! | `fluid` | messages as flows with max-min fair rates, alone or coupled with packets |
//! | `analytic` | messages by the LogGP model |
//! | `ethernet` | messages as frames of an Ethernet |
//! | `reduction` | sums in routers |
//! | `route_computation`, [`routing`] | the view that a routing has of a router, and the routings |
//! | `control` | traffic classes, congestion control |
//! | `boundary` | traffic to and from other parts of a divided machine |
//! | `observe` | the facts that components state, and the instruments that record them: counters, series, blame, lost time |
//! | `stall` | the cause of a standstill |
//!
//! **Credits are lazy.** A credit is stored at its port with the time from which it counts, and is counted when the
//! port is next used. Only a port that waits for a credit gets an event for it. A credit due at `t` counts for every
//! event at `t`.
//!
//! **Traffic classes** have their own virtual channels and a share of every link ([`TrafficClasses`]). A packet never
//! waits for a buffer that another class holds. The code reads the class only where a packet waits.
//!
//! **Congestion control** ([`CongestionControl`]) throttles, at their NICs, the flows that overload a node.
//!
//! **Lookahead.** [`lookahead`] computes the shortest delay with which routers of one part can influence those of
//! another.
//!
//! **One event per hop** at zero load: the event at a router is the time at which the head has been routed (link
//! latency and pipeline included), and an idle port sends at once.

mod analytic;
mod boundary;
mod carrier;
mod context;
mod control;
pub mod deadlock;
mod ethernet;
mod event;
mod fabric;
mod features;
mod flow;
mod fluid;
pub mod lookahead;
mod message;
mod nic;
mod observe;
mod packet;
mod params;
mod reduction;
mod remote_congestion;
mod route_computation;
mod router;
pub mod routing;
pub mod settings;
mod stall;

pub use boundary::{
    RemoteCredit, RemoteEvent, RemoteFlit, RemoteLoad, RemoteLoss, RemoteNotification, RemotePacket, RemoteUpdate,
};
pub use context::FabricContext;
pub use event::{FabricEvent, Notice};
pub use fabric::{Blueprint, Extent, FLIT_CREDIT_BYTES, Fabric, Footprint, MESSAGE_BYTES, PACKET_BYTES};
pub use flow::{FlowWait, LinkPart};
pub use fluid::hand_over_of;
pub use message::{Message, Payload, Traffic};
pub use nic::{HALT_QUEUE, Overflow, outputs};
pub use observe::blame::{LinkCharge, PLACES, RESOURCES, WaitSeries};
pub use observe::queues::{LevelCell, QueueCell, QueueRecording, QueueSeries};
pub use observe::statistics::{
    CYCLE_BINS, Histogram, LinkPeriod, LinkStats, MOST_SERIES_CELLS, Measured, NodeStats, Sample, Sampled, Sampling,
    SeriesCell, TrafficStats,
};
pub use odonata_blame::Waited;
pub use odonata_ethernet::{FlowRecord, PortCounters, RoceCounters, TransportCounters};
pub use params::{
    Broadcast, Detour, Fidelities, Knowledge, LogGp, MOST_CLASSES, NetworkParams, RunParams, TrafficClasses,
    VirtualChannels,
};
pub use reduction::{Chunk, Contribution, ReductionMember, ReductionParams, ReductionTrees};
pub use settings::{
    AdaptiveRequests, Allocator, Arbitration, Comparison, CongestionControl, InjectionVc, InputQueues, Link, Nic,
    Pipeline, Queues, RouterModel, SendQueues, Switching, TrafficClass,
};
pub use stall::{Channel, Deadlock, PacketView, Waiting, find_deadlock};
