//! Waits behind flows: what packets find of the queues that flows would have in the buffers of routers.
//!
//! Where rates of flows are kept, their queues are reckoned out (`fluid/queues.rs`), and the routers are told of two kinds of waits:
//!
//! ```text
//! in a buffer, for an output    a packet there that goes over this output is so much later at the other end of its link
//! a turn of an output's channel one of another buffer, and the shortest time from one packet to the next
//! ```
//!
//! A packet waits on its way over the link, and holds its place in the buffer behind it the while. So what goes through a queue of
//! wait w is bounded by a buffer in w, as packets in a full buffer get their share of what drains from it. Those behind
//! it stay behind it.

use super::Links;
use crate::features::{HandlerContext, Uses};
use crate::fluid::OUTPUTS;
use odonata_engine::{Store, Time};

/// How long packets wait behind flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowWait {
    /// The machine's number of a router's port.
    pub(crate) port: u32,
    /// Picoseconds.
    pub(crate) wait: u32,
    /// [`TURN`](Self::TURN): of the port itself. Else of its input buffers, for an output of the router: that, times the outputs of
    /// a buffer for which waits are told, and which of these it is.
    pub(crate) output: u16,
    /// The level of the routing.
    pub(crate) level: u8,
}

impl FlowWait {
    /// In [`output`](Self::output): a turn.
    pub(crate) const TURN: u16 = u16::MAX;
}

/// A virtual channel of an output.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Channel {
    /// A turn.
    turn: Time,
    /// When the last packet that had to wait is past.
    past: Time,
}

/// What flows have in an input buffer for an output.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Ahead {
    port: u32,
    /// Picoseconds; 0: there is nothing.
    wait: u32,
}

/// Waits behind flows of a part; nothing where packets and flows do not meet.
#[derive(Debug)]
pub(crate) struct FlowWaits {
    channels: Store<Channel>,
    buffers: Store<[Ahead; OUTPUTS]>,
}
odonata_engine::journalled!(FlowWaits { channels, buffers });

impl FlowWaits {
    /// Where `packets` and flows meet.
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

    pub(super) fn memory(&self) -> usize {
        self.channels.memory() + self.buffers.memory()
    }

    /// A turn of own virtual channel `channel` takes so long from now on.
    pub(super) fn set_turn<M: Uses>(&mut self, channel: u32, turn: u32) {
        self.channels.edit::<M>(channel).turn = Time(u64::from(turn));
    }

    /// Packets in own buffer `buffer` that go over own port `port` wait so long from now on; it is the `which`th for which they do.
    pub(super) fn set_wait<M: Uses>(&mut self, buffer: u32, which: usize, (port, wait): (u32, u32)) {
        self.buffers.edit::<M>(buffer)[which] = Ahead { port, wait };
    }

    /// How long a packet from own `buffer` waits that starts on virtual channel `channel` of own port `port` now, and takes `time` there.
    pub(super) fn packet<C: HandlerContext>(
        &mut self,
        ctx: &C,
        buffer: u32,
        (port, channel): (u32, u32),
        time: Time,
    ) -> Time {
        let (now, cell) = (ctx.now(), *self.channels.get(channel));
        // Those of NICs with several queues may have numbers of no buffers.
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
