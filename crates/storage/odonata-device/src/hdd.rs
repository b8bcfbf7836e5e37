//! A hard disk: B. Parsons, V. Pai, "A mathematical hard disk timing model for full system simulation", ISPASS 2013.
//!
//! ```text
//! access to the platters = seek + rotational latency + transfer
//! ```
//!
//! - **Seek**: a curve over the distance in tracks, a square root for short and a line for long distances
//!   ([`SeekCurve`]).
//! - **Rotational latency**: uniform between zero and one rotation.
//! - **Transfer**: at the rate of the zone (`geometry.rs`).
//! - **Read-ahead**: after a read the disk keeps reading, at least [`Hdd::read_ahead`] bytes before any other work, and
//!   up to [`Hdd::read_ahead_most`] while idle. A read of buffered data does not wait for the platters; a read of data
//!   in progress waits for the rest (`read.rs`).
//! - **Write-back cache**: a write ends when its data is in the cache. The disk writes the data while idle, or when the
//!   cache is full, in the order that takes least time (`write.rs`).
//!
//! Platter accesses are served first come, first served. As in the paper, rotation is not tracked: the rotational
//! position of a byte is random.
//!
//! Object 0 begins at address 0, on the outermost track; any other object begins at a hash of its number. Addresses
//! wrap around at the capacity.

mod geometry;
mod read;
mod write;

use odonata_engine::Stream;
use odonata_units::{Bandwidth, Bytes, GOLDEN_GAMMA, Time, mix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{positive, rate, within};
use crate::{Access, Device, Problem, Service};

/// Seek times, from three values of data sheets; they grow from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekCurve {
    /// To the next track, with settling there.
    pub track_to_track: Time,
    /// Over a third of all tracks, the mean distance of two random tracks.
    pub average: Time,
    /// Over all tracks.
    pub full_stroke: Time,
}

/// A hard disk: zones, seeks, rotation, read-ahead, write-back cache (B. Parsons, V. Pai, ISPASS 2013). Default: the preset
/// `seagate-st2000nx0253`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hdd {
    /// Capacity, 1 MiB to 1 PiB; with the rates, it gives the number of tracks.
    pub capacity: Bytes,
    /// Rotations per minute, 60 to 100,000.
    #[schemars(range(min = 60, max = 100000))]
    pub rpm: u32,
    /// Rate of the outermost zone, where addresses begin; 1 kB/s to 1 TB/s.
    pub outer_rate: Bandwidth,
    /// Rate of the innermost zone; 1 kB/s up to the outermost rate.
    pub inner_rate: Bandwidth,
    /// Number of zones, with equal numbers of tracks, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub zones: u32,
    /// Seeks before a read.
    pub read_seek: SeekCurve,
    /// Seeks before a write, which include a longer settling time.
    pub write_seek: SeekCurve,
    /// Time from an access to its first byte on the interface, without the platters.
    pub command: Time,
    /// Rate of the interface to the host.
    pub interface: Bandwidth,
    /// Bytes read after every read, before any other work.
    pub read_ahead: Bytes,
    /// Maximum read-ahead while idle; at least `read_ahead`.
    pub read_ahead_most: Bytes,
    /// Segments of the read buffer, 1 to 8, replaced by least recent use.
    #[schemars(range(min = 1, max = 8))]
    pub segments: u32,
    /// Size of the write-back cache, at most 1 TiB; 0 B: a write ends on the platters.
    pub write_cache: Bytes,
    /// Ranges that the write-back cache holds, 1 to 256; the range that takes least time is written next. Contiguous
    /// writes are one range.
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

/// The state of a [`Hdd`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HddState {
    /// When the head has finished all mandatory work, in ps.
    free: u64,
    /// The address after the last byte that the head has passed.
    head: u64,
    /// When the interface is free, in ps.
    link: u64,
    /// Seeks so far, of reads and writes.
    pub seeks: u64,
    read: read::Buffer,
    write: write::Cache,
}

/// An access as addresses: first byte, and the byte after its last.
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
        // Files are spread over the disk.
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

    /// When `bytes` that are available at `ready` have crossed the interface, requested at `now`.
    fn deliver(&self, state: &mut HddState, now: Time, ready: Time, bytes: u64) -> Service {
        let there = now.max(ready) + self.command;
        let finish = there.max(Time(state.link)) + self.interface.time_for(Bytes(bytes));
        // Data that waits for the platters leaves the interface free; later accesses are not known yet.
        if ready <= now || Time(state.link) > there {
            state.link = finish.0;
        }
        Service::ending(now, self.command + self.interface.time_for(Bytes(bytes)), finish)
    }

    /// Moves the head to an address, from `begin` on; returns when the first byte passes. The head may choose among
    /// `candidates` and takes the first one to pass.
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

    /// The minimum of several waits, each uniform between zero and one rotation: rotation / (candidates + 1) on
    /// average.
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
