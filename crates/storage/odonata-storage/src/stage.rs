//! Stage-in and read-ahead: bring data from the lower tier to the devices before a client reads them.
//!
//! ```text
//!   stage-in    a job's client: range -> blocks that are not here: memory -> lower tier -> memory -> device, clean -> answered when all are here
//!   read-ahead  a reader continues at its last end: the next `read_ahead` bytes likewise, without a client that waits
//! ```
//!
//! A stage is a read without a receiver. It takes memory and device time as requests do, on the account of its job. A block stays
//! in the lower tier if it does not fit beside the data that are not clean. A read of a block that is on its way here waits for it
//! and does not fetch it again.
//!
//! A table of 64 places per server, indexed by a hash of object and byte, holds the ends of earlier reads. A read that begins at
//! such an end is sequential, and so is a read from byte 0. For a written or staged file, read-ahead stops at the end of the file
//! in the index. A read beyond that end reads an input, whose end is unknown.

use odonata_engine::{List, Mode, Store, journalled};
use odonata_units::{Time, mix64};

use crate::open_request::{OpenRequest, Piece, PieceKind};
use crate::{Action, Actions, Servers, StorageRequest};

/// Places for readers, per server.
const READERS: u64 = 64;

/// A sequential reader, after its last read.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Reader {
    object: u64,
    /// The byte at which a sequential read would continue.
    next: u64,
    /// The end of the range requested so far.
    ahead: u64,
    /// Whether it has read bytes without an extent: the end of its file is unknown.
    input: bool,
}

/// Blocks on their way here from the lower tier, and reads that wait for them.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Coming {
    staged: List,
    readers: List,
}

/// What stage-in, read-ahead and stage-out moved for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageMetrics {
    /// Bytes that a stage-in brought to devices.
    pub brought: u64,
    /// Bytes of stage-ins that were on devices already.
    pub found: u64,
    /// Bytes of stage-ins that did not fit.
    pub left: u64,
    /// Bytes that were read ahead.
    pub read_ahead: u64,
    /// Bytes that the first tier wrote to the lower tier after the end of a job with stage-out.
    pub taken_out: u64,
    /// When the last of them became safe in the last tier.
    pub out_until: Option<Time>,
}

impl StageMetrics {
    /// Adds the metrics of other servers.
    pub fn absorb(&mut self, other: &StageMetrics) {
        self.brought += other.brought;
        self.found += other.found;
        self.left += other.left;
        self.read_ahead += other.read_ahead;
        self.taken_out += other.taken_out;
        self.out_until = self.out_until.max(other.out_until);
    }
}

/// The stages of a set of servers; empty where there is no lower tier.
#[derive(Debug)]
pub(crate) struct Stages {
    coming: Store<Coming>,
    readers: Store<Reader>,
    /// Per job.
    metrics: Store<StageMetrics>,
    /// Whether the data of each job leave after its end.
    pub(crate) out: Vec<bool>,
}
journalled!(Stages {
    coming,
    readers,
    metrics
});

impl Stages {
    pub(crate) fn off() -> Stages {
        Stages {
            coming: Store::new(),
            readers: Store::new(),
            metrics: Store::new(),
            out: Vec::new(),
        }
    }

    /// For `servers` servers and `jobs` jobs. `ahead`: whether a server reads ahead.
    pub(crate) fn new(servers: usize, ahead: bool, jobs: usize) -> Stages {
        let nobody = Reader {
            object: u64::MAX,
            next: 0,
            ahead: 0,
            input: false,
        };
        Stages {
            coming: Store::filled(servers, Coming::default()),
            readers: Store::filled(if ahead { servers * READERS as usize } else { 0 }, nobody),
            metrics: Store::filled(jobs, StageMetrics::default()),
            out: Vec::new(),
        }
    }

    pub(crate) fn edit<M: Mode>(&mut self, owner: u16) -> Option<&mut StageMetrics> {
        let known = usize::from(owner) < self.metrics.len();
        known.then(|| self.metrics.edit::<M>(u32::from(owner)))
    }

    /// Whether the data of `owner` leave after its end.
    pub(crate) fn takes_out(&self, owner: u16) -> bool {
        self.out.get(usize::from(owner)) == Some(&true)
    }
}

/// The place of a reader of `server` that continues at `next`.
fn place(server: u32, object: u64, next: u64) -> u32 {
    (u64::from(server) * READERS + mix64(object ^ mix64(next)) % READERS) as u32
}

impl Servers {
    /// Lets the data of the jobs marked in `jobs` leave after the end of their job. Call [`in_tiers`](Servers::in_tiers) first.
    pub fn staging_out(mut self, jobs: &[bool]) -> Self {
        if jobs.contains(&true) && !self.stages.metrics.is_empty() {
            self.stages.out = jobs.to_vec();
            self.remember_ends(jobs.len());
        }
        self
    }

