//! The lower tier: what a server writes to it and reads from it.
//!
//! ```text
//!   write = "back"     client -> memory -> device -> acknowledged;   device -> reserve -> lower tier -> its space is free, or clean
//!   write = "through"  client -> memory -> device and lower tier -> acknowledged, clean
//!   write = "around"   client -> memory -> lower tier -> acknowledged
//!   read, not here     lower tier -> memory -> client (-> reserve -> device, clean)
//! ```
//!
//! A server is an ordinary client of the lower tier. The caller carries [`Action::AskLowerTier`] there as a request of the server
//! for the job that owns the data, and reports the answer with [`Servers::lower_tier_answered`].
//!
//! **No deadlock.** A tier waits only for the tiers under it. Blocks that leave a server, or are copied to its device, use a
//! reserve of [`blocks_in_flight`](crate::settings::Policy::blocks_in_flight) blocks beside the memory pool: freeing space never
//! waits for a request that needs space. A piece that waits for the lower tier holds memory of its own server alone. The lower tier
//! never waits for an upper tier: a server answers pulls from memory that the piece already holds. The last tier waits for its
//! devices only.
//!
//! [`copies`] keeps and evicts clean copies.

mod copies;

use std::collections::BTreeMap;

use odonata_engine::{Mode, NIL, Pool, Store, journalled};
use odonata_units::Time;

use crate::contents::count;
use crate::extents::{Extent, Place};
use crate::open_request::{Piece, PieceKind};
use crate::settings::{DrainPolicy, Policy, WritePolicy};
use crate::stage::Stages;
use crate::sync::Block;
use crate::{Action, Actions, Origin, RequestHeader, ServerParams, Servers, StorageOperation};
use copies::CleanRange;

/// The reserve of a server, in blocks.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Reserve {
    /// Blocks that a device reads for the lower tier.
    pub(crate) fetching: u32,
    /// Blocks on their way to the lower tier.
    pub(crate) sending: u32,
    /// Blocks from the lower tier that a device writes.
    pub(crate) filling: u32,
    /// The first device to try for the next block, counted within the server.
    turn: u32,
    /// Whether the server may hold data of jobs that have ended.
    ended: bool,
    /// Blocks chosen so far to go to the lower tier.
    pub(crate) left: u64,
}

impl Reserve {
    fn taken(&self) -> u32 {
        self.fetching + self.sending + self.filling
    }
}

/// What the servers of a tier did for a job, with the times of the first block that left and of the last block that became safe in
/// the lower tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TierMetrics {
    /// Bytes written to the tier: to its devices, or through it.
    pub received: u64,
    /// Bytes that the lower tier has acknowledged.
    pub sent: u64,
    /// Bytes of inputs, which the run never wrote, that were kept.
    pub inputs: u64,
    /// Bytes read from the lower tier.
    pub fetched: u64,
    /// Bytes of reads served from the tier.
    pub hits: u64,
    /// Fetched bytes that were kept as clean copies.
    pub filled: u64,
    /// Bytes of clean copies that were evicted.
    pub evicted: u64,
    /// When the first block began to leave.
    pub first_left: Option<Time>,
    /// When the last block became safe in the lower tier.
    pub last_safe: Option<Time>,
}

impl TierMetrics {
    /// Adds the metrics of another part of the tier.
    pub fn absorb(&mut self, other: &TierMetrics) {
        self.received += other.received;
        self.sent += other.sent;
        self.inputs += other.inputs;
        self.fetched += other.fetched;
        self.hits += other.hits;
        self.filled += other.filled;
        self.evicted += other.evicted;
        let firsts = self.first_left.into_iter().chain(other.first_left);
        self.first_left = firsts.min();
        self.last_safe = self.last_safe.max(other.last_safe);
    }
}

/// The bytes that a tier has received for a job, by place; each byte is in one place. Overwritten bytes count nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TierContents {
    /// Not on a device yet.
    pub arriving: u64,
    /// On a device of the tier, not in the lower tier.
    pub alone: u64,
    /// On a device of the tier, and on their way to the lower tier.
    pub leaving: u64,
    /// On a device of the tier, and in the lower tier.
    pub clean: u64,
    /// In the lower tier alone.
    pub below: u64,
}

