//! Two-phase collective writes, as in MPI-IO (Thakur, Gropp, Lusk, "Data sieving and collective I/O in ROMIO",
//! Frontiers 1999): ranks send their data to a few *aggregators*, each of which writes a contiguous *file domain*.
//!
//! With `A` aggregators the `E` bytes of the file are divided into domains of `D = ceil(E / A)` bytes. An aggregator
//! has a buffer of `B` bytes and processes its domain in `ceil(D / B)` rounds: it receives the data of the buffer's
//! window, a message from each rank with a part, and writes the window with one call. Before the first round all ranks
//! exchange their offsets (an all-gather of 16 B each). An aggregator copies its own data without a message.

use odonata_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::{Collective, Comm, OpKind, Request, Source, Tag};

/// Two-phase collective writes, as in MPI-IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct CollectiveIo {
    /// Number of writing ranks, 1 to the number of ranks; they are spread evenly over the ranks.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub aggregators: u32,
    /// Buffer of each writing rank, at least 1 B: the data it collects and writes at once.
    #[default(Bytes::mib(16))]
    pub buffer: Bytes,
}

/// Size of a rank's access description: an offset and a length.
const OFFSETS_BYTES: u64 = 16;

/// A file written by all ranks together, without holes: rank `r` has records of `record` bytes, the `k`-th at `(k ranks
/// + r) record` if they are strided, otherwise contiguously from `r share` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoPhase {
    pub(crate) ranks: u32,
    pub(crate) settings: CollectiveIo,
    /// Bytes of each rank.
    pub(crate) share: u64,
    /// Bytes of a record, which divide the share; the whole share if not strided.
    pub(crate) record: u64,
}

/// The progress of a rank in a collective write.
pub(crate) struct Progress<'a> {
    pub(crate) round: &'a mut u32,
    pub(crate) step: &'a mut u32,
}

impl TwoPhase {
    /// Rounds of every rank.
    pub(crate) fn rounds(&self) -> u64 {
        self.domain().div_ceil(self.settings.buffer.0.max(1))
    }

    /// Maximum number of operations of a rank in a collective write.
    pub(crate) fn most_operations(&self) -> u64 {
        let round = u64::from(self.ranks) + u64::from(self.settings.aggregators) + 2;
        self.rounds().saturating_mul(round).saturating_add(1)
    }

    /// Size of a file domain.
    fn domain(&self) -> u64 {
        self.size().div_ceil(self.settings.aggregators.into())
    }

    fn size(&self) -> u64 {
        u64::from(self.ranks) * self.share
    }

    /// The rank that is aggregator `number`.
    pub(crate) fn aggregator(&self, number: u32) -> u32 {
        (u64::from(number) * u64::from(self.ranks) / u64::from(self.settings.aggregators)) as u32
    }

    /// The number of `rank` among the aggregators.
    fn number(&self, rank: u32) -> Option<u32> {
        let (ranks, aggregators) = (u64::from(self.ranks), u64::from(self.settings.aggregators));
        let number = (u64::from(rank) * aggregators).div_ceil(ranks) as u32;
        (number < self.settings.aggregators && self.aggregator(number) == rank).then_some(number)
    }

    /// The file range in the buffer of aggregator `number` in `round`.
    fn window(&self, number: u32, round: u32) -> Range<u64> {
        let (domain, buffer) = (self.domain(), self.settings.buffer.0);
        let first = u64::from(number).saturating_mul(domain).min(self.size());
        let end = first.saturating_add(domain).min(self.size());
        let low = first.saturating_add(u64::from(round).saturating_mul(buffer)).min(end);
        low..low.saturating_add(buffer).min(end)
    }

    /// Bytes that `rank` has below byte `end` of the file.
    fn before(&self, rank: u32, end: u64) -> u64 {
        let row = u128::from(self.record) * u128::from(self.ranks);
        let rank = u128::from(rank) * u128::from(self.record);
        let (rows, rest) = (u128::from(end) / row, u128::from(end) % row);
        let part = rest.saturating_sub(rank).min(u128::from(self.record));
        (rows * u128::from(self.record) + part) as u64
    }

    /// Bytes that `rank` has in `window`.
    fn bytes(&self, rank: u32, window: &Range<u64>) -> u64 {
        self.before(rank, window.end) - self.before(rank, window.start)
    }

    /// The next operation of `rank` in a collective write to `file`; `None` when it has ended, with `progress` reset.
    pub(crate) fn next(&self, rank: u32, file: u64, progress: Progress<'_>) -> Option<OpKind> {
        let Progress { round, step } = progress;
        let (ranks, aggregators) = (self.ranks, self.settings.aggregators);
        let (sends, wait) = (ranks + 1, ranks + 1 + aggregators);
        let own = self.number(rank);
        while u64::from(*round) < self.rounds() {
            let at = *step;
            *step += 1;
            let op = if at == 0 {
                (*round == 0).then_some(OpKind::Collective(Collective::Allgather {
                    comm: Comm::WORLD,
                    bytes: OFFSETS_BYTES,
                }))
            } else if at < sends {
                let from = at - 1;
                let Some(number) = own else {
                    *step = sends;
                    continue;
                };
                let bytes = self.bytes(from, &self.window(number, *round));
                (from != rank && bytes > 0).then_some(OpKind::Irecv {
                    from: Source::Rank(from),
                    tag: Tag::Is(0),
                    bytes,
                    comm: Comm::WORLD,
                    request: Request(from),
                })
            } else if at < wait {
                let number = at - sends;
                let (to, bytes) = (self.aggregator(number), self.bytes(rank, &self.window(number, *round)));
                (to != rank && bytes > 0).then_some(OpKind::Isend {
                    to,
                    tag: 0,
                    bytes,
                    comm: Comm::WORLD,
                    request: Request(ranks + number),
                })
            } else if at == wait {
                let first = if own.is_some() { 0 } else { ranks };
                Some(OpKind::WaitAll {
                    first: Request(first),
                    count: ranks + aggregators - first,
                })
            } else {
                let window = own.map_or(0..0, |number| self.window(number, *round));
                (*round, *step) = (*round + 1, 0);
                (!window.is_empty()).then_some(OpKind::Write {
                    file,
                    offset: window.start,
                    bytes: window.end - window.start,
                })
            };
            if op.is_some() {
                return op;
            }
        }
        (*round, *step) = (0, 0);
        None
    }
}
