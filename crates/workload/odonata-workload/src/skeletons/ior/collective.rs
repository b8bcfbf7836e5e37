//! Two-phase collective transfers of IOR (Thakur, Gropp, Lusk, "Data sieving and collective I/O in ROMIO", Frontiers
//! 1999).
//!
//! In one call every rank has one piece of the file, `bytes` long, the pieces `stride` apart. Their span is divided
//! evenly into a *file domain* for each aggregator, which processes its domain in rounds of its buffer. In a write,
//! ranks send their parts of the window to the aggregator, which then writes; in a read, it reads and sends. Separate
//! pieces are accessed one by one, without the holes (ROMIO's `romio_ds_write = disable`). Before the first round all
//! ranks exchange their offsets (an all-gather of 16 B each). An aggregator sends no message to itself.
//!
//! By default, ROMIO (`romio_cb_write = automatic`) uses two phases only if the pieces of ranks interleave within a
//! call, which those of IOR do not: this model is its `enable`.

use std::ops::Range;

use crate::{Collective, Comm, OpKind, Request, Source, Tag};

/// Size of a rank's access description: an offset and a length.
const OFFSETS_BYTES: u64 = 16;

/// One collective call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectiveCall {
    pub(super) ranks: u32,
    pub(super) aggregators: u32,
    /// Buffer of an aggregator in bytes.
    pub(super) buffer: u64,
    pub(super) write: bool,
    pub(super) file: u64,
    /// Start of the first piece.
    pub(super) base: u64,
    /// Distance of pieces, at least `bytes`.
    pub(super) stride: u64,
    /// Bytes of a piece, at least 1.
    pub(super) bytes: u64,
    /// Rank `r` has piece `(r + shift) mod ranks`.
    pub(super) shift: u32,
}

impl CollectiveCall {
    /// From the first byte to the last, in bytes.
    fn span(&self) -> u64 {
        u64::from(self.ranks - 1) * self.stride + self.bytes
    }

    fn domain(&self) -> u64 {
        self.span().div_ceil(self.aggregators.into())
    }

    fn rounds(&self) -> u64 {
        self.domain().div_ceil(self.buffer)
    }

    /// Maximum number of operations of a rank.
    pub(super) fn most_operations(&self) -> u64 {
        let round = 2 * u64::from(self.ranks) + u64::from(self.aggregators) + 1;
        self.rounds().saturating_mul(round).saturating_add(1)
    }

    /// The rank of aggregator `number`: aggregators are spread evenly.
    fn aggregator(&self, number: u32) -> u32 {
        (u64::from(number) * u64::from(self.ranks) / u64::from(self.aggregators)) as u32
    }

    /// The number of `rank` among the aggregators.
    fn number(&self, rank: u32) -> Option<u32> {
        let number = (u64::from(rank) * u64::from(self.aggregators)).div_ceil(self.ranks.into()) as u32;
        (number < self.aggregators && self.aggregator(number) == rank).then_some(number)
    }

    /// The buffer of aggregator `number` in `round`, relative to the first piece.
    fn window(&self, number: u32, round: u64) -> Range<u64> {
        let span = self.span();
        let first = u64::from(number).saturating_mul(self.domain()).min(span);
        let end = first.saturating_add(self.domain()).min(span);
        let low = first.saturating_add(round.saturating_mul(self.buffer)).min(end);
        low..low.saturating_add(self.buffer).min(end)
    }

    /// The part of piece `piece` in `window`.
    fn part(&self, piece: u32, window: &Range<u64>) -> Range<u64> {
        let first = u64::from(piece) * self.stride;
        let low = first.max(window.start);
        low..(first + self.bytes).min(window.end).max(low)
    }

    /// Bytes of `rank` in `window`.
    fn part_of(&self, rank: u32, window: &Range<u64>) -> u64 {
        let piece = (u64::from(rank) + u64::from(self.shift)) % u64::from(self.ranks);
        let part = self.part(piece as u32, window);
        part.end - part.start
    }

