//! Turns: chunks and packets on one link.
//!
//! Chunks of a link wait in the order of their arrival. If packets wait as well when the link becomes free after a chunk,
//! they have the next turn: the chunk comes a picosecond later, unless no packet has room.

use super::chunk::Chunk;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::nic::Nics;
use crate::observe::{ChunkDeparture, Observer, Transmission};
use crate::{FabricEvent, Payload};
use odonata_engine::{List, Mode, Pool, Store, Time};
use odonata_units::Bytes;

/// The chunks at a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Line {
    chunks: List,
    /// End of the last chunk on the link.
    until: Time,
    /// Whether packets have had their turn since.
    passed: bool,
}

/// The chunks at the links of a part.
#[derive(Debug)]
pub(super) struct LinkTurns {
    lines: Store<Line>,
}
odonata_engine::journalled!(LinkTurns { lines });

impl LinkTurns {
    pub(super) fn new(links: usize) -> LinkTurns {
        let idle = Line {
            chunks: List::EMPTY,
            until: Time::NEVER,
            passed: false,
        };
        LinkTurns {
            lines: Store::filled(links, idle),
        }
    }

    /// Adds a chunk; returns whether it is the only one.
    pub(super) fn push<M: Mode>(&mut self, chunks: &mut Pool<Chunk>, link: u32, chunk: u32) -> bool {
        let mut list = self.lines.get(link).chunks;
        let is_first = list.is_empty();
        list.push::<M, _>(chunks, chunk);
        self.lines.edit::<M>(link).chunks = list;
        is_first
    }

    /// The chunk that may start on `link` now. Otherwise schedules the next look at the link, if chunks wait.
    pub(super) fn next<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &Shared<P>,
        nics: &Nics,
        link: u32,
    ) -> Option<u32> {
        let line = *self.lines.get(link);
        if line.chunks.is_empty() {
            return None;
        }
        let (now, free_at) = (ctx.now(), shared.flow.port::<C>(link).free_at);
        if free_at > now {
            look_again(ctx, shared, link, free_at);
            return None;
        }
        if free_at == line.until && !line.passed && packets_wait::<C, P>(shared, nics, link) {
            self.lines.edit::<C>(link).passed = true;
            look_again(ctx, shared, link, Time(now.0 + 1));
            return None;
        }
        Some(line.chunks.head)
    }

    /// Starts the first chunk on `link`. Returns when all of it is at the other end.
    pub(super) fn send<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        nics: &Nics,
        chunks: &Pool<Chunk>,
        link: u32,
    ) -> Time {
        let mut list = self.lines.get(link).chunks;
        let chunk = chunks.get(list.head);
        list.pop(chunks);
        let now = ctx.now();
        let (of_link, port) = (shared.flow.link::<C>(link), *shared.flow.port::<C>(link));
        let alone = of_link.serialization(chunk.bytes);
        let is_nic = link >= shared.flow.links.ports;
        let slowed = match is_nic {
            true => {
                let node = shared.flow.links.node(link - shared.flow.links.ports);
                let rate = shared.setup.params.nic_rate_of_message(node, chunk.bytes.into());
                rate.map_or(Time::ZERO, |rate| rate.time_for(Bytes(chunk.bytes.into())))
            }
            false => Time::ZERO,
        };
        let until = (now + alone.max(slowed)).max(Time(now.0 + 1));
        let observers = &mut shared.flow.observers;
        observers.chunk_departs::<C>(&ChunkDeparture {
            link,
            port: &port,
            owner: chunk.owner,
            now,
            until,
        });
        let sent = Transmission {
            packets: 1,
            bytes: chunk.bytes,
            busy: alone,
        };
        match is_nic {
            true => observers.nic_sends::<C>(link, sent),
            false => observers.port_sends::<C>((link, of_link.class), now, sent),
        }
        if port.stalled_since != Time::NEVER {
            observers.port_resumes::<C>(link, port.stalled_since, now);
        }
        let cell = shared.flow.edit_port::<C>(link);
        (cell.free_at, cell.holder, cell.stalled_since) = (until, chunk.owner, Time::NEVER);
        let line = self.lines.edit::<C>(link);
        (line.chunks, line.until, line.passed) = (list, until, false);
        if !list.is_empty() {
            look_again(ctx, shared, link, until);
        }
        if packets_wait::<C, P>(shared, nics, link) {
            shared.flow.wake_up(ctx, link, until);
        }
        now + alone + of_link.latency
    }
}

/// Whether packets, or messages at a NIC, wait for `link`.
fn packets_wait<C: HandlerContext, P: Payload>(shared: &Shared<P>, nics: &Nics, link: u32) -> bool {
    match link.checked_sub(shared.flow.links.ports) {
        None => shared.flow.port::<C>(link).waiting > 0,
        Some(nic) => nics.messages_wait(nic),
    }
}

fn look_again<C: HandlerContext, P: Payload>(ctx: &mut C, shared: &Shared<P>, link: u32, at: Time) {
    ctx.send(
        shared.flow.links.sender(link),
        at,
        FabricEvent::ChunkPort { link }.into(),
    );
}
