//! A device behind NVM Express: many concurrent accesses over a link with a rate per direction.
//!
//! An access takes one of `min(lanes, queue_depth)` slots, first come, first served. It holds the slot for its latency
//! and until its data has crossed the link, which transfers one access per direction at a time:
//!
//! `t = latency + bytes / rate` alone; with `q` outstanding, by Little's law, `min(q, lanes, queue_depth) / t` accesses
//! per second until the link is full.

use odonata_engine::Stream;
use odonata_units::{Bandwidth, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{positive, rate, within};
use crate::{Access, Device, FreeTimes, MOST_PARALLEL, Problem, Service};

/// Flash behind a fast link: latencies, lanes, rates. Default: one card of the preset `datawarp-p3608`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Nvme {
    /// Time from the start of a read to its first byte, more than 0.
    #[default(Time::from_ns(20_000))]
    pub read_latency: Time,
    /// Time from the start of a write to its first byte, more than 0.
    #[default(Time::from_ns(20_000))]
    pub write_latency: Time,
    /// Rate of all reads together.
    #[default(Bandwidth(5e9))]
    pub read: Bandwidth,
    /// Rate of all writes together.
    #[default(Bandwidth(3e9))]
    pub write: Bandwidth,
    /// Accesses served concurrently, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    #[default = 18]
    pub lanes: u32,
    /// Accesses that the host submits concurrently, 1 to 65,535; more wait in the host.
    #[schemars(range(min = 1, max = 65535))]
    #[default = 1_024]
    pub queue_depth: u32,
}

/// The state of an [`Nvme`] device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeState {
    /// When each slot is free.
    places: FreeTimes,
    /// When the link is free for reads and for writes.
    link: [u64; 2],
}

impl Nvme {
    /// Time of an access of `bytes` on an idle device.
    pub fn alone(&self, write: bool, bytes: u64) -> Time {
        let (latency, rate) = if write {
            (self.write_latency, self.write)
        } else {
            (self.read_latency, self.read)
        };
        latency + rate.time_for(Bytes(bytes))
    }

    /// Estimate of the time per access in a sequence: on the link, or in one of the slots.
    pub(crate) fn about(&self, write: bool, bytes: u64) -> Time {
        let rate = if write { self.write } else { self.read };
        let places = u64::from(self.lanes.min(self.queue_depth).clamp(1, MOST_PARALLEL));
        rate.time_for(Bytes(bytes))
            .max(Time(self.alone(write, bytes).0 / places))
    }
}

impl Device for Nvme {
    type State = NvmeState;

    fn serve(&self, state: &mut NvmeState, now: Time, access: Access, _: &mut Stream) -> Service {
        let places = self.lanes.min(self.queue_depth).min(MOST_PARALLEL) as usize;
        // The first of the slots that are free earliest: the choice does not change any time.
        let place = (0..places)
            .min_by_key(|&place| state.places[place / 8][place % 8])
            .unwrap_or(0);
        let begin = now.max(Time(state.places[place / 8][place % 8]));
        let (latency, rate) = if access.write {
            (self.write_latency, self.write)
        } else {
            (self.read_latency, self.read)
        };
        let link = &mut state.link[usize::from(access.write)];
        let finish = (begin + latency).max(Time(*link)) + rate.time_for(Bytes(access.bytes));
        *link = finish.0;
        state.places[place / 8][place % 8] = finish.0;
        Service::ending(now, self.alone(access.write, access.bytes), finish)
    }

    fn flush(&self, state: &mut NvmeState, now: Time, _: &mut Stream) -> Time {
        now.max(Time(state.link[1]))
    }

    fn check(&self) -> Result<(), Problem> {
        positive("read_latency", self.read_latency)?;
        positive("write_latency", self.write_latency)?;
        rate("read", self.read)?;
        rate("write", self.write)?;
        within("lanes", self.lanes, 1, MOST_PARALLEL)?;
        within("queue_depth", self.queue_depth, 1, 65_535)
    }
}
