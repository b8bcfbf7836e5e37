//! Storage servers: the routing between their [parts](ServerParts), and the facts that they state.
//!
//! | file | routes |
//! |---|---|
//! | this one | inputs, synchronizations, removals |
//! | [`requests`] | reads and writes: space, memory, pieces, devices; after the burst-buffer server of the MFNetSim study |
//! | [`lower_tier`] | what leaves for the lower tier or an external file system, and what comes from there |
//! | [`failure`] | failures of servers and devices |
//!
//! A part owns its state and does not know the others. What happens is stated to the [observers](Observers), which no part reads.

mod failure;
mod lower_tier;
mod parts;
mod requests;

use odonata_engine::{Mode, Plain, journalled};
use odonata_units::Time;

use crate::measured::MeasuredServers;
use crate::observe::{Observer, Observers, Staged};
use crate::open_request::OpenRequest;
use crate::{Action, Actions, Origin, RequestWaits, StorageOperation, StorageRequest};
pub(crate) use parts::ServerParts;

/// A set of storage servers, numbered from 0.
///
/// All mutable state is journalled. Every input is generic over the [`Mode`], so that an input made under
/// [`Speculative`](odonata_engine::Speculative) can be undone.
#[derive(Debug)]
pub struct Servers {
    pub(crate) parts: ServerParts,
    pub(crate) observers: Observers,
}
journalled!(Servers { parts, observers });

