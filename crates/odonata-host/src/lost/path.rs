//! The chain that ends a job: the last waits of every rank, each with the wait of the rank whose message ended it.
//!
//! A [`PathRecord`] is made where a call of a rank ends and it has lost something since the last one, or what it has lost comes from another
//! rank; at the end of an iteration; and at the end of the rank. It says what was lost since its [`Origin`], and where.
//! Followed from the end of a job backwards, origin by origin, these are its critical chain (D. Böhme et al., ICPP 2010: root
//! causes of wait states; the chain is that of the binding term of each maximum, as in the critical path of a schedule).
//!
//! Of each rank so many records are kept, the last ones. They are numbered from 1 in the order in which they happen at
//! the rank, whoever runs the events.

use super::LostTime;
use crate::timeline::CallKind;
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Stamp};
use odonata_engine::{GrowableStore, Mode, SparseStore, Store, Time};
use odonata_workload::OpKind;
use std::sync::Arc;

/// Losses that a record has place for.
const KEPT: usize = 6;

/// What a rank has called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum PathCall {
    /// An operation, by its kind and number.
    Operation(CallKind, u32),
    /// The end of an iteration.
    Iteration(u32),
    /// The rank is at its end, or the run is.
    #[default]
    End,
}

impl PathCall {
    pub(crate) fn of(kind: &OpKind, number: u32) -> PathCall {
        PathCall::Operation(CallKind::of(kind), number)
    }
}

/// What was lost to others, and to the own job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// To others.
    pub others: Time,
    /// To itself.
    pub own: Time,
}

impl Parts {
    fn of<'a>(stamp: &Stamp, losses: impl Iterator<Item = &'a Loss>) -> Parts {
        let mut parts = Parts::default();
        for loss in losses {
            match loss.is_of(stamp.job) {
                true => parts.own += loss.time,
                false => parts.others += loss.time,
            }
        }
        parts
    }
}

/// A wait of a rank that has lost something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PathRecord {
    /// The rank, counted over all jobs, and the number of the wait there.
    pub at: Origin,
    /// What was called.
    pub call: PathCall,
    /// When.
    pub begin: Time,
    /// When it ended.
    pub end: Time,
    /// Where it stems from what was lost before.
    pub from: Origin,
    /// Of what is lost by its end, what was lost there; to itself, there or where another one was that would have been last alone.
    pub inherited: Parts,
    /// What was lost since, the most first; others in `rest`.
    losses: [Option<Loss>; KEPT],
    /// What was lost since that has no place above.
    pub rest: Parts,
}

impl PathRecord {
    fn new(at: Origin, call: PathCall, begin: Time, stamp: &Stamp) -> PathRecord {
        let mut since: Vec<Loss> = (stamp.losses.iter().copied())
            .filter(|loss| loss.place != LostAt::NOWHERE)
            .collect();
        let before = (stamp.losses.iter()).filter(|loss| loss.place == LostAt::NOWHERE);
        let inherited = Parts::of(stamp, before);
        since.sort_unstable_by_key(|loss| (!loss.place.is_known(), std::cmp::Reverse(loss.time), *loss));
        let known = (since.iter()).take_while(|loss| loss.place.is_known()).count();
        let (shown, more) = since.split_at(known.min(KEPT));
        let mut losses = [None; KEPT];
        for (kept, &loss) in losses.iter_mut().zip(shown) {
            *kept = Some(loss);
        }
        let rest = Parts::of(stamp, more.iter());
        PathRecord {
            at,
            call,
            begin,
            end: stamp.at,
            from: stamp.origin,
            inherited,
            losses,
            rest,
        }
    }

    /// What was lost since its origin and is said one by one, the most first.
    pub fn losses(&self) -> impl Iterator<Item = (u16, Kind, LostAt, Time)> + '_ {
        (self.losses.iter().flatten()).map(|loss| (loss.culprit, loss.kind, loss.place, loss.time))
    }
}

/// How many records a rank has made, and the block that they are in, counted from 1.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Head {
    made: u32,
    block: u32,
}

