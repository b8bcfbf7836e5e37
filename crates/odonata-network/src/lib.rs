//! The fabric: NICs, routers, virtual channels, credits, routing.
//!
//! Hosts hand [`Message`]s to the [`Fabric`]; it cuts them into packets, moves the packets from
//! router to router under credit flow control, and tells the hosts ([`Notice`]) when a message has
//! left and when it has arrived.
//!
//! ```text
//!  host ──Message──► NIC queue ─► packets ─► terminal link ─► router ─► … ─► router ─► terminal link ─► host
//!                                     ▲                         │ credit
//!                                     └─────────────────────────┘
//! ```
//!
//! One logical process is a router with its NICs and nodes. The code is divided by component, each of which owns its state:
//!
//! | read | for |
//! |---|---|
//! | `fabric` | how the components are put together, which of them handles an event, what the hosts call |
//! | `flow` | links, virtual channels, credits; link traversal |
//! | `nic` | messages to packets, or to flits |
//! | `analytic` | messages without packets: the LogGP model |
//! | `fluid` | messages as flows: max-min fair rates over the links of their paths; beside packets, where both are there |
//! | `router` | the three router models |
//! | `route_computation`, [`routing`] | what a routing sees of a router, and the routings |
//! | `control` | traffic classes, congestion control |
//! | `boundary` | what goes to other parts of a divided machine |
//! | `observe` | the facts that components state, and the instruments that record them: counters, series, blame, lost time |
//! | `stall` | what holds packets up when nothing moves |
//!
//! **Credits are lazy.** A credit is put beside its port with the time from which it
//! counts, and counted when somebody next needs it; only a port that is waiting for one gets an event
//! for it. A credit due at `t` counts for every event at `t`.
//!
//! **Traffic classes** have virtual channels of their own and a share of every link ([`TrafficClasses`]); a packet of one class never
//! waits for room that one of another holds. Without any, there is one class, and nobody asks for it but where a packet waits.
//!
//! **Congestion control** ([`CongestionControl`]) slows down, at their NICs, the flows that send more to a node than it can take.
//!
//! **Lookahead.** [`lookahead`] says how soon the routers of one part can influence those of another.
//!
//! **One event per hop** where nothing is in the way: the event at a router is the moment its head has
//! been routed (link latency and pipeline included), and an idle port sends at once.

mod analytic;
mod boundary;
mod context;
mod control;
pub mod deadlock;
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
mod remote_congestion;
mod route_computation;
mod router;
pub mod routing;
pub mod settings;
mod stall;

pub use analytic::LogGp;
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
    CYCLE_BINS, Histogram, LinkPeriod, LinkStats, Measured, NodeStats, Sample, Sampled, Sampling, SeriesCell,
    TrafficStats,
};
pub use odonata_blame::Waited;
pub use params::{
    Broadcast, Detour, Fidelities, Knowledge, MOST_CLASSES, NetworkParams, RunParams, TrafficClasses, VirtualChannels,
};
pub use settings::{
    AdaptiveRequests, Allocator, Arbitration, Comparison, CongestionControl, InjectionVc, InputQueues, Link, Nic,
    Pipeline, RouterModel, SendQueues, Switching, TrafficClass,
};
pub use stall::{Channel, Deadlock, PacketView, Waiting, find_deadlock};
