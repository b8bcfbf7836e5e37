//! The critical chain of a job: the last waits of every rank, each linked to the wait of the rank whose message ended
//! it.
//!
//! A [`PathRecord`] is made at the end of a call if the rank has lost time since its last record or inherits a loss
//! from another rank, at the end of an iteration, and at the end of the rank. It contains the loss since its
//! [`Origin`], and the places of this loss. Following the origins back from the end of a job gives its critical chain
//! (D. Böhme et al., ICPP 2010: root causes of wait states). The chain consists of the binding terms of the maxima, as
//! in the critical path of a schedule.
//!
//! Each rank keeps its last records, up to a given number. They are numbered from 1 in the order of events at the rank,
//! independent of the scheduler.

use crate::timeline::CallKind;
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Stamp};
use odonata_engine::{GrowableStore, Mode, SparseStore, Store, Time};
use std::sync::Arc;

/// Number of losses that a record lists.
const KEPT: usize = 6;

/// A call of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum PathCall {
    /// An operation, by its kind and number.
    Operation(CallKind, u32),
    /// The end of an iteration.
    Iteration(u32),
    /// The end of the rank, or of the run.
    #[default]
    End,
}

/// Time lost to other jobs and to the own job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// Lost to other jobs.
    pub others: Time,
    /// Lost to the own job.
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

/// A wait of a rank that has lost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PathRecord {
    /// The rank, numbered over all jobs, and the number of the wait at the rank.
    pub at: Origin,
    /// The call.
    pub call: PathCall,
    /// Its begin.
    pub begin: Time,
    /// Its end.
    pub end: Time,
    /// The origin of the earlier loss.
    pub from: Origin,
    /// The loss at the origin that is still lost at the end of the wait. The own part arose there, or at another rank
    /// that would have been last in a run alone.
    pub inherited: Parts,
    /// The losses since the origin, largest first; the remaining ones are in `rest`.
    losses: [Option<Loss>; KEPT],
    /// Losses since the origin that are not in `losses`.
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

    /// The listed losses since the origin, largest first.
    pub fn losses(&self) -> impl Iterator<Item = (u16, Kind, LostAt, Time)> + '_ {
        (self.losses.iter().flatten()).map(|loss| (loss.culprit, loss.kind, loss.place, loss.time))
    }
}

/// Number of records that a rank has made, and its block of records, counted from 1.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Head {
    made: u32,
    block: u32,
}

/// The last records of every rank; empty if not requested.
#[derive(Debug)]
pub(crate) struct PathLog {
    heads: SparseStore<Head>,
    blocks: Store<u32>,
    records: GrowableStore<PathRecord>,
    /// Number of records kept per rank.
    keep: u32,
}
odonata_engine::journalled!(PathLog { heads, blocks, records });

impl PathLog {
    /// For the ranks of a part, given as for a [`SparseStore`], with `keep` records each.
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

    /// The kept records of `rank` in the order of their numbers, and a final one for its end with this stamp.
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
    /// Records a call of `rank` that began at `begin` and ended with `stamp`, if it adds or inherits a loss.
    #[inline]
    pub(super) fn record_wait<M: Mode>(&mut self, rank: u32, call: PathCall, begin: Time, stamp: &mut Stamp) {
        if !self.is_on() {
            return;
        }
        let placed = stamp.losses.iter().any(|loss| loss.place != LostAt::NOWHERE);
        if placed || (stamp.origin.rank != rank && stamp.lost() > Time::ZERO) {
            let origin = self.add::<M>(rank, call, begin, stamp);
            stamp.rebase(origin);
        }
    }

    /// Returns `place` if records are kept, otherwise [`LostAt::NOWHERE`].
    pub(super) fn place(&self, place: LostAt) -> LostAt {
        match self.is_on() {
            true => place,
            false => LostAt::NOWHERE,
        }
    }

    /// Records the end of an iteration of `rank`, which always has a record.
    pub(super) fn record_iteration<M: Mode>(&mut self, rank: u32, iteration: u32, begin: Time, stamp: &mut Stamp) {
        if self.is_on() {
            let origin = self.add::<M>(rank, PathCall::Iteration(iteration), begin, stamp);
            stamp.rebase(origin);
        }
    }
}
