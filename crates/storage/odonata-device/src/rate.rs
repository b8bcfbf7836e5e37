//! A device with fixed rates and a seek, first come, first served:
//!
//! `t = overhead + bytes / rate + (0 if sequential, else seek)`
//!
//! An access is *sequential* if its object is the last one accessed and its offset is in `[position, position +
//! seek_window]`. This is the device of MFNetSim's burst-buffer study (there: 5,700 MiB/s, 20 us, 2.5 ms, 512 B).

use odonata_engine::Stream;
use odonata_units::{Bandwidth, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::rate;
use crate::{Access, Device, Problem, Service};

/// A device with fixed rates: an access takes overhead + bytes / rate, and a seek if it does not continue the last one.
/// Default: the burst buffer of the MFNetSim case study, without its seek.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rate {
    /// Rate of reads.
    pub read: Bandwidth,
    /// Rate of writes.
    pub write: Bandwidth,
    /// Fixed time per access.
    pub overhead: Time,
    /// Time added to an access that does not continue the last one.
    pub seek: Time,
    /// Maximum gap after the last byte of an access at which the next one, in the same object, still continues it.
    pub seek_window: Bytes,
}

impl Default for Rate {
    fn default() -> Self {
        let rate = Bandwidth((5_700u64 << 20) as f64);
        Rate {
            read: rate,
            write: rate,
            overhead: Time::from_ns(20_000),
            seek: Time::ZERO,
            seek_window: Bytes::ZERO,
        }
    }
}

/// The state of a [`Rate`] device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateState {
    /// The object accessed last; initially 0.
    pub object: u64,
    /// The byte after the last one accessed; initially 0.
    pub position: u64,
    /// Number of accesses with a seek.
    pub seeks: u64,
    /// When all accesses are done, in ps.
    pub free: u64,
}

impl Rate {
    /// The rate of writes or reads.
    pub(crate) fn rate(&self, write: bool) -> Bandwidth {
        if write { self.write } else { self.read }
    }

    /// Whether `access` continues an access that ended at this position of this object.
    pub fn continues(&self, (object, position): (u64, u64), access: Access) -> bool {
        let ahead = access.offset.checked_sub(position);
        access.object == object && ahead.is_some_and(|bytes| bytes <= self.seek_window.0)
    }

    /// Service time of `access`; updates `state` except for its time.
    pub fn service_time(&self, state: &mut RateState, access: Access) -> Time {
        let rate = self.rate(access.write);
        let mut time = self.overhead + rate.time_for(Bytes(access.bytes));
        if !self.continues((state.object, state.position), access) {
            time += self.seek;
            state.seeks += 1;
        }
        state.object = access.object;
        state.position = access.offset.saturating_add(access.bytes);
        time
    }
}

impl Device for Rate {
    type State = RateState;

    fn serve(&self, state: &mut RateState, now: Time, access: Access, _: &mut Stream) -> Service {
        let begin = now.max(Time(state.free));
        // An access without bytes and overhead still takes time.
        let finish = begin + self.service_time(state, access).max(Time(1));
        state.free = finish.0;
        Service { begin, finish }
    }

    fn flush(&self, state: &mut RateState, now: Time, _: &mut Stream) -> Time {
        now.max(Time(state.free))
    }

    fn check(&self) -> Result<(), Problem> {
        rate("read", self.read)?;
        rate("write", self.write)
    }
}