    /// The stage metrics of each job; empty without a lower tier.
    pub fn stage_metrics(&self) -> impl Iterator<Item = (u16, StageMetrics)> + '_ {
        (0..).zip(self.stages.metrics.iter().copied())
    }

    /// Brings the range of `what` from the lower tier to the devices of `server`, and answers when it is there.
    pub(crate) fn stage_in<M: Mode>(&mut self, now: Time, server: u32, what: StorageRequest, actions: &mut Actions) {
        if what.bytes == 0 || !self.caches(server) {
            if let Some(metrics) = self.stages.edit::<M>(what.header.owner) {
                metrics.left += what.bytes;
            }
            actions.push(Action::Respond {
                server,
                header: what.header,
                lock: None,
                bytes: what.bytes,
                lost: false,
            });
            return;
        }
        self.begin_stage::<M>(now, server, what, false, actions);
    }

    /// Whether `server` can keep clean copies.
    fn caches(&self, server: u32) -> bool {
        self.is_indexed(server) && self.params[server as usize].next.is_some() && !self.stages.coming.is_empty()
    }

    fn begin_stage<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        what: StorageRequest,
        ahead: bool,
        actions: &mut Actions,
    ) {
        let device = self.device_for(now, server, what.bytes);
        let mut request = OpenRequest::new(now, (server, device), what);
        (request.stages, request.answered) = (true, ahead);
        let request = self.requests.allocate::<M>(request);
        self.issue::<M>(now, request, actions);
        self.end_stage_without_pieces::<M>(now, request, actions);
        self.note_occupancy::<M>(now, server);
    }

    /// A read of `what` arrives at `server`: reads ahead if it is sequential.
    pub(crate) fn read_ahead<M: Mode>(&mut self, now: Time, server: u32, what: &StorageRequest, actions: &mut Actions) {
        let window = self.params[server as usize]
            .next
            .map_or(0, |policy| policy.read_ahead.0);
        if window == 0 || self.stages.readers.is_empty() || !self.caches(server) {
            return;
        }
        let end = what.offset.saturating_add(what.bytes);
        let before = *self.stages.readers.get(place(server, what.object, what.offset));
        let known = before.object == what.object && before.next == what.offset;
        let mut ahead = if known { before.ahead.max(end) } else { end };
        let from = ahead;
        let last = self.contents.extents.end_of(server, what.object);
        let input = (known && before.input) || end > last;
        if (known || what.offset == 0) && ahead < end.saturating_add(window / 2) {
            let until = end.saturating_add(window);
            ahead = if input { until } else { until.min(last).max(ahead) };
        }
        *self.stages.readers.edit::<M>(place(server, what.object, end)) = Reader {
            object: what.object,
            next: end,
            ahead,
            input,
        };
        if ahead > from {
            let next = StorageRequest {
                offset: from,
                bytes: ahead - from,
                ..*what
            };
            self.begin_stage::<M>(now, server, next, true, actions);
        }
    }

    /// `bytes` of a stage are on devices already.
    pub(crate) fn found_here<M: Mode>(&mut self, request: u32, bytes: u64) {
        let cell = self.requests.edit::<M>(request);
        cell.issued += bytes;
        cell.done += bytes;
        let (owner, ahead) = (cell.what.header.owner, cell.answered);
        if let Some(metrics) = self.stages.edit::<M>(owner).filter(|_| !ahead) {
            metrics.found += bytes;
        }
    }

    /// Ends a stage that needs no pieces: all of its range is on devices.
    pub(crate) fn end_stage_without_pieces<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let OpenRequest {
            done,
            in_flight,
            answered,
            what,
            ..
        } = *self.requests.get(request);
        if done == what.bytes && in_flight == 0 {
            if !answered {
                self.answer::<M>(now, request, actions);
            }
            self.requests.free::<M>(request);
        }
    }

    /// Forgets the blocks on their way to `server`. Returns the pieces that wait for them.
    pub(crate) fn forget_coming<M: Mode>(&mut self, server: u32) -> Vec<u32> {
        if self.stages.coming.is_empty() {
            return Vec::new();
        }
        let readers = self.stages.coming.get(server).readers.iter(&self.pieces).collect();
        *self.stages.coming.edit::<M>(server) = Coming::default();
        readers
    }

    /// Sends a request for a piece of a stage to the lower tier.
    pub(crate) fn fetch_stage<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let server = self.pieces.get(slot).server;
        let mut staged = self.stages.coming.get(server).staged;
        staged.push::<M, _>(&mut self.pieces, slot);
        self.stages.coming.edit::<M>(server).staged = staged;
        self.ask_lower_tier::<M>(now, slot, false, actions);
    }

    /// The end of the block on its way here that contains byte `offset` of an object, if there is one.
    pub(crate) fn comes_until(&self, server: u32, object: u64, offset: u64) -> Option<u64> {
        if self.stages.coming.is_empty() {
            return None;
        }
        let staged = self.stages.coming.get(server).staged.iter(&self.pieces);
        let ranges = staged
            .map(|slot| self.pieces.get(slot))
            .filter(|piece| piece.object == object);
        ranges
            .map(Piece::range)
            .find(|range| range.contains(&offset))
            .map(|range| range.end)
    }

    /// Lets a read piece wait for the block that contains it. Returns whether such a block is on its way here.
    pub(crate) fn waits_for_stage<M: Mode>(&mut self, slot: u32) -> bool {
        let Piece {
            server,
            object,
            offset,
            bytes,
            ..
        } = *self.pieces.get(slot);
        let comes = self.comes_until(server, object, offset);
        if comes.is_none_or(|end| end < offset + bytes) {
            return false;
        }
        let mut readers = self.stages.coming.get(server).readers;
        readers.push::<M, _>(&mut self.pieces, slot);
        self.stages.coming.edit::<M>(server).readers = readers;
        true
    }

    /// A piece of a stage has arrived from the lower tier: serves the reads that wait for it, and writes it to its device if there
    /// is room.
    pub(crate) fn stage_arrived<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        self.readers_go_on::<M>(now, &piece, actions);
        let ahead = self.requests.get(piece.request).answered;
        // The end of a file larger than the buffers must not evict its beginning before that is read.
        let filled = match !piece.removed && !piece.lost && self.make_room::<M>(&piece, ahead) {
            true => self.claim_copy::<M>(&piece),
            false => 0,
        };
        if let Some(metrics) = self.stages.edit::<M>(piece.owner) {
            match (filled, ahead) {
                (0, false) => metrics.left += piece.bytes,
                (0, true) => {}
                (_, false) => metrics.brought += piece.bytes,
                (_, true) => metrics.read_ahead += piece.bytes,
            }
        }
        if filled == 0 {
            self.finish_piece::<M>(now, slot, actions);
            return;
        }
        self.count_filled::<M>(&piece, filled);
        self.pieces.edit::<M>(slot).kind = PieceKind::Fill;
        self.join_device::<M>(now, slot, actions);
    }

    /// The staged block of `piece` is in memory: serves the reads that wait for it. If the lower tier has lost it, each of them
    /// asks the lower tier itself.
    pub(crate) fn readers_go_on<M: Mode>(&mut self, now: Time, piece: &Piece, actions: &mut Actions) {
        if self.stages.coming.is_empty() {
            return;
        }
        let (server, range) = (piece.server, piece.range());
        let mut coming = *self.stages.coming.get(server);
        let it = |other: &Piece| (other.request, other.offset) == (piece.request, piece.offset);
        if (coming.staged.remove_first::<M, _>(&mut self.pieces, it)).is_none() {
            return;
        }
        let is_part = |other: &Piece| {
            other.object == piece.object && range.contains(&other.offset) && other.range().end <= range.end
        };
        let waiting: Vec<u32> = coming.readers.iter(&self.pieces).collect();
        let go_on: Vec<u32> = waiting
            .into_iter()
            .filter(|&slot| is_part(self.pieces.get(slot)))
            .collect();
        for _ in &go_on {
            coming.readers.remove_first::<M, _>(&mut self.pieces, is_part);
        }
        *self.stages.coming.edit::<M>(server) = coming;
        for slot in go_on {
            match piece.lost {
                true => self.ask_lower_tier::<M>(now, slot, false, actions),
                false => self.push_piece(slot, actions),
            }
        }
    }

    /// Removes the pieces in `dead` from the reads that wait for staged blocks at `server`. Returns the removed pieces.
    pub(crate) fn readers_leave<M: Mode>(&mut self, server: u32, dead: &[u32]) -> Vec<u32> {
        if self.stages.coming.is_empty() {
            return Vec::new();
        }
        let mut coming = *self.stages.coming.get(server);
        let all: Vec<u32> = coming.readers.iter(&self.pieces).collect();
        let (leave, stay): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|slot| dead.contains(slot));
        coming.readers = List::EMPTY;
        for slot in stay {
            coming.readers.push::<M, _>(&mut self.pieces, slot);
        }
        *self.stages.coming.edit::<M>(server) = coming;
        leave
    }

    /// The device has written a piece of a stage.
    pub(crate) fn stage_stored<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        self.copy_is_clean::<M>(&piece);
        self.finish_piece::<M>(now, slot, actions);
        self.settle_space::<M>(now, piece.device, piece.owner);
        self.reserve::<M>(now, piece.device, actions);
        self.feed_lower_tier::<M>(now, piece.server, actions);
    }
}
