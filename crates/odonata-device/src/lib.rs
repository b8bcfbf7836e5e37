//! Storage devices: when an access ends.
//!
//! A [`Device`] is asked `serve(state, now, access, random) -> (begin, finish)`. It has a queue of its own, folded into a small state
//! of fixed size: the times at which its parts are free. So one call per access is all that a simulation pays, nothing is
//! scheduled, and what a device does while nobody asks (reading ahead, writing out its cache) is caught up with when it is
//! asked next. A state is `Copy`: a scheduler that takes an access back restores the cell that it saved before.
//!
//! | model | what it has | source |
//! |---|---|---|
//! | [`Rate`] | rates, overhead, a seek where an access does not continue the last | MFNetSim's burst buffers |
//! | [`Ssd`] | pages over channels and ways | J. Yoo et al., "Analytical model of SSD parallelism", SIMULTECH 2014 |
//! | [`Hdd`] | zones, seek curve, rotation, read-ahead, write-back cache | B. Parsons, V. Pai, "A mathematical hard disk timing model for full system simulation", ISPASS 2013 |
//! | [`Nvme`] | latencies, lanes, rates | Little's law |
//!
//! Read in this order: [`device`](Device) says what a device promises, `rate.rs` is the shortest model, `ssd.rs` and
//! `hdd.rs` those with a paper. [`Rules`] says which of several devices takes an access. [`bench`] drives a device alone, and
//! [`fit`] derives parameters from measurements. Devices with a name are in `presets/`, each number with its source.

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

/// Most things that a device does at once: its state has a time for each of them.
pub const MOST_PARALLEL: u32 = 64;

/// The times at which parallel parts are free, in ps; in rows because serde knows arrays up to 32.
type FreeTimes = [[u64; 8]; 8];
