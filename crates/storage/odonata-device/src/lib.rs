//! Storage devices: the end time of an access.
//!
//! A [`Device`] has one operation: `serve(state, now, access, random) -> (begin, finish)`. Its queue is part of a small
//! state of fixed size: the times at which its parts are free. So a simulation pays one call per access and schedules
//! no events. Background work (reading ahead, writing out the cache) is accounted for at the next access. A state is
//! `Copy`: a scheduler that rolls back an access restores the saved cell.
//!
//! | model | what it has | source |
//! |---|---|---|
//! | [`Rate`] | rates, overhead, a seek where an access does not continue the last | MFNetSim's burst buffers |
//! | [`Ssd`] | pages over channels and ways | J. Yoo et al., "Analytical model of SSD parallelism", SIMULTECH 2014 |
//! | [`Hdd`] | zones, seek curve, rotation, read-ahead, write-back cache | B. Parsons, V. Pai, "A mathematical hard disk timing model for full system simulation", ISPASS 2013 |
//! | [`Nvme`] | latencies, lanes, rates | Little's law |
//!
//! Read in this order: [`device`](Device) is the interface, `rate.rs` the shortest model, `ssd.rs` and `hdd.rs` follow
//! papers. [`Rules`] choose one of several devices for an access. [`bench`] measures a device alone, and [`fit`]
//! derives parameters from measurements. Named devices are in `presets/`, with the source of each number.

mod access;
pub mod bench;
mod device;
mod file;
pub mod fit;
mod hdd;
mod nvme;
pub mod presets;
mod problem;
mod rate;
mod rules;
mod ssd;

pub use access::Access;
pub use device::{Device, DeviceModel, DeviceState, Service};
pub use file::{from_json, read};
pub use hdd::{Hdd, HddState, SeekCurve};
pub use nvme::{Nvme, NvmeState};
pub use problem::Problem;
pub use rate::{Rate, RateState};
pub use rules::{Choice, FileKind, Rule, Rules};
pub use ssd::{Ssd, SsdState};

/// Maximum number of parallel parts of a device: its state has a time for each.
pub const MOST_PARALLEL: u32 = 64;

/// The times at which parallel parts are free, in ps; nested because serde supports arrays up to 32.
type FreeTimes = [[u64; 8]; 8];
