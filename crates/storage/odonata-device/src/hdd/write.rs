//! Writes: the write-back cache.
//!
//! The cache holds ranges of addresses that are not on the platters yet, at most [`Hdd::reorder`] of them. It stores
//! their number, their bytes and their span, not each range: this is the reorder queue of Parsons and Pai, and it keeps
//! the state small. The head sweeps over the span, back and forth. Of `n` evenly spread ranges, the next is
//! `span / (n + 1)` away, and the rotational latency is the minimum of `n` draws. So each random write to a full cache
//! takes on average
//!
//! ```text
//! seek(span / (n + 1)) + rotation / (n + 1) + transfer
//! ```
//!
//! while first come, first served takes `seek(span / 3) + rotation / 2 + transfer`. A write that begins at the end of
//! the last one extends its range; a single range is written as a stream. Reads have priority: the cache is written
//! while the disk is idle, a track at a time, or when a write finds no room.
//!
//! Reads of cached data still go to the platters.

use odonata_engine::Stream;
use odonata_units::Time;
use serde::{Deserialize, Serialize};

use super::{Hdd, HddState, Range};
use crate::Service;

/// The write-back cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cache {
    /// Ranges that the head has not reached yet, and their bytes.
    ranges: u32,
    waiting: u64,
    /// Bytes of the last step to the platters; they occupy the cache until `clean`.
    under_way: u64,
    /// Remaining bytes of the current range, after that step.
    writing: u64,
    /// Whether the current range belongs to the last write.
    writing_last: bool,
    /// End address of the last write.
    end: u64,
    /// Lowest and highest address of the ranges.
    low: u64,
    high: u64,
    /// Whether the head sweeps towards `low`.
    outwards: bool,
    /// When the first range was in the cache, in ps.
    since: u64,
    /// When the platters have all data that has left the cache, in ps.
    pub(super) clean: u64,
}

impl Cache {
    /// Whether the cache has unwritten data.
    pub(super) fn dirty(&self) -> bool {
        self.ranges > 0 || self.writing > 0
    }

    /// Bytes and ranges in the cache at `now`.
    fn held(&self, now: Time) -> (u64, u32) {
        let under_way = Time(self.clean) > now;
        (
            self.waiting + self.writing + if under_way { self.under_way } else { 0 },
            self.ranges + u32::from(self.writing > 0 || (under_way && self.under_way > 0)),
        )
    }

    /// Whether a write from this address extends the last one, which is not on the platters yet.
    fn prolongs(&self, from: u64) -> bool {
        self.end == from && (self.ranges > 0 || (self.writing > 0 && self.writing_last))
    }
}

impl Hdd {
    /// Accounts for the writes during idle time.
    pub(super) fn write_while_idle(&self, state: &mut HddState, now: Time, random: &mut Stream) {
        while state.write.dirty() && state.free.max(state.write.since) < now.0 {
            self.write_some(state, random);
        }
    }

    /// Writes the next track of cached data.
    pub(super) fn write_some(&self, state: &mut HddState, random: &mut Stream) {
        let mut at = Time(state.free.max(state.write.since));
        self.stop_reading_ahead(state, at);
        let mut cache = state.write;
        if cache.writing == 0 {
            let alone = cache.ranges == 1;
            cache.writing = cache.waiting / u64::from(cache.ranges.max(1));
            let to = if alone {
                cache.end.saturating_sub(cache.writing)
            } else {
                let step = (cache.high - cache.low) / u64::from(cache.ranges + 1);
                let (back, on) = (state.head.saturating_sub(step), state.head.saturating_add(step));
                cache.outwards = if cache.outwards {
                    back > cache.low
                } else {
                    on >= cache.high
                };
                let to = if cache.outwards { back } else { on };
                to.clamp(cache.low, cache.high - 1)
            };
            at = self.position(state, at, to, &self.write_seek, cache.ranges, random);
            cache.waiting -= cache.writing;
            cache.ranges -= 1;
            cache.writing_last = alone;
        }
        // Bounds the number of steps on slow disks: 64 steps write the whole cache.
        let step = self.track_bytes(state.head).max(self.write_cache.0 / 64);
        let bytes = cache.writing.min(step);
        let to = state.head.saturating_add(bytes);
        at += self.transfer(state.head, to);
        state.head = to;
        cache.writing -= bytes;
        cache.under_way = bytes;
        (state.free, cache.clean) = (at.0, at.0);
        state.write = cache;
    }

    pub(super) fn write(&self, state: &mut HddState, now: Time, range: Range, random: &mut Stream) -> Service {
        let bytes = range.bytes();
        if bytes == 0 {
            return self.deliver(state, now, now, 0);
        }
        if bytes > self.write_cache.0 {
            while state.write.dirty() {
                self.write_some(state, random);
            }
            return self.write_to_platters(state, now, range, random);
        }
        let mut room = now;
        loop {
            let (held, ranges) = state.write.held(room);
            let fits = held.saturating_add(bytes) <= self.write_cache.0;
            if fits && (state.write.prolongs(range.from) || ranges < self.reorder) {
                break;
            }
            if Time(state.write.clean) <= room {
                self.write_some(state, random);
            }
            room = room.max(Time(state.write.clean));
        }
        let service = self.deliver(state, now, room, bytes);
        let finish = service.finish;
        let cache = &mut state.write;
        if !cache.dirty() {
            (cache.since, cache.low, cache.high) = (finish.0, range.from, range.to);
        }
        cache.low = cache.low.min(range.from);
        cache.high = cache.high.max(range.to);
        if !cache.prolongs(range.from) {
            cache.ranges += 1;
            cache.waiting += bytes;
            cache.writing_last = false;
        } else if cache.ranges > 0 {
            cache.waiting += bytes;
        } else {
            cache.writing += bytes;
        }
        cache.end = range.to;
        service
    }

    fn write_to_platters(&self, state: &mut HddState, now: Time, range: Range, random: &mut Stream) -> Service {
        let begin = now.max(Time(state.free));
        self.stop_reading_ahead(state, begin);
        let first = self.position(state, begin, range.from, &self.write_seek, 1, random);
        let finish = first + self.transfer(range.from, range.to);
        state.head = range.to;
        (state.free, state.write.clean, state.write.under_way) = (finish.0, finish.0, 0);
        Service { begin, finish }
    }
}
