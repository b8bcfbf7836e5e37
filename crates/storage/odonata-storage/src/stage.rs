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

use std::ops::Range;

use odonata_engine::{List, Mode, Pool, Store, journalled};
use odonata_units::mix64;

use crate::StorageRequest;
use crate::open_request::Piece;

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

/// The stages of a set of servers; empty where there is no lower tier.
#[derive(Debug)]
pub(crate) struct Stages {
    coming: Store<Coming>,
    readers: Store<Reader>,
    /// Whether the data of each job leave after its end.
    out: Vec<bool>,
}
journalled!(Stages { coming, readers });

/// The place of a reader of `server` that continues at `next`.
fn place(server: u32, object: u64, next: u64) -> u32 {
    (u64::from(server) * READERS + mix64(object ^ mix64(next)) % READERS) as u32
}

impl Stages {
    pub(crate) fn off() -> Stages {
        Stages {
            coming: Store::new(),
            readers: Store::new(),
            out: Vec::new(),
        }
    }

    /// For `servers` servers. `ahead`: whether a server reads ahead.
    pub(crate) fn new(servers: usize, ahead: bool) -> Stages {
        let nobody = Reader {
            object: u64::MAX,
            next: 0,
            ahead: 0,
            input: false,
        };
        Stages {
            coming: Store::filled(servers, Coming::default()),
            readers: Store::filled(if ahead { servers * READERS as usize } else { 0 }, nobody),
            out: Vec::new(),
        }
    }

    /// Whether there is a lower tier.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Whether a server reads ahead.
    pub(crate) fn reads_ahead(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Lets the data of the jobs marked in `jobs` leave after the end of their job.
    pub(crate) fn stage_out(&mut self, jobs: &[bool]) {
        self.out = jobs.to_vec();
    }

    /// Whether the data of `owner` leave after its end.
    pub(crate) fn stages_out(&self, owner: u16) -> bool {
        self.out.get(usize::from(owner)) == Some(&true)
    }

    /// A read of `what` arrives at `server`, which reads `window` bytes ahead. `last`: the known end of its object. Returns the range to
    /// read ahead.
    pub(crate) fn read_ahead<M: Mode>(
        &mut self,
        server: u32,
        what: &StorageRequest,
        window: u64,
        last: u64,
    ) -> Option<Range<u64>> {
        let end = what.offset.saturating_add(what.bytes);
        let before = *self.readers.get(place(server, what.object, what.offset));
        let known = before.object == what.object && before.next == what.offset;
        let mut ahead = if known { before.ahead.max(end) } else { end };
        let from = ahead;
        let input = (known && before.input) || end > last;
        if (known || what.offset == 0) && ahead < end.saturating_add(window / 2) {
            let until = end.saturating_add(window);
            ahead = if input { until } else { until.min(last).max(ahead) };
        }
        *self.readers.edit::<M>(place(server, what.object, end)) = Reader {
            object: what.object,
            next: end,
            ahead,
            input,
        };
        (ahead > from).then_some(from..ahead)
    }

    /// Piece `slot` of a stage is requested from the lower tier of `server`.
    pub(crate) fn request<M: Mode>(&mut self, server: u32, slot: u32, pieces: &mut Pool<Piece>) {
        let mut staged = self.coming.get(server).staged;
        staged.push::<M, _>(pieces, slot);
        self.coming.edit::<M>(server).staged = staged;
    }

    /// The end of the block on its way to `server` that contains byte `offset` of an object, if there is one.
    pub(crate) fn comes_until(&self, server: u32, object: u64, offset: u64, pieces: &Pool<Piece>) -> Option<u64> {
        if !self.is_on() {
            return None;
        }
        let staged = self.coming.get(server).staged.iter(pieces);
        let of_object = staged
            .map(|slot| pieces.get(slot))
            .filter(|piece| piece.object == object);
        let mut ranges = of_object.map(Piece::range);
        ranges.find(|range| range.contains(&offset)).map(|range| range.end)
    }

    /// Lets read piece `slot` wait for the block that contains it. Returns whether such a block is on its way here.
    pub(crate) fn wait<M: Mode>(&mut self, slot: u32, pieces: &mut Pool<Piece>) -> bool {
        let Piece {
            server,
            object,
            offset,
            bytes,
            ..
        } = *pieces.get(slot);
        let comes = self.comes_until(server, object, offset, pieces);
        if comes.is_none_or(|end| end < offset + bytes) {
            return false;
        }
        let mut readers = self.coming.get(server).readers;
        readers.push::<M, _>(pieces, slot);
        self.coming.edit::<M>(server).readers = readers;
        true
    }

    /// The lower tier has answered the request for `piece`. Returns the reads that waited for it, if it is a piece of a stage.
    pub(crate) fn arrive<M: Mode>(&mut self, piece: &Piece, pieces: &mut Pool<Piece>) -> Vec<u32> {
        if !self.is_on() {
            return Vec::new();
        }
        let (server, range) = (piece.server, piece.range());
        let mut coming = *self.coming.get(server);
        let it = |other: &Piece| (other.request, other.offset) == (piece.request, piece.offset);
        if coming.staged.remove_first::<M, _>(pieces, it).is_none() {
            return Vec::new();
        }
        let is_part = |other: &Piece| {
            other.object == piece.object && range.contains(&other.offset) && other.range().end <= range.end
        };
        let waiting = coming.readers.iter(pieces);
        let go_on: Vec<u32> = waiting.filter(|&slot| is_part(pieces.get(slot))).collect();
        for _ in &go_on {
            coming.readers.remove_first::<M, _>(pieces, is_part);
        }
        *self.coming.edit::<M>(server) = coming;
        go_on
    }

    /// Removes the pieces in `dead` from the reads that wait for staged blocks at `server`. Returns the removed pieces.
    pub(crate) fn leave<M: Mode>(&mut self, server: u32, dead: &[u32], pieces: &mut Pool<Piece>) -> Vec<u32> {
        if !self.is_on() {
            return Vec::new();
        }
        let mut coming = *self.coming.get(server);
        let all: Vec<u32> = coming.readers.iter(pieces).collect();
        let (leave, stay): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|slot| dead.contains(slot));
        coming.readers = List::EMPTY;
        for slot in stay {
            coming.readers.push::<M, _>(pieces, slot);
        }
        *self.coming.edit::<M>(server) = coming;
        leave
    }

