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
//! One logical process is a router with its NICs and nodes. Two router models share everything but the
//! place where packets wait: [`input_queued`](RouterModel::InputQueued) (the default: a buffer per input
//! port and virtual channel, virtual cut-through) and [`output_queued`](RouterModel::OutputQueued) (as the
//! dragonfly models of CODES have it).
//!
//! **Credits are lazy.** A credit is put on a list of the upstream port with the time from which it
//! counts, and looked at when somebody next needs it; only a port that is waiting for one gets an event
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

mod blame;
mod border;
mod clocked;
mod congestion;
mod credit;
pub mod deadlock;
mod event;
mod fabric;
mod flit_credit;
mod input_queued;
mod knowledge;
mod levels;
mod limits;
mod link;
pub mod lookahead;
mod measured;
mod message;
mod nic;
mod nic_choice;
mod output_queued;
mod packet;
mod params;
mod port;
mod report;
pub mod routing;
mod sampling;
mod shares;
mod stats;
mod watch;

pub use blame::{LinkCharge, PLACES, RESOURCES, WaitSeries};
pub use border::{Parcel, Token};
pub use event::{FabricEvent, Notice};
pub use fabric::{Blueprint, Fabric};
pub use measured::Measured;
pub use message::{Content, Message, Traffic};
pub use odonata_blame::Waited;
pub use params::{
    Allocator, Arbitration, Broadcast, CongestionControl, Detour, DetourRule, Ecn, InputQueues, Knowledge, LinkParams,
    MOST_CLASSES, NetworkParams, NicParams, PerFlow, Pipeline, RouterModel, Switching, TrafficClass, TrafficClasses,
    VirtualChannels,
};
pub use sampling::{CYCLE_BINS, Sample, Sampled, Sampling};
pub use stats::{Histogram, LinkStats, NodeStats, SeriesCell, TrafficStats};
pub use watch::{Channel, Deadlock, PacketView, Waiting, find_deadlock};