impl TierContents {
    /// Adds the contents of another part of the tier.
    pub fn absorb(&mut self, other: &TierContents) {
        self.arriving += other.arriving;
        self.alone += other.alone;
        self.leaving += other.leaving;
        self.clean += other.clean;
        self.below += other.below;
    }

    /// The sum of all places.
    pub fn bytes(&self) -> u64 {
        self.arriving + self.alone + self.leaving + self.clean + self.below
    }
}

/// The state of a set of servers towards their lower tiers; empty without lower tiers.
#[derive(Debug)]
pub(crate) struct LowerTiers {
    pub(crate) reserves: Store<Reserve>,
    ranges: Pool<CleanRange>,
    /// Number of jobs. `metrics` has an element per tier and job.
    jobs: usize,
    metrics: Store<TierMetrics>,
    /// Whether each job has ended, per server; empty where no policy depends on it.
    ended: Store<bool>,
}
journalled!(LowerTiers {
    reserves,
    ranges,
    metrics,
    ended
});

impl LowerTiers {
    /// For `servers`, without metrics.
    pub(crate) fn new(servers: &[ServerParams]) -> LowerTiers {
        let lead_down = servers.iter().any(|server| server.next.is_some());
        LowerTiers {
            reserves: Store::filled(if lead_down { servers.len() } else { 0 }, Reserve::default()),
            ranges: Pool::new(),
            jobs: 0,
            metrics: Store::new(),
            ended: Store::new(),
        }
    }

    fn edit<M: Mode>(&mut self, tier: u8, owner: u16) -> Option<&mut TierMetrics> {
        let cell = usize::from(tier) * self.jobs + usize::from(owner);
        let known = usize::from(owner) < self.jobs && cell < self.metrics.len();
        known.then(|| self.metrics.edit::<M>(cell as u32))
    }
}

impl Servers {
    /// Sets a chain of `tiers` tiers, object servers included, and `jobs` jobs. With one tier, no data leave it.
    pub fn in_tiers(mut self, tiers: usize, jobs: usize) -> Self {
        self.tiers = tiers.clamp(1, 255) as u8;
        if tiers > 1 {
            let to_job_end = |policy: Policy| policy.drain == DrainPolicy::JobEnd;
            let at_job_end = self.params.iter().any(|server| server.next.is_some_and(to_job_end));
            self.lower_tiers.jobs = jobs;
            self.lower_tiers.metrics = Store::filled(tiers * jobs, TierMetrics::default());
            let ahead = |server: &ServerParams| server.next.is_some_and(|policy| policy.read_ahead.0 > 0);
            let ahead = self.params.iter().any(ahead);
            self.stages = Stages::new(self.params.len(), ahead, jobs);
            if at_job_end {
                self.remember_ends(jobs);
            }
        }
        self
    }

    /// Lets the servers record the ends of `jobs` jobs.
    pub(crate) fn remember_ends(&mut self, jobs: usize) {
        self.lower_tiers.ended = Store::filled(self.params.len() * jobs, false);
    }

    /// Whether the end of `owner` has been reported to `server`.
    fn has_ended(&self, server: u32, owner: u16) -> bool {
        let cell = server as usize * self.lower_tiers.jobs + usize::from(owner);
        cell < self.lower_tiers.ended.len() && *self.lower_tiers.ended.get(cell as u32)
    }

    /// Counts a piece of a read that is served from this tier.
    pub(crate) fn count_hit<M: Mode>(&mut self, slot: u32) {
        let Piece {
            server, owner, bytes, ..
        } = *self.pieces.get(slot);
        let params = &self.params[server as usize];
        if params.next.is_some()
            && let Some(metrics) = self.lower_tiers.edit::<M>(params.tier, owner)
        {
            metrics.hits += bytes;
        }
    }

