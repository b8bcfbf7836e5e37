//! Charges over time: one cell per interval, place, cause, victim and culprit.

use crate::{Cause, Owner};
use odonata_engine::state::cell;
use odonata_engine::{GrowableStore, Mode, Time};

/// Time that one owner waited for another in one interval, over all lines of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesCharge {
    /// Start of the interval.
    pub start: Time,
    /// Place of the lines.
    pub place: u8,
    /// The kind of resource.
    pub cause: Cause,
    /// The waiting owner.
    pub victim: Owner,
    /// The holder of the resource.
    pub culprit: Owner,
    /// How long, summed over waiters.
    pub time: Time,
}

#[derive(Debug)]
pub(crate) struct Series {
    cells: GrowableStore<Time>,
    interval: Option<Time>,
    /// The first cell of each line's place, among those of an interval.
    places: Vec<u32>,
    place_count: usize,
    causes: usize,
    owners: usize,
    /// Cells of an interval.
    width: usize,
    /// Number of intervals kept.
    kept: u64,
    /// The interval of the last update: most updates hit the same one.
    last: Interval,
}

/// An interval: start, end, and first cell unless it is not kept.
#[derive(Clone, Copy, Debug)]
struct Interval {
    begin: u64,
    end: u64,
    first: Option<usize>,
}

impl Series {
    /// Maximum number of cells, 32 MB; later intervals are not recorded.
    const MOST: usize = 1 << 22;

    pub(crate) fn new(places: Vec<u8>, place_count: u8, owners: u16, causes: u8, interval: Option<Time>) -> Series {
        let (place_count, causes, owners) = (usize::from(place_count), usize::from(causes), usize::from(owners));
        let of_place = causes * owners * owners;
        let width = (place_count * of_place).max(1);
        let kept = (Self::MOST / width) as u64;
        // An interval that is not kept has no cells.
        let first_cell = |place: u8| u32::try_from(usize::from(place) * of_place).unwrap_or(0);
        Series {
            cells: GrowableStore::new(),
            places: match interval.is_some() {
                true => places.into_iter().map(first_cell).collect(),
                false => Vec::new(),
            },
            interval,
            place_count,
            causes,
            owners,
            width,
            kept,
            last: Interval {
                begin: 0,
                end: 0,
                first: None,
            },
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.interval.is_some()
    }

    pub(crate) fn end(&self) -> Option<Time> {
        self.interval.map(|interval| Time(interval.0.saturating_mul(self.kept)))
    }

    /// The interval of `at`.
    #[inline]
    fn interval_of(&mut self, at: Time, interval: Time) -> Interval {
        let Interval { begin, end, .. } = self.last;
        if at.0 < begin || at.0 >= end {
            let number = at.0 / interval.0;
            let begin = number * interval.0;
            self.last = Interval {
                begin,
                end: begin.saturating_add(interval.0),
                first: (number < self.kept).then(|| number as usize * self.width),
            };
        }
        self.last
    }

    /// Adds `waiters` waits from `from` to `to`, split at interval boundaries; modulo 2^64, so that waits can be taken
    /// back.
    #[inline(always)]
    pub(crate) fn book<M: Mode>(
        &mut self,
        line: u32,
        (from, to): (Time, Time),
        waiters: u64,
        victim: Owner,
        culprit: Owner,
        cause: Cause,
    ) {
        let Interval { begin, end, first } = self.last;
        match first {
            // Usually all of it is in the interval of the last update.
            Some(first) if from.0 >= begin && to.0 <= end => {
                if to > from {
                    let time = (to - from).0.wrapping_mul(waiters);
                    self.add_to::<M>(first, line, time, (victim, culprit), cause);
                }
            }
            _ => self.book_split::<M>(line, (from, to), waiters, (victim, culprit), cause),
        }
    }

    #[inline(never)]
    fn book_split<M: Mode>(
        &mut self,
        line: u32,
        (from, to): (Time, Time),
        waiters: u64,
        owners: (Owner, Owner),
        cause: Cause,
    ) {
        let Some(interval) = self.interval else { return };
        let mut at = from;
        while at < to {
            let Interval { end, first, .. } = self.interval_of(at, interval);
            let Some(first) = first else { return };
            let next = to.min(Time(end));
            let time = (next - at).0.wrapping_mul(waiters);
            self.add_to::<M>(first, line, time, owners, cause);
            at = next;
        }
    }

    /// Spreads `time` evenly from `from` to `to`; an empty span counts in the interval of `from`.
    pub(crate) fn spread<M: Mode>(
        &mut self,
        line: u32,
        (from, to): (Time, Time),
        time: u64,
        (victim, culprit): (Owner, Owner),
        cause: Cause,
    ) {
        let Some(interval) = self.interval else { return };
        let (mut at, mut left) = (from, time);
        while left > 0 {
            let Interval { end, first, .. } = self.interval_of(at, interval);
            let Some(first) = first else { return };
            let next = to.min(Time(end));
            let here = match next < to {
                true => (u128::from(left) * u128::from((next - at).0) / u128::from((to - at).0)) as u64,
                false => left,
            };
            self.add_to::<M>(first, line, here, (victim, culprit), cause);
            (at, left) = (next, left - here);
        }
    }

    /// Adds `time` in the interval of `at`.
    pub(crate) fn add<M: Mode>(&mut self, line: u32, at: Time, time: u64, victim: Owner, culprit: Owner, cause: Cause) {
        let Some(interval) = self.interval else { return };
        if let Some(first) = self.interval_of(at, interval).first {
            self.add_to::<M>(first, line, time, (victim, culprit), cause);
        }
    }

    /// Adds `time` in the interval whose first cell is `first`.
    #[inline(always)]
    fn add_to<M: Mode>(&mut self, first: usize, line: u32, time: u64, (victim, culprit): (Owner, Owner), cause: Cause) {
        let of_cause = usize::from(cause) * self.owners;
        let within = (of_cause + usize::from(victim)) * self.owners + usize::from(culprit);
        let at = first + *cell::<M, _>(&self.places, line) as usize + within;
        let cell = self.cells.edit::<M>(at);
        *cell = Time(cell.0.wrapping_add(time));
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = SeriesCharge> + '_ {
        let interval = self.interval.unwrap_or(Time::ZERO);
        self.cells.iter().map(move |(cell, &time)| {
            let (rest, culprit) = (cell / self.owners, cell % self.owners);
            let (rest, victim) = (rest / self.owners, rest % self.owners);
            let (rest, cause) = (rest / self.causes, rest % self.causes);
            let (bin, place) = (rest / self.place_count, rest % self.place_count);
            SeriesCharge {
                start: Time(bin as u64 * interval.0),
                place: place as u8,
                cause: cause as Cause,
                victim: victim as Owner,
                culprit: culprit as Owner,
                time,
            }
        })
    }
}

odonata_engine::journalled!(Series { cells });