    /// `server` has failed: forgets the blocks on their way there. Returns the pieces that wait for them.
    pub(crate) fn fail<M: Mode>(&mut self, server: u32, pieces: &Pool<Piece>) -> Vec<u32> {
        if !self.is_on() {
            return Vec::new();
        }
        let readers = self.coming.get(server).readers.iter(pieces).collect();
        *self.coming.edit::<M>(server) = Coming::default();
        readers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientId, RequestHeader, Requester, StorageOperation};
    use odonata_engine::{NIL, Plain};
    use odonata_units::Time;

    fn read(offset: u64, bytes: u64) -> StorageRequest {
        let header = RequestHeader {
            client: ClientId::from(Requester::Rank(0)),
            token: 0,
            owner: 0,
        };
        StorageRequest {
            header,
            operation: StorageOperation::READ,
            object: 7,
            offset,
            bytes,
        }
    }

    /// A window of 100 bytes is filled again when half of it is read, up to the end of the file at 250.
    #[test]
    fn a_sequential_reader_is_read_ahead_of_by_a_window_up_to_the_end_of_its_file() {
        let mut stages = Stages::new(1, true);
        let ahead = |stages: &mut Stages, offset| stages.read_ahead::<Plain>(0, &read(offset, 30), 100, 250);
        assert_eq!(ahead(&mut stages, 60), None, "it does not begin at the beginning");
        let fetched = [0, 30, 60, 90, 120].map(|offset| ahead(&mut stages, offset));
        assert_eq!(fetched, [Some(30..130), None, Some(130..190), None, Some(190..250)]);
    }

    #[test]
    fn reads_wait_for_the_staged_block_that_contains_them() {
        let (mut stages, mut pieces) = (Stages::new(1, false), Pool::new());
        let mut piece = |request, offset, bytes| {
            let piece = Piece::new(Time::ZERO, (0, 0), (request, 0), 7, offset, bytes);
            pieces.allocate::<Plain>(piece)
        };
        let staged = piece(1, 100, 50);
        let [inside, beyond] = [(120, 30), (140, 20)].map(|(offset, bytes)| piece(2, offset, bytes));
        stages.request::<Plain>(0, staged, &mut pieces);
        assert_eq!(stages.comes_until(0, 7, 149, &pieces), Some(150));
        assert_eq!(stages.comes_until(0, 7, 150, &pieces), None);
        let waits = [inside, beyond].map(|slot| stages.wait::<Plain>(slot, &mut pieces));
        assert_eq!(waits, [true, false]);
        let block = *pieces.get(staged);
        assert_eq!(stages.arrive::<Plain>(&block, &mut pieces), [inside]);
        assert_eq!(stages.arrive::<Plain>(&block, &mut pieces), [NIL; 0], "it comes once");
    }
}
