//! What flows carry: a message, or of one that goes over several paths the part on each.

use super::KEEPER;
use crate::FabricEvent;
use crate::features::HandlerContext;
use odonata_engine::{NIL, Time};

/// A rate that is lower than the demand by no more than this part of it is rounded.
const ROUNDING: f64 = 1e-6;

/// A message under way, or the part of it on one path.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Flight {
    /// The slot of the message; NIL: there is none.
    pub(super) message: u32,
    /// The next one of its message.
    pub(super) next: u32,
    /// The link for which it waits behind others of its queue; NIL: it does not.
    pub(super) behind: u32,
    /// Whether it has not started, and the time before which it does not.
    pub(super) held: bool,
    pub(super) starts: Time,
    /// The first of its packets.
    pub(super) number: u32,
    /// Whether its path depends on loads.
    pub(super) adaptive: bool,
    /// How much of the message it is.
    pub(super) part: f64,
    /// Bytes per picosecond; alone, and now.
    pub(super) demand: f64,
    pub(super) rate: f64,
    /// Bytes of the message before its own.
    pub(super) from: u64,
    /// Its bytes, those of them that have been counted on links that it has left, and those that had not left at `since`.
    pub(super) bytes: u64,
    pub(super) counted: u64,
    pub(super) left: f64,
    pub(super) since: Time,
    /// Bytes in the buffers before its bottleneck, as of `filled`.
    pub(super) backlog: f64,
    pub(super) filled: Time,
    /// When none are left, and the next event of it.
    pub(super) due: Time,
    pub(super) scheduled: Time,
    /// What is added on its path, and since when it is on it.
    pub(super) latency: Time,
    pub(super) laid: Time,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight {
            message: NIL,
            next: NIL,
            behind: NIL,
            held: false,
            starts: Time::ZERO,
            number: 0,
            adaptive: false,
            part: 1.0,
            demand: 0.0,
            rate: 0.0,
            from: 0,
            bytes: 0,
            counted: 0,
            left: 0.0,
            since: Time::ZERO,
            backlog: 0.0,
            filled: Time::ZERO,
            due: Time::NEVER,
            scheduled: Time::NEVER,
            latency: Time::ZERO,
            laid: Time::ZERO,
        }
    }
}

impl Flight {
    /// Counts what has left until `now`.
    pub(super) fn advance(&mut self, now: Time) {
        self.fill_buffers(now);
        let sent = self.rate * now.saturating_sub(self.since).0 as f64;
        (self.left, self.since) = ((self.left - sent).max(0.0), now);
    }

    /// Whether its source would send more than its bottleneck lets it.
    pub(super) fn is_backlogged(&self) -> bool {
        self.rate < self.demand * (1.0 - ROUNDING)
    }

    /// Counts what its source has sent until `now` beyond what has gone on from its bottleneck.
    pub(super) fn fill_buffers(&mut self, now: Time) {
        let left = self.left - self.rate * now.saturating_sub(self.since).0 as f64;
        let more = (self.demand - self.rate) * now.saturating_sub(self.filled).0 as f64;
        self.backlog = match self.is_backlogged() {
            true => (self.backlog + more).min(left.max(0.0)),
            false => 0.0,
        };
        self.filled = now;
    }

    /// Bytes that have not left by `now`.
    pub(super) fn left_at(&self, now: Time) -> f64 {
        (self.left - self.rate * now.saturating_sub(self.since).0 as f64).max(0.0)
    }

    /// When none are left.
    pub(super) fn end(&self) -> Time {
        if self.left == 0.0 {
            return self.since;
        }
        after(self.since, self.left, self.rate)
    }
}

/// When so many bytes have gone at `rate`, from `start` on; never, if it is none.
pub(super) fn after(start: Time, bytes: f64, rate: f64) -> Time {
    if bytes <= 0.0 {
        return start;
    }
    let time = (bytes / rate).ceil();
    if time < Time::NEVER.0 as f64 / 4.0 {
        Time(start.0 + time as u64)
    } else {
        Time::NEVER
    }
}

/// Schedules the end of `flight`, unless there is an event before that.
pub(super) fn schedule<C: HandlerContext>(ctx: &mut C, flight: &mut Flight, flow: u32) {
    flight.due = flight.end();
    if flight.due < flight.scheduled {
        flight.scheduled = flight.due.max(Time(ctx.now().0 + 1));
        ctx.send(KEEPER, flight.scheduled, FabricEvent::FlowEnd { flow }.into());
    }
}
