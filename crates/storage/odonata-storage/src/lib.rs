//! Storage: devices, and compute-side global burst buffers with their storage manager.
//!
//! A *server* is a node with one or several storage *devices*, a pool of memory and a storage manager. The manager
//! is a pure state machine: it knows neither network nor event queue. Its caller delivers *inputs*
//! (each a method of [`Servers`], with the current time) and carries out the [`Action`]s that come back.
//!
//! ```text
//!   client                                   server                                    external
//!             request   +----------------------------------------------------+      file system
//!  request     --------->| space        memory pool     device      drain     |
//!             Pull      | [B]          [blocks]        FIFO        2 stages  |
//!             <---------| FIFO of  ->  FIFO of     ->  one      -> one block |--------->
//!  piece_arrived ------>| requests     pieces          access      each      |  DrainUntil
//!             Push      |   ^                          [ps]          |       |  drain_done
//!             <---------|   +------- space is free again ------------+       |
//!  piece_sent --------->|                                                    |
//!             Respond   |   DeviceDone { at } -> device_done                 |
//!             <---------+----------------------------------------------------+
//! ```
//!
//! **Write.** A request reserves all its space at once, and waits for it first come, first served. A request larger than the device
//! is [`Action::Impossible`]. The server cuts it into pieces of a *block* (the last may be shorter). At most `pieces_in_flight`
//! pieces of a request hold or await memory. A piece takes a block of memory (first come, first served), is pulled from the client,
//! is written by the device, and gives the block back. After the last piece the server responds.
//!
//! **Read.** The reverse: a piece takes memory, is read by the device, is pushed to the client, and gives the memory back after its
//! delivery. After the last delivery the server responds. A read reserves no space.
//!
//! **Drain.** Above a threshold, and whenever a reservation waits for space, blocks go through the device's queue and over a link
//! to the external file system; then their space is free. Without a drain, a full server blocks its writers forever:
//! [`MeasuredServers::blocked_writes`] lists them when no event is left.
//!
//! **Parallel runs.** A server is part of its node: each partition holds a [`Servers`] for its own nodes, and journals it with its
//! own state.
//!
//! **Conservation.** [`MeasuredServers::audit`] checks at the end that every byte and block is accounted for.
//!
//! Units: times are [`Time`](odonata_units::Time) (picoseconds), sizes and offsets bytes (`u64`), rates
//! [`Bandwidth`](odonata_units::Bandwidth) (bytes per second).
//!
//! # Example
//! One write of 2,500 bytes in blocks of 1,000 over a network that takes no time, to a device of 1 ns per byte and
//! 100 ns per access: 3 * 100 ns + 2,500 ns.
//!
//! ```
//! use odonata_engine::Plain;
//! use odonata_device::{DeviceModel, Rate};
//! use odonata_storage::{Action, Actions, ClientId, RequestHeader, Requester, ServerParams, ServersBuilder, StorageOperation, StorageRequest};
//! use odonata_units::{Bandwidth, Bytes, Time};
//!
//! let device = Rate {
//!     read: Bandwidth(1e9),
//!     write: Bandwidth(1e9),
//!     overhead: Time::from_ns(100),
//!     seek: Time::ZERO,
//!     seek_window: Bytes(0),
//! };
//! let mut params = ServerParams::new(DeviceModel::Rate(device), 10_000, 4_000);
//! params.manager.block = Bytes(1_000);
//! let mut servers = ServersBuilder::new(vec![params]).unwrap().build();
//!
//! let mut now = Time::ZERO;
//! let (mut todo, mut actions) = (Vec::new(), Actions::new());
//! let header = RequestHeader { client: ClientId::from(Requester::Rank(0)), token: 7, owner: 0 };
//! let write = StorageRequest { header, operation: StorageOperation::Write, object: 1, offset: 0, bytes: 2_500 };
//! servers.request::<Plain>(now, 0, (write, None), &mut todo);
//! let mut answered = None;
//! while let Some(action) = todo.pop() {
//!     match action {
//!         Action::Pull { slot, bytes, .. } => servers.piece_arrived::<Plain>(now, slot, bytes, &mut actions),
//!         Action::DeviceDone { slot, at, .. } => {
//!             now = at; // a real caller schedules an event
//!             servers.device_done::<Plain>(now, slot, &mut actions);
//!         }
//!         Action::Respond { header, .. } => answered = Some((header.token, now)),
//!         other => unreachable!("{other:?}"),
//!     }
//!     todo.append(&mut actions);
//!     // The device ends its access after everything else of this instant.
//!     todo.sort_by_key(|action| !matches!(action, Action::DeviceDone { .. }));
//! }
//! assert_eq!(answered, Some((7, Time::from_ns(3 * 100 + 2_500))));
//! servers.measured().audit().unwrap();
//! ```
//!
//! [`FileLayout`], a pure function, assigns the bytes of files to servers. [`ExtentLocks`] control access to ranges of files.
//! [`MetadataServers`], on nodes of their own or on those of storage servers, answer calls that open, create and look up files.
//!
//! Devices are those of `odonata-device`. Read `params` for the parameters and `servers` for the life of a request. Then read the
//! parts that it routes between: `space`, `memory`, `device_queues` and `sharing` (fair queueing), `index`, `drain`, `stage`, `sync`,
//! `remove`, `faults`. `observe` has the instruments, `measured` what they and the parts tell at the end.

mod action;
mod builder;
mod device_queues;
mod devices;
mod drain;
mod faults;
mod index;
mod layout;
mod lock;
mod measured;
mod memory;
mod metadata;
mod observe;
mod open_request;
mod params;
mod remove;
mod request;
mod servers;
pub mod settings;
mod sharing;
mod space;
mod stage;
mod sync;
mod trace;

pub use action::{Action, Actions, Origin};
pub use builder::ServersBuilder;
pub use faults::failures::Losses;
pub use faults::{Fault, FaultKind, FaultMetrics, FaultPeriod, Outage};
pub use index::{Extent, Extents, Place};
pub use layout::{FileLayout, FileName, Layout, Part, Parts, Start, StripeCount, Striped, Striping};
pub use lock::{ExtentLocks, Locks};
pub use measured::{BlockedWrite, MeasuredServers, TierContents};
pub use metadata::{
    Begun, CALLS as METADATA_CALLS, Distribution, Metadata, MetadataCall, MetadataMetrics, MetadataName,
    MetadataParams, MetadataServers,
};
pub use observe::{
    DIRECTORY, DeviceAccess, DeviceMetrics, FAULT, LOCK, LockCharge, LockMetrics, METADATA_FAULT, MetadataCharge,
    Metrics, Occupancy, RESERVED, RESOURCES, RequestLoss, RequestWaits, SERVER_RESOURCES, ServerCharge,
    ServerWaitSeries, StageMetrics, THREAD, TierMetrics,
};
pub use params::{DeviceParams, ParamsError, ServerParams};
pub use request::{ClientId, RequestHeader, Requester, StorageOperation, StorageRequest};
pub use servers::Servers;
pub use settings::{Assignment, Drain, Position, SyncDepth};
pub use trace::{AccessKind, ServerAccess};
