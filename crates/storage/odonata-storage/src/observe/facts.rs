//! The facts that storage servers state, and the trait that instruments implement.

use odonata_device::Access;
use odonata_engine::{Mode, Time};

use crate::open_request::Piece;
use crate::servers::ServerParts;

/// The place of a block that leaves for the lower tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    /// In the queue of its device, or handed to the device.
    Queued,
    /// In service at its device.
    Served,
    /// On its way to the lower tier.
    LowerTier,
}

/// What becomes of the bytes of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Staged {
    /// They are on devices already.
    Found,
    /// They do not fit, and stay in the lower tier.
    Left,
    /// A stage-in brings them to a device.
    Brought,
    /// They are read ahead.
    ReadAhead,
}

/// An instrument. Each method is a fact; an instrument implements those that it records. `parts` is the state of the servers.
#[allow(unused_variables)]
pub(crate) trait Observer {
    /// A request without bytes has been answered at `server`.
    #[inline(always)]
    fn empty_request_is_answered<M: Mode>(&mut self, parts: &ServerParts, server: u32) {}

    /// `request` begins to wait for space on its device.
    #[inline(always)]
    fn request_waits_for_space<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// `request` has its space.
    #[inline(always)]
    fn request_has_space<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// Pieces of `request`, which has its space, have moved: it may wait for another resource, or no longer.
    #[inline(always)]
    fn request_advances<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// `request` is answered.
    #[inline(always)]
    fn request_is_answered<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// The server or the device of `request` has failed.
    #[inline(always)]
    fn request_dies<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// All bytes of write `request` have come to their device or to the lower tier.
    #[inline(always)]
    fn write_is_committed<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {}

    /// `piece` has taken a block of memory.
    #[inline(always)]
    fn memory_is_granted<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {}

    /// An access joins the queue of `device`, which has `accesses` accesses now.
    #[inline(always)]
    fn access_is_queued<M: Mode>(&mut self, parts: &ServerParts, device: u32, accesses: u32) {}

    /// The access of `piece` is handed to its device.
    #[inline(always)]
    fn access_is_handed<M: Mode>(&mut self, parts: &ServerParts, piece: u32, access: Access) {}

    /// The turn of the access of `piece` comes at its device. Stated before the queue changes.
    #[inline(always)]
    fn access_begins<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {}

    /// The access of `piece` ends. Stated before the queue changes.
    #[inline(always)]
    fn access_ends<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {}

    /// `owner` gives space of `device` back.
    #[inline(always)]
    fn space_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32, owner: u16) {}

    /// `owner` gives a block of memory of `server` back.
    #[inline(always)]
    fn memory_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32, owner: u16) {}

    /// `owner` gives a block of the reserve of `server` back.
    #[inline(always)]
    fn reserve_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32, owner: u16) {}

    /// `server` fails. Stated before its queues change.
    #[inline(always)]
    fn server_fails<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {}

    /// `device` fails. Stated before its queue changes.
    #[inline(always)]
    fn device_fails<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32) {}

    /// `piece` of a read has been delivered to its client.
    #[inline(always)]
    fn piece_is_delivered<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {}

    /// `piece` of a write has come to its tier: to a device, or through it.
    #[inline(always)]
    fn data_are_received<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {}

    /// `piece` of a read is served from its tier.
    #[inline(always)]
    fn data_are_found<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {}

    /// `piece` begins to leave for the lower tier.
    #[inline(always)]
    fn data_leave<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: &Piece) {}

    /// `piece` is safe in the lower tier.
    #[inline(always)]
    fn data_are_below<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: &Piece) {}

    /// `piece` has come from the lower tier.
    #[inline(always)]
    fn data_are_fetched<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {}

    /// `piece` is safe in the external file system.
    #[inline(always)]
    fn data_are_drained<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece) {}

    /// `bytes` bytes of `piece`, which came from the lower tier, are kept as a clean copy, among them `inputs` that the run has not
    /// written.
    #[inline(always)]
    fn copy_is_made<M: Mode>(&mut self, parts: &ServerParts, piece: &Piece, bytes: u64, inputs: u64) {}

    /// `bytes` bytes of clean copies of `owner` are evicted from `device`.
    #[inline(always)]
    fn copy_is_evicted<M: Mode>(&mut self, parts: &ServerParts, device: u32, owner: u16, bytes: u64) {}

    /// Bytes of a stage for `owner` are found, left, brought or read ahead.
    #[inline(always)]
    fn stage_moves<M: Mode>(&mut self, parts: &ServerParts, owner: u16, what: Staged, bytes: u64) {}

    /// `piece`, which leaves for the lower tier, moves from `from` to `to`.
    #[inline(always)]
    fn block_moves<M: Mode>(
        &mut self,
        parts: &ServerParts,
        now: Time,
        piece: &Piece,
        from: Option<BlockStep>,
        to: Option<BlockStep>,
    ) {
    }

    /// A synchronization arrives.
    #[inline(always)]
    fn sync_begins<M: Mode>(&mut self, parts: &ServerParts, sync: u32) {}

    /// `sync` begins to wait for blocks that leave.
    #[inline(always)]
    fn sync_drains<M: Mode>(&mut self, parts: &ServerParts, sync: u32) {}

    /// A write that `sync` waits for has advanced.
    #[inline(always)]
    fn sync_advances<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32) {}

    /// `sync` begins to wait until `device` has written its cache out.
    #[inline(always)]
    fn sync_waits_for_cache<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32, device: u32) {}

    /// `sync` waits for no resource of its server any more.
    #[inline(always)]
    fn sync_ends_wait<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32) {}

    /// Blocks of `server` may have left for the lower tier.
    #[inline(always)]
    fn blocks_have_left<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {}

    /// The resources of `server` in use may have changed.
    #[inline(always)]
    fn levels_change<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {}

    /// The run ends; requests may still be open.
    #[inline(always)]
    fn run_ends<M: Mode>(&mut self, parts: &ServerParts, now: Time) {}
}
