//! The content of flows: a message, or the part of a message on one of several paths.

use super::KEPT;
use crate::FabricEvent;
use crate::event::KEEPER;
use crate::features::HandlerContext;
use odonata_engine::{NIL, Time};

/// A rate below the demand by at most this fraction equals it up to rounding.
const ROUNDING: f64 = 1e-6;

/// A message being sent, or the part of it on one path.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, smart_default::SmartDefault)]
pub(super) struct Flight {
    /// The slot of the message, or NIL.
    #[default(NIL)]
    pub(super) message: u32,
    /// The next flow of its message.
    #[default(NIL)]
    pub(super) next: u32,
    /// The link for which it waits behind others of its queue; NIL without a wait.
    #[default(NIL)]
    pub(super) behind: u32,
    /// Whether it has not started, and the time before which it cannot.
    pub(super) held: bool,
    pub(super) starts: Time,
    /// The number of its first packet.
    pub(super) number: u32,
    /// Whether its path depends on loads; the leading links of the path, its NIC included, whose loads are compared.
    pub(super) adaptive: bool,
    pub(super) compared: u8,
    /// Its fraction of the message.
    #[default = 1.0]
    pub(super) part: f64,
    /// Rate in bytes per picosecond: alone, and now.
    pub(super) demand: f64,
    pub(super) rate: f64,
    /// Bytes of the message before its own.
    pub(super) from: u64,
    /// Its bytes; those counted on links that it has left; and those that had not left at `since`.
    pub(super) bytes: u64,
    pub(super) counted: u64,
    pub(super) left: f64,
    pub(super) since: Time,
    /// Bytes in the buffers upstream of its bottleneck, as of `filled`.
    pub(super) backlog: f64,
    pub(super) filled: Time,
    /// When no bytes are left, and its next event.
    #[default(Time::NEVER)]
    pub(super) due: Time,
    #[default(Time::NEVER)]
    pub(super) scheduled: Time,
    /// The latency of its path, and since when it uses the path.
    pub(super) latency: Time,
    pub(super) laid: Time,
    /// How long it keeps that path.
    #[default(KEPT)]
    pub(super) kept: Time,
    /// When to look for another path; never without a bottleneck that adaptive routing can avoid.
    #[default(Time::NEVER)]
    pub(super) look: Time,
}

impl Flight {
    /// Counts the bytes that have left until `now`.
    pub(super) fn advance(&mut self, now: Time) {
        self.fill_buffers(now);
        let sent = self.rate * now.saturating_sub(self.since).0 as f64;
        (self.left, self.since) = ((self.left - sent).max(0.0), now);
    }

    /// Whether its source could send faster than its bottleneck allows.
    pub(super) fn is_backlogged(&self) -> bool {
        self.rate < self.demand * (1.0 - ROUNDING)
    }

    /// Adds to the backlog the bytes that its source has sent until `now` beyond those that have passed its bottleneck.
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

    /// When no bytes are left.
    pub(super) fn end(&self) -> Time {
        if self.left == 0.0 {
            return self.since;
        }
        after(self.since, self.left, self.rate)
    }
}

/// When `bytes` have been sent at `rate` from `start` on; never at rate zero.
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

/// Schedules the end of `flight`, or a look for another path before, unless it has an earlier event.
pub(super) fn schedule<C: HandlerContext>(ctx: &mut C, flight: &mut Flight, flow: u32) {
    flight.due = flight.end();
    let next = flight.due.min(flight.look);
    if next < flight.scheduled {
        flight.scheduled = next.max(Time(ctx.now().0 + 1));
        ctx.send(KEEPER, flight.scheduled, FabricEvent::FlowEnd { flow }.into());
    }
}