impl Servers {
    /// What the servers have and have measured.
    pub fn measured(&self) -> MeasuredServers<'_> {
        MeasuredServers::new(&self.parts, &self.observers)
    }

    /// The waits and accesses of single requests that the last input began or ended, if they are recorded.
    pub fn take_waits(&mut self) -> RequestWaits {
        self.observers.take_waits(&self.parts)
    }

    /// Charges the open waits at `now`, the end of the run; requests may still be open.
    pub fn charge_open_waits(&mut self, now: Time) {
        self.observers.run_ends::<Plain>(&self.parts, now);
    }

    /// A request arrives at `server`, with the number of its lock if it has one. A server that is away ignores it.
    ///
    /// # Panics
    /// The request is a metadata call, which only [`MetadataServers`](crate::MetadataServers) answer.
    pub fn request<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        (request, lock): (StorageRequest, Option<u32>),
        actions: &mut Actions,
    ) {
        if !self.hears::<M>(now, server, request.header.owner) {
            return;
        }
        match request.operation {
            StorageOperation::Read { .. } | StorageOperation::Write => {
                self.admit::<M>(now, server, (request, lock), actions);
            }
            StorageOperation::Stage => self.stage_in::<M>(now, server, request, actions),
            StorageOperation::Sync { .. } => {
                let (sync, waits) = self.parts.syncs.arrive::<M>(server, request, &self.parts.requests);
                self.observers.sync_begins::<M>(&self.parts, sync);
                match waits {
                    true => self.observers.sync_advances::<M>(&self.parts, now, sync),
                    false => self.write_caches_out::<M>(now, sync, actions),
                }
            }
            StorageOperation::Remove => self.remove::<M>(now, server, request, actions),
            StorageOperation::Metadata(call) => unreachable!("{call:?} at a storage server"),
        }
    }

    /// The lower tier has answered the request of `origin`, sent with [`Action::AskLowerTier`]. `lost`: whether it has lost bytes
    /// of a read that tolerates loss.
    pub fn lower_tier_answered<M: Mode>(&mut self, now: Time, origin: Origin, lost: bool, actions: &mut Actions) {
        match origin {
            Origin::Piece(slot) => self.piece_answered::<M>(now, slot, lost, actions),
            Origin::Sync(sync) => {
                self.is_up::<M>(now, self.parts.syncs.get(sync).server);
                if !self.parts.syncs.bury::<M>(sync) {
                    self.end_sync::<M>(now, sync, actions);
                }
            }
            Origin::Removal(slot) => {
                self.is_up::<M>(now, self.parts.removals.server_of(slot));
                self.parts.removals.answered::<M>(slot, actions);
            }
        }
    }

    /// The caches that synchronization `slot` waits for are written out, as announced by [`Action::CachesWritten`].
    pub fn caches_written<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.is_up::<M>(now, self.parts.syncs.get(slot).server);
        if !self.parts.syncs.bury::<M>(slot) {
            self.observers.sync_ends_wait::<M>(&self.parts, now, slot);
            self.drain_for_sync::<M>(now, slot, actions);
        }
    }

    /// Records at `server` that `job` has ended; with `drain = "job-end"`, its data may leave now.
    pub fn job_ended<M: Mode>(&mut self, now: Time, server: u32, job: u16, actions: &mut Actions) {
        if self.parts.reserves.remembers(server, job) {
            // A server that is away keeps the record: data of the job that come after its return leave as well.
            self.is_up::<M>(now, server);
            self.notice_devices::<M>(now, server);
            self.parts.reserves.job_ended::<M>(server, job);
            self.feed_lower_tier::<M>(now, server, actions);
        }
    }

    /// A removal arrives at `server`.
    fn remove<M: Mode>(&mut self, now: Time, server: u32, what: StorageRequest, actions: &mut Actions) {
        let parts = &mut self.parts;
        let (is_indexed, leads_down) = (
            parts.index.is_kept(server),
            parts.params[server as usize].next.is_some(),
        );
        if is_indexed || leads_down {
            parts.mark_removed::<M>(server, what.object);
        }
        let freed = match is_indexed {
            true => parts.index.remove::<M>(server, what.object, &mut parts.space),
            false => Vec::new(),
        };
        if leads_down {
            let again = parts.goes_down(server, what.object);
            parts.removals.pass_on::<M>(server, what, again, actions);
        } else {
            actions.push(Action::answer(server, what.header));
        }
        for (device, owner) in freed {
            self.space_is_free::<M>(now, device, owner, actions);
        }
        if is_indexed {
            self.feed_drain::<M>(now, server, actions);
        }
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// All of write `request`, which was acknowledged early, is on a device.
    fn committed_at_last<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let open = self.parts.syncs.commit::<M>(request, &mut self.parts.requests);
        for sync in open {
            let write = *self.parts.requests.get(request);
            if let Some(left) = self.parts.syncs.waits_no_longer_for::<M>(sync, &write) {
                self.observers.sync_advances::<M>(&self.parts, now, sync);
                if left == 0 {
                    self.write_caches_out::<M>(now, sync, actions);
                }
            }
        }
    }

    /// All acknowledged bytes that synchronization `slot` waits for are on devices: writes the volatile caches to their media.
    fn write_caches_out<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let server = self.parts.syncs.get(slot).server;
        match self.parts.devices.flush_all::<M>(server, now) {
            Some((at, device)) => {
                self.parts.syncs.pass::<M>(slot);
                self.observers.sync_waits_for_cache::<M>(&self.parts, now, slot, device);
                actions.push(Action::CachesWritten { server, slot, at });
            }
            None => self.drain_for_sync::<M>(now, slot, actions),
        }
    }

    /// All acknowledged bytes are on media: starts the drain if synchronization `slot` needs it.
    fn drain_for_sync<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let (what, server) = (self.parts.syncs.get(slot).what, self.parts.syncs.get(slot).server);
        let leads_down = self.parts.params[server as usize].next.is_some();
        if !(leads_down && what.goes_to_last_tier() && self.parts.index.is_kept(server)) {
            self.pass_sync_on::<M>(now, slot, actions);
            return;
        }
        let end = self.parts.index.end_of(server, what.object);
        self.parts.syncs.drain::<M>(slot, end);
        self.observers.sync_drains::<M>(&self.parts, slot);
        self.feed_lower_tier::<M>(now, server, actions);
    }

    /// No bytes of its object are here alone: passes synchronization `slot` to the lower tier, or ends it.
    fn pass_sync_on<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.observers.sync_ends_wait::<M>(&self.parts, now, slot);
        let (what, server) = (self.parts.syncs.get(slot).what, self.parts.syncs.get(slot).server);
        let leads_down = self.parts.params[server as usize].next.is_some();
        if leads_down && (what.goes_to_last_tier() || self.parts.passes_by(server)) {
            self.parts.syncs.pass::<M>(slot);
            actions.push(Action::pass_on(server, Origin::Sync(slot), &what));
        } else {
            self.end_sync::<M>(now, slot, actions);
        }
    }

    /// Answers synchronization `slot` and frees it.
    fn end_sync<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.observers.sync_ends_wait::<M>(&self.parts, now, slot);
        let (server, header) = self.parts.syncs.end::<M>(slot);
        actions.push(Action::answer(server, header));
    }
}
