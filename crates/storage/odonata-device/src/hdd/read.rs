//! Reads: the buffer with read-ahead.
//!
//! The buffer has segments, each a range of addresses. The head keeps reading into the segment of the last read. Its
//! position at any time follows from its rate, so no event is needed until the next access. When the head is needed
//! elsewhere, the segment keeps its contents.

use odonata_engine::Stream;
use odonata_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{Hdd, HddState, Range};
use crate::Service;

/// Maximum number of segments of a read buffer.
pub(super) const MOST_SEGMENTS: u32 = 8;

/// A range of addresses in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Segment {
    from: u64,
    /// The address after its last byte; the head may have read further.
    to: u64,
    /// When the last byte was in the buffer, in ps.
    ready: u64,
    /// The sequence number of its last use; 0 if it is empty.
    used: u64,
}

/// The read buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Buffer {
    segments: [Segment; MOST_SEGMENTS as usize],
    /// Whether the head still reads into the last used segment.
    reading: bool,
    /// That segment.
    last: u32,
    uses: u64,
}

impl Buffer {
    fn touch(&mut self, number: usize) {
        self.uses += 1;
        self.segments[number].used = self.uses;
    }
}

impl Hdd {
    /// The address that the head has reached by `now` in its segment, and the address where it stops.
    fn read_until(&self, segment: Segment, now: Time) -> (u64, Time) {
        let most = segment
            .to
            .saturating_add(self.read_ahead_most.0)
            .min(self.capacity.0.max(segment.to));
        let stops = Time(segment.ready) + self.transfer(segment.to, most);
        if now >= stops {
            return (most, stops);
        }
        let rate = self.zone(segment.to).rate;
        let passed = now.saturating_sub(Time(segment.ready)).0 as f64 / rate.ps_per_byte();
        (most.min(segment.to.saturating_add(passed as u64)), stops)
    }

    /// Stops reading ahead at `now`, because the head is needed elsewhere.
    pub(super) fn stop_reading_ahead(&self, state: &mut HddState, now: Time) {
        if !state.read.reading {
            return;
        }
        state.read.reading = false;
        let segment = &mut state.read.segments[state.read.last as usize];
        let (to, _) = self.read_until(*segment, now);
        let ready = Time(segment.ready) + self.transfer(segment.to, to);
        (segment.to, segment.ready) = (to, ready.0);
        state.head = to;
    }

    pub(super) fn read(&self, state: &mut HddState, now: Time, range: Range, random: &mut Stream) -> Service {
        if state.read.reading
            && let Some(service) = self.read_on(state, now, range, random)
        {
            return service;
        }
        let filled = state.read.segments.iter().enumerate().take(self.segments as usize);
        let holds = |segment: &Segment| segment.used > 0 && segment.from <= range.from && range.from < segment.to;
        let mut missing = range.from;
        if let Some((number, segment)) = filled.filter(|(_, segment)| holds(segment)).max_by_key(|(_, s)| s.to) {
            if range.to <= segment.to {
                // The head passed the last requested byte before the last byte of the segment.
                let ready = Time(segment.ready).saturating_sub(self.transfer(range.to, segment.to));
                state.read.touch(number);
                // The head keeps reading into its current segment, not into this one.
                let service = self.deliver(state, now, ready, range.bytes());
                // Bytes that the platters have not passed yet are part of the service.
                let begin = if ready > now { now } else { service.begin };
                return Service { begin, ..service };
            }
            missing = segment.to;
        }
        self.read_from_platters(state, now, range, missing, random)
    }

    /// A read of data that the head reads now, has just read, or reaches by read-ahead; `None` otherwise.
    fn read_on(&self, state: &mut HddState, now: Time, range: Range, random: &mut Stream) -> Option<Service> {
        let number = state.read.last as usize;
        let segment = state.read.segments[number];
        let (here, stops) = self.read_until(segment, now);
        let near = here.max(segment.to.saturating_add(self.read_ahead.0));
        if range.from < segment.from || range.from > near {
            return None;
        }
        state.read.touch(number);
        let mut to = segment.to;
        let mut ready = Time(segment.ready);
        let mut begin = now;
        if stops < now {
            // The head has reached its limit and stopped.
            if range.to <= here {
                return Some(self.deliver(state, now, now, range.bytes()));
            }
            begin = now.max(Time(state.free));
            (to, ready) = (here, begin + self.rotational_latency(1, random));
        }
        let there = if range.to >= to {
            ready + self.transfer(to, range.to)
        } else {
            ready.saturating_sub(self.transfer(range.to, to))
        };
        if range.to > to {
            self.go_on(state, number, range.to, there);
        }
        let finish = there.max(self.deliver(state, now, now, range.bytes()).finish);
        Some(Service { begin, finish })
    }

    /// The head passes address `to` at `ready`, and reads ahead from there into a segment.
    fn go_on(&self, state: &mut HddState, number: usize, to: u64, ready: Time) {
        let segment = &mut state.read.segments[number];
        (segment.to, segment.ready) = (to, ready.0);
        (state.read.last, state.read.reading) = (number as u32, true);
        state.head = to;
        let ahead = self.zone(to).rate.time_for(Bytes(self.read_ahead.0));
        state.free = state.free.max((ready + ahead).0);
    }

    /// Reads the missing rest of a range, from address `missing` on.
    fn read_from_platters(
        &self,
        state: &mut HddState,
        now: Time,
        range: Range,
        missing: u64,
        random: &mut Stream,
    ) -> Service {
        let begin = now.max(Time(state.free));
        self.stop_reading_ahead(state, begin);
        let first = self.position(state, begin, missing, &self.read_seek, 1, random);
        let finish = first + self.transfer(missing, range.to);
        let lately = |number: &usize| state.read.segments[*number].used;
        let number = (0..self.segments.clamp(1, MOST_SEGMENTS) as usize)
            .min_by_key(lately)
            .unwrap_or(0);
        state.read.segments[number].from = range.from;
        state.read.touch(number);
        self.go_on(state, number, range.to, finish);
        Service { begin, finish }
    }
}
