//! Waits of packets behind the queues that flows would have in router buffers.
//!
//! The part that computes the rates of flows also computes their queues (`fluid/queues.rs`). Routers receive two kinds
//! of waits:
//!
//! ```text
//! in a buffer, for an output     delay of a packet there over this output, until the other end of its link
//! a turn of an output's channel  delay of a packet of another buffer, and shortest time between two packets
//! ```
//!
//! A packet waits on its way over the link and meanwhile holds its place in the downstream buffer. So the throughput of
//! a queue with wait w is at most one buffer per w, as packets in a full buffer share its drain rate. Packets behind it
//! do not overtake.

use super::Links;
use crate::features::{HandlerContext, Uses};
use odonata_engine::{Store, Time};

/// Outputs of a buffer with reported waits; few buffers have flows for more.
pub(crate) const OUTPUTS: usize = 2;

/// The wait of packets behind flows at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowWait {
    /// Number of a router port in the machine.
    pub(crate) port: u32,
    /// The wait in picoseconds.
    pub(crate) wait: u32,
    /// [`TURN`](Self::TURN): the port itself. Otherwise an input buffer of the port and an output of the router, coded
    /// as output * outputs per buffer + index of the wait.
    pub(crate) output: u16,
    pub(crate) level: u8,
}

impl FlowWait {
    /// In [`output`](Self::output): marks a turn.
    pub(crate) const TURN: u16 = u16::MAX;
}

/// A virtual channel of an output.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Channel {
    /// The wait for a turn.
    turn: Time,
    /// When the last packet with a wait has passed.
    past: Time,
}

/// The backlog of flows in an input buffer for an output.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Ahead {
    port: u32,
    /// The wait in picoseconds; 0 without a backlog.
    wait: u32,
}

/// The waits behind flows in a part; empty unless packets and flows are coupled.
#[derive(Debug)]
pub(crate) struct FlowWaits {
    channels: Store<Channel>,
    buffers: Store<[Ahead; OUTPUTS]>,
}
odonata_engine::journalled!(FlowWaits { channels, buffers });

impl FlowWaits {
    /// Empty unless `packets` are coupled with flows.
    pub(super) fn new(links: &Links, packets: bool) -> FlowWaits {
        let count = if packets { links.buffers as usize } else { 0 };
        let none = Ahead { port: 0, wait: 0 };
        let idle = Channel {
            turn: Time::ZERO,
            past: Time::ZERO,
        };
        FlowWaits {
            channels: Store::filled(count, idle),
            buffers: Store::filled(count, [none; OUTPUTS]),
        }
    }

    /// Sets the wait for a turn of the local virtual channel `channel`.
    pub(super) fn set_turn<M: Uses>(&mut self, channel: u32, turn: u32) {
        self.channels.edit::<M>(channel).turn = Time(u64::from(turn));
    }

    /// Sets the wait of packets in the local buffer `buffer` for the local port `port`, as entry `which` of the buffer.
    pub(super) fn set_wait<M: Uses>(&mut self, buffer: u32, which: usize, (port, wait): (u32, u32)) {
        self.buffers.edit::<M>(buffer)[which] = Ahead { port, wait };
    }

    /// The wait of a packet from the local buffer `buffer` that starts now on virtual channel `channel` of the local
    /// port `port` and takes `time` there.
    pub(super) fn packet<C: HandlerContext>(
        &mut self,
        ctx: &C,
        buffer: u32,
        (port, channel): (u32, u32),
        time: Time,
    ) -> Time {
        let (now, cell) = (ctx.now(), *self.channels.get(channel));
        // NICs with several queues may have numbers without a buffer.
        let known = (buffer as usize) < self.buffers.len();
        let before = known.then(|| {
            self.buffers
                .get(buffer)
                .iter()
                .find(|ahead| ahead.port == port && ahead.wait > 0)
        });
        let wait = before.flatten().map_or(cell.turn, |ahead| Time(u64::from(ahead.wait)));
        if wait == Time::ZERO && cell.past <= now {
            return Time::ZERO;
        }
        let start = (now + wait).max(cell.past);
        self.channels.edit::<C>(channel).past = start + time.max(cell.turn);
        start - now
    }
}
