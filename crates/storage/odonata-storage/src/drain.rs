//! The drain: what leaves a server, and how far it has come.
//!
//! A server drains to an external file system, which is a rate and a latency ([`DrainPipelines`]), or to the servers of a lower
//! tier ([`Reserves`]). At a server with an [index](crate::Extents), blocks leave in the order of objects and bytes, from the last
//! position of the drain. Without an index, they leave in the order in which they were written. The device then sees the drain as
//! one object of its own, read from beginning to end: the drain seeks whenever the device served requests in between. The file of a
//! block is not tracked. Reads are served from the device whether or not their bytes have been drained.
//!
//! Blocks that leave use buffers beside the memory pool: freeing space never waits for a request that needs space.

mod pipeline;
mod reserve;

use odonata_engine::{List, Mode, NIL, Pool, Store, journalled};

use crate::ServerParams;
use crate::index::LeavingBlock;
pub(crate) use pipeline::DrainPipelines;
pub(crate) use reserve::{Reserved, Reserves};

/// The object that the device sees when the drain of a server without an index reads.
const DRAIN_OBJECT: u64 = u64::MAX;

/// The position of the drain on one device.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Cursor {
    /// Where the drain continues in the index: object, and byte of it.
    object: u64,
    offset: u64,
    /// Bytes that have been chosen to leave so far.
    chosen: u64,
    /// Bytes written and not chosen yet, oldest first; only without an index.
    written: List,
}

/// Consecutively written bytes of one job.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Run {
    bytes: u64,
    owner: u16,
    next: u32,
}

odonata_engine::slots!(Run);

/// The positions of the drains of a set of devices.
#[derive(Debug)]
pub(crate) struct DrainCursors {
    cursors: Store<Cursor>,
    runs: Pool<Run>,
}
journalled!(DrainCursors { cursors, runs });

impl DrainCursors {
    /// Of `devices` devices without contents.
    pub(crate) fn new(devices: usize) -> Self {
        DrainCursors {
            cursors: Store::filled(devices, Cursor::default()),
            runs: Pool::new(),
        }
    }

    /// Where the drain of `device` continues in the index: object, and byte of it.
    pub(crate) fn position(&self, device: u32) -> (u64, u64) {
        let Cursor { object, offset, .. } = *self.cursors.get(device);
        (object, offset)
    }

    /// The drain of `device` continues behind `block`.
    pub(crate) fn passes<M: Mode>(&mut self, device: u32, block: &LeavingBlock) {
        let cursor = self.cursors.edit::<M>(device);
        (cursor.object, cursor.offset) = (block.object, block.offset + block.bytes);
    }

    /// `bytes` bytes of `owner` have been written to `device`, whose server keeps no index.
    pub(crate) fn append<M: Mode>(&mut self, device: u32, owner: u16, bytes: u64) {
        let mut list = self.cursors.get(device).written;
        if list.tail != NIL && self.runs.get(list.tail).owner == owner {
            self.runs.edit::<M>(list.tail).bytes += bytes;
            return;
        }
        let slot = self.runs.allocate::<M>(Run {
            bytes,
            owner,
            next: NIL,
        });
        list.push::<M, _>(&mut self.runs, slot);
        self.cursors.edit::<M>(device).written = list;
    }

    /// The oldest `bytes` bytes of `device`, whose server keeps no index, leave. They belong to the job that wrote the first of them.
    pub(crate) fn take_oldest<M: Mode>(&mut self, device: u32, bytes: u64) -> LeavingBlock {
        let Cursor {
            chosen,
            written: mut list,
            ..
        } = *self.cursors.get(device);
        let (mut first, mut left) = (None, bytes);
        while left > 0 && list.head != NIL {
            let Run { bytes, owner, .. } = *self.runs.get(list.head);
            first = first.or(Some(owner));
            if bytes > left {
                self.runs.edit::<M>(list.head).bytes -= left;
                break;
            }
            left -= bytes;
            if let Some(slot) = list.pop(&self.runs) {
                self.runs.free::<M>(slot);
            }
        }
        let cursor = self.cursors.edit::<M>(device);
        (cursor.written, cursor.chosen) = (list, chosen + bytes);
        LeavingBlock {
            owner: first.unwrap_or(0),
            object: DRAIN_OBJECT,
            offset: chosen,
            bytes,
        }
    }
}

/// Whether the drain of `server` takes blocks in the order in which they were written.
pub(crate) fn is_in_order_of_writes(server: &ServerParams) -> bool {
    server.drain.is_some() && !server.manager.extents
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn blocks_leave_in_the_order_of_writes_and_belong_to_the_writer_of_their_first_byte() {
        let mut cursors = DrainCursors::new(2);
        for (owner, bytes) in [(3, 100), (3, 50), (4, 100)] {
            cursors.append::<Plain>(1, owner, bytes);
        }
        let blocks = [120, 60, 70].map(|bytes| cursors.take_oldest::<Plain>(1, bytes));
        let named = blocks.map(|block| (block.owner, block.offset, block.bytes));
        assert_eq!(named, [(3, 0, 120), (3, 120, 60), (4, 180, 70)]);
        assert_eq!(cursors.runs.live(), 0, "250 bytes were written, and 250 have left");
    }
}
