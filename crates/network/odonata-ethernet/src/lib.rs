//! Ethernet: switches that mark, trim, drop or pause, and the transports of Ultra Ethernet and RoCE.
//!
//! ```text
//!  message ─► sender ─► NIC ─► port ─► switch: hash ─► port (trim, mark) ─► … ─► receiver ─► message
//!               ▲  window, entropy                                                  │
//!               └──────────────────────── ACK, NACK: 64 B, strict priority ◄────────┘
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`settings`] | the table `network.ethernet` of a scenario |
//! | `params` | resolved values: windows, thresholds, timeouts |
//! | `frame` | frames: data, trimmed data, acknowledgments |
//! | `port` | output queues: store and forward, trimming, ECN, strict priority of control frames |
//! | `pfc` | priority flow control per input port |
//! | `shared_buffer` | buffers that the outputs of a switch share |
//! | `nic` | which flow of a node sends next |
//! | `packet_sets` | sets of packets of flows |
//! | `sender` | selective retransmission, timeouts |
//! | `receiver` | acknowledgments, duplicates, completion |
//! | `window` | congestion control of the sender: constant windows and NSCC |
//! | `credit` | congestion control of the receiver: RCCC |
//! | `dcqcn`, `notification` | DCQCN: rates of senders, notifications of receivers |
//! | `hpcc`, `telemetry` | HPCC: windows of senders, utilizations of switches |
//! | `swift` | Swift: windows of senders by delay |
//! | `pacing` | waits between packets |
//! | `balancer` | which entropy, and so which path, a frame takes |
//! | `carrier` | events, and the interface to the fabric |
//!
//! The crate knows neither routings nor messages: the fabric gives the output port of a hash ([`Surroundings`]), and
//! owns what arrives. Everything random is a hash or a stream of its node or port, so that results depend on the
//! scenario and the seed alone.

mod balancer;
mod carrier;
mod counters;
mod credit;
mod dcqcn;
mod frame;
mod hpcc;
mod nic;
mod notification;
mod pacing;
mod packet_sets;
mod params;
mod pfc;
mod port;
mod receiver;
mod sender;
pub mod settings;
mod shared_buffer;
mod swift;
mod telemetry;
mod window;

pub use carrier::Ethernet;
pub use carrier::{Event, Kind, Links, Outcome, Remote, Submission, Surroundings};
pub use counters::{FlowRecord, PortCounters, RoceCounters, TransportCounters};
pub use frame::{Frame, NEW_ROUTE, Route};
pub use params::Params;
