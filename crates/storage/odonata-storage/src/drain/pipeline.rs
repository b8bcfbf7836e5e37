//! The drain to an external file system: a pipeline of two stages with one buffer each.
//!
//! The device reads one block while the link carries the previous one. A block of `b` bytes takes `r` at the device and
//! `l = latency + b / bandwidth` on the link. So `n` blocks are safe after `r + (n - 1) max(r, l) + l`, on a device that serves the
//! drain alone.

use odonata_engine::{Mode, NIL, Store, journalled};
use odonata_units::{Bytes, Time};

use crate::ServerParams;
use crate::settings::Drain;

/// The pipeline of one server.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Pipeline {
    /// The piece that the device reads or has read, or [`NIL`].
    fetching: u32,
    /// Whether that piece has been read and waits for the link.
    fetched: bool,
    /// The piece on the link, or [`NIL`].
    sending: u32,
    /// The first device to try for the next block, counted within the server.
    turn: u32,
}

/// The pipelines of a set of servers.
#[derive(Debug)]
pub(crate) struct DrainPipelines {
    links: Vec<Option<Drain>>,
    pipelines: Store<Pipeline>,
}
journalled!(DrainPipelines { pipelines });

impl DrainPipelines {
    /// The empty pipelines of `servers`.
    pub(crate) fn new(servers: &[ServerParams]) -> Self {
        let empty = Pipeline {
            fetching: NIL,
            fetched: false,
            sending: NIL,
            turn: 0,
        };
        DrainPipelines {
            links: servers.iter().map(|server| server.drain).collect(),
            pipelines: Store::filled(servers.len(), empty),
        }
    }

    /// The link of `server`, if it drains to an external file system.
    pub(crate) fn link(&self, server: u32) -> Option<Drain> {
        self.links[server as usize]
    }

    /// The first device of `server` to try for the next block, if the first stage is free.
    pub(crate) fn next_turn(&self, server: u32) -> Option<u32> {
        let Pipeline { fetching, turn, .. } = *self.pipelines.get(server);
        (fetching == NIL).then_some(turn)
    }

    /// The device reads `piece` for the first stage. `turn`: the first device to try afterwards.
    pub(crate) fn fetch<M: Mode>(&mut self, server: u32, piece: u32, turn: u32) {
        let pipeline = self.pipelines.edit::<M>(server);
        (pipeline.fetching, pipeline.turn) = (piece, turn);
    }

    /// The device has read the block of the first stage. Returns whether the link is free for it.
    pub(crate) fn is_fetched<M: Mode>(&mut self, server: u32) -> bool {
        let pipeline = self.pipelines.edit::<M>(server);
        pipeline.fetched = true;
        pipeline.sending == NIL
    }

    /// Moves the block of the first stage to the link.
    pub(crate) fn send<M: Mode>(&mut self, server: u32) -> u32 {
        let pipeline = self.pipelines.edit::<M>(server);
        pipeline.sending = pipeline.fetching;
        (pipeline.fetching, pipeline.fetched) = (NIL, false);
        pipeline.sending
    }

    /// The block on the link is safe. Returns it, and whether the first stage has the next block ready.
    pub(crate) fn is_sent<M: Mode>(&mut self, server: u32) -> (u32, bool) {
        let pipeline = self.pipelines.edit::<M>(server);
        debug_assert_ne!(pipeline.sending, NIL, "server {server} is draining");
        (std::mem::replace(&mut pipeline.sending, NIL), pipeline.fetched)
    }

    /// Empties the first stage. Returns its block if the device has read it, so that no access will end for it.
    pub(crate) fn drop_first_stage<M: Mode>(&mut self, server: u32) -> Option<u32> {
        let pipeline = self.pipelines.edit::<M>(server);
        let dropped = Some(pipeline.fetching).filter(|_| pipeline.fetched);
        (pipeline.fetching, pipeline.fetched) = (NIL, false);
        dropped
    }

