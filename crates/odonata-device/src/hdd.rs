//! A hard disk: B. Parsons, V. Pai, "A mathematical hard disk timing model for full system simulation", ISPASS 2013.
//!
//! ```text
//! access to the platters = seek + rotational latency + transfer
//! ```
//!
//! - **Seek**: a curve over the distance in tracks, a square root for short and a line for long ones ([`SeekCurve`]).
//! - **Rotational latency**: drawn evenly between nothing and one rotation.
//! - **Transfer**: at the rate of the zone (`geometry.rs`).
//! - **Read-ahead**: after a read the disk goes on reading, at least [`Hdd::read_ahead`] bytes before anything else, and while
//!   nothing else is to be done up to [`Hdd::read_ahead_most`]. A read of what is in the buffer does not wait for the
//!   platters; of what is being read it waits for the rest alone (`read.rs`).
//! - **Write-back cache**: a write is over when its data are in the cache. They are written when nothing else is to be
//!   done, or when there is no more room, in the order that takes least (`write.rs`).
//!
//! What needs the platters is served first come, first served. As in the paper, no platter is modeled: where under the head a
//! byte comes by is a random number.
//!
//! Bytes lie as follows: object 0 begins at address 0, on the outermost track; any other begins where a hash of its number
//! says. An address beyond the capacity begins again at 0.

mod geometry;
mod read;
mod write;

use odonata_engine::Stream;
use odonata_units::{Bandwidth, Bytes, GOLDEN_GAMMA, Time, mix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{positive, rate, within};
use crate::{Access, Device, Problem, Service};

/// How long seeks take, from three times that data sheets have; they grow from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekCurve {
    /// To the next track, with settling there.
    pub track_to_track: Time,
    /// Over a third of all tracks, which is the mean distance of two random ones.
    pub average: Time,
    /// Over all tracks.
    pub full_stroke: Time,
}

/// A hard disk: zones, seeks, rotation, read-ahead, write-back cache (B. Parsons, V. Pai, ISPASS 2013). Default: the preset
/// `seagate-st2000nx0253`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hdd {
    /// Space, 1 MiB to 1 PiB; says with the rates how many tracks there are.
    pub capacity: Bytes,
    /// Rotations per minute, 60 to 100,000.
    #[schemars(range(min = 60, max = 100000))]
    pub rpm: u32,
    /// Rate of the outermost zone, where addresses begin; 1 kB/s to 1 TB/s.
    pub outer_rate: Bandwidth,
    /// Rate of the innermost zone; 1 kB/s up to that of the outermost.
    pub inner_rate: Bandwidth,
    /// Zones of as many tracks each, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub zones: u32,
    /// Seeks before a read.
    pub read_seek: SeekCurve,
    /// Seeks before a write, which have to settle better.
    pub write_seek: SeekCurve,
    /// From an access to its first byte on the interface where no platter is needed.
    pub command: Time,
    /// Rate of the interface to the host.
    pub interface: Bandwidth,
    /// What is read after every read, before anything else is done.
    pub read_ahead: Bytes,
    /// How far it reads ahead while nothing else is to be done; at least `read_ahead`.
    pub read_ahead_most: Bytes,
    /// Parts of the read buffer, each for a range of its own, 1 to 8; the one used least lately gives way.
    #[schemars(range(min = 1, max = 8))]
    pub segments: u32,
    /// Size of the write-back cache, at most 1 TiB; 0 B: a write is over when it is on the platters.
    pub write_cache: Bytes,
    /// Ranges that the write-back cache holds, out of which the one that takes least is written next, 1 to 256; writes that
    /// continue each other are one range.
    #[schemars(range(min = 1, max = 256))]
    pub reorder: u32,
}

impl Default for Hdd {
    fn default() -> Self {
        let ms = |ms: f64| Time::from_seconds(ms / 1e3);
        Hdd {
            capacity: Bytes(2_000_000_000_000),
            rpm: 7_200,
            outer_rate: Bandwidth(136e6),
            inner_rate: Bandwidth(68e6),
            zones: 16,
            read_seek: SeekCurve {
                track_to_track: ms(0.8),
                average: ms(8.5),
                full_stroke: ms(17.0),
            },
            write_seek: SeekCurve {
                track_to_track: ms(1.4),
                average: ms(9.5),
                full_stroke: ms(18.0),
            },
            command: Time::from_ns(20_000),
            interface: Bandwidth(600e6),
            read_ahead: Bytes::kib(512),
            read_ahead_most: Bytes::mib(4),
            segments: 8,
            write_cache: Bytes::mib(128),
            reorder: 32,
        }
    }
}