/// The last records of every rank; none where they are not asked for.
#[derive(Debug)]
pub(crate) struct PathLog {
    heads: SparseStore<Head>,
    blocks: Store<u32>,
    records: GrowableStore<PathRecord>,
    /// Records of a rank that are kept.
    keep: u32,
}
odonata_engine::journalled!(PathLog { heads, blocks, records });

impl PathLog {
    /// Of the ranks of a part with these numbers, given as for a [`SparseStore`], so many each.
    pub(crate) fn new((places, numbers): &(Arc<[u32]>, Arc<[u32]>), keep: u32) -> PathLog {
        let none = |_| Head::default();
        let heads = match (keep, numbers.len() == places.len()) {
            (0, _) => SparseStore::default(),
            (_, true) => SparseStore::all(numbers.iter().copied().map(none).collect()),
            (_, false) => SparseStore::some(places.clone(), numbers.clone(), none),
        };
        PathLog {
            heads,
            blocks: Store::filled(1, 0),
            records: GrowableStore::new(),
            keep,
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.keep > 0
    }

    fn cell(&self, head: Head, number: u32) -> usize {
        (head.block - 1) as usize * self.keep as usize + ((number - 1) % self.keep) as usize
    }

    fn add<M: Mode>(&mut self, rank: u32, call: PathCall, begin: Time, stamp: &Stamp) -> Origin {
        let mut head = *self.heads.get(rank);
        if head.block == 0 {
            let blocks = self.blocks.edit::<M>(0);
            *blocks += 1;
            head.block = *blocks;
        }
        head.made += 1;
        *self.heads.edit::<M>(rank) = head;
        let at = Origin {
            rank,
            number: head.made,
        };
        let cell = self.cell(head, at.number);
        *self.records.edit::<M>(cell) = PathRecord::new(at, call, begin, stamp);
        at
    }

    /// The records of `rank` that are kept, in the order of their numbers, and one of its end with this stamp.
    pub(crate) fn of_rank(&self, rank: u32, start: Time, end: &Stamp) -> Vec<PathRecord> {
        let head = *self.heads.get(rank);
        let first = head.made.saturating_sub(self.keep) + 1;
        let mut records: Vec<PathRecord> = (first..=head.made)
            .map(|number| self.records.get(self.cell(head, number)))
            .collect();
        let at = Origin {
            rank,
            number: head.made + 1,
        };
        let since = records.last().map_or(start, |last| last.end);
        records.push(PathRecord::new(at, PathCall::End, since.min(end.at), end));
        records
    }

    pub(crate) fn memory(&self) -> usize {
        self.heads.memory() + self.records.memory()
    }
}

impl LostTime {
    /// The call of `rank` that began at `begin` has come to `stamp`: makes a record of it if that is asked for and something is new.
    #[inline]
    pub(super) fn record_wait<M: Mode>(&mut self, rank: u32, call: PathCall, begin: Time, stamp: &mut Stamp) {
        if !self.path.is_on() {
            return;
        }
        let placed = stamp.losses.iter().any(|loss| loss.place != LostAt::NOWHERE);
        if placed || (stamp.origin.rank != rank && stamp.lost() > Time::ZERO) {
            let origin = self.path.add::<M>(rank, call, begin, stamp);
            stamp.rebase(origin);
        }
    }

    /// Where storage server, or metadata server, `number` is, if that is asked for.
    pub(crate) fn at(&self, place: LostAt) -> LostAt {
        match self.path.is_on() {
            true => place,
            false => LostAt::NOWHERE,
        }
    }

    /// The end of an iteration of `rank` is always recorded, where records are.
    pub(super) fn record_iteration<M: Mode>(&mut self, rank: u32, iteration: u32, begin: Time, stamp: &mut Stamp) {
        if self.path.is_on() {
            let origin = self.path.add::<M>(rank, PathCall::Iteration(iteration), begin, stamp);
            stamp.rebase(origin);
        }
    }
}