    /// The block of the first stage.
    pub(crate) fn fetching(&self, server: u32) -> Option<u32> {
        Some(self.pipelines.get(server).fetching).filter(|&piece| piece != NIL)
    }

    /// The block on the link.
    pub(crate) fn sending(&self, server: u32) -> Option<u32> {
        Some(self.pipelines.get(server).sending).filter(|&piece| piece != NIL)
    }

    /// Blocks in the pipeline of `server`, and those of them that a device reads.
    pub(crate) fn blocks(&self, server: u32) -> (u32, u32) {
        let Pipeline {
            fetching,
            fetched,
            sending,
            ..
        } = *self.pipelines.get(server);
        let all = u32::from(fetching != NIL) + u32::from(sending != NIL);
        (all, u32::from(fetching != NIL && !fetched))
    }

    /// The time on the link of `server`, which has one, of a block of `bytes` bytes.
    pub(crate) fn transfer_time(&self, server: u32, bytes: u64) -> Time {
        let to = self.link(server).expect("only a server with a drain fetches blocks");
        // An event comes strictly later than its cause, however fast the link.
        (to.latency + to.bandwidth.time_for(Bytes(bytes))).max(Time::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_device::{DeviceModel, Rate};
    use odonata_engine::Plain;
    use odonata_units::Bandwidth;

    /// When `blocks` blocks of 1,000 bytes are safe: `read` at the device, 5 ns and 1 B/ns on the link.
    fn safe_after(blocks: u32, read: Time) -> Time {
        let mut params = ServerParams::new(DeviceModel::Rate(Rate::default()), 1_000_000, 1_000_000);
        params.drain = Some(Drain {
            bandwidth: Bandwidth(1e9),
            latency: Time::from_ns(5),
            threshold: Bytes(0),
        });
        let mut drain = DrainPipelines::new(&[params]);
        let (mut now, mut chosen, mut safe) = (Time::ZERO, 0, 0);
        // The ends of the access and of the transfer that are under way.
        let (mut access, mut transfer) = (Time::BEYOND, Time::BEYOND);
        while safe < blocks {
            if chosen < blocks && drain.next_turn(0).is_some() {
                drain.fetch::<Plain>(0, chosen, 0);
                (chosen, access) = (chosen + 1, now + read);
            }
            now = access.min(transfer);
            let mut sends = false;
            if now == transfer {
                let (block, has_next) = drain.is_sent::<Plain>(0);
                assert_eq!(block, safe, "blocks are safe in their order");
                (safe, transfer, sends) = (safe + 1, Time::BEYOND, has_next);
            }
            if now == access {
                access = Time::BEYOND;
                sends |= drain.is_fetched::<Plain>(0);
            }
            if sends {
                drain.send::<Plain>(0);
                transfer = now + drain.transfer_time(0, 1_000);
            }
        }
        assert_eq!(drain.blocks(0), (0, 0));
        now
    }

    #[test]
    fn blocks_drain_at_the_rate_of_the_slower_stage() {
        let link = Time::from_ns(1_005);
        for (read, n) in [(400, 7), (1_005, 4), (3_000, 5), (700, 1)] {
            let read = Time::from_ns(read);
            let expected = read + Time(read.max(link).0 * u64::from(n - 1)) + link;
            assert_eq!(safe_after(n, read), expected, "{n} blocks, {read:?} each");
        }
    }

    #[test]
    fn only_a_block_that_was_read_is_dropped_from_the_first_stage() {
        let params = ServerParams::new(DeviceModel::Rate(Rate::default()), 1_000, 1_000_000);
        let mut drain = DrainPipelines::new(&[params]);
        drain.fetch::<Plain>(0, 7, 0);
        assert_eq!((drain.blocks(0), drain.drop_first_stage::<Plain>(0)), ((1, 1), None));
        drain.fetch::<Plain>(0, 8, 0);
        assert!(drain.is_fetched::<Plain>(0));
        assert_eq!((drain.blocks(0), drain.drop_first_stage::<Plain>(0)), ((1, 0), Some(8)));
    }
}