    /// Access number `index` to the data in `window`: one access if pieces are contiguous, otherwise one per piece.
    fn access(&self, window: &Range<u64>, index: u32) -> Option<OpKind> {
        let part = match (self.stride == self.bytes, index) {
            (true, 0) => window.clone(),
            (true, _) => return None,
            (false, piece) => self.part(piece, window),
        };
        let (file, offset, bytes) = (self.file, self.base + part.start, part.end - part.start);
        let access = match self.write {
            true => OpKind::Write { file, offset, bytes },
            false => OpKind::Read { file, offset, bytes },
        };
        (bytes > 0).then_some(access)
    }

    /// The next operation of `rank`; `None` when its call has ended, with `round` and `step` reset.
    ///
    /// Steps of a write round: receives of an aggregator, sends to aggregators, the wait, accesses. Steps of a read
    /// round: receives from aggregators, accesses, sends, the wait.
    pub(super) fn next(&self, rank: u32, round: &mut u32, step: &mut u32) -> Option<OpKind> {
        let (ranks, aggregators) = (self.ranks, self.aggregators);
        let own = self.number(rank);
        let window = |number: u32, round: u32| self.window(number, round.into());
        // Between an aggregator and each rank, and between a rank and each aggregator.
        let of_aggregator = |peer: u32, round: u32| {
            let bytes = own.map_or(0, |number| self.part_of(peer, &window(number, round)));
            (peer != rank && bytes > 0).then_some((peer, bytes, Request(peer)))
        };
        let of_rank = |number: u32, round: u32| {
            let (peer, bytes) = (self.aggregator(number), self.part_of(rank, &window(number, round)));
            (peer != rank && bytes > 0).then_some((peer, bytes, Request(ranks + number)))
        };
        while u64::from(*round) < self.rounds() {
            let at = *step;
            *step += 1;
            if at == 0 {
                if *round == 0 {
                    return Some(OpKind::Collective(Collective::Allgather {
                        comm: Comm::WORLD,
                        bytes: OFFSETS_BYTES,
                    }));
                }
                continue;
            }
            // Only aggregators have the steps of aggregators.
            let (first, second, third) = match self.write {
                true => (ranks, aggregators, 0),
                false => (aggregators, ranks, ranks),
            };
            let accesses = ranks;
            let at = at - 1;
            let op = if at < first {
                let found = if self.write {
                    of_aggregator(at, *round)
                } else {
                    of_rank(at, *round)
                };
                found.map(|(from, bytes, request)| OpKind::Irecv {
                    from: Source::Rank(from),
                    tag: Tag::Is(0),
                    bytes,
                    comm: Comm::WORLD,
                    request,
                })
            } else if self.write && at < first + second {
                of_rank(at - first, *round).map(send)
            } else if self.write && at == first + second {
                Some(self.wait())
            } else if self.write {
                let index = at - first - second - 1;
                if index < accesses {
                    own.and_then(|number| self.access(&window(number, *round), index))
                } else {
                    (*round, *step) = (*round + 1, 0);
                    None
                }
            } else if at < first + second {
                own.and_then(|number| self.access(&window(number, *round), at - first))
            } else if at < first + second + third {
                of_aggregator(at - first - second, *round).map(send)
            } else {
                (*round, *step) = (*round + 1, 0);
                Some(self.wait())
            };
            if op.is_some() {
                return op;
            }
        }
        (*round, *step) = (0, 0);
        None
    }

    fn wait(&self) -> OpKind {
        OpKind::WaitAll {
            first: Request(0),
            count: self.ranks + self.aggregators,
        }
    }
}

fn send((to, bytes, request): (u32, u64, Request)) -> OpKind {
    OpKind::Isend {
        to,
        tag: 0,
        bytes,
        comm: Comm::WORLD,
        request,
    }
}
