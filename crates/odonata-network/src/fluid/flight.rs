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
    /// Whether its source has been told that it is sent; as one of several it does not tell it.
    pub(super) told: bool,
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
    /// When as many are left as `told` asks for, and the next event of it.
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
            told: false,
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

    /// When no more than `goal` bytes are left.
    fn due(&self, goal: f64) -> Time {
        let bytes = (self.left - goal).max(0.0);
        if bytes == 0.0 {
            return self.since;
        }
        let time = (bytes / self.rate).ceil();
        // A flow without a rate waits until it has one.
        if time < Time::NEVER.0 as f64 / 4.0 {
            Time(self.since.0 + time as u64)
        } else {
            Time::NEVER
        }
    }
}

/// So many bytes of `flight` are left when something is to be done: its source is told when a packet and what leaves in twice the
/// hand-over delay is left, so that it hears of it when the last packet starts.
pub(super) fn goal(flight: &Flight, packet: u64, delay: Time) -> f64 {
    match flight.told {
        true => 0.0,
        false => packet as f64 + flight.demand * (2 * delay.0) as f64,
    }
}

/// Schedules the event at which `flight` has so many bytes left, unless there is one before that.
pub(super) fn schedule<C: HandlerContext>(ctx: &mut C, flight: &mut Flight, flow: u32, goal: f64) {
    flight.due = flight.due(goal);
    if flight.due < flight.scheduled {
        flight.scheduled = flight.due.max(Time(ctx.now().0 + 1));
        ctx.send(KEEPER, flight.scheduled, FabricEvent::FlowEnd { flow }.into());
    }
}