    /// Counts `bytes` of `piece` that come to a device as a clean copy.
    pub(crate) fn count_filled<M: Mode>(&mut self, piece: &Piece, bytes: u64) {
        let tier = self.params[piece.server as usize].tier;
        if let Some(metrics) = self.lower_tiers.edit::<M>(tier, piece.owner) {
            metrics.filled += bytes;
        }
    }

    /// The metrics of each tier and job: tier, job, metrics; empty with one tier.
    pub fn tier_metrics(&self) -> impl Iterator<Item = (u8, u16, TierMetrics)> + '_ {
        let jobs = self.lower_tiers.jobs.max(1);
        let cells = self.lower_tiers.metrics.iter().enumerate();
        cells.map(move |(cell, &metrics)| ((cell / jobs) as u8, (cell % jobs) as u16, metrics))
    }

    /// The places of the bytes of each tier and job, at servers with an index.
    pub fn tier_contents(&self) -> BTreeMap<(u8, u16), TierContents> {
        let mut all = BTreeMap::new();
        if self.lower_tiers.metrics.is_empty() {
            return all;
        }
        for server in (0..self.len()).filter(|&server| self.is_indexed(server)) {
            let tier = self.params[server as usize].tier;
            for (_, extent) in self.contents(server) {
                let of: &mut TierContents = all.entry((tier, extent.owner)).or_default();
                let sum = match extent.place {
                    Place::Reserved(_) | Place::Memory(_) => &mut of.arriving,
                    Place::Device(_) => &mut of.alone,
                    Place::Leaving(_) => &mut of.leaving,
                    Place::Clean(_) | Place::Used(_) | Place::Filling(_) => &mut of.clean,
                    Place::LowerTier => &mut of.below,
                    Place::Lost => continue,
                };
                *sum += extent.bytes();
            }
        }
        all
    }

    /// Whether writes to `server` bypass its devices.
    pub(crate) fn passes_by(&self, server: u32) -> bool {
        let next = self.params[server as usize].next;
        next.is_some_and(|policy| policy.write == WritePolicy::Around)
    }

    /// Counts bytes written to a tier.
    pub(crate) fn count_received<M: Mode>(&mut self, piece: &Piece) {
        let tier = self.params[piece.server as usize].tier;
        if let Some(metrics) = self.lower_tiers.edit::<M>(tier, piece.owner) {
            metrics.received += piece.bytes;
        }
    }

    /// Sends a request for the piece in `slot` to the lower tier: a write or a read.
    pub(crate) fn ask_lower_tier<M: Mode>(&mut self, now: Time, slot: u32, write: bool, actions: &mut Actions) {
        let Piece {
            server,
            owner,
            object,
            offset,
            bytes,
            ..
        } = *self.pieces.get(slot);
        let tier = self.params[server as usize].tier;
        if write {
            self.pieces.edit::<M>(slot).down = true;
            if let Some(metrics) = self.lower_tiers.edit::<M>(tier, owner) {
                // Servers of one part of the machine may differ in time.
                metrics.first_left = Some(metrics.first_left.map_or(now, |first| first.min(now)));
            }
        }
        let request = self.pieces.get(slot).request;
        let operation = match request {
            _ if write => StorageOperation::Write,
            NIL => StorageOperation::READ,
            request => {
                let what = self.requests.get(request).what.operation;
                let tolerates_loss = what.tolerates_loss();
                StorageOperation::Read {
                    rerouted: tolerates_loss && what.is_rerouted(),
                    tolerates_loss,
                }
            }
        };
        actions.push(Action::AskLowerTier {
            server,
            origin: Origin::Piece(slot),
            owner,
            operation,
            object,
            offset,
            bytes,
        });
    }

    /// Sends a piece of a write, which is in memory, to its device, to the lower tier, or to both.
    pub(crate) fn go_on<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let server = self.pieces.get(slot).server;
        match self.params[server as usize].next.map(|policy| policy.write) {
            None | Some(WritePolicy::Back) => self.join_device::<M>(now, slot, actions),
            Some(WritePolicy::Around) => self.ask_lower_tier::<M>(now, slot, true, actions),
            Some(WritePolicy::Through) => {
                self.pieces.edit::<M>(slot).missing = 2;
                self.join_device::<M>(now, slot, actions);
                self.ask_lower_tier::<M>(now, slot, true, actions);
            }
        }
    }

    /// The lower tier has answered the request of `origin`, sent with [`Action::AskLowerTier`]. `lost`: whether it has lost bytes
    /// of a read that tolerates loss.
    pub fn lower_tier_answered<M: Mode>(&mut self, now: Time, origin: Origin, lost: bool, actions: &mut Actions) {
        match origin {
            Origin::Piece(slot) => self.piece_answered::<M>(now, slot, lost, actions),
            Origin::Sync(slot) => self.sync_answered::<M>(now, slot, actions),
            Origin::Removal(slot) => self.removal_answered::<M>(now, slot, actions),
        }
    }

    /// The request whose client waits for `origin`, if there is one.
    pub fn request_of(&self, origin: Origin) -> Option<RequestHeader> {
        match origin {
            Origin::Piece(slot) => self.request_of_piece(slot),
            Origin::Sync(slot) => self.request_of_sync(slot),
            Origin::Removal(slot) => self.request_of_removal(slot),
        }
    }

    /// The piece in `slot` is safe in the lower tier, or has come from there.
    fn piece_answered<M: Mode>(&mut self, now: Time, slot: u32, lost: bool, actions: &mut Actions) {
        let dead = self.is_dead::<M>(now, slot);
        let cell = self.pieces.edit::<M>(slot);
        (cell.down, cell.lost) = (false, lost);
        let request = cell.request;
        if lost && request != NIL {
            self.requests.edit::<M>(request).lost = true;
        }
        let piece = *self.pieces.get(slot);
        let Piece {
            server, owner, bytes, ..
        } = piece;
        let tier = self.params[server as usize].tier;
        let write = match piece.request {
            NIL => true,
            request => self.requests.get(request).what.operation.is_write(),
        };
        if let Some(metrics) = self.lower_tiers.edit::<M>(tier, owner) {
            if write {
                metrics.sent += bytes;
                metrics.last_safe = metrics.last_safe.max(Some(now));
            } else {
                metrics.fetched += bytes;
            }
        }
        if write
            && self.stages.takes_out(owner)
            && self.has_ended(server, owner)
            && let Some(stage) = self.stages.edit::<M>(owner)
        {
            stage.taken_out += if tier == 0 { bytes } else { 0 };
            stage.out_until = stage.out_until.max(Some(now));
        }
        match (piece.request, write) {
            (NIL, _) => self.drained_to_lower_tier::<M>(now, slot, actions),
            (_, write) if dead => {
                if write {
                    self.metrics.edit::<M>(server).bytes_drained += bytes;
                    self.store_around::<M>(&piece);
                }
                self.readers_go_on::<M>(now, &piece, actions);
                self.bury::<M>(now, slot, actions);
            }
            (_, true) => {
                self.metrics.edit::<M>(server).bytes_drained += bytes;
                match piece.missing {
                    0 => {
                        self.store_around::<M>(&piece);
                        self.finish_piece::<M>(now, slot, actions);
                    }
                    missing => {
                        self.pieces.edit::<M>(slot).missing = missing - 1;
                        self.end_write_through::<M>(now, slot, actions);
                    }
                }
            }
            (request, false) if self.requests.get(request).stages => self.stage_arrived::<M>(now, slot, actions),
            (_, false) => {
                self.pieces.edit::<M>(slot).kind = PieceKind::Fetched;
                self.push_piece(slot, actions);
            }
        }
        self.removals_go_on::<M>(server, actions);
        self.note_occupancy::<M>(now, server);
    }

    /// A block of the reserve is safe in the lower tier.
    fn drained_to_lower_tier<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Piece {
            server,
            owner,
            device,
            bytes,
            ..
        } = *self.pieces.get(slot);
        let piece = *self.pieces.get(slot);
        self.block_moves::<M>(now, &piece, Some(Block::LowerTier), None);
        self.settle_reserve::<M>(now, server, owner);
        self.store_in_lower_tier::<M>(slot);
        self.pieces.free::<M>(slot);
        self.lower_tiers.reserves.edit::<M>(server).sending -= 1;
        self.spaces.edit::<M>(device).drained += bytes;
        self.metrics.edit::<M>(server).bytes_drained += bytes;
        self.settle_space::<M>(now, device, owner);
        self.reserve::<M>(now, device, actions);
        self.feed_lower_tier::<M>(now, server, actions);
    }

    /// A piece of a write-through is on its device or safe in the lower tier. Ends it when both are true.
    pub(crate) fn end_write_through<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        if piece.missing > 0 {
            return;
        }
        if piece.removed {
            self.removed_on_arrival::<M>(&piece);
        } else {
            let own = self.own_number(&piece);
            let here = |place: Place| place.device() == Some(own);
            let to = |_: &Extent| (piece.owner, Place::Clean(own));
            let moved = self.move_on::<M>(piece.server, piece.object, piece.range(), here, to);
            self.count_committed::<M>(&piece, moved);
            self.written_through::<M>(&piece);
        }
        self.finish_piece::<M>(now, slot, actions);
        self.removals_go_on::<M>(piece.server, actions);
        self.settle_space::<M>(now, piece.device, piece.owner);
        self.reserve::<M>(now, piece.device, actions);
    }

    /// Counts `piece` as committed here or in the lower tier; `moved` of its bytes were not overwritten meanwhile.
    fn count_committed<M: Mode>(&mut self, piece: &Piece, moved: u64) {
        self.count_received::<M>(piece);
        count::<M>(&mut self.contents.committed, piece.owner, piece.bytes);
        count::<M>(&mut self.contents.overwritten, piece.owner, piece.bytes - moved);
    }

    /// A piece that has not come to a device is safe in the lower tier.
    pub(crate) fn store_around<M: Mode>(&mut self, piece: &Piece) {
        if self.is_indexed(piece.server) && piece.removed {
            self.removed_on_arrival::<M>(piece);
        } else if self.is_indexed(piece.server) {
            let what = (piece.range(), piece.owner, Place::LowerTier);
            self.put::<M>(piece.server, piece.object, what);
            self.count_committed::<M>(piece, piece.bytes);
        } else {
            self.count_received::<M>(piece);
        }
    }

    /// The number of the piece's device within its server.
    fn own_number(&self, piece: &Piece) -> u8 {
        (piece.device - self.devices.of(piece.server).start) as u8
    }

    /// Records at `server` that `job` has ended; with `drain = "job-end"`, its data may leave now.
    pub fn job_ended<M: Mode>(&mut self, now: Time, server: u32, job: u16, actions: &mut Actions) {
        let cell = server as usize * self.lower_tiers.jobs + usize::from(job);
        if cell < self.lower_tiers.ended.len() {
            // A server that is away keeps the record: data of the job that come after its return leave as well.
            self.is_up::<M>(now, server);
            self.notice_devices::<M>(now, server);
            *self.lower_tiers.ended.edit::<M>(cell as u32) = true;
            self.lower_tiers.reserves.edit::<M>(server).ended = true;
            self.feed_lower_tier::<M>(now, server, actions);
        }
    }

    /// Data of `owner` have come to a device of `server`.
    pub(crate) fn note_ended<M: Mode>(&mut self, server: u32, owner: u16) {
        if self.has_ended(server, owner) {
            self.lower_tiers.reserves.edit::<M>(server).ended = true;
        }
    }

    /// Starts reads of blocks that should leave, as many as the reserve holds.
    pub(crate) fn feed_lower_tier<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let Some(policy) = self.params[server as usize].next else {
            return;
        };
        if policy.write == WritePolicy::Around && !self.is_indexed(server) {
            return;
        }
        self.advance_syncs::<M>(now, server, actions);
        while self.lower_tiers.reserves.get(server).taken() < policy.blocks_in_flight {
            let Some((device, chosen)) = self.leave_next::<M>(server, policy) else {
                break;
            };
            let (owner, object, offset, bytes) = chosen;
            self.spaces.edit::<M>(device).fetched += bytes;
            let mut piece = Piece::new(now, (server, device), (NIL, owner), object, offset, bytes);
            let devices = self.devices.of(server);
            let reserve = self.lower_tiers.reserves.edit::<M>(server);
            piece.number = reserve.left;
            reserve.left += 1;
            reserve.fetching += 1;
            reserve.turn = (device - devices.start + 1) % devices.len() as u32;
            let slot = self.pieces.allocate::<M>(piece);
            self.block_moves::<M>(now, &piece, None, Some(Block::Queued));
            self.join_device::<M>(now, slot, actions);
        }
        self.reconsider_syncs::<M>(now, server);
    }

    /// Chooses the next block to leave: device, and owner, object, offset, length. Blocks of synchronizations come first, then
    /// those of a device for whose space a request waits; otherwise devices take turns.
    fn leave_next<M: Mode>(&mut self, server: u32, policy: Policy) -> Option<(u32, (u16, u64, u64, u64))> {
        if let Some(wanted) = self.leave_for_sync::<M>(server) {
            return Some(wanted);
        }
        let (devices, turn) = (self.devices.of(server), self.lower_tiers.reserves.get(server).turn);
        let (block, count) = (self.params[server as usize].block(), devices.len() as u32);
        let in_turn = |n: u32| devices.start + (turn + n) % count;
        let (mut alone, mut first, mut urgent) = (0, None, None);
        for device in (0..count).map(in_turn) {
            let dirty = self.spaces.get(device).dirty;
            alone += dirty;
            if dirty > 0 {
                first = first.or(Some(device));
                urgent = urgent.or_else(|| self.lacks_space(device).then_some(device));
            }
        }
        let wanted = match policy.drain {
            DrainPolicy::Immediately => true,
            DrainPolicy::AboveWatermark => alone > policy.watermark.0,
            DrainPolicy::JobEnd => false,
        };
        if let Some(device) = urgent.or(first.filter(|_| wanted)) {
            let chosen = self.choose_to_leave::<M>(device, block, |_| true)?;
            return Some((device, chosen));
        }
        if self.lower_tiers.reserves.get(server).ended {
            let all = policy.drain == DrainPolicy::JobEnd;
            let ended: Vec<bool> = (0..self.lower_tiers.jobs as u16)
                .map(|job| self.has_ended(server, job) && (all || self.stages.takes_out(job)))
                .collect();
            let has_ended = |owner: u16| ended.get(usize::from(owner)) == Some(&true);
            for device in (0..count).map(in_turn) {
                if self.spaces.get(device).dirty > 0
                    && let Some(chosen) = self.choose_to_leave::<M>(device, block, has_ended)
                {
                    return Some((device, chosen));
                }
            }
            self.lower_tiers.reserves.edit::<M>(server).ended = false;
        }
        None
    }

    /// Whether a request waits for more space on `device` than leaving blocks and clean copies will free.
    fn lacks_space(&self, device: u32) -> bool {
        let space = self.spaces.get(device);
        let stays = space.used - space.leaving - space.clean;
        let waiting = self.first_reservation(device);
        waiting.is_some_and(|request| {
            self.needs(device, &self.requests.get(request).what) > self.devices.capacity(device) - stays
        })
    }

    /// The device has read a block that leaves for the lower tier.
    pub(crate) fn fetched_to_leave<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        let Piece { server, removed, .. } = piece;
        self.lower_tiers.reserves.edit::<M>(server).fetching -= 1;
        let to = (!removed).then_some(Block::LowerTier);
        self.block_moves::<M>(now, &piece, Some(Block::Served), to);
        if removed {
            self.settle_reserve::<M>(now, server, piece.owner);
            self.pieces.free::<M>(slot);
            self.feed_lower_tier::<M>(now, server, actions);
            return;
        }
        self.lower_tiers.reserves.edit::<M>(server).sending += 1;
        self.ask_lower_tier::<M>(now, slot, true, actions);
    }
}