/// What a [`Hdd`] remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HddState {
    /// When the head is free of all that cannot be put off, in ps.
    free: u64,
    /// The address behind the last byte that it has passed.
    head: u64,
    /// When the interface is free, in ps.
    link: u64,
    /// Seeks so far, of reads and writes.
    pub seeks: u64,
    read: read::Buffer,
    write: write::Cache,
}

/// An access as addresses: from its first byte to the one behind its last.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    to: u64,
}

impl Range {
    fn bytes(self) -> u64 {
        self.to - self.from
    }
}

impl Hdd {
    fn range(&self, access: Access) -> Range {
        let capacity = self.capacity.0.max(1);
        // Files end up all over the disk.
        let begin = match access.object {
            0 => 0,
            object => {
                let hash = mix64(object.wrapping_mul(GOLDEN_GAMMA));
                ((u128::from(hash) * u128::from(capacity)) >> 64) as u64
            }
        };
        let from = ((u128::from(begin) + u128::from(access.offset)) % u128::from(capacity)) as u64;
        Range {
            from,
            to: from.saturating_add(access.bytes).min(u64::MAX / 2),
        }
    }

    /// When `bytes` that are there at `ready` cross the interface, asked for at `now`.
    fn deliver(&self, state: &mut HddState, now: Time, ready: Time, bytes: u64) -> Service {
        let there = now.max(ready) + self.command;
        let finish = there.max(Time(state.link)) + self.interface.time_for(Bytes(bytes));
        // What waits for the platters leaves the interface to others until then; who comes is not known yet.
        if ready <= now || Time(state.link) > there {
            state.link = finish.0;
        }
        Service::ending(now, self.command + self.interface.time_for(Bytes(bytes)), finish)
    }

    /// Moves the head to an address, from `begin` on; when the first byte comes by. Of `candidates` that it could move to as
    /// well, it is the one that comes by first.
    fn position(
        &self,
        state: &mut HddState,
        begin: Time,
        to: u64,
        curve: &SeekCurve,
        candidates: u32,
        random: &mut Stream,
    ) -> Time {
        let seek = self.seek(curve, state.head, to);
        state.seeks += u64::from(seek > Time::ZERO);
        state.head = to;
        begin + seek + self.rotational_latency(candidates, random)
    }

    /// The least of so many waits, each evenly between nothing and one rotation: a rotation / (candidates + 1) on average.
    fn rotational_latency(&self, candidates: u32, random: &mut Stream) -> Time {
        let least = (0..candidates.max(1)).map(|_| random.unit()).fold(1.0, f64::min);
        Time::from_ps_f64(self.rotation().0 as f64 * least)
    }
}

impl Device for Hdd {
    type State = HddState;

    fn serve(&self, state: &mut HddState, now: Time, access: Access, random: &mut Stream) -> Service {
        let range = self.range(access);
        self.write_while_idle(state, now, random);
        let Service { begin, finish } = if access.write {
            self.write(state, now, range, random)
        } else {
            self.read(state, now, range, random)
        };
        let finish = finish.max(now + Time(1));
        Service {
            begin: begin.max(now).min(finish),
            finish,
        }
    }

    fn flush(&self, state: &mut HddState, now: Time, random: &mut Stream) -> Time {
        self.write_while_idle(state, now, random);
        while state.write.dirty() {
            self.write_some(state, random);
        }
        now.max(Time(state.write.clean))
    }

    fn check(&self) -> Result<(), Problem> {
        within("capacity", self.capacity, Bytes::mib(1), Bytes(1 << 50))?;
        within("rpm", self.rpm, 60, 100_000)?;
        within("outer_rate", self.outer_rate, Bandwidth(1e3), Bandwidth(1e12))?;
        within("inner_rate", self.inner_rate, Bandwidth(1e3), self.outer_rate)?;
        within("zones", self.zones, 1, 64)?;
        for (key, curve) in [("read_seek", &self.read_seek), ("write_seek", &self.write_seek)] {
            positive("track_to_track", curve.track_to_track).map_err(|problem| problem.within(key))?;
            within("average", curve.average, curve.track_to_track, Time::LONGEST)
                .and_then(|()| within("full_stroke", curve.full_stroke, curve.average, Time::LONGEST))
                .map_err(|problem| problem.within(key))?;
        }
        rate("interface", self.interface)?;
        within("read_ahead", self.read_ahead, Bytes::ZERO, self.capacity)?;
        within("read_ahead_most", self.read_ahead_most, self.read_ahead, self.capacity)?;
        within("segments", self.segments, 1, read::MOST_SEGMENTS)?;
        within("write_cache", self.write_cache, Bytes::ZERO, Bytes(1 << 40))?;
        within("reorder", self.reorder, 1, 256)
    }
}
